"""Property sets: what a binary office document says about itself (title, keywords, code page).

Source: [MS-OLEPS] "Object Linking and Embedding Property Set Data Structures", 2.2 to 2.21.
Promises: a damaged set gives what can still be read of it and raises nothing; text comes in the
set's own code page, and where its bytes do not fit that one, in the one that explains them.
Does not: read vectors, thumbnails and times, or write.
"""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass, field

from helpers import limits
from helpers.errors import Unread
from helpers.extract import encoding
from helpers.extract.blocks import Metadata
from helpers.extract.codepages import WIDE, codec_of_page
from helpers.extract.compound import CompoundFile
from helpers.extract.opc import real_title

SUMMARY = "\x05SummaryInformation"
DOCUMENT_SUMMARY = "\x05DocumentSummaryInformation"
CODE_PAGE, TITLE, SUBJECT, AUTHOR, KEYWORDS, COMMENTS = 1, 2, 3, 4, 5, 6

_INT16, _INT32, _BOOL, _BYTES, _NARROW, _WIDE_TEXT = 0x02, 0x03, 0x0B, 0x08, 0x1E, 0x1F


@dataclass(frozen=True, slots=True)
class PropertySet:
    """The first set of a stream. `values` maps property identifiers to text or whole numbers;
    `codec` decodes its 8-bit strings, `code_page` is the number it gave, 0 where it gave none.
    """

    values: dict[int, str | int] = field(default_factory=dict)
    code_page: int = 0
    codec: str = "cp1252"

    def text(self, number: int) -> str:
        """A property as text on one line; "" where there is none."""
        value = self.values.get(number, "")
        return " ".join(value.split()) if isinstance(value, str) else ""


def summary(container: CompoundFile, codec: str | None = None, name: str = SUMMARY) -> PropertySet:
    """The summary of a document, empty where it is missing or unreadable. `codec` is for 8-bit
    strings of a set that names no code page."""
    if (name,) not in container:
        return PropertySet()
    try:
        return parsed(container.open(name).read(limits.PROPERTY_SET_BYTES), codec)
    except Unread:
        return PropertySet()


def metadata(container: CompoundFile, codec: str | None = None) -> Metadata:
    """Title and keywords of a document as every office reader gives them."""
    found = summary(container, codec)
    words = re.split(r"[,;]", found.text(KEYWORDS))
    tags = tuple(word.strip() for word in words if word.strip())
    return Metadata(title=real_title(found.text(TITLE)), tags=tags)


def parsed(data: bytes, codec: str | None = None) -> PropertySet:
    """The first property set of a stream's bytes."""
    places = _places(data)
    page = _code_page(data, places)
    known = codec_of_page(page) if page else codec
    codec = known or codec or "cp1252"
    values: dict[int, str | int] = {}
    for number, at in places.items():
        value = _value(data, at, codec)
        if value is not None and number > CODE_PAGE:
            values[number] = value
    return PropertySet(values, page, codec)


def _places(data: bytes) -> dict[int, int]:
    """Where each property lies in the stream."""
    if len(data) < 48 or data[:2] != b"\xfe\xff":
        return {}
    start = struct.unpack_from("<I", data, 44)[0]
    if start + 8 > len(data):
        return {}
    count = struct.unpack_from("<I", data, start + 4)[0]
    count = min(count, (len(data) - start - 8) // 8)
    table = struct.iter_unpack("<II", data[start + 8 : start + 8 + 8 * count])
    return {number: start + offset for number, offset in table}


def _code_page(data: bytes, places: dict[int, int]) -> int:
    at = places.get(CODE_PAGE, len(data))
    if at + 6 > len(data) or struct.unpack_from("<H", data, at)[0] != _INT16:
        return 0
    return int(struct.unpack_from("<H", data, at + 4)[0])


def _value(data: bytes, at: int, codec: str) -> str | int | None:
    if at + 8 > len(data):
        return None
    kind, size = struct.unpack_from("<H2xI", data, at)
    if kind in (_INT16, _BOOL):
        return int(struct.unpack_from("<h", data, at + 4)[0])
    if kind == _INT32:
        return int(struct.unpack_from("<i", data, at + 4)[0])
    if kind == _WIDE_TEXT:
        return _cut(data[at + 8 : at + 8 + 2 * size].decode(WIDE, "replace"))
    if kind in (_NARROW, _BYTES):
        return _narrow(data[at + 8 : at + 8 + size], codec)
    return None


def _narrow(raw: bytes, codec: str) -> str:
    text = _cut(raw.decode(codec, "replace"))
    if "\ufffd" not in text or codec == WIDE:
        return text
    try:
        found = encoding.detect(io.BytesIO(raw.partition(b"\0")[0]))
    except Unread:
        return text
    return _cut(raw.decode(found.codec, "replace"))


def _cut(text: str) -> str:
    return text.partition("\0")[0]
