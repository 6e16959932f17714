"""The queue of job files: starting, joining, widening, cancelling, recovering."""

from __future__ import annotations

import json
import os
import signal
import stat
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from helpers import limits
from helpers.config import Settings
from helpers.errors import BusyError, StoreError, UsageError
from helpers.files import FileLock, is_locked, write_json
from helpers.jobs import queue, state
from helpers.jobs.handle import JobHandle
from tests.jobs.stage import ended, eventually, hold, reaches, settings_in, spawner, sync

Start = partial(queue.start, spawner=spawner)


@pytest.fixture()
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def not_spawned(*_: object) -> None:
    raise AssertionError("no worker was to be started")


def worker_pid(settings: Settings, job_id: str) -> int:
    path = settings.data_dir / f"pid-{job_id}"
    return int(eventually(lambda: path.exists() and path.read_text()))


def stored(settings: Settings, job_id: str) -> state.JobState:
    job = state.load(settings.jobs_dir, job_id)
    assert job is not None
    return job


def test_a_start_returns_at_once_and_its_worker_does_the_job(settings: Settings) -> None:
    started = Start(settings)
    assert started.status == "queued"
    job = ended(settings, started.job_id)
    assert (job.status, job.progress_percent, job.added, job.phase) == ("done", 100, 10, "done")
    assert job.request.flags == tuple(settings.flags())
    eventually(lambda: not is_locked(settings.lock_path))


def test_a_start_beside_a_running_job_gets_the_running_job(settings: Settings) -> None:
    held = hold(settings)
    first = Start(settings)
    reaches(settings, first.job_id, 1)
    second = queue.start(settings, spawner=not_spawned)
    assert (second.job_id, second.status) == (first.job_id, "already_running")
    active = queue.active(settings)
    assert active is not None and active.job_id == first.job_id
    held.unlink()
    assert ended(settings, first.job_id).status == "done"


def test_the_lock_is_held_from_the_start_on_without_a_gap(settings: Settings) -> None:
    held = hold(settings)
    first = Start(settings)
    assert is_locked(settings.lock_path)
    second = queue.start(settings, spawner=not_spawned)
    assert (second.job_id, second.status) == (first.job_id, "already_running")
    held.unlink()
    assert ended(settings, first.job_id).status == "done"


def test_a_forced_start_beside_an_unforced_job_follows_it(settings: Settings) -> None:
    held = hold(settings)
    first = Start(settings)
    reaches(settings, first.job_id, 1)
    forced = queue.start(settings, force=True, spawner=not_spawned)
    assert forced.status == "queued" and forced.job_id != first.job_id
    again = queue.start(settings, force=True, spawner=not_spawned)
    assert (again.job_id, again.status) == (forced.job_id, "queued")
    held.unlink()
    assert ended(settings, first.job_id).status == "done"
    last = ended(settings, forced.job_id)
    assert last.status == "done" and last.request.force


def test_a_queued_job_is_upgraded_by_a_wider_request(settings: Settings) -> None:
    held = hold(settings)
    first = Start(settings, scope="embedding")
    reaches(settings, first.job_id, 1)
    second = queue.start(settings, scope="contextualization", spawner=not_spawned)
    third = queue.start(settings, scope="full", force=True, spawner=not_spawned)
    assert second.status == "queued"
    assert (third.job_id, third.status) == (second.job_id, "upgraded")
    held.unlink()
    job = ended(settings, second.job_id)
    assert (job.status, job.request.scope, job.request.force) == ("done", "full", True)


def test_a_deferred_job_waits_until_the_next_start_merges_it(settings: Settings) -> None:
    deferred = queue.start(settings, force=True, deferred=True, spawner=not_spawned)
    assert deferred.status == "queued"
    assert queue.status(settings, deferred.job_id).status == "queued"
    assert not is_locked(settings.lock_path)
    started = Start(settings)
    assert started.job_id == deferred.job_id
    job = ended(settings, started.job_id)
    assert job.status == "done" and job.request.force


def test_another_base_in_the_same_data_directory_queues_behind(settings: Settings) -> None:
    other = replace(settings, db=settings.data_dir / "other.sqlite3")
    held = hold(settings)
    first = Start(settings)
    reaches(settings, first.job_id, 1)
    second = queue.start(other, spawner=not_spawned)
    assert second.status == "queued" and second.job_id != first.job_id
    held.unlink()
    assert ended(settings, first.job_id).status == "done"
    job = ended(other, second.job_id)
    assert job.status == "done" and str(other.db) in job.request.flags


def test_a_killed_worker_reads_interrupted_and_the_lock_is_free(settings: Settings) -> None:
    hold(settings)
    job_id = Start(settings).job_id
    reaches(settings, job_id, 1)
    os.kill(worker_pid(settings, job_id), signal.SIGKILL)
    job = ended(settings, job_id)
    assert job.status == "interrupted" and "resumes" in (job.error or "")
    assert stored(settings, job_id).status == "interrupted"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks /proc for the dead")
def test_an_ended_worker_leaves_no_zombie_in_the_server(settings: Settings) -> None:
    job_id = Start(settings).job_id
    pid = worker_pid(settings, job_id)
    assert ended(settings, job_id).status == "done"
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_job_that_ended_meanwhile_is_not_called_interrupted(settings: Settings) -> None:
    started = state.started(state.new_job("default", state.Request()))
    settings.jobs_dir.mkdir(parents=True)
    state.save(settings.jobs_dir, state.finished(started, state.DONE))
    queue._persist_interrupted(settings, state.finished(started, state.INTERRUPTED))
    assert stored(settings, started.job_id).status == "done"


def test_a_worker_that_never_starts_does_not_stay_queued(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_START_GRACE_S", 0.0)
    started = queue.start(settings, spawner=lambda *_: None)
    job = queue.status(settings, started.job_id)
    assert job.status == "interrupted" and "did not start" in (job.error or "")


def test_a_start_that_fails_says_so_and_frees_the_lock(settings: Settings) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("The sync worker cannot be started: no memory", "Free memory.")

    with pytest.raises(StoreError, match="Free memory"):
        queue.start(settings, spawner=refuse)
    assert queue.status(settings).status == "failed"
    assert not is_locked(settings.lock_path)


def test_cancel_of_a_running_job_keeps_what_was_done(settings: Settings) -> None:
    hold(settings, 3)
    job_id = Start(settings).job_id
    reaches(settings, job_id, 3)
    assert queue.cancel(settings, job_id) == "cancel_requested"
    job = ended(settings, job_id)
    assert (job.status, job.added, job.cancel_requested) == ("cancelled", 3, True)
    assert job.progress_percent < 100
    assert queue.cancel(settings, job_id) == "not_running"
    eventually(lambda: not state.cancel_path(settings.jobs_dir, job_id).exists())


def test_cancel_of_a_queued_job_ends_it_before_it_begins(settings: Settings) -> None:
    job_id = queue.start(settings, deferred=True, spawner=not_spawned).job_id
    assert queue.cancel(settings, job_id) == "cancelled"
    assert queue.status(settings, job_id).status == "cancelled"
    assert Start(settings).job_id != job_id


@pytest.mark.parametrize("job_id", ["nope", "../../etc/passwd", "20250101T000000000Z-abcdef", ""])
def test_an_unknown_job_is_named_with_its_remedy(settings: Settings, job_id: str) -> None:
    for ask in (queue.status, queue.cancel):
        with pytest.raises(UsageError, match=r"There is no job .* latest job"):
            ask(settings, job_id)


def test_status_before_the_first_sync_says_so(settings: Settings) -> None:
    with pytest.raises(UsageError, match="No sync has run yet"):
        queue.status(settings)
    assert queue.latest(settings) is None


def test_an_unknown_scope_is_refused(settings: Settings) -> None:
    with pytest.raises(UsageError, match="full"):
        queue.start(settings, scope="everything")


def test_a_foreground_sync_takes_the_same_lock(settings: Settings) -> None:
    def run(job: JobHandle) -> None:
        with pytest.raises(BusyError, match=job.job_id):
            queue.run_here(settings, lambda _: None)
        joined = queue.start(settings, spawner=not_spawned)
        assert (joined.job_id, joined.status) == (job.job_id, "already_running")
        with pytest.raises(BusyError, match=job.job_id), queue.idle(settings):
            pass
        sync(settings, job)

    seen: list[state.JobState] = []
    outcome = queue.run_here(settings, run, progress=seen.append, spawner=not_spawned)
    assert (outcome.exit_code, outcome.state.status) == (0, "done")
    assert [s.status for s in seen][-1] == "done"
    assert not is_locked(settings.lock_path)


def test_a_request_queued_during_a_foreground_sync_gets_a_worker(settings: Settings) -> None:
    queued: list[str] = []

    def run(job: JobHandle) -> None:
        queued.append(queue.start(settings, force=True, spawner=not_spawned).job_id)

    assert queue.run_here(settings, run, spawner=spawner).exit_code == 0
    assert ended(settings, queued[0]).status == "done"


@pytest.mark.parametrize(
    ("error", "status", "exit_code", "words"),
    [
        (StoreError("The disk is full", "Free space"), "failed", 4, "Free space"),
        (KeyboardInterrupt(), "interrupted", 130, "keyboard"),
        (ZeroDivisionError("by zero"), "failed", 4, "ZeroDivisionError"),
    ],
)
def test_every_end_of_the_story_becomes_a_status_and_an_exit_code(
    settings: Settings, error: BaseException, status: str, exit_code: int, words: str
) -> None:
    def run(_: JobHandle) -> None:
        raise error

    outcome = queue.run_here(settings, run)
    assert (outcome.state.status, outcome.exit_code) == (status, exit_code)
    assert words in (queue.status(settings).error or "")
    assert not is_locked(settings.lock_path)


def test_failed_files_give_exit_code_one(settings: Settings) -> None:
    outcome = queue.run_here(
        settings, lambda job: job.failure("a.pdf", "corrupt", "broken", "mend")
    )
    assert (outcome.exit_code, outcome.state.failed) == (1, 1)
    assert queue.status(settings).public()["failures"] == [
        {"path": "a.pdf", "code": "corrupt", "reason": "broken", "remedy": "mend"}
    ]


def test_history_is_bounded_and_never_loses_a_waiting_job(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_HISTORY", 3)
    waiting = queue.start(settings, deferred=True, spawner=not_spawned).job_id
    other = replace(settings, kb_id="other")
    for _ in range(6):
        queue.run_here(other, lambda _: None, spawner=not_spawned)
    files = sorted(path.stem for path in settings.jobs_dir.glob("*.json"))
    assert waiting in files and len(files) == 5  # 3 kept, the newest, and the one that waits


def test_a_job_file_that_is_not_one_is_named(settings: Settings) -> None:
    job_id = queue.run_here(settings, lambda _: None).state.job_id
    write_json(state.job_path(settings.jobs_dir, job_id), {"job_id": job_id, "status": "odd"})
    with pytest.raises(StoreError, match="is no job file"):
        queue.status(settings, job_id)
    assert queue.run_here(settings, lambda _: None).exit_code == 0


def test_job_files_are_private_and_hold_the_contract(settings: Settings) -> None:
    old = os.umask(0)
    try:
        job_id = queue.run_here(settings, partial(sync, settings)).state.job_id
    finally:
        os.umask(old)
    path = state.job_path(settings.jobs_dir, job_id)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.jobs_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(settings.lock_path.stat().st_mode) == 0o600
    value = json.loads(path.read_text(encoding="utf-8"))
    assert set(value) >= CONTRACT_FIELDS
    assert set(stored(settings, job_id).public()) == CONTRACT_FIELDS
    assert value["worker"]["pid"] == os.getpid()


FIELDS = """job_id kb_id status phase progress_percent current_file completed_files total_files
    semantic_done semantic_total eta_s added updated unchanged deleted failed skipped failures
    cancel_requested error started_at updated_at finished_at poll_after_s"""
CONTRACT_FIELDS = set(FIELDS.split())


def test_a_probe_of_the_lock_does_not_make_a_start_fail(settings: Settings) -> None:
    lock = FileLock(settings.lock_path)
    settings.data_dir.mkdir(exist_ok=True)
    for _ in range(50):
        assert not is_locked(settings.lock_path)
        assert lock.acquire(patience_s=limits.LOCK_RETRY_S)
        assert is_locked(settings.lock_path)
        lock.release()
