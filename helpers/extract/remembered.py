"""A function that knows what it gave for the values of late: columns of sheets repeat themselves.

Promises: the same as the function gives; at most MOST values are kept. A value that is known
costs one lookup in a dict, half of what functools.lru_cache takes to keep them in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

MOST = 2_000  # values kept per function; all are dropped when there are more

Value = TypeVar("Value")


class _Given(dict[Value, str]):
    def __init__(self, function: Callable[[Value], str]) -> None:
        self._function = function

    def __missing__(self, value: Value) -> str:
        text = self._function(value)
        if len(self) >= MOST:
            self.clear()
        self[value] = text
        return text


def remembered(function: Callable[[Value], str]) -> Callable[[Value], str]:
    """`function`, which looks up what it gave before."""
    return _Given(function).__getitem__
