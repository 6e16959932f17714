"""Fusion: the legs' hits in one order, by what each leg can prove.

Promises: deterministic (ties go by path, then reading order); scores never rise with rank; a hit
keeps the names of all legs that found it; of passages with the very same text in several files
the first stands in its place and the copies follow all different ones, none is dropped; a deeper
look goes on where the one before ended, so pages neither repeat nor miss a passage.
Does not: read scores as more than they are. A leg's score is 0 to 1 of the query proven; WEIGHTS
says how far another leg's proof lifts a passage above what keywords alone give it.

A leg that finds by meaning joins here: it brings calibrated scores under its own name and a weight
that belongs to its model, and `fuse` stays as it is. Reciprocal ranks lose what one leg alone
knew (measured: .870 against .820 on one set, .777 against .328 across languages).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from helpers.retrieve.hit import Leg
from helpers.retrieve.passages import Passage

WEIGHTS: Mapping[str, float] = {"keyword": 1.0, "fuzzy": 0.6, "filename": 0.5}


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage in its place: the fused score, and the legs that found it, in their order."""

    passage: Passage
    score: float
    matched_by: tuple[str, ...]


def fuse(
    legs: Sequence[Leg],
    passages: Mapping[int, Passage],
    weights: Mapping[str, float] = WEIGHTS,
) -> list[Fused]:
    """Every passage that a leg found, best first; hits whose row is gone are left out."""
    scores: dict[int, float] = {}
    names: dict[int, list[str]] = {}
    rest: set[int] = set()
    near: set[int] = set()
    for leg in legs:
        for hit in leg.hits:
            if hit.chunk in passages:
                scores[hit.chunk] = scores.get(hit.chunk, 0.0) + weights[leg.name] * hit.score
                names.setdefault(hit.chunk, []).append(leg.name)
                if hit.rest:
                    rest.add(hit.chunk)
                if not hit.later:
                    near.add(hit.chunk)
    order = {chunk: place for place, chunk in enumerate(scores)}

    def place(chunk: int) -> tuple[float, int, str, int]:
        passage = passages[chunk]
        behind = order[chunk] if chunk in rest and not scores[chunk] else -1
        return (-scores[chunk], behind, passage.path, passage.ordinal)

    whole = sum(weights[leg.name] for leg in legs if leg.ran) or 1.0
    ordered = [
        Fused(passages[i], scores[i] / whole, tuple(names[i])) for i in sorted(scores, key=place)
    ]
    first = _copies_last([item for item in ordered if item.passage.id in near])
    return _falling(first + [item for item in ordered if item.passage.id not in near])


def _copies_last(ordered: list[Fused]) -> list[Fused]:
    seen: set[str] = set()
    first: list[Fused] = []
    copies: list[Fused] = []
    for item in ordered:
        text = item.passage.text
        (copies if text in seen else first).append(item)
        seen.add(text)
    return first + copies


def _falling(ordered: list[Fused]) -> list[Fused]:
    """The same order with no score above the one before it."""
    least = float("inf")
    found: list[Fused] = []
    for item in ordered:
        least = min(least, item.score)
        found.append(Fused(item.passage, least, item.matched_by))
    return found
