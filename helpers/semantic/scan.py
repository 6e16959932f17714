"""Exact search among vectors: which chunks hold the vectors nearest to a question's.

A full scan would widen 768 bytes per vector. This one multiplies 384 as they are: each full block
has a *head* of int8 (`heads`), and only rows that its bounds leave in doubt are looked at further
(`narrowing`).

Promises: the k best chunks (the score of a chunk is its best vector's) are those of a float32
product over all vectors, scores to within rounding; equal scores are ordered by chunk id; the
index is only read, each search from one state of it.
Does not: know text or models. Imported only by the worker process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers.semantic import products
from helpers.semantic import shelf as shelves
from helpers.semantic.narrowing import Leaves, Search, exact
from helpers.store import generations, vectors
from helpers.store.database import Connection

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

Filter = tuple[str, Sequence[object]]  # an SQL condition over `document` and its values


class Scanner:
    """The vectors of one generation, kept between searches as long as they stay the same."""

    def __init__(self, path: Path, token: str) -> None:
        self.path, self.token = path, token
        self._reader = vectors.Reader(path)
        self._mark: object = None  # of the index that `_shelf`, `_dead` and `_out` were read from
        self._shelf: shelves.Shelf | None = None
        self._product: products.Product | None = None
        self._dead: dict[int, list[int]] = {}
        self._out: Ints = np.empty(0, np.int64)  # rows of `_dead` in `_shelf`

    @classmethod
    def open(cls, db_path: str, generation: str | int) -> Scanner:
        """The scanner of the published generation whose token is `generation`."""
        return cls(Path(db_path), str(generation))

    def fresh(self) -> bool:
        """Always: each search looks at what the index holds now."""
        return True

    def close(self) -> None:
        """Let go of what is held in memory."""
        self._shelf = self._mark = None
        self._reader.close()

    def top_k(self, vector: Floats, k: int, where: Filter | None = None) -> list[tuple[int, float]]:
        """The k best chunks, as (chunk id, cosine), best first; `where` limits the documents.

        Raises LookupError where the generation is gone, StoreError, sqlite3.Error.
        """
        query = np.ascontiguousarray(vector, np.float32)
        with self._reader.state() as (db, mark):
            shelf, out = self._now(db, mark)
            if k < 1 or not len(shelf.chunks):
                return []
            allowed = None
            if where is not None and where[0]:
                allowed = np.frombuffer(vectors.chunks_where(db, *where), np.int64)
            if self._product is None:
                self._product = products.quickest()
            return Search(db, shelf, self._product, query, k).run(out, allowed)

    def scores(self, vector: Floats, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """The cosine of each of `chunks` that has vectors. Raises as `top_k`."""
        with self._reader.state() as (db, _):
            generation = _generation(db, self.token)
            leaves = Leaves(db, generation.dimension)
            found = []
            for place in vectors.places(db, generation.id, chunks):
                rows = [leaves.row(place.block, place.first + n) for n in range(place.rows)]
                found.append((place.chunk, float(exact(np.array(rows), vector).max())))
            return found

    def _now(self, db: Connection, mark: object) -> tuple[shelves.Shelf, Ints]:
        """What is there, and the rows of it that no longer count."""
        if self._shelf is None or mark != self._mark:
            generation = _generation(db, self.token)
            shelf = shelves.loaded(db, generation, self._shelf)
            dead = vectors.dead(db, generation.id)
            if shelf is not self._shelf or dead != self._dead:
                self._shelf, self._dead, self._out = shelf, dead, shelf.rows_of(dead)
            self._mark = mark
        return self._shelf, self._out


def _generation(db: Connection, token: str) -> generations.Generation:
    found = generations.by_token(db, token)
    if found is None:
        raise LookupError("the vectors that were asked for have been replaced")
    return found
