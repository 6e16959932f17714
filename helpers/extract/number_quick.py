"""Numbers in the formats that most cells have, rounded without decimal arithmetic.

Promises: what is shown is what decimal arithmetic gives; a number that binary fractions might
round otherwise, a negative, a huge one and zero are left to it.
Does not: know format codes; number_format.py takes them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

DECIMALS = 3  # decimal places at most
_MOST = 1e8  # numbers from here on are left
_DOUBT = 1e-3  # and those that lie this close to where rounding changes, in units of the last place

Show = Callable[[float], str]
Quick = Callable[[float], "str | None"]
Column = Callable[[Sequence[float]], list[str]]


def quick_ways(
    decimals: int, grouped: bool, percent: bool, before: str, after: str
) -> tuple[Quick, Callable[[Show], Column]]:
    """One number, None where it is left; and, given the way of those that are left, many."""
    factor, unit = 100.0 if percent else 1.0, 10.0**decimals
    shape = f"{',' if grouped else ''}.{decimals}f"
    low, high = 0.5 - _DOUBT, 0.5 + _DOUBT

    def quick(value: float) -> str | None:
        value *= factor
        if not 0 < value < _MOST or low < value * unit % 1 < high:
            return None
        return f"{before}{value:{shape}}{after}"

    def column_of(exact: Show) -> Column:
        def column(values: Sequence[float]) -> list[str]:
            return [
                f"{before}{shown:{shape}}{after}"
                if 0 < (shown := value * factor) < _MOST and not low < shown * unit % 1 < high
                else exact(value)
                for value in values
            ]

        return column

    return quick, column_of
