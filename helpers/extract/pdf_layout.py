"""From letters with places to lines, and from lines to paragraphs.

Promises: pure; lines follow the order of the file (so columns stay apart), letters within a
line the order of their places; a gap becomes one space; Hebrew and Arabic come out in logical
order; a word parted at a line end is whole again where writing rules or the page itself say so.
Does not: recognise tables, or read across pages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from helpers.extract.pdf_content import Span

GAP_EM = 0.16  # of the font size: a wider gap between two spans is a space
MIXED_GAP_EM = 0.28  # of the font size: the same between a digit or Latin letter and Hangul
JITTER_EM = 0.03  # of the font size: a step back that puts a mark in its place, not a piece
BASELINE_EM = 0.35  # of the font size: spans nearer than this stand on one line
LEADING = 1.75  # times the font size: lines further apart belong to two paragraphs,
WIDE_LEADING = 2.6  # or up to this, where the lines of the page stand that far apart
WIDE_SHARE = 0.4  # of the steps from line to line that must be of one width to show it
FULL_LINE = 0.82  # of the width of its neighbours: a shorter line ends a paragraph
SPACED_SHARE = 0.2  # of wrapped lines: this page keeps the spaces at line ends
ROW_LINES = 2  # lines of a list item or table row
ROWS_CHARS = 4_000  # code points of joined rows
HEADING_RATIO = 1.18  # times the size of the body: larger short lines are headings
HEADING_CHARS = 150  # code points
HEADING_LETTERS = 3  # letters: a page number is no heading

_HYPHEN_END = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_BULLET = re.compile(r"^(?:[•‣▪◦○●■□◆※\-–*·]\s|\(?(?:\d{1,3}|[A-Za-z]|[가-하])[.)]\s|[①-⑳])")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_RTL_RUN = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff][\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff ]*"
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]"
)
_DIGITS = re.compile(r"[0-9A-Za-z]+(?:[.,:/\-][0-9A-Za-z]+)*")
_MIRROR = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_SENTENCE_END = re.compile(r"[.!?。！？:;]$")
_KOREAN_TAIL = re.compile(
    r"^(?:[은는이가을를의에로와과도만]|에서|으로|에게|까지|부터|니다|습니다|하다|한다|된다|이다|"
    r"입니다|합니다|됩니다|랍니다|시다|세요)(?=[\s.,)]|$)"
)


@dataclass(slots=True)
class Line:
    """One line in its own frame: text runs from `left` to `right`, further lines lie below."""

    text: str
    left: float
    right: float
    base: float
    size: float
    turn: int
    trailing_space: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined lines; `ratio` is their size against the body's, `lines` how many they were;
    `near` is set where it stands right below the one before it.
    """

    text: str
    ratio: float
    lines: int
    near: bool = False

    @property
    def heading_level(self) -> int:
        """1 to 3 for a heading, by its size and length; else 0."""
        if self.ratio < HEADING_RATIO or self.lines > 2 or len(self.text) > HEADING_CHARS:
            return 0
        if self.text.endswith((".", ",")) or sum(map(str.isalpha, self.text)) < HEADING_LETTERS:
            return 0
        return 1 if self.ratio > 1.7 else 2 if self.ratio > 1.35 else 3


@dataclass(slots=True)
class _Piece:
    text: str
    left: float
    right: float
    base: float
    size: float
    space: float
    turn: int


def lines_of(spans: list[Span]) -> list[Line]:
    """Lines in reading order."""
    found: list[Line] = []
    current: list[_Piece] = []
    for span in spans:
        piece = _turned(span)
        if current and _is_mark_on(current[-1], piece):
            current[-1].text += piece.text
            current[-1].right = max(current[-1].right, piece.right)
            continue
        if current and not _same_line(current, piece):
            found.extend(_line(current))
            current = []
        current.append(piece)
    found.extend(_line(current))
    return found


def paragraphs_of(lines: list[Line]) -> list[Paragraph]:
    """Paragraphs and headings, wrapped lines joined."""
    body, leading = _body_size(lines), _leading(lines)
    words = Counter(word for line in lines for word in line.text.split())
    groups: list[list[Line]] = []
    for line in lines:
        if groups and _continues(groups[-1], line, leading):
            groups[-1].append(line)
        else:
            groups.append([line])
    wrapped = [line.trailing_space for group in groups for line in group[:-1]]
    spaced = sum(wrapped) > len(wrapped) * SPACED_SHARE
    found: list[Paragraph] = []
    for at, group in enumerate(groups):
        near = at > 0 and _stands_below(groups[at - 1][-1], group[0], leading)
        _add(found, _paragraph(group, body, words, spaced, near))
    return found


def joined(lines: list[str]) -> str:
    """Lines of one paragraph as one text: words that the line end parted are whole again."""
    words = Counter(word for line in lines for word in line.split())
    parts = lines[:1]
    for before, line in pairwise(lines):
        dropped, gap = _seam(before, line, words, False)
        if gap == "" and not dropped and _is_hangul(before[-1]):
            gap = "" if _is_parted(before, line, words) else " "
        if dropped:
            parts[-1] = parts[-1][:-dropped]
        parts += (gap, line)
    return "".join(parts)


def _add(found: list[Paragraph], paragraph: Paragraph) -> None:
    """Keep a paragraph; rows of a list or table that follow closely share one."""
    last = found[-1] if found else None
    if (
        last is not None
        and paragraph.near
        and paragraph.lines <= ROW_LINES
        and (last.lines <= ROW_LINES or "\n" in last.text)
        and not paragraph.heading_level
        and not last.heading_level
        and len(last.text) < ROWS_CHARS
    ):
        text = f"{last.text}\n{paragraph.text}"
        found[-1] = Paragraph(text, last.ratio, last.lines + paragraph.lines, last.near)
    else:
        found.append(paragraph)


# --- lines -------------------------------------------------------------------------------


def _turned(span: Span) -> _Piece:
    """The span in a frame in which its text runs to the right."""
    if abs(span.dx) >= abs(span.dy):
        turn = 0 if span.dx >= 0 else 180
    else:
        turn = 90 if span.dy > 0 else 270
    if turn == 0:
        left, base, way = span.x, span.y, span.dx
    elif turn == 180:
        left, base, way = -span.x, -span.y, -span.dx
    elif turn == 90:
        left, base, way = span.y, -span.x, span.dy
    else:
        left, base, way = -span.y, span.x, -span.dy
    return _Piece(span.text, left, left + way, base, span.size or 1.0, span.space, turn)


def _is_mark_on(last: _Piece, piece: _Piece) -> bool:
    """Whether a piece is nothing but marks set over the letters before it."""
    return (
        piece.turn == last.turn
        and abs(piece.base - last.base) < piece.size
        and -piece.size < piece.left - last.right < 0.5 * piece.size
        and all(unicodedata.category(sign) in ("Mn", "Co") for sign in piece.text)
    )


def _same_line(line: list[_Piece], piece: _Piece) -> bool:
    last = line[-1]
    size = max(last.size, piece.size)
    if piece.turn != last.turn or abs(piece.base - last.base) > BASELINE_EM * size:
        return False
    left, right = min(p.left for p in line[-8:]), max(p.right for p in line[-8:])
    return left - 12 * size < piece.left < right + 40 * size


def _line(pieces: list[_Piece]) -> list[Line]:
    """The line of some pieces; several where wide gaps part columns of text."""
    if not pieces:
        return []
    if any(b.left < a.left - JITTER_EM * a.size for a, b in pairwise(pieces)):
        pieces = sorted(pieces, key=lambda p: p.left)
    pieces = _without_doubles(pieces)
    gap_wanted = _gap_wanted(pieces)
    text = pieces[0].text
    right = pieces[0].right
    for piece in pieces[1:]:
        gap = piece.left - right
        if gap > gap_wanted(piece) and text[-1:] != " " and piece.text[:1] != " ":
            wide = gap > MIXED_GAP_EM * piece.size
            text += " " if wide or not _is_mixed(text[-1:], piece.text[:1]) else ""
        text += piece.text
        right = max(right, piece.right)
    size = Counter({p.size: len(p.text) for p in pieces}).most_common(1)[0][0]
    stripped = text.rstrip()
    if not stripped.strip():
        return []
    if _RIGHT_TO_LEFT.search(text):
        stripped = logical_order(stripped)
    first = pieces[0]
    trailing = len(stripped) < len(text)
    return [Line(stripped.strip(), first.left, right, first.base, size, first.turn, trailing)]


def _without_doubles(pieces: list[_Piece]) -> list[_Piece]:
    """Bold print made by showing the same letters twice gives them once."""
    found = [pieces[0]]
    for piece in pieces[1:]:
        last = found[-1]
        near = abs(piece.left - last.left) < 0.12 * piece.size
        if not (near and piece.text == last.text and piece.text.strip()):
            found.append(piece)
    return found


def _gap_wanted(pieces: list[_Piece]) -> Callable[[_Piece], float]:
    """How wide a gap must be to be a space: more where letters are placed one by one."""
    gaps = sorted(
        b.left - a.right
        for a, b in pairwise(pieces)
        if len(a.text) == 1 and len(b.text) == 1 and a.text != " " and b.text != " "
    )
    spread = 0.0
    if len(gaps) >= 6 and len(gaps) > len(pieces) * 0.6:
        spread = max(0.0, gaps[len(gaps) // 2])

    def wanted(piece: _Piece) -> float:
        usual = min(GAP_EM * piece.size, 0.6 * piece.space if piece.space > 0 else piece.size)
        return max(usual, spread * 1.8 + 0.02 * piece.size) if spread else usual

    return wanted


def logical_order(text: str) -> str:
    """A line of Hebrew or Arabic that was placed from left to right, as it is read."""
    letters = [sign for sign in text if sign.isalpha()]
    rtl = sum(1 for sign in letters if _RIGHT_TO_LEFT.match(sign))
    if rtl * 2 < len(letters):
        return _RTL_RUN.sub(lambda m: _reversed(m[0]), text)
    turned = _reversed(text)
    first = re.search(r"[()\[\]{}]", turned)
    if first and first[0] in ")]}":  # else the file gives brackets by their meaning already
        turned = turned.translate(_MIRROR)
    return _DIGITS.sub(lambda m: m[0][::-1], turned)


def _reversed(text: str) -> str:
    """Backwards, with each mark left behind its letter."""
    clusters: list[str] = []
    for sign in text:
        if clusters and unicodedata.combining(sign):
            clusters[-1] += sign
        else:
            clusters.append(sign)
    return "".join(reversed(clusters))


# --- paragraphs --------------------------------------------------------------------------


def _body_size(lines: list[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 1.0


def _leading(lines: list[Line]) -> float:
    """How many times the font size lines of one text stand apart: Thai fonts need much room."""
    steps: Counter[float] = Counter()
    for last, line in pairwise(lines):
        if _stands_below(last, line, WIDE_LEADING) and abs(last.size - line.size) < 0.1:
            steps[round((last.base - line.base) / line.size, 1)] += 1
    if not steps:
        return LEADING
    step, count = steps.most_common(1)[0]
    return max(LEADING, step + 0.15) if count >= max(3, WIDE_SHARE * steps.total()) else LEADING


def _stands_below(last: Line, line: Line, leading: float) -> bool:
    """Whether a line follows another at the distance of one text."""
    return (
        line.turn == last.turn
        and 0.5 * line.size < last.base - line.base < leading * max(line.size, last.size)
        and min(last.right, line.right) > max(last.left, line.left)
    )


def _continues(group: list[Line], line: Line, leading: float) -> bool:
    last = group[-1]
    if not _stands_below(last, line, leading) or _BULLET.match(line.text):
        return False
    flows = line.text[0].islower() and not _SENTENCE_END.search(last.text)
    if abs(line.size - last.size) > (0.3 if flows else 0.12) * max(line.size, last.size):
        return False
    step = last.base - line.base
    if len(group) > 1 and step > 1.3 * (group[-2].base - last.base):
        return False
    reach = max(line.right, *(other.right for other in group[-3:])) - last.left
    if last.right - last.left < (0.5 if flows else FULL_LINE) * reach:
        return False
    return line.left - last.left < 2.2 * line.size or len(group) == 1


def _paragraph(
    group: list[Line], body: float, words: Counter[str], spaced: bool, near: bool
) -> Paragraph:
    parts = [group[0].text]
    for before, line in pairwise(group):
        dropped, gap = _seam(before.text, line.text, words, spaced and before.trailing_space)
        if not spaced and gap == "" and not dropped and _is_hangul(before.text[-1]):
            gap = "" if _is_parted(before.text, line.text, words) else " "
        if dropped:
            parts[-1] = parts[-1][:-dropped]
        parts += (gap, line.text)
    return Paragraph("".join(parts), group[0].size / body if body else 1.0, len(group), near)


def _seam(head: str, tail: str, words: Counter[str], space_at_end: bool) -> tuple[int, str]:
    """How two wrapped lines are joined: letters to drop from the first, and what to put between."""
    last, first = head[-1], tail[0]
    if _HYPHEN_END.search(head) and first.islower():
        written = words[head.split()[-1] + tail.split()[0]]
        return (0, "") if written else (1, "")
    for belongs in (_is_thai, _is_hangul, _is_ideograph):
        if belongs(last) and belongs(first):
            return 0, " " if space_at_end else ""
    return 0, " "


def _is_parted(head: str, tail: str, words: Counter[str]) -> bool:
    """Whether a Korean word seems to have been cut by the line end."""
    left, right = head.split()[-1], tail.split()[0]
    if words[left + right]:
        return True
    if words[left] > 1 and words[right] > 1:
        return False
    return bool(_KOREAN_TAIL.match(tail)) or len(left) == 1 or len(right.rstrip(".,)")) == 1


def _is_mixed(before: str, after: str) -> bool:
    """Whether an East Asian letter meets a digit or Latin letter, where programs add a little."""
    east = [_is_hangul(sign) or _is_ideograph(sign) for sign in (before, after)]
    return east[0] != east[1] and (after if east[0] else before).isalnum()


def _is_thai(sign: str) -> bool:
    return "\u0e01" <= sign <= "\u0e4e"


def _is_hangul(sign: str) -> bool:
    return "가" <= sign <= "힣"


def _is_ideograph(sign: str) -> bool:
    return "\u3041" <= sign <= "\u30ff" or "\u4e00" <= sign <= "\u9fff" or sign in "、。，"
