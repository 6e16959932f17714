"""Which vectors answer searches, and which documents still wait for theirs.

A generation is everything one model made, in one way of dividing chunks; its fingerprint says
which. It is built beside the one that serves, is published when it covers every chunk, and from
then on serves while changed documents await their vectors.

Document states, where a model is in force: `pending` until every chunk has its vectors, then
`ready`, or `degraded` where a chunk could not be embedded in ATTEMPTS attempts. Where no model
is in force a document with text is `ready`.

Promises: `serving` gives a generation only to the model that made it, so that vectors of
different models never meet; an unfinished generation is never given out.
Does not: embed, or hold vectors (`vectors` does). A file of schema 1 has no generations.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from typing import NamedTuple

from helpers.store import database, schema, vectors

ATTEMPTS = 3  # attempts at one chunk before its document counts as degraded
TROUBLE = "semantic_trouble"  # meta key: what stopped the last embedding, {"what", "remedy"}
IN_FORCE = "semantic"  # meta key: fingerprint of the model that the document states refer to
TOKEN_BYTES = 8  # random bytes of a token
SINCE_SCHEMA = 3  # the first version of the file whose vectors can be searched
LISTED = 200  # documents or chunks per query

_COLUMNS = "id, token, fingerprint, model, dimension, chunks, vectors, published_at, tidy"
_FAILED = f"attempts >= {ATTEMPTS}"


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation; `token` is what a scan asks for it by."""

    id: int
    token: str
    fingerprint: str
    model: str
    dimension: int
    chunks: int
    vectors: int
    published_at: str | None
    tidy: bool


class Waiting(NamedTuple):
    """A chunk without vectors."""

    id: int
    ordinal: int
    context: str
    text: str


# --- generations ---------------------------------------------------------------------------


def every(db: sqlite3.Connection) -> list[Generation]:
    """All generations, oldest first."""
    if schema.version(db) < SINCE_SCHEMA:
        return []
    rows = db.execute(f"SELECT {_COLUMNS} FROM generation ORDER BY id")
    return [Generation(*row) for row in rows]


def of_model(db: sqlite3.Connection, fingerprint: str) -> Generation | None:
    """The generation that `fingerprint`'s model made, finished or not."""
    return next((g for g in every(db) if fingerprint and g.fingerprint == fingerprint), None)


def by_token(db: sqlite3.Connection, token: str) -> Generation | None:
    """The published generation behind `token`."""
    return next((g for g in every(db) if g.token == token and g.published_at), None)


def serving(db: sqlite3.Connection, fingerprint: str) -> Generation | None:
    """The generation that answers questions put to `fingerprint`'s model; None: none does."""
    found = of_model(db, fingerprint)
    return found if found is not None and found.published_at else None


def begin(db: sqlite3.Connection, fingerprint: str, model: str, dimension: int) -> Generation:
    """The generation of a model; a new, unpublished one where there is none."""
    found = of_model(db, fingerprint)
    if found is None:
        with database.transaction(db):
            db.execute(
                "INSERT INTO generation(token, fingerprint, model, dimension) VALUES(?, ?, ?, ?)",
                (os.urandom(TOKEN_BYTES).hex(), fingerprint, model, dimension),
            )
        found = of_model(db, fingerprint)
    assert found is not None
    return found


def publish(db: sqlite3.Connection, generation: Generation) -> bool:
    """Let a generation serve, and drop all others; False where it does not cover every chunk."""
    with database.transaction(db):
        if _uncovered(db, generation.id):
            return False
        db.execute(
            "UPDATE generation SET published_at = coalesce(published_at, ?) WHERE id = ?",
            (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), generation.id),
        )
        db.execute("DELETE FROM generation WHERE id <> ?", (generation.id,))
        db.execute("DELETE FROM vector_failure WHERE generation <> ?", (generation.id,))
    return True


def tidied(db: sqlite3.Connection, generation: Generation) -> None:
    """Note that there is nothing to merge, summarise or clear."""
    with database.transaction(db):
        db.execute("UPDATE generation SET tidy = 1 WHERE id = ?", (generation.id,))


def drop_all(db: sqlite3.Connection) -> None:
    """Drop every generation, and let each document await its vectors anew."""
    with database.transaction(db):
        db.execute("DELETE FROM generation")
        db.execute("DELETE FROM vector_failure")
        database.set_meta(db, IN_FORCE, None)


# --- what waits ----------------------------------------------------------------------------


def align(db: sqlite3.Connection, fingerprint: str | None) -> None:
    """Let the document states refer to the model in force; None: there is none.

    One look-up where they do already.
    """
    if database.get_meta(db, IN_FORCE) == fingerprint:
        return
    with database.transaction(db):
        db.execute(
            "UPDATE document SET state = ? WHERE chunks > 0"
            " AND state IN ('ready', 'degraded', 'pending')",
            ("ready" if fingerprint is None else "pending",),
        )
        database.set_meta(db, IN_FORCE, fingerprint)


def settled(db: sqlite3.Connection, fingerprint: str) -> bool:
    """Whether nothing is left to do for this model: three look-ups, each of one row."""
    known = every(db)
    if not known:
        return db.execute("SELECT 1 FROM chunk LIMIT 1").fetchone() is None
    if len(known) > 1 or known[0].fingerprint != fingerprint:
        return False
    return bool(known[0].published_at) and known[0].tidy and not pending(db, 0, 1)


def pending(db: sqlite3.Connection, after: int, limit: int = LISTED) -> list[int]:
    """Ids of documents that await their vectors, in order from the one after `after`."""
    rows = db.execute(
        "SELECT id FROM document WHERE state <> 'ready' AND state = 'pending' AND id > ?"
        " ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [row[0] for row in rows]


def waiting(
    db: sqlite3.Connection, generation: int, document: int, after: int = -1, limit: int = LISTED
) -> list[Waiting]:
    """Chunks of a document without vectors that may be tried, from the ordinal after `after`."""
    rows = db.execute(
        f"SELECT c.id, c.ordinal, c.context, c.text FROM chunk c {_JOINED}"
        " WHERE c.document_id = ? AND c.ordinal > ?"
        f" AND v.chunk_id IS NULL AND (f.chunk_id IS NULL OR NOT f.{_FAILED})"
        " ORDER BY c.ordinal LIMIT ?",
        (generation, generation, document, after, limit),
    )
    return [Waiting._make(row) for row in rows]


def one(db: sqlite3.Connection, chunk: int) -> Waiting | None:
    """A chunk by its id; None where it is gone."""
    row = db.execute(
        "SELECT id, ordinal, context, text FROM chunk WHERE id = ?", (chunk,)
    ).fetchone()
    return None if row is None else Waiting._make(row)


def count_waiting(db: sqlite3.Connection, generation: int) -> int:
    """How many chunks of pending documents have no vectors and may be tried."""
    row = db.execute(
        f"SELECT count(*) FROM document d JOIN chunk c ON c.document_id = d.id {_JOINED}"
        " WHERE d.state <> 'ready' AND d.state = 'pending'"
        f" AND v.chunk_id IS NULL AND (f.chunk_id IS NULL OR NOT f.{_FAILED})",
        (generation, generation),
    ).fetchone()
    return int(row[0])


def settle_documents(db: sqlite3.Connection, generation: int, documents: list[int]) -> None:
    """Give pending documents the state that their chunks bear out. In the caller's transaction.

    One with a chunk that may be tried again stays pending.
    """
    db.executemany(
        "UPDATE document SET state = CASE"
        f" WHEN EXISTS(SELECT 1 FROM chunk c {_JOINED} WHERE c.document_id = document.id"
        f"  AND v.chunk_id IS NULL AND (f.chunk_id IS NULL OR NOT f.{_FAILED})) THEN 'pending'"
        f" WHEN EXISTS(SELECT 1 FROM chunk c {_JOINED} WHERE c.document_id = document.id"
        "  AND v.chunk_id IS NULL) THEN 'degraded' ELSE 'ready' END"
        " WHERE id = ? AND state = 'pending'",
        [(generation,) * 4 + (document,) for document in documents],
    )


def recheck(db: sqlite3.Connection) -> None:
    """Let the next `align` doubt every document's state."""
    with database.transaction(db):
        database.set_meta(db, IN_FORCE, None)


def reconsider(db: sqlite3.Connection, fingerprint: str) -> None:
    """By request: drop vectors that do not agree with the chunks, try failed chunks again."""
    if vectors.problems(db):
        drop_all(db)
        align(db, fingerprint)
    with database.transaction(db):
        db.execute("DELETE FROM vector_failure")
        db.execute(
            "UPDATE document SET state = 'pending' WHERE state <> 'ready' AND state = 'degraded'"
        )


# --- reports -------------------------------------------------------------------------------


def note_trouble(db: sqlite3.Connection, said: dict[str, str] | None) -> None:
    """Remember what stopped the embedding; None: nothing did."""
    if database.get_meta(db, TROUBLE) != said:
        with database.transaction(db):
            database.set_meta(db, TROUBLE, said)


def trouble(db: sqlite3.Connection) -> dict[str, str] | None:
    """{"what", "remedy"} of what stopped the last embedding; None where nothing did."""
    said: dict[str, str] | None = database.get_meta(db, TROUBLE)
    return said


def fraction(generation: Generation | None, chunks: int) -> float:
    """The share of `chunks`, all of the index, that a generation can find; 0 without one."""
    if generation is None or not chunks:
        return 0.0
    return min(1.0, generation.chunks / chunks)


def coverage(db: sqlite3.Connection, fingerprint: str, chunks: int) -> dict[str, int]:
    """{"embedded", "pending", "failed"} of all chunks, for the model in force."""
    found = of_model(db, fingerprint)
    if found is None:
        return {"embedded": 0, "pending": chunks if fingerprint else 0, "failed": 0}
    failed = _failures(db, found.id)
    waits = max(0, chunks - found.chunks - failed)
    return {"embedded": found.chunks, "pending": waits, "failed": failed}


def _failures(db: sqlite3.Connection, generation: int) -> int:
    query = f"SELECT count(*) FROM vector_failure WHERE generation = ? AND {_FAILED}"
    return int(db.execute(query, (generation,)).fetchone()[0])


def _uncovered(db: sqlite3.Connection, generation: int) -> bool:
    """Whether some chunk has neither vectors nor failed for good."""
    chunks, covered = db.execute(
        "SELECT (SELECT count(*) FROM chunk), (SELECT chunks FROM generation WHERE id = ?)",
        (generation,),
    ).fetchone()
    return bool(chunks > covered + _failures(db, generation))


_JOINED = (
    "LEFT JOIN vector_of v ON v.generation = ? AND v.chunk_id = c.id"
    " LEFT JOIN vector_failure f ON f.generation = ? AND f.chunk_id = c.id"
)
