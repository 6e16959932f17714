"""Word documents (.docx, .docm): body, tables, notes, comments, headers, text boxes.

Promises: paragraphs in reading order, a heading by its style in any language of Word, table
rows with their header row; text boxes, content controls, tracked insertions, SmartArt, charts
and imported HTML are read, embedded and other imported documents as documents of their own;
deletions and field codes are left out; of alternative contents one branch is read. A page is
unknown in this format: the location is the heading path.
Does not: number list items, lay out pages, or read macros.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from helpers.errors import Unread, limit_reached
from helpers.extract import nested
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice, Reader
from helpers.extract.docx_body import Found, WordScanner
from helpers.extract.docx_styles import Styles, read_styles
from helpers.extract.drawing import drawing_texts
from helpers.extract.embedded import embedded
from helpers.extract.embedded_objects import part_equation
from helpers.extract.opc import Package, Relationship, real_title
from helpers.extract.outline import Outline, only_page_number
from helpers.limits import OFFICE_TEXT_CHARS

_NOTE_PARTS = ("footnotes", "endnotes", "comments")
_MARGIN_PARTS = ("header", "footer")
_IMPORT_READERS = {
    "html": "helpers.extract.html",
    "htm": "helpers.extract.html",
    "xhtml": "helpers.extract.html",
    "txt": "helpers.extract.plain",
}


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then notes, comments, headers and footers.

    Raises Unread: encrypted, corrupt, limit_reached, empty, unsupported.
    """
    archive = Archive(file, ctx)
    package = Package(archive)
    yield from items(package, ctx)
    yield from embedded(archive, package, ctx)


def items(package: Package, ctx: Context) -> Iterator[Item]:
    """The items of a document whose parts are at hand, in whatever container."""
    yield from _Document(package, ctx).items()


class _Document:
    def __init__(self, package: Package, ctx: Context) -> None:
        self._package = package
        self._ctx = ctx
        self._main = package.main_part("word/document.xml")
        self._related = package.relationships(self._main)
        self._outline = Outline()
        self._chars = 0

    def items(self) -> Iterator[Item]:
        metadata = self._package.metadata()
        yield metadata
        styles = Styles({}, frozenset())
        for part in self._package.targets(self._related, "styles"):
            try:
                styles = read_styles(part, self._package.follow(part))
            except Unread as error:
                yield _unread_part(error)
        titled = metadata.title is not None
        for found in self._scan(self._main, self._related, styles, ""):
            if found.title and not titled:
                titled = True
                yield Metadata(title=real_title(found.text))
            yield from self._located(found, self._related)
        for kind in _NOTE_PARTS:
            for part in self._package.targets(self._related, kind):
                yield from self._aside(part, styles, kind)
        yield from self._margins(styles)

    def _scan(
        self, part: str, related: dict[str, Relationship], styles: Styles, note: str
    ) -> Iterator[Found]:
        def formula(relation: str) -> str:
            return part_equation(self._package, related.get(relation))

        words = WordScanner(part, styles, note, formula)
        for _ in words.scanner.scan(self._package.follow(part)):
            words.relieve()
            yield from words.drain()

    def _aside(self, part: str, styles: Styles, note: str) -> Iterator[Item]:
        """A part besides the body: when it is damaged, the document is still worth reading."""
        try:
            related = self._package.relationships(part)
            for found in self._scan(part, related, styles, note):
                yield from self._located(found, related)
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield _unread_part(error)

    def _margins(self, styles: Styles) -> Iterator[Item]:
        """Headers and footers, the same text once; page numbers alone are no text."""
        seen: set[str] = set()
        for kind in _MARGIN_PARTS:
            for part in self._package.targets(self._related, kind):
                for item in self._aside(part, styles, kind):
                    if not isinstance(item, Block):
                        yield item
                    elif item.text not in seen and not only_page_number(item.text):
                        seen.add(item.text)
                        yield item

    def _located(self, found: Found, related: dict[str, Relationship]) -> Iterator[Item]:
        if found.include:
            yield from self._included(found, related)
            return
        self._chars += len(found.text)
        if self._chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", self._chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
        yield Block(found.text, found.kind, found.level, self._place(found))

    def _place(self, found: Found) -> Location:
        if found.location is not None:
            return found.location
        if found.kind == "heading":
            return self._outline.heading(found.text, found.level)
        return self._outline.paragraph()

    def _included(self, found: Found, related: dict[str, Relationship]) -> Iterator[Item]:
        """SmartArt, a chart, or an imported document at this place."""
        arrow = related.get(found.text)
        if arrow is None or arrow.target not in self._package.archive:
            return
        place = found.location or self._outline.paragraph()
        try:
            if found.include == "import":
                yield from self._imported(arrow.target)
                return
            for text in drawing_texts(self._package, arrow.target):
                yield from self._located(Found(text, location=place), related)
        except Unread as error:
            if error.code == "limit_reached":
                raise
            yield _unread_part(error)

    def _imported(self, part: str) -> Iterator[Item]:
        reader = _reader_of_import(part)
        data = self._package.archive.whole(part)
        if reader is None:
            name = part.rpartition("/")[2]
            imported = nested.opened(self._ctx)
            yield from nested.read_nested(io.BytesIO(data), name, imported, f"imported {name}")
            return
        ctx = Context(part, len(data), self._ctx.limits, self._ctx.heartbeat)
        for item in reader(io.BytesIO(data), ctx):
            if isinstance(item, Block):
                yield from self._located(Found(item.text, item.kind, item.level), {})
            elif isinstance(item, Metadata) and item.title:  # it stands nowhere else
                yield from self._located(Found(item.title, "heading", 1), {})


def _reader_of_import(part: str) -> Reader | None:
    """altChunk parts: HTML and plain text stand in their place, others are documents inside."""
    module = _IMPORT_READERS.get(part.rpartition(".")[2].casefold())
    return None if module is None else cast(Reader, importlib.import_module(module).read)


def _unread_part(error: Unread) -> Notice:
    return Notice("part_unread", error.reason)
