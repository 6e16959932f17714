"""What the tests of the embedding process share: a made one, and looks at what it gave."""

from __future__ import annotations

import math
import struct
import threading
import time
from array import array

import pytest

from helpers.semantic import process

MADE_WORKER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from helpers.semantic import wire
out = os.fdopen(os.dup(1), "wb")
while True:
    frame = wire.receive(sys.stdin.buffer)
    if frame is None:
        os._exit(0)
    header = frame[0]
    if header["op"] == "open":
        continue
    {action}
"""
VECTOR = "wire.send(out, {}, bytes(4 * 384))"


def acting(monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """Let an embedding process do `action` at each request."""
    monkeypatch.setattr(process, "BOOTSTRAP", MADE_WORKER.replace("{action}", action))


def halves(vectors: bytes) -> list[tuple[float, ...]]:
    return [struct.unpack_from("<384e", vectors, at) for at in range(0, len(vectors), 768)]


def length(numbers: tuple[float, ...] | array[float]) -> float:
    return math.sqrt(sum(number * number for number in numbers))


def gone(pid: int) -> bool:
    """Whether a process is no more, or dead and not buried yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pid: int, seconds: float = 60.0) -> bool:
    """Wait for the end of a process; on a machine that is busy it may be long in coming."""
    until = time.monotonic() + seconds
    while not gone(pid) and time.monotonic() < until:
        threading.Event().wait(0.01)
    return gone(pid)
