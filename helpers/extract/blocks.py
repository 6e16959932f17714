"""The types every reader speaks: where a text stood, the text itself, and what was noticed.

Promises: all types are immutable, need nothing but the ground, and carry the
original text verbatim (after charset decoding and format-level repair only).
Does not: read files, split text into chunks, or judge which format a file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias, cast

from helpers.recognition import NoRecognition, Recognition

LOCATION_KINDS = ("page", "slide", "sheet", "section", "line", "time", "part")
BLOCK_KINDS = ("paragraph", "heading", "table_header", "table_row", "code", "line")
CELL_SEPARATOR = " | "


class OpenLocation:
    """A Location while it is made: filling a frozen one takes twice as long."""

    __slots__ = ("end", "kind", "label", "name", "number")


class OpenBlock:
    """A Block while it is made."""

    __slots__ = ("kind", "level", "location", "ocr", "text")


@dataclass(frozen=True, slots=True, init=False)
class Location:
    """Where a block stands: `label` for people, `number` and `name` for programs.

    `number` is the page, slide, sheet row or line (1-based); `name` is the sheet's name or
    the section's title; `end` is the last page, slide, row or line of a span.
    """

    kind: str
    label: str
    number: int | None = None
    name: str | None = None
    end: int | None = None

    def __new__(
        cls,
        kind: str,
        label: str,
        number: int | None = None,
        name: str | None = None,
        end: int | None = None,
    ) -> Location:
        made: Any = OpenLocation()
        made.kind = kind
        made.label = label
        made.number = number
        made.name = name
        made.end = end
        made.__class__ = cls
        return cast(Location, made)

    def as_dict(self) -> dict[str, Any]:
        """Shape: {"kind", "label"} plus "page" | "slide" | "line" | "part" | "time" (number),
        "sheet" + "row", or "section" + "line"; "end" where the block spans several. A part of
        a document inside the document has its "name" too, and "part" is the page in there.
        """
        found: dict[str, Any] = {"kind": self.kind, "label": self.label}
        if self.kind in ("sheet", "section"):
            if self.name is not None:
                found[self.kind] = self.name
            if self.number is not None:
                found["row" if self.kind == "sheet" else "line"] = self.number
        elif self.number is not None:
            found[self.kind] = self.number
        if self.kind == "part" and self.name is not None:
            found["name"] = self.name
        if self.end is not None:
            found["end"] = self.end
        return found


@dataclass(frozen=True, slots=True, init=False)
class Block:
    """One piece of text in reading order.

    `kind` is one of BLOCK_KINDS; `level` is a heading's depth, 1 to 6, else 0. The text of a
    table row is its cells joined by CELL_SEPARATOR, empty cells left out. `ocr` marks text
    that was recognised from an image.
    """

    text: str
    kind: str = "paragraph"
    level: int = 0
    location: Location | None = None
    ocr: bool = False

    def __new__(
        cls,
        text: str,
        kind: str = "paragraph",
        level: int = 0,
        location: Location | None = None,
        ocr: bool = False,
    ) -> Block:
        made: Any = OpenBlock()
        made.text = text
        made.kind = kind
        made.level = level
        made.location = location
        made.ocr = ocr
        made.__class__ = cls
        return cast(Block, made)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a document says about itself; a reader may yield several, later ones complete
    earlier ones. `encoding` is the charset its text was decoded with.
    """

    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    encoding: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know about a file that was read all the same,
    such as a page without usable text.
    """

    code: str
    message: str
    location: Location | None = None


Item: TypeAlias = Block | Metadata | Notice


def _no_heartbeat() -> None:
    """The default heartbeat: nobody listens."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a reader knows besides the open file.

    `name` is the file's own name (a hint, never a path to open), `size` its length in bytes,
    `limits` the caps in force (None: the defaults of helpers.limits), `heartbeat` is to be
    called now and then by long work, `recognize` asks for the text of a picture or recording,
    `archives` says that members of a ZIP file are followed, `inside` is nested.py's own count of
    the documents read inside this one.
    """

    name: str = ""
    size: int = 0
    limits: Any = None
    heartbeat: Callable[[], None] = _no_heartbeat
    recognize: Recognition = field(default_factory=NoRecognition)
    archives: bool = False
    inside: Any = None


Reader: TypeAlias = Callable[[BinaryIO, Context], Iterator[Item]]
