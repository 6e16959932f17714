"""Outlook items made in memory: MSG compound files and TNEF streams."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Mapping
from typing import Any

from helpers.extract import mapi
from tests.extract.compound_files import packed

Value = str | bytes | int | datetime.datetime
Values = Mapping[int, Value]
Path = tuple[str, ...]
Streams = dict[Path | str, bytes]

SENT = datetime.datetime(2024, 5, 1, 9, 30, tzinfo=datetime.timezone.utc)
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)


def streams(values: Values, path: Path = (), header: int = 32, page: str = "") -> Streams:
    """The streams of one message, recipient or attachment; text in 8 bits where `page` is given."""
    rows: list[bytes] = []
    found: Streams = {}
    for number, value in values.items():
        kind, raw = _coded(value, page)
        if kind in (mapi.INT32, mapi.TIME):
            rows.append(struct.pack("<HHI8s", kind, number, 6, raw.ljust(8, b"\0")))
        else:
            place = (*path, f"__substg1.0_{number:04X}{kind:04X}")
            found[place] = raw
            rows.append(struct.pack("<HHII4x", kind, number, 6, len(raw)))
    place = (*path, "__properties_version1.0")
    found[place] = bytes(header) + b"".join(rows)
    return found


def message(
    values: Values,
    attachments: tuple[Values, ...] = (),
    recipients: tuple[Values, ...] = (),
    page: str = "",
    path: Path = (),
) -> Streams:
    """The streams of a message; an attachment whose content is a dict of streams is a message."""
    found = streams(values, path, 24 if path else 32, page)
    for order, one in enumerate(recipients):
        found |= streams(one, (*path, f"__recip_version1.0_#{order:08X}"), 8, page)
    for order, one in enumerate(attachments):
        found |= streams(one, (*path, f"__attach_version1.0_#{order:08X}"), 8, page)
    return found


def inner_path(order: int, path: Path = ()) -> Path:
    """Where the message lies that is attachment number `order`."""
    return (*path, f"__attach_version1.0_#{order:08X}", "__substg1.0_3701000D")


def msg(*args: Any, **named: Any) -> bytes:
    """A whole MSG file; takes what `message` takes."""
    return packed(message(*args, **named))


def stored_rtf(rtf: bytes) -> bytes:
    """RTF in the envelope of compressed RTF, stored as it is."""
    return struct.pack("<IIII", len(rtf) + 12, len(rtf), 0x414C454D, 0) + rtf


def tnef(values: Values, *attachments: tuple[str, bytes], page: str = "") -> bytes:
    """A TNEF stream: the message's properties, then (name, content) of what is attached."""
    found = bytearray(b"\x78\x9f\x3e\x22\1\0")
    found += _attribute(1, 0x9003, _tnef_properties(values, page))
    for name, content in attachments:
        found += _attribute(2, 0x9002, bytes(14))
        found += _attribute(2, 0x8010, name.encode("ascii", "replace") + b"\0")
        found += _attribute(2, 0x800F, content)
        found += _attribute(2, 0x9005, _tnef_properties({mapi.LONG_FILE_NAME: name}, ""))
    return bytes(found)


def _attribute(level: int, number: int, data: bytes) -> bytes:
    head = struct.pack("<BHHI", level, number, 6, len(data))
    return head + data + struct.pack("<H", sum(data) & 0xFFFF)


def _tnef_properties(values: Values, page: str) -> bytes:
    found = [struct.pack("<I", len(values) + 2)]
    # A named property and one of several values stand in front, to be passed over.
    name = "Keywords".encode("utf-16-le")
    found.append(struct.pack("<HH16xII", mapi.WIDE, 0x8005, 1, len(name)) + name)
    found.append(struct.pack("<II", 1, 2) + b"x\0\0\0")
    found.append(struct.pack("<HHIII", 0x1000 | mapi.INT32, 0x6000, 2, 7, 8))
    for number, value in values.items():
        kind, raw = _coded(value, page)
        found.append(struct.pack("<HH", kind, number))
        if kind not in (mapi.INT32, mapi.TIME):
            found.append(struct.pack("<II", 1, len(raw)))
        found.append(raw + bytes(-len(raw) % 4))
    return b"".join(found)


def _coded(value: Value, page: str) -> tuple[int, bytes]:
    if isinstance(value, int):
        return mapi.INT32, struct.pack("<I", value)
    if isinstance(value, bytes):
        return mapi.BINARY, value
    if isinstance(value, datetime.datetime):
        ticks = int((value - _EPOCH).total_seconds()) * 10_000_000
        return mapi.TIME, struct.pack("<Q", ticks)
    return (mapi.NARROW, value.encode(page)) if page else (mapi.WIDE, value.encode("utf-16-le"))
