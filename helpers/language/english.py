"""English: light stemming, so that words of one family meet.

Promises: a stem depends on the word alone and is made of ASCII letters; words of three letters
or fewer stay as they are.

Does not: know a dictionary. Plural, -ed, -ing, -ly and final e or y go; derivation stays, since
conflating more cost precision on every measured set.
"""

from __future__ import annotations

import re

KEEP_CHARS = 3  # letters of a word that is never shortened, and of the shortest stem
_VOWEL = re.compile("[aeiouy]")


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word: forms, formed, forming → form; studies → studi."""
    if len(word) <= KEEP_CHARS:
        return word
    word = _without_tense(_singular(word))
    if len(word) > 5 and word.endswith("ly"):
        word = word[:-2]
    if len(word) > KEEP_CHARS:
        if word.endswith("e"):
            return word[:-1]
        if word.endswith("y"):
            return word[:-1] + "i"
    return word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word[:-1]


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= KEEP_CHARS:
            base = word[: -len(ending)]
            if not _VOWEL.search(base):
                return word
            if len(base) > KEEP_CHARS and base[-1] == base[-2] and base[-1] not in "lsz":
                return base[:-1]
            return base
    return word
