"""Korean: a noun meets itself whatever particle it carries."""

from __future__ import annotations

import pytest

from helpers.language import korean


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("서울은", "서울"),
        ("서울에서", "서울"),
        ("서울", "서울"),
        ("혈당에서", "혈당"),
        ("부산항의", "부산항"),
        ("물동량은", "물동량"),
        ("학교에서는", "학교"),
        ("정부로부터", "정부"),
        ("운영하는", "운영"),
        ("예산이다", "예산"),
        ("나이", "나이"),
    ],
)
def test_endings_go_and_two_syllables_stay(word: str, stem: str) -> None:
    assert korean.stem(word) == stem


def test_compound_is_found_by_its_nouns() -> None:
    term, more = korean.unit("도로포장공사")
    assert term == "도로포장공사"
    assert {"도로", "포장", "공사"} <= set(more)


@pytest.mark.parametrize("word", ["물을", "물이", "물에서", "물은"])
def test_noun_of_one_syllable_is_found_with_its_particle_on(word: str) -> None:
    term, more = korean.unit(word)
    assert "물" in (term, *more)
