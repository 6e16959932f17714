"""Hangul documents (.hwpx, OWPML): body, tables, notes, headers, text boxes, equations.

Source: KS X 6101 "Open Word-Processor Markup Language (OWPML) document structure".
Promises: sections in the order of the package's spine; table rows with separated cells, captions,
text boxes, notes, hidden comments and memos after the paragraph that anchors them; headers,
footers and master pages once at the end; field parameters are left out, fields' results read.
A page is unknown in this format: the location is the heading path.
Does not: open passwords, number paragraphs, read pictures, scripts or embedded files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread
from helpers.extract.archive import RESAVE, Archive
from helpers.extract.blocks import Context, Item, Metadata, Notice
from helpers.extract.drawing import drawing_texts
from helpers.extract.hwp_flow import Located, Margins, heading_level, paragraph, title_of
from helpers.extract.hwpx_body import NAMESPACES, SectionScanner
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table, whole
from helpers.extract.opc import Package
from helpers.extract.outline import DEEPEST_HEADING
from helpers.limits import OFFICE_RELATED_PARTS

_CONTAINER = "META-INF/container.xml"
_MANIFEST = "META-INF/manifest.xml"
_PACKAGE = "Contents/content.hpf"
_HEADER = "Contents/header.xml"
_OPF = {
    "opf": ("http://www.idpf.org/2007/opf/", "http://www.idpf.org/2007/opf"),
    "ocf": ("urn:oasis:names:tc:opendocument:xmlns:container",),
    "odf": ("urn:oasis:names:tc:opendocument:xmlns:manifest:1.0",),
    "enc": ("http://www.w3.org/2001/04/xmlenc#",),
}
_SECTION = re.compile(r"(?:.*/)?section(\d{1,6})\.xml\Z", re.IGNORECASE)
_MASTER_PAGE = re.compile(r"(?:.*/)?masterpage\d{1,6}\.xml\Z", re.IGNORECASE)


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the sections' blocks, then headers, footers and master pages.

    Raises Unread: encrypted, corrupt, limit_reached, empty.
    """
    archive = Archive(file, ctx)
    _refuse_encrypted(archive)
    package = _Contents(archive)
    yield package.metadata()
    sections = package.sections()
    if not sections:
        raise Unread("corrupt", "The file has no section", RESAVE)
    headings, styles, notice = _styles(archive, package.header())
    if notice is not None:
        yield notice
    margins, located = Margins(), Located()
    for part in sections:
        body = SectionScanner(part, headings, styles, margins)
        for _ in body.scanner.scan(archive.pieces(part)):
            body.relieve()
            yield from located.blocks(body.found)
            while body.charts:
                yield from _chart(archive, body.charts.pop(0), located)
    yield from _master_pages(archive, margins)
    yield from margins.blocks(located)


class _Contents:
    """The package file: what the document is called, and the order of its parts."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._items: dict[str, str] = {}
        self._spine: list[str] = []
        self._title: list[str] = []
        self._words: list[str] = []
        self._part = _root(archive)
        if self._part in archive:
            self._read()

    def metadata(self) -> Metadata:
        words = re.split(r"[,;]", "".join(self._words))
        tags = tuple(word.strip() for word in words if word.strip())
        return Metadata(title_of("".join(self._title)), tags)

    def header(self) -> str:
        """The part with the styles."""
        return next((p for p in self._items.values() if p.endswith("/header.xml")), _HEADER)

    def sections(self) -> list[str]:
        """The sections' parts: those of the spine in its order, then what it forgot."""
        archive = self._archive
        named = (self._items.get(item, "") for item in self._spine)
        found = {part.casefold(): part for part in named if _SECTION.match(part)}
        forgotten = {int(m[1]): name for name in archive.names if (m := _SECTION.match(name))}
        for number in sorted(forgotten):
            found.setdefault(forgotten[number].casefold(), forgotten[number])
        return [part for part in found.values() if part in archive]

    def _read(self) -> None:
        starts: dict[str, OnStart] = {
            "opf:item": self._item,
            "opf:itemref": lambda a: self._spine.append(a.get("idref", "")),
            "opf:title": lambda _: scanner.collect(self._title.append),
            "opf:meta": self._meta,
        }
        ends: dict[str, OnEnd] = {"opf:title opf:meta": lambda: scanner.collect(None)}
        self._scanner = scanner = Scanner(self._part, table(starts, _OPF), table(ends, _OPF))
        try:
            scanner.run((self._archive.whole(self._part),))
        except Unread as error:
            if error.code != "corrupt":
                raise

    def _item(self, attributes: Attributes) -> None:
        if len(self._items) < OFFICE_RELATED_PARTS:
            self._items[attributes.get("id", "")] = self._inside(attributes.get("href", ""))

    def _meta(self, attributes: Attributes) -> None:
        if attributes.get("name") == "keyword":
            self._scanner.collect(self._words.append)

    def _inside(self, target: str) -> str:
        """A part by the name a program wrote: from the container's root, or from the package
        file as the standard of its kind has it."""
        plain = posixpath.normpath("/" + target.lstrip("/")).lstrip("/")
        beside = posixpath.normpath("/" + posixpath.join(posixpath.dirname(self._part), target))
        return plain if plain in self._archive else beside.lstrip("/")


def _root(archive: Archive) -> str:
    """The package file that META-INF names, else where every program puts it."""
    found: list[str] = []

    def rootfile(attributes: Attributes) -> None:
        name = attributes.get("full-path", "")
        if name.endswith(".hpf"):
            found.append(name)

    if _CONTAINER in archive:
        try:
            scanner = Scanner(_CONTAINER, table({"ocf:rootfile": rootfile}, _OPF))
            scanner.run((archive.whole(_CONTAINER),))
        except Unread as error:
            if error.code != "corrupt":
                raise
    return next((name for name in found if name in archive), _PACKAGE)


def _refuse_encrypted(archive: Archive) -> None:
    """A password leaves the container open and its parts' bytes scrambled."""
    if _MANIFEST not in archive:
        return

    def refuse(attributes: Attributes) -> None:
        raise Unread("encrypted", "The file needs a password", "Save a copy without a password.")

    actions = table({"odf:encryption-data enc:EncryptedData": refuse}, _OPF)
    try:
        Scanner(_MANIFEST, actions).run((archive.whole(_MANIFEST),))
    except Unread as error:
        if error.code != "corrupt":
            raise


def _styles(archive: Archive, part: str) -> tuple[dict[str, int], dict[str, int], Notice | None]:
    """Heading levels by the id of a paragraph's shape and by that of its style."""
    headings: dict[str, int] = {}
    styles: dict[str, int] = {}
    shape = ""

    def shape_start(attributes: Attributes) -> None:
        nonlocal shape
        shape = attributes.get("id", "")

    def heading(attributes: Attributes) -> None:
        if attributes.get("type") == "OUTLINE":
            headings[shape] = min(DEEPEST_HEADING, 1 + max(0, whole(attributes.get("level"))))

    def style(attributes: Attributes) -> None:
        level = heading_level(attributes.get("name", "")) or heading_level(
            attributes.get("engName", "")
        )
        if level:
            styles[attributes.get("id", "")] = level

    starts: dict[str, OnStart] = {
        "hh:paraPr": shape_start,
        "hh:heading": heading,
        "hh:style": style,
        "hh:fontfaces hh:borderFills hh:charProperties hh:numberings": lambda _: scanner.skip(),
    }
    scanner = Scanner(part, table(starts, NAMESPACES))
    if part not in archive:
        return headings, styles, None
    try:
        scanner.run(archive.pieces(part))
    except Unread as error:
        if error.code != "corrupt":
            raise
        return headings, styles, Notice("part_unread", error.reason)
    return headings, styles, None


def _chart(archive: Archive, part: str, located: Located) -> Iterator[Item]:
    """A chart's titles and names."""
    if part not in archive:
        return
    try:
        for text in drawing_texts(Package(archive), part):
            yield from located.blocks([paragraph(text)])
    except Unread as error:
        if error.code != "corrupt":
            raise
        yield Notice("part_unread", error.reason)


def _master_pages(archive: Archive, margins: Margins) -> Iterator[Notice]:
    for part in [name for name in archive.names if _MASTER_PAGE.match(name)]:
        page = SectionScanner(part, {}, {}, margins, into_margins=True)
        try:
            for _ in page.scanner.scan(archive.pieces(part)):
                page.relieve()
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield Notice("part_unread", error.reason)
