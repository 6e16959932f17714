"""Excel workbooks in the binary formats of 1987 to 2003 (.xls): BIFF2, 3, 4, 5, 7 and 8.

Promises: the same look as .xlsx: every non-empty row is one block located by sheet and row;
numbers, dates and percentages read as they are shown; hidden sheets, comments, print headers,
text boxes and chart names are read; formulas give the value they had when saved; a workbook that
opens without a question although it is encrypted is read.
Does not: calculate, run macros, or ask for passwords.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from helpers.errors import Unread
from helpers.extract import properties
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.compound import MAGIC, RESAVE, CompoundFile, Stream
from helpers.extract.embedded_objects import book_documents
from helpers.extract.sheets import SheetRows, Told, comment, drawing, margins
from helpers.extract.xls_book import CHART, MODULE, Book, BoundSheet, read_book, sheet_places
from helpers.extract.xls_records import BOF, OLD_BOFS
from helpers.extract.xls_sheet import SheetScanner

_STREAMS = ("Workbook", "Book")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: encrypted, corrupt, limit_reached.
    """
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        yield from _Workbook(read_book(file, ctx.heartbeat), ctx).items()
        return
    container = CompoundFile(file)
    stream = _workbook_stream(container)
    if stream.cut:
        raise Unread("corrupt", "The file is cut short: the end of the workbook is missing", RESAVE)
    book = read_book(cast(BinaryIO, stream), ctx.heartbeat)
    yield properties.metadata(container, book.codec)
    yield from _Workbook(book, ctx).items()
    yield from book_documents(container, ctx)


def _workbook_stream(container: CompoundFile) -> Stream:
    for name in _STREAMS:
        if (name,) in container:
            return container.open(name)
    raise Unread("corrupt", "The file has no workbook in it", RESAVE)


class _Workbook:
    def __init__(self, book: Book, ctx: Context) -> None:
        self._book = book
        self._beat = ctx.heartbeat
        self._places: list[tuple[str, int]] | None = None

    def items(self) -> Iterator[Item]:
        told = Told()
        encoding = None if self._book.biff == 8 else self._book.codec
        if encoding is not None:
            yield Metadata(encoding=encoding)
        sheets = [sheet for sheet in self._book.sheets if sheet.kind != MODULE]
        for number, sheet in enumerate(sheets):
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
