"""The text of OpenDocument paragraphs: white space, and paragraphs inside paragraphs.

Promises: white space is folded as the format says, while its own marks for tabs, breaks and
runs of spaces survive; a paragraph without end is cut.
Does not: know tables, slides or where a text stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping

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

# XML cannot hold these letters, so they mark white space that must survive folding. Letters of
# the first 256 would do as well, but "\x01" is the second byte of a Thai one, and Python looks for
# such bytes: a paragraph of 800 letters took 7 microseconds.
_TAB, _BREAK, _SPACE = "\ufffe", "\uffff", "\udfff"
_FOLDED = re.compile(r"[ \t\r\n]+")
_MARKS = str.maketrans({_TAB: "\t", _BREAK: "\n", _SPACE: " "})


def one(qualified: str) -> str:
    """The name of an element or attribute as the parser reports it."""
    return names(qualified, NAMESPACES)[0]


_COUNT = one("text:c")
_PARAGRAPH = one("text:p")
_STYLE = one("text:style-name")
_NONE = -1  # no plain paragraph is open


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
    """Paragraphs, also those inside others (a note, a text box): each collects its own text.

    `stack` holds what is open, None for a pause; `emit` gets a paragraph's text and the number
    that `begin` was given. A plain paragraph, one within no other, is not on the stack: they come
    by the hundred thousand, and character data goes to one list for all of them.
    """

    def __init__(self, emit: Callable[[str, int], None]) -> None:
        self._emit = emit
        self.stack: list[tuple[list[str] | None, int]] = []
        self._open = 0  # paragraphs on the stack
        self._plain = _NONE  # height of the stack where the open plain paragraph began
        self._loose: list[str] | None = None  # a plain paragraph's text; what stands in none
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

    def plain(
        self,
        scanner: Scanner,
        said: Callable[[str, str | None], None],
        other: Container[str | None],
        quick: Mapping[str, OnStart],
    ) -> None:
        """Read plain paragraphs and `quick` elements by handlers of their own from here on.

        `said` gets a paragraph's text and the name of its style; those with `other` styles go the
        usual way. `quick` elements have start actions alone.
        """
        usual_start, usual_end = scanner.take_over()
        stack = self.stack
        loose: list[str] = []
        look: str | None = None

        def start(name: str, attributes: Attributes) -> None:
            nonlocal look
            if name == _PARAGRAPH and self._plain == _NONE and not self._open:
                look = attributes.get(_STYLE)
                if look not in other:
                    loose.clear()
                    self._plain = len(stack)
                    return
            if name in quick:
                quick[name](attributes)
            else:
                usual_start(name, attributes)

        def end(name: str) -> None:
            if name == _PARAGRAPH and self._plain == len(stack):
                self._plain = _NONE
                said(tidy(loose[0] if len(loose) == 1 else "".join(loose)), look)
            elif name not in quick:
                usual_end(name)

        self._loose = loose
        self._direct()
        scanner.take_over(start, end)

    @property
    def inside(self) -> bool:
        """Whether a paragraph is open."""
        return self._open > 0 or self._plain != _NONE

    def begin(self, level: int = 0) -> None:
        """A paragraph begins."""
        parts: list[str] = []
        self.stack.append((parts, level))
        self._open += 1
        self._collect(parts.append)

    def end(self) -> None:
        """The paragraph that began last ends; without one nothing happens."""
        if self.stack and self.stack[-1][0] is not None:
            parts, level = self.stack.pop()
            self._open -= 1
            self._hand_on("".join(parts or ()), level)
            self._direct()

    def pause(self) -> None:
        """Until `resume`, text outside further paragraphs belongs to none."""
        self.stack.append((None, 0))
        if self.inside:
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
        if self._loose is not None and self._plain != _NONE:
            self._loose.append(text)
            return True
        return False

    def relieve(self) -> None:
        """Cut a paragraph without end, so that memory stays flat."""
        for parts in (self._loose, *(parts for parts, _ in self.stack)):
            if parts is not None and sum(map(len, parts)) > OFFICE_BLOCK_CHARS:
                text = severed(parts)
                if parts is not self._loose or self._plain != _NONE:
                    self._hand_on(text, 0)

    def _sink(self) -> list[str] | None:
        """Where text belongs that comes now."""
        if self.stack and self.stack[-1][0] is not None:
            return self.stack[-1][0]
        here = self._plain if self._plain != _NONE else 0 if self._open else len(self.stack)
        return self._loose if here == len(self.stack) else None

    def _direct(self) -> None:
        parts = self._sink()
        self._collect(None if parts is None else parts.append)

    def _write(self, text: str) -> None:
        parts = self._sink()
        if parts is not None:
            parts.append(text)

    def _hand_on(self, raw: str, level: int) -> None:
        text = tidy(raw)
        if text:
            self._emit(text, level)
