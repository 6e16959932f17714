"""Damaged workbooks: whatever byte is wrong, a reader ends with blocks or with Unread."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest

from tests.extract import xls_files as made
from tests.extract import xlsb_files as parts
from tests.extract.compound_files import packed as compound
from tests.extract.office_files import A, relations, xlsx
from tests.extract.test_locked import agile
from tests.extract.test_office_mutations import damaged, outcome, repacked
from tests.extract.test_spreadsheetml import book, cell
from tests.extract.test_xls_protection import DEFAULT, rc4, xor
from tests.extract.xls_files import record

Damage = Callable[[bytes, random.Random], bytes]
Points = Callable[[int, int], int]

_CELLS = (
    record(0x14, made.text8("&L대외비"))
    + made.shared(0, 0, 0)
    + made.shared(0, 1, 1)
    + made.number(1, 0, 45356.5, 1)
    + made.packed_number(1, 1, 7)
    + made.packed_row(2, 0, 1, 2, 3)
    + made.label(3, 0, "본문")
    + made.truth(3, 1, 0x07, error=True)
    + made.formula_text(4, 0, "결과")
    + made.comment(4, 0, "메모")
    + made.text_object("글상자")
    + made.bof(0x20)
    + record(0x100D, b"\0\0" + made.text8("매출", False))
    + record(0x0A)
)
_TABLE = (
    struct.pack("<II", 2, 2)
    + made.text8("이름")
    + struct.pack("<HB", 3, 1)
    + "가".encode("utf-16-le")
)
_GLOBALS = [
    record(0x42, struct.pack("<H", 1200)),
    made.font(129, 8),
    made.number_format(164, 'yyyy"년" m"월"'),
    made.look(0),
    made.look(164),
    record(0xFC, _TABLE),
    record(0x3C, b"\1" + "나다".encode("utf-16-le")),
]
_STREAM = made.workbook({"가": _CELLS, "나": made.label(0, 0, "x")}, _GLOBALS)
_OLDER = [record(0x42, struct.pack("<H", 874)), made.font(222), made.look(0)]
FILES = {
    "xls": compound({"Workbook": _STREAM}),
    "xls-older": made.xls(
        {"S": made.label5(0, 0, "งบ", "cp874") + record(0x1C, bytes(6) + b"note")},
        _OLDER,
        biff=5,
    ),
    "xls-bare": made.bof(0x10, 3) + made.label5(0, 0, "x", "cp1252") + record(0x0A),
    "xls-rc4": rc4(DEFAULT),
    "xls-xor": xor(DEFAULT.encode(), 8),
    "xlsb": parts.xlsb(
        parts.row(1)
        + parts.cell(7, 0, struct.pack("<I", 0))
        + parts.cell(5, 1, struct.pack("<d", 45356.5))
        + parts.row(9)
        + parts.cell(6, 0, parts.text("값"))
        + parts.record(479, b"\0\0" + parts.text("&L대외비") * 6),
        {
            "xl/sharedStrings.bin": parts.strings("이름"),
            "xl/styles.bin": parts.looks("yyyy-mm-dd"),
            "xl/worksheets/_rels/sheet1.bin.rels": relations(
                comments="../comments1.bin", drawing="../drawing1.xml"
            ),
            "xl/comments1.bin": parts.record(635, bytes(36))
            + parts.record(637, b"\0" + parts.text("메모")),
            "xl/drawing1.xml": f"<r {A}><a:p><a:r><a:t>글상자</a:t></a:r></a:p></r>",
        },
    ),
    "xlsx-locked": agile(DEFAULT, spins=10),
    "spreadsheetml": book(
        f"<Column ss:Span='2'/><Row ss:Index='3'>{cell('가')}{cell('1', 'Number', 'p')}"
        f"{cell('2024-03-05T00:00:00.000', 'DateTime', 'w', '7')}</Row>"
    ),
    "xlsx": xlsx(
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1" t="str"><f>A1</f><v>a&amp;b</v></c></row>'
        '<row r="2" spans="1:1"><c r="A2" t="inlineStr"><is><t>행</t></is></c><c r="B2" s="0"/>'
        "</row>"
        "<row><c><v>3</v></c></row>"
    ),
}


# A container in a compound file: without its streams it is taken for an old document.
SEALED = {"xlsx-locked": {"read", "encrypted", "unsupported"}}
COMPOUND = {name for name in FILES if name.startswith("xls-") or name == "xls"}


def outcome_of(name: str, data: bytes) -> str:
    return outcome(name.partition("-")[0], data)


def within(data: bytes, chance: random.Random) -> bytes:
    """The compound file is sound, the workbook in it is damaged."""
    return compound({"Workbook": damaged(_STREAM, chance)})


@pytest.mark.parametrize("name", FILES)
def test_damage_gives_rows_or_a_typed_error(name: str, points: Points) -> None:
    chance = random.Random(name)
    outcomes = {outcome_of(name, damaged(FILES[name], chance)) for _ in range(points(200, 2_000))}
    assert outcomes <= {"read", "corrupt", "limit_reached", "encrypted", *SEALED.get(name, ())}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "damage"), [("xls", within), ("xlsb", repacked), ("xlsx", repacked)]
)
def test_damage_inside_a_sound_container_gives_rows_or_a_typed_error(
    name: str, damage: Damage, points: Points
) -> None:
    chance = random.Random(name)
    outcomes = {outcome_of(name, damage(FILES[name], chance)) for _ in range(points(200, 2_000))}
    assert outcomes <= {"read", "corrupt", "limit_reached", "encrypted"}
    assert "read" in outcomes


@pytest.mark.parametrize("name", FILES)
def test_every_cut_gives_rows_or_a_typed_error(name: str) -> None:
    data = FILES[name]
    outcomes = {outcome_of(name, data[:length]) for length in range(0, len(data), 7)}
    # A compound file may have lost no more than tables and directory entries that it does not use.
    allowed = {"corrupt", "empty", "limit_reached"} | ({"read"} if name in COMPOUND else set())
    allowed |= SEALED.get(name, set())
    assert outcomes <= allowed and "corrupt" in outcomes


@pytest.mark.parametrize("name", FILES)
def test_undamaged_workbooks_are_read(name: str) -> None:
    assert outcome_of(name, FILES[name]) == "read"
