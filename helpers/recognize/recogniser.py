"""Answers the questions of reader processes: by what is kept, else by an engine.

Promises: questions are answered in threads, a core's worth of pictures at a time and one
recording; what is kept under the same bytes, page and engine is not recognised again; closing a
session or the recogniser ends what runs for it at once, and removes every copy.
Does not: parse documents in this process, or know formats.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from helpers import limits
from helpers.errors import StoreError, Unread
from helpers.files import private_dir
from helpers.log import get_logger
from helpers.recognition import FAMILIES, PROVISIONAL, Answer, Answered, Recognised, Wanted
from helpers.recognize import kept
from helpers.recognize.command import CommandFailed, Stop, Stopped
from helpers.recognize.engine import Engine
from helpers.recognize.kept import Kept
from helpers.recognize.task import Material, Task, unwritten

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

FOLDER = "recognising"  # below the data directory: copies, while they are needed
TRY_AGAIN = "Sync with --force to try again, or recognise its text elsewhere."

_logger = get_logger("recognize")


class Recogniser:
    """The engines of one sync, by family; a context manager that ends all of them."""

    def __init__(
        self, engines: Mapping[str, Engine], data_dir: Path | None, workers: int = 1
    ) -> None:
        """`data_dir` None keeps no results and copies into the system's temporary folder."""
        self.engines = dict(engines)
        self.kept = Kept(data_dir)
        self._workers = max(1, workers)
        self._below = None if data_dir is None else data_dir / FOLDER
        self._folder: Path | None = None
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._sessions: set[Session] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Recogniser:
        if self._below is not None:  # what a killed sync left: this one holds the lock
            shutil.rmtree(self._below, ignore_errors=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything; waits for the threads, whose programs are killed."""
        for session in list(self._sessions):
            session.close()
        for threads in self._threads.values():
            threads.shutdown(wait=True)
        self._threads.clear()
        for engine in self.engines.values():
            engine.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self.kept.added:
            self.kept.prune()

    def refusals(self) -> dict[str, Unread]:
        """Family → why nothing of it can be answered."""
        found: dict[str, Unread] = {}
        for family in set(FAMILIES.values()):
            engine = self.engines.get(family)
            refusal = _nothing(family) if engine is None else engine.refusal
            if refusal is not None:
                found[family] = refusal
        return found

    def open(self, descriptor: int, name: str, size: int) -> Session:
        """Begin a document."""
        session = Session(self, os.dup(descriptor), size)
        self._sessions.add(session)
        return session

    def submit(self, session: Session, task: Task, answered: Answered) -> None:
        """Answer in a thread."""
        # Imported here: most syncs recognise nothing.
        from concurrent.futures import ThreadPoolExecutor

        family = task.wanted.family
        with self._lock:
            threads = self._threads.get(family)
            if threads is None:
                count = self._workers if family == "picture" else 1
                threads = ThreadPoolExecutor(count, f"recognize-{family}")
                self._threads[family] = threads
        threads.submit(session.answer, task, answered)

    def answer(self, task: Task) -> Recognised:
        """What is kept, else what the engine reads. Raises as engines do."""
        wanted = task.wanted
        engine = self.engines[wanted.family]
        if engine.refusal is not None:
            raise engine.refusal
        facts = dataclasses.asdict(dataclasses.replace(wanted, pages=None))
        name = kept.key("question", engine.fingerprint, task.material.digest(), facts)
        found = self.kept.get(name)
        if found is None:
            found = engine.recognise(task)
            task.checkpoint()
            if PROVISIONAL not in found.facts:
                self.kept.put(name, found)
        return found

    def folder(self) -> Path:
        """Where copies lie: private, below the data directory. Raises StoreError, OSError."""
        with self._lock:
            if self._folder is None:
                if self._below is not None:
                    private_dir(self._below)
                self._folder = Path(tempfile.mkdtemp(prefix="ragdoc-", dir=self._below))
            return self._folder

    def forget(self, session: Session) -> None:
        self._sessions.discard(session)


class Session:
    """The questions of one document. Its descriptor and its copies go with the last of them."""

    def __init__(self, recogniser: Recogniser, descriptor: int, size: int) -> None:
        self._recogniser = recogniser
        self._descriptor, self._size = descriptor, size
        self._folder: Path | None = None
        self._document: Material | None = None
        self._inner: dict[int, Material] = {}
        self._running: dict[int, Stop] = {}
        self._lock = threading.Lock()
        self._asked = 0
        self._closed = self._gone = False

    def attach(self, number: int, data: bytes) -> None:
        with contextlib.suppress(OSError, StoreError), self._lock:
            material = self._inner.get(number)
            if material is None:
                material = self._inner[number] = Material(self._own_folder())
            material.add(data)

    def ask(self, wanted: Wanted, attached: int | None, answered: Answered) -> None:
        try:
            with self._lock:
                task = self._task(wanted, attached)
                number = self._asked = self._asked + 1
                self._running[number] = task.stop
        except (OSError, StoreError) as error:
            answered(unwritten(error))
            return

        def done(answer: Answer) -> None:
            with self._lock:
                self._running.pop(number, None)
                wanted_still = not self._closed
            if wanted_still:
                answered(answer)
            self._tidy()

        self._recogniser.submit(self, task, done)

    def _task(self, wanted: Wanted, attached: int | None) -> Task:
        own = self._own_folder()
        if attached is None:
            if self._document is None:
                self._document = Material(own, self._descriptor, self._size)
            material = self._document
        else:
            material = self._inner.get(attached) or Material(own)
        folder = own / f"question-{self._asked}"
        return Task(wanted, material, folder, self._recogniser.kept)

    def answer(self, task: Task, answered: Answered) -> None:
        """In a thread: answer, whatever happens."""
        answer: Answer
        try:
            task.checkpoint()
            task.folder.mkdir(mode=0o700)
            answer = _capped(self._recogniser.answer(task))
        except Stopped:
            answer = Unread("no_text", "it was given up", TRY_AGAIN)
        except Unread as unread:
            answer = unread
        except CommandFailed as failed:
            answer = _failure(failed)
        except Exception as error:
            _logger.warning("recognition failed: %s: %s", type(error).__name__, error)
            answer = Unread("no_text", f"recognising it failed ({type(error).__name__})", TRY_AGAIN)
        finally:
            shutil.rmtree(task.folder, ignore_errors=True)
        answered(answer)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for stop in running:
            stop.stop()
        self._tidy()

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = self._recogniser.folder() / os.urandom(8).hex()
            self._folder.mkdir(mode=0o700)
        return self._folder

    def _tidy(self) -> None:
        with self._lock:
            if not self._closed or self._running or self._gone:
                return
            self._gone = True
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._recogniser.forget(self)


def _nothing(family: str) -> Unread:
    what = "images" if family == "picture" else "recordings"
    return Unread("no_text", f"text in {what} is not recognised here", f"See {family}.")


def _failure(failed: CommandFailed) -> Unread:
    """What became of a page whose engine failed on it."""
    codes = {"timeout": "timeout", "output": "limit_reached"}
    return Unread(codes.get(failed.why, "no_text"), f"recognising it failed: {failed}", TRY_AGAIN)


def _capped(found: Recognised) -> Recognised:
    """At most READER_ANSWER_CHARS of it."""
    left = limits.READER_ANSWER_CHARS
    pieces = []
    for piece in found.pieces:
        if left <= 0:
            break
        pieces.append(dataclasses.replace(piece, text=piece.text[:left]))
        left -= len(piece.text)
    return dataclasses.replace(found, pieces=tuple(pieces))
