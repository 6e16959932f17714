"""Control signs of a Word document's text are found wherever they stand."""

from __future__ import annotations

import pytest

from helpers.extract.doc_signs import Signs, is_unclean, split_lines

PROSE = "Plain text, 이런 글과 ข้อความไทย\t, 😀 and é"
CONTROLS = [chr(code) for code in (*range(7), 8, 11, *range(14, 32), 127)]
OTHERS = ["\uf0b7", "\uf000", "\uf0ff", "\ud800", "\U000f0003", "\U00100002"]


def signs() -> Signs:
    return Signs(lambda number: f"<thing {number}>", lambda number: f"<image {number}>")


@pytest.mark.parametrize("sign", CONTROLS + OTHERS)
@pytest.mark.parametrize("text", ["", "word ", "런런", "ขง", PROSE])
def test_a_sign_to_clean_is_found_behind_any_text(text: str, sign: str) -> None:
    assert is_unclean(text + sign)
    assert split_lines(f"{text}\r{text}{sign}{text}\r")[2]


def test_what_ends_paragraphs_cells_and_sections_is_nothing_to_clean() -> None:
    wide = "런 a\rข\x07\x07é\x0crest"
    assert split_lines(wide) == (["런 a", "ข", "", "é", "rest"], b"\r\x07\x07\x0c", False)
    assert split_lines(wide, wide.encode("utf-16-le")) == split_lines(wide)


def test_letters_that_share_a_byte_with_signs_of_symbol_fonts_are_nothing_to_clean() -> None:
    assert not is_unclean("이런 \u0101\u0213\u0e07 런런\u3000")


def test_a_clean_text_comes_back_as_it_is() -> None:
    text = "이런 글"
    assert signs().clean(text) is text


def test_a_field_over_two_paragraphs_leaves_its_code_out_of_both() -> None:
    fields = signs()
    assert fields.clean("a\x13 HYPERLINK ") == "a"
    assert fields.clean("there \x14shown\x15 b") == "shown b"
    assert fields.fields == []


def test_a_mark_of_a_field_that_stands_alone_takes_no_text_away() -> None:
    fields = signs()
    assert fields.clean("a\x13 b") == "a"
    assert "".join(fields.stray()) == " b\n"
