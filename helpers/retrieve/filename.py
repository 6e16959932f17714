"""The filename leg: documents whose path says what the query asks for.

Promises: cost is bounded however many files share a word: a word in more than COMMON_NAMES paths
tells none apart and is not followed; a name mistyped is still found, by its letters.
Does not: look at the file system, or at content: a document's hit is its best known chunk, else
its first.
"""

from __future__ import annotations

from collections.abc import Iterable

from helpers.language.terms import Query, grams, index_terms
from helpers.retrieve.hit import Filters, Hit
from helpers.store.database import Connection

COMMON_NAMES = 200  # documents; a word in more paths is not followed
LEAST_SHARE = 0.5  # of the query's letters that a path must hold
LEAST_GRAMS = 0.6  # of the query's grams that a mistyped path must hold
GRAM_WORDS = 4  # words of the longest query whose letters are compared
GRAM_CHARS = 5  # letters of the shortest query whose letters are compared
DOCUMENTS = 20  # documents given at most


def search(
    query: Query, db: Connection, filters: Filters, known: Iterable[tuple[int, int]] = ()
) -> list[Hit]:
    """Hits, best first. `known` are (document, chunk) of other legs, best first."""
    scores = _by_words(query, db) or _by_grams(query, db)
    best = sorted(scores, key=lambda document: (-scores[document], document))[:DOCUMENTS]
    chunks: dict[int, int] = {}
    for document, row in known:
        chunks.setdefault(document, row)
    allowed = _allowed(db, best, filters)
    hits = []
    for document in best:
        if document in allowed:
            chunk: int | None = chunks.get(document) or _first_chunk(db, document)
            if chunk is not None:
                hits.append(Hit(chunk, scores[document]))
    return hits


def _by_words(query: Query, db: Connection) -> dict[int, float]:
    """Document → how much of the query stands in its path, and of its name in the query."""
    total = sum(len(word.surface) for word in query.strong)
    held: dict[int, float] = {}
    for word in query.strong:
        for document in _documents(db, "terms", word.term):
            held[document] = held.get(document, 0.0) + len(word.surface) / total
    likely = [document for document, share in held.items() if share >= LEAST_SHARE]
    asked = set(query.terms)
    scores = {}
    for document, path in _paths(db, likely):
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        named = index_terms(stem) or [""]
        share = sum(term in asked for term in named) / len(named)
        scores[document] = held[document] * (0.5 + 0.5 * share)
    return scores


def _by_grams(query: Query, db: Connection) -> dict[int, float]:
    """Document → share of the query's grams in its path: for names spelled another way."""
    if len(query.words) > GRAM_WORDS or len(query.text) < GRAM_CHARS:
        return {}
    wanted = list(dict.fromkeys(grams(query.text)))
    held: dict[int, int] = {}
    for gram in wanted:
        for document in _documents(db, "grams", gram):
            held[document] = held.get(document, 0) + 1
    shares = {document: count / len(wanted) for document, count in held.items()}
    return {d: share * 0.5 for d, share in shares.items() if share >= LEAST_GRAMS}


def _documents(db: Connection, column: str, term: str) -> list[int]:
    """The documents with `term` in their path; none when it is too common to tell."""
    rows = db.execute(
        "SELECT rowid FROM file_name WHERE file_name MATCH ? LIMIT ?",
        (f'{column} : "{term}"', COMMON_NAMES + 1),
    ).fetchall()
    return [row[0] for row in rows] if len(rows) <= COMMON_NAMES else []


def _paths(db: Connection, documents: list[int]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for document in documents:
        found += db.execute("SELECT id, path FROM document WHERE id = ?", (document,)).fetchall()
    return found


def _allowed(db: Connection, documents: list[int], filters: Filters) -> set[int]:
    if not filters or not documents:
        return set(documents)
    marks = ",".join("?" * len(documents))
    rows = db.execute(
        f"SELECT id FROM document WHERE id IN ({marks}) AND {filters.sql}",
        (*documents, *filters.values),
    )
    return {row[0] for row in rows}


def _first_chunk(db: Connection, document: int) -> int | None:
    row = db.execute(
        "SELECT id FROM chunk WHERE document_id = ? AND ordinal = 0", (document,)
    ).fetchone()
    return int(row[0]) if row else None
