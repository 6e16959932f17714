"""Outlook messages (.msg, .oft): mails, meetings, contacts and notes, with what is attached.

Source: [MS-OXMSG] "Outlook Item (.msg) File Format", 2.1 to 2.4; [MS-CFB].
Promises: subject as title, sender, recipients and date, then the text: the plain one, else HTML,
else RTF (HTML inside it taken out); attachments and forwarded messages under the message, to the
depth that `nested` allows. What is encrypted is said to be.
Does not: decrypt, read pictures inside the text, or follow links to files that are not in it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread
from helpers.extract import mapi, nested
from helpers.extract.blocks import Context, Item
from helpers.extract.compound import STORAGE, CompoundFile, Entry, Path
from helpers.extract.mail import Message
from helpers.extract.mail_parts import part_at
from helpers.extract.mail_writer import Writer
from helpers.extract.mapi import Properties
from helpers.extract.outlook_item import body, categories, facts, fields_of, is_picture

PROPERTIES = "__properties_version1.0"
RECIPIENT, ATTACHMENT, VALUE = "__recip_version1.0_", "__attach_version1.0_", "__substg1.0_"
_HEADERS = {"message": 32, "embedded": 24, "part": 8}  # bytes in front of the properties
NAMES = "__nameid_version1.0"
_LINE = "\n".encode("utf-16-le")
_KEYWORDS = "Keywords".encode("utf-16-le")
_NAME = struct.Struct("<IHH")
_ROW = struct.Struct("<HHI8s")
_VARIABLE = {mapi.NARROW, mapi.WIDE, mapi.BINARY}
_KINDS = {0: "From", 1: "To", 2: "Cc"}  # of recipients


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Metadata, the header, the text and the attachments.

    Raises Unread: `corrupt` where the file cannot be followed or holds no message.
    """
    container = _Container(file)
    if (PROPERTIES,) not in container:
        raise Unread(
            "corrupt", "It holds no message", "Export the message again from its mail program."
        )
    yield from items(container, (), nested.opened(ctx), "message")


class _Container(CompoundFile):
    """A compound file that knows what lies right below each storage."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._children: dict[Path, list[Entry]] = {}
        for folded, entry in self.entries.items():
            self._children.setdefault(folded[:-1], []).append(entry)
        self.named = self._named_properties()

    def below(self, path: Path = ()) -> Iterator[Entry]:
        return iter(self._children.get(tuple(name.lower() for name in path), ()))

    def _names(self, stream: str) -> bytes:
        try:
            return self.read(NAMES, stream, most=limits.PROPERTY_SET_BYTES)
        except Unread:
            return b""

    def _named_properties(self) -> dict[int, int]:
        """Number in this file → number in `mapi` of the named properties of interest."""
        sets, rows, texts = (self._names(f"{VALUE}000{n}0102") for n in (2, 3, 4))
        found = {}
        for number, kind, place in _NAME.iter_unpack(rows[: len(rows) // 8 * 8]):
            at = ((kind >> 1) - 3) * 16  # the first three sets have no entry
            if kind & 1:
                size = int.from_bytes(texts[number : number + 4], "little")
                if texts[number + 4 : number + 4 + size] == _KEYWORDS:
                    found[0x8000 + place] = mapi.KEYWORDS
            elif at >= 0 and mapi.named(sets[at : at + 16], number):
                found[0x8000 + place] = mapi.named(sets[at : at + 16], number)
        return found


def items(container: _Container, path: Path, ctx: Context, kind: str) -> Iterator[Item]:
    """Everything in the message whose storage is `path`."""
    found = properties(container, path, kind)
    written = Writer(ctx)
    folders = [e.path for e in container.below(path) if e.kind == STORAGE]
    attached = [
        (folder, properties(container, folder, "part", found))
        for folder in _numbered(folders, ATTACHMENT)
    ]
    yield from written.facts(mapi.subject(found), facts(found), categories(found))
    signed = found.line(mapi.CLASS).upper().startswith("IPM.NOTE.SMIME")
    shown = [pair for pair in attached if not (signed or is_picture(pair[1], _name(pair[1])))]
    fields = fields_of(found, _people(container, folders, found))
    yield from written.head(fields, [_name(own) for _, own in shown])
    yield from body(found, written, ctx)
    if signed:
        for folder, _ in attached:
            yield from _signed(container, folder, ctx, written)
    for folder, own in shown:
        ctx.heartbeat()
        yield from _attachment(container, folder, own, written)


def properties(
    container: _Container, path: Path, kind: str, around: Properties | None = None
) -> Properties:
    """The properties of a message, recipient or attachment; empty where they are unreadable."""
    values: dict[int, tuple[int, bytes]] = {}
    try:
        raw = container.read(*path, PROPERTIES, most=limits.PROPERTY_SET_BYTES)
    except Unread:
        raw = b""
    start = _HEADERS[kind]
    if kind == "message" and len(raw) % 16 == 8:  # an attached message that was saved as it is
        start = _HEADERS["embedded"]
    for kind_of, number, _, value in _ROW.iter_unpack(
        raw[start : start + (len(raw) - start) // 16 * 16] if len(raw) > start else b""
    ):
        if kind_of not in _VARIABLE:
            values[number] = (kind_of, value)
    for entry in container.below(path):
        name = entry.path[-1].lower()
        if name.startswith(VALUE) and len(name) == len(VALUE) + 8 and entry.kind != STORAGE:
            _add_stream(container, entry.path, name[len(VALUE) :], values)
        elif name[-9:-8] == "-" and name[len(VALUE) + 4 : -9] == f"{mapi.SEVERAL | mapi.WIDE:04x}":
            _add_stream(container, entry.path, f"{name[len(VALUE) : -13]}{mapi.WIDE:04x}", values)
    for own, known in container.named.items():
        if own in values:
            values[known] = values[own]
    return Properties(values, around)


# --- the parts of an item -----------------------------------------------------------------


def _add_stream(
    container: _Container, path: Path, code: str, values: dict[int, tuple[int, bytes]]
) -> None:
    """Take a property that lies in a stream of its own; what is too long or damaged is left out."""
    try:
        number, kind = int(code[:4], 16), int(code[4:], 16)
    except ValueError:
        return
    if kind not in _VARIABLE or number == mapi.DATA:  # the content of a file is opened in place
        return
    before = values.get(number, (0, b""))
    if before[0] == mapi.WIDE and kind != mapi.WIDE:  # the same text once more in 8 bits
        return
    try:
        raw = container.read(*path, most=limits.MAIL_TEXT_BYTES * 2)
    except Unread:
        return
    if before[0] == mapi.WIDE and len(before[1]) < limits.PROPERTY_SET_BYTES:  # one of several
        raw = before[1].rstrip(b"\0") + b"\0" * (len(before[1].rstrip(b"\0")) % 2) + _LINE + raw
    values[number] = (kind, raw)


def _numbered(folders: list[Path], start: str) -> list[Path]:
    found = [folder for folder in folders if folder[-1].lower().startswith(start)]
    return sorted(found, key=lambda folder: folder[-1].lower())


def _people(container: _Container, folders: list[Path], found: Properties) -> dict[str, list[str]]:
    people: dict[str, list[str]] = {}
    for folder in _numbered(folders, RECIPIENT)[: limits.MAIL_PARTS]:
        own = properties(container, folder, "part", found)
        shown = mapi.person(own, mapi.NAME, mapi.ADDRESS, mapi.SMTP)
        if shown:
            kind = _KINDS.get(own.whole(mapi.RECIPIENT_TYPE) & 3, "To")
            people.setdefault(kind, []).append(shown)
    return people


# --- attachments --------------------------------------------------------------------------


def _name(own: Properties) -> str:
    names = (own.line(n) for n in (mapi.LONG_FILE_NAME, mapi.FILE_NAME, mapi.NAME))
    found = next((name for name in names if name), "")
    return found.replace("\\", "/").rpartition("/")[2] or "unnamed"


def _attachment(
    container: _Container, folder: Path, own: Properties, written: Writer
) -> Iterator[Item]:
    name = _name(own)
    inner = (*folder, f"{VALUE}3701000D")
    content = (*folder, f"{VALUE}37010102")
    entry = container.entries.get(tuple(part.lower() for part in inner))
    if entry is not None and entry.kind == STORAGE and (*inner, PROPERTIES) in container:
        yield from written.inner(lambda ctx: items(container, inner, ctx, "embedded"), name, 0)
    elif content in container:
        data: BinaryIO = container.open(*content)  # type: ignore[assignment]
        yield from written.attachment(data, name)
    elif entry is not None:
        yield written.notice("part_unread", f"attachment {name}: embedded objects are not read")
    else:
        yield written.notice("part_unread", f"attachment {name}: it is not in the message")


def _signed(container: _Container, folder: Path, ctx: Context, written: Writer) -> Iterator[Item]:
    """The only attachment of a signed or encrypted message: the message as it was sent."""
    content = (*folder, f"{VALUE}37010102")
    if content not in container:
        return
    raw = container.read(*content, most=limits.NESTED_BYTES)
    if raw[:1] == b"\x30":  # of PKCS #7 alone, without a header
        header = b"Content-Type: application/pkcs7-mime\n\n"
        raw = header + raw
    yield from Message(part_at(io.BytesIO(raw), 0, len(raw)), ctx, written=written).body()
