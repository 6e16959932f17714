"""HWPML: the Hangul document in one XML file, whatever it is named."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract import hml as reader
from helpers.extract.blocks import Block, Context, Item, Metadata
from tests.extract.test_office_mutations import damaged

HEAD = (
    "<HEAD><DOCSUMMARY><TITLE>시설물 점검표</TITLE><KEYWORDS>항만, 점검</KEYWORDS></DOCSUMMARY>"
    '<MAPPINGTABLE><PARASHAPELIST><PARASHAPE Id="0" HeadingType="None" Level="0"/>'
    '<PARASHAPE Id="1" HeadingType="Outline" Level="1"/></PARASHAPELIST>'
    '<STYLELIST><STYLE Id="0" Name="바탕글"/><STYLE Id="1" Name="개요 1"/></STYLELIST>'
    "</MAPPINGTABLE></HEAD>"
)


def document(*paragraphs: str, tail: str = "") -> bytes:
    body = f'<BODY><SECTION Id="0">{"".join(paragraphs)}</SECTION></BODY>'
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>'
        f'<HWPML Style="embed" SubVersion="8.0.0.0" Version="2.8">{HEAD}{body}'
        f"<TAIL>{tail}</TAIL></HWPML>"
    ).encode()


def p(content: str, shape: int = 0, style: int = 0) -> str:
    inner = content if content.startswith("<") else f"<CHAR>{content}</CHAR>"
    return f'<P ParaShape="{shape}" Style="{style}"><TEXT CharShape="0">{inner}</TEXT></P>'


def paragraphs(element: str, *inside: str) -> str:
    return f"<{element}><PARALIST>{''.join(inside)}</PARALIST></{element}>"


def cell(*inside: str, span: int = 1) -> str:
    return f'<CELL ColSpan="{span}"><PARALIST>{"".join(inside)}</PARALIST></CELL>'


def table(columns: int, *rows: list[str], caption: str = "") -> str:
    lines = "".join(f"<ROW>{''.join(cells)}</ROW>" for cells in rows)
    return f'<TABLE ColCount="{columns}"><SHAPEOBJECT>{caption}</SHAPEOBJECT>{lines}</TABLE>'


def items(data: bytes) -> list[Item]:
    return list(reader.read(io.BytesIO(data), Context("a.hml", len(data))))


def texts(*content: str) -> list[str]:
    return [item.text for item in items(document(*content)) if isinstance(item, Block)]


@pytest.mark.parametrize("name", ["a.hml", "a.hwp", "a.hwpx", "unnamed"])
def test_it_is_told_by_its_content(name: str) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        assert formats.detect(io.BytesIO(mark + document(p("글"))), name).name == "hml"


def test_title_keywords_headings_and_their_path_are_read() -> None:
    found = items(document(p("제1장", style=1), p("제1절", shape=1), p("본문")))
    assert found[0] == Metadata(title="시설물 점검표", tags=("항만", "점검"))
    shown = [
        (block.text, block.level, block.location.label)
        for block in found
        if isinstance(block, Block) and block.location is not None
    ]
    assert shown == [
        ("제1장", 1, "제1장"),
        ("제1절", 2, "제1장 > 제1절"),
        ("본문", 0, "제1장 > 제1절"),
    ]


def test_tables_captions_and_signs_are_read_as_in_hwpx() -> None:
    number = '</CHAR><AUTONUM Number="3" NumberType="Table"/><CHAR>'
    caption = paragraphs("CAPTION", p(f"표 {number} 현황"))
    rows = [cell(p("가<TAB/>나")), cell(p("다"), p("라"))], [cell(p("합계"), span=2)]
    assert texts(p(table(2, *rows, caption=caption))) == [
        "표  현황 (표 3)",
        "가 나 | 다 라",
        "합계",
    ]


def test_what_is_anchored_in_a_paragraph_follows_it() -> None:
    note = paragraphs("FOOTNOTE", p("각주"))
    box = (
        f"<RECTANGLE><DRAWINGOBJECT>{paragraphs('DRAWTEXT', p('상자'))}</DRAWINGOBJECT></RECTANGLE>"
    )
    header = paragraphs("HEADER", p("머리말"), p("- 1 -"))
    equation = "<EQUATION><SCRIPT>x^2</SCRIPT></EQUATION>"
    field = '<FIELDBEGIN Type="Clickhere" Command="Clickhere:set:1"/><CHAR>값</CHAR><FIELDEND/>'
    shown = texts(p(f"<CHAR>앞</CHAR>{note}{box}{header}{equation}{field}"), p("뒤"))
    assert shown == ["앞[math: x^{2}]값", "각주", "상자", "뒤", "머리말"]


def test_pictures_in_the_tail_are_passed_over() -> None:
    picture = f"<BINDATASTORAGE><BINDATA>{'QUJD' * 2_000_000}</BINDATA></BINDATASTORAGE>"
    data = document(p("글"), tail=picture)
    assert [item.text for item in items(data) if isinstance(item, Block)] == ["글"]


def test_damage_is_told_as_corrupt() -> None:
    for data in (document(p("글"))[:-9], document(p("글")).replace(b"?>", b"?><!DOCTYPE x>")):
        with pytest.raises(Unread) as refused:
            items(data)
        assert refused.value.code == "corrupt"


def test_damaged_files_give_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance = random.Random("hml")
    data = document(p("제목", style=1), p(table(2, [cell(p("가")), cell(p("나"))])), p("뒤"))
    outcomes = set()
    for _ in range(points(200, 2_000)):
        try:
            items(damaged(data, chance))
            outcomes.add("read")
        except Unread as error:
            outcomes.add(error.code)
    assert outcomes <= {"read", "corrupt", "limit_reached"}


@pytest.mark.parametrize(
    "start", [b"SCDSA002\0\0\xf0\6", b"SCDSA004", b"\x9b DRMONE  This Document is encrypted"]
)
@pytest.mark.parametrize("name", ["a.hwp", "a.docx", "a.pdf", "a.txt"])
def test_a_file_that_document_protection_locked_is_told_as_encrypted(
    start: bytes, name: str
) -> None:
    with pytest.raises(Unread) as refused:
        formats.detect(io.BytesIO(start + bytes(range(256))), name)
    assert refused.value.code == "encrypted"
    assert "DRM" in refused.value.reason
