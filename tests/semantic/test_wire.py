"""Frames: what is one, and that everything else is refused."""

from __future__ import annotations

import io
import random

import pytest

from helpers.limits import SEMANTIC_FRAME_BYTES
from helpers.semantic import wire


def test_a_frame_comes_back_as_it_was_sent() -> None:
    stream = io.BytesIO()
    wire.send(stream, {"op": "query", "text": "ปี 2024 \ud800 \0"}, b"\0\xff")
    wire.send(stream, {})
    stream.seek(0)
    assert wire.receive(stream) == ({"op": "query", "text": "ปี 2024 \ud800 \0"}, b"\0\xff")
    assert wire.receive(stream) == ({}, b"")
    assert wire.receive(stream) is None


def test_a_frame_cut_anywhere_is_refused() -> None:
    whole = wire.pack({"a": 1}, b"payload")
    for size in range(1, len(whole)):
        with pytest.raises(wire.BadFrame, match="inside a frame"):
            wire.receive(io.BytesIO(whole[:size]))


@pytest.mark.parametrize(
    "data",
    [
        b"Traceback (most recent call last):",
        wire.HEAD.pack(wire.MAGIC, 2, SEMANTIC_FRAME_BYTES + 1) + b"{}",
        wire.HEAD.pack(wire.MAGIC, 0xFFFFFFFF, 0),
        wire.HEAD.pack(wire.MAGIC, 2, 0) + b"[]",
        wire.HEAD.pack(wire.MAGIC, 2, 0) + b"{\xff",
        wire.HEAD.pack(wire.MAGIC, 200_000, 0) + b"[" * 200_000,
    ],
)
def test_junk_is_refused(data: bytes) -> None:
    with pytest.raises(wire.BadFrame):
        wire.receive(io.BytesIO(data))


def test_random_bytes_are_refused_or_the_end() -> None:
    chance = random.Random(5)
    for _ in range(2_000):
        data = chance.randbytes(chance.randrange(1, 60))
        with pytest.raises(wire.BadFrame):
            wire.receive(io.BytesIO(data))


def test_a_frame_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(wire.BadFrame, match="reached the limit"):
        wire.pack({}, bytes(SEMANTIC_FRAME_BYTES + 1))


def test_a_header_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(wire.BadFrame, match="reached the limit"):
        wire.receive(io.BytesIO(wire.HEAD.pack(wire.MAGIC, wire.HEADER_BYTES + 1, 0)))
