"""The envelope that Outlook puts around attachments in mail to others: `winmail.dat`.

Source: [MS-OXTNEF] "Transport Neutral Encapsulation Format", 2.1 to 2.1.3.5.
Promises: the text of the message and its attachments, forwarded messages too; what is cut off
gives what lies in front of the cut. Does not: check sums, or read meetings' own attributes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread
from helpers.extract import mapi, nested
from helpers.extract.blocks import Context, Item
from helpers.extract.mail_writer import Writer
from helpers.extract.mapi import Properties
from helpers.extract.outlook_item import body, categories, facts, fields_of, is_picture

MAGIC = b"\x78\x9f\x3e\x22"
_SUBJECT, _BODY, _PAGE, _PROPERTIES = 0x8004, 0x800C, 0x9007, 0x9003
_RENDERED, _TITLE, _DATA, _ATTACHED = 0x9002, 0x8010, 0x800F, 0x9005
_HEAD = struct.Struct("<BHHI")
_INTERFACE_BYTES = 16  # in front of an object that is a property
_FIXED = {2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 2, 20: 8, 64: 8, 72: 16}  # bytes
_VARIABLE = {mapi.NARROW, mapi.WIDE, mapi.BINARY, mapi.OBJECT}


@dataclass(slots=True)
class _Attachment:
    values: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    title: bytes = b""
    data: bytes = b""


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """The message inside, and what is attached to it. Raises Unread("corrupt")."""
    ctx = nested.opened(ctx)
    file.seek(0)
    raw = file.read(limits.NESTED_BYTES)
    written = Writer(ctx)
    found, _ = parsed(raw)
    yield from written.facts(mapi.subject(found), facts(found), categories(found))
    yield from items(raw, ctx, written, with_text=True)


def items(raw: bytes, ctx: Context, written: Writer, with_text: bool) -> Iterator[Item]:
    """The attachments, behind the head and text of the message where it `with_text`.

    Raises Unread("corrupt").
    """
    found, files = parsed(raw)
    if with_text:
        yield from written.head(fields_of(found), [name for name, _ in files])
        yield from body(found, written, ctx)
    for name, content in files:
        yield from written.attachment(io.BytesIO(content), name)


def parsed(raw: bytes) -> tuple[Properties, list[tuple[str, bytes]]]:
    """The message's properties, and (name, content) of what is attached.

    Raises Unread("corrupt").
    """
    if not raw.startswith(MAGIC):
        raise Unread(
            "corrupt", "It does not begin as TNEF", "Ask the sender for plain attachments."
        )
    found, attachments = _parsed(raw)
    files = []
    for one in attachments:
        name, inner = _name(one, found), one.values.get(mapi.DATA, (0, b""))[1]
        if inner[_INTERFACE_BYTES:].startswith(MAGIC):  # a message forwarded as an attachment
            files.append((f"{name}.tnef", inner[_INTERFACE_BYTES:]))
        elif not is_picture(Properties(one.values), name):
            files.append((name, one.data or inner))
    return found, files


def _parsed(raw: bytes) -> tuple[Properties, list[_Attachment]]:
    values: dict[int, tuple[int, bytes]] = {}
    attachments: list[_Attachment] = []
    at = 6
    while at + _HEAD.size <= len(raw):
        level, number, _, size = _HEAD.unpack_from(raw, at)
        data = raw[at + _HEAD.size : at + _HEAD.size + size]
        at += _HEAD.size + size + 2
        if level == 1:
            _message(number, data, values)
        elif level == 2 and len(attachments) <= limits.MAIL_PARTS:
            if number == _RENDERED or not attachments:
                attachments.append(_Attachment())
            _attached(number, data, attachments[-1])
        elif level not in (1, 2):
            break
    return Properties(values), attachments


def _message(number: int, data: bytes, values: dict[int, tuple[int, bytes]]) -> None:
    if number == _PROPERTIES:
        values.update(_properties(data))
    elif number == _PAGE and len(data) >= 4:
        values.setdefault(mapi.MESSAGE_PAGE, (mapi.INT32, data[:4]))
    elif number == _SUBJECT:
        values.setdefault(mapi.SUBJECT, (mapi.NARROW, data.rstrip(b"\0")))
    elif number == _BODY:
        values.setdefault(mapi.BODY, (mapi.NARROW, data.rstrip(b"\0")))


def _attached(number: int, data: bytes, found: _Attachment) -> None:
    if number == _ATTACHED:
        found.values.update(_properties(data))
    elif number == _TITLE:
        found.title = data.rstrip(b"\0")
    elif number == _DATA:
        found.data = data


def _name(one: _Attachment, found: Properties) -> str:
    own = Properties(one.values, found)
    named = own.line(mapi.LONG_FILE_NAME) or own.line(mapi.FILE_NAME) or own.line(mapi.NAME)
    return named or mapi.decoded(one.title, found.pages) or "unnamed"


def _properties(raw: bytes) -> dict[int, tuple[int, bytes]]:
    """The properties of an attribute: as many as can be followed."""
    found: dict[int, tuple[int, bytes]] = {}
    try:
        (count,) = struct.unpack_from("<I", raw)
        at = 4
        for _ in range(min(count, limits.OLE_ENTRIES)):
            kind, number = struct.unpack_from("<HH", raw, at)
            at += 4
            if number >= 0x8000:
                at, number = _named(raw, at)
            at = _value(raw, at, kind, number, found)
    except (struct.error, ValueError):
        pass  # what lies in front of the damage is kept
    return found


def _named(raw: bytes, at: int) -> tuple[int, int]:
    """Where a named property's value begins, and its number in `mapi` (0: of no interest)."""
    kind, number = struct.unpack_from("<II", raw, at + 16)
    if kind == 0:
        return at + 24, mapi.named(raw[at : at + 16], number)
    return at + 24 + (number + 3) // 4 * 4, 0


def _value(raw: bytes, at: int, kind: int, number: int, found: dict[int, tuple[int, bytes]]) -> int:
    """Take one value; of several, the first. Where the next property begins."""
    plain = kind & 0x0FFF
    several = bool(kind & 0x1000)
    count = 1
    if several or plain in _VARIABLE:
        (count,) = struct.unpack_from("<I", raw, at)
        at += 4
    for order in range(count):
        if at > len(raw):
            raise ValueError("beyond the end")
        if plain in _VARIABLE:
            (size,) = struct.unpack_from("<I", raw, at)
            at += 4
        else:
            size = _FIXED[plain] if plain in _FIXED else _unknown(plain)
        if not order and number:
            found[number] = (plain, raw[at : at + size])
        at += (size + 3) // 4 * 4
    return at


def _unknown(kind: int) -> int:
    raise ValueError(f"a property of type {kind:#x}")
