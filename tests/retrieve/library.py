"""A small library for the search tests: real files, and the index that a sync of them makes.

Built in this process from whole texts, a chunk per paragraph, so that a test sees what the search
does and not what extraction does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.config import Settings
from helpers.language.terms import Analyser
from helpers.store import database, postings
from helpers.store.documents import Description, File, Stat, Writer
from rag_search import Searcher, SearchRequest


@dataclass(frozen=True)
class Piece:
    """One analysed chunk."""

    text: str
    context: str
    location: dict[str, Any]
    ocr: bool
    terms: str
    context_terms: str
    grams: str


@dataclass(frozen=True)
class Library:
    """Documents on disk and their index."""

    settings: Settings

    @property
    def folder(self) -> Path:
        return self.settings.knowledge_dir

    def search(self, query: str, **asked: Any) -> dict[str, Any]:
        """The Answer to `query`."""
        with Searcher(self.settings) as searcher:
            return searcher.search(SearchRequest(query, **asked))

    def paths(self, query: str, **asked: Any) -> list[str]:
        """The paths found, best first."""
        return [result["path"] for result in self.search(query, **asked)["results"]]


def library(folder: Path, documents: Mapping[str, str | bytes], ocr: Iterable[str] = ()) -> Library:
    """Write `documents` (path → text, a chunk per paragraph) and index them."""
    root, state = folder / "docs", folder / "state"
    root.mkdir(parents=True)
    settings = Settings(root, state, state / "ragdoc.sqlite3")
    db = database.open_write(settings.db)
    writer = Writer(db, Analyser(), settings.kb_id)
    for path, content in documents.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        file.write_bytes(data)
        _index(writer, path, file, data.decode(errors="replace"), path in set(ocr))
    writer.commit()
    postings.settle(db, writer.changed_chunks)
    database.set_meta(db, "synced_at", "2026-01-02T03:04:05Z")
    db.close()
    return Library(settings)


def _index(writer: Writer, path: str, file: Path, text: str, ocr: bool) -> None:
    status = file.stat()
    stat = Stat(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    found = Description(stat, "test", type=file.suffix[1:], title=file.stem)
    folder, _, name = path.rpartition("/")
    pieces = [
        _piece(paragraph, file.stem, number, ocr)
        for number, paragraph in enumerate(text.split("\n\n"), 1)
        if paragraph.strip()
    ]
    writer.replace(File(folder.encode(), name.encode(), path), pieces, lambda: found)


def _piece(text: str, title: str, number: int, ocr: bool) -> Piece:
    terms, context_terms, grams = Analyser().chunk(text, title, ocr)
    location = {"kind": "line", "label": f"line {number}", "line": number}
    return Piece(text, title, location, ocr, terms, context_terms, grams)
