"""Excel workbooks in the binary formats of 1987 to 2003 (.xls): BIFF2, 3, 4, 5, 7 and 8.

Promises: the same look as .xlsx: every non-empty row is one block located by sheet and row;
numbers, dates and percentages read as they are shown; hidden sheets, comments, print headers,
text boxes and chart names are read; formulas give the value they had when saved; a workbook that
opens without a question although it is encrypted is read; of a file that is cut off the sheets
that are left are read.
Does not: calculate, run macros, or ask for passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, cast

from helpers.errors import Unread
from helpers.extract import properties
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.compound import MAGIC, RESAVE, CompoundFile, Stream
from helpers.extract.embedded_objects import book_documents
from helpers.extract.sheets import SheetRows, Told, comment, drawing, margins
from helpers.extract.xls_book import CHART, MODULE, Book, BoundSheet, read_book, sheet_places
from helpers.extract.xls_records import BOF, OLD_BOFS, PIECE_BYTES
from helpers.extract.xls_sheet import SheetScanner

_STREAMS = ("Workbook", "Book")
_GLOBALS = re.compile(rb"\x09\x08(?:\x10\0\0\x06|\x08\0\0\x05)\x05\0")  # how BIFF8, BIFF5 begin


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: encrypted, corrupt, limit_reached.
    """
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        yield from _Workbook(read_book(file, ctx.heartbeat), ctx).items()
        return
    container, stream = _opened(file)
    cut = container is None or stream.cut
    nothing = Unread("corrupt", "The file is cut short: no sheet is left of the workbook", RESAVE)
    try:
        book = read_book(cast(BinaryIO, stream), ctx.heartbeat)
    except Unread as broken:
        raise nothing if cut and broken.code == "corrupt" else broken from None
    workbook = _Workbook(book, ctx)
    if cut and not workbook.has_sheets:
        raise nothing
    if container is not None:
        yield properties.metadata(container, book.codec)
    yield from workbook.items()
    if cut:
        yield Notice("part_unread", "The file is cut off: its last part is missing")
    if container is not None:
        yield from book_documents(container, ctx)


def _opened(file: BinaryIO) -> tuple[CompoundFile | None, Stream]:
    """The workbook's stream; without its container where the directory is missing, which most
    programs write last."""
    try:
        container = CompoundFile(file)
    except Unread as broken:
        stream = _left_stream(file) if broken.code == "corrupt" else None
        if stream is None:
            raise
        return None, stream
    for name in _STREAMS:
        if (name,) in container:
            return container, container.open(name)
    raise Unread("corrupt", "The file has no workbook in it", RESAVE)


def _left_stream(file: BinaryIO) -> Stream | None:
    """What is left from the sector on that begins as a workbook. Raises Unread: corrupt."""
    container = CompoundFile(file, whole=False)
    unit = container.sector_bytes
    at = unit
    file.seek(at)
    while piece := file.read(PIECE_BYTES):
        for found in _GLOBALS.finditer(piece):
            if found.start() % unit == 0:
                return container.open_at((at + found.start()) // unit - 1)
        at += len(piece)
    return None


class _Workbook:
    def __init__(self, book: Book, ctx: Context) -> None:
        self._book = book
        self._beat = ctx.heartbeat
        self._sheets = list(enumerate(sheet for sheet in book.sheets if sheet.kind != MODULE))
        self._places: list[tuple[str, int]] | None = None

    @property
    def has_sheets(self) -> bool:
        """Whether any of its sheets is there, or the beginning of one."""
        return any(self._place(sheet, number) is not None for number, sheet in self._sheets)

    def items(self) -> Iterator[Item]:
        told = Told()
        encoding = None if self._book.biff == 8 else self._book.codec
        if encoding is not None:
            yield Metadata(encoding=encoding)
        for number, sheet in self._sheets:
            at = self._place(sheet, number)
            if at is None:
                message = f"The sheet {sheet.name!r} is missing from the file"
                yield Notice("part_unread", message)
                continue
            yield from told.pieces(sheet.name, self._sheet(sheet.name, at, sheet.kind == CHART))

    def _sheet(self, name: str, at: int, chart: bool) -> Iterator[list[Block]]:
        rows = SheetRows(name)
        scanner = SheetScanner(self._book, rows)
        for _ in scanner.scan(at, chart):
            self._beat()
            yield rows.found
            rows.found.clear()
        yield list(margins(name, scanner.margins))
        yield [comment(name, row, text) for row, text in scanner.comments]
        yield [drawing(name, text) for text in scanner.drawings]

    def _place(self, sheet: BoundSheet, number: int) -> int | None:
        """Where a sheet's records begin; where that is wrong, where the nth sheet is found."""
        stream = self._book.stream
        stream.seek(sheet.at)
        if int.from_bytes(stream.read(2), "little") in (BOF, *OLD_BOFS):
            return sheet.at
        if self._places is None:
            self._places = sheet_places(self._book, self._beat)
        return self._places[number][1] if number < len(self._places) else None
