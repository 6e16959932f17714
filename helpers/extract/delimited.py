"""CSV and TSV: a header row and table rows, each with its row number.

Promises: the delimiter is found by trying; quoted line breaks and commas stay inside their
cell; a stray quote never swallows the rest of a file; memory is bounded by one row.
Does not: guess types, or keep the empty cells of a row.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from helpers import limits
from helpers.extract import formats
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Metadata, Notice
from helpers.extract.plain import numbered, some
from helpers.extract.stream import TextStream

DELIMITERS = "\t;,|"  # in this order where two part a sample equally well: 1,5 may be a number
SAMPLE_ROWS = 50  # rows that decide on the delimiter and on where the header stands
SAMPLE_CHARS = 64_000  # code points of them
FIELD_CHARS = 1_000_000  # code points of one cell: the csv module's own limit is set to this


_EXCEL_SIGN = re.compile(r"\Asep=([,;|\t])\n")  # a first line by which Excel is told the delimiter


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Rows of a delimited table. Raises Unread: `empty`, or `corrupt` for binary content."""
    csv.field_size_limit(FIELD_CHARS)
    stream = TextStream(file, ctx)
    yield Metadata(encoding=stream.encoding.label)
    pieces = iter(stream)
    start = next(pieces, "")
    named = formats.by_name(ctx.name)
    usual = "\t" if named is not None and named.name == "tsv" else ","
    named_sign = _EXCEL_SIGN.match(start)
    first = 1
    if named_sign:
        start, first = start[named_sign.end() :], 2
    delimiter = named_sign[1] if named_sign else find_delimiter(start[:SAMPLE_CHARS], usual)
    rows = _Rows(_lines(start, pieces), delimiter)
    yield from some(_blocks(rows, _usual_width(start[:SAMPLE_CHARS], delimiter), first))
    if rows.stray_quotes:
        yield Notice(
            "stray_quotes",
            f"Never closed quotation marks: {rows.stray_quotes:,}; their rows were read literally",
        )
    yield from stream.notices()


def find_delimiter(sample: str, usual: str) -> str:
    """The delimiter that parts most rows of a sample into the same number of cells, above 1;
    `usual` where none does.
    """
    best, best_score = usual, 0.0
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _sample_rows(sample, delimiter) if row]
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        score = count / len(widths) if width > 1 else 0.0
        if score > best_score:
            best, best_score = delimiter, score
    return best


def row_text(cells: Iterable[str]) -> str:
    """Cells joined by CELL_SEPARATOR, empty ones left out, line breaks within as spaces."""
    text = CELL_SEPARATOR.join(filter(None, map(str.strip, cells)))
    return text.replace("\n", " ") if "\n" in text else text


class _Rows:
    """Rows of cells; a quote that is not closed within ROW_LINES lines is taken literally."""

    def __init__(self, lines: Iterator[str], delimiter: str) -> None:
        self.stray_quotes = 0
        self._delimiter = delimiter
        self._lines = lines
        self._held: list[str] = []  # lines of the row being read
        self._ended = False

    def __iter__(self) -> Iterator[list[str]]:
        reader = csv.reader(self._fed(), delimiter=self._delimiter)
        while True:
            self._held.clear()
            try:
                row = next(reader)
                stray = self._ended and len(self._held) > 1 and self._unclosed()
            except StopIteration:
                return
            except (csv.Error, _TooLong):
                stray = True
            if stray:
                self.stray_quotes += 1
                yield from self._literal()
                reader = csv.reader(self._fed(), delimiter=self._delimiter)
            else:
                yield row

    def _fed(self) -> Iterator[str]:
        for line in self._lines:
            self._held.append(line)
            yield line
            if len(self._held) > limits.ROW_LINES:
                raise _TooLong
        self._ended = True

    def _unclosed(self) -> bool:
        """True where the file ended inside a quoted cell."""
        return sum(line.count('"') for line in self._held) % 2 == 1

    def _literal(self) -> Iterator[list[str]]:
        """The held lines once more, quotes being letters like any other."""
        held = list(self._held)
        for line in held:
            yield line.rstrip("\n").split(self._delimiter)


class _TooLong(Exception):
    """A quoted cell went on for more than ROW_LINES lines."""


def _blocks(rows: Iterable[list[str]], width: int, first: int) -> Iterator[Block]:
    headed = False
    for number, row in enumerate(rows, first):
        text = row_text(row)
        if not text:
            continue
        place = Location("line", f"row {number}", number)
        if headed and len(text) <= limits.ROW_CHARS:
            yield Block(text, "table_row", 0, place)
            continue
        if headed:
            yield from _row(text, "table_row", place)
            continue
        filled = sum(1 for cell in row if cell.strip())
        if width > 1 and filled == 1:
            yield from _row(text, "paragraph", place)
        else:
            headed = True
            kind = "table_row" if _all_numbers(row) else "table_header"
            yield from _row(text, kind, place)


def _row(text: str, kind: str, place: Location) -> Iterator[Block]:
    for start in range(0, len(text), limits.ROW_CHARS):
        yield Block(text[start : start + limits.ROW_CHARS], kind, 0, place)
        kind = "table_row" if kind == "table_header" else kind


def _all_numbers(row: list[str]) -> bool:
    found = [cell.strip() for cell in row if cell.strip()]
    return all(cell.strip("+-%").replace(",", "").replace(".", "").isdigit() for cell in found)


def _usual_width(sample: str, delimiter: str) -> int:
    widths = Counter(
        sum(1 for cell in row if cell.strip()) for row in _sample_rows(sample, delimiter) if row
    )
    widths.pop(0, None)
    return max(widths, default=1)


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample), delimiter=delimiter):
            rows.append(row)
            if len(rows) >= SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _lines(start: str, rest: Iterator[str]) -> Iterator[str]:
    def pieces() -> Iterator[str]:
        yield start
        yield from rest

    for _, line in numbered(pieces(), limits.ROW_CHARS):
        yield line + "\n"
