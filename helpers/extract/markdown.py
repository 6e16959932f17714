"""Markdown: headings as sections, tables as rows, code kept, front matter as metadata.

Promises: paragraphs and code are kept verbatim; front matter gives title, tags and aliases
and its raw text enters no block; every block names its heading path and its line; memory is
bounded by one block.
Does not: render inline markup, follow links, or parse front matter beyond plain keys and lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers import limits
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Metadata
from helpers.extract.plain import line_place, numbered, some
from helpers.extract.sections import Sections
from helpers.extract.stream import TextStream

_HEADING = re.compile(r"\A {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_SETEXT = re.compile(r"\A {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"\A {0,3}(`{3,}|~{3,})")
_TABLE_RULE = re.compile(r"\A[ \t]{0,8}\|?[ \t:]*-[-: \t]*(?:\|[-: \t]*)*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_KEY = re.compile(
    r"\A(\"[^\"\n]{1,40}\"|'[^'\n]{1,40}'|[^\W\d][^\s:=]{0,40}(?: [^\s:=]{1,40}){0,3}?)"
    r"[ \t]*[:=](?:[ \t]+(.*)|)$"
)
_MATTER_LEAD = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n){1,20}")  # blank lines and comments
_BLOCK_SIGNS = ("|", ">", "|-", ">-", "|+", ">+")  # the value stands indented below
_LIST_ITEM = re.compile(r"\A[ \t]*-[ \t]+(.*)$")
_SPECIAL_STARTS = frozenset("#`~=-|: \t")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a Markdown file. Raises Unread: `empty` for no text, `corrupt` for binary."""
    stream = TextStream(file, ctx)
    pieces = iter(stream)
    start = next(pieces, "")
    matter, length = front_matter(start)
    metadata = _metadata(matter)
    yield Metadata(metadata.title, metadata.tags, metadata.aliases, stream.encoding.label)
    document = _Document(titled=metadata.title is not None)
    first_line = start.count("\n", 0, length)
    found = document.read(numbered(_chained(start[length:], pieces)), first_line)
    yield from some(_or_names(found, metadata))
    yield from stream.notices()


def items_of(text: str, titled: bool) -> Iterator[Item]:
    """Blocks of a text in Markdown without front matter; `titled`: a heading gives no title."""
    yield from _Document(titled).read(numbered([text]), 0)


def front_matter(start: str) -> tuple[str, int]:
    """The front matter at the very start of a text, and how many letters it takes up with its
    fences; ("", 0) where there is none.
    """
    for fence in ("---", "+++"):
        if not start.startswith(fence + "\n"):
            continue
        end = re.compile(rf"^(?:{re.escape(fence)}|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
        closed = end.search(start, 4, limits.FRONT_MATTER_CHARS)
        if closed is None:
            continue
        matter = start[4 : closed.start()]
        if _KEY.match(_MATTER_LEAD.sub("", matter).split("\n", 1)[0]):
            return matter, closed.end()
    return "", 0


def cells(line: str) -> str:
    """A table line's cells, joined by CELL_SEPARATOR, empty ones left out."""
    found = (cell.replace("\\|", "|").strip() for cell in _CELL_BORDER.split(line))
    return CELL_SEPARATOR.join(cell for cell in found if cell)


class _Document:
    """The state of one pass over the lines: the paragraph being gathered and the sections."""

    def __init__(self, titled: bool) -> None:
        self.titled = titled
        self.sections = Sections()
        self.gathered: list[str] = []
        self.size = 0
        self.line = 0  # of the first gathered line
        self.fence = ""
        self.in_table = False

    def read(self, lines: Iterator[tuple[int, str]], before: int) -> Iterator[Item]:
        """Blocks of the numbered lines, of which `before` lines stood above."""
        for number, line in lines:
            number += before
            if self.fence:
                yield from self._code(number, line)
            elif line[:1] in _SPECIAL_STARTS or self.in_table:
                yield from self._special(number, line)
            elif line:
                self._gather(number, line)
            elif self.gathered:
                yield from self._flush()
            if self.size > limits.PARAGRAPH_CHARS:
                yield from self._flush("code" if self.fence else "paragraph")
        yield from self._flush("code" if self.fence else "paragraph")

    def _special(self, number: int, line: str) -> Iterator[Item]:
        """A line that may be more than a paragraph's."""
        if not line.strip():
            self.in_table = False
            yield from self._flush()
            return
        if self.in_table:
            if "|" in line:
                yield Block(cells(line), "table_row", 0, self.sections.place(number))
                return
            self.in_table = False
        heading = _HEADING.match(line)
        if heading:
            yield from self._flush()
            yield from self._heading(len(heading[1]), heading[2] or "", number)
            return
        fence = _FENCE.match(line)
        if fence:
            yield from self._flush()
            self.fence = fence[1]
            self._gather(number, line)
            return
        yield from self._underline(number, line)

    def _underline(self, number: int, line: str) -> Iterator[Item]:
        """A rule under a line makes it a heading or a table's header; else it is text."""
        rule = _SETEXT.match(line)
        if rule and 0 < len(self.gathered) <= 2 and "|" not in self.gathered[-1]:
            title, at = " ".join(part.strip() for part in self.gathered), self.line
            self._clear()
            yield from self._heading(1 if rule[1][0] == "=" else 2, title, at)
        elif self.gathered and "|" in self.gathered[-1] and _TABLE_RULE.match(line):
            header = self.gathered.pop()
            yield from self._flush()
            yield Block(cells(header), "table_header", 0, self.sections.place(number - 1))
            self.in_table = True
        elif rule and len(rule[1]) >= 3:
            yield from self._flush()
        else:
            self._gather(number, line)

    def _heading(self, level: int, title: str, number: int) -> Iterator[Item]:
        title = _CLOSING_HASHES.sub("", title).strip()
        if not title:
            return
        if not self.titled and level == 1:
            self.titled = True
            yield Metadata(title=title)
        self.sections.enter(level, title)
        yield Block(title, "heading", level, self.sections.place(number))

    def _code(self, number: int, line: str) -> Iterator[Item]:
        self._gather(number, line)
        closing = line.strip()
        if closing.startswith(self.fence) and not closing.strip(self.fence[0]):
            self.fence = ""
            yield from self._flush("code")

    def _gather(self, number: int, line: str) -> None:
        if not self.gathered:
            self.line = number
        self.gathered.append(line)
        self.size += len(line) + 1

    def _clear(self) -> None:
        self.gathered.clear()
        self.size = 0

    def _flush(self, kind: str = "paragraph") -> Iterator[Block]:
        if self.gathered:
            text = "\n".join(self.gathered)
            yield Block(text, kind, 0, self.sections.place(self.line))
        self._clear()


def _metadata(matter: str) -> Metadata:
    """Title, tags and aliases of front matter; YAML's and TOML's plain forms."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in matter.split("\n"):
        keyed = _KEY.match(line)
        item = _LIST_ITEM.match(line)
        if keyed:
            key = _unquoted(keyed[1]).lower()
            found[key] = _values(keyed[2] or "", split=key != "title")
        elif item and key:
            found[key].append(_unquoted(item[1]))
        elif key == "title" and line[:1] in " \t" and line.strip():
            found[key].append(line.strip())
    title = " ".join(found.get("title", []))
    tags = [
        tag for name in ("tags", "tag", "keywords", "categories") for tag in found.get(name, [])
    ]
    aliases = [alias for name in ("aliases", "alias") for alias in found.get(name, [])]
    return Metadata(title or None, _distinct(tags), _distinct(aliases))


def _or_names(found: Iterator[Item], metadata: Metadata) -> Iterator[Item]:
    """The items; where none is a block, what front matter calls the document."""
    any_block = False
    for item in found:
        any_block = any_block or isinstance(item, Block)
        yield item
    if not any_block:
        names = (metadata.title or "", *metadata.aliases, *metadata.tags)
        text = ", ".join(name for name in names if name)
        if text:
            yield Block(text, "paragraph", 0, line_place(1))


def _values(text: str, split: bool) -> list[str]:
    text = text.strip()
    if split and text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    if split and "," in text:
        return [_unquoted(part) for part in text.split(",") if part.strip()]
    return [_unquoted(text)] if text and text not in _BLOCK_SIGNS else []


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text.split(" #", 1)[0].strip()


def _distinct(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.strip().lstrip("#") for value in values if value.strip()))


def _chained(start: str, rest: Iterator[str]) -> Iterator[str]:
    yield start
    yield from rest
