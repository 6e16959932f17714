"""OpenDocument files (.odt, .ods, .odp): one reader, told apart by what their body holds.

Promises: headings, lists, tables, text boxes, notes, comments and speaker notes in reading
order; page headers and footers once; tracked deletions are left out; rows and cells that a
sheet repeats a million times cost one block; a slide or a sheet's row is the location, in a
text the heading path. Does not: read flat files (.fodt), formulas' code, pictures or scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import RESAVE, SMALLER, Archive
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Metadata, Notice
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table
from helpers.extract.odf_body import BodyScanner, Embedded
from helpers.extract.odf_text import NAMESPACES, TextFrames, tidy
from helpers.extract.opc import real_title
from helpers.extract.outline import only_page_number
from helpers.limits import OFFICE_RELATED_PARTS, OFFICE_TEXT_CHARS

_BODY = "content.xml"
_STYLES = "styles.xml"
_PROPERTIES = "meta.xml"
_MANIFEST = "META-INF/manifest.xml"
_MARGINS = "style:header style:footer style:header-left style:footer-left style:header-first"
_NUMBER = re.compile(r"[-+0-9.,%eE\s]+")
_CHART_NAMES = 1_000  # titles, series and categories of one chart
_LETTERS = "math:mi math:mn math:mo math:mtext"
_FIELDS = (
    "text:page-number text:page-count text:sheet-name text:date text:time text:title "
    "text:file-name text:author-name text:chapter"
)


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then page headers and footers.

    Raises Unread: encrypted, corrupt, limit_reached, empty.
    """
    archive = Archive(file, ctx)
    _refuse_encrypted(archive)
    metadata = _metadata(archive)
    yield metadata
    if _BODY not in archive:
        raise Unread("corrupt", f"The file has no part {_BODY}", RESAVE)
    body = BodyScanner(_BODY, metadata.title is not None)
    chars = formulas = 0
    for _ in body.scanner.scan(archive.pieces(_BODY)):
        body.relieve()
        for found in body.drain():
            if isinstance(found, Embedded):
                formulas += 1
                yield from _object(archive, found, formulas)
                continue
            if isinstance(found, Block):
                chars += len(found.text)
                if chars > OFFICE_TEXT_CHARS:
                    raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)
            yield found
    yield from _margins(archive)


def _refuse_encrypted(archive: Archive) -> None:
    """A password leaves the container open and its parts' bytes scrambled."""
    if "encrypted-package" in archive:
        raise Unread("encrypted", "The file needs a password", "Save a copy without a password.")
    if _MANIFEST not in archive:
        return

    def refuse(attributes: Attributes) -> None:
        raise Unread("encrypted", "The file needs a password", "Save a copy without a password.")

    try:
        actions = table({"manifest:encryption-data": refuse}, NAMESPACES)
        Scanner(_MANIFEST, actions).run(archive.pieces(_MANIFEST))
    except Unread as error:
        if error.code != "corrupt":
            raise


def _metadata(archive: Archive) -> Metadata:
    """Title and keywords from meta.xml, empty where it is missing or bad."""
    title: list[str] = []
    tags: list[str] = []
    if _PROPERTIES in archive:
        starts: dict[str, OnStart] = {
            "dc:title": lambda _: scanner.collect(title.append),
            "meta:keyword": lambda _: scanner.collect(tags.append),
        }
        ends: dict[str, OnEnd] = {"dc:title meta:keyword": lambda: scanner.collect(None)}
        scanner = Scanner(_PROPERTIES, table(starts, NAMESPACES), table(ends, NAMESPACES))
        try:
            scanner.run((archive.whole(_PROPERTIES),))
        except Unread as error:
            if error.code != "corrupt":
                raise
    words = (word.strip() for tag in tags for word in re.split(r"[,;]", tag))
    return Metadata(real_title(" ".join("".join(title).split())), tuple(filter(None, words)))


def _margins(archive: Archive) -> Iterator[Item]:
    """Page headers and footers of all page styles, each text once, without page numbers."""
    if _STYLES not in archive:
        return
    found: list[Block] = []
    place = Location("part", "header or footer")
    frames = TextFrames(lambda text, _: found.append(Block(text, location=place)))
    inside = 0

    def enter(attributes: Attributes) -> None:
        nonlocal inside
        inside += 1

    def leave() -> None:
        nonlocal inside
        inside -= 1

    def paragraph(attributes: Attributes) -> None:
        if inside:
            frames.begin()

    starts: dict[str, OnStart] = {
        _MARGINS: enter,
        "text:p text:h": paragraph,
        _FIELDS: lambda _: scanner.skip(),
        **frames.marks(),
    }
    ends: dict[str, OnEnd] = {_MARGINS: leave, "text:p text:h": frames.end}
    scanner = Scanner(_STYLES, table(starts, NAMESPACES), table(ends, NAMESPACES))
    frames.attach(scanner)
    seen: set[str] = set()
    try:
        for _ in scanner.scan(archive.pieces(_STYLES)):
            frames.relieve()
            for block in found:
                if block.text not in seen and not only_page_number(block.text):
                    seen.add(block.text)
                    yield block
            found.clear()
    except Unread as error:
        if error.code != "corrupt":
            raise
        yield Notice("part_unread", error.reason)


def _object(archive: Archive, found: Embedded, count: int) -> Iterator[Item]:
    """An embedded formula's letters in order, so that it leaves a trace; a chart's names."""
    part = f"{found.folder.strip('./')}/{_BODY}"
    if part not in archive:
        return
    if count > OFFICE_RELATED_PARTS:
        raise limit_reached("Embedded objects", count, OFFICE_RELATED_PARTS, "parts", SMALLER)
    parts: list[str] = []
    names: dict[str, None] = {}

    def name_end() -> None:
        scanner.collect(None)
        name = tidy("".join(parts))
        parts.clear()
        if name and not _NUMBER.fullmatch(name) and len(names) < _CHART_NAMES:
            names[name] = None

    starts: dict[str, OnStart] = {
        _LETTERS: lambda _: scanner.collect(parts.append),
        "text:p": lambda _: scanner.collect(parts.append),
        "math:annotation office:automatic-styles": lambda _: scanner.skip(),
    }
    ends: dict[str, OnEnd] = {_LETTERS: lambda: scanner.collect(None), "text:p": name_end}
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))
    try:
        scanner.run((archive.whole(part),))
    except Unread as error:
        if error.code != "corrupt":
            raise
        yield Notice("part_unread", error.reason, found.location)
    text = CELL_SEPARATOR.join(names) or tidy("".join(parts))
    if text:
        yield Block(text, location=found.location)
