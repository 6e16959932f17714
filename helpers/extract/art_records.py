"""Records of binary Office: the form that drawings and PowerPoint's streams are kept in.

Sources: [MS-ODRAW] 2.2.1, [MS-PPT] 2.3.1 (record header). Promises: a record never reaches
beyond the one that holds it. Does not: know what records mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

HEADER = struct.Struct("<HHI")


# Kind and instance of a record, and the bytes from which to which it holds something.
Record: TypeAlias = tuple[int, int, int, int]


def records(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Record]:
    """The records that follow each other from `start` on; none reaches beyond `end`."""
    end = len(data) if end is None else min(end, len(data))
    unpack = HEADER.unpack_from
    while start + 8 <= end:
        head, kind, size = unpack(data, start)
        start += 8
        stop = start + size
        if stop > end:
            stop = end
        yield kind, head >> 4, start, stop
        start = stop
