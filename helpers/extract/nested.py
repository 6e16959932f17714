"""A document inside a document: an attachment of a mail, a member of an archive, an embedded file.

Promises: what is inside is detected and read like any file, its locations name the way to it
("attachment report.pdf, p. 3"); what cannot be read becomes a `Notice` that says why, and the
outer document goes on; depth, count and bytes are capped over the whole outer document.
Does not: overwrite the outer title, follow an archive on its own, or use a name as a path.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import formats
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.recognition import Within
from helpers.source.refuse import SECRET_NAME, SecretScan, is_secret_name, secret_content

SEPARATE = "Save it as a file of its own and index that."
NAME_CHARS = 120  # code points of a member's name in a label
_OWN_CODES = frozenset({"encrypted", "no_text", "limit_reached", "missing_reader", "sensitive"})
_PAGED = frozenset({"page", "slide", "time"})  # each of them stands apart within one document
# Control, format and bidirectional-override characters, line and paragraph separators.
_UNSHOWN = re.compile("[\x00-\x20\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


@dataclass(slots=True)
class Inside:
    """What the documents inside one outer document have cost so far, at any depth."""

    members: int = 0
    bytes: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """`level` documents stand around what is read; `cost` is shared by all of them."""

    level: int
    cost: Inside


def opened(ctx: Context) -> Context:
    """The context of a document that holds others, counting from here unless it is inside one.

    A reader calls it once and hands the result to each `read_nested`.
    """
    return ctx if ctx.inside is not None else dataclasses.replace(ctx, inside=Depth(0, Inside()))


def read_nested(
    data: BinaryIO,
    name: str,
    ctx: Context,
    place: str,
    wanted: Callable[[formats.Format], bool] | None = None,
) -> Iterator[Item]:
    """The blocks and notices of the document `data`, all located in `place`.

    `name` is a hint for the format; `place` is what a person is shown, such as "attachment
    report.pdf"; `ctx` comes from `opened`. A heading of that text stands above its blocks.
    Where `wanted` is given, a format that it refuses is passed over in silence.
    """

    def started(inner: Context) -> Iterator[Item]:
        _refuse_secrets(data, name)
        found = formats.detect(data, name)
        if wanted is not None and not wanted(found):
            return iter(())
        reader = formats.load(found)
        data.seek(0)
        return reader(data, dataclasses.replace(inner, recognize=Within(ctx.recognize, data)))

    return read_inner(started, name, data.seek(0, io.SEEK_END), ctx, place)


def read_inner(
    started: Callable[[Context], Iterator[Item]], name: str, size: int, ctx: Context, place: str
) -> Iterator[Item]:
    """As `read_nested`, for a document of `size` bytes that is no file: `started` begins to
    read it in the context it is given.
    """
    place = clean_name(place, 2 * NAME_CHARS)
    relabel = _Relabel(place)
    try:
        for item in started(_admitted(size, name, ctx)):
            yield from relabel(item)
    except Unread as error:
        if error.code not in relabel.codes:  # else it has been told page by page
            yield from _notices(error, place, _cost(ctx))
    except ConnectionError:  # of the process that reads, not of the document
        raise
    except MemoryError:
        message = f"{place}: reading it wanted more memory than a reader process has"
        yield Notice("limit_reached", message, Location("part", place, name=place))
    except Exception as failure:
        message = f"{place}: its reader could not follow it ({type(failure).__name__})"
        yield Notice("part_unread", message, Location("part", place, name=place))


def held(pieces: Iterator[bytes], most: int = limits.NESTED_BYTES) -> io.BytesIO:
    """The pieces as an open file in memory. Raises Unread("limit_reached") beyond `most` bytes."""
    found = io.BytesIO()
    for piece in pieces:
        if found.tell() + len(piece) > most:
            reached = found.tell() + len(piece)
            raise limit_reached("a document inside", reached, most, "bytes", SEPARATE)
        found.write(piece)
    found.seek(0)
    return found


def unread(error: Unread, place: str) -> Notice:
    """The notice of a member that could not be read."""
    code = error.code if error.code in _OWN_CODES else "part_unread"
    return Notice(code, f"{place}: {error.reason}", Location("part", place, name=place))


def clean_name(name: str, most: int = NAME_CHARS) -> str:
    """A member's name as a label shows it: one line, no controls, in the middle shortened."""
    shown = _UNSHOWN.sub(" ", name).strip()
    if len(shown) <= most:
        return shown
    return f"{shown[: most // 2]}…{shown[-(most // 2 - 1) :]}"


def _cost(ctx: Context) -> Inside:
    return ctx.inside.cost if isinstance(ctx.inside, Depth) else Inside()


def _admitted(size: int, name: str, ctx: Context) -> Context:
    """The inner document's context. Raises Unread("limit_reached") where it is one too many."""
    depth = ctx.inside if isinstance(ctx.inside, Depth) else Depth(0, Inside())
    cost, level = depth.cost, depth.level + 1
    cost.members += 1
    if size <= limits.NESTED_BYTES:
        cost.bytes += size
    for what, reached, most, unit in (
        ("nesting of documents", level, limits.NESTED_DEPTH, "levels"),
        ("documents inside the document", cost.members, limits.NESTED_MEMBERS, "documents"),
        ("a document inside", size, limits.NESTED_BYTES, "bytes"),
        ("all documents inside", cost.bytes, limits.NESTED_TOTAL_BYTES, "bytes"),
    ):
        if reached > most:
            raise limit_reached(what, reached, most, unit, SEPARATE)
    ctx.heartbeat()
    return dataclasses.replace(ctx, name=name, size=size, inside=Depth(level, cost))


def _refuse_secrets(data: BinaryIO, name: str) -> None:
    """What is refused in a folder is refused in here: names and content of keys and passwords."""
    if is_secret_name(name.lower()):
        raise Unread("sensitive", SECRET_NAME.reason, SECRET_NAME.remedy)
    data.seek(0)
    scan = SecretScan()
    for block in iter(lambda: data.read(limits.DIGEST_BLOCK_BYTES), b""):
        scan.feed(block)
    if scan.found is not None:
        raise secret_content(scan.found)


def _notices(error: Unread, place: str, cost: Inside) -> Iterator[Notice]:
    if error.code == "empty":  # nothing is missing from what can be found
        return
    if cost.members > limits.NESTED_MEMBERS or cost.bytes > limits.NESTED_TOTAL_BYTES:
        cost.refused += 1
        if cost.refused > 1:  # each further one would say the same
            return
    yield unread(error, place)


class _Relabel:
    """The inner document's items as items of the outer one."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._name: str | None = None  # of the part that the last heading stands above
        self._title: str | None = None
        self._blocks = 0
        self.codes: set[str] = set()  # of the notices so far

    def __call__(self, item: Item) -> Iterator[Item]:
        if isinstance(item, Metadata):
            if not self._blocks:
                self._title = item.title or self._title
        elif isinstance(item, Block):
            yield from self._block(item)
        else:
            where = self._located(item.location)
            self.codes.add(item.code)
            yield Notice(item.code, f"{self._place}: {item.message}", where)

    def _block(self, block: Block) -> Iterator[Block]:
        where = self._located(block.location)
        if where.name != self._name:
            self._name = where.name
            yield Block(self._place, "heading", 1, where)
        if not self._blocks and self._title and self._title.strip() not in block.text:
            yield Block(self._title, "paragraph", 0, where)
        self._blocks += 1
        level = min(block.level + 1, 6) if block.kind == "heading" else 0
        yield Block(block.text, block.kind, level, where, block.ocr)

    def _located(self, inner: Location | None) -> Location:
        place = self._place
        if inner is None:
            return Location("part", place, name=place)
        label = f"{place}, {inner.label}"
        if inner.kind in _PAGED:
            return Location("part", label, inner.number, place, inner.end)
        if inner.kind == "sheet":
            return Location("part", label, None, f"{place}, {inner.name or inner.label}")
        if inner.kind == "part":
            name = f"{place}, {inner.name or inner.label}"
            return Location("part", label, inner.number, name, inner.end)
        return Location("part", label, None, place)
