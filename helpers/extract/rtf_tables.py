"""What an RTF file says before and beside its text: fonts, styles, title, page margins.

Does not: parse; `rtf_body` fills these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from helpers.extract import rtf_charsets
from helpers.extract.docx_styles import heading_of_name, is_title_name
from helpers.extract.outline import DEEPEST_HEADING, only_page_number
from helpers.extract.rtf_flow import Piece

_NAME_CHARS = 200  # code points kept of a font's or style's name
_STYLES = 20_000  # styles of one document that are looked at
_BASES = 20  # styles one style may be based on, in a row
_MARGINS = 1_000  # different paragraphs of page headers and footers


@dataclass(slots=True)
class Font:
    """One font; `page` is a codec the font names itself."""

    name: str = ""
    charset: int | None = None
    page: str | None = None

    def named(self, text: str) -> None:
        if len(self.name) < _NAME_CHARS:
            self.name += text.rstrip(";")

    def codec(self) -> str | None:
        return self.page or rtf_charsets.of_font(self.charset, self.name)


@dataclass(slots=True)
class Style:
    """One paragraph style: its name may say which heading it is, or that of its base."""

    name: str = ""
    base: int | None = None
    outline: int | None = None

    def named(self, text: str) -> None:
        if len(self.name) < _NAME_CHARS:
            self.name += text


class Styles:
    """The style sheet."""

    def __init__(self) -> None:
        self._styles: dict[int, Style] = {}
        self._levels: dict[int, tuple[int, bool]] = {}

    def add(self, number: int, style: Style) -> None:
        if len(self._styles) < _STYLES:
            self._styles[number] = style
            self._levels.clear()

    def level(self, number: int) -> tuple[int, bool]:
        """The heading level of a style, 0 for body text; whether it is the document's title."""
        known = self._levels.get(number)
        if known is None:
            known = self._levels[number] = self._find(number)
        return known

    def _find(self, number: int) -> tuple[int, bool]:
        style = self._styles.get(number)
        for _ in range(_BASES):
            if style is None:
                break
            name = style.name.partition(";")[0].strip()
            if is_title_name(name):
                return 1, True
            if style.outline is not None:
                outline = style.outline
                return (min(outline + 1, DEEPEST_HEADING) if 0 <= outline < 9 else 0), False
            if level := heading_of_name(name):
                return level, False
            style = self._styles.get(style.base) if style.base is not None else None
        return 0, False


@dataclass(slots=True)
class Info:
    """What the document says about itself, complete at its end.

    `codec` is that of text in no font's charset; `unclosed` counts the groups that the file's
    end left open; `margins` are page headers and footers, each text once; `objects` are embedded
    ones, for the reader to take, and `too_large` how many were left out.
    """

    title: str = ""
    keywords: str = ""
    codec: str = "cp1252"
    unclosed: int = 0
    margins: dict[str, Piece] = field(default_factory=dict)
    objects: list[bytes] = field(default_factory=list)
    too_large: int = 0

    def add_margins(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if len(self.margins) < _MARGINS and not only_page_number(piece.text):
                self.margins.setdefault(piece.text, piece)
