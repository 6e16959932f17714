"""The inverted index: which terms stand in which chunk, document name or OCR text.

Promises: a posting is removed with the very terms it was made of, derived again from the stored
text by the same analyser (contentless FTS5 needs them, and a wrong 'delete' damages the index
unseen); after `rebuild` the postings are exactly those of the stored chunks.
Does not: analyse text itself. It is handed an `Analyser`, and records that one's fingerprint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from helpers.store.database import get_meta, set_meta

COMMON_SHARE = 0.01  # of all chunks: a term in more of them is listed in common_term
COMMON_FROM = 2_000  # chunks; below, counting a term at query time costs nothing
READ_BATCH = 500  # rows per fetch of a rebuild

ChunkTerms = tuple[int, str, str, str]  # chunk id, body terms, context terms, grams ("" = none)


class Analyser(Protocol):
    """What turns stored text into terms, each a string of terms joined by spaces."""

    fingerprint: str

    def chunk(self, text: str, context: str, ocr: bool) -> tuple[str, str, str]:
        """Body terms, context terms, grams."""

    def path(self, path: str) -> tuple[str, str]:
        """Terms and grams of a document's path."""


def add(db: sqlite3.Connection, rows: Sequence[ChunkTerms]) -> None:
    """Insert the postings of new chunks."""
    db.executemany(
        "INSERT INTO posting(rowid, body, context) VALUES(?, ?, ?)",
        [(key, body, context) for key, body, context, _ in rows],
    )
    grams = [(key, text) for key, _, _, text in rows if text]
    if grams:
        db.executemany("INSERT INTO fuzzy(rowid, grams) VALUES(?, ?)", grams)


def drop(db: sqlite3.Connection, rows: Iterable[ChunkTerms]) -> None:
    """Remove the postings of chunks; `rows` holds the very terms they were made of."""
    for key, body, context, grams in rows:
        db.execute(
            "INSERT INTO posting(posting, rowid, body, context) VALUES('delete', ?, ?, ?)",
            (key, body, context),
        )
        if grams:
            db.execute(
                "INSERT INTO fuzzy(fuzzy, rowid, grams) VALUES('delete', ?, ?)", (key, grams)
            )


def add_name(db: sqlite3.Connection, document_id: int, path: str, analyser: Analyser) -> None:
    """Insert the postings of a document's path."""
    db.execute(
        "INSERT INTO file_name(rowid, terms, grams) VALUES(?, ?, ?)",
        (document_id, *analyser.path(path)),
    )


def drop_name(db: sqlite3.Connection, document_id: int, path: str, analyser: Analyser) -> None:
    """Remove the postings of a document's path."""
    db.execute(
        "INSERT INTO file_name(file_name, rowid, terms, grams) VALUES('delete', ?, ?, ?)",
        (document_id, *analyser.path(path)),
    )


def rebuild(
    db: sqlite3.Connection, analyser: Analyser, checkpoint: Callable[[], None] = lambda: None
) -> int:
    """Make all postings anew from the stored text; returns the number of chunks.

    Runs inside the caller's transaction: readers see the old postings until it commits.
    `checkpoint` is called between batches and may raise to give up.
    """
    for table in ("posting", "fuzzy", "file_name"):
        db.execute(f"INSERT INTO {table}({table}) VALUES('delete-all')")
    done = 0
    cursor = db.execute("SELECT id, text, context, ocr FROM chunk ORDER BY id")
    while rows := cursor.fetchmany(READ_BATCH):
        add(db, [(key, *analyser.chunk(text, ctx, bool(ocr))) for key, text, ctx, ocr in rows])
        done += len(rows)
        checkpoint()
    for key, path in db.execute("SELECT id, path FROM document WHERE chunks > 0").fetchall():
        add_name(db, key, path, analyser)
    set_meta(db, "analyser", analyser.fingerprint)
    list_common_terms(db)
    return done


def made_by(db: sqlite3.Connection) -> str | None:
    """The fingerprint of the analyser that made the postings; None in a new index."""
    found = get_meta(db, "analyser")
    return None if found is None else str(found)


def settle(db: sqlite3.Connection, changed_chunks: int) -> None:
    """What the end of a sync owes the next search: merged segments and counted common terms."""
    total = db.execute("SELECT count(*) FROM chunk").fetchone()[0]
    if changed_chunks * 20 >= total:  # a smaller change leaves segments and counts nearly right
        for table in ("posting", "fuzzy", "file_name"):
            db.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
        list_common_terms(db)


def list_common_terms(db: sqlite3.Connection) -> None:
    """Write the terms of more than COMMON_SHARE of all chunks, with their chunk counts."""
    total = db.execute("SELECT count(*) FROM chunk").fetchone()[0]
    db.execute("DELETE FROM common_term")
    if total >= COMMON_FROM:
        db.execute(
            "INSERT INTO common_term SELECT term, doc FROM posting_vocab WHERE doc > ?",
            (int(total * COMMON_SHARE),),
        )
