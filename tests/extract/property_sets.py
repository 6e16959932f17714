"""Property set streams made in memory for the tests of binary office readers."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from helpers.extract.codepages import WIDE, codec_of_page


def property_set(values: Mapping[int, str | int], page: int = 0, wide: bool = False) -> bytes:
    """A stream with one set; text in the code page `page`, or as 16-bit strings where `wide`."""
    packed: list[tuple[int, bytes]] = []
    if page:
        packed.append((1, struct.pack("<IHH", 2, page, 0)))
    for number, value in values.items():
        if isinstance(value, int):
            packed.append((number, struct.pack("<Ii", 3, value)))
        elif wide:
            raw = (value + "\0").encode(WIDE)
            packed.append((number, struct.pack("<II", 0x1F, len(raw) // 2) + raw))
        else:
            raw = (value + "\0").encode(codec_of_page(page) or "cp1252")
            packed.append((number, struct.pack("<II", 0x1E, len(raw)) + raw))
    return stream_of(packed)


def stream_of(packed: list[tuple[int, bytes]]) -> bytes:
    """A stream with the given properties, each with its type in front."""
    body, table = b"", b""
    start = 8 + 8 * len(packed)
    for number, raw in packed:
        table += struct.pack("<II", number, start + len(body))
        body += raw.ljust(-(-len(raw) // 4) * 4, b"\0")
    inner = struct.pack("<II", start + len(body), len(packed)) + table + body
    header = struct.pack("<HHI16sI", 0xFFFE, 0, 0x00020006, bytes(16), 1)
    return header + bytes(16) + struct.pack("<I", 48) + inner
