"""Pictures: what stands written in them, read by whatever recognises text here.

Promises: a picture that is too large is refused by its head, before anything decodes it; each
page of a TIFF is a location; a page on which nothing is legible is noticed, and costs the others
nothing.
Does not: decode pixels, describe what a picture shows, or read what cameras note beside it.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import picture, recognised
from helpers.extract.blocks import Context, Item, Location, Notice
from helpers.recognition import Pending, Wanted

PAGE_SIDE = 3_508  # pixels of the longer side of an A4 page at OCR_DPI, taken for every picture
LARGE_SIDE = 1_600  # pixels of the longer side, below which a picture is enlarged towards it ...
TWICE = 200  # ... percent at most
ENLARGED = frozenset({"PNG", "JPEG"})  # kinds that can be
DPI_RANGE = (70, 400)  # what a picture may be said to have
AHEAD = 3  # pages asked for while one is awaited
MEND = "Open it in the program that made it and save it again."
SMALLER = "Save a smaller copy: 300 dots per inch are enough for text."
CONVERT = "Save it as .png or .jpg."


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a picture, page by page. Raises Unread: `no_text`, `limit_reached`, `corrupt`,
    `unsupported`.
    """
    found = _looked(file)
    _ensure_small(found)
    asked: deque[tuple[int, Pending]] = deque()
    refused: list[Unread] = []
    read_any = False
    for number in range(1, found.pages + 1):
        asked.append((number, ctx.recognize.begin(_wanted(found, number))))
        while len(asked) > (AHEAD if number < found.pages else 0):
            items = _answered(*asked.popleft(), refused)
            read_any |= not isinstance(items[0], Notice)
            yield from items
    if not read_any:
        raise refused[0] if len(refused) == 1 else _none(refused)


def _looked(file: BinaryIO) -> picture.Picture:
    try:
        found = picture.look(file)
    except (ValueError, struct.error, OSError) as error:
        raise Unread("corrupt", f"Its head is broken: {error}", MEND) from error
    if found is None:
        raise Unread("unsupported", "Images of this kind cannot be read yet", CONVERT)
    if not found.width or not found.height:
        raise Unread("corrupt", "It has no pixels", MEND)
    return found


def _ensure_small(found: picture.Picture) -> None:
    pixels, side = found.width * found.height, max(found.width, found.height)
    if pixels > limits.OCR_PIXELS:
        what = f"Its size ({found.width:,} × {found.height:,})"
        raise limit_reached(what, pixels, limits.OCR_PIXELS, "pixels", SMALLER)
    if side > limits.OCR_SIDE_PIXELS:
        raise limit_reached("Its longer side", side, limits.OCR_SIDE_PIXELS, "pixels", SMALLER)
    if found.pages > limits.OCR_FRAMES:
        raise limit_reached(
            "The number of its pages", found.pages, limits.OCR_FRAMES, "pages", "Split it."
        )


def _wanted(found: picture.Picture, number: int) -> Wanted:
    longest = max(found.width, found.height)
    scale = 100
    if found.pages == 1 and found.kind in ENLARGED and longest < LARGE_SIDE:
        scale = min(TWICE, 100 * PAGE_SIDE // longest)
    dpi = max(DPI_RANGE[0], min(longest * scale // 100 * limits.OCR_DPI // PAGE_SIDE, DPI_RANGE[1]))
    if found.pages > 1:
        return Wanted("image", number, found.pages, dpi)
    return Wanted("image", dpi=dpi, orientation=found.orientation, scale=scale)


def _answered(number: int, pending: Pending, refused: list[Unread]) -> list[Item]:
    """The blocks of a page, or one notice why there are none."""
    place = Location("page", f"p. {number}", number)
    try:
        return list(recognised.blocks(pending.result(), place))
    except Unread as unread:
        refused.append(unread)
        return [Notice(unread.code, str(unread), place)]


def _none(refused: list[Unread]) -> Unread:
    first = refused[0]
    return Unread(first.code, f"No page has legible text: {first.reason}", first.remedy)
