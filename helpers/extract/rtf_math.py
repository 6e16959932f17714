r"""Equations of RTF 1.9 (`\moMath`): the names of Office Math behind an m, told as LaTeX.

Does not: read the older equation fields and objects.
"""

from __future__ import annotations

from helpers.extract.equations import marked
from helpers.extract.equations.omml import MATH, OmmlBuilder

_SCRIPTS = {1: "script", 2: "fraktur", 3: "double-struck", 4: "sans-serif", 5: "monospace"}
_STYLES = {0: "p", 1: "b", 3: "bi"}


class Equation:
    """One equation on its way; groups go to `enter` and `leave`, letters to `write`."""

    def __init__(self) -> None:
        self._built = OmmlBuilder()
        self._open: list[str] = []
        self._value: list[str] = []

    def enter(self, name: str) -> None:
        """A group that begins with the control word `m` + `name`."""
        if self._in_properties():
            self._value = []
        else:
            self._built.start(f"{MATH[0]} {name}", {})
        self._open.append(name)

    def leave(self) -> None:
        """The group that `enter` opened last ends."""
        if not self._open:
            return
        name = self._open.pop()
        if self._in_properties():
            self._property(name, "".join(self._value).strip())
        else:
            self._built.end(f"{MATH[0]} {name}")

    def write(self, text: str) -> None:
        if len(self._open) > 1 and self._open[-2].endswith("Pr"):
            self._value.append(text)
        elif self._open and self._open[-1] == "r":
            self._built.start(f"{MATH[0]} t", {})
            self._built.characters(text)
            self._built.end(f"{MATH[0]} t")

    def run_property(self, name: str, value: int | None) -> None:
        """`mscr`, `msty` or `mnor` of a run."""
        if not self._open or self._open[-1] != "r":
            return
        if name == "nor":
            told = "0" if value == 0 else "1"
        else:
            told = (_SCRIPTS if name == "scr" else _STYLES).get(value or 0, "")
        if told:
            self._built.start(f"{MATH[0]} rPr", {})
            self._property(name, told)
            self._built.end(f"{MATH[0]} rPr")

    def text(self) -> str:
        """The equation as it stands in its sentence."""
        return marked(self._built.latex())

    def _in_properties(self) -> bool:
        return bool(self._open) and self._open[-1].endswith("Pr")

    def _property(self, name: str, value: str) -> None:
        self._built.start(f"{MATH[0]} {name}", {"val": value})
        self._built.end(f"{MATH[0]} {name}")
