"""The records of a binary workbook, and the text inside them.

Sources: [MS-XLS] 2.1.4 (records), 2.5.293 and 2.5.294 (strings), 2.4.58 (Continue).
Promises: a stream is read some pieces at a time; a string that goes on in further records is
put together, its letters' width told anew by each of them; text never holds half a pair.
Does not: know what a record is for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from helpers.extract.codepages import WIDE
from helpers.extract.sheets import in_one_line

PIECE_BYTES = 1 << 16  # bytes of the stream read at a time; more are slower
CONTINUE = 0x3C
BOF, EOF = 0x0809, 0x0A
OLD_BOFS = (0x0009, 0x0209, 0x0409)  # BIFF2, BIFF3, BIFF4

_HEAD = struct.Struct("<HH")
_WIDE, _PHONETIC, _RICH = 1, 4, 8  # flags of a string

_BETWEEN = "\xa6"  # parts texts that are decoded together: printable, and in few of them


def records(stream: BinaryIO, at: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """(kind, offset, body) of the records from `at` on; a cut last one is left out."""
    stream.seek(at)
    data = b""
    while piece := stream.read(PIECE_BYTES):
        data += piece
        here, last = 0, len(data) - 4
        while here <= last:
            kind, size = _HEAD.unpack_from(data, here)
            end = here + 4 + size
            if end > len(data):
                break
            yield kind, at + here, data[here + 4 : end]
            here = end
        data = data[here:]
        at += here


def narrow(body: bytes, at: int, codec: str, wide_count: bool = True) -> str:
    """An 8-bit string with its count of 2 bytes, or 1."""
    head = 2 if wide_count else 1
    count = int.from_bytes(body[at : at + head], "little")
    return body[at + head : at + head + count].decode(codec, "replace")


def wide(body: bytes, at: int, wide_count: bool = True) -> str:
    """A string of BIFF8 within one record, its count of 2 bytes, or 1."""
    head = 2 if wide_count else 1
    if at + head >= len(body):
        return ""
    count = int.from_bytes(body[at : at + head], "little")
    at += head + 1
    flags = body[at - 1]
    at += (2 if flags & _RICH else 0) + (4 if flags & _PHONETIC else 0)
    if flags & _WIDE:
        return body[at : at + 2 * count].decode(WIDE, "replace")
    return body[at : at + count].decode("latin-1")


def _lines(texts: list[bytes], codec: str) -> list[str]:
    """Each text in one line; together, unless one of them has line breaks or the very sign that
    parts them here."""
    if not texts:
        return []
    whole = _BETWEEN.encode(codec).join(texts).decode(codec, "replace")
    found = whole.split(_BETWEEN)
    if len(found) != len(texts) or not whole.isprintable():
        return [in_one_line(text.decode(codec, "replace")) for text in texts]
    return list(map(str.strip, found))


class LongText:
    """A string whose letters may go on in further records: `feed` each of their bodies, the
    first without the count; `codec` is None for BIFF8, whose records begin with a flags byte.
    """

    def __init__(self, count: int, codec: str | None = None) -> None:
        self._left = count
        self._codec = codec
        self._parts: list[bytes] = []

    @property
    def complete(self) -> bool:
        return self._left <= 0

    def feed(self, body: bytes) -> None:
        """Take what this record holds of it."""
        if not body:
            return
        if self._codec is not None:
            part = body[: self._left]
            self._left -= len(part)
        elif body[0] & _WIDE:
            part = body[1 : 1 + 2 * self._left]
            self._left -= max(1, len(part) // 2)
        else:
            part = body[1 : 1 + self._left]
            self._left -= max(1, len(part))
            part = part.decode("latin-1").encode(WIDE)
        self._parts.append(part)

    @property
    def text(self) -> str:
        return b"".join(self._parts).decode(self._codec or WIDE, "replace")


class StringTable:
    """The shared strings, record by record: `feed` the SST record's body, then those that
    continue it, and take `found` in between.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._begun = False
        self._head = b""  # a string's head that was cut off
        self._letters = 0  # letters still to come
        self._parts: list[bytes] = []
        self._skip = 0  # bytes of formatting and pronunciation still to come

    def feed(self, body: bytes) -> None:
        at = 0
        if not self._begun:
            self._begun = True
            at = 8
        elif self._letters:
            at = self._more_letters(body)
            if self._letters:
                return
        if self._skip:
            skipped = min(self._skip, len(body) - at)
            self._skip -= skipped
            at += skipped
            if self._skip:
                return
        if self._head:
            body = self._head + body[at:]
            self._head, at = b"", 0
        self._strings(body, at)

    def _strings(self, body: bytes, at: int) -> None:
        unpack, end = struct.Struct("<HB").unpack_from, len(body)
        texts: tuple[list[bytes], list[bytes]] = [], []  # in letters of one byte, of two
        order, last = list[int](), end - 3
        while at <= last:
            count, flags = unpack(body, at)
            begin, width, formats = at + 3, flags & _WIDE, 0
            if flags & _RICH:  # LibreOffice gives Korean beside Latin letters a font of its own
                formats = 4 * int.from_bytes(body[begin : begin + 2], "little")
                begin += 2
            stop = begin + (count << width)
            if not flags & _PHONETIC and stop + formats <= end:
                texts[width].append(body[begin:stop])
                order.append(width)
                at = stop + formats
                continue
            self._add(texts, order)
            texts, order = ([], []), []
            at = self._uncommon(body, at, count, flags)
            if at < 0:
                return
        self._add(texts, order)
        self._head = body[at:]

    def _add(self, texts: tuple[list[bytes], list[bytes]], order: list[int]) -> None:
        narrow_texts, wide_texts = _lines(texts[0], "latin-1"), _lines(texts[1], WIDE)
        if not narrow_texts or not wide_texts:
            self.found += narrow_texts or wide_texts
            return
        either = iter(narrow_texts), iter(wide_texts)
        self.found += [next(either[width]) for width in order]

    def _uncommon(self, body: bytes, at: int, count: int, flags: int) -> int:
        """A string with formatting, or one that goes on in the next record; -1 at the end."""
        begin, extra = at + 3, 0
        wanted = begin + (2 if flags & _RICH else 0) + (4 if flags & _PHONETIC else 0)
        if wanted > len(body):
            self._head = body[at:]
            return -1
        if flags & _RICH:
            extra += 4 * int.from_bytes(body[begin : begin + 2], "little")
            begin += 2
        if flags & _PHONETIC:
            extra += int.from_bytes(body[begin : begin + 4], "little")
            begin += 4
        self._letters, self._skip, self._parts = count, extra, []
        at = begin - 1 + self._more_letters(bytes((flags,)) + body[begin:])
        if self._letters:
            return -1
        skipped = min(self._skip, len(body) - at)
        self._skip -= skipped
        return -1 if self._skip else at + skipped

    def _more_letters(self, body: bytes) -> int:
        """Letters from a body that begins with flags; how many bytes of it were used."""
        if body[:1] and body[0] & _WIDE:
            part = body[1 : 1 + 2 * self._letters]
            self._letters -= len(part) // 2
            used = 1 + len(part)
        else:
            part = body[1 : 1 + self._letters]
            self._letters -= len(part)
            used = 1 + len(part)
            part = part.decode("latin-1").encode(WIDE)
        self._parts.append(part)
        if not self._letters:
            text = b"".join(self._parts).decode(WIDE, "replace")
            self.found.append(in_one_line(text))
            self._parts = []
        return used
