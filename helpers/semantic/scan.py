"""Exact search among vectors: which chunks hold the vectors nearest to a question's.

A full scan would read 768 bytes per vector. This one reads 128: each full block has a *head*,
its vectors turned so that their first coordinates say most, as int8, with facts that bound what
the rest can add. Rows whose bound stays below what the k-th best chunk surely reaches are out;
for the others the remaining coordinates are read, also int8, and the few that are still in
doubt are computed from the stored float16.

Promises: the k best chunks (the score of a chunk is its best vector's) are those of a float32
product over all vectors, scores to within rounding; equal scores are ordered by chunk id; the
index is only read, each search from one state of it.
Does not: know text or models. Imported only by the worker process; numpy is its own.

A stored vector v is q·v = q·m + z·y for a question q, with y = B(v - m), z = Bq, where m is the
mean of a sample and B a rotation: first m's direction (kept as float32), then the directions in
which the sample varies most.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.store import generations, vectors
from helpers.store.database import Connection
from helpers.store.vectors import LEAF_ROWS, Block, Head

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

HEAD_SHARE = 3  # a head holds a third of the coordinates ...
MIDDLE_SHARE = 2  # ... and half of them are looked at before the rest is
LEAD, SCALE, REST, FAR, ERROR = range(5)  # facts of a row: first coordinate, size of an int8
FACTS = 5  # step, norm beyond the head, norm beyond the middle, norm of what int8 lost
STRIP_ROWS = 4_096  # rows looked at together
CACHED_ROWS = 512  # rows widened at a time: 256 KiB of float32, which stays in the cache
SAMPLE_ROWS = 16_384  # rows looked at to guess how many are worth a second look
FIRST_LOOK = 8  # times k rows that are looked at closely before anything is ruled out
FIT_ROWS = 8_192  # vectors that a basis is made from
THREADED_ROWS = 50_000  # rows from which a second thread pays
THREADS_MAX = 2
LOWEST = -1e30  # below every score of a row that is not out
SLACK = 2e-5  # of |q|: what float32 arithmetic over unit vectors can be wrong by
HALF_BITS = 13  # bits a float16 is shifted by to stand in a float32, 2**112 too small
HALF_MASK = -0x70002000  # the bits of a shifted float16: sign, exponent, fraction
HALF_SCALE = np.float32(2.0**112)

DENSE_SHARE = 0.15  # of a strip's rows: from there on reading all is quicker than picking

Filter = tuple[str, Sequence[object]]  # an SQL condition over `document` and its values


class Scanner:
    """The vectors of one generation, kept between searches as long as they stay the same."""

    def __init__(self, path: Path, token: str) -> None:
        self.path, self.token = path, token
        self._shelf: _Shelf | None = None
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
        self._shelf = None

    def top_k(self, vector: Floats, k: int, where: Filter | None = None) -> list[tuple[int, float]]:
        """The k best chunks, as (chunk id, cosine), best first; `where` limits the documents.

        Raises LookupError where the generation is gone, StoreError, sqlite3.Error.
        """
        query = np.ascontiguousarray(vector, np.float32)
        with _Reading(self.path) as db:
            generation = _generation(db, self.token)
            shelf, out = self._now(db, generation)
            if k < 1 or not len(shelf.chunks):
                return []
            allowed = None
            if where is not None and where[0]:
                allowed = np.frombuffer(vectors.chunks_where(db, *where), np.int64)
            return _Search(db, shelf, query, k).run(out, allowed)

    def _now(self, db: Connection, generation: generations.Generation) -> tuple[_Shelf, Ints]:
        """What is there, and the rows of it that no longer count."""
        shelf, dead = _loaded(db, generation, self._shelf), vectors.dead(db, generation.id)
        if shelf is not self._shelf or dead != self._dead:
            self._shelf, self._dead, self._out = shelf, dead, shelf.rows_of(dead)
        return shelf, self._out

    def scores(self, vector: Floats, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """The cosine of each of `chunks` that has vectors. Raises as `top_k`."""
        with _Reading(self.path) as db:
            generation = _generation(db, self.token)
            leaves = _Leaves(db, generation.dimension)
            found = []
            for place in vectors.places(db, generation.id, chunks):
                rows = [leaves.row(place.block, place.first + n) for n in range(place.rows)]
                found.append((place.chunk, float(_exact(np.array(rows), vector).max())))
            return found


# --- making heads --------------------------------------------------------------------------


def fit(path: str | Path, generation: int) -> bytes:
    """A basis for the vectors of a generation, from a sample across all of its blocks."""
    with _Reading(path) as db:
        dimension = _dimension(db, generation)
        listed = vectors.blocks(db, generation)
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
    with _Reading(path) as db:
        dimension = _dimension(db, generation)
        basis = _current(db, generation, dimension)
        rows = _halves(vectors.vectors(db, block), dimension).astype(np.float64)
    return basis.head_of(rows)


class _Basis:
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


def head_width(dimension: int) -> int:
    """How many int8 coordinates, after the first of all, a head holds."""
    return max(1, dimension // HEAD_SHARE)


def middle_end(dimension: int) -> int:
    """How many int8 coordinates, after the first of all, lie within head and middle."""
    return max(1, dimension // MIDDLE_SHARE)


# --- what is searched ----------------------------------------------------------------------


class _Headed:
    """All blocks with a head, side by side in memory."""

    def __init__(self, db: Connection, blocks: list[Block], dimension: int, old: _Headed | None):
        self.blocks = blocks
        self.starts = _starts(blocks)
        count = int(self.starts[-1])
        width = head_width(dimension)
        self.chunks = np.empty(count, np.int64)
        self.facts = np.empty((FACTS, count), np.float32)
        self.first = np.empty((count, width), np.int8)
        self.middle = np.empty((count, middle_end(dimension) - width), np.int8)
        self.far = np.empty((count, dimension - 1 - middle_end(dimension)), np.int8)
        known = {} if old is None else dict(zip(old.blocks, old.starts.tolist(), strict=False))
        for block, start in zip(blocks, self.starts.tolist(), strict=False):
            place = slice(start, start + block.rows)
            if old is not None and block in known:
                held = slice(known[block], known[block] + block.rows)
                self.chunks[place] = old.chunks[held]
                self.facts[:, place] = old.facts[:, held]
                self.first[place], self.middle[place] = old.first[held], old.middle[held]
                self.far[place] = old.far[held]
                continue
            self.chunks[place] = np.frombuffer(vectors.row_chunks(db, block.id), np.int64)
            found = vectors.head(db, block.id)
            self.facts[:, place] = np.frombuffer(found.facts, np.float32).reshape(FACTS, -1)
            self.first[place] = np.frombuffer(found.head, np.int8).reshape(block.rows, -1)
            tail = np.frombuffer(found.tail, np.int8).reshape(block.rows, -1)
            self.middle[place], self.far[place] = np.split(tail, [self.middle.shape[1]], axis=1)


class _Plain:
    """All blocks without a head: the float16 vectors themselves, as bits."""

    def __init__(self, db: Connection, blocks: list[Block], dimension: int, old: _Plain | None):
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
            self.bits[place] = _bits(vectors.vectors(db, block.id), dimension)


class _Shelf:
    """Everything of one generation; a row's number counts through headed, then plain."""

    def __init__(self, headed: _Headed, plain: _Plain, basis: _Basis | None, dimension: int):
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


def _loaded(db: Connection, generation: generations.Generation, old: _Shelf | None) -> _Shelf:
    """The shelf as the index holds it: `old` where nothing changed, else what did is read."""
    listed = vectors.blocks(db, generation.id)
    headed = [block._replace(live=0) for block in listed if block.basis is not None]
    plain = [block._replace(live=0) for block in listed if block.basis is None]
    size = generation.dimension
    if old is None:
        basis = _current(db, generation.id, size) if headed else None
        return _Shelf(_Headed(db, headed, size, None), _Plain(db, plain, size, None), basis, size)
    same_headed, same_plain = old.headed.blocks == headed, old.plain.blocks == plain
    if same_headed and same_plain:
        return old
    basis = old.basis
    if headed and (basis is None or basis.number != headed[0].basis):
        basis = _current(db, generation.id, size)
    return _Shelf(
        old.headed if same_headed else _Headed(db, headed, size, old.headed),
        old.plain if same_plain else _Plain(db, plain, size, old.plain),
        basis,
        size,
    )


def _current(db: Connection, generation: int, dimension: int) -> _Basis:
    found = vectors.basis(db, generation)
    if found is None:
        raise LookupError(f"generation {generation} has no basis")
    return _Basis(found[0], found[2], dimension)


# --- the search ----------------------------------------------------------------------------


class _Question:
    """A question's vector, turned as heads are; all zero where nothing has a head."""

    def __init__(self, query: Floats, basis: _Basis | None) -> None:
        dimension = len(query)
        turned, self.base = np.zeros(dimension, np.float32), np.float32(0)
        if basis is not None:
            turned, self.base = basis.turn @ query, np.float32(basis.mean @ query)
        first, middle = head_width(dimension) + 1, middle_end(dimension) + 1
        self.lead = turned[0]
        self.near = turned[1:first].copy()
        self.middle = turned[first:middle].copy()
        self.far = turned[middle:].copy()
        # Of everything after the lead, of what is beyond the head, of what is beyond the middle.
        self.norms = [np.float32(np.linalg.norm(turned[n:])) for n in (1, first, middle)]


class _Rows(NamedTuple):
    """Some rows, sorted, with their estimates and how far the true scores may be off."""

    rows: Ints
    score: Floats
    above: Floats


class _Search:
    """One question over all rows: estimates with bounds, narrowed until they decide."""

    def __init__(self, db: Connection, shelf: _Shelf, query: Floats, k: int) -> None:
        self.db, self.shelf, self.query, self.k = db, shelf, query, k
        self.headed = len(shelf.headed.chunks)
        self.chunks = shelf.chunks
        self.asked = _Question(query, shelf.basis)
        self.slack = np.float32(SLACK * float(np.linalg.norm(query)))
        self.score = np.empty(len(self.chunks), np.float32)  # estimates
        self.above = np.empty(
            len(self.chunks), np.float32
        )  # the true score exceeds them by at most
        self.floor = np.float32(LOWEST)  # what the k-th best chunk reaches at least

    def run(self, out: Ints, allowed: Ints | None) -> list[tuple[int, float]]:
        """(chunk, cosine) of the k best chunks; rows `out`, and chunks not `allowed`, are none."""
        size = CACHED_ROWS * self.shelf.dimension
        _in_threads(self._estimate, self.headed, size)
        self._measure(np.empty(size, np.float32))
        self.score[out] = -np.inf
        if allowed is not None:
            self.score[~np.isin(self.chunks, allowed)] = -np.inf
        self.floor = self._reached(self._closer(self._promising()))
        found = _in_threads(self._sift, self.headed, size)
        plain = slice(self.headed, None)
        rows = np.flatnonzero(self.score[plain] + self.above[plain] >= self.floor) + self.headed
        left = _joined([*found, _Rows(rows, self.score[rows], self.above[rows])])
        return self._ranked(left.rows[left.score + left.above >= self._reached(left)])

    def _estimate(self, begin: int, end: int, strip: Floats) -> None:
        """Estimate rows begin to end, all headed, from their heads."""
        first, facts = self.shelf.headed.first, self.shelf.headed.facts
        # Rounding to int8 is wrong by half a step per coordinate at most.
        step = np.float32(0.5 * np.sqrt(first.shape[1]) * float(np.linalg.norm(self.asked.near)))
        for rows in _strips(begin, end):
            score, above, scale = self.score[rows], self.above[rows], facts[SCALE, rows]
            _product(first[rows], self.asked.near, strip, score)
            score *= scale
            score += facts[LEAD, rows] * self.asked.lead + self.asked.base
            np.multiply(scale, step, out=above)
            above += facts[REST, rows] * self.asked.norms[1]
            above += self.slack

    def _measure(self, strip: Floats) -> None:
        """Compute the rows that have no head from their vectors, but for rounding."""
        scaled = self.query * HALF_SCALE
        for begin, wide in _widened(self.shelf.plain.bits, strip):
            start = self.headed + begin
            np.dot(wide, scaled, out=self.score[start : start + len(wide)])
        self.above[self.headed :] = self.slack

    def _promising(self) -> Ints:
        """Some rows with the best estimates: about FIRST_LOOK times k, where there are."""
        wanted = FIRST_LOOK * self.k
        sample = self.score[:: max(1, len(self.score) // SAMPLE_ROWS)]
        rank = min(len(sample), wanted * len(sample) // len(self.score) + 2)
        least = max(LOWEST, np.partition(sample, len(sample) - rank)[len(sample) - rank])
        return np.flatnonzero(self.score >= least)

    def _closer(self, rows: Ints) -> _Rows:
        """All coordinates taken into the estimates of sorted `rows`."""
        score, above = self.score[rows], self.above[rows]
        headed = int(np.searchsorted(rows, self.headed))
        score[:headed] += self._further(rows[:headed], self.shelf.headed.middle, self.asked.middle)
        score[:headed] += self._further(rows[:headed], self.shelf.headed.far, self.asked.far)
        above[:headed] = self.shelf.headed.facts[ERROR, rows[:headed]] * self.asked.norms[0]
        above[:headed] += self.slack
        return _Rows(rows, score, above)

    def _further(self, rows: Ints, codes: NDArray[np.int8], query: Floats) -> Floats:
        """What more coordinates add to the scores of `rows`, picked one by one."""
        found = np.take(codes, rows, axis=0).astype(np.float32) @ query
        return np.asarray(found * self.shelf.headed.facts[SCALE, rows])

    def _sift(self, begin: int, end: int, strip: Floats) -> _Rows:
        """Those of rows begin to end, all headed, that may yet reach the floor, closely."""
        kept = [_Rows(np.empty(0, np.int64), *np.empty((2, 0), np.float32))]
        for rows in _strips(begin, end):
            left = np.flatnonzero(self.score[rows] + self.above[rows] >= self.floor)
            for codes, query, beyond in (
                (self.shelf.headed.middle, self.asked.middle, self.asked.norms[2]),
                (self.shelf.headed.far, self.asked.far, np.float32(0)),
            ):
                if len(left):
                    left = self._narrowed(rows, left, codes, query, beyond, strip)
            if len(left):
                kept.append(
                    _Rows(left + rows.start, self.score[rows][left], self.above[rows][left])
                )
        return _joined(kept)

    def _narrowed(
        self,
        rows: slice,
        left: Ints,
        codes: NDArray[np.int8],
        query: Floats,
        beyond: np.float32,
        strip: Floats,
    ) -> Ints:
        """Take coordinates into the estimates of a strip's rows `left`; those still in doubt."""
        facts, score, above = self.shelf.headed.facts, self.score[rows], self.above[rows]
        if len(left) > DENSE_SHARE * len(score):
            more = np.empty(len(score), np.float32)
            _product(codes[rows], query, strip, more)
            more *= facts[SCALE, rows]
            score += more
            np.multiply(facts[ERROR, rows], self.asked.norms[0], out=above)
            above += facts[FAR, rows] * beyond
            above += self.slack
        else:
            picked = left + rows.start
            score[left] += self._further(picked, codes, query)
            doubt = facts[ERROR, picked] * self.asked.norms[0] + facts[FAR, picked] * beyond
            above[left] = doubt + self.slack
        return np.asarray(left[score[left] + above[left] >= self.floor])

    def _reached(self, rows: _Rows) -> np.float32:
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

    def _ranked(self, rows: Ints) -> list[tuple[int, float]]:
        """The k best chunks among sorted `rows`, from the stored vectors themselves."""
        if not len(rows):
            return []
        shelf, leaves = self.shelf, _Leaves(self.db, self.shelf.dimension)
        cut = int(np.searchsorted(rows, self.headed))
        starts = shelf.headed.starts
        stored = np.empty((len(rows), shelf.dimension), np.int16)
        owners = np.searchsorted(starts, rows[:cut], side="right") - 1
        for n, (row, owner) in enumerate(zip(rows[:cut].tolist(), owners.tolist(), strict=True)):
            stored[n] = leaves.row(shelf.headed.blocks[owner].id, row - int(starts[owner]))
        stored[cut:] = shelf.plain.bits[rows[cut:] - self.headed]
        score = _exact(stored, self.query)
        chunks = self.chunks[rows]
        order = np.lexsort((chunks, -score))
        _, firsts = np.unique(chunks[order], return_index=True)
        best = order[np.sort(firsts)[: self.k]]
        return [(int(chunks[i]), float(score[i])) for i in best]


class _Leaves:
    """Single vectors, read leaf by leaf."""

    def __init__(self, db: Connection, dimension: int) -> None:
        self.db, self.dimension = db, dimension
        self._at: tuple[int, int] = (-1, -1)
        self._rows: NDArray[np.int16] = np.empty((0, dimension), np.int16)

    def row(self, block: int, row: int) -> NDArray[np.int16]:
        """The bits of one stored vector."""
        number = row // LEAF_ROWS
        if self._at != (block, number):
            data = vectors.leaf(self.db, block, number)
            self._rows = np.frombuffer(data, np.int16).reshape(-1, self.dimension)
            self._at = (block, number)
        return self._rows[row % LEAF_ROWS]


class _Reading:
    """A connection in a read transaction of its own: one state of the index."""

    def __init__(self, path: str | Path) -> None:
        self._db = vectors.open_for_scan(Path(path))
        self._db.execute("BEGIN")

    def __enter__(self) -> Connection:
        return self._db

    def __exit__(self, *_: Any) -> None:
        self._db.close()


def _generation(db: Connection, token: str) -> generations.Generation:
    found = generations.by_token(db, token)
    if found is None:
        raise LookupError("the vectors that were asked for have been replaced")
    return found


def _dimension(db: Connection, generation: int) -> int:
    return next(g.dimension for g in generations.every(db) if g.id == generation)


def _starts(blocks: list[Block]) -> Ints:
    """The first row of each block, and the number of all rows."""
    return np.cumsum([0, *(block.rows for block in blocks)])


def _bits(data: bytes, dimension: int) -> NDArray[np.int16]:
    return np.frombuffer(data, np.int16).reshape(-1, dimension)


def _halves(data: bytes, dimension: int) -> NDArray[np.float16]:
    return np.frombuffer(data, np.float16).reshape(-1, dimension)


def _strips(begin: int, end: int) -> Iterator[slice]:
    for start in range(begin, end, STRIP_ROWS):
        yield slice(start, min(start + STRIP_ROWS, end))


def _product(codes: NDArray[np.int8], query: Floats, strip: Floats, out: Floats) -> None:
    """codes @ query, a few rows at a time: what was widened is still in the cache."""
    width = codes.shape[1]
    buffer = strip[: CACHED_ROWS * width].reshape(CACHED_ROWS, width)
    for start in range(0, len(codes), CACHED_ROWS):
        part = codes[start : start + CACHED_ROWS]
        wide = buffer[: len(part)]
        wide[...] = part
        np.dot(wide, query, out=out[start : start + len(part)])


def _widened(rows: NDArray[np.int16], strip: Floats) -> Iterator[tuple[int, Floats]]:
    """Strips of float16 bits as float32, 2**112 too small: five times quicker than a cast."""
    buffer = strip.view(np.int32).reshape(-1, rows.shape[1])
    for begin in range(0, len(rows), CACHED_ROWS):
        part = rows[begin : begin + CACHED_ROWS]
        wide = buffer[: len(part)]
        wide[...] = part
        wide <<= HALF_BITS
        wide &= HALF_MASK
        yield begin, wide.view(np.float32)


def _joined(parts: list[_Rows]) -> _Rows:
    return _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _exact(rows: NDArray[np.int16], query: Floats) -> NDArray[np.float64]:
    """Cosines in float64, each row's the same in whatever company it is computed."""
    wide = rows.view(np.float16).astype(np.float64)
    return np.asarray((wide * query.astype(np.float64)).sum(axis=1))


def _in_threads(work: Callable[[int, int, Floats], Any], rows: int, buffer: int) -> list[Any]:
    """What `work` gives for shares of `rows`, in order, in two threads where that pays."""
    threads = min(THREADS_MAX, os.cpu_count() or 1) if rows >= THREADED_ROWS else 1
    share = -(-rows // threads)
    results: list[Any] = [None] * threads
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            begin = number * share
            end = min(rows, begin + share)
            results[number] = work(begin, end, np.empty(buffer, np.float32))
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
