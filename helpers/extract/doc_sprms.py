"""Property modifiers of Word: what a run of characters or a paragraph is, as far as text goes.

Sources: [MS-DOC] 2.2.5 and 2.6 (sprms), the published Word 6 format for the one-byte ones.
Promises: a list of modifiers that breaks off gives what stood before. Does not: keep looks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

BODY_LEVEL = 9  # the outline level of body text

# Word 97: opcode. Word 6 and 95: opcode, which is also the short form in a fast-saved piece.
P_STYLE, P_IN_TABLE, P_ROW_END, P_DEPTH = 0x4600, 0x2416, 0x2417, 0x6649
P_INNER_CELL, P_INNER_ROW_END, P_OUTLINE = 0x244B, 0x244C, 0x2640
P_HUGE = (0x6645, 0x6646)
T_HEADER = 0x3404
C_DELETED, C_HIDDEN, C_SYMBOL, C_FONT = 0x0800, 0x083C, 0x6A09, 0x4A4F
C_PICTURE, C_OBJECT = 0x6A03, 0x080A
_OF_OLD = {
    2: P_STYLE, 24: P_IN_TABLE, 25: P_ROW_END, 65: C_DELETED, 68: C_PICTURE, 74: C_SYMBOL,
    75: C_OBJECT, 92: C_HIDDEN, 93: C_FONT, 185: T_HEADER,
}  # fmt: skip

_SIZES = (1, 1, 2, 4, 2, 2, 0, 3)  # operand bytes by the top three bits; 0: a length byte
_CHANGED_TABS, _DEFINED_TABLE, _DEFINED_TABLE_10 = 0xC615, 0xD608, 0xD606
_OLD_SIZES = {
    **dict.fromkeys(
        (
            2, *range(16, 20), 21, 22, 26, 27, 28, *range(30, 37), *range(38, 44),
            *range(45, 50), 69, 72, 80, 93, 96, 97, 99, 101, 105, 106, 107, 109, 110, 121, 122,
            123, 124, 140, 141, 144, 145, 148, 149, *range(154, 158), 160, 161,
            *range(164, 172), 182, 183, 184, 189, 195, 197, 198,
        ),
        2,
    ),
    **dict.fromkeys((3, 12, 15, 81, 103, 108, 188, 191), 0),
    **dict.fromkeys((20, 70, 192, 194, 196, 200), 4),
    **dict.fromkeys((68, 193, 199), 5),
    **dict.fromkeys((73, 95, 136, 137), 3),
    120: 13, 187: 12,
}  # fmt: skip


class Look(NamedTuple):
    """A paragraph: `depth` of tables around it, whether it ends a row or an inner cell, its
    `style` and its own outline level (-1: none), whether it ends a row of table headings."""

    depth: int = 0
    row_end: bool = False
    inner_cell: bool = False
    style: int = 0
    outline: int = -1
    header: bool = False
    huge: int = -1


class Effect(NamedTuple):
    """A run: `hidden` or deleted text, one `symbol` (its code), the number of its `font`, the
    number of the embedded `thing` that a field shows here, the place of an `image`."""

    hidden: bool = False
    symbol: int = 0
    font: int = -1
    thing: int = -1
    image: int = -1


def modifiers(raw: bytes, old: bool) -> Iterator[tuple[int, bytes]]:
    """(opcode in the form of Word 97, operand) of a list of modifiers."""
    return _old_modifiers(raw) if old else _modifiers(raw)


def short_modifier(word: int) -> bytes:
    """The modifier that a fast-saved piece names in short, in the form of Word 97."""
    code = _OF_OLD.get(word >> 1 & 0x7F)
    return b"" if code is None else struct.pack("<HB", code, word >> 8)


def look_of(style: int, raw: bytes, old: bool) -> Look:
    """The paragraph that the modifiers `raw` make of the style `style`."""
    in_table = row_end = inner_cell = inner_end = header = False
    depth, outline, huge = -1, -1, -1
    for code, operand in modifiers(raw, old):
        if code == P_IN_TABLE:
            in_table = operand[:1] != b"\0"
        elif code == P_ROW_END:
            row_end = operand[:1] != b"\0"
        elif code == P_DEPTH:
            depth = int.from_bytes(operand, "little", signed=True)
        elif code == P_INNER_CELL:
            inner_cell = operand[:1] != b"\0"
        elif code == P_INNER_ROW_END:
            inner_end = operand[:1] != b"\0"
        elif code == P_OUTLINE:
            outline = operand[0]
        elif code == P_STYLE:
            style = int.from_bytes(operand[:2], "little")
        elif code == T_HEADER:
            header = operand[:1] != b"\0"
        elif code in P_HUGE:
            huge = int.from_bytes(operand, "little")
    depth = max(0, min(depth, 16)) if depth > 0 else int(in_table or row_end)
    return Look(depth, row_end or inner_end, inner_cell, style, outline, header, huge)


def effect_of(raw: bytes, old: bool) -> Effect | None:
    """What the modifiers of a run do to its text; None where they do nothing."""
    hidden = deleted = embedded = False
    symbol, font, picture = 0, -1, -1
    for code, operand in modifiers(raw, old):
        if code == C_DELETED:
            deleted = operand[:1] == b"\1"
        elif code == C_HIDDEN:
            hidden = operand[:1] in (b"\1", b"\x81")
        elif code == C_SYMBOL and len(operand) >= 3:
            symbol = int.from_bytes(operand[2:4], "little")
        elif code == C_FONT and old:
            font = int.from_bytes(operand[:2], "little")
        elif code == C_PICTURE:
            picture = int.from_bytes(operand[-4:], "little")
        elif code == C_OBJECT:
            embedded = operand[:1] == b"\1"
    thing, image = (picture, -1) if embedded else (-1, picture)
    if hidden or deleted or symbol or font >= 0 or picture >= 0:
        return Effect(hidden or deleted, symbol, font, thing, image)
    return None


def _modifiers(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at, end = 0, len(raw) - 2
    while at < end:
        code = raw[at] | raw[at + 1] << 8
        at += 2
        size = _SIZES[code >> 13]
        if not size:
            size, at = _variable(raw, at, code)
        if not code or at + size > end + 2:
            return
        yield code, raw[at : at + size]
        at += size


def _variable(raw: bytes, at: int, code: int) -> tuple[int, int]:
    """(bytes of the operand, where it begins) of a modifier that tells its length."""
    if code in (_DEFINED_TABLE, _DEFINED_TABLE_10):
        return max(0, int.from_bytes(raw[at : at + 2], "little") - 1), at + 2
    if code == _CHANGED_TABS and raw[at] == 255:
        return _long_tabs(raw, at), at + 1
    return raw[at], at + 1


def _long_tabs(raw: bytes, at: int) -> int:
    deleted = raw[at + 1] if at + 1 < len(raw) else 0
    added_at = at + 2 + 4 * deleted
    added = raw[added_at] if added_at < len(raw) else 0
    return 2 + 4 * deleted + 3 * added


def _old_modifiers(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(raw):
        code = raw[at]
        at += 1
        size = _OLD_SIZES.get(code, 1)
        if code == 190:
            size, at = max(0, int.from_bytes(raw[at : at + 2], "little") - 1), at + 2
        elif code == 23 and raw[at : at + 1] == b"\xff":
            size, at = _long_tabs(raw, at), at + 1
        elif code == 74 or not size:
            size, at = (raw[at] if at < len(raw) else 0), at + 1
        if not code or at + size > len(raw):
            return
        if code in _OF_OLD:
            yield _OF_OLD[code], raw[at : at + size]
        at += size
