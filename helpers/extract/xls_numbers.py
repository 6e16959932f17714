"""Numbers of a binary workbook's cells as they are shown, one by one or by the column.

Source: [MS-XLS] 2.5.217 (RkNumber).
Promises: a column gives what its numbers give one by one; what is remembered is bounded.
Does not: know format codes; number_format.py does.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.extract.number_format import column_renderer, number_renderer, plain_number
from helpers.extract.number_quick import Column, Show
from helpers.extract.remembered import remembered

_SHORT = 16  # signs of a fraction that is shown as it is written


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell format shows a number, one in the short form RK, and columns of both."""

    number: Show
    packed: Show
    column: Column
    packed_column: Column


def look(code: str, epoch_1904: bool = False) -> Look:
    """By the code of a number format."""
    show = number_renderer(code, epoch_1904)
    number, packed = remembered(show), shown_packed(show)
    if show is plain_number:
        return Look(number, packed, _plain_column, _plain_packed_column)
    column_of = column_renderer(code)
    if column_of is None:
        return Look(number, packed, _one_by_one(number), _one_by_one(packed))
    column = column_of(number)
    return Look(number, packed, column, lambda values: column(rk_numbers(values)))


def shown_packed(show: Show) -> Show:
    """A number in the short form RK as text."""
    plain = show is plain_number

    def unpacked(packed: float) -> str:
        value = int(packed)
        if plain and value & 3 == 2:  # a whole number, and not of hundredths
            return str(value >> 2)
        return show(rk_number(value))

    return remembered(unpacked)


def rk_number(packed: int) -> float:
    """The number in an RK, a signed whole number of 32 bits."""
    if packed & 2:
        value = float(packed >> 2)
    else:
        value = struct.unpack("<d", struct.pack("<Q", (packed & 0xFFFFFFFC) << 32))[0]
    return value / 100 if packed & 1 else value


def rk_numbers(packed: Sequence[Any]) -> list[float]:
    """Those in many."""
    return [(value - 2) / 4 if value & 3 == 2 else rk_number(value) for value in packed]


def _one_by_one(show: Show) -> Column:
    return lambda values: list(map(show, values))


def _plain_column(values: Sequence[float]) -> list[str]:
    """Fractions as Python writes them, in 15 digits at most; an "e" in it is an exponent, an "n"
    no number."""
    return [
        shown_plainly(value)
        if "e" in (text := repr(value)) or "n" in text or text[-2:] == ".0"
        else text
        if len(text) <= _SHORT
        else f"{value:.15g}".replace("e", "E")
        for value in values
    ]


def _plain_packed_column(values: Sequence[Any]) -> list[str]:
    return [str(value >> 2) if value & 3 == 2 else packed_shown_plainly(value) for value in values]


shown_plainly: Show = remembered(plain_number)
packed_shown_plainly: Show = shown_packed(plain_number)
PLAIN = Look(shown_plainly, packed_shown_plainly, _plain_column, _plain_packed_column)
