"""The parent's side of reading: a pool of killable processes that parse documents.

Promises: no document is parsed in this process; a reader process that stalls, grows, crashes or
talks nonsense is killed with its whole process group, its file becomes a typed `Unread`, and
the next file goes on in a fresh process; memory here is bounded whatever a file's size, since
short documents are held whole and a longer one streams while the others wait (backpressure);
no reader process outlives this one, however it ends.
Does not: open paths, close the files it is given, hash, or touch the index. On Windows memory
is not limited and kernel refusals are absent (see confine.py for what holds where).

A `ReaderPool` belongs to the thread that uses it: on Linux its processes end with that thread.
"""

from __future__ import annotations

import collections
import contextlib
import selectors
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO

from helpers import limits
from helpers.errors import Cancelled, RagDocError, Unread, limit_reached
from helpers.extract.child import MEND
from helpers.extract.exchange import Exchange
from helpers.extract.frames import AnalysedChunk, BadFrame, Frame, Remark
from helpers.extract.process import ReaderProcess, child_settings, resident_bytes
from helpers.extract.reading import (
    SPLIT,
    Document,
    OpenedFile,
    ReaderLimits,
    Reading,
    ReadPolicy,
    timeout_reached,
)
from helpers.recognition import Recogniser, Wanted

__all__ = [
    "AnalysedChunk",
    "OpenedFile",
    "ReadPolicy",
    "ReaderLimits",
    "ReaderPool",
    "Reading",
    "Remark",
    "read_one",
]

REGISTRY = "helpers.extract.formats"
RECEIVE_BYTES = 256 * 1024  # bytes taken from a channel at once
TICK_S = 0.2  # seconds between two looks at clocks and memory, at most
FAILED_STARTS = 3  # reader processes in a row that end before their hello


class ReaderPool:
    """Up to `workers` reader processes (at most READERS_MAX), started when there is work.

    `recogniser` answers questions about pictures and sound; `asked` hears of each, by the ticket
    of its file. `registry` names the module that detects and loads formats, `paths` are further
    folders to import from; both are for tests with formats of their own.
    """

    def __init__(
        self,
        policy: ReadPolicy,
        workers: int = 1,
        *,
        registry: str = REGISTRY,
        paths: tuple[str, ...] = (),
        recogniser: Recogniser | None = None,
        asked: Callable[[int, Wanted], None] | None = None,
    ) -> None:
        self.policy = policy
        self.workers = max(1, min(workers, limits.READERS_MAX))
        self._settings = child_settings(policy, registry, paths, recogniser)
        self._processes: list[ReaderProcess] = []
        self._exchange = Exchange(recogniser, asked)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._exchange.near, selectors.EVENT_READ)
        self._ready: collections.deque[Document] = collections.deque()
        self._again: collections.deque[Document] = collections.deque()
        self._received = memoryview(bytearray(RECEIVE_BYTES))
        self._numbers = 0
        self._failed_starts = 0
        self._reading = False

    def __enter__(self) -> ReaderPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every reader process."""
        for process in list(self._processes):
            self._drop(process)
        self._selector.close()
        self._exchange.close()

    @property
    def pids(self) -> list[int]:
        """The reader processes that are alive."""
        return [process.pid for process in self._processes]

    def read(
        self, files: Iterable[OpenedFile], cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[Reading]:
        """A Reading for each file, in the order of completion.

        `files` is pulled only when a process has room, at most 2 files per process ahead.
        Raises Cancelled as soon as `cancelled()` is seen to be true, between files and out of
        a streaming Reading's chunks; RagDocError when reader processes cannot be started.
        Closing this iterator ends what is being read.
        """
        if self._reading:
            raise RuntimeError("this pool is already reading")
        self._reading = True
        source: Iterator[OpenedFile] | None = iter(files)
        try:
            while True:
                while self._ready:
                    _raise_if(cancelled)
                    yield from self._deliver(self._ready.popleft(), cancelled)
                _raise_if(cancelled)
                source = self._feed(source)
                if not self._ready:
                    busy = [process for process in self._processes if process.documents]
                    if not busy:
                        return
                    self._pump(self._selector, busy)
        finally:
            self._abandon()
            self._reading = False

    # --- giving out ------------------------------------------------------------------

    def _feed(self, source: Iterator[OpenedFile] | None) -> Iterator[OpenedFile] | None:
        """Give files to processes with room; None once the source has ended."""
        while self._has_room():
            if self._again:
                document = self._again.popleft()
            else:
                file = None if source is None else next(source, None)
                if file is None:
                    return None
                document = Document(file, self.policy.limits)
            self._give(document)
        return source

    def _give(self, document: Document) -> None:
        process = self._process_with_room()
        self._numbers = document.number = self._numbers % 0xFFFFFFFF + 1
        try:
            process.give(document)
        except OSError:
            self._again.appendleft(document)
            self._fail(process, None)

    def _has_room(self) -> bool:
        return len(self._processes) < self.workers or any(
            not process.documents or process.has_room() for process in self._processes
        )

    def _process_with_room(self) -> ReaderProcess:
        """An idle process, else a new one, else one where a file may wait."""
        for process in [process for process in self._processes if not process.documents]:
            if not process.leaving:
                return process
            self._drop(process)
        if len(self._processes) == self.workers:
            return next(process for process in self._processes if process.has_room())
        process = ReaderProcess(self._settings, self.policy.limits)
        self._processes.append(process)
        self._selector.register(process.channel, selectors.EVENT_READ, process)
        return process

    def _deliver(self, document: Document, cancelled: Callable[[], bool]) -> Iterator[Reading]:
        reading = document.reading
        if document.ended:
            reading.chunks = iter(document.taken())
            yield reading
            return
        reading.chunks = self._stream(document, cancelled)
        yield reading
        if not document.ended:
            for process in self._processes:
                if document in process.documents:
                    self._fail(process, Unread("unreadable", "reading it was given up"))
                    break

    def _stream(self, document: Document, cancelled: Callable[[], bool]) -> Iterator[AnalysedChunk]:
        process = next(p for p in self._processes if document in p.documents)
        with selectors.DefaultSelector() as selector:
            selector.register(process.channel, selectors.EVENT_READ, process)
            selector.register(self._exchange.near, selectors.EVENT_READ)
            while True:
                while document.chunks:
                    yield document.chunks.popleft()
                if document.ended:
                    break
                _raise_if(cancelled)
                self._pump(selector, [process])
        if document.reading.error is not None:
            raise document.reading.error

    # --- taking in -------------------------------------------------------------------

    def _pump(self, selector: selectors.BaseSelector, watched: list[ReaderProcess]) -> None:
        """Wait for frames of `watched` and take them; kill what broke a limit."""
        began = time.monotonic()
        heard = {key.data for key, _ in selector.select(self._tick())}
        now = time.monotonic()
        if None in heard:
            heard.remove(None)
            self._answer()
        for process in watched:
            process.account(began, now, process in heard)
        for process in heard:
            if process in watched:
                self._take(process)
            else:
                self._drop(process)  # an idle process has nothing to say but its end
        for process in watched:
            if process in self._processes:
                self._judge(process, now, process in heard)

    def _answer(self) -> None:
        """Hand over what was recognised. A process that takes none is noticed when it is read."""
        for document, number, answer in self._exchange.answers():
            for process in self._processes:
                if document in process.documents:
                    with contextlib.suppress(OSError):
                        process.answer(number, answer)

    def _tick(self) -> float:
        caps = self.policy.limits
        return min(TICK_S, caps.stall_s / 10, caps.wall_s / 10)

    def _take(self, process: ReaderProcess) -> None:
        try:
            count = process.channel.recv_into(self._received)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._fail(process, process.epitaph(), died=True)
            return
        try:
            for frame in process.frames.feed(self._received[:count]):
                self._accept(process, frame)
        except BadFrame as bad:
            self._fail(process, Unread("corrupt", f"its reader talked nonsense ({bad})", MEND))
        except Unread as broken:
            self._fail(process, broken)

    def _accept(self, process: ReaderProcess, frame: Frame) -> None:
        if not process.greeted:
            process.greeted = True
            self._failed_starts = 0
            process.progress()
            if frame.number == 0 and not frame.size:
                return
        if not process.documents or frame.number != process.documents[0].number:
            raise BadFrame("frame for another file")
        document = process.documents[0]
        process.progress()
        document.accept(frame)
        if self._exchange.take(document, frame):
            process.ask()
        if document.ended:
            self._exchange.close_session(document)
            process.documents.popleft()
            process.done(document, frame.leaving)
            if not document.reading.streaming:
                self._ready.append(document)
        elif document.overflows() and not document.reading.streaming:
            document.reading.streaming = True
            self._ready.append(document)

    def _judge(self, process: ReaderProcess, now: float, heard: bool) -> None:
        """Fail a process that stalls or grows beyond its limits."""
        if not process.documents:
            return
        caps, document = self.policy.limits, process.documents[0]
        silent = now - process.heard
        if not process.greeted:
            if silent > caps.start_s:
                self._fail(process, None)
            return
        error: Unread | None = None
        if process.questions:
            pass  # it waits for an answer, whose engine has limits of its own
        elif silent > caps.stall_s and not heard:
            error = timeout_reached("seconds without progress", silent, caps.stall_s)
        elif now - process.began - process.away > document.wall_s():
            spent = now - process.began - process.away
            error = timeout_reached("seconds of reading", spent, document.wall_s())
        elif now - process.weighed > TICK_S:
            process.weighed = now
            used = resident_bytes(process.pid)
            if used > caps.memory:
                error = limit_reached("its reader's memory", used, caps.memory, "bytes", SPLIT)
        if error is not None:
            self._fail(process, error)

    # --- ending ----------------------------------------------------------------------

    def _fail(self, process: ReaderProcess, error: Unread | None, died: bool = False) -> None:
        """Kill a process. The file it was reading gets `error`, those behind it go elsewhere.

        Without error, or before its hello, no file is to blame; where the process `died` by
        itself before the file gave any sign of life, the file is tried once more.
        """
        self._drop(process)
        if process.documents:
            self._exchange.close_session(process.documents[0])
        waiting = list(process.documents)
        process.documents.clear()
        if not process.greeted:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise RagDocError(
                    f"{FAILED_STARTS} reader processes in a row ended before they could start",
                    f"Check that {sys.executable} runs and that memory and processes are not "
                    "limited too tightly.",
                )
        elif error is not None and waiting and not (died and waiting[0].may_try_again()):
            document = waiting.pop(0)
            document.fail(error)
            if not document.reading.streaming:
                self._ready.append(document)
        self._again.extendleft(reversed(waiting))

    def _drop(self, process: ReaderProcess) -> None:
        if process in self._processes:
            self._processes.remove(process)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(process.channel)
        process.kill()

    def _abandon(self) -> None:
        for process in list(self._processes):
            if process.documents:
                self._exchange.close_session(process.documents[0])
                process.documents.clear()
                self._drop(process)
        self._ready.clear()
        self._again.clear()


def read_one(
    file: BinaryIO,
    name: str,
    size: int,
    policy: ReadPolicy,
    recogniser: Recogniser | None = None,
) -> Reading:
    """Read one file in a process of its own, chunks held whole: for self-tests, not for bulk."""
    with ReaderPool(policy, recogniser=recogniser) as pool:
        for reading in pool.read([OpenedFile(0, file, name, size)]):
            try:
                reading.chunks = iter(list(reading.chunks))
            except Unread as error:
                reading.error, reading.chunks = error, iter(())
            return reading
    raise RagDocError("The reader gave no answer", "Try again.")


def _raise_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("Reading was cancelled")
