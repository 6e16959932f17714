"""Alternative texts of pictures: those that a person wrote are read, those of programs are not."""

from __future__ import annotations

import pytest

from helpers.extract import docx, flat_opc, odf, pptx, rtf, xlsx
from helpers.extract.alternative import alternative
from tests.extract import office_files
from tests.extract.office_files import blocks, packed, paragraph, relations, shape, texts
from tests.extract.test_flat import package

WP = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
XDR = 'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'
SVG = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
VML = 'xmlns:v="urn:schemas-microsoft-com:vml"'


@pytest.mark.parametrize(
    "text",
    [
        "Water main at the corner of Mill Road",
        "조직도: 상수도사업본부",
        "แผนผังท่อประธานเขตเทศบาล",
        "Chart of sales 2024 by region",
        "x2",
    ],
)
def test_text_that_a_person_wrote_is_kept(text: str) -> None:
    assert alternative(text) == f"[image: {text}]"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "—", "Picture 1", "image12", "Picture", "그림 3", "개체 1", "รูปภาพ 2", "Grafik 4",
        "Text Box 7", "Rectangle: 3", "image1.png", r"C:\Users\kim\plan 2.jpg", "plan of town.JPEG",
        "https://example.org/a.png", "cid:part1.ABC", "Content Placeholder 5", "제목 1",
        "A picture containing text\n\nDescription automatically generated",
        "텍스트이(가) 표시된 사진 자동 생성된 설명",
        "그림입니다. 원본 그림의 이름: CLP0001.bmp 원본 그림의 크기: 가로 10pixel",
    ],
)  # fmt: skip
def test_text_that_a_program_wrote_is_left_out(text: str) -> None:
    assert alternative(text) == ""


def test_description_comes_before_title_and_white_space_is_folded() -> None:
    assert alternative("Picture 1", "Town\n plan") == "[image: Town plan]"


def test_picture_in_a_document_of_word() -> None:
    drawing = f'<w:drawing {WP}><wp:inline><wp:docPr id="1" name="Picture 1" descr="Town plan"/>'
    drawing += "</wp:inline></w:drawing>"
    old = f'<w:pict {VML}><v:shape alt="Old plan"/></w:pict>'
    both = f"<mc:AlternateContent><mc:Choice>{drawing}</mc:Choice><mc:Fallback>{old}"
    both += "</mc:Fallback></mc:AlternateContent>"
    body = f"<w:p><w:r><w:t>See</w:t>{both}{drawing}</w:r></w:p><w:p><w:r>{old}</w:r></w:p>"
    raw = office_files.docx(body + paragraph("end"))
    wanted = ["See", "[image: Town plan]", "[image: Old plan]", "end"]
    assert texts(docx.read, raw) == wanted
    assert texts(flat_opc.read, package(raw)) == wanted


def test_picture_on_a_slide_stands_behind_its_title() -> None:
    picture = (
        '<p:pic><p:nvPicPr><p:cNvPr id="4" name="Picture 3" descr="Town plan"/></p:nvPicPr></p:pic>'
    )
    found = blocks(pptx.read, office_files.pptx(picture + shape("Plans", "title")))
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "Plans"),
        ("paragraph", "[image: Town plan]"),
    ]


def test_picture_on_a_sheet() -> None:
    picture = f'<xdr:wsDr {XDR}><xdr:pic><xdr:nvPicPr><xdr:cNvPr name="Picture 1" descr="Map"/>'
    picture += "</xdr:nvPicPr></xdr:pic></xdr:wsDr>"
    raw = office_files.xlsx(
        '<row r="1"><c><v>1</v></c></row>',
        {
            "xl/worksheets/_rels/sheet1.xml.rels": relations(drawing="../drawings/d.xml"),
            "xl/drawings/d.xml": picture,
        },
    )
    found = blocks(xlsx.read, raw)[-1]
    assert found.text == "[image: Map]"
    assert found.location is not None and found.location.label == "Sheet1 drawing"


def test_picture_in_open_document() -> None:
    frame = f"<draw:frame {SVG}><draw:image/><svg:title>image1.png</svg:title>"
    frame += "<svg:desc>Town plan</svg:desc></draw:frame>"
    body = f"<office:text><text:p>See {frame}below</text:p></office:text>"
    assert texts(odf.read, office_files.odf(body)) == ["See below", "[image: Town plan]"]


def test_picture_in_rtf() -> None:
    raw = rb"{\rtf1 See{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv Town plan}}} 00}}"
    raw += rb"{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv Picture 2}}"
    raw += rb"{\sp{\sn wzName}{\sv Site map}}}}\par}"
    assert texts(rtf.read, raw) == ["See", "[image: Town plan]", "[image: Site map]"]


def test_packed_helper_is_a_container() -> None:
    assert packed({"a": "b"})[:2] == b"PK"
