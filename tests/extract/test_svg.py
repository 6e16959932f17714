"""Drawings: words in order, alternatives once, titles, pages inside, formulas."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract import formats, svg
from helpers.extract.blocks import Block, Context, Item, Metadata
from tests.extract.epub_files import book
from tests.extract.test_epub import blocks as book_blocks
from tests.extract.test_office_mutations import damaged, outcome

HEAD = (
    '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"'
    ' "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">'
    '<svg xmlns="http://www.w3.org/2000/svg">'
)
FIXTURE = (
    f"{HEAD}<title>도면</title><style>text {{x}}</style><g><title>node7</title>"
    "<text x='1'>ปั๊ม<tspan x='2'>น้ำ</tspan><tspan>7</tspan></text></g>"
    "<switch><foreignObject><div xmlns='http://www.w3.org/1999/xhtml'>one<br/>two</div>"
    "</foreignObject><text>one two</text></switch></svg>"
).encode()


def read(data: bytes) -> list[Item]:
    return list(svg.read(io.BytesIO(data), Context("a.svg", len(data))))


def texts(data: bytes) -> list[str]:
    return [item.text for item in read(data) if isinstance(item, Block)]


def test_a_drawings_words_come_in_order_and_alternatives_once() -> None:
    assert texts(FIXTURE) == ["도면", "ปั๊ม น้ำ7", "one\ntwo"]
    assert Metadata(title="도면") in read(FIXTURE)


def test_what_stands_in_for_a_feature_that_all_programs_have_is_left_out() -> None:
    body = "<switch><g requiredFeatures='x'/><a><text>cannot display</text></a></switch>"
    assert texts(f"{HEAD}{body}<text>said</text></svg>".encode()) == ["said"]


def test_a_formula_in_a_file_of_its_own_is_told_as_latex() -> None:
    math = b'<math xmlns="http://www.w3.org/1998/Math/MathML"><msqrt><mi>x</mi></msqrt></math>'
    assert texts(math) == [r"[math: \sqrt{x}]"]
    assert formats.detect(io.BytesIO(math), "a.mml").name == "mml"
    assert formats.detect(io.BytesIO(FIXTURE), "a.svg").name == "svg"


def test_a_drawing_that_declares_entities_is_refused() -> None:
    with pytest.raises(Unread) as refused:
        read(b'<!DOCTYPE svg [<!ENTITY x "y">]><svg><text>&x;</text></svg>')
    assert refused.value.code == "corrupt"


def test_a_drawing_among_the_pages_of_a_book_is_read() -> None:
    found = book_blocks(book({"a.svg": FIXTURE}, media="image/svg+xml"))
    assert [block.text for block in found] == ["도면", "ปั๊ม น้ำ7", "one\ntwo"]
    assert found[0].location is not None


def test_damage_gives_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance = random.Random(9)
    found = {outcome("svg", damaged(FIXTURE, chance)) for _ in range(points(200, 2_000))}
    assert found <= {"read", "corrupt", "limit_reached"}
