"""The text layer of a page: repair what can be proven, refuse what is no text.

Promises: pure functions of strings; a repair changes spaces, mark order and private-use
letters only where the writing system (or the word list) leaves one reading; the verdict on a
page is about that page alone.
Does not: read PDF files, recognise images, or guess at letters that are gone.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

JUNK_SHARE = 0.25  # of a page's signs: above it the text layer is unusable
STRANGE_SHARE = 0.05  # of the Korean and Thai letters of a page: Western ones right beside them
STRANGE_SIGNS = 10  # of them at least
DRAWN_SHARE = 0.3  # of a page's signs that are stars, scissors and other ornaments
ODD_SHARE = 0.1  # of a page's signs that stand for letters they are not, beside ODD_JUNK_SHARE
ODD_JUNK_SHARE = 0.04  # of a page's signs without a letter
WORDS_SHARE = 0.3  # of a page's signs in Latin words, from which odd signs may well be meant
DAMAGE_SHARE = 0.02  # of a page's signs: above it a notice says that letters are missing
SOUP_SCRIPTS = 3  # rare scripts on one page that cannot all be meant
SOUP_SHARE = 0.3  # of a page's signs in them
SAMPLE_CHARS = 20_000  # code points of a page that are judged

# Private-use letters of Thai fonts made for Windows 9x: shifted forms of the real marks.
_PRIVATE_MARKS = {
    0xF700: 0x0E10,
    **{0xF701 + n: 0x0E34 + n for n in range(4)},
    **{0xF705 + n: 0x0E48 + n for n in range(5)},
    **{0xF70A + n: 0x0E48 + n for n in range(5)},
    0xF70F: 0x0E0D,
    0xF710: 0x0E31,
    0xF711: 0x0E4D,
    0xF712: 0x0E47,
    **{0xF713 + n: 0x0E48 + n for n in range(5)},
    **{0xF718 + n: 0x0E38 + n for n in range(3)},
}
# Symbol fonts keep their letters at U+F000 + code; these are the ones worth a plain sign.
_SYMBOLS = {0xF0B7: 0x2022, 0xF0A7: 0x25AA, 0xF0D8: 0x27A2, 0xF0FC: 0x2713, 0xF02D: 0x2212}
_SYMBOLS |= {0xF02B: 0x2B, 0xF03D: 0x3D, 0xF0B1: 0xB1, 0xF0B4: 0xD7, 0xF0B0: 0xB0, 0xF020: 0x20}
_DROPPED = dict.fromkeys([0x00AD, 0x200B, 0xFEFF, 0x2060])
_LIGATURES = dict(
    zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)
)
_TABLE = {
    **_PRIVATE_MARKS,
    **_SYMBOLS,
    **_LIGATURES,
    **_DROPPED,
    0x00A0: 0x20,
    0x2028: 0x0A,
    0x2029: 0x0A,
}

_ABOVE_BELOW = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_DEPENDENT = "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e"
_TONES = "\u0e48-\u0e4c"
_GAP = "[ \t\u00a0]"
_THAI = re.compile("[\u0e01-\u0e5b\uf700-\uf71a]")
_SPACE_BEFORE_MARK = re.compile(f"(?<=[\u0e01-\u0e4e]){_GAP}+(?=[{_DEPENDENT}])")
_SPACE_AFTER_LEADING = re.compile(f"(?<=[\u0e40-\u0e44]){_GAP}+(?=[\u0e01-\u0e2e])")
_SPLIT_AM = re.compile(f"([{_TONES}]?)\u0e4d([{_TONES}]?)\u0e32")
_AM_AGAIN = re.compile(
    "\u0e33([\u0e48-\u0e4b]?)[\u0e32\u0e33\u0e4d]+"
)  # SARA AM, then a part of it once more
_TONE_AFTER_AM = re.compile(f"\u0e33([{_TONES}])")
_TONE_BEFORE_VOWEL = re.compile(f"([{_TONES}])([\u0e31\u0e34-\u0e3a])")
_DOUBLED = re.compile(f"([{_ABOVE_BELOW}])\\1+")
_DOUBLED_E = re.compile("\u0e40\u0e40")
_LEADERS = re.compile(r"\s?(?:\.[ \u00a0]?){5,}")
_GLYPH_CODE = re.compile(r"\(cid:\d+\)|/(?:g|G|cid|C|glyph|uni|index)\d{1,5}\b|/\.notdef")
_ODD_SIGNS = frozenset("%&*+<=>?@#^~|\\_{}$'\"`!;")
_EASTERN = re.compile("[\uac00-\ud7a3\u0e01-\u0e4e]")
# Accented letters and the like that touch a Korean or Thai letter; not signs of measure.
_STRANGE = re.compile(
    "(?<=[\uac00-\ud7a3\u0e01-\u0e4e])[\u00a1-\u00a6\u00a8\u00aa\u00ac\u00af\u00b4\u00b6\u00b8"
    "\u00b9\u00ba\u00bc-\u00d6\u00d8-\u00f6\u00f8-\u00ff]"
)
_LATIN_WORD = re.compile("[A-Za-z]{3,}")
_UNKNOWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]+"
)
# Scripts that a page of this product's readers may well be written in.
_NAMES = (
    "LATIN THAI HANGUL CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA GREEK CYRILLIC HEBREW ARABIC "
    "LAO KHMER MYANMAR DEVANAGARI FULLWIDTH HALFWIDTH MODIFIER COMBINING IDEOGRAPHIC"
)
_KNOWN_SCRIPTS = frozenset(_NAMES.split())


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a page's text may be indexed; `reason` says what is wrong with it, if anything."""

    usable: bool
    reason: str = ""


def repair(text: str) -> str:
    """`text` with private-use letters mapped, Thai marks ordered and gaps inside words closed."""
    text = text.translate(_TABLE)
    return repair_thai(text) if _THAI.search(text) else text


def repair_thai(text: str) -> str:
    """Thai as it is meant to be stored: no space before a mark, tone before SARA AM."""
    text = _SPACE_BEFORE_MARK.sub("", text)
    text = _SPACE_AFTER_LEADING.sub("", text)
    text = _DOUBLED_E.sub("\u0e41", text)
    text = _SPLIT_AM.sub("\\1\\2\u0e33", text)
    text = _AM_AGAIN.sub("\\1\u0e33", text)
    text = _TONE_AFTER_AM.sub("\\1\u0e33", text)
    text = _TONE_BEFORE_VOWEL.sub(r"\2\1", text)
    return _DOUBLED.sub(r"\1", text)


def without_unknown(text: str) -> str:
    """`text` without control signs and the places of unknown letters, rows of dots shortened."""
    return _LEADERS.sub(" … ", _UNKNOWN.sub("", text))


def judge(text: str) -> Verdict:
    """A verdict on one page's text, in which U+FFFD stands for a glyph without a letter."""
    sample = text[:SAMPLE_CHARS]
    signs = Counter(sign for sign in sample if not sign.isspace())
    total = sum(signs.values())
    if not total:
        return Verdict(False)
    codes = sum(len(code) for code in _GLYPH_CODE.findall(sample))
    junk = codes + sum(n for sign, n in signs.items() if _is_junk(sign))
    if junk > total * JUNK_SHARE:
        return Verdict(False, f"{junk:,} of {total:,} signs have no known letter")
    odd = sum(n for sign, n in signs.items() if sign in _ODD_SIGNS)
    if odd > total * ODD_SHARE and junk > total * ODD_JUNK_SHARE:
        words = sum(map(len, _LATIN_WORD.findall(sample)))
        if words < total * WORDS_SHARE:
            return Verdict(False, f"{odd + junk:,} of {total:,} signs stand for other letters")
    strange = len(_STRANGE.findall(sample))
    if strange > STRANGE_SHARE * len(_EASTERN.findall(sample)) and strange > STRANGE_SIGNS:
        return Verdict(False, f"{strange:,} letters of another alphabet stand inside words")
    drawn = sum(n for sign, n in signs.items() if "\u2600" <= sign <= "\u27bf")
    if drawn > total * DRAWN_SHARE:
        return Verdict(False, f"{drawn:,} of {total:,} signs are ornaments instead of letters")
    rare = _rare_scripts(signs)
    if len(rare) >= SOUP_SCRIPTS and sum(rare.values()) > total * SOUP_SHARE:
        return Verdict(False, f"letters of {len(rare)} unrelated scripts stand side by side")
    if junk > total * DAMAGE_SHARE:
        return Verdict(True, f"{junk:,} of {total:,} signs have no known letter")
    return Verdict(True)


def _is_junk(sign: str) -> bool:
    if sign < "\x7f":
        return sign < " "
    return sign == "\ufffd" or unicodedata.category(sign) in ("Cc", "Co", "Cn", "Cs")


def _rare_scripts(signs: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for sign, count in signs.items():
        if sign > "\u0250" and unicodedata.category(sign)[0] in "LM":
            script = unicodedata.name(sign, "UNNAMED").split(" ", 1)[0]
            if script not in _KNOWN_SCRIPTS:
                found[script] += count
    return found
