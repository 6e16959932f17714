"""A file is what its content says; what nobody can read is named for what it is."""

from __future__ import annotations

import importlib.util
import io
import random
import re
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import Unread
from helpers.extract import formats, sniff
from tests.extract.compound_files import packed

CONTENT_TYPE = '<Types><Override PartName="/x.xml" ContentType="application/vnd.{}"/></Types>'
WORD = CONTENT_TYPE.format("openxmlformats-officedocument.wordprocessingml.document.main+xml")
EXCEL = CONTENT_TYPE.format("openxmlformats-officedocument.spreadsheetml.sheet.main+xml")
MACRO = CONTENT_TYPE.format("ms-excel.sheet.macroEnabled.main+xml")
SLIDES = CONTENT_TYPE.format("openxmlformats-officedocument.presentationml.presentation.main+xml")


def zipped(**entries: str) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as container:
        for name, text in entries.items():
            container.writestr("[Content_Types].xml" if name == "types" else name, text)
    return raw.getvalue()


def ole(*streams: str) -> bytes:
    """An OLE compound file that holds nothing but a directory of `streams`."""
    header = bytearray(512)
    header[:8] = sniff.OLE_MAGIC
    struct.pack_into("<H", header, 30, 9)
    struct.pack_into("<I", header, 48, 1)
    struct.pack_into("<109I", header, 76, 0, *[0xFFFFFFFF] * 108)
    fat = struct.pack("<128I", 0xFFFFFFFD, 0xFFFFFFFE, *[0xFFFFFFFF] * 126)
    directory = bytearray(512)
    for index, name in enumerate(("Root Entry", *streams)):
        raw = name.encode("utf-16-le")
        directory[128 * index : 128 * index + len(raw)] = raw
        struct.pack_into("<HB", directory, 128 * index + 64, len(raw) + 2, 2)
    return bytes(header) + fat + bytes(directory)


def detected(raw: bytes, name: str) -> str:
    return formats.detect(io.BytesIO(raw), name).name


def refusal(raw: bytes, name: str) -> Unread:
    with pytest.raises(Unread) as refused:
        formats.detect(io.BytesIO(raw), name)
    return refused.value


@pytest.mark.parametrize("name", ["a.docx", "a.pdf", "a.doc", "a.txt", "a", "a.zip", "a.bin"])
def test_zip_container_is_told_by_its_parts_whatever_its_name(name: str) -> None:
    assert detected(zipped(types=WORD), name) == "docx"
    assert detected(zipped(types=EXCEL), name) == "xlsx"
    assert detected(zipped(types=MACRO), name) == "xlsm"
    assert detected(zipped(types=SLIDES), name) == "pptx"
    for kind, mimetype in (("odt", "text"), ("ods", "spreadsheet"), ("odp", "presentation")):
        container = zipped(mimetype=f"application/vnd.oasis.opendocument.{mimetype}")
        assert detected(container, name) == kind


def test_container_without_content_types_is_told_by_its_entries() -> None:
    assert detected(zipped(**{"word/document.xml": "<w/>"}), "a.docx") == "docx"


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        (b"%PDF-1.7\n", "a.pdf", "pdf"),
        (b"%PDF-1.7\n", "a.txt", "pdf"),
        (b"junk\n" * 100 + b"%PDF-1.4\n", "a.pdf", "pdf"),
        (b"The magic is %PDF-1.4\n", "notes.md", "md"),
        (b"<html><table><tr><td>1", "a.xls", "html"),
        (b"{\\rtf1 text}", "a.doc", "rtf"),
        (b"\xef\xbb\xbf\r\n{\\rtf1 text}", "a.rtf", "rtf"),
        (b"\xff\xfe" + "<!DOCTYPE html>\n<html>".encode("utf-16-le"), "page", "html"),
        (b"<!-- x --><?xml version='1.0'?>\n<html >", "a.unknown", "html"),
        (b"a\tb\n1\t2\n", "report.xls", "tsv"),
        (b"a;b\n1;2\n", "report.xls", "tsv"),
        (b"\xff\xfe" + "월\t합계\n".encode("utf-16-le"), "report.xls", "tsv"),
        (b"\xef\xbb\xbfa,b\n1,2\n", "report.xlsx", "tsv"),
        (b"\r\n<style>td{}</style><div><table><tr><td>1", "a.xls", "html"),
        (b"\xff\xfe" + "<tr><td>x</td></tr>".encode("utf-16-le"), "a.xls", "html"),
        (b"MIME-Version: 1.0\nX-Document-Type: Workbook\n\n", "a.xls", "eml"),
        (b"\x09\x00\x04\x00\x02\x00\x10\x00", "a.xls", "xls"),
        (b"\x09\x04\x06\x00\x00\x00\x10\x00\x00\x00", "a.dat", "xls"),
        (
            b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>',
            "a.xml",
            "spreadsheetml2003",
        ),
        (
            b"<Workbook xmlns:x='y'\n xmlns='urn:schemas-microsoft-com:office:spreadsheet'>",
            "a.xls",
            "spreadsheetml2003",
        ),
        (b"<?xml version='1.0'?><project/>", "pom.xml", "source"),
        (b"BM and other letters", "a.txt", "txt"),
        (b"ID3 is a tag format", "a.md", "md"),
        (b"text", "README", "txt"),
        (b"all:\n", "Makefile", "source"),
        (b"x = 1\n", "A.PY", "source"),
        (b"{}", "a.json", "json"),
    ],
)
def test_content_comes_first_and_the_name_second(raw: bytes, name: str, expected: str) -> None:
    assert detected(raw, name) == expected


@pytest.mark.parametrize("name", ["a.txt", "a.docx", "a.pdf", "a.hwp", "a.unknown", "a"])
def test_file_of_no_bytes_is_empty(name: str) -> None:
    assert refusal(b"", name).code == "empty"


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.doc", "a.bin"])
def test_encrypted_office_file_asks_for_its_password(name: str) -> None:
    refused = refusal(ole("EncryptionInfo", "EncryptedPackage"), name)
    assert refused.code == "encrypted"
    assert "password needed" in refused.reason


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("WordDocument", "doc"),
        ("Workbook", "xls"),
        ("PowerPoint Document", "ppt"),
        ("FileHeader", "hwp"),
        ("__properties_version1.0", "msg"),
    ],
)
def test_binary_office_file_is_told_by_its_streams(stream: str, expected: str) -> None:
    for name in ("a.msg", "a.docx", "a.bin", "a"):
        assert detected(ole(stream), name) == expected


def test_a_directory_beyond_the_reach_of_the_header_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def beyond(file: object) -> list[object]:
        raise IndexError

    monkeypatch.setattr(sniff, "_ole_rows", beyond)
    message = packed({"__properties_version1.0": b"x", ("attached", "WordDocument"): b"x"})
    assert detected(message, "a.bin") == "msg"


MAIL = b"Return-Path: <a@example.org>\nReceived: by x\nSubject: s\n\ntext\n"


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        (MAIL, "1700000000.M1P2.host:2,S", "eml"),  # of a maildir
        (MAIL, "mail", "eml"),
        (MAIL, "mail.msg", "eml"),
        (b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n", "a.doc", "eml"),
        (b"From a@example.org Mon Nov 12 10:00:00 2007\n" + MAIL, "Inbox", "mbox"),
        (b"From a@example.org Mon Nov 12 10:00:00 2007\n" + MAIL, "a.eml", "eml"),
        (MAIL, "notes.txt", "txt"),
        (b"MIME-Version: 1.0\nContent-Transfer-Encoding: base64\n" + MAIL, "notes.txt", "eml"),
        (b"MIME-Version: 1.0\nContent-Type: multipart/mixed\n" + MAIL, "notes.md", "md"),
        (b"\x78\x9f\x3e\x22\0\0", "winmail.dat", "tnef"),
    ],
)
def test_mail_is_told_by_its_fields(raw: bytes, name: str, expected: str) -> None:
    assert detected(raw, name) == expected


@pytest.mark.parametrize("raw", [b"Note: a\nMore: b\n\ntext", b"From now on\nSubject: x\n"])
def test_a_text_of_unknown_kind_with_colons_is_no_mail(raw: bytes) -> None:
    assert refusal(raw, "unnamed").code == "unsupported"


def test_a_document_embedded_in_another_does_not_decide_the_kind() -> None:
    message = packed({"__properties_version1.0": b"x", ("attached", "WordDocument"): b"x"})
    assert detected(message, "a.msg") == "msg"
    workbook = packed({"Workbook": b"x", ("MBD01", "WordDocument"): b"x"})
    assert detected(workbook, "a.xls") == "xls"


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"This is not a zip file!\n", "a.odt"),
        (b"This is not a zip file!\n", "a.docx"),
        (zipped(types=WORD)[:60], "a.docx"),
        (zipped(other="x"), "a.xlsx"),
        (b"no header", "a.pdf"),
        (sniff.OLE_MAGIC + b"\0" * 600, "a.docx"),
        (b"just text", "a.ppt"),
        (b"just text", "a.hwp"),
        (b"just text", "a.xls"),
        (b"\x01\x02 and\tbytes\n", "a.xls"),
    ],
)
def test_file_that_is_not_what_its_name_says_is_corrupt(raw: bytes, name: str) -> None:
    refused = refusal(raw, name)
    assert refused.code == "corrupt"
    assert refused.remedy


@pytest.mark.parametrize(
    ("raw", "name", "told"),
    [
        (b"\0\0\0\x20ftypheic", "a.txt", "HEIC, AVIF or other image named .txt"),
        (b"text", "a.xyz", "No reader for files .xyz"),
        (b"text", "unnamed", "No reader for files without an ending"),
        (b"{}", "a.gsheet", "Cloud pointer (.gsheet)"),
        (b"\x1aE\xdf\xa3\x01", "a.mkv", "Video"),
        (b"\x7fELF\x02", "tool", "Program or library"),
        (b"7z\xbc\xaf\x27\x1c", "a.7z", "Archive"),
    ],
)
def test_what_cannot_be_read_is_unsupported_by_name(raw: bytes, name: str, told: str) -> None:
    refused = refusal(raw, name)
    assert refused.code == "unsupported"
    assert refused.reason.startswith(told)


def test_detection_leaves_the_file_at_its_start() -> None:
    for raw in (b"text", zipped(types=WORD), b"%PDF-1.4"):
        file = io.BytesIO(raw)
        formats.detect(file, "a.txt")
        assert file.tell() == 0


def test_every_ending_belongs_to_one_format() -> None:
    endings = [ending for entry in formats.FORMATS for ending in entry.extensions]
    assert len(endings) == len(set(endings))
    assert all(re.fullmatch("[a-z0-9]+", ending) for ending in endings)


def test_every_kind_that_sniffing_names_is_registered() -> None:
    tables = (sniff.STRONG_MAGICS, sniff.WEAK_MAGICS)
    kinds = {kind for table in tables for _, _, kind in table}
    for table in (sniff.OOXML_MAIN_PARTS, sniff.MIMETYPES, sniff.TELLTALE_ENTRIES):
        kinds |= {kind for _, kind in table}
    kinds |= {kind for _, kind in sniff.OLE_STREAMS if kind != "ooxml-encrypted"}
    assert kinds <= set(formats.BY_NAME)


def test_fingerprint_holds_the_version_of_the_package_or_its_absence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    formats.fingerprint.cache_clear()
    assert "pypdf=" in formats.fingerprint(formats.BY_NAME["pdf"])
    formats.fingerprint.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert formats.fingerprint(formats.BY_NAME["pdf"]).endswith("pypdf=absent")
    assert formats.availability()["pdf"] == "missing: pip install pypdf"
    with pytest.raises(Unread) as refused:
        formats.load(formats.BY_NAME["pdf"])
    assert refused.value.code == "missing_reader"
    assert "pip install pypdf" in refused.value.remedy
    formats.fingerprint.cache_clear()


def test_text_family_needs_no_package() -> None:
    for entry in formats.FORMATS:
        if entry.is_text:
            assert callable(formats.load(entry))
            assert formats.availability()[entry.name] == "ok"


def test_supported_endings_are_told() -> None:
    assert {"txt", "md", "csv", "docx", "xlsm", "odp", "pdf"} <= formats.supported_extensions()
    assert not {"7z", "gdoc"} & formats.supported_extensions()


def test_reference_files_are_told_by_content(shared: Path) -> None:
    expected = {
        "bugs/b11/enc.docx": "encrypted",
        "bugs/b11/old_as.docx": "doc",
        "bugs/b13/empty.pdf": "empty",
        "bugs/b35/bomb_as.doc": "docx",
        "docs/odt/tika_testODTnotaZipFile.odt": "corrupt",
        "docs/docx/tika_testWORD_truncated.docx": "corrupt",
        "docs/xlsx/made_ko_enc_sheet.xlsx": "encrypted",
        "docs/wrong-ext/wrong_docx_as.pdf": "docx",
        "docs/wrong-ext/wrong_html_as.xls": "html",
        "docs/wrong-ext/wrong_xlsx_as.xls": "xlsx",
        "docs/pdf/junk_before_header.pdf": "pdf",
        "docs/odt/made_ko_lo_odt.odt": "odt",
        "docs/skip/budget.gsheet": "unsupported",
    }
    found = {}
    for path in expected:
        with (shared / path).open("rb") as file:
            try:
                found[path] = formats.detect(file, Path(path).name).name
            except Unread as refused:
                found[path] = refused.code
    assert found == expected


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([b"", b"PK\x03\x04", sniff.OLE_MAGIC, b"%PDF-", b"<html", b"<!--", b"{\\rtf"]),
    st.binary(max_size=2048),
    st.sampled_from(["a.txt", "a.docx", "a.pdf", "a.xls", "a", "a.zzz", "a.html"]),
)
def test_random_bytes_never_raise_anything_but_unread(start: bytes, raw: bytes, name: str) -> None:
    try:
        assert formats.detect(io.BytesIO(start + raw), name).supported
    except Unread as refused:
        assert refused.reason


def test_mutated_containers_never_raise_anything_but_unread() -> None:
    rng = random.Random(11)
    whole = [zipped(types=WORD, body="x" * 500), ole("WordDocument"), ole("EncryptedPackage")]
    for _ in range(500):
        raw = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(1, 12)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        try:
            formats.detect(io.BytesIO(bytes(raw)), "a.docx")
        except Unread as refused:
            assert refused.code in ("corrupt", "encrypted", "unsupported")
