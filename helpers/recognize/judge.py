"""Whether a correction may stand in the place of what was recognised.

A model that is shown a page may correct letters; it may as well describe the page, translate it,
complete it, or make something up. What is stored is searched and cited, so a correction counts
only where nothing speaks against it; otherwise the original stays.

Promises: pure functions, linear to quadratic in at most JUDGED_CHARS letters; a correction that
brings a number, a stretch of text or a script that the original has not is refused, with the
reason.
Does not: know which of the two is right, or repair a correction.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter

JUDGED_CHARS = 12_000  # letters of a page; a longer one is not corrected
LENGTHS = (0.75, 1.33)  # letters of the correction for one of the original
OVERLAP = 0.75  # of the letters of the longer one that both hold
NEW_LETTERS = 3  # letters in a row that nothing in the original stands for, at most
REWRITTEN_LETTERS = 10  # letters in a row that stand for others, at most
WORD_LETTERS = 3  # letters from which a word of its own must stand in the original,
WORD_SHARE = 0.5  # with more than this share of them
SCRIPT_SHIFT = 0.1  # by which the share of a script may change

_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_THAI_MARKS = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_SCRIPTS = {"THAI": "Thai", "HANGUL": "Hangul", "LATIN": "Latin", "CJK": "Han"}


def cleaned(answer: str) -> str:
    """The correction without the fence that models put around a text."""
    found = _FENCE.match(answer)
    return (found[1] if found else answer).strip()


def objection(original: str, corrected: str) -> str | None:
    """Why `corrected` is not taken, or None."""
    old, new = _letters(original), _letters(corrected)
    if not new:
        return "it is empty"
    if max(len(old), len(new)) > JUDGED_CHARS:
        return f"it has more than {JUDGED_CHARS:,} letters"
    ratio = len(new) / max(1, len(old))
    if not LENGTHS[0] <= ratio <= LENGTHS[1]:
        return f"its length is {ratio:.2f} times the original's"
    common = sum((Counter(old) & Counter(new)).values())
    if common < OVERLAP * max(len(old), len(new)):
        return "it holds other letters than the original"
    return (
        _script_objection(old, new)
        or _number_objection(original, corrected)
        or _new(old, new, corrected)
    )


def _number_objection(original: str, corrected: str) -> str | None:
    known = Counter(_numbers(original))
    for number, count in Counter(_numbers(corrected)).items():
        if count > known[number]:
            return f"it brings the number {number}"
    return None


def _script_objection(old: str, new: str) -> str | None:
    before, after = _shares(old), _shares(new)
    for script in before.keys() | after.keys():
        if abs(before.get(script, 0) - after.get(script, 0)) > SCRIPT_SHIFT:
            return "it is in another language"
    return None


def _new(old: str, new: str, corrected: str) -> str | None:
    """A stretch or a word that the original does not have in its place, letter for letter."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    kept = bytearray(len(new))
    for _, start, count in matcher.get_matching_blocks():
        kept[start : start + count] = b"\1" * count
    at = 0
    for word in corrected.split():
        letters = len(_letters(word))
        if letters >= WORD_LETTERS and sum(kept[at : at + letters]) <= letters * WORD_SHARE:
            return f"it brings the word {word[:20]!r}"
        at += letters
    for what, first, last, start, end in matcher.get_opcodes():
        added = (end - start) - (last - first)
        if what == "insert" and added > NEW_LETTERS:
            return f"it brings {new[start : min(end, start + 20)]!r}"
        if what == "replace" and (added > NEW_LETTERS or end - start > REWRITTEN_LETTERS):
            return f"it rewrites as {new[start : min(end, start + 20)]!r}"
        if what == "delete" and last - first > REWRITTEN_LETTERS:
            return f"it leaves out {old[first : min(last, first + 20)]!r}"
    return None


def _letters(text: str) -> str:
    """Letters and digits alone, without the Thai marks that recognition loses."""
    folded = _THAI_MARKS.sub("", _plain(text)).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def _numbers(text: str) -> list[str]:
    return [re.sub(r"\D", "", found) for found in _NUMBER.findall(_plain(text))]


def _plain(text: str) -> str:
    """NFKC, every digit as 0 to 9."""
    letters = unicodedata.normalize("NFKC", text)
    return "".join(str(unicodedata.digit(one)) if one.isdigit() else one for one in letters)


def _shares(letters: str) -> dict[str, float]:
    found: Counter[str] = Counter()
    for letter, count in Counter(letters).items():
        script = unicodedata.name(letter, "").partition(" ")[0]
        if script in _SCRIPTS:
            found[script] += count
    total = sum(found.values()) or 1
    return {script: count / total for script, count in found.items()}
