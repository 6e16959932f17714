"""The heads of full blocks: a short int8 form with error bounds that a scan reads in their stead.

A head is made with a *basis*, one per generation, by whoever has the arithmetic
(`semantic.heads`). Heads of an older basis, or of another width, no longer count.

Promises: a block without a head that counts is searched all the same, from its vectors: heads
only speed a scan up.
Does not: compute anything; facts, head and tail are bytes here.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from helpers.store import vectors

HEAD_SHARE = 5 / 12  # of a vector's coordinates are in its head: read for every row
MIDDLE_SHARE = 5 / 8  # of them are looked at before the rest is


class Block(NamedTuple):
    """One block as a scan lists it; `basis` is its head's, None where it has no head."""

    id: int
    rows: int
    live: int
    basis: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """A block's short form, and the facts that bound its error; only `scan` reads them."""

    basis: int
    facts: bytes
    head: bytes
    tail: bytes


def head_width(dimension: int) -> int:
    """How many int8 coordinates, after the first of all, a head holds."""
    return max(1, int(dimension * HEAD_SHARE))


def middle_end(dimension: int) -> int:
    """How many int8 coordinates, after the first of all, lie within head and middle."""
    return max(1, int(dimension * MIDDLE_SHARE))


def blocks(db: sqlite3.Connection, generation: int) -> list[Block]:
    """The blocks of a generation that hold live vectors, in order."""
    rows = db.execute(
        f"SELECT b.id, b.rows, b.live, {_COUNTS} FROM {_JOINED}"
        " WHERE b.generation = ? AND b.live > 0 ORDER BY b.id",
        (_width(db, generation), generation),
    )
    return [Block._make(row) for row in rows]


def headless(db: sqlite3.Connection, generation: int) -> list[int]:
    """Full blocks without a head that counts."""
    rows = db.execute(
        f"SELECT b.id FROM {_JOINED} WHERE b.generation = ? AND b.rows >= ? AND {_COUNTS} IS NULL",
        (generation, vectors.SPARSE_ROWS, _width(db, generation)),
    )
    return [row[0] for row in rows]


def set_head(db: sqlite3.Connection, block: int, head: Head) -> None:
    """Give a block its head."""
    db.execute(
        "INSERT OR REPLACE INTO vector_head VALUES(?, ?, ?, ?, ?)",
        (block, head.basis, head.facts, head.head, head.tail),
    )


def set_basis(db: sqlite3.Connection, generation: int, count: int, data: bytes) -> int:
    """Replace the basis of a generation; returns its number. Older heads no longer count."""
    row = db.execute(
        "SELECT number FROM vector_basis WHERE generation = ?", (generation,)
    ).fetchone()
    number = 1 + (row[0] if row else 0)
    db.execute(
        "INSERT OR REPLACE INTO vector_basis VALUES(?, ?, ?, ?)",
        (generation, number, count, data),
    )
    return number


def basis(db: sqlite3.Connection, generation: int) -> tuple[int, int, bytes] | None:
    """(number, vectors when it was made, data) of a generation's basis."""
    row: tuple[int, int, bytes] | None = db.execute(
        "SELECT number, vectors, data FROM vector_basis WHERE generation = ?", (generation,)
    ).fetchone()
    return row


def head(db: sqlite3.Connection, block: int) -> Head:
    """The head of a block that has one."""
    query = "SELECT basis, facts, head, tail FROM vector_head WHERE block = ?"
    return Head(*db.execute(query, (block,)).fetchone())


_JOINED = (
    "vector_block b LEFT JOIN vector_basis v ON v.generation = b.generation"
    " LEFT JOIN vector_head h ON h.block = b.id AND h.basis = v.number"
)
_COUNTS = "CASE WHEN length(h.head) = b.rows * ? THEN h.basis END"  # of this width, or None


def _width(db: sqlite3.Connection, generation: int) -> int:
    row = db.execute("SELECT dimension FROM generation WHERE id = ?", (generation,)).fetchone()
    return head_width(row[0]) if row else 0
