"""The text of OpenDocument paragraphs: white space, and paragraphs inside paragraphs.

Promises: white space is folded as the format says, while its own marks for tabs, breaks and
runs of spaces survive; a paragraph without end is cut.
Does not: know tables, slides or where a text stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.markup import Attributes, OnStart, Scanner, names, severed, whole
from helpers.limits import OFFICE_BLOCK_CHARS

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES: dict[str, tuple[str, ...]] = {
    "office": (f"{_OASIS}:office:1.0",),
    "text": (f"{_OASIS}:text:1.0",),
    "table": (f"{_OASIS}:table:1.0",),
    "draw": (f"{_OASIS}:drawing:1.0",),
    "svg": (f"{_OASIS}:svg-compatible:1.0",),
    "style": (f"{_OASIS}:style:1.0",),
    "presentation": (f"{_OASIS}:presentation:1.0",),
    "meta": (f"{_OASIS}:meta:1.0",),
    "manifest": (f"{_OASIS}:manifest:1.0",),
    "dc": ("http://purl.org/dc/elements/1.1/",),
    "math": ("http://www.w3.org/1998/Math/MathML",),
    "xlink": ("http://www.w3.org/1999/xlink",),
}

NAMES = 1_000  # titles, series and categories of one chart
NUMBER = re.compile(r"[-+0-9.,%eE\s]+")
SPACES = 200  # spaces that one text:s may stand for

# XML cannot hold these letters, so they mark white space that must survive folding.
_TAB, _BREAK, _SPACE = "\x01", "\x02", "\x03"
_FOLDED = re.compile(r"[ \t\r\n]+")
_MARKS = str.maketrans({_TAB: "\t", _BREAK: "\n", _SPACE: " "})


def one(qualified: str) -> str:
    """The name of an element or attribute as the parser reports it."""
    return names(qualified, NAMESPACES)[0]


_COUNT = one("text:c")
_PARAGRAPH = one("text:p")


def tidy(text: str) -> str:
    """Fold white space as OpenDocument does, then put its own marks in place."""
    if not (  # one by one: many times quicker than a pattern or `isprintable`
        ("\n" in text or "\t" in text or "\r" in text or "  " in text)
        or (_TAB in text or _BREAK in text or _SPACE in text)
    ):
        return text.strip()
    return _FOLDED.sub(" ", text).translate(_MARKS).strip()


class ShownNames:
    """The handlers for a document inside a flat file: what its paragraphs say, each text once.

    Mere numbers, such as those of a chart's data, are left out.
    """

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._parts: list[str] | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        if name == _PARAGRAPH:
            self._parts = []

    def end(self, name: str) -> None:
        if name == _PARAGRAPH and self._parts is not None:
            text = tidy("".join(self._parts))
            self._parts = None
            if text and not NUMBER.fullmatch(text) and len(self._names) < NAMES:
                self._names[text] = None

    def characters(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)

    def text(self) -> str:
        """The names as cells of one row; cut where they are very many."""
        return CELL_SEPARATOR.join(self._names)[:OFFICE_BLOCK_CHARS]


class TextFrames:
    """Paragraphs inside paragraphs (a note, a text box): each collects its own text.

    `stack` holds the open ones, None for a pause; `emit` gets a paragraph's text and the
    number that `begin` was given.
    """

    def __init__(self, emit: Callable[[str, int], None]) -> None:
        self._emit = emit
        self.stack: list[tuple[list[str] | None, int]] = []
        self._open = 0
        self._base: list[str] | None = None
        self._collect: Callable[[Callable[[str], object] | None], None] = lambda sink: None

    def attach(self, scanner: Scanner) -> None:
        """Where character data comes from."""
        self._collect = scanner.collect

    def marks(self) -> dict[str, OnStart]:
        """The actions of white space elements."""
        return {
            "text:s": lambda attributes: self._write(
                _SPACE * max(1, min(SPACES, whole(attributes.get(_COUNT), 1)))
            ),
            "text:tab": lambda _: self._write(_TAB),
            "text:line-break": lambda _: self._write(_BREAK),
        }

    def loose(self) -> list[str]:
        """Text of no paragraph goes to this list from here on, which the caller empties."""
        self._base = []
        self._direct()
        return self._base

    @property
    def inside(self) -> bool:
        """Whether a paragraph is open."""
        return self._open > 0

    def begin(self, level: int = 0) -> None:
        """A paragraph begins."""
        parts: list[str] = []
        self.stack.append((parts, level))
        self._open += 1
        self._collect(parts.append)

    def opening(self, look: str, marked: Container[str], number: int) -> OnStart:
        """`begin` as an action: with `number` where the attribute `look` is `marked`, else 0."""
        push = self.stack.append

        def begin(attributes: Attributes) -> None:
            parts: list[str] = []
            push((parts, number if attributes.get(look) in marked else 0))
            self._open += 1
            self._collect(parts.append)

        return begin

    def end(self) -> None:
        """The paragraph that began last ends; without one nothing happens."""
        if self.stack and self.stack[-1][0] is not None:
            parts, level = self.stack.pop()
            self._open -= 1
            self._hand_on("".join(parts or ()), level)
            self._direct()

    def taken(self) -> tuple[str, int] | None:
        """The only open paragraph ends: its text and number. None where others are open."""
        stack = self.stack
        if self._open != 1 or stack[-1][0] is None:
            return None
        parts, level = stack.pop()
        self._open = 0
        around = stack[-1][0] if stack else self._base
        self._collect(None if around is None else around.append)
        if not parts:
            return "", level
        return tidy(parts[0] if len(parts) == 1 else "".join(parts)), level

    def pause(self) -> None:
        """Until `resume`, text outside further paragraphs belongs to none."""
        self.stack.append((None, 0))
        self._collect(None)

    def resume(self) -> None:
        if self.stack and self.stack[-1][0] is None:
            self.stack.pop()
            self._direct()

    def write_around(self, text: str) -> bool:
        """Add to the innermost open paragraph, whatever pauses it; says whether one is open."""
        for parts, _ in reversed(self.stack):
            if parts is not None:
                parts.append(text)
                return True
        return False

    def relieve(self) -> None:
        """Cut a paragraph without end, so that memory stays flat."""
        for parts in (self._base, *(parts for parts, _ in self.stack)):
            if parts is not None and sum(map(len, parts)) > OFFICE_BLOCK_CHARS:
                self._hand_on(severed(parts), 0)

    def _direct(self) -> None:
        parts = self.stack[-1][0] if self.stack else self._base
        self._collect(None if parts is None else parts.append)

    def _write(self, text: str) -> None:
        parts = self.stack[-1][0] if self.stack else self._base
        if parts is not None:
            parts.append(text)

    def _hand_on(self, raw: str, level: int) -> None:
        text = tidy(raw)
        if text:
            self._emit(text, level)
