r"""What RTF's destinations and control words mean; pieces of text come out.

Promises: constant memory whatever the file's size; text is decoded by the charset of its font,
letters that span two escapes included; \u wins over what stands behind it for older programs;
hidden and deleted text, field codes, pictures and objects are left out; a file that ends early or
closes too many groups gives what is there.
Does not: lay out lists or pages, or follow links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from helpers.extract import rtf_words
from helpers.extract.alternative import alternative
from helpers.extract.blocks import Location
from helpers.extract.codepages import codec_of_page
from helpers.extract.outline import DEEPEST_HEADING
from helpers.extract.rtf_flow import Flow, Paragraph, Piece
from helpers.extract.rtf_groups import (
    BODY,
    BOTH,
    CAPTURE,
    FONTS,
    INFO,
    MATH,
    NONE,
    OBJECT,
    STYLE,
    STYLES,
    Action,
    Groups,
)
from helpers.extract.rtf_math import Equation
from helpers.extract.rtf_objects import ObjectText, equation
from helpers.extract.rtf_tables import Font, Info, Style, Styles
from helpers.limits import OFFICE_BLOCK_CHARS

_MANY = 2_000  # pieces of an open note or box that are handed on before it ends


class RtfScanner(Groups):
    """One RTF file. Iterate `pieces`; `info` is filled on the way."""

    def __init__(self, file: BinaryIO, heartbeat: Callable[[], None]) -> None:
        super().__init__(file, heartbeat)
        self.info = Info()
        self._flows = [Flow()]
        self._flow = self._flows[0]
        self._sheet = Styles()
        self._entry: Font | Style = Font()
        self._openers = self._destinations()
        self._captured: list[str] = []
        self._captured_chars = 0
        self._property = ""
        self._equation: Equation | None = None
        self._data = ObjectText()

    def pieces(self) -> Iterator[Piece]:
        """The text in order; page headers and footers are left in `info.margins`.

        Raises Unread limit_reached for groups nested beyond RTF_DEPTH.
        """
        while self._window.advance():
            self._scan()
            yield from self._drained()
        self._letters.decode()
        self.info.unclosed = len(self._stack)
        self.info.codec = self._letters.codec
        while self._stack:
            self._close()
        yield from self._flow.finish()

    def _drained(self) -> Iterator[Piece]:
        for flow in self._flows:
            if flow is self._flows[0] or len(flow.found) > _MANY:
                yield from flow.found
                flow.found.clear()
            if len(flow.after) > _MANY:
                yield from flow.after
                flow.after.clear()

    def begun(self, name: bytes | None) -> None:
        if self._into == STYLES:
            self._letters.decode()
            self._into = STYLE
            self._entry = Style()
        elif self._into == MATH:
            self._begin_math(name)
        elif name in self._openers and name is not None:
            self._letters.decode()
            self._openers[name]()

    # --- destinations -------------------------------------------------------------------------

    def _destinations(self) -> dict[bytes, Callable[[], None]]:
        goes = self._goes
        found = {
            b"fonttbl": goes(FONTS),
            b"stylesheet": goes(STYLES),
            b"info": goes(INFO),
            b"upr": goes(BOTH),
            b"ud": self._unicode_form,
            **dict.fromkeys(rtf_words.WITHOUT_TEXT, goes(NONE)),
            b"title": self._capture(self._title_end),
            b"keywords": self._capture(self._keywords_end),
            b"listtext": self._capture(self._number_end),
            b"pntext": self._capture(self._number_end),
            b"sn": self._capture(self._property_name_end),
            b"sv": self._capture(self._property_end),
            b"moMath": self._math,
            b"objdata": self._object,
            b"footnote": self._aside("footnotes"),
            b"annotation": self._aside("comments"),
            b"shptxt": self._aside(""),
            b"dptxbxtext": self._aside(""),
        }
        return found | {name: self._aside(kind) for name, kind in rtf_words.MARGINS.items()}

    def _goes(self, into: int) -> Callable[[], None]:
        def enter() -> None:
            self._into = into

        return enter

    def _unicode_form(self) -> None:
        """Inside \\upr: text goes where it went around it."""
        if len(self._stack) > 1:
            self._into = self._stack[-2].into

    def _capture(self, closer: Callable[[], None]) -> Callable[[], None]:
        def enter() -> None:
            self._into, self._closer = CAPTURE, closer
            self._captured, self._captured_chars = [], 0

        return enter

    def _taken(self) -> str:
        text, self._captured = "".join(self._captured), []
        return text

    def _title_end(self) -> None:
        self.info.title = self._taken()

    def _keywords_end(self) -> None:
        self.info.keywords = self._taken()

    def _number_end(self) -> None:
        """The number of a list's item is text; its bullet is not."""
        number = self._taken().strip()
        outside = self._stack[-1]
        if any(map(str.isalnum, number)) and outside.into == BODY and not outside.hidden:
            self._flow.write(f"{number} ")

    def _object(self) -> None:
        self._data, self._into, self._closer = ObjectText(), OBJECT, self._object_end

    def passed(self, piece: bytes) -> None:
        if self._into == OBJECT:
            self._data.add(piece)

    def _object_end(self) -> None:
        """An equation stands in its sentence; a document is read when the text is over."""
        self.info.too_large += self._data.too_large
        data = self._data.data()
        self._data = ObjectText()
        latex = equation(data)
        if latex and self._stack[-1].into == BODY:
            self._flow.write(latex)
        elif data and not latex:
            self.info.objects.append(data)

    def _math(self) -> None:
        self._equation, self._into, self._closer = Equation(), MATH, self._math_end

    def _math_end(self) -> None:
        text = self._equation.text() if self._equation is not None else ""
        self._equation = None
        if self._stack[-1].into == BODY:
            self._flow.write(text)

    def _begin_math(self, name: bytes | None) -> None:
        """A group inside an equation; those that format its letters are none of its elements."""
        if self._equation is not None and name is not None and name.startswith(b"m"):
            self._letters.decode()
            self._equation.enter(name[1:].decode("ascii"))
            self._closer = self._equation.leave

    def _math_property(self, name: str) -> Action:
        def note(number: int | None) -> None:
            if self._equation is not None:
                self._letters.decode()
                self._equation.run_property(name, number)

        return note

    def _property_name_end(self) -> None:
        self._property = self._taken().strip()

    def _property_end(self) -> None:
        value = self._taken().strip()
        if self._property in rtf_words.SHAPE_DESCRIPTIONS:
            value = alternative(value)
        elif self._property not in rtf_words.SHAPE_TEXTS:
            return
        if value and all(piece.text != value for piece in self._flow.after):
            self._flow.after.append(Piece(value, location=self._flow.place))

    def _aside(self, kind: str) -> Callable[[], None]:
        """Text beside the running text: a note, a box, a page's header or footer."""

        def enter() -> None:
            place = Location("part", kind) if kind else self._flow.place
            self._flow = Flow(place)
            self._flows.append(self._flow)
            self._into, self._closer = BODY, margin_end if kind in margins else self._aside_end
            self._hidden, self._depth, self._style, self._outline = False, 0, 0, -1

        def margin_end() -> None:
            pieces = self._flow.finish()
            self._flows.pop()
            self._flow = self._flows[-1]
            self.info.add_margins(pieces)

        margins = rtf_words.MARGINS.values()
        return enter

    def _aside_end(self) -> None:
        pieces = self._flow.finish()
        self._flows.pop()
        self._flow = self._flows[-1]
        self._flow.after += pieces

    # --- control words ------------------------------------------------------------------------

    def meanings(self) -> dict[bytes, Action]:
        found: dict[bytes, Action] = {
            word: self._lettered(text) for word, text in rtf_words.LETTERS.items()
        }
        return found | {
            b"par": self.paragraph_end,
            b"sect": self.paragraph_end,
            b"pard": self._paragraph_reset,
            b"plain": self._plain,
            b"s": self._set_style,
            b"outlinelevel": self._set_outline,
            b"sbasedon": self._set_base,
            b"intbl": self._in_table,
            b"itap": self._set_depth,
            b"cell": self._cell_end,
            b"nestcell": self._nested_cell_end,
            b"row": self._row_end,
            b"nestrow": self._nested_row_end,
            b"trowd": lambda _: self._header_row(False),
            b"trhdr": lambda _: self._header_row(True),
            b"v": self._hide,
            b"deleted": self._hide,
            b"f": self._set_font,
            b"af": self._set_double_font,
            b"dbch": lambda _: self._set_double(True),
            b"loch": lambda _: self._set_double(False),
            b"hich": lambda _: self._set_double(False),
            b"deff": self._set_default_font,
            b"fcharset": self._set_charset,
            b"cpg": self._set_page,
            b"ansicpg": self._set_code_page,
            b"ansi": lambda _: self._set_code_page(1252),
            b"mac": lambda _: self._set_code_page(10000),
            b"pc": lambda _: self._set_code_page(437),
            b"pca": lambda _: self._set_code_page(850),
            b"uc": self._set_fallback,
            b"ftnalt": self._endnote,
            b"mscr": self._math_property("scr"),
            b"msty": self._math_property("sty"),
            b"mnor": self._math_property("nor"),
        }

    def _lettered(self, text: str) -> Action:
        return lambda _: self._letter(text)

    def _paragraph(self) -> Paragraph:
        if self._outline >= 0:
            level = min(self._outline + 1, DEEPEST_HEADING) if self._outline < 9 else 0
            return Paragraph(level, self._depth)
        level, title = self._sheet.level(self._style)
        return Paragraph(level, self._depth, title)

    def paragraph_end(self, number: int | None) -> None:
        if self._into == BODY:
            self._letters.decode()
            self._skip = 0
            self._flow.paragraph_end(self._paragraph())

    def _cell_end(self, number: int | None) -> None:
        if self._into == BODY:
            self._letters.decode()
            self._flow.cell_end(1, self._paragraph())

    def _nested_cell_end(self, number: int | None) -> None:
        if self._into == BODY:
            self._letters.decode()
            self._flow.cell_end(max(2, self._depth), self._paragraph())

    def _row_end(self, number: int | None) -> None:
        self._letters.decode()
        self._flow.row_end(1)

    def _nested_row_end(self, number: int | None) -> None:
        self._letters.decode()
        self._flow.row_end(max(2, self._depth))

    def _header_row(self, header: bool) -> None:
        self._flow.header_row = header

    def _paragraph_reset(self, number: int | None) -> None:
        self._style, self._outline, self._depth = 0, -1, 0

    def _plain(self, number: int | None) -> None:
        self._font = None
        self._hidden = self._double = False

    def _in_table(self, number: int | None) -> None:
        self._depth = (self._depth or 1) if number != 0 else 0

    def _set_depth(self, number: int | None) -> None:
        self._depth = max(0, number or 0)

    def _set_style(self, number: int | None) -> None:
        self._style = number or 0
        if self._into == STYLE and isinstance(self._entry, Style):
            self._sheet.add(self._style, self._entry)

    def _set_outline(self, number: int | None) -> None:
        self._outline = 0 if number is None else number
        if self._into == STYLE and isinstance(self._entry, Style):
            self._entry.outline = self._outline

    def _set_base(self, number: int | None) -> None:
        if self._into == STYLE and isinstance(self._entry, Style):
            self._entry.base = number

    def _hide(self, number: int | None) -> None:
        """Hidden by its author, or deleted with changes tracked."""
        self._letters.decode()
        self._hidden = number != 0

    def _endnote(self, number: int | None) -> None:
        if len(self._flows) > 1:
            self._flow.place = Location("part", "endnotes")

    # --- charsets -----------------------------------------------------------------------------

    def _set_font(self, number: int | None) -> None:
        if self._into != FONTS:
            self._font = number
        elif number is not None:
            self._entry = self._letters.font(number) or Font()

    def _set_double(self, double: bool) -> None:
        self._double = double

    def _set_double_font(self, number: int | None) -> None:
        if self._double:
            self._set_font(number)

    def _set_default_font(self, number: int | None) -> None:
        self._letters.default_font = number or 0

    def _set_charset(self, number: int | None) -> None:
        if self._into == FONTS and isinstance(self._entry, Font):
            self._entry.charset = number

    def _set_page(self, number: int | None) -> None:
        if self._into == FONTS and isinstance(self._entry, Font):
            self._entry.page = codec_of_page(number or 0)

    def _set_code_page(self, number: int | None) -> None:
        self._letters.set_codec(codec_of_page(number or 0))

    def _set_fallback(self, number: int | None) -> None:
        self._fallback = max(0, number if number is not None else 1)

    def write(self, text: str) -> None:
        """Decoded text goes where the present group sends it."""
        into = self._into
        if into == BODY:
            self._flow.write(text)
        elif into == CAPTURE:
            self._captured_chars += len(text)
            if self._captured_chars <= OFFICE_BLOCK_CHARS:
                self._captured.append(text)
        elif into == MATH and self._equation is not None:
            self._equation.write(text)
        elif into in (FONTS, STYLE):
            self._entry.named(text)
