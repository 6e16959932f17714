"""What a running sync tells about itself, and how it hears that it should stop.

Promises: the job file is written at each change of phase, at the end, and in between at most
every JOB_WRITE_S and for at most JOB_WRITE_SHARE of the worker's time; a full disk keeps the
previous file and does not stop the sync, and the end is written from the job's reserve.
Does not: take locks, or run anything.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from helpers import limits
from helpers.errors import Cancelled, StoreError
from helpers.jobs.state import (
    DONE,
    TERMINAL,
    Failure,
    JobState,
    Rate,
    cancel_path,
    eta_s,
    finished,
    free_reserve,
    in_phase,
    poll_after_s,
    sampled,
    save,
    timestamp,
    with_percent,
)
from helpers.log import get_logger, redact

RESERVED_FAILURES = 100  # failures that fit into a job file written from the reserve

_logger = get_logger("jobs")


class JobHandle:
    """What a running sync tells about itself; the story calls this and nothing else.

    Not thread-safe: one thread owns it. `progress` is called with the state whenever the
    file is written (at most every JOB_WRITE_S, at each change of phase and at the end).
    """

    def __init__(
        self,
        jobs_dir: Path,
        state: JobState,
        progress: Callable[[JobState], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        writer: Callable[[Path, JobState], None] = save,
    ) -> None:
        self._jobs_dir = jobs_dir
        self._state = state
        self._failures: dict[str, Failure] = {f.path: f for f in state.failures}
        self._progress = progress
        self._clock = clock
        self._writer = writer
        self._cancel_file = os.fspath(cancel_path(jobs_dir, state.job_id))
        self._cancelled = False
        self._next_stat = -math.inf
        self._next_write = -math.inf
        self._rate = Rate(clock())
        self._parts: dict[str, float] = {}  # share of each long file that is read
        self._disk_full = False

    @property
    def job_id(self) -> str:
        return self._state.job_id

    @property
    def force(self) -> bool:
        """Read every file again, changed or not."""
        return self._state.request.force

    @property
    def scope(self) -> str:
        """`full`, `contextualization` or `embedding`."""
        return self._state.request.scope

    @property
    def ended(self) -> bool:
        return self._state.status in TERMINAL

    def state(self) -> JobState:
        """The state now, failures included."""
        return replace(
            self._state,
            failures=tuple(self._failures.values())[: limits.JOB_FAILURES],
            cancel_requested=self._state.cancel_requested or self._cancelled,
        )

    def phase(self, name: str) -> None:
        """Enter `prepare`, `files`, `cleanup` or `semantic`."""
        if name != self._state.phase:
            self._parts.clear()
            self._state = in_phase(self._state, name)
            self._rate = Rate(self._clock(), self._items()[0])
            self._write()

    def total(self, files: int) -> None:
        """How many files this sync has to look into; may grow while it runs."""
        self._state = replace(self._state, total_files=files)
        self._changed()

    def file(self, path: str) -> None:
        """The display path of the file being read now; one that `part` spoke of is finished."""
        self._parts.pop(path, None)
        self._state = replace(self._state, current_file=path)
        self._changed()

    def part(self, path: str, done: int, total: int) -> None:
        """How far the reading of one file has come, where it is long: pages of it, say."""
        self._parts[path] = min(1.0, max(0.0, (done - 1) / max(1, total)))
        self._state = replace(self._state, current_file=path)
        self._changed()

    def count(
        self,
        *,
        completed: int = 0,
        added: int = 0,
        updated: int = 0,
        unchanged: int = 0,
        deleted: int = 0,
        skipped: int = 0,
    ) -> None:
        """Add to the counts. `completed` moves progress; `failed` follows from `failure`."""
        old = self._state
        self._state = replace(
            old,
            completed_files=old.completed_files + completed,
            added=old.added + added,
            updated=old.updated + updated,
            unchanged=old.unchanged + unchanged,
            deleted=old.deleted + deleted,
            skipped=old.skipped + skipped,
        )
        self._changed()

    def semantic(self, done: int, total: int) -> None:
        """Embedded chunks so far, of all to embed in this job (both absolute)."""
        self._state = replace(self._state, semantic_done=done, semantic_total=total)
        self._changed()

    def failure(self, path: str, code: str, reason: str, remedy: str = "") -> None:
        """A file without usable text, known before or new; one entry per path."""
        self._failures[path] = Failure(path, code, redact(reason), redact(remedy))
        self._state = replace(self._state, failed=len(self._failures))
        self._changed()

    def cancelled(self) -> bool:
        """Whether someone asked this job to stop; looks at most every JOB_CANCEL_STAT_S."""
        now = self._clock()
        if not self._cancelled and now >= self._next_stat:
            self._next_stat = now + limits.JOB_CANCEL_STAT_S
            self._cancelled = os.path.exists(self._cancel_file)
            self._changed()
        return self._cancelled

    def checkpoint(self) -> None:
        """Raises Cancelled once the cancel file exists. Cheap: call it in every loop."""
        if self.cancelled():
            raise Cancelled("The sync was cancelled", "Start it again to resume where it stopped.")

    def flush(self) -> None:
        """Write the state now."""
        self._write()

    def finish(self, status: str = DONE, error: str | None = None) -> None:
        """End the job; the first end stands. `status` is one of TERMINAL."""
        if not self.ended:
            self._state = finished(self._state, status, error)
            self._write()

    # --- private

    def _items(self) -> tuple[float, int]:
        state = self._state
        if state.phase == "semantic":
            return state.semantic_done, state.semantic_total
        return state.completed_files + sum(self._parts.values()), state.total_files

    def _changed(self) -> None:
        if self._clock() >= self._next_write:
            self._write()

    def _write(self) -> None:
        begun = self._clock()
        if not self.ended:
            done, total = self._items()
            self._rate = sampled(self._rate, done, begun)
            eta = eta_s(self._rate, total - done) if total else None
            state = replace(self._state, eta_s=eta, updated_at=timestamp())
            self._state = with_percent(state, sum(self._parts.values()))
            self._state = replace(self._state, poll_after_s=poll_after_s(self._state))
        state = self.state()
        self._try_to_save(state)
        now = self._clock()
        self._next_write = now + max(limits.JOB_WRITE_S, (now - begun) / limits.JOB_WRITE_SHARE)
        if self._progress is not None:
            self._progress(state)

    def _try_to_save(self, state: JobState) -> None:
        try:
            self._writer(self._jobs_dir, state)
            self._disk_full = False
        except StoreError as error:
            # The previous state still parses, and the sync itself may still succeed.
            if not self._disk_full:
                _logger.warning("job %s: %s", state.job_id, error)
            self._disk_full = True
            if state.status in TERMINAL and free_reserve(self._jobs_dir, state.job_id):
                short = replace(state, failures=state.failures[:RESERVED_FAILURES])
                self._try_to_save(short)
