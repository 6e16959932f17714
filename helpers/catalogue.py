"""What is indexed, for somebody who looks through it: the list of files, an original, coverage.

Promises: a file is opened by the id of its row alone, below the knowledge folder, never through
a symbolic link; every path shown is as a person reads it; nothing is written.
Does not: search passages, sync, or decide how a file is shown.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from helpers import limits
from helpers.config import Settings
from helpers.errors import RagDocError, UsageError, shown
from helpers.jobs import queue
from helpers.source import names
from helpers.source.root import OpenedSource, Root
from helpers.store import database, listing

SAMPLE_CHUNKS = 2_000  # passages from which the share of each script is estimated
LANGUAGES = {"THAI": "th", "HANGUL": "ko", "LATIN": "latin"}


class NoDocument(UsageError):
    """There is no document of that id, or its file is gone."""

    code = "no_document"


@dataclass(frozen=True, slots=True)
class Original:
    """An opened original. `size` is in bytes; whoever asked closes `opened`."""

    opened: OpenedSource
    path: str
    name: str
    type: str
    size: int
    encoding: str  # of a text; "" where that is not known


def documents(
    settings: Settings,
    text: str = "",
    type_name: str = "",
    sort: str = "path",
    descending: bool = False,
    unread_first: bool = False,
    offset: int = 0,
    limit: int = limits.LISTED_FILES,
) -> dict[str, Any]:
    """{"total", "offset", "documents": [{"id", "path", "absolute_path", "type", "title", "size",
    "modified_ms", "chunks", "state", "code", "reason", "remedy", "encoding", "notices",
    "indexed_at"}]}. Raises UsageError for a sort or a range that is not known.
    """
    if sort not in listing.SORTS:
        raise UsageError(f"sort is {shown(sort)}", f"Give one of {', '.join(listing.SORTS)}.")
    if not (0 <= offset <= 10**9 and 1 <= limit <= limits.LISTED_FILES):
        raise UsageError(
            f"offset is {offset}, limit {limit}",
            f"Give an offset from 0 and a limit from 1 to {limits.LISTED_FILES}.",
        )
    text = unicodedata.normalize("NFC", text[: limits.FILTER_CHARS])
    with _index(settings) as db:
        total, rows = listing.page(
            *(db, text, type_name, sort, descending, unread_first),
            *(offset, limit),
        )
    return {
        "total": total,
        "offset": offset,
        "documents": [_document(settings, row) for row in rows],
    }


def overview(settings: Settings) -> dict[str, Any]:
    """What the index is made of: {"types": [{"type", "files", "documents", "chunks", "bytes"}],
    "languages": [{"language", "share"}], "folders": [path]}.

    The shares add up to 1 and are those of the letters in SAMPLE_CHUNKS passages spread over
    the index; `language` is th, ko, latin or other.
    """
    with _index(settings) as db:
        found = {
            "types": listing.types(db),
            "folders": [
                names.display(raw) for raw in listing.folders(db, limits.LISTED_FOLDERS) if raw
            ],
        }
        letters = _letters(listing.sample(db, SAMPLE_CHUNKS))
    total = sum(letters.values())
    shares = [
        {"language": language, "share": round(count / total, 4)}
        for language, count in letters.most_common()
    ]
    return found | {"languages": shares}


def history(settings: Settings, limit: int = limits.LISTED_JOBS) -> list[dict[str, Any]]:
    """The latest jobs, the newest first, as Job without its list of failures."""
    found = []
    for job_id in queue.known(settings)[:limit]:
        try:
            job = queue.status(settings, job_id).public()
        except RagDocError:
            continue  # forgotten meanwhile, or its file is damaged
        job.pop("failures")
        found.append(job)
    return found


def original(
    settings: Settings, document_id: int | None = None, chunk_id: str | None = None
) -> Original:
    """The original of a document or of a chunk's document, opened.

    Raises NoDocument where neither is known or the file is no longer there as a regular file.
    """
    with _index(settings) as db:
        if chunk_id is not None:
            document_id = listing.document_of(db, chunk_id)
        row = None if document_id is None else listing.by_id(db, document_id)
    if row is None:
        raise NoDocument("There is no such document", "Search again: a sync may have replaced it.")
    raw = row["folder"] + b"/" + row["name"] if row["folder"] else row["name"]
    try:
        with Root(settings.knowledge_dir) as root:
            opened = root.open(raw)
    except RagDocError as error:
        raise NoDocument(
            f"{row['path']} cannot be opened: {error.what}", error.remedy or "Sync again."
        ) from error
    name = names.display(row["name"])
    size, encoding = opened.stat.st_size, row["encoding"] or ""
    return Original(opened, row["path"], name, row["type"], size, encoding)


def recognised(settings: Settings, chunk_ids: Sequence[str]) -> set[str]:
    """Those of the chunks whose text was recognised in an image."""
    with _index(settings) as db:
        return listing.recognised(db, chunk_ids)


def _document(settings: Settings, row: dict[str, Any]) -> dict[str, Any]:
    folder, name = row.pop("folder"), row.pop("name")
    raw = folder + b"/" + name if folder else name
    row["modified_ms"] = row.pop("mtime_ns") // 1_000_000
    return row | {"absolute_path": names.absolute(settings.knowledge_dir, raw)}


def _letters(texts: list[str]) -> Counter[str]:
    """Letters per language: every fourth one, told by its script."""
    found: Counter[str] = Counter()
    known: dict[str, str] = {}
    for text in texts:
        for letter in text[::4]:
            language = known.get(letter)
            if language is None:
                language = known[letter] = _language(letter)
            if language:
                found[language] += 1
    return found


def _language(letter: str) -> str:
    """th, ko, latin or other; "" for what is no letter."""
    if not letter.isalpha() and not unicodedata.category(letter).startswith("M"):
        return ""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return LANGUAGES.get(script, "other")


@contextmanager
def _index(settings: Settings) -> Iterator[database.Connection]:
    with closing(database.open_read(settings.db)) as db, database.translated(settings.db):
        yield db
