"""RTF cut into its pieces: groups, control words, text, and binary data to be jumped over.

Promises: the file passes through a window of fixed size, whatever its size and shape; each
pattern is bounded, so that no piece is longer than MARGIN_BYTES; hexadecimal pictures are passed
over at the speed of one search.
Does not: know what a control word means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO

from helpers.limits import READ_BYTES

MARGIN_BYTES = 65_536  # bytes behind the present place that are in sight, until the file ends
RUN_CACHE = 4_096  # runs of control words whose meaning is remembered

OPEN, CLOSE, BACKSLASH = 0x7B, 0x7D, 0x5C

# Text with its \'hh; at most 16,384 + 400 × 68 bytes.
TEXT = re.compile(
    rb"(?:[^\\{}]{1,16384}|\\'[0-9A-Fa-f]{2})(?:[^\\{}]{0,64}\\'[0-9A-Fa-f]{2}){0,400}[^\\{}]{0,64}"
)
# Control words in a row, but for the two whose bytes behind them matter: \bin and \u.
WORDS = re.compile(
    rb"(?:\\(?!bin-?\d|u-?\d)[A-Za-z]{1,40}(?:-?\d{1,10})?(?: |[\r\n]+(?=\\[A-Za-z]))?){1,60}"
)
WORD = re.compile(rb"\\([A-Za-z]+)(-?\d+)?")
UNICODE = re.compile(rb"\\u(-?\d{1,10}) ?")
BINARY = re.compile(rb"\\bin-?(\d{1,10}) ?")
# What a group begins with: a star, a destination.
BEGIN = re.compile(rb"[\r\n]*(?:(\\\*)[\r\n ]*)?(?:\\([A-Za-z]{1,40}))?")
PASSED = re.compile(rb"[{}]|\\bin-?(\d{1,10}) ?|\\[\\{}]")

_UNITS = rb"(?:\\'[0-9A-Fa-f]{2}|[^\\{}\r\n])"
_LINE_ENDS = bytes(set(range(32)) - {9})
_HEX = {
    f"{high}{low}".encode(): bytes((int(high + low, 16),))
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}


def unicode_run(fallback: int) -> re.Pattern[bytes]:
    r"""A run of \u, each followed by `fallback` letters for programs that do not know it."""
    return re.compile(rb"(?:\\u-?\d{1,10} ?%b{%d}){1,400}" % (_UNITS, fallback))


UNICODE_RUNS = {count: unicode_run(count) for count in range(5)}
NUMBERS = re.compile(rb"\\u(-?\d+)")


def plain_bytes(raw: bytes) -> bytes:
    r"""A piece of TEXT with its \'hh as bytes and without line ends, which mean nothing."""
    raw = raw.translate(None, _LINE_ENDS)
    if b"\\" not in raw:
        return raw
    first, *others = raw.split(b"\\'")
    return first + b"".join([_HEX.get(part[:2], b"") + part[2:] for part in others])


class Window:
    """The part of the file in sight. `at` is where reading stands in `bytes`, and may be moved
    beyond its end; pieces that start before `stop` are in sight whole.
    """

    def __init__(self, file: BinaryIO, heartbeat: Callable[[], None]) -> None:
        self._file = file
        self._heartbeat = heartbeat
        self._ended = False
        self.bytes = b""
        self.at = 0
        self.stop = 0

    def end(self) -> None:
        """Nothing further is looked at."""
        self._ended, self.bytes, self.at, self.stop = True, b"", 0, 0

    def advance(self) -> bool:
        """Bring the next part in sight; False at the end of the file."""
        self._heartbeat()
        beyond = self.at - len(self.bytes)
        if beyond > 0:
            self._file.seek(beyond, 1)
        rest = self.bytes[self.at :]
        while not self._ended and len(rest) <= MARGIN_BYTES:
            piece = self._file.read(READ_BYTES)
            self._ended = not piece
            rest += piece
        self.bytes, self.at = rest, 0
        self.stop = len(rest) if self._ended else len(rest) - MARGIN_BYTES
        return bool(rest)
