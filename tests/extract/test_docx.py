"""Word documents: what is read, in which order, and where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.extract import opc
from helpers.extract.blocks import Location
from helpers.extract.docx import read
from helpers.limits import MARKUP_DEPTH
from tests.extract import compound_files, mtef_files
from tests.extract.office_files import (
    MC,
    W,
    blocks,
    docx,
    notices,
    packed,
    paragraph,
    refusal,
    relations,
    texts,
    title,
)

STYLES = (
    f"<w:styles {W}>"
    '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="a"><w:name w:val="제목 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="b"><w:name w:val="หัวเรื่อง 3"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="c"><w:name w:val="Mine"/><w:basedOn w:val="a"/>'
    "</w:style>"
    '<w:style w:type="paragraph" w:styleId="d"><w:name w:val="Clause"/><w:pPr>'
    '<w:outlineLvl w:val="3"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="e"><w:name w:val="loop"/><w:basedOn w:val="e"/>'
    "</w:style>"
    '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:type="character" w:styleId="h"><w:name w:val="heading 1"/></w:style>'
    "</w:styles>"
)


def styled(body: str) -> bytes:
    return docx(body, {"word/styles.xml": STYLES}, styles="styles.xml")


def cell(*paragraphs: str) -> str:
    return f"<w:tc>{''.join(paragraphs)}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def box(text: str) -> str:
    return f"<w:txbxContent>{paragraph(text)}</w:txbxContent>"


@pytest.mark.parametrize(
    ("style", "level"),
    [("1", 1), ("a", 2), ("b", 3), ("c", 2), ("d", 4), ("e", 0), ("h", 0), ("Heading2", 2)],
)
def test_a_heading_is_known_by_outline_name_or_base_of_its_style(style: str, level: int) -> None:
    found = blocks(read, styled(paragraph("Words", style)))
    assert [(block.kind, block.level) for block in found] == [
        ("heading" if level else "paragraph", level)
    ]


def test_a_paragraphs_own_outline_level_wins() -> None:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="1"/><w:outlineLvl w:val="9"/></w:pPr>'
        "<w:r><w:t>x</w:t></w:r></w:p>"
    )
    assert blocks(read, styled(body))[0].kind == "paragraph"


def test_locations_are_heading_paths_and_paragraph_numbers_before_them() -> None:
    body = (
        paragraph("before")
        + paragraph("계약", "1")
        + paragraph("text")
        + paragraph("대금", "a")
        + paragraph("paid")
        + paragraph("부칙", "1")
        + paragraph("end")
    )
    assert [block.location for block in blocks(read, styled(body))] == [
        Location("section", "paragraph 1"),
        Location("section", "계약", name="계약"),
        Location("section", "계약", name="계약"),
        Location("section", "계약 > 대금", name="대금"),
        Location("section", "계약 > 대금", name="대금"),
        Location("section", "부칙", name="부칙"),
        Location("section", "부칙", name="부칙"),
    ]


def test_runs_tabs_breaks_and_symbols_make_one_text() -> None:
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>가</w:t><w:tab/>'
        "<w:t>나</w:t><w:br/><w:t>다</w:t><w:noBreakHyphen/>"
        '<w:sym w:font="Wingdings" w:char="F0FE"/>'
        '<w:sym w:char="00E9"/><w:sym w:char="zz"/></w:r></w:p>'
    )
    assert texts(read, docx(body)) == ["가\t나\n다\u2011☑é"]


def test_what_is_deleted_moved_away_or_code_is_left_out() -> None:
    body = (
        "<w:p><w:ins><w:r><w:t>kept </w:t></w:r></w:ins><w:del><w:r><w:delText>gone</w:delText>"
        "</w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:moveTo><w:r>"
        "<w:t>here </w:t></w:r></w:moveTo><w:r><w:instrText>PAGE</w:instrText><w:t>7</w:t></w:r>"
        "<w:r><w:ruby><w:rt><w:r><w:t>ruby</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r>"
        "</w:rubyBase></w:ruby></w:r></w:p>"
    )
    assert texts(read, docx(body)) == ["kept here 7漢"]


def test_a_former_style_in_a_tracked_change_does_not_count() -> None:
    body = (
        '<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="1"/></w:pPr></w:pPrChange></w:pPr>'
        "<w:r><w:t>x</w:t></w:r></w:p>"
    )
    assert blocks(read, styled(body))[0].kind == "paragraph"


def test_table_rows_are_cells_with_the_first_row_as_header() -> None:
    table = (
        row(cell(paragraph("품목")), cell(paragraph("수량")))
        + row(cell(paragraph("강관"), paragraph("DN300")), cell(paragraph("46")))
        + row(cell("<w:p/>"), cell(paragraph("112")))
        + row(cell(paragraph("deleted")), cell(paragraph("row")), properties="<w:del/>")
    )
    found = blocks(read, docx(f"<w:tbl>{table}</w:tbl>"))
    assert [(block.kind, block.text) for block in found] == [
        ("table_header", "품목 | 수량"),
        ("table_row", "강관 DN300 | 46"),
        ("table_row", "112"),
    ]


def test_marked_header_rows_are_headers_too() -> None:
    mark = "<w:tblHeader/>"
    cells = (cell(paragraph("a")), cell(paragraph("b")))
    table = row(*cells, properties=mark) + row(*cells, properties=mark) + row(*cells)
    kinds = [block.kind for block in blocks(read, docx(f"<w:tbl>{table}</w:tbl>"))]
    assert kinds == ["table_header", "table_header", "table_row"]


def test_a_frame_of_one_cell_keeps_its_paragraphs_and_headings() -> None:
    inner = paragraph("별표", "1") + paragraph("하나") + paragraph("둘")
    found = blocks(read, styled(f"<w:tbl>{row(cell(inner))}</w:tbl>"))
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "별표"),
        ("paragraph", "하나"),
        ("paragraph", "둘"),
    ]


def test_a_table_within_a_table_is_kept() -> None:
    inner = f"<w:tbl>{row(cell(paragraph('x')), cell(paragraph('y')))}</w:tbl>"
    outer = row(cell(paragraph("left")), cell(paragraph("right"), inner))
    assert texts(read, docx(f"<w:tbl>{outer}</w:tbl>")) == ["left | right", "x | y"]


def test_a_text_box_is_read_once_after_its_paragraph() -> None:
    body = (
        f"<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'>{box('inside')}</mc:Choice>"
        f"<mc:Fallback><w:pict>{box('inside')}</w:pict></mc:Fallback></mc:AlternateContent>"
        "<w:t>anchor</w:t></w:r></w:p>"
    )
    assert texts(read, docx(body)) == ["anchor", "inside"]


def test_the_fallback_is_read_where_the_choice_has_no_text() -> None:
    body = (
        "<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wpg'/>"
        f"<mc:Fallback><w:pict>{box('inside')}</w:pict></mc:Fallback></mc:AlternateContent>"
        "</w:r></w:p>"
    )
    assert texts(read, docx(body)) == ["inside"]


def test_alternatives_within_alternatives_do_not_bring_the_outer_fallback_back() -> None:
    inner = "<mc:AlternateContent><mc:Choice/><mc:Fallback/></mc:AlternateContent>"
    body = (
        f"<w:p><w:r><mc:AlternateContent><mc:Choice><w:t>once</w:t>{inner}</mc:Choice>"
        "<mc:Fallback><w:t>once</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert texts(read, docx(body)) == ["once"]


def test_a_document_nested_too_deep_is_refused_with_both_numbers() -> None:
    levels = MARKUP_DEPTH - 5
    assert texts(read, docx("<w:sdt>" * levels + paragraph("x") + "</w:sdt>" * levels)) == ["x"]
    found = refusal(read, docx("<w:sdt>" * 1500 + paragraph("x") + "</w:sdt>" * 1500))
    assert found.code == "limit_reached" and "1,001 > 1,000" in found.reason


def test_related_parts_beyond_the_limit_are_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opc, "OFFICE_RELATED_PARTS", 2)
    parts = {f"word/header{n}.xml": f"<w:hdr {W}>{paragraph(str(n))}</w:hdr>" for n in range(3)}
    data = docx(paragraph("body"), parts, **{f"header__rId{n}": f"header{n}.xml" for n in range(3)})
    found = refusal(read, data)
    assert found.code == "limit_reached" and "3 > 2 parts" in found.reason


def test_content_controls_and_links_are_transparent() -> None:
    body = (
        f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('control')}</w:sdtContent></w:sdt>"
        "<w:p><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>"
    )
    assert texts(read, docx(body)) == ["control", "link"]


def test_notes_comments_headers_and_footers_follow_the_body() -> None:
    note = '<w:footnote w:type="separator">{}</w:footnote><w:footnote>{}</w:footnote>'
    extra = {
        "word/footnotes.xml": f"<w:footnotes {W}>"
        + note.format(paragraph("----"), paragraph("각주"))
        + "</w:footnotes>",
        "word/comments.xml": f"<w:comments {W}><w:comment>{paragraph('메모')}</w:comment>"
        "</w:comments>",
        "word/header1.xml": f"<w:hdr {W} {MC}>{paragraph('기밀')}</w:hdr>",
        "word/header2.xml": f"<w:hdr {W}>{paragraph('기밀')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {W}>{paragraph('Page 3 of 7')}</w:ftr>",
    }
    data = docx(
        paragraph("body"),
        extra,
        footnotes__1="footnotes.xml",
        comments__2="comments.xml",
        header__3="header1.xml",
        header__4="header2.xml",
        footer__5="footer1.xml",
    )
    found = [(block.text, block.location and block.location.label) for block in blocks(read, data)]
    assert found == [
        ("body", "paragraph 1"),
        ("각주", "footnotes"),
        ("메모", "comments"),
        ("기밀", "header"),
    ]


def test_a_damaged_side_part_costs_only_itself() -> None:
    data = docx(
        paragraph("body"),
        {"word/footnotes.xml": "<w:footnotes", "word/styles.xml": "<!DOCTYPE a><a/>"},
        footnotes__1="footnotes.xml",
        styles__2="styles.xml",
    )
    assert texts(read, data) == ["body"]
    assert [notice.code for notice in notices(read, data)] == ["part_unread", "part_unread"]


def test_an_imported_html_part_stands_in_its_place() -> None:
    data = docx(
        paragraph("before")
        + '<w:altChunk r:id="rId9"/>'
        + '<w:altChunk r:id="rId8"/>'
        + '<w:altChunk r:id="rId7"/>'
        + '<w:altChunk r:id="nowhere"/>'
        + paragraph("after"),
        {
            "word/a.html": "<title>Import</title><p>between</p>",
            "word/b.rtf": "{\\rtf1 x}",
        },
        aFChunk__rId9="a.html",
        aFChunk__rId8="b.rtf",
        aFChunk__rId7="missing.html",
    )
    assert texts(read, data) == ["before", "Import", "between", "imported b.rtf", "x", "after"]
    assert notices(read, data) == []


def test_an_imported_part_that_nobody_reads_is_told() -> None:
    data = docx('<w:altChunk r:id="rId9"/>', {"word/a.bin": b"\0\1"}, aFChunk__rId9="a.bin")
    assert [notice.code for notice in notices(read, data)] == ["part_unread"]


def test_smart_art_and_charts_are_read_where_they_stand() -> None:
    drawn = (
        'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    )
    shapes = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    data = docx(
        f'<w:p><w:r><w:drawing><dgm:relIds {drawn} r:dm="rId1"/></w:drawing></w:r></w:p>'
        f'<w:p><w:r><w:drawing><c:chart {drawn} r:id="rId2"/></w:drawing></w:r></w:p>',
        {
            "word/data1.xml": f"<dgm:dataModel {drawn} {shapes}><a:p><a:r><a:t>From here</a:t>"
            "</a:r></a:p></dgm:dataModel>",
            "word/chart1.xml": f"<c:chartSpace {drawn} {shapes}><c:chart><a:p><a:r><a:t>Sales</a:t>"
            "</a:r></a:p><c:strCache><c:pt><c:v>North</c:v></c:pt><c:pt><c:v>South</c:v></c:pt>"
            "</c:strCache><c:numCache><c:pt><c:v>4.5</c:v></c:pt></c:numCache></c:chart>"
            "</c:chartSpace>",
        },
        diagramData__rId1="data1.xml",
        chart__rId2="chart1.xml",
    )
    assert texts(read, data) == ["From here", "Sales", "North | South"]


def equation_object() -> bytes:
    return compound_files.packed({"Equation Native": mtef_files.stream(mtef_files.signs("x=2"))})


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
HALF = (
    "<m:oMath><m:f><m:num><m:r><w:rPr><w:i/></w:rPr><m:t>π</m:t></m:r></m:num><m:den><m:r>"
    "<m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
)


def run(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_an_equation_stands_in_its_sentence_as_latex() -> None:
    body = f"<w:p {MATH}>{run('값은 ')}{HALF}{run(' 이다')}</w:p>"
    assert texts(read, docx(body)) == [r"값은 [math: \frac{\pi}{2}] 이다"]


def test_equations_on_their_own_are_paragraphs_and_deleted_ones_are_left_out() -> None:
    display = f"<m:oMathPara><m:oMathParaPr/>{HALF}{HALF}</m:oMathPara>"
    body = (
        f"<w:p {MATH}>{display}</w:p><w:p {MATH}><w:del>{HALF}</w:del>{run('kept')}</w:p>"
        f"<w:tbl {MATH}><w:tr><w:tc><w:p>{HALF}</w:p></w:tc><w:tc>{paragraph('x')}</w:tc></w:tr>"
        f"</w:tbl><m:oMathPara {MATH}>{HALF}</m:oMathPara>"
    )
    half = r"[math: \frac{\pi}{2}]"
    assert texts(read, docx(body)) == [half * 2, "kept", f"{half} | x", half]


def test_an_equation_of_the_old_editor_stands_in_its_sentence() -> None:
    drawn = f"<w:object {MATH} xmlns:o='urn:schemas-microsoft-com:office:office'>"
    body = (
        f"<w:p>{run('so ')}<w:r>{drawn}<o:OLEObject ProgID='Equation.3' r:id='rId1'/></w:object>"
        f"<w:object xmlns:o='urn:schemas-microsoft-com:office:office'><o:OLEObject"
        f" ProgID='Equation.DSMT4' r:id='rId9'/></w:object></w:r>{run(' is')}</w:p>"
    )
    data = docx(
        body, {"word/embeddings/o.bin": equation_object()}, oleObject__rId1="embeddings/o.bin"
    )
    assert texts(read, data) == ["so [math: x = 2] is"]


def field(code: str, result: str = "") -> str:
    def mark(kind: str) -> str:
        return f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>"

    shown = mark("separate") + run(result) if result else ""
    return f"{mark('begin')}<w:r><w:instrText>{code}</w:instrText></w:r>{shown}{mark('end')}"


def test_a_field_without_a_result_shows_its_formula() -> None:
    nested = field("IF " + field("PAGE") + " = 1", "yes")
    half = field(r" EQ \f(1,2) ")
    body = (
        f"<w:p>{run('a ')}{half}{run(' b ')}{field('PAGE', '7')}{nested}</w:p>"
        "<w:p><w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
    )
    assert texts(read, docx(body)) == [r"a [math: \frac{1}{2}] b 7yes"]


def core(title: str) -> dict[str, str]:
    return {
        "_rels/.rels": relations(**{"core-properties": "docProps/core.xml"}),
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/'
        'package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></cp:coreProperties>",
    }


def test_the_title_comes_from_the_properties() -> None:
    assert title(read, docx(paragraph("x"), core("연간 보고서"))) == "연간 보고서"


@pytest.mark.parametrize(
    "made_up",
    ["Microsoft Word - draft.doc", "제목 없음", "report_v2.docx", "Document1", "슬라이드 1"],
)
def test_a_title_that_a_program_made_up_is_no_title(made_up: str) -> None:
    assert title(read, docx(paragraph("x"), core(made_up))) is None


def test_a_paragraph_in_the_title_style_is_the_title() -> None:
    data = styled(paragraph("단수 안내", "T") + paragraph("text"))
    assert title(read, data) == "단수 안내"
    assert blocks(read, data)[0].kind == "heading"


def test_strict_documents_are_read_alike() -> None:
    space = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    data = packed(
        {"word/document.xml": f"<w:document {space}><w:body>{paragraph('x')}</w:body></w:document>"}
    )
    assert texts(read, data) == ["x"]


def test_a_container_without_a_document_is_corrupt() -> None:
    assert refusal(read, packed({"other": "x"})).code == "corrupt"


def test_a_paragraph_without_end_is_cut() -> None:
    found = texts(read, docx(paragraph("word " * 200_000)))
    assert len(found) > 1
    assert max(map(len, found)) < 400_000
    assert "".join(found).count("word") == 200_000


def test_text_boxes_are_found_in_body_header_and_footer(shared: Path) -> None:
    found = "\n".join(texts(read, (shared / "bugs/b29/textbox.docx").read_bytes()))
    for place in ("body", "header", "footer"):
        assert found.count(f"inside of a text box in the {place}") == 1


# --- hidden text ----------------------------------------------------------------------------

VANISH = "<w:rPr><w:vanish/></w:rPr>"


def formatted(text: str, properties: str = "") -> str:
    return f"<w:r>{properties and f'<w:rPr>{properties}</w:rPr>'}<w:t>{text}</w:t></w:r>"


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        (formatted("a") + formatted("gone", "<w:b/><w:vanish/><w:i/>") + formatted("b"), "ab"),
        (formatted("a") + formatted("kept", '<w:vanish w:val="0"/>') + formatted("b"), "akeptb"),
        (formatted("a", "<w:webHidden/>"), "a"),
        (f"<w:pPr>{VANISH}</w:pPr>" + formatted("a") + formatted("b"), "ab"),
        (
            f"<w:sdt><w:sdtPr>{VANISH}</w:sdtPr><w:sdtContent>{formatted('a')}</w:sdtContent></w:sdt>",
            "a",
        ),
        (f"<w:r>{VANISH}<w:tab/><w:sym w:char='0041'/><w:pict>{box('x')}</w:pict></w:r>", ""),
        (formatted("a", '<w:rStyle w:val="unseen"/>') + formatted("b"), "b"),
        (
            formatted("a", '<w:rStyle w:val="unseen"/><w:vanish w:val="false"/>') + formatted("b"),
            "ab",
        ),
        (formatted("a", '<w:rStyle w:val="seen"/>'), "a"),
        ('<w:pPr><w:pStyle w:val="z"/></w:pPr>' + formatted("Top of Form"), ""),
    ],
)
def test_hidden_text_is_left_out(inner: str, shown: str) -> None:
    styles = (
        f"<w:styles {W}><w:style w:type='character' w:styleId='unseen'>{VANISH}</w:style>"
        f"<w:style w:type='character' w:styleId='seen'/>"
        f"<w:style w:type='table' w:styleId='grid'>{VANISH}</w:style>"
        f"<w:style w:type='paragraph' w:styleId='z'>{VANISH}</w:style></w:styles>"
    )
    body = f"<w:p>{inner}</w:p>" + paragraph("after")
    found = blocks(read, docx(body, {"word/styles.xml": styles}, styles="styles.xml"))
    assert [block.text for block in found] == [*filter(None, [shown]), "after"]


def test_a_field_that_begins_in_hidden_text_is_followed_to_its_end() -> None:
    body = (
        f'<w:p><w:r>{VANISH}<w:fldChar w:fldCharType="begin"/></w:r>'
        f"<w:r>{VANISH}<w:instrText>EQ \\f(1,2)</w:instrText></w:r>"
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{formatted("shown")}'
        f'<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
    )
    assert [block.text for block in blocks(read, docx(body))] == ["shown"]
