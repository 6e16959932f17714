"""How a figure is taken: commands timed whole, memory of whole process trees, ratios kept.

Linux only: memory is read from /proc, as the proportional set size where the kernel gives it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_S = 0.02  # seconds between two looks at memory


@dataclass(frozen=True)
class Ratio:
    """One claim: `ours` against `baseline`, both in `unit`, and the ratio it must not pass."""

    name: str
    ours: float
    baseline: float
    unit: str
    target: float

    @property
    def value(self) -> float:
        return self.ours / self.baseline

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ours": round(self.ours, 4),
            "baseline": round(self.baseline, 4),
            "unit": self.unit,
            "ratio": round(self.value, 3),
            "target": self.target,
            "reached": self.value <= self.target,
        }


def sync_command(docs: Path, state: Path, *words: str) -> list[str]:
    """The foreground sync of `docs`."""
    where = ["--knowledge-dir", str(docs), "--data-dir", str(state), "--quiet"]
    where += ["--semantic", "off"]  # embedding is measured apart
    return [sys.executable, str(ROOT / "rag_sync.py"), *words, *where]


def timed(command: Sequence[str], **options: Any) -> float:
    """Seconds from start to exit; raises CalledProcessError unless it ends well."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    return time.perf_counter() - begun


def best(times: int, run: Callable[[], float]) -> float:
    """The smallest of several timings: the one least disturbed."""
    return min(run() for _ in range(times))


def median(times: int, run: Callable[[], float]) -> float:
    """The middle of several timings."""
    return statistics.median(run() for _ in range(times))


def peak_memory(command: Sequence[str]) -> tuple[float, float]:
    """(seconds, peak MiB of the process and all below it together)."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_S):
            peak[0] = max(peak[0], tree_memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    if code:
        raise subprocess.CalledProcessError(code, command)
    return time.perf_counter() - begun, peak[0]


def tree_memory(pid: int) -> float:
    """MiB of private and shared memory of `pid` and all its descendants, shared parts once."""
    return sum(_memory(member) for member in _tree(pid))


def _tree(pid: int) -> list[int]:
    members, waiting = [], [pid]
    while waiting:
        member = waiting.pop()
        members.append(member)
        for task in _listed(f"/proc/{member}/task"):
            try:
                text = Path(f"/proc/{member}/task/{task}/children").read_text()
            except OSError:
                continue
            waiting += [int(child) for child in text.split()]
    return members


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _memory(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0
