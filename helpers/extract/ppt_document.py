"""What a presentation's document record lists, and the facts of its slides.

Sources: [MS-PPT] 2.4.1 (document), 2.4.14 (lists), 2.4.15 (headers and footers), 2.5 (slides),
2.6.2 (comments). Promises: a list that is damaged gives the entries before the damage. Does
not: read shapes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from helpers.errors import limit_reached
from helpers.extract.art_records import RECORDS, Record, records
from helpers.extract.codepages import WIDE
from helpers.extract.ppt_records import DOCUMENT, SLIDE, Place, Presentation, corrupt
from helpers.extract.ppt_shapes import Text, outline_texts
from helpers.limits import OFFICE_RELATED_PARTS

OF_SLIDES, OF_NOTES = 3, 4  # instances of the document's headers and footers
SMALLER = "Split the presentation."

_LIST, _ENTRY = 0x0FF0, 0x03F3
_SLIDE_LIST, _MASTER_LIST, _NOTES_LIST = 0, 1, 2  # instances of lists
_SLIDE_FACTS, _DRAWING = 0x03EF, 0x040C
_MARGINS, _MARGIN_FACTS, _STRING = 0x0FD9, 0x0FDA, 0x0FBA
_TAGS, _TAG, _TAG_DATA, _COMMENT = 0x1388, 0x138A, 0x138B, 0x2EE0
_OBJECTS, _EMBEDDED, _OBJECT_FACTS = 0x0409, 0x0FCC, 0x0FC3
_PARTS = frozenset((_SLIDE_FACTS, _DRAWING, _MARGINS, _TAGS, _TAG, _TAG_DATA, _COMMENT))
_COMMENT_SIGNS = _COMMENT.to_bytes(2, "little")
_LEAST_MARGINS = 20  # bytes of headers and footers with a text
_SHOWN = {1: 0x10, 2: 0x20}  # instance of a header's or footer's text → the mark that shows it
_FOLLOWS_MASTER = 0x1
_HEAD = struct.Struct("<2xHI").unpack_from
_ENTRY_FACTS = struct.Struct("<I8xI").unpack_from
_SLIDE_LINKS = struct.Struct("<IIH").unpack_from

Span: TypeAlias = tuple[int, int]  # from which byte to which


class Entry(NamedTuple):
    """A page in its list: the number of its record, its own identity, and the texts that are
    kept with the list."""

    number: int
    identity: int
    texts: list[Text]


class Page(NamedTuple):
    """A slide, notes page or master, and where in `data` its drawings, its own headers and
    footers and what may hold comments begin and end. `notes` and `master` are identities of a
    slide's notes page and of the master whose objects it shows, 0 for none."""

    data: bytes
    drawings: list[Span]
    margins: Span | None
    holders: list[Record]
    notes: int
    master: int


@dataclass(slots=True)
class Document:
    """`slides` in the order they are shown; `notes` and `masters` by identity; `margins` are
    headers and footers of all slides and of all notes pages; `objects` are numbers of records
    by the number of an embedded object."""

    slides: list[Entry] = field(default_factory=list)
    notes: dict[int, Entry] = field(default_factory=dict)
    masters: dict[int, Entry] = field(default_factory=dict)
    margins: dict[int, list[str]] = field(default_factory=dict)
    objects: dict[int, int] = field(default_factory=dict)


def read_document(presentation: Presentation) -> Document:
    """The lists of the live document. Raises Unread: corrupt, limit_reached."""
    record = presentation.record(presentation.document)
    if record is None or record[0] != DOCUMENT:
        record = next(presentation.of_kind(DOCUMENT), (0, b""))
    if not record[1]:
        raise corrupt("its document record is missing")
    found = _document(record[1])
    if not found.slides:  # a program that wrote no list: slides in the order of their numbers
        found.slides = [Entry(number, 0, []) for number in presentation.numbers_of(SLIDE)]
    if len(found.slides) > OFFICE_RELATED_PARTS:
        reached = len(found.slides)
        raise limit_reached("Slides", reached, OFFICE_RELATED_PARTS, "slides", SMALLER)
    return found


def page_at(place: Place) -> Page:
    """The records of a page that matter, found in one pass."""
    _, data, at, end = place
    drawings: list[Span] = []
    holders: list[Record] = []
    margins, facts = None, -1
    while at + 8 <= end:
        kind, size = _HEAD(data, at)
        start = at + 8
        at = start + size
        if kind not in _PARTS:
            continue
        if at > end:
            at = end
        if kind == _DRAWING:
            if len(drawings) < RECORDS:
                drawings.append((start, at))
        elif kind == _SLIDE_FACTS:
            if facts < 0 and at - start >= 22:
                facts = start
        elif kind == _MARGINS:
            margins = margins or (start, at)
        elif data.find(_COMMENT_SIGNS, start - 8, at) >= 0:
            holders.append((kind, 0, start, at))
    master, notes, marks = (0, 0, 0) if facts < 0 else _SLIDE_LINKS(data, facts + 12)
    return Page(data, drawings, margins, holders, notes, master if marks & _FOLLOWS_MASTER else 0)


def margin_texts(page: Page) -> list[str]:
    """Header and footer that a page has for itself."""
    start, end = page.margins or (0, 0)
    return _margin_texts(page.data, start, end) if end - start >= _LEAST_MARGINS else []


def comments(page: Page) -> Iterator[str]:
    """The texts of a slide's comments."""
    data, waiting = page.data, [(page.holders, 0)]
    while waiting:
        inside, depth = waiting.pop()
        for kind, _, first, last in inside:
            if kind in (_TAGS, _TAG, _TAG_DATA) and depth < 4:
                waiting.append((records(data, first, last), depth + 1))
            elif kind == _COMMENT:
                for name, instance, inner, stop in records(data, first, last):
                    if name == _STRING and instance == 1:
                        text = _string(data, inner, stop)
                        yield text.replace("\r", "\n").strip()


def _document(data: bytes) -> Document:
    found = Document()
    for kind, instance, start, end in records(data):
        if kind == _LIST:
            entries = _entries(data, start, end)
            if instance == _SLIDE_LIST:
                found.slides += entries
            elif instance in (_MASTER_LIST, _NOTES_LIST):
                known = found.masters if instance == _MASTER_LIST else found.notes
                for entry in entries:
                    known.setdefault(entry.identity, entry)
        elif kind == _MARGINS:
            found.margins[instance] = _margin_texts(data, start, end)
        elif kind == _OBJECTS:
            found.objects = _objects(data, start, end)
    return found


def _objects(data: bytes, start: int, end: int) -> dict[int, int]:
    """Number of an embedded object → number of its record."""
    found: dict[int, int] = {}
    for kind, _, first, last in records(data, start, end):
        if kind == _EMBEDDED and len(found) < OFFICE_RELATED_PARTS:
            for name, _, inner, stop in records(data, first, last):
                if name == _OBJECT_FACTS and stop - inner >= 20:
                    number, _, target = struct.unpack_from("<III", data, inner + 8)
                    found[number] = target
    return found


def _entries(data: bytes, at: int, end: int) -> list[Entry]:
    """The entries of a list, each with the texts up to the next."""
    found: list[Entry] = []
    behind = end  # the record of the entry before
    while at + 8 <= end:
        kind, size = _HEAD(data, at)
        if kind == _ENTRY and size >= 16 and at + 24 <= end and len(found) < RECORDS:
            if behind < at:
                found[-1].texts.extend(outline_texts(data, behind, at))
            number, identity = _ENTRY_FACTS(data, at + 8)
            found.append(Entry(number, identity, []))
            behind = at + 8 + size
        at += 8 + size
    if behind < end:
        found[-1].texts.extend(outline_texts(data, behind, end))
    return found


def _margin_texts(data: bytes, start: int, end: int) -> list[str]:
    """Header and footer as far as they are shown."""
    marks, found = 0, []
    for kind, instance, inner, stop in records(data, start, end):
        if kind == _MARGIN_FACTS and stop - inner >= 4:
            marks = struct.unpack_from("<H", data, inner + 2)[0]
        elif kind == _STRING and marks & _SHOWN.get(instance, 0):
            found.append(_string(data, inner, stop).strip())
    return [text for text in found if text]


def _string(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode(WIDE, "replace").strip("\0")
