"""Where a text may be cut: sentence ends, phrase breaks, word breaks, grapheme clusters.

Promises: pure functions over offsets of one string, so a cut never changes a letter; work
per cut is bounded by the window asked about, never by the length of the text; a decimal, an
abbreviation, a short parenthesis or quotation stays whole where the window allows it; a cut
never falls inside a combining sequence that fits the window.
Does not: build chunks, know about blocks or locations, or load a word list unless a cut must
fall inside a run of Thai letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

BRACKET_SPAN = 240  # code points: a longer parenthesis or quotation may be cut
FULL_SHARE = 0.55  # of the window: a cut before this point makes too short a piece
SCRAP_SHARE = 0.25  # of the window: no piece is shorter than this if any space is found
THAI_LOOKAHEAD = 60  # code points right of a cut that word segmentation gets to see
CLUSTER_CHARS = 64  # code points: a longer combining sequence is no writing and may be cut

_END = re.compile(r"""[.!?…。！？｡]+["'”’)\]»」』]*""")
_SPACE = re.compile(r"\s+")
_PAIRS = tuple(zip("([“‘«「『（", ")]”’»」』）", strict=True))
_WIDE_ENDS = frozenset("。！？｡")
_CLAUSE_ENDS = frozenset(",;:、，；：—–")
_COMMON = (
    "dr mr mrs ms prof st jr sr vs no nos fig figs eq ch sec vol pp p ed eds art cf al etc "
    "inc ltd co corp dept est approx ca e.g i.e a.m p.m u.s u.k ph.d m.d b.a m.a gen col lt "
    "sgt rev hon gov jan feb mar apr jun jul aug sep sept oct nov dec mt ft viz resp "
    "พ.ศ ค.ศ น ดร ผศ รศ ศ นพ พญ ม กม"
)
_ABBREVIATIONS = frozenset(_COMMON.split())
_JOINERS = frozenset("\u200d\u034f")
_LEADING_VOWELS = frozenset("เแโใไ")


def cut_position(
    text: str, start: int, stop: int, lines: bool = False, thai_words: str = "bundled"
) -> int:
    """The best place in (start, stop] to end a piece that begins at `start`.

    `stop` must lie inside the text; `thai_words` says who cuts Thai (see thai.segment). Order of
    preference: paragraph, (line, where `lines` says that line breaks mean something), sentence,
    phrase, word, grapheme cluster.
    """
    width = stop - start
    full = start + int(width * FULL_SHARE)
    found = text.rfind("\n\n", full, stop)
    if found < 0 and lines:
        found = text.rfind("\n", full, stop)
    if found > start:
        return found
    for low in (full, start + int(width * SCRAP_SHARE)):
        found = _last_sentence(text, start, low, stop)
        if found < 0:
            found = _last_space(text, start, low, stop)
        if found > start:
            return found
    return _inside_run(text, start, stop, thai_words)


def overlap_position(text: str, start: int, cut: int, size: int) -> int:
    """Where the piece after `cut` begins so that it repeats at most `size` code points.

    The repeated part is whole sentences, or whole phrases of a script without full stops;
    `cut` itself where none is short enough.
    """
    low = max(start + 1, cut - size)
    for end in _sentence_ends(text, low, cut - 1):
        return end
    if is_thai(text[cut - 1]):
        for space in _SPACE.finditer(text, low, cut - 1):
            if _between_thai(text, space.start(), space.end()):
                return space.start()
    return cut


def is_thai(sign: str) -> bool:
    """Whether `sign` belongs to the Thai block."""
    return "\u0e01" <= sign <= "\u0e5b"


def starts_cluster(text: str, position: int) -> bool:
    """Whether a cut at `position` leaves every user-perceived character whole."""
    if position <= 0 or position >= len(text):
        return True
    after, before = text[position], text[position - 1]
    if after < "\u0300" and before < "\u0300":
        return not (after == "\n" and before == "\r")
    if before in _JOINERS or before in _LEADING_VOWELS or _extends(after):
        return False
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return False
    return not _hangul_joins(before, after) and not _flag_joins(text, position)


def _last_sentence(text: str, start: int, low: int, stop: int) -> int:
    near = max(low, stop - BRACKET_SPAN)
    for left, right in ((near, stop), (low, near)):
        for end in reversed(list(_sentence_ends(text, left, right))):
            if not _inside_pair(text, start, end):
                return end
    return -1


def _sentence_ends(text: str, low: int, stop: int) -> Iterator[int]:
    """Ends of sentences within [low, stop), left to right."""
    for match in _END.finditer(text, low, stop):
        end = match.end()
        follows = text[end : end + 1]
        if text[match.start()] in _WIDE_ENDS:
            yield end
        elif not follows or follows.isspace():
            if match.group()[0] not in ".…" or _is_full_stop(text, match.start(), end):
                yield end
        elif "가" <= text[match.start() - 1 : match.start()] <= "힣" and "가" <= follows <= "힣":
            yield end


def _is_full_stop(text: str, dot: int, end: int) -> bool:
    """Whether the dot ends a sentence, being neither an abbreviation's nor a list number's."""
    if end - dot > 1 and text[dot + 1] == ".":
        return True
    following = text[end : end + 8].lstrip()[:1]
    if "a" <= following <= "z" or (text[dot] == "…" and following.isdigit()):
        return False
    words = text[max(0, dot - 12) : dot].split()
    word = words[-1].lstrip("([\"'“‘") if words and not text[dot - 1].isspace() else ""
    if len(word) == 1 and not "가" <= word <= "힣":
        return False
    if word.isdigit() and len(word) <= 3:
        return text[max(0, dot - len(word) - 1) : dot - len(word)] not in ("", "\n")
    return word.lower() not in _ABBREVIATIONS


def _inside_pair(text: str, start: int, cut: int) -> bool:
    """Whether `cut` falls inside a short parenthesis or quotation."""
    low = max(start, cut - BRACKET_SPAN)
    for opening, closing in _PAIRS:
        at = text.rfind(opening, low, cut)
        if (
            at >= 0
            and text.find(closing, at, cut) < 0
            and text.find(closing, cut, at + BRACKET_SPAN) >= 0
        ):
            return True
    line = max(start, text.rfind("\n", start, cut) + 1)
    return text.count('"', line, cut) % 2 == 1 and text.find('"', cut, cut + BRACKET_SPAN) >= 0


def _last_space(text: str, start: int, low: int, stop: int) -> int:
    """The last line or phrase break, else the last word break, in [low, stop]; -1 for none."""
    spaces = list(_spaces(text, low, stop + 1))
    fallback = -1
    for begin in reversed(spaces):
        before = text[begin - 1]
        following = text[begin : begin + 8].lstrip()[:1]
        phrase = (
            text[begin] == "\n"
            or before in _CLAUSE_ENDS
            or (is_thai(before) and following != "" and is_thai(following))
        )
        if (phrase or fallback < 0) and not _inside_pair(text, start, begin):
            if phrase:
                return begin
            fallback = begin
    return fallback if fallback >= 0 or not spaces else spaces[-1]


def _spaces(text: str, low: int, stop: int) -> Iterator[int]:
    """Starts of white space within (low, stop)."""
    return (m.start() for m in _SPACE.finditer(text, low, stop) if m.start() > low)


def _between_thai(text: str, begin: int, end: int) -> bool:
    return end < len(text) and is_thai(text[begin - 1]) and is_thai(text[end])


def _inside_run(text: str, start: int, stop: int, thai_words: str) -> int:
    """A cut in text without a space: at a Thai word, else at a grapheme cluster."""
    if is_thai(text[stop - 1]) and is_thai(text[stop]):
        found = _thai_word_end(text, start, stop, thai_words)
        if found > start:
            return found
    return _cluster_cut(text, start, stop)


def _cluster_cut(text: str, start: int, stop: int) -> int:
    lowest = max(start, stop - CLUSTER_CHARS)
    for position in range(stop, lowest, -1):
        if starts_cluster(text, position):
            return position
    return stop


def _thai_word_end(text: str, start: int, stop: int, thai_words: str) -> int:
    begin = stop
    while begin > start and is_thai(text[begin - 1]):
        begin -= 1
    from helpers.language import thai  # the word list is read for the first such cut only

    words = thai.segment(text[begin : stop + THAI_LOOKAHEAD], thai_words)
    best, position = -1, begin
    for word in words:
        if position > stop:
            break
        if position > start and starts_cluster(text, position):
            best = position
        position += len(word)
    return best


def _extends(sign: str) -> bool:
    if sign < "\u0300":
        return False
    if sign in "\u0e33\u0eb3\u200d\u200c\u0e45" or "\U0001f3fb" <= sign <= "\U0001f3ff":
        return True
    return unicodedata.category(sign) in ("Mn", "Mc", "Me")


def _hangul_joins(before: str, after: str) -> bool:
    """Conjoining jamo: a leading consonant takes a vowel, a vowel or syllable takes a final."""
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= after <= "\u11a7" or "가" <= after <= "힣"
    if "\u1160" <= before <= "\u11ff" or "가" <= before <= "힣":
        return "\u1160" <= after <= "\u11ff"
    return False


def _flag_joins(text: str, position: int) -> bool:
    """Regional indicators pair up from the left of their run."""
    count = 0
    while count < CLUSTER_CHARS and position - count - 1 >= 0:
        if not "\U0001f1e6" <= text[position - count - 1] <= "\U0001f1ff":
            break
        count += 1
    return count % 2 == 1 and "\U0001f1e6" <= text[position] <= "\U0001f1ff"
