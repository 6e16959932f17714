"""Small .xlsb workbooks made in memory for the tests of their reader."""

from __future__ import annotations

import struct

from tests.extract.office_files import Parts, packed, relations


def record(kind: int, body: bytes = b"") -> bytes:
    head = bytes((kind,)) if kind < 0x80 else bytes((kind & 0x7F | 0x80, kind >> 7))
    size, length = len(body), bytearray()
    while True:
        length.append(size & 0x7F | (0x80 if size > 0x7F else 0))
        size >>= 7
        if not size:
            return head + bytes(length) + body


def text(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode("utf-16-le")


def row(number: int) -> bytes:
    return record(0, struct.pack("<I", number - 1) + bytes(13))


def cell(kind: int, column: int, value: bytes, look: int = 0) -> bytes:
    return record(kind, struct.pack("<II", column, look) + value)


def strings(*words: str) -> bytes:
    return record(159) + b"".join(record(19, b"\0" + text(word)) for word in words) + record(160)


def looks(*codes: str) -> bytes:
    formats = b"".join(
        record(44, struct.pack("<H", 200 + at) + text(code)) for at, code in enumerate(codes)
    )
    cells = b"".join(record(47, struct.pack("<HH", 0, 200 + at)) for at in range(len(codes)))
    other = record(626) + record(47, struct.pack("<HH", 0xFFFF, 14)) + record(627)
    return formats + other + record(617) + cells + record(618)


def xlsb(cells: bytes, extra: Parts | None = None, name: str = "Sheet1", flags: int = 0) -> bytes:
    """A workbook of one sheet; `cells` are its records, `flags` those of the book."""
    bundle = struct.pack("<II", 0, 1) + text("rId1") + text(name)
    return packed(
        {
            "_rels/.rels": relations(officeDocument="xl/workbook.bin"),
            "xl/workbook.bin": record(131)
            + record(153, struct.pack("<II", flags, 0))
            + record(156, bundle),
            "xl/_rels/workbook.bin.rels": relations(
                worksheet__rId1="worksheets/sheet1.bin",
                sharedStrings__rId2="sharedStrings.bin",
                styles__rId3="styles.bin",
            ),
            "xl/worksheets/sheet1.bin": record(129) + record(145) + cells + record(146),
            **(extra or {}),
        }
    )
