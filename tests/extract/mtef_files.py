"""Equations of Equation Editor 3 made in memory."""

from __future__ import annotations

import struct

NULL = b"\x11"  # a line without content


def stream(*parts: bytes) -> bytes:
    """A stream of version 3 with one line."""
    head = struct.pack("<HIHI16x", 28, 0x20000, 0, 0)
    return head + bytes((3, 1, 1, 3, 0)) + b"\x0a" + line(*parts) + b"\0"


def line(*parts: bytes) -> bytes:
    return b"\x01" + b"".join(parts) + b"\0"


def sign(letter: str, face: int = 3, options: int = 0) -> bytes:
    return bytes((options << 4 | 2, face + 128)) + struct.pack("<H", ord(letter))


def signs(text: str, face: int = 3) -> bytes:
    return b"".join(sign(letter, face) for letter in text)


def template(selector: int, variation: int, *slots: bytes) -> bytes:
    return bytes((3, selector, variation, 0)) + b"".join(slots) + b"\0"
