"""The body of an OpenDocument file as a stream: elements in, located blocks out.

Promises: constant memory whatever the part's size; repeat counts are bounded; notes and comments
stand behind the paragraph that holds them. Does not: open parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from helpers.errors import limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import Block, Item, Location, Metadata, Notice
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table, whole
from helpers.extract.odf_shapes import Embedded, Piece, Shapes, Slides
from helpers.extract.odf_sheets import Tables
from helpers.extract.odf_text import NAMESPACES, TextFrames, one
from helpers.extract.opc import real_title
from helpers.extract.outline import DEEPEST_HEADING, Outline
from helpers.extract.regular_rows import SPREADSHEET, apart
from helpers.extract.trimmed import trimmed
from helpers.limits import OFFICE_TEXT_CHARS

_TITLE = 100  # a "level" that marks the document's title
_STYLES = 1_000  # styles made from the title's, and ones that hide text, that are remembered
_HELD_ITEMS = 2_000  # what stands inside an open paragraph and is held until its end

_LEVEL = one("text:outline-level")
_STYLE = one("text:style-name")
_STYLE_NAME = one("style:name")
_DISPLAY = one("text:display")
_STYLED = tuple(one(f"text:{name}") for name in ("span", "p", "h"))
_STYLE_PARENT = one("style:parent-style-name")
_PASSED_OVER = (
    "text:tracked-changes table:tracked-changes text:ruby-text text:script office:forms"
    " office:scripts table:covered-table-cell table:content-validations table:dde-links"
    " office:binary-data office:master-styles office:settings"
)
_SPANS = re.compile(rb'<text:span text:style-name="[\w.-]+">([^<]*)</text:span>')


@dataclass(frozen=True, slots=True)
class _Aside:
    """An open note, comment or notes page, and how many tables were open around it."""

    location: Location | None
    grids: int


class Body:
    """One document's content.

    `titled`: the document has a title already, so a paragraph in the title's style adds none.
    `formula` tells the equation in an object's folder as LaTeX, or gives an empty string.
    """

    def __init__(
        self, part: str, titled: bool, formula: Callable[[str], str | Notice] = lambda folder: ""
    ) -> None:
        self._found: list[Piece] = []
        self._after: list[Piece] = []
        self._outline = Outline()
        self._titled = titled
        self._titles = {"Title"}
        self._named = ""
        self._hidden: set[str] = set()
        self._begun = False  # whether the styles of the document have passed
        self._asides: list[_Aside] = []
        self._frames = frames = TextFrames(self._text)
        self._tables = Tables(frames, self._put, self._text, self._place)
        self._grids = self._tables.grids
        self._slides = Slides(self._found)
        self._shapes = Shapes(frames, self._put, self._text, self._place, formula)
        self._actions = table(self._starts(), NAMESPACES)
        self._scanner = Scanner(part, self._actions, table(self._ends(), NAMESPACES))
        frames.attach(self._scanner)
        self._shapes.attach(self._scanner)

    def read(
        self, pieces: Iterable[bytes], opened: Callable[[Embedded], Iterator[Item]]
    ) -> Iterator[Item]:
        """What the part holds, in place of an object what `opened` finds in it.

        Raises Unread: corrupt, limit_reached.
        """
        chars = 0
        pieces = trimmed(pieces, _SPANS, lambda: self._begun and not self._hidden)
        pieces = apart(pieces, SPREADSHEET, self._among_rows, self._tables.take)
        for _ in self._scanner.scan(pieces):
            self._relieve()
            for found in self._slides.complete():
                if isinstance(found, Block):
                    chars += len(found.text)
                    if chars > OFFICE_TEXT_CHARS:
                        what, unit = "Text", "code points"
                        raise limit_reached(what, chars, OFFICE_TEXT_CHARS, unit, SMALLER)
                    yield found
                elif isinstance(found, Embedded):
                    yield from opened(found)
                else:
                    yield found

    def _among_rows(self) -> bool:
        """Whether the scanner stands between two rows of a sheet."""
        return self._tables.among_rows() and not (self._frames.stack or self._scanner.pending)

    def _relieve(self) -> None:
        """Cut a paragraph or row without end, so that memory stays flat."""
        self._frames.relieve()
        self._tables.relieve()
        if len(self._after) > _HELD_ITEMS:
            self._found += self._after
            self._after.clear()

    # --- what elements do ---------------------------------------------------------------

    def _starts(self) -> dict[str, OnStart]:
        return {
            "style:style": self._style,
            "style:text-properties": self._text_style,
            "text:p": self._paragraph,
            "text:h": self._heading,
            "text:note office:annotation": lambda _: self._aside(None),
            "presentation:notes": lambda _: self._aside(self._slides.notes_place()),
            "office:text office:presentation": lambda _: self._content(),
            "office:drawing": lambda _: self._drawing(),
            "office:spreadsheet": lambda _: self._spreadsheet(),
            _PASSED_OVER: lambda _: self._scanner.skip(),
            **self._frames.marks(),
            **self._tables.starts(),
            **self._slides.starts(),
            **self._shapes.starts(),
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "text:p text:h": self._paragraph_end,
            "text:note office:annotation presentation:notes": self._aside_end,
            **self._tables.ends(),
            **self._slides.ends(),
            **self._shapes.ends(),
        }

    def _content(self) -> None:
        """Cells and paragraphs come by the million, so they have handlers of their own."""
        self._begun = True
        quick = {one("table:table-cell"): self._tables.cell}
        self._frames.plain(self._scanner, self._said, self._hidden, quick)

    def _drawing(self) -> None:
        self._slides.are_pages()
        self._content()

    def _spreadsheet(self) -> None:
        self._tables.sheets = True
        self._content()

    # --- text -----------------------------------------------------------------------------

    def _style(self, attributes: Attributes) -> None:
        """An automatic style made from the title's style marks a title as well."""
        self._named = attributes.get(_STYLE_NAME, "")
        if attributes.get(_STYLE_PARENT) in self._titles and len(self._titles) < _STYLES:
            self._titles.add(self._named)

    def _text_style(self, attributes: Attributes) -> None:
        """Only where a style hides text, the styles of all texts are looked at."""
        if attributes.get(_DISPLAY) == "none" and len(self._hidden) < _STYLES:
            if not self._hidden:
                for name in _STYLED:
                    self._actions[name] = self._unless_hidden(self._actions.get(name))
            self._hidden.add(self._named)

    def _unless_hidden(self, action: OnStart | None) -> OnStart:
        def start(attributes: Attributes) -> None:
            if action is not None:
                action(attributes)
            if attributes.get(_STYLE) in self._hidden:
                self._scanner.skip()

        return start

    def _paragraph(self, attributes: Attributes) -> None:
        self._frames.begin(_TITLE if attributes.get(_STYLE) in self._titles else 0)

    def _heading(self, attributes: Attributes) -> None:
        level = whole(attributes.get(_LEVEL), 1)
        self._frames.begin(max(1, min(level, DEEPEST_HEADING)))

    def _paragraph_end(self) -> None:
        self._frames.end()
        if self._after and not self._frames.inside:
            self._found += self._after
            self._after.clear()

    def _said(self, text: str, style: str | None) -> None:
        """A paragraph within no other has ended."""
        if text:
            grids, asides = self._grids, self._asides
            level = _TITLE if style in self._titles else 0
            if grids and grids[-1].cells and not asides:
                grids[-1].cells[-1].texts.append((text, level))
            elif level or grids or asides or self._shapes.title:
                self._text(text, level)
            else:
                place = self._slides.place or self._outline.paragraph()
                self._found.append(Block(text, "paragraph", 0, place))
        if self._after:
            self._found += self._after
            self._after.clear()

    def _text(self, text: str, level: int) -> None:
        grids, around = self._grids, self._asides[-1].grids if self._asides else 0
        if len(grids) > around and grids[-1].cells:
            grids[-1].cells[-1].texts.append((text, level))
        elif self._slides.place is not None and not self._asides and self._shapes.title:
            self._put(Block(text, "heading", 1, self._slides.place))
        else:
            self._flowing(text, level)

    def _flowing(self, text: str, level: int) -> None:
        if not level or self._asides or self._slides.place is not None or self._tables.sheets:
            self._put(Block(text, location=self._place()))
            return
        if level == _TITLE and not self._titled:
            self._titled = True
            self._put(Metadata(title=real_title(text)))
        level = min(level, DEEPEST_HEADING) if level != _TITLE else 1
        self._put(Block(text, "heading", level, self._outline.heading(text, level)))

    def _put(self, item: Piece) -> None:
        """What stands inside an open paragraph comes after it."""
        if self._tables.sheets and self._grids and not self._grids[0].begun:
            self._found.append(self._grids[0].heading())
        if self._frames.inside:
            self._after.append(item)
            return
        self._found.append(item)

    def _place(self) -> Location:
        if self._asides and self._asides[-1].location is not None:
            return self._asides[-1].location
        if self._slides.place is not None:
            return self._slides.place
        if self._tables.sheets and self._grids:
            return self._grids[0].place()
        return self._outline.paragraph()

    # --- notes and comments -----------------------------------------------------------------

    def _aside(self, place: Location | None) -> None:
        self._asides.append(_Aside(place, len(self._grids)))
        self._frames.pause()

    def _aside_end(self) -> None:
        if self._asides:
            self._asides.pop()
        self._frames.resume()
