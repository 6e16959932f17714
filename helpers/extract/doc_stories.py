"""Which positions of a Word document's text belong to which story, header or text box.

Sources: [MS-DOC] 2.3 (document parts), 2.8.22 (Plcfhdd), 2.8.32 (PlcftxbxTxt), 2.8.37 (PlcfSpa),
2.9.172 (OfficeArtContent), 2.9.192 (PICF). Promises: a table that does not fit its story gives
the story in one piece. Does not: read text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from helpers.extract.art_records import (
    DESCRIPTION,
    OPTIONS,
    WORD_ART,
    Record,
    options,
    records,
    said,
)
from helpers.extract.doc_fib import STORIES, Fib

_SEPARATORS = 6  # stories of note separators before the first header
_ANCHOR_BYTES, _BOX_BYTES = 26, 22  # of one anchored shape, of one text box
_DRAWING, _GROUP, _SHAPE, _FACTS = 0xF002, 0xF003, 0xF004, 0xF00A
_NAMED_FILE = 0x66  # the kind of a picture whose file's name stands in front of it
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
    """What a shape says: the position of its anchor in the body (-1: unknown), its text in the
    story of boxes, or a text that it holds itself: WordArt, an alternative text."""

    anchor: int
    first: int
    last: int
    text: str = ""


class Drawings:
    """All shapes of a document: to which group each belongs, and what it says by itself."""

    def __init__(self, raw: bytes) -> None:
        self.groups: dict[int, int] = {}
        self.texts: dict[int, tuple[str, ...]] = {}
        self._raw = raw
        if raw:
            self._read()

    def _read(self) -> None:
        raw = self._raw
        at = min(8 + int.from_bytes(raw[4:8], "little"), len(raw))  # what all drawings share
        while at + 9 <= len(raw) and len(self.groups) < _SHAPES:
            size = int.from_bytes(raw[at + 5 : at + 9], "little")
            start = at + 9  # a byte says which story it is of
            kind, end = int.from_bytes(raw[at + 3 : at + 5], "little"), min(start + size, len(raw))
            if kind != _DRAWING:
                break
            for outer in records(raw, start, end):
                if outer[0] == _GROUP:
                    for inner in records(raw, *outer[2:]):
                        if inner[0] in (_GROUP, _SHAPE):
                            self._members(inner)
            at = end

    def _members(self, top: Record) -> None:
        """A shape, or all shapes below a group; the first of them is the group itself."""
        outermost = None
        waiting = [top]
        while waiting and len(self.groups) < _SHAPES:
            part = waiting.pop()
            if part[0] == _SHAPE:
                number, texts = self._shape(part)
                outermost = number if outermost is None else outermost
                self.groups[number] = outermost
                if texts:
                    self.texts[number] = texts
                continue
            waiting += [p for p in records(self._raw, *part[2:]) if p[0] in (_GROUP, _SHAPE)][::-1]

    def _shape(self, shape: Record) -> tuple[int, tuple[str, ...]]:
        """(number, what it says)"""
        number, texts = 0, ("", "")
        for part in records(self._raw, *shape[2:]):
            if part[0] == _FACTS and part[3] - part[2] >= 8:
                number = struct.unpack_from("<I", self._raw, part[2])[0]
            elif part[0] == OPTIONS:
                texts = said(options(self._raw, part, (WORD_ART, DESCRIPTION)))
        return number, tuple(filter(None, texts))


def anchored_boxes(shapes: bytes, boxes: bytes, drawings: Drawings) -> list[Box]:
    """What the shapes say whose anchors are known, in the order of their anchors."""
    anchors = {shape: place for place, shape in _table(shapes, _ANCHOR_BYTES, 0)}
    groups = drawings.groups
    found = []
    for (first, shape), (last, _) in pairwise(_table(boxes, _BOX_BYTES, 14)):
        anchor = anchors.get(shape, anchors.get(groups.get(shape, shape), -1))
        if anchor >= 0 and first < last:
            found.append(Box(anchor, first, last))
    for shape, texts in drawings.texts.items():
        anchor = anchors.get(shape, anchors.get(groups.get(shape, shape), -1))
        found += [Box(anchor, 0, 0, text) for text in texts]
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


def image_text(raw: bytes) -> str:
    """The alternative text of a picture in the text, from its head in the data stream."""
    size, head, kind = struct.unpack_from("<IHh", raw.ljust(8, b"\0"))
    if not 44 <= head <= 256 or size < head:
        return ""
    at = head + (1 + raw[head] if kind == _NAMED_FILE and head < len(raw) else 0)
    for shape in records(raw, at, size):
        if shape[0] == _SHAPE:
            for part in records(raw, *shape[2:]):
                if part[0] == OPTIONS:
                    return said(options(raw, part, (DESCRIPTION,)))[1]
    return ""
