"""The records of a binary PowerPoint presentation, and which of them are the live ones.

Sources: [MS-PPT] 2.1 (streams), 2.3.2 to 2.3.5 (current user, edits, persist directory).
Promises: edits that lead round in a circle are followed once; where the last edit cannot be
found by its pointer it is looked for. Does not: know what slides hold.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias, cast

from helpers.errors import Unread, limit_reached
from helpers.extract.art_records import HEADER
from helpers.extract.compound import RESAVE, CompoundFile, Stream
from helpers.limits import OLE_PART_BYTES, OLE_STREAM_BYTES

DOCUMENT_STREAM, USER_STREAM, DUAL_STORAGE = (
    "PowerPoint Document", "Current User", "PP97_DUALSTORAGE",
)  # fmt: skip
_OLD_STREAMS = ("PP40", "Header")  # PowerPoint 95 and 4

DOCUMENT, SLIDE, NOTES, OBJECT = 0x03E8, 0x03EE, 0x03F0, 0x1011
_USER_EDIT, _PERSIST, _CURRENT_USER, _CRYPT = 0x0FF5, 0x1772, 0x0FF6, 0x2F14
_ENCRYPTED_TOKEN = 0xF3D1C4DF
_HELD_BYTES = 16 * 1024 * 1024  # of a stream that is held whole
_EDITS = 10_000  # edits of one file that are followed
_PERSISTED = 0x100000  # numbers a persist directory can name

# Kind of a record, and the bytes that hold its content from which to which.
Place: TypeAlias = tuple[int, bytes, int, int]


class Presentation:
    """The stream of a presentation. `live` maps numbers of the last edit to offsets, `document`
    is the number of the document's own record. Raises Unread: encrypted, corrupt, unsupported,
    limit_reached.
    """

    def __init__(self, container: CompoundFile) -> None:
        folder = (DUAL_STORAGE,) if (DUAL_STORAGE, DOCUMENT_STREAM) in container else ()
        if (*folder, DOCUMENT_STREAM) not in container:
            raise _no_stream(container)
        stream: Stream = container.open(*folder, DOCUMENT_STREAM)
        size = stream.size
        if size > OLE_STREAM_BYTES:
            remedy = "Split the presentation."
            raise limit_reached("the slides' stream", size, OLE_STREAM_BYTES, "bytes", remedy)
        self.cut = stream.cut
        self._held = stream.read() if size <= _HELD_BYTES else b""
        self._stream = cast(BinaryIO, io.BytesIO(self._held) if self._held else stream)
        self._length = self._stream.seek(0, io.SEEK_END)
        self.live: dict[int, int] = {}
        self.document = 0
        edit = _last_edit(container, folder)
        if edit is None or not self._follow(edit):
            self._follow(self._sought_edit())
        if not self.live:
            raise corrupt("its list of slides cannot be found")

    def record(self, number: int) -> tuple[int, bytes] | None:
        """(kind, content) of a live record; None where it is missing."""
        offset = self.live.get(number)
        return None if offset is None else self.record_at(offset)

    def record_at(self, offset: int) -> tuple[int, bytes] | None:
        self._stream.seek(offset)
        head = self._stream.read(8)
        if len(head) < 8:
            return None
        _, kind, size = HEADER.unpack(head)
        return kind, self._stream.read(min(size, OLE_PART_BYTES))

    def place(self, number: int) -> Place | None:
        """A live record, without a copy of its content where the stream is held; None where it
        is missing."""
        if not self._held:
            found = self.record(number)
            return found and (*found, 0, len(found[1]))
        start = self.live.get(number, self._length) + 8
        if start > self._length:
            return None
        _, kind, size = HEADER.unpack_from(self._held, start - 8)
        end = start + (size if size < OLE_PART_BYTES else OLE_PART_BYTES)
        return kind, self._held, start, end if end < self._length else self._length

    def numbers_of(self, kind: int) -> Iterator[int]:
        """The numbers of the live records of a kind."""
        for number in sorted(self.live):
            self._stream.seek(self.live[number])
            head = self._stream.read(8)
            if len(head) == 8 and HEADER.unpack(head)[1] == kind:
                yield number

    def of_kind(self, kind: int) -> Iterator[tuple[int, bytes]]:
        """The live records of a kind."""
        for number in self.numbers_of(kind):
            found = self.record(number)
            if found is not None:
                yield found

    def _follow(self, offset: int) -> bool:
        """Take over the edits from the last one back; whether there was one."""
        seen: set[int] = set()
        while offset not in seen and len(seen) < _EDITS:
            seen.add(offset)
            found = self.record_at(offset)
            if found is None or found[0] != _USER_EDIT or len(found[1]) < 20:
                break
            before, directory, document = struct.unpack_from("<III", found[1], 8)
            self.document = self.document or document
            self._refuse_encrypted(found[1])
            self._take_directory(directory)
            if not before:
                break
            offset = before
        return bool(self.live)

    def _refuse_encrypted(self, edit: bytes) -> None:
        if len(edit) >= 32 and struct.unpack_from("<I", edit, 28)[0]:
            raise _encrypted()

    def _take_directory(self, offset: int) -> None:
        found = self.record_at(offset)
        if found is None or found[0] != _PERSIST:
            return
        raw = found[1][: 8 * _PERSISTED]
        numbers = struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) & ~3])
        at = 0
        while at < len(numbers):
            first, count = numbers[at] & 0xFFFFF, numbers[at] >> 20
            for place, target in enumerate(numbers[at + 1 : at + 1 + count], first):
                self.live.setdefault(place, target)
            at += 1 + count

    def _sought_edit(self) -> int:
        """The offset of the last edit in the stream, whose pointer is lost."""
        found, at = 0, 0
        while at + 8 <= self._length:
            self._stream.seek(at)
            _, kind, size = HEADER.unpack(self._stream.read(8))
            if kind == _USER_EDIT:
                found = at
            elif kind == _CRYPT:
                raise _encrypted()
            at += 8 + size
        return found


def corrupt(what: str) -> Unread:
    return Unread("corrupt", f"Damaged PowerPoint presentation: {what}", RESAVE)


def _last_edit(container: CompoundFile, folder: tuple[str, ...]) -> int | None:
    if (*folder, USER_STREAM) not in container:
        return None
    raw = container.open(*folder, USER_STREAM).read(64)
    if len(raw) < 20 or struct.unpack_from("<H", raw, 2)[0] != _CURRENT_USER:
        return None
    token, offset = struct.unpack_from("<II", raw, 12)
    if token == _ENCRYPTED_TOKEN:
        raise _encrypted()
    return int(offset)


def _encrypted() -> Unread:
    return Unread(
        "encrypted",
        "The presentation is protected by a password: password needed",
        "Save a copy without a password and index that.",
    )


def _no_stream(container: CompoundFile) -> Unread:
    if any((name,) in container for name in _OLD_STREAMS):
        what = "The presentation is older than PowerPoint 97"
        return Unread("unsupported", what, "Save it as .pptx.")
    return corrupt(f"it has no stream {DOCUMENT_STREAM}")
