"""Hangul documents (.hwp, format 5): body, tables, notes, headers, text boxes, equations.

Source: Hancom, "한글 문서 파일 구조 5.0" (published format document).
Promises: sections in order, table rows with separated cells, captions, text boxes, footnotes and
endnotes, hidden comments and memos after the paragraph that anchors them, headers, footers and
master pages once at the end; a heading by its outline level or the name of its style; the text
of distribution documents. A page is unknown: the location is the heading path.
Does not: open passwords and DRM, number paragraphs, read pictures, charts, scripts, or HWP 3.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import properties
from helpers.extract.blocks import Context, Item, Metadata, Notice
from helpers.extract.compound import MAGIC, CompoundFile
from helpers.extract.hwp_body import BodyReader
from helpers.extract.hwp_flow import Located, Margins, heading_level, title_of
from helpers.extract.hwp_lock import Unlocked
from helpers.extract.hwp_records import (
    PARA_SHAPE,
    SMALLER,
    STYLE,
    Meter,
    Source,
    corrupt,
    pieces,
    records,
    string,
)
from helpers.extract.outline import DEEPEST_HEADING
from helpers.limits import HWP_INFO_BYTES

SIGNATURE = b"HWP Document File"
_COMPRESSED, _PASSWORD, _DISTRIBUTION, _DRM, _CERTIFICATE, _CERTIFICATE_DRM = 1, 2, 4, 16, 256, 1024
_SUMMARY = "\x05HwpSummaryInformation"
_OUTLINE = 1  # the kind of a paragraph's head that makes it a heading
_SECTION = re.compile(r"section(\d{1,6})\Z")
_OLD_VERSION = re.compile(rb"HWP Document File V([0-9.]{1,4})")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the sections' blocks, then headers, footers and master pages.

    Raises Unread: encrypted, corrupt, limit_reached, unsupported (HWP 3 and before).
    """
    _refuse_other_kinds(file)
    container = CompoundFile(file)
    flags = _flags(container)
    yield _metadata(container)
    headings, styles = _styles(container, bool(flags & _COMPRESSED), ctx)
    margins, located, meter = Margins(), Located(), Meter()
    for storage, name in _sections(container, bool(flags & _DISTRIBUTION)):
        body = BodyReader(headings, styles, margins)
        rest = b""
        for piece in _inflated(container, storage, name, flags, ctx, meter):
            if body.lost:  # inflated to its end all the same: a bomb is told as one
                continue
            data = rest + piece if rest else piece
            rest = data[body.feed(data) :]
            yield from located.blocks(body.found)
        body.end()
        yield from located.blocks(body.found)
        if rest.strip(b"\0"):
            yield Notice("part_unread", f"{name} could not be followed to its end")
    yield from margins.blocks(located)


def _refuse_other_kinds(file: BinaryIO) -> None:
    """Older documents under the same ending, by their first bytes."""
    file.seek(0)
    head = file.read(64)
    file.seek(0)
    old = _OLD_VERSION.match(head)
    if old is not None:
        version = old[1].decode("ascii")
        raise Unread(
            "unsupported",
            f"Hangul document of the old format HWP {version} (Hangul 97 and before)",
            "Open it in Hangul and save it as .hwp of today (HWP 5) or .hwpx.",
        )
    if not head.startswith(MAGIC):
        raise corrupt("it is no compound file")


def _flags(container: CompoundFile) -> int:
    header = container.read("FileHeader", most=HWP_INFO_BYTES)
    if len(header) < 40 or not header.startswith(SIGNATURE):
        raise corrupt("its FileHeader is cut short or has no signature")
    flags: int = struct.unpack_from("<I", header, 36)[0]
    if flags & (_PASSWORD | _CERTIFICATE):
        raise Unread("encrypted", "The file needs a password", "Save a copy without a password.")
    if flags & (_DRM | _CERTIFICATE_DRM):
        raise Unread("encrypted", "The file is locked by DRM", "Save a copy without protection.")
    return flags


def _metadata(container: CompoundFile) -> Metadata:
    found = properties.summary(container, name=_SUMMARY)
    words = re.split(r"[,;]", found.text(properties.KEYWORDS))
    tags = tuple(word.strip() for word in words if word.strip())
    return Metadata(title_of(found.text(properties.TITLE)), tags)


def _styles(
    container: CompoundFile, compressed: bool, ctx: Context
) -> tuple[dict[int, int], dict[int, int]]:
    """Heading levels by the number of a paragraph's shape and by that of its style; without a
    readable DocInfo there are none."""
    headings: dict[int, int] = {}
    styles: dict[int, int] = {}
    try:
        data = _info(container, compressed, ctx)
    except Unread as error:
        if error.code == "limit_reached":
            raise
        return headings, styles
    shapes = style = 0
    for tag, start, _ in records(data, (PARA_SHAPE, STYLE)):
        if tag == STYLE:
            name, at = string(data, start)
            level = heading_level(name) or heading_level(string(data, at)[0])
            if level:
                styles[style] = level
            style += 1
            continue
        look = int.from_bytes(data[start : start + 4], "little")
        if look >> 23 & 3 == _OUTLINE:
            headings[shapes] = min(DEEPEST_HEADING, 1 + (look >> 25 & 7))
        shapes += 1
    return headings, styles


def _info(container: CompoundFile, compressed: bool, ctx: Context) -> bytes:
    found = bytearray()
    for piece in pieces(container.open("DocInfo"), "DocInfo", compressed, ctx.heartbeat, Meter()):
        found += piece
        if len(found) > HWP_INFO_BYTES:
            raise limit_reached("DocInfo", len(found), HWP_INFO_BYTES, "bytes inflated", SMALLER)
    return bytes(found)


def _sections(container: CompoundFile, distribution: bool) -> list[tuple[str, str]]:
    """(storage, name) of the sections in order. A distribution document keeps its text in
    ViewText, and in BodyText a notice about itself."""
    for storage in ("ViewText", "BodyText") if distribution else ("BodyText", "ViewText"):
        found = {}
        for entry in container.below((storage,)):
            numbered = _SECTION.match(entry.path[-1].lower())
            if numbered:
                found[int(numbered[1])] = entry.path[-1]
        if found:
            return [(storage, found[number]) for number in sorted(found)]
    raise corrupt("it has no section")


def _inflated(
    container: CompoundFile, storage: str, name: str, flags: int, ctx: Context, meter: Meter
) -> Iterator[bytes]:
    source: Source = container.open(storage, name)
    if storage == "ViewText":
        source = Unlocked(source, name)
    return pieces(source, name, bool(flags & _COMPRESSED), ctx.heartbeat, meter)
