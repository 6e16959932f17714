"""The vectors of one generation as a scan holds them in memory, and what changed since.

Blocks with a head stand side by side as int8, coordinate by coordinate, with their facts; those
without as the float16 vectors themselves. A row's number counts through the headed blocks, then
the plain ones.

Promises: blocks that are held already are not read again; nothing is held twice once a shelf is
made.
Does not: compute scores. Imported only by the worker process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helpers.semantic import heads
from helpers.semantic.heads import FACTS, Basis
from helpers.store import generations, vector_heads, vectors
from helpers.store.database import Connection
from helpers.store.vector_heads import Block

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


class Headed:
    """All blocks with a head, side by side in memory."""

    def __init__(self, db: Connection, blocks: list[Block], dimension: int, old: Headed | None):
        self.blocks = blocks
        self.starts = _starts(blocks)
        count = int(self.starts[-1])
        self.chunks = np.empty(count, np.int64)
        self.facts = np.empty((FACTS, count), np.float32)
        self.codes = np.empty((dimension, count), np.int8)
        known = {} if old is None else dict(zip(old.blocks, old.starts.tolist(), strict=False))
        for block, start in zip(blocks, self.starts.tolist(), strict=False):
            place = slice(start, start + block.rows)
            if old is not None and block in known:
                held = slice(known[block], known[block] + block.rows)
                self.chunks[place] = old.chunks[held]
                self.facts[:, place] = old.facts[:, held]
                self.codes[:, place] = old.codes[:, held]
                continue
            self.chunks[place] = np.frombuffer(vectors.row_chunks(db, block.id), np.int64)
            found = vector_heads.head(db, block.id)
            self.facts[:, place] = np.frombuffer(found.facts, np.float32).reshape(FACTS, -1)
            self.codes[:, place] = np.frombuffer(found.codes, np.int8).reshape(dimension, -1)


class Plain:
    """All blocks without a head: the float16 vectors themselves, as bits."""

    def __init__(self, db: Connection, blocks: list[Block], dimension: int, old: Plain | None):
        self.blocks = blocks
        self.starts = _starts(blocks)
        self.chunks = np.empty(int(self.starts[-1]), np.int64)
        self.bits = np.empty((int(self.starts[-1]), dimension), np.int16)
        known = {} if old is None else dict(zip(old.blocks, old.starts.tolist(), strict=False))
        for block, start in zip(blocks, self.starts.tolist(), strict=False):
            place = slice(start, start + block.rows)
            if old is not None and block in known:
                held = slice(known[block], known[block] + block.rows)
                self.chunks[place], self.bits[place] = old.chunks[held], old.bits[held]
                continue
            self.chunks[place] = np.frombuffer(vectors.row_chunks(db, block.id), np.int64)
            self.bits[place] = bits(vectors.vectors(db, block.id), dimension)


class Shelf:
    """Everything of one generation; a row's number counts through headed, then plain."""

    def __init__(self, headed: Headed, plain: Plain, basis: Basis | None, dimension: int):
        self.headed, self.plain, self.basis, self.dimension = headed, plain, basis, dimension
        self.chunks = np.concatenate([headed.chunks, plain.chunks])

    def rows_of(self, dead: dict[int, list[int]]) -> Ints:
        """The rows of deleted chunks, given as block → chunks."""
        found = [np.empty(0, np.int64)]
        for part, offset in ((self.headed, 0), (self.plain, len(self.headed.chunks))):
            for block, start in zip(part.blocks, part.starts.tolist(), strict=False):
                if block.id in dead:
                    gone = np.isin(part.chunks[start : start + block.rows], dead[block.id])
                    found.append(offset + start + np.flatnonzero(gone))
        return np.concatenate(found)


def loaded(db: Connection, generation: generations.Generation, old: Shelf | None) -> Shelf:
    """The shelf as the index holds it: `old` where nothing changed, else what did is read."""
    listed = vector_heads.blocks(db, generation.id)
    headed = [block._replace(live=0) for block in listed if block.basis is not None]
    plain = [block._replace(live=0) for block in listed if block.basis is None]
    size = generation.dimension
    if old is None:
        basis = heads.current(db, generation.id) if headed else None
        return Shelf(Headed(db, headed, size, None), Plain(db, plain, size, None), basis, size)
    same_headed, same_plain = old.headed.blocks == headed, old.plain.blocks == plain
    if same_headed and same_plain:
        return old
    basis = old.basis
    if headed and (basis is None or basis.number != headed[0].basis):
        basis = heads.current(db, generation.id)
    return Shelf(
        old.headed if same_headed else Headed(db, headed, size, old.headed),
        old.plain if same_plain else Plain(db, plain, size, old.plain),
        basis,
        size,
    )


def bits(data: bytes, dimension: int) -> NDArray[np.int16]:
    """Stored vectors as rows of float16 bits."""
    return np.frombuffer(data, np.int16).reshape(-1, dimension)


def _starts(blocks: list[Block]) -> Ints:
    """The first row of each block, and the number of all rows."""
    return np.cumsum([0, *(block.rows for block in blocks)])
