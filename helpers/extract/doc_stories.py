"""Which positions of a Word document's text belong to which story, header or text box.

Sources: [MS-DOC] 2.3 (document parts), 2.8.22 (Plcfhdd), 2.8.32 (PlcftxbxTxt), 2.8.37 (PlcfSpa),
2.9.172 (OfficeArtContent). Promises: a table that does not fit its story gives the story in one
piece. Does not: read text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from helpers.extract.art_records import Record, records
from helpers.extract.doc_fib import STORIES, Fib

_SEPARATORS = 6  # stories of note separators before the first header
_ANCHOR_BYTES, _BOX_BYTES = 26, 22  # of one anchored shape, of one text box
_DRAWING, _GROUP, _SHAPE, _FACTS = 0xF002, 0xF003, 0xF004, 0xF00A
_SHAPES = 100_000  # shapes of one document that are looked at
_KINDS = ("header", "header", "footer", "footer", "header", "footer")  # of a section, in order


def ranges(fib: Fib) -> dict[str, tuple[int, int]]:
    """Name of a story → its first position and the one after its last."""
    found, at = {}, 0
    for name, count in zip(STORIES, fib.counts, strict=True):
        found[name] = (at, at + count)
        at += count
    return found


def whole(end: int) -> dict[str, tuple[int, int]]:
    """The ranges of a document that counts no characters: all is body."""
    return {name: (0, end) if name == "body" else (end, end) for name in STORIES}


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


class Box(NamedTuple):
    """A text box: the position of its anchor in the body, its text in the story of boxes."""

    anchor: int
    first: int
    last: int


def anchored_boxes(shapes: bytes, boxes: bytes, drawings: bytes) -> list[Box]:
    """The boxes whose anchors are known, in the order of their anchors."""
    anchors = {shape: place for place, shape in _table(shapes, _ANCHOR_BYTES, 0)}
    rows = _table(boxes, _BOX_BYTES, 14)
    grouped = any(shape not in anchors for _, shape in rows[:-1])
    groups = _groups(drawings) if grouped and drawings else {}
    found = []
    for (first, shape), (last, _) in pairwise(rows):
        anchor = anchors.get(shape, anchors.get(groups.get(shape, shape), -1))
        if anchor >= 0 and first < last:
            found.append(Box(anchor, first, last))
    return sorted(found)


def _table(raw: bytes, width: int, at: int) -> list[tuple[int, int]]:
    """(position, number that stands `at` bytes into the row) of a table of positions."""
    count = min(max(0, (len(raw) - 4) // (4 + width)), _SHAPES)
    if not count:
        return []
    places = struct.unpack_from(f"<{count}I", raw)
    if list(places) != sorted(places):
        return []
    start = 4 * (count + 1) + at
    return [
        (place, struct.unpack_from("<I", raw, start + width * number)[0])
        for number, place in enumerate(places)
    ]


def _groups(raw: bytes) -> dict[int, int]:
    """Number of a shape in a group → number of the outermost group."""
    found: dict[int, int] = {}
    at = next((end for _, _, _, end in records(raw)), len(raw))  # what all drawings share
    while at + 9 <= len(raw) and len(found) < _SHAPES:
        kind, _, start, end = next(records(raw, at + 1))  # a byte says which story it is of
        if kind != _DRAWING:
            break
        for outer in records(raw, start, end):
            if outer[0] == _GROUP:
                for inner in records(raw, *outer[2:]):
                    if inner[0] == _GROUP:
                        _members(raw, inner, found)
        at = end
    return found


def _members(raw: bytes, group: Record, found: dict[int, int]) -> None:
    """All shapes below a group; the first is the group itself."""
    outermost = None
    waiting = [group]
    while waiting and len(found) < _SHAPES:
        for part in records(raw, *waiting.pop()[2:]):
            if part[0] == _GROUP:
                waiting.append(part)
            elif part[0] == _SHAPE:
                for kind, _, start, end in records(raw, *part[2:]):
                    if kind == _FACTS and end - start >= 8:
                        number = struct.unpack_from("<I", raw, start)[0]
                        outermost = number if outermost is None else outermost
                        found[number] = outermost
