"""What is made by its slots equals what the constructors make."""

from __future__ import annotations

from helpers.extract import quick
from helpers.extract.blocks import Block, Location


def test_quick_blocks_and_locations_equal_those_of_the_constructors() -> None:
    place = Location("section", "Contract > Payment")
    assert quick.location("section", "Contract > Payment") == place
    made, whole = quick.block("text", "table_row", place), Block("text", "table_row", 0, place)
    assert made == whole
    assert (repr(made), hash(made)) == (repr(whole), hash(whole))
    assert made.location is place
    assert place.as_dict() == quick.location("section", "Contract > Payment").as_dict()


def test_quick_paragraphs_equal_those_of_the_constructors() -> None:
    place = Location("slide", "slide 3", 3)
    made = quick.paragraphs(iter(("one", "둘")), place)
    assert made == [Block("one", location=place), Block("둘", location=place)]
    assert repr(made[1]) == repr(Block("둘", location=place))


def test_a_quick_row_equals_that_of_the_constructors() -> None:
    place = Location("sheet", "Sales row 7", 7, "Sales")
    assert quick.row("a | b", "table_row", "Sales", 7) == Block("a | b", "table_row", 0, place)


def test_quick_numbered_paragraphs_equal_those_of_the_constructors() -> None:
    second = Location("section", "paragraph 8")
    assert quick.numbered(["one", "둘"], 7)[1] == Block("둘", location=second)
