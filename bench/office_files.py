"""Office files made by code, about as their programs write them: prose, tables and slides.

Each maker gives a container whose XML has about `xml_bytes` bytes; the words come from
`bench.corpus`, so that texts repeat as they do in life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import open_files
from bench.corpus import Prose
from bench.office_parts import HEAD, LANGUAGES, filled, packed

_OOXML = "http://schemas.openxmlformats.org"
_MAIN = f"{_OOXML}/officeDocument/2006/relationships"


def docx(xml_bytes: int) -> bytes:
    """Paragraphs of several runs, a heading now and then, a table every so often."""
    prose = Prose()
    look = '<w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri"/><w:sz w:val="22"/></w:rPr>'

    def run(text: str) -> str:
        return f'<w:r w:rsidRPr="00A77B3E">{look}<w:t xml:space="preserve">{text}</w:t></w:r>'

    def paragraph(text: str, style: str = "") -> str:
        step = len(text) // 3 + 1
        thirds = [text[at : at + step] for at in range(0, len(text), step)]
        named = f'<w:pStyle w:val="{style}"/>' if style else '<w:spacing w:after="160"/>'
        runs = "".join(map(run, thirds))
        return (
            f'<w:p w:rsidR="00A77B3E" w:rsidRDefault="00A77B3E"><w:pPr>{named}</w:pPr>{runs}</w:p>'
        )

    def cell(text: str) -> str:
        return f'<w:tc><w:tcPr><w:tcW w:w="2400" w:type="dxa"/></w:tcPr>{paragraph(text)}</w:tc>'

    def body() -> Iterator[str]:
        for number in range(10**9):
            language = LANGUAGES[number % 3]
            if number % 12 == 0:
                yield paragraph(prose.sentences[language][number % 6_000][:60], "Heading1")
            yield paragraph(prose.paragraph(language))
            if number % 20 == 0:
                rows = (
                    "".join(
                        cell(text[:30])
                        for text in prose.chance.choices(prose.sentences[language], k=4)
                    )
                    for _ in range(8)
                )
                yield f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"

    space = f'xmlns:w="{_OOXML}/wordprocessingml/2006/main"'
    content = f"<w:body>{filled(xml_bytes, body())}</w:body>"
    return packed(
        {
            "_rels/.rels": _arrows(officeDocument="word/document.xml"),
            "word/document.xml": f"{HEAD}<w:document {space}>{content}</w:document>",
        }
    )


def xlsx(xml_bytes: int) -> bytes:
    """Rows of two texts, a number, a date, a price and a share, as Excel writes them."""
    prose = Prose()
    texts = [text.strip() for language in LANGUAGES for text in prose.sentences[language][:3_000]]

    def rows() -> Iterator[str]:
        for number in range(1, 10**9):
            one, other = prose.chance.randrange(len(texts)), prose.chance.randrange(len(texts))
            price = prose.chance.randrange(100, 10_000_000)
            share = prose.chance.random()
            yield (
                f'<row r="{number}" spans="1:6" x14ac:dyDescent="0.3">'
                f'<c r="A{number}" t="s"><v>{one}</v></c><c r="B{number}" t="s"><v>{other}</v></c>'
                f'<c r="C{number}"><v>{number}</v></c>'
                f'<c r="D{number}" s="1"><v>{45_000 + number % 700}</v></c>'
                f'<c r="E{number}" s="2"><v>{price}</v></c>'
                f'<c r="F{number}" s="3"><v>{share!r}</v></c></row>'
            )

    strings = "".join(f"<si><t>{text}</t></si>" for text in texts)
    space = f'xmlns="{_OOXML}/spreadsheetml/2006/main"'
    ac = 'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"'
    arrows = f'xmlns:r="{_MAIN}"'
    cells = "".join(f'<xf numFmtId="{code}" xfId="0"/>' for code in (0, 14, 3, 10))
    sheet = filled(xml_bytes - len(strings.encode()), rows())
    return packed(
        {
            "_rels/.rels": _arrows(officeDocument="xl/workbook.xml"),
            "xl/workbook.xml": f'{HEAD}<workbook {space} {arrows}><sheets><sheet name="자료" '
            'sheetId="1" r:id="worksheet"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _arrows(
                worksheet="worksheets/sheet1.xml",
                sharedStrings="sharedStrings.xml",
                styles="styles.xml",
            ),
            "xl/styles.xml": f"{HEAD}<styleSheet {space}><cellXfs>{cells}</cellXfs></styleSheet>",
            "xl/sharedStrings.xml": f"{HEAD}<sst {space}>{strings}</sst>",
            "xl/worksheets/sheet1.xml": f"{HEAD}<worksheet {space} {ac}><sheetData>{sheet}"
            "</sheetData></worksheet>",
        }
    )


def pptx(xml_bytes: int) -> bytes:
    """Slides with a title and a box of six lines."""
    prose = Prose()
    spaces = f'xmlns:p="{_OOXML}/presentationml/2006/main" xmlns:a="{_OOXML}/drawingml/2006/main"'
    spaces += f' xmlns:r="{_MAIN}"'

    def line(text: str) -> str:
        look = '<a:rPr lang="ko-KR" sz="1800" dirty="0"><a:latin typeface="Arial"/></a:rPr>'
        return (
            f'<a:p><a:pPr marL="285750" indent="-285750"/><a:r>{look}<a:t>{text}</a:t></a:r></a:p>'
        )

    def shape(number: int, kind: str, lines: list[str]) -> str:
        frame = '<a:xfrm><a:off x="838200" y="365125"/><a:ext cx="10515600" cy="1325563"/></a:xfrm>'
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{kind} {number}"/><p:cNvSpPr/><p:nvPr>'
            f'<p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr>{frame}</p:spPr><p:txBody>'
            f"<a:bodyPr/><a:lstStyle/>{''.join(map(line, lines))}</p:txBody></p:sp>"
        )

    parts: dict[str, str] = {}
    total = number = 0
    while total < xml_bytes:
        number += 1
        texts = prose.sentences[LANGUAGES[number % 3]]
        boxes = [shape(2, "title", [prose.chance.choice(texts)[:50]])]
        boxes += [shape(at, "body", prose.chance.choices(texts, k=6)) for at in range(3, 9)]
        slide = (
            f"{HEAD}<p:sld {spaces}><p:cSld><p:spTree>{''.join(boxes)}</p:spTree></p:cSld></p:sld>"
        )
        parts[f"ppt/slides/slide{number}.xml"] = slide
        total += len(slide.encode())
    order = "".join(f'<p:sldId id="{256 + at}" r:id="slide__{at}"/>' for at in range(1, number + 1))
    arrows = {f"slide__{at}": f"slides/slide{at}.xml" for at in range(1, number + 1)}
    return packed(
        {
            "_rels/.rels": _arrows(officeDocument="ppt/presentation.xml"),
            "ppt/presentation.xml": f"{HEAD}<p:presentation {spaces}><p:sldIdLst>{order}"
            "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": _arrows(**arrows),
            **parts,
        }
    )


def hwpx(xml_bytes: int) -> bytes:
    """Paragraphs with the places of their lines, a heading now and then, tables."""
    prose = Prose()
    space = " ".join(
        f'xmlns:{prefix}="http://www.hancom.co.kr/hwpml/2011/{name}"'
        for prefix, name in {"hp": "paragraph", "hs": "section", "hh": "head"}.items()
    )

    def paragraph(text: str, shape: int = 0) -> str:
        lines = "".join(
            f'<hp:lineseg textpos="{at}" vertpos="{at * 40}" vertsize="1000" textheight="1000"'
            ' baseline="850" spacing="600" horzpos="0" horzsize="42520" flags="393216"/>'
            for at in range(0, len(text), 40)
        )
        return (
            f'<hp:p id="2147483648" paraPrIDRef="{shape}" styleIDRef="0" pageBreak="0"'
            f' columnBreak="0" merged="0"><hp:run charPrIDRef="9"><hp:t>{text}</hp:t></hp:run>'
            f"<hp:linesegarray>{lines}</hp:linesegarray></hp:p>"
        )

    def cell(text: str, row: int, column: int) -> str:
        return (
            '<hp:tc name="" header="0" hasMargin="0" protect="0" editable="0" dirty="0">'
            '<hp:subList id="" textDirection="HORIZONTAL" lineWrap="BREAK" vertAlign="CENTER">'
            f"{paragraph(text)}</hp:subList>"
            f'<hp:cellAddr colAddr="{column}" rowAddr="{row}"/>'
            '<hp:cellSpan colSpan="1" rowSpan="1"/><hp:cellSz width="9193" height="3319"/></hp:tc>'
        )

    def body() -> Iterator[str]:
        for number in range(10**9):
            language = LANGUAGES[number % 3]
            if number % 12 == 0:
                yield paragraph(prose.sentences[language][number % 6_000][:60], 1)
            yield paragraph(prose.paragraph(language))
            if number % 20 == 0:
                chosen = prose.chance.choices(prose.sentences[language], k=32)
                rows = [chosen[at : at + 4] for at in range(0, 32, 4)]
                cells = (
                    "".join(cell(text[:30], row, column) for column, text in enumerate(texts))
                    for row, texts in enumerate(rows)
                )
                lines = "".join(f"<hp:tr>{row}</hp:tr>" for row in cells)
                table = f'<hp:tbl rowCnt="8" colCnt="4">{lines}</hp:tbl>'
                yield f'<hp:p paraPrIDRef="0"><hp:run charPrIDRef="0">{table}</hp:run></hp:p>'

    shapes = '<hh:paraPr id="1"><hh:heading type="OUTLINE" idRef="0" level="0"/></hh:paraPr>'
    content = filled(xml_bytes, body())
    return packed(
        {
            "mimetype": "application/hwp+zip",
            "Contents/header.xml": f"{HEAD}<hh:head {space}>{shapes}</hh:head>",
            "Contents/section0.xml": f"{HEAD}<hs:sec {space}>{content}</hs:sec>",
        }
    )


def _arrows(**targets: str) -> str:
    listed = "".join(
        f'<Relationship Id="{key}" Type="{_MAIN}/{key.partition("__")[0]}" Target="{target}"/>'
        for key, target in targets.items()
    )
    space = f"{_OOXML}/package/2006/relationships"
    return f'{HEAD}<Relationships xmlns="{space}">{listed}</Relationships>'


MAKERS: dict[str, Callable[[int], bytes]] = {
    "docx": docx,
    "xlsx": xlsx,
    "pptx": pptx,
    "odt": open_files.odt,
    "ods": open_files.ods,
    "odp": open_files.odp,
    "hwpx": hwpx,
    "fodt": open_files.fodt,
    "fods": open_files.fods,
    "epub": open_files.epub,
}
