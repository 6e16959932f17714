"""From stretches of a Word document's text to paragraphs, headings and table rows.

Promises: field codes are left out and their results kept; a row is one piece of text, rows of a
table inside a cell stand after the row that holds it; a paragraph or row without end is cut, so
that memory stays flat. Does not: read bytes, or place what it found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple, Protocol

from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.codepages import WIDE
from helpers.extract.doc_fields import shown
from helpers.extract.doc_pages import Paragraphs
from helpers.extract.doc_sprms import Look
from helpers.extract.doc_styles import StyleSheet
from helpers.extract.doc_text import FIRST_IMAGE, FIRST_THING, Stretch, decoded
from helpers.extract.symbols import AS_TRANSLATION
from helpers.limits import OFFICE_BLOCK_CHARS

FIELD_CODE_CHARS = 16_384  # code points of one field's code; a longer one is a stray mark
NOWHERE = 1 << 32  # beyond every position of a text
FIELD_DEPTH = 64  # fields within fields; deeper ones are stray marks
ROW_CELLS = 63  # cells of one row, as Word has it
_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one table row held before it is cut

_MARK = re.compile("[\x07\x0c]")
_FIELD = re.compile("[\x13-\x15\U000f0000-\U000fff00\U00100000-\U0010ff00]")
_CONTROLS = bytes([*range(7), 8, 11, *range(14, 32), 127])
_HALVES = re.compile("[\ud800-\udfff]")
_FIRST_THING, _FIRST_IMAGE = chr(FIRST_THING), chr(FIRST_IMAGE)
_CELL, _BEGIN, _SEPARATOR = "\x07", "\x13", "\x14"
_CLEAN = {
    **dict.fromkeys([*range(9), *range(0x0E, 0x20), 0x7F]),
    0x0B: "\n",
    0x0E: "\n",
    0x1E: "\u2011",
    **AS_TRANSLATION,
}


class Found(NamedTuple):
    """One paragraph, heading or row. `title`: in the style of the document's title."""

    text: str
    kind: str = "paragraph"
    level: int = 0
    title: bool = False


class Beside(Protocol):
    """What stands beside the text: `next` is the position of the next one, `taken` gives all
    up to a position."""

    next: int

    def taken(self, upto: int) -> list[Found]: ...


class _Field:
    """A field that is open: whether its code is being read, the code so far, its length."""

    def __init__(self) -> None:
        self.in_code = True
        self.code: list[str] = []
        self.size = 0


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
        self._shown_thing, self._shown_image = shown_thing, shown_image
        self._next_box = boxes.next if boxes else NOWHERE
        self._out: list[Found] = []
        self._tables: list[_Table] = []
        self._parts: list[tuple[str, str | None]] = []
        self._size = 0
        self._fields: list[_Field] = []  # the fields around
        self._last_was_cell = False

    def read(self, stretches: Iterable[Stretch]) -> Iterator[list[Found]]:
        """All paragraphs and rows of a story, as many at a time as a stretch completes."""
        for stretch in stretches:
            self._take(stretch)
            if self._out:
                yield self._out
                self._out = []
        self._end("\r", Look())
        while self._tables:
            self._leave()
        for line in "".join(self._stray()).split("\n"):
            self._put(self._clean(line).strip(), Look())
        yield self._out
        self._out = []

    def _take(self, stretch: Stretch) -> None:
        text, first, place, width, codec, extra = stretch
        lines, marks = _lines(text)
        looks = self._paragraphs.at([place + width * mark for mark in marks], extra)
        parts, tables, fields, levels = self._parts, self._tables, self._fields, self._styles.levels
        put = self._out.append
        unclean = not all(map(str.isprintable, lines)) and _is_unclean(text)
        by_rows = self._known and not (unclean or codec)
        done = 0  # paragraphs that were taken with the row they belong to
        for number, (line, mark, look) in enumerate(zip(lines, marks, looks, strict=False)):
            if number < done:
                continue
            sign = text[mark]
            if look.depth or parts or tables or codec or sign == _CELL:
                if by_rows and look.depth == 1 and not (parts or fields):
                    done = _whole_row(number, lines, looks)
                    last = marks[done - 1] if done else 0
                    if (
                        done
                        and first + last < self._next_box
                        and text.count(_CELL, mark, last + 1) == done - number
                        and self._put_row(lines[number:done], looks[done - 1].header)
                    ):
                        continue
                    done = 0
                if line:
                    parts.append((line, codec))
                self._end(sign, look)
            elif line:
                if unclean or fields:
                    line = self._clean(line)
                line = line.strip()
                if line:
                    plain = look.outline < 0 and look.style not in levels
                    put(Found(line) if plain else self._found(line, look))
            if first + mark >= self._next_box:
                self._take_boxes(first + mark)
        if lines[-1]:
            self._rest(lines[-1], codec, place + (len(text) - 1) * width, extra)

    def _put_row(self, lines: list[str], header: bool) -> bool:
        """A row whose cells are a paragraph each, its last line is empty; False where it is more
        than that."""
        tables = self._tables
        if len(lines) < 3 or len(tables) > 1 or sum(map(len, lines)) > OFFICE_BLOCK_CHARS:
            return False
        if not tables:
            tables.append(_Table())
        table = tables[0]
        if table.cells or table.cell:
            return False
        texts = [" ".join(line.split()) for line in lines]
        text = CELL_SEPARATOR.join(filter(None, texts))
        if text:
            kind = "table_header" if header or not table.rows else "table_row"
            self._out.append(Found(text, kind))
            table.rows += 1
        self._last_was_cell = False
        return True

    def _rest(self, text: str, codec: str | None, place: int, extra: bytes) -> None:
        """The beginning of a paragraph whose mark is in the next stretch."""
        self._parts.append((text, codec))
        self._size += len(text)
        if self._size > OFFICE_BLOCK_CHARS:
            self._put(self._text(), *self._paragraphs.at([place], extra))

    def _take_boxes(self, upto: int) -> None:
        """Text boxes stand after the paragraph that anchors them."""
        if self._boxes is not None:
            self._sink(len(self._tables)).extend(self._boxes.taken(upto))
            self._next_box = self._boxes.next

    # --- paragraphs -----------------------------------------------------------------------

    def _end(self, mark: str, look: Look) -> None:
        """A paragraph is complete."""
        cell_mark = mark == _CELL
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
        return self._clean(text).strip()

    def _clean(self, text: str) -> str:
        if not self._fields and not _is_unclean(text):
            return text
        if self._fields or _FIELD.search(text):
            text = self._without_codes(text)
        if _HALVES.search(text):
            text = text.encode(WIDE, "surrogatepass").decode(WIDE, "replace")
        return text.translate(_CLEAN)

    def _without_codes(self, text: str) -> str:
        kept: list[str] = []
        at = 0
        for match in _FIELD.finditer(text):
            self._pass(text[at : match.start()], kept)
            at = match.end()
            if match.group() == _BEGIN:
                self._fields.append(_Field())
                if len(self._fields) > FIELD_DEPTH:
                    kept += self._stray()
            elif match.group() >= _FIRST_IMAGE:
                self._pass(self._shown_image(ord(match.group()) - FIRST_IMAGE), kept)
            elif match.group() >= _FIRST_THING:
                if self._fields:
                    self._fields[-1].in_code = False
                self._pass(self._shown_thing(ord(match.group()) - FIRST_THING), kept)
            elif self._fields and match.group() == _SEPARATOR:
                self._fields[-1].in_code = False
            elif self._fields:
                field = self._fields.pop()
                if field.in_code:
                    self._pass(shown("".join(field.code)), kept)
        self._pass(text[at:], kept)
        self._pass("\n" if any(field.in_code for field in self._fields) else "", kept)
        return "".join(kept)

    def _pass(self, text: str, kept: list[str]) -> None:
        """Text between two marks belongs to the nearest code around it, else to the document."""
        if not text:
            return
        for field in reversed(self._fields):
            if field.in_code:
                field.code.append(text)
                field.size += len(text)
                if field.size > FIELD_CODE_CHARS:
                    kept += self._stray()
                return
        kept.append(text)

    def _stray(self) -> list[str]:
        """What was taken for codes and is none: a mark stood alone."""
        parts = [part for field in self._fields for part in field.code]
        self._fields.clear()
        return parts

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

    def _sink(self, below: int) -> list[Found]:
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


def _is_unclean(text: str) -> bool:
    """Whether a text holds control signs, halves of letters or the like; ten times as quick as a
    pattern over the signs."""
    if text.isprintable():
        return False
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return True
    if len(raw.translate(None, _CONTROLS)) != len(raw):
        return True
    if raw.isascii():
        return False
    # In UTF-8 signs of symbol fonts begin with EF 80 to EF 83, embedded things with F3 and F4.
    if b"\xf3" in raw or b"\xf4" in raw:
        return True
    return b"\xef" in raw and (
        b"\xef\x80" in raw or b"\xef\x81" in raw or b"\xef\x82" in raw or b"\xef\x83" in raw
    )


def _whole_row(number: int, lines: list[str], looks: list[Look]) -> int:
    """Of a paragraph that begins a row: the number of the one behind the row, if the row is
    complete and no table is inside it; else 0."""
    for at in range(number, min(number + ROW_CELLS, len(looks))):
        look = looks[at]
        if look.depth != 1 or look.inner_cell:
            return 0
        if look.row_end:
            return 0 if lines[at] else at + 1
    return 0


def _lines(text: str) -> tuple[list[str], list[int]]:
    """The paragraphs of a text, what has no end behind them; where paragraphs, cells and
    sections end."""
    lines = text.split("\r")  # several times quicker than to look at every sign
    if _CELL in text or "\x0c" in text:
        lines = [piece for line in lines for piece in _pieces(line)]
    return lines, [end - 1 for end in accumulate(len(line) + 1 for line in lines[:-1])]


def _pieces(line: str) -> list[str]:
    return _MARK.split(line) if _CELL in line or "\x0c" in line else [line]


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
