"""The words of reading: what is asked for, what came of it, and a document on its way.

Promises: a `Document` counts what its process hands over and refuses what goes beyond the
caps; `Reading` is all the rest of the program sees.
Does not: know processes, channels or formats.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract.frames import AnalysedChunk, BadFrame, Frame, Remark
from helpers.language.chunk import ChunkPolicy
from helpers.recognition import Session

HEARTBEATS = 100_000  # heartbeats of one file
SPLIT = "Split the document into smaller ones."


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The caps of one reader process; see helpers.limits for the units."""

    start_s: float = limits.READER_START_S
    stall_s: float = limits.READER_STALL_S
    wall_s: float = limits.READER_WALL_S
    wall_s_per_mib: float = limits.READER_WALL_S_PER_MIB
    wall_chars_per_s: int = limits.READER_WALL_CHARS_PER_S
    cpu_s: int = limits.READER_CPU_S
    memory: int = limits.READER_MEMORY_BYTES
    chars: int = limits.READER_OUTPUT_CHARS
    chars_per_byte: int = limits.READER_OUTPUT_CHARS_PER_BYTE
    files: int = limits.READER_FILES
    recycle: int = limits.READER_RECYCLE_BYTES


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """How documents are cut, what reading one may cost, and whether archives are followed."""

    chunk: ChunkPolicy = field(default_factory=ChunkPolicy)
    limits: ReaderLimits = field(default_factory=ReaderLimits)
    archives: bool = False


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file opened for reading by the caller, who also closes it.

    `ticket` comes back on the file's Reading; `file` is a binary file or a descriptor; `name`
    is the file's own name, a hint for the format; `size` is in bytes. The descriptor shares
    its position with the reader process: until the Reading is delivered, neither close it nor
    read through it (os.pread is fine).
    """

    ticket: int
    file: BinaryIO | int
    name: str
    size: int

    def fileno(self) -> int:
        return self.file if isinstance(self.file, int) else self.file.fileno()


@dataclass(slots=True)
class Reading:
    """What became of one file.

    `error` is set where the whole file could not be read; `chunks` is empty then. Where
    `streaming`, the document is longer than the buffer: take `chunks` to its end before asking
    for the next Reading, be ready for Unread or Cancelled out of it, and look at `title`,
    `metadata`, `notices` and `wanted` after it. `metadata` has `tags`, `aliases` and `extra`;
    `wanted` are the families of recognition (recognition.FAMILIES) that it would have used.
    """

    ticket: int
    error: Unread | None = None
    format: str | None = None
    title: str | None = None
    encoding: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    notices: list[Remark] = field(default_factory=list)
    chunks: Iterator[AnalysedChunk] = field(default_factory=lambda: iter(()))
    streaming: bool = False
    wanted: frozenset[str] = frozenset()


class Document:
    """A file in the hands of a process, and what came of it so far."""

    def __init__(self, file: OpenedFile, caps: ReaderLimits) -> None:
        self.file, self.caps = file, caps
        self.number = 0
        self.frames = 0
        self.deaths = 0
        self.reading = Reading(file.ticket)
        self.chunks: collections.deque[AnalysedChunk] = collections.deque()
        self.size = 0
        self.chars = 0
        self.heartbeats = 0
        self.questions = 0
        self.waiting: set[int] = set()  # numbers of questions without an answer
        self.session: Session | None = None
        self.ended = False

    def accept(self, frame: Frame) -> None:
        """Take one frame. Raises Unread or BadFrame where it goes beyond what is allowed."""
        self.frames += 1
        self.heartbeats += not frame.size
        if self.heartbeats > HEARTBEATS:
            raise BadFrame("endless heartbeats")
        self.size += frame.size
        self.chars += sum(len(chunk.text) for chunk in frame.chunks)
        most = self.caps.chars + self.caps.chars_per_byte * self.file.size
        if self.chars > most:
            raise limit_reached("its text", self.chars, most, "characters", SPLIT)
        reading, begin = self.reading, frame.begin
        if begin is not None:
            reading.format, reading.title = begin.format, begin.title
            reading.encoding = begin.encoding
            reading.metadata = {"tags": begin.tags, "aliases": begin.aliases, "extra": begin.extra}
        reading.notices += frame.notices
        if len(reading.notices) > limits.READER_NOTICES + 1:
            raise BadFrame("too many notices")
        self.chunks += frame.chunks
        reading.wanted |= set(frame.wanted)
        if frame.ended:
            self.ended = True
            if frame.error is not None:
                self.fail(Unread(*frame.error))

    def fail(self, error: Unread) -> None:
        self.ended = True
        self.reading.error = error
        self.chunks.clear()

    def may_try_again(self) -> bool:
        """Its process died: whether that may have had nothing to do with it."""
        self.deaths += 1
        return self.deaths == 1 and not self.frames

    def overflows(self) -> bool:
        return (
            len(self.chunks) > limits.READER_BUFFER_CHUNKS or self.size > limits.READER_BUFFER_BYTES
        )

    def taken(self) -> Iterator[AnalysedChunk]:
        """The chunks, each let go as it is taken."""
        while self.chunks:
            yield self.chunks.popleft()

    def wall_s(self) -> float:
        """Seconds this file may take, as far as is known now."""
        caps = self.caps
        by_size = caps.wall_s_per_mib * self.file.size / limits.MIB
        return caps.wall_s + by_size + self.chars / caps.wall_chars_per_s


def timeout_reached(what: str, reached: float, limit: float) -> Unread:
    reason = f"reading it reached {reached:,.1f} > {limit:,.1f} {what}"
    return Unread("timeout", reason, "It is tried again when it changes; split it or save it anew.")
