"""Tables of an OpenDocument file, and the sheets of a spreadsheet: cells in, rows out.

Promises: rows and cells that a sheet repeats a million times cost one block; a table around text
is no table; a row without end is cut. Does not: know elements or text; `odf_body` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from helpers.errors import limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import CELL_SEPARATOR, Block, Location
from helpers.extract.markup import Attributes, OnEnd, OnStart, unreferenced, whole
from helpers.extract.odf_text import TextFrames, one, tidy
from helpers.extract.regular_rows import Found
from helpers.limits import OFFICE_BLOCK_CHARS, SHEET_REPEAT_COLUMNS, SHEET_REPEATED_CELLS

_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one row held before it is cut
_ROW_CELLS = 20_000  # filled cells of one row held before it is cut

_NAME = one("table:name")
_ROWS = one("table:number-rows-repeated")
_COLUMNS = one("table:number-columns-repeated")
_VALUES = tuple(
    one(f"office:{kind}")
    for kind in ("string-value", "date-value", "time-value", "boolean-value", "value")
)
_REPEATED = re.compile(r'\stable:number-(?:rows|columns)-repeated="(\d+)"')
_VALUE = re.compile(r'\s(office:(?:string-|date-|time-|boolean-)?value)="([^"<&]*)"')


@dataclass(slots=True)
class Cell:
    """An open cell: its paragraphs so far, and the level of each."""

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
class Grid:
    """An open table; only a sheet has a name."""

    name: str | None
    row: int = 0
    rows: int = 0
    repeat: int = 1
    header: bool = False
    begun: bool = False
    in_row: bool = False
    cells: list[Cell] = field(default_factory=list)

    def place(self) -> Location:
        """Where the present row of a sheet stands, or what is drawn on it."""
        if not self.cells:
            return Location("sheet", f"{self.name} drawing", name=self.name)
        return self.row_place()

    def row_place(self) -> Location:
        name, row = self.name or "Sheet", max(1, self.row)
        if self.repeat == 1:
            return Location("sheet", f"{name} row {row}", row, name)
        end = row + self.repeat - 1
        return Location("sheet", f"{name} rows {row} to {end}", row, name, end)

    def heading(self) -> Block:
        """What stands before the first row of a sheet."""
        self.begun = True
        name = self.name or "Sheet"
        return Block(name, "heading", 1, Location("sheet", name, name=name))


class Tables:
    """The open tables, the outermost first.

    `put` gets the rows, `text` what turns out to stand in no table, with its level; `place` tells
    where a row of a table stands that is no sheet.
    """

    def __init__(
        self,
        frames: TextFrames,
        put: Callable[[Block], None],
        text: Callable[[str, int], None],
        place: Callable[[], Location],
    ) -> None:
        self.grids: list[Grid] = []
        self.sheets = False  # whether the outermost tables are sheets
        self._frames = frames
        self._put, self._text, self._place = put, text, place
        self._repeated = 0

    def starts(self) -> dict[str, OnStart]:
        return {
            "table:table": self._table,
            "table:table-header-rows": lambda _: self._header_rows(True),
            "table:table-row": self._row,
            "table:table-cell": self.cell,
        }

    def ends(self) -> dict[str, OnEnd]:
        return {
            "table:table": self._table_end,
            "table:table-header-rows": lambda: self._header_rows(False),
            "table:table-row": self._row_end,
        }

    def relieve(self) -> None:
        """Cut a row without end."""
        for grid in self.grids:
            held = sum(len(text) for cell in grid.cells for text, _ in cell.texts)
            if held > _HELD_CHARS or len(grid.cells) > _ROW_CELLS:
                self._emit_row(grid)

    def among_rows(self) -> bool:
        """Whether the last tag was one between two rows of a sheet."""
        return self.sheets and len(self.grids) == 1 and not self.grids[0].in_row

    def take(self, found: Found) -> None:
        """Rows of a sheet that did not go through the parser."""
        grid = self.grids[0]
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
                text = Cell({one(name): value for name, value in _VALUE.findall(look)}).text()
            if text:
                times = grid.repeat > 1 or "repeated" in look
                shown += [text] * (self._times(_repeated(look), grid.repeat) if times else 1)
        if shown:
            self._emit_shown(grid, shown)
        grid.row += grid.repeat - 1
        grid.repeat = 1

    # --- what elements do ---------------------------------------------------------------

    def _table(self, attributes: Attributes) -> None:
        if self.sheets and not self.grids:
            self.grids.append(Grid(attributes.get(_NAME, "")))
        else:
            self.grids.append(Grid(None))
            self._frames.pause()

    def _table_end(self) -> None:
        if self.grids and self.grids.pop().name is None:
            self._frames.resume()

    def _header_rows(self, inside: bool) -> None:
        if self.grids:
            self.grids[-1].header = inside

    def _row(self, attributes: Attributes) -> None:
        if self.grids:
            grid = self.grids[-1]
            grid.row += 1
            grid.repeat = max(1, whole(attributes[_ROWS], 1)) if _ROWS in attributes else 1
            grid.cells = []
            grid.in_row = True

    def cell(self, attributes: Attributes) -> None:
        if self.grids:
            self.grids[-1].cells.append(Cell(attributes))

    def _row_end(self) -> None:
        if self.grids:
            grid = self.grids[-1]
            self._emit_row(grid)
            grid.row += grid.repeat - 1
            grid.in_row = False

    # --- rows -----------------------------------------------------------------------------

    def _emit_row(self, grid: Grid) -> None:
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

    def _emit_shown(self, grid: Grid, shown: list[str]) -> None:
        header = grid.header or grid.rows == 0
        grid.rows += 1
        text = CELL_SEPARATOR.join(shown)
        if len(self.grids) > 1 and self.grids[-2].cells:
            self.grids[-2].cells[-1].texts.append((text, 0))
            return
        place = self._place() if grid.name is None else grid.row_place()
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
