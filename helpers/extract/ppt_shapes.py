"""The texts of one slide or notes page: its drawing's shapes, tables and WordArt.

Sources: [MS-PPT] 2.5.13, 2.7.1, 2.9 (text), 2.9.76 (outline references), [MS-ODRAW] 2.2.13 to
2.2.23 (shapes, groups, properties). Promises: shapes in the order they are drawn, groups opened,
a table row by row; text kept in the outline is taken from there, once. Does not: read pictures,
charts and other embedded objects.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

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
from helpers.extract.ppt_records import Place
from helpers.extract.symbols import AS_TRANSLATION

# What a shape says: the kind of its text, in which placeholder it is (0: none), paragraphs. A row
# of a table has a kind of its own, no placeholder and one paragraph, its cells joined.
Text: TypeAlias = tuple[int, int, list[str]]
TITLE, CENTER_TITLE, OTHER = 0, 6, 4
FIRST_ROW, ROW = 0x100, 0x101  # those of texts are bytes
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
_FACTS = b"\x0a\xf0\x08\0\0\0"  # kind and size
_DEPTH = 64  # groups within groups

# The heads of a shape, of its facts and of what follows them. Most shapes are made alike up to the
# first letter of their text, and are read by these forms instead of record by record.
_HEADS_BYTES = 32
_HEADS = struct.Struct("<2xHI2x6s8xHHI").unpack_from
# Behind the properties: its place, which placeholder it is, text box, kind of text, letters.
_TO_LETTERS = re.compile(
    rb"(?:..\x10\xf0\x08\0\0\0.{8}|)"
    rb"(?:..\x11\xf0\x10\0\0\0..\xc3\x0b\x08\0\0\0.{4}(.).{3}|)"
    rb"(?:..\x0d\xf0.{4}..\x9f\x0f\x04\0\0\0.{4}(?:..([\xa0\xa8])\x0f.{4}|)|)",
    re.DOTALL,
)
# Backwards from the letters: how many there are, the kind of text, the size of the box.
_BOX_BYTES = 28
_BOX = struct.Struct("<4xI8xB7xI").unpack_from
# A shape that stands for its group and says nothing else.
_BARE_BYTES = 48
_BARE_FORM = rb"..\x04\xf0\x28\0\0\0..\x09\xf0\x10\0\0\0.{16}..\x0a\xf0\x08\0\0\0.{8}"
_BARE = re.compile(_BARE_FORM, re.DOTALL)
# The beginning of a drawing up to the first shape of its group.
_DRAWN_BYTES = 32 + _BARE_BYTES
_DRAWN = re.compile(
    rb"..\x02\xf0.{4}..\x08\xf0\x08\0\0\0.{8}..\x03\xf0.{4}" + _BARE_FORM, re.DOTALL
)
_DRAWN_SIZES = struct.Struct("<4xI20xI").unpack_from
_HEAD = struct.Struct("<2xHI").unpack_from
_TELL_LOOKS = frozenset((0x0FA1, 0x0FAA, 0x0FA6))  # behind a text: styles, languages, rulers
_PLAIN = re.compile(r"[ -~\x80-\uefff\r]*")  # nothing to clean but line ends
_CLEAN = {
    **dict.fromkeys([*range(9), *range(0x0C, 0x0D), *range(0x0E, 0x20), 0x7F]),
    0x0B: "\n",
    **AS_TRANSLATION,
}
_SPEAKING = re.compile(  # in all numbers of records and of properties with a text, and in others
    rb"[\x81\x9e\xa0\xa8\xba\xc0\xc1][\x0b\x0f\x80\x83\xc0\xc3]"
)
_LATIN_1_GAP = {
    code: bytes((code,)).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)
}


def _nothing(number: int) -> str:
    return ""


class Held(NamedTuple):
    """What a page's shapes refer to: texts of the outline, and what an object shows."""

    outline: Sequence[Text] = ()
    shown_object: Callable[[int], str] = _nothing


def is_silent(page: Place) -> bool:
    """Whether surely nothing on a page can say anything: no text, header or footer, object or
    property that holds a text is in it. Far quicker than to look at its shapes."""
    return _SPEAKING.search(*page[1:]) is None


def outline_texts(data: bytes, start: int, end: int) -> list[Text]:
    """The texts that stand between two slides' records of the outline."""
    return list(_texts(data, start, end, 0, Held()))


def drawing_texts(data: bytes, drawings: list[tuple[int, int]], held: Held) -> list[Text]:
    """What the shapes of drawings say, given from which to which byte each reaches."""
    found: list[Text] = []
    for start, end in drawings:
        if _DRAWN.match(data, start, end):
            size, group_size = _DRAWN_SIZES(data, start)
            first, behind = start + _DRAWN_BYTES, start + 32 + group_size
            if first <= behind <= start + 8 + size == end:
                _members(data, first, behind, held, found)
                _members(data, behind, end, held, found, 0)
                continue
        for kind, _, first, last in records(data, start, end):
            if kind == _DRAWING:
                _members(data, first, last, held, found, 0)
    return found


def _group(data: bytes, at: int, end: int, held: Held, found: list[Text], depth: int) -> None:
    """What a group says. The first of its members is the group itself, and tells whether it is
    a table."""
    if _BARE.match(data, at, end):
        at += _BARE_BYTES
    elif at + 8 <= end:
        kind, size = _HEAD(data, at)
        last = min(at + 8 + size, end)
        if kind == _SHAPE and _is_table(data, at + 8, last):
            found += _table(data, (last, end), held)
            return
    _members(data, at, end, held, found, depth)


def _members(data: bytes, at: int, end: int, held: Held, found: list[Text], depth: int = 1) -> None:
    """What the shapes and groups that follow each other say."""
    while at + 8 <= end:
        if behind := _usual(data, at, end, found):
            at = behind
            continue
        kind, size = _HEAD(data, at)
        first = at + 8
        at = min(first + size, end)
        if kind == _SHAPE:
            found += _shape(data, first, at, held)
        elif kind == _GROUP and depth <= _DEPTH:
            _group(data, first, at, held, found, depth + 1)


def _usual(data: bytes, at: int, end: int, found: list[Text]) -> int:
    """Read a shape that is made as most are: facts, properties without texts, its place, what
    placeholder it is, text and nothing behind that tells more. Where it ends; 0 for any other,
    of which nothing is read."""
    if end - at < _HEADS_BYTES:
        return 0
    kind, size, facts, head, following, length = _HEADS(data, at)
    last = at + 8 + size
    if kind != _SHAPE or facts != _FACTS or last > end:
        return 0
    at += 24
    if following == OPTIONS:
        if length != 6 * (head >> 4):  # the texts of properties stand behind their rows
            return 0
        at += 8 + length
    if at == last:
        return last
    match = _TO_LETTERS.match(data, at, last)
    if match is None:
        return 0
    at = match.end()
    placeholder, coding = match.groups()
    if coding is None:
        return last if at == last else 0
    box_size, text_kind, length = _BOX(data, at - _BOX_BYTES)
    stop = at + length
    if at - 20 + box_size != last or not at < stop <= last or _tells_more(data, stop, last):
        return 0
    number = placeholder[0] if placeholder else 0
    lines = _paragraphs(_letters(data, at, stop, coding[0]))
    found.append((TITLE if number in _TITLE_PLACES else text_kind, number, lines))
    return last


def _tells_more(data: bytes, at: int, end: int) -> bool:
    """Whether what follows a text is more than how it looks."""
    while at + 8 <= end:
        kind, size = _HEAD(data, at)
        if kind not in _TELL_LOOKS:
            return True
        at += 8 + size
    return False


def _letters(data: bytes, start: int, end: int, kind: int) -> str:
    """The letters of a record; `kind` is that of the record, or its lower byte."""
    if kind & 0xFF == _CHARS & 0xFF:  # bytes.decode would look up the codec for each text
        return codecs.utf_16_le_decode(data[start:end], "replace", True)[0]
    text = data[start:end].decode("latin-1")
    return text if text.isascii() else text.translate(_LATIN_1_GAP)


def _is_table(data: bytes, start: int, end: int) -> bool:
    return any(
        part[0] in (MORE_OPTIONS, OPTIONS) and IS_TABLE in options(data, part, (IS_TABLE,))
        for part in records(data, start, end)
    )


def _table(data: bytes, span: tuple[int, int], held: Held) -> Iterator[Text]:
    """A table is a group of boxes: those with the same upper edge are a row."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for part in records(data, *span):
        if part[0] != _SHAPE:
            continue
        texts = [line for *_, lines in _shape(data, *part[2:], held) for line in lines]
        text = " ".join(" ".join(texts).split())
        if text:
            top, left = _place(data, part)
            rows.setdefault(top, []).append((left, text))
    for number, top in enumerate(sorted(rows)):
        cells = (text for _, text in sorted(rows[top]))
        yield ROW if number else FIRST_ROW, 0, [CELL_SEPARATOR.join(cells)]


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


def _shape(data: bytes, first: int, last: int, held: Held) -> Iterator[Text]:
    """What any shape says."""
    placeholder, boxes, art, picture, thing = 0, [], "", "", 0
    for part in records(data, first, last):
        kind, _, start, end = part
        if kind == _TEXT_BOX:
            boxes.append((start, end))
        elif kind == _CLIENT_DATA:
            placeholder, thing = _client(data, start, end)
        elif kind == OPTIONS:
            art, picture = said(options(data, part, _SAYING))
    for start, end in boxes:
        for kind, _, lines in _texts(data, start, end, placeholder, held):
            yield TITLE if placeholder in _TITLE_PLACES else kind, placeholder, lines
    if thing and (shown := held.shown_object(thing)):
        yield OTHER, placeholder, [shown]
    for shown in (art, picture):
        if shown:
            yield OTHER, placeholder, _paragraphs(shown)


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
                yield kind, placeholder, _paragraphs(_without(text, marks))
            kind, text, marks = data[inner], "", []
        elif name in (_CHARS, _BYTES):
            text += _letters(data, inner, stop, name)
        elif name in _FIELDS and stop - inner >= 4:
            marks.append(struct.unpack_from("<I", data, inner)[0])
        elif name == _OUTLINE_TEXT and stop - inner >= 4:
            number = struct.unpack_from("<I", data, inner)[0]
            if number < len(held.outline):
                outlined, _, lines = held.outline[number]
                yield outlined, placeholder, lines
    if text:
        yield kind, placeholder, _paragraphs(_without(text, marks))


def _without(text: str, fields: list[int]) -> str:
    """A text without the stars that stand for fields."""
    signs = list(text) if fields else []
    for place in fields:
        if place < len(signs) and signs[place] == "*":
            signs[place] = ""
    return "".join(signs) if fields else text


def _paragraphs(text: str) -> list[str]:
    if not _PLAIN.fullmatch(text):
        text = text.translate(_CLEAN)
    return list(filter(None, map(str.strip, text.split("\r"))))
