"""The body of an OpenDocument file as a stream: elements in, located blocks out.

Promises: constant memory whatever the part's size; repeat counts are bounded.
Does not: open parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from helpers.errors import limit_reached
from helpers.extract.alternative import alternative
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import CELL_SEPARATOR, Block, Item, Location, Metadata, Notice
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table, unreferenced, whole
from helpers.extract.odf_text import NAMESPACES, ShownNames, TextFrames, one, tidy
from helpers.extract.opc import real_title
from helpers.extract.outline import DEEPEST_HEADING, Outline
from helpers.extract.regular_rows import Found
from helpers.limits import (
    OFFICE_BLOCK_CHARS,
    SHEET_REPEAT_COLUMNS,
    SHEET_REPEATED_CELLS,
)

_TITLE = 100  # a "level" that marks the document's title
_STYLES = 1_000  # styles made from the title's, and ones that hide text, that are remembered
_SLIDE_ITEMS = 2_000  # blocks of one slide held to bring its title to the front
_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one row held before it is cut
_ROW_CELLS = 20_000  # filled cells of one row held before it is cut

_LEVEL = one("text:outline-level")
_STYLE = one("text:style-name")
_STYLE_NAME = one("style:name")
_DISPLAY = one("text:display")
_STYLED = tuple(one(f"text:{name}") for name in ("span", "p", "h"))
_STYLE_PARENT = one("style:parent-style-name")
_NAME = one("table:name")
_ROWS = one("table:number-rows-repeated")
_COLUMNS = one("table:number-columns-repeated")
_VALUES = tuple(
    one(f"office:{kind}")
    for kind in ("string-value", "date-value", "time-value", "boolean-value", "value")
)
_REPEATED = re.compile(r'\stable:number-(?:rows|columns)-repeated="(\d+)"')
_VALUE = re.compile(r'\s(office:(?:string-|date-|time-|boolean-)?value)="([^"<&]*)"')
_CLASS = one("presentation:class")
_LINK = one("xlink:href")
_DECORATION = ("page-number", "date-time", "header")
_PASSED_OVER = (
    "text:tracked-changes table:tracked-changes text:ruby-text text:script office:forms"
    " office:scripts table:covered-table-cell table:content-validations table:dde-links"
    " office:binary-data office:master-styles office:settings"
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A place where the object in `folder`, perhaps a formula, is to be read."""

    folder: str
    location: Location


@dataclass(slots=True)
class _Cell:
    attributes: Attributes
    texts: list[tuple[str, int]] = field(default_factory=list)

    def text(self) -> str:
        """What the cell shows, in one line; its value where nothing is shown."""
        if len(self.texts) == 1:
            shown = self.texts[0][0]
        elif self.texts:
            shown = " ".join(text for text, _ in self.texts)
        else:
            shown = next((self.attributes[key] for key in _VALUES if key in self.attributes), "")
        return shown if shown.isprintable() else " ".join(shown.split())


@dataclass(slots=True)
class _Grid:
    """An open table; only a sheet has a name."""

    name: str | None
    row: int = 0
    rows: int = 0
    repeat: int = 1
    header: bool = False
    begun: bool = False
    in_row: bool = False
    cells: list[_Cell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Aside:
    """An open note, comment or notes page, and how many tables were open around it."""

    location: Location | None
    grids: int


class BodyScanner:
    """content.xml. Feed `scanner`, then `relieve` and `drain` after each piece.

    `titled`: the document has a title already, so a paragraph in the title's style adds none.
    `formula` tells the equation in an object's folder as LaTeX, or gives an empty string.
    """

    def __init__(
        self, part: str, titled: bool, formula: Callable[[str], str | Notice] = lambda folder: ""
    ) -> None:
        self._formula = formula
        self._found: list[Item | Embedded] = []
        self._after: list[Item | Embedded] = []
        self._outline = Outline()
        self._titled = titled
        self._titles = {"Title"}
        self._named = ""
        self._hidden: set[str] = set()
        self._documents = 0
        self._pages = "slide"
        self._slides = 0
        self._slide: Location | None = None
        self._slide_from = 0  # where its items begin among those found
        self._title_frame = False
        self._described: list[str] = []
        self._sheets = False
        self._asides: list[_Aside] = []
        self._grids: list[_Grid] = []
        self._repeated = 0
        self._frames = TextFrames(self._text)
        self._actions = table(self._starts(), NAMESPACES)
        self.scanner = Scanner(part, self._actions, table(self._ends(), NAMESPACES))
        self._frames.attach(self.scanner)

    def drain(self) -> Iterator[Item | Embedded]:
        """What is complete so far; a slide is held until its title is known to be first."""
        held = [] if self._slide is None else self._found[self._slide_from :]
        if 0 < len(held) <= _SLIDE_ITEMS:
            del self._found[self._slide_from :]
        else:
            held = []
        yield from self._found
        self._found[:] = held
        self._slide_from = 0

    def relieve(self) -> None:
        """Cut a paragraph or row without end, so that memory stays flat."""
        self._frames.relieve()
        for grid in self._grids:
            held = sum(len(text) for cell in grid.cells for text, _ in cell.texts)
            if held > _HELD_CHARS or len(grid.cells) > _ROW_CELLS:
                self._emit_row(grid)
        if len(self._after) > _SLIDE_ITEMS:
            self._found += self._after
            self._after.clear()

    # --- what elements do ---------------------------------------------------------------

    def _starts(self) -> dict[str, OnStart]:
        return {
            "style:style": self._style,
            "style:text-properties": self._text_style,
            "text:p": self._frames.opening(_STYLE, self._titles, _TITLE),
            "text:h": self._heading,
            "text:note office:annotation": lambda _: self._aside(None),
            "draw:frame draw:custom-shape": self._shape,
            "draw:object": self._object,
            "svg:title svg:desc": self._picture,
            "math:math": self._inline,
            "office:document": self._document,
            "office:drawing": lambda _: self._drawing(),
            "draw:page": self._page,
            "presentation:notes": self._notes,
            "office:spreadsheet": self._spreadsheet,
            "table:table": self._table,
            "table:table-header-rows": lambda _: self._header_rows(True),
            "table:table-row": self._row,
            "table:table-cell": self._cell,
            _PASSED_OVER: lambda _: self.scanner.skip(),
            **self._frames.marks(),
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "text:p": self._text_end,
            "text:h": self._paragraph_end,
            "text:note office:annotation presentation:notes": self._aside_end,
            "draw:frame draw:custom-shape": self._shape_end,
            "svg:title svg:desc": self._picture_end,
            "draw:page": self._page_end,
            "table:table": self._table_end,
            "table:table-header-rows": lambda: self._header_rows(False),
            "table:table-row": self._row_end,
        }

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
                self.scanner.skip()

        return start

    def _heading(self, attributes: Attributes) -> None:
        level = whole(attributes.get(_LEVEL), 1)
        self._frames.begin(max(1, min(level, DEEPEST_HEADING)))

    def _text_end(self) -> None:
        """Paragraphs come by the thousand: those within no other go a short way."""
        found = None if self._asides or self._after else self._frames.taken()
        if found is None:
            self._paragraph_end()
            return
        text, level = found
        if not text:
            return
        if level or self._grids or self._title_frame:
            if self._grids and self._grids[-1].cells:
                self._grids[-1].cells[-1].texts.append(found)
            else:
                self._text(text, level)
            return
        place = self._slide or self._outline.paragraph()
        self._found.append(Block(text, "paragraph", 0, place))

    def _paragraph_end(self) -> None:
        self._frames.end()
        if self._after and not self._frames.inside:
            self._found += self._after
            self._after.clear()

    def _text(self, text: str, level: int) -> None:
        around = self._asides[-1].grids if self._asides else 0
        grid = self._grids[-1] if len(self._grids) > around else None
        if grid is not None and grid.cells:
            grid.cells[-1].texts.append((text, level))
        elif self._slide is not None and not self._asides and self._title_frame:
            self._put(Block(text, "heading", 1, self._slide))
        else:
            self._flowing(text, level)

    def _flowing(self, text: str, level: int) -> None:
        if not level or self._asides or self._slide is not None or self._sheets:
            self._put(Block(text, location=self._place()))
            return
        if level == _TITLE and not self._titled:
            self._titled = True
            self._put(Metadata(title=real_title(text)))
        level = min(level, DEEPEST_HEADING) if level != _TITLE else 1
        self._put(Block(text, "heading", level, self._outline.heading(text, level)))

    def _put(self, item: Item | Embedded) -> None:
        """What stands inside an open paragraph comes after it."""
        if self._sheets and self._grids and not self._grids[0].begun:
            sheet = self._grids[0]
            sheet.begun = True
            name = sheet.name or "Sheet"
            self._found.append(Block(name, "heading", 1, Location("sheet", name, name=name)))
        if self._frames.inside:
            self._after.append(item)
            return
        self._found.append(item)

    def _place(self) -> Location:
        if self._asides and self._asides[-1].location is not None:
            return self._asides[-1].location
        if self._slide is not None:
            return self._slide
        if self._sheets and self._grids:
            sheet = self._grids[0]
            if sheet.cells:
                return _row_place(sheet)
            return Location("sheet", f"{sheet.name} drawing", name=sheet.name)
        return self._outline.paragraph()

    # --- notes, comments, shapes ------------------------------------------------------------

    def _notes(self, attributes: Attributes) -> None:
        self._aside(Location("slide", f"slide {self._slides} notes", self._slides))

    def _aside(self, place: Location | None) -> None:
        self._asides.append(_Aside(place, len(self._grids)))
        self._frames.pause()

    def _aside_end(self) -> None:
        if self._asides:
            self._asides.pop()
        self._frames.resume()

    def _shape(self, attributes: Attributes) -> None:
        kind = attributes.get(_CLASS)
        self._title_frame = kind == "title"
        self._frames.pause()
        if kind in _DECORATION:
            self.scanner.skip()

    def _shape_end(self) -> None:
        self._title_frame = False
        self._frames.resume()

    def _picture(self, attributes: Attributes) -> None:
        """A picture's alternative text: a title, a description."""
        self._frames.pause()
        self._described = []
        self.scanner.collect(self._described.append)

    def _picture_end(self) -> None:
        text = alternative("".join(self._described))
        self._described = []
        self._frames.resume()
        if text:
            self._text(text, 0)

    def _object(self, attributes: Attributes) -> None:
        folder = attributes.get(_LINK, "")
        if not folder:
            return
        found = self._formula(folder)
        if isinstance(found, Notice):
            self._put(replace(found, location=self._place()))
        elif found:
            self._equation(found)
        else:
            self._put(Embedded(folder, self._place()))

    def _inline(self, attributes: Attributes) -> None:
        built = MathmlBuilder()

        def done() -> None:
            self._equation(built.latex())

        self.scanner.divert(built.start, built.end, built.characters, done)

    def _equation(self, latex: str) -> None:
        """An equation stands in its sentence, otherwise by itself."""
        text = marked(latex)
        if text and not self._frames.write_around(text):
            self._put(Block(text, location=self._place()))

    def _document(self, attributes: Attributes) -> None:
        """The root of a flat file, or a document inside it such as a chart, whose names count."""
        self._documents += 1
        if self._documents == 1:
            return
        shown = ShownNames()

        def done() -> None:
            text = shown.text()
            if text:
                self._put(Block(text, location=self._place()))

        self.scanner.divert(shown.start, shown.end, shown.characters, done)

    def _drawing(self) -> None:
        self._pages = "page"

    def _page(self, attributes: Attributes) -> None:
        self._slides += 1
        label = f"{self._pages} {self._slides}"
        self._slide = Location(self._pages, label, self._slides)
        self._slide_from = len(self._found)

    def _page_end(self) -> None:
        self._slide = None
        own = self._found[self._slide_from :]
        titles = [item for item in own if isinstance(item, Block) and item.kind == "heading"]
        if len(own) <= _SLIDE_ITEMS and titles and titles != own[: len(titles)]:
            number = self._slides
            own.sort(key=lambda item: _slide_order(item, number))
            self._found[self._slide_from :] = own

    # --- tables and sheets --------------------------------------------------------------------

    def _spreadsheet(self, attributes: Attributes) -> None:
        """Cells come by the million, so they and their text have handlers of their own."""
        self._sheets = True
        collected = self._frames.loose()
        usual_start, usual_end = self.scanner.take_over()
        cell, paragraph = one("table:table-cell"), one("text:p")
        stack, grids, asides, clear = self._frames.stack, self._grids, self._asides, collected.clear

        def start(name: str, attributes: Attributes) -> None:
            if name == paragraph and not stack:
                clear()
            elif name == cell and grids:
                grids[-1].cells.append(_Cell(attributes))
            else:
                usual_start(name, attributes)

        def end(name: str) -> None:
            if name == paragraph and not stack:
                text = tidy(collected[0] if len(collected) == 1 else "".join(collected))
                clear()
                if not text:
                    return
                if not asides and grids and grids[-1].cells:
                    grids[-1].cells[-1].texts.append((text, 0))
                else:
                    self._text(text, 0)
            elif name != cell or not grids:
                usual_end(name)

        self.scanner.take_over(start, end)

    def _table(self, attributes: Attributes) -> None:
        if self._sheets and not self._grids:
            self._grids.append(_Grid(attributes.get(_NAME, "")))
        else:
            self._grids.append(_Grid(None))
            self._frames.pause()

    def _table_end(self) -> None:
        if self._grids and self._grids.pop().name is None:
            self._frames.resume()

    def _header_rows(self, inside: bool) -> None:
        if self._grids:
            self._grids[-1].header = inside

    def _row(self, attributes: Attributes) -> None:
        if self._grids:
            grid = self._grids[-1]
            grid.row += 1
            grid.repeat = max(1, whole(attributes.get(_ROWS), 1))
            grid.cells = []
            grid.in_row = True

    def _cell(self, attributes: Attributes) -> None:
        if self._grids:
            self._grids[-1].cells.append(_Cell(attributes))

    def _row_end(self) -> None:
        if self._grids:
            grid = self._grids[-1]
            self._emit_row(grid)
            grid.row += grid.repeat - 1
            grid.in_row = False

    def among_rows(self) -> bool:
        """Whether the scanner stands between two rows of a sheet."""
        grids = self._grids
        if not self._sheets or len(grids) != 1 or self._frames.stack:
            return False
        return not (grids[0].in_row or self.scanner.pending)

    def take(self, found: Found) -> None:
        """Rows of a sheet that did not go through the scanner."""
        grid = self._grids[0]
        grid.repeat = 1
        shown: list[str] = []
        for look, text, row in found:
            if row:
                if shown:
                    self._emit_shown(grid, shown)
                    shown = []
                grid.row += grid.repeat
                grid.repeat = max(1, whole(_repeated(row), 1)) if "repeated" in row else 1
                continue
            if text:
                text = _in_one_line(text)
            elif "value" in look:
                text = _Cell({one(name): value for name, value in _VALUE.findall(look)}).text()
            if text:
                times = grid.repeat > 1 or "repeated" in look
                shown += [text] * (self._times(_repeated(look), grid.repeat) if times else 1)
        if shown:
            self._emit_shown(grid, shown)
        grid.row += grid.repeat - 1
        grid.repeat = 1

    def _emit_row(self, grid: _Grid) -> None:
        cells, grid.cells = grid.cells, []
        sheet = grid.name is not None
        if len(cells) == 1 and not sheet:
            for text, level in cells[0].texts:  # a frame around text, not a row of data
                self._text(text, level)
            return
        shown: list[str] = []
        for cell in cells:
            text = cell.text()
            if text:
                shown += [text] * self._times(cell.attributes.get(_COLUMNS), grid.repeat)
        if shown:
            self._emit_shown(grid, shown)

    def _emit_shown(self, grid: _Grid, shown: list[str]) -> None:
        sheet = grid.name is not None
        header = grid.header or grid.rows == 0
        grid.rows += 1
        text = CELL_SEPARATOR.join(shown)
        if len(self._grids) > 1 and self._grids[-2].cells:
            self._grids[-2].cells[-1].texts.append((text, 0))
            return
        place = _row_place(grid) if sheet else self._place()
        self._put(Block(text, "table_header" if header else "table_row", 0, place))

    def _times(self, declared: str | None, rows: int) -> int:
        """How often a cell is written out in its row, whatever its repeat count says."""
        if declared is None and rows == 1:
            return 1
        columns = max(1, whole(declared, 1))
        if columns * rows > 1:
            self._repeated += columns * rows
            if self._repeated > SHEET_REPEATED_CELLS:
                raise limit_reached(
                    "Repeated cells", self._repeated, SHEET_REPEATED_CELLS, "cells", SMALLER
                )
        return min(columns, SHEET_REPEAT_COLUMNS)


def _in_one_line(text: str) -> str:
    """The paragraphs of a cell, taken from XML as they are there."""
    if "<" in text or "&" in text:
        parts = map(tidy, map(unreferenced, text.split("</text:p><text:p>")))
        text = " ".join(filter(None, parts))
    elif text.isprintable() and "  " not in text:
        return text.strip()
    else:
        text = tidy(text)
    return text if text.isprintable() else " ".join(text.split())


def _repeated(tag: str) -> str | None:
    found = _REPEATED.search(tag)
    return found[1] if found else None


def _row_place(sheet: _Grid) -> Location:
    name, row = sheet.name or "Sheet", max(1, sheet.row)
    if sheet.repeat == 1:
        return Location("sheet", f"{name} row {row}", row, name)
    end = row + sheet.repeat - 1
    return Location("sheet", f"{name} rows {row} to {end}", row, name, end)


def _slide_order(item: Item | Embedded, number: int) -> bool:
    """Of the slide just ended, everything but its title comes later."""
    place = item.location if isinstance(item, (Block, Embedded)) else None
    here = place is not None and place.number == number
    return here and not (isinstance(item, Block) and item.kind == "heading")
