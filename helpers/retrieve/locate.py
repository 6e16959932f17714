"""The place a result names: of a table's chunk, the very row that was found.

The chunker notes where each row begins (`rows`: "offset:row offset:row …" in the location); the
row that holds most of the highlighted words is the one to cite. The header has no offset: words
found in it alone speak for no row.
Does not: change a location without rows, or the text it points into.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

Span = tuple[int, int]


def located(location: dict[str, Any], text: str, spans: Sequence[Span]) -> dict[str, Any]:
    """`location` without its row offsets, narrowed to the row that `spans` speak for."""
    plain = {name: value for name, value in location.items() if name != "rows"}
    rows = _rows(location.get("rows"))
    row = _best(rows, text, spans) if rows and spans else None
    if row is None:
        return plain
    narrowed = {name: value for name, value in plain.items() if name != "end"}
    if plain.get("kind") == "section":  # its rows count lines, and its heading says more
        return {**narrowed, "line": row}
    key = "row" if plain.get("kind") == "sheet" else str(plain.get("kind"))
    sheet = f"{plain['sheet']} " if plain.get("sheet") else ""
    return {**narrowed, "label": f"{sheet}row {row}", key: row, "span": plain.get("label")}


def _best(rows: list[tuple[int, int]], text: str, spans: Sequence[Span]) -> int | None:
    """The row with the most distinct highlighted words, of equals that with most of their
    letters (a whole part number says more than its first half), then the first.
    """
    starts = [start for start, _ in rows]
    words: dict[int, set[str]] = {}
    for start, end in spans:
        at = bisect.bisect_right(starts, start) - 1
        if at >= 0:
            words.setdefault(at, set()).add(text[start:end].casefold())

    def weight(at: int) -> tuple[int, int, int]:
        return len(words[at]), sum(map(len, words[at])), -at

    best = max(words, key=weight, default=None)
    return None if best is None else rows[best][1]


def _rows(noted: Any) -> list[tuple[int, int]]:
    if not isinstance(noted, str):
        return []
    pairs = (pair.partition(":") for pair in noted.split())
    return [(int(start), int(row)) for start, _, row in pairs if start.isdigit() and row.isdigit()]
