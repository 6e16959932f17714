"""The few lines of the protocol-buffers wire format that model files need.

ONNX and sentencepiece files are protocol buffers. Writing and reading them field by field takes
no package. Numbers are varints, `real` is a 32-bit float, everything else is a block of bytes.
Does not: know any schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from helpers.errors import ConfigError

VARINT, FIXED64, BLOCK, FIXED32 = 0, 1, 2, 5
VARINT_BYTES = 10  # bytes of the longest varint
WORD = (1 << 64) - 1


def varint(value: int) -> bytes:
    """`value` in groups of seven bits; a negative one as 64-bit two's complement."""
    value &= WORD
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def block(field: int, content: bytes) -> bytes:
    """A field of bytes, text or a message."""
    return varint(field << 3 | BLOCK) + varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """A field of text."""
    return block(field, content.encode())


def number(field: int, value: int) -> bytes:
    """A whole-number or enumeration field."""
    return varint(field << 3 | VARINT) + varint(value)


def real(field: int, value: float) -> bytes:
    """A 32-bit float field."""
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)


def fields(message: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: (number, value or bytes).

    A 32-bit or 64-bit field is given as its bytes. Raises ConfigError for what is no message.
    """
    view, at, end = memoryview(message), 0, len(message)
    while at < end:
        key, at = _varint(view, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(view, at)
            yield key >> 3, value
            continue
        if kind == BLOCK:
            size, at = _varint(view, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise _damaged()
        if at + size > end:
            raise _damaged()
        yield key >> 3, view[at : at + size]
        at += size


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(VARINT_BYTES):
        if at >= len(view):
            break
        byte = view[at]
        at += 1
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at
    raise _damaged()


def _damaged() -> ConfigError:
    return ConfigError("A model file is damaged: its fields do not add up", "Install it again.")
