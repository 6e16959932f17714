"""Whether the index is whole: the file, the postings and the vectors against their chunks.

SQLite's own checks pass on an emptied contentless FTS5 table (measured), so the comparison is
ours: the rowids of the postings' size table against the chunks' ids, both ways, and a sample of
chunks analysed again and looked up term by term.
Does not: repair. Each problem names the command that does.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from helpers.store import vectors
from helpers.store.database import REBUILD
from helpers.store.postings import Analyser, made_by

SAMPLE = 20  # chunks analysed again by a health check
FILE_CHECK_S = 1.5  # seconds that the page check of a health report may take
PAGE_CHECK_STEPS = 20_000  # VM steps between two looks at the clock


def problems(
    db: sqlite3.Connection, analyser: Analyser, sample: int | None = SAMPLE
) -> list[dict[str, str]]:
    """[{"code", "what", "remedy"}] of everything found; `sample` None analyses every chunk.

    Raises sqlite3.DatabaseError where the file is too damaged to be asked.
    """
    found: list[dict[str, str]] = []
    if not pages_sound(db, None if sample is None else FILE_CHECK_S):
        found.append(_problem("corrupt_index", "The index file is damaged"))
    found += _row_problems(db, "posting", "SELECT id FROM chunk", "chunks")
    found += _row_problems(db, "fuzzy", "SELECT id FROM chunk WHERE ocr", "OCR chunks")
    found += _row_problems(
        db, "file_name", "SELECT id FROM document WHERE chunks > 0", "document names"
    )
    if not found and made_by(db) == analyser.fingerprint:
        found += _term_problems(db, analyser, sample)
    found += [_problem("vectors_mismatch", what) for what in vectors.problems(db)]
    return found


def counts_match(db: sqlite3.Connection) -> bool:
    """The cheap look of every sync: as many postings as chunks."""
    query = "SELECT (SELECT count(*) FROM chunk) = (SELECT count(*) FROM posting_docsize)"
    return bool(db.execute(query).fetchone()[0])


def pages_sound(db: sqlite3.Connection, seconds: float | None = FILE_CHECK_S) -> bool:
    """SQLite's quick_check; an index too large for `seconds` counts as sound until proven."""
    deadline = None if seconds is None else time.monotonic() + seconds
    if deadline is not None:
        db.set_progress_handler(lambda: time.monotonic() > deadline, PAGE_CHECK_STEPS)
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        return True
    finally:
        db.set_progress_handler(None, 0)


def _row_problems(
    db: sqlite3.Connection, table: str, ids: str, things: str
) -> list[dict[str, str]]:
    missing = f"SELECT count(*) FROM ({ids} EXCEPT SELECT id FROM {table}_docsize)"
    extra = f"SELECT count(*) FROM (SELECT id FROM {table}_docsize EXCEPT {ids})"
    lost, stray = (db.execute(query).fetchone()[0] for query in (missing, extra))
    if not lost and not stray:
        return []
    what = f"{lost:,} {things} have no posting and {stray:,} postings have no text"
    return [_problem("postings_mismatch", what)]


def _term_problems(
    db: sqlite3.Connection, analyser: Analyser, sample: int | None
) -> list[dict[str, str]]:
    query = "SELECT id, text, context, ocr FROM chunk"
    if sample is not None:
        total = db.execute("SELECT max(id) FROM chunk").fetchone()[0] or 0
        step = max(1, total // sample)
        query += f" WHERE id % {step} = {total % step} LIMIT {sample}"
    wrong = 0
    for chunk_id, text, context, ocr in db.execute(query):
        body, context_terms, _ = analyser.chunk(text, context, bool(ocr))
        wrong += not _holds(db, chunk_id, body.split(), context_terms.split())
    if not wrong:
        return []
    return [_problem("postings_mismatch", f"{wrong:,} chunks are posted under other terms")]


def _holds(db: sqlite3.Connection, chunk_id: int, body: list[str], context: list[str]) -> bool:
    sizes = db.execute("SELECT sz FROM posting_docsize WHERE id = ?", (chunk_id,)).fetchone()
    if sizes is None or _varints(sizes[0]) != [len(body), len(context)]:
        return False
    columns = (("body", body), ("context", context))
    every = [f'{column} : "{term}"' for column, terms in columns for term in set(terms)]
    return all(
        db.execute(
            "SELECT 1 FROM posting WHERE posting MATCH ? AND rowid = ?",
            (" AND ".join(every[start : start + 50]), chunk_id),
        ).fetchone()
        for start in range(0, len(every), 50)
    )


def _varints(blob: bytes) -> list[int]:
    """SQLite's variable-length integers (file format, section 1.6), here all below 2**56."""
    numbers, value = [], 0
    for byte in blob:
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers


def _problem(code: str, what: str) -> dict[str, Any]:
    return {"code": code, "what": what, "remedy": REBUILD}
