"""Jupyter notebooks (.ipynb): the cells as they stand, text and code and what the code printed.

Promises: formats 3 and 4; Markdown cells give headings, paragraphs and table rows, code cells
their code, outputs their text, all located by the number of the cell; pictures, which a notebook
holds as text, are dropped before anything is parsed. Does not: run code or read attachments.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import html, markdown
from helpers.extract.archive import RESAVE, SMALLER
from helpers.extract.blocks import Block, Context, Item, Location, Metadata
from helpers.extract.plain import lines
from helpers.extract.structured import json_depth
from helpers.limits import JSON_DEPTH, NOTEBOOK_BYTES, PARAGRAPH_CHARS, READ_BYTES

# Letters of Base64 without a blank, in which a line end is written as two letters. It begins where
# such letters begin, so that a text full of long words is looked at once.
_RUN = re.compile(
    rb"(?:(?<![A-Za-z0-9+/=\\])|(?<=\\n))[A-Za-z0-9+/=]{60,}(?:\\n[A-Za-z0-9+/=]+)*(?:\\n)?"
)
_PICTURE_BYTES = 2_000  # bytes from which such a run is a picture
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_OBJECT = re.compile(r"\s*<[\w.][^<>]*>\s*")  # what Python says of a thing without text
_OBJECT_CHARS = 500  # code points beyond which a text is more than that
_LEVELS = 6


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then cell by cell its blocks.

    Raises Unread: corrupt (no notebook), limit_reached.
    """
    book = _parsed(_without_pictures(file, ctx))
    about = book.get("metadata")
    title = about.get("title") or about.get("name") if isinstance(about, dict) else None
    titled = isinstance(title, str) and bool(title.strip())
    yield Metadata(title=str(title).strip() if titled else None, encoding="UTF-8")
    for number, cell in enumerate(_cells(book), 1):
        ctx.heartbeat()
        place = Location("part", f"cell {number}", number)
        for item in _cell(cell, titled, ctx):
            if isinstance(item, Block):
                yield replace(item, location=place)
            elif isinstance(item, Metadata) and item.title and not titled:
                titled = True
                yield item


def _without_pictures(file: BinaryIO, ctx: Context) -> bytes:
    """The file's bytes but for runs of Base64."""
    found = bytearray()
    file.seek(0)
    carry = b""
    while piece := file.read(READ_BYTES):
        ctx.heartbeat()
        piece = carry + piece
        carry = b"\\" if piece.endswith(b"\\") else b""
        found += _RUN.sub(_no_picture, piece[: len(piece) - len(carry)])
        if len(found) > NOTEBOOK_BYTES:
            what, unit = "The notebook", "bytes without its pictures"
            raise limit_reached(what, len(found), NOTEBOOK_BYTES, unit, SMALLER)
    return bytes(found + carry)


def _no_picture(run: re.Match[bytes]) -> bytes:
    return b"" if run.end() - run.start() >= _PICTURE_BYTES else run[0]


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
        depth = json_depth(text)
        if depth > JSON_DEPTH:
            raise limit_reached("Nesting of the notebook", depth, JSON_DEPTH, "levels", RESAVE)
        book = json.loads(text)
    except ValueError as error:
        raise Unread("corrupt", f"The notebook is no valid JSON ({error})", RESAVE) from error
    if not isinstance(book, dict) or not ("cells" in book or "worksheets" in book):
        raise Unread("corrupt", "The file is JSON, but no notebook: it has no cells", RESAVE)
    return book


def _cells(book: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells, of format 4 or of the worksheets of format 3."""
    sheets = [book, *_listed(book, "worksheets")]
    for sheet in sheets:
        yield from _listed(sheet, "cells")


def _listed(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = holder.get(key)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    """A text of a notebook: a string, or a list of lines with their ends."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _cell(cell: dict[str, Any], titled: bool, ctx: Context) -> Iterator[Item]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input")))
    if kind == "markdown":
        yield from markdown.items_of(source, titled)
    elif kind == "heading":  # of format 3
        level = cell.get("level")
        level = level if isinstance(level, int) and 1 <= level <= _LEVELS else 1
        text = " ".join(source.split())[:PARAGRAPH_CHARS]
        if text:
            yield Block(text, "heading", level)
    elif kind == "code":
        yield from lines([source], "code")
        for output in _listed(cell, "outputs"):
            yield from _output(output, ctx)
    else:
        yield from lines([source], "paragraph")


def _output(output: dict[str, Any], ctx: Context) -> Iterator[Item]:
    """What a cell printed, returned or failed with."""
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        said = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        yield from lines([_COLOURS.sub("", said)], "code")
        return
    if kind == "stream":
        yield from lines([_COLOURS.sub("", _text(output.get("text")))], "code")
        return
    held = output.get("data")
    data: dict[str, Any] = (
        held
        if isinstance(held, dict)
        else {
            f"text/{name}": value
            for name, value in output.items()
            if name in ("html", "latex", "markdown")
        }
        | {"text/plain": output.get("text", "")}
    )
    yield from _shown(data, ctx)


def _shown(data: dict[str, Any], ctx: Context) -> Iterator[Item]:
    """One of the forms in which an output is given: the one that reads best as text."""
    plain = _COLOURS.sub("", _text(data.get("text/plain")))
    page = _text(data.get("text/html"))
    if "text/markdown" in data:
        yield from markdown.items_of(_text(data["text/markdown"]), True)
    elif plain.strip() and (len(plain) > _OBJECT_CHARS or not _OBJECT.fullmatch(plain)):
        yield from lines([plain], "code")
    elif "text/latex" in data:
        yield from lines([_text(data["text/latex"])], "paragraph")
    elif page.strip():
        raw = page.encode("utf-8", "replace")
        try:
            yield from html.read(
                io.BytesIO(raw), Context("output.html", len(raw), heartbeat=ctx.heartbeat)
            )
        except Unread:  # a page without text
            return
