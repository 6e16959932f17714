"""The place a result names: of a table's chunk, the very row that was found.

The chunker notes where each row begins (`rows`: "offset:row offset:row …" in the location); the
row whose highlighted words hold most of the query is the one to cite. The header has no
offset: words found in it alone speak for no row.
Does not: change a location without rows, or the text it points into.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from helpers.language.terms import index_terms

Span = tuple[int, int]


def located(
    location: dict[str, Any],
    text: str,
    spans: Sequence[Span],
    main: frozenset[str] = frozenset(),
    wanted: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """`location` without its row offsets, narrowed to the row that `spans` speak for. `main`
    are the terms of the query's words, `wanted` these and their parts.
    """
    plain = {name: value for name, value in location.items() if name != "rows"}
    rows = _rows(location.get("rows"))
    row = _best(rows, text, spans, (main, wanted)) if rows and spans else None
    if row is None:
        return plain
    narrowed = {name: value for name, value in plain.items() if name != "end"}
    if plain.get("kind") == "section":  # its rows count lines, and its heading says more
        return {**narrowed, "line": row}
    key = "row" if plain.get("kind") == "sheet" else str(plain.get("kind"))
    sheet = f"{plain['sheet']} " if plain.get("sheet") else ""
    return {**narrowed, "label": f"{sheet}row {row}", key: row, "span": plain.get("label")}


def _best(
    rows: list[tuple[int, int]], text: str, spans: Sequence[Span], asked: tuple[frozenset[str], ...]
) -> int | None:
    """The row with the most whole words of the query, then with the most of their parts, then
    the first.
    """
    starts = [start for start, _ in rows]
    found: dict[int, set[str]] = {}
    for start, end in spans:
        at = bisect.bisect_right(starts, start) - 1
        if at >= 0:
            found.setdefault(at, set()).update(index_terms(text[start:end]))

    def weight(at: int) -> tuple[int, ...]:
        return (*(len(found[at] & terms) for terms in asked), -at)

    best = max(found, key=weight, default=None)
    return None if best is None else rows[best][1]


def _rows(noted: Any) -> list[tuple[int, int]]:
    if not isinstance(noted, str):
        return []
    pairs = (pair.partition(":") for pair in noted.split())
    return [(int(start), int(row)) for start, _, row in pairs if start.isdigit() and row.isdigit()]
