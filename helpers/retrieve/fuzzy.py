"""The fuzzy leg: text that was read by OCR, found although letters in it are wrong.

Promises: compares letter groups without marks, so a lost tone mark or a wrong letter costs a part
of the match, not all of it; looks at OCR chunks alone.
Does not: run where no document was read by OCR, or correct anything.
"""

from __future__ import annotations

import math

from helpers.language.terms import Query, grams
from helpers.retrieve.hit import Filters, Hit
from helpers.retrieve.passages import Passages

POOL = 50  # candidates that are looked at closely
GRAMS = 32  # letter groups of a query that are searched for
LEAST_SHARE = 0.45  # of the query's letter groups, weighted, that a hit holds
NO_OCR = "no text was read by OCR"


def available(passages: Passages) -> bool:
    """Whether any chunk has been read by OCR."""
    return passages.db.execute("SELECT 1 FROM fuzzy_docsize LIMIT 1").fetchone() is not None


def search(query: Query, passages: Passages, filters: Filters) -> list[Hit]:
    """Hits, best first; the score is the weighted share of the query's groups they hold."""
    text = " ".join(word.surface for word in query.strong)
    wanted = list(dict.fromkeys(grams(text)))[:GRAMS]
    if not wanted:
        return []
    rows = passages.load(_candidates(passages, wanted, filters))
    held = {i: set(grams(row.text)) for i, row in rows.items()}
    weights = _weights(wanted, list(held.values()))
    total = sum(weights.values())
    hits = []
    for i, found in held.items():
        share = sum(weight for gram, weight in weights.items() if gram in found) / total
        if share >= LEAST_SHARE:
            hits.append(Hit(i, share))
    return sorted(hits, key=lambda h: (-h.score, rows[h.chunk].path, rows[h.chunk].ordinal))


def _weights(wanted: list[str], texts: list[set[str]]) -> dict[str, float]:
    """Rare groups count more; one that no candidate holds is a misread letter, and counts like
    the average."""
    weights: dict[str, float] = {}
    for gram in wanted:
        holders = sum(gram in text for text in texts)
        if holders:
            weights[gram] = math.log((len(texts) + 1) / (holders + 0.5)) + 0.1
    average = sum(weights.values()) / max(1, len(weights)) or 1.0
    return {gram: weights.get(gram, average) for gram in wanted}


def _candidates(passages: Passages, wanted: list[str], filters: Filters) -> list[int]:
    expression = " OR ".join(f'"{gram}"' for gram in wanted)
    if not filters:
        rows = passages.db.execute(
            "SELECT rowid FROM fuzzy WHERE fuzzy MATCH ? ORDER BY rank LIMIT ?", (expression, POOL)
        )
    else:
        rows = passages.db.execute(
            "SELECT fuzzy.rowid FROM fuzzy JOIN chunk ON chunk.id = fuzzy.rowid"
            " JOIN document ON document.id = chunk.document_id"
            f" WHERE fuzzy MATCH ? AND {filters.sql} ORDER BY fuzzy.rank LIMIT ?",
            (expression, *filters.values, POOL),
        )
    return [row[0] for row in rows]
