"""One question over all rows of a shelf: estimates with bounds, narrowed until they decide.

Every headed row is estimated from its head; facts bound what the rest can add. The best estimates
are completed, and say what the k-th best chunk surely reaches: the floor. Rows whose bound stays
below it are out; of the others further coordinates are read, and the few that are still in doubt
are computed from the stored float16, the likeliest first, until no other can matter.

Promises: rules nothing out that a float32 product over all vectors would put among the k best.
Does not: read the index but for those last rows, or keep anything but a `Room` to work in: fresh
arrays of this size cost more in page faults than in arithmetic. Strips are large because two
threads hand the interpreter's lock to each other at every step, which costs more than the cache
that a smaller strip would stay in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.semantic.heads import ERROR, FAR, LEAD, REST, SCALE, Question
from helpers.semantic.shelf import Shelf, bits
from helpers.store import vectors
from helpers.store.database import Connection
from helpers.store.vectors import LEAF_ROWS

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    Codes = NDArray[np.int8]

STRIP_ROWS = 65_536  # rows looked at together
WIDE_NUMBERS = 8_192 * 160  # int8 numbers widened at a time: 5 MiB of float32
PLAIN_ROWS = 1_024  # rows of float16 widened at a time, in one thread: they stay in the cache
SAMPLE_ROWS = 16_384  # rows looked at to guess how many are worth a second look
FIRST_LOOK = 8  # times k rows that are looked at closely before anything is ruled out
THREADED_ROWS = 50_000  # rows from which a second thread pays
THREADS_MAX = 2
RANKED_ROWS = 16  # rows computed from their vectors before it is asked whether more can matter
DENSE_SHARE = 0.4  # of a strip's rows: from there on reading all is quicker than picking
LOWEST = -1e30  # below every score of a row that is not out
SLACK = 2e-5  # of |q|: what float32 arithmetic over unit vectors can be wrong by
HALF_BITS = 13  # bits a float16 is shifted by to stand in a float32, 2**112 too small
HALF_MASK = -0x70002000  # the bits of a shifted float16: sign, exponent, fraction
HALF_SCALE = np.float32(2.0**112)


class Rows(NamedTuple):
    """Some rows, sorted, with their estimates and how far the true scores may be off."""

    rows: Ints
    score: Floats
    above: Floats


class Search:
    """One question, answered once, in a room that nobody else works in meanwhile."""

    def __init__(self, db: Connection, shelf: Shelf, room: Room, query: Floats, k: int) -> None:
        self.db, self.shelf, self.room, self.query, self.k = db, shelf, room, query, k
        self.headed = len(shelf.headed.chunks)
        self.chunks = shelf.chunks
        self.asked = Question(query, shelf.basis)
        self.slack = np.float32(SLACK * float(np.linalg.norm(query)))
        self.score = room.score  # estimates
        self.reach = room.reach  # the true score is this at most
        self.floor = np.float32(LOWEST)  # what the k-th best chunk reaches at least

    def run(self, out: Ints, allowed: Ints | None) -> list[tuple[int, float]]:
        """(chunk, cosine) of the k best chunks; rows `out`, and chunks not `allowed`, are none."""
        in_threads(self._estimate, self.headed, self.room.desks)
        self._measure(self.room.desks[0].wide)
        self.score[out] = self.reach[out] = -np.inf
        if allowed is not None:
            others = ~np.isin(self.chunks, allowed)
            self.score[others] = self.reach[others] = -np.inf
        self.floor = self._reached(self._closer(self._promising()))
        found = in_threads(self._sift, self.headed, self.room.desks)
        rows = np.flatnonzero(self.reach[self.headed :] >= self.floor) + self.headed
        plain = Rows(rows, self.score[rows], self.reach[rows] - self.score[rows])
        left = _joined([*found, plain])
        return self._ranked(left.rows, left.score + left.above)

    def _estimate(self, begin: int, end: int, desk: Desk) -> None:
        """Estimate rows begin to end, all headed, from their heads."""
        asked, first, facts = self.asked, self.shelf.headed.first, self.shelf.headed.facts
        for rows in _strips(begin, end):
            score, reach = self.score[rows], self.reach[rows]
            more = desk.more[: len(score)]
            _product(first[rows], asked.near, desk.wide, score)
            score *= facts[SCALE, rows]
            score += np.multiply(facts[LEAD, rows], asked.lead, out=more)
            score += asked.base
            np.multiply(facts[REST, rows], asked.rest_norm, out=reach)
            reach += np.multiply(facts[ERROR, rows], asked.near_norm, out=more)
            reach += score
            reach += self.slack

    def _measure(self, wide: Floats) -> None:
        """Compute the rows that have no head from their vectors, but for rounding."""
        scaled = self.query * HALF_SCALE
        for begin, part in _widened(self.shelf.plain.bits, wide):
            start = self.headed + begin
            np.dot(part, scaled, out=self.score[start : start + len(part)])
        np.add(self.score[self.headed :], self.slack, out=self.reach[self.headed :])

    def _promising(self) -> Ints:
        """Some rows with the best estimates: about FIRST_LOOK times k, where there are."""
        wanted = FIRST_LOOK * self.k
        sample = self.score[:: max(1, len(self.score) // SAMPLE_ROWS)]
        rank = min(len(sample), wanted * len(sample) // len(self.score) + 2)
        least = max(LOWEST, np.partition(sample, len(sample) - rank)[len(sample) - rank])
        return np.flatnonzero(self.score >= least)

    def _closer(self, rows: Ints) -> Rows:
        """All coordinates taken into the estimates of sorted `rows`."""
        score, above = self.score[rows], self.reach[rows] - self.score[rows]
        headed = int(np.searchsorted(rows, self.headed))
        held, picked = self.shelf.headed, rows[:headed]
        more = held.middle[picked].astype(np.float32) @ self.asked.middle
        more += held.far[picked].astype(np.float32) @ self.asked.far
        score[:headed] += more * held.facts[SCALE, picked]
        above[:headed] = held.facts[ERROR, picked] * self.asked.norm + self.slack
        return Rows(rows, score, above)

    def _sift(self, begin: int, end: int, desk: Desk) -> Rows:
        """Those of rows begin to end, all headed, that may yet reach the floor, closely."""
        held, asked = self.shelf.headed, self.asked
        nothing = np.float32(0)
        kept = [Rows(np.empty(0, np.int64), *np.empty((2, 0), np.float32))]
        for rows in _strips(begin, end):
            left = np.flatnonzero(self.reach[rows] >= self.floor) + rows.start
            found = Rows(left, self.score[left], np.empty(0, np.float32))
            for codes, query, beyond in (
                (held.middle, asked.middle, asked.far_norm),
                (held.far, asked.far, nothing),
            ):
                if len(found.rows):
                    found = self._narrowed(rows, found, codes, query, beyond, desk)
            if len(found.rows):
                kept.append(found)
        return _joined(kept)

    def _narrowed(
        self, strip: slice, found: Rows, codes: Codes, query: Floats, beyond: np.float32, desk: Desk
    ) -> Rows:
        """Take coordinates into the estimates of a strip's rows; those still in doubt."""
        facts, rows = self.shelf.headed.facts, found.rows
        size = strip.stop - strip.start
        if len(rows) > DENSE_SHARE * size:
            more = desk.more[:size]
            _product(codes[strip], query, desk.wide, more)
            more = more[rows - strip.start]
        else:
            more = desk.more[: len(rows)]
            _product(desk.taken(codes, rows), query, desk.wide, more)
        more *= facts[SCALE].take(rows)
        more += found.score
        above = facts[ERROR].take(rows)
        above *= self.asked.norm
        if beyond:
            above += facts[FAR].take(rows) * beyond
        above += self.slack
        left = np.flatnonzero(more + above >= self.floor)
        return Rows(rows[left], more[left], above[left])

    def _reached(self, rows: Rows) -> np.float32:
        """What the k-th best chunk reaches at least, going by `rows` alone."""
        low = rows.score - rows.above
        for most in (FIRST_LOOK * self.k, len(low)):
            best = np.arange(len(low))
            if most < len(low):
                best = np.argpartition(low, len(low) - most)[-most:]
            order = best[np.argsort(-low[best])]
            _, firsts = np.unique(self.chunks[rows.rows[order]], return_index=True)
            if len(firsts) >= self.k:
                kth = low[order[np.sort(firsts)[self.k - 1]]]
                return np.float32(max(LOWEST, self.floor, kth))
        return self.floor

    def _ranked(self, rows: Ints, reach: Floats) -> list[tuple[int, float]]:
        """The k best chunks among `rows`, none above its `reach`, from the vectors themselves."""
        order = np.argsort(-reach, kind="stable")
        stored = self._stored()
        best: dict[int, float] = {}
        for start in range(0, len(order), RANKED_ROWS):
            part = order[start : start + RANKED_ROWS]
            if len(best) >= self.k and reach[part[0]] < sorted(best.values())[-self.k]:
                break
            scores = exact(np.array([stored(row) for row in rows[part].tolist()]), self.query)
            for chunk, score in zip(self.chunks[rows[part]].tolist(), scores.tolist(), strict=True):
                best[chunk] = max(score, best.get(chunk, LOWEST))
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.k]

    def _stored(self) -> Callable[[int], NDArray[np.int16]]:
        """What gives the bits of a row's stored vector."""
        shelf, leaves = self.shelf, Leaves(self.db, self.shelf.dimension)
        starts = shelf.headed.starts

        def stored(row: int) -> NDArray[np.int16]:
            if row >= self.headed:
                return np.asarray(shelf.plain.bits[row - self.headed])
            owner = int(np.searchsorted(starts, row, side="right")) - 1
            return leaves.row(shelf.headed.blocks[owner].id, row - int(starts[owner]))

        return stored


class Room:
    """What searches of one shelf work in, one after the other."""

    def __init__(self, shelf: Shelf) -> None:
        self.score = np.empty(len(shelf.chunks), np.float32)
        self.reach = np.empty(len(shelf.chunks), np.float32)
        self.desks = [Desk(shelf.dimension) for _ in range(THREADS_MAX)]


class Desk:
    """What one thread works on."""

    def __init__(self, widest: int) -> None:
        self.wide = np.empty(max(WIDE_NUMBERS, widest), np.float32)
        self.more = np.empty(STRIP_ROWS, np.float32)
        self._codes = np.empty(int(DENSE_SHARE * STRIP_ROWS) * widest, np.int8)

    def taken(self, codes: Codes, rows: Ints) -> Codes:
        """`codes[rows]`, valid until the next call."""
        width = codes.shape[1]
        room = self._codes[: len(rows) * width].reshape(len(rows), width)
        return np.take(codes, rows, axis=0, out=room, mode="clip")


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


def in_threads(
    work: Callable[[int, int, Desk], Any], rows: int, desks: Sequence[Desk]
) -> list[Any]:
    """What `work` gives for shares of `rows`, in order, in a thread per desk where that pays."""
    threads = min(len(desks), os.cpu_count() or 1) if rows >= THREADED_ROWS else 1
    share = -(-rows // threads)
    results: list[Any] = [None] * threads
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            begin = min(rows, number * share)
            results[number] = work(begin, min(rows, begin + share), desks[number])
        except BaseException as failure:
            failures.append(failure)

    others = [threading.Thread(target=run, args=(n,)) for n in range(1, threads)]
    for thread in others:
        thread.start()
    run(0)
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
    return results


def _strips(begin: int, end: int) -> Iterator[slice]:
    for start in range(begin, end, STRIP_ROWS):
        yield slice(start, min(start + STRIP_ROWS, end))


def _product(codes: Codes, query: Floats, wide: Floats, out: Floats) -> None:
    """codes @ query, some rows at a time."""
    width = codes.shape[1]
    rows = len(wide) // max(1, width)
    buffer = wide[: rows * width].reshape(rows, width)
    for start in range(0, len(codes), rows):
        part = codes[start : start + rows]
        floats = buffer[: len(part)]
        floats[...] = part
        np.dot(floats, query, out=out[start : start + len(part)])


def _widened(rows: NDArray[np.int16], wide: Floats) -> Iterator[tuple[int, Floats]]:
    """Strips of float16 bits as float32, 2**112 too small: five times quicker than a cast."""
    step = min(PLAIN_ROWS, len(wide) // rows.shape[1])
    buffer = wide[: step * rows.shape[1]].view(np.int32).reshape(step, -1)
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        floats = buffer[: len(part)]
        floats[...] = part
        floats <<= HALF_BITS
        floats &= HALF_MASK
        yield begin, floats.view(np.float32)


def _joined(parts: list[Rows]) -> Rows:
    return Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
