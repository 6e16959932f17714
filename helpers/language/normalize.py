"""Normal form of text for comparing: what the analyser sees, never what is shown.

Promises: `fold` makes two spellings of the same visible text equal (NFKC, case folded, Thai SARA
AM composed, Thai marks in one order, zero-width signs and soft hyphens gone, decimal digits,
apostrophe and hyphen in ASCII), and `fold_with_map` gives the same text with, for each of its
characters, where it came from in the original.

Does not: split words, strip accents, or touch the text that is stored.
"""

import re
import unicodedata
from functools import lru_cache

# Zero-width signs, soft hyphen, bidi marks and isolates, variation selectors, BOM. They are
# invisible: two texts that differ only in them look the same to a reader.
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_INVISIBLE_RUN = f"[{_INVISIBLE}]+"

_THAI = re.compile("[\u0e00-\u0e7f]")
_TONE = "\u0e48-\u0e4b"
_VOWEL = "\u0e31\u0e34-\u0e3a\u0e47"
_ABOVE = "\u0e4c\u0e4e"
_NIKHAHIT = "\u0e4d"
_THAI_MARK = f"{_TONE}{_VOWEL}{_ABOVE}{_NIKHAHIT}"

# Spellings of SARA AM with a tone mark in an odd place; the usual one is a plain replacement.
_SARA_AM = re.compile(f"([{_TONE}]{{0,4}})\u0e33([{_TONE}]+)")
# Mark runs that are out of order or repeated. Well-formed text has none: a look suffices.
_OUT_OF_ORDER = (
    f"[{_TONE}{_ABOVE}{_NIKHAHIT}](?:[{_VOWEL}]|(?<=[{_ABOVE}{_NIKHAHIT}])[{_TONE}])"
    f"|([{_THAI_MARK}])\\1"
)
_SUSPECT = re.compile(_OUT_OF_ORDER)
# Each run is looked at from its beginning only, so that a long one costs its length.
_DISORDER = re.compile(f"(?<![{_THAI_MARK}])[{_THAI_MARK}]*?(?:{_OUT_OF_ORDER})[{_THAI_MARK}]*")
_SARA_AM_SIGN = "\u0e33"
_DOUBLE_E = "\u0e40\u0e40"
_SARA_AE = "\u0e41"

# Between white space and a letter that never joins what precedes it.
_SPACE = (
    "(?<=[ \t\n\r])(?=[^ \t\n\r\u0300-\uffff\U00010000-\U0010ffff]"
    "|[\u0e01-\u0e2e\u0e40-\u0e44\uac00-\ud7a3\u4e00-\u9fff])"
)

_OTHER_DIGIT = re.compile(r"[^\D0-9]")
# One pass that most text survives without a find, instead of one for each rare thing: what is
# invisible, digits of other scripts (a superset), the letters between being passed over quickly.
_ODD = (
    f"[{_INVISIBLE}\u0660-\u0669\u06f0-\u06f9\u07c0-\u07c9\u0966-\u0d6f\u0de6-\u0def"
    "\u0e50-\u0e59\u0ed0-\u0ed9\u0f20-\u0f29\u1040-\u1049\u1090-\u1099\u17e0-\u17e9"
    "\u1810-\u1819\u1946-\u19da\u1a80-\u1a99\u1b50-\u1c59\ua620-\ua629\ua8d0-\uabf9"
    "\U00010000-\U0010ffff]"
)

# A cluster starts at a character that never joins what precedes it. Text between two starts is
# folded on its own by `fold_with_map`, and the pieces together equal `fold` of the whole.
_JOINS_LEFT = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a4d\u0b3e-\u0b57\u0bbe-\u0bd7"
    "\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3e-\u0d57\u0dca-\u0ddf"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f18-\u0fbc\u102b-\u109d"
    "\u1160-\u11ff\u1ab0-\u1aff\u1b00-\u1b44\u1dc0-\u1dff\u20d0-\u20f0\u3099-\u309c\u302a-\u302f"
    f"\ud7b0-\ud7fb\ufe20-\ufe2f\uff9e\uff9f{_INVISIBLE}]"
)


def fold(text: str) -> str:
    """The normal form of `text`; white space and punctuation stay.

    Sources: UAX 15 (NFKC), Unicode CaseFolding; the Thai rules follow WTT 2.0's order of marks.
    """
    if text.isascii():
        return text.lower()
    folded = _compatible(text)
    if _compiled(_ODD).search(folded):
        folded = _compatible(_compiled(_INVISIBLE_RUN).sub("", folded))
        folded = _OTHER_DIGIT.sub(_ascii_digit, folded)
    folded = folded.casefold().replace("\u2019", "'").replace("\u2010", "-")
    if _THAI.search(folded):
        folded = _order_thai(folded)
    if not unicodedata.is_normalized("NFC", folded):
        folded = unicodedata.normalize("NFC", folded)
    return folded


def fold_with_map(text: str) -> tuple[str, list[int]]:
    """`fold(text)` and the offsets of its characters in `text`, in code points.

    The list has one entry more than the folded text: the last is len(text). A folded slice [a, b)
    comes from text[offsets[a]:offsets[b]], widened by the caller to whole clusters if need be:
    every character of a cluster maps to the cluster's start.
    """
    folded = fold(text)
    if _is_letter_by_letter(text, folded):
        return folded, list(range(len(text) + 1))
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    for piece in _compiled(_SPACE).split(text):
        folded = fold(piece)
        if _is_letter_by_letter(piece, folded):
            pieces.append(folded)
            offsets.extend(range(at, at + len(piece)))
        else:
            for start, end in _clusters(piece):
                folded = fold(piece[start:end])
                pieces.append(folded)
                same = len(folded) == end - start
                offsets.extend(range(at + start, at + end) if same else [at + start] * len(folded))
        at += len(piece)
    offsets.append(len(text))
    return "".join(pieces), offsets


def strip_marks(text: str) -> str:
    """`text` without combining marks: the form in which OCR text and names are compared.

    Thai vowel signs above and below and tone marks go too, since OCR drops them.
    """
    if text.isascii():
        return text
    kept = [c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"]
    return unicodedata.normalize("NFC", "".join(kept))


def clean_query(text: str) -> str:
    """`text` with NUL and lone surrogates as spaces: neither can be a word of any document."""
    return "".join(" " if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Patterns over many ranges take 1 to 3 ms to compile: none is before it is needed."""
    return re.compile(pattern)


def _is_letter_by_letter(text: str, folded: str) -> bool:
    """Whether folding changed nothing but case, so that every offset stays."""
    if len(text) != len(folded):
        return False
    return text == folded or text.lower() == folded


def _clusters(text: str) -> list[tuple[int, int]]:
    bounds: list[tuple[int, int]] = []
    start = 0
    joins = _compiled(_JOINS_LEFT).match
    for i in range(1, len(text)):
        c = text[i]
        if c < "\u0300" and c != "\u00ad":
            cut = True
        else:
            cut = not joins(c) and not (c == "\u0e40" and text[i - 1] == "\u0e40")
        if cut:
            bounds.append((start, i))
            start = i
    if text:
        bounds.append((start, len(text)))
    return bounds


def _compatible(text: str) -> str:
    """NFKC, but SARA AM stays whole: nothing else in ordinary Thai text changes, and text that
    does not change is passed through at five times the speed."""
    if _SARA_AM_SIGN not in text:
        return unicodedata.normalize("NFKC", text)
    pieces = text.split(_SARA_AM_SIGN)
    return _SARA_AM_SIGN.join([unicodedata.normalize("NFKC", piece) for piece in pieces])


def _order_thai(text: str) -> str:
    if _SUSPECT.search(text):
        text = _DISORDER.sub(_in_order, text)
    text = text.replace("\u0e4d\u0e32", _SARA_AM_SIGN)
    if _SARA_AM.search(text):
        text = _SARA_AM.sub(_compose_sara_am, text)
    return text.replace(_DOUBLE_E, _SARA_AE)


def _compose_sara_am(match: re.Match[str]) -> str:
    return (match[1] + match[2])[:1] + _SARA_AM_SIGN


def _in_order(match: re.Match[str]) -> str:
    seen = dict.fromkeys(match[0])
    return "".join(sorted(seen, key=_mark_rank))


def _mark_rank(mark: str) -> int:
    if "\u0e48" <= mark <= "\u0e4b":
        return 1
    return 2 if mark in "\u0e4c\u0e4d\u0e4e" else 0


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match[0]))
