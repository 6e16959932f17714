"""Plain text, logs and source code: blocks of lines with the number of their first line.

Promises: the text is kept verbatim (line ends aside); memory is bounded whatever the length
of the file or of one line; prose comes as paragraphs, logs and source code as runs of lines.
Does not: understand a programming language, or re-wrap lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract.blocks import Block, Context, Item, Location, Metadata
from helpers.extract.stream import TextStream

# More than one line, an end as of a sentence or an introduction, or nothing that is a letter.
_NO_TITLE = re.compile(r"\n|[.!?:;,。！？、，|=]\Z|\A[\W\d_]+\Z")
_BLANK_LINE_WITH_SPACES = re.compile(r"\n[^\S\n]+(?=\n)")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a text file. Raises Unread: `empty` for white space alone, `corrupt` for
    binary content.
    """
    stream = TextStream(file, ctx)
    yield Metadata(encoding=stream.encoding.label)
    named = formats.by_name(ctx.name)
    if named is not None and named.name in ("source", "log"):
        found: Iterator[Item] = lines(stream, "code" if named.name == "source" else "line")
    else:
        found = titled(paragraphs(stream))
    yield from some(found)
    yield from stream.notices()


def some(found: Iterator[Item]) -> Iterator[Item]:
    """The same items; raises Unread("empty") at the end where none was a block with text."""
    any_text = False
    for item in found:
        any_text = any_text or (isinstance(item, Block) and not item.text.isspace())
        yield item
    if not any_text:
        raise Unread("empty", "The file holds no text", "It is read once it has content.")


def titled(found: Iterator[Item]) -> Iterator[Item]:
    """The same items, behind a title where the first paragraph reads like one: a single short
    line, with more below it, that does not end as a sentence does.
    """
    first = next(found, None)
    second = next(found, None)
    if isinstance(first, Block) and second is not None:
        text = first.text.strip()
        if 0 < len(text) <= limits.TITLE_LINE_CHARS and not _NO_TITLE.search(text):
            yield Metadata(title=text)
    yield from (item for item in (first, second) if item is not None)
    yield from found


def line_place(number: int, end: int | None = None) -> Location:
    """The location of line `number`, or of the lines from there to `end`."""
    return Location("line", f"line {number}", number, None, end if end != number else None)


def paragraphs(pieces: Iterable[str]) -> Iterator[Item]:
    """Paragraphs, parted by blank lines; those above PARAGRAPH_CHARS in several blocks."""
    rest, line = "", 1
    for piece in pieces:
        text = rest + piece
        if _BLANK_LINE_WITH_SPACES.search(text):
            text = _BLANK_LINE_WITH_SPACES.sub("\n", text)
        parts = text.split("\n\n")
        rest = parts.pop()
        for part in parts:
            if part:
                yield from _paragraph(part, line)
                line += part.count("\n")
            line += 2
        while len(rest) > limits.PARAGRAPH_CHARS:
            cut = cut_position(rest, limits.PARAGRAPH_CHARS)
            yield from _paragraph(rest[:cut], line)
            line += rest.count("\n", 0, cut)
            rest = rest[cut:]
    yield from _paragraph(rest, line)


def lines(pieces: Iterable[str], kind: str) -> Iterator[Item]:
    """Runs of whole lines of at most PARAGRAPH_CHARS, blank lines kept inside."""
    rest, line = "", 1
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start > limits.PARAGRAPH_CHARS:
            cut = cut_position(rest, limits.PARAGRAPH_CHARS, start)
            yield from _run(rest[start:cut], line, kind)
            line += rest.count("\n", start, cut)
            start = cut
        rest = rest[start:]
    yield from _run(rest, line, kind)


def numbered(
    pieces: Iterable[str], most: int = limits.PARAGRAPH_CHARS
) -> Iterator[tuple[int, str]]:
    """(number, line) without line ends; a line above `most` comes in parts, all of its number."""
    rest, number = "", 1
    for piece in pieces:
        rest += piece
        if len(rest) > most or "\n" in piece:
            whole = rest.split("\n")
            rest = whole.pop()
            if whole and max(map(len, whole)) > most:
                for line in whole:
                    yield from ((number, part) for part in _parts(line, most))
                    number += 1
            else:
                yield from enumerate(whole, number)
                number += len(whole)
            while len(rest) > most:
                cut = cut_position(rest, most)
                yield number, rest[:cut]
                rest = rest[cut:]
    if rest:
        yield number, rest


def cut_position(text: str, most: int, start: int = 0) -> int:
    """Where to cut at most `most` letters after `start`: behind a line end, else behind a
    space, else between two letters of which the second is no combining mark.
    """
    for sign in ("\n", " "):
        found = text.rfind(sign, start + most // 2, start + most)
        if found > 0:
            return found + 1
    cut = start + most
    while cut > start + most // 2 and unicodedata.category(text[cut])[0] == "M":
        cut -= 1
    return cut


def _parts(line: str, most: int) -> Iterator[str]:
    start = 0
    while len(line) - start > most:
        cut = cut_position(line, most, start)
        yield line[start:cut]
        start = cut
    yield line[start:]


def _paragraph(text: str, line: int) -> Iterator[Block]:
    inner = text.lstrip("\n")
    line += len(text) - len(inner)
    inner = inner.rstrip()
    start = 0
    while len(inner) - start > limits.PARAGRAPH_CHARS:
        cut = cut_position(inner, limits.PARAGRAPH_CHARS, start)
        yield _located(inner[start:cut].rstrip("\n"), line, "paragraph")
        line += inner.count("\n", start, cut)
        start = cut
    if start < len(inner):
        yield _located(inner[start:], line, "paragraph")


def _run(text: str, line: int, kind: str) -> Iterator[Block]:
    inner = text.lstrip("\n")
    line += len(text) - len(inner)
    inner = inner.rstrip()
    if inner:
        yield _located(inner, line, kind)


def _located(text: str, line: int, kind: str) -> Block:
    return Block(text, kind, 0, line_place(line, line + text.count("\n")))
