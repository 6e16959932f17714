"""Binary workbooks: rows with their sheet and number, in every generation of the format."""

from __future__ import annotations

import datetime
import io
import math
import random
import struct
from functools import partial
from pathlib import Path

import pytest

from helpers.extract import xls_book, xls_runs, xls_sheet
from helpers.extract.blocks import Block, Context, Metadata
from helpers.extract.number_format import raw_number
from helpers.extract.sheets import in_one_line
from helpers.extract.xls import read
from helpers.extract.xls_numbers import rk_number
from helpers.extract.xls_records import StringTable
from tests.extract import xls_files as made
from tests.extract.compound_files import packed as compound
from tests.extract.office_files import blocks, items, notices, refusal, texts
from tests.extract.xls_files import record, xls

SERIAL = float((datetime.date(2024, 3, 5) - datetime.date(1899, 12, 30)).days)


def rows(data: bytes) -> list[tuple[str, str]]:
    """(label of the place, text) of every block but headings."""
    return [
        (block.location.label, block.text)
        for block in blocks(read, data)
        if block.kind != "heading" and block.location is not None
    ]


def test_cells_of_every_kind_read_as_they_are_shown() -> None:
    cells = (
        made.shared(0, 0, 0)
        + made.shared(0, 1, 1)
        + made.number(1, 0, 0.1 + 0.2)
        + made.packed_number(1, 1, -7)
        + made.packed_number(1, 2, 1234, cents=True)
        + made.packed_row(2, 0, 1, 2, 3)
        + made.label(3, 0, "본문 ไทย")
        + made.truth(3, 1, 1)
        + made.truth(3, 2, 0x07, error=True)
        + made.formula(4, 0, 42.0)
        + made.formula_text(4, 1, "결과")
        + made.formula(4, 2, b"\1\0\1\0\0\0\xff\xff")
        + made.formula(4, 3, b"\2\0\x2a\0\0\0\xff\xff")
        + made.formula(4, 4, b"\3\0\0\0\0\0\xff\xff")
    )
    data = xls({"시트": cells}, [made.string_table("이름", "ชื่อ")])
    assert rows(data) == [
        ("시트 row 1", "이름 | ชื่อ"),
        ("시트 row 2", "0.3 | -7 | 12.34"),
        ("시트 row 3", "1 | 2 | 3"),
        ("시트 row 4", "본문 ไทย | TRUE | #DIV/0!"),
        ("시트 row 5", "42 | 결과 | TRUE | #N/A"),
    ]
    kinds = [block.kind for block in blocks(read, data)]
    assert kinds == ["heading", "table_header"] + ["table_row"] * 4


def test_a_title_and_the_row_of_column_names_are_headers_as_in_xlsx() -> None:
    cells = made.label(0, 0, "보고서") + made.label(2, 0, "월") + made.label(2, 1, "합계")
    found = blocks(read, xls({"S": cells + made.packed_row(3, 0, 1, 2)}))
    assert [block.kind for block in found[1:]] == ["table_header", "table_header", "table_row"]


def test_rows_keep_their_numbers_across_gaps() -> None:
    cells = made.label(0, 0, "처음") + made.label(0, 1, "x") + made.label(814, 1, "행815")
    assert rows(xls({"S": cells}))[-1] == ("S row 815", "행815")


def test_number_formats_and_dates_read_as_shown() -> None:
    globals_ = [
        made.number_format(164, "0.0%"),
        made.number_format(165, 'yyyy"년" m"월" d"일"'),
        made.number_format(166, "GENERAL"),
        *(made.look(place) for place in (0, 164, 165, 14, 166, 3)),
    ]
    cells = (
        made.number(0, 0, 0.125, 1)
        + made.number(0, 1, SERIAL, 2)
        + made.packed_number(0, 2, int(SERIAL), 3)
        + made.number(0, 3, 7.0, 4)
        + made.number(0, 4, 1234567.0, 5)
        + made.number(0, 5, 5.5, 99)
        + made.formula(0, 6, SERIAL + 0.5, 3)
    )
    ((_, text),) = rows(xls({"S": cells}, globals_))
    assert text == "12.5% | 2024년 3월 5일 | 2024-03-05 | 7 | 1,234,567 | 5.5 | 2024-03-05"


def test_dates_may_count_from_1904() -> None:
    globals_ = [record(0x22, b"\1\0"), made.look(14)]
    assert rows(xls({"S": made.number(0, 0, SERIAL - 1462)}, globals_))[0][1] == "2024-03-05"


def test_sheets_come_in_tab_order_hidden_ones_too_without_modules() -> None:
    sheets = {name: made.label(0, 0, f"in {name}") for name in ("셋", "하나", "Module")}
    assert texts(read, xls(sheets, kinds={"Module": made.MODULE})) == [
        "셋",
        "in 셋",
        "하나",
        "in 하나",
    ]


def test_of_a_chart_sheet_the_names_are_read() -> None:
    title = record(0x100D, b"\0\0" + made.text8("분기별 매출", False))
    chart = title + made.number(0, 0, 5.0) + made.bof(0x20) + record(0x0A) + title
    sheets = {"차트": chart, "뒤": made.label(0, 0, "x")}
    data = xls(sheets, kinds={"차트": made.CHART})
    assert texts(read, data) == ["차트", "분기별 매출", "뒤", "x"]
    assert rows(data)[0] == ("차트 drawing", "분기별 매출")


def test_shared_strings_go_on_in_further_records() -> None:
    """The flags byte stands again before each continuation, and the width may change there."""
    first = made.text8("가나다라")[:-4]
    body = struct.pack("<II", 4, 4) + made.text8("앞") + first
    rest = b"\1" + "다라".encode("utf-16-le") + made.text8("그다음") + struct.pack("<HB", 6, 1)
    last = b"\0abc"
    table = record(0xFC, body) + record(0x3C, rest) + record(0x3C, last) + record(0x3C, b"\0def")
    cells = b"".join(made.shared(0, column, column) for column in range(4))
    assert rows(xls({"S": cells}, [table]))[0][1] == "앞 | 가나다라 | 그다음 | abcdef"


def test_formatting_and_pronunciation_of_shared_strings_are_passed_over() -> None:
    rich = struct.pack("<HBH", 2, 8, 2) + b"ab" + bytes(range(8))
    spoken = struct.pack("<HBI", 2, 5, 10) + "漢字".encode("utf-16-le") + b"\xff" * 10
    both = struct.pack("<HBHI", 1, 12, 1, 6) + b"z" + b"\1" * 4 + b"\2" * 6
    whole = rich + spoken + both + made.text8("끝")
    cells = b"".join(made.shared(0, column, column) for column in range(4))
    letters = {5, 6, *range(22, 26), 45, 59, 60}  # cut there, they would need their flags again
    for cut in set(range(len(whole) + 1)) - letters:
        head = struct.pack("<II", 4, 4)
        table = record(0xFC, head + whole[:cut]) + record(0x3C, whole[cut:])
        assert rows(xls({"S": cells}, [table]))[0][1] == "ab | 漢字 | z | 끝", cut


def test_a_long_text_of_a_formula_goes_on_in_further_records() -> None:
    head = record(0x207, struct.pack("<HB", 6, 1) + "가나".encode("utf-16-le"))
    cells = made.formula(0, 0, b"\0\0\0\0\0\0\xff\xff") + head
    cells += record(0x3C, b"\1" + "다라".encode("utf-16-le")) + record(0x3C, b"\0ab")
    assert rows(xls({"S": cells + made.label(0, 1, "뒤")})) == [("S row 1", "가나다라ab | 뒤")]


def test_comments_text_boxes_headers_and_charts_follow_the_rows() -> None:
    chart = made.bof(0x20) + record(0x100D, b"\0\0" + made.text8("매출", False))
    chart += made.label(0, 0, "cached") + record(0x0A)
    cells = (
        record(0x14, made.text8('&L&"Arial,Bold"내부용&RPage &P'))
        + record(0x15, made.text8("&CPage &P / &N"))
        + made.label(0, 0, "칸")
        + made.comment(4, 0, "메모")
        + made.text_object("글상자\n둘째 줄")
        + chart
    )
    assert rows(xls({"S": cells})) == [
        ("S row 1", "칸"),
        ("S header and footer", "내부용 Page"),
        ("S row 5", "메모"),
        ("S drawing", "글상자\n둘째 줄"),
        ("S drawing", "매출"),
    ]


def test_headers_of_the_first_page_are_read() -> None:
    counts = struct.pack("<4H", 0, 0, 2, 0)
    body = bytes(12) + bytes(16) + b"\0\0" + counts + made.text8("표지")
    cells = made.label(0, 0, "x") + record(0x89C, body)
    assert ("S header and footer", "표지") in rows(xls({"S": cells}))


@pytest.mark.parametrize(
    ("codec", "page", "text"), [("cp874", 874, "งบประมาณ"), ("cp949", 949, "예산 편성 펲")]
)
def test_older_text_is_decoded_by_the_code_page(codec: str, page: int, text: str) -> None:
    globals_ = [record(0x42, struct.pack("<H", page)), made.look(0)]
    rich = record(0xD6, struct.pack("<HHH", 1, 0, 0) + made.text5(text, codec) + b"\1\0\0")
    string = made.formula(2, 0, b"\0\0\0\0\0\0\xff\xff") + record(0x207, made.text5(text, codec))
    cells = made.label5(0, 0, text, codec) + rich + string
    data = xls({text: cells}, globals_, biff=5, codec=codec)
    assert texts(read, data) == [text] * 4
    (metadata,) = [item for item in items(read, data)[1:] if isinstance(item, Metadata)]
    assert metadata.encoding == codec


def test_the_font_tells_the_charset_where_the_code_page_is_the_western_one() -> None:
    globals_ = [record(0x42, struct.pack("<H", 1252))]
    globals_ += [made.font(charset) for charset in (0, 0, 0, 0, 222)]
    globals_ += [made.look(0), made.look(0, font=5)]
    cells = made.label5(0, 0, "café", "cp1252") + made.label5(1, 0, "ค้างชำระ", "cp874", 1)
    assert [text for _, text in rows(xls({"S": cells}, globals_, biff=5))] == ["café", "ค้างชำระ"]


def test_older_comments_may_be_in_pieces() -> None:
    cells = made.label5(0, 0, "x", "cp1252")
    cells += record(0x1C, struct.pack("<HHH", 6, 0, 10) + b"first ")
    cells += record(0x1C, struct.pack("<HHH", 0xFFFF, 0, 4) + b"last")
    assert rows(xls({"S": cells}, biff=5))[-1] == ("S row 7", "first last")


@pytest.mark.parametrize("biff", [3, 4])
def test_streams_without_a_container_are_read(biff: int) -> None:
    kind, head = {3: (0x243, b"\0"), 4: (0x443, b"\0")}[biff]
    code = b"\0\0\x05yy-mm" if biff == 4 else b"\x05yy-mm"
    formats = record(0x41E if biff == 4 else 0x1E, code.replace(b"\5yy-mm", b"\7General"))
    formats += record(0x41E if biff == 4 else 0x1E, code)
    looks = record(kind, head + b"\0" + bytes(10)) + record(kind, head + b"\1" + bytes(10))
    page = record(0x42, struct.pack("<H", 874))
    cells = made.label5(0, 0, "งบ", "cp874") + made.number(1, 0, SERIAL, 1) + made.number(2, 0, 2.0)
    cells += record({3: 0x206, 4: 0x406}[biff], struct.pack("<HHHd", 3, 0, 0, 9.5) + bytes(4))
    data = made.bof(0x10, biff) + page + formats + looks + cells + record(0x0A)
    assert [text for _, text in rows(data)] == ["งบ", "2024-03-05", "2", "9.5"]


def test_the_first_generation_is_read() -> None:
    def cell(kind: int, row: int, body: bytes, look: int = 0) -> bytes:
        return record(kind, struct.pack("<HH3B", row, 0, 0, look, 0) + body)

    data = (
        made.bof(0x10, 2)
        + record(0x1E, b"\7General")
        + record(0x1E, b"\5yy-mm")
        + cell(2, 0, struct.pack("<H", 650))
        + cell(3, 1, struct.pack("<d", SERIAL), 1)
        + cell(4, 2, b"\4text")
        + cell(5, 3, b"\1\0")
        + cell(6, 4, b"\0\0\0\0\0\0\xff\xff")
        + record(7, b"\6result")
        + record(0x0A)
    )
    expected = ["650", "2024-03-05", "text", "TRUE", "result"]
    assert [text for _, text in rows(data)] == expected


def test_a_book_of_the_fourth_generation_names_its_sheets() -> None:
    def sheet(name: bytes, text: str) -> bytes:
        inside = made.bof(0x10, 4) + made.label5(0, 0, text, "cp1252") + record(0x0A)
        return record(0x8F, struct.pack("<IB", len(inside), len(name)) + name) + inside

    data = made.bof(0x100, 4) + sheet(b"One", "1st") + sheet(b"Two", "2nd") + record(0x0A)
    assert texts(read, data) == ["One", "1st", "Two", "2nd"]


def test_a_file_written_column_by_column_still_gives_rows() -> None:
    cells = b"".join(
        made.label(row, column, f"{row}{column}") for column in range(3) for row in range(4)
    )
    assert rows(xls({"S": cells})) == [
        (f"S row {row + 1}", f"{row}0 | {row}1 | {row}2") for row in range(4)
    ]


def test_a_column_of_single_cells_is_read_in_order() -> None:
    cells = b"".join(made.label(row, 0, f"r{row}") for row in range(50))
    assert [text for _, text in rows(xls({"S": cells}))] == [f"r{row}" for row in range(50)]


def test_wrong_places_of_sheets_are_looked_for() -> None:
    stream = bytearray(made.workbook({"가": made.label(0, 0, "a"), "나": made.label(0, 0, "b")}))
    for at in [at for at in range(len(stream)) if stream[at : at + 2] == b"\x85\0"]:
        stream[at + 4 : at + 8] = struct.pack("<I", 3)
    assert texts(read, compound({"Workbook": bytes(stream)})) == ["가", "a", "나", "b"]


def test_a_missing_sheet_is_told() -> None:
    stream = made.workbook({"가": made.label(0, 0, "a"), "나": made.label(0, 0, "b")})
    cut = stream[: stream.rindex(b"\x09\x08")]
    (notice,) = notices(read, compound({"Workbook": cut}))
    assert notice.code == "part_unread" and "'나'" in notice.message


@pytest.mark.parametrize("biff", [5, 8])
def test_of_a_workbook_cut_short_the_rows_that_are_left_are_read(biff: int) -> None:
    letters = "x" * 90
    label = made.label if biff == 8 else partial(made.label5, codec="cp1252")
    sheet = b"".join(label(row, 0, f"{row} {letters}") for row in range(200))
    whole = xls({"A": sheet, "B": sheet}, biff=biff)
    data = whole[: int(len(whole) * 0.7)]
    found = rows(data)
    assert len(found) > 250 and found[-1] == (
        f"B row {len(found) - 200}",
        f"{len(found) - 201} {letters}",
    )
    (notice,) = notices(read, data)
    assert notice.code == "part_unread"
    assert notice.message == "The file is cut off: its last part is missing"
    missing, cut = notices(read, whole[: int(len(whole) * 0.4)])
    assert "'B'" in missing.message and cut == notice
    assert refusal(read, whole[:545]).code == "corrupt"


def test_a_stream_that_the_file_holds_in_part_is_read_so_far() -> None:
    sheet = b"".join(made.label(row, 0, f"{row} {'x' * 90}") for row in range(200))
    data = bytearray(xls({"가": sheet}))
    at = data.index("Workbook".encode("utf-16-le"))
    size = int.from_bytes(data[at + 120 : at + 124], "little")
    data[at + 120 : at + 124] = (size + 100_000).to_bytes(4, "little")
    assert len(rows(bytes(data))) == 200
    assert [notice.code for notice in notices(read, bytes(data))] == ["part_unread"]


def test_a_file_that_ends_before_its_workbook_begins_is_cut_short() -> None:
    sheet = b"".join(made.label(row, 0, f"{row} {'x' * 90}") for row in range(200))
    data = bytearray(xls({"가": sheet}))
    at = data.index("Workbook".encode("utf-16-le"))
    data[at + 116 : at + 120] = (len(data) // 512 - 1).to_bytes(4, "little")
    refused = refusal(read, bytes(data))
    assert refused.code == "corrupt" and "cut short" in refused.reason


def test_what_is_no_workbook_is_corrupt() -> None:
    assert refusal(read, compound({"Other": b"x"})).code == "corrupt"
    assert refusal(read, b"\x09\x00junk").code == "corrupt"
    assert refusal(read, compound({"Workbook": b"not a workbook" * 9})).code == "corrupt"


def test_shared_strings_are_the_same_together_and_one_by_one() -> None:
    letters = ["a", "é", "가", " ", "\n", "\u3000", "\xa0", "¦", "\u200b", "", "\U0001f600"]
    chance = random.Random(5)
    found = StringTable()
    for _ in range(60):
        texts = ["".join(chance.choices(letters[:3], k=5)) for _ in range(chance.randrange(9))]
        if chance.random() < 0.5:
            texts += ["".join(chance.choices(letters, k=6)) for _ in range(chance.randrange(4))]
        table = made.string_table(*texts)
        found = StringTable()
        found.feed(table[4:])
        assert found.found == [in_one_line(text) for text in texts]


def test_many_shared_strings_are_kept_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xls_book, "COMPACT_STRINGS", 3)
    names = [f"문자열 {at}" for at in range(2_000)]
    table = made.string_table(*names)
    cells = b"".join(made.shared(0, column, column * 100) for column in range(20))
    shown = rows(xls({"S": cells + made.shared(1, 0, 9_999)}, [table]))
    assert shown == [("S row 1", " | ".join(names[::100]))]


def test_short_numbers_are_unpacked() -> None:
    assert [rk_number(value) for value in (7 << 2 | 2, -3 << 2 | 2, 1234 << 2 | 3)] == [
        7,
        -3,
        12.34,
    ]
    (bits,) = struct.unpack("<q", struct.pack("<d", 1.5))
    assert rk_number(bits >> 32) == 1.5
    assert [raw_number(value) for value in (5.0, -0.0, 0.25, 1e20)] == ["5", "0", "0.25", "1e+20"]


def test_reference_workbooks_are_read(shared: Path) -> None:
    for name in ("tika_testEXCEL.xls", "tika_testEXCEL_5.xls"):
        data = (shared / "docs" / "xls" / name).read_bytes()
        found = rows(data)
        assert found[0] == ("Feuil1 row 1", "Sample Excel Worksheet - Numbers and their Squares")
        assert ("Feuil1 row 20", "15 | 225") in found
    data = (shared / "docs" / "xls" / "tika_testEXCEL_protected_passtika.xls").read_bytes()
    assert refusal(read, data).code == "encrypted"


def test_every_block_has_a_location() -> None:
    data = xls({"S": made.label(0, 0, "x") + made.comment(0, 0, "y")})
    found = list(read(io.BytesIO(data), Context("a.xls", len(data))))
    assert all(item.location for item in found if isinstance(item, Block))


CODES = ("0.0%", "#,##0", '"₩"#,##0.00"원"', "0.000", '0"\n%"')


def _number(chance: random.Random) -> float:
    """Halves that round up, numbers that the quick ways leave, and what is no number."""
    odd = (0.5, 1.0, -0.0, 0.125, 2.675, -3.5, 1e-7, 1e20, 123456789012.5, math.inf, math.nan)
    return chance.choice(
        (*odd, chance.random(), chance.random() * 1e6, float(chance.randrange(9999)))
    )


def _table(chance: random.Random) -> bytes:
    """Rows of a few shapes, some of them odd, some with a gap or a cell more."""
    shapes = [[chance.randrange(8) for _ in range(chance.randint(1, 5))] for _ in range(4)]
    found, row = b"", 0
    shape = shapes[0]
    for _ in range(300):
        if chance.random() < 0.1:
            shape = chance.choice(shapes)
        row += 1 if chance.random() < 0.95 else chance.randrange(1, 5)
        for column, kind in enumerate(shape):
            style = chance.randrange(9) if chance.random() < 0.02 else (column + len(shape)) % 9
            found += (
                made.shared(row, column, chance.randrange(12), style),
                made.number(row, column, _number(chance), style),
                made.packed_number(
                    row, column, chance.randrange(-9, 900), style, chance.random() < 0.5
                ),
                made.packed_row(row, column, chance.randrange(9), chance.randrange(9)),
                made.formula(row, column, chance.random(), style),
                record(0x201, struct.pack("<HHH", row, column, 0)),
                made.truth(row, column, chance.randrange(2)),
                made.formula_text(row, column, chance.choice("가나다")),
            )[kind]
        if chance.random() < 0.03:
            found += made.label(row, 20, "끝")
    return found


@pytest.mark.parametrize("seed", range(6))
def test_rows_taken_in_runs_are_those_read_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    strings = made.string_table(*(f"글 {at}" if at else "" for at in range(10)))
    globals_ = [made.number_format(164 + at, code) for at, code in enumerate(CODES)]
    globals_ += [made.look(place) for place in (0, 164, 14, 165, 166, 167, 168)]
    data = xls({"S": _table(random.Random(seed))}, [*globals_, strings])
    found = rows(data)
    for piece in (40, 333, 4_096):
        monkeypatch.setattr(xls_sheet, "PIECE_BYTES", piece)
        assert rows(data) == found
    monkeypatch.setattr(xls_runs.RowShapes, "learn", lambda *_: None)
    assert rows(data) == found
    assert len(found) > 200
