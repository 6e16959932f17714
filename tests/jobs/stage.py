"""What the job tests share: settings in a temporary folder, and a worker that obeys files.

Run as a script it stands in for rag_sync.py: `--worker --job ID …`. Its sync takes `STEPS`
steps and, at step N, waits while the file DATA/hold-N exists and the job is not cancelled.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from helpers import config  # noqa: E402
from helpers.config import Settings  # noqa: E402
from helpers.jobs import queue, spawn  # noqa: E402
from helpers.jobs.handle import JobHandle  # noqa: E402
from helpers.jobs.state import TERMINAL, JobState  # noqa: E402

STEPS = 10
DEADLINE_S = 20.0
spawner = partial(spawn.start_worker, script=Path(__file__))


def settings_in(folder: Path) -> Settings:
    """Settings whose knowledge and data folders are beside each other in `folder`."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "state").mkdir(exist_ok=True)
    return Settings(
        knowledge_dir=folder / "docs",
        data_dir=folder / "state",
        db=folder / "state" / "ragdoc.sqlite3",
    )


def eventually(condition: Callable[[], Any], seconds: float = DEADLINE_S) -> Any:
    """The first true value of `condition()`; fails when none comes in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError(f"not within {seconds} s: {condition}")


def ended(settings: Settings, job_id: str) -> JobState:
    """The job once it has come to its end."""

    def finished() -> JobState | None:
        state = queue.status(settings, job_id)
        return state if state.status in TERMINAL else None

    return eventually(finished)


def reaches(settings: Settings, job_id: str, step: int) -> JobState:
    """The job once its worker has told of `step`."""

    def there() -> JobState | None:
        state = queue.status(settings, job_id)
        return state if state.completed_files >= step else None

    return eventually(there)


def hold(settings: Settings, step: int = 1) -> Path:
    """Make the worker wait at `step` until the file given back is removed."""
    path = settings.data_dir / f"hold-{step}"
    path.touch()
    return path


def sync(settings: Settings, job: JobHandle) -> None:
    """The stand-in for a sync."""
    job.phase("files")
    job.total(STEPS)
    for step in range(1, STEPS + 1):
        job.checkpoint()
        job.file(f"file-{step}")
        job.count(completed=1, added=1)
        held = settings.data_dir / f"hold-{step}"
        while held.exists():
            job.flush()
            job.checkpoint()
            time.sleep(0.01)
    noise = settings.data_dir / "noise-bytes"
    if noise.exists():
        piece = b"noise " * 10_000
        for _ in range(int(noise.read_text()) // len(piece)):
            os.write(2, piece)


def main() -> int:
    parser = argparse.ArgumentParser()
    config.add_shared_flags(parser)
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--job")
    parser.add_argument("--lock-fd", type=int)
    arguments = parser.parse_args()
    settings = config.resolve(arguments)
    (settings.data_dir / f"pid-{arguments.job}").write_text(str(os.getpid()))
    outcome = queue.run_worker(
        settings,
        arguments.job,
        partial(sync, settings),
        lock_fd=arguments.lock_fd,
        spawner=spawner,
    )
    return outcome.exit_code if outcome else 0


if __name__ == "__main__":
    sys.exit(main())
