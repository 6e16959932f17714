"""Files whose name lies: read for what they are, or told for what they are; each way around."""

from __future__ import annotations

import importlib.util
import io
import zipfile

import pytest

from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract.blocks import Block, Context
from tests.extract import hangul_files, xls_files
from tests.extract.compound_files import packed
from tests.extract.doc_files import doc
from tests.extract.office_files import docx, odf, paragraph, pptx, shape, xlsx
from tests.extract.test_flat import TEXT, WORD, package
from tests.extract.test_pdf import made, shown

WORDS = "needle in the text"
NAMES = [
    "a.doc",
    "a.docx",
    "a.pdf",
    "a.xls",
    "a.hwp",
    "a.rtf",
    "a.odt",
    "a.ppt",
    "a.jpg",
    "a.unknown",
    "a",
]
HTML = f"<html><body><p>{WORDS}</p></body></html>".encode()
MHTML = (
    "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n"
    f"Content-Type: text/html\r\n\r\n<p>{WORDS}</p>\r\n--b--\r\n"
).encode()
CONTENTS: dict[str, bytes] = {
    "rtf": rb"{\rtf1\ansi needle in the text\par}",
    "html": HTML,
    "docx": docx(paragraph(WORDS)),
    "xlsx": xlsx(f'<row r="1"><c t="inlineStr"><is><t>{WORDS}</t></is></c></row>'),
    "pptx": pptx(shape(WORDS)),
    "odt": odf(f"<office:text><text:p>{WORDS}</text:p></office:text>", {
        "mimetype": "application/vnd.oasis.opendocument.text"}),
    "doc": doc(WORDS),
    "xls": xls_files.xls({"S": xls_files.label(0, 0, WORDS)}),
    "hwp": hangul_files.hwp([hangul_files.para(WORDS)]),
    "fodt": TEXT.replace("목차".encode(), WORDS.encode()),
    "wordml2003": WORD.replace(b">One<", f">{WORDS}<".encode()),
    "flatopc": package(docx(paragraph(WORDS))),
    "pdf": made(shown(WORDS)),
}  # fmt: skip


def outcome(raw: bytes, name: str) -> tuple[str, str]:
    """(format, "text") where the words were found, else (code, reason)."""
    file = io.BytesIO(raw)
    try:
        found = formats.detect(file, name)
        items = formats.load(found)(file, Context(name, len(raw)))
        text = " ".join(item.text for item in items if isinstance(item, Block))
    except Unread as error:
        return error.code, error.reason
    assert WORDS in text
    return found.name, "text"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", CONTENTS)
def test_document_is_read_for_what_it_is_whatever_its_name(kind: str, name: str) -> None:
    if kind == "pdf" and importlib.util.find_spec("pypdf") is None:
        assert outcome(CONTENTS[kind], name)[0] == "missing_reader"
        return
    assert outcome(CONTENTS[kind], name) == (kind, "text")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.log", "a.csv"])
@pytest.mark.parametrize("kind", ["rtf", "docx", "xlsx", "pptx", "odt", "doc", "xls", "hwp"])
def test_office_file_named_as_a_text_is_no_text(kind: str, name: str) -> None:
    assert outcome(CONTENTS[kind], name) == (kind, "text")


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        (MHTML, "a.doc", "eml"),
        (MHTML, "a.xls", "eml"),
        (WORDS.encode(), "a.doc", "txt"),
        (WORDS.encode("utf-16"), "a.doc", "txt"),
        (WORDS.encode(), "a.rtf", "txt"),
        (f"{WORDS}\t1\n".encode(), "a.xls", "tsv"),
        (HTML, "a.txt", "txt"),
        (CONTENTS["fodt"], "a.xml", "fodt"),
        (CONTENTS["wordml2003"], "a.xml", "wordml2003"),
    ],
)
def test_text_with_the_name_of_an_office_file_is_read(raw: bytes, name: str, expected: str) -> None:
    assert outcome(raw, name) == (expected, "text")


@pytest.mark.parametrize(
    ("raw", "name", "code", "told"),
    [
        (WORDS.encode(), "a.pdf", "corrupt", "no PDF"),
        (WORDS.encode(), "a.docx", "corrupt", "no ZIP container"),
        (WORDS.encode(), "a.hwp", "corrupt", "no OLE compound file"),
        (WORDS.encode(), "a.ppt", "corrupt", "no OLE compound file"),
        (rb"\b lost\par beginning}", "a.rtf", "corrupt", "does not begin as RTF"),
        (b"\0\1\2\3\4binary", "a.doc", "corrupt", "no OLE compound file"),
        (CONTENTS["docx"][:300], "a.doc", "corrupt", "ZIP container is cut off"),
        (CONTENTS["docx"][:300], "a.docx", "corrupt", "ZIP container is cut off"),
        (b"\x31\xbe\0\0\0\xab Write", "a.doc", "unsupported", "Windows Write"),
        (b"\xffWPC\x10\0\0\0", "a.doc", "unsupported", "WordPerfect"),
        (b"\x7fELF\2\1\1", "a.pdf", "unsupported", "Program or library named .pdf"),
        (b"SQLite format 3\0", "a.docx", "unsupported", "Database named .docx"),
        (packed({"EncryptionInfo": b"x", "EncryptedPackage": b"y"}), "a.docx", "encrypted", ""),
        (packed({"EncryptionInfo": b"x", "EncryptedPackage": b"y"}), "a.doc", "encrypted", ""),
        (b"", "a.doc", "empty", ""),
    ],
)
def test_what_cannot_be_read_is_told_for_what_it_is(
    raw: bytes, name: str, code: str, told: str
) -> None:
    found, reason = outcome(raw, name)
    assert found == code
    assert told in reason


@pytest.mark.parametrize("name", ["a.doc", "a.docx", "a.xls", "a.pdf", "a.txt", "a.hwp"])
def test_bomb_meets_its_limit_under_any_name(name: str) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as container:
        container.writestr("[Content_Types].xml", "<Types/>")
        container.writestr("_rels/.rels", "<a/>")
        with container.open("word/document.xml", "w") as part:
            part.write(b"<w:document xmlns:w='x'>")
            for _ in range(80):
                part.write(b" " * (1 << 20))
    code, reason = outcome(raw.getvalue(), name)
    assert code == "limit_reached"
    assert "> 200" in reason
