"""The reader of a worker's standard error: a small process that keeps its log under a cap.

Run as a script by `spawn`: `python -I -S logpump.py LOG MAX_BYTES`, with the worker's output
on standard input. It is a process of its own, not a thread of the worker: C code that prints
while it holds the interpreter's lock would block on a full pipe for ever, and what a worker
says before its first import, or while it crashes, is kept too.
Promises: LOG and LOG.1 together never exceed MAX_BYTES; input is drained even when the disk
is full, so a worker never blocks on its own messages; it ends when the last writer does.
Does not: import anything of the project, or follow a symlink in place of the log.
"""

from __future__ import annotations

import contextlib
import os
import sys

PIECE_BYTES = 64 * 1024  # bytes of one read
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def pump(source: int, log: str, max_bytes: int) -> None:
    """Append what comes from descriptor `source` to `log` until its end."""
    half = max_bytes // 2
    while piece := os.read(source, PIECE_BYTES):
        with contextlib.suppress(OSError):
            _append(log, piece[-half:], half)


def _append(log: str, piece: bytes, half: int) -> None:
    # Opened anew for each piece: the pump of the next worker may have moved the file meanwhile.
    descriptor = os.open(log, FLAGS, 0o600)
    try:
        if os.fstat(descriptor).st_size + len(piece) > half:
            os.close(descriptor)
            descriptor = -1
            os.replace(log, log + ".1")
            descriptor = os.open(log, FLAGS, 0o600)
        os.write(descriptor, piece)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


if __name__ == "__main__":
    pump(0, sys.argv[1], int(sys.argv[2]))
