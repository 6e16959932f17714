"""Records of binary Office: the form that drawings and PowerPoint's streams are kept in.

Sources: [MS-ODRAW] 2.2.1 (record header), 2.2.7 to 2.2.9 and 2.3 (properties), [MS-PPT] 2.3.1.
Promises: a record never reaches beyond the one that holds it. Does not: know other records than
the properties of shapes.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from typing import TypeAlias

from helpers.extract.alternative import alternative

OPTIONS, MORE_OPTIONS = 0xF00B, 0xF122  # the properties of a shape
WORD_ART, NAME, DESCRIPTION, IS_TABLE = 0x00C0, 0x0380, 0x0381, 0x039F

RECORDS = 500_000  # of one record, that are looked at
HEADER = struct.Struct("<HHI")


# Kind and instance of a record, and the bytes from which to which it holds something.
Record: TypeAlias = tuple[int, int, int, int]


def records(data: bytes, start: int = 0, end: int | None = None) -> list[Record]:
    """The records that follow each other from `start` on; none reaches beyond `end`."""
    end = len(data) if end is None else min(end, len(data))
    unpack = HEADER.unpack_from
    found: list[Record] = []
    put = found.append
    while start + 8 <= end and len(found) < RECORDS:
        head, kind, size = unpack(data, start)
        start += 8
        stop = start + size
        if stop > end:
            stop = end
        put((kind, head >> 4, start, stop))
        start = stop
    return found


def options(data: bytes, record: Record, wanted: Container[int]) -> dict[int, bytes]:
    """The wanted ones of a shape's properties, each with its further bytes where it has them."""
    _, instance, start, end = record
    found: dict[int, bytes] = {}
    beyond = start + 6 * min(instance, (end - start) // 6)
    for name, value in struct.iter_unpack("<HI", data[start:beyond]):
        more = value if name & 0x8000 else 0
        if name & 0x3FFF in wanted:
            found[name & 0x3FFF] = data[beyond : min(beyond + more, end)] if more else b""
        beyond += more
    return found


def option_text(raw: bytes) -> str:
    """The text of a property, up to its end mark."""
    return raw.decode("utf-16-le", "replace").partition("\0")[0]


def said(found: dict[int, bytes]) -> tuple[str, str]:
    """What the properties of a shape say: its WordArt, and its alternative text as it is told."""
    described = option_text(found.get(DESCRIPTION, b""))
    return option_text(found.get(WORD_ART, b"")), alternative(described)
