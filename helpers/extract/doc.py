"""Binary Word documents (.doc, .dot): Word 97 to 2003, 6 and 95, and the text of Word 2.

Promises: paragraphs in reading order, headings by style or outline level, table rows, text
boxes, foot- and endnotes, comments, headers and footers; fast-saved documents by their piece
table; 8-bit text in the charset of its font, its language, or its letters; deleted and hidden
text and field codes are left out; equations of Equation Editor and MathType are LaTeX in their
sentence, embedded documents are read behind the text. Locations are those of .docx: the heading
path. Does not: number list items, lay out pages, read macros, the formatting of Word 2, or what
is older.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from helpers.errors import limit_reached
from helpers.extract import doc_fib, properties
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.extract.codepages import codec_of_language
from helpers.extract.compound import CompoundFile, Stream
from helpers.extract.doc_body import NOWHERE, Body, Found, Piece
from helpers.extract.doc_fib import Bare
from helpers.extract.doc_pages import Characters, Pages, Paragraphs
from helpers.extract.doc_stories import (
    Box,
    Drawings,
    anchored_boxes,
    header_ranges,
    image_text,
    ranges,
    whole,
)
from helpers.extract.doc_styles import read_fonts, read_styles
from helpers.extract.doc_text import Stretch, Text
from helpers.extract.embedded_objects import pool_documents, pool_equation
from helpers.extract.opc import real_title
from helpers.extract.outline import Outline, only_page_number
from helpers.extract.quick import block
from helpers.limits import OFFICE_TEXT_CHARS, OLE_PART_BYTES, OLE_STREAM_BYTES

_SPLIT = "Split the document into smaller ones."
_HELD_BYTES = 16 * 1024 * 1024  # of a text stream that is held whole: its pages lie all over
_IMAGE_BYTES = 16_384  # of a picture's head in the data stream
_HUGE_BYTES = 16_384  # of one paragraph's modifiers in the data stream


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then notes, comments, headers and footers.

    Raises Unread: encrypted, corrupt, unsupported, limit_reached.
    """
    file.seek(0)
    bare = file.read(2) in doc_fib.BARE
    document = _Document(Bare(file) if bare else CompoundFile(file), ctx)
    yield from document.items()


class _Document:
    def __init__(self, container: CompoundFile | Bare, ctx: Context) -> None:
        self._container, self._ctx = container, ctx
        fib = self._fib = doc_fib.read_fib(container)
        main = container.open(doc_fib.MAIN)
        if main.size > OLE_STREAM_BYTES:
            what = "the text stream"
            raise limit_reached(what, main.size, OLE_STREAM_BYTES, "bytes", _SPLIT)
        held = io.BytesIO(main.read()) if main.size <= _HELD_BYTES else main
        self._main = cast(BinaryIO, held)
        self._parts = container.open(fib.table)
        self._data: Stream | None = None
        old = fib.old
        characters = Pages(self.part("characters"), self._main, old, fib.listed[0])
        paragraphs = Pages(self.part("paragraphs"), self._main, old, fib.listed[1])
        self._styles = read_styles(self.part("styles"), old)
        fonts, font = read_fonts(self.part("fonts"), old), self._styles.font
        clx = self.part("pieces")
        self._text = Text(fib, self._main, clx, Characters(characters, old), fonts, font)
        self._paragraphs = Paragraphs(paragraphs, old, self._huge)
        self.ranges = ranges(fib) if any(fib.counts) else whole(self._text.end)
        self._outline = Outline()
        self._chars = 0

    def part(self, name: str) -> bytes:
        """A part of the table stream; b"" where it is missing."""
        offset, size = self._fib.places.get(name, (0, 0))
        if not size:
            return b""
        self._parts.seek(offset)
        return self._parts.read(min(size, OLE_PART_BYTES))

    def _huge(self, place: int) -> bytes:
        """Modifiers of a paragraph that has too many for its page."""
        raw = self._data_at(place, _HUGE_BYTES)
        return raw[2 : 2 + int.from_bytes(raw[:2], "little")]

    def _data_at(self, place: int, most: int) -> bytes:
        """What stands at a place of the data stream; b"" where there is none."""
        if (doc_fib.DATA,) not in self._container:
            return b""
        if self._data is None:
            self._data = self._container.open(doc_fib.DATA)
        self._data.seek(place)
        return self._data.read(most)

    def items(self) -> Iterator[Item]:
        metadata = Metadata()
        if isinstance(self._container, CompoundFile):
            codec = codec_of_language(self._fib.language)
            metadata = properties.metadata(self._container, codec)
        if self._fib.old:
            metadata = dataclasses.replace(metadata, encoding=self._text.codec)
        yield metadata
        titled = metadata.title is not None
        boxes = _Boxes(self)
        body = Body(self._paragraphs, self._styles, self._shown_thing, self._shown_image, boxes)
        for batch in body.read(self._stretches(*self.ranges["body"])):
            for found in batch if not titled else ():
                if isinstance(found, Found) and found.title and not titled:
                    titled = True
                    yield Metadata(title=real_title(found.text))
            yield from self._located(batch)
        yield from self._located([*boxes.others()])
        for name in ("footnotes", "endnotes", "comments"):
            place = Location("part", name)
            for found in self.story(*self.ranges[name]):
                yield self._block(found, place)
        yield from self._margins(boxes.loose)
        if isinstance(self._container, CompoundFile):
            yield from pool_documents(self._container, self._ctx)
        if self._text.cut:
            yield Notice("part_unread", "The file is cut off: its last part is missing")

    def story(self, first: int, last: int) -> Iterator[Found]:
        body = Body(self._paragraphs, self._styles, self._shown_thing, self._shown_image)
        for batch in body.read(self._stretches(first, last)):
            for piece in batch:
                yield from map(Found, piece) if isinstance(piece, list) else [piece]

    def _shown_thing(self, place: int) -> str:
        """What an embedded thing shows: equations do, in their sentence."""
        if isinstance(self._container, Bare) or place >= len(self._text.things):
            return ""
        return pool_equation(self._container, self._text.things[place])

    def _shown_image(self, place: int) -> str:
        """The alternative text of a picture in the text."""
        raw = self._data_at(self._text.things[place], _IMAGE_BYTES)
        text = image_text(raw) if raw else ""
        return f" {text} " if text else ""

    def _stretches(self, first: int, last: int) -> Iterator[Stretch]:
        for stretch in self._text.stretches(first, min(last, self._text.end)):
            self._ctx.heartbeat()
            yield stretch

    def _margins(self, loose: list[str]) -> Iterator[Item]:
        """Headers, footers and what shapes in them say, the same text once; page numbers alone
        are no text."""
        seen: set[str] = set()
        start, end = self.ranges["headers"]
        for kind, first, last in header_ranges(self.part("headers"), self._fib.old, end - start):
            place = Location("part", kind)
            for found in self.story(start + first, start + last):
                if found.text not in seen and not only_page_number(found.text):
                    seen.add(found.text)
                    yield self._block(found, place)
        for found in (*self.story(*self.ranges["header_boxes"]), *map(Found, loose)):
            if found.text not in seen and not only_page_number(found.text):
                seen.add(found.text)
                yield self._block(found, Location("part", "header"))

    def _block(self, found: Found, place: Location) -> Block:
        self._count(len(found.text))
        return Block(found.text, found.kind, found.level, place)

    def _located(self, batch: list[Piece]) -> list[Block]:
        """Blocks of the body, under the heading they stand under."""
        blocks: list[Block] = []
        letters = 0
        for piece in batch:
            if isinstance(piece, list):
                letters += sum(map(len, piece))
                blocks += self._outline.paragraphs(piece)
                continue
            text, kind, level, _ = piece
            letters += len(text)
            if level:
                blocks.append(Block(text, kind, level, self._outline.heading(text, level)))
            else:
                blocks.append(block(text, kind, self._outline.paragraph()))
        self._count(letters)
        return blocks

    def _count(self, letters: int) -> None:
        self._chars += letters
        if self._chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", self._chars, OFFICE_TEXT_CHARS, "code points", _SPLIT)


class _Boxes:
    """What stands in shapes of the body: each is read where it is anchored, the others after it.
    `loose` are texts of shapes that are anchored elsewhere, in headers mostly."""

    def __init__(self, document: _Document) -> None:
        self._document = document
        drawings = Drawings(document.part("drawings"))
        boxes = anchored_boxes(document.part("shapes"), document.part("boxes"), drawings)
        self.loose = [box.text for box in boxes if box.anchor < 0]
        self._waiting: list[Box] = [box for box in boxes if box.anchor >= 0][::-1]
        self._start, self._end = document.ranges["boxes"]
        self._read: list[tuple[int, int]] = []
        self.next = self._waiting[-1].anchor if self._waiting else NOWHERE

    def taken(self, upto: int) -> list[Found]:
        """What the shapes anchored up to a position say."""
        found: list[Found] = []
        while self._waiting and self._waiting[-1].anchor <= upto:
            _, first, last, text = self._waiting.pop()
            if text:
                found.append(Found(text))
                continue
            last = min(last, self._end - self._start)
            self._read.append((first, last))
            found += self._document.story(self._start + first, self._start + last)
        self.next = self._waiting[-1].anchor if self._waiting else NOWHERE
        return found

    def others(self) -> Iterator[Found]:
        """What stands in the story of boxes beside those that were read."""
        at = self._start
        for first, last in (*sorted(self._read), (self._end - self._start, 0)):
            if self._start + first > at:
                yield from self._document.story(at, self._start + first)
            at = max(at, self._start + last)
