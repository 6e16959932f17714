"""Strings and brackets of a PDF content stream.

Promises: linear in the length of the stream; an unfinished string ends with the stream, one
that swallowed instructions ends before them.
Does not: know what an instruction means.
"""

from __future__ import annotations

import re
from typing import Any

_OPERATOR_AFTER = re.compile(rb"\s?(?:\]\s?TJ|Tj)\s")
_DELIMITER = re.compile(rb"[()\\]")
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(\r\n|[\s\S]))")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def text_of(value: Any) -> str:
    """A PDF text string as letters: UTF-16 or UTF-8 where marked so, else Latin."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        return ""
    if value[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return value.decode("utf-16", "ignore")
    if value[:3] == b"\xef\xbb\xbf":
        return value[3:].decode("utf-8", "ignore")
    return value.decode("cp1252", "ignore")


def bracket(sign: bytes, operands: list[Any], opened: list[int]) -> None:
    """Open or close an array or dictionary among the operands."""
    if sign in (b"[", b"<<"):
        opened.append(len(operands))
    elif opened:
        first = opened.pop()
        items = operands[first:]
        del operands[first:]
        if sign == b"]":
            operands.append(items)
        else:
            operands.append(
                {k: v for k, v in zip(items[::2], items[1::2], strict=False) if isinstance(k, str)}
            )


def long_string(data: bytes, position: int) -> tuple[bytes, int]:
    """A string with escapes or nested parentheses that began before `position`."""
    depth, at = 1, position
    stop = len(data)
    while match := _DELIMITER.search(data, at):
        at = match.end()
        if match[0] == b"\\":
            at += 1
        elif match[0] == b"(":
            depth += 1
        else:
            depth -= 1
            # a lost parenthesis must not let the string swallow instructions
            if depth == 0 or _OPERATOR_AFTER.match(data, at):
                stop = match.start()
                break
    else:
        at = stop
    return _ESCAPE.sub(_unescape, data[position:stop]), at


def _unescape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 8) & 0xFF])
    sign = match[2]
    if sign in (b"\n", b"\r", b"\r\n"):
        return b""
    return _ESCAPES.get(sign, sign)


def from_hex(digits: bytes) -> bytes:
    """The bytes of a hexadecimal string."""
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        joined = b"".join(digits.split())
        return bytes.fromhex((joined + b"0" * (len(joined) % 2)).decode("ascii"))
