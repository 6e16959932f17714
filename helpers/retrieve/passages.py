"""The rows behind hits: a chunk with its document, read once per search.

Promises: one query per batch, whatever the number of hits.
Does not: rank, or look at the file system.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from helpers.language.normalize import fold
from helpers.retrieve.hit import Filters
from helpers.store.database import Connection
from helpers.store.keys import key_of, public_id

BATCH = 500  # ids per query

_SELECT = (
    "SELECT chunk.id, chunk.key, chunk.document_id, chunk.ordinal, chunk.text, chunk.context,"
    " chunk.location, document.path, document.folder, document.name, document.title,"
    " document.mtime_ns FROM chunk JOIN document ON document.id = chunk.document_id"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is stored, and what an answer says of its document."""

    id: int
    key: bytes
    document: int
    ordinal: int
    text: str
    context: str
    place: str
    path: str
    folder: bytes
    name: bytes
    title: str
    mtime_ns: int

    @property
    def chunk_id(self) -> str:
        """The public id."""
        return public_id(self.key)

    @property
    def raw(self) -> bytes:
        """The file's relative path as the file system has it."""
        return self.folder + b"/" + self.name if self.folder else self.name

    @property
    def location(self) -> dict[str, Any]:
        """Location.as_dict of the chunk."""
        found: dict[str, Any] = json.loads(self.place)
        return found


class Passages:
    """The passages of one search, by chunk row id, with their folded texts."""

    def __init__(self, db: Connection) -> None:
        self.db = db
        self._known: dict[int, Passage] = {}
        self._folded: dict[int, str] = {}

    def load(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages of `ids` that still exist."""
        wanted = list(dict.fromkeys(ids))
        missing = [i for i in wanted if i not in self._known]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            for row in self.db.execute(f"{_SELECT} WHERE chunk.id IN ({marks})", batch):
                self._known[row[0]] = Passage(*row)
        return {i: self._known[i] for i in wanted if i in self._known}

    def folded(self, passage: Passage) -> str:
        """The folded text, white space as single spaces."""
        known = self._folded.get(passage.id)
        if known is None:
            known = " ".join(fold(passage.text).split())
            self._folded[passage.id] = known
        return known


def by_key(db: Connection, chunk_id: str) -> Passage | None:
    """The passage with a public id, None when there is none."""
    key = key_of(chunk_id)
    row = db.execute(f"{_SELECT} WHERE chunk.key = ?", (key,)).fetchone() if key else None
    return Passage(*row) if row else None


def neighbours(db: Connection, passage: Passage, before: int, after: int) -> list[Passage]:
    """The passage with up to `before` and `after` others of its document, in reading order."""
    rows = db.execute(
        f"{_SELECT} WHERE chunk.document_id = ? AND chunk.ordinal BETWEEN ? AND ?"
        " ORDER BY chunk.ordinal",
        (passage.document, passage.ordinal - before, passage.ordinal + after),
    )
    return [Passage(*row) for row in rows]


def every(db: Connection, filters: Filters) -> Iterator[Passage]:
    """Every chunk of the documents that pass `filters`, by path and reading order."""
    where = f" WHERE {filters.sql}" if filters else ""
    order = " ORDER BY document.path, document.id, chunk.ordinal"
    for row in db.execute(_SELECT + where + order, filters.values):
        yield Passage(*row)
