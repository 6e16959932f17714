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
from operator import attrgetter
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract import nested, properties
from helpers.extract.blocks import Block, Context, Item, Location, Notice
from helpers.extract.compound import CompoundFile
from helpers.extract.embedded_objects import inflated, object_document, object_equation
from helpers.extract.ppt_document import (
    OF_NOTES,
    OF_SLIDES,
    SMALLER,
    Entry,
    Page,
    comments,
    margin_texts,
    page_at,
    read_document,
)
from helpers.extract.ppt_records import NOTES, OBJECT, SLIDE, Place, Presentation
from helpers.extract.ppt_shapes import (
    FIRST_ROW,
    MARGINS,
    OTHER,
    TITLES,
    WITHOUT_TEXT,
    Held,
    Text,
    drawing_texts,
    is_silent,
)
from helpers.extract.quick import block, paragraphs
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_TEXT_CHARS

_text_of = attrgetter("text")
_NOT_SHOWN = frozenset((*WITHOUT_TEXT, *MARGINS))  # placeholders


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then slide by slide its blocks.

    Raises Unread: encrypted, corrupt, limit_reached, unsupported.
    """
    container = CompoundFile(file)
    presentation = Presentation(container)
    yield properties.metadata(container)
    for found in _Slides(presentation, ctx).parts():
        yield from found


class _Slides:
    def __init__(self, presentation: Presentation, ctx: Context) -> None:
        self._presentation, self._ctx = presentation, ctx
        self._document = read_document(presentation)
        self._told: set[str] = set()  # headers, footers and masters' texts told already
        self._read: set[int] = set()  # numbers of the records read
        self._equations: dict[int, str] = {}  # by the number of their object
        self._without_outline = Held((), self._equation)

    def parts(self) -> Iterator[Iterable[Item]]:
        """Slide by slide, then what is embedded."""
        chars = 0
        for number, entry in enumerate(self._document.slides, 1):
            self._ctx.heartbeat()
            blocks = self._slide(number, entry)
            if blocks is None:
                place = Location("slide", f"slide {number}", number)
                yield [Notice("part_unread", f"Slide {number} is missing from the file", place)]
                blocks = _blocks(entry.texts, place)
            slide_chars = sum(map(len, map(_text_of, blocks)))
            if slide_chars > OFFICE_BLOCK_CHARS:
                blocks = [piece for found in blocks for piece in _pieces(found)]
            chars += slide_chars
            if chars > OFFICE_TEXT_CHARS:
                raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
            yield blocks
        ctx = nested.opened(self._ctx)
        for place_of, number in enumerate(sorted(self._document.objects), 1):
            if not self._equation(number):
                yield object_document(self._object(number), place_of, ctx)
        if self._presentation.cut:
            yield [Notice("part_unread", "The file is cut off: its last part is missing")]

    def _slide(self, number: int, entry: Entry) -> list[Block] | None:
        """All that is told of a slide; None where it is missing."""
        if entry.number in self._read:  # a list that names a slide twice is damaged
            return []
        record = self._page(entry, SLIDE)
        if record is None:
            return None
        page = page_at(record)
        place = Location("slide", f"slide {number}", number)
        found = self._shapes(page, entry.texts, place, OF_SLIDES)
        master = self._document.masters.get(page.master)
        if master is not None and master.number not in self._read:
            self._master(found, master, place)
        notes = self._document.notes.pop(page.notes, None)
        if notes is not None:
            found += self._notes(number, notes)
        if page.holders:
            beside = Location("slide", f"slide {number} comment", number)
            found += paragraphs(filter(None, comments(page)), beside)
        return found

    def _notes(self, number: int, notes: Entry) -> list[Block]:
        """What the notes page of a slide says; most say nothing."""
        record = None if notes.number in self._read else self._page(notes, NOTES)
        if record is None:
            return []
        if not (notes.texts or self._document.margins.get(OF_NOTES)) and is_silent(record):
            return []
        place = Location("slide", f"slide {number} notes", number)
        return self._shapes(page_at(record), notes.texts, place, OF_NOTES)

    def _equation(self, number: int) -> str:
        """What an embedded object shows if it is an equation."""
        if number not in self._equations:
            self._equations[number] = object_equation(self._object(number))
        return self._equations[number]

    def _object(self, number: int) -> bytes:
        found = self._presentation.record(self._document.objects.get(number, -1))
        return inflated(found[1]) if found is not None and found[0] == OBJECT else b""

    def _page(self, entry: Entry, kind: int) -> Place | None:
        """Where a page lies; None where it is missing."""
        self._read.add(entry.number)
        found = self._presentation.place(entry.number)
        return found if found is not None and found[0] == kind else None

    def _shapes(self, page: Page, outline: list[Text], place: Location, of: int) -> list[Block]:
        """What one slide or notes page says; `of` tells whose headers and footers it has."""
        held = Held(outline, self._equation) if outline else self._without_outline
        found = drawing_texts(page.data, page.drawings, held)
        shown = [text for text in found if text[1] not in _NOT_SHOWN]
        if outline:
            told = {line for kind, _, lines in shown if kind < FIRST_ROW for line in lines}
            shown += [text for text in outline if not told.issuperset(text[2])]
        blocks = _blocks(shown, place, () if of == OF_NOTES else TITLES)
        margins = margin_texts(page) if page.margins else self._document.margins.get(of)
        if margins or len(shown) < len(found):
            self._once(blocks, (*(margins or ()), *_lines(found, MARGINS)), place)
        return blocks

    def _master(self, blocks: list[Block], master: Entry, place: Location) -> None:
        """What the master of a slide shows on it, but for placeholders."""
        self._read.add(master.number)
        found = self._presentation.place(master.number)
        if found is not None:
            page = page_at(found)
            drawn = drawing_texts(page.data, page.drawings, Held())
            texts = _lines([text for text in drawn if text[0] == OTHER], (0, *MARGINS))
            rows = (text[2][0] for text in drawn if text[0] >= FIRST_ROW)
            self._once(blocks, (*texts, *rows, *margin_texts(page)), place)

    def _once(self, blocks: list[Block], texts: Iterable[str], place: Location) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._told]
        self._told.update(new)
        blocks += paragraphs(new, place)


def _lines(found: Iterable[Text], placeholders: tuple[int, ...]) -> Iterator[str]:
    """The paragraphs of texts in certain placeholders."""
    for kind, placeholder, lines in found:
        if placeholder in placeholders and kind < FIRST_ROW:
            yield from lines


def _blocks(
    found: Iterable[Text], place: Location, titles: tuple[int, ...] = TITLES
) -> list[Block]:
    """Titles first; `titles` are the kinds of text that are."""
    headings: list[Block] = []
    rest: list[Block] = []
    for kind, _, lines in found:
        if kind >= FIRST_ROW:
            name = "table_header" if kind == FIRST_ROW else "table_row"
            rest.append(block(lines[0], name, place))
        elif kind not in titles:
            rest += paragraphs(lines, place)
        elif lines:
            headings.append(Block("\n".join(lines), "heading", 1, place))
    return headings + rest


def _pieces(found: Block) -> Iterator[Block]:
    """A block, cut where it is too long for one."""
    for at in range(0, len(found.text), OFFICE_BLOCK_CHARS):
        text = found.text[at : at + OFFICE_BLOCK_CHARS]
        yield Block(text, found.kind, found.level, found.location)
