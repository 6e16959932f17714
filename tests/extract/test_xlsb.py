"""Binary parts in a ZIP: the same look as .xlsx."""

from __future__ import annotations

import struct

import pytest

from helpers.extract import xlsb as reader
from helpers.extract.xlsb import read
from tests.extract.office_files import A, blocks, notices, packed, refusal, relations, texts
from tests.extract.xlsb_files import cell, looks, record, row, strings, text, xlsb

SERIAL = 45356.0


def rows(data: bytes) -> list[tuple[str, str]]:
    return [
        (block.location.label, block.text)
        for block in blocks(read, data)
        if block.kind != "heading" and block.location is not None
    ]


def double(value: float) -> bytes:
    return struct.pack("<d", value)


def test_cells_of_every_kind_read_as_they_are_shown() -> None:
    cells = (
        row(1)
        + cell(7, 0, struct.pack("<I", 1))
        + cell(6, 1, text("글 ไทย"))
        + cell(62, 2, b"\1" + text("rich") + bytes(8))
        + cell(1, 3, b"")
        + row(815)
        + cell(2, 0, struct.pack("<i", -7 << 2 | 2))
        + cell(5, 1, double(0.1 + 0.2))
        + cell(4, 2, b"\1")
        + cell(3, 3, b"\x07")
        + cell(8, 4, text("결과") + bytes(6))
        + cell(9, 5, double(42.0))
        + cell(10, 6, b"\0")
        + cell(11, 7, b"\x2a")
        + row(816)
        + record(18, struct.pack("<II", 0, 0))
        + record(16, struct.pack("<I", 0) + double(2.5))
    )
    data = xlsb(cells, {"xl/sharedStrings.bin": strings("첫째", "둘째")}, name="시트")
    assert rows(data) == [
        ("시트 row 1", "둘째 | 글 ไทย | rich"),
        ("시트 row 815", "-7 | 0.3 | TRUE | #DIV/0! | 결과 | 42 | FALSE | #N/A"),
        ("시트 row 816", "첫째 | 2.5"),
    ]
    assert blocks(read, data)[0].text == "시트"


def test_number_formats_and_dates_read_as_shown() -> None:
    cells = row(1) + cell(5, 0, double(SERIAL), 0) + cell(5, 1, double(0.5), 1)
    cells += cell(2, 2, struct.pack("<i", int(SERIAL) << 2 | 2), 0)
    extra = {"xl/styles.bin": looks("yyyy-mm-dd", "0.0%")}
    assert rows(xlsb(cells, extra))[0][1] == "2024-03-05 | 50.0% | 2024-03-05"
    assert rows(xlsb(cells, extra, flags=1))[0][1].startswith("2028-03-06")


def test_comments_headers_tables_and_shapes_are_read() -> None:
    cells = row(3) + cell(6, 0, text("값")) + row(4) + cell(6, 0, text("이름"))
    cells += cell(6, 1, text("나이")) + row(5) + cell(6, 0, text("a")) + cell(6, 1, text("b"))
    head = text("&L대외비") + text("&CPage &P") + b"\xff\xff\xff\xff" * 4
    note = record(635, struct.pack("<IIIII", 0, 4, 4, 0, 0) + bytes(16))
    note += record(637, b"\0" + text("메모"))
    area = struct.pack("<IIII", 3, 4, 0, 1) + struct.pack("<III", 0, 1, 1)
    shape = f"<r {A}><a:p><a:r><a:t>글상자</a:t></a:r></a:p></r>"
    data = xlsb(
        cells + record(479, b"\0\0" + head),
        {
            "xl/worksheets/_rels/sheet1.bin.rels": relations(
                comments="../comments1.bin", table="../table1.bin", drawing="../drawing1.xml"
            ),
            "xl/comments1.bin": note,
            "xl/table1.bin": record(660, area),
            "xl/drawing1.xml": shape,
        },
    )
    assert rows(data)[3:] == [
        ("Sheet1 header and footer", "대외비"),
        ("Sheet1 row 5", "메모"),
        ("Sheet1 drawing", "글상자"),
    ]
    kinds = {block.text: block.kind for block in blocks(read, data)}
    assert kinds["이름 | 나이"] == "table_header" and kinds["a | b"] == "table_row"


def test_a_missing_sheet_is_told() -> None:
    data = xlsb(row(1))
    whole = {"xl/worksheets/sheet1.bin": b""}
    assert texts(read, xlsb(b"", whole)) == []
    arrows = {"xl/_rels/workbook.bin.rels": relations(worksheet__rId1="gone.bin")}
    (notice,) = notices(read, xlsb(row(1), arrows))
    assert notice.code == "part_unread" and "'Sheet1'" in notice.message
    assert texts(read, data) == []


def test_a_part_that_ends_within_a_record_is_corrupt() -> None:
    whole = record(145) + row(1) + cell(6, 0, text("값"))
    assert refusal(read, xlsb(b"", {"xl/worksheets/sheet1.bin": whole[:-3]})).code == "corrupt"


def test_an_endless_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RECORD_BYTES", 1_000)
    error = refusal(read, xlsb(cell(6, 0, text("x" * 600))))
    assert error.code == "limit_reached" and "1,212 > 1,000 bytes" in error.reason


def test_records_are_put_together_across_pieces() -> None:
    cells = b"".join(row(at) + cell(6, 0, text(f"줄 {at} " + "x" * 50)) for at in range(1, 3_000))
    found = rows(xlsb(cells))
    assert [label for label, _ in found] == [f"Sheet1 row {at}" for at in range(1, 3_000)]


def test_a_container_without_a_workbook_is_corrupt() -> None:
    assert refusal(read, packed({"a": "b"})).code == "corrupt"
