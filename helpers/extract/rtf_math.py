r"""Equations of RTF 1.9 (`\moMath`): the names of Office Math behind an m, told as LaTeX.

They are written anew as Office Math in XML, which `equations` reads. Promises: an equation
without end is cut. Does not: read the older equation fields and objects.
"""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from helpers.errors import Unread
from helpers.extract.equations import read_equation
from helpers.extract.markup import Attributes, Scanner, table
from helpers.extract.opc import NAMESPACES
from helpers.limits import EQUATION_CHARS, MARKUP_DEPTH

_SCRIPTS = {1: "script", 2: "fraktur", 3: "double-struck", 4: "sans-serif", 5: "monospace"}
_STYLES = {0: "p", 1: "b", 3: "bi"}
_XML_CHARS = 16 * EQUATION_CHARS  # code points of an equation's XML before it is cut
_DEEPEST = MARKUP_DEPTH - 10  # elements within each other


class Equation:
    """One equation on its way; groups go to `enter` and `leave`, letters to `write`."""

    def __init__(self) -> None:
        self._xml: list[str] = []
        self._chars = 0
        self._open: list[str] = []
        self._value: list[str] = []

    def enter(self, name: str) -> None:
        """A group that begins with the control word `m` + `name`."""
        if self._in_properties():
            self._value = []
        elif self._room():
            self._put(f"<m:{name}>")
        else:
            name = ""
        self._open.append(name)

    def leave(self) -> None:
        """The group that `enter` opened last ends."""
        name = self._open.pop() if self._open else ""
        if self._in_properties():
            self._property(name, "".join(self._value).strip())
        elif name:
            self._put(f"</m:{name}>")

    def write(self, text: str) -> None:
        if len(self._open) > 1 and self._open[-2].endswith("Pr"):
            self._value.append(text[:100])
        elif self._open and self._open[-1] == "r" and self._room():
            self._put(f"<m:t>{escape(text)}</m:t>")

    def run_property(self, name: str, value: int | None) -> None:
        """`mscr`, `msty` or `mnor` of a run."""
        if not self._open or self._open[-1] != "r":
            return
        if name == "nor":
            told = "0" if value == 0 else "1"
        else:
            told = (_SCRIPTS if name == "scr" else _STYLES).get(value or 0, "")
        if told:
            self._put("<m:rPr>")
            self._property(name, told)
            self._put("</m:rPr>")

    def text(self) -> str:
        """The equation as it stands in its sentence."""
        while self._open:
            self.leave()
        found: list[str] = []
        scanner: Scanner

        def begin(attributes: Attributes) -> None:
            read_equation(scanner, found.append)

        scanner = Scanner("an equation", table({"m:oMath": begin}, NAMESPACES))
        body = "".join(self._xml)
        xml = f'<m:oMath xmlns:m="{NAMESPACES["m"][0]}">{body}</m:oMath>'
        try:
            scanner.run((xml.encode("utf-8", "replace"),))
        except Unread as error:  # a name that is none, in a damaged file
            if error.code != "corrupt":
                raise
        return "".join(found)

    def _in_properties(self) -> bool:
        return bool(self._open) and self._open[-1].endswith("Pr")

    def _room(self) -> bool:
        return self._chars < _XML_CHARS and len(self._open) < _DEEPEST

    def _property(self, name: str, value: str) -> None:
        if name and self._room():
            self._put(f"<m:{name} m:val={quoteattr(value)}/>")

    def _put(self, xml: str) -> None:
        self._chars += len(xml)
        self._xml.append(xml)
