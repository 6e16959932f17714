"""The boundary that doors call: plain dicts as CONTRACT says, errors with a remedy."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers import limits, service, survey
from helpers.config import Settings
from helpers.errors import BusyError, RootGone, StoreError, Unread, UsageError
from helpers.files import is_locked
from helpers.jobs import progress, queue, spawn, state
from helpers.language.terms import Analyser
from helpers.source import names
from helpers.source.root import Root, Vanished
from helpers.store import database
from helpers.store.documents import Description, File, Stat, Writer
from tests.jobs import stage
from tests.jobs.stage import eventually, hold, settings_in
from tests.store.fakes import FakeChunk

HEALTH = """kb_id ok problems source index semantic ocr contextualization queue formats files
    unread active_job"""


@pytest.fixture()
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(spawn, "WORKER", Path(stage.__file__))
    return settings_in(tmp_path)


def index(settings: Settings, *unread: tuple[str, str]) -> None:
    """Index the folder's files as they are now; `unread` are (path, code) without text."""
    analyser, failed = Analyser(), dict(unread)
    db = database.open_write(settings.db)
    writer = Writer(db, analyser, settings.kb_id)
    for path in sorted(settings.knowledge_dir.rglob("*")):
        if path.is_file():
            raw = os.fsencode(path.relative_to(settings.knowledge_dir))
            key, data = path.stat(), path.read_bytes()
            code = failed.get(names.display(raw))
            chunk = FakeChunk(data.decode() or "-")
            chunk.terms, chunk.context_terms, chunk.grams = analyser.chunk(
                chunk.text, chunk.context, False
            )
            found = Description(
                Stat(key.st_size, key.st_mtime_ns, key.st_ctime_ns, key.st_ino),
                "reader-1",
                sha256=hashlib.sha256(data).digest(),
                unread=Unread(code, "a reason", "a remedy") if code else None,
            )
            file = File(*names.split(raw), names.display(raw))
            writer.replace(file, [] if code else [chunk], partial(replace, found))
    writer.commit()
    database.set_meta(db, "analyser", analyser.fingerprint)
    database.set_meta(db, service.SYNCED_AT, "2025-01-01T00:00:00Z")
    database.set_meta(db, service.REPORT, {"files_supported": 3, "excluded": {"default: x/": 1}})
    db.close()


def write(settings: Settings, **files: str) -> None:
    for name, text in files.items():
        path = settings.knowledge_dir / (name.replace("__", "/") + ".txt")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def is_plain(value: Any) -> bool:
    """Nothing but what JSON has, tuples excluded."""
    return value == json.loads(json.dumps(value))


# --- syncing ------------------------------------------------------------------------------


def test_start_status_and_cancel_answer_as_the_contract_says(settings: Settings) -> None:
    hold(settings)
    begun = time.monotonic()
    started = service.start_sync(settings)
    assert time.monotonic() - begun < 1.0
    assert started == {"job_id": started["job_id"], "status": "queued", "poll_after_s": 1}
    assert service.start_sync(settings)["status"] == "already_running"
    job = service.sync_status(settings)
    assert job["job_id"] == started["job_id"] and is_plain(job)
    assert service.health(settings)["active_job"] == started["job_id"]
    assert service.knowledge_bases(settings)[0]["status"] == "syncing"
    stage.reaches(settings, started["job_id"], 1)
    cancelled = service.cancel_sync(settings, started["job_id"])
    assert cancelled == {"job_id": started["job_id"], "status": "cancel_requested"}
    assert stage.ended(settings, started["job_id"]).status == "cancelled"


def test_a_start_without_a_source_says_so_at_once(settings: Settings) -> None:
    settings.knowledge_dir.rmdir()
    with pytest.raises(RootGone):
        service.start_sync(settings)
    assert queue.latest(settings) is None


def test_a_blocking_sync_reports_and_returns_the_final_job(settings: Settings) -> None:
    seen: list[dict[str, Any]] = []
    job = service.sync_blocking(settings, progress=seen.append)
    assert (job["status"], job["progress_percent"]) == ("done", 100)
    assert seen[-1] == job and is_plain(job)
    percents = [one["progress_percent"] for one in seen]
    assert percents == sorted(percents)


def test_a_blocking_sync_is_cancelled_by_its_caller(settings: Settings) -> None:
    hold(settings, 2)
    seen: list[int] = []
    job = service.sync_blocking(
        settings,
        progress=lambda one: seen.append(one["completed_files"]),
        cancelled=lambda: bool(seen) and seen[-1] >= 2,
    )
    assert (job["status"], job["added"]) == ("cancelled", 2)


def test_clear_needs_confirmation_and_no_running_job(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    with pytest.raises(UsageError, match="confirm"):
        service.clear_index(settings, "default")
    held = hold(settings)
    job_id = service.start_sync(settings)["job_id"]
    with pytest.raises(BusyError, match=job_id):
        service.clear_index(settings, "default", True)
    held.unlink()
    stage.ended(settings, job_id)
    eventually(lambda: not is_locked(settings.lock_path))
    assert service.clear_index(settings, "default", True) == {"cleared": True}
    (base,) = service.knowledge_bases(settings)
    assert (base["status"], base["name"]) == ("not_indexed", settings.knowledge_dir.name)
    assert (settings.knowledge_dir / "a.txt").read_text() == "one"
    settings.db.mkdir()
    with pytest.raises(StoreError, match="cannot be removed"):
        service.clear_index(settings, "default", True)


# --- reporting ----------------------------------------------------------------------------


def test_health_before_the_first_sync_names_the_remedy(settings: Settings) -> None:
    found = service.health(settings)
    assert set(HEALTH.split()) <= set(found) and is_plain(found)
    assert [problem["code"] for problem in found["problems"]] == ["no_index"]
    assert "sync" in found["problems"][0]["remedy"]
    assert found["index"]["integrity"] == "absent" and not found["ok"]
    assert not settings.db.exists()


def test_health_counts_files_by_state_and_lists_the_unread(settings: Settings) -> None:
    write(settings, a="one", b="two", c="three")
    index(settings, ("b.txt", "encrypted"), ("c.txt", "corrupt"))
    found = service.health(settings)
    assert found["ok"] and found["index"]["integrity"] == "ok"
    assert found["files"] == {
        "ready": 1,
        "degraded": 0,
        "pending": 0,
        "failed": 1,
        "needs_action": 1,
    }
    assert [(one["path"], one["code"]) for one in found["unread"]] == [
        ("b.txt", "encrypted"),
        ("c.txt", "corrupt"),
    ]
    assert found["unread_total"] == 2
    assert (found["index"]["documents"], found["index"]["chunks"]) == (1, 1)
    assert found["index"]["synced_at"] == "2025-01-01T00:00:00Z"
    assert found["source"]["files_supported"] == 3
    assert found["source"]["excluded"] == {"default: x/": 1}
    assert found["semantic"]["ready"] is False and found["semantic"]["reason"]
    assert found["formats"]["txt"] == "ok" and found["formats"]["audio"] == "unsupported"
    assert found["index"]["bytes"] > 0


def test_health_tells_what_no_engine_reads(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "whisper").mkdir()
    wanted = replace(settings, ocr="off", whisper_model_dir=tmp_path / "whisper")
    found = service.health(wanted)["formats"]
    assert found["image"] == "unsupported"  # nobody wants it
    assert found["audio"].startswith("missing: ") and len(found["audio"]) > 20


def test_health_lists_at_most_fifty_unread_files_with_their_total(settings: Settings) -> None:
    write(settings, **{f"f{n:03}": "x" for n in range(60)})
    index(settings, *((f"f{n:03}.txt", "corrupt") for n in range(60)))
    found = service.health(settings)
    assert (len(found["unread"]), found["unread_total"]) == (limits.UNREAD_LISTED, 60)


def test_health_finds_emptied_postings(settings: Settings) -> None:
    write(settings, a="one", b="two")
    index(settings)
    db = database.open_write(settings.db)
    db.execute("INSERT INTO posting(posting) VALUES('delete-all')")
    db.close()
    found = service.health(settings)
    assert found["index"]["integrity"] == "postings_mismatch" and not found["ok"]
    assert "--force" in found["problems"][0]["remedy"]
    assert service.knowledge_bases(settings)[0]["kb_id"] == "default"


@pytest.mark.parametrize("kept", [0, 100, 5000])
def test_health_of_a_damaged_index_is_a_report_not_a_traceback(
    settings: Settings, kept: int
) -> None:
    write(settings, a="one")
    index(settings)
    data = settings.db.read_bytes()
    settings.db.write_bytes(data[:kept] + b"\x5a" * (len(data) - kept))
    found = service.health(settings)
    assert not found["ok"] and found["index"]["integrity"] != "ok"
    assert found["problems"][0]["code"] == "corrupt_index"
    assert "--force" in found["problems"][0]["remedy"]


def test_health_says_why_the_source_cannot_be_read(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    (settings.knowledge_dir / "a.txt").unlink()
    settings.knowledge_dir.rmdir()
    found = service.health(settings)
    assert found["source"]["readable"] is False
    assert [problem["code"] for problem in found["problems"]] == ["root_gone"]
    assert found["index"]["documents"] == 1


def test_health_names_a_failed_or_interrupted_sync(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    job = state.started(state.new_job("default", state.Request()))
    settings.jobs_dir.mkdir()
    state.save(settings.jobs_dir, job)
    found = service.health(settings)
    assert [problem["code"] for problem in found["problems"]] == ["sync_interrupted"]
    assert found["active_job"] is None


def test_health_names_folders_that_could_not_be_listed(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    db = database.open_write(settings.db)
    refused = {"path": "closed", "code": "unreadable", "reason": "no right", "remedy": "grant it"}
    database.set_meta(db, service.REPORT, {"folders_unlisted": 1, "refused": [refused]})
    db.close()
    found = service.health(settings)
    assert [problem["code"] for problem in found["problems"]] == ["folders_unreadable"]
    assert found["source"]["refused"] == [refused]


def test_health_shows_the_queue(settings: Settings) -> None:
    queued = service.start_sync(settings, deferred=True)["job_id"]
    assert service.health(settings)["queue"] == [
        {
            "job_id": queued,
            "kb_id": "default",
            "position": 1,
            "deferred": True,
            "last_error": None,
        }
    ]


def test_a_deferred_job_says_what_it_waits_for_until_a_sync_takes_it_up(
    settings: Settings,
) -> None:
    asked = service.start_sync(settings, deferred=True)
    assert asked["status"] == "queued" and "waits for the next sync" in asked["hint"]
    waiting = service.sync_status(settings, asked["job_id"])
    assert waiting["hint"] == asked["hint"] and waiting["hint"] in progress.summary(waiting)
    started = queue.start(settings, spawner=lambda *_: None)
    assert started.job_id == asked["job_id"]
    taken = service.sync_status(settings, started.job_id)
    assert "hint" not in taken and "waits" not in progress.summary(taken)


def test_an_unknown_base_names_the_known_ones(settings: Settings) -> None:
    for ask in (service.health, service.check_changes, service.clear_index):
        with pytest.raises(UsageError, match="Known: default"):
            ask(settings, "sales\0")


# --- the dry run --------------------------------------------------------------------------


def test_a_dry_run_before_the_first_sync_lists_all_as_added(settings: Settings) -> None:
    write(settings, a="one", sub__b="two")
    found = service.check_changes(settings)
    assert found["added"] == {"count": 2, "paths": ["a.txt", "sub/b.txt"]}
    assert found["clean"] is False and is_plain(found)


def test_a_dry_run_tells_added_modified_deleted_and_touched_apart(settings: Settings) -> None:
    write(settings, same="s", touched="t", edited="e", gone="g", sub__gone="g")
    index(settings)
    assert service.check_changes(settings)["clean"] is True
    later = time.time() + 10
    os.utime(settings.knowledge_dir / "touched.txt", (later, later))
    (settings.knowledge_dir / "edited.txt").write_text("other")
    (settings.knowledge_dir / "gone.txt").unlink()
    (settings.knowledge_dir / "sub" / "gone.txt").unlink()
    (settings.knowledge_dir / "sub").rmdir()
    write(settings, new="n")
    found = service.check_changes(settings)
    assert {name: found[name]["paths"] for name in ("added", "modified", "deleted")} == {
        "added": ["new.txt"],
        "modified": ["edited.txt"],
        "deleted": ["gone.txt", "sub/gone.txt"],
    }
    assert found["failed"]["count"] == 0 and found["clean"] is False


def test_a_dry_run_opens_no_unchanged_file(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(settings, a="one", b="two")
    index(settings)
    opened: list[bytes] = []
    original = Root.open

    def watched(self: Any, raw: bytes) -> Any:
        opened.append(raw)
        return original(self, raw)

    monkeypatch.setattr(Root, "open", watched)
    (settings.knowledge_dir / "b.txt").write_text("three")
    assert service.check_changes(settings)["modified"]["paths"] == ["b.txt"]
    assert opened == [b"b.txt"]


def test_a_dry_run_names_what_it_could_not_open_or_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(settings, a="one", b="two")
    index(settings)

    def refused(_: Any, raw: bytes) -> Any:
        raise Vanished if raw == b"b.txt" else Unread("unreadable", "permission denied")

    monkeypatch.setattr(Root, "open", refused)
    write(settings, a="other", b="another")
    found = service.check_changes(settings)
    assert (found["failed"]["paths"], found["deleted"]["paths"]) == (["a.txt"], ["b.txt"])


def test_a_dry_run_names_what_is_known_to_fail(settings: Settings) -> None:
    write(settings, a="one", b="two")
    index(settings, ("b.txt", "corrupt"))
    found = service.check_changes(settings)
    assert found["failed"] == {"count": 1, "paths": ["b.txt"]} and found["clean"] is True


def test_a_dry_run_lists_fifty_paths_and_counts_all(settings: Settings) -> None:
    write(settings, **{f"f{n:03}": "x" for n in range(70)})
    found = service.check_changes(settings)["added"]
    assert (found["count"], len(found["paths"])) == (70, limits.CHANGES_LISTED)


def test_a_dry_run_honours_the_exclusions_of_the_launch(settings: Settings) -> None:
    write(settings, a="one", old__b="two")
    found = service.check_changes(replace(settings, exclude_dirs=("old",)))
    assert found["added"]["paths"] == ["a.txt"]


def test_a_dry_run_over_an_empty_mount_point_claims_no_deletion(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    db = database.open_write(settings.db)
    database.set_meta(db, survey.ROOT_IDENTITY, [1, 2])
    db.close()
    (settings.knowledge_dir / "a.txt").unlink()
    with pytest.raises(RootGone, match="Connect its drive"):
        service.check_changes(settings)


def test_a_dry_run_without_a_source_claims_no_deletion(settings: Settings) -> None:
    write(settings, a="one")
    index(settings)
    (settings.knowledge_dir / "a.txt").unlink()
    settings.knowledge_dir.rmdir()
    with pytest.raises(RootGone):
        service.check_changes(settings)
