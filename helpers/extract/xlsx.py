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

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Notice
from helpers.extract.drawing import shape_texts
from helpers.extract.markup import Attributes, Scanner, severed, table, whole
from helpers.extract.number_format import Render, plain
from helpers.extract.opc import NAMESPACES, Package
from helpers.extract.outline import only_page_number
from helpers.extract.xlsx_book import (
    SharedStrings,
    Sheet,
    read_book,
    read_formats,
    read_strings,
    unescape,
)
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_TEXT_CHARS

_HELD_CHARS = 4 * OFFICE_BLOCK_CHARS  # code points of one row held before it is cut
_TITLE_ROWS = 3  # non-empty rows among which the column names may stand
_SHOWN = 20_000  # shared strings and cell styles remembered per sheet

_MARGINS = "s:oddHeader s:evenHeader s:firstHeader s:oddFooter s:evenFooter s:firstFooter"
_MARGIN_CODE = re.compile(r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d+|[A-Za-z]|&)')
_REFERENCE_ROW = re.compile(r"\$?[A-Za-z]{1,3}\$?(\d{1,7})")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: encrypted, corrupt, limit_reached, empty, unsupported.
    """
    yield from _Workbook(Package(Archive(file, ctx))).items()


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
        self._chars = 0

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
        for sheet in sheets:
            yield from self._sheet(sheet)

    def _sheet(self, sheet: Sheet) -> Iterator[Item]:
        if sheet.part not in self._package.archive:
            yield Notice("part_unread", f"The sheet {sheet.name!r} is missing from the file")
            return
        begun = False
        for item in self._sheet_items(sheet):
            if isinstance(item, Block):
                if not begun:
                    begun = True
                    place = Location("sheet", sheet.name, name=sheet.name)
                    yield Block(sheet.name or "Sheet", "heading", 1, place)
                self._chars += len(item.text)
                if self._chars > OFFICE_TEXT_CHARS:
                    what, unit = "Text", "code points"
                    raise limit_reached(what, self._chars, OFFICE_TEXT_CHARS, unit, SMALLER)
            yield item

    def _sheet_items(self, sheet: Sheet) -> Iterator[Item]:
        package = self._package
        related = package.relationships(sheet.part)
        headers: set[int] = set()
        for part in package.targets(related, "table"):
            headers |= _header_rows(package, part)
        rows = _Rows(sheet, self._strings, self._formats, headers)
        for _ in rows.scanner.scan(package.follow(sheet.part)):
            rows.relieve()
            yield from rows.found
            rows.found.clear()
        yield from rows.margins()
        try:
            for part in package.targets(related, "comments", "threadedComment"):
                yield from _comments(package, part, sheet)
            for part in package.targets(related, "drawing"):
                place = Location("sheet", f"{sheet.name} drawing", name=sheet.name)
                for text in shape_texts(package, part):
                    yield Block(text, location=place)
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield _unread_part(error)


class _Rows:
    """One sheet's cells as a stream. Feed `scanner`, then `relieve` and take `found` after
    each piece.
    """

    def __init__(
        self, sheet: Sheet, strings: SharedStrings, formats: list[Render], headers: set[int]
    ) -> None:
        self.found: list[Block] = []
        self._name = sheet.name
        self._strings = strings
        self._formats = formats
        self._headers = headers
        self._row = 0
        self._cells: list[str] = []
        self._text: list[str] = []
        self._rows = 0
        self._named = False
        self._margins: list[str] = []
        starts = table({_MARGINS: self._margin_start}, NAMESPACES)
        ends = table({"s:sheetData": self._leave, _MARGINS: self._margin_end}, NAMESPACES)
        for uri in NAMESPACES["s"]:
            starts[f"{uri} sheetData"] = functools.partial(self._enter, uri)
            starts[f"{uri} rPh"] = lambda _: self.scanner.skip()
        self.scanner = Scanner(sheet.part, starts, ends)

    def relieve(self) -> None:
        """Cut a cell or a row without end, so that memory stays flat."""
        if sum(map(len, self._text)) > _HELD_CHARS:
            text = severed(self._text).strip()
            if text:
                self._cells.append(text)
        if sum(map(len, self._cells)) + len(self._cells) > _HELD_CHARS:
            self._row_end()

    def margins(self) -> Iterator[Block]:
        """The print headers and footers, each text once."""
        place = Location("sheet", f"{self._name} header and footer", name=self._name)
        for text in dict.fromkeys(self._margins):
            yield Block(text, location=place)

    # --- cells ----------------------------------------------------------------------------

    def _enter(self, uri: str, attributes: Attributes) -> None:
        """The cells begin: they come by the million, so they have handlers of their own."""
        self.scanner.collect(self._text.append)
        usual_start, usual_end = self.scanner.take_over()
        value, text, cell, row = (f"{uri} {word}" for word in ("v", "t", "c", "row"))
        collected, cells = self._text, self._cells
        clear, add = collected.clear, cells.append
        shared: dict[str, str] = {}
        renders: dict[str | None, Render] = {}
        runs: list[str] = []
        kind: str | None = None
        style: str | None = None

        def start(name: str, attributes: Attributes) -> None:
            nonlocal kind, style
            if name == value:
                clear()
            elif name == cell:
                kind = attributes.get("t")
                style = attributes.get("s")
            elif name == row:
                number = attributes.get("r")
                self._row = self._row + 1 if number is None else whole(number, self._row + 1)
            elif name == text:
                clear()
            else:
                usual_start(name, attributes)

        def end(name: str) -> None:
            if name == value:
                raw = collected[0] if len(collected) == 1 else "".join(collected)
                clear()
                if kind == "s":
                    shown = shared.get(raw)
                    if shown is None:
                        shown = _in_one_line(self._strings[whole(raw, -1)])
                        if len(shared) < _SHOWN:
                            shared[raw] = shown
                elif kind is None or kind == "n":
                    render = renders.get(style)
                    if render is None:
                        render = self._render(style)
                        if len(renders) < _SHOWN:
                            renders[style] = render
                    shown = render(raw)
                else:
                    shown = _typed(raw, kind)
                if shown:
                    add(shown)
            elif name == text:
                runs.append("".join(collected))
                clear()
            elif name == cell:
                if runs:
                    shown = _in_one_line(unescape("".join(runs)))
                    runs.clear()
                    if shown:
                        add(shown)
            elif name == row:
                if cells:
                    self._row_end()
            else:
                usual_end(name)

        self.scanner.take_over(start, end)

    def _leave(self) -> None:
        self.scanner.take_over()
        self.scanner.collect(None)
        self._text.clear()

    def _render(self, style: str | None) -> Render:
        index = whole(style, -1)
        return self._formats[index] if 0 <= index < len(self._formats) else plain

    def _row_end(self) -> None:
        cells = self._cells
        number, name = self._row, self._name
        settled = self._rows > _TITLE_ROWS and number not in self._headers
        kind = "table_row" if settled or not self._is_header(len(cells)) else "table_header"
        place = Location("sheet", f"{name} row {number}", number, name)
        self.found.append(Block(CELL_SEPARATOR.join(cells), kind, 0, place))
        cells.clear()

    def _is_header(self, cells: int) -> bool:
        """The first row; after a title of one cell, the row of column names below it too."""
        self._rows += 1
        if self._row in self._headers or self._rows == 1:
            self._named = cells > 1
            return True
        if self._named or cells == 1 or self._rows > _TITLE_ROWS:
            return False
        self._named = True
        return True

    # --- print headers ----------------------------------------------------------------------

    def _margin_start(self, attributes: Attributes) -> None:
        self.scanner.collect(self._text.append)

    def _margin_end(self) -> None:
        self.scanner.collect(None)
        coded = unescape("".join(self._text))
        self._text.clear()
        text = " ".join(_MARGIN_CODE.sub(_margin_letter, coded).split())
        if not only_page_number(text):
            self._margins.append(text)


def _in_one_line(text: str) -> str:
    """A cell's text inside a row; `isprintable` is false for every kind of line break."""
    return text.strip() if text.isprintable() else " ".join(text.split())


def _typed(raw: str, kind: str) -> str:
    """A cell that is neither number nor shared string: boolean, error, formula's text, date."""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(raw.strip(), raw.strip())
    return _in_one_line(unescape(raw))


def _margin_letter(match: re.Match[str]) -> str:
    """Print headers hold codes: &L &C &R begin a part, && is a letter, &P a page number …"""
    code = match[0]
    return "&" if code == "&&" else " " if code in ("&L", "&C", "&R") else ""


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


def _comments(package: Package, part: str, sheet: Sheet) -> Iterator[Block]:
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
            label = f"{sheet.name} row {row}"
            found.append(Block(text, location=Location("sheet", label, row or None, sheet.name)))

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
