"""The heads of full blocks: an int8 form with error bounds that a scan reads in their stead.

A head is made with a *basis*, one per generation, by whoever has the arithmetic
(`semantic.heads`). Heads of an older basis no longer count.

Promises: a block without a head that counts is searched all the same, from its vectors: heads
only speed a scan up.
Does not: compute anything; facts and codes are bytes here.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from helpers.store import vectors


class Block(NamedTuple):
    """One block as a scan lists it; `basis` is its head's, None where it has no head."""

    id: int
    rows: int
    live: int
    basis: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """A block's int8 form, and the facts that bound its error; only `scan` reads them."""

    basis: int
    facts: bytes
    codes: bytes  # all first coordinates, then all second ones, …


def blocks(db: sqlite3.Connection, generation: int) -> list[Block]:
    """The blocks of a generation that hold live vectors, in order."""
    rows = db.execute(
        f"SELECT b.id, b.rows, b.live, h.basis FROM {_JOINED}"
        " WHERE b.generation = ? AND b.live > 0 ORDER BY b.id",
        (generation,),
    )
    return [Block._make(row) for row in rows]


def headless(db: sqlite3.Connection, generation: int) -> list[int]:
    """Full blocks without a head that counts."""
    rows = db.execute(
        f"SELECT b.id FROM {_JOINED} WHERE b.generation = ? AND b.rows >= ? AND h.basis IS NULL",
        (generation, vectors.SPARSE_ROWS),
    )
    return [row[0] for row in rows]


def set_head(db: sqlite3.Connection, block: int, head: Head) -> None:
    """Give a block its head."""
    db.execute(
        "INSERT OR REPLACE INTO vector_head VALUES(?, ?, ?, ?)",
        (block, head.basis, head.facts, head.codes),
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
    query = "SELECT basis, facts, codes FROM vector_head WHERE block = ?"
    return Head(*db.execute(query, (block,)).fetchone())


_JOINED = (
    "vector_block b LEFT JOIN vector_basis v ON v.generation = b.generation"
    " LEFT JOIN vector_head h ON h.block = b.id AND h.basis = v.number"
)
