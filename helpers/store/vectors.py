"""The vectors of chunks: float16 in blocks, written once, merged when they are small or sparse.

A commit of an embedding writes one small block. Blocks are never changed: a chunk that goes
leaves a tombstone (`vector_dead`), and `merge` writes small and sparse blocks anew as full ones,
so that a change costs what it changes. What a scan reads instead of full blocks, their heads, is
kept by `vector_heads`.

Promises: all vectors of one chunk lie side by side in one block; every step is one transaction
or runs inside the caller's, and the counts in `generation` change with the rows they count;
whoever deletes a chunk calls `drop` in the same transaction.
Does not: compute anything from a vector (`semantic.scan` does), or decide which model is in
force (`generations`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from helpers.store import database, schema

BLOCK_ROWS = 4_096  # vectors of a full block; its last chunk may bring a few more
SPARSE_ROWS = BLOCK_ROWS // 2  # live vectors below which a block is merged with others
SMALL_BLOCKS = 16  # blocks below SPARSE_ROWS that may stand side by side
LEAF_ROWS = 16  # vectors per BLOB, 12 KiB at 384 dimensions: one is read in 12 us
LEAVES = 1_024  # leaves that a block's numbers have room for
ROWS_MAX = LEAF_ROWS * LEAVES  # vectors of one block
FLOAT16_BYTES = 2
CLEARED_BLOCKS = 16  # blocks deleted per transaction
CLEARED_CHUNKS = 20_000  # rows of vector_of deleted per transaction
BATCH = 500  # ids per query
MAPPED_BYTES = 4 * 1024**3  # bytes of the index that a scan may map instead of copying

Vectors = tuple[int, bytes]  # chunk id, its float16 vectors one after the other


class Place(NamedTuple):
    """Where a chunk's vectors lie."""

    chunk: int
    block: int
    first: int
    rows: int


# --- writing -------------------------------------------------------------------------------


def add(db: sqlite3.Connection, generation: int, dimension: int, found: Sequence[Vectors]) -> int:
    """Write the vectors of chunks that have none yet; returns how many vectors those are.

    Runs inside the caller's transaction. Raises ValueError for vectors of another dimension.
    """
    total = 0
    for part in _parts(found, dimension * FLOAT16_BYTES):
        total += _write(db, generation, dimension, part)
    for ids in _batches([chunk for chunk, _ in found]):
        marks = ",".join("?" * len(ids))
        db.execute(
            f"DELETE FROM vector_failure WHERE generation = ? AND chunk_id IN ({marks})",
            (generation, *ids),
        )
    db.execute(
        "UPDATE generation SET chunks = chunks + ?, vectors = vectors + ?, tidy = 0 WHERE id = ?",
        (len(found), total, generation),
    )
    return total


def drop(db: sqlite3.Connection, chunks: Sequence[int]) -> None:
    """Forget the vectors and failures of chunks, in every generation.

    Runs inside the caller's transaction; costs one query where there are no generations.
    """
    for (generation,) in db.execute("SELECT id FROM generation").fetchall():
        for ids in _batches(chunks):
            marks = f"generation = ? AND chunk_id IN ({','.join('?' * len(ids))})"
            places = db.execute(
                f"SELECT chunk_id, block, first, count FROM vector_of WHERE {marks}",
                (generation, *ids),
            ).fetchall()
            db.execute(f"DELETE FROM vector_failure WHERE {marks}", (generation, *ids))
            db.execute(f"DELETE FROM vector_of WHERE {marks}", (generation, *ids))
            _bury(db, generation, [Place._make(place) for place in places])


def merge(db: sqlite3.Connection, generation: int, dimension: int) -> bool:
    """One step of housekeeping in a transaction of its own; False when nothing is left to do.

    Deletes blocks without a live vector, and writes as many small and sparse ones anew as fill
    a block.
    """
    chosen = _to_merge(db, generation)
    if not chosen:
        return False
    with database.transaction(db):
        found = [item for block in chosen for item in _live(db, block, dimension)]
        for block in chosen:
            _delete_block(db, block)
        for part in _parts(found, dimension * FLOAT16_BYTES):
            _write(db, generation, dimension, part)
    return True


def clear(db: sqlite3.Connection, generation: int) -> None:
    """Delete some of what a dropped generation left, in one transaction.

    Its blocks go last: `leftovers` names the generation until everything is gone.
    """
    with database.transaction(db):
        if db.execute(
            "DELETE FROM vector_of WHERE generation = ? AND chunk_id IN"
            " (SELECT chunk_id FROM vector_of WHERE generation = ? LIMIT ?)",
            (generation, generation, CLEARED_CHUNKS),
        ).rowcount:
            return
        db.execute("DELETE FROM vector_basis WHERE generation = ?", (generation,))
        rows = db.execute(
            "SELECT id FROM vector_block WHERE generation = ? LIMIT ?", (generation, CLEARED_BLOCKS)
        )
        for (block,) in rows.fetchall():
            _delete_block(db, block)


def leftovers(db: sqlite3.Connection) -> list[int]:
    """Generations that were dropped and have not been cleared to the end."""
    rows = db.execute("SELECT generation FROM vector_block EXCEPT SELECT id FROM generation")
    return [row[0] for row in rows]


def fail(db: sqlite3.Connection, generation: int, failed: Iterable[tuple[int, str, int]]) -> None:
    """Count attempts at chunks that gave no vectors: (chunk id, reason, attempts to add)."""
    db.executemany(
        "INSERT INTO vector_failure VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " attempts = attempts + excluded.attempts, reason = excluded.reason",
        [(generation, chunk, attempts, reason) for chunk, reason, attempts in failed],
    )


# --- reading -------------------------------------------------------------------------------


def open_for_scan(path: Path) -> sqlite3.Connection:
    """A read-only connection that maps the file, so that leaves are read without copying twice."""
    db = database.open_read(path)
    db.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
    return db


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[sqlite3.Connection]:
    """`open_for_scan` inside one transaction: one state of the index."""
    with contextlib.closing(Reader(path)) as reader, reader.state() as (db, _):
        yield db


class Reader:
    """An index that is read again and again: opened once, and anew where it was replaced.

    On Windows it is opened for each reading: a file that is open cannot be deleted there.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._opened = 0

    @contextlib.contextmanager
    def state(self) -> Iterator[tuple[sqlite3.Connection, tuple[int, int]]]:
        """A connection that sees one state of the index, and a mark: equal marks, equal states."""
        db = self._connected()
        try:
            db.execute("BEGIN")
            version = db.execute("PRAGMA data_version").fetchone()[0]
            yield db, (self._opened, version)
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
            if os.name == "nt":
                self.close()

    def close(self) -> None:
        """Let go of the file."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _connected(self) -> sqlite3.Connection:
        found = self.path.stat() if self.path.exists() else None
        file = (found.st_dev, found.st_ino) if found else (0, 0)
        if self._db is None or file != self._file:
            self.close()
            self._db, self._file = open_for_scan(self.path), file
            self._opened += 1
        return self._db


def dead(db: sqlite3.Connection, generation: int) -> dict[int, list[int]]:
    """Block → chunk ids whose vectors in it no longer count."""
    found: dict[int, list[int]] = {}
    rows = db.execute(
        "SELECT d.block, d.chunk_id FROM vector_dead d JOIN vector_block b ON b.id = d.block"
        " WHERE b.generation = ?",
        (generation,),
    )
    for block, chunk in rows:
        found.setdefault(block, []).append(chunk)
    return found


def row_chunks(db: sqlite3.Connection, block: int) -> bytes:
    """The chunk id of each row of a block: int64, in the machine's byte order."""
    row = db.execute("SELECT chunks FROM vector_block WHERE id = ?", (block,)).fetchone()
    return bytes(row[0])


def vectors(db: sqlite3.Connection, block: int) -> bytes:
    """All float16 vectors of a block."""
    rows = db.execute(
        "SELECT data FROM vector_leaf WHERE id BETWEEN ? AND ? ORDER BY id",
        (block * LEAVES, block * LEAVES + LEAVES - 1),
    )
    return b"".join(row[0] for row in rows)


def leaf(db: sqlite3.Connection, block: int, number: int) -> bytes:
    """The float16 vectors of rows number * LEAF_ROWS and the LEAF_ROWS - 1 after it."""
    query = "SELECT data FROM vector_leaf WHERE id = ?"
    return bytes(db.execute(query, (block * LEAVES + number,)).fetchone()[0])


def places(db: sqlite3.Connection, generation: int, chunks: Sequence[int]) -> list[Place]:
    """Where the vectors of those of `chunks` lie that have some."""
    found: list[Place] = []
    for ids in _batches(chunks):
        marks = ",".join("?" * len(ids))
        found += [
            Place._make(row)
            for row in db.execute(
                "SELECT chunk_id, block, first, count FROM vector_of"
                f" WHERE generation = ? AND chunk_id IN ({marks})",
                (generation, *ids),
            )
        ]
    return found


def chunks_where(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> bytes:
    """Ids, int64, of the chunks whose document fulfils an SQL condition over `document`."""
    rows = db.execute(
        "SELECT chunk.id FROM document JOIN chunk ON chunk.document_id = document.id"
        f" WHERE {condition}",
        tuple(values),
    )
    return array("q", (row[0] for row in rows)).tobytes()


def problems(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the stored vectors, in words; empty when all is well."""
    if schema.version(db) < 2:
        return []
    found = []
    for what, query in _CHECKS:
        wrong = db.execute(query).fetchone()[0]
        if wrong:
            found.append(f"{wrong:,} {what}")
    return found


# --- private -------------------------------------------------------------------------------


_CHECKS = (
    (
        "chunks have vectors and are no longer there",
        "SELECT count(*) FROM vector_of v JOIN generation g ON g.id = v.generation"
        " LEFT JOIN chunk c ON c.id = v.chunk_id WHERE c.id IS NULL",
    ),
    (
        "generations miscount their vectors",
        "SELECT count(*) FROM generation g LEFT JOIN (SELECT generation, count(*) AS chunks,"
        " sum(count) AS vectors FROM vector_of GROUP BY generation) v ON v.generation = g.id"
        " WHERE g.chunks <> coalesce(v.chunks, 0) OR g.vectors <> coalesce(v.vectors, 0)",
    ),
    (
        "blocks miscount their vectors",
        "SELECT count(*) FROM vector_block b JOIN generation g ON g.id = b.generation"
        " LEFT JOIN (SELECT block, sum(count) AS live FROM vector_of GROUP BY block) v"
        " ON v.block = b.id WHERE b.live <> coalesce(v.live, 0)"
        " OR length(b.chunks) <> 8 * b.rows",
    ),
    (
        "blocks lack vectors",
        "SELECT count(*) FROM vector_block b JOIN generation g ON g.id = b.generation"
        " WHERE (SELECT coalesce(sum(length(data)), 0) FROM vector_leaf l WHERE l.id"
        f" BETWEEN b.id * {LEAVES} AND b.id * {LEAVES} + {LEAVES - 1})"
        f" <> {FLOAT16_BYTES} * b.rows * g.dimension",
    ),
)


def _parts(found: Sequence[Vectors], row_bytes: int) -> Iterator[list[Vectors]]:
    """`found` cut into blocks: as few as may be, none over BLOCK_ROWS but by its last chunk."""
    part: list[Vectors] = []
    rows = 0
    for chunk, data in found:
        if not data or len(data) % row_bytes:
            raise ValueError(f"{len(data):,} bytes of vectors of {row_bytes:,} bytes each")
        part.append((chunk, data))
        rows += len(data) // row_bytes
        if rows >= BLOCK_ROWS:
            yield part
            part, rows = [], 0
    if part:
        yield part


def _write(db: sqlite3.Connection, generation: int, dimension: int, part: list[Vectors]) -> int:
    """Write one block; returns its rows."""
    row_bytes = dimension * FLOAT16_BYTES
    chunks = array("q")
    for chunk, data in part:
        chunks.extend([chunk] * (len(data) // row_bytes))
    rows = len(chunks)
    if rows > ROWS_MAX:
        raise ValueError(f"a block of {rows:,} > {ROWS_MAX:,} vectors")
    block = db.execute(
        "INSERT INTO vector_block(generation, rows, live, chunks) VALUES(?, ?, ?, ?)",
        (generation, rows, rows, chunks.tobytes()),
    ).lastrowid
    assert block is not None
    joined = memoryview(b"".join(data for _, data in part))
    size = LEAF_ROWS * row_bytes
    db.executemany(
        "INSERT INTO vector_leaf VALUES(?, ?)",
        [
            (block * LEAVES + number, joined[start : start + size])
            for number, start in enumerate(range(0, len(joined), size))
        ],
    )
    db.executemany(
        "INSERT OR REPLACE INTO vector_of VALUES(?, ?, ?, ?, ?)",
        _spans(generation, block, part, row_bytes),
    )
    return rows


def _spans(
    generation: int, block: int, part: list[Vectors], row_bytes: int
) -> Iterator[tuple[int, int, int, int, int]]:
    first = 0
    for chunk, data in part:
        count = len(data) // row_bytes
        yield generation, chunk, block, first, count
        first += count


def _bury(db: sqlite3.Connection, generation: int, places: list[Place]) -> None:
    if not places:
        return
    db.executemany("INSERT INTO vector_dead VALUES(?, ?)", [(p.block, p.chunk) for p in places])
    db.executemany(
        "UPDATE vector_block SET live = live - ? WHERE id = ?", [(p.rows, p.block) for p in places]
    )
    db.execute(
        "UPDATE generation SET chunks = chunks - ?, vectors = vectors - ?, tidy = 0 WHERE id = ?",
        (len(places), sum(p.rows for p in places), generation),
    )


def _to_merge(db: sqlite3.Connection, generation: int) -> list[int]:
    """Blocks to write anew together: the first small ones that fill a block, or too many."""
    small = db.execute(
        "SELECT id, live FROM vector_block WHERE generation = ? AND live < ? ORDER BY id",
        (generation, SPARSE_ROWS),
    ).fetchall()
    empty = [block for block, live in small if not live]
    if empty:
        return empty[:CLEARED_BLOCKS]
    chosen, rows = [], 0
    for block, live in small:
        chosen.append(block)
        rows += live
        if rows >= BLOCK_ROWS:
            return chosen
    return chosen if len(chosen) > SMALL_BLOCKS else []


def _live(db: sqlite3.Connection, block: int, dimension: int) -> list[Vectors]:
    """The chunks of a block that still count, with their vectors, in the block's order."""
    row_bytes = dimension * FLOAT16_BYTES
    data = vectors(db, block)
    gone = {
        row[0] for row in db.execute("SELECT chunk_id FROM vector_dead WHERE block=?", (block,))
    }
    chunks = array("q", row_chunks(db, block))
    found: list[Vectors] = []
    start = 0
    while start < len(chunks):
        end = start + 1
        while end < len(chunks) and chunks[end] == chunks[start]:
            end += 1
        if chunks[start] not in gone:
            found.append((chunks[start], data[start * row_bytes : end * row_bytes]))
        start = end
    return found


def _delete_block(db: sqlite3.Connection, block: int) -> None:
    db.execute("DELETE FROM vector_head WHERE block = ?", (block,))
    db.execute("DELETE FROM vector_dead WHERE block = ?", (block,))
    db.execute(
        "DELETE FROM vector_leaf WHERE id BETWEEN ? AND ?",
        (block * LEAVES, block * LEAVES + LEAVES - 1),
    )
    db.execute("DELETE FROM vector_block WHERE id = ?", (block,))


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
