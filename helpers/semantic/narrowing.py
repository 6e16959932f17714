"""One question over all rows of a shelf: bounds for every row, and vectors for the few that count.

What every headed row can reach at most comes from its codes and facts. The likeliest rows are
computed from their stored float16 and give the floor: what the k-th best chunk surely reaches.
Rows that cannot reach it are out; for the others the question is taken as it is, not in whole
weights; and what still can reach it is computed from float16, the likeliest first, until no other
can matter.

Promises: rules nothing out that a float32 product over all vectors would put among the k best.
Does not: read the index but for those last rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from helpers.semantic.heads import ERROR, LEAD, SCALE, Question
from helpers.semantic.products import Product
from helpers.semantic.shelf import Shelf, bits
from helpers.store import vectors
from helpers.store.database import Connection
from helpers.store.vectors import LEAF_ROWS

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

STRIP_ROWS = 16_384  # rows looked at together: what is made of them stays in the cache
CLOSER_ROWS = 4_096  # rows whose codes are picked out and widened together
PLAIN_ROWS = 1_024  # rows of float16 widened at a time: the same
SAMPLE_ROWS = 16_384  # rows looked at to guess what the best ones reach
FIRST_LOOK = 8  # times k rows among which the k best chunks are looked for first
RANKED_ROWS = 16  # rows at least computed from their vectors before it is asked for more
LOWEST = -1e30  # below every score of a row that is not out
SLACK = 2e-5  # of |q|: what float32 arithmetic over unit vectors can be wrong by
HALF_BITS = 13  # bits a float16 is shifted by to stand in a float32, 2**112 too small
HALF_MASK = -0x70002000  # the bits of a shifted float16: sign, exponent, fraction
HALF_SCALE = np.float32(2.0**112)


class Search:
    """One question, answered once."""

    def __init__(
        self, db: Connection, shelf: Shelf, product: Product, query: Floats, k: int
    ) -> None:
        self.shelf, self.product, self.query, self.k = shelf, product, query, k
        self.headed = len(shelf.headed.chunks)
        self.asked = Question(query, shelf.basis) if shelf.basis is not None else None
        self.slack = np.float32(SLACK * float(np.linalg.norm(query)))
        self.ranking = Ranking(db, shelf, query)

    def run(self, out: Ints, allowed: Ints | None) -> list[tuple[int, float]]:
        """(chunk, cosine) of the k best chunks; rows `out`, and chunks not `allowed`, are none."""
        reach = np.empty(len(self.shelf.chunks), np.float32)
        self._bound(reach[: self.headed])
        self._measure(reach[self.headed :])
        reach[out] = -np.inf
        if allowed is not None:
            reach[~np.isin(self.shelf.chunks, allowed)] = -np.inf
        self.ranking.add(self._promising(reach))
        floor = self.ranking.floor(self.k)
        rows = np.flatnonzero(reach >= floor)
        closer = self._closer(rows, reach[rows])
        order = np.argsort(-closer, kind="stable")
        done = 0
        while done < len(order) and closer[order[done]] >= self.ranking.floor(self.k):
            upto = done + max(RANKED_ROWS, done // 2)
            self.ranking.add(rows[order[done:upto]])
            done = upto
        return self.ranking.best(self.k)

    def _bound(self, reach: Floats) -> None:
        """What each headed row reaches at most."""
        if self.asked is None or not len(reach):
            return
        headed, asked = self.shelf.headed, self.asked
        sums = self.product(asked.weights, headed.codes)
        for rows in _strips(len(reach), STRIP_ROWS):
            part = reach[rows]
            np.dot(asked.factors, headed.facts[:SCALE, rows], out=part)
            score = sums[rows].astype(np.float32)
            score *= headed.facts[SCALE, rows]
            score *= asked.step
            part += score
            part += asked.base + self.slack

    def _measure(self, reach: Floats) -> None:
        """Compute the rows that have no head from their vectors, but for rounding."""
        scaled = self.query * HALF_SCALE
        for rows, part in _widened(self.shelf.plain.bits):
            np.dot(part, scaled, out=reach[rows])
        reach += self.slack

    def _promising(self, reach: Floats) -> Ints:
        """The likeliest rows, as many as k chunks take; none where most rows would be."""
        wanted = FIRST_LOOK * self.k
        while wanted < len(reach):
            sample = reach[:: max(1, len(reach) // SAMPLE_ROWS)]
            rank = min(len(sample), wanted * len(sample) // len(reach) + 2)
            least = max(LOWEST, np.partition(sample, len(sample) - rank)[len(sample) - rank])
            rows = np.flatnonzero(reach >= least)
            rows = rows[np.argsort(-reach[rows])]
            _, firsts = np.unique(self.shelf.chunks[rows], return_index=True)
            if len(firsts) >= self.k:
                return rows[: np.sort(firsts)[self.k - 1] + 1]
            wanted *= FIRST_LOOK
        return np.empty(0, np.int64)

    def _closer(self, rows: Ints, reach: Floats) -> Floats:
        """What sorted `rows` reach at most, the headed ones by the question as it is."""
        if self.asked is None:
            return reach
        headed, asked = self.shelf.headed, self.asked
        picked = rows[: np.searchsorted(rows, self.headed)]
        for place in _strips(len(picked), CLOSER_ROWS):
            taken = picked[place]
            facts = headed.facts.take(taken, axis=1)
            score = asked.rest @ headed.codes.take(taken, axis=1).astype(np.float32)
            score *= facts[SCALE]
            score += asked.lead * facts[LEAD] + asked.norm * facts[ERROR]
            reach[place] = score + (asked.base + self.slack)
        return reach


class Ranking:
    """Chunks by their best rows, computed from the stored vectors."""

    def __init__(self, db: Connection, shelf: Shelf, query: Floats) -> None:
        self.shelf, self.query = shelf, query
        self._leaves = Leaves(db, shelf.dimension)
        self._best: dict[int, float] = {}

    def add(self, rows: Ints) -> None:
        """Compute `rows` from their vectors."""
        if not len(rows):
            return
        scores = exact(np.array([self._stored(row) for row in rows.tolist()]), self.query)
        for chunk, score in zip(self.shelf.chunks[rows].tolist(), scores.tolist(), strict=True):
            self._best[chunk] = max(score, self._best.get(chunk, LOWEST))

    def floor(self, k: int) -> float:
        """What the k-th best chunk reaches at least."""
        return heapq.nlargest(k, self._best.values())[-1] if len(self._best) >= k else LOWEST

    def best(self, k: int) -> list[tuple[int, float]]:
        """The k best chunks seen; equal ones by number."""
        return sorted(self._best.items(), key=lambda item: (-item[1], item[0]))[:k]

    def _stored(self, row: int) -> NDArray[np.int16]:
        """The bits of a row's stored vector."""
        headed, plain = self.shelf.headed, self.shelf.plain
        if row >= len(headed.chunks):
            return np.asarray(plain.bits[row - len(headed.chunks)])
        owner = int(np.searchsorted(headed.starts, row, side="right")) - 1
        return self._leaves.row(headed.blocks[owner].id, row - int(headed.starts[owner]))


class Leaves:
    """Single vectors, read leaf by leaf; each leaf once."""

    def __init__(self, db: Connection, dimension: int) -> None:
        self.db, self.dimension = db, dimension
        self._known: dict[tuple[int, int], NDArray[np.int16]] = {}

    def row(self, block: int, row: int) -> NDArray[np.int16]:
        """The bits of one stored vector."""
        place = (block, row // LEAF_ROWS)
        if place not in self._known:
            self._known[place] = bits(vectors.leaf(self.db, *place), self.dimension)
        return self._known[place][row % LEAF_ROWS]


def exact(rows: NDArray[np.int16], query: Floats) -> NDArray[np.float64]:
    """Cosines in float64, each row's the same in whatever company it is computed."""
    wide = rows.view(np.float16).astype(np.float64)
    return np.asarray((wide * query.astype(np.float64)).sum(axis=1))


def _strips(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _widened(rows: NDArray[np.int16]) -> Iterator[tuple[slice, Floats]]:
    """Strips of float16 bits as float32, 2**112 too small: five times quicker than a cast."""
    buffer = np.empty((min(PLAIN_ROWS, len(rows)), rows.shape[1]), np.int32)
    for begin in range(0, len(rows), PLAIN_ROWS):
        part = rows[begin : begin + PLAIN_ROWS]
        floats = buffer[: len(part)]
        floats[...] = part
        floats <<= HALF_BITS
        floats &= HALF_MASK
        yield slice(begin, begin + len(part)), floats.view(np.float32)
