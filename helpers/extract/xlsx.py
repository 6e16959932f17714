"""Excel workbooks (.xlsx, .xlsm): the cells that are there, row by row, sheet by sheet.

Promises: every non-empty row gives one block located by sheet and row, whatever gaps lie
between; only cells present in the file are visited, so a formatted cell in the last row costs
nothing; numbers, dates and percentages read as they are shown; hidden sheets, comments, print
headers, text boxes and chart names are read; formulas give the value they had when saved.
Does not: calculate, run macros, or read the pictures and files inside.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread
from helpers.extract.archive import Archive
from helpers.extract.blocks import Block, Context, Item, Notice
from helpers.extract.drawing import shape_texts
from helpers.extract.embedded import embedded
from helpers.extract.markup import Attributes, Scanner, severed, table, unreferenced, whole
from helpers.extract.number_format import Render, plain
from helpers.extract.opc import NAMESPACES, Package
from helpers.extract.regular_rows import WORKBOOK, Found, apart
from helpers.extract.sheets import (
    HELD_CHARS,
    SheetRows,
    Told,
    comment,
    drawing,
    in_one_line,
    margin_text,
    margins,
)
from helpers.extract.xlsx_book import (
    SharedStrings,
    Sheet,
    read_book,
    read_formats,
    read_strings,
    unescape,
)
from helpers.limits import OFFICE_BLOCK_CHARS

_SHOWN = 20_000  # shared strings and looks of cells remembered per sheet

_MARGINS = "s:oddHeader s:evenHeader s:firstHeader s:oddFooter s:evenFooter s:firstFooter"
_ATTRIBUTE = re.compile(r'\s([\w:]+)="([^"]*)"')
_REFERENCE_ROW = re.compile(r"\$?[A-Za-z]{1,3}\$?(\d{1,7})")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: encrypted, corrupt, limit_reached, empty, unsupported.
    """
    archive = Archive(file, ctx)
    package = Package(archive)
    yield from _Workbook(package).items()
    yield from embedded(archive, package, ctx)


class _Workbook:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main_part("xl/workbook.xml")
        if self._main.endswith(".bin"):
            raise Unread(
                "unsupported", "The file is a binary workbook (.xlsb)", "Save it as .xlsx."
            )
        self._related = package.relationships(self._main)
        self._strings = SharedStrings()
        self._formats: list[Render] = []

    def items(self) -> Iterator[Item]:
        package = self._package
        yield package.metadata()
        sheets, epoch_1904 = read_book(self._main, package.follow(self._main), self._related)
        for part in package.targets(self._related, "styles"):
            try:
                self._formats = read_formats(part, package.follow(part), epoch_1904)
            except Unread as error:
                yield _unread_part(error)
        for part in package.targets(self._related, "sharedStrings"):
            self._strings = read_strings(part, package.follow(part))
        told = Told()
        for sheet in sheets:
            if sheet.part in package.archive:
                yield from told.sheet(sheet.name, self._sheet_items(sheet))
            else:
                message = f"The sheet {sheet.name!r} is missing from the file"
                yield Notice("part_unread", message)

    def _sheet_items(self, sheet: Sheet) -> Iterator[Item]:
        package = self._package
        related = package.relationships(sheet.part)
        headers: set[int] = set()
        for part in package.targets(related, "table"):
            headers |= _header_rows(package, part)
        rows = SheetRows(sheet.name, headers)
        cells = _Cells(sheet.part, rows, self._strings, self._formats)
        pieces = apart(package.follow(sheet.part), WORKBOOK, cells.among_rows, cells.take)
        for _ in cells.scanner.scan(pieces):
            cells.relieve()
            yield from rows.found
            rows.found.clear()
        yield from margins(sheet.name, cells.margins)
        try:
            for part in package.targets(related, "comments", "threadedComment"):
                yield from comments(package, part, sheet)
            for part in package.targets(related, "drawing"):
                for text in shape_texts(package, part):
                    yield drawing(sheet.name, text)
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield _unread_part(error)


class _Shared(dict[str, str]):
    """Shared strings as a sheet shows them, by their number as the file writes it."""

    def __init__(self, strings: SharedStrings) -> None:
        self._strings = strings

    def __missing__(self, raw: str) -> str:
        text = self._strings[int(raw) if raw.isdigit() and len(raw) < 10 else whole(raw, -1)]
        if len(self) < _SHOWN:
            self[raw] = text
        return text


class _Shows(dict[tuple[str | None, str | None], Render]):
    """How the value of a cell is shown, by the cell's kind and style."""

    def __init__(self, strings: SharedStrings, formats: list[Render]) -> None:
        self._shared: Render = _Shared(strings).__getitem__
        self._formats = formats

    def __missing__(self, key: tuple[str | None, str | None]) -> Render:
        kind, style = key
        index = whole(style, -1)
        show = self._formats[index] if 0 <= index < len(self._formats) else plain
        if kind == "s":
            show = self._shared
        elif kind is not None and kind != "n":
            show = functools.partial(_typed, kind)
        if len(self) < _SHOWN:
            self[key] = show
        return show


class _Looks(dict[str, Render]):
    """The same by the cell's attributes as the file writes them; texts are still as in XML."""

    def __init__(self, shows: _Shows) -> None:
        self.shows = shows

    def __missing__(self, look: str) -> Render:
        attributes = dict(_ATTRIBUTE.findall(look))
        kind = attributes.get("t")
        show = self.shows[kind, attributes.get("s")]
        if kind is not None and kind not in ("s", "n"):
            show = functools.partial(_typed_reference, kind)
        if len(self) < _SHOWN:
            self[look] = show
        return show


class _Cells:
    """One sheet's cells as a stream. Feed `scanner`, then `relieve` and take what `rows` found
    after each piece; `margins` are complete at the end.
    """

    def __init__(
        self, part: str, rows: SheetRows, strings: SharedStrings, formats: list[Render]
    ) -> None:
        self.margins: list[str] = []
        self._rows = rows
        self._looks = _Looks(_Shows(strings, formats))
        self._row = 0
        self._cells: list[str] = []
        self._text: list[str] = []
        self._rows_begun = self._in_row = False
        starts = table({_MARGINS: self._margin_start}, NAMESPACES)
        ends = table({"s:sheetData": self._leave, _MARGINS: self._margin_end}, NAMESPACES)
        for uri in NAMESPACES["s"]:
            starts[f"{uri} sheetData"] = functools.partial(self._enter, uri)
            starts[f"{uri} rPh"] = lambda _: self.scanner.skip()
        self.scanner = Scanner(part, starts, ends)

    def relieve(self) -> None:
        """Cut a cell or a row without end, so that memory stays flat."""
        if sum(map(len, self._text)) > HELD_CHARS:
            text = severed(self._text).strip()
            if text:
                self._cells.append(text)
        if sum(map(len, self._cells)) + len(self._cells) > HELD_CHARS:
            self._row_end()

    # --- cells ----------------------------------------------------------------------------

    def among_rows(self) -> bool:
        """Whether the scanner stands among the rows, not in one."""
        return self._rows_begun and not (self._in_row or self.scanner.pending)

    def take(self, found: Found) -> None:
        """Rows that did not go through the scanner."""
        cells, looks = self._cells, self._looks
        add, row_end = cells.append, self._row_end
        for look, value, row in found:
            if row:
                if cells:
                    row_end()
                self._row = int(row)
            elif value:
                shown = looks[look](value)
                if shown:
                    add(shown)
        if cells:
            row_end()

    def _enter(self, uri: str, attributes: Attributes) -> None:
        """The cells begin: they come by the million, so they have handlers of their own."""
        self._rows_begun = True
        self.scanner.collect(self._text.append)
        usual_start, usual_end = self.scanner.take_over()
        value, text, cell, row = (f"{uri} {word}" for word in ("v", "t", "c", "row"))
        collected, cells = self._text, self._cells
        clear, add = collected.clear, cells.append
        shows = self._looks.shows
        runs: list[str] = []
        show: Render = plain

        def start(name: str, attributes: Attributes) -> None:
            nonlocal show
            if name == value:
                clear()
            elif name == cell:
                show = shows[attributes.get("t"), attributes.get("s")]
            elif name == row:
                number = attributes.get("r")
                self._row = self._row + 1 if number is None else whole(number, self._row + 1)
                self._in_row = True
            elif name == text:
                clear()
            else:
                usual_start(name, attributes)

        def end(name: str) -> None:
            if name == value:
                shown = show(collected[0] if len(collected) == 1 else "".join(collected))
                clear()
                if shown:
                    add(shown)
            elif name == text:
                runs.append("".join(collected))
                clear()
            elif name == cell:
                if runs:
                    shown = in_one_line(unescape("".join(runs)))
                    runs.clear()
                    if shown:
                        add(shown)
            elif name == row:
                self._in_row = False
                if cells:
                    self._row_end()
            else:
                usual_end(name)

        self.scanner.take_over(start, end)

    def _leave(self) -> None:
        self._rows_begun = False
        self.scanner.take_over()
        self.scanner.collect(None)
        self._text.clear()

    def _row_end(self) -> None:
        self._rows.put(self._row, self._cells)
        self._cells.clear()

    # --- print headers ----------------------------------------------------------------------

    def _margin_start(self, attributes: Attributes) -> None:
        self.scanner.collect(self._text.append)

    def _margin_end(self) -> None:
        self.scanner.collect(None)
        coded = unescape("".join(self._text))
        self._text.clear()
        text = margin_text(coded)
        if text:
            self.margins.append(text)


def _typed(kind: str, raw: str) -> str:
    """A cell that is neither number nor shared string: boolean, error, formula's text, date."""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(raw.strip(), raw.strip())
    return in_one_line(unescape(raw))


def _typed_reference(kind: str, raw: str) -> str:
    return _typed(kind, unreferenced(raw))


def _header_rows(package: Package, part: str) -> set[int]:
    """The row of column names of a table part, as its range tells."""
    found: set[int] = set()

    def root(attributes: Attributes) -> None:
        match = _REFERENCE_ROW.match(attributes.get("ref", ""))
        if match and attributes.get("headerRowCount", "1") != "0":
            found.add(int(match[1]))

    try:
        Scanner(part, table({"s:table": root}, NAMESPACES)).run(package.follow(part))
    except Unread as error:
        if error.code != "corrupt":
            raise
    return found


def comments(package: Package, part: str, sheet: Sheet) -> Iterator[Block]:
    """Notes and threaded comments, located at the row of their cell."""
    found: list[Block] = []
    parts: list[str] = []
    row = 0

    def begin(attributes: Attributes) -> None:
        nonlocal row
        match = _REFERENCE_ROW.match(attributes.get("ref", ""))
        row = int(match[1]) if match else 0

    def complete() -> None:
        text = unescape("".join(parts)).strip()
        parts.clear()
        if text and not text.startswith("[Threaded comment]"):
            found.append(comment(sheet.name, row, text))

    scanner: Scanner
    starts = {
        "s:comment tc:threadedComment": begin,
        "s:t tc:text": lambda _: scanner.collect(parts.append),
        "s:rPh": lambda _: scanner.skip(),
    }
    ends = {
        "s:t tc:text": lambda: scanner.collect(None),
        "s:comment tc:threadedComment": complete,
    }
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))
    for _ in scanner.scan(package.follow(part)):
        if sum(map(len, parts)) > OFFICE_BLOCK_CHARS:
            complete()
        yield from found
        found.clear()


def _unread_part(error: Unread) -> Notice:
    return Notice("part_unread", error.reason)
