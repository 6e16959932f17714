"""Thai letters that a PDF calls by another's name, told from the words that they stand in.

Programs that print a PDF anew mix up the glyphs of one font: each MAI THO becomes SARA UU, each
RO RUA a slash. Where one letter in place of another makes listed words all over a page, it is put
right, place by place, as far as the word list goes.

Promises: pure; a page whose words are listed is not touched; a change needs WORDS different listed
words that it makes, at a good part of the places of its letter, and each place must gain by it.
Does not: restore what left no sign at all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from helpers.extract.pdf_text import Verdict, repair_thai
from helpers.language import thai

LETTERS = 150  # Thai letters of a page below which nothing is told
UNLISTED_SHARE = 0.05  # of a page's Thai letters outside listed words, from which it is looked at
LOST_SHARE = 0.3  # of a page's Thai letters outside listed words, from which it is no text:
# foreign names come to .26, lists of Thai names to .17
WORDS = 6  # different listed words that the same change must make
WORD_CHARS = 3  # letters of such a word at least
AGREEING = 0.15  # of the different places of a mark that must gain by one change
PLACES = 80  # different places of one mark or sign that are tried
AROUND = 12  # code points on either side of a place that are cut into words
NEAR = 4  # code points on either side by which two places are the same
RUN_CHARS = 400  # code points of a run that is put right place by place
SIGNS = 4  # different signs of a page that are tried
ROUNDS = 3  # times a page is looked at: a glyph may stand for two letters

MARKS = "\u0e4d\u0e31\u0e34\u0e35\u0e36\u0e37\u0e38\u0e39\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c"
CONSONANTS = "".join(map(chr, range(0x0E01, 0x0E2F)))
OTHERS = CONSONANTS + "\u0e30\u0e32\u0e40\u0e41\u0e42\u0e43\u0e44" + MARKS

_THAI = "\u0e01-\u0e2e\u0e30-\u0e3a\u0e40-\u0e4e"
_RUN = re.compile(f"[{_THAI}]+")
_SIGN = re.compile(f"(?<=[{_THAI}])([^\\s{_THAI}\u0e2f\u0e46\u0e50-\u0e5b])(?=[{_THAI}])")


def corrected(lines: list[str]) -> list[str]:
    """The lines of one page, its mistaken letters put right."""
    letters = sum(map(len, _RUN.findall("\n".join(lines))))
    if letters < LETTERS:
        return lines
    lines = _without_signs(lines)
    for turn in range(ROUNDS):
        runs = _RUN.findall("\n".join(lines))
        if not turn and sum(map(_unlisted, runs)) < UNLISTED_SHARE * letters:
            break
        found = _exchanges(_places(runs))
        for wrong, right in found:
            lines = [_in_place(line, wrong, right) for line in lines]
        if not found:
            break
    return lines


def judged(lines: list[str], verdict: Verdict) -> Verdict:
    """The verdict on a page, or that its Thai is lost: too much of it falls into no word."""
    runs = _RUN.findall("\n".join(lines))
    letters = sum(map(len, runs))
    if not verdict.usable or letters < LETTERS:
        return verdict
    lost = sum(map(_unlisted, runs))
    if lost < LOST_SHARE * letters:
        return verdict
    return Verdict(False, f"{lost:,} of {letters:,} Thai letters fall into no word")


# --- one mark for another ----------------------------------------------------------------


@dataclass(slots=True)
class _Places:
    """Different places of one mark: `doubtful` ones fall into no listed word."""

    seen: set[str] = field(default_factory=set)
    doubtful: list[tuple[str, int]] = field(default_factory=list)


def _places(runs: Iterable[str]) -> dict[str, _Places]:
    found = {mark: _Places() for mark in MARKS}
    for run in runs:
        at = 0
        for piece in thai.pieces(run):
            listed = thai.is_word(piece)
            for place in range(at, at + len(piece)):
                if run[place] in found:
                    _note(found[run[place]], run, place, listed)
            at += len(piece)
    return found


def _note(places: _Places, run: str, at: int, listed: bool) -> None:
    near = run[max(0, at - NEAR) : at + NEAR + 1]
    if near not in places.seen:
        places.seen.add(near)
        if not listed and len(places.doubtful) < PLACES:
            begin = max(0, at - AROUND)
            places.doubtful.append((run[begin : at + AROUND + 1], at - begin))


def _exchanges(places: Mapping[str, _Places]) -> list[tuple[str, str]]:
    """(mark, mark that is meant) for each mark of which a good part of its places agree."""
    found: list[tuple[str, str]] = []
    for wrong, known in places.items():
        wanted = max(WORDS, AGREEING * min(len(known.seen), PLACES))
        if len(known.doubtful) < wanted:
            continue
        gains: Counter[str] = Counter()
        words: dict[str, set[str]] = defaultdict(set)
        for window, at in known.doubtful:
            for right, gain, word in _gains(window, at):
                gains[right] += gain
                words[right].add(word)
        for right, _ in gains.most_common(1):
            if len(words[right]) >= wanted:
                found.append((wrong, right))
    return found


def _gains(window: str, at: int) -> Iterator[tuple[str, int, str]]:
    """(mark, how much better, the listed word it makes) for marks that make one at a place."""
    bad = _badness(window)
    for right in MARKS:
        if right == window[at]:
            continue
        changed = repair_thai(window[:at] + right + window[at + 1 :])
        gain = bad - _badness(changed)
        word = _word_at(changed, at) if gain > 2 else ""
        if len(word) >= WORD_CHARS:
            yield right, gain, word


def _word_at(text: str, at: int) -> str:
    """The listed word that holds a place; empty where it falls into none."""
    begin = 0
    for piece in thai.pieces(text):
        if begin + len(piece) > at:
            return piece if thai.is_word(piece) else ""
        begin += len(piece)
    return ""


def _in_place(line: str, wrong: str, right: str) -> str:
    return _RUN.sub(lambda m: _exchanged(m[0], wrong, right), line) if wrong in line else line


def _exchanged(run: str, wrong: str, right: str) -> str:
    if wrong not in run or len(run) > RUN_CHARS:
        return run
    bad = _badness(run)
    at = run.find(wrong)
    while at >= 0:
        if right not in (run[at - 1 : at], run[at + 1 : at + 2]):
            changed = repair_thai(run[:at] + right + run[at + 1 :])
            less = _badness(changed)
            if less < bad:
                run, bad = changed, less
        at = run.find(wrong, at + 1)
    return run


# --- a sign for a letter -------------------------------------------------------------------


def _without_signs(lines: list[str]) -> list[str]:
    """The lines with the letter meant for a sign inside Thai words all over the page."""
    text = "\n".join(lines)
    counts = Counter(_SIGN.findall(text))
    for sign, count in counts.most_common(SIGNS):
        letter = _letter_of(sign, text) if count >= WORDS else ""
        if letter:
            place = re.compile(f"(?<=[{_THAI}]){re.escape(sign)}|{re.escape(sign)}(?=[{_THAI}])")
            lines = [place.sub(letter, line) for line in lines]
            text = "\n".join(lines)
    return lines


def _letter_of(sign: str, text: str) -> str:
    """The letter that a sign stands for at most of its places, or an empty string."""
    places = {
        (_tail(text[max(0, m.start() - AROUND) : m.start()]), _head(text[m.end() :][:AROUND]))
        for m in _SIGN.finditer(text)
        if m[1] == sign
    }
    tried = sorted(places)[:PLACES]
    words: dict[str, set[str]] = defaultdict(set)
    for before, after in tried:
        apart = _badness(before) + _badness(after)
        for letter in OTHERS:
            whole = before + letter + after
            if _badness(whole) < apart - 2 and len(word := _word_at(whole, len(before))) > 3:
                words[letter].add(word)
    best = max(words, key=lambda letter: len(words[letter]), default="")
    return best if best and len(words[best]) >= max(WORDS, len(tried) // 2) else ""


def _tail(text: str) -> str:
    return re.split(f"[^{_THAI}]", text)[-1]


def _head(text: str) -> str:
    return re.split(f"[^{_THAI}]", text)[0]


def _unlisted(run: str) -> int:
    """Letters of a run that fall into no listed word."""
    return sum(len(piece) for piece in thai.pieces(run) if not thai.is_word(piece))


def _badness(run: str) -> int:
    """How badly a run falls into listed words: letters outside words count most, then cuts."""
    return sum(1 if thai.is_word(piece) else 3 * len(piece) for piece in thai.pieces(run))
