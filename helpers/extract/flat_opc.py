"""Office Open XML in one XML file (`pkg:package`), as Word and PowerPoint write it under .xml.

Promises: the parts are found in one pass and read from where they stand in the file, by the
readers of the packed form; of binary parts, which such a file holds as text, only those are decoded
that a reader asks for.
Does not: read workbooks, which no program writes in this form.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import docx, pptx
from helpers.extract.archive import RESAVE, SMALLER
from helpers.extract.blocks import Context, Item
from helpers.extract.markup import Attributes, Scanner, first, names, table
from helpers.extract.opc import Package
from helpers.limits import MARKUP_TOKEN_BYTES, OFFICE_RELATED_PARTS, ZIP_SMALL_PART_BYTES

PIECE_BYTES = 65_536  # bytes read at a time

_NAMESPACES = {"pkg": ("http://schemas.microsoft.com/office/2006/xmlPackage",)}
_NAME = names("pkg:name", _NAMESPACES)
_WIDE = {b"\xff\xfe": ">\0", b"\xfe\xff": "\0>"}


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields what the reader of the packed form yields. Raises Unread as that one does."""
    parts = FlatParts(file, ctx)
    package = Package(parts)
    if "ppt/presentation.xml" in parts:
        yield from pptx.items(package)
    else:
        yield from docx.items(package, ctx)


class FlatParts:
    """The parts of one file, by the interface of `archive.Archive`."""

    def __init__(self, file: BinaryIO, ctx: Context) -> None:
        self._file = file
        self._heartbeat = ctx.heartbeat
        file.seek(0)
        self._mark = file.read(2)
        self._mark = self._mark if self._mark in _WIDE else b""
        self._spans: dict[str, tuple[int, int]] = {}
        self._packed: set[str] = set()  # parts in Base64
        self._index()

    @property
    def names(self) -> list[str]:
        """The folded names of all parts."""
        return list(self._spans)

    def __contains__(self, name: str) -> bool:
        return _plain(name) in self._spans

    def pieces(self, name: str) -> Iterator[bytes]:
        """The part's bytes in pieces. Raises Unread: corrupt."""
        span = self._spans.get(_plain(name))
        if span is None:
            raise Unread("corrupt", f"The file has no part {name}", RESAVE)
        if _plain(name) in self._packed:
            yield from _unpacked(name, self._stored(name, *span))
            return
        if self._mark:
            yield self._mark
        yield from self._stored(name, *span)

    def _stored(self, name: str, at: int, end: int) -> Iterator[bytes]:
        while at < end:
            self._file.seek(at)
            piece = self._file.read(min(PIECE_BYTES, end - at))
            if not piece:
                raise Unread("corrupt", f"The file ends inside its part {name}", RESAVE)
            at += len(piece)
            self._heartbeat()
            yield piece

    def whole(self, name: str, most: int = ZIP_SMALL_PART_BYTES) -> bytes:
        """A small part's bytes; raises Unread limit_reached beyond `most` bytes."""
        found = bytearray()
        for piece in self.pieces(name):
            found += piece
            if len(found) > most:
                raise limit_reached(f"Part {name}", len(found), most, "bytes", SMALLER)
        return bytes(found)

    def _index(self) -> None:
        part = ""
        begin = 0

        def part_start(attributes: Attributes) -> None:
            nonlocal part
            part = first(attributes, _NAME)

        def content_start(attributes: Attributes) -> None:
            nonlocal begin
            begin = scanner.position

        def content_end() -> None:
            if len(self._spans) >= OFFICE_RELATED_PARTS:
                count = len(self._spans) + 1
                raise limit_reached("Parts", count, OFFICE_RELATED_PARTS, "parts", SMALLER)
            self._spans[_plain(part)] = (begin, scanner.position)

        def packed_end() -> None:
            content_end()
            self._packed.add(_plain(part))

        starts = {"pkg:part": part_start, "pkg:xmlData pkg:binaryData": content_start}
        ends = {"pkg:xmlData": content_end, "pkg:binaryData": packed_end}
        scanner = Scanner("the file", table(starts, _NAMESPACES), table(ends, _NAMESPACES))
        scanner.run(self._all())
        self._spans = {name: (self._behind(at), end) for name, (at, end) in self._spans.items()}

    def _all(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(PIECE_BYTES):
            self._heartbeat()
            yield piece

    def _behind(self, at: int) -> int:
        """Where the tag that begins at `at` ends."""
        self._file.seek(at)
        tag = self._file.read(MARKUP_TOKEN_BYTES if self._mark else PIECE_BYTES)
        close = _WIDE[self._mark].encode("latin-1") if self._mark else b">"
        return at + tag.find(close) + len(close)


def _unpacked(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Base64, as it stands in lines or in a charset of two bytes to the letter."""
    rest = b""
    for piece in pieces:
        rest += piece.translate(None, b" \t\r\n\0")
        whole = len(rest) - len(rest) % 4
        try:
            yield base64.b64decode(rest[:whole], validate=True)
        except ValueError as error:
            raise Unread("corrupt", f"Part {name} is damaged", RESAVE) from error
        rest = rest[whole:]


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").casefold()
