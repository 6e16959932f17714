"""How a job looks to a person at a terminal: a bar that rewrites itself, or a line now and then.

Promises: writes to standard error only; a bar only where that is a terminal that can show one,
else one line every LINE_S seconds; nothing at all when quiet.
Does not: read job files or know what a sync does.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from helpers.config import terminal_wants_colour
from helpers.jobs.state import JobState

LINE_S = 10.0  # seconds between two lines where there is no terminal
COLUMNS = 80  # of a terminal that does not say
BAR = 24  # characters of the bar
SHOWN_FAILURES = 20  # files named in a summary


@contextlib.contextmanager
def shown(quiet: bool) -> Iterator[Callable[[JobState], None] | None]:
    """A callback that shows each state it is given; None when quiet."""
    if quiet:
        yield None
        return
    if not (sys.stderr.isatty() and terminal_wants_colour()):
        yield _Lines()
        return
    yield _bar
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()


def summary(job: dict[str, Any]) -> str:
    """A Job in a few lines: the counts, then each file without usable text."""
    counts = ("added", "updated", "unchanged", "deleted", "failed", "skipped")
    lines = [f"{job['status']}: " + ", ".join(f"{job[name]:,} {name}" for name in counts)]
    if not job["finished_at"]:
        left = f", about {job['eta_s']:,} s left" if job["eta_s"] else ""
        lines[0] += f"; job {job['job_id']}, {job['progress_percent']} %{left}"
    lines += [job[name] for name in ("hint", "error") if job.get(name)]
    for failure in job["failures"][:SHOWN_FAILURES]:
        text = f"  {failure['path']}: {failure['code']}: {failure['reason']}"
        lines.append(f"{text}. {failure['remedy']}" if failure["remedy"] else text)
    if job["failed"] > SHOWN_FAILURES:
        lines.append(f"  … and {job['failed'] - SHOWN_FAILURES:,} more (--json lists all)")
    return "\n".join(lines)


def fields(value: dict[str, Any]) -> str:
    """A small answer as `name: value` lines."""
    return "\n".join(f"{name}: {item}" for name, item in value.items())


def line(state: JobState) -> str:
    """One line: percent, files, time left, and the file being read."""
    left = f", {state.eta_s:,} s left" if state.eta_s else ""
    files = f"{state.completed_files:,} of {state.total_files:,} files"
    current = f": {state.current_file}" if state.current_file else ""
    return f"{state.progress_percent:3}% {state.phase}, {files}{left}{current}"


class _Lines:
    """A line when the phase changes, and every LINE_S."""

    def __init__(self) -> None:
        self._next = time.monotonic() + LINE_S

    def __call__(self, state: JobState) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_S
            print(line(state), file=sys.stderr, flush=True)


def _bar(state: JobState) -> None:
    filled = BAR * state.progress_percent // 100
    text = f"[{'#' * filled}{'.' * (BAR - filled)}] {line(state)}"
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
    except OSError:
        width = COLUMNS - 1
    sys.stderr.write(f"\r\x1b[K{text[:width]}")
    sys.stderr.flush()
