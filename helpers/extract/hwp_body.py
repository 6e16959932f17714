"""The records of an HWP 5 section as a stream: records in, paragraphs and table rows out.

Source: Hancom, "한글 문서 파일 구조 5.0", section 4.3. Records nest by their level: a paragraph's
text and controls are one level below it, a control's lists and the paragraphs in them one more.
Promises: constant memory whatever the section's size; a field's command, a picture's name and
other data that nobody sees are left out, its result is read.
Does not: inflate, or number paragraphs.
"""

from __future__ import annotations

import re
import struct
from codecs import utf_16_le_decode
from collections.abc import Callable, Mapping

from helpers.errors import limit_reached
from helpers.extract.equations import latex_of_hwp, marked
from helpers.extract.hwp_flow import MEMO, NOTE, Grid, Margins, Piece, numbered, paragraph, relieve
from helpers.extract.hwp_records import (
    CTRL_HEADER,
    EQEDIT,
    FORM_OBJECT,
    LEAST_TAG,
    LIST_HEADER,
    MEMO_LIST,
    PARA_CHAR_SHAPE,
    PARA_HEADER,
    PARA_TEXT,
    PICTURE,
    RESAVE,
    SMALLER,
    TABLE,
    TEXT_ART,
    WIDE_SIZE,
    string,
)
from helpers.extract.hwp_text import Slots, number, parts
from helpers.limits import HWP_LEVELS, HWP_RECORD_BYTES

_LIST, _PARAGRAPH, _CONTROL = 0, 1, 2
_TITLE_CELL = 1 << 18
_DESCRIPTION_AT = 44  # in the header of a shape, behind its place and margins
_TEXT_ART_AT = 32  # the corners of the art stand before its text
_FORM_TEXT = re.compile(r"\b(?:Caption|Text):wstring:(\d+):")

_HEADER = struct.Struct("<I")
_SHAPE_STYLE = struct.Struct("<8xHB")
# A paragraph's header by its size, and the header of the record behind it.
_LAYOUTS = {size: struct.Struct(f"<8xIHBxHHH{size - 18}xI") for size in (22, 24)}
_CONTROLS = re.compile(r"[\x00-\x1f]")
_CELL = struct.Struct("<4xIHHHH")

# How a cell's record begins, its bytes, and what reads it with the paragraph behind it.
_CellLook = tuple[bytes, int, Callable[..., tuple[int, ...]]]
_NO_CELL: _CellLook = (b"", 0, _HEADER.unpack_from)

_MARGINS = (b"daeh", b"toof", b"dces")  # headers, footers; a section's own lists: master pages
_NOTES = (b"  nf", b"  ne", b"tmct")  # footnotes, endnotes, hidden comments
_SHAPES = (b" osg", b" lbt")  # what may carry a description
_TABLE, _NUMBER, _RUBY, _COMPOSED = b" lbt", b"onta", b"tudt", b"spct"


def _has_controls(text: str, mask: int) -> bool:
    """Whether control characters stand in a paragraph's text. Its `mask` names those that do;
    an empty one is believed unless a sign shows that nearly every control has. Looking at every
    letter costs more than decoding them."""
    if not mask:
        return "\0" in text or "\n" in text
    return not text.isprintable() and _CONTROLS.search(text) is not None


class _Frame:
    """An open paragraph, control or list. Pieces inside it go to `sink`, marked `aside`."""

    __slots__ = (
        "aside", "grid", "kind", "level", "number", "own", "parts", "rank", "ready", "sink", "slots"
    )  # fmt: skip

    def __init__(self, level: int, kind: int, sink: list[Piece], aside: str) -> None:
        self.level = level
        self.kind = kind
        self.sink = sink
        self.aside = aside
        self.parts: list[str] = []
        self.slots: Slots = {}
        self.own = sink
        self.rank = 0
        self.number = ""
        self.grid: Grid | None = None
        self.ready = False


class BodyReader:
    """One section. `feed` it bytes, take `found`; where it is `lost`, no record can follow.

    `headings` maps a paragraph's shape and `styles` its style to a heading's level.
    """

    def __init__(
        self, headings: Mapping[int, int], styles: Mapping[int, int], margins: Margins
    ) -> None:
        self.found: list[Piece] = []
        self.lost = False
        self._headings, self._styles = headings, styles
        self._margins = margins
        self._stack: list[_Frame] = []
        self._rank = 0
        self._cells: dict[int, _CellLook] = dict.fromkeys(_LAYOUTS, _NO_CELL)
        self._actions: dict[int, Callable[[bytes, int], None]] = {
            CTRL_HEADER: self._control,
            LIST_HEADER: self._list,
            TABLE: self._table,
            EQEDIT: self._equation,
            TEXT_ART: self._text_art,
            FORM_OBJECT: self._form,
            MEMO_LIST: self._memos,
            PICTURE: lambda data, level: self._margins.picture(),
        }

    def feed(self, data: bytes) -> int:
        """Read the whole records at the beginning of `data`; gives where the rest begins.

        Raises Unread("limit_reached") for a record or nesting beyond its cap.
        """
        at, last = 0, len(data) - 4
        unpack = _HEADER.unpack_from
        actions = self._actions
        while at <= last:
            header: int = unpack(data, at)[0]
            size, start = header >> 20, at + 4
            if size == WIDE_SIZE:
                if start > last:
                    break
                size, start = unpack(data, start)[0], start + 4
            end = start + size
            if end > last + 4:
                if size > HWP_RECORD_BYTES:
                    raise limit_reached("A record", size, HWP_RECORD_BYTES, "bytes", RESAVE)
                break
            tag = header & 0x3FF
            if tag == PARA_HEADER:
                self._close(header >> 10 & 0x3FF, keep_list=True)
                reached = self._run(data, at, header)
                if reached > at:
                    at = reached
                    continue
                if size >= 11:
                    shape, style = _SHAPE_STYLE.unpack_from(data, start)
                    self._rank = self._headings.get(shape) or self._styles.get(style, 0)
            elif tag == PARA_TEXT:
                self._text(data[start:end], header >> 10 & 0x3FF)
            elif tag in actions:
                actions[tag](data[start:end], header >> 10 & 0x3FF)
            elif tag < LEAST_TAG:
                self.lost = True
                break
            at = end
        self._relieve()
        return at

    def _run(self, data: bytes, at: int, header: int) -> int:
        """The hot path: paragraphs without controls that follow each other, and table cells of
        nothing else. A paragraph's header tells how long its records are, so that one look skips
        them all; where neither paragraph nor cell begins behind them, they are walked one by one.

        Gives where the walk goes on: `at` where not even the first paragraph was of this kind.
        """
        level, size = header >> 10 & 0x3FF, header >> 20
        layout = _LAYOUTS.get(size)
        if layout is None:
            return at
        unpack, room = layout.unpack_from, len(data) - layout.size
        own, lead = data[at : at + 4], size + 8
        with_text, without = PARA_TEXT | level + 1 << 10, PARA_CHAR_SHAPE | level + 1 << 10
        headings, styles = self._headings, self._styles
        sink, aside = self._around()
        grid = self._grid_around(level)
        cell_head, cell_bytes, unpack_cell = self._cells[size]
        while at <= room:
            mask, shape, style, shapes, tags, lines, following = unpack(data, at)
            while True:  # a paragraph, and those that begin a cell of their own behind it
                end = at + lead
                what = following & 0xFFFFF
                if what == with_text:
                    start, end = end, end + (following >> 20)
                    if tags or end > room or end - start == WIDE_SIZE or data[end - 2] != 13:
                        return at
                    text = utf_16_le_decode(data[start : end - 2], "replace")[0]
                    if _has_controls(text, mask):
                        return at
                    if text := text.strip():
                        rank = headings.get(shape) or styles.get(style)
                        sink.append(paragraph(text, rank or 0, aside) if rank or aside else text)
                elif what == without:
                    end -= 4
                elif following == header:  # not even a letter's shape
                    at = end - 4
                    break
                else:
                    return at
                if lines and shapes:
                    at = end + 8 + 8 * shapes + 36 * lines
                else:
                    at = end + (4 + 8 * shapes if shapes else 0) + (4 + 36 * lines if lines else 0)
                head = data[at : at + 4]
                if head == own:
                    break
                if grid is None or head != cell_head or at > room - cell_bytes:
                    return end
                # fmt: off
                (flags, column, row, span, rows, begun,
                 mask, shape, style, shapes, tags, lines, following) = unpack_cell(data, at)
                # fmt: on
                if row == grid.row:
                    sink = []
                    grid.cells.append(sink)
                else:
                    sink = grid.cell(row, column, span, bool(flags & _TITLE_CELL))
                if rows > 1:
                    grid.lengthen(column, rows, sink)
                self._stack[-1].sink = sink
                at += cell_bytes
                if begun != header:
                    return at
        return at

    def _learn_cell(self, level: int, size: int) -> None:
        """The next cell will look like this one."""
        head = _HEADER.pack(LIST_HEADER | level << 10 | size << 20)
        if self._cells[22][0] == head:
            return
        self._cells = {
            paragraph_size: (
                head,
                size + 4,
                struct.Struct(f"<8xIHHHH{size - 16}xI4xIHBxHHH{paragraph_size - 18}xI").unpack_from,
            )
            for paragraph_size in _LAYOUTS
        }

    def _grid_around(self, level: int) -> Grid | None:
        """The table whose cell is open at this level, if one is."""
        if len(self._stack) < 2 or self._stack[-1].kind != _LIST or self._stack[-1].level != level:
            return None
        control = self._stack[-2]
        return control.grid if control.ready else None

    def end(self) -> None:
        """The section is over: whatever is open ends here."""
        self._close(-1)

    # --- frames ---------------------------------------------------------------------------

    def _close(self, level: int, keep_list: bool = False) -> None:
        """End what a record of this level cannot stand in; paragraphs stay in their list."""
        stack = self._stack
        while stack:
            frame = stack[-1]
            if frame.level < level:
                return
            if frame.level == level and keep_list and frame.kind == _LIST:
                return
            stack.pop()
            if frame.kind == _PARAGRAPH:
                text = "".join(frame.parts).strip()
                if frame.number:
                    text = numbered(text, frame.number)
                if text:
                    frame.own.append(paragraph(text, frame.rank, frame.aside))
                frame.own.extend(frame.sink)
            elif frame.grid is not None:
                frame.grid.end_row()

    def _open(self, level: int, kind: int, sink: list[Piece], aside: str) -> _Frame:
        if len(self._stack) >= HWP_LEVELS:
            raise limit_reached("Nesting", len(self._stack) + 1, HWP_LEVELS, "levels", SMALLER)
        frame = _Frame(level, kind, sink, aside)
        self._stack.append(frame)
        return frame

    def _around(self) -> tuple[list[Piece], str]:
        """Where pieces go now, and how they are marked."""
        if not self._stack:
            return self.found, ""
        return self._stack[-1].sink, self._stack[-1].aside

    def _relieve(self) -> None:
        sinks = [frame.sink for frame in self._stack]
        grids = [frame.grid for frame in self._stack if frame.grid is not None]
        relieve(self.found, sinks, grids, self._margins)

    # --- records ----------------------------------------------------------------------------

    def _text(self, raw: bytes, level: int) -> None:
        """A paragraph's text. One without controls is complete at once and needs no frame."""
        self._close(level - 1, keep_list=True)
        sink, aside = self._around()
        text = utf_16_le_decode(raw, "replace")[0].rstrip("\r")
        if text.isprintable():
            text = text.strip()
            if text:
                sink.append(paragraph(text, self._rank, aside))
            return
        frame = self._open(level - 1, _PARAGRAPH, [], aside)
        frame.own, frame.rank = sink, self._rank
        frame.parts, frame.slots = parts(raw)

    def _control(self, data: bytes, level: int) -> None:
        self._close(level)
        kind = data[:4]
        sink, aside = self._around()
        if kind in _MARGINS:
            sink, aside = self._margins.pieces, ""
        elif kind in _NOTES:
            aside = NOTE
        elif kind == _NUMBER:
            self._number(number(data))
        elif kind == _RUBY:
            self._fill(kind, _ruby(data))
        elif kind == _COMPOSED:
            self._fill(kind, string(data, 4)[0])
        elif kind in _SHAPES and data[_DESCRIPTION_AT : _DESCRIPTION_AT + 2].strip(b"\0"):
            self._margins.describe(string(data, _DESCRIPTION_AT)[0])
        frame = self._open(level, _CONTROL, sink, aside)
        if kind == _TABLE:
            frame.grid = Grid(sink)

    def _list(self, data: bytes, level: int) -> None:
        """A text box, caption or note; in a table, behind the record that describes it, a cell."""
        self._close(level)
        sink, aside = self._around()
        control = self._stack[-1] if self._stack else None
        if control is not None and control.grid is not None and control.ready and len(data) >= 16:
            flags, column, row, span, rows = _CELL.unpack_from(data)
            sink = control.grid.cell(row, column, span, bool(flags & _TITLE_CELL))
            control.grid.lengthen(column, rows, sink)
            if len(data) < WIDE_SIZE:
                self._learn_cell(level, len(data))
        self._open(level, _LIST, sink, aside)

    def _table(self, data: bytes, level: int) -> None:
        self._close(level)
        control = self._stack[-1] if self._stack else None
        if control is not None and control.grid is not None and len(data) >= 8:
            control.grid.columns = struct.unpack_from("<H", data, 6)[0]
            control.ready = True

    def _memos(self, data: bytes, level: int) -> None:
        self._close(level)
        self._open(level, _CONTROL, self.found, MEMO)

    def _equation(self, data: bytes, level: int) -> None:
        self._close(level)
        self._fill(b"deqe", marked(latex_of_hwp(string(data, 4)[0])))

    def _text_art(self, data: bytes, level: int) -> None:
        self._add(string(data, _TEXT_ART_AT)[0])

    def _form(self, data: bytes, level: int) -> None:
        """A form's button or field: its properties are a text, values behind their length."""
        text = data.decode("utf-16-le", "replace")
        for found in _FORM_TEXT.finditer(text):
            self._add(text[found.end() : found.end() + int(found[1][:6])])

    def _add(self, text: str) -> None:
        """A text of its own at this place."""
        sink, aside = self._around()
        text = "".join(letter if letter.isprintable() else " " for letter in text).strip()
        if text:
            sink.append(paragraph(text, 0, aside))

    def _number(self, found: str) -> None:
        """An automatic number, in the words before it: "그림" makes "그림 1"."""
        frame = self._stack[-1] if self._stack else None
        if found and frame is not None and frame.kind == _PARAGRAPH and not frame.number:
            part = frame.slots.get(_NUMBER, [0])[-1]
            frame.number = f"{''.join(frame.parts[:part]).strip()} {found}"

    def _fill(self, kind: bytes, text: str) -> None:
        """Write a control's text where its character stands in the nearest open paragraph."""
        for frame in reversed(self._stack):
            if frame.kind == _PARAGRAPH:
                places = frame.slots.get(kind)
                if places:
                    frame.parts[places.pop()] = text
                    return
                break
        self._add(text)


def _ruby(data: bytes) -> str:
    """Main text and the small text above it."""
    main, at = string(data, 4)
    above, _ = string(data, at)
    return f"{main}({above})" if above else main
