"""Small binary Word documents made in memory for the tests of their reader.

Text lies at TEXT_AT in the main stream, formatting pages behind it, all else in the table stream
(Word 97) or in the main stream (Word 6 and 95).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.extract.compound_files import Path, packed

TEXT_AT = 2048
PAGE = 512
IN_TABLE, ROW_END = b"\x16\x24\x01", b"\x17\x24\x01"
INNER_CELL, INNER_ROW_END = b"\x4b\x24\x01", b"\x4c\x24\x01"
DELETED, HIDDEN = b"\x00\x08\x01", b"\x3c\x08\x01"
OLD_IN_TABLE, OLD_ROW_END, OLD_DELETED, OLD_HIDDEN = (
    b"\x18\x01",
    b"\x19\x01",
    b"\x41\x01",
    b"\x5c\x01",
)
STORIES = (
    "body",
    "footnotes",
    "headers",
    "macros",
    "comments",
    "endnotes",
    "boxes",
    "header_boxes",
)


Streams = dict[Path | str, bytes]


@dataclass
class Paragraph:
    """`text` without its mark, `mark` that ends it, number of its `style`, its modifiers; `runs`
    of (first, last, modifiers) within the text."""

    text: str
    mark: str = "\r"
    style: int = 0
    raw: bytes = b""
    runs: Sequence[tuple[int, int, bytes]] = ()


@dataclass
class Word:
    """What a document is made of. `codec` makes its text 8-bit; `pieces` cuts the text into
    pieces of so many characters, which lie in the file in reverse order; `parts` are further
    parts of the table stream by the number of their pair in the head."""

    stories: dict[str, list[Paragraph]] = field(default_factory=dict)
    codec: str = ""
    pieces: int = 0
    old: bool = False
    language: int = 0x0409
    flags: int = 0
    fonts: Sequence[tuple[str, int]] = ()
    font: int = -1
    styles: Sequence[tuple[int, int, str, int]] = ()  # (style, built-in kind, name, base)
    parts: dict[int, bytes] = field(default_factory=dict)
    piece_words: Sequence[int] = ()
    modifier_lists: Sequence[bytes] = ()
    version: int = 0
    streams: Streams = field(default_factory=dict)


def rows(*cells: Sequence[str], old: bool = False) -> list[Paragraph]:
    """A table, a sequence of cells per row."""
    inside, end = (OLD_IN_TABLE, OLD_ROW_END) if old else (IN_TABLE, ROW_END)
    found = []
    for row in cells:
        found += [Paragraph(cell, "\x07", raw=inside) for cell in row]
        found.append(Paragraph("", "\x07", raw=inside + end))
    return found


def shows_object(number: int) -> bytes:
    """Modifiers of the mark in front of a field's result that shows an embedded object."""
    return b"\x03\x6a" + struct.pack("<I", number) + b"\x0a\x08\x01"


def depth(level: int) -> bytes:
    return b"\x49\x66" + struct.pack("<i", level)


def plain(text: str) -> list[Paragraph]:
    return [Paragraph(line) for line in text.split("\n")]


def doc(word: Word | str) -> bytes:
    """The file of a document."""
    if isinstance(word, str):
        word = Word({"body": plain(word)})
    return packed(streams(word))


def streams(word: Word) -> Streams:
    body = [paragraph for name in STORIES for paragraph in word.stories.get(name, [])]
    text = "".join(paragraph.text + paragraph.mark for paragraph in body)
    raw, places, table = _text(word, text, len(body))
    main = bytearray(TEXT_AT) + raw
    main += bytes(-len(main) % PAGE)
    at, ends, looks, runs = 0, [], [], []
    for paragraph in body:
        length = _length(word, paragraph.text + paragraph.mark)
        for first, last, modifiers in paragraph.runs:
            begin = at + _length(word, paragraph.text[:first])
            runs.append((begin, at + _length(word, paragraph.text[:last]), modifiers))
        at += length
        ends.append(at)
        looks.append(struct.pack("<H", paragraph.style) + paragraph.raw)
    paragraph_table = _pages(main, word, _by_place(word, ends, looks, places), True)
    character_table = _pages(main, word, _runs_by_place(word, runs, places), False)
    counts = [
        sum(_length(word, p.text + p.mark) for p in word.stories.get(name, ())) for name in STORIES
    ]
    parts = {
        1: _style_sheet(word),
        12: character_table,
        13: paragraph_table,
        33: table,
        **word.parts,
    }
    if word.fonts:
        parts[15] = _font_table(word)
    if word.old:
        return {"WordDocument": _old_head(word, main, parts, counts, len(raw)), **word.streams}
    head, tables = _head(word, parts, counts, len(raw))
    main[: len(head)] = head
    name = "1Table" if word.flags & 0x200 else "0Table"
    return {"WordDocument": bytes(main), name: tables, **word.streams}


def _length(word: Word, text: str) -> int:
    """Positions that a text takes: bytes, or 16-bit units."""
    return len(text.encode(word.codec)) if word.codec else len(text.encode("utf-16-le")) // 2


def _text(word: Word, text: str, count: int) -> tuple[bytes, list[tuple[int, int]], bytes]:
    """(bytes of the text, (position, offset) of each piece, the piece table)."""
    width = 1 if word.codec else 2
    raw = text.encode(word.codec or "utf-16-le")
    total = len(raw) // width
    step = word.pieces or total or 1
    cuts = [*range(0, total, step), total]
    data, offsets = b"", {}
    for first in reversed(cuts[:-1]):
        offsets[first] = TEXT_AT + len(data)
        data += raw[first * width : min(first + step, total) * width]
    places = [(first, offsets[first]) for first in cuts[:-1]]
    table = struct.pack(f"<{len(cuts)}I", *cuts)
    for number, (_, offset) in enumerate(places):
        place = offset if word.old or width == 2 else offset * 2 | 0x40000000
        extra = word.piece_words[number] if number < len(word.piece_words) else 0
        table += struct.pack("<HIH", 0, place, extra)
    lists = b"".join(b"\1" + struct.pack("<H", len(raw)) + raw for raw in word.modifier_lists)
    return data, places, lists + b"\2" + struct.pack("<I", len(table)) + table


def _by_place(
    word: Word, ends: list[int], looks: list[bytes], places: list[tuple[int, int]]
) -> list[tuple[int, int, bytes]]:
    """(start, end, look) by offset in the file of what the paragraphs cover."""
    begin, spans = 0, []
    for end, look in zip(ends, looks, strict=True):
        spans.append((begin, end, look))
        begin = end
    return _runs_by_place(word, spans, places)


def _runs_by_place(
    word: Word, spans: list[tuple[int, int, bytes]], places: list[tuple[int, int]]
) -> list[tuple[int, int, bytes]]:
    width = 1 if word.codec else 2
    found = []
    for number, (first, offset) in enumerate(places):
        last = places[number + 1][0] if number + 1 < len(places) else 1 << 30
        for begin, end, look in spans:
            if begin < last and end > first:
                start = offset + (max(begin, first) - first) * width
                found.append((start, offset + (min(end, last) - first) * width, look))
    return sorted(found)


def _pages(
    main: bytearray, word: Word, runs: list[tuple[int, int, bytes]], paragraphs: bool
) -> bytes:
    """Append formatting pages; the bin table that lists them."""
    size = (7 if word.old else 13) if paragraphs else 1
    starts, numbers = [], []
    waiting = _filled(runs)
    while waiting:
        page, taken = _page(waiting, size, word.old, paragraphs)
        starts.append(waiting[0][0])
        numbers.append(len(main) // PAGE)
        main += page
        last = waiting[taken - 1][1]
        waiting = waiting[taken:]
    if not numbers:
        return b""
    table = struct.pack(f"<{len(starts) + 1}I", *starts, last)
    return table + struct.pack(f"<{len(numbers)}{'H' if word.old else 'I'}", *numbers)


def _filled(runs: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Runs without gaps."""
    found, at = [], TEXT_AT
    for start, end, look in runs:
        if start > at:
            found.append((at, start, b""))
        found.append((start, end, look))
        at = end
    return found


def _page(
    runs: list[tuple[int, int, bytes]], size: int, old: bool, paragraphs: bool
) -> tuple[bytes, int]:
    page, top, taken = bytearray(PAGE), PAGE - 1, 0
    stored: dict[bytes, int] = {}
    offsets = []
    for _, _, look in runs[:100]:
        body = _stored(look, old, paragraphs)
        fresh = 0 if look in stored or not look else len(body) + len(body) % 2
        if (top - fresh) // 2 * 2 < 4 * (taken + 2) + size * (taken + 1):
            break
        if fresh:
            top = (top - len(body)) // 2 * 2
            page[top : top + len(body)] = body
            stored[look] = top // 2
        offsets.append(stored.get(look, 0))
        taken += 1
    ends = [runs[0][0], *(end for _, end, _ in runs[:taken])]
    struct.pack_into(f"<{taken + 1}I", page, 0, *ends)
    for number, offset in enumerate(offsets):
        page[4 * (taken + 1) + size * number] = offset
    page[-1] = taken
    return bytes(page), taken


def _stored(look: bytes, old: bool, paragraphs: bool) -> bytes:
    if not paragraphs:
        return bytes((len(look),)) + look
    if old or len(look) % 2 == 0:
        look += bytes(len(look) % 2)
        return (b"" if old else b"\0") + bytes((len(look) // 2,)) + look
    return bytes((len(look) // 2 + 1,)) + look


def _style_sheet(word: Word) -> bytes:
    known = {0: (0, "Normal", 0xFFF), 1: (1, "heading 1", 0), 2: (2, "heading 2", 0)}
    known |= {style: (kind, name, base) for style, kind, name, base in word.styles}
    base_bytes = 8 if word.old else 10
    found = struct.pack("<HHH", 4, max(known) + 1, base_bytes)
    for number in range(max(known) + 1):
        if number not in known:
            found += struct.pack("<H", 0)
            continue
        kind, name, base = known[number]
        style = struct.pack("<HHHH", kind, base << 4 | 1, 2, 0).ljust(base_bytes, b"\0")
        if word.old:
            style += bytes((len(name),)) + name.encode("latin-1") + b"\0"
        else:
            style += struct.pack("<H", len(name)) + name.encode("utf-16-le") + b"\0\0"
        font = bytes((93, word.font, 0)) if word.old and word.font >= 0 and not number else b""
        style += bytes(len(style) % 2) + struct.pack("<HH", 2, number)
        style += struct.pack("<H", len(font)) + font
        found += struct.pack("<H", len(style)) + style
    return found


def _font_table(word: Word) -> bytes:
    found = b""
    for name, charset in word.fonts:
        entry = struct.pack("<BHBB", 0, 400, charset, 0) + name.encode("latin-1") + b"\0"
        found += bytes((len(entry),)) + entry
    return struct.pack("<H", len(found) + 2) + found


def _base(word: Word, identity: int, version: int, size: int) -> bytes:
    base = struct.pack("<6H", identity, word.version or version, 0, word.language, 0, word.flags)
    return base.ljust(24, b"\0") + struct.pack("<II", TEXT_AT, TEXT_AT + size)


def _head(word: Word, parts: dict[int, bytes], counts: list[int], size: int) -> tuple[bytes, bytes]:
    tables, pairs = b"", [(0, 0)] * 93
    for number, raw in parts.items():
        if raw:
            pairs[number] = (len(tables), len(raw))
            tables += raw
    head = _base(word, 0xA5EC, 193, size)
    head += struct.pack("<H28xH", 14, 22) + struct.pack("<3i", 0, 0, 0)
    head += struct.pack("<8i", *counts).ljust(76, b"\0") + struct.pack("<H", len(pairs))
    return head + struct.pack(f"<{2 * len(pairs)}I", *_flat(pairs)), tables


def _old_head(
    word: Word, main: bytearray, parts: dict[int, bytes], counts: list[int], size: int
) -> bytes:
    offsets = {1: 0x60, 11: 0xB0, 12: 0xB8, 13: 0xC0, 15: 0xD0, 33: 0x160}
    if not word.pieces and not word.piece_words:
        parts = {number: raw for number, raw in parts.items() if number != 33}
    base = _base(word, 0xA5DC, 104, size)
    main[: len(base)] = base
    struct.pack_into("<8i", main, 0x34, *counts)
    for number, raw in parts.items():
        if raw:
            struct.pack_into("<II", main, offsets[number], len(main), len(raw))
            main += raw
    return bytes(main)


def _flat(pairs: Iterable[tuple[int, int]]) -> list[int]:
    return [number for pair in pairs for number in pair]
