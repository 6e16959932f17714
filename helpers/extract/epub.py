"""Books (.epub): the pages in their reading order, located by chapter.

Promises: EPUB 2 and 3; the chapter a text stands in is the one that the table of contents names,
or the page's first heading, or its file's name; tables of contents are not read as text; pages
that are not well-formed are read as a browser reads them; a page that is missing or damaged is
noticed and the others are read. Does not: read pictures, sound, scripts or protected books.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import html, svg
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.epub_book import Item as BookItem
from helpers.extract.epub_book import open_book
from helpers.extract.epub_page import BookPage, BookTags, Chapters
from helpers.extract.stream import TextStream
from helpers.limits import OFFICE_TEXT_CHARS

_DECLARATIONS = re.compile(rb"(<!DOCTYPE[^\[>]{0,400})\[[^\]]{0,10000}\]\s{0,100}>", re.IGNORECASE)
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg")
_NO_TEXT = ("image/", "audio/", "video/", "font/", "application/pdf", "text/css")
_HEAD_BYTES = 65_536  # bytes of a page in which it may declare what it is
_HELD_CHARS = 4_000_000  # code points of a page held until it is known to be well-formed


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the blocks of the pages.

    Raises Unread: encrypted, corrupt, limit_reached, empty.
    """
    archive = Archive(file, ctx)
    book = open_book(archive)
    yield book.metadata()
    yield from book.notices
    reader = _Pages(archive, Chapters(book.contents), ctx)
    for page in book.spine:
        for batch in reader.page(page):
            yield from batch
    if not reader.chapters.chars and any(name.endswith(_PICTURES) for name in archive.names):
        yield Notice("no_text", "The pages of the book hold nothing but pictures")


class _Pages:
    def __init__(self, archive: Archive, chapters: Chapters, ctx: Context) -> None:
        self.chapters = chapters
        self._archive, self._ctx = archive, ctx
        self._page = BookPage(chapters)
        self._tags = BookTags(self._page)

    def page(self, page: BookItem) -> Iterator[list[Item]]:
        """The items of a page, some at a time."""
        if page.path not in self._archive:
            yield [Notice("part_unread", f"The page {page.path} is missing from the book")]
            return
        if page.media.startswith(_NO_TEXT) and "svg" not in page.media:
            yield [Notice("no_text", f"The page {page.path} is no text ({page.media[:40]})")]
            return
        self._page.open(page.path)
        try:
            if "svg" in page.media:
                yield from self._drawing(page.path)
            else:
                yield from self._well_formed(page.path)
        except Unread as error:
            if error.code in ("limit_reached", "encrypted"):
                raise
            yield [Notice("part_unread", error.reason)]

    def _drawing(self, path: str) -> Iterator[list[Item]]:
        place = self._page.place(None)
        for item in svg.items_of(path, self._archive.pieces(path)):
            if isinstance(item, Block):
                self._count(self.chapters.chars + len(item.text))
                yield [Block(item.text, location=place)]

    def _well_formed(self, path: str) -> Iterator[list[Item]]:
        """The page as XML; as a browser would read it where it turns out to be none."""
        page, title, before = self._page, self.chapters.title, self.chapters.chars
        held: list[Item] | None = []
        try:
            for batch in self._tags.batches(path, self._archive.pieces(path)):
                self._count(before + page.given)
                if held is None:
                    yield batch
                    continue
                held += batch
                if page.given > _HELD_CHARS:
                    yield held
                    held = None
            if page.begun or held is None:
                yield held or []
                return
        except Unread as error:
            deep = error.reason.startswith(f"Nesting in {path}")  # tags that nobody ever closed
            if held is None or not (deep or error.code == "corrupt"):
                raise
        try:
            page.open(path)
            self.chapters.title, self.chapters.chars = title, before
            yield from self._as_a_browser(path)
        except Unread as error:
            if error.code == "corrupt" and held:
                yield held  # what stood before the damage
            raise

    def _as_a_browser(self, path: str) -> Iterator[list[Item]]:
        data = self._archive.whole(path)
        data = _DECLARATIONS.sub(rb"\1>", data[:_HEAD_BYTES], count=1) + data[_HEAD_BYTES:]
        context = Context(path, len(data), self._ctx.limits, self._ctx.heartbeat)
        file = io.BytesIO(data)
        stream = TextStream(file, context, html.charset(file, context))
        before = self.chapters.chars
        for item in html.items_of(stream, self._page):
            self._count(before + self._page.given)
            if not isinstance(item, Metadata):
                yield [item]

    def _count(self, chars: int) -> None:
        self.chapters.chars = chars
        if chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
