"""Pictures and scans made by code, small and without letters: what stands in them is up to the
stand-in that reads them.
"""

from __future__ import annotations

import struct
import zlib


def png(width: int = 20, height: int = 10, shade: int = 255, declared: int | None = None) -> bytes:
    """A grey picture; `declared` is a width and height that its head claims instead."""
    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    claimed = (width, height) if declared is None else (declared, declared)
    head = struct.pack(">IIBBBBB", *claimed, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def tiff(*shades: int, width: int = 20, height: int = 10, order: str = "<") -> bytes:
    """Grey pages, one for each shade."""
    out = bytearray((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8))
    for number, shade in enumerate(shades):
        entries = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1)]
        size = 2 + 12 * (len(entries) + 3) + 4
        strip = len(out) + size
        entries += [(273, strip), (278, height), (279, width * height)]
        following = strip + width * height if number + 1 < len(shades) else 0
        out += struct.pack(order + "H", len(entries))
        for tag, value in sorted(entries):
            out += struct.pack(order + "HHII", tag, 4, 1, value)
        out += struct.pack(order + "I", following) + bytes([shade]) * (width * height)
    return bytes(out)


def scan(*shades: int, text: dict[int, str] | None = None) -> bytes:
    """A PDF of pages that are a grey image each; `text` gives some of them (from 1) a text layer
    instead.
    """
    objects: dict[int, bytes] = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    }
    kids = []
    for number, shade in enumerate(shades, 1):
        at = 10 * number
        kids.append(f"{at} 0 R")
        shown = (text or {}).get(number)
        content = b"q 180 0 0 90 10 5 cm /I Do Q"
        if shown is not None:
            content = f"BT /F 8 Tf 5 50 Td ({shown}) Tj ET".encode("latin-1")
        objects[at] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents {at + 1} 0 R"
            f"/Resources<</Font<</F 3 0 R>>/XObject<</I {at + 2} 0 R>>>>>>"
        ).encode()
        objects[at + 1] = _stream("", content)
        look = (
            "/Type/XObject/Subtype/Image/Width 2/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8"
        )
        objects[at + 2] = _stream(look, bytes([shade, 255 - shade]))
    objects[2] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>".encode()
    out, places = bytearray(b"%PDF-1.4\n"), {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{number} 1\n{place:010} 00000 n \n" for number, place in places.items())
    start = len(out)
    out += f"xref\n0 1\n0000000000 65535 f \n{table}".encode()
    size = max(objects) + 1
    return (
        bytes(out) + f"trailer\n<</Root 1 0 R/Size {size}>>\nstartxref\n{start}\n%%EOF\n".encode()
    )


def _stream(look: str, data: bytes) -> bytes:
    return f"<<{look}/Length {len(data)}>>stream\n".encode() + data + b"\nendstream"
