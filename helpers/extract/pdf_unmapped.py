"""Thai marks whose letter a PDF does not give: told from the words that they stand in.

A font's glyph without a letter enters the text as a stand-in, one code point per glyph. Where
one mark makes listed words of everything around a stand-in, and no other mark does, that mark
is the glyph's letter.

Promises: pure; one answer for a glyph on the whole page; a glyph that the word list does not
prove stays unknown (or silent, where the file calls it a part of the letter before).
Does not: touch letters that the file gives, or look at more than OCCURRENCES places of a glyph.
"""

from __future__ import annotations

import re
from collections import Counter

from helpers.extract import pdf_text
from helpers.language import thai

SILENT, UNKNOWN = 0xF0000, 0x100000  # first stand-in of glyphs mapped to nothing, not mapped
OCCURRENCES = 60  # places of one glyph that are tried
AROUND = 14  # code points on either side of a place that are cut into words
GLYPHS = 12  # glyphs of one page that are tried
MARKS = "่้๊๋์็ัิีึืุูํ"

_STAND_IN = re.compile("[\U000f0000-\U0010ffff]")
_NO_THAI = re.compile("[^\u0e01-\u0e2e\u0e30-\u0e3a\u0e40-\u0e4e\U000f0000-\U0010ffff]")
_IN_AM = re.compile("\u0e4d[\U000f0000-\U0010ffff]\u0e32")


def stand_in(first: int, font: str, code: int) -> str:
    """The stand-in for glyph `code` of a font; `first` is SILENT or UNKNOWN."""
    return chr(first + ((sum(font.encode()) & 0xF) << 12 | code & 0xFFF))


def silenced(text: str) -> str:
    """Stand-ins for glyphs not mapped as ones for glyphs mapped to nothing: where the words do
    not tell their letter, none is missed.
    """
    return "".join(
        chr(ord(sign) - UNKNOWN + SILENT) if ord(sign) >= UNKNOWN else sign
        for sign in text
        if sign != "\ufffd"
    )


def resolve(lines: list[str]) -> list[str]:
    """The lines of one page without stand-ins."""
    counts = Counter(_STAND_IN.findall("\n".join(lines)))
    if not counts:
        return lines
    found: dict[str, str] = {}
    places = {sign: _places(sign, lines) for sign, _ in counts.most_common(GLYPHS)}
    for _ in range(2):  # the second time with what the first time told of the others
        for sign, around in places.items():
            mark = _mark_of(sign, [_filled(text, found, but=sign) for text in around])
            if mark:
                found[sign] = mark
    return [_told(line, found) if _STAND_IN.search(line) else line for line in lines]


def _places(sign: str, lines: list[str]) -> list[str]:
    """What stands around each place of a stand-in, Thai letters and stand-ins alone."""
    found: list[str] = []
    for line in lines:
        at = line.find(sign)
        while at >= 0 and len(found) < OCCURRENCES:
            before = _NO_THAI.split(line[max(0, at - AROUND) : at])[-1]
            after = _NO_THAI.split(line[at + 1 : at + 1 + AROUND])[0]
            found.append(f"{before}{sign}{after}")
            at = line.find(sign, at + 1)
    return found


def _mark_of(sign: str, around: list[str]) -> str:
    """The one mark that makes words of all places together, or ""."""
    silent = sum(_badness(text.replace(sign, "")) for text in around)
    scores = sorted(
        (sum(_badness(text.replace(sign, mark)) for text in around), mark) for mark in MARKS
    )
    (best, mark), (second, _) = scores[:2]
    if best >= second:
        return ""
    drawn = all(_IN_AM.search(text) for text in around)
    return mark if best < silent or (best == silent and drawn) else ""


def _badness(text: str) -> int:
    text = pdf_text.repair_thai(text)
    return sum(1 if thai.is_word(piece) else 3 * len(piece) for piece in thai.pieces(text))


def _filled(text: str, found: dict[str, str], but: str) -> str:
    """`text` with what is told so far of every stand-in except one."""
    return _STAND_IN.sub(lambda m: m[0] if m[0] == but else found.get(m[0], ""), text)


def _told(line: str, found: dict[str, str]) -> str:
    def letter(match: re.Match[str]) -> str:
        return found.get(match[0], "\ufffd" if ord(match[0]) >= UNKNOWN else "")

    return pdf_text.repair_thai(_STAND_IN.sub(letter, line))
