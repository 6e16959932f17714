"""Office documents in one XML file: flat OpenDocument, Word 2003 XML, flat Office Open XML."""

from __future__ import annotations

import base64
import io
import random
import zipfile
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract import flat_opc, formats, odf_flat, wordml2003
from helpers.extract.blocks import Block, Metadata
from tests.extract.office_files import (
    ODF,
    blocks,
    docx,
    items,
    paragraph,
    pptx,
    refusal,
    shape,
    texts,
    title,
)
from tests.extract.test_office_mutations import damaged, outcome

MATH = 'xmlns:math="http://www.w3.org/1998/Math/MathML"'
PICTURE = (
    "<draw:image><office:binary-data>" + "iVBORw0KGgo\n" * 9 + "</office:binary-data></draw:image>"
)
META = (
    '<office:meta><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">단수 안내</dc:title>'
    "<meta:keyword>물</meta:keyword></office:meta><office:settings>x</office:settings>"
)
MASTERS = (
    "<office:master-styles><style:master-page><style:header><text:p>Ministry</text:p>"
    "</style:header></style:master-page></office:master-styles>"
)


def flat(body: str, before: str = META + MASTERS, encoding: str = "utf-8") -> bytes:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><office:document {ODF} {MATH}>{before}'
        f"<office:body>{body}</office:body></office:document>"
    )
    return text.encode(encoding)


TEXT = flat(
    '<office:text><text:h text:outline-level="1">목차</text:h><text:p>a<draw:frame>'
    f"{PICTURE}</draw:frame>b</text:p>{PICTURE}<table:table><table:table-row><table:table-cell>"
    "<text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell>"
    "</table:table-row></table:table></office:text>"
)
W2003 = (
    'xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" '
    'xmlns:o="urn:schemas-microsoft-com:office:office" '
    'xmlns:aml="http://schemas.microsoft.com/aml/2001/core"'
)


def word(body: str, encoding: str = "utf-8") -> bytes:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><?mso-application progid="Word.Document"?>'
        f"<w:wordDocument {W2003}><o:DocumentProperties><o:Title>Plan</o:Title>"
        "<o:Keywords>a; b</o:Keywords></o:DocumentProperties><w:styles>"
        '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style></w:styles>'
        f"<w:body>{body}</w:body></w:wordDocument>"
    )
    return text.encode(encoding)


WORD = word(
    paragraph("One", "1")
    + "<w:p><w:r><w:t>see</w:t></w:r><w:r><w:footnote>"
    + paragraph("note")
    + '</w:footnote></w:r><aml:annotation w:type="Word.Deletion"><aml:content><w:r>'
    + "<w:delText>gone</w:delText><w:t>gone</w:t></w:r></aml:content></aml:annotation>"
    + '<aml:annotation w:type="Word.Comment"><aml:content>'
    + paragraph("said")
    + "</aml:content></aml:annotation><w:r><w:pict><w:binData>AAAA</w:binData><w:txbxContent>"
    + paragraph("boxed")
    + "</w:txbxContent></w:pict></w:r></w:p><w:tbl><w:tr><w:tc>"
    + paragraph("x")
    + "</w:tc><w:tc>"
    + paragraph("y")
    + "</w:tc></w:tr></w:tbl><w:sectPr><w:hdr>"
    + paragraph("Ministry")
    + "</w:hdr><w:ftr>"
    + paragraph("Page 3")
    + "</w:ftr></w:sectPr>"
)


def package(packed: bytes, encoding: str = "utf-8") -> bytes:
    """The parts of a ZIP container in one XML file, with a picture beside them."""
    parts = []
    line = 60
    with zipfile.ZipFile(io.BytesIO(packed)) as container:
        for name in container.namelist():
            if not name.endswith((".xml", ".rels")):
                text = base64.b64encode(container.read(name)).decode()
                text = "\r\n".join(text[at : at + line] for at in range(0, len(text), line))
                data = f"<pkg:binaryData>{text}</pkg:binaryData>"
                parts.append(f'<pkg:part pkg:name="/{name}">{data}</pkg:part>')
                continue
            xml = container.read(name).decode("utf-8")
            parts.append(
                f'<pkg:part pkg:name="/{name}"><pkg:xmlData>{xml}</pkg:xmlData></pkg:part>'
            )
    parts.append('<pkg:part pkg:name="/word/i.png"><pkg:binaryData>AA</pkg:binaryData></pkg:part>')
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><?mso-application progid="Word.Document"?>'
        '<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage">'
        f"{''.join(parts)}</pkg:package>"
    )
    return text.encode(encoding)


def detected(raw: bytes, name: str) -> str:
    return formats.detect(io.BytesIO(raw), name).name


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", ["a.xml", "a.doc", "a", "a.fodt", "a.docx"])
def test_flat_forms_are_told_by_content_whatever_their_name(name: str, encoding: str) -> None:
    body = "<office:text><text:p>a</text:p></office:text>"
    assert detected(flat(body, encoding=encoding), name) == "fodt"
    assert detected(word("", encoding), name) == "wordml2003"
    assert detected(package(docx(""), encoding), name) == "flatopc"


def test_flat_text_gives_what_the_packed_form_gives_without_pictures() -> None:
    found = blocks(odf_flat.read, TEXT)
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "목차"), ("paragraph", "ab"), ("table_header", "x | y"),
        ("paragraph", "Ministry"),
    ]  # fmt: skip
    assert title(odf_flat.read, TEXT) == "단수 안내"
    first = items(odf_flat.read, TEXT)[0]
    assert isinstance(first, Metadata) and first.tags == ("물",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_flat_text_is_read_in_the_charset_it_declares(encoding: str) -> None:
    raw = flat("<office:text><text:p>é</text:p></office:text>", MASTERS, encoding)
    assert texts(odf_flat.read, raw) == ["é", "Ministry"]


def test_flat_sheet_and_slides_have_their_locations() -> None:
    sheet = flat(
        '<office:spreadsheet><table:table table:name="예산"><table:table-row><table:table-cell>'
        "<text:p>1</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"
    )
    found = blocks(odf_flat.read, sheet)
    assert [block.location.label for block in found if block.location][:2] == ["예산", "예산 row 1"]
    slides = flat(
        "<office:presentation><draw:page><draw:frame><draw:text-box><text:p>a</text:p>"
        "</draw:text-box></draw:frame></draw:page></office:presentation>"
    )
    place = blocks(odf_flat.read, slides)[0].location
    assert place is not None and place.label == "slide 1"


def test_pages_of_a_drawing_are_pages() -> None:
    drawing = flat(
        "<office:drawing><draw:page><draw:custom-shape><text:p>밸브</text:p></draw:custom-shape>"
        "</draw:page></office:drawing>"
    )
    found = blocks(odf_flat.read, drawing)[0]
    assert found.location is not None
    assert found.location.as_dict() == {"kind": "page", "label": "page 1", "page": 1}


def test_document_inside_a_flat_file_gives_its_names_and_leaves_the_rest_alone() -> None:
    inner = (
        "<draw:object><office:document><office:body><office:spreadsheet><table:table>"
        "<text:p>Sales</text:p><text:p>1.5</text:p><text:p>Sales</text:p><text:p>Cost</text:p>"
        "</table:table></office:spreadsheet></office:body></office:document></draw:object>"
    )
    body = f"<text:p>a<draw:frame>{inner}</draw:frame></text:p><text:p>b</text:p>"
    assert texts(odf_flat.read, flat(f"<office:text>{body}</office:text>", "")) == [
        "a",
        "Sales | Cost",
        "b",
    ]


def test_equation_inside_a_flat_file_stands_in_its_sentence() -> None:
    inner = "<draw:object><math:math><math:mi>x</math:mi></math:math></draw:object>"
    body = f"<text:p>If <draw:frame>{inner}</draw:frame> holds</text:p>"
    assert texts(odf_flat.read, flat(f"<office:text>{body}</office:text>", "")) == [
        "If [math: x] holds"
    ]


def test_word_2003_gives_body_notes_comments_boxes_rows_and_headers() -> None:
    found = blocks(wordml2003.read, WORD)
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "One"), ("paragraph", "see"), ("paragraph", "note"), ("paragraph", "said"),
        ("paragraph", "boxed"), ("table_header", "x | y"), ("paragraph", "Ministry"),
    ]  # fmt: skip
    labels = [block.location.label for block in found if block.location]
    assert labels == ["One", "One", "footnotes", "comments", "One", "One", "header"]
    assert title(wordml2003.read, WORD) == "Plan"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_parts_of_a_flat_package_are_read_as_those_of_a_container(encoding: str) -> None:
    body = paragraph("제목", "Heading1") + paragraph("본문")
    raw = package(docx(body, {"word/h.xml": "<a/>"}, header__rId2="h.xml"), encoding)
    assert texts(flat_opc.read, raw) == ["제목", "본문"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_binary_part_of_a_flat_package_is_read_where_it_is_a_text(encoding: str) -> None:
    page = "<p>imported words</p>" * 5
    body = paragraph("first") + '<w:altChunk r:id="rId1"/>'
    raw = package(docx(body, {"word/a.html": page}, aFChunk__rId1="a.html"), encoding)
    assert texts(flat_opc.read, raw) == ["first"] + ["imported words"] * 5


def test_flat_package_of_slides_is_read_as_slides() -> None:
    found = blocks(flat_opc.read, package(pptx(shape("제목", "title"))))
    assert [(block.kind, block.text) for block in found] == [("heading", "제목")]


@pytest.mark.parametrize("read", [odf_flat.read, wordml2003.read, flat_opc.read])
def test_doctype_is_refused(read: Callable) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbb">]><office:document>&b;</office:document>'
    refused = refusal(read, bomb)
    assert refused.code == "corrupt" and "DOCTYPE" in refused.reason


def test_large_picture_costs_no_memory_and_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters of a picture pass in pieces, whatever its size and without a line end."""
    monkeypatch.setattr("helpers.extract.markup.MARKUP_TOKEN_BYTES", 200_000)
    picture = "<office:binary-data>" + "A" * 3_000_000 + "</office:binary-data>"
    raw = flat(f"<office:text><text:p>a<draw:image>{picture}</draw:image>b</text:p></office:text>")
    assert texts(odf_flat.read, raw)[0] == "ab"


FILES = {"odf_flat": TEXT, "wordml2003": WORD, "flat_opc": package(docx(paragraph("제목")))}


@pytest.mark.parametrize("module", FILES)
def test_damaged_files_give_blocks_or_a_typed_error(
    module: str, points: Callable[[int, int], int]
) -> None:
    chance = random.Random(7)
    found = {outcome(module, damaged(FILES[module], chance)) for _ in range(points(200, 2_000))}
    assert found <= {"read", "corrupt", "limit_reached"}
    assert "read" in found


@pytest.mark.parametrize("module", FILES)
def test_every_cut_gives_a_typed_error(module: str) -> None:
    data = FILES[module]
    for length in range(0, len(data) - 1, 5):
        with pytest.raises(Unread) as refused:
            for item in items(
                __import__(f"helpers.extract.{module}", fromlist=["read"]).read, data[:length]
            ):
                assert not isinstance(item, Block) or item.text
        assert refused.value.code == "corrupt"
