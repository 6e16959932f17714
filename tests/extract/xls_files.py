"""Small binary workbooks made in memory for the tests of their reader."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from tests.extract.compound_files import packed as compound

BOF, EOF, CONTINUE = 0x809, 0x0A, 0x3C
SHEET, MACRO, CHART, MODULE = 0, 1, 2, 6


def record(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def bof(substream: int, biff: int = 8) -> bytes:
    if biff == 8:
        return record(BOF, struct.pack("<HHHHII", 0x600, substream, 1, 1997, 0, 6))
    if biff == 5:
        return record(BOF, struct.pack("<HHHH", 0x500, substream, 1, 1995))
    kind, rest = {2: (9, b""), 3: (0x209, b"\0\0"), 4: (0x409, b"\0\0")}[biff]
    return record(kind, struct.pack("<HH", biff, substream) + rest)


def text8(text: str, wide_count: bool = True, wide: bool | None = None) -> bytes:
    """A string of BIFF8; letters of one byte where all fit unless `wide`."""
    wide = any(ord(letter) > 0xFF for letter in text) if wide is None else wide
    raw = text.encode("utf-16-le" if wide else "latin-1")
    count = len(raw) // 2 if wide else len(raw)
    return struct.pack("<HB" if wide_count else "<BB", count, wide) + raw


def text5(text: str, codec: str, wide_count: bool = True) -> bytes:
    raw = text.encode(codec)
    return struct.pack("<H" if wide_count else "<B", len(raw)) + raw


def number(row: int, column: int, value: float, look: int = 0) -> bytes:
    return record(0x203, struct.pack("<HHHd", row, column, look, value))


def packed_number(row: int, column: int, value: int, look: int = 0, cents: bool = False) -> bytes:
    return record(0x27E, struct.pack("<HHHi", row, column, look, value << 2 | 2 | cents))


def packed_row(row: int, column: int, *values: int) -> bytes:
    body = b"".join(struct.pack("<Hi", 0, value << 2 | 2) for value in values)
    last = struct.pack("<H", column + len(values) - 1)
    return record(0xBD, struct.pack("<HH", row, column) + body + last)


def shared(row: int, column: int, place: int, look: int = 0) -> bytes:
    return record(0xFD, struct.pack("<HHHI", row, column, look, place))


def label(row: int, column: int, text: str, look: int = 0) -> bytes:
    return record(0x204, struct.pack("<HHH", row, column, look) + text8(text))


def label5(row: int, column: int, text: str, codec: str, look: int = 0) -> bytes:
    return record(0x204, struct.pack("<HHH", row, column, look) + text5(text, codec))


def truth(row: int, column: int, value: int, error: bool = False) -> bytes:
    return record(0x205, struct.pack("<HHHBB", row, column, 0, value, error))


def formula(row: int, column: int, result: float | bytes, look: int = 0) -> bytes:
    value = struct.pack("<d", result) if isinstance(result, float) else result
    tail = struct.pack("<HIH", 0, 0, 3) + b"\x1e\1\0"
    return record(6, struct.pack("<HHH", row, column, look) + value + tail)


def formula_text(row: int, column: int, text: str) -> bytes:
    return formula(row, column, b"\0\0\0\0\0\0\xff\xff") + record(0x207, text8(text))


def number_format(place: int, code: str, biff: int = 8) -> bytes:
    shown = text8(code) if biff == 8 else text5(code, "cp1252", wide_count=False)
    return record(0x41E, struct.pack("<H", place) + shown)


def look(place: int, font: int = 0) -> bytes:
    return record(0xE0, struct.pack("<HH", font, place) + bytes(16))


def font(charset: int, biff: int = 5) -> bytes:
    head = struct.pack("<HHHHHBBBB", 200, 0, 0, 400, 0, 0, 0, charset, 0)
    return record(0x31, head + (text8("Arial", False) if biff == 8 else b"\5Arial"))


def comment(row: int, column: int, text: str, place: int = 1) -> bytes:
    thing = record(0x5D, struct.pack("<HHHHH", 0x15, 0x12, 0x19, place, 0) + bytes(12))
    note = struct.pack("<HHHH", row, column, 0, place) + text8("A") + b"\0"
    return thing + text_object(text) + record(0x1C, note)


def text_object(text: str) -> bytes:
    head = struct.pack("<HH6xHHI", 0, 0, len(text), 16, 0)
    return record(0x1B6, head) + record(CONTINUE, text8(text)[2:]) + record(CONTINUE, bytes(16))


def string_table(*texts: str) -> bytes:
    body = b"".join(map(text8, texts))
    return record(0xFC, struct.pack("<II", len(texts), len(texts)) + body)


def workbook(
    sheets: Mapping[str, bytes],
    globals_: Iterable[bytes] = (),
    biff: int = 8,
    codec: str = "cp1252",
    kinds: Mapping[str, int] | None = None,
) -> bytes:
    """The stream of a workbook: each sheet is its records between BOF and EOF."""
    names = {
        name: text8(name, False) if biff == 8 else text5(name, codec, False) for name in sheets
    }
    begin = bof(0x05, biff) + b"".join(globals_)
    at = len(begin) + sum(len(raw) + 10 for raw in names.values()) + 4
    bound, bodies = b"", b""
    for name, records in sheets.items():
        kind = (kinds or {}).get(name, SHEET)
        bound += record(0x85, struct.pack("<IBB", at + len(bodies), 0, kind) + names[name])
        substream = {SHEET: 0x10, MACRO: 0x40, CHART: 0x20, MODULE: 0x06}[kind]
        bodies += bof(substream, biff) + records + record(EOF)
    return begin + bound + record(EOF) + bodies


def xls(sheets: Mapping[str, bytes], globals_: Iterable[bytes] = (), **options: object) -> bytes:
    """A whole file."""
    stream = workbook(sheets, globals_, **options)  # type: ignore[arg-type]
    return compound({"Book" if options.get("biff") == 5 else "Workbook": stream})
