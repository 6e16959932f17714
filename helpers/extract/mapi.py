"""The properties of Outlook items: numbers with types and values, as MSG and TNEF keep them.

Sources: [MS-OXPROPS] property identifiers, [MS-OXCDATA] 2.11 property types, [MS-OXCMSG] bodies.
Promises: 8-bit text is decoded by the code page the item names, else by what its bytes show;
damaged values are left out. Does not: know how the properties lie in a file.
"""

from __future__ import annotations

import datetime
import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from helpers.errors import Unread
from helpers.extract import encoding, mail_text
from helpers.extract.codepages import codec_of_language, codec_of_page

CLASS, SUBJECT, NORMAL_SUBJECT, PREFIX = 0x001A, 0x0037, 0x0E1D, 0x003D
SENT, DELIVERED, CREATED = 0x0039, 0x0E06, 0x3007
SENDER, SENDER_ADDRESS, SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
AUTHOR, AUTHOR_ADDRESS, AUTHOR_SMTP = 0x0042, 0x0065, 0x5D02
SHOWN_TO, SHOWN_CC, SHOWN_BCC = 0x0E04, 0x0E03, 0x0E02
BODY, RTF, HTML, TRANSPORT = 0x1000, 0x1009, 0x1013, 0x007D
INTERNET_PAGE, MESSAGE_PAGE, LOCALE = 0x3FDE, 0x3FFD, 0x3FF1
NAME, ADDRESS, SMTP, RECIPIENT_TYPE = 0x3001, 0x3003, 0x39FE, 0x0C15
DATA, FILE_NAME, LONG_FILE_NAME, METHOD = 0x3701, 0x3704, 0x3707, 0x3705
MIME_TYPE, CONTENT_ID, HIDDEN, RENDERED = 0x370E, 0x3712, 0x7FFE, 0x3714
EMBEDDED, OLE = 5, 6  # methods of attachment besides "by value"

INT16, INT32, FLOAT, DOUBLE, BOOL, OBJECT, INT64 = 0x02, 0x03, 0x04, 0x05, 0x0B, 0x0D, 0x14
NARROW, WIDE, TIME, BINARY = 0x1E, 0x1F, 0x40, 0x102
# Fields of contacts, tasks and meetings that people look for, besides those of a mail.
CARD = {
    0x3A16: "Company", 0x3A17: "Title", 0x3A18: "Department", 0x3A19: "Office",
    0x3A08: "Telephone", 0x3A09: "Telephone", 0x3A1C: "Mobile", 0x3A1B: "Telephone",
    0x3A24: "Fax", 0x3A15: "Address", 0x3A26: "Country", 0x3A27: "City", 0x3A28: "State",
    0x3A29: "Street", 0x3A2A: "Postal code", 0x3A51: "Web page",
}  # fmt: skip
# Properties that are known by a set and a number in it get numbers of their own from here on.
NAMED = 0x10000
PLACE, BEGIN, END, DUE = NAMED + 0x8208, NAMED + 0x820D, NAMED + 0x820E, NAMED + 0x8105
MAIL_ADDRESS, KEYWORDS = NAMED + 0x8083, NAMED
SEVERAL = 0x1000  # of a type: several values
_SETS = {0x00062002: (0x8208, 0x820D, 0x820E), 0x00062003: (0x8105,), 0x00062004: (0x8083,)}
_SET_TAIL = bytes.fromhex("00000000c000000000000046")
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)


@dataclass(slots=True)
class Properties:
    """The properties of one message, recipient or attachment: number → (type, value in bytes).

    `around` is the message that a recipient or attachment belongs to, for its code page.
    """

    values: Mapping[int, tuple[int, bytes]] = field(default_factory=dict)
    around: Properties | None = None

    def __contains__(self, number: int) -> bool:
        return number in self.values

    def whole(self, number: int) -> int:
        """A whole number, 0 where there is none."""
        kind, raw = self.values.get(number, (0, b""))
        size = {INT16: 2, INT32: 4, BOOL: 1, INT64: 8}.get(kind, 0)
        return int.from_bytes(raw[:size], "little") if len(raw) >= size else 0

    def raw(self, number: int) -> bytes:
        """The bytes of a property of variable length."""
        kind, raw = self.values.get(number, (0, b""))
        return raw if kind in (BINARY, NARROW, WIDE, OBJECT) else b""

    def text(self, number: int) -> str:
        """A text, "" where there is none."""
        kind, raw = self.values.get(number, (0, b""))
        if kind == WIDE:
            return raw[: len(raw) & ~1].decode("utf-16-le", "replace").rstrip("\0")
        if kind in (NARROW, BINARY):
            return decoded(raw.rstrip(b"\0"), self.pages)
        return ""

    def line(self, number: int) -> str:
        """A text on one line."""
        return " ".join(self.text(number).split())

    def time(self, number: int) -> datetime.datetime | None:
        """A time, in UTC."""
        kind, raw = self.values.get(number, (0, b""))
        if kind != TIME or len(raw) < 8:
            return None
        try:
            return _EPOCH + datetime.timedelta(microseconds=struct.unpack("<Q", raw[:8])[0] // 10)
        except OverflowError:
            return None

    @property
    def pages(self) -> tuple[str, ...]:
        """The codecs of 8-bit text that the item names, the likeliest first."""
        found = [codec_of_page(self.whole(n)) for n in (MESSAGE_PAGE, INTERNET_PAGE) if n in self]
        found.insert(1, codec_of_language(self.whole(LOCALE)))
        named = [codec for codec in found if codec is not None and not codec.startswith("utf-16")]
        return tuple(dict.fromkeys(named)) or (self.around.pages if self.around else ())

    @property
    def html_page(self) -> str:
        """The codec of an HTML body in bytes."""
        found = codec_of_page(self.whole(INTERNET_PAGE)) if self.whole(INTERNET_PAGE) else None
        return found or ""


def named(guid: bytes, number: int) -> int:
    """The number under which a property of the set `guid` is kept, 0 for one of no interest."""
    wanted = _SETS.get(int.from_bytes(guid[:4], "little"), ())
    return NAMED + number if guid[4:] == _SET_TAIL and number in wanted else 0


def moment(found: Properties, number: int) -> str:
    """A time as it is shown."""
    time = found.time(number)
    return time.strftime("%Y-%m-%d %H:%M UTC") if time else ""


def decoded(raw: bytes, pages: tuple[str, ...]) -> str:
    """8-bit text by one of its code pages, or by what the bytes show where none fits them."""
    fitting = [page for page in pages if _fits(raw, page)]
    if "utf-8" in fitting or (not raw.isascii() and _fits(raw, "utf-8")):
        return raw.decode("utf-8")
    try:
        shown = encoding.detect(io.BytesIO(raw)).codec
    except Unread:
        shown = ""
    if len(fitting) > 1 and shown in fitting:
        return raw.decode(shown)
    page = fitting[0] if fitting else pages[0] if pages else ""
    try:
        return mail_text.decoded(raw, page)[0]
    except Unread:
        return raw.decode(page or "cp1252", "replace")


def _fits(raw: bytes, page: str) -> bool:
    try:
        raw.decode(page)
    except ValueError:
        return False
    return True


def subject(found: Properties) -> str:
    """The subject without the mark that older versions put before it."""
    text = found.line(SUBJECT)
    if not text:
        text = " ".join((found.line(PREFIX) + " " + found.line(NORMAL_SUBJECT)).split())
    return text[2:] if text[:1] == "\x01" else text


def person(found: Properties, name: int, address: int, smtp: int) -> str:
    """`Name <address>`, without an address of Exchange's own kind."""
    shown = found.line(name)
    where = found.line(smtp) or found.line(address)
    if "@" not in where or where == shown:
        return shown or where
    return f"{shown} <{where}>" if shown else where
