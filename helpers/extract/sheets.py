"""How every workbook reader shows a sheet: its heading, rows, comments, margins and drawings.

Promises: the same look whatever the file's format; a row is located by sheet and row number;
column names are told by where they stand.
Does not: read any file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from operator import attrgetter

from helpers.errors import limit_reached
from helpers.extract import quick
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import CELL_SEPARATOR, Block, Item, Location
from helpers.extract.outline import only_page_number
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_TEXT_CHARS

HELD_CHARS = 4 * OFFICE_BLOCK_CHARS  # code points of one row held before it is cut
TITLE_ROWS = 3  # non-empty rows among which the column names may stand

_TEXT = attrgetter("text")
_MARGIN_CODE = re.compile(r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d+|[A-Za-z]|&)')


class SheetRows:
    """The rows of one sheet become blocks; `headers` are the numbers of rows known to hold
    column names.
    """

    def __init__(self, name: str, headers: Iterable[int] = ()) -> None:
        self.name = name
        self.found: list[Block] = []
        self._headers = set(headers)
        self._rows = 0
        self._named = False

    def put(self, number: int, cells: list[str]) -> None:
        """A row of non-empty texts, `number` counted from 1; adds to `found`."""
        settled = self._rows > TITLE_ROWS and number not in self._headers
        kind = "table_row" if settled or not self._is_header(number, len(cells)) else "table_header"
        self.found.append(quick.row(CELL_SEPARATOR.join(cells), kind, self.name, number))

    @property
    def settled(self) -> bool:
        """Whether none of the rows to come holds column names."""
        return self._rows > TITLE_ROWS and not self._headers

    def put_all(self, numbers: Iterable[int], texts: Iterable[str]) -> None:
        """Rows when settled, their cells joined."""
        self.found += map(quick.row, texts, repeat("table_row"), repeat(self.name), numbers)

    def _is_header(self, number: int, cells: int) -> bool:
        """The first row; after a title of one cell, the row of column names below it too."""
        self._rows += 1
        if number in self._headers or self._rows == 1:
            self._named = cells > 1
            return True
        if self._named or cells == 1 or self._rows > TITLE_ROWS:
            return False
        self._named = True
        return True


class Told:
    """Puts a sheet's name in front of its first block, and counts the text of a workbook.

    Raises Unread limit_reached beyond OFFICE_TEXT_CHARS.
    """

    def __init__(self) -> None:
        self._chars = 0

    def sheet(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """The items of one sheet, its heading before the first block."""
        begun = False
        for item in items:
            if isinstance(item, Block):
                if not begun:
                    begun = True
                    yield _heading(name)
                self._count(len(item.text))
            yield item

    def pieces(self, name: str, pieces: Iterable[list[Block]]) -> Iterator[Item]:
        """The same of a sheet whose blocks come many at a time: a third of the cost."""
        begun = False
        for piece in pieces:
            self._count(sum(map(len, map(_TEXT, piece))))
            if piece and not begun:
                begun = True
                yield _heading(name)
            yield from piece

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > OFFICE_TEXT_CHARS:
            what, unit = "Text", "code points"
            raise limit_reached(what, self._chars, OFFICE_TEXT_CHARS, unit, SMALLER)


def _heading(name: str) -> Block:
    return Block(name or "Sheet", "heading", 1, Location("sheet", name, name=name))


def comment(name: str, row: int, text: str) -> Block:
    """A cell's note; `row` is 0 where it is not known."""
    return Block(text, location=Location("sheet", f"{name} row {row}", row or None, name))


def drawing(name: str, text: str) -> Block:
    """Text of a shape or chart on the sheet."""
    return Block(text, location=Location("sheet", f"{name} drawing", name=name))


def margins(name: str, texts: Iterable[str]) -> Iterator[Block]:
    """The print headers and footers, each text once."""
    place = Location("sheet", f"{name} header and footer", name=name)
    for text in dict.fromkeys(texts):
        yield Block(text, location=place)


def margin_text(coded: str) -> str:
    """A print header without its codes; "" where it says nothing but a page number."""
    text = " ".join(_MARGIN_CODE.sub(_margin_letter, coded).split())
    return "" if only_page_number(text) else text


def in_one_line(text: str) -> str:
    """A cell's text inside a row; `isprintable` is false for every kind of line break."""
    return text.strip() if text.isprintable() else " ".join(text.split())


def _margin_letter(match: re.Match[str]) -> str:
    """Print headers hold codes: &L &C &R begin a part, && is a letter, &P a page number …"""
    code = match[0]
    return "&" if code == "&&" else " " if code in ("&L", "&C", "&R") else ""
