"""The index seen as a list of files: searched, sorted, one page at a time; and its make-up.

Promises: one statement per page, whatever the number of files; what a person types is matched
as plain text, never as a pattern.
Does not: write, look at the file system, or rank.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from helpers.store.keys import key_of

SORTS = {
    "path": "folder, name",  # the index's own order: the first page of 100,000 files needs no sort
    "type": "type, path COLLATE NOCASE, id",
    "size": "size, id",
    "chunks": "chunks, id",
    "modified": "mtime_ns, id",
    "state": "state, path COLLATE NOCASE, id",
}
# Files that need a person first, then those that failed, then what is on its way.
UNREAD_FIRST = (
    "CASE WHEN code IS NOT NULL AND state = 'needs_action' THEN 0 WHEN code IS NOT NULL THEN 1"
    " WHEN state = 'degraded' THEN 2 WHEN state = 'pending' THEN 3 ELSE 4 END, "
)
_COLUMNS = (
    "id, path, folder, name, type, title, size, mtime_ns, chunks, state, code, reason, remedy,"
    " encoding, notices, indexed_at"
)
_NAMES = tuple(name.strip() for name in _COLUMNS.split(","))


def page(
    db: sqlite3.Connection,
    text: str,
    type_name: str,
    sort: str,
    descending: bool,
    unread_first: bool,
    offset: int,
    limit: int,
) -> tuple[int, list[dict[str, Any]]]:
    """(files that match, rows `offset` to `offset + limit`); a row has the names of _COLUMNS,
    `notices` as a list. `text` must stand in the path or title, whatever its case; `sort` is
    one of SORTS.
    """
    wanted, values = _where(text, type_name)
    total = db.execute(f"SELECT count(*) FROM document{wanted}", values).fetchone()[0]
    order = SORTS[sort]
    if descending:
        order = order.replace(",", " DESC,") + " DESC"
    if unread_first:
        order = UNREAD_FIRST + order
    query = f"SELECT {_COLUMNS} FROM document{wanted} ORDER BY {order} LIMIT ? OFFSET ?"
    rows = db.execute(query, (*values, limit, offset))
    return total, [_row(row) for row in rows]


def by_id(db: sqlite3.Connection, document_id: int) -> dict[str, Any] | None:
    """The row of one document."""
    query = f"SELECT {_COLUMNS} FROM document WHERE id = ?"
    row = db.execute(query, (document_id,)).fetchone()
    return _row(row) if row else None


def document_of(db: sqlite3.Connection, chunk_id: str) -> int | None:
    """The id of the document that holds a chunk, by the chunk's public id."""
    key = key_of(chunk_id)
    row = db.execute("SELECT document_id FROM chunk WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def recognised(db: sqlite3.Connection, chunk_ids: Sequence[str]) -> set[str]:
    """Those of the chunks, by public id, whose text was recognised in an image."""
    query = "SELECT 1 FROM chunk WHERE key = ? AND ocr"
    return {one for one in chunk_ids if db.execute(query, (key_of(one),)).fetchone()}


def types(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Per type, the commonest first: {"type", "files", "documents", "chunks", "bytes"}; a
    document is a file that has chunks."""
    rows = db.execute(
        "SELECT type, count(*), sum(chunks > 0), sum(chunks), sum(size) FROM document"
        " GROUP BY type ORDER BY 2 DESC, type"
    )
    names = ("type", "files", "documents", "chunks", "bytes")
    return [dict(zip(names, row, strict=True)) for row in rows]


def folders(db: sqlite3.Connection, limit: int) -> list[bytes]:
    """Up to `limit` folders that hold a known file, in order."""
    query = "SELECT DISTINCT folder FROM document ORDER BY folder LIMIT ?"
    return [row[0] for row in db.execute(query, (limit,))]


def sample(db: sqlite3.Connection, count: int) -> list[str]:
    """The texts of about `count` chunks, evenly spread over the index."""
    first, last = db.execute("SELECT min(id), max(id) FROM chunk").fetchone()
    if first is None:
        return []
    step = max(1, (last - first) // count)
    texts = []
    for place in range(first, last + 1, step):
        row = db.execute("SELECT text FROM chunk WHERE id >= ? LIMIT 1", (place,)).fetchone()
        texts.append(row[0])
    return texts


def _where(text: str, type_name: str) -> tuple[str, tuple[Any, ...]]:
    parts: list[str] = []
    values: list[Any] = []
    for word in text.split():
        parts.append("(path LIKE ? ESCAPE '\\' OR title LIKE ? ESCAPE '\\')")
        values += [f"%{_literal(word)}%"] * 2
    if type_name:
        parts.append("type = ?")
        values.append(type_name)
    return (" WHERE " + " AND ".join(parts) if parts else ""), tuple(values)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _row(row: tuple[Any, ...]) -> dict[str, Any]:
    found = dict(zip(_NAMES, row, strict=True))
    found["notices"] = json.loads(found["notices"] or "[]")
    return found
