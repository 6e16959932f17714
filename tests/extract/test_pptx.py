"""Presentations: slides in order, each text at its slide."""

from __future__ import annotations

from helpers.extract.blocks import Location
from helpers.extract.pptx import read
from tests.extract import compound_files, mtef_files
from tests.extract.office_files import (
    A,
    P,
    blocks,
    notices,
    packed,
    pptx,
    refusal,
    relations,
    shape,
    texts,
)


def test_slides_come_in_the_order_of_the_presentation() -> None:
    data = pptx(shape("first"), shape("second"))
    found = blocks(read, data)
    assert [block.text for block in found] == ["first", "second"]
    assert found[1].location == Location("slide", "slide 2", 2)
    assert found[1].location.as_dict() == {"kind": "slide", "label": "slide 2", "slide": 2}


def test_the_order_is_the_list_not_the_file_names() -> None:
    parts = {
        "ppt/_rels/presentation.xml.rels": relations(
            slide__rId0="slides/slide1.xml", slide__rId1="slides/slide0.xml"
        )
    }
    assert texts(read, pptx(shape("zero"), shape("one"), extra=parts)) == ["one", "zero"]


def test_the_title_leads_its_slide_as_a_heading() -> None:
    found = blocks(read, pptx(shape("본문") + shape("홍수\n대책", "title")))
    assert [(block.kind, block.level, block.text) for block in found] == [
        ("heading", 1, "홍수\n대책"),
        ("paragraph", 0, "본문"),
    ]


def test_slide_numbers_dates_and_repeated_footers_are_left_out() -> None:
    slide = (
        shape("text")
        + shape("3", "sldNum")
        + shape("2024-01-01", "dt")
        + shape("ACME", "ftr")
        + '<p:sp><p:txBody><a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p></p:txBody></p:sp>'
    )
    assert texts(read, pptx(slide, slide)) == ["text", "ACME", "text"]


def test_a_table_gives_a_header_and_rows() -> None:
    def cell(text: str) -> str:
        return f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    grid = "".join(f"<a:tr>{cell(a)}{cell(b)}</a:tr>" for a, b in (("월", "양"), ("1월", "46")))
    frame = f"<p:graphicFrame><a:graphic><a:tbl>{grid}</a:tbl></a:graphic></p:graphicFrame>"
    found = blocks(read, pptx(frame))
    assert [(block.kind, block.text) for block in found] == [
        ("table_header", "월 | 양"),
        ("table_row", "1월 | 46"),
    ]


def test_breaks_groups_and_alternatives() -> None:
    slide = (
        "<p:grpSp><p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r>"
        "</a:p></p:txBody></p:sp></p:grpSp>"
        f"<mc:AlternateContent><mc:Choice>{shape('new')}</mc:Choice>"
        f"<mc:Fallback>{shape('old')}</mc:Fallback></mc:AlternateContent>"
    )
    assert texts(read, pptx(slide)) == ["one\ntwo", "new"]


def test_an_equation_stands_in_its_sentence_and_its_picture_is_left_out() -> None:
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    math = (
        f'<a14:m xmlns:a14="urn:a14"><m:oMathPara {space}><m:oMath><m:r><m:t>x≤</m:t></m:r>'
        "<m:rad><m:e><m:r><m:t>2</m:t></m:r></m:e></m:rad></m:oMath></m:oMathPara></a14:m>"
    )
    text = f"<a:p><a:r><a:t>so </a:t></a:r>{math}<a:r><a:t> is</a:t></a:r></a:p>"
    slide = (
        f"<mc:AlternateContent><mc:Choice><p:sp><p:txBody>{text}</p:txBody></p:sp></mc:Choice>"
        f"<mc:Fallback>{shape('picture')}</mc:Fallback></mc:AlternateContent>"
    )
    assert texts(read, pptx(slide)) == [r"so [math: x \leq \sqrt{2}] is"]


def test_an_equation_of_the_old_editor_stands_at_its_slide_once() -> None:
    equation = compound_files.packed(
        {"Equation Native": mtef_files.stream(mtef_files.signs("x=2"))}
    )
    frame = "<p:graphicFrame><p:oleObj progId='Equation.3' r:id='rId1'/></p:graphicFrame>"
    slide = (
        f"<mc:AlternateContent><mc:Choice>{frame}</mc:Choice>"
        f"<mc:Fallback>{frame}</mc:Fallback></mc:AlternateContent>"
    )
    extra: dict[str, str | bytes] = {
        "ppt/slides/_rels/slide0.xml.rels": relations(oleObject__rId1="../embeddings/o.bin"),
        "ppt/embeddings/o.bin": equation,
    }
    assert texts(read, pptx(slide, extra=extra)) == ["[math: x = 2]"]


def test_notes_and_comments_stand_at_their_slide() -> None:
    modern = "http://schemas.microsoft.com/office/powerpoint/2018/8/main"
    extra = {
        "ppt/slides/_rels/slide0.xml.rels": relations(
            notesSlide="../n.xml", comments="../c.xml", comments__2="../m.xml"
        ),
        "ppt/n.xml": f"<p:notes {P} {A}>{shape('말할 것', 'body')}{shape('1', 'sldNum')}</p:notes>",
        "ppt/c.xml": f"<p:cmLst {P}><p:cm><p:text>고칠 것</p:text></p:cm></p:cmLst>",
        "ppt/m.xml": f'<m:cmLst xmlns:m="{modern}" {A}><m:cm><m:txBody><a:p><a:r><a:t>reply</a:t>'
        "</a:r></a:p></m:txBody></m:cm></m:cmLst>",
    }
    found = blocks(read, pptx(shape("slide"), extra=extra))
    assert [(block.text, block.location) for block in found] == [
        ("slide", Location("slide", "slide 1", 1)),
        ("말할 것", Location("slide", "slide 1 notes", 1)),
        ("고칠 것", Location("slide", "slide 1 comment", 1)),
        ("reply", Location("slide", "slide 1 comment", 1)),
    ]


def test_charts_and_smart_art_of_a_slide_are_read() -> None:
    extra = {
        "ppt/slides/_rels/slide0.xml.rels": relations(
            chart="../chart.xml", diagramData="../data.xml"
        ),
        "ppt/chart.xml": f"<c {A}><a:p><a:r><a:t>Rain</a:t></a:r></a:p></c>",
        "ppt/data.xml": f"<d {A}><a:p><a:r><a:t>Step</a:t></a:r></a:p></d>",
    }
    assert texts(read, pptx(shape("slide"), extra=extra)) == ["slide", "Rain", "Step"]


def test_a_missing_or_damaged_slide_keeps_the_others() -> None:
    parts = {
        "ppt/_rels/presentation.xml.rels": relations(
            slide__rId0="slides/none.xml",
            slide__rId1="slides/slide1.xml",
            slide__rId2="slides/slide2.xml",
        ),
        "ppt/slides/slide1.xml": "<p:sld",
    }
    data = pptx("", "", shape("third"), extra=parts)
    found = blocks(read, data)
    assert [(block.text, block.location and block.location.number) for block in found] == [
        ("third", 3)
    ]
    assert [n.location and n.location.number for n in notices(read, data)] == [1, 2]


def test_a_title_without_end_is_cut() -> None:
    data = pptx(shape("word " * 100_000, "title"))
    assert sum(text.count("word") for text in texts(read, data)) == 100_000


def test_a_container_without_a_presentation_is_corrupt() -> None:
    assert refusal(read, packed({"other": "x"})).code == "corrupt"
