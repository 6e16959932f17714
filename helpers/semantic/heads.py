"""The arithmetic of heads: vectors as int8, with what bounds the error of a score made from them.

With m the mean of a sample and u its direction, a stored vector is v = m + (v·u - m·u) u + y, where
y is at right angles to u; q·v is then q·m + (q·u) (v·u - m·u) + z·y, where z is what the question q
has at right angles to u. y is kept as int8 codes of one size per vector, z becomes whole weights
for the time of a question; what either loses bounds what their product can be off by (Cauchy and
Schwarz). Sentence models put all vectors near one direction, so that the mean alone takes most of
the length off both.

Promises: the facts are never smaller than what they bound, but for float32 rounding.
Does not: search (`narrowing`), or write (the sync does). Imported only by the worker process.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.semantic.products import LARGEST
from helpers.store import generations, vector_heads, vectors
from helpers.store.database import Connection
from helpers.store.vector_heads import Head

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]

# Facts of a vector, in the order of what a question multiplies them with: v·u - m·u, what weights
# that are all MIDDLE would add, norm of what the codes lost, norm of what they hold; then the size
# of a code's step.
LEAD, EVEN, ERROR, NORM, SCALE = range(5)
FACTS = 5
MIDDLE = (LARGEST + 1) // 2  # the weight that stands for zero
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
    mean = np.concatenate(sample).mean(axis=0, dtype=np.float64)
    return bytes(mean.astype(np.float32).tobytes())


def head(path: str | Path, generation: int, block: int) -> Head:
    """The head of one block, made with the generation's basis."""
    with vectors.reading(path) as db:
        dimension = _dimension(db, generation)
        basis = current(db, generation)
        rows = _halves(vectors.vectors(db, block), dimension).astype(np.float64)
    return basis.head_of(rows)


def current(db: Connection, generation: int) -> Basis:
    """The basis of a generation. Raises LookupError where it has none."""
    found = vector_heads.basis(db, generation)
    if found is None:
        raise LookupError(f"generation {generation} has no basis")
    return Basis(found[0], found[2])


class Basis:
    """A mean, and the arithmetic of heads made with it."""

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.mean = np.frombuffer(data, np.float32).astype(np.float64)
        self.direction = self.mean / (np.linalg.norm(self.mean) or 1.0)

    def head_of(self, rows: Doubles) -> Head:
        """Quantise `rows`: one step per row."""
        rest = rows - self.mean
        lead = rest @ self.direction
        rest -= np.outer(lead, self.direction)
        scale = np.maximum(np.abs(rest).max(axis=1), 1e-12).astype(np.float32) / LARGEST
        codes = np.rint(rest / scale[:, None]).clip(-LARGEST, LARGEST).astype(np.int8)
        held = codes * scale[:, None].astype(np.float64)
        facts = np.empty((FACTS, len(rows)), np.float32)
        facts[LEAD], facts[SCALE] = lead, scale
        facts[EVEN] = MIDDLE * held.sum(axis=1)
        facts[ERROR] = np.linalg.norm(rest - held, axis=1)
        facts[NORM] = np.linalg.norm(held, axis=1)
        return Head(self.number, facts.tobytes(), np.ascontiguousarray(codes.T).tobytes())


class Question:
    """A question as heads are met with: whole weights from 1 to LARGEST, and what they are worth.

    A head's score is at most base + facts[:SCALE]·(lead, -step, norm, lost) + step × SCALE × sum.
    """

    def __init__(self, query: Floats, basis: Basis) -> None:
        asked = query.astype(np.float64)
        lead = float(asked @ basis.direction)
        rest = asked - lead * basis.direction
        step = max(float(np.abs(rest).max()), 1e-12) / (LARGEST - MIDDLE)
        whole = np.rint(rest / step)
        lost = float(np.linalg.norm(rest - step * whole))
        self.base = np.float32(asked @ basis.mean)
        self.weights = (whole + MIDDLE).astype(np.uint8)
        self.step, self.lead = np.float32(step), np.float32(lead)
        self.rest = rest.astype(np.float32)
        self.norm = np.float32(np.linalg.norm(rest))
        self.factors = np.array([lead, -step, self.norm, lost], np.float32)


def _dimension(db: Connection, generation: int) -> int:
    return next(g.dimension for g in generations.every(db) if g.id == generation)


def _halves(data: bytes, dimension: int) -> NDArray[np.float16]:
    return np.frombuffer(data, np.float16).reshape(-1, dimension)
