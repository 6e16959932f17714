"""Binary Excel workbooks (.xlsb): the parts of an .xlsx as records instead of XML.

Source: [MS-XLSB] 2.1.4 (records), 2.1.7 (parts), 2.4 (their contents).
Promises: the same look as .xlsx: rows located by sheet and number, numbers and dates as they are
shown, hidden sheets, comments, print headers, text boxes and chart names; memory stays at one
piece of a part and one row.
Does not: calculate, run macros, or read the pictures and files inside.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import RESAVE, SMALLER, Archive
from helpers.extract.blocks import Block, Context, Item, Notice
from helpers.extract.codepages import WIDE
from helpers.extract.drawing import shape_texts
from helpers.extract.number_format import BUILT_IN, number_renderer
from helpers.extract.number_quick import Show
from helpers.extract.opc import Package, Relationship
from helpers.extract.remembered import remembered
from helpers.extract.sheets import (
    SheetRows,
    Told,
    comment,
    drawing,
    in_one_line,
    margin_text,
    margins,
)
from helpers.extract.xls_numbers import packed_shown_plainly, shown_packed, shown_plainly
from helpers.extract.xls_sheet import ERRORS
from helpers.extract.xlsx import comments as threaded_comments
from helpers.extract.xlsx_book import SharedStrings, Sheet
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_RELATED_PARTS

RECORD_BYTES = 1 << 24  # bytes of one record; a longer one is damage

_STYLES = 100_000  # cell styles of one workbook that are looked at; Excel allows 65,490
_ROW, _LAST_CELL, _RICH_CELL, _SHORT_CELLS = 0, 11, 62, range(12, 19)
_SHARED, _STRING = 7, 6
_SHARED_ITEM, _FORMAT, _LOOK, _BEGIN_LOOKS, _END_LOOKS = 19, 44, 47, 617, 618
_BOOK_PROPERTIES, _BUNDLE_SHEET, _MARGINS, _TABLE = 153, 156, 479, 660
_COMMENT, _COMMENT_TEXT = 635, 637


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: encrypted, corrupt, limit_reached, empty.
    """
    yield from _Workbook(Package(Archive(file, ctx))).items()


class _Workbook:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main_part("xl/workbook.bin")
        self._related = package.relationships(self._main)
        self._strings = SharedStrings()
        self._shows: list[Show] = []
        self._packed: list[Show] = []

    def items(self) -> Iterator[Item]:
        package = self._package
        yield package.metadata()
        sheets, epoch_1904 = _read_book(package.follow(self._main), self._related)
        for part in package.targets(self._related, "styles"):
            looks = _read_looks(package.follow(part), epoch_1904)
            known = {show: (remembered(show), shown_packed(show)) for show in set(looks)}
            self._shows = [known[show][0] for show in looks]
            self._packed = [known[show][1] for show in looks]
        for part in package.targets(self._related, "sharedStrings"):
            self._strings = _read_strings(package.follow(part))
        told = Told()
        for sheet in sheets:
            if sheet.part in package.archive:
                yield from told.sheet(sheet.name, self._sheet(sheet))
            else:
                message = f"The sheet {sheet.name!r} is missing from the file"
                yield Notice("part_unread", message)

    def _sheet(self, sheet: Sheet) -> Iterator[Item]:
        package = self._package
        related = package.relationships(sheet.part)
        headers: set[int] = set()
        for part in package.targets(related, "table"):
            headers |= _header_rows(package.follow(part))
        rows = SheetRows(sheet.name, headers)
        cells = _Cells(rows, self._strings, self._shows, self._packed)
        for records in _batches(package.follow(sheet.part)):
            cells.take(records)
            yield from rows.found
            rows.found.clear()
        cells.end()
        yield from rows.found
        yield from margins(sheet.name, cells.margins)
        try:
            for part in package.targets(related, "comments"):
                yield from _comments(package.follow(part), sheet.name)
            for part in package.targets(related, "threadedComment"):
                yield from threaded_comments(package, part, sheet)
            for part in package.targets(related, "drawing"):
                for text in shape_texts(package, part):
                    yield drawing(sheet.name, text)
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield Notice("part_unread", error.reason)


# --- records ----------------------------------------------------------------------------------


def _batches(pieces: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    """The records that each piece completes. Raises Unread limit_reached, corrupt."""
    rest = b""
    for piece in pieces:
        data = rest + piece if rest else piece
        found, at = _complete(data)
        rest = data[at:]
        yield found
    if rest:
        raise Unread("corrupt", "A part of the workbook is cut off within a record", RESAVE)


def _complete(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """(kind, body) of the complete records, and where the first incomplete one begins."""
    found: list[tuple[int, bytes]] = []
    at, size = 0, len(data)
    try:
        while at < size:
            kind, here = data[at], at + 1
            if kind & 0x80:
                kind = (kind & 0x7F) | (data[here] & 0x7F) << 7
                here += 1
            length = data[here]
            here += 1
            if length & 0x80:
                length, shift, more = length & 0x7F, 7, True
                while more and shift < 28:
                    value = data[here]
                    length |= (value & 0x7F) << shift
                    more, shift, here = bool(value & 0x80), shift + 7, here + 1
                if length > RECORD_BYTES:
                    what = "One record of the workbook"
                    raise limit_reached(what, length, RECORD_BYTES, "bytes", RESAVE)
            end = here + length
            if end > size:
                break
            found.append((kind, data[here:end]))
            at = end
    except IndexError:
        pass
    return found, at


def _text(body: bytes, at: int) -> str:
    """A text with its count of four bytes; "" where there is none."""
    count = int.from_bytes(body[at : at + 4], "little")
    if count == 0xFFFFFFFF:
        return ""
    return body[at + 4 : at + 4 + 2 * count].decode(WIDE, "replace")


def _after(body: bytes, at: int) -> int:
    """Where the text at `at` ends."""
    count = int.from_bytes(body[at : at + 4], "little")
    return at + 4 + (0 if count == 0xFFFFFFFF else 2 * count)


def _records(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for batch in _batches(pieces):
        yield from batch


# --- parts ------------------------------------------------------------------------------------


def _read_book(
    pieces: Iterable[bytes], related: dict[str, Relationship]
) -> tuple[list[Sheet], bool]:
    """The sheets in tab order, hidden ones included, and whether dates count from 1904."""
    sheets: list[Sheet] = []
    epoch_1904 = False
    for kind, body in _records(pieces):
        if kind == _BOOK_PROPERTIES:
            epoch_1904 = bool(body[:1] and body[0] & 1)
        elif kind == _BUNDLE_SHEET:
            arrow = related.get(_text(body, 8))
            if arrow is not None:
                sheets.append(Sheet(_text(body, _after(body, 8)), arrow.target))
            if len(sheets) > OFFICE_RELATED_PARTS:
                count = len(sheets)
                raise limit_reached("Sheets", count, OFFICE_RELATED_PARTS, "sheets", SMALLER)
    return sheets, epoch_1904


def _read_looks(pieces: Iterable[bytes], epoch_1904: bool) -> list[Show]:
    """How the cells of each style show a number, by style index."""
    codes: dict[int, str] = {}
    cells: list[int] = []
    inside = False
    for kind, body in _records(pieces):
        if kind == _FORMAT and len(codes) < _STYLES:
            codes[int.from_bytes(body[:2], "little")] = _text(body, 2)
        elif kind in (_BEGIN_LOOKS, _END_LOOKS):
            inside = kind == _BEGIN_LOOKS
        elif kind == _LOOK and inside and len(cells) < _STYLES:
            cells.append(int.from_bytes(body[2:4], "little"))
    known: dict[int, Show] = {}
    for number in set(cells):
        code = codes.get(number, BUILT_IN.get(number, "General"))
        known[number] = number_renderer(code, epoch_1904)
    return [known[number] for number in cells]


def _read_strings(pieces: Iterable[bytes]) -> SharedStrings:
    strings = SharedStrings()
    for batch in _batches(pieces):
        strings.extend(_text(body, 1) for kind, body in batch if kind == _SHARED_ITEM)
        strings.check()
    return strings


def _header_rows(pieces: Iterable[bytes]) -> set[int]:
    """The row of column names of a table part, as its range tells."""
    return {
        int.from_bytes(body[:4], "little") + 1
        for kind, body in _records(pieces)
        if kind == _TABLE and int.from_bytes(body[24:28], "little")
    }


def _comments(pieces: Iterable[bytes], name: str) -> Iterator[Block]:
    row = 0
    for kind, body in _records(pieces):
        if kind == _COMMENT:
            row = int.from_bytes(body[4:8], "little") + 1
        elif kind == _COMMENT_TEXT:
            text = _text(body, 1).strip()
            if text and not text.startswith("[Threaded comment]"):
                for start in range(0, len(text), OFFICE_BLOCK_CHARS):
                    yield comment(name, row, text[start : start + OFFICE_BLOCK_CHARS])


class _Cells:
    """One sheet's records; rows go to `rows` as they are complete."""

    def __init__(
        self, rows: SheetRows, strings: SharedStrings, shows: Sequence[Show], packed: Sequence[Show]
    ) -> None:
        self.margins: list[str] = []
        self._rows, self._strings = rows, strings
        self._shows, self._packed = shows, packed
        self._row = 0
        self._texts: list[str] = []

    def take(self, records: list[tuple[int, bytes]]) -> None:
        texts, strings, cell = self._texts, self._strings, struct.Struct("<4xI").unpack_from
        number = struct.Struct("<8xI").unpack_from
        shared: dict[int, str] = {}
        for kind, body in records:
            if kind == _SHARED:
                (place,) = number(body.ljust(12, b"\0"))
                text = shared.get(place)
                if text is None:
                    text = shared[place] = strings[place]
            elif kind == _ROW:
                self.end()
                self._row = int.from_bytes(body[:4], "little") + 1
                continue
            elif kind <= _LAST_CELL or kind == _RICH_CELL:
                look = cell(body)[0] & 0xFFFFFF if len(body) >= 8 else 0
                text = self._cell(kind, body[8:], look)
            elif kind in _SHORT_CELLS:
                look = int.from_bytes(body[:3], "little")
                text = self._cell(kind - 11, body[4:], look)
            else:
                if kind == _MARGINS:
                    self._margins(body)
                continue
            if text:
                texts.append(text)

    def end(self) -> None:
        """The row is complete."""
        if self._texts:
            self._rows.put(self._row, self._texts)
            self._texts.clear()

    def _cell(self, kind: int, value: bytes, look: int) -> str:
        """[MS-XLSB] 2.4: BrtCellRk 2, Error 3, Bool 4, Real 5, St 6, Isst 7 and those with a
        formula 8 to 11; 1 is blank."""
        if kind in (5, 9):
            show = self._shows[look] if look < len(self._shows) else shown_plainly
            return show(struct.unpack_from("<d", value.ljust(8, b"\0"))[0])
        if kind == 2:
            show = self._packed[look] if look < len(self._packed) else packed_shown_plainly
            return show(int.from_bytes(value[:4], "little", signed=True))
        if kind in (_STRING, 8):
            return in_one_line(_text(value, 0))
        if kind == _SHARED:
            return self._strings[int.from_bytes(value[:4], "little")]
        if kind == _RICH_CELL:
            return in_one_line(_text(value, 1))
        if kind in (4, 10):
            return "TRUE" if value[:1] == b"\1" else "FALSE"
        return ERRORS.get(value[0], "") if kind in (3, 11) and value else ""

    def _margins(self, body: bytes) -> None:
        at = 2
        for _ in range(6):
            text = margin_text(_text(body, at))
            if text:
                self.margins.append(text)
            at = _after(body, at)
