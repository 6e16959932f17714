"""The queue: job files, and the lock that says whether somebody works on them.

Threats met here: two servers started by one client ask for a sync in the same instant; a
worker is killed and its pid given to another process; a server is closed while its sync runs;
a request comes in just as the worker ends.
Promises: at most one worker per data directory; a start either gives the id of a job that will
do what was asked, or queues one that the worker takes next, with no gap between the two; a job
whose lock is free reads `interrupted`; no pid is ever signalled or taken for proof.
Does not: know what a sync does. Deciding happens under a short start lock; working happens
under the worker lock, which one process holds for one job and then hands to the next.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from helpers import limits
from helpers.config import Settings
from helpers.errors import BusyError, Cancelled, RagDocError, StoreError, UsageError
from helpers.files import FileLock, is_locked, private_dir, private_file
from helpers.jobs import spawn
from helpers.jobs import state as jobs
from helpers.jobs.handle import JobHandle
from helpers.jobs.state import JobState, Request
from helpers.log import get_logger

QUEUED, ALREADY_RUNNING, UPGRADED = "queued", "already_running", "upgraded"
CANCEL_REQUESTED, NOT_RUNNING = "cancel_requested", "not_running"
HEAD_BYTES = 512  # bytes of a job file that hold its status
STALE_TEMPORARY_S = 3600.0  # seconds after which a half-written job file is swept up
WORKER_DIED = (
    "The worker ended before the sync did; the next sync resumes where it stopped, and may"
    " read the last few of the files counted here again."
)
WORKER_NEVER_STARTED = "The worker did not start; its log is sync.log in the logs folder."

Spawner = Callable[[str, tuple[str, ...], Path, FileLock], None]
Run = Callable[[JobHandle], object]
_logger = get_logger("jobs")
_STATUS = re.compile(rb'"status": "(\w+)"')


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a start: which job to poll, how it came about, and when to ask again."""

    job_id: str
    status: str
    poll_after_s: float = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a job in this process, with the exit code of its command line."""

    state: JobState
    exit_code: int


# --- asking --------------------------------------------------------------------------


def start(
    settings: Settings,
    *,
    force: bool = False,
    scope: str = "full",
    deferred: bool = False,
    spawner: Spawner = spawn.start_worker,
) -> Started:
    """Have a sync done; returns at once. Raises UsageError, StoreError, BusyError."""
    request = _request(settings, force, scope, deferred)
    with _start_lock(settings):
        lock = FileLock(settings.lock_path)
        if not lock.acquire(patience_s=limits.LOCK_RETRY_S):
            return _join(settings, request)
        try:
            _settle(settings)
            job, status = _merged(settings, request)
            if not job.request.deferred:
                _spawn(settings, job, lock, spawner)
            return Started(job.job_id, status)
        finally:
            lock.release()


def status(settings: Settings, job_id: str | None = None) -> JobState:
    """The job as it truly is: `interrupted` where its worker is gone. Raises UsageError."""
    if job_id is None:
        job_id = latest(settings)
        if job_id is None:
            raise UsageError("No sync has run yet", "Start one first.", code="unknown_job")
    state = jobs.load(settings.jobs_dir, job_id)
    if state is None:
        raise jobs.unknown_job(job_id)
    if _looks_dead(settings, state):
        # Read again: the worker writes its last state before it frees the lock.
        state = jobs.load(settings.jobs_dir, job_id) or state
        if _looks_dead(settings, state):
            state = _interrupted(state)
            _persist_interrupted(settings, state)
    return state


def cancel(settings: Settings, job_id: str) -> str:
    """Ask for the end of a job: `cancelled`, `cancel_requested` or `not_running`."""
    with _start_lock(settings):
        state = status(settings, job_id)
        if state.status in jobs.TERMINAL:
            return NOT_RUNNING
        if state.status == jobs.QUEUED:
            # Workers take jobs under the start lock, so this one will never begin.
            jobs.save(settings.jobs_dir, jobs.finished(state, jobs.CANCELLED))
            return jobs.CANCELLED
        private_file(jobs.cancel_path(settings.jobs_dir, job_id))
        return CANCEL_REQUESTED


def active(settings: Settings) -> JobState | None:
    """The running job, or the one whose worker is starting; None when nothing runs."""
    if not is_locked(settings.lock_path):
        return None
    return _running(settings) or _next(settings)


def queued(settings: Settings) -> list[JobState]:
    """The jobs that wait, in the order in which they will run; deferred ones last."""
    waiting = [job for job in _unfinished(settings) if job.status == jobs.QUEUED]
    return sorted(waiting, key=lambda job: (job.request.deferred, job.job_id))


def latest(settings: Settings) -> str | None:
    """The id of the running job, else of the newest one; None before the first."""
    running = _running(settings)
    if running is not None:
        return running.job_id
    return max(_job_ids(settings), default=None)


def known(settings: Settings) -> list[str]:
    """The ids of every job that is remembered, the newest first."""
    return _job_ids(settings)[::-1]


@contextlib.contextmanager
def idle(settings: Settings) -> Iterator[None]:
    """Hold the worker lock, so that no sync runs meanwhile. Raises BusyError."""
    with _start_lock(settings):
        lock = FileLock(settings.lock_path)
        if not lock.acquire(patience_s=limits.LOCK_RETRY_S):
            raise _busy(settings)
        try:
            yield
        finally:
            lock.release()


# --- working -------------------------------------------------------------------------


def run_here(
    settings: Settings,
    run: Run,
    *,
    force: bool = False,
    scope: str = "full",
    progress: Callable[[JobState], None] | None = None,
    spawner: Spawner = spawn.start_worker,
) -> Outcome:
    """Do a sync in this process, as the one worker. Raises BusyError naming the running job.

    `run` gets the JobHandle; when it returns without `finish`, the job is done.
    A KeyboardInterrupt ends the job as interrupted and gives exit code 130.
    """
    request = _request(settings, force, scope, False)
    lock = FileLock(settings.lock_path)
    with _start_lock(settings):
        if not lock.acquire(patience_s=limits.LOCK_RETRY_S):
            raise _busy(settings)
        try:
            _settle(settings)
            job, _ = _merged(settings, request)
            handle = _take(settings, job, progress)
        except BaseException:
            lock.release()
            raise
    return _work(settings, handle, lock, run, spawner)


def run_worker(
    settings: Settings,
    job_id: str,
    run: Run,
    *,
    lock_fd: int | None = None,
    spawner: Spawner = spawn.start_worker,
) -> Outcome | None:
    """The detached worker: do `job_id`, then hand the lock on. None when it is not to be done.

    `lock_fd` is the descriptor through which the parent passed the worker lock down.
    """
    lock = FileLock(settings.lock_path)
    if lock_fd is not None:
        lock = FileLock.adopt(settings.lock_path, lock_fd)
    if not lock.acquire(patience_s=limits.LOCK_RETRY_S):
        _logger.info("job %s: another worker holds the lock and will take it", job_id)
        return None
    with _start_lock(settings):
        _settle(settings)
        job = jobs.load(settings.jobs_dir, job_id)
        handle = _take(settings, job) if job and job.status == jobs.QUEUED else None
    if handle is None:
        _hand_on(settings, lock, spawner)
        return None
    return _work(settings, handle, lock, run, spawner)


def _take(
    settings: Settings, job: JobState, progress: Callable[[JobState], None] | None = None
) -> JobHandle:
    jobs.keep_reserve(settings.jobs_dir, job.job_id)
    handle = JobHandle(settings.jobs_dir, jobs.started(job), progress)
    handle.flush()
    return handle


def _work(
    settings: Settings, handle: JobHandle, lock: FileLock, run: Run, spawner: Spawner
) -> Outcome:
    try:
        exit_code = _guarded(handle, run)
    finally:
        handle.finish(jobs.FAILED, "The sync stopped without a reason.")
        jobs.free_reserve(settings.jobs_dir, handle.job_id)
        with contextlib.suppress(OSError):
            jobs.cancel_path(settings.jobs_dir, handle.job_id).unlink(missing_ok=True)
        _hand_on(settings, lock, spawner)
    return Outcome(handle.state(), exit_code)


def _guarded(handle: JobHandle, run: Run) -> int:
    """Run the story; every way it can end becomes a status and an exit code."""
    try:
        handle.checkpoint()
        run(handle)
        handle.finish(jobs.DONE)
        return 1 if handle.state().failed else 0
    except Cancelled as error:
        handle.finish(jobs.CANCELLED)
        return error.exit_code
    except KeyboardInterrupt:
        handle.finish(jobs.INTERRUPTED, "Stopped at the keyboard; the next sync resumes.")
        return Cancelled.exit_code
    except RagDocError as error:
        handle.finish(jobs.FAILED, str(error))
        return error.exit_code
    except Exception as error:
        _logger.exception("job %s failed", handle.job_id)
        text = f"Internal error: {type(error).__name__}: {error}. Sync again; if it comes back, "
        handle.finish(jobs.FAILED, text + "report it with the end of sync.log.")
        return StoreError.exit_code


def _hand_on(settings: Settings, lock: FileLock, spawner: Spawner) -> None:
    # Under the start lock, so that no request is queued between the last look and the release.
    with contextlib.suppress(BusyError), _start_lock(settings):
        for job in queued(settings):
            if lock.held and not job.request.deferred:
                with contextlib.suppress(RagDocError):
                    _spawn(settings, job, lock, spawner)
    lock.release()


def _spawn(settings: Settings, job: JobState, lock: FileLock, spawner: Spawner) -> None:
    try:
        spawner(job.job_id, job.request.flags, settings.logs_dir, lock)
    except RagDocError as error:
        jobs.save(settings.jobs_dir, jobs.finished(job, jobs.FAILED, str(error)))
        raise


# --- deciding ------------------------------------------------------------------------


def _request(settings: Settings, force: bool, scope: str, deferred: bool) -> Request:
    if scope not in jobs.SCOPES:
        raise UsageError(f"scope is {scope[:40]!r}", f"Give one of {', '.join(jobs.SCOPES)}.")
    return Request(force, scope, deferred, tuple(settings.flags()))


def _join(settings: Settings, request: Request) -> Started:
    """The answer while a worker holds the lock."""
    running, waiting = _running(settings), _waiting(settings, request)
    if running and not waiting and not request.deferred and running.request.covers(request):
        return Started(running.job_id, ALREADY_RUNNING, jobs.poll_after_s(running))
    job, status = _merged(settings, request)
    if waiting and not running and status == QUEUED and not waiting.request.deferred:
        status = ALREADY_RUNNING  # its worker holds the lock and is about to take it
    return Started(job.job_id, status)


def _merged(settings: Settings, request: Request) -> tuple[JobState, str]:
    """The queued job that covers `request`: one that waits, widened if need be, or a new one."""
    waiting = _waiting(settings, request)
    if waiting is None:
        after = max(_job_ids(settings), default=None)
        job = jobs.new_job(settings.kb_id, request, after=after)
        jobs.save(settings.jobs_dir, job)
        _forget_old(settings)
        return job, QUEUED
    old, wide = waiting.request, waiting.request.widened(request)
    job = replace(waiting, request=wide, updated_at=jobs.timestamp())
    jobs.save(settings.jobs_dir, job)
    return job, UPGRADED if (old.force, old.scope) != (wide.force, wide.scope) else QUEUED


def _waiting(settings: Settings, request: Request) -> JobState | None:
    for job in queued(settings):
        if jobs.same_base(job.request.flags, request.flags):
            return job
    return None


def _next(settings: Settings) -> JobState | None:
    return next((job for job in queued(settings) if not job.request.deferred), None)


def _running(settings: Settings) -> JobState | None:
    running = [job for job in _unfinished(settings) if job.status == jobs.RUNNING]
    return running[-1] if running else None


def _settle(settings: Settings) -> None:
    """Mark what dead workers left as running. The caller holds the worker lock."""
    for job in _unfinished(settings):
        if job.status == jobs.RUNNING:
            jobs.free_reserve(settings.jobs_dir, job.job_id)
            jobs.save(settings.jobs_dir, _interrupted(job))


def _looks_dead(settings: Settings, state: JobState) -> bool:
    if state.status == jobs.RUNNING:
        return not is_locked(settings.lock_path)
    if state.status == jobs.QUEUED and not state.request.deferred:
        waited = time.time() - _seconds(state.updated_at)
        return waited > limits.JOB_START_GRACE_S and not is_locked(settings.lock_path)
    return False


def _interrupted(state: JobState) -> JobState:
    text = WORKER_DIED if state.status == jobs.RUNNING else WORKER_NEVER_STARTED
    return jobs.finished(state, jobs.INTERRUPTED, text)


def _persist_interrupted(settings: Settings, state: JobState) -> None:
    """Write the verdict where nobody can be writing that file; else leave it to the next."""
    lock = FileLock(settings.lock_path)
    with contextlib.suppress(StoreError):
        if lock.acquire():
            try:
                now = jobs.load(settings.jobs_dir, state.job_id)
                if now is not None and now.status not in jobs.TERMINAL:
                    jobs.free_reserve(settings.jobs_dir, state.job_id)
                    jobs.save(settings.jobs_dir, state)
                    jobs.cancel_path(settings.jobs_dir, state.job_id).unlink(missing_ok=True)
            except OSError as error:
                _logger.debug("job %s: %s", state.job_id, error)
            finally:
                lock.release()


# --- files ---------------------------------------------------------------------------


@contextlib.contextmanager
def _start_lock(settings: Settings) -> Iterator[None]:
    private_dir(settings.data_dir)
    private_dir(settings.jobs_dir)
    lock = FileLock(settings.data_dir / "start.lock")
    if not lock.acquire(patience_s=limits.START_LOCK_S):
        raise BusyError(
            f"Another process has been starting a sync for {limits.START_LOCK_S:g} seconds",
            "Try again; if this stays, end the process that holds start.lock.",
        )
    try:
        yield
    finally:
        lock.release()


def _busy(settings: Settings) -> BusyError:
    job = _running(settings) or _next(settings)
    name = f"job {job.job_id}" if job else "another process"
    return BusyError(
        f"A sync is running in this data directory ({name})",
        "Wait for it (--status), or cancel it (--cancel JOB).",
    )


def _job_ids(settings: Settings) -> list[str]:
    try:
        names = os.listdir(settings.jobs_dir)
    except OSError:
        return []
    stems = (name[:-5] for name in names if name.endswith(".json"))
    return sorted(stem for stem in stems if jobs.JOB_ID.fullmatch(stem))


def _unfinished(settings: Settings) -> list[JobState]:
    """The queued and running jobs by age; a file that does not parse is passed over."""
    found = []
    for job_id in _job_ids(settings):
        if _status_of(settings.jobs_dir / f"{job_id}.json") in (jobs.QUEUED, jobs.RUNNING):
            with contextlib.suppress(StoreError):
                state = jobs.load(settings.jobs_dir, job_id)
                if state is not None and state.status not in jobs.TERMINAL:
                    found.append(state)
    return found


def _status_of(path: Path) -> str | None:
    """The status alone: finished jobs can list many failures and need not be parsed."""
    try:
        with path.open("rb") as file:
            match = _STATUS.search(file.read(HEAD_BYTES))
    except OSError:
        return None
    return match.group(1).decode("ascii") if match else None


def _forget_old(settings: Settings) -> None:
    """Keep JOB_HISTORY finished jobs, and no half-written file of a killed worker."""
    finished = [
        job_id
        for job_id in _job_ids(settings)
        if _status_of(settings.jobs_dir / f"{job_id}.json") not in (jobs.QUEUED, jobs.RUNNING)
    ]
    for job_id in finished[: -limits.JOB_HISTORY]:
        for path in map(
            partial(_sibling, settings.jobs_dir, job_id), (".json", ".cancel", ".reserve")
        ):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    for path in settings.jobs_dir.glob(".*.json.*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > STALE_TEMPORARY_S:
                path.unlink()


def _sibling(folder: Path, job_id: str, suffix: str) -> Path:
    return folder / (job_id + suffix)


def _seconds(stamp: str | None) -> float:
    if not stamp:
        return 0.0
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
