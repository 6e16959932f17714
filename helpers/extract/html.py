"""HTML: title, headings, paragraphs, lists and tables of a page, as it would be read.

Promises: script, style and templates give no text; entities are resolved; white space is
folded as a browser folds it (kept in pre); the charset comes from BOM, then from the bytes
together with the one the page names; every block names its heading path and line; memory is
bounded whatever is left unclosed.
Does not: run scripts, apply styles, follow links or load anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import BinaryIO

from helpers import limits
from helpers.extract import encoding
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Metadata, Notice
from helpers.extract.plain import some
from helpers.extract.sections import Sections
from helpers.extract.stream import TextStream

BREAK = "\0"  # stands for <br> while text is gathered; a text stream holds no NUL
LEFTOVER_CHARS = 64_000  # code points of an unfinished tag that are still looked at in the end
PROOF_BYTES = 12  # non-ASCII bytes from which they are believed against a charset named by habit
KEYWORDS = 20  # entries of meta keywords taken as tags

_SILENT = frozenset(["script", "style", "template", "noframes", "iframe", "object", "svg", "math"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BREAKING = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "section",
        "summary",
        "ul",
        "caption",
        "pre",
        "select",
        "textarea",
        "title",
        "table",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "head",
    ]
)
_LINE_LIKE = frozenset(["li", "dt", "dd", "option"])
_CHARSET = re.compile(
    rb"""(?:charset|<\?xml[^>]{0,100}encoding)\s*=\s*["']?\s*([A-Za-z0-9_-]{2,30})""",
    re.IGNORECASE,
)
_BY_DEFAULT = frozenset(["cp1252", "iso8859-1"])  # named by programs that never asked


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of an HTML page. Raises Unread: `empty` for no text, `corrupt` for binary."""
    stream = TextStream(file, ctx, charset(file, ctx))
    yield Metadata(encoding=stream.encoding.label)
    yield from some(_items(stream))
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


def _items(stream: TextStream) -> Iterator[Item]:
    page = _Page()
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
    """Turns tags into blocks as they come; `taken` hands over what is complete."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.dropped = 0
        self._ready: list[Item] = []
        self._sections = Sections()
        self._text: list[str] = []
        self._size = 0
        self._line = 1
        self._kind, self._level = "paragraph", 0
        self._silent: list[str] = []
        self._kept = 0  # depth of pre
        self._title: str | None = None
        self._row: list[str] | None = None
        self._row_line = 1
        self._heads = self._datas = 0

    def taken(self) -> Iterator[Item]:
        """The items that are complete; each is given once."""
        ready, self._ready = self._ready, []
        yield from ready

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
        self._close_cell()
        self._close_row()
        self._flush()

    # --- what the parser calls ---------------------------------------------------------

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Pass over <![CDATA[ … ]]> and <![if … ]>; the base class fails on unknown ones."""
        sign = "]]>" if self.rawdata.startswith("<![CDATA[", i) else ">"
        end = self.rawdata.find(sign, i)
        return end + len(sign) if end >= 0 else -1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        elif self._silent:
            return
        elif tag == "br":
            self._text.append(BREAK)
        elif tag == "img":
            self.handle_data(f" {dict(attrs).get('alt') or ''} ")
        elif tag == "meta":
            self._meta(dict(attrs))
        elif tag in _HEADINGS:
            self._close_row()
            self._flush()
            self._kind, self._level = "heading", _HEADINGS[tag]
        elif tag in _BREAKING:
            self._open(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
            return
        if tag in _HEADINGS:
            self._flush()
        elif tag == "title" and self._title is None:
            self._title = self._taken_text()
            if self._title:
                self._ready.append(Metadata(title=self._title))
        elif tag in ("td", "th"):
            self._close_cell()
        elif tag in ("tr", "table"):
            self._close_row()
            self._flush()
        elif tag == "pre":
            self._flush()
            self._kept = max(0, self._kept - 1)
        elif tag in _BREAKING:
            self._break()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if not self._text:
            lead = len(data) - len(data.lstrip())
            self._line = self.getpos()[0] + data.count("\n", 0, lead)
        self._text.append(data)
        self._size += len(data)
        if self._size > limits.PARAGRAPH_CHARS:
            self._flush()

    # --- blocks --------------------------------------------------------------------------

    def _open(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._close_cell()
            if self._row is None:
                self._open_row()
            self._heads += tag == "th"
            self._datas += tag == "td"
        elif tag in ("tr", "table"):
            self._close_row()
            self._flush()
            if tag == "tr":
                self._open_row()
        elif tag == "pre":
            self._flush()
            self._kept += 1
            self._kind = "code"
        else:
            self._break()
            if tag in _LINE_LIKE and self._row is None:
                self._kind = "line"

    def _break(self) -> None:
        """A block begins or ends; inside a table's row that is but a space."""
        if self._row is not None:
            self._text.append(" ")
        elif not self._kept:
            self._flush()

    def _open_row(self) -> None:
        self._row, self._row_line = [], self.getpos()[0]
        self._heads = self._datas = 0

    def _close_cell(self) -> None:
        if self._row is not None:
            cell = self._taken_text().replace("\n", " ")
            if cell:
                self._row.append(cell)

    def _close_row(self) -> None:
        if self._row is None:
            return
        self._close_cell()
        text = CELL_SEPARATOR.join(self._row)
        self._row = None
        if text:
            kind = "table_header" if self._heads and not self._datas else "table_row"
            self._ready.append(Block(text, kind, 0, self._sections.place(self._row_line)))

    def _taken_text(self) -> str:
        text = "".join(self._text)
        self._text.clear()
        self._size = 0
        if self._kept:
            return text.replace(BREAK, "\n").strip("\n").rstrip()
        parts = (" ".join(part.split()) for part in text.split(BREAK))
        return "\n".join(part for part in parts if part)

    def _flush(self) -> None:
        if self._row is not None and self._size <= limits.PARAGRAPH_CHARS:
            return
        text = self._taken_text()
        kind, level = self._kind, self._level
        self._kind, self._level = "code" if self._kept > 1 else "paragraph", 0
        if not text:
            return
        if kind == "heading":
            text = text.replace("\n", " ")
            self._sections.enter(level, text)
        self._ready.append(Block(text, kind, level, self._sections.place(self._line)))

    def _meta(self, attributes: dict[str, str | None]) -> None:
        if (attributes.get("name") or "").lower() == "keywords":
            words = (word.strip() for word in (attributes.get("content") or "").split(","))
            tags = tuple(word for word in words if word)[:KEYWORDS]
            if tags:
                self._ready.append(Metadata(tags=tags))
