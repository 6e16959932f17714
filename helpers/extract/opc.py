"""The container conventions of Office Open XML: relationships, the main part, properties.

Promises: targets are resolved to names inside the container only, external ones are dropped;
Strict and Transitional namespaces are treated alike; titles that a program made up
("Microsoft Word - draft.doc") are no titles.
Does not: read any document's body.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import RESAVE, SMALLER
from helpers.extract.blocks import Metadata
from helpers.extract.markup import Attributes, Scanner, table
from helpers.limits import OFFICE_RELATED_PARTS

_TRANSITIONAL = "http://schemas.openxmlformats.org"
_STRICT = "http://purl.oclc.org/ooxml"

NAMESPACES: dict[str, tuple[str, ...]] = {
    "w": (
        f"{_TRANSITIONAL}/wordprocessingml/2006/main",
        f"{_STRICT}/wordprocessingml/main",
        "http://schemas.microsoft.com/office/word/2003/wordml",
    ),
    "wp": (
        f"{_TRANSITIONAL}/drawingml/2006/wordprocessingDrawing",
        f"{_STRICT}/drawingml/wordprocessingDrawing",
    ),
    "xdr": (
        f"{_TRANSITIONAL}/drawingml/2006/spreadsheetDrawing",
        f"{_STRICT}/drawingml/spreadsheetDrawing",
    ),
    "v": ("urn:schemas-microsoft-com:vml",),
    "aml": ("http://schemas.microsoft.com/aml/2001/core",),
    "s": (f"{_TRANSITIONAL}/spreadsheetml/2006/main", f"{_STRICT}/spreadsheetml/main"),
    "p": (f"{_TRANSITIONAL}/presentationml/2006/main", f"{_STRICT}/presentationml/main"),
    "a": (f"{_TRANSITIONAL}/drawingml/2006/main", f"{_STRICT}/drawingml/main"),
    "c": (f"{_TRANSITIONAL}/drawingml/2006/chart", f"{_STRICT}/drawingml/chart"),
    "dgm": (f"{_TRANSITIONAL}/drawingml/2006/diagram", f"{_STRICT}/drawingml/diagram"),
    "m": (f"{_TRANSITIONAL}/officeDocument/2006/math", f"{_STRICT}/officeDocument/math"),
    "r": (
        f"{_TRANSITIONAL}/officeDocument/2006/relationships",
        f"{_STRICT}/officeDocument/relationships",
    ),
    "mc": (f"{_TRANSITIONAL}/markup-compatibility/2006",),
    "rel": (f"{_TRANSITIONAL}/package/2006/relationships",),
    "cp": (f"{_TRANSITIONAL}/package/2006/metadata/core-properties",),
    "dc": ("http://purl.org/dc/elements/1.1/",),
    "o": ("urn:schemas-microsoft-com:office:office",),
    "tc": ("http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments",),
}

# Names that programs put into the title field when nobody wrote one.
_MADE_UP_TITLE = re.compile(
    r"microsoft (word|powerpoint|excel)\b.*"
    r"|(word|powerpoint|excel) (document|presentation|worksheet)"
    r"|powerpoint (프레젠테이션|présentation)|งานนำเสนอ powerpoint|presentación de powerpoint"
    r"|(document|doc|slide|presentation|workbook|book|untitled|title|문서|슬라이드|제목|ภาพนิ่ง|เอกสาร)\s*\d*"
    r"|제목 없음|no slide title|ไม่มีชื่อเรื่อง|(untitled|unnamed).*"
    r"|\S+\.(docx?|xlsx?|xlsm|pptx?|odt|ods|odp|hwpx?|rtf|dot[xm]?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relationship:
    """One arrow between parts: `kind` is the last word of its type, such as "footnotes"."""

    kind: str
    target: str


class Parts(Protocol):
    """Where a document's parts come from: `archive.Archive`, or one file that holds them all."""

    def __contains__(self, name: str) -> bool: ...

    def pieces(self, name: str) -> Iterator[bytes]: ...

    def whole(self, name: str) -> bytes: ...


class Package:
    """The parts of one Office Open XML container and how they hang together."""

    def __init__(self, archive: Parts) -> None:
        self.archive = archive
        self._followed = 0

    def main_part(self, usual: str) -> str:
        """The part that holds the document; `usual` is where most programs put it."""
        for relationship in self.relationships("").values():
            if relationship.kind == "officeDocument" and relationship.target in self.archive:
                return relationship.target
        if usual in self.archive:
            return usual
        raise Unread("corrupt", f"The file has no document part such as {usual}", RESAVE)

    def relationships(self, part: str) -> dict[str, Relationship]:
        """The internal relationships of a part ("" is the container) by their id."""
        folder, name = posixpath.split(part)
        source = posixpath.join(folder, "_rels", f"{name}.rels")
        found: dict[str, Relationship] = {}
        if source not in self.archive:
            return found

        def add(attributes: Attributes) -> None:
            target = attributes.get("Target", "")
            if attributes.get("TargetMode") == "External" or not target:
                return
            kind = attributes.get("Type", "").rpartition("/")[2]
            found[attributes.get("Id", "")] = Relationship(kind, _inside(folder, target))
            if len(found) > OFFICE_RELATED_PARTS:
                what = f"Relationships in {source}"
                raise limit_reached(what, len(found), OFFICE_RELATED_PARTS, "parts", SMALLER)

        actions = table({"rel:Relationship": add}, NAMESPACES)
        Scanner(source, actions).run(self.archive.pieces(source))
        return found

    def targets(self, relationships: dict[str, Relationship], *kinds: str) -> Iterator[str]:
        """Existing target parts of the given kinds, each once, in the order they are listed."""
        seen: set[str] = set()
        for relationship in relationships.values():
            target = relationship.target
            if relationship.kind in kinds and target not in seen and target in self.archive:
                seen.add(target)
                yield target

    def follow(self, part: str) -> Iterator[bytes]:
        """The pieces of a related part; counts how many parts the document made us open."""
        self._followed += 1
        if self._followed > OFFICE_RELATED_PARTS:
            raise limit_reached(
                "Related parts", self._followed, OFFICE_RELATED_PARTS, "parts", SMALLER
            )
        return self.archive.pieces(part)

    def metadata(self) -> Metadata:
        """Title and keywords from the core properties, empty where they are missing or bad."""
        found: dict[str, list[str]] = {"title": [], "tags": []}
        try:
            for part in self.targets(self.relationships(""), "core-properties"):
                self._read_properties(part, found)
        except Unread as error:
            if error.code != "corrupt":
                raise
        title = " ".join("".join(found["title"]).split())
        words = re.split(r"[,;]", "".join(found["tags"]))
        tags = tuple(word.strip() for word in words if word.strip())
        return Metadata(title=real_title(title), tags=tags)

    def _read_properties(self, part: str, found: dict[str, list[str]]) -> None:
        scanner: Scanner
        starts = table(
            {
                "dc:title": lambda _: scanner.collect(found["title"].append),
                "cp:keywords": lambda _: scanner.collect(found["tags"].append),
            },
            NAMESPACES,
        )
        stop = {name: lambda: scanner.collect(None) for name in starts}
        scanner = Scanner(part, starts, stop)
        scanner.run((self.archive.whole(part),))


def real_title(title: str) -> str | None:
    """The title, or None where it is empty or a program's own invention."""
    return None if not title or _MADE_UP_TITLE.fullmatch(title) else title


def _inside(folder: str, target: str) -> str:
    """A relationship's target as a name inside the container."""
    target = target.replace("\\", "/").partition("#")[0]
    joined = target if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath("/" + joined.lstrip("/")).lstrip("/")
