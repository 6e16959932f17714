"""Runs in a process of its own: a JPEG or PNG file as a PDF of one page, not decoded.

    python -I -S -B wrap.py PICTURE TARGET ORIENTATION

What draws PDF pages can so turn a picture as its EXIF orientation (1 to 8) wants, and draw a
small one larger, which Tesseract needs.

Promises: the picture's own compressed data, copied; a pixel is a point. A kind that PDF cannot
hold as it is (interlaced PNG, transparency) ends the process with status 3.
Does not: import anything of this project.
Sources: ISO 32000-1 (8.9, 7.4), PNG (W3C), JPEG (ITU T.81).
"""

from __future__ import annotations

import struct
import sys

UNFIT = 3  # exit status: not to be wrapped
TURNS = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}  # EXIF orientation → clockwise degrees
SPACES = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK"}
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})


class Unfit(Exception):
    """PDF cannot hold this picture as it is."""


def main(words: list[str]) -> int:
    """Wrap; the exit status."""
    source, target, orientation = words
    with open(source, "rb") as file:
        data = file.read()
    try:
        width, height, look, body = _jpeg(data) if data[:2] == b"\xff\xd8" else _png(data)
    except (Unfit, struct.error, IndexError, KeyError):
        return UNFIT
    turn = TURNS.get(int(orientation), 0)
    with open(target, "xb") as file:
        file.write(_pdf(width, height, look, body, turn))
    return 0


def _jpeg(data: bytes) -> tuple[int, int, str, bytes]:
    at, adobe = 2, False
    while True:
        while data[at + 1] == 0xFF:
            at += 1
        marker = data[at + 1]
        (length,) = struct.unpack_from(">H", data, at + 2)
        if marker in _FRAMES:
            depth, height, width, components = struct.unpack_from(">BHHB", data, at + 4)
            if depth != 8 or not width or not height:
                raise Unfit
            break
        if marker in (0xD9, 0xDA) or data[at] != 0xFF:
            raise Unfit
        adobe |= marker == 0xEE and data[at + 4 : at + 9] == b"Adobe"
        at += 2 + length
    look = f"/ColorSpace{SPACES[components]}/BitsPerComponent 8/Filter/DCTDecode"
    if components == 4 and adobe:  # Adobe's programs store the inks inverted
        look += "/Decode[1 0 1 0 1 0 1 0]"
    return width, height, look, data


def _png(data: bytes) -> tuple[int, int, str, bytes]:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise Unfit
    width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    if interlaced or colour not in (0, 2, 3) or not width or not height:
        raise Unfit
    palette, parts, at = b"", [], 8
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        part = data[at + 8 : at + 8 + length]
        if kind == b"tRNS":
            raise Unfit
        if kind == b"PLTE":
            palette = part
        elif kind == b"IDAT":
            parts.append(part)
        at += 12 + length
    space = SPACES[3 if colour == 2 else 1]
    if colour == 3:
        space = f"[/Indexed/DeviceRGB {len(palette) // 3 - 1}<{palette.hex()}>]"
    look = (
        f"/ColorSpace{space}/BitsPerComponent {depth}/Filter/FlateDecode/DecodeParms<<"
        f"/Predictor 15/Colors {3 if colour == 2 else 1}/BitsPerComponent {depth}"
        f"/Columns {width}>>"
    )
    return width, height, look, b"".join(parts)


def _pdf(width: int, height: int, look: str, body: bytes, turn: int) -> bytes:
    shown = f"{width} 0 0 {height} 0 0 cm /I Do".encode()
    image = f"<</Type/XObject/Subtype/Image/Width {width}/Height {height}{look}"
    page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {width} {height}]/Rotate {turn}"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        f"{page}/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>".encode(),
        f"<</Length {len(shown)}>>stream\n".encode() + shown + b"\nendstream",
        f"{image}/Length {len(body)}>>stream\n".encode() + body + b"\nendstream",
    )
    out, table = bytearray(b"%PDF-1.4\n"), b""
    for number, content in enumerate(objects, 1):
        table += f"{len(out):010} 00000 n \n".encode()
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start, size = len(out), len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode() + table
    out += f"trailer\n<</Root 1 0 R/Size {size}>>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
