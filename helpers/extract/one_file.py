"""An office document in one XML file: its bytes piece by piece, and what stands before its body.

Promises: memory stays at a few PIECE_BYTES. Does not: parse, or know a format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.extract.blocks import Context

PIECE_BYTES = 65_536  # bytes read at a time
_OVERLAP_BYTES = 512  # bytes looked at again with the next piece


def pieces(file: BinaryIO, ctx: Context) -> Iterator[bytes]:
    """The file from its start."""
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        ctx.heartbeat()
        yield piece


def head(
    file: BinaryIO, ctx: Context, root_tag: re.Pattern[bytes], body_tag: re.Pattern[bytes]
) -> Iterator[bytes]:
    """What stands before the body, made whole by an end tag; all of it in a wide charset.

    Group 1 of `root_tag` is the root's name.
    """
    before = root = b""
    for piece in pieces(file, ctx):
        data = before + piece
        mark = root_tag.search(data) if not root else None
        root = mark[1] if mark else root
        body = body_tag.search(data) if root else None
        if body is not None:
            yield data[: body.start()]
            yield b"</" + root + b">"
            return
        keep = min(len(data), _OVERLAP_BYTES)
        yield data[: len(data) - keep]
        before = data[len(data) - keep :]
    yield before
