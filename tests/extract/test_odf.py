"""OpenDocument texts, sheets and presentations."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from helpers.extract.blocks import Location
from helpers.extract.odf import read
from tests.extract.office_files import (
    ODF,
    blocks,
    notices,
    odf,
    packed,
    refusal,
    texts,
    title,
)


def text(body: str, extra: dict[str, str] | None = None, automatic: str = "") -> bytes:
    return odf(f"<office:text>{body}</office:text>", extra, automatic)


def sheet(rows: str, name: str = "예산") -> bytes:
    return odf(
        f'<office:spreadsheet><table:table table:name="{name}">{rows}</table:table>'
        "</office:spreadsheet>"
    )


def cell(shown: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{shown}</text:p></table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


# --- texts ----------------------------------------------------------------------------------


def test_headings_give_the_location_of_what_follows() -> None:
    found = blocks(
        read,
        text(
            "<text:p>before</text:p>"
            '<text:h text:outline-level="1">계약</text:h><text:p>text</text:p>'
            '<text:h text:outline-level="2">대금</text:h>'
            "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
            '<text:h text:outline-level="99">deep</text:h>'
        ),
    )
    assert [(block.kind, block.level, block.text) for block in found] == [
        ("paragraph", 0, "before"),
        ("heading", 1, "계약"),
        ("paragraph", 0, "text"),
        ("heading", 2, "대금"),
        ("paragraph", 0, "item"),
        ("heading", 6, "deep"),
    ]
    assert [block.location and block.location.label for block in found[:5]] == [
        "paragraph 1",
        "계약",
        "계약",
        "계약 > 대금",
        "계약 > 대금",
    ]


def test_white_space_folds_but_its_marks_survive() -> None:
    body = (
        "<text:p> a\n  b<text:s text:c='3'/>c<text:tab/>d<text:line-break/>"
        "<text:span>e</text:span><text:s/>f<text:s text:c='999999999'/>g </text:p>"
    )
    assert texts(read, text(body)) == ["a b   c\td\ne f" + " " * 200 + "g"]


def test_notes_comments_and_text_boxes_follow_their_paragraph() -> None:
    body = (
        "<text:p>one<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>note</text:p></text:note-body></text:note> two"
        "<office:annotation><dc:creator xmlns:dc='http://purl.org/dc/elements/1.1/'>Kim"
        "</dc:creator><text:p>comment</text:p></office:annotation>"
        "<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box><svg>alt</svg></draw:frame>"
        " three</text:p><text:p>next</text:p>"
    )
    assert texts(read, text(body)) == ["one two three", "note", "comment", "box", "next"]


def test_a_box_in_a_paragraph_without_text_keeps_its_place() -> None:
    body = (
        "<text:p><draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>"
        "</text:p><text:p>next</text:p>"
    )
    assert texts(read, text(body)) == ["box", "next"]


def test_tracked_deletions_rubies_and_scripts_are_left_out() -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
        "<text:p>kept <text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>ruby"
        "</text:ruby-text></text:ruby><text:script>code()</text:script></text:p>"
    )
    assert texts(read, text(body)) == ["kept 漢"]


def test_a_table_in_a_text() -> None:
    body = (
        "<table:table><table:table-header-rows>"
        + row(cell("품목"), cell("수량"))
        + "</table:table-header-rows>"
        + row(cell("강관"), cell("46"))
        + "</table:table>"
    )
    found = blocks(read, text(body))
    assert [(block.kind, block.text) for block in found] == [
        ("table_header", "품목 | 수량"),
        ("table_row", "강관 | 46"),
    ]


def test_a_frame_of_one_cell_keeps_its_paragraphs() -> None:
    body = f"<table:table>{row(cell('one</text:p><text:p>two'))}</table:table>"
    assert texts(read, text(body)) == ["one", "two"]


def test_page_headers_and_footers_come_once_without_page_numbers() -> None:
    style = (
        f"<office:document-styles {ODF}><office:master-styles><style:master-page><style:header>"
        "<text:p>기밀 <text:page-number>3</text:page-number></text:p></style:header>"
        "<style:footer><text:p>Page <text:page-number>3</text:page-number></text:p>"
        "</style:footer></style:master-page><style:master-page><style:header><text:p>기밀</text:p>"
        "</style:header><style:footer/></style:master-page></office:master-styles>"
        "<text:p>no header</text:p></office:document-styles>"
    )
    found = blocks(read, text("<text:p>body</text:p>", {"styles.xml": style}))
    assert [block.text for block in found] == ["body", "기밀"]
    assert found[1].location == Location("part", "header or footer")


def test_the_title_comes_from_properties_or_the_title_style() -> None:
    meta = (
        f'<m {ODF} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>보고서</dc:title>'
        "<meta:keyword>물</meta:keyword></m>"
    )
    styled = '<text:p text:style-name="P1">단수 안내</text:p>'
    automatic = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    assert title(read, text(styled, {"meta.xml": meta}, automatic)) == "보고서"
    assert title(read, text(styled, None, automatic)) == "단수 안내"
    assert blocks(read, text(styled, None, automatic))[0].kind == "heading"


CHART = ("동부", "1.5", "서부", "-2")


def test_an_embedded_chart_gives_its_title_series_and_categories_together() -> None:
    cells = "".join(f"<table:table-cell><text:p>{t}</text:p></table:table-cell>" for t in CHART)
    chart = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"'
        ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><chart:chart><chart:title>'
        "<text:p>강수량</text:p></chart:title><table:table><table:table-row>"
        f"{cells}</table:table-row></table:table></chart:chart></office:document-content>"
    )
    body = (
        '<text:p>Here<draw:object xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' xlink:href="./Object 1"/></text:p>'
    )
    found = texts(read, text(body, {"Object 1/content.xml": chart}))
    assert found == ["Here", "강수량 | 동부 | 서부"]


def test_an_embedded_formula_stands_in_its_sentence_as_latex() -> None:
    formula = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>π</mi><mo>=</mo><mn>3</mn>'
        "<annotation>pi = 3</annotation></math>"
    )
    body = (
        '<text:p>Here <draw:frame><draw:object xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' xlink:href="./Formula-0"/></draw:frame> there</text:p>'
    )
    assert texts(read, text(body, {"Formula-0/content.xml": formula})) == [
        r"Here [math: \pi = 3] there"
    ]


MATHML = 'xmlns="http://www.w3.org/1998/Math/MathML"'
OLD_MATH = (
    '<!DOCTYPE math:math PUBLIC "-//OpenOffice.org//DTD Modified W3C MathML 1.01//EN" "math.dtd">'
)


def formula_object(folder: str) -> str:
    link = f'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{folder}"'
    return f"<draw:frame><draw:object {link}/></draw:frame>"


def test_a_formula_of_old_writers_declares_its_kind_and_is_read() -> None:
    space = 'xmlns:math="http://www.w3.org/1998/Math/MathML"'
    old = f"{OLD_MATH}<math:math {space}><math:mi>&alpha;</math:mi></math:math>"
    body = f"<text:p>a {formula_object('./O 1')}</text:p>"
    assert texts(read, text(body, {"O 1/content.xml": old})) == [r"a [math: \alpha]"]


def test_a_damaged_formula_is_noticed_and_the_text_is_read() -> None:
    body = f"<text:p>a {formula_object('O')} b</text:p>"
    data = text(body, {"O/content.xml": f"<math {MATHML}><mi>x</math>"})
    assert texts(read, data) == ["a  b".replace("  ", " ")]
    assert [notice.code for notice in notices(read, data)] == ["part_unread"]


def test_a_formula_in_the_file_itself_or_without_a_sentence_is_read() -> None:
    inline = f"<draw:frame><draw:object><math {MATHML}><mn>7</mn></math></draw:object></draw:frame>"
    assert texts(read, text(f"<text:p>a {inline}</text:p>{inline}")) == [
        "a [math: 7]",
        "[math: 7]",
    ]


def test_a_document_that_is_one_formula_is_read() -> None:
    data = packed({"content.xml": f"<math {MATHML}><msqrt><mi>x</mi></msqrt></math>"})
    found = blocks(read, data)
    assert [block.text for block in found] == [r"[math: \sqrt{x}]"]
    assert found[0].location is not None


# --- sheets ---------------------------------------------------------------------------------


def test_sheet_rows_are_located_whatever_is_repeated_between() -> None:
    rows = (
        row(cell("월"), cell("양"))
        + row('<table:table-cell table:number-columns-repeated="16384"/>',
              attributes='table:number-rows-repeated="813"')
        + row(cell("행815"), cell("8"))
    )  # fmt: skip
    found = blocks(read, sheet(rows))
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "예산"),
        ("table_header", "월 | 양"),
        ("table_row", "행815 | 8"),
    ]
    assert found[2].location == Location("sheet", "예산 row 815", 815, "예산")


def test_repeated_rows_make_one_block_and_repeated_cells_a_few() -> None:
    rows = row(
        cell("0", 'table:number-columns-repeated="3"'),
        cell("x", 'table:number-columns-repeated="1000"'),
        attributes='table:number-rows-repeated="5"',
    ) + row(cell("after"))
    found = blocks(read, sheet(rows))[1:]
    assert found[0].text == " | ".join(["0"] * 3 + ["x"] * 16)
    assert found[0].location == Location("sheet", "예산 rows 1 to 5", 1, "예산", 5)
    assert found[1].location == Location("sheet", "예산 row 6", 6, "예산")


def test_a_cell_without_text_shows_its_value() -> None:
    rows = row(
        '<table:table-cell office:value-type="float" office:value="12.5"/>',
        '<table:table-cell office:value-type="date" office:date-value="2024-03-05"/>',
        "<table:covered-table-cell><text:p>covered</text:p></table:covered-table-cell>",
    )
    assert texts(read, sheet(rows))[1:] == ["12.5 | 2024-03-05"]


def test_comments_and_shapes_of_a_sheet_are_located_on_it() -> None:
    rows = (
        "<table:shapes><draw:frame><draw:text-box><text:p>box</text:p></draw:text-box>"
        "</draw:frame></table:shapes>"
        + row("<table:table-cell><office:annotation><text:p>check</text:p></office:annotation>"
              "<text:p>value</text:p></table:table-cell>")
    )  # fmt: skip
    found = blocks(read, sheet(rows))[1:]
    assert [(block.text, block.location and block.location.label) for block in found] == [
        ("box", "예산 drawing"),
        ("check", "예산 row 1"),
        ("value", "예산 row 1"),
    ]


def test_declared_repeats_beyond_the_cap_are_refused_at_once() -> None:
    bomb = row(
        cell("x", 'table:number-columns-repeated="1000"'),
        attributes='table:number-rows-repeated="1048000"',
    )
    started = time.process_time()
    error = refusal(read, sheet(bomb))
    assert error.code == "limit_reached"
    assert "1,048,000,000 > 20,000,000 cells" in error.reason
    assert time.process_time() - started < 1


def test_the_reference_repeat_bomb_ends(shared: Path) -> None:
    error = refusal(read, (shared / "docs/ods/bomb_repeat.ods").read_bytes())
    assert error.code == "limit_reached"


# --- presentations ----------------------------------------------------------------------------


def page(*frames: tuple[str, str], notes: str = "") -> str:
    shapes = "".join(
        f'<draw:frame presentation:class="{kind}"><draw:text-box><text:p>{shown}</text:p>'
        "</draw:text-box></draw:frame>"
        for kind, shown in frames
    )
    spoken = f"<presentation:notes>{notes}</presentation:notes>" if notes else ""
    return f"<draw:page>{shapes}{spoken}</draw:page>"


def test_slides_with_titles_first_and_notes() -> None:
    note = (
        "<draw:frame presentation:class='notes'><draw:text-box><text:p>말할 것</text:p>"
        "</draw:text-box></draw:frame>"
    )
    data = odf(
        "<office:presentation>"
        + page(("outline", "본문"), ("title", "대책"), ("page-number", "7"), notes=note)
        + page(("outline", "둘째"))
        + "</office:presentation>"
    )
    found = blocks(read, data)
    assert [(block.kind, block.text, block.location) for block in found] == [
        ("heading", "대책", Location("slide", "slide 1", 1)),
        ("paragraph", "본문", Location("slide", "slide 1", 1)),
        ("paragraph", "말할 것", Location("slide", "slide 1 notes", 1)),
        ("paragraph", "둘째", Location("slide", "slide 2", 2)),
    ]


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra",
    [
        {
            "META-INF/manifest.xml": f"<manifest:manifest {ODF}><manifest:file-entry>"
            "<manifest:encryption-data/></manifest:file-entry></manifest:manifest>"
        },
        {"encrypted-package": "scrambled"},
    ],
)
def test_a_password_is_reported(extra: dict[str, str]) -> None:
    assert refusal(read, text("<text:p>x</text:p>", extra)).code == "encrypted"


def test_a_container_without_content_is_corrupt() -> None:
    assert refusal(read, packed({"mimetype": "x"})).code == "corrupt"


def test_damaged_side_parts_cost_only_themselves() -> None:
    extra = {"styles.xml": "<a", "meta.xml": "<a", "META-INF/manifest.xml": "<a"}
    data = text("<text:p>body</text:p>", extra)
    assert texts(read, data) == ["body"]
    assert len(notices(read, data)) == 1


def test_a_paragraph_without_end_is_cut() -> None:
    found = texts(read, text(f"<text:p>{'word ' * 200_000}</text:p>"))
    assert len(found) > 1
    assert sum(part.count("word") for part in found) == 200_000


def test_hidden_text_is_left_out() -> None:
    automatic = (
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="T2"><style:text-properties text:display="true"/></style:style>'
        '<style:style style:name="P1"><style:text-properties text:display="none"/></style:style>'
    )
    body = (
        '<text:p>a<text:span text:style-name="T1">gone<text:tab/></text:span>b'
        '<text:span text:style-name="T2">c</text:span></text:p>'
        '<text:p text:style-name="P1">gone</text:p>'
        '<text:h text:style-name="P1">gone</text:h>'
        "<text:p>d<text:note><text:note-body>"
        '<text:p text:style-name="P1">gone</text:p></text:note-body></text:note>e</text:p>'
        '<text:section text:display="none"><text:p>a section is kept</text:p></text:section>'
    )
    assert texts(read, text(body, None, automatic)) == ["abc", "de", "a section is kept"]
