"""HTML: title, headings, paragraphs, lists and tables of a page, as it would be read.

Promises: script, style and templates give no text; entities are resolved; an equation stands in
its sentence as LaTeX; white space is folded as a browser folds it (kept in pre); the charset
comes from BOM, then from the bytes together with the one the page names; every block names its
heading path and line; memory is bounded whatever is left unclosed.
Does not: run scripts, apply styles, follow links or load anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import BinaryIO

from helpers import limits
from helpers.extract import encoding
from helpers.extract.blocks import Context, Item, Metadata, Notice
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.equations.mathml import undressed
from helpers.extract.page import BREAKING, HEADINGS, SILENT, PageBlocks
from helpers.extract.plain import some
from helpers.extract.stream import TextStream

LEFTOVER_CHARS = 64_000  # code points of an unfinished tag that are still looked at in the end
PROOF_BYTES = 12  # non-ASCII bytes from which they are believed against a charset named by habit
_CHARSET = re.compile(
    rb"""(?:charset|<\?xml[^>]{0,100}encoding)\s*=\s*(?:["']\s*)?([A-Za-z0-9_-]{2,30})""",
    re.IGNORECASE,
)
# Tags that no equation holds: one that is open ends before them.
_NO_EQUATION = frozenset((*HEADINGS, *BREAKING, "table", "tr", "td", "th", "pre"))
_BY_DEFAULT = frozenset(["cp1252", "iso8859-1"])  # named by programs that never asked


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of an HTML page. Raises Unread: `empty` for no text, `corrupt` for binary."""
    stream = TextStream(file, ctx, charset(file, ctx))
    yield Metadata(encoding=stream.encoding.label)
    yield from some(items_of(stream))
    yield from stream.notices()


def charset(file: BinaryIO, ctx: Context) -> encoding.Encoding:
    """The charset of a page: what its bytes show, or what it names where they leave a choice."""
    found = encoding.detect(file, ctx.heartbeat)
    if found.skip or found.codec.startswith("utf-"):
        return found
    file.seek(0)
    start = file.read(limits.READ_BYTES)
    file.seek(0)
    named = _CHARSET.search(start[: limits.SNIFF_BYTES])
    declared = encoding.declared(named[1].decode("ascii")) if named else None
    if declared is None or declared.codec.startswith("utf-"):
        return found
    if declared.codec in _BY_DEFAULT and found.sure and encoding.high_bytes(start) >= PROOF_BYTES:
        return found
    return declared if declared.codec != found.codec else found


def items_of(stream: TextStream, blocks: PageBlocks | None = None) -> Iterator[Item]:
    """What a page holds, put together by `blocks`."""
    page = _Page(blocks)
    for piece in stream:
        page.take(piece)
        page.shorten(limits.MARKUP_CHARS)
        yield from page.taken()
    page.shorten(LEFTOVER_CHARS)
    page.end()
    yield from page.taken()
    if page.dropped:
        yield Notice(
            "markup_unclosed",
            f"{page.dropped:,} characters of unclosed tags, comments or scripts were left out",
        )


class _Page(HTMLParser):
    """Turns markup into the tags and the text of a page; `taken` hands over its blocks."""

    def __init__(self, blocks: PageBlocks | None) -> None:
        super().__init__(convert_charrefs=True)
        self.dropped = 0
        self.blocks = blocks or PageBlocks(lambda: self.getpos()[0])
        self.taken = self.blocks.taken
        self._silent: list[str] = []
        self._equation: MathmlBuilder | None = None
        self._spelled = ""  # LaTeX that the page gives beside an equation
        self._script: list[str] | None = None  # LaTeX in a script for MathJax

    def shorten(self, most: int) -> None:
        """Forget an unfinished construct of more than `most` characters."""
        if len(self.rawdata) > most:
            self.dropped += len(self.rawdata)
            self.rawdata = ""

    def take(self, piece: str) -> None:
        """Read one piece; markup that the parser gives up on is left out."""
        try:
            self.feed(piece)
        except AssertionError:
            self.shorten(0)

    def end(self) -> None:
        """The page ends here."""
        try:
            self.close()
        except AssertionError:
            self.shorten(0)
        self._equation_end()
        self.blocks.finish()

    # --- what the parser calls ---------------------------------------------------------

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Pass over <![CDATA[ … ]]> and <![if … ]>; the base class fails on unknown ones."""
        sign = "]]>" if self.rawdata.startswith("<![CDATA[", i) else ">"
        end = self.rawdata.find(sign, i)
        return end + len(sign) if end >= 0 else -1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silence(tag, dict(attrs))
        elif self._silent:
            if tag == "span" == self._silent[-1]:
                self._silent.append(tag)
        elif self._equation is not None and tag not in _NO_EQUATION:
            self._equation.start(tag, dict(attrs))
        else:
            self._equation_end()  # one that was left open
            self._begin(tag, attrs)

    def _begin(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.blocks.anchors and attrs:
            name = dict(attrs).get("id") or dict(attrs).get("name") or ""
            if name in self.blocks.anchors:
                self.blocks.anchor(name)
        action = self.blocks.starts.get(tag)
        if action is not None:
            attributes = dict(attrs)
            if tag != "img" or not self._spelled or attributes.get("alt") != self._spelled:
                action(attributes)
        elif tag == "span":
            if attrs and "katex-html" in (dict(attrs).get("class") or ""):
                self._silent.append(tag)  # the letters of an equation that MathML tells already
        elif tag.rpartition(":")[2] == "math":
            self._equation = MathmlBuilder()
            self._spelled = dict(attrs).get("alttext") or ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            return
        self.handle_starttag(tag, attrs)
        if self._equation is not None:
            self._equation.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            self._silence_end(tag)
        elif self._equation is not None:
            if tag.rpartition(":")[2] == "math":
                self._equation_end()
            else:
                self._equation.end(tag)
        else:
            action = self.blocks.ends.get(tag)
            if action is not None:
                action()

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)
        elif not self._silent:
            if self._equation is not None:
                self._equation.characters(data)
            else:
                self.blocks.data(data)

    # --- equations and what is not seen ----------------------------------------------------

    def _silence(self, tag: str, attributes: dict[str, str | None]) -> None:
        kind = attributes.get("type") or ""
        if tag == "script" and not self._silent and kind.startswith("math/tex"):
            self._script = []
        self._silent.append(tag)

    def _silence_end(self, tag: str) -> None:
        if self._script is not None:
            self.blocks.data(marked(" ".join("".join(self._script).split())))
            self._script = None
        if tag == "span" and tag in self._silent:
            while self._silent.pop() != tag:
                pass
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]

    def _equation_end(self) -> None:
        if self._equation is not None:
            text = marked(self._equation.latex() or undressed(self._spelled))
            self._equation = None
            if text:
                self.blocks.data(text)
