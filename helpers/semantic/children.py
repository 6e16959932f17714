"""Cutting a chunk into the pieces that are embedded: children of at most 112 tokens.

An encoder of this size says most about short passages. A chunk's children are windows over its
tokens, the parent scores as its best child, so nothing about them is kept but their vectors.

Promises: a window holds at most CHILD_TOKENS tokens and shares at most CHILD_OVERLAP_TOKENS with
the next; both ends fall between words where a word begins near enough (text without spaces is
cut between tokens); every token is in a window; time and memory follow the number of tokens.
Does not: tokenize, or see the text: it is handed which tokens begin a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.limits import CHILD_CONTEXT_TOKENS, CHILD_OVERLAP_TOKENS, CHILD_TOKENS

REACH = 32  # tokens that a window is shortened by, at most, to end between two words
# Part of a generation's fingerprint: vectors made under another policy are another generation.
POLICY = f"children 1: {CHILD_TOKENS}/{CHILD_OVERLAP_TOKENS}/{CHILD_CONTEXT_TOKENS}/{REACH}"


def windows(
    begins: Sequence[bool], most: int = CHILD_TOKENS, overlap: int = CHILD_OVERLAP_TOKENS
) -> list[tuple[int, int]]:
    """Windows (begin, end) over tokens; `begins[i]` says that token i begins a word."""
    size, found, begin = len(begins), [], 0
    while size - begin > most:
        end = _word(begins, begin + most, max(begin + most - REACH, begin + 1))
        found.append((begin, end))
        # The next window begins at the first word inside the overlap, which moves it forward.
        least = max(end - overlap, begin + 1)
        begin = next((place for place in range(least, end) if begins[place]), end)
    if size:
        found.append((begin, size))
    return found


def context(begins: Sequence[bool], most: int = CHILD_CONTEXT_TOKENS) -> int:
    """How many of a context's tokens to keep, whole words where there are some."""
    return len(begins) if len(begins) <= most else _word(begins, most, most // 2)


def _word(begins: Sequence[bool], last: int, first: int) -> int:
    """The last place from `first` to `last` where a word begins, else `last`."""
    return next((place for place in range(last, first - 1, -1) if begins[place]), last)
