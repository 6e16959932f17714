"""Headings that public offices write by hand give places their names, sentences do not."""

from __future__ import annotations

import io

import pytest

from helpers.extract import hwp as reader
from helpers.extract.blocks import Block, Context
from helpers.extract.hwp_headings import ARTICLE_LEVEL, implied
from tests.extract.hangul_files import Tree, grid, hwp, info, para


def blocks(*section: Tree, docinfo: bytes | None = None) -> list[Block]:
    data = hwp(section, docinfo=docinfo)
    found = reader.read(io.BytesIO(data), Context("a.hwp", len(data)))
    return [item for item in found if isinstance(item, Block)]


def place(block: Block) -> str:
    assert block.location is not None
    return block.location.label


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("제1편 총칙", ("제1편 총칙", 1)),
        ("제 3 장 보칙", ("제 3 장 보칙", 2)),
        ("제2장의2 특례", ("제2장의2 특례", 2)),
        ("제4절", ("제4절", 3)),
        ("Ⅰ. 추진 배경", ("Ⅰ. 추진 배경", 1)),
        ("Ⅳ 향후 계획", ("Ⅳ 향후 계획", 1)),
        ("Ⅱ | 현황 및 문제점", ("Ⅱ 현황 및 문제점", 1)),
        ("제1조(목적) 이 규정은 필요한 사항을 정한다.", ("제1조(목적)", ARTICLE_LEVEL)),
        ("제12조의3(위임) ① 장관은", ("제12조의3(위임)", ARTICLE_LEVEL)),
        ("제7조 (시행일)", ("제7조(시행일)", ARTICLE_LEVEL)),
    ],
)
def test_what_is_written_like_a_heading_is_one(text: str, heading: tuple[str, int]) -> None:
    assert implied(text) == heading


@pytest.mark.parametrize(
    "text",
    [
        "제1장에서 정한 바와 같다",
        "제3장 보칙의 규정을 준용한다.",
        "제1장 총칙 ················ 3",
        "제2장 보칙\t14",
        "제5조(정의)에 따라 다음과 같이 한다.",
        "제5조에 따른 보고",
        "제품 설명",
        "Ⅰ | 개요 | 1",
        "Ⅰ형 철골 구조물",
        "Ⅲ. 이와 같이 추진함.",
        "제1장 " + "긴 제목 " * 20,
    ],
)
def test_a_sentence_or_a_line_of_contents_is_no_heading(text: str) -> None:
    assert implied(text) == ("", 0)


def test_chapters_and_articles_name_the_place_of_what_follows() -> None:
    found = blocks(
        para("○○ 규정"),
        para("제1장 총칙"),
        para("제1조(목적) 이 규정은 목적을 정한다."),
        para("1. 첫째 호"),
        para("제2장 보칙"),
        para("제2조(위임) 장관이 정한다."),
        grid([["구분", "예산"], ["교육부", "95조"]]),
    )
    assert [(block.kind, place(block)) for block in found] == [
        ("paragraph", "paragraph 1"),
        ("heading", "제1장 총칙"),
        ("paragraph", "제1장 총칙 > 제1조(목적)"),
        ("paragraph", "제1장 총칙 > 제1조(목적)"),
        ("heading", "제2장 보칙"),
        ("paragraph", "제2장 보칙 > 제2조(위임)"),
        ("table_header", "제2장 보칙 > 제2조(위임)"),
        ("table_row", "제2장 보칙 > 제2조(위임)"),
    ]
    assert found[2].text == "제1조(목적) 이 규정은 목적을 정한다."


def test_a_numeral_and_a_title_in_two_cells_are_a_heading() -> None:
    found = blocks(grid([["Ⅰ", "추진 배경"]]), para("○ 보조사업의 집행률 제고"))
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "Ⅰ | 추진 배경"),
        ("paragraph", "○ 보조사업의 집행률 제고"),
    ]
    assert place(found[1]) == "Ⅰ 추진 배경"


def test_a_document_with_headings_of_its_own_keeps_to_them() -> None:
    found = blocks(
        para("개요", shape=1), para("제1장 총칙"), para("제1조(목적) 뜻"), docinfo=info([None, 0])
    )
    assert [(block.kind, place(block)) for block in found] == [
        ("heading", "개요"),
        ("paragraph", "개요"),
        ("paragraph", "개요"),
    ]


@pytest.mark.parametrize(("style", "level"), [("대제목", 1), ("중 제목", 2), ("소제목", 3)])
def test_styles_that_offices_name_themselves_are_headings(style: str, level: int) -> None:
    [found] = blocks(para("제목이다", style=1), docinfo=info([None], ["바탕글", style]))
    assert (found.kind, found.level) == ("heading", level)
