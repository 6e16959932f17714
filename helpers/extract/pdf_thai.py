"""Thai text layers that lost something: repairs that spelling or the word list proves.

Promises: pure; a letter or space changes only where the page shows damage and either spelling
rules leave one reading or the change turns pieces into listed words.
Does not: touch a page without such signs, or restore what left no trace.
"""

from __future__ import annotations

import re

from helpers.language import thai

EVIDENCE_LETTERS = 150  # Thai letters without one SARA AM: about four are to be expected
AM_LETTERS = 160  # Thai letters to each SARA AM that must be found again: 40 are usual
FRAGMENT_LETTERS = 2.2  # mean length of the pieces between spaces: letters placed one by one
APART = 2  # places of a page where SARA AA stands behind a space
APART_SHARE = 0.6  # of all its SARA AA
RUN_CHARS = 400  # code points of a run that is tried word by word

_RUN = re.compile("[\u0e01-\u0e2e\u0e30-\u0e3a\u0e40-\u0e4e]+")
# No syllable ends in a consonant with a tone after one that bears a vowel sign: a tone slipped.
_SLIPPED_TONE = re.compile(
    "([\u0e01-\u0e2e][\u0e31\u0e34-\u0e39])([\u0e01-\u0e2e])([\u0e48-\u0e4b])"
    "(?: (?=[\u0e01-\u0e2e\u0e40-\u0e44])|(?=\\s|$))"
)
_AA = re.compile("(?<=[\u0e01-\u0e2e\u0e48-\u0e4b])\u0e32")
_APART = re.compile("(?<=[\u0e01-\u0e2e\u0e48-\u0e4b]) +([\u0e48-\u0e4b]?)\u0e32")
_GAPS = re.compile("(?<=[\u0e01-\u0e4e]) (?=[\u0e01-\u0e4e])")
_WATER = re.compile("(?<!\u0e2b)\u0e19\u0e49\u0e32(?!สาว|ชาย|เขย|สะใภ้)")  # water, not aunt or uncle


def restore_am(lines: list[str]) -> list[str]:
    """SARA AM again where its ring became a space ("ท า" for "ทำ"), on a page that has no other;
    where most SARA AA stand apart, letters were placed one by one, and nothing is told.
    """
    joined = "\n".join(lines)
    apart = len(_APART.findall(joined))
    if apart < APART or "\u0e33" in joined or "\u0e4d" in joined:
        return lines
    if apart > APART_SHARE * joined.count("\u0e32"):
        return lines
    return [_APART.sub("\\1\u0e33", line) for line in lines]


def restore_aa(lines: list[str]) -> list[str]:
    """SARA AA again on a page where a program made SARA AM of each: no long text is without it."""
    joined = "\n".join(lines)
    letters = sum(len(run) for run in _RUN.findall(joined))
    if letters < EVIDENCE_LETTERS or "\u0e32" in joined:
        return lines
    return [line.replace("\u0e33", "\u0e32") for line in lines]


def repair_page(lines: list[str]) -> list[str]:
    """The lines of one page, repaired where the page shows damage."""
    joined = "\n".join(lines)
    letters = sum(len(run) for run in _RUN.findall(joined))
    if letters < 4:
        return lines
    if _is_fragmented(joined):
        lines = [_GAPS.sub("", line) for line in lines]
        joined = "\n".join(lines)
    lines = [_SLIPPED_TONE.sub(r"\1\3\2", line) for line in lines]
    if letters >= EVIDENCE_LETTERS and "\u0e33" not in joined:
        changed = [_RUN.sub(lambda m: _with_am(m[0]), line) for line in lines]
        if "\n".join(changed).count("\u0e33") >= max(2, letters / AM_LETTERS):
            return changed
    return lines


def close_gaps(text: str) -> str:
    """`text` without the spaces inside Thai words that a recognition of letters puts there: a
    space goes where both sides together are listed words and one side alone is not.
    """
    if not _GAPS.search(text):
        return text
    done, *parts = _GAPS.split(text)
    for part in parts:
        left, right = _last_run(done), _RUN.match(part)
        if left and right and _belong_together(left, right[0]):
            done += part
        else:
            done += " " + part
    return done


def _last_run(text: str) -> str:
    """The Thai letters that a text ends in, RUN_CHARS at most."""
    tail = text[-RUN_CHARS:]
    found = ""
    for match in _RUN.finditer(tail):
        found = match[0] if match.end() == len(tail) else ""
    return found


def _belong_together(left: str, right: str) -> bool:
    left, right = left[-RUN_CHARS:], right[:RUN_CHARS]
    return _unlisted(left + right) < _unlisted(left) + _unlisted(right)


def _unlisted(run: str) -> int:
    """Letters of a run that fall into no listed word."""
    return sum(len(piece) for piece in thai.pieces(run) if not thai.is_word(piece))


def _is_fragmented(text: str) -> bool:
    pieces = _RUN.findall(text)
    gaps = len(_GAPS.findall(text))
    return gaps > 20 and sum(map(len, pieces)) / len(pieces) < FRAGMENT_LETTERS


def _with_am(run: str) -> str:
    """SARA AM for SARA AA wherever that gives longer listed words."""
    if len(run) > RUN_CHARS:
        return run
    at = 0
    while match := _AA.search(run, at):
        at = match.start()
        readings = [run[:at] + "\u0e33" + run[at + 1 :]]
        if run[at - 1] == "\u0e49":  # a ring above, told as MAI THO
            readings.append(run[: at - 1] + "\u0e33" + run[at + 1 :])
        best = min(readings, key=_badness)
        if _badness(best) < _badness(run):
            run = best
        at += 1
    return _WATER.sub("\u0e19\u0e49\u0e33", run)


def _badness(run: str) -> int:
    """How badly a run falls into listed words: letters outside words count most, then cuts."""
    return sum(1 if thai.is_word(piece) else 3 * len(piece) for piece in thai.pieces(run))
