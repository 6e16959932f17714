"""The shared types say where a block stands in the form that answers use."""

from __future__ import annotations

import dataclasses

import pytest

from helpers.extract.blocks import Block, Location


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (Location("page", "p. 3", 3), {"kind": "page", "label": "p. 3", "page": 3}),
        (Location("slide", "slide 2", 2), {"kind": "slide", "label": "slide 2", "slide": 2}),
        (
            Location("sheet", "Sheet1 row 815", 815, "Sheet1"),
            {"kind": "sheet", "label": "Sheet1 row 815", "sheet": "Sheet1", "row": 815},
        ),
        (
            Location("section", "A > B", 12, "B", 14),
            {"kind": "section", "label": "A > B", "section": "B", "line": 12, "end": 14},
        ),
        (Location("line", "line 7", 7), {"kind": "line", "label": "line 7", "line": 7}),
        (Location("part", "footnotes"), {"kind": "part", "label": "footnotes"}),
    ],
)
def test_location_names_its_number_by_kind(location: Location, expected: dict) -> None:
    assert location.as_dict() == expected


def test_blocks_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Block("text").text = "other"  # type: ignore[misc]


def test_blocks_and_locations_are_frozen_values_however_they_are_made() -> None:
    place = Location("sheet", "S row 1", 1, name="S")
    block = Block("text", "table_row", location=place)
    assert block == Block("text", kind="table_row", location=Location("sheet", "S row 1", 1, "S"))
    assert hash(block) == hash(dataclasses.replace(block))
    assert dataclasses.replace(place, label="x") == Location("sheet", "x", 1, "S")
    assert repr(place).startswith("Location(kind='sheet', label='S row 1'")
    for value, name in ((block, "text"), (place, "label")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "other")
    with pytest.raises(TypeError):
        Block()  # type: ignore[call-arg]
