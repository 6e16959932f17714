"""Runs inside the process that becomes an engine: bind it, then let the program take over.

    python -I -S -B launch.py PARENT MEMORY CPU-SECONDS FILE-BYTES PROGRAM ARGUMENT…

Promises: the program runs at a low priority, writes for its owner alone, ends when its parent
does (Linux), and cannot use more memory, processor time or disk than it was given, where the
system can hold it to that.
Does not: import anything of this project, so that it starts in the time of a bare Python.
"""

from __future__ import annotations

import contextlib
import os
import sys

NICE = 10  # below the readers and whatever else the machine does
OPEN_FILES = 256


def main(words: list[str]) -> None:
    """Limit this process and become the program."""
    parent, memory, cpu_s, file_bytes = (int(word) for word in words[:4])
    if sys.platform != "win32":
        _bind(parent, memory, cpu_s, file_bytes)
    os.execv(words[4], words[4:])


def _bind(parent: int, memory: int, cpu_s: int, file_bytes: int) -> None:
    import resource

    caps = {
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": OPEN_FILES,
        "RLIMIT_FSIZE": file_bytes,
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_AS": memory,
    }
    for name, value in caps.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS holds no address space
            resource.setrlimit(which, (value, value))
    os.umask(0o077)  # what it writes is a document's content
    with contextlib.suppress(OSError):
        os.nice(NICE)
    if sys.platform == "linux":
        _end_with(parent)


def _end_with(parent: int) -> None:
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL; survives exec
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
