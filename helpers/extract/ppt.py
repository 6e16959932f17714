"""Binary PowerPoint presentations (.ppt, .pps, .pot) of 1997 to 2003.

Promises: the slides of the last edit in the order they are shown, each with its title first, as
a heading; then its texts, table rows and WordArt, its speaker notes and comments, all located
at that slide; footers, and what a master shows besides its placeholders, once; equations of
Equation Editor and MathType as LaTeX; embedded documents behind the slides; hidden slides are
read. Does not: read the prompts in placeholders of masters, pictures and charts, or PowerPoint 95
and older.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract import nested, properties
from helpers.extract.art_records import records
from helpers.extract.blocks import Block, Context, Item, Location, Notice
from helpers.extract.compound import CompoundFile
from helpers.extract.embedded_objects import inflated, object_document, object_equation
from helpers.extract.ppt_document import (
    OF_NOTES,
    OF_SLIDES,
    SMALLER,
    Entry,
    comments,
    facts_of,
    margin_texts,
    read_document,
)
from helpers.extract.ppt_records import NOTES, OBJECT, SLIDE, Presentation
from helpers.extract.ppt_shapes import (
    MARGINS,
    OTHER,
    TITLES,
    WITHOUT_TEXT,
    Held,
    Row,
    Text,
    drawing_texts,
)
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_TEXT_CHARS

_DRAWING = 0x040C


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
                raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
        yield item


class _Slides:
    def __init__(self, presentation: Presentation, ctx: Context) -> None:
        self._presentation, self._ctx = presentation, ctx
        self._document = read_document(presentation)
        self._told: set[str] = set()  # headers, footers and masters' texts told already
        self._read: set[int] = set()  # numbers of the records read
        self._equations: dict[int, str] = {}  # by the number of their object

    def items(self) -> Iterator[Item]:
        for number, entry in enumerate(self._document.slides, 1):
            self._ctx.heartbeat()
            yield from self._slide(number, entry)
        ctx = nested.opened(self._ctx)
        for place, number in enumerate(sorted(self._document.objects), 1):
            if not self._equation(number):
                yield from object_document(self._object(number), place, ctx)
        if self._presentation.cut:
            yield Notice("part_unread", "The file is cut off: its last part is missing")

    def _slide(self, number: int, entry: Entry) -> Iterator[Item]:
        if entry.number in self._read:  # a list that names a slide twice is damaged
            return
        place = Location("slide", f"slide {number}", number)
        data = self._page(entry, SLIDE)
        if data is None:
            yield Notice("part_unread", f"Slide {number} is missing from the file", place)
            yield from _blocks(entry.texts, place)
            return
        facts = facts_of(data)
        yield from self._shapes(data, entry.texts, place, OF_SLIDES)
        yield from self._master(facts.master, place)
        notes = self._document.notes.pop(facts.notes, None)
        page = self._page(notes, NOTES) if notes is not None else None
        if notes is not None and page is not None:
            beside = Location("slide", f"slide {number} notes", number)
            yield from self._shapes(page, notes.texts, beside, OF_NOTES)
        beside = Location("slide", f"slide {number} comment", number)
        for text in comments(data):
            yield from _pieces(text, "paragraph", 0, beside)

    def _equation(self, number: int) -> str:
        """What an embedded object shows if it is an equation."""
        if number not in self._equations:
            self._equations[number] = object_equation(self._object(number))
        return self._equations[number]

    def _object(self, number: int) -> bytes:
        found = self._presentation.record(self._document.objects.get(number, -1))
        return inflated(found[1]) if found is not None and found[0] == OBJECT else b""

    def _page(self, entry: Entry, kind: int) -> bytes | None:
        """The content of a page; None where it is missing, or was read before."""
        if entry.number in self._read:
            return None
        self._read.add(entry.number)
        found = self._presentation.record(entry.number)
        return found[1] if found is not None and found[0] == kind else None

    def _shapes(
        self, page: bytes, outline: list[Text], place: Location, margins_of: int
    ) -> Iterator[Block]:
        """What one slide or notes page says."""
        found = list(_drawn(page, Held(outline, self._equation)))
        shown = [item for item in found if isinstance(item, Row) or not _is_margin(item)]
        told = {line for item in shown if isinstance(item, Text) for line in item.paragraphs}
        shown += [text for text in outline if not told.issuperset(text.paragraphs)]
        if margins_of == OF_NOTES:
            shown = [i._replace(kind=OTHER) if isinstance(i, Text) else i for i in shown]
        yield from _blocks(shown, place)
        margins = margin_texts(page)
        if margins is None:
            margins = self._document.margins.get(margins_of, [])
        yield from self._once((*margins, *_lines(found, MARGINS)), place)

    def _master(self, identity: int, place: Location) -> Iterator[Block]:
        """What the master of a slide shows on it, but for placeholders."""
        master = self._document.masters.get(identity)
        if master is None or master.number in self._read:
            return
        self._read.add(master.number)
        found = self._presentation.record(master.number)
        if found is not None:
            drawn = [item for item in _drawn(found[1], Held()) if not _is_prompt(item)]
            rows = (item.text for item in drawn if isinstance(item, Row))
            lines = (*_lines(drawn, (0, *MARGINS)), *rows)
            yield from self._once((*lines, *(margin_texts(found[1]) or ())), place)

    def _once(self, texts: Iterable[str], place: Location) -> Iterator[Block]:
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                yield from _pieces(text, "paragraph", 0, place)


def _drawn(page: bytes, held: Held) -> Iterator[Text | Row]:
    for part in records(page):
        if part[0] == _DRAWING:
            yield from drawing_texts(page, part, held)


def _is_margin(text: Text) -> bool:
    return text.placeholder in WITHOUT_TEXT or text.placeholder in MARGINS


def _is_prompt(item: Text | Row) -> bool:
    return isinstance(item, Text) and item.kind != OTHER


def _lines(found: Iterable[Text | Row], placeholders: tuple[int, ...]) -> Iterator[str]:
    """The paragraphs of texts in certain placeholders."""
    for item in found:
        if isinstance(item, Text) and item.placeholder in placeholders:
            yield from item.paragraphs


def _blocks(found: Iterable[Text | Row], place: Location) -> Iterator[Block]:
    """Titles first."""
    rest = []
    for item in found:
        if isinstance(item, Text) and item.kind in TITLES:
            yield from _pieces("\n".join(item.paragraphs), "heading", 1, place)
        else:
            rest.append(item)
    for item in rest:
        if isinstance(item, Row):
            yield from _pieces(item.text, "table_header" if item.first else "table_row", 0, place)
        else:
            for line in item.paragraphs:
                yield from _pieces(line, "paragraph", 0, place)


def _pieces(text: str, kind: str, level: int, place: Location) -> Iterator[Block]:
    """A block, cut where it is too long for one."""
    for at in range(0, len(text), OFFICE_BLOCK_CHARS):
        yield Block(text[at : at + OFFICE_BLOCK_CHARS], kind, level, place)
