"""The Answer: results with their highlights, cut to what the asker has room for.

Promises: highlights are [start, end) in code points of the original text, ascending and apart,
and each covers a word of the query as the text spells it; the first result is shortened rather
than left out; `more` counts every further hit, and `next` says how to get it.
Does not: rank, look at the file system, or change a text's characters (its controls are made
harmless where text is rendered, so that offsets stay true).
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Sequence
from typing import Any

from helpers.language import thai
from helpers.language.normalize import fold_with_map
from helpers.language.terms import Query, token_terms, tokens
from helpers.retrieve.fuse import Fused
from helpers.retrieve.locate import located

SHORTEST_TEXT = 1  # code points of a shortened first result, at least
ASCII_PER_TOKEN = 4  # ASCII characters counted as one token; any other character is one
NS_PER_S = 1_000_000_000

Span = tuple[int, int]


def tokens_of(text: str) -> float:
    """The estimated tokens of a text: ASCII / 4 and one per other character."""
    plain = len(text.encode("ascii", "ignore"))
    return plain / ASCII_PER_TOKEN + len(text) - plain


def cut(texts: Sequence[str], max_tokens: int) -> tuple[list[str], bool]:
    """The texts that fit into `max_tokens`, and whether the first had to be shortened."""
    kept: list[str] = []
    room = float(max_tokens)
    for text in texts:
        room -= tokens_of(text)
        if room < 0:
            break
        kept.append(text)
    if kept or not texts:
        return kept, False
    return [_shortened(texts[0], max_tokens)], True


class Highlighter:
    """Finds the words of one query in texts; a token is analysed once for all of them."""

    def __init__(self, query: Query) -> None:
        self.main = frozenset(word.term for word in query.strong)
        self.wanted = frozenset(term for word in query.strong for term in (word.term, *word.more))
        # No stem changes a plain word's first two letters: most words are told by them.
        self._heads = {term[:2] for term in self.wanted}
        self._known: dict[str, list[Span]] = {}
        # What a passage may have been found by letter by letter, where no word of it matches.
        self._letters = query.phrases or (query.text,)

    def spans(self, text: str) -> list[Span]:
        """Where `text` holds words of the query: offsets in code points of `text`."""
        folded, offsets = fold_with_map(text)
        plain, found = tokens(folded)
        known = self._known
        for token in set(found).difference(known):
            plainly_other = token[:2] not in self._heads and token.isascii() and token.isalpha()
            known[token] = [] if plainly_other else _within(token, self.wanted)
        if not any(map(known.__getitem__, found)):
            return _on_original(_merged(_places(folded, self._letters)), offsets)
        spans: list[Span] = []
        at = 0
        for token in found:
            start = plain.find(token, at)
            at = start + len(token)
            if known[token]:
                spans += [(start + a, start + b) for a, b in known[token]]
        return _on_original(_merged(spans), offsets)


def result(
    rank: int, fused: Fused, kb_id: str, absolute_path: str, text: str, marker: Highlighter
) -> dict[str, Any]:
    """One entry of Answer.results; `text` is the passage's, or its shortened start."""
    passage = fused.passage
    spans = marker.spans(text)
    return {
        "rank": rank,
        "kb_id": kb_id,
        "chunk_id": passage.chunk_id,
        "path": passage.path,
        "absolute_path": absolute_path,
        "title": passage.title,
        "location": located(passage.location, text, spans, marker.main, marker.wanted),
        "text": text,
        "highlights": [list(span) for span in spans],
        "score": round(fused.score, 6),
        "matched_by": list(fused.matched_by),
        "modified": iso(passage.mtime_ns),
        "untrusted": True,
    }


def iso(ns: int) -> str:
    """A time in ns as ISO 8601 UTC, whole seconds."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ns // NS_PER_S))
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00Z"


def _shortened(text: str, max_tokens: int) -> str:
    """The longest start of `text` within `max_tokens`, cut at a space where one is near."""
    room, end = float(max_tokens), 0
    for character in text:
        room -= 1 / ASCII_PER_TOKEN if character.isascii() else 1
        if room < 0:
            break
        end += 1
    end = max(end, SHORTEST_TEXT)
    space = max(text.rfind(" ", end * 3 // 4, end), text.rfind("\n", end * 3 // 4, end))
    return text[: space if space > 0 else end].rstrip() or text[:end]


def _within(token: str, wanted: frozenset[str]) -> list[Span]:
    """The parts of one folded token that wanted terms stand for.

    An ASCII word as a whole: its stem is no word. In scripts without spaces or with particles
    the term itself; where it does not stand in the token as such, the whole token.
    """
    if "\u0e00" <= token[0] <= "\u0e7f":
        return _thai_spans(token, wanted) if any(term in token for term in wanted) else []
    terms = token_terms(token)
    matched = wanted.intersection(terms.split()) if " " in terms else {terms} & wanted
    if not matched:
        return []
    if token.isascii():
        return [(0, len(token))]
    spans = [(at, at + len(term)) for term in matched for at in _all(token, term)]
    return spans or [(0, len(token))]


def _thai_spans(run: str, matched: frozenset[str]) -> list[Span]:
    spans: list[Span] = []
    at, before = 0, ""
    for word in thai.pieces(run):
        if word in matched:
            spans.append((at, at + len(word)))
        else:
            inside = [part for part in thai.parts(word) if part in matched]
            spans += [(at + word.find(p), at + word.find(p) + len(p)) for p in inside]
        if before + word in matched:
            spans.append((at - len(before), at + len(word)))
        at, before = at + len(word), word
    return spans


def _all(token: str, term: str) -> list[int]:
    found: list[int] = []
    at = token.find(term)
    while at >= 0:
        found.append(at)
        at = token.find(term, at + len(term))
    return found


def _places(text: str, parts: Sequence[str]) -> list[Span]:
    return [(at, at + len(part)) for part in parts if part for at in _all(text, part)]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _on_original(spans: list[Span], offsets: list[int]) -> list[Span]:
    """Folded spans as spans of the original, widened to whole clusters."""
    found: list[Span] = []
    for start, end in spans:
        first = offsets[start]
        # The end is where the next cluster starts: a cluster's letters share its offset.
        last = offsets[end]
        if last == offsets[end - 1]:
            last = offsets[bisect.bisect_right(offsets, last)]
        if not found or first >= found[-1][1]:
            found.append((first, last))
        else:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
    return found
