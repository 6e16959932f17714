"""Runs of rows that are made alike, taken many at a time.

In a table of a binary workbook row follows row with the same kinds of cells in the same columns
and looks; only the values differ. The shape of one row, written as a pattern, finds how far the
run goes; one unpacking gives the values of all its columns, and a column is shown in one go.

Promises: a run ends where a record differs in kind, length, column or look, or where a row has a
cell more; what is in it are complete records.
Does not: read records whose length is that of their text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Any

from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.xls_book import Book

LABEL_SST, NUMBER, RK, MUL_RK, FORMULA = 0xFD, 0x203, 0x27E, 0xBD, 0x06
BLANK, MUL_BLANK = 0x201, 0xBE
SHAPES = 32  # shapes of one sheet that are made into patterns
SHAPE_BYTES = 4_096  # bytes of a row that may become a shape
OFTEN = 4  # rows of a length one by one, after which their shape is made into a pattern
TRIED = 8  # shapes of late that are tried where a row begins

_HEAD = struct.Struct("<HHHHH")
_LENGTHS = {LABEL_SST: 10, NUMBER: 14, RK: 10, BLANK: 6}

Column = Callable[[Sequence[Any]], list[str]]  # from the values of a column to their texts


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A row's pattern, the layout of its values, and how each column is shown."""

    column: int
    pattern: re.Pattern[bytes]
    layout: struct.Struct
    shows: Sequence[Column]

    def columns(self, rows: bytes) -> tuple[Sequence[int], list[list[str]]]:
        """The numbers of whole rows, counted from 0, and the texts of their columns, empty ones
        among them."""
        numbers, *columns = zip(*self.layout.iter_unpack(rows), strict=True)
        return numbers, [show(column) for show, column in zip(self.shows, columns, strict=True)]

    def texts(self, rows: bytes) -> tuple[Sequence[int], list[str]]:
        """The same with the cells of a row joined, the empty ones left out."""
        numbers, columns = self.columns(rows)
        if not columns:
            return numbers, [""] * len(numbers)
        cells = zip(*columns, strict=True)
        if all(map(all, columns)):
            return numbers, list(map(CELL_SEPARATOR.join, cells))
        return numbers, [CELL_SEPARATOR.join(filter(None, row)) for row in cells]


class HeldRuns:
    """Runs of a few shapes by turns: `add` them, then take all `rows` as they came; those of one
    shape are shown together."""

    def __init__(self) -> None:
        self.size = 0  # bytes
        self._runs: dict[Shape, list[bytes]] = {}
        self._turns: list[tuple[Shape, int]] = []

    def add(self, shape: Shape, run: bytes) -> None:
        self.size += len(run)
        self._runs.setdefault(shape, []).append(run)
        self._turns.append((shape, len(run) // shape.layout.size))

    def rows(self) -> tuple[Iterable[int], Iterable[str]]:
        """Numbers, counted from 0, and texts of the rows that are not empty."""
        shown = {}
        for shape, runs in self._runs.items():
            of_shape = shape.texts(b"".join(runs))
            shown[shape] = iter(of_shape[0]), iter(of_shape[1])
        numbers, texts = list[int](), list[str]()
        for shape, count in self._turns:
            numbers += islice(shown[shape][0], count)
            texts += islice(shown[shape][1], count)
        self.size = 0
        self._runs.clear()
        self._turns.clear()
        if all(texts):
            return numbers, texts
        return compress(numbers, texts), filter(None, texts)


class RowShapes:
    """The shapes of one sheet's rows; `learn` them, then ask `run` where a row begins."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._known: dict[bytes, Shape] = {}
        self._late: list[Shape] = []
        self._lengths: dict[int, int] = {}

    def learn(self, data: bytes, begin: int, end: int) -> None:
        """The records of one whole row; what is as long as others before it may come again."""
        length = end - begin
        if length > SHAPE_BYTES or len(self._known) >= SHAPES:
            return
        count = self._lengths[length] = self._lengths.get(length, 0) + 1
        if count % OFTEN == 0:
            shape = self._shape(data[begin:end])
            if shape is not None and shape not in self._late:
                self._late = [shape, *self._late[: TRIED - 1]]

    def run(self, data: bytes, at: int, size: int) -> tuple[Shape, int] | None:
        """The shape of the rows that begin at `at`, and where they end; the last row of the data
        is left, for it may go on."""
        for shape in self._late:
            found = shape.pattern.match(data, at, size)
            if found is not None:
                end = found.end()
                if end + 6 > size:
                    end -= shape.layout.size
                if end > at:
                    if shape is not self._late[0]:
                        self._late.remove(shape)
                        self._late.insert(0, shape)
                    return shape, end
        return None

    def _shape(self, row: bytes) -> Shape | None:
        layout, pattern, shows = "<", b"", []
        at = 0
        while at < len(row):
            kind, length, _, _, look = _HEAD.unpack_from(row + bytes(10), at)
            body = row[at + 4 : at + 4 + length]
            if not self._fits(kind, length, body):
                return None
            place = rb"(..)" if not at else rb"\1"
            pattern += re.escape(row[at : at + 4]) + place
            layout += "4xH" if not at else "6x"
            mask, fields, shown = self._cell(kind, body, look)
            pattern += mask
            layout += fields
            shows += shown
            at += 4 + length
        known = self._known.get(pattern)
        if known is None:
            whole = re.compile(rb"(?:" + pattern + rb"(?!....\1))+", re.DOTALL)
            first = int.from_bytes(row[6:8], "little")
            known = self._known[pattern] = Shape(first, whole, struct.Struct(layout), shows)
        return known

    def _fits(self, kind: int, length: int, body: bytes) -> bool:
        if kind == MUL_RK:
            return length >= 12 and (length - 6) % 6 == 0
        if kind == FORMULA:
            return length >= 20 and body[12:14] != b"\xff\xff"
        return kind == MUL_BLANK or _LENGTHS.get(kind) == length

    def _cell(self, kind: int, body: bytes, look: int) -> tuple[bytes, str, list[Column]]:
        """What follows the number of the row: a pattern, its fields, how they are shown."""
        place = re.escape(body[2:6])
        if kind == LABEL_SST:
            return place + rb"....", "4xI", [self._strings]
        if kind == RK:
            return place + rb"....", "4xi", [self._book.look(look).packed_column]
        if kind == NUMBER:
            return place + rb".{8}", "4xd", [self._book.look(look).column]
        if kind == FORMULA:
            rest = len(body) - 14
            mask = place + rb".{6}(?!\xff\xff)..(?:.{%d})" % rest
            return mask, f"4xd{rest}x", [self._book.look(look).column]
        if kind == MUL_RK:
            mask, shown = re.escape(body[2:4]), []
            for at in range(4, len(body) - 2, 6):
                mask += re.escape(body[at : at + 2]) + rb"...."
                own = int.from_bytes(body[at : at + 2], "little")
                shown.append(self._book.look(own).packed_column)
            return mask + re.escape(body[-2:]), "2x" + "2xi" * len(shown) + "2x", shown
        return re.escape(body[2:]), f"{len(body) - 2}x", []

    def _strings(self, places: Sequence[int]) -> list[str]:
        """A shared string that is not there is an empty cell."""
        strings = self._book.strings
        try:
            return list(map(strings.__getitem__, places))
        except IndexError:
            count = len(strings)
            return [strings[place] if place < count else "" for place in places]
