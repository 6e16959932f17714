"""What makers of office files share: containers, and as much content as is asked for."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
LANGUAGES = ("en", "ko", "th")


def packed(parts: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        for name, content in parts.items():
            container.writestr(name, content)
    return target.getvalue()


def filled(xml_bytes: int, pieces: Iterator[str]) -> str:
    """Pieces until their UTF-8 has `xml_bytes` bytes."""
    parts, total = [], 0
    for piece in pieces:
        parts.append(piece)
        total += len(piece.encode())
        if total >= xml_bytes:
            break
    return "".join(parts)
