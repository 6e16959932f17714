"""Recordings: what is said in them, with the time at which it is said.

Promises: a block holds what is said within about a minute, and names from when to when; which
model transcribed it, and on what day, is noted, so that it can be found and done anew.
Does not: transcribe (whatever recognises sound here does), tell speakers apart, or read tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from helpers.errors import Unread
from helpers.extract.blocks import Block, Context, Item, Location, Notice
from helpers.recognition import Piece, Wanted

BLOCK_S = 60.0  # seconds from which on a block ends with the next pause
BLOCK_CHARS = 700  # code points from which on it does


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a recording, by time. Raises Unread: `unsupported`, `missing_reader`, `no_text`,
    `timeout`, `limit_reached`.
    """
    found = ctx.recognize(Wanted("sound"))
    said = list(_blocks(found.pieces))
    if not said:
        raise Unread("no_text", "Nothing is said in it that could be understood", "Listen to it.")
    yield from said
    model, day = found.facts.get("whisper_model", ""), found.facts.get("transcribed_at", "")
    yield Notice("transcribed", f"Transcribed by {found.engine} (model {model}) on {day[:10]}")


def _blocks(pieces: Iterable[Piece]) -> Iterator[Block]:
    held: list[Piece] = []
    for piece in pieces:
        if not piece.text.strip():
            continue
        held.append(piece)
        spoken = (piece.end or 0.0) - (held[0].start or 0.0)
        if spoken >= BLOCK_S or sum(len(one.text) for one in held) >= BLOCK_CHARS:
            yield _block(held)
            held = []
    if held:
        yield _block(held)


def _block(pieces: list[Piece]) -> Block:
    start, end = int(pieces[0].start or 0), int(pieces[-1].end or 0)
    place = Location("time", f"{clock(start)}–{clock(end)}", start, end=end)
    return Block(" ".join(piece.text.strip() for piece in pieces), "paragraph", 0, place)


def clock(seconds: int) -> str:
    """12:03, or 1:12:03 from an hour on."""
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
