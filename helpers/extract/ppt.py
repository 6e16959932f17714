"""Binary PowerPoint presentations (.ppt, .pps, .pot) of 1997 to 2003.

Promises: the slides of the last edit in the order they are shown, each with its title first, as
a heading; then its texts, table rows and WordArt, its speaker notes and comments, all located
at that slide; footers once; hidden slides are read. Does not: read masters (their text is
prompts and decoration), pictures, charts and embedded objects, or PowerPoint 95 and older.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract import properties
from helpers.extract.art_records import records
from helpers.extract.blocks import Block, Context, Item, Location, Notice
from helpers.extract.codepages import WIDE
from helpers.extract.compound import CompoundFile
from helpers.extract.ppt_records import DOCUMENT, NOTES, SLIDE, Presentation, corrupt
from helpers.extract.ppt_shapes import (
    DATE,
    FOOTER,
    HEADER,
    IMAGES,
    NUMBER,
    TITLES,
    Row,
    Text,
    drawing_texts,
    outline_texts,
)
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_RELATED_PARTS, OFFICE_TEXT_CHARS

_SMALLER = "Split the presentation."
_LIST, _ENTRY, _DRAWING = 0x0FF0, 0x03F3, 0x040C
_SLIDE_FACTS, _NOTES_FACTS = 0x03EF, 0x03F1
_MARGINS, _MARGIN_FACTS, _STRING = 0x0FD9, 0x0FDA, 0x0FBA
_TAGS, _TAG, _TAG_DATA, _COMMENT = 0x1388, 0x138A, 0x138B, 0x2EE0
_SLIDES, _NOTES = 0, 2  # instances of lists
_OF_SLIDES, _OF_NOTES = 3, 4  # instances of the document's headers and footers
_HAS_HEADER, _HAS_FOOTER = 0x10, 0x20
_NO_TEXT = (DATE, NUMBER, *IMAGES)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A slide or notes page in its list: the number of its record, its own identity, and the
    texts that are kept with the list."""

    number: int
    identity: int
    texts: list[Text]


@dataclass(slots=True)
class _Document:
    slides: list[_Entry] = field(default_factory=list)
    notes: dict[int, _Entry] = field(default_factory=dict)
    margins: dict[int, list[str]] = field(default_factory=dict)


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then slide by slide its blocks.

    Raises Unread: encrypted, corrupt, limit_reached, unsupported.
    """
    container = CompoundFile(file)
    presentation = Presentation(container)
    yield properties.metadata(container)
    chars = 0
    for item in _Slides(presentation, ctx).items():
        if isinstance(item, Block):
            chars += len(item.text)
            if chars > OFFICE_TEXT_CHARS:
                raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", _SMALLER)
        yield item


class _Slides:
    def __init__(self, presentation: Presentation, ctx: Context) -> None:
        self._presentation, self._ctx = presentation, ctx
        found = presentation.record(presentation.document)
        if found is None or found[0] != DOCUMENT:
            raise corrupt("its document record is missing")
        self._document = _document(found[1])
        self._seen: set[str] = set()  # headers and footers told already
        self._read: set[int] = set()  # numbers of the records read

    def items(self) -> Iterator[Item]:
        for number, entry in enumerate(self._document.slides, 1):
            self._ctx.heartbeat()
            yield from self._slide(number, entry)
        if self._presentation.cut:
            yield Notice("part_unread", "The file is cut off: its last part is missing")

    def _slide(self, number: int, entry: _Entry) -> Iterator[Item]:
        place = Location("slide", f"slide {number}", number)
        found = None if entry.number in self._read else self._presentation.record(entry.number)
        self._read.add(entry.number)
        if found is None or found[0] != SLIDE:
            yield Notice("part_unread", f"Slide {number} is missing from the file", place)
            yield from _blocks(entry.texts, place)
            return
        data = found[1]
        yield from self._page(data, entry.texts, place, _OF_SLIDES)
        yield from self._notes(number, _notes_of(data))
        beside = Location("slide", f"slide {number} comment", number)
        for text in _comments(data):
            yield from _pieces(text, "paragraph", 0, beside)

    def _notes(self, number: int, identity: int) -> Iterator[Block]:
        entry = self._document.notes.pop(identity, None)
        if entry is None:
            return
        found = self._presentation.record(entry.number)
        if found is not None and found[0] == NOTES:
            place = Location("slide", f"slide {number} notes", number)
            yield from self._page(found[1], entry.texts, place, _OF_NOTES)

    def _page(
        self, data: bytes, outline: list[Text], place: Location, margin: int
    ) -> Iterator[Block]:
        """One slide or notes page."""
        found: list[Text | Row] = []
        margins = self._document.margins.get(margin, [])
        for part in records(data):
            if part.kind == _DRAWING:
                found += drawing_texts(data, part, outline)
            elif part.kind == _MARGINS:
                margins = _margin_texts(data, part.start, part.end)
        shown = [item for item in found if isinstance(item, Row) or not _is_margin(item)]
        told = {line for item in shown if isinstance(item, Text) for line in item.paragraphs}
        shown += [text for text in outline if not told.issuperset(text.paragraphs)]
        if margin == _OF_NOTES:
            shown = [i._replace(kind=-1) if isinstance(i, Text) else i for i in shown]
        yield from _blocks(shown, place)
        said = [line for item in found if isinstance(item, Text) for line in _margin_of(item)]
        for text in (*margins, *said):
            if text not in self._seen:
                self._seen.add(text)
                yield from _pieces(text, "paragraph", 0, place)


def _document(data: bytes) -> _Document:
    found = _Document()
    for part in records(data):
        if part.kind == _LIST and part.instance == _SLIDES:
            found.slides += _entries(data, part.start, part.end)
        elif part.kind == _LIST and part.instance == _NOTES:
            for entry in _entries(data, part.start, part.end):
                found.notes.setdefault(entry.identity, entry)
        elif part.kind == _MARGINS:
            found.margins[part.instance] = _margin_texts(data, part.start, part.end)
    if len(found.slides) > OFFICE_RELATED_PARTS:
        reached = len(found.slides)
        raise limit_reached("Slides", reached, OFFICE_RELATED_PARTS, "slides", _SMALLER)
    return found


def _entries(data: bytes, start: int, end: int) -> Iterator[_Entry]:
    """The entries of a list, each with the texts up to the next."""
    begun: tuple[int, int, int] | None = None
    for part in records(data, start, end):
        if part.kind == _ENTRY and part.end - part.start >= 16:
            if begun is not None:
                yield _Entry(begun[0], begun[1], outline_texts(data, begun[2], part.start - 8))
            number, _, _, identity = struct.unpack_from("<IIiI", data, part.start)
            begun = number, identity, part.end
    if begun is not None:
        yield _Entry(begun[0], begun[1], outline_texts(data, begun[2], end))


def _notes_of(slide: bytes) -> int:
    """The identity of a slide's notes page, 0 for none."""
    for part in records(slide):
        if part.kind == _SLIDE_FACTS and part.end - part.start >= 20:
            return int(struct.unpack_from("<I", slide, part.start + 16)[0])
    return 0


def _margin_texts(data: bytes, start: int, end: int) -> list[str]:
    """Header and footer as far as they are shown."""
    shown = {1: _HAS_HEADER, 2: _HAS_FOOTER}
    flags, found = 0, []
    for part in records(data, start, end):
        if part.kind == _MARGIN_FACTS and part.end - part.start >= 4:
            flags = struct.unpack_from("<H", data, part.start + 2)[0]
        elif part.kind == _STRING and part.instance in shown and flags & shown[part.instance]:
            found.append(data[part.start : part.end].decode(WIDE, "replace").strip("\0 "))
    return [text for text in found if text]


def _is_margin(text: Text) -> bool:
    return text.placeholder in _NO_TEXT or text.placeholder in (FOOTER, HEADER)


def _margin_of(text: Text) -> list[str]:
    """What a shape for the header or footer says."""
    return text.paragraphs if text.placeholder in (FOOTER, HEADER) else []


def _comments(slide: bytes) -> Iterator[str]:
    """The texts of a slide's comments."""
    waiting = [(0, len(slide), 0)]
    while waiting:
        start, end, depth = waiting.pop()
        for part in records(slide, start, end):
            if part.kind in (_TAGS, _TAG, _TAG_DATA) and depth < 4:
                waiting.append((part.start, part.end, depth + 1))
            elif part.kind == _COMMENT:
                for inner in records(slide, part.start, part.end):
                    if inner.kind == _STRING and inner.instance == 1:
                        raw = slide[inner.start : inner.end]
                        yield raw.decode(WIDE, "replace").replace("\r", "\n").strip("\0 \n")


def _blocks(found: list[Text] | list[Text | Row], place: Location) -> Iterator[Block]:
    """Titles first."""
    for item in found:
        if isinstance(item, Text) and item.kind in TITLES:
            yield from _pieces("\n".join(item.paragraphs), "heading", 1, place)
    for item in found:
        if isinstance(item, Row):
            yield from _pieces(item.text, "table_header" if item.first else "table_row", 0, place)
        elif item.kind not in TITLES:
            for line in item.paragraphs:
                yield from _pieces(line, "paragraph", 0, place)


def _pieces(text: str, kind: str, level: int, place: Location) -> Iterator[Block]:
    """A block, cut where it is too long for one."""
    for at in range(0, len(text), OFFICE_BLOCK_CHARS):
        yield Block(text[at : at + OFFICE_BLOCK_CHARS], kind, level, place)
