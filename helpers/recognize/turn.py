"""A drawn page (binary PGM) turned by quarters, for where nothing tells which way up it stands.

Promises: pixels are moved, none is changed; a file of another form raises ValueError.
Does not: read anything but what this program had drawn itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from helpers import limits

QUARTERS = (90, 270, 180)  # the likely ones first: a page scanned across
_HEAD = re.compile(rb"P5\s+(\d+)\s+(\d+)\s+255\s")


def turn(source: Path, target: Path, degrees: int) -> Path:
    """Write `source` turned clockwise by 90, 180 or 270 degrees. Raises ValueError, OSError."""
    data = source.read_bytes()
    head = _HEAD.match(data)
    if head is None:
        raise ValueError("no grey picture")
    width, height = int(head[1]), int(head[2])
    rows = memoryview(data)[head.end() :]
    if width * height > limits.OCR_PIXELS or len(rows) != width * height:
        raise ValueError("a picture of another size")
    if degrees == 180:
        target.write_bytes(b"P5 %d %d 255\n" % (width, height) + bytes(rows[::-1]))
        return target
    columns = range(width) if degrees == 90 else range(width - 1, -1, -1)
    with open(target, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (height, width))
        for at in columns:
            column = bytes(rows[at::width])
            file.write(column[::-1] if degrees == 90 else column)
    return target
