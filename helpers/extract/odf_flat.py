"""OpenDocument in one XML file (.fodt, .fods, .fodp, .fodg).

Promises: the same blocks as the packed form gives; pictures, which such a file holds as text,
are passed over; a DOCTYPE is refused; the body streams, whatever its size.
Does not: read what a packed file keeps in folders of its own but embedded formulas and charts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import Block, Context, Item
from helpers.extract.odf import margins_of, metadata_of
from helpers.extract.odf_body import BodyScanner, Embedded
from helpers.limits import OFFICE_TEXT_CHARS

PIECE_BYTES = 65_536  # bytes read at a time
_OVERLAP_BYTES = 512  # bytes looked at again with the next piece
_PART = "the file"
_BODY = re.compile(rb"<([\w.-]+:)?body[\s/>]")
_ROOT = re.compile(rb"<((?:[\w.-]+:)?document)[\s>]")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then page headers and footers.

    Raises Unread: corrupt, limit_reached.
    """
    metadata = metadata_of(_PART, _head(file, ctx))
    yield metadata
    body = BodyScanner(_PART, metadata.title is not None)
    chars = 0
    for _ in body.scanner.scan(_pieces(file, ctx)):
        body.relieve()
        for found in body.drain():
            if isinstance(found, Embedded):
                continue
            if isinstance(found, Block):
                chars += len(found.text)
                if chars > OFFICE_TEXT_CHARS:
                    raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
            yield found
    yield from margins_of(_PART, _head(file, ctx))


def _pieces(file: BinaryIO, ctx: Context) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        ctx.heartbeat()
        yield piece


def _head(file: BinaryIO, ctx: Context) -> Iterator[bytes]:
    """What stands before the body, made whole by an end tag; all of it in a wide charset."""
    before = root = b""
    for piece in _pieces(file, ctx):
        data = before + piece
        mark = _ROOT.search(data) if not root else None
        root = mark[1] if mark else root
        body = _BODY.search(data) if root else None
        if body is not None:
            yield data[: body.start()]
            yield b"</" + root + b">"
            return
        keep = min(len(data), _OVERLAP_BYTES)
        yield data[: len(data) - keep]
        before = data[len(data) - keep :]
    yield before
