"""A page of HTML as blocks: what its tags mean, whoever reads them.

Promises: headings, paragraphs, lists and table rows as they would be read; white space is folded
as a browser folds it (kept in pre); memory is bounded whatever is left unclosed.
Does not: parse markup; `html` does it for pages of the web, `epub_page` for well-formed ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from helpers import limits
from helpers.extract.blocks import CELL_SEPARATOR, Block, Item, Location, Metadata
from helpers.extract.markup import severed
from helpers.extract.sections import Sections

BREAK = "\0"  # stands for <br>, as a part of its own; a text stream holds no NUL
_BREAKS = re.compile(f"({BREAK})")
KEYWORDS = 20  # entries of meta keywords taken as tags

SILENT = frozenset(["script", "style", "template", "noframes", "iframe", "object", "svg"])
BREAKING = frozenset(
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
        "select",
        "textarea",
        "title",
        "thead",
        "tbody",
        "tfoot",
        "head",
    ]
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LINE_LIKE = frozenset(["li", "dt", "dd", "option"])

Attributes = Mapping[str, str | None]
OnStart = Callable[[Attributes], object]
OnEnd = Callable[[], object]


class PageBlocks:
    """Tags and text in, blocks out: `starts` and `ends` are what the tags do, by name.

    `line` tells the line that is being read, where lines are known. `ready` holds what is
    complete, and `taken` hands it over.
    """

    def __init__(self, line: Callable[[], int | None] = lambda: None) -> None:
        self._line_now = line
        self.anchors: set[str] = set()
        self.clear()
        self.starts = self._start_actions()
        self.ends = self._end_actions()

    def clear(self) -> None:
        """Another page begins."""
        self.text: list[str] = []
        self.sections = Sections()
        self.ready: list[Item] = []
        self.given = 0  # code points of the blocks so far
        self._size = 0
        self._line: int | None = 1
        self._kind, self._level = "paragraph", 0
        self._kept = 0  # depth of pre
        self._title: str | None = None
        self._row: list[str] | None = None
        self._row_line: int | None = 1
        self._heads = self._datas = 0

    def taken(self) -> Iterator[Item]:
        """The items that are complete; each is given once."""
        ready, self.ready = self.ready, []
        yield from ready

    def data(self, text: str) -> None:
        """Text, whose first line is looked up; a fast reader may add to `text` instead."""
        if not self.text:
            lead = len(text) - len(text.lstrip())
            line = self._line_now()
            self._line = None if line is None else line + text.count("\n", 0, lead)
        self.text.append(text)
        self._size += len(text)
        if self._size > limits.PARAGRAPH_CHARS:
            self._flush()

    def relieve(self) -> None:
        """Cut a paragraph without end, where text is added without `data`."""
        size = sum(map(len, self.text))
        if size > limits.PARAGRAPH_CHARS:
            cut = severed(self.text)
            rest = "".join(self.text)
            self.text[:] = _BREAKS.split(cut)
            self._size = size
            self._flush()
            self.text[:] = _BREAKS.split(rest)

    def finish(self) -> None:
        """The page ends here."""
        self._close_cell()
        self._close_row()
        self._flush()

    def enter(self, level: int, heading: str) -> None:
        """A heading begins a section."""
        self.sections.enter(level, heading)

    def anchor(self, name: str) -> None:
        """An element of that id begins; asked for where `anchors` holds it."""

    def place(self, line: int | None) -> Location | None:
        """Where a block stands that began on `line`."""
        return self.sections.place(line)

    # --- what tags do ------------------------------------------------------------------

    def _start_actions(self) -> dict[str, OnStart]:
        actions: dict[str, OnStart] = dict.fromkeys(BREAKING, self._break)
        actions |= {tag: lambda _: self._line_like() for tag in _LINE_LIKE}
        actions |= {tag: self._heading(level) for tag, level in HEADINGS.items()}
        return actions | {
            "br": lambda _: self.text.append(BREAK),
            "img": lambda attributes: self.data(f" {attributes.get('alt') or ''} "),
            "meta": self._meta,
            "td": lambda _: self._cell(False),
            "th": lambda _: self._cell(True),
            "tr": lambda _: self._table(True),
            "table": lambda _: self._table(False),
            "pre": lambda _: self._pre(),
        }

    def _end_actions(self) -> dict[str, OnEnd]:
        actions: dict[str, OnEnd] = dict.fromkeys(BREAKING, self._break)
        actions |= dict.fromkeys(HEADINGS, self._flush)
        return actions | {
            "title": self._title_end,
            "td": self._close_cell,
            "th": self._close_cell,
            "tr": lambda: self._table(False),
            "table": lambda: self._table(False),
            "pre": self._pre_end,
        }

    def _heading(self, level: int) -> OnStart:
        def start(attributes: Attributes) -> None:
            self._close_row()
            self._flush()
            self._kind, self._level = "heading", level

        return start

    def _title_end(self) -> None:
        if self._title is not None:
            self._break()
            return
        self._title = self._taken_text()
        if self._title:
            self.ready.append(Metadata(title=self._title))

    def _meta(self, attributes: Attributes) -> None:
        if (attributes.get("name") or "").lower() == "keywords":
            words = (word.strip() for word in (attributes.get("content") or "").split(","))
            tags = tuple(word for word in words if word)[:KEYWORDS]
            if tags:
                self.ready.append(Metadata(tags=tags))

    def _line_like(self) -> None:
        self._break()
        if self._row is None:
            self._kind = "line"

    def _pre(self) -> None:
        self._flush()
        self._kept += 1
        self._kind = "code"

    def _pre_end(self) -> None:
        self._flush()
        self._kept = max(0, self._kept - 1)

    # --- tables ------------------------------------------------------------------------

    def _table(self, row: bool) -> None:
        self._close_row()
        self._flush()
        if row:
            self._open_row()

    def _cell(self, head: bool) -> None:
        self._close_cell()
        if self._row is None:
            self._open_row()
        self._heads += head
        self._datas += not head

    def _open_row(self) -> None:
        self._row, self._row_line = [], self._line_now()
        self._heads = self._datas = 0

    def _close_cell(self) -> None:
        if self._row is not None and self.text:
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
            self.given += len(text)
            self.ready.append(Block(text, kind, 0, self.place(self._row_line)))

    # --- blocks --------------------------------------------------------------------------

    def _break(self, attributes: Attributes | None = None) -> None:
        """A block begins or ends; inside a table's row that is but a space. Most often nothing
        but a line end stands there.
        """
        text = self.text
        if self._row is not None:
            text.append(" ")
        elif not self._kept:
            if text and (len(text) > 1 or not text[0].isspace()):
                self._flush()
                return
            text.clear()
            self._size = 0
            if self._kind != "paragraph":
                self._kind, self._level = "paragraph", 0

    def _taken_text(self) -> str:
        """What was gathered, white space folded, or kept inside pre; line breaks in place."""
        parts = self.text
        text = parts[0] if len(parts) == 1 else "".join(parts)
        broken = BREAK in parts
        parts.clear()
        self._size = 0
        if self._kept:
            return text.replace(BREAK, "\n").strip("\n").rstrip()
        if broken:
            return "\n".join(filter(None, map(_folded, text.split(BREAK))))
        return _folded(text)

    def _flush(self) -> None:
        if self._row is not None and self._size <= limits.PARAGRAPH_CHARS:
            return
        if not self.text and self._kind == "paragraph" and not self._kept:
            return
        text = self._taken_text() if self.text else ""
        kind, level = self._kind, self._level
        if kind != "paragraph" or self._kept:
            self._kind, self._level = "code" if self._kept > 1 else "paragraph", 0
        if not text:
            return
        if kind == "heading":
            text = text.replace("\n", " ")
            self.enter(level, text)
        self.given += len(text)
        self.ready.append(Block(text, kind, level, self.place(self._line)))


def _folded(text: str) -> str:
    """White space as a browser folds it; most text needs no taking apart, which costs most."""
    if not text.isascii():
        if not text.isprintable():
            text = text.replace("\n", " ")
            if not text.isprintable():
                return " ".join(text.split())
    elif "\n" in text or "\t" in text or "\r" in text or "\f" in text:
        return " ".join(text.split())
    return " ".join(text.split()) if "  " in text else text.strip()
