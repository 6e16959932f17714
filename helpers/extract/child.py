"""Inside a reader process: take an open file, read, cut, analyse, send frames; again.

Started by sandbox.py as `python -I -S -B`, confined before it sees a document. Readers and the
analyser are imported at the first file that needs them, so an idle process stays small.

Promises: every file ends with one `end` frame, typed by Unread's codes, whatever its reader
raises; frames go out while the file is being read, so memory does not grow with it; sending
blocks when the parent does not listen (backpressure); the process ends when the parent does.
Does not: receive or open paths, write anywhere but into its channel, or trust a reader.
"""

from __future__ import annotations

import collections
import importlib
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from helpers.errors import Unread, limit_reached
from helpers.extract import confine, frames
from helpers.extract.asking import Asking
from helpers.limits import (
    READER_FIELD_CHARS,
    READER_FRAME_CHARS,
    READER_FRAME_CHUNKS,
    READER_NOTICES,
    READER_OPEN_FILES,
)

HEARTBEAT_S = 0.5  # seconds between two heartbeats, at least
REQUEST_BYTES = 1 << 20  # bytes of one request
READ_BUFFER_BYTES = 64 * 1024  # bytes of the buffer in front of the document
LENGTH = struct.Struct(">I")
LIST_ENTRIES = 200  # tags, aliases or facts of one document
HEADING_ENTRIES = 12  # of one chunk's heading path
REASON_CHARS = 300  # code points of a notice that becomes a reason
MEND = "Open it in the program that made it and save it again."


class Work(NamedTuple):
    """One file to read."""

    number: int
    name: str
    size: int
    file: BinaryIO


class Leave(ConnectionError):
    """The parent closed its end."""


def main(descriptor: int, parent: int) -> None:
    """Serve the channel `descriptor` until the parent, process `parent`, closes it or dies."""
    confine.end_with_parent(parent)
    inbox = Inbox(_open_channel(descriptor))
    try:
        settings = inbox.receive()
        sys.path += [path for path in settings["paths"] if path not in sys.path]
        confine.limit_resources(settings["memory"], READER_OPEN_FILES)
        confine.refuse_in_python([os.path.dirname(os.path.dirname(__file__)), *sys.path[1:]])
        confine.refuse_in_kernel()
        line = Line(inbox.channel, settings["cpu_s"])
        line.send()
        while True:
            work = inbox.next_file()
            with work.file:
                leaving = serve(work, line, settings, inbox.answer)
            if leaving:
                break
    except (Leave, ConnectionError):
        pass
    os._exit(0)


def serve(
    work: Work, line: Line, settings: dict[str, Any], receive: Callable[[], list[Any]]
) -> bool:
    """Read one file and tell the parent; True when this process had better be replaced.

    `receive` waits for the parent's next answer to a question about a picture or recording.
    """
    line.number = work.number
    line.allow_cpu()
    error: list[str] | None = None
    leaving = False
    asking = Asking(work.file, settings["recognition"], line.send, receive)
    reading = Document(work, line, settings, asking)
    try:
        reading.run()
    except (Leave, ConnectionError):
        raise
    except Unread as unread:
        error = [unread.code, _clip(unread.reason), _clip(unread.remedy)]
    except MemoryError:
        reading.chunks.clear()
        leaving = True
        error = [
            "limit_reached",
            f"reading it wanted more than {settings['memory']:,} bytes of memory",
            "Split the document into smaller ones.",
        ]
    except BaseException as failure:
        leaving = not isinstance(failure, Exception)
        error = [
            "corrupt",
            f"its reader could not follow it ({type(failure).__name__})",
            MEND,
        ]
    reading.finish(error, leaving)
    return leaving


class Document:
    """One file on its way: items from its reader, chunks out of them, frames to the parent."""

    def __init__(self, work: Work, line: Line, settings: dict[str, Any], asking: Asking) -> None:
        self.work, self.line, self.settings, self.asking = work, line, settings, asking
        self.format = ""
        self.title: str | None = None
        self.encoding: str | None = None
        self.tags: dict[str, None] = {}
        self.aliases: dict[str, None] = {}
        self.extra: dict[str, str] = {}
        self.told: list[Any] | None = None
        self.chunks: list[list[Any]] = []
        self.notices: list[list[Any]] = []
        self.noticed = 0
        self.kinds: dict[str, str] = {}
        self.found = 0
        self.batch_chars = 0
        self.chars = 0

    def run(self) -> None:
        """Detect, read, chunk and analyse; full batches are sent on the way. Raises Unread."""
        from helpers.language import chunk, terms

        registry = importlib.import_module(self.settings["registry"])
        work, line = self.work, self.line
        found = registry.detect(work.file, work.name)
        self.format = found.name
        read = registry.load(found)
        work.file.seek(0)
        items = read(work.file, self._context())
        policy = chunk.ChunkPolicy(*self.settings["chunk"])
        most = self.settings["chars"] + self.settings["chars_per_byte"] * work.size
        index_text, grams = terms.index_text, terms.grams
        context, context_terms = "", ""
        stem = work.name.rpartition(".")[0] or work.name
        for piece in chunk.chunk_blocks(self._tapped(items), policy, stem):
            text = frames.repaired(piece.text)
            if not text:
                continue
            if piece.context != context:
                context = frames.repaired(piece.context)
                context_terms = index_text(context)
            row: list[Any] = [
                text,
                context,
                [_clip(entry) for entry in piece.heading[:HEADING_ENTRIES]],
                _clipped(piece.location),
                piece.ocr,
                index_text(text),
                context_terms,
                " ".join(grams(text)) if piece.ocr else "",
            ]
            self.chunks.append(row)
            self.batch_chars += 2 * len(text) + len(row[5])
            self.chars += len(text)
            if self.chars > most:
                raise limit_reached(
                    "its text", self.chars, most, "characters", "Split it into smaller documents."
                )
            if len(self.chunks) >= READER_FRAME_CHUNKS or self.batch_chars >= READER_FRAME_CHARS:
                self._flush()
            line.beat()
        if not self.found and not self.chunks:
            raise _without_text(work.size, self.kinds)

    def finish(self, error: list[str] | None, leaving: bool) -> None:
        """Send what is left and the end."""
        if error is not None:
            self.chunks.clear()
        if self.noticed > READER_NOTICES:
            more = f"{self.noticed - READER_NOTICES:,} more notices were left out"
            self.notices.append(["more", more, None])
        self._flush(end=[error, leaving])

    def _flush(self, end: list[Any] | None = None) -> None:
        payload: dict[str, Any] = {}
        facts = self._facts()
        if facts != self.told and self.format:
            payload["begin"] = self.told = facts
        if self.chunks:
            payload["chunks"] = self.chunks
        if self.notices:
            payload["notices"] = self.notices
        if end is not None:
            if self.asking.wanted:
                payload["wanted"] = list(self.asking.wanted)
            payload["end"] = end
        self.line.send(payload)
        self.found += len(self.chunks)
        self.chunks, self.notices, self.batch_chars = [], [], 0

    def _facts(self) -> list[Any]:
        tags, aliases = list(self.tags)[:LIST_ENTRIES], list(self.aliases)[:LIST_ENTRIES]
        return [self.format, self.title, self.encoding, tags, aliases, dict(self.extra)]

    def _context(self) -> Any:
        from helpers.extract.blocks import Context

        archives = self.settings.get("archives", False)
        return Context(self.work.name, self.work.size, None, self.line.beat, self.asking, archives)

    def _tapped(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, noting what they say about the document; notices go no further."""
        from helpers.extract.blocks import Block, Metadata

        beat = self.line.beat
        for item in items:
            beat()
            if isinstance(item, Block):
                yield item
            elif isinstance(item, Metadata):
                self._learn(item)
                yield item
            else:
                self.noticed += 1
                self.kinds.setdefault(_clip(item.code), _clip(item.message)[:REASON_CHARS])
                if self.noticed <= READER_NOTICES:
                    place = None if item.location is None else _clipped(item.location.as_dict())
                    self.notices.append([_clip(item.code), _clip(item.message), place])

    def _learn(self, item: Any) -> None:
        self.title = _clip(item.title) if item.title else self.title
        self.encoding = _clip(item.encoding) if item.encoding else self.encoding
        self.tags.update(dict.fromkeys(map(_clip, item.tags)))
        self.aliases.update(dict.fromkeys(map(_clip, item.aliases)))
        for key, value in item.extra.items():
            if len(self.extra) < LIST_ENTRIES:
                self.extra[_clip(key)] = _clip(value)


class Line:
    """The way back to the parent, for the file `number`; 0 before the first."""

    def __init__(self, channel: socket.socket, cpu_s: int) -> None:
        self.number = 0
        self._channel = channel
        self._cpu_s = cpu_s
        self._sent = 0.0
        self._grant_at = 0.0

    def send(self, payload: dict[str, Any] | None = None) -> None:
        """Send a frame (a heartbeat without payload); waits while the parent does not listen."""
        self._channel.sendall(frames.pack(self.number, payload))
        self._sent = time.monotonic()
        self.allow_cpu()

    def beat(self) -> None:
        """Say that work goes on, at most every HEARTBEAT_S."""
        if time.monotonic() - self._sent >= HEARTBEAT_S:
            self.send()

    def allow_cpu(self) -> None:
        """Grant another `cpu_s` of processor time, at most once per second of it."""
        used = time.process_time()
        if used >= self._grant_at:
            self._grant_at = used + 1.0
            confine.allow_cpu(self._cpu_s)


class Inbox:
    """Requests from the parent: length and JSON, an open file travelling beside it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._files: collections.deque[int] = collections.deque()
        self._later: collections.deque[dict[str, Any]] = collections.deque()

    def answer(self) -> list[Any]:
        """The next answer; a file that arrives before it is kept. Raises Leave."""
        while "answer" not in (request := self.receive()):
            self._later.append(request)
        answer: list[Any] = request["answer"]
        return answer

    def receive(self) -> dict[str, Any]:
        """The next request. Raises Leave when there will be none."""
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        if length > REQUEST_BYTES:
            raise Leave
        request: dict[str, Any] = json.loads(self._exactly(length))
        return request

    def next_file(self) -> Work:
        """Wait for the next file. Raises Leave when there will be none."""
        request = self._later.popleft() if self._later else self.receive()
        while "answer" in request:  # to a file that ended without waiting for it
            request = self.receive()
        if "handle" in request:  # Windows: duplicated into this process by the parent
            import msvcrt

            opener: Any = msvcrt
            descriptor = opener.open_osfhandle(request["handle"], os.O_RDONLY)
        elif self._files:
            descriptor = self._files.popleft()
        else:
            raise Leave
        file = os.fdopen(descriptor, "rb", buffering=READ_BUFFER_BYTES)
        file.seek(0)
        return Work(request["number"], request["name"], request["size"], file)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._some(count - len(data))
        return data

    def _some(self, count: int) -> bytes:
        if sys.platform == "win32":
            data = self.channel.recv(count)
        else:
            data, files, _, _ = socket.recv_fds(self.channel, count, 4)
            self._files.extend(files)
        if not data:
            raise Leave
        return data


def _open_channel(descriptor: int) -> socket.socket:
    if sys.platform == "win32":
        return socket.fromshare(sys.stdin.buffer.read())
    return socket.socket(fileno=descriptor)


def _without_text(size: int, noticed: dict[str, str]) -> Unread:
    """Why a document has no chunk: `noticed` holds the first message of each kind of notice."""
    if "part_unread" in noticed:
        return Unread("corrupt", f"no part with text could be read: {noticed['part_unread']}", MEND)
    if "no_text" in noticed:
        return Unread(
            "no_text",
            f"no text was found in it: {noticed['no_text']}",
            "If it holds scanned pages, recognise their text (OCR) and save it again.",
        )
    return Unread("empty", "it holds no text" if size else "it holds 0 bytes")


def _clipped(location: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _clip(value) if isinstance(value, str) else value for key, value in location.items()
    }


def _clip(value: Any) -> str:
    return value[:READER_FIELD_CHARS] if isinstance(value, str) else str(value)[:READER_FIELD_CHARS]
