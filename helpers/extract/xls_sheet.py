"""The cells of one sheet of a binary workbook, record by record, and what else the sheet says.

Sources: [MS-XLS] 2.4 (LabelSst, RK, MulRk, Number, Label, BoolErr, Formula, String, Txo, Note,
Header, HeaderFooter, SeriesText); for BIFF2 to BIFF5 the same records in their older shapes.
Promises: memory stays at one row and one piece of the stream; a file written column by column
still gives rows.
Does not: calculate; a formula gives the value it had when saved.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.sheets import SheetRows, in_one_line, margin_text
from helpers.extract.xls_book import Book
from helpers.extract.xls_numbers import PLAIN
from helpers.extract.xls_records import (
    BOF,
    CONTINUE,
    EOF,
    OLD_BOFS,
    PIECE_BYTES,
    LongText,
    narrow,
    wide,
)
from helpers.extract.xls_runs import HeldRuns, RowShapes, Shape

_LABEL_SST, _NUMBER, _RK, _MUL_RK = 0xFD, 0x203, 0x27E, 0xBD
_LABEL, _RICH_LABEL, _BOOL_ERROR, _STRING = 0x204, 0xD6, 0x205, 0x207
_FORMULA, _FORMULA_3, _FORMULA_4 = 0x06, 0x206, 0x406
_ROW, _BLANKS = 0x208, (0x201, 0xBE, 0xD7)  # BLANK, MULBLANK, DBCELL: by the thousand
_ROW_RECORDS = re.compile(rb"(?:\x08\x02\x10\0.{16})+", re.DOTALL)
_OBJECT, _TEXT_OBJECT, _NOTE, _SERIES_TEXT = 0x5D, 0x1B6, 0x1C, 0x100D
_HEADER, _FOOTER, _HEADER_FOOTER = 0x14, 0x15, 0x89C
_OLD_INTEGER, _OLD_NUMBER, _OLD_LABEL, _OLD_BOOL_ERROR, _OLD_STRING = 2, 3, 4, 5, 7

_PAD = bytes(32)
_HELD_BYTES = 1 << 15  # of rows that are shown together: more at a time is slower
_GATHERED = 2_000_000  # pieces of rows held of a sheet that was not written row by row
_CAUTIOUS = 70_000  # rows of one cell held until the order of writing is known
_TEXTS = 100_000  # comments and text boxes of one sheet
ERRORS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?",
    0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip
_DOUBLE = struct.Struct("<d").unpack_from


class SheetScanner:
    """One sheet. Iterate `scan`, taking `rows.found` after each step; then `comments`,
    `drawings`, `margins` hold the rest.
    """

    def __init__(self, book: Book, rows: SheetRows) -> None:
        self.rows = rows
        self.comments: list[tuple[int, str]] = []
        self.margins: list[str] = []
        self.drawings: list[str] = []
        self._book = book
        self._order = _Order(rows)
        self._cells: list[str] = []
        self._row = self._column = -1
        self._shapes = RowShapes(book)
        self._held = HeldRuns()
        self._nested = 0
        self._chart = False
        self._string: LongText | None = None  # a formula's text that goes on
        self._text: LongText | None = None  # a text box's that goes on
        self._object = 0
        self._texts: dict[int, str] = {}  # by the number of the object
        self._notes: list[tuple[int, int, str]] = []  # row, object, text
        self._series: dict[str, None] = {}
        self._ended = False

    def scan(self, at: int, chart: bool = False) -> Iterator[None]:
        """Read from the sheet's BOF at `at` to its EOF; of a `chart` sheet its names only."""
        self._nested, self._chart = int(chart), chart
        stream = self._book.stream
        stream.seek(at)
        cells = self._old_cells if self._book.biff == 2 else self._new_cells
        rest, begun = b"", False
        while not self._ended and (piece := stream.read(PIECE_BYTES)):
            data = rest + piece
            size = len(data)
            data += _PAD
            here = 0
            if not begun:
                begun = True
                here = min(size, 4 + int.from_bytes(data[2:4], "little"))
            here = cells(data, here, size)
            rest = data[here:size]
            yield
        self._flush()
        self._order.end()
        self._settle()
        yield

    # --- cells ------------------------------------------------------------------------------

    def _new_cells(self, data: bytes, at: int, size: int) -> int:
        """Records of BIFF3 and later; how far they were complete."""
        book, order, cells = self._book, self._order, self._cells
        strings, looks = book.strings, book.looks
        unpack, string_of = struct.Struct("<HHHHH").unpack_from, struct.Struct("<I").unpack_from
        packed_of, add = struct.Struct("<i").unpack_from, cells.append
        current, begun, shapes, held = self._row, -1, self._shapes, self._held
        if self._nested:
            at = self._pass_chart(data, at, size)
        while not (self._nested or self._ended):
            kind, length, row, column, look = unpack(data, at)
            end = at + 4 + length
            if end > size:
                break
            if kind in _ROW_CELLS:
                if row != current:
                    if cells:
                        if held.size:
                            self._take_held()
                        order.put(current, self._column, cells)
                        cells.clear()
                        if begun >= 0:
                            shapes.learn(data, begun, at)
                    begun = at
                    run = shapes.run(data, at, size)
                    if run is not None:
                        self._hold(data[at : run[1]], run[0])
                        current, begun, at = self._row, -1, run[1]
                        continue
                    self._row = current = row
                    self._column = column
                if kind == _LABEL_SST:
                    number = string_of(data, at + 10)[0]
                    text = strings[number] if number < len(strings) else ""
                elif kind == _RK:
                    shown = looks[look] if look < len(looks) else PLAIN
                    text = shown.packed(packed_of(data, at + 10)[0])
                elif kind == _NUMBER:
                    shown = looks[look] if look < len(looks) else PLAIN
                    text = shown.number(_DOUBLE(data, at + 10)[0])
                elif kind == _MUL_RK:
                    cells += self._packed_row(data[at + 8 : end - 2])
                    text = ""
                else:
                    text = self._other_cell(kind, data[at + 4 : end], look)
                if text:
                    add(text)
            elif kind == _ROW:
                found = _ROW_RECORDS.match(data, at, size)
                end = found.end() if found else end
            elif kind not in _BLANKS:
                self._take(kind, data[at + 4 : end])
                if self._nested:
                    end = self._pass_chart(data, end, size)
            at = end
        if held.size:
            self._take_held()
        return at

    def _hold(self, run: bytes, shape: Shape) -> None:
        """Rows of one shape, which may go on behind the next records of rows."""
        if self._order.settled:
            self._held.add(shape, run)
            if self._held.size > _HELD_BYTES:
                self._take_held()
        else:
            numbers, columns = shape.columns(run)
            for number, *cells in zip(numbers, *columns, strict=True):
                shown = [text for text in cells if text]
                if shown:
                    self._order.put(number, shape.column, shown)
        last = len(run) - shape.layout.size
        self._row = int.from_bytes(run[last + 4 : last + 6], "little")

    def _take_held(self) -> None:
        numbers, texts = self._held.rows()
        self.rows.put_all([number + 1 for number in numbers], texts)

    def _packed_row(self, body: bytes) -> list[str]:
        return [
            self._book.look(look).packed(number)
            for look, number in struct.iter_unpack("<Hi", body[: len(body) // 6 * 6])
        ]

    def _other_cell(self, kind: int, body: bytes, look: int) -> str:
        """Text within its cell, truth, errors, and what a formula came to."""
        if kind in (_LABEL, _RICH_LABEL):
            if self._book.biff == 8:
                return in_one_line(wide(body, 6))
            codecs = self._book.codecs
            codec = codecs[look] if look < len(codecs) else self._book.codec
            return in_one_line(narrow(body, 6, codec))
        if kind == _BOOL_ERROR:
            return _truth(body[6:8])
        return self._formula(body[6:14], look)

    def _formula(self, value: bytes, look: int) -> str:
        """A text follows in a STRING record of its own."""
        if len(value) < 8:
            return ""
        if value[6:] != b"\xff\xff":
            return self._book.look(look).number(_DOUBLE(value)[0])
        return _truth(bytes((value[2], value[0] == 2))) if value[0] in (1, 2) else ""

    def _old_cells(self, data: bytes, at: int, size: int) -> int:
        """Records of BIFF2: a cell's look is written out in three bytes."""
        unpack = struct.Struct("<HHHHBB").unpack_from
        while True:
            kind, length, row, column, _, look = unpack(data, at)
            end = at + 4 + length
            if end > size or self._ended:
                return at
            body = data[at + 4 : end]
            if kind in (2, 3, 4, 5, 6):
                if row != self._row:
                    self._flush()
                    self._row, self._column = row, column
                text = self._old_cell(kind, body, look & 0x3F)
                if text:
                    self._cells.append(text)
            elif kind == _OLD_STRING:
                self._add_string(narrow(body, 0, self._book.codec, wide_count=False))
            else:
                self._take(kind, body)
            at = end

    def _old_cell(self, kind: int, body: bytes, look: int) -> str:
        show = self._book.looks[look].number
        if kind == _OLD_INTEGER:
            return show(float(int.from_bytes(body[7:9], "little")))
        if kind == _OLD_LABEL:
            return in_one_line(narrow(body, 7, self._book.codec, wide_count=False))
        if kind == _OLD_BOOL_ERROR:
            return _truth(body[7:9])
        if kind == _OLD_NUMBER:
            return show(_DOUBLE(body, 7)[0]) if len(body) >= 15 else ""
        return self._formula(body[7:15], look)

    def _flush(self) -> None:
        if self._cells:
            self._order.put(self._row, self._column, self._cells)
            self._cells.clear()

    # --- everything else ----------------------------------------------------------------------

    def _take(self, kind: int, body: bytes) -> None:
        if kind == CONTINUE:
            self._go_on(body)
        elif kind in (_STRING, _OLD_STRING):
            self._formula_text(body)
        elif kind == _OBJECT:
            self._object = int.from_bytes(body[6:8], "little")
        elif kind == _TEXT_OBJECT:
            self._text = LongText(int.from_bytes(body[10:12], "little"))
        elif kind == _NOTE:
            self._note(body)
        elif kind in (_HEADER, _FOOTER):
            self._margin(body)
        elif kind == _HEADER_FOOTER:
            self._more_margins(body)
        elif kind == BOF or kind in OLD_BOFS:
            self._nested += 1
        elif kind == EOF:
            self._ended = True

    def _go_on(self, body: bytes) -> None:
        if self._string is not None:
            self._string.feed(body)
            if self._string.complete:
                self._add_string(self._string.text)
                self._string = None
        elif self._text is not None:
            self._text.feed(body)
            if self._text.complete:
                if len(self._texts) < _TEXTS:
                    key = self._object if self._object not in self._texts else -len(self._texts)
                    self._texts[key] = self._text.text
                self._text = None

    def _formula_text(self, body: bytes) -> None:
        codec = None if self._book.biff == 8 else self._book.codec
        text = LongText(int.from_bytes(body[:2], "little"), codec)
        text.feed(body[2:])
        if text.complete:
            self._add_string(text.text)
        else:
            self._string = text

    def _add_string(self, text: str) -> None:
        text = in_one_line(text)
        if text and self._row >= 0:
            self._cells.append(text)

    def _note(self, body: bytes) -> None:
        """BIFF8 keeps a comment's text in a text object, older ones keep it here, in pieces."""
        if len(body) < 6 or len(self._notes) >= _TEXTS:
            return
        row, _, third = struct.unpack_from("<HHH", body)
        if self._book.biff == 8:
            self._notes.append((row, int.from_bytes(body[6:8], "little"), ""))
            return
        text = body[6:].decode(self._book.codec, "replace")
        if row == 0xFFFF and self._notes:
            begun, number, before = self._notes.pop()
            self._notes.append((begun, number, before + text))
        else:
            self._notes.append((row, third, text))

    def _margin(self, body: bytes) -> None:
        if not body:
            return
        biff = self._book.biff
        text = wide(body, 0) if biff == 8 else narrow(body, 0, self._book.codec, wide_count=False)
        self._add_margin(text)

    def _more_margins(self, body: bytes) -> None:
        """Even pages and the first page: [MS-XLS] 2.4.137."""
        at = 38
        for count in struct.unpack_from("<4H", body.ljust(38, b"\0"), 30):
            if count:
                text = wide(body, at)
                self._add_margin(text)
                flags = body[at + 2] if at + 2 < len(body) else 0
                at += 3 + count * (2 if flags & 1 else 1)

    def _add_margin(self, coded: str) -> None:
        text = margin_text(coded)
        if text and len(self.margins) < _TEXTS:
            self.margins.append(text)

    def _pass_chart(self, data: bytes, at: int, size: int) -> int:
        """A chart inside the sheet has cells of its own, which are those of the sheet again."""
        unpack = struct.Struct("<HH").unpack_from
        while self._nested:
            kind, length = unpack(data, at)
            end = at + 4 + length
            if end > size:
                return at
            if kind == BOF:
                self._nested += 1
            elif kind == EOF:
                self._nested -= 1
            elif kind == _SERIES_TEXT:
                self._series_text(data[at + 4 : end])
            at = end
        if self._series:
            self.drawings.append(CELL_SEPARATOR.join(self._series))
            self._series.clear()
        self._ended = self._chart
        return at

    def _series_text(self, body: bytes) -> None:
        biff, codec = self._book.biff, self._book.codec
        text = wide(body, 2, False) if biff == 8 else narrow(body, 2, codec, wide_count=False)
        if text.strip() and len(self._series) < _TEXTS:
            self._series[in_one_line(text)] = None

    def _settle(self) -> None:
        """Comments get their texts, the other text objects are drawings."""
        for row, number, text in self._notes:
            text = text or self._texts.pop(number, "")
            if text.strip():
                self.comments.append((row + 1, text.strip()))
        shapes = [text.strip() for text in self._texts.values() if text.strip()]
        self.drawings[:0] = shapes


class _Order:
    """Rows as they come, or by their number where a file was not written row by row.

    Only a file of single cells can have been written column by column, so the first rows are
    held back while they have one cell each.
    """

    def __init__(self, rows: SheetRows) -> None:
        self._rows = rows
        self._held: list[tuple[int, int, str]] = []
        self._gathered: dict[int, list[tuple[int, str]]] = {}
        self._count = 0
        self._passing = False
        self.put = self._put_first

    @property
    def settled(self) -> bool:
        """Whether rows may pass by: they come as they are, and none is a header."""
        return self._passing and self._rows.settled

    def end(self) -> None:
        for row, _, text in self._held:
            self._rows.put(row + 1, [text])
        self._held.clear()
        for row in sorted(self._gathered):
            self._rows.put(row + 1, [text for _, text in sorted(self._gathered[row])])
        self._gathered.clear()

    def _put_first(self, row: int, column: int, cells: list[str]) -> None:
        held = self._held
        if len(cells) == 1 and (not held or row > held[-1][0]) and len(held) < _CAUTIOUS:
            held.append((row, column, cells[0]))
            return
        if held and row <= held[-1][0]:
            for known, at, text in held:
                self._gathered.setdefault(known, []).append((at, text))
            held.clear()
            self.put = self._gather
        else:
            self.end()
            self.put = self._put
            self._passing = True
        self.put(row, column, cells)

    def _put(self, row: int, column: int, cells: list[str]) -> None:
        self._rows.put(row + 1, cells)

    def _gather(self, row: int, column: int, cells: list[str]) -> None:
        self._gathered.setdefault(row, []).append((column, CELL_SEPARATOR.join(cells)))
        self._count += 1
        if self._count > _GATHERED:
            self._count = 0
            self.end()


def _truth(pair: bytes) -> str:
    """A byte and whether it is an error."""
    if len(pair) < 2:
        return ""
    return ERRORS.get(pair[0], "") if pair[1] else "TRUE" if pair[0] else "FALSE"


_ROW_CELLS = frozenset(
    {
        *(_LABEL_SST, _NUMBER, _RK, _MUL_RK, _LABEL, _RICH_LABEL, _BOOL_ERROR),
        *(_FORMULA, _FORMULA_3, _FORMULA_4),
    }
)
