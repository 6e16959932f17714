"""Small documents of the formats that documents.py leaves: older office files, flat XML, mail.

WHOLE_TOO hold MARKER; UNHEARD have no text without an engine of recognition; BOMBS_TOO unfold, or
declare more than there is.
"""

from __future__ import annotations

import base64
import gzip
import struct
import zlib
from collections.abc import Callable

from helpers.extract import mapi
from tests.extract import doc_files, mail_files, outlook_files, ppt_files, xls_files, xlsb_files
from tests.trust import documents
from tests.trust.documents import MARKER, ODF_NAMES, container, docx, pdf, pptx, show

MIME = "application/vnd.oasis.opendocument"
W2003 = "http://schemas.microsoft.com/office/word/2003/wordml"
FLAT = "http://schemas.microsoft.com/office/2006/xmlPackage"
SHEET_2003 = "urn:schemas-microsoft-com:office:spreadsheet"
SVG = "http://www.w3.org/2000/svg"
MATHML = "http://www.w3.org/1998/Math/MathML"


# --- flat XML: functions of a text and what stands before the root ------------------------


def flat_odf(kind: str) -> Callable[[str, str], bytes]:
    body = {
        "text": "<text:p>{}</text:p>",
        "spreadsheet": "<table:table table:name='One'><table:table-row><table:table-cell>"
        "<text:p>{}</text:p></table:table-cell></table:table-row></table:table>",
    }[kind]

    def made(text: str = MARKER, prolog: str = "") -> bytes:
        inner = f"<office:{kind}>{body.format(text)}</office:{kind}>"
        root = f"<office:document {ODF_NAMES} office:mimetype='{MIME}.{kind}'>"
        root += f"<office:body>{inner}"
        return f"{prolog}{root}</office:body></office:document>".encode()

    return made


def wordml(text: str = MARKER, prolog: str = "") -> bytes:
    body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
    return f'{prolog}<w:wordDocument xmlns:w="{W2003}">{body}</w:wordDocument>'.encode()


def flat_opc(text: str = MARKER, prolog: str = "") -> bytes:
    main = f'<w:document xmlns:w="{documents.OFFICE}/wordprocessingml/2006/main"><w:body><w:p><w:r>'
    main += f"<w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
    relations = documents._relations({"rId1": ("officeDocument", "word/document.xml")})
    parts = "".join(
        f'<pkg:part pkg:name="/{name}"><pkg:xmlData>{xml}</pkg:xmlData></pkg:part>'
        for name, xml in (("_rels/.rels", relations), ("word/document.xml", main))
    )
    return f'{prolog}<pkg:package xmlns:pkg="{FLAT}">{parts}</pkg:package>'.encode()


def sheet_2003(text: str = MARKER, prolog: str = "") -> bytes:
    cell = f'<Cell><Data ss:Type="String">{text}</Data></Cell>'
    table = f'<Worksheet ss:Name="One"><Table><Row>{cell}</Row></Table></Worksheet>'
    root = f'<Workbook xmlns="{SHEET_2003}" xmlns:ss="{SHEET_2003}">{table}</Workbook>'
    return (prolog + root).encode()


def hml(text: str = MARKER, prolog: str = "") -> bytes:
    body = f"<BODY><SECTION><P><TEXT><CHAR>{text}</CHAR></TEXT></P></SECTION></BODY>"
    return f"{prolog}<HWPML>{body}</HWPML>".encode()


def svg(text: str = MARKER, prolog: str = "") -> bytes:
    return f'{prolog}<svg xmlns="{SVG}"><text>{text}</text></svg>'.encode()


def formula(text: str = "x", prolog: str = "") -> bytes:
    return f'{prolog}<math xmlns="{MATHML}"><mtext>{text}</mtext></math>'.encode()


def drawing(text: str = MARKER, prolog: str = "") -> bytes:
    page = f'<draw:page draw:name="One"><draw:frame><draw:text-box><text:p>{text}</text:p>'
    page += "</draw:text-box></draw:frame></draw:page>"
    content = f"{prolog}<office:document-content {ODF_NAMES}><office:body><office:drawing>{page}"
    content += "</office:drawing></office:body></office:document-content>"
    return container({"mimetype": f"{MIME}.graphics", "content.xml": content}, stored="mimetype")


def packed_formula(text: str = MARKER, prolog: str = "") -> bytes:
    content = formula(text, prolog)
    return container({"mimetype": f"{MIME}.formula", "content.xml": content}, stored="mimetype")


# Where nothing is packed, the document itself is what a prolog is put in front of.
FLAT_PLACES: dict[str, Callable[[str, str], bytes]] = {
    "fodt": flat_odf("text"),
    "fods": flat_odf("spreadsheet"),
    "word2003.xml": wordml,
    "flatopc.xml": flat_opc,
    "excel2003.xml": sheet_2003,
    "hml": hml,
    "svg": svg,
    "mml": formula,
}


# --- older office files and mail ----------------------------------------------------------


def rtf(text: str = "budget") -> bytes:
    return b"{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Arial;}}\\pard " + text.encode() + b"\\par}"


def ppt(text: str = MARKER, *parts: bytes) -> bytes:
    shape = ppt_files.shape(ppt_files.typed(text))
    return ppt_files.ppt(ppt_files.Deck([ppt_files.Slide([shape], parts=b"".join(parts))]))


def xls(text: str = MARKER) -> bytes:
    return xls_files.xls({"One": xls_files.label(0, 0, text) + xls_files.number(1, 0, 45356.5)})


def xlsb(text: str = MARKER, strings: bytes = b"") -> bytes:
    cells = xlsb_files.row(1) + xlsb_files.cell(7, 0, struct.pack("<I", 0))
    return xlsb_files.xlsb(cells, {"xl/sharedStrings.bin": strings or xlsb_files.strings(text)})


def eml(*attachments: tuple[bytes, str]) -> bytes:
    parts = [mail_files.attached(content, name) for content, name in attachments]
    return mail_files.mixed(mail_files.part(MARKER, mail_files.PLAIN), *parts)


def msg(*attachments: tuple[bytes, str], **texts: bytes) -> bytes:
    files = [
        {mapi.LONG_FILE_NAME: name, mapi.DATA: content, mapi.METHOD: 1}
        for content, name in attachments
    ]
    body = {mapi.RTF: texts["rtf"]} if texts else {mapi.BODY: MARKER}
    return outlook_files.msg({mapi.CLASS: "IPM.Note", mapi.SUBJECT: "Plan"} | body, tuple(files))


_PLAIN_BOOK = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet."
_TNEF = {mapi.CLASS: "IPM.Note", mapi.SUBJECT: "Plan", mapi.BODY: MARKER}

WHOLE_TOO: dict[str, bytes] = {
    **{f"a.{ending}": make(MARKER, "") for ending, make in FLAT_PLACES.items()},
    "a.odg": drawing(),
    "a.odf": packed_formula(),
    "a.rtf": rtf(),
    "a.doc": doc_files.doc(MARKER),
    "old.doc": doc_files.doc(
        doc_files.Word({"body": doc_files.plain("budget")}, codec="cp1252", old=True)
    ),
    "a.ppt": ppt(),
    "a.xls": xls(),
    "a.xlsb": xlsb(),
    "a.xlsm": documents.changed(
        documents.xlsx(),
        "[Content_Types].xml",
        lambda types: types.replace(_PLAIN_BOOK, b"application/vnd.ms-excel.sheet.macroEnabled."),
    ),
    "a.eml": eml((docx(), "a.docx"), (b"words", "a.txt")),
    "a.mbox": b"From a@example.org Mon Nov 12 10:00:00 2007\n" + eml((docx(), "a.docx")),
    "a.msg": msg((docx(), "a.docx")),
    "winmail.dat": outlook_files.tnef(_TNEF, ("a.docx", docx())),
    "a.zip": container({"a.docx": docx(), "b/a.eml": eml(), "c.txt": MARKER}),
}

# --- pictures and recordings --------------------------------------------------------------


def tiff(*follows: int) -> bytes:
    """Pages of 9 × 9 points; of each the place of the next is given, 0 for none."""
    entries = [(256, 3, 1, 9), (257, 3, 1, 9), (259, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 9)]
    rows = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    page = struct.pack("<H", len(entries)) + rows
    pages = (page + struct.pack("<I", place) for place in follows or (0,))
    return b"II*\0" + struct.pack("<I", 8) + b"".join(pages)


def wave(declared: int = 800) -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", declared) + bytes(800)
    return b"RIFF" + struct.pack("<I", len(body)) + body


UNHEARD: dict[str, bytes] = {
    "a.png": documents.png(40),
    "a.jpg": b"\xff\xd8\xff\xc0\0\x0b\x08\0\x14\0\x1e\1\1\x11\0\xff\xda\0\2\xff\xd9",
    "a.gif": b"GIF89a" + struct.pack("<HH", 9, 9) + bytes(30),
    "a.bmp": b"BM" + struct.pack("<IHHIIiiHH", 62, 0, 0, 62, 40, 9, 9, 1, 1) + bytes(60),
    "a.webp": b"RIFF" + struct.pack("<I", 40) + b"WEBPVP8L" + struct.pack("<IBI", 9, 0x2F, 69),
    "a.tif": tiff(),
    "a.wav": wave(),
    "a.mp3": b"ID3\x04\0\0\0\0\0\0" + b"\xff\xfb\x90\0" + bytes(413),
    "a.flac": b"fLaC" + bytes(60),
    "a.ogg": b"OggS\0" + bytes(60),
    "a.m4a": b"\0\0\0 ftypM4A \0" + bytes(60),
    "a.webm": b"\x1aE\xdf\xa3\0webm" + bytes(60),
}


# --- bombs ----------------------------------------------------------------------------------


def _zip_within_zip(levels: int, width: int) -> bytes:
    inner: dict[str, str | bytes] = {f"{n}.txt": "word " * 400_000 for n in range(width)}
    for _ in range(levels):
        packed = container(inner)
        inner = {f"{n}.zip": packed for n in range(width)}
    return container(inner)


def _inflating_rtf() -> bytes:
    """Compressed RTF that repeats one letter, 18 for each two bytes."""
    run = b"\xff" + b"\x0c\xff" * 8
    packed = b"\0" + b"x" * 8 + run * 300_000
    return struct.pack("<IIII", len(packed) + 12, 30_000_000, 0x75465A4C, 0) + packed


def _xls_rows(count: int) -> bytes:
    """Numbers in one row after another, all of the first column's first cell."""
    return b"".join(xls_files.number(row & 0xFFFF, 0, 1.0) for row in range(count))


def _xls_strings() -> bytes:
    """A table of strings that declares 4,294,967,295 of them."""
    table = xls_files.record(0xFC, struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + b"\xff\x7f\0" * 9)
    return xls_files.xls({"One": xls_files.shared(0, 0, 5)}, [table])


def _deep_records() -> bytes:
    """Containers of a slide within each other, each as long as what is left."""
    count = 200_000
    heads = [struct.pack("<HHI", 15, 0x0FF0, 8 * (count - at)) for at in range(1, count + 1)]
    return b"".join(heads)


def _deep_mail() -> bytes:
    heads = (
        b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (number, number)
        for number in range(100_000)
    )
    return b"Subject: deep\n" + b"".join(heads) + b"end"


def _packed_page() -> bytes:
    return pdf(documents.packed(show("x" * 1_000_000), 1), filters="/Filter /FlateDecode", pages=99)


BOMBS_TOO: dict[str, Callable[[], bytes]] = {
    "groups.rtf": lambda: b"{\\rtf1 " + b"{" * 5_000_000,
    "words.rtf": lambda: b"{\\rtf1 " + b"\\b\\i\\cf1 " * 2_000_000 + b"x}",
    "binary.rtf": lambda: b"{\\rtf1 {\\pict\\bin2147483647 " + bytes(100_000) + b"}x}",
    "cells.rtf": lambda: b"{\\rtf1 " + b"\\intbl\\cell" * 1_000_000 + b"\\row x}",
    "strings.xls": _xls_strings,
    "rows.xls": lambda: xls_files.xls({"One": _xls_rows(300_000)}),
    "names.xls": lambda: xls_files.xls({f"S{n}": xls_files.label(0, 0, "x") for n in range(5_000)}),
    "deep.ppt": lambda: ppt(MARKER, _deep_records()),
    "shapes.ppt": lambda: ppt(MARKER, ppt_files.drawing(*[ppt_files.shape()] * 200_000)),
    "long.doc": lambda: doc_files.doc("x" * 3_000_000),
    "paragraphs.doc": lambda: doc_files.doc(
        doc_files.Word({"body": doc_files.plain("a\r" * 300_000)})
    ),
    "strings.xlsb": lambda: xlsb(strings=xlsb_files.record(159, bytes(8)) + bytes(100_000_000)),
    "deep.eml": _deep_mail,
    "parts.eml": lambda: mail_files.mixed(*[mail_files.part("x", mail_files.PLAIN)] * 100_000),
    "header.eml": lambda: b"Subject: " + b"=?utf-8?B?4Lih?= " * 1_000_000 + b"\n\nx",
    "fields.eml": lambda: b"Subject: x\n" + b"X-A: b\n" * 2_000_000 + b"\nx",
    "attached.eml": lambda: eml((documents.BOMBS["nested.pdf"](), "a.pdf")),
    "from.mbox": lambda: b"From a@b Mon Nov 12 10:00:00 2007\n\n" * 100_000,
    "rtf.msg": lambda: msg(rtf=_inflating_rtf()),
    "attached.msg": lambda: msg((documents.BOMBS["string.xlsx"](), "a.xlsx")),
    "names.dat": lambda: outlook_files.tnef(_TNEF, *[("a.txt", b"x")] * 5_000),
    "quine.zip": lambda: _zip_within_zip(3, 8),
    "wide.zip": lambda: container({f"{n}.txt": "x" for n in range(9_999)}),
    "deep.fodt": lambda: flat_odf("text")("<text:span>" * 300_000 + "x", ""),
    "columns.fods": lambda: flat_odf("spreadsheet")("x", "").replace(
        b"<table:table-cell>", b"<table:table-cell table:number-columns-repeated='2147483647'>"
    ),
    "deep.word.xml": lambda: wordml("<w:x>" * 300_000),
    "packed.opc.xml": lambda: flat_opc().replace(
        b"</pkg:package>",
        b'<pkg:part pkg:name="/a.bin"><pkg:binaryData>'
        + base64.b64encode(bytes(30_000_000))
        + b"</pkg:binaryData></pkg:part></pkg:package>",
    ),
    "index.excel.xml": lambda: (
        sheet_2003()
        .replace(b"<Row>", b'<Row ss:Index="2147483647">')
        .replace(b"<Cell>", b'<Cell ss:Index="2147483647" ss:MergeAcross="2147483647">')
    ),
    "deep.hml": lambda: hml("<x>" * 300_000),
    "deep.svg": lambda: svg("<tspan>" * 300_000),
    "deep.mml": lambda: formula("<mrow>" * 300_000),
    "round.tif": lambda: tiff(8),
    "pages.tif": lambda: tiff(*(8 + 66 * n for n in range(1, 300_000)), 0),
    "hours.wav": lambda: wave(0xFFFFFFFF),
    "chunks.webp": lambda: b"RIFF\xff\xff\xff\xffWEBP" + b"JUNK\0\0\0\0" * 2_000_000,
    "lines.pdf": _packed_page,
    "slides.pptx": lambda: pptx("</a:t></a:r></a:p><a:p><a:r><a:t>" * 2_000_000),
    "squeezed.txt": lambda: gzip.compress(bytes(10_000_000)),
    "deflated.svg": lambda: zlib.compress(bytes(10_000_000)),
}
