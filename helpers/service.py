"""The one boundary that doors call: check the arguments, ask the rooms, report in plain dicts.

Promises: every function takes the launch's Settings, returns the dicts of CONTRACT.md, and
raises RagDocError with a remedy; a start returns in less than a second, the sync itself runs in
a process of its own; nothing an argument says can widen what the launch set.
Does not: search (the door that builds a server brings its search), sync, or hold any state.

A host that embeds the product and wants to wait calls `sync_blocking`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.config import Settings
from helpers.errors import (
    ConfigError,
    RagDocError,
    SemanticError,
    StoreError,
    UsageError,
    shown,
)
from helpers.files import is_locked
from helpers.jobs import queue
from helpers.jobs import state as jobs
from helpers.recognize import choose
from helpers.recognize.kept import Kept
from helpers.semantic import model
from helpers.source.root import Root
from helpers.store import database, documents, generations, schema

FOLLOW_S = 0.1  # seconds between two looks at the job file of a blocking sync
STATES = ("ready", "degraded", "pending", "failed", "needs_action")
REPORT = "report"  # meta key: what the last sync saw of the source, {"files_supported": n, …}
SYNCED_AT = "synced_at"  # meta key: when the last sync ended well
SYNC_FIRST = "Run a sync: the sync_kb tool, or rag_sync.py."

Job = dict[str, Any]


# --- syncing -------------------------------------------------------------------------


def start_sync(
    settings: Settings, force: bool = False, scope: str = "full", deferred: bool = False
) -> dict[str, Any]:
    """{"job_id", "status": queued | already_running | upgraded, "poll_after_s"}, at once.

    With "hint" where nothing will take the job up by itself.
    Raises UsageError for an unknown scope, ConfigError for a source that is not there,
    StoreError where the data directory cannot be written.
    """
    if not deferred:
        Root(settings.knowledge_dir).close()
    started = queue.start(settings, force=bool(force), scope=scope, deferred=bool(deferred))
    said: dict[str, Any] = {
        "job_id": started.job_id,
        "status": started.status,
        "poll_after_s": started.poll_after_s,
    }
    hint = sync_status(settings, started.job_id).get("hint") if deferred else None
    return said | {"hint": hint} if hint else said


def sync_status(settings: Settings, job_id: str | None = None) -> Job:
    """The Job `job_id`, or the latest. Raises UsageError for an unknown one."""
    return queue.status(settings, job_id).public()


def cancel_sync(settings: Settings, job_id: str) -> dict[str, Any]:
    """{"job_id", "status": cancel_requested | cancelled | not_running}."""
    return {"job_id": job_id, "status": queue.cancel(settings, job_id)}


def sync_blocking(
    settings: Settings,
    *,
    force: bool = False,
    progress: Callable[[Job], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Job:
    """Sync and wait for the end; returns the final Job, whatever its status.

    The work is done by the same detached worker as ever, so this call may be abandoned: an
    exception from a callback leaves the sync running. A sync that runs already is joined, or
    followed where it does less than was asked. `progress` gets each new state of the Job;
    `cancelled` is asked every FOLLOW_S, and once it gives true the job is cancelled.
    Raises as `start_sync` does.
    """
    job_id = start_sync(settings, force)["job_id"]
    asked, shown = False, None
    while True:
        job = sync_status(settings, job_id)
        if progress is not None and job != shown:
            progress(job)
            shown = job
        if job["status"] in jobs.TERMINAL:
            return job
        if not asked and cancelled is not None and cancelled():
            asked = queue.cancel(settings, job_id) != queue.NOT_RUNNING
            continue
        time.sleep(FOLLOW_S)


def clear_index(settings: Settings, kb_id: str | None, confirm: bool = False) -> dict[str, Any]:
    """Delete the index and what was recognised in scans, never a source file; {"cleared": true}.

    Refused while a job runs. Raises UsageError without `confirm`, BusyError naming the running job.
    """
    _known(settings, kb_id)
    if confirm is not True:
        raise UsageError(
            "Clearing deletes the whole index",
            "If that is meant, confirm it (confirm: true, or --yes); documents are never touched.",
        )
    with queue.idle(settings):
        database.remove(settings.db)
        Kept(settings.data_dir).clear()
    return {"cleared": True}


# --- reporting -----------------------------------------------------------------------


def knowledge_bases(settings: Settings) -> list[dict[str, Any]]:
    """[{"kb_id", "name", "documents", "chunks", "status"}]; status as `_status` says."""
    index, problems = _index(settings)
    base = {
        "kb_id": settings.kb_id,
        "name": settings.knowledge_dir.name or str(settings.knowledge_dir),
        "documents": index["documents"],
        "chunks": index["chunks"],
        "status": _status(settings, index, problems),
    }
    return [base]


def health(
    settings: Settings, kb_id: str | None = None, trouble: SemanticError | None = None
) -> dict[str, Any]:
    """The Health of CONTRACT.md: what is indexed, what is not, and what to do about it; `trouble`
    is why the door that asks starts no embedding process just now."""
    from helpers.extract import formats

    _known(settings, kb_id)
    source, problems = _source(settings)
    index, found = _index(settings, deeply=True)
    facts = index.pop("facts")
    problems += found + _unlisted(facts) + _last_job_problem(settings)
    running = queue.active(settings)
    semantic, found = _semantic(settings, facts["vectors"], trouble)
    problems += found
    ocr, found = choose.report(settings)
    problems += found
    return {
        "kb_id": settings.kb_id,
        "ok": not problems,
        "problems": problems,
        "source": {**source, **facts["source"]},
        "index": index,
        "semantic": semantic,
        "ocr": ocr,
        "contextualization": {
            "provider": None,
            "enriched": 0,
            "raw": index["chunks"],
            "stale": 0,
        },
        "queue": _queue(settings),
        "formats": formats.availability() | choose.unread(settings),
        "files": {state: facts["states"].get(state, 0) for state in STATES},
        "unread": facts["unread"],
        "unread_total": facts["states"].get("failed", 0) + facts["states"].get("needs_action", 0),
        "active_job": running.job_id if running else None,
    }


def check_changes(settings: Settings, kb_id: str | None = None) -> dict[str, Any]:
    """What a sync would find: {"added", "modified", "deleted", "failed": {"count", "paths"},
    "clean"}.

    Unchanged files are not opened; one whose size or times differ is hashed. Raises RootGone.
    """
    from helpers.changes import compare

    _known(settings, kb_id)
    return compare(settings)


# --- the parts of a report -----------------------------------------------------------


def _known(settings: Settings, kb_id: str | None) -> str:
    if kb_id not in (None, settings.kb_id):
        raise UsageError(
            f"There is no knowledge base {shown(kb_id)}",
            f"Known: {settings.kb_id}. Leave kb_id out to use it.",
            code="unknown_kb",
        )
    return settings.kb_id


def _source(settings: Settings) -> tuple[dict[str, Any], list[dict[str, str]]]:
    value = {"dir": str(settings.knowledge_dir), "readable": True}
    try:
        Root(settings.knowledge_dir).close()
    except RagDocError as error:
        return value | {"readable": False}, [_problem(error)]
    return value, []


def _index(settings: Settings, deeply: bool = False) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The `index` part of Health with `facts` beside it, and the problems found."""
    facts: dict[str, Any] = {
        **{"states": {}, "unread": [], "source": _source_counts({})},
        "vectors": _Vectors(),
    }
    index: dict[str, Any] = {
        "path": str(settings.db),
        "schema": None,
        "documents": 0,
        "chunks": 0,
        "bytes": _bytes(settings.db),
        "integrity": "absent",
        "synced_at": None,
        "facts": facts,
    }
    try:
        db = database.open_read(settings.db)
    except RagDocError as error:
        if index["bytes"]:
            index["integrity"] = error.code
        return index, [_problem(error)]
    problems: list[dict[str, str]] = []
    try:
        with database.translated(settings.db):
            _read_index(db, index, facts)
            database.belongs(db, settings.kb_id)
            if deeply:
                facts["vectors"] = _vectors(db, settings, index["chunks"])
            if deeply:
                problems = _integrity(db)
    except (ConfigError, StoreError) as error:
        problems = [_problem(error)]
    finally:
        db.close()
    index["integrity"] = problems[0]["code"] if problems else "ok"
    return index, problems


def _read_index(db: database.Connection, index: dict[str, Any], facts: dict[str, Any]) -> None:
    counted = documents.counts(db)
    index["schema"] = schema.version(db)
    index["documents"], index["chunks"] = counted["documents"], counted["chunks"]
    index["synced_at"] = database.get_meta(db, SYNCED_AT)
    facts["states"] = counted["states"]
    facts["unread"] = documents.unread(db, limits.UNREAD_LISTED)
    facts["source"] = _source_counts(database.get_meta(db, REPORT, {}))


def _integrity(db: database.Connection) -> list[dict[str, str]]:
    from helpers.language.terms import Analyser
    from helpers.store import postings, verify

    analyser = Analyser()
    problems = verify.problems(db, analyser)
    if postings.made_by(db) not in (None, analyser.fingerprint):
        problems.append(
            {
                "code": "older_analyser",
                "what": "The index was made by another version of the word analysis",
                "remedy": SYNC_FIRST,
            }
        )
    return problems


def _source_counts(report: dict[str, Any]) -> dict[str, Any]:
    names = ("files_supported", "files_unsupported", "files_refused", "folders_unlisted")
    refused = report.get("refused", [])[: limits.UNREAD_LISTED]
    lists = {"excluded": report.get("excluded", {}), "refused": refused}
    return {name: report.get(name) for name in names} | lists


def _unlisted(facts: dict[str, Any]) -> list[dict[str, str]]:
    count = facts["source"]["folders_unlisted"]
    if not count:
        return []
    return [
        {
            "code": "folders_unreadable",
            "what": f"{count:,} folders could not be listed by the last sync",
            "remedy": "Give the account that runs the sync the right to read them (source.refused"
            " names them); what was indexed beneath them is kept.",
        }
    ]


def _last_job_problem(settings: Settings) -> list[dict[str, str]]:
    """The newest job, where it ended otherwise than it should."""
    job_id = queue.latest(settings)
    if job_id is None:
        return []
    try:
        job = queue.status(settings, job_id)
    except RagDocError as error:
        return [_problem(error)]
    if job.status not in (jobs.FAILED, jobs.INTERRUPTED):
        return []
    what = f"The last sync ({job_id}) {job.status}: {job.error or 'no reason is known'}"
    return [{"code": f"sync_{job.status}", "what": what, "remedy": "Sync again; it resumes."}]


def _queue(settings: Settings) -> list[dict[str, Any]]:
    return [
        {
            "job_id": job.job_id,
            "kb_id": job.kb_id,
            "position": position,
            "deferred": job.request.deferred,
            "last_error": job.error,
        }
        for position, job in enumerate(queue.queued(settings), 1)
    ]


@dataclass(frozen=True)
class _Vectors:
    """What the index holds for the model in force."""

    serving: bool = False
    counts: Mapping[str, int] = field(
        default_factory=lambda: {"embedded": 0, "pending": 0, "failed": 0}
    )
    trouble: dict[str, str] | None = None


def _vectors(db: database.Connection, settings: Settings, chunks: int) -> _Vectors:
    fingerprint = model.status(settings).fingerprint
    return _Vectors(
        generations.serving(db, fingerprint) is not None,
        generations.coverage(db, fingerprint, chunks),
        generations.trouble(db),
    )


def _semantic(
    settings: Settings, held: _Vectors, trouble: SemanticError | None
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The `semantic` part of Health, and the problems found: `ready` means it can be searched."""
    found = model.status(settings)
    value = {
        "ready": found.ready and held.serving,
        "model": found.name or None,
        "fingerprint": found.fingerprint or None,
        "dimension": found.dimension or None,
        **held.counts,
        "reason": None,
    }
    if not found.ready:
        value["reason"] = f"{found.reason}. {found.remedy}"
        wanted = settings.semantic == "on"
        missing = {"code": "semantic_missing", "what": found.reason, "remedy": found.remedy}
        return value, [missing] if wanted else []
    if trouble is not None:
        value |= {"ready": False, "reason": trouble.what}
        return value, [_problem(trouble) | {"code": "embedding_stopped"}]
    if held.trouble is not None:
        value["reason"] = held.trouble["what"]
        return value, [{"code": "embedding_stopped", **held.trouble}]
    if not held.serving:
        value["reason"] = f"The chunks have not got their vectors yet. {SYNC_FIRST}"
    return value, []


def _status(settings: Settings, index: dict[str, Any], problems: list[dict[str, str]]) -> str:
    """`syncing`, `not_indexed`, `needs_attention` or `ready`."""
    if is_locked(settings.lock_path):
        return "syncing"
    if problems and problems[0]["code"] != "no_index":
        return "needs_attention"
    return "ready" if index["synced_at"] else "not_indexed"


def _bytes(path: Path) -> int:
    total = 0
    for suffix in database.SIDE_FILES:
        side = Path(f"{path}{suffix}")
        total += side.stat().st_size if side.exists() else 0
    return total


def _problem(error: RagDocError) -> dict[str, str]:
    return {"code": error.code, "what": error.what, "remedy": error.remedy}
