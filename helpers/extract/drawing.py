"""Text inside drawings: DrawingML paragraphs, tables, charts and diagram (SmartArt) data.

Promises: paragraphs come in the order of the part, a chart gives its titles and category
names. Does not: know where on a page a shape stands, or read pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table
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
        self._names: set[str] = set()
        self._in_names = False
        self.scanner: Scanner
        starts: dict[str, OnStart] = {
            "a:t m:t": lambda _: self.scanner.collect(self._parts.append),
            "a:br": lambda _: self._parts.append("\n"),
            "c:strCache": lambda _: self._enter_names(True),
            "c:v": self._name_start,
            "c:numCache mc:Fallback": lambda _: self.scanner.skip(),
        }
        ends: dict[str, OnEnd] = {
            "a:t m:t": lambda: self.scanner.collect(None),
            "a:p": self._paragraph,
            "c:strCache": lambda: self._enter_names(False),
            "c:v": self._name,
        }
        self.scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))

    def relieve(self) -> None:
        """Cut a paragraph that has no end."""
        if sum(map(len, self._parts)) > OFFICE_BLOCK_CHARS:
            self._paragraph()

    def _enter_names(self, inside: bool) -> None:
        self._in_names = inside

    def _paragraph(self) -> None:
        text = "".join(self._parts).strip()
        self._parts.clear()
        if text:
            self.found.append(text)

    def _name_start(self, attributes: Attributes) -> None:
        if self._in_names:
            self.scanner.collect(self._parts.append)

    def _name(self) -> None:
        self.scanner.collect(None)
        text = "".join(self._parts).strip()
        self._parts.clear()
        if text and text not in self._names:
            if len(self._names) < OFFICE_BLOCK_CHARS:
                self._names.add(text)
            self.found.append(text)
