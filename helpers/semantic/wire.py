"""Frames between a process and its embedding process, over two pipes.

A frame is a magic word, two lengths, a JSON object, and bytes that the object describes:
`RGF1 | u32 header bytes | u32 payload bytes | header | payload`, little endian.

Promises: what is not a frame raises BadFrame, however it is wrong; nothing is allocated for a
length above SEMANTIC_FRAME_BYTES; the end of input between two frames is None, inside one
BadFrame.
Does not: know what a request is, or wait with a limit; the two ends do.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from helpers.limits import SEMANTIC_FRAME_BYTES

MAGIC = b"RGF1"
HEAD = struct.Struct("<4sII")
HEADER_BYTES = 8 * 1024 * 1024  # bytes of one JSON header

Frame = tuple[dict[str, Any], bytes]


class BadFrame(Exception):
    """The other end sent something that is no frame, or stopped inside one."""


class CutFrame(BadFrame):
    """The other end stopped inside a frame."""


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """One frame as bytes. Raises BadFrame where it is larger than a frame may be."""
    body = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    encoded = body.encode("utf-8", "surrogatepass")
    _check(len(encoded), len(payload))
    return HEAD.pack(MAGIC, len(encoded), len(payload)) + encoded + payload


def send(stream: BinaryIO, header: dict[str, Any], payload: bytes = b"") -> None:
    """Write one frame and flush it. Raises OSError, BadFrame."""
    stream.write(pack(header, payload))
    stream.flush()


def receive(stream: BinaryIO) -> Frame | None:
    """The next frame; None at a clean end of input. Raises BadFrame, OSError."""
    head = stream.read(HEAD.size)
    if not head:
        return None
    if len(head) < HEAD.size:
        raise CutFrame("the input ended inside a frame")
    magic, header_bytes, payload_bytes = HEAD.unpack(head)
    if magic != MAGIC:
        raise BadFrame(f"{bytes(magic)!r} begins no frame")
    _check(header_bytes, payload_bytes)
    header = _header(_exactly(stream, header_bytes))
    return header, _exactly(stream, payload_bytes)


def _check(header_bytes: int, payload_bytes: int) -> None:
    if header_bytes > HEADER_BYTES or payload_bytes > SEMANTIC_FRAME_BYTES:
        size, most = header_bytes + payload_bytes, SEMANTIC_FRAME_BYTES
        raise BadFrame(f"a frame of {size:,} bytes reached the limit of {most:,}")


def _header(encoded: bytes) -> dict[str, Any]:
    try:
        header = json.loads(encoded.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame's header is no JSON") from error
    if not isinstance(header, dict):
        raise BadFrame("a frame's header is no object")
    return header


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count) if count else b""
    if len(data) < count:
        raise CutFrame("the input ended inside a frame")
    return data
