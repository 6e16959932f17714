"""Books (.epub): the pages in their reading order, located by chapter.

Promises: EPUB 2 and 3; the chapter a text stands in is the one that the table of contents names,
or the page's first heading; tables of contents are not read as text; pages that are not
well-formed are read as a browser reads them; a page that is missing or damaged is noticed and
the others are read. Does not: read pictures, sound, scripts or protected books.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import epub_page, html, svg
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.epub_book import Item as BookItem
from helpers.extract.epub_book import open_book
from helpers.extract.epub_page import BookPage, Chapters
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
    chapters = Chapters(book.contents)
    for page in book.spine:
        for batch in _page(archive, page, chapters, ctx):
            yield from batch
    if not chapters.chars and any(name.endswith(_PICTURES) for name in archive.names):
        yield Notice("no_text", "The pages of the book hold nothing but pictures")


def _page(
    archive: Archive, page: BookItem, chapters: Chapters, ctx: Context
) -> Iterator[list[Item]]:
    if page.path not in archive:
        yield [Notice("part_unread", f"The page {page.path} is missing from the book")]
        return
    if page.media.startswith(_NO_TEXT) and "svg" not in page.media:
        yield [Notice("no_text", f"The page {page.path} is no text ({page.media[:40]})")]
        return
    try:
        if "svg" in page.media:
            place = BookPage(page.path, chapters).place(None)
            for item in svg.items_of(page.path, archive.pieces(page.path)):
                if isinstance(item, Block):
                    _count(chapters, chapters.chars + len(item.text))
                    yield [Block(item.text, location=place)]
            return
        yield from _well_formed(archive, page.path, chapters, ctx)
    except Unread as error:
        if error.code in ("limit_reached", "encrypted"):
            raise
        yield [Notice("part_unread", error.reason)]


def _well_formed(
    archive: Archive, path: str, chapters: Chapters, ctx: Context
) -> Iterator[list[Item]]:
    """The page as XML; as a browser would read it where it turns out to be none."""
    page, title = BookPage(path, chapters), chapters.title
    held: list[Item] | None = []
    before = chapters.chars
    try:
        for batch in epub_page.batches_of(path, archive.pieces(path), page):
            _count(chapters, before + page.given)
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
    chapters.title, chapters.chars = title, before
    try:
        yield from _as_a_browser(archive, path, chapters, ctx)
    except Unread as error:
        if error.code == "corrupt" and held:
            yield held  # what stood before the damage
        raise


def _as_a_browser(
    archive: Archive, path: str, chapters: Chapters, ctx: Context
) -> Iterator[list[Item]]:
    data = archive.whole(path)
    data = _DECLARATIONS.sub(rb"\1>", data[:_HEAD_BYTES], count=1) + data[_HEAD_BYTES:]
    page = Context(path, len(data), ctx.limits, ctx.heartbeat)
    file = io.BytesIO(data)
    stream = TextStream(file, page, html.charset(file, page))
    blocks, before = BookPage(path, chapters), chapters.chars
    for item in html.items_of(stream, blocks):
        _count(chapters, before + blocks.given)
        if not isinstance(item, Metadata):
            yield [item]


def _count(chapters: Chapters, chars: int) -> None:
    chapters.chars = chars
    if chars > OFFICE_TEXT_CHARS:
        raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
