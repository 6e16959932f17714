"""Files inside Office documents: read as documents of their own, behind the text."""

from __future__ import annotations

import struct

import pytest

from tests.extract.compound_files import packed as compound
from tests.extract.mail_files import read
from tests.extract.office_files import docx, paragraph, pptx, relations, shape, xlsx

SHEET = xlsx('<row r="1"><c t="inlineStr"><is><t>embedded cell</t></is></c></row>')
REPORT = docx(paragraph("embedded words"))


def native(name: str, content: bytes) -> bytes:
    """The object that Word makes of a file that is dropped into a document."""
    named = name.encode("cp1252") + b"\0"
    path = b"C:\\x\\" + named
    body = b"\2\0" + named + path + b"\0\0\3\0" + struct.pack("<I", len(path)) + path
    body += struct.pack("<I", len(content)) + content
    return compound({"\x01Ole10Native": struct.pack("<I", len(body)) + body})


def test_a_worksheet_in_a_word_document_is_read_behind_its_text() -> None:
    data = docx(paragraph("body"), {"word/embeddings/Book1.xlsx": SHEET})
    found = read(data, "docx", "a.docx")
    assert found.blocks[0].text == "body"
    assert found.at("embedded cell") == "embedded Book1.xlsx, Sheet1 row 1"


def test_documents_are_found_in_presentations_and_workbooks_too() -> None:
    slides = pptx(shape("slide"), extra={"ppt/embeddings/a.docx": REPORT})
    book = xlsx("", {"xl/embeddings/a.docx": REPORT})
    for data, module in ((slides, "pptx"), (book, "xlsx")):
        assert read(data, module).at("embedded words") == "embedded a.docx, paragraph 1"


def test_the_figures_behind_a_chart_are_left_out() -> None:
    parts: dict[str, str | bytes] = {
        "word/embeddings/figures.xlsx": SHEET,
        "word/charts/chart1.xml": "<a/>",
        "word/charts/_rels/chart1.xml.rels": relations(package="../embeddings/figures.xlsx"),
    }
    assert read(docx(paragraph("body"), parts), "docx").text == "body"


@pytest.mark.parametrize(
    "content",
    [
        native("notes.txt", b"embedded words"),
        compound({"Package": REPORT}),
        native("report.docx", REPORT),
    ],
)
def test_a_file_inside_an_object_is_taken_out(content: bytes) -> None:
    data = docx(paragraph("body"), {"word/embeddings/oleObject1.bin": content})
    assert read(data, "docx").at("embedded words").startswith("embedded ")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 cut off",
        compound({"Equation Native": b"x" * 40}),
        compound({"\x01Ole10Native": b"\1\2"}),
        native("picture.png", b"\x89PNG\r\n\x1a\n"),
    ],
)
def test_an_object_without_a_document_is_passed_over(content: bytes) -> None:
    data = docx(paragraph("body"), {"word/embeddings/oleObject1.bin": content})
    found = read(data, "docx")
    assert found.text == "body" and found.notices == []


def test_an_embedded_document_that_is_damaged_is_told() -> None:
    data = docx(paragraph("body"), {"word/embeddings/a.xlsx": SHEET[:200]})
    found = read(data, "docx")
    assert found.text == "body" and found.codes == ["part_unread"]


def test_documents_in_documents_end_at_the_depth_that_is_allowed() -> None:
    data = docx(paragraph("level 4"))
    for level in (3, 2, 1, 0):
        data = docx(paragraph(f"level {level}"), {"word/embeddings/a.docx": data})
    found = read(data, "docx")
    assert "level 3" in found.text and "level 4" not in found.text
    assert found.codes == ["limit_reached"]
