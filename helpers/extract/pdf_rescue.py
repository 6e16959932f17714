"""A PDF whose table of objects is lost: the table is made anew from the objects that are there.

Promises: the file's own bytes are kept and a new table is added behind them; objects packed
into streams are unpacked, with a cap on each and on all of them; linear time; None where the
file has no catalog or no page left.
Does not: mend a damaged object, invent pages, or unpack the streams of an encrypted file.
"""

from __future__ import annotations

import re
import zlib

from helpers import limits

TRAILER_CHARS = 4_096  # bytes behind `trailer` or an object's start that are looked at

_OBJECT = re.compile(rb"(?<![0-9])([0-9]{1,8})[ \t\r\n]{1,4}([0-9]{1,5})[ \t\r\n]{1,4}obj\b")
_ROOT = re.compile(rb"/Root[ \t\r\n]{0,4}([0-9]{1,8})[ \t\r\n]{1,4}([0-9]{1,5})[ \t\r\n]{1,4}R\b")
_ENCRYPT = re.compile(rb"/Encrypt[ \t\r\n]{0,4}[0-9]{1,8}[ \t\r\n]{1,4}[0-9]{1,5}[ \t\r\n]{1,4}R\b")
_ID = re.compile(rb"/ID[ \t\r\n]{0,4}\[[ \t\r\n]{0,4}<[0-9A-Fa-f]{0,128}>[^\]]{0,200}\]")
_CATALOG = re.compile(rb"/Type[ \t\r\n]{0,4}/Catalog\b")
_PAGE = re.compile(rb"/Type[ \t\r\n]{0,4}/Page\b")
_PACKED = re.compile(rb"/Type[ \t\r\n]{0,4}/ObjStm\b")
_FIRST = re.compile(rb"/First[ \t\r\n]{1,4}([0-9]{1,9})")
_STREAM = re.compile(rb"\bstream\r?\n")


def rebuilt(data: bytes) -> bytes | None:
    """`data` with a new table of objects at its end; None where there is no catalog or no page."""
    places = {}
    for match in _OBJECT.finditer(data):
        places[int(match[1])] = (match.start(), int(match[2]))  # a later one replaces an earlier
        if len(places) > limits.PDF_RESCUED_OBJECTS:
            return None
    encrypt, identity = _last(_ENCRYPT, data), _last(_ID, data)
    tail = bytearray(b"\n")
    if not encrypt:
        for number, body in _unpacked(data, places):
            places[number] = (len(data) + len(tail), 0)
            tail += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    whole = data + bytes(tail)
    root = _catalog(whole, places)
    if root is None or not _PAGE.search(whole):
        return None
    start = len(whole)
    size = max(places) + 1
    lines = [b"xref\n0 1\n0000000000 65535 f \n"]
    lines += [b"%d 1\n%010d %05d n \n" % (n, at, gen) for n, (at, gen) in sorted(places.items())]
    lines.append(
        b"trailer\n<< /Size %d /Root %d %d R %s %s >>\nstartxref\n%d\n%%%%EOF\n"
        % (size, root, places[root][1], encrypt, identity, start)
    )
    return whole + b"".join(lines)


def _last(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    found = b""
    for match in pattern.finditer(data):
        found = match[0]
    return found


def _catalog(data: bytes, places: dict[int, tuple[int, int]]) -> int | None:
    """The number of the catalog: the one a trailer names last, else the last object of its kind."""
    named = [int(match[1]) for match in _ROOT.finditer(data)]
    for number in reversed(named):
        if number in places and _CATALOG.search(_head(data, places[number][0])):
            return number
    by_place = sorted((at, number) for number, (at, _) in places.items())
    for at, number in reversed(by_place):
        if _CATALOG.search(_head(data, at)):
            return number
    return None


def _head(data: bytes, at: int) -> bytes:
    """The start of the object at `at`, up to its end or its stream."""
    head = data[at : at + TRAILER_CHARS]
    return head.partition(b"endobj")[0].partition(b"stream")[0]


def _unpacked(data: bytes, places: dict[int, tuple[int, int]]) -> list[tuple[int, bytes]]:
    """(number, body) of the objects in packed streams that do not stand in the file by itself."""
    found: dict[int, bytes] = {}
    room = limits.PDF_STREAM_BYTES
    for at, _ in sorted(places.values()):
        head = _head(data, at)
        first = _FIRST.search(head)
        if first is None or not _PACKED.search(head):
            continue
        begin = _STREAM.search(data, at, at + TRAILER_CHARS)
        if begin is None:
            continue
        try:
            content = zlib.decompressobj().decompress(data[begin.end() :], room)
        except zlib.error:
            continue
        room = max(1, room - len(content))
        found |= _bodies(content, int(first[1]))
    return [(number, body) for number, body in found.items() if number not in places]


def _bodies(content: bytes, first: int) -> dict[int, bytes]:
    try:
        table = [int(word) for word in content[:first].split()]
    except ValueError:
        return {}
    numbers, starts = table[::2], table[1::2]
    ends = [*starts[1:], len(content) - first]
    return {
        number: content[first + start : first + end]
        for number, start, end in zip(numbers, starts, ends, strict=False)
        if 0 <= number < 100_000_000 and start <= end
    }
