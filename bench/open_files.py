"""OpenDocument files and books made by code, about as their programs write them.

Each maker gives a file whose XML has about `xml_bytes` bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.corpus import Prose
from bench.office_parts import HEAD, LANGUAGES, filled, packed

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_ODF = " ".join(
    f'xmlns:{prefix}="{_OASIS}:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "style": "style",
        "presentation": "presentation",
        "svg": "svg-compatible",
        "fo": "xsl-fo-compatible",
        "calcext": "calc-extension",
    }.items()
)
_BETWEEN = re.compile("(?<=>)(?=<(?:text:[ph][ >]|/?table:|/?office:))")


def odt(xml_bytes: int) -> bytes:
    """Paragraphs with spans, headings, a table now and then."""
    return _packed("text", _text(xml_bytes))


def fodt(xml_bytes: int) -> bytes:
    """The same in one file, with the line ends that LibreOffice writes."""
    return _flat("text", _text(xml_bytes))


def _text(xml_bytes: int) -> str:
    prose = Prose()

    def paragraph(text: str) -> str:
        half = len(text) // 2
        return (
            f'<text:p text:style-name="P1">{text[:half]}<text:span text:style-name="T1">'
            f"{text[half:]}</text:span></text:p>"
        )

    def body() -> Iterator[str]:
        for number in range(10**9):
            texts = prose.sentences[LANGUAGES[number % 3]]
            if number % 12 == 0:
                yield (
                    '<text:h text:style-name="H1" text:outline-level="1">'
                    f"{prose.chance.choice(texts)[:60]}</text:h>"
                )
            yield paragraph(prose.paragraph(LANGUAGES[number % 3]))
            if number % 20 == 0:
                rows = "".join(
                    "<table:table-row>"
                    + "".join(
                        f'<table:table-cell table:style-name="A1" office:value-type="string">'
                        f"{paragraph(text[:30])}</table:table-cell>"
                        for text in prose.chance.choices(texts, k=4)
                    )
                    + "</table:table-row>"
                    for _ in range(8)
                )
                yield f'<table:table table:name="T{number}">{rows}</table:table>'

    return f"<office:text>{filled(xml_bytes, body())}</office:text>"


def ods(xml_bytes: int) -> bytes:
    """Rows of two texts, a number, a date, a price and a share, as LibreOffice writes them."""
    return _packed("spreadsheet", _sheet(xml_bytes))


def fods(xml_bytes: int) -> bytes:
    """The same in one file, with the line ends that LibreOffice writes."""
    return _flat("spreadsheet", _sheet(xml_bytes))


def _sheet(xml_bytes: int) -> str:
    prose = Prose()
    texts = [text.strip() for language in LANGUAGES for text in prose.sentences[language][:3_000]]

    def cell(kind: str, attributes: str, text: str) -> str:
        value = f'office:value-type="{kind}" {attributes}calcext:value-type="{kind}"'
        look = f'table:style-name="{kind}"'
        return f"<table:table-cell {look} {value}><text:p>{text}</text:p></table:table-cell>"

    def rows() -> Iterator[str]:
        for number in range(1, 10**9):
            price = prose.chance.randrange(100, 10_000_000)
            share = round(prose.chance.random(), 4)
            day = f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}"
            yield (
                '<table:table-row table:style-name="ro1">'
                + cell("string", "", prose.chance.choice(texts))
                + cell("string", "", prose.chance.choice(texts))
                + cell("float", f'office:value="{number}" ', str(number))
                + cell("date", f'office:date-value="{day}" ', day)
                + cell("float", f'office:value="{price}" ', f"{price:,}")
                + cell("percentage", f'office:value="{share}" ', f"{share:.2%}")
                + "</table:table-row>"
            )

    sheet = f'<table:table table:name="자료">{filled(xml_bytes, rows())}</table:table>'
    return f"<office:spreadsheet>{sheet}</office:spreadsheet>"


def odp(xml_bytes: int) -> bytes:
    """Slides with a title and a box of six lines."""
    prose = Prose()

    def frame(kind: str, lines: list[str]) -> str:
        place = 'svg:width="25.199cm" svg:height="3.506cm" svg:x="1.4cm" svg:y="0.837cm"'
        shown = "".join(
            '<text:p text:style-name="P1"><text:span text:style-name="T1">'
            f"{text}</text:span></text:p>"
            for text in lines
        )
        return (
            f'<draw:frame presentation:style-name="pr1" draw:layer="layout" {place} '
            f'presentation:class="{kind}"><draw:text-box>{shown}</draw:text-box></draw:frame>'
        )

    def body() -> Iterator[str]:
        for number in range(10**9):
            texts = prose.sentences[LANGUAGES[number % 3]]
            boxes = [frame("title", [prose.chance.choice(texts)[:50]])]
            boxes += [frame("outline", prose.chance.choices(texts, k=6)) for _ in range(6)]
            yield f'<draw:page draw:name="page{number}">{"".join(boxes)}</draw:page>'

    slides = filled(xml_bytes, body())
    return _packed("presentation", f"<office:presentation>{slides}</office:presentation>")


def epub(xml_bytes: int) -> bytes:
    """Chapters of prose with words stressed, a list and a table in each, and their contents."""
    prose = Prose()

    def paragraph(text: str) -> str:
        third = len(text) // 3
        return (
            f'<p class="calibre1">{text[:third]}<i class="calibre2">{text[third : third + 12]}</i>'
            f"{text[third + 12 :]}</p>\n"
        )

    def several(before: str, texts: list[str], after: str) -> str:
        return "".join(f"{before}{text[:60]}{after}\n" for text in texts)

    def chapter(number: int) -> str:
        texts = prose.sentences[LANGUAGES[number % 3]]
        some = prose.chance.choices(texts, k=8)
        rows = several("<tr><td>", some[:4], "</td><td>1</td></tr>")
        body = "".join(paragraph(prose.paragraph(LANGUAGES[number % 3])) for _ in range(30))
        return (
            f'{HEAD}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Book</title>\n'
            '<link rel="stylesheet" type="text/css" href="style.css"/></head>\n'
            f'<body class="calibre">\n<h2 class="title">{some[0][:50]}</h2>\n{body}'
            f"<ul>\n{several('<li>', some, '</li>')}</ul>\n<table>{rows}</table>\n</body></html>"
        )

    pages: dict[str, str] = {}
    total = 0
    while total < xml_bytes:
        text = chapter(len(pages))
        pages[f"OEBPS/chapter{len(pages)}.xhtml"] = text
        total += len(text.encode())
    return packed({"mimetype": "application/epub+zip", **_package(list(pages)), **pages})


def _package(pages: list[str]) -> dict[str, str]:
    """What an EPUB 2 says about its pages."""
    names = [page.rpartition("/")[2] for page in pages]
    listed = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in names)
    points = "".join(
        f"<navPoint><navLabel><text>Chapter {number}</text></navLabel>"
        f'<content src="{name}"/></navPoint>'
        for number, name in enumerate(names, 1)
    )
    return {
        "META-INF/container.xml": f'{HEAD}<container xmlns="{_OASIS}:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": f'{HEAD}<package xmlns="http://www.idpf.org/2007/opf"><manifest>{listed}'
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f'<spine toc="ncx">{order}</spine></package>',
        "OEBPS/toc.ncx": f'{HEAD}<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{points}'
        "</navMap></ncx>",
    }


def _packed(kind: str, body: str) -> bytes:
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"{HEAD}<office:document-content {_ODF}><office:body>{body}"
            "</office:body></office:document-content>",
        }
    )


def _flat(kind: str, body: str) -> bytes:
    mime = f'office:mimetype="application/vnd.oasis.opendocument.{kind}"'
    body = _BETWEEN.sub("\n     ", f"<office:body>{body}</office:body>")
    return f"{HEAD}<office:document {_ODF} {mime}>{body}</office:document>".encode()
