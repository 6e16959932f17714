r"""Rich Text Format (.rtf), to version 1.9.1.

Promises: paragraphs in reading order with headings by style or outline level; tables as rows,
nested ones too; footnotes, comments and text boxes after the paragraph they belong to, page
headers and footers once, at the end; old code pages by font, Unicode escapes; memory does not
grow with the file. A page is unknown in this format: the location is the heading path.
Embedded documents are read behind the text. Does not: number list items that carry no number, read
pictures or field codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.opc import real_title
from helpers.extract.outline import Outline
from helpers.extract.rtf_body import RtfScanner
from helpers.extract.rtf_flow import Piece
from helpers.extract.rtf_objects import HELD_BYTES, documents, left_out
from helpers.limits import OFFICE_TEXT_CHARS

_HEAD_BYTES = 1_024  # bytes within which the file must begin with its mark
_MARK = re.compile(rb"\A(?:\xef\xbb\xbf)?[\s\0]*(?=\{\\rtf)")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields the blocks, with Metadata among them and once more at the end.

    Raises Unread: corrupt, limit_reached, empty.
    """
    file.seek(0)
    mark = _MARK.match(file.read(_HEAD_BYTES))
    if mark is None:
        raise Unread("corrupt", "The file does not begin as RTF", "Export the document again.")
    file.seek(mark.end())
    scanner = RtfScanner(file, ctx.heartbeat)
    places = _Places(scanner)
    any_text = False
    for item in _items(scanner, places, ctx):
        any_text = any_text or isinstance(item, Block)
        yield item
    yield from _ending(scanner, any_text)


def _items(scanner: RtfScanner, places: _Places, ctx: Context) -> Iterator[Item]:
    """The text, page headers and footers, then what is embedded (earlier where that is much)."""
    info = scanner.info
    count = 1
    for piece in scanner.pieces():
        yield from places.located(piece)
        if info.objects and sum(map(len, info.objects)) > HELD_BYTES:
            objects, info.objects = info.objects, []
            yield from documents(objects, ctx, count)
            count += len(objects)
    for piece in info.margins.values():
        yield from places.located(piece)
    yield from documents(info.objects, ctx, count)
    if info.too_large:
        yield left_out(info.too_large)


class _Places:
    """Gives pieces their locations, and counts them."""

    def __init__(self, scanner: RtfScanner) -> None:
        self._scanner = scanner
        self._outline = Outline()
        self._titled = self._described = False
        self._chars = 0

    def located(self, piece: Piece) -> Iterator[Item]:
        if not self._described:
            self._described = True
            metadata = _metadata(self._scanner)
            self._titled = metadata.title is not None
            yield metadata
        if piece.title and not self._titled:
            self._titled = True
            yield Metadata(title=real_title(" ".join(piece.text.split())))
        self._chars += len(piece.text)
        if self._chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", self._chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
        place = piece.location
        if place is None and piece.kind == "heading":
            place = self._outline.heading(piece.text, piece.level)
        elif place is None:
            place = self._outline.paragraph()
        yield Block(piece.text, piece.kind, piece.level, place)


def _metadata(scanner: RtfScanner) -> Metadata:
    """Title and keywords of the information group, which comes before the text."""
    info = scanner.info
    words = tuple(filter(None, (word.strip() for word in re.split("[,;]", info.keywords))))
    return Metadata(real_title(" ".join(info.title.split())), words, encoding=info.codec)


def _ending(scanner: RtfScanner, any_text: bool) -> Iterator[Item]:
    unclosed = scanner.info.unclosed
    if not any_text and unclosed:
        raise Unread("corrupt", "The file is cut short: no text in it", "Restore it from a backup.")
    if not any_text:
        raise Unread("empty", "The document holds no text", "It is read once it has content.")
    if unclosed:
        yield Notice("incomplete", f"The file is cut short: {unclosed:,} groups are still open")
