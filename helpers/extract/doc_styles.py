"""Styles and fonts of a binary Word document: heading levels, and the code pages of fonts.

Sources: [MS-DOC] 2.9.271 (STSH) to 2.9.260, 2.9.286 (font table), the published Word 6 format.
Promises: a damaged table gives the styles and fonts before the damage. Does not: care how text
looks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from helpers.extract.codepages import codec_of_charset
from helpers.extract.doc_sprms import BODY_LEVEL, effect_of, look_of
from helpers.extract.docx_styles import heading_of_name
from helpers.extract.outline import DEEPEST_HEADING

_TITLE = 62  # the built-in style of a document's title
_NO_STYLE = 0x0FFF
_BASES = 20  # styles one style may be based on, in a row
_STYLES = 20_000  # styles of one document that are looked at
_FONTS = 10_000  # fonts of one document that are looked at


@dataclass(frozen=True, slots=True)
class StyleSheet:
    """`levels`: number of a style → heading level, 1 to 6; `titles`: those of the title;
    `font`: number of the font of body text in an old file, -1 where it names none."""

    levels: dict[int, int] = field(default_factory=dict)
    titles: frozenset[int] = frozenset()
    font: int = -1

    def level(self, style: int, outline: int) -> int:
        """A paragraph's heading level, 0 for body text; its own outline level wins."""
        if outline >= 0:
            return min(outline + 1, DEEPEST_HEADING) if outline < BODY_LEVEL else 0
        return self.levels.get(style, 0)


@dataclass(slots=True)
class _Style:
    kind: int
    base: int
    name: str
    outline: int
    font: int


def read_styles(raw: bytes, old: bool) -> StyleSheet:
    """The style sheet of a document."""
    if len(raw) < 6:
        return StyleSheet()
    head = int.from_bytes(raw[:2], "little")
    count, base_bytes = struct.unpack_from("<HH", raw, 2)
    styles: dict[int, _Style] = {}
    at = 2 + head
    for number in range(min(count, _STYLES)):
        if at + 2 > len(raw):
            break
        size = int.from_bytes(raw[at : at + 2], "little")
        if size >= 8:
            styles[number] = _style(raw[at + 2 : at + 2 + size], base_bytes, old)
        at += 2 + size + (0 if old else size & 1)
    titles = frozenset(number for number, style in styles.items() if style.kind == _TITLE)
    levels = {number: level for number in styles if (level := _level(number, styles))}
    font = styles[0].font if 0 in styles else -1
    return StyleSheet(levels | dict.fromkeys(titles, 1), titles, font)


def read_fonts(raw: bytes, old: bool) -> dict[int, str]:
    """Number of a font → codec of its 8-bit text, where its character set names one."""
    found: dict[int, str] = {}
    if not old:
        return found  # text is in Unicode or Windows-1252 whatever the font
    at = 2
    for number in range(_FONTS):
        if at + 6 > len(raw):
            break
        codec = codec_of_charset(raw[at + 4])
        if codec is not None:
            found[number] = codec
        at += raw[at] + 1
    return found


def _style(raw: bytes, base_bytes: int, old: bool) -> _Style:
    kind, link, counts = struct.unpack_from("<HHH", raw.ljust(6, b"\0"))
    base_bytes = base_bytes if 8 <= base_bytes <= 64 else 10
    at = base_bytes
    if old:
        length = raw[at] if at < len(raw) else 0
        name = raw[at + 1 : at + 1 + length].decode("cp1252", "replace")
        at += length + 2
    else:
        length = int.from_bytes(raw[at : at + 2], "little")
        name = raw[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
        at += 2 * length + 4
    at += at & 1
    outline, effect = -1, None
    if link & 0xF == 1 and counts & 0xF:  # a paragraph style: of its paragraphs, then characters
        size = int.from_bytes(raw[at : at + 2], "little")
        outline = look_of(0, raw[at + 4 : at + 2 + size], old).outline
        at += 2 + size + size % 2
        size = int.from_bytes(raw[at : at + 2], "little")
        effect = effect_of(raw[at + 2 : at + 2 + size], old)
    font = effect.font if effect is not None else -1
    return _Style(kind & 0xFFF, link >> 4, name.partition(",")[0], outline, font)


def _level(number: int, styles: dict[int, _Style]) -> int:
    for _ in range(_BASES):
        style = styles.get(number)
        if style is None:
            return 0
        if style.outline >= 0:
            return min(style.outline + 1, DEEPEST_HEADING) if style.outline < BODY_LEVEL else 0
        if 1 <= style.kind <= 9:
            return min(style.kind, DEEPEST_HEADING)
        if level := heading_of_name(style.name):
            return level
        number = style.base
    return 0
