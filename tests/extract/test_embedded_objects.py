"""Objects in binary Office files: taken out whole, named for what they are, read or passed over."""

from __future__ import annotations

import io

import pytest

from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract.compound import CompoundFile
from helpers.extract.compound_part import taken_out
from tests.extract import xls_files
from tests.extract.compound_files import Path, packed
from tests.extract.doc_files import Streams, Word, plain, streams
from tests.extract.mail_files import read
from tests.extract.office_files import docx, paragraph
from tests.extract.test_embedded import native

PARTS: Streams = {
    ("a", "small"): b"s" * 100,
    ("a", "large"): bytes(range(256)) * 40,
    ("a", "empty"): b"",
    ("a", "b", "deep"): b"d" * 5_000,
    ("a", "b", "이름"): b"n",
    ("other", "small"): b"o",
}


def pooled(*objects: Streams) -> bytes:
    """A Word document with objects in its pool."""
    pool: Streams = {}
    for number, parts in enumerate(objects, 1):
        for name, raw in parts.items():
            path = (name,) if isinstance(name, str) else name
            where: Path = ("ObjectPool", f"_{number}", *path)
            pool[where] = raw
    return packed(streams(Word({"body": plain("body")}, streams=pool)))


def test_a_storage_taken_out_holds_all_that_it_held() -> None:
    found = CompoundFile(taken_out(CompoundFile(io.BytesIO(packed(PARTS))), ("a",)))
    inside = {path[1:]: raw for path, raw in PARTS.items() if path[0] == "a"}
    assert {e.path: found.read(*e.path) for e in found.entries.values() if e.kind == 2} == inside


def test_a_storage_beyond_the_cap_is_refused() -> None:
    with pytest.raises(Unread) as refused:
        taken_out(CompoundFile(io.BytesIO(packed(PARTS))), ("a",), most=10_000)
    assert refused.value.code == "limit_reached" and "10,000" in refused.value.reason


def test_what_is_taken_out_is_known_for_what_it_is() -> None:
    inner = streams(Word({"body": plain("x" * 3_000)}))
    held = packed({("in", str(name)): raw for name, raw in inner.items()})
    data = taken_out(CompoundFile(io.BytesIO(held)), ("in",))
    assert formats.detect(data, "object").name == "doc"


def test_worksheets_packages_and_files_are_read() -> None:
    book: Streams = {"Workbook": CompoundFile(io.BytesIO(BOOK)).read("Workbook")}
    package: Streams = {"Package": docx(paragraph("from a package"))}
    file = CompoundFile(io.BytesIO(native("notes.txt", b"from a file")))
    found = read(pooled(book, package, {"\x01Ole10Native": file.read("\x01Ole10Native")}), "doc")
    assert found.at("from a sheet") == "embedded worksheet 1.xls, Sheet row 1"
    assert found.at("from a package").startswith("embedded document 2, ")
    assert found.at("from a file") == "embedded notes.txt, line 1"


def test_objects_of_unknown_programs_are_passed_over_in_silence() -> None:
    found = read(pooled({"\x03ObjInfo": b"x"}, {"CONTENTS": b"\1\2\3\4" * 50}), "doc")
    assert found.text == "body" and not found.notices


def test_a_broken_object_is_told_and_the_text_read() -> None:
    found = read(pooled({"WordDocument": b"x" * 100}), "doc")
    assert found.blocks[0].text == "body"
    assert [notice.code for notice in found.notices] == ["part_unread"]


def test_a_document_in_a_workbook_is_read_behind_its_sheets() -> None:
    inner = streams(Word({"body": plain("from a document")}))
    outer: Streams = {"Workbook": CompoundFile(io.BytesIO(BOOK)).read("Workbook")}
    outer |= {("MBD0000A3B6", str(name)): raw for name, raw in inner.items()}
    found = read(packed(outer), "xls")
    assert found.at("from a sheet") == "Sheet row 1"
    assert found.at("from a document") == "embedded document 1.doc, paragraph 1"


BOOK = xls_files.xls({"Sheet": xls_files.label(0, 0, "from a sheet")})
