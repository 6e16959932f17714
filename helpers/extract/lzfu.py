"""The compressed RTF of Outlook: a message's formatted text as it lies in its property.

Source: [MS-OXRTFCP] "Rich Text Format (RTF) Compression Algorithm", 2.1 to 3.1. Promises: what is
cut off or damaged gives the text up to there; output is capped. Does not: check the checksum.
"""

from __future__ import annotations

import struct

from helpers import limits
from helpers.errors import Unread, limit_reached

COMPRESSED, PLAIN = 0x75465A4C, 0x414C454D  # "LZFu", "MELA"
WINDOW = 4_096  # bytes of the dictionary, a ring
_FIRST = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern "
    b"\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0"
    b"\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_HEADER = struct.Struct("<IIII")


def inflated(raw: bytes, most: int = limits.MSG_RTF_BYTES) -> bytes:
    """The RTF. Raises Unread: `corrupt` for another header, `limit_reached` beyond `most` bytes."""
    if len(raw) < _HEADER.size:
        raise _corrupt()
    _, size, kind, _ = _HEADER.unpack_from(raw)
    if size > most:
        raise limit_reached("the formatted text of a mail", size, most, "bytes", "Split the mail.")
    if kind == PLAIN:
        return raw[_HEADER.size : _HEADER.size + size]
    if kind != COMPRESSED:
        raise _corrupt()
    # The ring begins with known text; positions in the output are shifted by its length, so that
    # the output itself serves as the ring.
    found = bytearray(_FIRST)
    lead, end = len(_FIRST), len(_FIRST) + size
    at, length = _HEADER.size, len(raw)
    while at < length and len(found) < end:
        control = raw[at]
        at += 1
        for bit in range(8):
            if not control >> bit & 1:
                if at >= length:
                    break
                found.append(raw[at])
                at += 1
                continue
            if at + 1 >= length:
                break
            pair = raw[at] << 8 | raw[at + 1]
            at += 2
            if not _copied(found, pair >> 4, (pair & 15) + 2):
                return bytes(found[lead:end])
    return bytes(found[lead:end])


def _copied(found: bytearray, offset: int, count: int) -> bool:
    """Append `count` bytes from the ring's `offset`; False at the mark of the end."""
    write = len(found) % WINDOW
    back = (write - offset) % WINDOW
    if not back:
        return False
    start = len(found) - back
    if start < 0:  # a place of the ring that nothing was written to
        found += bytes(count)
    elif back >= count:
        found += found[start : start + count]
    else:
        piece = found[start:]
        found += (piece * (count // back + 1))[:count]
    return True


def _corrupt() -> Unread:
    return Unread("corrupt", "The formatted text of a mail has another compression")
