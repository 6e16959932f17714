"""English: words of one family share a stem, words of three letters stay."""

from __future__ import annotations

import pytest

from helpers.language.english import stem


@pytest.mark.parametrize(
    "family",
    [
        ("study", "studies", "studied", "studying"),
        ("form", "forms", "formed", "forming"),
        ("base", "bases", "based"),
        ("stop", "stops", "stopped", "stopping"),
        ("box", "boxes"),
        ("quick", "quickly"),
        ("country", "countries"),
    ],
)
def test_family_shares_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["is", "gas", "the", "bus", "string", "ring", "class", "virus"])
def test_words_that_only_look_inflected_stay(word: str) -> None:
    assert stem(word) == word


def test_stem_is_idempotent_on_what_it_made_and_never_empty() -> None:
    for word in ("a", "processes", "happily", "ed", "eyed", "axes"):
        assert stem(word)
