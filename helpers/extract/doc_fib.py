"""The head of a binary Word document: which version it is, and where its parts lie.

Sources: [MS-DOC] 2.5 (File Information Block); for Word 6 and Word 95 the published "Word 6
binary file format". Promises: a head that cannot be used raises `Unread`: encrypted, corrupt,
or unsupported for Word 1 and what came before it. Does not: read the parts.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

from helpers.errors import Unread
from helpers.extract.compound import RESAVE, CompoundFile, Stream

MAIN, TABLES, DATA = "WordDocument", ("0Table", "1Table"), "Data"

# Stories in the order their text follows each other; macros have none since Word 97.
STORIES = (
    "body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes", "header_boxes",
)  # fmt: skip

_IDENTITIES = (
    0xA5EC,
    0xA5DC,
    0xA5DB,
    0xA59B,
    0xA697,
    0xA698,
    0xA699,
    0xA69A,
    0xA69B,
    0xA69C,
    0x8098,
    0x8099,
)
_WORD_2, _WORD_6, _WORD_97 = 45, 101, 106  # the first version numbers of their formats
_FAST_SAVED, _ENCRYPTED, _SECOND_TABLE, _WIDE, _FAR_EAST = 0x4, 0x100, 0x200, 0x1000, 0x4000
BARE = (b"\xdb\xa5", b"\xdc\xa5", b"\x9b\xa5")  # what a document begins with that is bare
_HEAD = struct.Struct("<HHHHHH")

# Offset of (place, length) in the head of Word 6 and 95; number of that pair since Word 97.
_OLD_PLACES = {
    "styles": 0x60, "headers": 0xB0, "characters": 0xB8, "paragraphs": 0xC0, "fonts": 0xD0,
    "pieces": 0x160,
}  # fmt: skip
_PLACES = {
    "styles": 1, "headers": 11, "characters": 12, "paragraphs": 13, "fonts": 15, "pieces": 33,
    "shapes": 40, "drawings": 50, "boxes": 56,
}  # fmt: skip

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fib:
    """`old`: Word 2, 6 or 95, whose parts all lie in the main stream. `counts` are the lengths of
    STORIES in characters; `places` name (offset, bytes) of parts in the stream `table`; `first`
    and `last` bound the text where there is no piece table. `wide`: 16-bit text in an old file;
    `listed`: number of the first formatting page and count of pages, of characters and of
    paragraphs, in an old file.
    """

    old: bool
    language: int
    fast_saved: bool
    wide: bool
    first: int
    last: int
    counts: tuple[int, ...]
    places: dict[str, Place]
    table: str
    listed: tuple[Place, Place] = ((0, 0), (0, 0))


class Bare:
    """A document of Word 2 or 6 that is no compound file: all of it is the main stream."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._size = file, file.seek(0, io.SEEK_END)

    def __contains__(self, path: tuple[str, ...]) -> bool:
        return path == (MAIN,)

    def open(self, *path: str) -> Stream:
        return Stream(self._file, [(0, self._size)], self._size)


def read_fib(container: CompoundFile | Bare) -> Fib:
    """The head of a document. Raises Unread: encrypted, corrupt, unsupported."""
    head = container.open(MAIN).read(4096)
    if len(head) < 32:
        raise corrupt("its head is cut off")
    identity, version, _, language, _, flags = _HEAD.unpack_from(head)
    if identity not in _IDENTITIES:
        raise corrupt("its head is not that of a Word document")
    if flags & _ENCRYPTED:
        raise Unread(
            "encrypted",
            "The document is protected by a password: password needed",
            "Save a copy without a password and index that.",
        )
    if version < _WORD_2:
        raise Unread("unsupported", "The document is older than Word 2", "Save it as .docx.")
    old = version < _WORD_97 and not any((name,) in container for name in TABLES)
    first, last = struct.unpack_from("<II", head, 24)
    if version < _WORD_6:
        counts, places = _oldest_parts(head)
    else:
        counts, places = _old_parts(head) if old else _parts(head)
    if any(count < 0 for count in counts):
        raise corrupt("its head counts less than no characters")
    table = MAIN if old else TABLES[bool(flags & _SECOND_TABLE)]
    if (table,) not in container:
        raise corrupt(f"it has no stream {table}")
    fast, wide = bool(flags & _FAST_SAVED), bool(flags & _WIDE)
    listed = _listed_pages(head) if old and places else ((0, 0), (0, 0))
    return Fib(old, language, fast, wide and old, first, last, counts, places, table, listed)


def corrupt(what: str) -> Unread:
    return Unread("corrupt", f"Damaged Word document: {what}", RESAVE)


def _oldest_parts(head: bytes) -> tuple[tuple[int, ...], dict[str, Place]]:
    """Of Word 2 the text alone is read, not its formatting."""
    if len(head) < 0x48:
        raise corrupt("its head is cut off")
    return (*struct.unpack_from("<5i", head, 0x34), 0, 0, 0), {}


def _old_parts(head: bytes) -> tuple[tuple[int, ...], dict[str, Place]]:
    if len(head) < 0x168:
        raise corrupt("its head is cut off")
    counts = struct.unpack_from("<8i", head, 0x34)
    places = {name: struct.unpack_from("<II", head, at) for name, at in _OLD_PLACES.items()}
    return counts, places


def _listed_pages(head: bytes) -> tuple[Place, Place]:
    if len(head) < 0x192:
        return (0, 0), (0, 0)
    characters, paragraphs, many, others = struct.unpack_from("<4H", head, 0x18A)
    return (characters, many), (paragraphs, others)


def _parts(head: bytes) -> tuple[tuple[int, ...], dict[str, Place]]:
    try:
        longs = 32 + 2 + 2 * struct.unpack_from("<H", head, 32)[0] + 2
        counts = struct.unpack_from("<8i", head, longs + 12)
        pairs = longs + 4 * struct.unpack_from("<H", head, longs - 2)[0]
        count = struct.unpack_from("<H", head, pairs)[0]
        found = {
            name: struct.unpack_from("<II", head, pairs + 2 + 8 * number)
            for name, number in _PLACES.items()
            if number < count
        }
    except struct.error:
        raise corrupt("its head is cut off") from None
    return counts, found
