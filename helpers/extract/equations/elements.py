"""Equations that come as XML: each element becomes LaTeX when it ends.

Promises: no recursion, whatever the nesting; an equation of more than EQUATION_CHARS letters and
elements is cut. Does not: know OMML or MathML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from helpers.extract.equations.signs import CUT, tidy
from helpers.limits import EQUATION_CHARS

Attributes = Mapping[str, str | None]


@dataclass(slots=True)
class Element:
    """An open element: `parts` are the names and the LaTeX of what ended inside it."""

    name: str
    attributes: Attributes
    parts: list[tuple[str, str]] = field(default_factory=list)
    props: dict[str, str] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)

    def whole(self) -> str:
        """All that stands in it."""
        return "".join(latex for _, latex in self.parts).strip()

    def of(self, name: str) -> str:
        """What stands in its children of that name."""
        return "".join(latex for part, latex in self.parts if part == name).strip()

    def each(self, name: str) -> list[str]:
        """What stands in each of its children of that name."""
        return [latex.strip() for part, latex in self.parts if part == name]


Rule = Callable[[Element], str]


class Builder:
    """Feed `start`, `characters` and `end`; `latex` tells what came of it."""

    rules: Mapping[str, Rule] = {}
    silent: frozenset[str] = frozenset()  # elements whose contents are passed over

    def __init__(self) -> None:
        self._root = Element("", {})
        self._open = [self._root]
        self._size = 0
        self._passed = 0  # depth inside an element that is passed over

    def start(self, name: str, attributes: Attributes) -> None:
        self._size += 1
        if self._passed or name in self.silent or self._size > EQUATION_CHARS:
            self._passed += 1
        else:
            self._open.append(Element(name, attributes))

    def characters(self, text: str) -> None:
        if not self._passed:
            self._size += len(text)
            self._open[-1].text.append(text)

    def end(self, name: str = "") -> None:
        if self._passed:
            self._passed -= 1
        elif len(self._open) > 1:
            element = self._open.pop()
            rule = self.rules.get(element.name)
            latex = element.whole() if rule is None else rule(element)
            self.ended(element, self._open[-1], latex)

    def ended(self, element: Element, parent: Element, latex: str) -> None:
        """`element` ended inside `parent`."""
        if latex:
            parent.parts.append((element.name, latex))

    def told(self, root: Element) -> str:
        """All that ended, of which `root` holds the parts."""
        return root.whole()

    def latex(self) -> str:
        """The equation so far, elements that are still open being closed."""
        while len(self._open) > 1:
            self._passed = 0
            self.end()
        return tidy(self.told(self._root)) + (CUT if self._size > EQUATION_CHARS else "")
