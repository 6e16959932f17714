"""The arithmetic of heads: vectors turned so that their first coordinates say most, as int8.

A stored vector v is q·v = q·m + z·y for a question q, with y = B(v - m), z = Bq, where m is the
mean of a sample and B a rotation: first m's direction (kept as float32), then the directions in
which the sample varies most. What y loses as int8, and how much of it lies beyond the coordinates
that are looked at first, are facts of its row: they bound what a score can be off by.

Promises: the facts are never smaller than what they bound, but for float32 rounding.
Does not: search (`narrowing`), or write (the sync does). Imported only by the worker process.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.store import generations, vector_heads, vectors
from helpers.store.database import Connection
from helpers.store.vector_heads import Head, head_width, middle_end

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LEAD, SCALE, REST, FAR, ERROR = range(5)  # facts of a row: first coordinate, size of an int8
FACTS = 5  # step, norm beyond the head, norm beyond the middle, norm of what int8 lost
FIT_ROWS = 8_192  # vectors that a basis is made from


def fit(path: str | Path, generation: int) -> bytes:
    """A basis for the vectors of a generation, from a sample across all of its blocks."""
    with vectors.reading(path) as db:
        dimension = _dimension(db, generation)
        listed = vector_heads.blocks(db, generation)
        total = sum(block.rows for block in listed)
        step = max(1, total // FIT_ROWS)
        sample = [
            _halves(vectors.vectors(db, block.id), dimension)[block.id % step :: step]
            for block in listed
        ]
    rows = np.concatenate(sample).astype(np.float64)
    mean = rows.mean(axis=0)
    lead = mean / (np.linalg.norm(mean) or 1.0)
    rest = rows - mean
    rest -= np.outer(rest @ lead, lead)
    _, directions = np.linalg.eigh(rest.T @ rest)
    turned, _ = np.linalg.qr(np.column_stack([lead, directions[:, ::-1]])[:, :dimension])
    return bytes(np.concatenate([mean, turned.T.ravel()]).astype(np.float32).tobytes())


def head(path: str | Path, generation: int, block: int) -> Head:
    """The head of one block, made with the generation's basis."""
    with vectors.reading(path) as db:
        dimension = _dimension(db, generation)
        basis = current(db, generation, dimension)
        rows = _halves(vectors.vectors(db, block), dimension).astype(np.float64)
    return basis.head_of(rows)


def current(db: Connection, generation: int, dimension: int) -> Basis:
    """The basis of a generation. Raises LookupError where it has none."""
    found = vector_heads.basis(db, generation)
    if found is None:
        raise LookupError(f"generation {generation} has no basis")
    return Basis(found[0], found[2], dimension)


class Basis:
    """A rotation, and the arithmetic of heads made with it."""

    def __init__(self, number: int, data: bytes, dimension: int) -> None:
        values = np.frombuffer(data, np.float32)
        self.number = number
        self.mean = values[:dimension]
        self.turn = values[dimension:].reshape(dimension, dimension)

    def head_of(self, rows: NDArray[np.float64]) -> Head:
        """Quantise `rows`: one scale per row over all coordinates but the first."""
        dimension = rows.shape[1]
        turned = (rows - self.mean) @ self.turn.T.astype(np.float64)
        rest = turned[:, 1:]
        scale = np.maximum(np.abs(rest).max(axis=1), 1e-12).astype(np.float32) / 127
        codes = np.rint(rest / scale[:, None]).clip(-127, 127).astype(np.int8)
        facts = np.empty((FACTS, len(rows)), np.float32)
        facts[LEAD], facts[SCALE] = turned[:, 0], scale
        facts[ERROR] = np.linalg.norm(rest - codes * scale[:, None].astype(np.float64), axis=1)
        facts[REST] = np.linalg.norm(rest[:, head_width(dimension) :], axis=1)
        facts[FAR] = np.linalg.norm(rest[:, middle_end(dimension) :], axis=1)
        first, last = np.split(codes, [head_width(dimension)], axis=1)
        return Head(self.number, facts.tobytes(), first.tobytes(), last.tobytes())


class Question:
    """A question's vector, turned as heads are; all zero where nothing has a head."""

    def __init__(self, query: Floats, basis: Basis | None) -> None:
        dimension = len(query)
        turned, self.base = np.zeros(dimension, np.float32), np.float32(0)
        if basis is not None:
            turned, self.base = basis.turn @ query, np.float32(basis.mean @ query)
        first, middle = head_width(dimension) + 1, middle_end(dimension) + 1
        self.lead = turned[0]
        self.near = turned[1:first].copy()
        self.middle = turned[first:middle].copy()
        self.far = turned[middle:].copy()
        # Of what the head holds, of all behind the lead, of what is beyond head and middle.
        parts = (self.near, turned[1:], turned[first:], self.far)
        self.near_norm, self.norm, self.rest_norm, self.far_norm = (
            np.float32(np.linalg.norm(part)) for part in parts
        )


def _dimension(db: Connection, generation: int) -> int:
    return next(g.dimension for g in generations.every(db) if g.id == generation)


def _halves(data: bytes, dimension: int) -> NDArray[np.float16]:
    return np.frombuffer(data, np.float16).reshape(-1, dimension)
