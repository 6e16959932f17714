"""Fusion: the legs' hits in one order, by what each leg can prove.

Promises: deterministic (ties go by path, then reading order); scores never rise with rank; a hit
keeps the names of all legs that found it; of passages with the very same text in several files
the first stands in its place and the copies follow all different ones, none is dropped; a deeper
look goes on where the one before ended, so pages neither repeat nor miss a passage; a chunk that
has no vectors yet stands no lower than it does by words alone.
Does not: read scores as more than they are. A leg's score is 0 to 1 of the query proven; WEIGHTS
says how far another leg's proof lifts a passage above what keywords alone give it.

By score, meaning and words are added up: how near a passage is, weighed as its model's description
says, and what its words prove: the keyword score times the share of the query that it holds, times
the share that any passage holds. A question in one language over documents in another shares a
name or a year with them: that proves little, so it moves little. Reciprocal ranks lose what one
leg alone knew; they stay selectable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from helpers.retrieve.hit import Leg
from helpers.retrieve.passages import Passage

WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "fuzzy": 0.6, "filename": 0.5, "semantic": 1.0}
MEANING = "semantic"
RULES = ("score", "rrf")
RRF_K = 60  # added to every rank, so that first places do not outweigh everything


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage in its place: the fused score, and the legs that found it, in their order."""

    passage: Passage
    score: float
    matched_by: tuple[str, ...]


@dataclass(slots=True)
class _Sums:
    """What some legs say together, by chunk."""

    scores: dict[int, float] = field(default_factory=dict)
    proven: dict[int, float] = field(default_factory=dict)
    names: dict[int, list[str]] = field(default_factory=dict)
    rest: set[int] = field(default_factory=set)
    near: set[int] = field(default_factory=set)
    whole: float = 0.0  # the most that a score can be


def fuse(legs: Sequence[Leg], passages: Mapping[int, Passage], rule: str = RULES[0]) -> list[Fused]:
    """Every passage that a leg found, best first; hits whose row is gone are left out."""
    ran = [leg for leg in legs if leg.ran]
    meaning = next((leg for leg in ran if leg.name == MEANING), None)
    words = [leg for leg in ran if leg is not meaning]
    sums = _summed(ran, passages)
    if meaning is None or not words:
        return _fused(_ordered(sums, passages), sums.scores, sums, passages)
    by_words = _summed(words, passages)
    order = _ordered(by_words, passages)
    scores = _scores(by_words, meaning, order)
    if rule == "rrf":
        scores, sums.whole = _ranks(order, meaning), 2 / (RRF_K + 1)
    has_vectors = {hit.chunk for hit in meaning.hits}.union(meaning.also)
    merged = _merged(order, scores, has_vectors, sums, passages)
    return _fused(merged, _lifted(merged, scores, has_vectors), sums, passages)


def _summed(legs: Iterable[Leg], passages: Mapping[int, Passage]) -> _Sums:
    sums = _Sums()
    for leg in legs:
        weight = _weight(leg)
        sums.whole += weight
        for hit in leg.hits:
            i = hit.chunk
            if i in passages:
                sums.scores[i] = sums.scores.get(i, 0.0) + weight * hit.score
                proof = hit.score if hit.proof is None else hit.proof
                sums.proven[i] = sums.proven.get(i, 0.0) + weight * proof
                sums.names.setdefault(i, []).append(leg.name)
                if hit.rest:
                    sums.rest.add(i)
                if not hit.later:
                    sums.near.add(i)
    return sums


def _weight(leg: Leg) -> float:
    return WEIGHTS[leg.name] if leg.weight is None else leg.weight


def _ordered(sums: _Sums, passages: Mapping[int, Passage]) -> list[int]:
    """The chunks, best first: those of a first look, their copies, then those of a deeper one."""
    found = {chunk: place for place, chunk in enumerate(sums.scores)}

    def place(chunk: int) -> tuple[float, int, str, int]:
        passage = passages[chunk]
        behind = found[chunk] if chunk in sums.rest and not sums.scores[chunk] else -1
        return (-sums.scores[chunk], behind, passage.path, passage.ordinal)

    ordered = sorted(sums.scores, key=place)
    near = _copies_last([chunk for chunk in ordered if chunk in sums.near], passages)
    return near + [chunk for chunk in ordered if chunk not in sums.near]


def _scores(words: _Sums, meaning: Leg, order: Sequence[int]) -> dict[int, float]:
    """Meaning and words added up, for every chunk that either found.

    What words prove counts as far as meaning can see: two passages have vectors with the square
    of the share that it sees. For the rest words count as they do alone.
    """
    weight, seen = _weight(meaning), meaning.share**2
    near = dict(meaning.also) | {hit.chunk: hit.score for hit in meaning.hits}
    chunks = dict.fromkeys([*order, *(hit.chunk for hit in meaning.hits)])
    return {
        i: seen * words.proven.get(i, 0.0)
        + (1 - seen) * words.scores.get(i, 0.0)
        + weight * near.get(i, 0.0)
        for i in chunks
    }


def _ranks(order: Sequence[int], meaning: Leg) -> dict[int, float]:
    """Reciprocal ranks added up."""
    scores = {chunk: 1 / (RRF_K + rank) for rank, chunk in enumerate(order, 1)}
    for rank, hit in enumerate(meaning.hits, 1):
        scores[hit.chunk] = scores.get(hit.chunk, 0.0) + 1 / (RRF_K + rank)
    return scores


def _merged(
    words: Sequence[int],
    scores: Mapping[int, float],
    has_vectors: set[int],
    sums: _Sums,
    passages: Mapping[int, Passage],
) -> list[int]:
    """Chunks by score, but those without vectors where words alone put them."""

    def place(chunk: int) -> tuple[float, str, int]:
        return (-scores[chunk], passages[chunk].path, passages[chunk].ordinal)

    ordered = sorted((i for i in scores if i in passages and i in has_vectors), key=place)
    held = {at: i for at, i in enumerate(words) if i in sums.near and i not in has_vectors}
    others = iter([i for i in ordered if i in sums.near])
    near: list[int] = []
    for at in range(len(sums.near)):
        chunk = held.pop(at) if at in held else next(others, None)
        if chunk is None:
            break
        near.append(chunk)
    near = _copies_last(near + list(held.values()), passages)
    further = [i for i in ordered if i not in sums.near]
    further += [i for i in words if i not in sums.near and i not in has_vectors]
    return near + further


def _lifted(
    order: Sequence[int], scores: Mapping[int, float], has_vectors: set[int]
) -> dict[int, float]:
    """The scores, where a chunk without vectors has at least that of the one after it."""
    lifted = dict(scores)
    after = 0.0
    for chunk in reversed(order):
        if chunk not in has_vectors:
            lifted[chunk] = max(lifted[chunk], after)
        after = lifted[chunk]
    return lifted


def _copies_last(ordered: Sequence[int], passages: Mapping[int, Passage]) -> list[int]:
    seen: set[str] = set()
    first: list[int] = []
    copies: list[int] = []
    for chunk in ordered:
        text = passages[chunk].text
        (copies if text in seen else first).append(chunk)
        seen.add(text)
    return first + copies


def _fused(
    order: Sequence[int],
    scores: Mapping[int, float],
    sums: _Sums,
    passages: Mapping[int, Passage],
) -> list[Fused]:
    """`order` with scores of 0 to 1, none above the one before it."""
    whole = max(sums.whole, max(scores.values(), default=0.0)) or 1.0
    least, found = float("inf"), []
    for chunk in order:
        least = min(least, scores[chunk] / whole)
        found.append(Fused(passages[chunk], least, tuple(sums.names[chunk])))
    return found
