"""One embedding process as its parent sees it: its pipes, its clock, its end.

Promises: reads and writes end by the limit they are given, because the process is killed then
(one thread watches them all);
what it writes to standard error is taken, the last SEMANTIC_NOTE_BYTES are kept, and a process
that ended is buried at once; it gets no key, no setting and no site machinery.
Does not: know what is asked (client does), or start a second process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from helpers import limits
from helpers.config import reader_environment
from helpers.errors import SemanticError
from helpers.semantic import model, wire

ROOT = Path(__file__).resolve().parents[2]
BOOTSTRAP = (
    "import sys; sys.path[:0] = sys.argv[1:2]; sys.path += sys.argv[2:]; "
    "import semantic_worker; semantic_worker.serve()"
)
EXIT_S = 2.0  # seconds a process is given to vanish once its input is closed
REMEDY = "Keywords keep answering. If it goes on: python3 rag_server.py --setup"


class Failed(Exception):
    """Why the process is of no more use; becomes a SemanticError."""


class Refused(Exception):
    """The process is well and says why it cannot answer; becomes a SemanticError."""

    def __init__(self, header: dict[str, Any]) -> None:
        super().__init__(header["error"])
        self._remedy = str(header.get("remedy") or REMEDY)

    def as_error(self) -> SemanticError:
        return SemanticError(str(self), self._remedy)


class Left(Failed):
    """The process ended before it answered anything of this request."""


class Process:
    """One embedding process and its pipes. Reads and writes are ended by killing it in time."""

    def __init__(self, opening: dict[str, Any]) -> None:
        self.popen = _spawn()
        assert self.popen.stdin and self.popen.stdout and self.popen.stderr
        self._input: BinaryIO = self.popen.stdin  # type: ignore[assignment]
        self._output: BinaryIO = self.popen.stdout  # type: ignore[assignment]
        self._opening: dict[str, Any] | None = opening
        self._late = ""
        self._watch = _Watch(self._too_late)
        self._note = bytearray()
        self._drain = threading.Thread(target=self._listen, daemon=True)
        self._drain.start()

    @property
    def ended(self) -> bool:
        return self.popen.poll() is not None

    def send(self, header: dict[str, Any], limit_s: float) -> None:
        """Write one request. Raises Failed."""
        with self._watch.over(limit_s):
            frames = b"" if self._opening is None else wire.pack(self._opening)
            self._opening = None
            frames += wire.pack(header | {"limit_s": round(limit_s + 1, 1)})
            try:
                self._input.write(frames)
                self._input.flush()
            except OSError as error:
                raise self._epitaph() from error

    def receive(self, limit_s: float) -> wire.Frame:
        """Read one answer. Raises Failed, Refused."""
        with self._watch.over(limit_s):
            try:
                frame = wire.receive(self._output)
            except (wire.CutFrame, OSError) as error:
                raise self._epitaph() from error
            except wire.BadFrame as error:
                raise Failed(f"it answered with junk: {error}") from error
            if frame is None:
                raise self._epitaph()
        if "error" in frame[0]:
            raise Refused(frame[0])
        return frame

    def close(self) -> None:
        """Close its input, wait a moment, kill it."""
        for stream in (self._input, self._output):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self.popen.wait(EXIT_S if not self._late else 0)
        except subprocess.TimeoutExpired:
            self.popen.kill()
        self.popen.wait()
        self._watch.end()
        self._drain.join(EXIT_S)

    def _too_late(self, limit_s: float) -> None:
        self._late = f"it took longer than {limit_s:,.0f} s"
        self.popen.kill()

    def _epitaph(self) -> Failed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(EXIT_S)
        if self._late:
            return Failed(self._late)
        self._drain.join(EXIT_S)
        said = bytes(self._note).decode("utf-8", "replace").strip().splitlines()
        detail = f": {said[-1][:300]}" if said else ""
        return Left(f"it ended with status {self.popen.returncode}{detail}")

    def _listen(self) -> None:
        """Take what it writes to standard error, keep the end, and bury it."""
        assert self.popen.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(self.popen.stderr.fileno(), 65_536):
                self._note += part
                del self._note[: -limits.SEMANTIC_NOTE_BYTES]
        with contextlib.suppress(OSError):
            self.popen.stderr.close()
        self.popen.wait()


class _Watch:
    """One thread that calls `bite` where a block takes longer than it was given."""

    def __init__(self, bite: Callable[[float], None]) -> None:
        self._bite = bite
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due: float | None = None  # on the monotonic clock; None: no block is running
        self._limit_s = 0.0
        self._wakes = float("inf")  # when the thread looks again by itself
        self._ended = False

    @contextlib.contextmanager
    def over(self, limit_s: float) -> Iterator[None]:
        """Bite where the block takes longer than `limit_s`."""
        self._set(time.monotonic() + limit_s, limit_s)
        try:
            yield
        finally:
            with self._changed:
                self._due = None

    def end(self) -> None:
        """Let the thread go."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _set(self, due: float, limit_s: float) -> None:
        with self._changed:
            self._due, self._limit_s = due, limit_s
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif due < self._wakes:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._ended:
                if self._due is not None and self._due <= time.monotonic():
                    self._due = None
                    self._bite(self._limit_s)
                    continue
                self._wakes = float("inf") if self._due is None else self._due
                self._changed.wait(None if self._due is None else self._due - time.monotonic())


def _spawn() -> subprocess.Popen[bytes]:
    """Start the process: no site machinery, no environment but the harmless, pipes of its own."""
    command = [sys.executable, "-I", "-S", "-c", BOOTSTRAP, str(ROOT), *_package_folders()]
    environment = reader_environment()
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def _package_folders() -> list[str]:
    """Where the model's packages lie, for a process that does not look for itself."""
    folders: dict[str, None] = {}
    for package in model.PACKAGES:
        found = importlib.util.find_spec(package)
        if found is not None and found.origin is not None:
            folders[os.path.dirname(os.path.dirname(found.origin))] = None
    return list(folders)
