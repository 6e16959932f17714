"""The texts of one slide or notes page: its drawing's shapes, tables and WordArt.

Sources: [MS-PPT] 2.5.13, 2.7.1, 2.9 (text), 2.9.76 (outline references), [MS-ODRAW] 2.2.13 to
2.2.23 (shapes, groups, properties). Promises: shapes in the order they are drawn, groups opened,
a table row by row; text kept in the outline is taken from there, once. Does not: read pictures,
charts and other embedded objects.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from helpers.extract.art_records import (
    DESCRIPTION,
    IS_TABLE,
    MORE_OPTIONS,
    OPTIONS,
    WORD_ART,
    Record,
    options,
    records,
    said,
)
from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.codepages import WIDE
from helpers.extract.symbols import AS_TRANSLATION

TITLE, CENTER_TITLE, OTHER = 0, 6, 4
TITLES = (TITLE, CENTER_TITLE)
MARGINS = (9, 10)  # placeholders of footer and header
WITHOUT_TEXT = (5, 7, 8, 11)  # placeholders of dates, numbers and the slide's image
_TITLE_PLACES = (1, 3, 13, 15, 17)  # placeholders of titles

_GROUP, _SHAPE, _DRAWING = 0xF003, 0xF004, 0xF002
_CHILD_PLACE, _CLIENT_PLACE, _CLIENT_DATA, _TEXT_BOX = 0xF00F, 0xF010, 0xF011, 0xF00D
_TEXT_HEADER, _CHARS, _BYTES, _OUTLINE_TEXT = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
_PLACEHOLDER, _OBJECT = 0x0BC3, 0x0BC1
_FIELDS = (0x0FD8, 0x0FF7, 0x0FF8, 0x0FF9, 0x0FFA, 0x1015)  # a number, date, header or footer
_SAYING = (WORD_ART, DESCRIPTION)
_DEPTH = 64  # groups within groups
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\uf000-\uf0ff]")
_CLEAN = {
    **dict.fromkeys([*range(9), *range(0x0C, 0x0D), *range(0x0E, 0x20), 0x7F]),
    0x0B: "\n",
    **AS_TRANSLATION,
}
_LATIN_1_GAP = {
    code: bytes((code,)).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)
}


class Text(NamedTuple):
    """A shape's text: what `kind` of text, in which `placeholder` (0: none), paragraphs."""

    kind: int
    placeholder: int
    paragraphs: list[str]


def _nothing(number: int) -> str:
    return ""


class Held(NamedTuple):
    """What a page's shapes refer to: texts of the outline, and what an object shows."""

    outline: Sequence[Text] = ()
    shown_object: Callable[[int], str] = _nothing


class Row(NamedTuple):
    """A row of a table: its cells joined; `first` in its table."""

    text: str
    first: bool


def outline_texts(data: bytes, start: int, end: int) -> list[Text]:
    """The texts that stand between two slides' records of the outline."""
    return list(_texts(data, start, end, 0, Held()))


def drawing_texts(data: bytes, drawing: Record, held: Held) -> Iterator[Text | Row]:
    """What the shapes of a drawing say."""
    for inner_kind, _, inner_start, inner_end in records(data, *drawing[2:]):
        if inner_kind == _DRAWING:
            for part in records(data, inner_start, inner_end):
                if part[0] == _GROUP:
                    yield from _group(data, part, held, 0)
                elif part[0] == _SHAPE:
                    yield from _shape(data, part, held)


def _group(data: bytes, group: Record, held: Held, depth: int) -> Iterator[Text | Row]:
    if depth > _DEPTH:
        return
    for number, part in enumerate(records(data, *group[2:])):
        if part[0] == _GROUP:
            yield from _group(data, part, held, depth + 1)
        elif part[0] == _SHAPE:
            if not number and _is_table(data, part):
                yield from _table(data, (part[3], group[3]), held)
                return
            yield from _shape(data, part, held)


def _is_table(data: bytes, shape: Record) -> bool:
    return any(
        part[0] in (MORE_OPTIONS, OPTIONS) and IS_TABLE in options(data, part, (IS_TABLE,))
        for part in records(data, *shape[2:])
    )


def _table(data: bytes, span: tuple[int, int], held: Held) -> Iterator[Row]:
    """A table is a group of boxes: those with the same upper edge are a row."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for part in records(data, *span):
        if part[0] != _SHAPE:
            continue
        texts = [line for found in _shape(data, part, held) for line in found.paragraphs]
        text = " ".join(" ".join(texts).split())
        if text:
            top, left = _place(data, part)
            rows.setdefault(top, []).append((left, text))
    for number, top in enumerate(sorted(rows)):
        yield Row(CELL_SEPARATOR.join(text for _, text in sorted(rows[top])), number == 0)


def _place(data: bytes, shape: Record) -> tuple[int, int]:
    """(top, left) of a shape in its group."""
    for kind, _, start, end in records(data, *shape[2:]):
        if kind == _CHILD_PLACE and end - start >= 16:
            left, top = struct.unpack_from("<ii", data, start)
            return top, left
        if kind == _CLIENT_PLACE and end - start >= 8:
            top, left = struct.unpack_from("<hh" if end - start < 16 else "<ii", data, start)
            return top, left
    return 0, 0


def _shape(data: bytes, shape: Record, held: Held) -> Iterator[Text]:
    placeholder, boxes, art, picture, thing = 0, [], "", "", 0
    for part in records(data, *shape[2:]):
        kind, _, start, end = part
        if kind == _TEXT_BOX:
            boxes.append((start, end))
        elif kind == _CLIENT_DATA:
            placeholder, thing = _client(data, start, end)
        elif kind == OPTIONS:
            art, picture = said(options(data, part, _SAYING))
    for start, end in boxes:
        for text in _texts(data, start, end, placeholder, held):
            yield text._replace(kind=TITLE) if placeholder in _TITLE_PLACES else text
    if thing and (shown := held.shown_object(thing)):
        yield Text(OTHER, placeholder, [shown])
    for shown in (art, picture):
        if shown:
            yield Text(OTHER, placeholder, _paragraphs(shown))


def _client(data: bytes, start: int, end: int) -> tuple[int, int]:
    """(placeholder, number of the object) of a shape, 0 for none."""
    placeholder = thing = 0
    for kind, _, inner, stop in records(data, start, end):
        if kind == _PLACEHOLDER and stop - inner >= 8:
            placeholder = data[inner + 4]
        elif kind == _OBJECT and stop - inner >= 4:
            thing = struct.unpack_from("<I", data, inner)[0]
    return placeholder, thing


def _texts(data: bytes, start: int, end: int, placeholder: int, held: Held) -> Iterator[Text]:
    """Text records in a row: a header, letters, and marks of fields within them."""
    kind, text = OTHER, ""
    marks: list[int] = []
    for name, _, inner, stop in records(data, start, end):
        if name == _TEXT_HEADER and stop - inner >= 4:
            if text:
                yield Text(kind, placeholder, _paragraphs(text, marks))
            kind, text, marks = data[inner], "", []
        elif name == _CHARS:
            text += data[inner:stop].decode(WIDE, "replace")
        elif name == _BYTES:
            text += data[inner:stop].decode("latin-1").translate(_LATIN_1_GAP)
        elif name in _FIELDS and stop - inner >= 4:
            marks.append(struct.unpack_from("<I", data, inner)[0])
        elif name == _OUTLINE_TEXT and stop - inner >= 4:
            number = struct.unpack_from("<I", data, inner)[0]
            if number < len(held.outline):
                found = held.outline[number]
                yield Text(found.kind, placeholder, found.paragraphs)
    if text:
        yield Text(kind, placeholder, _paragraphs(text, marks))


def _paragraphs(text: str, marks: list[int] | tuple[()] = ()) -> list[str]:
    """The paragraphs of a text, without the stars that stand for fields."""
    if marks:
        signs = list(text)
        for mark in marks:
            if mark < len(signs) and signs[mark] == "*":
                signs[mark] = ""
        text = "".join(signs)
    if _CONTROL.search(text):
        text = text.translate(_CLEAN)
    lines = [line.strip() for line in text.split("\r")]
    return [line for line in lines if line]
