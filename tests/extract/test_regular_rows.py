"""Rows taken as text are the very rows that the parser gives."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from helpers.extract import odf, regular_rows, xlsx
from helpers.extract.blocks import Block
from tests.extract.office_files import Read, blocks, refusal, styles, texts
from tests.extract.office_files import odf as odf_file
from tests.extract.office_files import xlsx as xlsx_file

CELLS = (
    '<c r="A{row}" s="1"><v>45356.5</v></c>',
    '<c r="B{row}"><v>0.30000000000000004</v></c>',
    '<c r="C{row}" t="str"><f>A1&amp;B1</f><v>a &amp; b&#x20AC;</v></c>',
    '<c r="D{row}" t="b"><v>1</v></c>',
    '<c r="E{row}" t="e"><v>#DIV/0!</v></c>',
    '<c r="F{row}" t="inlineStr"><is><t xml:space="preserve"> 본문  글 </t></is></c>',
    '<c r="G{row}" s="0"/>',
    '<c r="H{row}" t="s"><v>1</v></c>',
    '<c r="I{row}"><f t="shared" si="0"/><v>7</v></c>',
    '<c r="J{row}" s="9" t="n" cm="1"><v>8</v></c>',
)
ODD_CELLS = (
    "<c><v>1</v></c>",
    '<c t="s" r="K{row}"><v>0</v></c>',
    '<c r="L{row}"><v xml:space="preserve">2</v></c>',
    '<c r="M{row}"> <v>3</v></c>',
    '<c r="N{row}"><v><![CDATA[4]]></v></c>',
    '<c r="O{row}" t="inlineStr"><is><r><t>가</t></r><r><t>나</t></r></is></c>',
    '<c r="P{row}"><!-- <c r="A1"><v>9</v></c> --><v>5</v></c>',
    '<c r="Q{row}"><v/></c>',
)
ROWS = ('<row r="{row}">', '<row r="{row}" spans="1:6" ht="12.8">')
ODD_ROWS = ("<row>", '<row spans="1:6" r="{row}">', '<!-- <row r="1"></row> --><row r="{row}">')
SHEET_CELLS = (
    "<table:table-cell><text:p>가 나</text:p></table:table-cell>",
    '<table:table-cell office:value-type="float" office:value="5"><text:p>5</text:p>'
    "</table:table-cell>",
    '<table:table-cell office:value-type="float" office:value="6"/>',
    '<table:table-cell table:number-columns-repeated="3"><text:p>a &amp; b</text:p>'
    "</table:table-cell>",
    '<table:table-cell table:number-columns-repeated="1000"/>',
    "<table:covered-table-cell/>",
    "<table:table-cell><text:p> x  y\n</text:p><text:p>둘째\u00a0줄</text:p></table:table-cell>",
    '<table:table-cell office:value-type="string">\n      <text:p>x</text:p>\n'
    "     <text:p> </text:p>\n     </table:table-cell>\n",
)
ODD_SHEET_CELLS = (
    "<table:table-cell><text:p>a<text:s/>b</text:p></table:table-cell>",
    "<table:table-cell><text:p/></table:table-cell>",
    "<table:table-cell> <text:p>x</text:p></table:table-cell>",
    "<table:table-cell><office:annotation><text:p>메모</text:p></office:annotation>"
    "<text:p>y</text:p></table:table-cell>",
    "<table:table-cell><text:p>x</text:p><!-- <table:table-cell/> --></table:table-cell>",
)
SHEET_ROWS = (
    "<table:table-row>",
    '<table:table-row table:style-name="ro1">',
    '<table:table-row table:number-rows-repeated="4">',
)


def workbook(chance: random.Random, odd: float) -> bytes:
    parts = []
    for row in range(1, 400):
        cells = [
            chance.choice(ODD_CELLS if chance.random() < odd else CELLS)
            for _ in range(chance.randrange(6))
        ]
        begin = chance.choice(ODD_ROWS if chance.random() < odd else ROWS)
        parts.append("".join([begin, *cells, "</row>"]).replace("{row}", str(row * 2)))
    shared = "<si><t>하나</t></si><si><t>둘</t></si>"
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    extra = {
        "xl/styles.xml": styles("General", "yyyy-mm-dd h:mm"),
        "xl/sharedStrings.xml": f'<sst xmlns="{space}">{shared}</sst>',
    }
    after = "<headerFooter><oddHeader>&amp;L대외비</oddHeader></headerFooter>"
    return xlsx_file("".join(parts), extra, after=after)


def spreadsheet(chance: random.Random, odd: float) -> bytes:
    sheets = []
    for number in range(3):
        rows = []
        for _ in range(200):
            cells = [
                chance.choice(ODD_SHEET_CELLS if chance.random() < odd else SHEET_CELLS)
                for _ in range(chance.randrange(5))
            ]
            rows.append("".join([chance.choice(SHEET_ROWS), *cells, "</table:table-row>"]))
        body = "".join(rows)
        sheets.append(
            f'<table:table table:name="S{number}"><table:table-column/>'
            f"<table:table-header-rows>{rows[0]}</table:table-header-rows>{body}</table:table>"
        )
    return odf_file(f"<office:spreadsheet>{''.join(sheets)}</office:spreadsheet>")


@pytest.mark.parametrize("odd", [0.0, 0.002, 0.05, 0.5])
@pytest.mark.parametrize(("read", "make"), [(xlsx.read, workbook), (odf.read, spreadsheet)])
def test_rows_are_those_of_the_parser(
    read: Read,
    make: Callable[[random.Random, float], bytes],
    odd: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(4):
        data = make(random.Random(seed), odd)
        for small in (200, 1 << 13):
            monkeypatch.setattr(regular_rows, "SMALL_RUN_BYTES", small)
            monkeypatch.setattr(regular_rows, "ODD_RUNS", 1_000_000)
            taken = blocks(read, data)
            monkeypatch.setattr(regular_rows, "ODD_RUNS", 0)
            assert taken == blocks(read, data)
            assert len(taken) > 100


def test_usual_rows_do_not_go_through_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    take = xlsx._Cells.take

    def counted(self: xlsx._Cells, found: regular_rows.Found) -> None:
        runs.append(len(found))
        take(self, found)

    monkeypatch.setattr(xlsx._Cells, "take", counted)
    found = blocks(xlsx.read, workbook(random.Random(1), 0.0))
    assert sum(runs) > len(found) > 100


def test_rows_inside_a_comment_are_not_taken() -> None:
    hidden = '<!-- <sheetData><row r="1"><c r="A1"><v>1</v></c></row> --><row r="2"/>'
    assert texts(xlsx.read, xlsx_file(hidden)) == []
    commented = (
        '<!--<row r="1"><c r="A1"><v>1</v></c></row>--><row r="2"><c r="A2"><v>2</v></c></row>'
    )
    assert texts(xlsx.read, xlsx_file(commented)) == ["Sheet1", "2"]


def test_letters_that_xml_does_not_allow_are_corrupt() -> None:
    row = '<row r="1"><c r="A1" t="str"><v>한{}</v></c></row>'
    assert texts(xlsx.read, xlsx_file(row.format(""))) == ["Sheet1", "한"]
    assert refusal(xlsx.read, xlsx_file(row.format("\x01"))).code == "corrupt"


@pytest.mark.parametrize("reference", ["&nbsp;", "&#0;", "&#xD800;", "&", "&x", "&#99999999999;"])
def test_a_reference_that_xml_does_not_know_is_corrupt(reference: str) -> None:
    row = f'<row r="1"><c r="A1" t="str"><v>a{reference}</v></c></row>'
    assert refusal(xlsx.read, xlsx_file(row)).code == "corrupt"


def test_every_block_is_located() -> None:
    found = blocks(odf.read, spreadsheet(random.Random(3), 0.01))
    assert all(isinstance(block, Block) and block.location for block in found)


def test_shared_strings_taken_as_text_are_those_of_the_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = ("<si><t>글 {at}</t></si>", '<si><t xml:space="preserve"> a &amp;  b_x000D_c </t></si>')
    odd = (
        "<si><r><t>가</t></r><r><t>나 {at}</t></r></si>",
        "<si><t>漢字</t><rPh><t>かんじ</t></rPh></si>",
        "<si><t/></si>",
        "<!-- <si><t>x</t></si> --><si><t>y</t></si>",
        "<si> <t>z</t></si>",
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    for seed, share in enumerate((0.0, 0.01, 0.3)):
        chance = random.Random(seed)
        items = (
            chance.choice(odd if chance.random() < share else usual).replace("{at}", str(at))
            for at in range(900)
        )
        part = f'<sst xmlns="{space}">{"".join(items)}</sst>'
        cells = "".join(
            f'<row r="{at + 1}"><c r="A{at + 1}" t="s"><v>{at}</v></c></row>' for at in range(905)
        )
        data = xlsx_file(cells, {"xl/sharedStrings.xml": part})
        monkeypatch.setattr(regular_rows, "ODD_RUNS", 12)
        taken = texts(xlsx.read, data)
        monkeypatch.setattr(regular_rows, "ODD_RUNS", 0)
        assert taken == texts(xlsx.read, data)
        assert len(taken) > 600
