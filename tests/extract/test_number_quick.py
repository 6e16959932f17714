"""Columns of numbers are shown as their numbers are one by one, and rounded as decimals are."""

from __future__ import annotations

import math
import random
from decimal import ROUND_HALF_UP, Decimal

import pytest

from helpers.extract import xls_numbers
from helpers.extract.number_format import number_renderer
from helpers.extract.number_quick import QuickFormat

CODES = (
    "General",
    "0",
    "#,##0",
    "0.00",
    "#,##0.000",
    "0.00%",
    "0%",
    '"₩"#,##0',
    '0.0"\n%s"',
    "yyyy-mm-dd",
)
ODD = (0.0, -0.0, 0.5, 1.5, 2.675, 0.125, -3.5, 1e-7, 1e16, 1e22, 99_999_999.5, math.inf, math.nan)


def numbers(seed: int) -> list[float]:
    chance = random.Random(seed)
    made = [chance.random() * 10 ** chance.randrange(9) for _ in range(200)]
    made += [round(value, chance.randrange(5)) for value in made]
    return [*made, *ODD, *map(float, range(9))]


@pytest.mark.parametrize("code", CODES)
def test_a_column_is_shown_as_its_numbers_are(code: str) -> None:
    look, show = xls_numbers.look(code), number_renderer(code)
    for values in (numbers(1), [value for value in numbers(2) if value.is_integer()]):
        assert look.column(values) == [show(value) for value in values]
    chance = random.Random(3)
    packed = [chance.randrange(-(2**31), 2**31) for _ in range(500)]
    packed += [value << 2 | chance.choice((2, 3)) for value in range(-50, 500)]
    expected = [show(xls_numbers.rk_number(value)) for value in packed]
    assert look.packed_column(packed) == expected
    assert [look.packed(value) for value in packed] == expected


@pytest.mark.parametrize("decimals", range(4))
def test_the_quick_way_rounds_as_decimal_arithmetic_does(decimals: int) -> None:
    usual = QuickFormat(decimals, False, False, "", "")
    show, column = usual.show(), usual.column(lambda _: "left")
    values = numbers(decimals)
    for value, text, shown in zip(values, map(show, values), column(values), strict=True):
        assert shown == ("left" if text is None else text)
        if text is not None:
            exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
            assert text == f"{exact:f}"
    assert column(values).count("left") < len(values) / 4
