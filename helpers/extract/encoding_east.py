"""How much a text costs as Chinese, Japanese or Russian in one of their old charsets, in bits.

Promises: a handicap, so that the charsets of Korean and Thai win where little is known; a text of
theirs read as another's is made of rare letters and costs more. Does not: choose a charset;
`encoding` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from helpers.extract import letters_east

HANDICAP_BITS = 30  # of a charset that is not of this product's first readers
BAD_BITS = 40  # of a byte sequence the charset does not have
KNOWN_BITS = 13  # of a letter of the first level outside the list
RARE_BITS = 17  # of any other letter
SIGN_BITS = 6  # of the punctuation of full width
SYMBOL_BITS = 12
HALF_KANA_BITS = 14  # of a half-width kana, which no text is made of
CAPITAL_BITS = 3  # on top of the small letter
MIXED_BITS = 9  # of a capital behind a small letter, of a letter beside an ASCII letter

_TIERS = ((16, 6), (48, 7), (128, 8), (288, 9), (640, 10))  # letters up to a rank cost so many bits
_PUNCTUATION = frozenset("，。、：；？！“”‘’（）《》「」『』【】・…—～－　〈〉")
_CAPITAL_INSIDE = re.compile(
    "[а-яёіїєґ][А-ЯЁІЇЄҐ]|[A-Za-z][А-Яа-яЁёІіЇїЄє]|[А-Яа-яЁёІіЇїЄє][A-Za-z]"
)


def _ranked(letters: str) -> dict[str, int]:
    found: dict[str, int] = {}
    start = 0
    for end, bits in _TIERS:
        found.update(dict.fromkeys(letters[start:end], bits))
        start = end
    return found


_SIMPLIFIED = _ranked(letters_east.SIMPLIFIED)
_TRADITIONAL = _ranked(letters_east.TRADITIONAL)
_JAPANESE = {
    **{ch: bits + 1 for ch, bits in _ranked(letters_east.KANJI).items()},
    **{ch: 5 + at // 12 for at, ch in enumerate(letters_east.HIRAGANA)},
    **{ch: 7 + at // 12 for at, ch in enumerate(letters_east.KATAKANA)},
}
_CYRILLIC = {ch: bits for bits, chars in letters_east.CYRILLIC_BITS.items() for ch in chars}
_CYRILLIC |= {ch.upper(): bits + CAPITAL_BITS for ch, bits in _CYRILLIC.items()}

CODECS = {
    "gb18030": "GB18030",
    "cp950": "Big5",
    "cp932": "Shift_JIS",
    "euc_jp": "EUC-JP",
    "cp1251": "Windows-1251",
    "koi8_r": "KOI8-R",
}


def bits(sample: bytes) -> dict[str, int]:
    """Codec → the price of the sample in it, HANDICAP_BITS included."""
    return {codec: HANDICAP_BITS + price(sample) for codec, price in PRICES.items()}


def _chinese(codec: str, common: dict[str, int], first_level: tuple[int, int]) -> Callable:
    def price(sample: bytes) -> int:
        found = 0
        for ch, count in _counted(sample, codec):
            cost = common.get(ch) or _other(ch, codec, first_level)
            found += cost * count
        return found

    return price


def _japanese(codec: str, first_level: tuple[int, int]) -> Callable:
    def price(sample: bytes) -> int:
        found = 0
        for ch, count in _counted(sample, codec):
            cost = _JAPANESE.get(ch)
            if cost is None:
                if "\uff61" <= ch <= "\uff9f":
                    cost = HALF_KANA_BITS
                elif "\u3041" <= ch <= "\u30ff" and ch not in _PUNCTUATION:
                    cost = 10
                else:
                    cost = _other(ch, codec, first_level)
            found += cost * count
        return found

    return price


def _russian(codec: str) -> Callable:
    def price(sample: bytes) -> int:
        text = sample.decode(codec, "replace")
        found = MIXED_BITS * sum(1 for _ in _CAPITAL_INSIDE.finditer(text))
        for ch, count in Counter(text).items():
            if ch >= "\x80":
                found += count * _CYRILLIC.get(ch, BAD_BITS if ch == "\ufffd" else SYMBOL_BITS)
        return found

    return price


def _counted(sample: bytes, codec: str) -> Iterable[tuple[str, int]]:
    text = sample.decode(codec, "replace")
    return [(ch, count) for ch, count in Counter(text).items() if ch >= "\x80"]


def _other(ch: str, codec: str, first_level: tuple[int, int]) -> int:
    """The cost of a letter outside the lists."""
    if ch == "\ufffd":
        return BAD_BITS
    if ch in _PUNCTUATION:
        return SIGN_BITS
    if "\u3400" <= ch <= "\u9fff":
        raw = ch.encode(codec, "ignore")
        low, high = first_level
        return KNOWN_BITS if len(raw) == 2 and low <= raw[0] <= high else RARE_BITS
    return SYMBOL_BITS if ch < "\ue000" or ch > "\uf8ff" else BAD_BITS


PRICES: dict[str, Callable[[bytes], int]] = {
    "gb18030": _chinese("gb18030", _SIMPLIFIED, (0xB0, 0xD7)),
    "cp950": _chinese("cp950", _TRADITIONAL, (0xA4, 0xC6)),
    "cp932": _japanese("cp932", (0x88, 0x97)),
    "euc_jp": _japanese("euc_jp", (0xB0, 0xCF)),
    "cp1251": _russian("cp1251"),
    "koi8_r": _russian("koi8_r"),
}
