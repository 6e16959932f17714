"""HWPX documents: what is read, where it stands, and what is told of the ones that are not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract import hwpx as reader
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.limits import HANGUL_HEADING_CHARS, OFFICE_BLOCK_CHARS
from tests.extract.hangul_files import box, head, hwpx, p, section, tbl, tc
from tests.extract.office_files import packed

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'


def items(data: bytes) -> list[Item]:
    return list(reader.read(io.BytesIO(data), Context("a.hwpx", len(data))))


def blocks(data: bytes) -> list[Block]:
    return [item for item in items(data) if isinstance(item, Block)]


def texts(*paragraphs: str) -> list[str]:
    return [block.text for block in blocks(hwpx("".join(paragraphs)))]


def place(block: Block) -> str:
    assert block.location is not None
    return block.location.label


def refusal(data: bytes) -> Unread:
    with pytest.raises(Unread) as refused:
        items(data)
    return refused.value


# --- paragraphs -------------------------------------------------------------------------------


def test_sections_come_in_the_order_of_the_spine() -> None:
    data = hwpx(*(p(f"구역 {number}") for number in range(3)), spine=[2, 0, 1])
    assert [block.text for block in blocks(data)] == ["구역 2", "구역 0", "구역 1"]
    assert place(blocks(data)[1]) == "paragraph 2"


def test_sections_that_the_spine_forgot_follow_by_their_number() -> None:
    data = hwpx(*(p(f"구역 {number}") for number in range(12)), spine=[11])
    assert [block.text for block in blocks(data)] == [f"구역 {n}" for n in (11, *range(11))]


def test_a_document_without_package_file_is_read_by_the_names_of_its_parts() -> None:
    data = packed({"mimetype": "application/hwp+zip", "Contents/section0.xml": section(p("글"))})
    assert [block.text for block in blocks(data)] == ["글"]
    bare = packed({"Contents/section0.xml": section(p("글"))})
    assert formats.detect(io.BytesIO(bare), "a.hwpx").name == "hwpx"


@pytest.mark.parametrize("year", ["hancom.co.kr/hwpml/2016", "owpml.org/owpml/2024"])
def test_other_editions_of_the_namespaces_are_read(year: str) -> None:
    part = section(p("글"), p(tbl([["가", "나"]]))).replace("hancom.co.kr/hwpml/2011", year)
    assert [block.text for block in blocks(hwpx(part))] == ["글", "가 | 나"]


@pytest.mark.parametrize(
    ("written_as", "shown"),
    [
        ("한<hp:lineBreak/>글", "한\n글"),
        ('가<hp:tab width="4000" leader="0" type="1"/>나', "가\t나"),
        ("한<hp:hyphen/>글<hp:nbSpace/>천<hp:fwSpace/>원", "한-글\u00a0천 원"),
        ('형<hp:markpenBegin color="#FFFF00"/>광<hp:markpenEnd/>펜', "형광펜"),
        ("둘로</hp:t><hp:t> 나뉜 글", "둘로 나뉜 글"),
        ("A&amp;B &lt;표&gt;", "A&B <표>"),
    ],
)
def test_signs_in_a_run_become_what_they_show(written_as: str, shown: str) -> None:
    assert texts(p(written_as)) == [shown]


def test_field_parameters_stay_out_and_results_stay_in() -> None:
    field = (
        '<hp:ctrl><hp:fieldBegin id="1" type="CLICK_HERE"><hp:parameters cnt="1">'
        '<hp:stringParam name="Command">Clickhere:set:44:Direction:wstring:2:수학</hp:stringParam>'
        "</hp:parameters></hp:fieldBegin></hp:ctrl><hp:t>국어</hp:t>"
        '<hp:ctrl><hp:fieldEnd beginIDRef="1"/></hp:ctrl><hp:t> 시간</hp:t>'
    )
    assert texts(p(field)) == ["국어 시간"]


def test_outline_levels_and_named_styles_make_headings_and_their_path() -> None:
    header = head([None, 0, 1], ["바탕글", "개요 1", "Heading 2"])
    body = [
        p("앞"),
        p("제1장", shape=1),
        p("제1절", shape=2),
        p("본문이다"),
        p("둘째 장", style=1),
        p("그 절", style=2),
        p("긴 " * HANGUL_HEADING_CHARS, shape=1),
    ]
    found = blocks(hwpx("".join(body), header=header))
    assert [(block.kind, block.level) for block in found] == [
        ("paragraph", 0),
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
    ]
    assert place(found[3]) == "제1장 > 제1절"
    assert place(found[6]) == "둘째 장 > 그 절"


def test_a_deleted_text_is_out_of_its_paragraph_and_the_earlier_one_follows() -> None:
    change = (
        "<hp:t>계약<hp:deleteBegin Id='1'/>금 백만 원<hp:deleteEnd Id='1'/>"
        "<hp:insertBegin Id='2'/>금 이백만 원<hp:insertEnd Id='2'/> 지급</hp:t>"
    )
    found = blocks(hwpx(p(change) + p("뒤")))
    assert [block.text for block in found] == [
        "계약금 이백만 원 지급",
        "계약금 백만 원 지급",
        "뒤",
    ]
    assert place(found[1]) == "text before tracked changes"


def test_a_deletion_over_several_paragraphs_leaves_their_rest() -> None:
    first = p("남는 말<hp:deleteBegin Id='1'/> 지운 말")
    found = blocks(hwpx(first + p("모두 지운 말") + p("지운 끝<hp:deleteEnd Id='1'/> 남는 끝")))
    now = [block.text for block in found if place(block) != "text before tracked changes"]
    assert now == ["남는 말", "남는 끝"]


def test_an_insertion_alone_gives_no_earlier_text() -> None:
    assert texts(p("가<hp:insertBegin/>나<hp:insertEnd/>다")) == ["가나다"]


# --- tables -----------------------------------------------------------------------------------


def test_rows_have_separated_cells_and_the_first_one_is_the_header() -> None:
    found = blocks(hwpx(p(tbl([["구분", "예산"], ["교육부", "95조"], ["", "1조"]]))))
    assert [(block.text, block.kind) for block in found] == [
        ("구분 | 예산", "table_header"),
        ("교육부 | 95조", "table_row"),
        ("1조", "table_row"),
    ]


def test_a_marked_header_row_is_a_header_wherever_it_stands() -> None:
    rows = [[tc(p(f"{r}{c}"), header=int(r == 1)) for c in "ab"] for r in range(3)]
    assert [block.kind for block in blocks(hwpx(p(tbl(rows))))] == [
        "table_header",
        "table_header",
        "table_row",
    ]


def test_a_label_merged_over_rows_is_told_in_each_of_them() -> None:
    rows = [
        [tc(p("교육부"), rows=3), tc(p("본부"), rows=2, column=1), tc(p("1"), column=2)],
        [tc(p("2"), column=2)],
        [tc(p("소속"), column=1), tc(p("3"), column=2)],
        [tc(p("환경부")), tc(p("본부"), column=1), tc(p("4"), column=2)],
    ]
    assert texts(p(tbl(rows))) == [
        "교육부 | 본부 | 1",
        "교육부 | 본부 | 2",
        "교육부 | 소속 | 3",
        "환경부 | 본부 | 4",
    ]


def test_a_table_in_a_cell_follows_the_row_that_holds_it() -> None:
    inner = tc(p("밖"), p(tbl([["안1", "안2"]])))
    assert texts(p(tbl([[inner, "옆"], ["다음", "줄"]]))) == ["밖 | 옆", "안1 | 안2", "다음 | 줄"]


def test_a_table_of_one_column_and_a_title_over_all_columns_are_paragraphs() -> None:
    frame = tbl([[tc(p("제목"), p("내용"))]])
    titled = tbl([[tc(p("표제"), span=2)], ["가", "나"]])
    found = blocks(hwpx(p(frame) + p(titled)))
    assert [(block.text, block.kind) for block in found] == [
        ("제목", "paragraph"),
        ("내용", "paragraph"),
        ("표제", "paragraph"),
        ("가 | 나", "table_header"),
    ]


def test_a_caption_stands_before_its_table_with_its_number() -> None:
    number = '</hp:t><hp:ctrl><hp:autoNum num="7" numType="TABLE"/></hp:ctrl><hp:t>'
    caption = box("caption", p(f"표 {number} 지역별 인구"))
    assert texts(p(tbl([["서울", "9"]], caption))) == ["표  지역별 인구 (표 7)", "서울 | 9"]


# --- what is anchored in paragraphs -----------------------------------------------------------


@pytest.mark.parametrize("element", ["footNote", "endNote", "hiddenComment"])
def test_notes_and_hidden_comments_follow_their_paragraph(element: str) -> None:
    note = (
        f"<hp:t>본문</hp:t><hp:ctrl>{box(element, p('주석'), p('둘째'))}</hp:ctrl><hp:t> 뒤</hp:t>"
    )
    assert texts(p(note)) == ["본문 뒤", "주석", "둘째"]
    assert texts(p(tbl([[tc(p(note)), "옆"]]))) == ["본문 뒤 | 옆", "주석", "둘째"]


def test_memos_are_located_as_comments_and_stay_out_of_cells() -> None:
    memo = box("subList", p("메모"))
    begin = f'<hp:ctrl><hp:fieldBegin type="MEMO">{memo}</hp:fieldBegin></hp:ctrl><hp:t>35%</hp:t>'
    found = blocks(hwpx(p(tbl([[tc(p(begin)), "옆"]]))))
    assert [block.text for block in found] == ["35% | 옆", "메모"]
    assert place(found[1]) == "comments"


def test_boxes_in_boxes_follow_their_paragraph() -> None:
    inner = f"<hp:rect>{box('drawText', p('상자 속 상자'))}</hp:rect>"
    outer = f"<hp:rect>{box('drawText', p('상자' + '</hp:t>' + inner + '<hp:t>'))}</hp:rect>"
    group = f"<hp:container><hp:ellipse>{box('drawText', p('묶음'))}</hp:ellipse></hp:container>"
    assert texts(p(f"<hp:t>앞</hp:t>{outer}{group}<hp:t> 뒤</hp:t>")) == [
        "앞 뒤",
        "상자",
        "상자 속 상자",
        "묶음",
    ]


def test_headers_footers_and_master_pages_stand_once_at_the_end_without_page_numbers() -> None:
    margins = "".join(
        f"<hp:ctrl>{box(name, p('대외비'), p('- 3 -'))}</hp:ctrl>" for name in ("header", "footer")
    )
    master = section(box("subList", p("바탕쪽 글"))).replace("hs:sec", "masterPage")
    found = blocks(hwpx(p(margins) + p("본문"), extra={"Contents/masterpage0.xml": master}))
    assert [block.text for block in found] == ["본문", "대외비", "바탕쪽 글"]
    assert place(found[1]) == "header or footer"


def test_an_equation_stands_in_its_sentence_as_latex() -> None:
    script = "<hp:equation><hp:script>{a+b} over {c}</hp:script></hp:equation>"
    [found] = texts(p(f"<hp:t>식 </hp:t>{script}<hp:t>이다</hp:t>"))
    assert "".join(found.split()) == r"식[math:\frac{a+b}{c}]이다"


def test_small_text_above_a_word_and_composed_letters_stand_in_the_line() -> None:
    ruby = "<hp:dutmal><hp:mainText>本文</hp:mainText><hp:subText>본문</hp:subText></hp:dutmal>"
    composed = '<hp:compose composeText="㈜가"/>'
    assert texts(p(f"<hp:t>이 </hp:t>{ruby}<hp:t>과 </hp:t>{composed}")) == ["이 本文(본문)과 ㈜가"]


def test_buttons_fields_and_text_art_give_what_they_show() -> None:
    shown = (
        '<hp:textart text="글맵시"/><hp:checkBtn caption="동의함"/>'
        '<hp:edit><hp:text>홍길동</hp:text></hp:edit><hp:comboBox selectedValue="서울"/>'
    )
    assert texts(p(f"<hp:t>양식</hp:t>{shown}")) == ["양식", "글맵시", "동의함", "홍길동", "서울"]


def test_a_pictures_description_stands_once_at_the_end_without_its_measures() -> None:
    told = "<hp:shapeComment>교육부의 조직도\n원본 그림의 이름: a.png</hp:shapeComment>"
    found = blocks(hwpx(p(f"<hp:pic>{told}</hp:pic><hp:pic>{told}</hp:pic>") + p("뒤")))
    assert [block.text for block in found] == ["뒤", "교육부의 조직도"]
    assert place(found[1]) == "picture description"


def test_a_charts_names_stand_where_it_is_shown() -> None:
    chart = (
        f"<c:chart {C} {A}><a:p><a:r><a:t>지역별 매출</a:t></a:r></a:p>"
        "<c:strCache><c:pt><c:v>서울</c:v></c:pt><c:pt><c:v>부산</c:v></c:pt></c:strCache></c:chart>"
    )
    body = p('<hp:chart chartIDRef="Chart/chart1.xml"/>') + p("뒤")
    found = [block.text for block in blocks(hwpx(body, extra={"Chart/chart1.xml": chart}))]
    assert sorted(found) == sorted(["지역별 매출", "서울 | 부산", "뒤"])


# --- the document -----------------------------------------------------------------------------


def test_of_alternative_contents_one_is_read() -> None:
    chart, old = (
        f"<hp:{name}>{box('caption', p('매출 추이'))}</hp:{name}>" for name in ("chart", "ole")
    )
    both = f"<hp:switch><hp:case>{chart}</hp:case><hp:default>{old}</hp:default></hp:switch>"
    alone = f"<hp:switch><hp:default>{old}</hp:default></hp:switch>"
    assert texts(p(both), p(alone)) == ["매출 추이", "매출 추이"]


def test_a_document_without_text_gives_no_block() -> None:
    assert blocks(hwpx(p())) == []


def test_a_document_of_pictures_alone_is_told_to_need_recognition() -> None:
    [told] = [i for i in items(hwpx(p("<hp:pic/>" * 3))) if isinstance(i, Notice)]
    assert told.code == "no_text"
    assert "3" in told.message


def test_title_and_keywords_come_from_the_package() -> None:
    assert Metadata(title="업무 제안서") in items(hwpx(p("글"), title=" 업무\n제안서 "))


def test_a_password_is_told_as_encrypted() -> None:
    manifest = (
        '<odf:manifest xmlns:odf="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        '<odf:file-entry odf:full-path="Contents/section0.xml"><odf:encryption-data/>'
        "</odf:file-entry></odf:manifest>"
    )
    refused = refusal(hwpx(p("x"), extra={"META-INF/manifest.xml": manifest}))
    assert refused.code == "encrypted"
    assert refused.remedy


@pytest.mark.parametrize(
    "data",
    [
        packed({"mimetype": "application/hwp+zip", "Contents/header.xml": head()}),
        hwpx(section(p("x"))[:-20]),
        hwpx(section(p("x")).replace("?>", "?><!DOCTYPE x [<!ENTITY y 'z'>]>")),
        hwpx(p("x"))[:-200],
    ],
)
def test_damage_is_told_as_corrupt(data: bytes) -> None:
    refused = refusal(data)
    assert refused.code == "corrupt"
    assert refused.remedy


def test_unreadable_styles_cost_the_headings_only() -> None:
    found = items(hwpx(p("제목", shape=1), header="<hh:head"))
    assert [item.kind for item in found if isinstance(item, Block)] == ["paragraph"]
    assert [item.code for item in found if isinstance(item, Notice)] == ["part_unread"]


def test_a_paragraph_and_a_table_without_end_are_handed_on_in_flat_memory() -> None:
    long = p("긴 문장이 끝없이 이어진다. " * 20_000)
    rows = tbl([[f"{row}번 지방자치단체 보조사업 " * 3, "100"] for row in range(16_000)])
    found = blocks(hwpx(long + p(rows)))
    assert len([block for block in found if block.kind == "table_row"]) == 15_999
    assert max(len(block.text) for block in found) <= 2 * OFFICE_BLOCK_CHARS


def test_reference_documents_give_their_tables(shared: Path) -> None:
    found = [block.text for block in blocks((shared / "bugs/b27/Table.hwpx").read_bytes())]
    assert "이름 | 국어 | 영어 | 수학" in found
    assert "개똥이 | 89 | 65 | 78" in found
