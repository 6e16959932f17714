"""From stretches of a Word document's text to paragraphs, headings and table rows.

Promises: a row is one piece of text, rows of a table inside a cell stand after the row that holds
it; a paragraph or row without end is cut, so that memory stays flat. Paragraphs of one look are
taken together: a long document is some thousand of them with the same few looks.
Does not: read bytes, or place what it found.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count, groupby, repeat
from operator import add, mul
from typing import NamedTuple, Protocol, TypeAlias

from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.doc_pages import Paragraphs
from helpers.extract.doc_signs import CELL, Signs, split_lines
from helpers.extract.doc_sprms import Look
from helpers.extract.doc_styles import StyleSheet
from helpers.extract.doc_text import Stretch, decoded
from helpers.limits import OFFICE_BLOCK_CHARS

NOWHERE = 1 << 32  # beyond every position of a text
ROW_CELLS = 63  # cells of one row, as Word has it
_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one table row held before it is cut


class Found(NamedTuple):
    """One paragraph, heading or row. `title`: in the style of the document's title."""

    text: str
    kind: str = "paragraph"
    level: int = 0
    title: bool = False


Piece: TypeAlias = list[str] | Found  # paragraphs of body text are their texts alone


class Beside(Protocol):
    """What stands beside the text: `next` is the position of the next one, `taken` gives all
    up to a position."""

    next: int

    def taken(self, upto: int) -> list[Found]: ...


@dataclass(slots=True)
class _Lines:
    """The paragraphs of a stretch: where it begins and how wide its signs are, the charset they
    are still to be decoded with; the texts and what has no end; the signs that end them, the
    offsets behind these and the looks; whether there may be anything to clean; whether rows may
    be taken whole; the offset behind the anchor of the next text box."""

    place: int
    width: int
    first: int
    codec: str | None
    lines: list[str]
    signs: bytes
    ends: list[int]
    looks: list[Look]
    unclean: bool
    by_rows: bool
    box: int = 0

    def expect(self, position: int) -> None:
        """Mind that a box is anchored at a position of the text."""
        self.box = self.place + (position + 1 - self.first) * self.width


class _Table:
    """A table on its way: its finished cells of the present row, and the cell in hand."""

    def __init__(self) -> None:
        self.rows = 0
        self.cells: list[list[Found]] = []
        self.cell: list[Found] = []
        self.held = 0


class Body:
    """One story, read paragraph by paragraph."""

    def __init__(
        self,
        paragraphs: Paragraphs,
        styles: StyleSheet,
        shown_thing: Callable[[int], str],
        shown_image: Callable[[int], str],
        boxes: Beside | None = None,
    ) -> None:
        """`shown_thing` and `shown_image` tell what an embedded thing shows and what a picture is
        of, by its place among all of them."""
        self._paragraphs, self._styles, self._boxes = paragraphs, styles, boxes
        self._known = paragraphs.known
        self._signs = Signs(shown_thing, shown_image)
        self._next_box = boxes.next if boxes else NOWHERE
        self._out: list[Piece] = []
        self._tables: list[_Table] = []
        self._parts: list[tuple[str, str | None]] = []
        self._size = 0
        self._last_was_cell = False

    def read(self, stretches: Iterable[Stretch]) -> Iterator[list[Piece]]:
        """All paragraphs and rows of a story, as many at a time as a stretch completes."""
        for stretch in stretches:
            self._take(stretch)
            if self._out:
                yield self._out
                self._out = []
        self._end(False, Look())
        while self._tables:
            self._leave()
        for line in "".join(self._signs.stray()).split("\n"):
            self._put(self._signs.clean(line).strip(), Look())
        yield self._out
        self._out = []

    def _take(self, stretch: Stretch) -> None:
        text, first, place, width, codec, extra, wide = stretch
        lines, signs, unclean = split_lines(text, wide)
        sizes = map(mul, accumulate(map(len, lines[:-1])), repeat(width))
        ends = list(map(add, sizes, count(place + width, width)))
        looks = self._paragraphs.at(ends, width, extra)
        by_rows = self._known and not (unclean or codec)
        held = _Lines(place, width, first, codec, lines, signs, ends, looks, unclean, by_rows)
        held.expect(self._next_box)
        at = end = 0
        for _, alike in groupby(looks):
            end += len(list(alike))
            while at < end:
                at = self._taken(held, at, end)
        if lines[-1]:
            self._rest(lines[-1], stretch)

    def _taken(self, held: _Lines, at: int, end: int) -> int:
        """Take a paragraph, or many of one look that end before `end`, or a row; the number of
        the one behind them."""
        look, cell, codec = held.looks[at], held.signs[at] == CELL, held.codec
        if look.depth or cell or self._parts or codec:
            behind = self._whole_row(held, at, end) if look.depth == 1 and held.by_rows else 0
            if not behind:
                if held.lines[at]:
                    self._parts.append((held.lines[at], codec))
                self._end(cell, look)
                behind = at + 1
        else:
            behind = self._alike(held, at, end)
        while held.ends[behind - 1] >= held.box:
            self._take_boxes()
            held.expect(self._next_box)
        return behind

    def _alike(self, held: _Lines, at: int, end: int) -> int:
        """Take paragraphs of one look outside of tables, up to the next cell or text box."""
        while self._tables:
            self._leave()
        if held.ends[end - 1] >= held.box:
            end = bisect_left(held.ends, held.box, at, end) + 1
        cell = held.signs.find(CELL, at, end)
        if cell >= 0:
            end = cell
        texts, look = held.lines[at:end], held.looks[at]
        if held.unclean or self._signs.fields:
            texts = [self._signs.clean(text) for text in texts if text]
        filled = list(filter(None, map(str.strip, texts)))
        if look.outline >= 0 or look.style in self._styles.levels:
            self._out += [self._found(text, look) for text in filled]
        elif filled:
            self._out.append(filled)
        return end

    def _whole_row(self, held: _Lines, at: int, end: int) -> int:
        """Take a row of paragraphs and nothing else: the number of the one behind it, 0 where it
        is more than that."""
        behind = _row_end(at, end, held.lines, held.looks)
        if not behind or self._parts or self._signs.fields:
            return 0
        if held.signs.count(CELL, at, behind) < behind - at:
            return 0
        last = held.ends[behind - 1]
        if last >= held.box or last - held.ends[at] > OFFICE_BLOCK_CHARS:
            return 0
        done = self._put_row(held.lines[at:behind], held.looks[behind - 1].header)
        return behind if done else 0

    def _put_row(self, lines: list[str], header: bool) -> bool:
        """A row whose cells are a paragraph each, its last line is empty; False where it is more
        than that."""
        tables = self._tables
        if len(lines) < 3 or len(tables) > 1:
            return False
        if not tables:
            tables.append(_Table())
        table = tables[0]
        if table.cells or table.cell:
            return False
        text = CELL_SEPARATOR.join(filter(None, [" ".join(line.split()) for line in lines]))
        if text:
            kind = "table_header" if header or not table.rows else "table_row"
            self._out.append(Found(text, kind))
            table.rows += 1
        self._last_was_cell = False
        return True

    def _rest(self, text: str, stretch: Stretch) -> None:
        """The beginning of a paragraph whose mark is in the next stretch."""
        self._parts.append((text, stretch.codec))
        self._size += len(text)
        if self._size > OFFICE_BLOCK_CHARS:
            end = stretch.place + stretch.width * len(stretch.text)
            (look,) = self._paragraphs.at([end], stretch.width, stretch.extra)
            self._put(self._text(), look)

    def _take_boxes(self) -> None:
        """Text boxes stand after the paragraph that anchors them."""
        if self._boxes is not None:
            self._sink(len(self._tables)).extend(self._boxes.taken(self._next_box))
            self._next_box = self._boxes.next

    # --- paragraphs -----------------------------------------------------------------------

    def _end(self, cell_mark: bool, look: Look) -> None:
        """A paragraph is complete."""
        if not (cell_mark or look.depth or self._tables):
            if self._parts:
                self._put(self._text(), look)
            return
        blank = not self._parts
        depth = look.depth or int(cell_mark)
        while len(self._tables) > depth:
            self._leave()
        while len(self._tables) < depth:
            self._tables.append(_Table())
        if self._parts:
            self._put(self._text(), look)
        if self._tables:
            self._in_table(cell_mark, look, blank)

    def _in_table(self, cell_mark: bool, look: Look, blank: bool) -> None:
        table = self._tables[-1]
        row_end = look.row_end
        if not self._known:
            row_end = cell_mark and blank and self._last_was_cell
            cell_mark = cell_mark and not row_end
        self._last_was_cell = cell_mark
        if row_end:
            if table.cell:
                table.cells.append(table.cell)
                table.cell = []
            self._row(table, look.header)
        elif cell_mark or look.inner_cell:
            table.cells.append(table.cell)
            table.cell = []
            if len(table.cells) > ROW_CELLS:
                self._row(table, look.header)

    def _text(self) -> str:
        """The text gathered so far, decoded, without fields' codes and control signs."""
        parts = self._parts
        if len(parts) == 1:
            text, codec = parts[0]
            if codec is not None:
                text = decoded(text, codec)
        else:
            text = _joined(parts)
        parts.clear()
        self._size = 0
        return self._signs.clean(text).strip()

    def _found(self, text: str, look: Look) -> Found:
        style, styles = look.style, self._styles
        level = styles.levels.get(style, 0)
        if look.outline >= 0:
            level = styles.level(style, look.outline)
        if not level:
            return Found(text)
        return Found(text, "heading", level, style in styles.titles)

    def _put(self, text: str, look: Look) -> None:
        if not text:
            return
        found = self._found(text, look)
        if not self._tables:
            self._out.append(found)
            return
        table = self._tables[-1]
        table.cell.append(found)
        table.held += len(text) + 100
        if table.held > _HELD_CHARS:
            self._spill()

    # --- tables -----------------------------------------------------------------------------

    def _sink(self, below: int) -> list[Found] | list[Piece]:
        """Where what leaves the table at that depth goes."""
        return self._tables[below - 1].cell if below > 0 else self._out

    def _leave(self) -> None:
        """A table is over; an unfinished row stays as text."""
        table = self._tables.pop()
        sink = self._sink(len(self._tables))
        for cell in (*table.cells, table.cell):
            sink.extend(cell)

    def _spill(self) -> None:
        """A row grew past its cap: what is held of it goes out as text."""
        for table in self._tables:
            for cell in (*table.cells, table.cell):
                self._out.extend(cell)
            table.cells, table.cell, table.held = [], [], 0

    def _row(self, table: _Table, header: bool) -> None:
        sink = self._sink(len(self._tables) - 1)
        filled = [cell for cell in table.cells if cell]
        if len(table.cells) == 1 or (len(filled) == 1 and len(filled[0]) > 3):
            for cell in filled:  # a frame around text, not a row of data
                sink.extend(cell)
        elif filled:
            texts = [_cell_text(cell) for cell in filled]
            kind = "table_header" if header or not table.rows else "table_row"
            text = CELL_SEPARATOR.join(filter(None, texts))
            if text:
                sink.append(Found(text, kind))
            for cell in filled:
                sink.extend(found for found in cell if found.kind.startswith("table"))
            table.rows += 1
        table.cells, table.held = [], 0


def _row_end(first: int, end: int, lines: list[str], looks: list[Look]) -> int:
    """Of a paragraph that begins a row: the number of the one behind the row, if the row is
    complete and no table is inside it; else 0. Before `end` all look like the first."""
    at, behind = first, min(first + ROW_CELLS, len(looks))
    while at < behind:
        look = looks[at]
        if look.depth != 1 or look.inner_cell:
            return 0
        if look.row_end:
            return 0 if lines[at] else at + 1
        at = end if at < end else at + 1
    return 0


def _cell_text(cell: list[Found]) -> str:
    return " ".join(
        " ".join(found.text.split()) for found in cell if not found.kind.startswith("table")
    )


def _joined(parts: list[tuple[str, str | None]]) -> str:
    """Parts of one paragraph; neighbours of one charset are decoded together."""
    texts: list[str] = []
    pending, codec = "", None
    for text, own in (*parts, ("", None)):
        if own is not None and own == codec:
            pending += text
            continue
        if codec is not None:
            texts.append(decoded(pending, codec))
        pending, codec = text, own
        if own is None:
            texts.append(text)
    return "".join(texts)
