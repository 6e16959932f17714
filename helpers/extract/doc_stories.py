"""Which positions of a Word document's text belong to which story, header or text box.

Sources: [MS-DOC] 2.3 (document parts) and 2.8.22 (Plcfhdd). Promises: a table that does not fit
its story gives the story in one piece. Does not: read text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from helpers.extract.doc_fib import STORIES, Fib

_SEPARATORS = 6  # stories of note separators before the first header
_KINDS = ("header", "header", "footer", "footer", "header", "footer")  # of a section, in order


def ranges(fib: Fib) -> dict[str, tuple[int, int]]:
    """Name of a story → its first position and the one after its last."""
    found, at = {}, 0
    for name, count in zip(STORIES, fib.counts, strict=True):
        found[name] = (at, at + count)
        at += count
    return found


def header_ranges(table: bytes, old: bool, length: int) -> Iterator[tuple[str, int, int]]:
    """("header" or "footer", first, last) within the story of headers, empty ones left out."""
    count = len(table) // 4
    places = struct.unpack_from(f"<{count}I", table) if count else ()
    inside = [place for place in places if place <= length]
    if old or len(inside) < 3 or inside != sorted(inside):
        if length:
            yield "header", 0, length
        return
    for number in range(_SEPARATORS, len(inside) - 1):
        first, last = inside[number], inside[number + 1]
        if first < last:
            yield _KINDS[(number - _SEPARATORS) % len(_KINDS)], first, last
