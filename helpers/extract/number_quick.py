"""Numbers in the formats that most cells have, rounded without decimal arithmetic.

Promises: what is shown is what decimal arithmetic gives; a number that binary fractions might
round otherwise, a negative, a huge one and zero are left to it.
Does not: know format codes; number_format.py takes them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat

DECIMALS = 3  # decimal places at most
_MOST = 1e8  # numbers from here on are left
_DOUBT = 1e-3  # and those that lie this close to where rounding changes, in units of the last place
_LOW, _HIGH = 0.5 - _DOUBT, 0.5 + _DOUBT

Show = Callable[[float], str]
Column = Callable[[Sequence[float]], list[str]]


@dataclass(frozen=True, slots=True)
class QuickFormat:
    """A number with fixed decimal places, and what stands before and after it."""

    decimals: int
    grouped: bool
    percent: bool
    before: str
    after: str

    def show(self) -> Callable[[float], str | None]:
        """For one number; None for those that are left."""
        factor, unit = self._factor, self._unit
        before, shape, after = self.before, self._shape, self.after

        def show(value: float) -> str | None:
            value *= factor
            if not 0 < value < _MOST or _LOW < value * unit % 1 < _HIGH:
                return None
            return f"{before}{value:{shape}}{after}"

        return show

    def column(self, exact: Show) -> Column:
        """For many numbers, at two thirds of the cost; `exact` shows those that are left."""
        factor, unit = self._factor, self._unit
        together = not self.grouped and "\n" not in self.before + self.after
        write = self._together if together else self._each

        def column(values: Sequence[float]) -> list[str]:
            scaled = [value * factor for value in values]
            texts = write(scaled)
            for at in _left(scaled, unit):
                texts[at] = exact(values[at])
            return texts

        return column

    def _each(self, scaled: list[float]) -> list[str]:
        texts = map(format, scaled, repeat(self._shape))
        if not self.before and not self.after:
            return list(texts)
        return [f"{self.before}{text}{self.after}" for text in texts]

    def _together(self, scaled: list[float]) -> list[str]:
        """One text of all, parted again."""
        before, after = self.before.replace("%", "%%"), self.after.replace("%", "%%")
        template = f"{before}%.{self.decimals}f{after}\n"
        return (template * len(scaled) % tuple(scaled)).split("\n")[:-1]

    @property
    def _factor(self) -> float:
        return 100.0 if self.percent else 1.0

    @property
    def _unit(self) -> float:
        return 10.0**self.decimals

    @property
    def _shape(self) -> str:
        return f"{',' if self.grouped else ''}.{self.decimals}f"


def _left(scaled: list[float], unit: float) -> list[int]:
    """Where the numbers stand that are left; whole ones are told at a quarter of the cost."""
    if min(scaled) > 0 and max(scaled) < _MOST and all(map(float.is_integer, scaled)):
        return []
    return [
        at
        for at, value in enumerate(scaled)
        if not 0 < value < _MOST or _LOW < value * unit % 1 < _HIGH
    ]
