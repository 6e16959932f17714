"""Streams of an HWP 5 document: inflated piece by piece, and the tags of their records.

Source: Hancom, "한글 문서 파일 구조 5.0", sections 2.3 (data records) and 3.2 (streams).
The threat: a deflated stream of 10 KB that inflates to 10 GB. Promises: bytes are counted while
they are inflated, against a cap and against their stored size; a stream that is cut short or
damaged raises `Unread("corrupt")`; memory holds a piece, never the stream.
Does not: know what a record means.
"""

from __future__ import annotations

import math
import struct
import zlib
from codecs import utf_16_le_decode
from collections.abc import Callable, Iterator
from typing import Protocol

from helpers.errors import Unread, limit_reached
from helpers.limits import HWP_RATIO, HWP_RATIO_FROM_BYTES, HWP_STREAM_BYTES

DOCUMENT_PROPERTIES, PARA_SHAPE, STYLE, DISTRIBUTE_DOC_DATA = 16, 25, 26, 28
PARA_HEADER, PARA_TEXT, PARA_CHAR_SHAPE, CTRL_HEADER, LIST_HEADER = 66, 67, 68, 71, 72
TABLE, PICTURE, EQEDIT, TEXT_ART, FORM_OBJECT, MEMO_LIST = 77, 85, 88, 90, 91, 93

LEAST_TAG = 16  # lower ones are no records
WIDE_SIZE = 0xFFF  # a record's size that says that four bytes with its size follow
PIECE_BYTES = 65_536  # stored bytes read at a time
INFLATED_BYTES = 1 << 20  # inflated bytes handed over at a time
RESAVE = "Open it in Hangul and save it again, or replace it by a good copy."
SMALLER = "Split the document, or exclude the file."

_HEADER = struct.Struct("<I")


class Source(Protocol):
    """What a stream is read from."""

    def read(self, size: int, /) -> bytes: ...


class Meter:
    """How far the streams of one document were inflated, and from how many stored bytes."""

    __slots__ = ("inflated", "stored")

    def __init__(self) -> None:
        self.inflated = self.stored = 0

    def check(self, name: str, stream: int) -> None:
        """Raises Unread("limit_reached") where `stream` bytes of one stream, or all of them
        together for what they are stored in, are too much."""
        if stream > HWP_STREAM_BYTES:
            what = f"The stream {name}"
            raise limit_reached(what, stream, HWP_STREAM_BYTES, "bytes inflated", SMALLER)
        if self.inflated > HWP_RATIO_FROM_BYTES and self.inflated > self.stored * HWP_RATIO:
            what, ratio = f"Compression of the stream {name}", self.inflated / self.stored
            unit = "bytes inflated per stored byte"
            raise limit_reached(what, math.ceil(ratio), HWP_RATIO, unit, SMALLER)


def pieces(
    source: Source, name: str, compressed: bool, heartbeat: Callable[[], None], meter: Meter
) -> Iterator[bytes]:
    """The bytes of a stream, inflated where `compressed`, in pieces of INFLATED_BYTES at most.

    Raises Unread: corrupt, limit_reached.
    """
    stored = source.read(PIECE_BYTES)
    if not compressed or _plain(stored):
        while stored:
            heartbeat()
            yield stored
            stored = source.read(INFLATED_BYTES)
        return
    inflater, inflated = zlib.decompressobj(-zlib.MAX_WBITS), 0
    try:
        while stored and not inflater.eof:
            meter.stored += len(stored)
            while stored and not inflater.eof:
                found = inflater.decompress(stored, INFLATED_BYTES)
                stored = inflater.unconsumed_tail
                inflated += len(found)
                meter.inflated += len(found)
                meter.check(name, inflated)
                heartbeat()
                yield found
            stored = source.read(PIECE_BYTES)
        yield inflater.flush()
    except zlib.error as error:
        raise corrupt(f"its stream {name} cannot be inflated ({error})") from error
    if not inflater.eof:
        raise corrupt(f"its stream {name} is cut short")


def records(data: bytes, tags: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """(tag, start, end) of the records of these tags in a stream held whole; what is cut off is
    left out."""
    at, last = 0, len(data) - 4
    unpack = _HEADER.unpack_from
    while at <= last:
        header: int = unpack(data, at)[0]
        size = header >> 20
        at += 4
        if size == WIDE_SIZE and at <= last:
            size = unpack(data, at)[0]
            at += 4
        if header & 0x3FF in tags and at + size <= last + 4:
            yield header & 0x3FF, at, at + size
        at += size


def string(data: bytes, at: int) -> tuple[str, int]:
    """The text of a length in WCHARs and as many of them, and where it ends; "" where cut."""
    if at + 2 > len(data):
        return "", len(data)
    end = at + 2 + 2 * int.from_bytes(data[at : at + 2], "little")
    return utf_16_le_decode(data[at + 2 : end], "replace")[0], end


def corrupt(what: str) -> Unread:
    return Unread("corrupt", f"Damaged HWP document: {what}", RESAVE)


def _plain(start: bytes) -> bool:
    """A stream that is not deflated although the document says so: it begins with the header of
    the first record of a section or of DocInfo."""
    header: int = _HEADER.unpack_from(start.ljust(4, b"\0"))[0]
    return header & 0xFFFFF in (PARA_HEADER, DOCUMENT_PROPERTIES) and 18 <= header >> 20 <= 64
