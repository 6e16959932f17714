"""Text inside drawings: DrawingML paragraphs, tables, charts and diagram (SmartArt) data.

Promises: paragraphs come in the order of the part, a chart gives its titles and category
names. Does not: know where on a page a shape stands, or read pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.extract.alternative import alternative
from helpers.extract.blocks import CELL_SEPARATOR
from helpers.extract.equations import read_equation
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, severed, table
from helpers.extract.opc import NAMESPACES, Package
from helpers.limits import OFFICE_BLOCK_CHARS


def drawing_texts(package: Package, part: str) -> Iterator[str]:
    """The non-empty paragraphs of a drawing, diagram data or chart part.

    Sources: a:p holds the paragraphs of shapes and titles; c:strCache/c:v what a chart shows
    as names; numbers of a chart (c:numCache) are left to the sheet they come from.
    """
    collector = _Collector(part)
    for _ in collector.scanner.scan(package.follow(part)):
        collector.relieve()
        yield from collector.found
        collector.found.clear()


def shape_texts(package: Package, part: str) -> Iterator[str]:
    """`drawing_texts` of a drawing, then of the charts and diagrams that it shows."""
    yield from drawing_texts(package, part)
    yield from shown_texts(package, part)


def shown_texts(package: Package, part: str) -> Iterator[str]:
    """The texts of the charts and diagrams that a slide or drawing shows."""
    for target in package.targets(package.relationships(part), "chart", "diagramData"):
        yield from drawing_texts(package, target)


class _Collector:
    def __init__(self, part: str) -> None:
        self.found: list[str] = []
        self._parts: list[str] = []
        self._names: dict[str, None] = {}
        self._in_names = False
        self.scanner: Scanner
        starts: dict[str, OnStart] = {
            "m:oMath": self._equation,
            "xdr:cNvPr": self._picture,
            "a:t": lambda _: self.scanner.collect(self._parts.append),
            "a:br": lambda _: self._parts.append("\n"),
            "c:strCache": lambda _: self._switch(True),
            "c:v": self._name_start,
            "c:numCache mc:Fallback": lambda _: self.scanner.skip(),
        }
        ends: dict[str, OnEnd] = {
            "a:t": lambda: self.scanner.collect(None),
            "a:p": self._paragraph,
            "c:strCache": lambda: self._switch(False),
            "c:v": self._name_end,
            "c:chart": self._names_end,
        }
        self.scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))

    def relieve(self) -> None:
        """Cut a paragraph or a list of names that has no end."""
        if sum(map(len, self._parts)) > OFFICE_BLOCK_CHARS:
            self.found.append(severed(self._parts).strip())
        if sum(len(name) + 50 for name in self._names) > OFFICE_BLOCK_CHARS:
            self._names_end()

    def _equation(self, attributes: Attributes) -> None:
        read_equation(self.scanner, self._parts.append)

    def _picture(self, attributes: Attributes) -> None:
        text = alternative(attributes.get("descr", ""), attributes.get("title", ""))
        if text:
            self.found.append(text)

    def _switch(self, in_names: bool) -> None:
        self._in_names = in_names

    def _taken(self) -> str:
        text = "".join(self._parts).strip()
        self._parts.clear()
        return text

    def _paragraph(self) -> None:
        text = self._taken()
        if text:
            self.found.append(text)

    def _name_start(self, attributes: Attributes) -> None:
        if self._in_names:
            self.scanner.collect(self._parts.append)

    def _name_end(self) -> None:
        self.scanner.collect(None)
        if self._in_names and (text := self._taken()):
            self._names[text] = None

    def _names_end(self) -> None:
        """A chart's names in one paragraph: each alone would be a line without a sense."""
        if self._names:
            self.found.append(CELL_SEPARATOR.join(self._names))
            self._names.clear()
