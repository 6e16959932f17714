"""What the head of a picture file says: its kind, its size, its pages, how it was held.

Promises: nothing is decoded; a bounded part of the file is read, structures are followed with
caps; a file that is cut off or lies says so by ValueError.
Does not: look at pixels, or decide what is too large.
Sources: PNG (W3C), JPEG (ITU T.81), Exif 2.3, TIFF 6.0 with BigTIFF, GIF 89a, BMP, WebP (RFC 9649).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

from helpers import limits

SEGMENTS = 500  # of a JPEG before its size
ENTRIES = 500  # of one TIFF directory
EXIF_BYTES = 65_536
_FRAMES = frozenset(
    {*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)}
)
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture file: pixels of its largest page, how many pages, EXIF orientation (1 to 8)."""

    kind: str
    width: int
    height: int
    pages: int = 1
    orientation: int = 1


def look(file: BinaryIO) -> Picture | None:
    """The picture, or None where the file is no kind known here. Raises ValueError, struct.error
    or OSError for a broken one.
    """
    file.seek(0)
    head = file.read(32)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(file)
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return _tiff(file, head)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return Picture("GIF", *struct.unpack_from("<HH", head, 6))
    if head.startswith(b"BM"):
        return _bmp(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _png(head: bytes) -> Picture:
    if head[12:16] != b"IHDR":
        raise ValueError("no IHDR")
    return Picture("PNG", *struct.unpack_from(">II", head, 16))


def _bmp(head: bytes) -> Picture:
    (size,) = struct.unpack_from("<I", head, 14)
    if size == 12:
        return Picture("BMP", *struct.unpack_from("<HH", head, 18))
    width, height = struct.unpack_from("<ii", head, 18)
    return Picture("BMP", abs(width), abs(height))


def _webp(head: bytes) -> Picture:
    kind = head[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        return Picture("WebP", width, height)
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", head, 21)
        return Picture("WebP", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 26)
        return Picture("WebP", width & 0x3FFF, height & 0x3FFF)
    raise ValueError("no WebP picture")


def _jpeg(file: BinaryIO) -> Picture:
    file.seek(2)
    orientation = 1
    for _ in range(SEGMENTS):
        marker = _marker(file)
        if marker in _STANDALONE:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if length < 2:
            raise ValueError("a segment without length")
        if marker in _FRAMES:
            height, width = struct.unpack(">xHH", file.read(5))
            return Picture("JPEG", width, height, 1, orientation)
        if marker == 0xDA:
            raise ValueError("no frame before the picture")
        if marker == 0xE1:
            orientation = _exif(file.read(length - 2)) or orientation
        else:
            file.seek(length - 2, 1)
    raise ValueError("no end of segments")


def _marker(file: BinaryIO) -> int:
    if file.read(1) != b"\xff":
        raise ValueError("no marker where one belongs")
    for _ in range(SEGMENTS):
        code = file.read(1)
        if code != b"\xff":
            return code[0] if code else 0xDA
    raise ValueError("nothing but fill bytes")


def _exif(data: bytes) -> int:
    """The orientation in a JPEG's Exif segment, 0 where it says none."""
    if not data.startswith(b"Exif\0\0") or len(data) > EXIF_BYTES:
        return 0
    data = data[6:]
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    try:
        (start,) = struct.unpack_from(f"{order}I", data, 4) if order else (0,)
        (count,) = struct.unpack_from(f"{order}H", data, start) if order else (0,)
        for at in range(start + 2, start + 2 + 12 * min(count, ENTRIES), 12):
            tag, kind = struct.unpack_from(f"{order}HH", data, at)
            if tag == _ORIENTATION and kind == 3:
                (value,) = struct.unpack_from(f"{order}H", data, at + 8)
                return value if 1 <= value <= 8 else 0
    except struct.error:
        return 0
    return 0


def _tiff(file: BinaryIO, head: bytes) -> Picture:
    order = "<" if head.startswith(b"I") else ">"
    big = head[2:4] in (b"+\0", b"\0+")
    where = f"{order}{'Q' if big else 'I'}"
    (at,) = struct.unpack_from(where, head, 8 if big else 4)
    width = height = pages = 0
    seen = set()
    while at and at not in seen and pages <= limits.OCR_FRAMES:
        seen.add(at)
        found, at = _directory(file, at, order, big)
        pages += 1
        width, height = max(width, found.get(256, 0)), max(height, found.get(257, 0))
    if not pages or not width or not height:
        raise ValueError("no page")
    return Picture("TIFF", width, height, pages)


def _directory(file: BinaryIO, at: int, order: str, big: bool) -> tuple[dict[int, int], int]:
    """Tag → value of the short and long entries, and where the next directory stands."""
    file.seek(at)
    count_bytes, entry_bytes, next_bytes = (8, 20, 8) if big else (2, 12, 4)
    (count,) = struct.unpack(f"{order}{'Q' if big else 'H'}", file.read(count_bytes))
    if count > ENTRIES:
        raise ValueError("too many entries")
    data = file.read(count * entry_bytes)
    found: dict[int, int] = {}
    for offset in range(0, count * entry_bytes, entry_bytes):
        tag, kind = struct.unpack_from(f"{order}HH", data, offset)
        value = offset + (12 if big else 8)
        if kind in (3, 4):
            (found[tag],) = struct.unpack_from(f"{order}{'H' if kind == 3 else 'I'}", data, value)
    (following,) = struct.unpack(f"{order}{'Q' if big else 'I'}", file.read(next_bytes))
    return found, following
