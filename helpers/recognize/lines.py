"""Lines as Tesseract read them: how sure it was, and the better of two readings.

Promises: pure; text stays as it was read, line by line.
Does not: run anything, or mend words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SURE = 0.75  # confidence from which a line is not tried again
JUNK = 0.35  # confidence below which a line is left out: signatures, dirt, edges ...
LEAST = 0.1  # ... unless it is above this and made of words
WORDY = 0.6  # of a line's signs in words, from which it is made of them
BETTER = 1.08  # times the worth that another reading of a line must have
WHOLE = 0.9  # the same, where a whole line stands against its fragments
FAR_BETTER = 0.1  # confidence by which another reading as a whole is the better one
UNSURE_SHARE = 0.03  # of a page's letters in unsure lines: above it the page is tried again
LONG = 3  # letters of one unsure line that are worth another try: a title may be as short
LEGIBLE = 0.5  # mean confidence of a page that is text
LEAST_LETTERS = 3  # of a page that is text
FULL = 0.85  # of its paragraph's longest line: a line that long was ended by the margin
SKEWED = 0.2  # of a page's lines overlapping the next: a skewed page
COVERED = 0.5  # of the smaller box, from which two boxes hold the same line
_WORD, _COLUMNS = "5", 12  # of TSV: the level of a word, the columns of a row
# Two letters make a word of Thai or Hangul, three of other scripts.
_WORDS = re.compile("[\u0e01-\u0e4e\uac00-\ud7a3]{2,}|[^\\W\\d_]{3,}")

Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Line:
    """A line. `block` is which paragraph it belongs to; `letters` how much was read."""

    text: str
    confidence: float
    letters: int
    box: Box
    block: tuple[str, ...]


def lines_of(tsv: str, text: str) -> list[Line]:
    """The lines of one reading. The text output knows spaces (TSV cuts Thai and Hangul into
    letters), TSV the confidence and the place; both have the same lines.
    """
    rows: dict[tuple[str, ...], list[list[str]]] = {}
    for line in tsv.splitlines()[1:]:
        row = line.split("\t")
        if len(row) == _COLUMNS and row[0] == _WORD and row[11].strip():
            rows.setdefault(tuple(row[1:5]), []).append(row)
    texts = [line.strip() for line in text.replace("\f", "\n").split("\n") if line.strip()]
    if len(texts) != len(rows):
        texts = [" ".join(row[11] for row in words) for words in rows.values()]
    return [_line(key, rows[key], found) for key, found in zip(rows, texts, strict=True)]


def _line(key: tuple[str, ...], words: list[list[str]], text: str) -> Line:
    letters = sum(len(row[11].strip()) for row in words)
    total = sum(_number(row[10]) * len(row[11].strip()) for row in words)
    corners = [[int(_number(value)) for value in row[6:10]] for row in words]
    box = (
        min(left for left, _, _, _ in corners),
        min(top for _, top, _, _ in corners),
        max(left + width for left, _, width, _ in corners),
        max(top + height for _, top, _, height in corners),
    )
    return Line(text, max(0.0, min(1.0, total / letters / 100)), letters, box, key[:3])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def mean(lines: Sequence[Line]) -> float:
    """Confidence over all letters."""
    letters = sum(line.letters for line in lines)
    return sum(line.confidence * line.letters for line in lines) / letters if letters else 0.0


def unsure(lines: Sequence[Line]) -> bool:
    """Whether another reading is worth its time."""
    letters = sum(line.letters for line in lines)
    doubtful = [line.letters for line in lines if line.confidence < SURE]
    return sum(doubtful) > letters * UNSURE_SHARE or max(doubtful, default=0) >= LONG


def legible(lines: Sequence[Line]) -> bool:
    kept = [line for line in lines if line.confidence >= JUNK]
    return sum(line.letters for line in kept) >= LEAST_LETTERS and mean(kept) >= LEGIBLE


def better_of(one: list[Line], other: list[Line]) -> list[Line]:
    """The first reading, with the lines that the other read better, and those it alone has; the
    other way round where the other is surer by far. On a skewed page lines cannot be told apart by
    their boxes: the better reading counts whole.
    """
    if _overlap(one) or _overlap(other):
        return other if _worth(other) > _worth(one) * BETTER else one
    if mean(other) > mean(one) + FAR_BETTER:
        one, other = other, one
    found = list(one)
    for line in other:
        rivals = [i for i, known in enumerate(found) if _same(known.box, line.box)]
        needed = BETTER if len(rivals) == 1 else WHOLE
        if not rivals:
            if line.confidence >= SURE:
                found.insert(_place(found, line), line)
        elif _worth([line]) > _worth([found[i] for i in rivals]) * needed:
            found[rivals[0]] = line
            for i in reversed(rivals[1:]):
                del found[i]
    return found


def _overlap(lines: Sequence[Line]) -> bool:
    """Whether many lines share their boxes with the next one, as on a skewed page."""
    found = sum(_same(before.box, line.box) for before, line in pairwise(lines))
    return found >= max(2, len(lines) * SKEWED)


def _worth(lines: Sequence[Line]) -> float:
    """Many letters read for sure: a reading that lost the end of a line is worth less."""
    return sum(line.confidence**2 * line.letters for line in lines)


def paragraphs(lines: Sequence[Line]) -> list[tuple[str, float]]:
    """Text and confidence of each paragraph, in reading order, without junk lines. A line end
    inside a paragraph is one where the text was too long for the line; rows of a list or of an
    address are paragraphs of their own.
    """
    found: list[list[Line]] = []
    for group in _blocks(lines):
        longest = max(_length(line) for line in group)
        found.append(group[:1])
        for before, line in pairwise(group):
            if _length(before) >= longest * FULL:
                found[-1].append(line)
            else:
                found.append([line])
    return [("\n".join(line.text for line in group), mean(group)) for group in found]


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    found: list[list[Line]] = []
    for line in lines:
        if line.confidence < JUNK and not (line.confidence >= LEAST and _is_wordy(line.text)):
            continue
        if found and found[-1][-1].block == line.block:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _is_wordy(text: str) -> bool:
    signs = "".join(text.split())
    return sum(map(len, _WORDS.findall(text))) >= WORDY * max(1, len(signs))


def _length(line: Line) -> int:
    """Along the line, which runs upwards where the picture lies on its side."""
    return max(line.box[2] - line.box[0], line.box[3] - line.box[1])


def _same(one: Box, other: Box) -> bool:
    """Whether two boxes hold the same line: they share half of the smaller one."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return False
    areas = [max(1, (box[2] - box[0]) * (box[3] - box[1])) for box in (one, other)]
    return width * height >= COVERED * min(areas)


def _place(lines: Sequence[Line], line: Line) -> int:
    """Where a line goes: before the first one that stands below it."""
    middle = (line.box[1] + line.box[3]) / 2
    for i, known in enumerate(lines):
        if known.box[1] >= middle:
            return i
    return len(lines)
