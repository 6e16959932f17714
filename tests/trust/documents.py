"""Small documents written here by hand, whole ones and malicious ones, as bytes.

The whole ones hold MARKER; the malicious ones would show LEAK, take a machine down, or knock
at a door, if a reader let them.
"""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable

from tests.extract import epub_files as books
from tests.extract import hangul_files as hangul

MARKER = "งบประมาณ 예산 budget"
LEAK = "LEAKED-CONTENT"
OFFICE = "http://schemas.openxmlformats.org"
RELATIONS = f"{OFFICE}/package/2006/relationships"
TYPES = f"{OFFICE}/package/2006/content-types"
MAIN_TYPES = {
    "word/document.xml": "wordprocessingml.document.main",
    "xl/workbook.xml": "spreadsheetml.sheet.main",
    "ppt/presentation.xml": "presentationml.presentation.main",
}
MATH = f'xmlns:m="{OFFICE}/officeDocument/2006/math"'
OASIS = "urn:oasis:names:tc:opendocument:xmlns"
ODF_NAMES = (
    f'xmlns:office="{OASIS}:office:1.0" xmlns:text="{OASIS}:text:1.0" '
    f'xmlns:table="{OASIS}:table:1.0" xmlns:draw="{OASIS}:drawing:1.0"'
)


def container(parts: dict[str, str | bytes], stored: str = "") -> bytes:
    """A ZIP of these parts; the one named `stored` is not compressed."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            method = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return held.getvalue()


def office(main: str, parts: dict[str, str | bytes]) -> bytes:
    """An Office Open XML container around these parts."""
    kind = f"application/vnd.openxmlformats-officedocument.{MAIN_TYPES[main]}+xml"
    types = f'<Types xmlns="{TYPES}"><Override PartName="/{main}" ContentType="{kind}"/></Types>'
    relations = _relations({"rId1": ("officeDocument", main)})
    return container({"[Content_Types].xml": types, "_rels/.rels": relations, **parts})


def _relations(targets: dict[str, tuple[str, str]]) -> str:
    entries = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/officeDocument/2006/relationships/{kind}" '
        f'Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{entries}</Relationships>'


def docx(text: str = MARKER, prolog: str = "") -> bytes:
    main = f'{prolog}<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main"><w:body><w:p><w:r>'
    main += f"<w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
    return office("word/document.xml", {"word/document.xml": main})


def xlsx(text: str = MARKER, prolog: str = "", strings: str | bytes = "") -> bytes:
    names = f'xmlns="{OFFICE}/spreadsheetml/2006/main"'
    far = f'xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
    shared = strings or f"{prolog}<sst {names}><si><t>{text}</t></si></sst>"
    book = f'<workbook {names} {far}><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets>'
    sheet = f'<worksheet {names}><sheetData><row r="3"><c r="B3" t="s"><v>0</v></c>'
    sheet += "<c r='C3'><v>12.5</v></c></row></sheetData></worksheet>"
    return office(
        "xl/workbook.xml",
        {
            "xl/workbook.xml": book + "</workbook>",
            "xl/_rels/workbook.xml.rels": _relations(
                {
                    "rId1": ("worksheet", "worksheets/sheet1.xml"),
                    "rId2": ("sharedStrings", "sharedStrings.xml"),
                }
            ),
            "xl/worksheets/sheet1.xml": sheet,
            "xl/sharedStrings.xml": shared,
        },
    )


def pptx(text: str = MARKER, prolog: str = "") -> bytes:
    names = f'xmlns:p="{OFFICE}/presentationml/2006/main" xmlns:a="{OFFICE}/drawingml/2006/main"'
    far = f'xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
    deck = f'<p:presentation {names} {far}><p:sldIdLst><p:sldId id="256" r:id="rId1"/>'
    slide = f"{prolog}<p:sld {names}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>{text}"
    slide += "</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    return office(
        "ppt/presentation.xml",
        {
            "ppt/presentation.xml": deck + "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": _relations({"rId1": ("slide", "slides/slide1.xml")}),
            "ppt/slides/slide1.xml": slide,
        },
    )


def odf(kind: str, text: str = MARKER, prolog: str = "") -> bytes:
    """`kind` is text, spreadsheet or presentation."""
    paragraph = f"<text:p>{text}</text:p>"
    cell = f"<table:table-row><table:table-cell>{paragraph}</table:table-cell></table:table-row>"
    frame = f"<draw:frame><draw:text-box>{paragraph}</draw:text-box></draw:frame>"
    body = {
        "text": paragraph,
        "spreadsheet": f'<table:table table:name="One">{cell}</table:table>',
        "presentation": f'<draw:page draw:name="One">{frame}</draw:page>',
    }[kind]
    content = f"{prolog}<office:document-content {ODF_NAMES}><office:body><office:{kind}>{body}"
    content += f"</office:{kind}></office:body></office:document-content>"
    mime = f"application/vnd.oasis.opendocument.{kind}"
    return container({"mimetype": mime, "content.xml": content}, stored="mimetype")


def hwpx(text: str = MARKER, prolog: str = "") -> bytes:
    body = hangul.section(hangul.p(text))
    return hangul.hwpx(body.replace("?>", f"?>{prolog}", 1))


def pdf(*contents: bytes, filters: str = "", pages: int = 1) -> bytes:
    """A PDF whose pages all show the stream `contents[0]`; further streams are objects 5, 6, ..."""
    kids = " ".join(f"{10 + page} 0 R" for page in range(pages))
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number, content in enumerate(contents, 4):
        head = f"<< /Length {len(content)} {filters} >>\nstream\n".encode()
        objects[number] = head + content + b"\nendstream"
    for page in range(pages):
        objects[10 + page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>"
        )
    return _numbered(objects)


def _numbered(objects: dict[int, bytes]) -> bytes:
    data, offsets = b"%PDF-1.7\n", {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(data)
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start, last = len(data), max(objects)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (last + 1)
    for number in range(1, last + 1):
        free = b"0000000000 65535 f \n"
        data += b"%010d 00000 n \n" % offsets[number] if number in offsets else free
    return data + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (last + 1, start)


def show(text: str) -> bytes:
    """A page's stream that shows ASCII text, line by line."""
    lines = "".join(f"({line}) Tj T* " for line in text.split("\n"))
    return f"BT /F1 12 Tf 14 TL 50 700 Td {lines} ET".encode()


WHOLE: dict[str, bytes] = {
    "a.docx": docx(),
    "a.xlsx": xlsx(),
    "a.pptx": pptx(),
    "a.odt": odf("text"),
    "a.ods": odf("spreadsheet"),
    "a.odp": odf("presentation"),
    "a.hwp": hangul.hwp([hangul.para(MARKER), hangul.grid([["a", "b"], ["1", MARKER]])]),
    "lent.hwp": hangul.distributed([hangul.para(MARKER)]),
    "a.hwpx": hwpx(),
    "a.hml": f"<HWPML><BODY><SECTION><P><TEXT><CHAR>{MARKER}</CHAR></TEXT></P></SECTION></BODY>"
    "</HWPML>".encode(),
    "a.epub": books.book(
        {"a.xhtml": books.page(f"<h1>H</h1><p>{MARKER} <math><mi>x</mi></math></p>")},
        ncx=books.point("H", "a.xhtml"),
    ),
    "a.ipynb": f'{{"cells": [{{"cell_type": "markdown", "source": ["{MARKER}"]}}]}}'.encode(),
    "a.svg": f'<svg xmlns="http://www.w3.org/2000/svg"><text>{MARKER}</text></svg>'.encode(),
    "equation.docx": docx(
        f"{MARKER}</w:t></w:r><m:oMath {MATH}><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath><w:r><w:t>"
    ),
    "a.pdf": pdf(show("The budget of this year\nis two million")),
    "flate.pdf": pdf(zlib.compress(show("A packed page")), filters="/Filter /FlateDecode"),
    "a.txt": f"{MARKER}\n\nsecond paragraph\n".encode(),
    "th.txt": "งบประมาณปีนี้\n".encode("cp874"),
    "ko.txt": "올해 예산은 이백만 원\n".encode("cp949"),
    "wide.txt": MARKER.encode("utf-16"),
    "a.log": b"2024-01-01 12:00:00 ERROR it failed\n" * 5,
    "a.md": f"---\ntitle: Plan\ntags: [a, b]\n---\n# One\n\n{MARKER}\n\n| a | b |\n|-|-|\n"
    f"| 1 | 2 |\n\n```\ncode\n```\n".encode(),
    "a.csv": f'name,note\n"one, two","{MARKER}"\n3,"a ""quote"""\n'.encode(),
    "a.tsv": f"name\tnote\n1\t{MARKER}\n".encode(),
    "a.json": f'{{"name": "{MARKER}", "list": [1, 2.5, null, {{"deep": [true]}}]}}'.encode(),
    "a.jsonl": f'{{"name": "{MARKER}"}}\n{{"name": "two"}}\n'.encode(),
    "a.yaml": f"name: {MARKER}\nlist:\n  - one\n  - {{two: 3}}\n".encode(),
    "a.toml": f'name = "{MARKER}"\n[part]\nlist = [1, 2]\n'.encode(),
    "a.html": f"<html><head><title>T</title></head><body><h1>H</h1><p>{MARKER}</p><table><tr>"
    f"<th>a</th></tr><tr><td>1</td></tr></table><script>x</script></body></html>".encode(),
    "a.py": f'"""{MARKER}"""\n\n\ndef run():\n    return 1\n'.encode(),
}


# --- DOCTYPE -------------------------------------------------------------------------


def doctypes(secret_path: str, door: str) -> dict[str, str]:
    """Prologs that end in a use of `&x;`, by name; `door` is a URL that must never be asked."""
    laughs = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 10))
    return {
        "laughs": f'<!DOCTYPE a [<!ENTITY x0 "{LEAK}">{laughs}<!ENTITY x "&x9;">]>',
        "quadratic": f'<!DOCTYPE a [<!ENTITY x "{LEAK * 5_000}">]>',
        "external file": f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret_path}">]>',
        "external address": f'<!DOCTYPE a [<!ENTITY x SYSTEM "{door}">]>',
        "external subset": f'<!DOCTYPE a SYSTEM "{door}" [<!ENTITY x "{LEAK}">]>',
        "public subset": f'<!DOCTYPE a PUBLIC "-//X//Y" "{door}" [<!ENTITY x "{LEAK}">]>',
        "parameter": f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{door}">%p;<!ENTITY x "{LEAK}">]>',
        "declared only": f'<!DOCTYPE a [<!ENTITY x "{LEAK}">]>',
        "default attribute": f'<!DOCTYPE a [<!ATTLIST a b CDATA "{LEAK}"><!ENTITY x "{LEAK}">]>',
    }


def in_utf_16(document: bytes, part: str) -> bytes:
    """The same container with one part rewritten in UTF-16."""
    return changed(document, part, lambda content: content.decode().encode("utf-16"))


def changed(document: bytes, part: str, change) -> bytes:  # type: ignore[no-untyped-def]
    """The same container with the content of one part changed."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    return container(parts, stored="mimetype")


# --- bombs ---------------------------------------------------------------------------


def packed(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = zlib.compress(content, 9)
    return content


def png(side: int) -> bytes:
    """A picture of `side` × `side` black points, few bytes whatever the side."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    packer = zlib.compressobj(9)
    row = bytes(1 + side // 8)
    rows = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def overlapping(entries: int, inflated: int) -> bytes:
    """A DOCX whose many entries all point to the same few kilobytes of packed data."""
    document = docx(text="x" * inflated)
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        info = archive.getinfo("word/document.xml")
    end = document.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<I", document, end + 16)[0]
    directory = document[start:end]
    entry = b""
    for number in range(entries):
        name = b"word/header%d.xml" % number
        entry += struct.pack(
            "<IHHHHHHIIIHHHHHII",
            *(0x02014B50, 20, 20, 0, 8, 0, 33, info.CRC, info.compress_size, info.file_size),
            *(len(name), 0, 0, 0, 0, 0, info.header_offset),
        )
        entry += name
    total = entries + len(zipfile.ZipFile(io.BytesIO(document)).namelist())
    size = len(directory) + len(entry)
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, total, total, size, start, 0)
    return document[:start] + directory + entry + tail


def _strings(inner: str) -> str:
    return f'<sst xmlns="{OFFICE}/spreadsheetml/2006/main">{inner}</sst>'


def _flate(content: bytes, times: int = 1, pages: int = 1) -> bytes:
    names = "/FlateDecode " * times
    return pdf(packed(content, times), filters=f"/Filter [{names}]", pages=pages)


def _aliases() -> bytes:
    """Each line holds nine times the one before."""
    lines = [b"a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [b"%c: &%c [%s]" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 112)]
    return b"\n".join(lines)


# Small files that unfold, and large ones without the structure a reader would cut them at.
BOMBS: dict[str, Callable[[], bytes]] = {
    "nested.pdf": lambda: _flate(bytes(100_000_000), times=3),
    "overlapping.docx": lambda: overlapping(5_000, 4_000_000),
    "letters.hwp": lambda: hangul.hwp(hangul.deflated(bytes(400_000_000))),
    "string.xlsx": lambda: xlsx(strings=_strings(f"<si><t>{'x' * 200_000_000}</t></si>")),
    "deep.odt": lambda: odf("text", "<text:span>" * 300_000 + "x" + "</text:span>" * 300_000),
    "deep.json": lambda: b"[" * 5_000_000,
    "strings.xlsx": lambda: xlsx(strings=_strings("<si><t>x</t></si>" * 6_000_000)),
    "cells.hwp": lambda: hangul.hwp(hangul.deflated(_cells() * 100_000)),
    "deep.hwpx": lambda: hwpx(text="<hp:tbl>" * 300_000 + "x"),
    "big.png": lambda: png(50_000),
    "deep.epub": lambda: books.book({"a.xhtml": books.page("<div>" * 300_000 + "x")}),
    "pages.epub": lambda: books.book(
        {"a.xhtml": books.page("<p>w </p>" + "<p></p>" * 30_000_000)},
        extra={"padding": bytes(range(256))},
    ),
    "equations.docx": lambda: docx(
        f"x</w:t></w:r><m:oMath {MATH}>{'<m:r><m:t>x</m:t></m:r>' * 3_000_000}</m:oMath><w:r><w:t>"
    ),
    "deep.ipynb": lambda: b'{"cells": ' + b"[" * 2_000_000,
    "attribute.pptx": lambda: changed(
        pptx(), "ppt/slides/slide1.xml", lambda content: content.replace(b"<a:p>", _wide_tag())
    ),
    "shown.pdf": lambda: _flate(b"BT /F1 12 Tf " + b"(aaaa bbbb) Tj T* " * 6_000_000),
    "pages.pdf": lambda: _flate(show("many words here\n" * 20_000), pages=2_000),
    "repeat.docx": lambda: docx(text="word " * 30_000_000),
    "deep.yaml": lambda: b"".join(b" " * n + b"a:\n" for n in range(3_000)),
    "aliases.yaml": _aliases,
    "deep.html": lambda: b"<div>" * 500_000 + b"x",
    "attribute.html": lambda: b"<p a='" + b"x" * 20_000_000,
    "quote.csv": lambda: b'"' + b"x,\n" * 1_000_000,
    "wide.csv": lambda: (b"," * 10_000_000 + b"\n") * 2,
    "line.txt": lambda: b"x" * 20_000_000,
    "marks.txt": lambda: ("ก" + "\u0e49" * 2_000_000).encode(),
    "brackets.md": lambda: b"[" * 3_000_000 + b"](" * 1_000_000,
    "table.md": lambda: b"|" * 3_000_000 + b"\n" + b"|-" * 2_000_000,
}


def _cells() -> bytes:
    empty = [hangul.cell(0, number, hangul.para("")) for number in range(9)]
    return hangul.written([hangul.para("", hangul.table(9, *empty))])


def _wide_tag() -> bytes:
    return b"<a:p " + b" ".join(b'a%d="x"' % number for number in range(1_000_000)) + b">"


# --- mutations -----------------------------------------------------------------------

TOKENS = [b"\0", b"\xff", b"<", b">", b"&", b'"', b"]]>", b"<!--", b"obj", b"endobj", b"/", b"-1"]
TOKENS += [b"99999999999", b"0", b"\xe0\xb8", b"\n", b"\t", b",", b"[", b"{", b"stream", b"<<"]


def mutated(document: bytes, luck: random.Random) -> bytes:
    """The document with one to eight faults; in a container, half of them inside a part."""
    if document[:2] == b"PK" and luck.random() < 0.6:
        try:
            with zipfile.ZipFile(io.BytesIO(document)) as archive:
                part = luck.choice(archive.namelist())
            return changed(document, part, lambda content: _damaged(content, luck))
        except (ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error):
            pass
    return _damaged(document, luck)


def _damaged(content: bytes, luck: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(luck.randint(1, 8)):
        at = luck.randrange(len(data) + 1)
        span = luck.choice((1, 2, 4, 16, 256))
        kind = luck.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << luck.randrange(8)
        elif kind == 1:
            data[at : at + span] = luck.randbytes(span)
        elif kind == 2:
            del data[at : at + span]
        elif kind == 3:
            data[at:at] = luck.choice(TOKENS) * luck.choice((1, 1, 1, 50))
        elif kind == 4:
            source = luck.randrange(len(data) + 1)
            data[at:at] = data[source : source + span]
        elif kind == 5:
            data[at : at + span] = luck.choice(TOKENS)
        elif luck.random() < 0.3:
            del data[at:]
    return bytes(data)
