r"""The state machine of RTF: groups, destinations, control words; pieces of text come out.

Promises: constant memory whatever the file's size; text is decoded by the charset of its font,
letters that span two escapes included; \u wins over what stands behind it for older programs;
hidden and deleted text, field codes, pictures and objects are left out; a file that ends early or
closes too many groups gives what is there.
Does not: lay out lists or pages, or follow links.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from helpers.errors import limit_reached
from helpers.extract import rtf_charsets, rtf_tokens, rtf_words
from helpers.extract.blocks import Location
from helpers.extract.codepages import codec_of_page
from helpers.extract.markup import RESAVE
from helpers.extract.outline import DEEPEST_HEADING
from helpers.extract.rtf_flow import Flow, Paragraph, Piece
from helpers.extract.rtf_tables import Font, Info, Style, Styles
from helpers.extract.rtf_tokens import BACKSLASH, CLOSE, OPEN, Window
from helpers.limits import OFFICE_BLOCK_CHARS, RTF_DEPTH

_ENTRIES = 20_000  # fonts, and styles, of one document that are looked at
_MANY = 2_000  # pieces of an open note or box that are handed on before it ends
_RAW_PIECES = 64  # pieces of text held before they are decoded
_UTF8_BYTES = 3  # bytes above 127 from which bare UTF-8 is taken for what it is
# Where text goes: to the running text, nowhere, to a name or title, and to tables of such.
_BODY, _NONE, _CAPTURE, _FONTS, _STYLES, _STYLE, _INFO, _BOTH = range(8)

_CONTROLS = dict.fromkeys(set(range(32)) - {9, 10})
_HALVES = re.compile("[\ud800-\udfff]")

Action = Callable[[int | None], None]


class _State(NamedTuple):
    """What a group saves and its end brings back."""

    closer: Callable[[], None] | None = None
    into: int = _BODY
    font: int | None = None
    codec: str | None = None
    fallback: int = 1
    hidden: bool = False
    double: bool = False
    style: int = 0
    outline: int = -1
    depth: int = 0


class RtfScanner:
    """One RTF file. Iterate `pieces`; `info` is filled on the way."""

    def __init__(self, file: BinaryIO, heartbeat: Callable[[], None]) -> None:
        self.info = Info()
        self._window = Window(file, heartbeat)
        self._flows = [Flow()]
        self._flow = self._flows[0]
        self._fonts: dict[int, Font] = {}
        self._default_font = 0
        self._sheet = Styles()
        self._entry: Font | Style = Font()
        self._runs: dict[bytes, tuple[tuple[Action, int | None], ...]] = {}
        self._words = self._meanings()
        self._openers = self._destinations()
        self._stack: list[_State] = []
        self._passing = 0  # open levels of a group that is passed over
        self._skip = 0  # letters behind a \u that are passed over
        self._raw: list[bytes] = []
        self._raw_codec = self._raw_font = ""
        self._high = ""  # the first half of a surrogate pair
        self._captured: list[str] = []
        self._captured_chars = 0
        self._property = ""
        # What a group saves; see _State.
        self._closer: Callable[[], None] | None = None
        self._into = _BODY
        self._font: int | None = None
        self._codec: str | None = None
        self._fallback = 1
        self._hidden = self._double = False
        self._style, self._outline, self._depth = 0, -1, 0

    def pieces(self) -> Iterator[Piece]:
        """The text in order; page headers and footers are left in `info.margins`.

        Raises Unread limit_reached for groups nested beyond RTF_DEPTH.
        """
        while self._window.advance():
            self._scan()
            yield from self._drained()
        self._end_raw()
        self.info.unclosed = len(self._stack)
        while self._stack:
            self._close()
        yield from self._flow.finish()

    def _drained(self) -> Iterator[Piece]:
        for flow in self._flows:
            if flow is self._flows[0] or len(flow.found) > _MANY:
                yield from flow.found
                flow.found.clear()

    # --- the loop ---------------------------------------------------------------------------

    def _scan(self) -> None:
        """All pieces that start before the window's stop."""
        window = self._window
        data, at, stop = window.bytes, window.at, window.stop
        words, text, runs = rtf_tokens.WORDS.match, rtf_tokens.TEXT.match, self._runs
        while at < stop:
            if self._passing:
                at = self._pass(data, at, stop)
                continue
            first = data[at]
            if first == BACKSLASH:
                found = words(data, at)
                if found is None:
                    at = self._special(data, at)
                    continue
                at = found.end()
                run = found[0]
                actions = runs.get(run)
                for action, number in self._understood(run) if actions is None else actions:
                    action(number)
            elif first == OPEN:
                at = self._open(data, at + 1)
            elif first == CLOSE:
                at += 1
                self._close()
                if not self._stack and self._over(data, at):
                    window.end()
                    return
            else:
                found = text(data, at)
                at = found.end() if found else at + 1
                if found:
                    self._text(found[0])
        window.at = at

    def _pass(self, data: bytes, at: int, stop: int) -> int:
        """Over a group that holds nothing to read, to its end or that of the window."""
        for found in rtf_tokens.PASSED.finditer(data, at):
            if found.start() >= stop:
                break
            sign = data[found.start()]
            if sign == OPEN:
                self._passing += 1
            elif sign == CLOSE:
                self._passing -= 1
                if not self._passing:
                    return found.end()
            elif found[1] is not None:
                return found.end() + int(found[1])
        return stop

    def _special(self, data: bytes, at: int) -> int:
        r"""\u, \bin, \'hh or a sign behind a backslash."""
        if found := rtf_tokens.UNICODE.match(data, at):
            return self._unicode(data, at, found)
        if found := rtf_tokens.BINARY.match(data, at):
            return found.end() + int(found[1])
        if found := rtf_tokens.TEXT.match(data, at):
            self._text(found[0])
            return found.end()
        sign = data[at + 1] if at + 1 < len(data) else 0
        if sign in (0x0A, 0x0D):
            self._paragraph_end(None)
        elif sign in rtf_words.SIGNS:
            self._letter(rtf_words.SIGNS[sign])
        return at + 2

    def _understood(self, run: bytes) -> tuple[tuple[Action, int | None], ...]:
        """What a run of control words means here; most mean nothing."""
        actions = []
        for word, digits in rtf_tokens.WORD.findall(run):
            action = self._words.get(word)
            if action is not None:
                actions.append((action, int(digits) if digits else None))
        if len(self._runs) >= rtf_tokens.RUN_CACHE:
            self._runs.clear()
        self._runs[run] = found = tuple(actions)
        return found

    def _over(self, data: bytes, at: int) -> bool:
        """The outermost group is closed: what follows is rubbish, unless it is more RTF."""
        return b"\\par" not in data[at : at + rtf_tokens.MARGIN_BYTES]

    # --- groups -------------------------------------------------------------------------------

    def _open(self, data: bytes, at: int) -> int:
        self._skip = 0
        if len(self._stack) >= RTF_DEPTH:
            raise limit_reached("Groups within groups", RTF_DEPTH + 1, RTF_DEPTH, "groups", RESAVE)
        begin = rtf_tokens.BEGIN.match(data, at)
        star, name = (begin[1], begin[2]) if begin is not None else (None, None)
        if self._passed_over(star is not None, name):
            self._passing = 1
            return at
        self._stack.append(self._state())
        self._closer = None
        if self._into == _STYLES:
            self._end_raw()
            self._begin_style()
        elif name in self._openers and name is not None:
            self._end_raw()
            self._openers[name]()
        return begin.start(2) - 1 if star is not None and begin is not None else at

    def _passed_over(self, star: bool, name: bytes | None) -> bool:
        if name is None:
            return star
        if self._into == _BOTH:  # the same text twice; the second time it is in Unicode
            return name != b"ud"
        if self._into == _INFO:
            return name not in rtf_words.INFO_KEPT
        return name in rtf_words.PASSED_OVER or (star and name not in rtf_words.STARRED)

    def _close(self) -> None:
        if not self._stack:
            return
        self._skip = 0
        if len(self._stack) == 1:
            self._paragraph_end(None)
        if self._closer is not None:
            self._end_raw()
            self._closer()
        state = self._stack.pop()
        if state.into != self._into:
            self._end_raw()
        self._restore(state)

    def _state(self) -> _State:
        return _State(
            self._closer,
            self._into,
            self._font,
            self._codec,
            self._fallback,
            self._hidden,
            self._double,
            self._style,
            self._outline,
            self._depth,
        )

    def _restore(self, state: _State) -> None:
        self._closer, self._into, self._font, self._codec = state[:4]
        self._fallback, self._hidden, self._double = state[4:7]
        self._style, self._outline, self._depth = state[7:]

    # --- destinations -------------------------------------------------------------------------

    def _destinations(self) -> dict[bytes, Callable[[], None]]:
        goes = self._goes
        found = {
            b"fonttbl": goes(_FONTS),
            b"stylesheet": goes(_STYLES),
            b"info": goes(_INFO),
            b"upr": goes(_BOTH),
            b"ud": self._unicode_form,
            **dict.fromkeys((b"shpinst", b"do", b"shp", b"sp", b"nesttableprops"), goes(_NONE)),
            b"title": self._capture(self._title_end),
            b"keywords": self._capture(self._keywords_end),
            b"listtext": self._capture(self._number_end),
            b"pntext": self._capture(self._number_end),
            b"sn": self._capture(self._property_name_end),
            b"sv": self._capture(self._property_end),
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
            self._into, self._closer = _CAPTURE, closer
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
        if any(map(str.isalnum, number)) and outside.into == _BODY and not outside.hidden:
            self._flow.write(f"{number} ")

    def _property_name_end(self) -> None:
        self._property = self._taken().strip()

    def _property_end(self) -> None:
        value = self._taken()
        if self._property in rtf_words.SHAPE_TEXTS and value.strip():
            self._flow.after.append(Piece(value.strip(), location=self._flow.place))

    def _aside(self, kind: str) -> Callable[[], None]:
        """Text beside the running text: a note, a box, a page's header or footer."""

        def enter() -> None:
            place = Location("part", kind) if kind else self._flow.place
            self._flow = Flow(place)
            self._flows.append(self._flow)
            self._into, self._closer = _BODY, margin_end if kind in margins else self._aside_end
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

    def _meanings(self) -> dict[bytes, Action]:
        found: dict[bytes, Action] = {
            word: self._letters(text) for word, text in rtf_words.LETTERS.items()
        }
        return found | {
            b"par": self._paragraph_end,
            b"sect": self._paragraph_end,
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
        }

    def _letters(self, text: str) -> Action:
        return lambda _: self._letter(text)

    def _paragraph(self) -> Paragraph:
        if self._outline >= 0:
            level = min(self._outline + 1, DEEPEST_HEADING) if self._outline < 9 else 0
            return Paragraph(level, self._depth)
        level, title = self._sheet.level(self._style)
        return Paragraph(level, self._depth, title)

    def _paragraph_end(self, number: int | None) -> None:
        if self._into == _BODY:
            self._end_raw()
            self._skip = 0
            self._flow.paragraph_end(self._paragraph())

    def _cell_end(self, number: int | None) -> None:
        if self._into == _BODY:
            self._end_raw()
            self._flow.cell_end(1, self._paragraph())

    def _nested_cell_end(self, number: int | None) -> None:
        if self._into == _BODY:
            self._end_raw()
            self._flow.cell_end(max(2, self._depth), self._paragraph())

    def _row_end(self, number: int | None) -> None:
        self._end_raw()
        self._flow.row_end(1)

    def _nested_row_end(self, number: int | None) -> None:
        self._end_raw()
        self._flow.row_end(max(2, self._depth))

    def _header_row(self, header: bool) -> None:
        self._flow.header_row = header

    def _paragraph_reset(self, number: int | None) -> None:
        self._style, self._outline, self._depth = 0, -1, 0

    def _plain(self, number: int | None) -> None:
        self._font = self._codec = None
        self._hidden = self._double = False

    def _in_table(self, number: int | None) -> None:
        self._depth = (self._depth or 1) if number != 0 else 0

    def _set_depth(self, number: int | None) -> None:
        self._depth = max(0, number or 0)

    def _set_style(self, number: int | None) -> None:
        self._style = number or 0
        if self._into == _STYLE and isinstance(self._entry, Style):
            self._sheet.add(self._style, self._entry)

    def _begin_style(self) -> None:
        self._into = _STYLE
        self._entry = Style()

    def _set_outline(self, number: int | None) -> None:
        self._outline = 0 if number is None else number
        if self._into == _STYLE and isinstance(self._entry, Style):
            self._entry.outline = self._outline

    def _set_base(self, number: int | None) -> None:
        if self._into == _STYLE and isinstance(self._entry, Style):
            self._entry.base = number

    def _hide(self, number: int | None) -> None:
        """Hidden by its author, or deleted with changes tracked."""
        self._end_raw()
        self._hidden = number != 0

    def _endnote(self, number: int | None) -> None:
        if len(self._flows) > 1:
            self._flow.place = Location("part", "endnotes")

    # --- charsets -----------------------------------------------------------------------------

    def _set_font(self, number: int | None) -> None:
        if self._into != _FONTS:
            self._font, self._codec = number, None
        elif number is not None and len(self._fonts) < _ENTRIES:
            self._end_raw()
            self._entry = self._fonts[number] = Font()

    def _set_double(self, double: bool) -> None:
        self._double = double

    def _set_double_font(self, number: int | None) -> None:
        if self._double:
            self._set_font(number)

    def _set_default_font(self, number: int | None) -> None:
        self._default_font = number or 0

    def _set_charset(self, number: int | None) -> None:
        if self._into == _FONTS and isinstance(self._entry, Font):
            self._entry.charset = number

    def _set_page(self, number: int | None) -> None:
        if self._into == _FONTS and isinstance(self._entry, Font):
            self._entry.page = codec_of_page(number or 0)

    def _set_code_page(self, number: int | None) -> None:
        self.info.codec = codec_of_page(number or 0) or self.info.codec
        self._codec = None

    def _set_fallback(self, number: int | None) -> None:
        self._fallback = max(0, number if number is not None else 1)

    def _present_font(self) -> Font | None:
        return self._fonts.get(self._default_font if self._font is None else self._font)

    def _present_codec(self) -> str:
        asked = self._into == _BODY or (self._into == _CAPTURE and self._font is not None)
        font = self._present_font() if asked else None
        self._codec = codec = (font.codec() if font else None) or self.info.codec
        return codec

    # --- text -----------------------------------------------------------------------------------

    def _text(self, piece: bytes) -> None:
        raw = rtf_tokens.plain_bytes(piece)
        if self._skip:
            count = min(self._skip, len(raw))
            self._skip -= count
            raw = raw[count:]
        if not raw or self._hidden or self._into == _NONE:
            return
        if not raw.isascii() and b"\\" not in piece and (text := _bare_utf8(raw)):
            self._end_raw()
            self._write(text)
            return
        codec = self._codec or self._present_codec()
        if codec != self._raw_codec or codec == rtf_charsets.SYMBOL:
            self._end_raw()
            self._raw_codec = codec
            font = self._present_font()
            self._raw_font = font.name if font else ""
        self._raw.append(raw)
        if len(self._raw) > _RAW_PIECES:
            self._relieve_raw()

    def _end_raw(self) -> None:
        """Decode the bytes in hand; a letter's second byte may have come after its first."""
        if not self._raw:
            return
        raw = b"".join(self._raw)
        self._raw.clear()
        if self._raw_codec == rtf_charsets.SYMBOL:
            self._write("".join([rtf_charsets.sign(code, self._raw_font) for code in raw]))
        else:
            self._write(raw.decode(self._raw_codec, "replace"))

    def _relieve_raw(self) -> None:
        """Decode the bytes in hand but for the first half of a letter."""
        if self._raw_codec == rtf_charsets.SYMBOL:
            self._end_raw()
            return
        decoder = codecs.getincrementaldecoder(self._raw_codec)("replace")
        text = decoder.decode(b"".join(self._raw))
        self._raw = [half] if (half := decoder.getstate()[0]) else []
        self._write(text)

    def _letter(self, text: str) -> None:
        if self._skip:
            self._skip -= 1
            return
        self._end_raw()
        if not self._hidden:
            self._write(text)

    def _unicode(self, data: bytes, at: int, first: re.Match[bytes]) -> int:
        r"""One \u, or a run of them each with what stands behind it for older programs."""
        pattern = rtf_tokens.UNICODE_RUNS.get(self._fallback)
        run = pattern.match(data, at) if pattern is not None else None
        self._skip = 0 if run else self._fallback
        found = run or first
        if not self._hidden and self._into != _NONE:
            self._end_raw()
            self._codes([int(digits) for digits in rtf_tokens.NUMBERS.findall(found[0])])
        return found.end()

    def _codes(self, numbers: list[int]) -> None:
        units = [number & 0xFFFF if number < 0 else min(number, 0x110000) for number in numbers]
        if any(0xF000 <= unit < 0xF100 for unit in units):
            font = self._present_font()
            name = font.name if font else ""
            letters = [
                rtf_charsets.sign(unit, name) if 0xF000 <= unit < 0xF100 else _character(unit)
                for unit in units
            ]
            text = "".join(letters)
        else:
            text = "".join(map(_character, units))
        if not self._high and not _HALVES.search(text):
            self._write(text)
            return
        text, self._high = self._high + text, ""
        half = text[-1] if "\ud800" <= text[-1] < "\udc00" else ""
        text = text[: len(text) - len(half)]
        self._write(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        self._high = half

    def _write(self, text: str) -> None:
        if self._high and text:
            text, self._high = f"\ufffd{text}", ""
        if not text.isprintable():
            text = text.translate(_CONTROLS)
        into = self._into
        if into == _BODY:
            self._flow.write(text)
        elif into == _CAPTURE:
            self._captured_chars += len(text)
            if self._captured_chars <= OFFICE_BLOCK_CHARS:
                self._captured.append(text)
        elif into in (_FONTS, _STYLE):
            self._entry.named(text)


def _character(unit: int) -> str:
    return chr(unit) if unit < 0x110000 else "\ufffd"


def _bare_utf8(raw: bytes) -> str | None:
    """Text of a program that writes UTF-8 as it is, which RTF does not know."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(raw) - len(text) >= _UTF8_BYTES - 1 else None
