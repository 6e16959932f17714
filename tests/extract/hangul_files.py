"""Small Hangul documents (HWP 5 and HWPX) made in memory for the tests of their readers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence

from tests.extract.compound_files import packed
from tests.extract.office_files import packed as zipped

COMPRESSED, PASSWORD, DISTRIBUTION, DRM = 1, 2, 4, 16
PARA_HEADER, PARA_TEXT, CHAR_SHAPE, LINE_SEG, RANGE_TAG, CTRL, LIST = 66, 67, 68, 69, 70, 71, 72
SHAPE, TABLE, EQEDIT, TEXT_ART, FORM, MEMO_LIST = 76, 77, 88, 90, 91, 93
SUMMARY = "\x05HwpSummaryInformation"

Tree = tuple[int, bytes, "Sequence[Tree]"]

# --- HWP 5: records ---------------------------------------------------------------------------


def record(tag: int, level: int, data: bytes) -> bytes:
    """A record with its header; from 4,095 bytes on the size takes four bytes more."""
    size = min(len(data), 0xFFF)
    wide = struct.pack("<I", len(data)) if size == 0xFFF else b""
    return struct.pack("<I", tag | level << 10 | size << 20) + wide + data


def written(trees: Iterable[Tree], level: int = 0) -> bytes:
    """Records of nested (tag, data, children); a list's paragraphs stand at its own level."""
    found = bytearray()
    for tag, data, children in trees:
        found += record(tag, level, data)
        found += written(children, level if tag == LIST else level + 1)
    return bytes(found)


def wide(text: str) -> bytes:
    """A string behind its length in WCHARs."""
    raw = text.encode("utf-16-le")
    return struct.pack("<H", len(raw) // 2) + raw


def mark(code: int, kind: str = "") -> str:
    """An inline or extended control of eight WCHARs among the letters of a paragraph."""
    raw = kind.encode("ascii")[::-1].ljust(4, b"\0").ljust(12, b"\0")
    return chr(code) + raw.decode("utf-16-le") + chr(code)


def para(text: str, *controls: Tree, shape: int = 0, style: int = 0, masked: bool = True) -> Tree:
    """A paragraph with the controls that its marks announce; `masked`: and its header names."""
    raw = (text + "\r").encode("utf-16-le", "surrogatepass")
    lines: list[Tree] = [(CHAR_SHAPE, bytes(8), ()), (LINE_SEG, bytes(36), ())]
    body: list[Tree] = [(PARA_TEXT, raw, ())] if text else []
    mask = sum({1 << ord(letter) for letter in text if letter < " "}) if masked else 0
    header = struct.pack("<IIHBBHHHI", len(raw) // 2, mask, shape, style, 0, 1, 0, 1, 0)
    return (PARA_HEADER, header, [*body, *lines, *controls])


def control(kind: str, *children: Tree, data: bytes = b"") -> Tree:
    return (CTRL, kind.encode("ascii")[::-1] + data, children)


def listing(*paragraphs: Tree, data: bytes = bytes(16)) -> Tree:
    return (LIST, data, paragraphs)


def cell(
    row: int, column: int, *paragraphs: Tree, span: int = 1, rows: int = 1, title: bool = False
) -> Tree:
    flags = 1 << 18 if title else 0
    head = struct.pack("<iIHHHH", len(paragraphs), flags, column, row, span, rows)
    return (LIST, head + bytes(26), paragraphs)


def table(columns: int, *cells: Tree, caption: Tree | None = None) -> Tree:
    rows = 1 + max((struct.unpack_from("<H", data, 10)[0] for _, data, _ in cells), default=0)
    facts = struct.pack("<IHH", 0, rows, columns) + bytes(18)
    captions = [] if caption is None else [caption]
    return control("tbl ", *captions, (TABLE, facts, ()), *cells, data=bytes(42))


def grid(rows: Sequence[Sequence[str]]) -> Tree:
    """A paragraph that holds a table of plain cells."""
    cells = [cell(r, c, para(text)) for r, texts in enumerate(rows) for c, text in enumerate(texts)]
    return para(mark(11, "tbl "), table(max(map(len, rows)), *cells))


def equation(script: str) -> Tree:
    return control("eqed", (EQEDIT, bytes(4) + wide(script) + bytes(20), ()))


def automatic(kind: int, number: int) -> Tree:
    """An automatic number; kind 3 counts figures, 4 tables, 5 equations."""
    return control("atno", data=struct.pack("<IHHHH", kind, number, 0, 0, 0))


# --- HWP 5: documents -------------------------------------------------------------------------


def info(outlines: Sequence[int | None] = (), styles: Sequence[str] = ()) -> bytes:
    """DocInfo: paragraph shapes by their outline level (None: body text), and styles' names."""
    found = bytearray(record(16, 0, struct.pack("<H", 1) + bytes(24)))
    for level in outlines:
        look = 0 if level is None else 1 << 23 | level << 25
        found += record(25, 1, struct.pack("<I", look) + bytes(50))
    for name in styles:
        found += record(26, 1, wide(name) + wide("") + bytes(8))
    return bytes(found)


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def header(flags: int) -> bytes:
    return b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000304, flags).ljust(
        224, b"\0"
    )


def hwp(
    *sections: Iterable[Tree] | bytes,
    flags: int = COMPRESSED,
    docinfo: bytes | None = None,
    extra: Mapping[tuple[str, ...] | str, bytes] | None = None,
    storage: str = "BodyText",
) -> bytes:
    """A document of these sections: trees of records, or a stream's bytes as they are."""
    pack = deflated if flags & COMPRESSED else bytes
    streams: dict[tuple[str, ...] | str, bytes] = {
        "FileHeader": header(flags),
        "DocInfo": pack(info() if docinfo is None else docinfo),
    }
    for number, section in enumerate(sections):
        raw = section if isinstance(section, bytes) else pack(written(section))
        streams[(storage, f"Section{number}")] = raw
    return packed({**streams, **(extra or {})})


def distributed(section: Iterable[Tree], seed: int = 0x1234_5678) -> bytes:
    """A distribution document: a notice in BodyText, the text under a key in ViewText."""
    key = b"7\0D\0" * 4
    plain = bytearray(256)
    plain[4 + (seed & 15) : 4 + (seed & 15) + 16] = key
    state, masks = seed, bytearray()
    while len(masks) < 256:
        state = (state * 214_013 + 2_531_011) & 0xFFFFFFFF
        mask = (state >> 16) & 0xFF
        state = (state * 214_013 + 2_531_011) & 0xFFFFFFFF
        masks += bytes([mask]) * (((state >> 16) & 15) + 1)
    locked = bytes(a ^ b for a, b in zip(plain, masks, strict=False))
    data = struct.pack("<I", seed) + locked[4:]
    text = deflated(written(section))
    stream = record(28, 0, data) + enciphered(key, text.ljust(-(-len(text) // 16) * 16, b"\0"))
    notice = deflated(written([para("배포용 문서입니다.")]))
    return hwp(notice, flags=COMPRESSED | DISTRIBUTION, extra={("ViewText", "Section0"): stream})


def enciphered(key: bytes, data: bytes) -> bytes:
    """AES-128 in ECB mode as FIPS 197 tells it, byte by byte."""
    box = _box()
    words = [list(key[at : at + 4]) for at in range(0, 16, 4)]
    constant = 1
    for number in range(4, 44):
        word = list(words[-1])
        if number % 4 == 0:
            word = [box[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _double(constant)
        words.append([a ^ b for a, b in zip(words[number - 4], word, strict=True)])
    keys = [[byte for word in words[at : at + 4] for byte in word] for at in range(0, 44, 4)]
    found = bytearray()
    for at in range(0, len(data), 16):
        block = [a ^ b for a, b in zip(data[at : at + 16], keys[0], strict=True)]
        for number in range(1, 11):
            block = [box[block[(place + 4 * (place % 4)) % 16]] for place in range(16)]
            if number < 10:
                block = [
                    _double(block[c + r])
                    ^ _double(block[c + (r + 1) % 4])
                    ^ block[c + (r + 1) % 4]
                    ^ block[c + (r + 2) % 4]
                    ^ block[c + (r + 3) % 4]
                    for c in range(0, 16, 4)
                    for r in range(4)
                ]
            block = [a ^ b for a, b in zip(block, keys[number], strict=True)]
        found += bytes(block)
    return bytes(found)


def _double(byte: int) -> int:
    return (byte << 1) ^ (0x11B if byte & 0x80 else 0)


def _box() -> list[int]:
    """The S-box by trial: the inverse of each byte, then the affine map."""
    powers = [1]
    while len(powers) < 255:
        powers.append(powers[-1] ^ _double(powers[-1]))
    box = [0x63] * 256
    for place, byte in enumerate(powers):
        inverse = powers[-place % 255]
        box[byte] = 0x63
        for shift in range(5):
            box[byte] ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
    return box


# --- HWPX -------------------------------------------------------------------------------------

SPACES = " ".join(
    f'xmlns:{prefix}="http://www.hancom.co.kr/hwpml/2011/{name}"'
    for prefix, name in {"hp": "paragraph", "hs": "section", "hh": "head", "hc": "core"}.items()
)
_OPF = 'xmlns:opf="http://www.idpf.org/2007/opf/"'
_OCF = 'xmlns:ocf="urn:oasis:names:tc:opendocument:xmlns:container"'
_LINES = '<hp:linesegarray><hp:lineseg textpos="0" vertpos="0" flags="393216"/></hp:linesegarray>'


def p(content: str = "", shape: int = 0, style: int = 0) -> str:
    """A paragraph around runs' content; plain text is put into a run."""
    run = content if content.startswith("<") else f"<hp:t>{content}</hp:t>"
    return (
        f'<hp:p id="0" paraPrIDRef="{shape}" styleIDRef="{style}">'
        f'<hp:run charPrIDRef="0">{run}</hp:run>{_LINES}</hp:p>'
    )


def box(element: str, *paragraphs: str) -> str:
    return f"<hp:{element}><hp:subList>{''.join(paragraphs)}</hp:subList></hp:{element}>"


def tc(*paragraphs: str, span: int = 1, rows: int = 1, column: int = 0, header: int = 0) -> str:
    return (
        f'<hp:tc header="{header}"><hp:subList>{"".join(paragraphs)}</hp:subList>'
        f'<hp:cellAddr colAddr="{column}" rowAddr="0"/>'
        f'<hp:cellSpan colSpan="{span}" rowSpan="{rows}"/></hp:tc>'
    )


def tbl(rows: Sequence[Sequence[str]], before: str = "") -> str:
    """A table of cells (`tc`) or plain texts."""
    columns = max((len(row) for row in rows), default=0)
    lines = "".join(
        "<hp:tr>" + "".join(c if c.startswith("<hp:tc") else tc(p(c)) for c in row) + "</hp:tr>"
        for row in rows
    )
    return f'<hp:tbl rowCnt="{len(rows)}" colCnt="{columns}">{before}{lines}</hp:tbl>'


def section(*paragraphs: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><hs:sec {SPACES}>{"".join(paragraphs)}</hs:sec>'


def head(outlines: Sequence[int | None] = (), styles: Sequence[str] = ()) -> str:
    shapes = "".join(
        f'<hh:paraPr id="{number}"><hh:heading type="{"NONE" if level is None else "OUTLINE"}"'
        f' idRef="0" level="{level or 0}"/></hh:paraPr>'
        for number, level in enumerate(outlines)
    )
    named = "".join(
        f'<hh:style id="{number}" type="PARA" name="{name}" engName=""/>'
        for number, name in enumerate(styles)
    )
    return (
        f"<hh:head {SPACES}><hh:refList><hh:paraProperties>{shapes}</hh:paraProperties>"
        f"<hh:styles>{named}</hh:styles></hh:refList></hh:head>"
    )


def hwpx(
    *sections: str,
    title: str = "",
    header: str = "",
    spine: Sequence[int] | None = None,
    extra: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """A document of these sections (paragraphs, or a whole part), in the order of `spine`."""
    order = range(len(sections)) if spine is None else spine
    items = "".join(
        f'<opf:item id="s{n}" href="Contents/section{n}.xml" media-type="application/xml"/>'
        for n in range(len(sections))
    )
    package = (
        f"<opf:package {_OPF}><opf:metadata><opf:title>{title}</opf:title></opf:metadata>"
        f'<opf:manifest><opf:item id="header" href="Contents/header.xml"/>{items}</opf:manifest>'
        f'<opf:spine><opf:itemref idref="header"/>'
        + "".join(f'<opf:itemref idref="s{n}"/>' for n in order)
        + "</opf:spine></opf:package>"
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/hwp+zip",
        "META-INF/container.xml": f"<ocf:container {_OCF}><ocf:rootfiles><ocf:rootfile"
        ' full-path="Contents/content.hpf"/></ocf:rootfiles></ocf:container>',
        "Contents/content.hpf": package,
        "Contents/header.xml": header or head(),
    }
    for number, part in enumerate(sections):
        whole = part if part.startswith("<?xml") else section(part)
        parts[f"Contents/section{number}.xml"] = whole
    return zipped({**parts, **(extra or {})})
