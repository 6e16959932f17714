"""OpenDocument files (.odt, .ods, .odp, .odg): one reader, told apart by what their body holds.

Promises: headings, lists, tables, text boxes, notes, comments and speaker notes in reading
order; page headers and footers once; tracked deletions are left out; rows and cells that a
sheet repeats a million times cost one block; a slide or a sheet's row is the location, in a
text the heading path; an equation stands in its sentence as LaTeX.
Does not: read formulas' code, pictures or scripts; `odf_flat` reads flat files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import RESAVE, SMALLER, Archive
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Metadata, Notice
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, table
from helpers.extract.odf_body import Body
from helpers.extract.odf_shapes import Embedded
from helpers.extract.odf_text import NAMES, NAMESPACES, NUMBER, TextFrames, tidy
from helpers.extract.opc import real_title
from helpers.extract.outline import Outline, only_page_number
from helpers.limits import OFFICE_RELATED_PARTS

_BODY = "content.xml"
_STYLES = "styles.xml"
_PROPERTIES = "meta.xml"
_MANIFEST = "META-INF/manifest.xml"
_MARGINS = "style:header style:footer style:header-left style:footer-left style:header-first"
_EQUATION = re.compile(  # the root element, behind declarations and comments
    rb"(?:\xef\xbb\xbf|\s|<\?[^>]{0,200}>|<!--[^>]{0,2000}>|<!DOCTYPE[^>]{0,400}>)*"
    rb"<(?:\w+:)?math[\s>]"
)
_EQUATION_HEAD = 4_096  # bytes at the start of a part within which an equation shows itself
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
    metadata = Metadata()
    if _PROPERTIES in archive:
        metadata = metadata_of(_PROPERTIES, (archive.whole(_PROPERTIES),))
    yield metadata
    if _BODY not in archive:
        raise Unread("corrupt", f"The file has no part {_BODY}", RESAVE)
    if _is_equation(archive, _BODY):
        yield Block(marked(_equation(archive, _BODY)), location=Outline().paragraph())
        return
    formulas = _Formulas(archive)
    body = Body(_BODY, metadata.title is not None, formulas.latex)
    yield from body.read(archive.pieces(_BODY), partial(_object, archive))
    if _STYLES in archive:
        yield from margins_of(_STYLES, archive.pieces(_STYLES))


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


def metadata_of(part: str, pieces: Iterable[bytes]) -> Metadata:
    """Title and keywords from a part such as meta.xml, empty where it is bad."""
    title: list[str] = []
    tags: list[str] = []
    starts: dict[str, OnStart] = {
        "dc:title": lambda _: scanner.collect(title.append),
        "meta:keyword": lambda _: scanner.collect(tags.append),
        "office:body office:binary-data": lambda _: scanner.skip(),
    }
    ends: dict[str, OnEnd] = {"dc:title meta:keyword": lambda: scanner.collect(None)}
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))
    try:
        scanner.run(pieces)
    except Unread as error:
        if error.code != "corrupt":
            raise
    words = (word.strip() for tag in tags for word in re.split(r"[,;]", tag))
    return Metadata(real_title(" ".join("".join(title).split())), tuple(filter(None, words)))


def margins_of(part: str, pieces: Iterable[bytes]) -> Iterator[Item]:
    """Page headers and footers of all page styles, each text once, without page numbers."""
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
        f"{_FIELDS} office:body office:binary-data": lambda _: scanner.skip(),
        **frames.marks(),
    }
    ends: dict[str, OnEnd] = {_MARGINS: leave, "text:p text:h": frames.end}
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))
    frames.attach(scanner)
    seen: set[str] = set()
    try:
        for _ in scanner.scan(pieces):
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


class _Formulas:
    """The embedded objects of a document that are equations."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._objects = 0

    def latex(self, folder: str) -> str | Notice:
        """The equation in the object's folder; an empty string where it is something else."""
        part = _part_of(folder)
        self._objects += 1
        if self._objects > OFFICE_RELATED_PARTS:
            what = "Embedded objects"
            raise limit_reached(what, self._objects, OFFICE_RELATED_PARTS, "parts", SMALLER)
        try:
            if part in self._archive and _is_equation(self._archive, part):
                return _equation(self._archive, part)
        except Unread as error:
            if error.code != "corrupt":
                raise
            return Notice("part_unread", error.reason)
        return ""


def _part_of(folder: str) -> str:
    return f"{folder.strip('./')}/{_BODY}"


def _is_equation(archive: Archive, part: str) -> bool:
    head = next(archive.pieces(part), b"")[:_EQUATION_HEAD]
    return _EQUATION.match(head) is not None


def _equation(archive: Archive, part: str) -> str:
    """The MathML of a part as LaTeX. OpenOffice gave such parts a DOCTYPE."""
    built = MathmlBuilder()

    def begin(attributes: Attributes) -> None:
        scanner.divert(built.start, built.end, built.characters, lambda: None)

    scanner = Scanner(part, table({"math:math": begin, "math": begin}, NAMESPACES), doctype=True)
    scanner.run(archive.pieces(part))
    return built.latex()


def _object(archive: Archive, found: Embedded) -> Iterator[Item]:
    """The names that an embedded chart shows."""
    part = _part_of(found.folder)
    if part not in archive:
        return
    parts: list[str] = []
    names: dict[str, None] = {}

    def name_end() -> None:
        scanner.collect(None)
        name = tidy("".join(parts))
        parts.clear()
        if name and not NUMBER.fullmatch(name) and len(names) < NAMES:
            names[name] = None

    starts: dict[str, OnStart] = {
        "text:p": lambda _: scanner.collect(parts.append),
        "office:automatic-styles": lambda _: scanner.skip(),
    }
    ends: dict[str, OnEnd] = {"text:p": name_end}
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))
    try:
        scanner.run((archive.whole(part),))
    except Unread as error:
        if error.code != "corrupt":
            raise
        yield Notice("part_unread", error.reason, found.location)
    text = CELL_SEPARATOR.join(names)
    if text:
        yield Block(text, location=found.location)
