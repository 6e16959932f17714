"""The content of a page, read as instructions: which letters stand where.

Promises: malformed instructions are passed over, never fatal; text that the file states
outright (ActualText) replaces the glyphs it describes; forms are followed with a cap on depth
and number; work is linear in the length of the stream.
Does not: render anything, or order the pieces (see pdf_layout).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from helpers import limits
from helpers.extract import pdf_objects, pdf_unmapped
from helpers.extract.pdf_font import Font
from helpers.extract.pdf_tokens import bracket, from_hex, long_string, text_of

OPERANDS = 64  # operands kept for one instruction
ARRAY_ITEMS = 50_000  # items of one array
STATES = 256  # saved graphics states
CLUSTER_PARTS = 4  # parts in which one Thai cluster may be shown
SPLIT_EM = 0.1  # of the font size: an adjustment above it parts two spans
PASSED_AT_ONCE = 1_000  # instructions passed over that are counted together
HEARTBEAT_INSTRUCTIONS = 20_000  # instructions between two signs of life

_TOKEN = re.compile(
    rb"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?=[\s\x00()<>\[\]{}/%]|$))"  # 1 number
    rb"|/([^\s\x00()<>\[\]{}/%]*)"  # 2 name
    rb"|\(([^()\\]*)\)"  # 3 plain string
    rb"|<([0-9A-Fa-f\s]*)>"  # 4 hex string
    rb"|([A-Za-z'\"][A-Za-z0-9*'\"]*)"  # 5 operator
    rb"|(<<|>>|[\[\]])"  # 6 bracket
    rb"|(\()"  # 7 string with escapes or parentheses
    rb"|%[^\r\n]*"
    rb"|[-+.\d]+[^\s\x00()<>\[\]{}/%]*"
)
# What never begins a Thai cluster: vowels and tones above, below and behind; a sign unknown.
_WITHIN_CLUSTER = re.compile("[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\ufffd]+")
# Marks that a program states to be nothing, for want of a letter for them.
_HIDDEN_MARKS = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\ufffd\U000f0000-\U0010ffff]+")
# One Thai consonant that is shown, and stated with marks: those are shown by themselves.
_BARE_CLUSTER = re.compile("([\u0e01-\u0e2e])\n\\1[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+")
_IMAGE_END = re.compile(rb"[\s\x00]EI(?=[\s\x00]|$)")
_IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
Matrix: TypeAlias = tuple[float, float, float, float, float, float]


@dataclass(slots=True)
class Span:
    """Letters shown in one go. The way they run is (dx, dy), a vector of length `advance` in
    page units; `size` is the height of the font, `space` the width of its space.
    """

    text: str
    x: float
    y: float
    dx: float
    dy: float
    size: float
    space: float
    hidden: bool = False


@dataclass(slots=True)
class _State:
    matrix: Matrix = _IDENTITY
    font: Font | None = None
    size: float = 1.0
    char_space: float = 0.0
    word_space: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    mode: int = 0

    def copy(self) -> _State:
        """The same state, to be saved."""
        return replace(self)


@dataclass(slots=True)
class _Marked:
    """An open marked-content sequence; `actual` is the text it stands for, if stated."""

    actual: str | None
    first: int = 0  # spans there were when it began


class _Enough(Exception):
    """The page has more text or instructions than are taken."""


class Page:
    """Collects the spans of one page. `font_of` gives the Font of a font resource."""

    def __init__(self, font_of: Callable[[Any], Font], heartbeat: Callable[[], None]) -> None:
        self.spans: list[Span] = []
        self.images = 0
        self.covered = 0.0  # square points of the largest image
        self.pixels = 0  # of the image that has most
        self.shapes = 0
        self.truncated = False
        self._font_of = font_of
        self._heartbeat = heartbeat
        self._forms = 0
        self._instructions = self._next_beat = 0
        self.shown = 0  # code points of text

    def show(self, stream: bytes, resources: Any) -> None:
        """Read one content stream with its resources."""
        try:
            _Interpreter(self, resources, _State(), 0).run(stream)
        except _Enough:
            self.truncated = True

    def add(self, span: Span) -> None:
        """Keep a span, within the cap of the page."""
        self.shown += len(span.text)
        if self.shown > limits.PDF_PAGE_CHARS:
            raise _Enough
        self.spans.append(span)

    def beat(self, count: int = 1) -> None:
        """Called for instructions carried out or passed over."""
        self._instructions += count
        if self._instructions >= self._next_beat:
            self._next_beat = self._instructions + HEARTBEAT_INSTRUCTIONS
            self._heartbeat()
            if self._instructions > limits.PDF_PAGE_INSTRUCTIONS:
                raise _Enough

    def may_enter(self, depth: int) -> bool:
        """Whether one more form may be followed."""
        self._forms += 1
        return depth < limits.PDF_FORM_DEPTH and self._forms <= limits.PDF_FORM_CALLS

    def font(self, resource: Any) -> Font:
        """The font of a resource."""
        return self._font_of(resource)


class _Interpreter:
    def __init__(self, page: Page, resources: Any, state: _State, depth: int) -> None:
        self.page, self.resources, self.state, self.depth = page, resources, state, depth
        self.saved: list[_State] = []
        self.marked: list[_Marked] = []
        self.text: Matrix = _IDENTITY
        self.line: Matrix = _IDENTITY
        self.operands: list[Any] = []
        self.opened: list[int] = []  # where arrays and dictionaries began among the operands
        self.operations = {name: getattr(self, method) for name, method in _OPERATIONS.items()}

    def run(self, data: bytes) -> None:
        """Carry out a whole stream."""
        position: int | None = 0
        while position is not None:
            position = self._read(data, position)

    def _read(self, data: bytes, position: int) -> int | None:
        """Tokens from `position` on; where to resume after what one pattern cannot match."""
        operands, operations, passed = self.operands, self.operations, 0
        for match in _TOKEN.finditer(data, position):
            kind = match.lastindex
            if kind == 1:
                operands.append(float(match[1]))
            elif kind == 5:
                operation = operations.get(match[5])
                if operation is not None:
                    self._operate(operation)
                elif match[5] == b"ID":
                    found = _IMAGE_END.search(data, match.end())
                    self._image()
                    self._clear()
                    return found.end() if found else None
                else:  # lines, colours and the like
                    operands.clear()
                    passed += 1
                    if passed % PASSED_AT_ONCE == 0:
                        self._clear()
                        self.page.beat(PASSED_AT_ONCE)
            elif kind == 3:
                operands.append(match[3])
            elif kind == 4:
                operands.append(from_hex(match[4]))
            elif kind == 2:
                operands.append("/" + match[2].decode("latin-1"))
            elif kind == 6:
                bracket(match[6], operands, self.opened)
            elif kind == 7:
                text, end = long_string(data, match.end())
                operands.append(text)
                return end
            if len(operands) > OPERANDS:
                self._prune()
        return None

    def _prune(self) -> None:
        """Operands without an instruction: keep the last ones, or drop an endless array."""
        if not self.opened:
            del self.operands[: -OPERANDS // 2]
            self.page.beat()
        elif len(self.operands) > ARRAY_ITEMS:
            self._clear()

    def _operate(self, operation: Callable[[list[Any]], None]) -> None:
        self.page.beat()
        try:
            operation(self.operands)
        except (IndexError, TypeError, ValueError, AttributeError, KeyError, OverflowError):
            pass  # a malformed instruction
        self._clear()

    def _clear(self) -> None:
        self.operands.clear()
        self.opened.clear()

    # --- graphics state --------------------------------------------------------------

    def save(self, operands: list[Any]) -> None:
        if len(self.saved) < STATES:
            self.saved.append(self.state.copy())

    def restore(self, operands: list[Any]) -> None:
        if self.saved:
            self.state = self.saved.pop()

    def transform(self, operands: list[Any]) -> None:
        self.state.matrix = _multiply(_matrix(operands), self.state.matrix)

    def call(self, operands: list[Any]) -> None:
        form = _entry(self.resources, "/XObject", operands[0])
        kind = form.get("/Subtype")
        if kind == "/Image":
            self._image()
            pixels = int(form.get("/Width", 0)) * int(form.get("/Height", 0))
            self.page.pixels = max(self.page.pixels, pixels)
        elif kind == "/Form" and self.page.may_enter(self.depth):
            state = self.state.copy()
            if "/Matrix" in form:
                state.matrix = _multiply(_matrix(form["/Matrix"]), state.matrix)
            resources = pdf_objects.resolve(form.get("/Resources")) or self.resources
            inner = _Interpreter(self.page, resources, state, self.depth + 1)
            inner.run(form.get_data())

    def _image(self) -> None:
        a, b, c, d, _, _ = self.state.matrix
        self.page.images += 1
        self.page.covered = max(self.page.covered, abs(a * d - b * c))

    def fill(self, operands: list[Any]) -> None:
        self.page.shapes += 1

    # --- text state ------------------------------------------------------------------

    def begin_text(self, operands: list[Any]) -> None:
        self.text = self.line = _IDENTITY

    def set_font(self, operands: list[Any]) -> None:
        self.state.size = float(operands[1])
        self.state.font = None
        self.state.font = self.page.font(_entry_raw(self.resources, "/Font", operands[0]))

    def set_char_space(self, operands: list[Any]) -> None:
        self.state.char_space = float(operands[0])

    def set_word_space(self, operands: list[Any]) -> None:
        self.state.word_space = float(operands[0])

    def set_stretch(self, operands: list[Any]) -> None:
        self.state.stretch = float(operands[0]) / 100

    def set_leading(self, operands: list[Any]) -> None:
        self.state.leading = float(operands[0])

    def set_rise(self, operands: list[Any]) -> None:
        self.state.rise = float(operands[0])

    def set_mode(self, operands: list[Any]) -> None:
        self.state.mode = int(operands[0])

    def set_matrix(self, operands: list[Any]) -> None:
        self.text = self.line = _matrix(operands)

    def move(self, operands: list[Any]) -> None:
        x, y = operands[-2:]
        a, b, c, d, e, f = self.line
        self.text = self.line = (a, b, c, d, x * a + y * c + e, x * b + y * d + f)

    def move_leading(self, operands: list[Any]) -> None:
        self.state.leading = -operands[-1]
        self.move(operands)

    def next_line(self, operands: list[Any]) -> None:
        self.move([0.0, -self.state.leading])

    # --- showing ---------------------------------------------------------------------

    def show(self, operands: list[Any]) -> None:
        self._show([operands[-1]])

    def show_array(self, operands: list[Any]) -> None:
        self._show(operands[-1])

    def show_next_line(self, operands: list[Any]) -> None:
        self.next_line([])
        self._show([operands[-1]])

    def show_spaced(self, operands: list[Any]) -> None:
        self.state.word_space, self.state.char_space = float(operands[0]), float(operands[1])
        self.show_next_line(operands)

    def _show(self, items: list[Any]) -> None:
        state, font = self.state, self.state.font
        if font is None or not isinstance(items, list):
            return
        unit = state.size / 1000
        text, start, at = "", 0.0, 0.0  # letters, and where they began and end, in text space
        for item in items:
            if isinstance(item, float):
                step = -item * unit
                if abs(step) > SPLIT_EM * abs(state.size) and text:
                    self._emit(font, text, start, at)
                    text = ""
                at += step
                if not text:
                    start = at
            elif isinstance(item, bytes) and item:
                letters, advance, count = font.decode(item)
                if font.vertical:
                    advance = 1000.0 * count
                at += advance * unit + count * state.char_space
                if state.word_space:
                    at += letters.count(" ") * state.word_space
                text += letters
        if text:
            self._emit(font, text, start, at)
        self._advance(font, at)

    def _advance(self, font: Font, way: float) -> None:
        a, b, c, d, e, f = self.text
        x, y = (0.0, -way) if font.vertical else (way * self.state.stretch, 0.0)
        self.text = (a, b, c, d, x * a + y * c + e, x * b + y * d + f)

    def _emit(self, font: Font, text: str, start: float, end: float) -> None:
        state = self.state
        a, b, c, d, e, f = _multiply(self.text, state.matrix)
        way = end - start
        if font.vertical:
            x, y, dx, dy = 0.0, -start, -way * c, -way * d
        else:
            x, y = start * state.stretch, state.rise
            dx, dy = way * state.stretch * a, way * state.stretch * b
        size = abs(state.size) * ((c * c + d * d) ** 0.5 or (a * a + b * b) ** 0.5)
        if not font.vertical and way * state.size <= 0:  # a mark, set back or not: no other way
            way = -1e-6 if state.size < 0 else 1e-6
            dx, dy = way * a, way * b
        space = font.space * size / 1000
        place = (x * a + y * c + e, x * b + y * d + f)
        self.page.add(Span(text, *place, dx, dy, size, space, state.mode in (3, 7)))

    # --- marked content --------------------------------------------------------------

    def begin_marked(self, operands: list[Any]) -> None:
        self.marked.append(_Marked(None, len(self.page.spans)))

    def begin_described(self, operands: list[Any]) -> None:
        self.marked.append(_Marked(None, len(self.page.spans)))
        properties = operands[1]
        if isinstance(properties, str):
            properties = _entry(self.resources, "/Properties", properties)
        actual = properties.get("/ActualText")
        if actual is not None:
            self.marked[-1].actual = text_of(pdf_objects.resolve(actual))

    def end_marked(self, operands: list[Any]) -> None:
        if self.marked:
            mark = self.marked.pop()
            if mark.actual is not None:
                _replace(self.page.spans, mark.first, mark.actual)


_OPERATIONS = {
    b"q": "save",
    b"Q": "restore",
    b"cm": "transform",
    b"Do": "call",
    b"f": "fill",
    b"f*": "fill",
    b"B": "fill",
    b"BT": "begin_text",
    b"Tf": "set_font",
    b"Tc": "set_char_space",
    b"Tw": "set_word_space",
    b"Tz": "set_stretch",
    b"TL": "set_leading",
    b"Ts": "set_rise",
    b"Tr": "set_mode",
    b"Tm": "set_matrix",
    b"Td": "move",
    b"TD": "move_leading",
    b"T*": "next_line",
    b"Tj": "show",
    b"TJ": "show_array",
    b"'": "show_next_line",
    b'"': "show_spaced",
    b"BMC": "begin_marked",
    b"BDC": "begin_described",
    b"EMC": "end_marked",
}


def _replace(spans: list[Span], first: int, actual: str) -> None:
    """Put `actual` in the place of the spans from `first` on."""
    replaced = spans[first:]
    if not replaced:
        return
    shown = "".join(span.text for span in replaced)
    within = bool(_WITHIN_CLUSTER.fullmatch(shown))
    if _BARE_CLUSTER.fullmatch(f"{shown}\n{actual}"):
        actual = shown
    if not actual and _HIDDEN_MARKS.fullmatch(shown):
        within, actual = True, pdf_unmapped.silenced(shown)
    if within:
        actual = _rest_of_cluster(spans[max(0, first - CLUSTER_PARTS) : first], actual)
    start = replaced[0]
    end = _farthest(replaced, start)
    dx, dy = end.x + end.dx - start.x, end.y + end.dy - start.y
    if abs(dx * start.dy - dy * start.dx) > start.size * (abs(start.dx) + abs(start.dy)):
        dx, dy = start.dx, start.dy  # it runs over several lines
    del spans[first:]
    if within and not actual and spans:  # a part of what stands before: its room belongs to that
        last = spans[-1]
        if _farthest([last, end], last) is end:
            last.dx, last.dy = end.x + end.dx - last.x, end.y + end.dy - last.y
    elif actual:
        spans.append(Span(actual, start.x, start.y, dx, dy, start.size, start.space, start.hidden))


def _farthest(spans: list[Span], start: Span) -> Span:
    """The span that ends farthest along the way of `start`."""
    return max(
        spans, key=lambda span: (span.x + span.dx) * start.dx + (span.y + span.dy) * start.dy
    )


def _rest_of_cluster(before: list[Span], actual: str) -> str:
    """What a text stated for marks alone adds to the letters shown before: a program that shows
    one cluster in several parts states the whole of it for each.
    """
    while len(before) > 1 and _WITHIN_CLUSTER.fullmatch(before[-1].text):
        before = before[:-1]
    if before:
        for length in range(len(actual), 0, -1):
            if before[-1].text.endswith(actual[:length]):
                return actual[length:]
    return actual


def _entry_raw(resources: Any, kind: str, name: str) -> Any:
    """A named resource, as a reference where the file holds one."""
    group = pdf_objects.resolve(pdf_objects.resolve(resources)[kind])
    return group.raw_get(name) if hasattr(group, "raw_get") else group[name]


def _entry(resources: Any, kind: str, name: str) -> Any:
    return pdf_objects.resolve(_entry_raw(resources, kind, name))


def _matrix(values: Any) -> Matrix:
    a, b, c, d, e, f = (float(value) for value in list(values)[-6:])
    return (a, b, c, d, e, f)


def _multiply(m: Matrix, n: Matrix) -> Matrix:
    a, b, c, d, e, f = m
    g, h, i, j, k, o = n
    return (
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + o,
    )
