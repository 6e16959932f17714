"""Word 2003 XML documents: WordprocessingML of the first generation, in one file.

Source: the Word 2003 schema (wordml). Promises: the body as the reader of .docx gives it, with
notes, comments and text boxes after the paragraph that holds them, page headers and footers at
the end, each text once; deleted text and pictures, which the file holds as text, are left out.
Does not: number list items, or lay out pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract import one_file
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import Block, Context, Item, Location, Metadata
from helpers.extract.docx_body import Found, WordScanner
from helpers.extract.docx_styles import Styles, read_styles
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, first, names, table
from helpers.extract.opc import NAMESPACES, real_title
from helpers.extract.outline import Outline, only_page_number
from helpers.limits import OFFICE_TEXT_CHARS

_MARGINS = 1_000  # different paragraphs of page headers and footers

_BODY = re.compile(rb"<(?:[\w.-]+:)?body[\s>]")
_ROOT = re.compile(rb"<([\w.-]+:wordDocument|wordDocument)[\s>]")
_TYPE = names("w:type", NAMESPACES)


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then page headers and footers.

    Raises Unread: corrupt, limit_reached.
    """
    metadata = _metadata(file, ctx)
    yield metadata
    styles = read_styles("the file", one_file.head(file, ctx, _ROOT, _BODY))
    words = _Scanner("the file", styles)
    places = _Places(metadata.title is not None)
    for _ in words.scanner.scan(one_file.pieces(file, ctx)):
        words.relieve()
        for found in words.drain():
            yield from places.located(found)
    for found in words.margins.values():
        yield from places.located(found)


class _Places:
    """Gives pieces their locations, and counts them."""

    def __init__(self, titled: bool) -> None:
        self._titled = titled
        self._outline = Outline()
        self._chars = 0

    def located(self, found: Found) -> Iterator[Item]:
        if found.include:
            return
        if found.title and not self._titled:
            self._titled = True
            yield Metadata(title=real_title(found.text))
        self._chars += len(found.text)
        if self._chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", self._chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
        place = found.location
        if place is None and found.kind == "heading":
            place = self._outline.heading(found.text, found.level)
        yield Block(found.text, found.kind, found.level, place or self._outline.paragraph())


class _Scanner(WordScanner):
    """The body, with what later generations keep in parts of their own inside it."""

    def __init__(self, part: str, styles: Styles) -> None:
        self.margins: dict[str, Found] = {}
        self._around: list[Location | None] = []  # of open notes, margins and comments
        self._comments: list[bool] = []  # open annotations: whether each is a comment
        super().__init__(part, styles)

    def _starts(self) -> dict[str, OnStart]:
        return {
            **super()._starts(),
            "w:footnote": lambda _: self._aside("footnotes"),
            "w:endnote": lambda _: self._aside("endnotes"),
            "w:hdr": lambda _: self._margin("header"),
            "w:ftr": lambda _: self._margin("footer"),
            "aml:annotation": self._annotation,
            "w:binData w:docOleData w:docSuppData w:styles w:fonts w:lists w:docPr w:instrText"
            " w:delText w:footnotePr w:endnotePr w:shapeDefaults o:DocumentProperties": self._skip,
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            **super()._ends(),
            "w:footnote w:endnote": self._aside_end,
            "w:hdr w:ftr": self._margin_end,
            "aml:annotation": self._annotation_end,
        }

    def _aside(self, kind: str) -> None:
        """A note stands after the paragraph that refers to it."""
        self._sinks.append(self._paragraphs[-1].after if self._paragraphs else self._sinks[-1])
        self._around.append(self._place)
        self._place = Location("part", kind)

    def _aside_end(self) -> None:
        if self._around:
            self._place = self._around.pop()
            self._sinks.pop()

    def _margin(self, kind: str) -> None:
        self._aside(kind)
        self._sinks[-1] = []

    def _margin_end(self) -> None:
        for found in self._sinks[-1] if self._around else ():
            if len(self.margins) < _MARGINS and not only_page_number(found.text):
                self.margins.setdefault(found.text, found)
        self._aside_end()

    def _annotation(self, attributes: Attributes) -> None:
        kind = first(attributes, _TYPE)
        self._comments.append(kind == "Word.Comment")
        if kind == "Word.Deletion":
            self.scanner.skip()
        elif kind == "Word.Comment":
            self._aside("comments")

    def _annotation_end(self) -> None:
        if self._comments and self._comments.pop():
            self._aside_end()


def _metadata(file: BinaryIO, ctx: Context) -> Metadata:
    """Title and keywords of the document's properties."""
    found: dict[str, list[str]] = {"o:Title": [], "o:Keywords": []}
    scanner: Scanner

    def collected(parts: list[str]) -> OnStart:
        return lambda _: scanner.collect(parts.append)

    starts = {name: collected(parts) for name, parts in found.items()}
    ends: dict[str, OnEnd] = {name: lambda: scanner.collect(None) for name in found}
    scanner = Scanner("the file", table(starts, NAMESPACES), table(ends, NAMESPACES))
    scanner.run(one_file.head(file, ctx, _ROOT, _BODY))
    title = " ".join("".join(found["o:Title"]).split())
    words = (word.strip() for word in re.split("[,;]", "".join(found["o:Keywords"])))
    return Metadata(real_title(title), tuple(filter(None, words)))
