"""Excel 2003 XML: the same look as .xlsx."""

from __future__ import annotations

import pytest

from helpers.extract.spreadsheetml import read
from tests.extract.office_files import blocks, refusal, texts, title

SPACES = (
    'xmlns="urn:schemas-microsoft-com:office:spreadsheet"'
    ' xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"'
    ' xmlns:x="urn:schemas-microsoft-com:office:excel"'
    ' xmlns:o="urn:schemas-microsoft-com:office:office"'
    ' xmlns:html="http://www.w3.org/TR/REC-html40"'
)
STYLES = (
    '<Styles><Style ss:ID="Default"/>'
    '<Style ss:ID="d"><NumberFormat ss:Format="Short Date"/></Style>'
    '<Style ss:ID="w"><NumberFormat ss:Format="yyyy&quot;년&quot; m&quot;월&quot;"/></Style>'
    '<Style ss:ID="p"><NumberFormat ss:Format="Percent"/></Style>'
    '<Style ss:ID="q" ss:Parent="p"/></Styles>'
)


def book(rows: str, name: str = "시트", after: str = "", before: str = "") -> bytes:
    text = (
        f'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook {SPACES}>'
        f'{before}{STYLES}<Worksheet ss:Name="{name}"><Table>{rows}</Table>{after}</Worksheet>'
        "</Workbook>"
    )
    return text.encode("utf-8")


def cell(text: str, kind: str = "String", look: str = "", index: str = "") -> str:
    style = f' ss:StyleID="{look}"' if look else ""
    place = f' ss:Index="{index}"' if index else ""
    return f'<Cell{style}{place}><Data ss:Type="{kind}">{text}</Data></Cell>'


def rows(data: bytes) -> list[tuple[str, str]]:
    return [
        (block.location.label, block.text)
        for block in blocks(read, data)
        if block.kind != "heading" and block.location is not None
    ]


def test_cells_of_every_kind_read_as_they_are_shown() -> None:
    data = book(
        f"<Row>{cell('이름')}{cell('ไทย')}</Row>"
        f"<Row>{cell('0.30000000000000004', 'Number')}{cell('0.125', 'Number', 'p')}"
        f"{cell('2024-03-05T00:00:00.000', 'DateTime', 'd')}"
        f"{cell('2024-03-05T14:30:00.000', 'DateTime')}"
        f"{cell('2024-03-05T00:00:00.000', 'DateTime', 'w')}"
        f"{cell('1', 'Boolean')}{cell('#DIV/0!', 'Error')}{cell('0.5', 'Number', 'q')}</Row>"
    )
    assert rows(data) == [
        ("시트 row 1", "이름 | ไทย"),
        (
            "시트 row 2",
            "0.3 | 12.50% | 2024-03-05 | 2024-03-05 14:30:00 | 2024년 3월"
            " | TRUE | #DIV/0! | 50.00%",
        ),
    ]
    assert [block.kind for block in blocks(read, data)] == ["heading", "table_header", "table_row"]


def test_rows_keep_their_numbers_across_gaps_and_spans() -> None:
    data = book(
        f"<Row>{cell('a')}</Row><Row ss:Index='10' ss:Span='4'/><Row>{cell('b')}</Row>"
        f"<Row ss:Index='815'>{cell('행815', index='7')}</Row>"
    )
    assert [label for label, _ in rows(data)] == ["시트 row 1", "시트 row 15", "시트 row 815"]


def test_rows_and_columns_lend_their_style_to_cells() -> None:
    data = book(
        "<Column/><Column ss:StyleID='p' ss:Span='1'/>"
        f"<Row>{cell('1', 'Number')}{cell('1', 'Number')}{cell('1', 'Number')}</Row>"
        f"<Row ss:StyleID='d'>{cell('45356', 'Number', index='3')}</Row>"
    )
    assert [text for _, text in rows(data)] == ["1 | 100.00% | 100.00%", "2024-03-05"]


def test_comments_headers_and_text_with_markup_are_read() -> None:
    note = '<Comment ss:Author="A"><ss:Data><html:B>A:</html:B> 메모</ss:Data></Comment>'
    rich = '<Cell><ss:Data ss:Type="String"><html:B>굵은</html:B> 글</ss:Data>' + note + "</Cell>"
    setup = (
        '<WorksheetOptions xmlns="urn:schemas-microsoft-com:office:excel"><PageSetup>'
        '<Header x:Data="&amp;L대외비"/><Footer x:Data="&amp;CPage &amp;P"/></PageSetup>'
        "</WorksheetOptions>"
    )
    data = book(f"<Row ss:Index='4'>{rich}</Row>", after=setup)
    assert rows(data) == [
        ("시트 row 4", "굵은 글"),
        ("시트 header and footer", "대외비"),
        ("시트 row 4", "A: 메모"),
    ]


def test_the_title_is_that_of_the_properties() -> None:
    properties = (
        '<DocumentProperties xmlns="urn:schemas-microsoft-com:office:office">'
        "<Title>분기 보고</Title><Keywords>예산; 결산</Keywords></DocumentProperties>"
    )
    assert title(read, book(f"<Row>{cell('x')}</Row>", before=properties)) == "분기 보고"


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        ("windows-874", "cp874", "ค้างชำระ"),
        ("euc-kr", "cp949", "예산"),
        ("UTF-16", "utf-16", "예산"),
    ],
)
def test_other_charsets_are_read(declared: str, codec: str, text: str) -> None:
    data = (
        f'<?xml version="1.0" encoding="{declared}"?><Workbook {SPACES}><Worksheet ss:Name="S">'
        f"<Table><Row>{cell(text)}</Row></Table></Worksheet></Workbook>"
    )
    assert texts(read, data.encode(codec)) == ["S", text]


def test_a_doctype_and_broken_xml_are_corrupt() -> None:
    data = book(f"<Row>{cell('x')}</Row>")
    assert refusal(read, data.replace(b"<Workbook", b"<!DOCTYPE a><Workbook")).code == "corrupt"
    assert refusal(read, data[: len(data) // 2]).code == "corrupt"


def test_a_large_sheet_streams() -> None:
    many = "".join(f"<Row>{cell(f'줄 {at}')}{cell(str(at), 'Number')}</Row>" for at in range(5_000))
    assert rows(book(many))[-1] == ("시트 row 5000", "줄 4999 | 4999")
