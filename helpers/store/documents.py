"""Documents and their chunks: written whole or not at all, read back as rows.

Promises: a document's rows and postings change in one transaction, so that no reader ever sees
half of one, and a chunk's vectors go with it; a chunk whose text, context and place in the
document's wording did not change keeps its id, its vectors and its public `chunk_id`; memory
does not grow with the document.
Does not: open files, decide what needs reading, or analyse text (it is handed an Analyser).

Small documents share a transaction (`Writer` commits every second or 4,000 chunks: one commit
per document costs 2.4 times as much); a document that is still being read when its first chunks
arrive has one of its own.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from helpers.errors import NEEDS_ACTION_CODES, CorruptIndex, Unread
from helpers.store import postings, vectors
from helpers.store.database import REBUILD, roll_back, set_meta
from helpers.store.keys import chunk_key
from helpers.store.postings import Analyser, ChunkTerms

BATCH = 256  # chunks per executemany
RETRIED_CODES = ("unreadable", "changed_while_reading")  # tried again by every sync
COMMIT_S = 1.0  # seconds between commits of small documents
COMMIT_CHUNKS = 4_000  # chunks between commits of small documents
INTEGER_MASK = 2**63 - 1  # SQLite's integers are signed; inodes are not


class ChunkLike(Protocol):
    """One analysed chunk as the reader's process sends it."""

    @property
    def text(self) -> str: ...

    @property
    def context(self) -> str: ...

    @property
    def location(self) -> dict[str, Any]: ...

    @property
    def ocr(self) -> bool: ...

    @property
    def terms(self) -> str: ...

    @property
    def context_terms(self) -> str: ...

    @property
    def grams(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Stat:
    """The change key of a file: equal keys mean the bytes need not be read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def columns(self) -> tuple[int, int, int, int]:
        return (
            self.size,
            max(-INTEGER_MASK, min(self.mtime_ns, INTEGER_MASK)),  # before 1970 it is negative
            max(-INTEGER_MASK, min(self.ctime_ns, INTEGER_MASK)),
            self.inode & INTEGER_MASK,
        )


@dataclass(frozen=True, slots=True)
class File:
    """Which file: raw bytes as the operating system names it, and `path` as people see it."""

    folder: bytes
    name: bytes
    path: str


@dataclass(frozen=True, slots=True)
class Description:
    """What one reading found out about a file; `unread` says why it has no chunks."""

    stat: Stat
    fingerprint: str
    sha256: bytes | None = None
    type: str = ""
    title: str = ""
    encoding: str | None = None
    notices: tuple[dict[str, Any], ...] = ()
    unread: Unread | None = None


class Known(NamedTuple):
    """What the index remembers of a file: enough to tell whether it must be read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    fingerprint: str
    id: int
    code: str | None
    sha256: bytes | None


class Writer:
    """The sync's hand on the index: replace, touch, remove, commit. One per index at a time."""

    def __init__(
        self,
        db: sqlite3.Connection,
        analyser: Analyser,
        kb_id: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        await_vectors: bool = False,
    ) -> None:
        """`await_vectors`: a document with text is `pending`, not `ready`, until it has them."""
        self.changed_chunks = 0
        self._readable = "pending" if await_vectors else "ready"
        self._db = db
        self._analyser = analyser
        self._salt = kb_id.encode()
        self._clock = clock
        self._begun: float | None = None
        self._pending_chunks = 0

    def replace(
        self,
        file: File,
        chunks: Iterable[ChunkLike],
        describe: Callable[[], Description],
        streaming: bool = False,
    ) -> int:
        """Write a document with all its chunks; returns their number.

        `describe` is asked once the chunks are through. A `streaming` document is committed
        alone; when its chunks or `describe` raise, it is rolled back and what was there before
        stays. Raises what they raise, and sqlite3.Error.
        """
        if streaming:
            self.commit()
        self._begin()
        try:
            count = self._replace(file, chunks, describe)
        except BaseException:
            if streaming:
                self._roll_back()
            raise
        if streaming or self._due():
            self.commit()
        return count

    def touch(self, document_id: int, stat: Stat) -> None:
        """The file's key changed, its bytes did not."""
        self._begin()
        self._db.execute(
            "UPDATE document SET size=?, mtime_ns=?, ctime_ns=?, inode=? WHERE id=?",
            (*stat.columns(), document_id),
        )
        if self._due():
            self.commit()

    def remove(self, document_id: int) -> None:
        """Delete a document, its chunks and its postings."""
        self._begin()
        self._drop_chunks("document_id = ?", (document_id,))
        self._drop_name(document_id)
        self._db.execute("DELETE FROM document WHERE id = ?", (document_id,))
        if self._due():
            self.commit()

    def commit(self) -> None:
        """Make everything written so far durable against a kill, and visible to readers."""
        if self._begun is not None:
            self._db.execute("COMMIT")
            self._begun = None
            self._pending_chunks = 0

    def abandon(self) -> None:
        """Roll back whatever is not committed."""
        self._roll_back()

    def _begin(self) -> None:
        if self._begun is None:
            self._db.execute("BEGIN IMMEDIATE")
            self._begun = self._clock()

    def _due(self) -> bool:
        return self._begun is not None and (
            self._pending_chunks >= COMMIT_CHUNKS or self._clock() - self._begun >= COMMIT_S
        )

    def _roll_back(self) -> None:
        roll_back(self._db)
        self._begun = None
        self._pending_chunks = 0

    def _replace(
        self, file: File, chunks: Iterable[ChunkLike], describe: Callable[[], Description]
    ) -> int:
        document_id, had_chunks = self._row_of(file)
        if had_chunks:
            self._db.execute(
                "UPDATE chunk SET ordinal = -1 - ordinal WHERE document_id = ?", (document_id,)
            )
        count = 0
        for batch in _batches(chunks, BATCH):
            self._write_batch(document_id, file.path, count, batch)
            count += len(batch)
        if had_chunks:
            self._drop_chunks("document_id = ? AND ordinal < 0", (document_id,))
        if bool(count) != bool(had_chunks):
            name = postings.add_name if count else postings.drop_name
            name(self._db, document_id, file.path, self._analyser)
        self._describe(document_id, count, describe())
        return count

    def _row_of(self, file: File) -> tuple[int, int]:
        """The document's id and how many chunks it has by now; a new row where there is none."""
        row = self._db.execute(
            "SELECT id, chunks FROM document WHERE folder = ? AND name = ?",
            (file.folder, file.name),
        ).fetchone()
        if row:
            return row[0], row[1]
        cursor = self._db.execute(
            "INSERT INTO document(folder, name, path) VALUES(?, ?, ?)",
            (file.folder, file.name, file.path),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid, 0

    def _describe(self, document_id: int, chunks: int, found: Description) -> None:
        unread = found.unread
        state = self._readable if unread is None and chunks else _state(unread)
        values = (
            *(found.type, found.title, *found.stat.columns(), found.sha256, found.fingerprint),
            *(state, unread and unread.code, unread and unread.reason),
            *(unread and unread.remedy, found.encoding, _json(found.notices), chunks, _now()),
        )
        self._db.execute(_DESCRIBE, (*values, document_id))

    def _write_batch(self, document_id: int, path: str, start: int, batch: list[ChunkLike]) -> None:
        next_id = self._next_chunk_id()
        rows, terms, kept = [], [], []
        taken: set[bytes] = set()
        for ordinal, chunk in enumerate(batch, start):
            key, old_id = self._place(document_id, path, ordinal, chunk, taken)
            taken.add(key)
            location = _json(chunk.location)
            if old_id is not None:
                kept.append((ordinal, location, old_id))
                continue
            row = (next_id, document_id, ordinal, key, chunk.text, chunk.context, location)
            rows.append((*row, int(chunk.ocr)))
            terms.append((next_id, chunk.terms, chunk.context_terms, chunk.grams))
            next_id += 1
        self._db.executemany("UPDATE chunk SET ordinal=?, location=? WHERE id=?", kept)
        self._db.executemany("INSERT INTO chunk VALUES(?,?,?,?,?,?,?,?)", rows)
        postings.add(self._db, terms)
        self._pending_chunks += len(batch)
        self.changed_chunks += len(rows)

    def _place(
        self, document_id: int, path: str, ordinal: int, chunk: ChunkLike, taken: set[bytes]
    ) -> tuple[bytes, int | None]:
        """The chunk's key, and the id of the row that already holds it, if one does.

        The same wording twice in one document: the later one's key takes its ordinal in.
        `+document_id` keeps SQLite from walking all of the document's chunks for each one.
        """
        key = self._key(path, chunk)
        row = self._db.execute(
            "SELECT id, ordinal FROM chunk WHERE key = ? AND +document_id = ?", (key, document_id)
        ).fetchone()
        if key not in taken and row is None:
            return key, None
        if key not in taken and row[1] < 0:
            return key, row[0]
        key = self._key(f"{path}\0{ordinal}", chunk)
        row = self._db.execute(
            "SELECT id FROM chunk WHERE key = ? AND +document_id = ? AND ordinal < 0",
            (key, document_id),
        ).fetchone()
        return key, row[0] if row else None

    def _key(self, path: str, chunk: ChunkLike) -> bytes:
        return chunk_key(self._salt, path, chunk.context, chunk.ocr, chunk.text)

    def _next_chunk_id(self) -> int:
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name='chunk'").fetchone()
        return (row[0] if row else 0) + 1

    def _drop_chunks(self, where: str, parameters: tuple[int, ...]) -> None:
        select = f"SELECT id, text, context, ocr FROM chunk WHERE {where} ORDER BY id LIMIT {BATCH}"
        while rows := self._db.execute(select, parameters).fetchall():
            postings.drop(self._db, self._terms(rows))
            vectors.drop(self._db, [row[0] for row in rows])
            self._db.executemany("DELETE FROM chunk WHERE id = ?", [(row[0],) for row in rows])
            self.changed_chunks += len(rows)
            self._pending_chunks += len(rows)

    def _terms(self, rows: list[tuple[int, str, str, int]]) -> Iterator[ChunkTerms]:
        for chunk_id, text, context, ocr in rows:
            yield (chunk_id, *self._analyser.chunk(text, context, bool(ocr)))

    def _drop_name(self, document_id: int) -> None:
        row = self._db.execute(
            "SELECT path FROM document WHERE id = ? AND chunks > 0", (document_id,)
        ).fetchone()
        if row:
            postings.drop_name(self._db, document_id, row[0], self._analyser)


def folder_rows(db: sqlite3.Connection, folder: bytes) -> dict[bytes, Known]:
    """Name → what is known, for the files directly in `folder`.

    A failure that may pass by itself has no fingerprint, so that the next sync tries again.
    """
    rows = db.execute(
        "SELECT name, size, mtime_ns, ctime_ns, inode,"
        f" CASE WHEN code IN {RETRIED_CODES} THEN '' ELSE fingerprint END, id, code, sha256"
        " FROM document WHERE folder = ?",
        (folder,),
    )
    return {row[0]: Known._make(row[1:]) for row in rows}


def doubt(db: sqlite3.Connection) -> None:
    """Let every file be read again, by this sync or, where that ends early, by the next.

    What was read meanwhile counts again. Runs inside the caller's transaction.
    """
    db.execute("UPDATE document SET fingerprint = ''")
    db.execute("DELETE FROM folder")
    set_meta(db, "analyser", None)  # who made the postings: nobody known


def folders(db: sqlite3.Connection) -> list[bytes]:
    """Every folder that holds a known file, in order."""
    return [row[0] for row in db.execute("SELECT DISTINCT folder FROM document ORDER BY folder")]


def in_folder(db: sqlite3.Connection, folder: bytes) -> list[tuple[int, str]]:
    """(id, path) of each known file directly in `folder`."""
    return db.execute("SELECT id, path FROM document WHERE folder = ?", (folder,)).fetchall()


def ids_in_folder(db: sqlite3.Connection, folder: bytes) -> list[int]:
    """The id of each known file directly in `folder`."""
    return [row[0] for row in in_folder(db, folder)]


def count_of_code(db: sqlite3.Connection, code: str) -> int:
    """How many files are unread for this reason."""
    query = "SELECT count(*) FROM document WHERE state <> 'ready' AND code = ?"
    return int(db.execute(query, (code,)).fetchone()[0])


def unread(db: sqlite3.Connection, limit: int) -> list[dict[str, Any]]:
    """Up to `limit` files without usable text: {"path", "state", "code", "reason", "remedy"}."""
    rows = db.execute(
        "SELECT path, state, code, reason, remedy FROM document"
        " WHERE state <> 'ready' AND code IS NOT NULL ORDER BY path LIMIT ?",
        (limit,),
    )
    names = ("path", "state", "code", "reason", "remedy")
    return [dict(zip(names, row, strict=True)) for row in rows]


def counts(db: sqlite3.Connection) -> dict[str, Any]:
    """{"documents", "chunks", "states": {state: n}}; a document is a file that has chunks."""
    states = dict(db.execute("SELECT state, count(*) FROM document GROUP BY state").fetchall())
    documents = db.execute("SELECT count(*) FROM document WHERE chunks > 0").fetchone()[0]
    chunks = db.execute("SELECT count(*) FROM chunk").fetchone()[0]
    return {"documents": documents, "chunks": chunks, "states": states}


def analyser_must_match(db: sqlite3.Connection, analyser: Analyser) -> None:
    """Raise CorruptIndex when the postings were made by another analyser than `analyser`."""
    found = postings.made_by(db)
    if found not in (None, analyser.fingerprint):
        raise CorruptIndex("The index was made by another analyser", REBUILD)


_DESCRIBE = (
    "UPDATE document SET type=?, title=?, size=?, mtime_ns=?, ctime_ns=?, inode=?, sha256=?,"
    " fingerprint=?, state=?, code=?, reason=?, remedy=?, encoding=?, notices=?, chunks=?,"
    " indexed_at=? WHERE id=?"
)


def _state(unread: Unread | None) -> str:
    if unread is None:
        return "ready"
    return "needs_action" if unread.code in NEEDS_ACTION_CODES else "failed"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _batches(chunks: Iterable[ChunkLike], size: int) -> Iterator[list[ChunkLike]]:
    iterator = iter(chunks)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
