"""Small office files made in memory for the tests of their readers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping

from helpers.errors import Unread
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
ODF = " ".join(
    f'xmlns:{prefix}="{_OASIS}:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "style": "style",
        "presentation": "presentation",
        "meta": "meta",
        "manifest": "manifest",
    }.items()
)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

Parts = Mapping[str, str | bytes]
Read = Callable[[io.BytesIO, Context], Iterator[Item]]


def packed(parts: Parts, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP container of these parts."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as container:
        for name, content in parts.items():
            container.writestr(zipfile.ZipInfo(name), content, method)
    return target.getvalue()


def relations(**targets: str) -> str:
    """A relationships part: `header__rId7="header1.xml"` gives type header, id rId7."""
    arrows = "".join(
        f'<Relationship Id="{key.partition("__")[2] or key}" Target="{target}"'
        f' Type="{_RELATIONS}/{key.partition("__")[0]}"/>'
        for key, target in targets.items()
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{arrows}</Relationships>'


def docx(body: str, extra: Parts | None = None, **related: str) -> bytes:
    """A Word document around `body`, the content of w:body."""
    return packed(
        {
            "_rels/.rels": relations(officeDocument="word/document.xml"),
            "word/document.xml": f"<w:document {W} {R} {MC} {A}><w:body>{body}</w:body>"
            "</w:document>",
            "word/_rels/document.xml.rels": relations(**related),
            **(extra or {}),
        }
    )


def paragraph(text: str, style: str = "") -> str:
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{look}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def xlsx(rows: str, extra: Parts | None = None, name: str = "Sheet1", after: str = "") -> bytes:
    """A workbook of one sheet; `rows` is the content of sheetData, `after` what follows it."""
    return packed(
        {
            "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook {S} {R}><sheets><sheet name="{name}" sheetId="1"'
            ' r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                worksheet__rId1="worksheets/sheet1.xml",
                sharedStrings__rId2="sharedStrings.xml",
                styles__rId3="styles.xml",
            ),
            "xl/worksheets/sheet1.xml": f"<worksheet {S} {R}><sheetData>{rows}</sheetData>"
            f"{after}</worksheet>",
            **(extra or {}),
        }
    )


def styles(*codes: str) -> str:
    """A style part whose style number n shows numbers by the nth code."""
    formats = "".join(
        f'<numFmt numFmtId="{200 + at}" formatCode="{code}"/>' for at, code in enumerate(codes)
    )
    cells = "".join(f'<xf numFmtId="{200 + at}"/>' for at in range(len(codes)))
    return f"<styleSheet {S}><numFmts>{formats}</numFmts><cellXfs>{cells}</cellXfs></styleSheet>"


def pptx(*slides: str, extra: Parts | None = None) -> bytes:
    """A presentation; each slide is the content of its p:spTree."""
    order = "".join(f'<p:sldId id="{256 + at}" r:id="rId{at}"/>' for at in range(len(slides)))
    arrows = {f"slide__rId{at}": f"slides/slide{at}.xml" for at in range(len(slides))}
    return packed(
        {
            "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
            "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{order}</p:sldIdLst>"
            "</p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(**arrows),
            **{
                f"ppt/slides/slide{at}.xml": f"<p:sld {P} {A} {R} {MC}><p:cSld><p:spTree>{slide}"
                "</p:spTree></p:cSld></p:sld>"
                for at, slide in enumerate(slides)
            },
            **(extra or {}),
        }
    )


def shape(text: str, placeholder: str = "") -> str:
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{placeholder}"/></p:nvPr></p:nvSpPr>'
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp>{holder if placeholder else ''}<p:txBody>{lines}</p:txBody></p:sp>"


def odf(body: str, extra: Parts | None = None, automatic: str = "") -> bytes:
    """An OpenDocument file around `body`, the content of office:body."""
    return packed(
        {
            "content.xml": f"<office:document-content {ODF}><office:automatic-styles>{automatic}"
            f"</office:automatic-styles><office:body>{body}</office:body>"
            "</office:document-content>",
            **(extra or {}),
        }
    )


def items(read: Read, data: bytes) -> list[Item]:
    return list(read(io.BytesIO(data), Context("file", len(data))))


def blocks(read: Read, data: bytes) -> list[Block]:
    return [item for item in items(read, data) if isinstance(item, Block)]


def texts(read: Read, data: bytes) -> list[str]:
    return [block.text for block in blocks(read, data)]


def notices(read: Read, data: bytes) -> list[Notice]:
    return [item for item in items(read, data) if isinstance(item, Notice)]


def title(read: Read, data: bytes) -> str | None:
    """The title that the document ends up with."""
    found = None
    for item in items(read, data):
        if isinstance(item, Metadata) and item.title:
            found = item.title
    return found


def refusal(read: Read, data: bytes) -> Unread:
    """The error this file is refused with."""
    try:
        items(read, data)
    except Unread as error:
        return error
    raise AssertionError("the file was read")
