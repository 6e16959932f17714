"""The heading path of a running document, and locations that show it.

Does not: recognise headings; the readers do.
"""

from __future__ import annotations

from helpers import limits
from helpers.extract.blocks import Location

PATH_SEPARATOR = " > "


class Sections:
    """Headings entered so far; the path holds one heading per level."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []
        self._label = ""

    def enter(self, level: int, title: str) -> None:
        """A heading of `level` 1 to 6 begins a section."""
        title = " ".join(title.split())
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, title))
        self._label = shortened(self.names)

    @property
    def names(self) -> list[str]:
        """The headings of the path, the uppermost first."""
        return [name for _, name in self._path]

    def place(self, line: int | None = None) -> Location | None:
        """Where line `line` stands: in a section, on a line before any heading, or unknown."""
        if self._path:
            return Location("section", self._label, line, self._path[-1][1])
        return Location("line", f"line {line}", line) if line is not None else None


def shortened(names: list[str]) -> str:
    """The path; in want of room its upper headings go first."""
    while len(names) > 1 and len(PATH_SEPARATOR.join(names)) > limits.SECTION_LABEL_CHARS:
        names = names[1:]
    return PATH_SEPARATOR.join(names)[: limits.SECTION_LABEL_CHARS]
