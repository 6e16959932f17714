"""Small binary PowerPoint presentations made in memory for the tests of their reader."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.extract.compound_files import Path, packed

TITLE, BODY, NOTES_TEXT, OTHER, SUBTITLE, CENTER_TITLE = 0, 1, 2, 4, 5, 6
FOOTER, HEADER, NUMBER, IMAGE = 9, 10, 8, 11
Streams = dict[Path | str, bytes]


def record(kind: int, body: bytes, instance: int = 0, holds: bool = False) -> bytes:
    """A record; one that `holds` others is marked as a container."""
    return struct.pack("<HHI", instance << 4 | (0xF if holds else 0), kind, len(body)) + body


def container(kind: int, *parts: bytes, instance: int = 0) -> bytes:
    return record(kind, b"".join(parts), instance, holds=True)


def letters(text: str) -> bytes:
    """Text as PowerPoint keeps it: in bytes where it can be."""
    text = text.replace("\n", "\r")
    try:
        return record(0x0FA8, text.encode("latin-1"))
    except UnicodeEncodeError:
        return record(0x0FA0, text.encode("utf-16-le"))


def typed(text: str, kind: int = OTHER) -> bytes:
    """A text with its kind in front."""
    return record(0x0F9F, struct.pack("<I", kind)) + letters(text)


def shape(
    text: bytes = b"",
    placeholder: int = 0,
    place: tuple[int, int] | None = None,
    art: str = "",
    thing: int = 0,
    described: str = "",
    number: int = 1,
) -> bytes:
    """A shape; `place` is (left, top) within its group."""
    parts = [record(0xF00A, struct.pack("<II", number, 0))]
    if art or described:
        parts.append(options({0x00C0: art, 0x0381: described}))
    if place is not None:
        parts.append(record(0xF00F, struct.pack("<4i", *place, place[0] + 9, place[1] + 9)))
    if placeholder:
        facts = struct.pack("<iBBH", 0, placeholder, 0, 0)
        parts.append(container(0xF011, record(0x0BC3, facts)))
    if thing:
        parts.append(container(0xF011, record(0x0BC1, struct.pack("<I", thing))))
    if text:
        parts.append(container(0xF00D, text))
    return container(0xF004, *parts)


def options(texts: dict[int, str]) -> bytes:
    """The properties of a shape, some with texts."""
    rows, beyond = struct.pack("<HI", 0x0080, 7), b""
    for name, text in texts.items():
        raw = (text + "\0").encode("utf-16-le") if text else b""
        rows += struct.pack("<HI", 0x8000 | name, len(raw))
        beyond += raw
    return record(0xF00B, rows + beyond, 1 + len(texts))


def group(*shapes: bytes, table: bool = False) -> bytes:
    head = record(0xF009, bytes(16)) + record(0xF00A, bytes(8))
    if table:
        head += record(0xF122, struct.pack("<HI", 0x039F, 1), 1)
    return container(0xF003, container(0xF004, head), *shapes)


def table(*rows: Sequence[str]) -> bytes:
    cells = [
        shape(typed(text), place=(100 * column, 50 * line))
        for line, row in enumerate(rows)
        for column, text in enumerate(row)
    ]
    return group(*reversed(cells), table=True)


def outline_reference(number: int) -> bytes:
    return record(0x0F9E, struct.pack("<I", number))


def field_text(text: str, at: int, kind: int = 0x0FD8) -> bytes:
    """A text whose star at a place stands for a field."""
    return typed(text) + record(kind, struct.pack("<I", at))


def drawing(*shapes: bytes) -> bytes:
    return container(0x040C, container(0xF002, record(0xF008, bytes(8)), group(*shapes)))


def margins(header: str = "", footer: str = "", instance: int = 0) -> bytes:
    marks = (0x10 if header else 0) | (0x20 if footer else 0)
    parts = [record(0x0FDA, struct.pack("<HH", 0, marks))]
    for number, text in ((1, header), (2, footer)):
        if text:
            parts.append(record(0x0FBA, text.encode("utf-16-le"), number))
    return container(0x0FD9, *parts, instance=instance)


def object_list(*objects: tuple[int, int]) -> bytes:
    """The document's list of embedded objects: (number, number of its record)."""
    return container(
        0x0409,
        *(
            container(0x0FCC, record(0x0FC3, struct.pack("<6I", 1, 0, number, 0, target, 0)))
            for number, target in objects
        ),
    )


def comment(text: str) -> bytes:
    parts = [
        record(0x0FBA, word.encode("utf-16-le"), n) for n, word in enumerate(("Me", text, "M"))
    ]
    inner = container(0x2EE0, *parts, record(0x2EE1, bytes(28)))
    name = record(0x0FBA, "___PPT10".encode("utf-16-le"))
    return container(0x1388, container(0x138A, name, record(0x138B, inner)))


@dataclass
class Slide:
    """`shapes` of its drawing, `outline` texts kept with the list, `notes` shapes, and further
    records of the slide itself."""

    shapes: Sequence[bytes] = ()
    outline: Sequence[bytes] = ()
    notes: Sequence[bytes] = ()
    parts: bytes = b""


@dataclass
class Deck:
    """`old` are slides of earlier edits under the numbers of the present ones; `order` is the
    order in which slides are shown; `document` holds further records of the document; `objects`
    are embedded compound files by the number of their record."""

    slides: Sequence[Slide] = ()
    master: Sequence[bytes] = ()
    document: bytes = b""
    old: Sequence[Slide] = ()
    order: Sequence[int] = ()
    objects: dict[int, bytes] = field(default_factory=dict)
    token: int = 0xE391C05F
    streams: Streams = field(default_factory=dict)


def ppt(deck: Deck) -> bytes:
    return packed(streams(deck))


def streams(deck: Deck) -> Streams:
    """The document is record 1, the master 2, slides from 10 on, notes from 500 on."""
    body = bytearray()
    previous = 0
    if deck.old:
        previous = _edit(body, _pages(deck, deck.old), 0)
    last = _edit(body, _pages(deck, deck.slides), previous)
    user = struct.pack("<IIIHHBBH", 20, deck.token, last, 4, 0x03F4, 3, 0, 0) + b"user"
    return {
        "PowerPoint Document": bytes(body),
        "Current User": record(0x0FF6, user),
        **deck.streams,
    }


def _pages(deck: Deck, slides: Sequence[Slide]) -> dict[int, bytes]:
    """Number → record."""
    pages = {2: container(0x03F8, _facts(0), drawing(*deck.master))}
    entries, notes, first_notes = {}, b"", max(500, 10 + len(slides))
    for number, slide in enumerate(slides):
        noted = 700 + number if slide.notes else 0
        pages[10 + number] = container(0x03EE, _facts(noted), drawing(*slide.shapes), slide.parts)
        entries[number] = _entry(10 + number, 256 + number) + b"".join(slide.outline)
        if slide.notes:
            facts = record(0x03F1, struct.pack("<IHH", 256 + number, 0, 0))
            pages[first_notes + number] = container(0x03F0, facts, drawing(*slide.notes))
            notes += _entry(first_notes + number, noted)
    for number, raw in deck.objects.items():
        packed_raw = struct.pack("<I", len(raw)) + zlib.compress(raw)
        pages[number] = record(0x1011, packed_raw, 1)
    shown = deck.order or sorted(entries)
    pages[1] = container(
        0x03E8,
        record(0x03E9, bytes(40)),
        container(0x0FF0, _entry(2, 0x80000000), instance=1),
        container(0x0FF0, *(entries[number] for number in shown if number in entries)),
        container(0x0FF0, notes, instance=2),
        deck.document,
    )
    return pages


def _facts(notes: int) -> bytes:
    return record(0x03EF, struct.pack("<I8xIIHH", 0, 0x80000000, notes, 7, 0))


def _entry(number: int, identity: int) -> bytes:
    return record(0x03F3, struct.pack("<IIiII", number, 0, 0, identity, 0))


def _edit(body: bytearray, pages: dict[int, bytes], previous: int) -> int:
    """Append an edit; its offset."""
    runs: list[list[int]] = []  # first number, offsets of the pages from that one on
    for number, page in sorted(pages.items()):
        if not runs or number != runs[-1][0] + len(runs[-1]) - 1 or len(runs[-1]) > 4_000:
            runs.append([number])
        runs[-1].append(len(body))
        body += page
    directory = b"".join(
        struct.pack(f"<{len(run)}I", (len(run) - 1) << 20 | run[0], *run[1:]) for run in runs
    )
    directory_at = len(body)
    body += record(0x1772, directory)
    at = len(body)
    body += record(
        0x0FF5, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, previous, directory_at, 1, 900, 1, 0)
    )
    return at
