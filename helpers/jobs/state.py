"""One job: its state, the rules by which it changes, and the file that shows it to others.

Promises: the file `<job_id>.json` is replaced atomically and always parses; percent never
falls and is 100 only when the job is done.
Does not: decide when to write (`handle` does), or whether a worker lives (`queue` does).
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.errors import StoreError, UsageError, shown
from helpers.files import private_file, read_json, write_json
from helpers.log import redact

QUEUED, RUNNING, DONE = "queued", "running", "done"
CANCELLED, FAILED, INTERRUPTED = "cancelled", "failed", "interrupted"
TERMINAL = frozenset({DONE, CANCELLED, FAILED, INTERRUPTED})
PHASES = ("prepare", "files", "cleanup", "semantic", "done")
SCOPES = ("embedding", "contextualization", "full")  # each one contains those before it

FILES_PERCENT = 90  # percent; semantic work is the rest
SMOOTHING = 0.2  # share of the newest sample in the smoothed rate
SAMPLE_S = 1.0  # seconds between two samples of the rate
DEFERRED = "It waits for the next sync that is started: nothing starts a deferred one by itself."
JOB_ID = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Failure:
    """One file without usable text, as of this sync."""

    path: str
    code: str
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for: `flags` are the words that give a worker the same settings."""

    force: bool = False
    scope: str = "full"
    deferred: bool = False
    flags: tuple[str, ...] = ()

    def covers(self, other: Request) -> bool:
        """Whether doing this does all that `other` asks for."""
        return (
            same_base(self.flags, other.flags)
            and (self.force or not other.force)
            and SCOPES.index(self.scope) >= SCOPES.index(other.scope)
        )

    def widened(self, other: Request) -> Request:
        """The smallest request that covers both; it waits only if both would."""
        return replace(
            self,
            force=self.force or other.force,
            scope=max(self.scope, other.scope, key=SCOPES.index),
            deferred=self.deferred and other.deferred,
        )


@dataclass(frozen=True, slots=True)
class JobState:
    """The Job of CONTRACT.md, plus what the queue needs (`request`, `worker`, `created_at`)."""

    job_id: str
    kb_id: str = "default"
    status: str = QUEUED
    phase: str = "prepare"
    progress_percent: int = 0
    current_file: str | None = None
    completed_files: int = 0
    total_files: int = 0
    semantic_done: int = 0
    semantic_total: int = 0
    eta_s: int | None = None
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[Failure, ...] = ()
    cancel_requested: bool = False
    error: str | None = None
    started_at: str | None = None
    updated_at: str | None = None
    finished_at: str | None = None
    poll_after_s: float = 1
    request: Request = Request()
    worker: Mapping[str, Any] | None = None
    created_at: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything, as it is kept in the job file."""
        value = {name: getattr(self, name) for name in self.__slots__}
        value["failures"] = [
            {"path": f.path, "code": f.code, "reason": f.reason, "remedy": f.remedy}
            for f in self.failures
        ]
        value["request"] = asdict(self.request)
        return value

    def public(self) -> dict[str, Any]:
        """The fields of CONTRACT.md, as doors show them."""
        value = self.as_dict()
        for name in ("request", "worker", "created_at"):
            del value[name]
        if self.status == QUEUED and self.request.deferred:
            value["hint"] = DEFERRED
        return value


@dataclass(frozen=True, slots=True)
class Rate:
    """A smoothed rate of work, in items per second of a monotonic clock."""

    at: float
    done: float = 0
    per_second: float = 0.0


# --- reducers: pure functions from one state to the next ------------------------------


def new_job(
    kb_id: str, request: Request, now: float | None = None, after: str | None = None
) -> JobState:
    """A queued job with a fresh id that sorts by time, and behind the job id `after` even where
    the clock was set back since: the newest job is the one with the highest id."""
    now = time.time() if now is None else now
    job_id = _id_at(datetime.fromtimestamp(now, timezone.utc))
    if after is not None and job_id <= after:
        job_id = _id_at(_moment_after(after))
    text = timestamp(now)
    return JobState(job_id, kb_id, request=request, created_at=text, updated_at=text)


def started(state: JobState, now: float | None = None) -> JobState:
    """The job as its worker takes it; the worker's pid, start and boot are evidence only."""
    text = timestamp(now)
    return replace(state, status=RUNNING, started_at=text, updated_at=text, worker=_this_process())


def in_phase(state: JobState, name: str) -> JobState:
    """The job in phase `name`; leaving a phase forgets its file and its ETA."""
    if name not in PHASES:
        raise ValueError(f"unknown phase {name!r}")
    if name == state.phase:
        return state
    return with_percent(replace(state, phase=name, current_file=None, eta_s=None))


def with_percent(state: JobState, parts: float = 0.0) -> JobState:
    """The percent that the counts prove, never below the one shown before; `parts` are the
    shares of files that are being read, added up.
    """
    if state.status == DONE:
        return replace(state, progress_percent=100)
    percent = 0
    if state.total_files:
        done = min(state.completed_files + parts, state.total_files)
        percent = int(FILES_PERCENT * done / state.total_files)
    if state.phase in ("cleanup", "semantic", "done"):
        percent = FILES_PERCENT
    if state.phase == "semantic" and state.semantic_total:
        share = min(state.semantic_done, state.semantic_total) / state.semantic_total
        percent = FILES_PERCENT + int((100 - FILES_PERCENT) * share)
    return replace(state, progress_percent=max(state.progress_percent, min(percent, 99)))


def sampled(rate: Rate, done: float, now: float) -> Rate:
    """The rate after `done` items at `now`; unchanged until SAMPLE_S have passed and more is done:
    work that is counted by the batch does not stand still in between."""
    elapsed = now - rate.at
    if elapsed < SAMPLE_S or done <= rate.done:
        return rate
    newest = (done - rate.done) / elapsed
    weight = SMOOTHING if rate.per_second else 1.0
    return Rate(now, done, rate.per_second + weight * (newest - rate.per_second))


def eta_s(rate: Rate, left: float) -> int | None:
    """Seconds until `left` items are done, or None while the rate is unknown."""
    if left <= 0:
        return 0
    return math.ceil(left / rate.per_second) if rate.per_second > 0 else None


def finished(
    state: JobState, status: str, error: str | None = None, now: float | None = None
) -> JobState:
    """The job at its end: `status` is one of TERMINAL."""
    if status not in TERMINAL:
        raise ValueError(f"{status!r} does not end a job")
    text = timestamp(now)
    ended = replace(
        state,
        status=status,
        phase="done" if status == DONE else state.phase,
        current_file=None,
        eta_s=0 if status == DONE else None,
        error=redact(error) if error else None,
        cancel_requested=state.cancel_requested or status == CANCELLED,
        updated_at=text,
        finished_at=text,
        poll_after_s=0,
    )
    return with_percent(ended)


def poll_after_s(state: JobState) -> float:
    """When asking again is worth it: a tenth of the time left, from 1 to 10 seconds."""
    if state.status in TERMINAL:
        return 0
    return min(10, max(1, (state.eta_s or 0) // 10))


# --- files ---------------------------------------------------------------------------


def job_path(jobs_dir: Path, job_id: str) -> Path:
    """The file of `job_id`. Raises UsageError for what cannot be a job id."""
    if not JOB_ID.fullmatch(job_id):
        raise unknown_job(job_id)
    return jobs_dir / f"{job_id}.json"


def cancel_path(jobs_dir: Path, job_id: str) -> Path:
    """The file whose existence asks the worker to stop."""
    return job_path(jobs_dir, job_id).with_suffix(".cancel")


def unknown_job(job_id: str) -> UsageError:
    """The error for a job id that names no job."""
    return UsageError(
        f"There is no job {shown(job_id)}",
        "Ask for the status without a job id to see the latest job.",
        code="unknown_job",
    )


def keep_reserve(jobs_dir: Path, job_id: str) -> None:
    """Hold JOB_RESERVE_BYTES of disk, so that a job can say that the disk is full."""
    path = job_path(jobs_dir, job_id).with_suffix(".reserve")
    with contextlib.suppress(OSError):
        private_file(path).write_bytes(b"\0" * limits.JOB_RESERVE_BYTES)


def free_reserve(jobs_dir: Path, job_id: str) -> bool:
    """Give that room back; False where there is none."""
    try:
        job_path(jobs_dir, job_id).with_suffix(".reserve").unlink()
    except OSError:
        return False
    return True


def save(jobs_dir: Path, state: JobState) -> None:
    """Replace the job's file. Raises DiskFull or StoreError; the old file then stays."""
    write_json(job_path(jobs_dir, state.job_id), state.as_dict())


def load(jobs_dir: Path, job_id: str) -> JobState | None:
    """The job as its file says, or None where there is none. Raises StoreError."""
    path = job_path(jobs_dir, job_id)
    value = read_json(path)
    if value is None:
        return None
    try:
        state = _parsed(value)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise StoreError(f"{path} is no job file", "Remove it and sync again.") from error
    if state.status not in TERMINAL and path.with_suffix(".cancel").exists():
        state = replace(state, cancel_requested=True)
    return state


def timestamp(now: float | None = None) -> str:
    """ISO 8601 in UTC with `Z`, to the millisecond."""
    at = datetime.fromtimestamp(time.time() if now is None else now, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def same_base(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two sets of flags give the same sync; --quiet changes nothing it does."""
    return [w for w in one if w != "--quiet"] == [w for w in other if w != "--quiet"]


def _id_at(moment: datetime) -> str:
    millis = moment.microsecond // 1000
    return f"{moment:%Y%m%dT%H%M%S}{millis:03d}Z-{os.urandom(3).hex()}"


def _moment_after(job_id: str) -> datetime:
    """The millisecond after the one in a job id; where that is no time, the time now."""
    d, t = job_id[:8], job_id[9:18]
    day, hour = f"{d[:4]}-{d[4:6]}-{d[6:]}", f"{t[:2]}:{t[2:4]}:{t[4:6]}.{t[6:]}"
    try:
        return datetime.fromisoformat(f"{day}T{hour}+00:00") + timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return datetime.now(timezone.utc)


def _parsed(value: Mapping[str, Any]) -> JobState:
    known = {f.name for f in fields(JobState)}
    kept = {name: item for name, item in value.items() if name in known}
    request = dict(kept.pop("request", None) or {})
    request["flags"] = tuple(request.get("flags", ()))
    kept["failures"] = tuple(Failure(**failure) for failure in kept.get("failures", ()))
    state = JobState(**kept, request=Request(**request))
    if not isinstance(state.job_id, str) or state.status not in TERMINAL | {QUEUED, RUNNING}:
        raise ValueError("no job")
    return state


def _this_process() -> dict[str, Any]:
    evidence: dict[str, Any] = {"pid": os.getpid()}
    try:
        stat = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
        evidence["start_ticks"] = int(stat.rpartition(")")[2].split()[19])
        evidence["boot_id"] = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError, IndexError):
        evidence["start_time"] = timestamp()
    return evidence
