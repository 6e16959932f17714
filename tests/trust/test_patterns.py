"""LIMITS line 29: no regular expression is slow, whatever text it meets.

Each pattern of the program meets texts that are made from the pattern itself, longer and longer.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from helpers.extract.number_format import FORMAT_CHARS
from tests.trust.patterns import Fill, Pattern, attacks, modules, patterns

LENGTHS = (8, 16, 24, 100, 400, 1_600, 6_400, 50_000)  # characters
WHOLE_S = 1.0  # seconds that a pattern may take over the longest text
CLEAR_S = 0.002  # seconds over a text of 6,400 characters, below which a longer one is not tried
GROWTH = 1.6  # the power of the length with which the time may grow: 1 is linear, 2 quadratic

# Patterns that never see a longer text: what the reader cuts it to before, in characters.
SHORT = {"helpers.extract.number_format:_TOKEN": FORMAT_CHARS}


@pytest.mark.parametrize("module", modules())
def test_29_no_pattern_is_slow_on_any_text(module: str) -> None:
    for pattern in patterns(module):
        for name, fill in attacks(pattern.compiled):
            for way in pattern.ways:
                told = f"{pattern.place}, {way}, over {name}"
                _demand_speed(_used(pattern, way), fill, told, SHORT.get(pattern.place))


@pytest.mark.parametrize(
    "source", [r"(?:a+)+$", r"(\w+\s*)*:", r"\s+$", r"<b[^>]*>", r"(?:x|xy|y)*z", r"a.*?b.*?c$"]
)
def test_29_a_slow_pattern_is_found(source: str) -> None:
    """What would be missed were the texts above too tame."""
    pattern = Pattern("here", re.compile(source), frozenset(["sub"]))
    with pytest.raises(AssertionError):
        for name, fill in attacks(pattern.compiled):
            _demand_speed(_used(pattern, "sub"), fill, name)


def _used(pattern: Pattern, way: str) -> Callable[[str], object]:
    compiled: re.Pattern[Any] = pattern.compiled
    everywhere = functools.partial(compiled.sub, compiled.pattern[:0])
    use = everywhere if way == "sub" else getattr(compiled, way)
    if isinstance(compiled.pattern, bytes):
        return lambda text: use(text.encode("latin-1"))
    return use  # type: ignore[no-any-return]


def _demand_speed(
    use: Callable[[str], object], fill: Fill, told: str, longest: int | None = None
) -> None:
    earlier = 0.0
    for length in LENGTHS:
        if longest is not None and length > longest:
            assert _seconds(use, fill(longest)) <= WHOLE_S, told
            return
        taken = _seconds(use, fill(length))
        allowed = WHOLE_S * length / LENGTHS[-1]  # what is linear at best gets no better
        if taken > allowed:
            taken = min(taken, *(_seconds(use, fill(length)) for _ in range(3)))
        assert taken <= allowed, f"{told}: {taken:.3f} s over {length:,} characters"
        if length == LENGTHS[-2] and taken < CLEAR_S:
            return
        if length == LENGTHS[-1]:
            power = (LENGTHS[-1] / LENGTHS[-2]) ** GROWTH
            assert taken <= earlier * power, f"{told}: {earlier:.4f} s, then {taken:.4f} s"
        earlier = taken


def _seconds(use: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    use(text)
    return time.process_time() - began
