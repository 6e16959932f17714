"""Workbooks: rows with their sheet and number, and numbers as people see them."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import xlsx_book
from helpers.extract.blocks import Location
from helpers.extract.number_format import plain, renderer
from helpers.extract.xlsx import read
from tests.extract.office_files import (
    A,
    S,
    blocks,
    notices,
    packed,
    refusal,
    relations,
    styles,
    texts,
    xlsx,
)


def inline(text: str) -> str:
    return f'<c t="inlineStr"><is><t>{text}</t></is></c>'


def strings(*values: str) -> dict[str, str]:
    items = "".join(f"<si>{value}</si>" for value in values)
    return {"xl/sharedStrings.xml": f"<sst {S}>{items}</sst>"}


def rows(data: bytes) -> list[tuple[str, str, str]]:
    """(kind, label, text) of every block but the sheets' names."""
    return [
        (block.kind, block.location.label, block.text)
        for block in blocks(read, data)
        if block.location and block.kind != "heading"
    ]


def test_a_row_after_a_gap_is_found_with_its_sheet_and_number() -> None:
    data = xlsx(
        f'<row r="1">{inline("행")}{inline("값")}</row><row r="2"/>'
        f'<row r="815">{inline("행815")}<c><v>8</v></c></row>',
        name="예산",
    )
    found = blocks(read, data)
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "예산"),
        ("table_header", "행 | 값"),
        ("table_row", "행815 | 8"),
    ]
    assert found[2].location == Location("sheet", "예산 row 815", 815, "예산")
    assert found[2].location.as_dict() == {
        "kind": "sheet",
        "label": "예산 row 815",
        "sheet": "예산",
        "row": 815,
    }


def test_rows_without_numbers_are_counted() -> None:
    data = xlsx(f"<row>{inline('a')}</row><row/><row>{inline('b')}</row>")
    assert [label for _, label, _ in rows(data)] == ["Sheet1 row 1", "Sheet1 row 3"]


def test_a_title_of_one_cell_leaves_the_column_names_a_header() -> None:
    data = xlsx(
        f"<row>{inline('Budget 2024')}</row><row>{inline('Item')}{inline('Won')}</row>"
        f"<row>{inline('Pipe')}{inline('46')}</row><row>{inline('Valve')}{inline('7')}</row>"
    )
    kinds = [kind for kind, _, _ in rows(data)]
    assert kinds == ["table_header", "table_header", "table_row", "table_row"]


def test_the_header_of_a_table_part_is_a_header() -> None:
    data = xlsx(
        "".join(f'<row r="{n}">{inline(f"a{n}")}{inline(f"b{n}")}</row>' for n in range(1, 7)),
        {
            "xl/worksheets/_rels/sheet1.xml.rels": relations(table="../tables/table1.xml"),
            "xl/tables/table1.xml": f'<table {S} ref="A4:B6"/>',
        },
    )
    headers = [text for kind, _, text in rows(data) if kind == "table_header"]
    assert headers == ["a1 | b1", "a4 | b4"]


def test_shared_strings_join_rich_runs_and_leave_out_phonetic_guides() -> None:
    data = xlsx(
        '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>9</v></c></row>',
        strings(
            "<r><t>가격</t></r><r><t xml:space='preserve'> 표</t></r><rPh><t>guide</t></rPh>",
            "<t>two_x000D_lines &amp; _x0041_</t>",
        ),
    )
    assert [text for _, _, text in rows(data)] == ["가격 표 | twolines & A"]


def test_cells_show_values_of_every_type() -> None:
    data = xlsx(
        '<row><c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="e"><v>#DIV/0!</v></c>'
        '<c t="str"><f>A1&amp;"x"</f><v>joined</v></c><c><f>1+1</f><v>2</v></c>'
        '<c t="d"><v>2024-03-05</v></c><c s="1"/><c><v>0.30000000000000004</v></c></row>'
    )
    assert [text for _, _, text in rows(data)] == [
        "TRUE | FALSE | #DIV/0! | joined | 2 | 2024-03-05 | 0.3"
    ]


def test_numbers_follow_their_cells_format() -> None:
    data = xlsx(
        '<row><c s="0"><v>45356</v></c><c s="1"><v>0.125</v></c><c s="2"><v>128450000</v></c>'
        '<c s="9"><v>5</v></c></row>',
        {"xl/styles.xml": styles("yyyy-mm-dd", "0.0%", "#,##0&quot;원&quot;")},
    )
    assert [text for _, _, text in rows(data)] == ["2024-03-05 | 12.5% | 128,450,000원 | 5"]


def test_dates_may_count_from_1904() -> None:
    parts = {
        "xl/workbook.xml": f'<workbook {S} xmlns:r="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships"><workbookPr date1904="1"/><sheets>'
        '<sheet name="S" r:id="rId1"/></sheets></workbook>',
        "xl/styles.xml": styles("yyyy-mm-dd"),
    }
    assert rows(xlsx('<row><c s="0"><v>43894</v></c></row>', parts))[0][2] == "2024-03-05"


def test_hidden_sheets_are_read_in_tab_order() -> None:
    sheets = (("둘째", "hidden", "rId2"), ("첫째", "visible", "rId1"), ("없음", "visible", "rId7"))
    book = "".join(f'<sheet name="{n}" state="{s}" r:id="{i}"/>' for n, s, i in sheets)
    data = packed(
        {
            "xl/workbook.xml": f'<workbook {S} xmlns:r="http://schemas.openxmlformats.org/'
            f'officeDocument/2006/relationships"><sheets>{book}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                worksheet__rId1="/xl/one.xml", worksheet__rId2="two.xml", worksheet__rId7="no.xml"
            ),
            **{
                f"xl/{word}.xml": f"<worksheet {S}><sheetData><row>{inline(word)}</row></sheetData>"
                "</worksheet>"
                for word in ("one", "two")
            },
        }
    )
    assert texts(read, data) == ["둘째", "two", "첫째", "one"]
    assert [notice.code for notice in notices(read, data)] == ["part_unread"]


def test_print_headers_lose_their_codes() -> None:
    after = (
        '<headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12기밀 &amp;&amp; 내부'
        "&amp;CPage &amp;P of &amp;N</oddHeader><oddFooter>&amp;CPage &amp;P</oddFooter>"
        "</headerFooter>"
    )
    found = rows(xlsx(f"<row>{inline('x')}</row>", after=after))
    assert found[1] == ("paragraph", "Sheet1 header and footer", "기밀 & 내부 Page of")
    assert len(found) == 2


def test_comments_and_text_boxes_are_located_on_their_sheet() -> None:
    threaded = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    data = xlsx(
        f"<row>{inline('x')}</row>",
        {
            "xl/worksheets/_rels/sheet1.xml.rels": relations(
                comments="../comments1.xml", threadedComment="../t.xml", drawing="../d.xml"
            ),
            "xl/comments1.xml": f'<comments {S}><commentList><comment ref="B7"><text><r><t>확인 '
            "</t></r><r><t>필요</t></r></text></comment><comment ref='C1'><text>"
            "<t>[Threaded comment] legacy</t></text></comment></commentList></comments>",
            "xl/t.xml": f'<ThreadedComments xmlns="{threaded}"><threadedComment ref="C9">'
            "<text>reply</text></threadedComment></ThreadedComments>",
            "xl/d.xml": f"<d {A}><a:p><a:r><a:t>box</a:t></a:r></a:p></d>",
        },
    )
    assert rows(data)[1:] == [
        ("paragraph", "Sheet1 row 7", "확인 필요"),
        ("paragraph", "Sheet1 row 9", "reply"),
        ("paragraph", "Sheet1 drawing", "box"),
    ]


def test_a_binary_workbook_is_named_as_such() -> None:
    data = packed(
        {"_rels/.rels": relations(officeDocument="xl/workbook.bin"), "xl/workbook.bin": b"\x83\x01"}
    )
    assert refusal(read, data).code == "unsupported"


def test_a_formatted_cell_in_the_last_place_costs_nothing(shared: Path) -> None:
    started = time.process_time()
    found = texts(read, (shared / "docs/xlsx/phantom_cells.xlsx").read_bytes())
    assert "멀리 있는 값" in found
    assert time.process_time() - started < 1


def test_a_doubled_entry_does_not_stop_the_reading(shared: Path) -> None:
    assert "v2" in texts(read, (shared / "docs/xlsx/poi_duplicate-filename.xlsx").read_bytes())


def test_the_row_behind_the_gap_of_the_reported_file(shared: Path) -> None:
    found = [row for row in rows((shared / "bugs/b26/gap.xlsx").read_bytes()) if "행815" in row[2]]
    assert found == [("table_row", "Sheet row 815", "행815 값 | 815")]


# --- caps -----------------------------------------------------------------------------------


def test_shared_strings_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_book, "SHEET_STRING_BYTES", 10_000)
    data = xlsx("", strings("<t>" + "가" * 5_000 + "</t>"))
    error = refusal(read, data)
    assert error.code == "limit_reached"
    assert "15,000 > 10,000 bytes" in error.reason


def test_one_string_shown_a_million_times_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.extract.sheets.OFFICE_TEXT_CHARS", 100_000)
    cells = '<row><c t="s"><v>0</v></c></row>' * 200
    error = refusal(read, xlsx(cells, strings("<t>" + "x" * 1_000 + "</t>")))
    assert error.code == "limit_reached"


def test_a_large_sheet_streams_through_little_memory() -> None:
    cells = "".join(
        f'<row r="{n}"><c r="A{n}" t="s"><v>{n % 100}</v></c><c r="B{n}"><v>{n}</v></c></row>'
        for n in range(1, 12_001)
    )
    data = xlsx(cells, strings(*(f"<t>이름 {n}</t>" for n in range(100))))
    import io

    from helpers.extract.blocks import Context

    tracemalloc.start()
    count = sum(1 for _ in read(io.BytesIO(data), Context("file", len(data))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 12_002
    assert peak < 8 * limits.MIB


def test_a_row_without_end_is_cut() -> None:
    data = xlsx(f'<row r="3">{inline("word " * 40) * 5_000}</row>')
    found = rows(data)
    assert len(found) > 1
    assert {label for _, label, _ in found} == {"Sheet1 row 3"}
    assert max(len(text) for _, _, text in found) < 1_000_000


def test_strings_are_found_by_index_and_misses_are_empty() -> None:
    found = xlsx_book.SharedStrings()
    for text in ("가", "", "b"):
        found.add(text)
    assert [found[at] for at in (-1, 0, 1, 2, 3)] == ["", "가", "", "b", ""]


def test_an_unread_main_part_fails_the_file() -> None:
    with pytest.raises(Unread):
        texts(read, xlsx("<row"))


# --- number formats ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "raw", "shown"),
    [
        ("General", "0.30000000000000004", "0.3"),
        ("General", "12480", "12480"),
        ('General"개"', "5", "5개"),
        ("0", "0.5", "1"),
        ("0.00", "1.005", "1.01"),
        ("0.##", "1.5", "1.5"),
        ("#,##0.00", "1234.5", "1,234.50"),
        ("#,##0,", "1234567", "1,235"),
        ("0%", "0.125", "13%"),
        ("0000", "42", "0042"),
        ('"₩"#,##0;[Red]-"₩"#,##0', "-1234.5", "-₩1,235"),
        ("[$₩-412]#,##0", "5000", "₩5,000"),
        ('_-* #,##0_-;-* #,##0_-;_-* "-"_-;_-@_-', "0", "-"),
        ("000-0000-0000", "1082123456", "010-8212-3456"),
        ("0-0000-00000-00-0", "1100701234567", "1-1007-01234-56-7"),
        ("###-####", "12", "12"),
        ("yyyy-mm-dd", "45356", "2024-03-05"),
        ("d/m/yy h:mm", "45356.5", "2024-03-05 12:00"),
        ("h:mm:ss AM/PM", "0.75", "18:00:00"),
        ("[h]:mm", "1.5", "36:00:00"),
        ('yyyy"년" m"월" d"일"', "45356", "2024년 3월 5일"),
        ('yyyy"년" m"월" d"일" h"시" mm"분"', "45356.25", "2024년 3월 5일 6시 00분"),
        ('m"월"', "45356", "3월"),
        ("[$-D07041E]d mmmm yyyy", "45356", "2567-03-05"),
        ("d/m/bbbb", "45356", "2567-03-05"),
        ("yyyy-mm-dd", "1", "1900-01-01"),
        ("yyyy-mm-dd", "61", "1900-03-01"),
    ],
)
def test_a_number_is_shown_by_its_format(code: str, raw: str, shown: str) -> None:
    assert renderer(code)(raw) == shown


@pytest.mark.parametrize(
    ("code", "raw"),
    [
        ("# ?/?", "0.5"),
        ("0.00E+00", "12"),
        ("@", "7"),
        (";;;", "8"),
        ("", "9"),
        ("x" * 2_000, "1"),
        ("yyyy-mm-dd", "-5"),
        ("yyyy", "1e9"),
        ("0", "nan"),
        ("0.0", "1e99"),
        ("[<5]0;0", "3"),
    ],
)
def test_what_is_not_understood_is_the_plain_number(code: str, raw: str) -> None:
    assert renderer(code)(raw) == plain(raw)


@pytest.mark.parametrize("raw", ["", "words", "1e400", "--", "1_000", "٣", "0x10", "9" * 5_000])
@pytest.mark.parametrize("code", ["General", "0.00", "yyyy", "[h]:mm", '0"개"'])
def test_a_value_that_is_no_number_raises_nothing(code: str, raw: str) -> None:
    assert isinstance(renderer(code)(raw), str)
