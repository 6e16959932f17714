"""The story of a sync: survey the folder, read what changed, forget what is gone, settle.

    python rag_sync.py --knowledge-dir DIR --data-dir STATE
    python rag_sync.py … --status | --cancel JOB | --check | --force | --clear --yes

Promises: a document's rows are committed whole, so that a kill at any point loses nothing that
was committed and the next sync goes on from there; no document is parsed in this process; a
folder that cannot be listed, or a root that vanished, prunes nothing; the source is only read.
Does not: search, or serve anybody. The story comes first, its command line last.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from helpers import changes, config, limits, log, service, setup
from helpers.config import Settings
from helpers.errors import CorruptIndex, RagDocError, Unread
from helpers.extract import formats
from helpers.extract.sandbox import OpenedFile, ReaderPool, Reading, ReadPolicy
from helpers.jobs import progress, queue
from helpers.jobs.handle import JobHandle
from helpers.language.chunk import ChunkPolicy
from helpers.language.terms import Analyser
from helpers.source import delta, names
from helpers.source.delta import Entry
from helpers.source.refuse import Refusal, secret_content
from helpers.source.root import (
    OpenedSource,
    Root,
    Vanished,
    digest,
    ensure_unchanged,
)
from helpers.source.walk import Folder, walk
from helpers.store import database, documents, postings, snapshots, verify
from helpers.store.documents import Description, File, Known, Stat, Writer

REFUSALS_KEPT = 200  # refusals listed in health; all are counted
UNHASHED_BYTES = 64 * limits.MIB  # bytes from which a file that nobody reads is not hashed

_logger = log.get_logger("sync")


class Candidate(NamedTuple):
    """A file to look into; `known` is its row, None for a new file."""

    folder: bytes
    entry: Entry
    known: Known | None

    @property
    def file(self) -> File:
        raw = names.join(self.folder, self.entry.name)
        return File(self.folder, self.entry.name, names.display(raw))


@dataclass(slots=True)
class Survey:
    """What one walk found out."""

    work: list[Candidate] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # ids of documents
    refusals: list[Refusal] = field(default_factory=list)
    unlisted: list[Refusal] = field(default_factory=list)  # folders that could not be listed
    excluded: dict[str, int] = field(default_factory=dict)
    mounts: list[bytes] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    unsettled: dict[bytes, bytes] = field(default_factory=dict)  # folder → snapshot, to be proven
    files: int = 0
    unchanged: int = 0

    @property
    def met(self) -> int:
        """Everything below the root, whatever became of it."""
        return self.files + len(self.refusals) + sum(self.excluded.values()) + len(self.seen) - 1

    def add(self, folder: Folder, found: delta.Delta) -> None:
        """Take in one folder and what changed in it."""
        self.seen.add(folder.raw)
        self.refusals += folder.refusals
        self.files += len(folder.entries)
        self.unchanged += found.unchanged
        if folder.error is not None:
            self.unlisted.append(folder.error)
        if folder.is_mount:
            self.mounts.append(folder.raw)
        for label, count in folder.excluded.items():
            self.excluded[label] = self.excluded.get(label, 0) + count
        raw = folder.raw
        self.work += [Candidate(raw, entry, None) for entry in found.added]
        self.work += [Candidate(raw, entry, _known(row)) for entry, row in found.suspect]
        self.work += [Candidate(raw, entry, _known(row)) for entry, row in found.stale]
        self.gone += [_known(row).id for _, row in found.gone]


# --- the story -----------------------------------------------------------------------------


def sync(settings: Settings, job: JobHandle) -> None:
    """Bring the index up to the folder as it is now.

    Raises RootGone before anything is changed, StoreError, Cancelled at a checkpoint.
    """
    job.phase("prepare")
    with Root(settings.knowledge_dir) as root, _open_index(settings, job.force) as db:
        with database.translated(settings.db):
            _Sync(settings, job, root, db).run()


class _Sync:
    """One run; its chapters share the index, the root and the job."""

    def __init__(
        self, settings: Settings, job: JobHandle, root: Root, db: database.Connection
    ) -> None:
        self.settings, self.job, self.root, self.db = settings, job, root, db
        self.policy = ReadPolicy(ChunkPolicy(settings.chunk_chars, settings.chunk_overlap))
        # Fingerprints of readers whose chunks need not be made again: by force, of none.
        self.valid = frozenset(() if job.force else _fingerprints(self.policy).values())
        self.readers = snapshots.readers_digest(self.valid)
        self.analyser = Analyser()
        self.writer = Writer(db, self.analyser, settings.kb_id)

    def run(self) -> None:
        job = self.job
        self._renew_postings()
        survey = self._survey()
        if survey.work or survey.gone:
            with database.transaction(self.db):
                snapshots.forget(self.db, survey.unsettled)
        try:
            if survey.work:
                job.phase("files")
                self._read(survey.work)
            if survey.gone:
                job.phase("cleanup")
                self._prune(survey.gone)
        except RagDocError:
            self.writer.commit()  # what was finished stays; an open document was rolled back
            raise
        self._settle(survey)
        self._report(survey)

    def _renew_postings(self) -> None:
        """Make the postings anew: another analyser made them, some are missing, or by force."""
        current = postings.made_by(self.db) == self.analyser.fingerprint
        if current and not self.job.force and verify.counts_match(self.db):
            return
        with database.transaction(self.db):
            postings.rebuild(self.db, self.analyser, self.job.checkpoint)

    def _survey(self) -> Survey:
        """Walk the folder once and compare each of its folders with what is known of it."""
        survey = Survey()
        snapshots_known = snapshots.all_of(self.db)
        mounts = {bytes.fromhex(raw) for raw in database.get_meta(self.db, changes.MOUNTS, [])}
        for folder in walk(self.root, changes.rules(self.settings), mounts):
            self.job.checkpoint()
            snapshot = snapshots.digest(folder.entries, self.readers)
            if folder.error is None and snapshots_known.pop(folder.raw, None) == snapshot:
                survey.add(folder, delta.Delta(unchanged=len(folder.entries)))
                continue
            survey.unsettled[folder.raw] = snapshot
            survey.add(folder, self._compare(folder))
        changes.ensure_mounted(self.root, self.db, survey.met)
        unlisted = [refusal.raw for refusal in survey.unlisted]
        for raw in delta.vanished(documents.folders(self.db), survey.seen, unlisted):
            survey.gone += documents.ids_in_folder(self.db, raw)
            survey.unsettled[raw] = b""
        self.job.total(len(survey.work))
        self.job.count(unchanged=survey.unchanged, skipped=len(survey.refusals))
        return survey

    def _compare(self, folder: Folder) -> delta.Delta:
        if folder.error is not None:
            return delta.Delta()
        known = documents.folder_rows(self.db, folder.raw)
        return delta.compare(folder.entries, known, self.valid)

    def _read(self, work: list[Candidate]) -> None:
        """Read every candidate that really changed; write each as it comes in."""
        intake = _Intake(self.root, work, self.job, self.valid)
        with contextlib.closing(intake), ReaderPool(self.policy, _workers(self.settings)) as pool:
            for reading in pool.read(intake, self.job.cancelled):
                self._write_settled(intake)
                self._write(*intake.take(reading.ticket), reading)
            self._write_settled(intake)
        self.writer.commit()

    def _write_settled(self, intake: _Intake) -> None:
        """Write what opening alone decided: same bytes, gone meanwhile, refused, unreadable."""
        for candidate, outcome in intake.settled():
            if isinstance(outcome, Vanished):
                if candidate.known is not None:
                    self.writer.remove(candidate.known.id)
                    self.job.count(deleted=1)
            elif isinstance(outcome, Unread):
                found = Description(_stat(candidate.entry), self._fingerprint(None), unread=outcome)
                self.writer.replace(candidate.file, (), _always(found))
            elif candidate.known is not None:
                self.writer.touch(candidate.known.id, outcome)
                self.job.count(unchanged=1)
            self.job.count(completed=1)

    def _write(self, candidate: Candidate, source: _Source, reading: Reading) -> None:
        """Write one reading. What it says counts only if the file stayed as it was."""
        file = candidate.file
        self.job.file(file.path)
        try:
            if not reading.streaming:
                source.ensure_unchanged()
            if reading.error is not None:
                raise reading.error
            self.writer.replace(
                file, reading.chunks, lambda: self._complete(source, reading), reading.streaming
            )
            known = candidate.known
            self.job.count(added=int(known is None), updated=int(known is not None))
        except Unread as unread:
            if unread.code == "changed_while_reading":
                self.job.failure(file.path, unread.code, unread.reason, unread.remedy)
            else:
                found = self._described(source, reading, unread)
                self.writer.replace(file, (), _always(found))
        finally:
            source.close()
        self.job.count(completed=1)
        database.truncate_wal(self.db, self.settings.db)

    def _complete(self, source: _Source, reading: Reading) -> Description:
        """The description of a document whose chunks are through."""
        if reading.streaming:
            source.ensure_unchanged()
        return self._described(source, reading)

    def _described(
        self, source: _Source, reading: Reading, unread: Unread | None = None
    ) -> Description:
        return Description(
            source.stat,
            self._fingerprint(reading.format),
            source.sha256,
            reading.format or "",
            reading.title or "",
            reading.encoding,
            tuple(
                {"code": notice.code, "message": notice.message, "location": notice.location}
                for notice in reading.notices
            ),
            unread,
        )

    def _fingerprint(self, format_name: str | None) -> str:
        return _fingerprints(self.policy).get(format_name or "", "")

    def _prune(self, gone: list[int]) -> None:
        for document_id in gone:
            self.job.checkpoint()
            self.writer.remove(document_id)
            self.job.count(deleted=1)
        self.writer.commit()

    def _settle(self, survey: Survey) -> None:
        """What the index owes the next search and the next sync."""
        with database.transaction(self.db):
            if self.writer.changed_chunks:
                postings.settle(self.db, self.writer.changed_chunks)
            snapshots.record(self.db, survey.unsettled, self.readers, self.valid)
            self._remember(survey)
        database.truncate_wal(self.db, self.settings.db)

    def _remember(self, survey: Survey) -> None:
        refused = [
            {"path": names.display(r.raw), "code": r.code, "reason": r.reason, "remedy": r.remedy}
            for r in (*survey.unlisted, *survey.refusals)[:REFUSALS_KEPT]
        ]
        unsupported = documents.count_of_code(self.db, "unsupported")
        report = {
            "files_supported": survey.files - unsupported,
            "files_unsupported": unsupported,
            "files_refused": len(survey.refusals),
            "folders_unlisted": len(survey.unlisted),
            "excluded": survey.excluded,
            "refused": refused,
        }
        facts = {
            "knowledge_dir": str(self.settings.knowledge_dir),
            changes.ROOT_IDENTITY: list(self.root.identity),
            changes.MOUNTS: [raw.hex() for raw in survey.mounts],
            service.REPORT: report,
            service.SYNCED_AT: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        for key, value in facts.items():
            database.set_meta(self.db, key, value)

    def _report(self, survey: Survey) -> None:
        """Name every file without usable text, known before or new."""
        for refusal in survey.unlisted:
            path = names.display(refusal.raw)
            self.job.failure(path, refusal.code, refusal.reason, refusal.remedy)
        for found in documents.unread(self.db, limits.JOB_FAILURES):
            if found["code"] not in changes.SKIPPED_BY_RULE:
                self.job.failure(found["path"], found["code"], found["reason"], found["remedy"])


@dataclass(slots=True)
class _Source:
    """An opened file, what it was when it was opened, and its hash."""

    opened: OpenedSource
    stat: Stat
    sha256: bytes | None

    def ensure_unchanged(self) -> None:
        ensure_unchanged(self.opened.fd, self.opened.stat)

    def close(self) -> None:
        self.opened.close()


class _Intake:
    """Opens candidates one by one as the readers ask for them; settles what needs no reader."""

    def __init__(
        self, root: Root, work: list[Candidate], job: JobHandle, valid: Container[str]
    ) -> None:
        self._root, self._work, self._job, self._valid = root, work, job, valid
        self._open: dict[int, tuple[Candidate, _Source]] = {}
        self._settled: list[tuple[Candidate, Unread | Stat]] = []

    def __iter__(self) -> Iterator[OpenedFile]:
        for ticket, candidate in enumerate(self._work):
            self._job.checkpoint()
            try:
                source = self._opened(candidate)
            except Unread as unread:
                self._settled.append((candidate, unread))
                continue
            if source is not None:
                self._open[ticket] = (candidate, source)
                name = os.fsdecode(candidate.entry.name)
                yield OpenedFile(ticket, source.opened.fd, name, source.stat.size)

    def take(self, ticket: int) -> tuple[Candidate, _Source]:
        """The candidate behind a reading, and its open file, which the caller closes."""
        return self._open.pop(ticket)

    def settled(self) -> Iterator[tuple[Candidate, Unread | Stat]]:
        """What needed no reader since the last call; a Stat stands for the same bytes."""
        settled, self._settled = self._settled, []
        yield from settled

    def close(self) -> None:
        """Close what is still open."""
        for _, source in self._open.values():
            source.close()
        self._open.clear()

    def _opened(self, candidate: Candidate) -> _Source | None:
        """The opened file; None where its bytes are those already indexed. Raises Unread."""
        opened = self._root.open(names.join(candidate.folder, candidate.entry.name))
        try:
            status = opened.stat
            entry = delta.recordable(candidate.entry, status, time.time_ns())
            stat = _stat(entry)
            # A format that nobody reads is told by its head: hashing a film would be in vain.
            named = formats.by_name(os.fsdecode(entry.name))
            if entry.size > UNHASHED_BYTES and (named is None or not named.supported):
                return _Source(opened, stat, None)
            found = digest(opened.fd, self._job.checkpoint)
            if found.secret is not None:
                raise secret_content(found.secret)
            known = candidate.known
            same = known is not None and known.sha256 == found.sha256
            if known is not None and same and known.fingerprint in self._valid:
                self._settled.append((candidate, stat))
                opened.close()
                return None
            return _Source(opened, stat, found.sha256)
        except BaseException:
            opened.close()
            raise


def _open_index(settings: Settings, force: bool) -> contextlib.closing[database.Connection]:
    """The index, ready to be written; `force` sets a damaged one aside and begins anew."""
    try:
        db = database.open_write(settings.db)
        if force:
            with database.translated(settings.db):
                if not verify.pages_sound(db, seconds=None):
                    db.close()
                    raise CorruptIndex("The index is damaged", database.REBUILD)
        return contextlib.closing(db)
    except CorruptIndex:
        if not force:
            raise
        aside = database.set_aside(settings.db)
        _logger.warning("the damaged index was set aside as %s", aside)
        return contextlib.closing(database.open_write(settings.db))


@functools.cache
def _fingerprints(policy: ReadPolicy) -> dict[str, str]:
    """Format name → what identifies its reader and the chunker; "" stands for no format."""
    chunker = policy.chunk.fingerprint
    found = {f.name: f"{formats.fingerprint(f)} {chunker}" for f in formats.FORMATS}
    return found | {"": "none " + "+".join(sorted(f.name for f in formats.FORMATS if f.supported))}


def _always(found: Description) -> Callable[[], Description]:
    return lambda: found


def _known(row: delta.Row) -> Known:
    return cast(Known, row)


def _stat(entry: Entry) -> Stat:
    return Stat(*entry[1:])


def _workers(settings: Settings) -> int:
    return settings.workers or min(os.cpu_count() or 1, limits.READERS_MAX)


# --- the command line ----------------------------------------------------------------------

EXAMPLES = """examples:
  rag_sync.py --knowledge-dir ~/Documents --data-dir ~/.mcp-ragdoc
  rag_sync.py --check                 what a sync would change
  rag_sync.py --status                the latest job
  rag_sync.py --force                 read every file again; rebuilds a damaged index
  rag_sync.py --clear --yes           delete the index, never a document
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code of CONTRACT's table."""
    words = list(sys.argv[1:] if words is None else words)
    arguments = _parser().parse_args(words)
    try:
        if not arguments.worker:
            setup.prefer_environment(sys.argv[0], words)
        settings = config.resolve(arguments)
        log.set_up(settings.quiet)
        return _run(settings, arguments)
    except RagDocError as error:
        print(f"rag_sync.py: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _run(settings: Settings, arguments: argparse.Namespace) -> int:
    story = functools.partial(sync, settings)
    if arguments.worker:
        outcome = queue.run_worker(settings, arguments.job, story, lock_fd=arguments.lock_fd)
        return outcome.exit_code if outcome is not None else 0
    if arguments.status is not None:
        return _show(service.sync_status(settings, arguments.status or None), arguments)
    if arguments.cancel is not None:
        return _show(service.cancel_sync(settings, arguments.cancel), arguments)
    if arguments.check:
        return _show(service.check_changes(settings), arguments)
    if arguments.clear:
        return _show(service.clear_index(settings, None, arguments.yes), arguments)
    with progress.shown(settings.quiet) as show:
        outcome = queue.run_here(settings, story, force=arguments.force, progress=show)
    job = outcome.state.public()
    if arguments.json:
        _show(job, arguments)
    else:
        print(progress.summary(job))
    return outcome.exit_code


def _show(value: dict[str, Any], arguments: argparse.Namespace) -> int:
    print(json.dumps(value, ensure_ascii=False, indent=None if arguments.json else 2))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rag_sync.py",
        usage="rag_sync.py [options]\n\n" + EXAMPLES,
        description="Bring the index up to the knowledge folder as it is now.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--status", metavar="JOB", nargs="?", const="", help="show a job, or the latest"
    )
    what.add_argument("--cancel", metavar="JOB", help="ask a running job to stop")
    what.add_argument("--check", action="store_true", help="what a sync would change; a dry run")
    what.add_argument("--clear", action="store_true", help="delete the index (needs --yes)")
    what.add_argument("--force", action="store_true", help="read every file again")
    what.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--yes", action="store_true", help="confirm --clear")
    parser.add_argument("--json", action="store_true", help="one JSON value on standard output")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--lock-fd", type=int, help=argparse.SUPPRESS)
    config.add_shared_flags(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
