r"""Objects inside RTF (`\objdata`): hexadecimal text that holds a document or an equation.

Source: [MS-OLEDS] 2.2.4 and 2.2.5, embedded objects of OLE 1. Promises: an object beyond
RTF_OBJECT_BYTES is left out; documents are read through `nested`, equations told as LaTeX.
Does not: read linked objects, which hold nothing but a picture.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

from helpers.extract import nested
from helpers.extract.blocks import Context, Item, Notice
from helpers.extract.compound import MAGIC
from helpers.extract.embedded import native, read_object
from helpers.extract.embedded_objects import object_document, object_equation
from helpers.limits import RTF_OBJECT_BYTES

HELD_BYTES = RTF_OBJECT_BYTES  # bytes of objects held until the text is over
_EMBEDDED = 2  # the format of an object that is inside the file
_NAME_BYTES = 1_024  # bytes of a class name


class ObjectText:
    """The hexadecimal text of one object on its way."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self.too_large:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    @property
    def too_large(self) -> bool:
        return self._size > 2 * RTF_OBJECT_BYTES

    def data(self) -> bytes:
        """The object's own bytes, without its header; empty where they are damaged."""
        try:
            raw = bytes.fromhex(b"".join(self._pieces).decode("ascii"))
        except ValueError:
            return b""
        return _native_data(raw)


def equation(data: bytes) -> str:
    """What an object shows if it is an equation; else an empty string."""
    return object_equation(data) if data.startswith(MAGIC) else ""


def documents(objects: list[bytes], ctx: Context, first: int) -> Iterator[Item]:
    """The documents in some objects, the first of which has the number `first`."""
    ctx = nested.opened(ctx)
    for number, data in enumerate(objects, first):
        if data.startswith(MAGIC):
            yield from object_document(data, number, ctx)
        else:  # a file that was dropped onto the page; its data begins as in a compound file
            file, name = native(b"\0\0\0\0" + data, io.BytesIO(b""), "")
            if name:
                yield from read_object(file, name, ctx)


def left_out(count: int) -> Notice:
    """The notice for objects that were too large."""
    message = f"{count:,} embedded objects of more than {RTF_OBJECT_BYTES:,} bytes were left out"
    return Notice("limit_reached", message)


def _native_data(raw: bytes) -> bytes:
    """Behind the header: version, format, three names with their lengths, the data's length."""
    try:
        _, kind = struct.unpack_from("<II", raw)
        at = 8
        for _ in range(3):
            (length,) = struct.unpack_from("<I", raw, at)
            if length > _NAME_BYTES:
                return b""
            at += 4 + length
        (size,) = struct.unpack_from("<I", raw, at)
    except struct.error:
        return b""
    return raw[at + 4 : at + 4 + size] if kind == _EMBEDDED else b""
