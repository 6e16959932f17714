"""SVG drawings (.svg) and formulas in files of their own (.mml): the text in them.

Promises: the words of text elements and of pages inside the drawing, in the order of the file;
of alternatives the first is read; title and description of the whole drawing count, those of its
parts do not. A DOCTYPE that declares anything is refused. Does not: look at shapes or pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from helpers.extract.blocks import Block, Context, Item, Metadata
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, severed
from helpers.extract.outline import Outline
from helpers.limits import OFFICE_BLOCK_CHARS, READ_BYTES

_PLACED = ("x", "y", "dy")  # attributes with which a part of a text begins elsewhere
_LINES = ("div", "p", "br", "li", "tr", "h1", "h2", "h3")
_PREFIXES = ("", "svg:", "xhtml:", "html:", "math:", "mml:", "m:")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata and blocks. Raises Unread: corrupt, limit_reached."""
    yield from items_of("the drawing", _pieces(file, ctx))


def items_of(part: str, pieces: Iterable[bytes]) -> Iterator[Item]:
    """The items of a drawing that comes in pieces."""
    drawing = _Drawing(part)
    for _ in drawing.scanner.scan(pieces):
        drawing.relieve()
        yield from drawing.found
        drawing.found.clear()


def _pieces(file: BinaryIO, ctx: Context) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(READ_BYTES):
        ctx.heartbeat()
        yield piece


class _Drawing:
    def __init__(self, part: str) -> None:
        self.found: list[Item] = []
        self._outline = Outline()
        self._parts: list[str] = []
        self._depth = 0  # of groups
        self._texts = 0
        self._switches: list[int] = []
        self._titled = False
        starts: dict[str, OnStart] = {
            "svg g symbol defs": self._group,
            "title": lambda _: self._about(),
            "desc": lambda _: self._about(),
            "text": self._text,
            "tspan": self._span,
            "foreignObject": self._page,
            "switch": lambda _: self._switches.append(self._texts),
            "style script metadata": lambda _: self.scanner.skip(),
            "math": self._equation,
            " ".join(_LINES): lambda _: self._parts.append("\n"),
        }
        ends: dict[str, OnEnd] = {
            "svg g symbol defs": self._group_end,
            "title": self._title_end,
            "desc text foreignObject": self._end,
            "switch": lambda: self._switches and self._switches.pop(),
        }
        self.scanner = Scanner(part, _named(starts), _named(ends), doctype=True, separator=None)

    def relieve(self) -> None:
        """Cut a text without end."""
        if sum(map(len, self._parts)) > OFFICE_BLOCK_CHARS:
            self._put(severed(self._parts))

    def _group(self, attributes: Attributes) -> None:
        self._depth += 1
        if self._switches and "requiredFeatures" in attributes:
            self._texts += 1  # every program shows it, and not what stands in for it

    def _group_end(self) -> None:
        self._depth -= 1

    def _about(self) -> None:
        """A title or description: that of the drawing counts, a part's names no text of it."""
        if self._depth > 1:
            self.scanner.skip()
        else:
            self._parts.clear()
            self.scanner.collect(self._parts.append)

    def _text(self, attributes: Attributes) -> None:
        if self._switches and self._texts > self._switches[-1]:
            self.scanner.skip()
            return
        self._parts.clear()
        self.scanner.collect(self._parts.append)

    def _page(self, attributes: Attributes) -> None:
        self._text(attributes)

    def _span(self, attributes: Attributes) -> None:
        if any(name in attributes for name in _PLACED):
            self._parts.append(" ")

    def _equation(self, attributes: Attributes) -> None:
        built = MathmlBuilder()
        alone = not self._depth

        def done() -> None:
            self._parts.append(marked(built.latex()))
            if alone:
                self._end()

        self.scanner.divert(built.start, built.end, built.characters, done)

    def _title_end(self) -> None:
        if self._depth > 1:
            return
        title = " ".join("".join(self._parts).split())
        self._parts.clear()
        self.scanner.collect(None)
        if title and not self._titled:
            self._titled = True
            self.found.append(Metadata(title=title))
            self._put(title)

    def _end(self) -> None:
        self.scanner.collect(None)
        text = "".join(self._parts)
        self._parts.clear()
        self._put(text)

    def _put(self, text: str) -> None:
        lines = (" ".join(line.split()) for line in text.split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            self._texts += 1
            self.found.append(Block(text, location=self._outline.paragraph()))


def _named(actions: dict[str, OnStart] | dict[str, OnEnd]) -> dict:
    return {
        f"{prefix}{word}": action
        for words, action in actions.items()
        for word in words.split()
        for prefix in _PREFIXES
    }
