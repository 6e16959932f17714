"""The text of one HWP 5 paragraph: letters, and the control characters among them.

Source: Hancom, "한글 문서 파일 구조 5.0", section 3.2.3 and table 6 (control characters). Of the
31 lowest codes some stand for themselves, the others begin a control of eight WCHARs: an
inline one holds its data there, an extended one names a control record that follows.
Promises: text is decoded once per run between two controls, never letter by letter.
Does not: read the records that controls point to.
"""

from __future__ import annotations

import re
import struct
from codecs import utf_16_le_decode

_CONTROL = re.compile(rb"(?:\x00\x00)+|[\x01-\x1f]\x00")
_WIDE_BYTES = 16  # a control's eight WCHARs
_LETTERS = {9: "\t", 10: "\n", 24: "-", 30: "\u00a0", 31: " "}
_NARROW = frozenset((0, 10, 13, 24, 25, 26, 27, 28, 29, 30, 31))  # one WCHAR, the rest eight
_INLINE = frozenset((4, 5, 6, 7, 8, 9, 19, 20))  # eight WCHARs without a record

# By the kind of a control: the numbers of the empty parts that such ones fill, the last first.
Slots = dict[bytes, list[int]]


def parts(raw: bytes) -> tuple[list[str], Slots]:
    """The runs of a paragraph's text; a control's place is an empty run named by a slot."""
    found: list[str] = []
    slots: Slots = {}
    at = start = 0
    search = _CONTROL.search
    while match := search(raw, at):
        at = match.start()
        if at & 1:  # the upper byte of one letter and the lower of the next
            at += 1
            continue
        if at > start:
            found.append(utf_16_le_decode(raw[start:at], "replace")[0])
        code = raw[at]
        if code in _LETTERS:
            found.append(_LETTERS[code])
        elif code not in _NARROW and code not in _INLINE:
            slots.setdefault(raw[at + 2 : at + 6], []).append(len(found))
            found.append("")
        at = match.end() if code in _NARROW else at + _WIDE_BYTES
        start = at
    if start < len(raw):
        found.append(utf_16_le_decode(raw[start : len(raw) & ~1], "replace")[0])
    for places in slots.values():
        places.reverse()
    return found, slots


def number(data: bytes) -> str:
    """What an automatic number shows in a caption: of figures, tables and equations only, since
    a page's number is no text and a note's stands beside it."""
    if len(data) < 10 or data[4] & 0xF not in (3, 4, 5):
        return ""
    return str(struct.unpack_from("<H", data, 8)[0])
