"""Where a paragraph of a flowing document stands: its heading path, or its number.

Word processor files know no pages; a layout program makes them up. Promises: under a heading
a location is the section ("Contract > Payment"), before the first one the paragraph's number
("paragraph 3"). Does not: decide what a heading is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpers.extract import quick
from helpers.extract.blocks import Block, Location

PATH_SEPARATOR = " > "
DEEPEST_HEADING = 6
TITLE_CHARS = 80  # code points of one heading inside a path

_PAGE_WORDS = re.compile(
    r"(?:page|seite|pagina|página|of|von|de|p|페이지|쪽|총|중|หน้า|ที่|จาก|ของ)?[\W\d_]*",
    re.IGNORECASE,
)


class Outline:
    """The headings above the present place of one document."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []
        self._section: Location | None = None
        self._paragraphs = 0

    def heading(self, text: str, level: int) -> Location:
        """Enter a section; `level` is 1 to 6. Gives the heading's own location."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        title = " ".join(text.split())[:TITLE_CHARS]
        self._path.append((level, title))
        label = PATH_SEPARATOR.join(name for _, name in self._path)
        self._section = Location("section", label, name=title)
        return self._section

    def paragraph(self) -> Location:
        """The location of the next paragraph or table row."""
        self._paragraphs += 1
        if self._section is not None:
            return self._section
        return quick.location("section", f"paragraph {self._paragraphs}")

    def paragraphs(self, texts: Sequence[str]) -> list[Block]:
        """The next paragraphs, at their locations."""
        first = self._paragraphs + 1
        self._paragraphs += len(texts)
        if self._section is not None:
            return quick.paragraphs(texts, self._section)
        return quick.numbered(texts, first)


def only_page_number(text: str) -> bool:
    """Whether a header or footer says nothing but "Page 3 of 7", in one language or another."""
    at = 0
    while at < len(text):
        match = _PAGE_WORDS.match(text, at)
        if match is None or match.end() == at:
            return False
        at = match.end()
    return True
