"""What a signed S/MIME body carries, taken out of its wrapping.

Sources: RFC 5652 (ContentInfo, SignedData), ITU-T X.690 (basic encoding rules). Promises: the
content of signed data, definite or indefinite lengths, in one string or in segments; None for
enveloped data and everything that cannot be followed.
Does not: verify a signature or decrypt.
"""

from __future__ import annotations

from collections.abc import Iterator

SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
COMPRESSED_DATA = bytes.fromhex("2a864886f70d0109100109")
DEPTH = 16  # elements within elements
ELEMENTS = 20_000  # segments of a content

_SEQUENCE, _OBJECT, _OCTETS, _EXPLICIT = 0x30, 0x06, 0x04, 0xA0


def signed_content(raw: bytes) -> bytes | None:
    """The content of a SignedData, or None where `raw` is encrypted or something else."""
    try:
        outer = list(_inside(raw, *_first(raw, 0, len(raw), _SEQUENCE)))
        if len(outer) < 2 or raw[outer[0][1] : outer[0][2]] != SIGNED_DATA:
            return None
        signed = next(_inside(raw, outer[1][1], outer[1][2]))
        for tag, start, end in _inside(raw, signed[1], signed[2]):
            if tag == _SEQUENCE:  # EncapsulatedContentInfo, the first one after the digests
                parts = list(_inside(raw, start, end))
                if len(parts) > 1 and parts[0][0] == _OBJECT:
                    return b"".join(_octets(raw, parts[1][1], parts[1][2], 0))
        return None
    except (IndexError, ValueError, StopIteration):
        return None


def _first(raw: bytes, start: int, end: int, wanted: int) -> tuple[int, int]:
    tag, begin, stop, _ = _element(raw, start, end)
    if tag != wanted:
        raise ValueError("another element")
    return begin, stop


def _inside(raw: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(tag, begin, end) of the elements between two offsets."""
    for _ in range(ELEMENTS):
        if start >= end or raw[start : start + 2] == b"\0\0":
            return
        tag, begin, stop, after = _element(raw, start, end)
        yield tag, begin, stop
        start = after


def _octets(raw: bytes, start: int, end: int, depth: int) -> Iterator[bytes]:
    """The bytes of an octet string, whole or in segments."""
    if depth > DEPTH:
        raise ValueError("nested too deep")
    for tag, begin, stop in _inside(raw, start, end):
        if tag == _OCTETS:
            yield raw[begin:stop]
        elif tag & 0x20:
            yield from _octets(raw, begin, stop, depth + 1)


def _element(raw: bytes, at: int, end: int, depth: int = 0) -> tuple[int, int, int, int]:
    """(tag, begin, end of content, where the next one begins)."""
    if depth > DEPTH:
        raise ValueError("nested too deep")
    tag, length, begin = raw[at], raw[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise ValueError("a long tag")
    if length < 0x80:
        return tag, begin, min(end, begin + length), min(end, begin + length)
    if length > 0x80:
        count = length & 0x7F
        size = int.from_bytes(raw[begin : begin + count], "big")
        begin += count
        return tag, begin, min(end, begin + size), min(end, begin + size)
    stop = begin  # of indefinite length: its elements up to two zero bytes
    for _ in range(ELEMENTS):
        if stop >= end or raw[stop : stop + 2] == b"\0\0":
            return tag, begin, min(stop, end), min(end, stop + 2)
        stop = _element(raw, stop, end, depth + 1)[3]
    raise ValueError("too many elements")
