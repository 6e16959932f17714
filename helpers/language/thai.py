"""Thai: words out of text that has no spaces.

Promises: `pieces` cuts a run of folded Thai letters by greedy longest match over character
clusters with the bundled word list, so the same run gives the same pieces whatever is installed;
`units` adds what makes names and compounds findable; `segment` gives whole words for cutting
chunks, by the same list or, where asked for, by pythainlp's newmm (which costs a reader process
70 MB and half a second, and its upgrades a reading of every document: so not by default).

Does not: normalise (see normalize.fold), know parts of speech, or load anything before the first
Thai text is met. The word list loads in about 15 ms.
"""

from __future__ import annotations

import bisect
import importlib.util
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from helpers import packages

BUNDLED, PYTHAINLP = "bundled", "pythainlp"  # who cuts whole words for the chunker
WORD_LIST = Path(__file__).with_name("data") / "thai_words.txt"
GREEDY_VERSION = 1
PREFIX_CHARS = 3  # letters that select the candidate lengths
COMPOUND_CHARS = 4  # letters from which a listed word may be a compound
WORDS_KEPT = 100_000  # words whose parts are remembered
WEAK_CHARS = 2  # letters up to which a listed word is joined to its neighbours

LETTERS = "\u0e01-\u0e2e\u0e30-\u0e3a\u0e40-\u0e45\u0e47-\u0e4e"
_RUN = re.compile(f"[{LETTERS}]+")
_LEADING = "\u0e40\u0e41\u0e42\u0e43\u0e44"
_DEPENDENT = frozenset(
    "\u0e30\u0e31\u0e32\u0e33\u0e34\u0e35\u0e36\u0e37\u0e38\u0e39\u0e3a\u0e45"
    "\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4d\u0e4e"
)
_SILENCER = "\u0e4c"
# A consonant with what hangs on it, and a silenced consonant that follows.
_CLUSTER = re.compile(
    "(?:[\u0e40-\u0e44]?[\u0e01-\u0e2e]|.)[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*"
    "(?:[\u0e01-\u0e2e][\u0e34\u0e38]?\u0e4c)*"
)


class _WordList:
    """The bundled words: membership, and the lengths worth trying after a prefix."""

    def __init__(self, path: Path) -> None:
        self._sorted = path.read_text(encoding="utf-8").split()
        self.words = frozenset(self._sorted)
        self.known_lengths: dict[str, tuple[int, ...]] = {}

    def lengths(self, prefix: str) -> tuple[int, ...]:
        """Lengths of the words that begin with `prefix` (or are its head), longest first."""
        first = bisect.bisect_left(self._sorted, prefix)
        last = bisect.bisect_left(self._sorted, prefix + "\uffff")
        sizes = {len(word) for word in self._sorted[first:last]}
        sizes.update(n for n in range(2, len(prefix)) if prefix[:n] in self.words)
        self.known_lengths[prefix] = tuple(sorted(sizes, reverse=True))
        return self.known_lengths[prefix]


def pieces(run: str) -> list[str]:
    """A folded Thai run cut into words and, where the list knows none, character clusters."""
    listed = _word_list()
    words, known, lengths = listed.words, listed.known_lengths, listed.lengths
    found: list[str] = []
    at, end = 0, len(run)
    while at < end:
        prefix = run[at : at + PREFIX_CHARS]
        for size in known[prefix] if prefix in known else lengths(prefix):
            piece = run[at : at + size]
            if piece in words and _may_break(run, at + size):
                break
        else:
            piece = run[at : _cluster_end(run, at)]
        found.append(piece)
        at += len(piece)
    return found


def is_word(word: str) -> bool:
    """Whether the bundled list holds the folded `word`."""
    return word in _word_list().words


@lru_cache(maxsize=WORDS_KEPT)
def parts(word: str) -> tuple[str, ...]:
    """The smaller listed words, of two letters or more, that a compound is made of, or ().

    The first part is as long as possible, so that กรุงเทพมหานคร holds กรุงเทพ.
    """
    vocabulary = _word_list().words
    for size in range(len(word) - 2, 1, -1):
        if word[:size] in vocabulary and _may_break(word, size):
            if word[size:] in vocabulary:
                return (word[:size], word[size:])
            rest = parts(word[size:])
            if rest:
                return (word[:size], *rest)
    return ()


def units(run: str) -> list[tuple[str, list[str]]]:
    """Each piece of a folded run, in order, with the further terms that make it findable.

    These are the parts of a compound, and the piece joined to the one before it where one of
    both is too weak to stand alone: a name outside the list is a row of clusters and short words.
    """
    found: list[tuple[str, list[str]]] = []
    before, before_weak = "", False
    for word in pieces(run):
        weak, further = _word_facts(word)
        if before and (weak or before_weak):
            found.append((word, [*further, before + word]))
        else:
            found.append((word, list(further)))
        before, before_weak = word, weak
    return found


def index_terms(run: str) -> list[str]:
    """The terms of `units`, flat: the same work without a list per word."""
    found: list[str] = []
    before, before_weak = "", False
    for word in pieces(run):
        weak, further = _word_facts(word)
        found.append(word)
        if further:
            found += further
        if before and (weak or before_weak):
            found.append(before + word)
        before, before_weak = word, weak
    return found


def segment(text: str, by: str = BUNDLED) -> list[str]:
    """`text`, original or folded, as whole words; joined they are `text` again.

    By `pieces`, or by pythainlp's newmm where `by` says so and it is importable.
    """
    newmm = _newmm() if by == PYTHAINLP else None
    found: list[str] = []
    at = 0
    for match in _RUN.finditer(text):
        if match.start() > at:
            found.append(text[at : match.start()])
        run = match[0]
        words = newmm(run) if newmm else None
        if words is None or "".join(words) != run:
            words = pieces(run)
        found.extend(words)
        at = match.end()
    if at < len(text):
        found.append(text[at:])
    return found


def segmenter_fingerprint(by: str = BUNDLED) -> str:
    """What cuts whole words: part of the chunker's fingerprint, not of the analyser's."""
    version = packages.version("pythainlp") if by == PYTHAINLP else None
    return f"newmm {version}" if version else f"greedy {GREEDY_VERSION}"


@lru_cache(maxsize=WORDS_KEPT)
def _word_facts(word: str) -> tuple[bool, tuple[str, ...]]:
    """Whether `word` is too weak to stand alone, and its parts."""
    if word not in _word_list().words:
        return True, ()
    return len(word) <= WEAK_CHARS, parts(word) if len(word) >= COMPOUND_CHARS else ()


@lru_cache(maxsize=1)
def _word_list() -> _WordList:
    return _WordList(WORD_LIST)


@lru_cache(maxsize=1)
def _newmm() -> Callable[[str], list[str]] | None:
    """pythainlp's segmenter, or None. Its import makes a data folder in the home directory
    unless told of one that exists: its own package will do, nothing is written there."""
    try:
        spec = importlib.util.find_spec("pythainlp")
        if spec is None or spec.origin is None:
            return None
        from helpers import config

        config.provide_variable("PYTHAINLP_DATA", os.path.dirname(spec.origin))
        from pythainlp.tokenize.newmm import segment as newmm
    except Exception:  # a broken installation must not stop a sync: greedy does as well
        return None
    return lambda run: list(newmm(run))


def _may_break(text: str, at: int) -> bool:
    """Whether a word can end at `at`: not inside a cluster."""
    if at >= len(text):
        return True
    following = text[at]
    if following in _DEPENDENT or text[at - 1] in _LEADING:
        return False
    after = text[at + 1 : at + 3]
    return not (after[:1] == _SILENCER or (after[1:] == _SILENCER and after[0] in "\u0e34\u0e38"))


def _cluster_end(run: str, at: int) -> int:
    match = _CLUSTER.match(run, at)
    return match.end() if match and match.end() > at else at + 1
