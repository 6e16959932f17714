"""Records of binary Office: the form that drawings and PowerPoint's streams are kept in.

Sources: [MS-ODRAW] 2.2.1, [MS-PPT] 2.3.1 (record header). Promises: a record never reaches
beyond the one that holds it. Does not: know what records mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

HEADER = struct.Struct("<HHI")


class Record(NamedTuple):
    """`kind` and `instance` of a record, and the bytes `start` to `end` of what it holds."""

    kind: int
    instance: int
    start: int
    end: int


def records(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Record]:
    """The records that follow each other from `start` on; none reaches beyond `end`."""
    end = len(data) if end is None else min(end, len(data))
    unpack = HEADER.unpack_from
    while start + 8 <= end:
        head, kind, size = unpack(data, start)
        start += 8
        stop = min(start + size, end)
        yield Record(kind, head >> 4, start, stop)
        start = stop
