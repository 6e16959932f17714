"""Excel workbooks (.xlsx, .xlsm): the cells that are there, row by row, sheet by sheet.

Promises: every non-empty row gives one block located by sheet and row, whatever gaps lie
between; only cells present in the file are visited, so a formatted cell in the last row costs
nothing; numbers, dates and percentages read as they are shown; hidden sheets, comments, print
headers, text boxes and chart names are read; formulas give the value they had when saved.
Does not: calculate, run macros, or read the pictures and files inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Notice
from helpers.extract.drawing import shape_texts
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, severed, table, whole
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
_SHOWN = 20_000  # numbers whose shown form is remembered per style

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
    """One sheet's cells as a stream. Feed `scanner`, then take `found` after each piece."""

    def __init__(
        self, sheet: Sheet, strings: SharedStrings, formats: list[Render], headers: set[int]
    ) -> None:
        self.found: list[Block] = []
        self._name = sheet.name
        self._strings = strings
        self._formats = formats
        self._headers = headers
        self._shown: list[dict[str, str]] = [{} for _ in formats]
        self._row = 0
        self._row_cells: list[str] = []
        self._text: list[str] = []
        self._type: str | None = None
        self._style: str | None = None
        self._rows = 0
        self._named = False
        self._margins: list[str] = []
        self.scanner = Scanner(
            sheet.part, table(self._starts(), NAMESPACES), table(self._ends(), NAMESPACES)
        )
        self._collect = self.scanner.collect
        self._append = self._text.append

    def _starts(self) -> dict[str, OnStart]:
        return {
            "s:row": self._row_start,
            "s:c": self._cell_start,
            "s:v s:t": self._value_start,
            "s:rPh": lambda _: self.scanner.skip(),
            "s:oddHeader s:evenHeader s:firstHeader": self._value_start,
            "s:oddFooter s:evenFooter s:firstFooter": self._value_start,
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "s:row": self._row_end,
            "s:c": self._cell_end,
            "s:v s:t": self._value_end,
            "s:oddHeader s:evenHeader s:firstHeader": self._margin_end,
            "s:oddFooter s:evenFooter s:firstFooter": self._margin_end,
        }

    def relieve(self) -> None:
        """Cut a row without end, so that memory stays flat."""
        if sum(map(len, self._text)) > _HELD_CHARS:
            self._row_cells.append(severed(self._text).strip())
        if sum(map(len, self._row_cells)) + len(self._row_cells) > _HELD_CHARS:
            self._row_end()

    def margins(self) -> Iterator[Block]:
        """The print headers and footers, each text once."""
        place = Location("sheet", f"{self._name} header and footer", name=self._name)
        for text in dict.fromkeys(self._margins):
            yield Block(text, location=place)

    def _row_start(self, attributes: Attributes) -> None:
        number = attributes.get("r")
        self._row = self._row + 1 if number is None else whole(number, self._row + 1)

    def _cell_start(self, attributes: Attributes) -> None:
        self._type = attributes.get("t")
        self._style = attributes.get("s")

    def _value_start(self, attributes: Attributes) -> None:
        self._collect(self._append)

    def _value_end(self) -> None:
        self._collect(None)

    def _cell_end(self) -> None:
        if not self._text:
            return
        raw = "".join(self._text)
        self._text.clear()
        kind = self._type
        if kind == "s":
            text = self._strings[whole(raw, -1)]
        elif kind is None or kind == "n":
            text = self._number(raw)
        elif kind == "b":
            text = {"1": "TRUE", "0": "FALSE"}.get(raw.strip(), raw)
        else:
            text = unescape(raw)
        text = text.strip()
        if "\n" in text:
            text = " ".join(text.split())
        if text:
            self._row_cells.append(text)

    def _number(self, raw: str) -> str:
        style = whole(self._style, -1)
        if not 0 <= style < len(self._formats):
            return plain(raw)
        shown = self._shown[style]
        text = shown.get(raw)
        if text is None:
            text = self._formats[style](raw)
            if len(shown) < _SHOWN:
                shown[raw] = text
        return text

    def _row_end(self) -> None:
        cells = self._row_cells
        if not cells:
            return
        place = Location("sheet", f"{self._name} row {self._row}", self._row, self._name)
        header = self._is_header(len(cells))
        kind = "table_header" if header else "table_row"
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

    def _margin_end(self) -> None:
        self._collect(None)
        coded = unescape("".join(self._text))
        self._text.clear()
        text = " ".join(_MARGIN_CODE.sub(_margin_letter, coded).split())
        if not only_page_number(text):
            self._margins.append(text)


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
