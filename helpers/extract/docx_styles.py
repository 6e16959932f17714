"""Styles of a Word document: which are headings, and of which depth; which hide their text.

Promises: outline level first, then the style's name in the languages of Word, then what it is
based on. Does not: care how a style looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from helpers.extract.markup import Attributes, Scanner, first, names, table, whole
from helpers.extract.opc import NAMESPACES
from helpers.extract.outline import DEEPEST_HEADING

_BASES = 20  # styles one style may be based on, in a row
_STYLES = 20_000  # styles of one document that are looked at

_HEADING = re.compile(
    r"(?:heading|제목|개요|หัวเรื่อง|หัวข้อ|ส่วนหัว|überschrift|titre|título|titolo|kop|rubrik|overskrift"
    r"|nagłówek|заголовок|見出し|标题|標題|başlık|otsikko|nadpis)\s*([1-9])",
    re.IGNORECASE,
)
_TITLES = frozenset(
    ("title", "제목", "ชื่อเรื่อง", "titel", "titre", "título", "titolo", "表題", "标题", "標題")
)

VALUE = names("w:val", NAMESPACES)
OFF = ("0", "false", "off")  # values of VALUE that switch off
_STYLE_ID = names("w:styleId", NAMESPACES)
_TYPE = names("w:type", NAMESPACES)


@dataclass(frozen=True, slots=True)
class Styles:
    """`levels`: style id → heading level, 1 to 6; `titles`: ids of the document title's style;
    `hidden`: ids of styles, of characters too, whose text is not shown.
    """

    levels: dict[str, int]
    titles: frozenset[str]
    hidden: frozenset[str] = frozenset()

    def level(self, style: str, outline: int | None) -> int:
        """A paragraph's heading level, 0 for body text; its own outline level wins."""
        if outline is not None:
            return min(outline + 1, DEEPEST_HEADING) if 0 <= outline < 9 else 0
        if style in self.levels:
            return self.levels[style]
        return heading_of_name(style)


@dataclass(slots=True)
class _Style:
    name: str = ""
    base: str = ""
    outline: int | None = None


def heading_of_name(name: str) -> int:
    """The level that a style's name tells, 0 for none: "heading 2", "제목 2", "Heading2"."""
    match = _HEADING.fullmatch(name.strip())
    return min(int(match[1]), DEEPEST_HEADING) if match else 0


def is_title_name(name: str) -> bool:
    """Whether a style of this name marks the document's title."""
    return name.strip().casefold() in _TITLES


def read_styles(part: str, pieces: Iterable[bytes]) -> Styles:
    """Read word/styles.xml; raises Unread as Scanner does."""
    found: dict[str, _Style] = {}
    hidden: set[str] = set()
    current = _Style()
    identity = ""

    def style(attributes: Attributes) -> None:
        nonlocal current, identity
        current = _Style()
        kind, identity = first(attributes, _TYPE), first(attributes, _STYLE_ID)
        if kind == "paragraph" and len(found) < _STYLES:
            found[identity] = current
        identity = identity if kind in ("paragraph", "character") else ""

    def name(attributes: Attributes) -> None:
        current.name = first(attributes, VALUE)

    def base(attributes: Attributes) -> None:
        current.base = first(attributes, VALUE)

    def outline(attributes: Attributes) -> None:
        current.outline = whole(first(attributes, VALUE), 9)

    def vanish(attributes: Attributes) -> None:
        if identity and len(hidden) < _STYLES and first(attributes, VALUE) not in OFF:
            hidden.add(identity)

    actions = {
        "w:style": style,
        "w:name": name,
        "w:basedOn": base,
        "w:outlineLvl": outline,
        "w:vanish": vanish,
    }
    Scanner(part, table(actions, NAMESPACES)).run(pieces)
    levels = {identity: _level(identity, found) for identity in found}
    titles = {identity for identity, style in found.items() if is_title_name(style.name)}
    return Styles(levels | dict.fromkeys(titles, 1), frozenset(titles), frozenset(hidden))


def _level(identity: str, styles: dict[str, _Style]) -> int:
    for _ in range(_BASES):
        style = styles.get(identity)
        if style is None:
            return 0
        if style.outline is not None:
            return min(style.outline + 1, DEEPEST_HEADING) if 0 <= style.outline < 9 else 0
        if level := heading_of_name(style.name):
            return level
        identity = style.base
    return 0
