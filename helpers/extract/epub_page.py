"""The pages of a book: which chapter a text stands in, and the quick way through a page.

Promises: a block's location is its chapter, by the table of contents or else by the page's first
heading, with the headings below it; contents, marks of notes and page breaks are left out.
Does not: open the book or order its pages.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator

from helpers.extract.archive import PIECE_BYTES
from helpers.extract.blocks import Block, Item, Location
from helpers.extract.epub_book import Entry
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.equations.mathml import NAMESPACE, undressed
from helpers.extract.markup import Attributes, OnStart, Scanner
from helpers.extract.page import SILENT, PageBlocks
from helpers.extract.sections import shortened

_LISTS = ("toc", "landmarks", "page-list", "lot", "loi")  # kinds of nav
_MARKS = ("noteref", "backlink", "doc-noteref", "doc-backlink")
_PREFIXED = re.compile(rb"<([A-Za-z_][\w.-]{0,20}:)html[\s>]")
_HEAD_BYTES = 2_000  # bytes of a page within which its root stands
_EQUATIONS = ("math", "m:math", "mml:math")
_BODIES = ("body", "book")
_PART = re.compile(r"_split_?\d{1,6}\Z")  # what Calibre adds to the name of a file it cuts in parts
_READ_NAMESPACES = (NAMESPACE, "http://www.w3.org/1999/xhtml")


class Chapters:
    """The chapter that the reading order has come to, and the code points read so far."""

    def __init__(self, contents: dict[str, list[Entry]]) -> None:
        self.contents = contents
        self.title = ""  # empty on a page that names itself
        self.page = ""  # the name of the file, without what a program added that cut it in parts
        self.chars = 0


class BookPage(PageBlocks):
    """The blocks of the open page, located by chapter: one for all pages of a book, since making
    the actions of its tags takes as long as reading ten paragraphs.
    """

    def __init__(self, chapters: Chapters) -> None:
        super().__init__()
        self._chapters = chapters
        self.open("")

    def open(self, path: str) -> None:
        """A page begins. The contents name its chapter, else it is one of its own; but the rest of
        a file that was cut in parts goes on with the chapter before.
        """
        self.clear()
        self.begun = False  # whether the page's body was seen
        self._name = posixpath.splitext(posixpath.basename(path))[0]
        self._here: Location | None = None
        chapters = self._chapters
        entries = chapters.contents.get(path.casefold(), [])
        self._entries = {
            entry.fragment: entry.title
            for entry in reversed(entries)
            if entry.fragment and entry.depth <= entries[0].depth
        }
        self.anchors = set(self._entries)
        self._listed = bool(entries)
        whole = _PART.sub("", self._name)
        self._goes_on = whole not in ("", self._name) and whole == chapters.page
        chapters.page = whole
        if entries and not entries[0].fragment:
            chapters.title = entries[0].title
        elif not entries and not self._goes_on:
            chapters.title = ""

    def anchor(self, name: str) -> None:
        self.anchors.discard(name)
        self._turn(self._entries.get(name, ""))

    def enter(self, level: int, heading: str) -> None:
        """A heading: that of an entry whose mark was not met, or an uppermost one of a page that
        the contents do not list.
        """
        super().enter(level, heading)
        self._here = None
        if heading in self._entries.values():
            self._chapters.title = heading
        elif self._listed or len(self.sections.names) > 1:
            return
        elif level == 1 or not self._goes_on:
            if not self._chapters.title:
                self._named_late(heading)
            self._chapters.title = heading

    def _named_late(self, heading: str) -> None:
        """What stands before a chapter's first heading is of that chapter, too."""
        place = _located(heading, [])
        self.ready = [
            Block(item.text, item.kind, item.level, place) if isinstance(item, Block) else item
            for item in self.ready
        ]

    def place(self, line: int | None) -> Location:
        if self._here is None:
            path = self.sections.names
            chapter = self._chapters.title or (path[0] if path else self._name)
            self._here = _located(chapter, path)
        return self._here

    def _turn(self, title: str) -> None:
        """A chapter begins here: what was gathered belongs to the one before, but for a heading
        that holds the mark.
        """
        if self._kind != "heading" and not "".join(self.text).isspace():
            self._break()
        self._chapters.title = title
        self._here = None


def _located(chapter: str, path: list[str]) -> Location:
    """The chapter, then the headings of the path that stand below its own."""
    below = path
    for place, heading in enumerate(path):
        if heading == chapter or heading in chapter or chapter in heading:
            below = path[place + 1 :]
    return Location("section", shortened([chapter, *below]), name=chapter)


class BookTags:
    """What tags of a book's page do besides those of any page."""

    def __init__(self, page: BookPage) -> None:
        self._page = page
        self._chosen = False  # whether a case of the running switch was read
        self._scanner: Scanner
        self._starts: dict[str, OnStart] = {
            **page.starts,
            **dict.fromkeys((*SILENT, "head"), lambda _: self._scanner.skip()),
            **dict.fromkeys(_EQUATIONS, self._equation),
            **dict.fromkeys(_BODIES, self._body),
            "nav": self._nav,
            "a": self._link,
            "epub:switch": self._switch,
            "epub:case": self._case,
            "epub:default": self._otherwise,
        }

    def batches(self, part: str, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        """The items of a well-formed page, some at a time. Raises Unread: corrupt, or a limit."""
        page, pieces = self._page, iter(pieces)
        start = next(pieces, b"")
        short = len(start) < PIECE_BYTES
        more = next(pieces, b"") if short else b""
        prefixed = _PREFIXED.search(start[:_HEAD_BYTES])
        self._open(part, prefixed[1].decode() if prefixed else "")
        if short and not more:
            steps = self._scanner.scan_whole(start)
        else:
            steps = self._scanner.scan(itertools.chain((start, more), pieces))
        for _ in steps:
            page.relieve()
            yield page.ready
            page.ready = []
        page.finish()
        yield page.ready

    def _open(self, part: str, prefix: str) -> None:
        starts, ends = self._starts, self._page.ends
        if prefix:  # every tag of the page has it
            starts = starts | {f"{prefix}{tag}": action for tag, action in starts.items()}
            ends = ends | {f"{prefix}{tag}": action for tag, action in ends.items()}
        self._chosen = False
        self._scanner = Scanner(part, starts, ends, doctype=True, separator=None)
        if self._page.anchors:
            _watch(self._scanner, self._page)

    def _body(self, attributes: Attributes) -> None:
        self._page.begun = True
        self._scanner.collect(self._page.text.append)

    def _equation(self, attributes: Attributes) -> None:
        built = MathmlBuilder()

        def done() -> None:
            latex = built.latex() or undressed(attributes.get("alttext", ""))
            self._page.text.append(marked(latex))

        self._scanner.divert(built.start, built.end, built.characters, done)

    def _nav(self, attributes: Attributes) -> None:
        if attributes.get("epub:type", "") in _LISTS:
            self._scanner.skip()

    def _link(self, attributes: Attributes) -> None:
        if attributes.get("epub:type") in _MARKS or attributes.get("role") in _MARKS:
            self._scanner.skip()

    def _switch(self, attributes: Attributes) -> None:
        self._chosen = False

    def _otherwise(self, attributes: Attributes) -> None:
        if self._chosen:
            self._scanner.skip()

    def _case(self, attributes: Attributes) -> None:
        """Of a switch the first case in a language that is read, else what stands for all."""
        if self._chosen or attributes.get("required-namespace", "") not in _READ_NAMESPACES:
            self._scanner.skip()
        else:
            self._chosen = True


def _watch(scanner: Scanner, page: BookPage) -> None:
    """Look at the id of every element until all that are waited for were met."""
    usual_start, _ = scanner.take_over()

    def start(name: str, attributes: Attributes) -> None:
        mark = attributes.get("id") or attributes.get("name")
        if mark in page.anchors:
            page.anchor(mark)
            if not page.anchors:
                scanner.take_over()
        usual_start(name, attributes)

    scanner.take_over(start)
