"""One reader process as its parent sees it: start, hand over files, weigh, kill.

Promises: the process gets a clean environment, no standard streams, and an open file, never a
path; it leads a process group of its own, and `kill` ends the whole group.
Does not: judge when to kill, or understand frames. The Windows paths are written to its
documented interface; the project's own runs are on Linux.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.config import reader_environment
from helpers.errors import Unread
from helpers.extract.child import LENGTH, MEND
from helpers.extract.frames import FrameReader
from helpers.extract.reading import Document, ReaderLimits, ReadPolicy, timeout_reached
from helpers.recognition import Answer, Recogniser

ROOT = Path(__file__).resolve().parents[2]
QUEUE = 2  # files in one process: one read, one waiting so that it never idles
EXIT_S = 1.0  # seconds a process is given to vanish once its channel is closed
BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from helpers.extract import child; "
    "child.main(int(sys.argv[2]), int(sys.argv[3]))"
)


class ReaderProcess:
    """A reader process, its channel, and the files it holds (the first is being read).

    Clocks: `heard` is when it last made progress, `began` when its file's turn came, `away`
    how long since then it waited for this side: to listen, or to answer one of `questions`.
    """

    def __init__(self, settings: dict[str, Any], caps: ReaderLimits) -> None:
        self.caps = caps
        self.documents: collections.deque[Document] = collections.deque()
        self.frames = FrameReader()
        self.greeted = False
        self.leaving = False
        self.files = 0
        self.heard = self.began = self.seen = self.weighed = time.monotonic()
        self.away = 0.0
        self.questions = 0  # that wait for their answer; the clocks stand still meanwhile
        self.asked = 0.0
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.popen = _spawn(theirs)
        self.pid = self.popen.pid
        self.channel.setblocking(False)
        with contextlib.suppress(OSError):  # a process that is gone is noticed when it is read
            self._send(settings)

    def has_room(self) -> bool:
        """Whether a file may wait here behind the one being read."""
        if self.leaving or self.questions or not 0 < len(self.documents) < QUEUE:
            return False
        return all(d.file.size <= limits.READER_QUEUE_BYTES for d in self.documents)

    def give(self, document: Document) -> None:
        """Hand over an open file. Raises OSError when the process is gone."""
        if not self.documents:
            self.heard = self.began = self.seen = time.monotonic()
            self.away = 0.0
        file = document.file
        request = {"number": document.number, "name": file.name, "size": file.size}
        self._send(request, file.fileno())
        self.documents.append(document)

    def progress(self) -> None:
        self.heard = time.monotonic()

    def account(self, began: float, now: float, heard: bool) -> None:
        """Listened from `began` to `now`. Where it had something to say, the time since the
        last look was spent waiting for this side, and is not held against it.
        """
        if heard and not self.questions:
            self.away += max(0.0, began - self.seen)
        self.seen = now

    def ask(self) -> None:
        """It has asked something: its clocks stand still until every question is answered."""
        if not self.questions:
            self.asked = time.monotonic()
        self.questions += 1

    def answer(self, number: int, answer: Answer) -> None:
        """Hand over the answer to a question. Raises OSError when it takes none."""
        self.questions -= 1
        if not self.questions:
            self.seen = self.heard = time.monotonic()
            self.away += self.seen - self.asked
        self.channel.settimeout(limits.READER_ANSWER_S)
        try:
            for part in packed_answer(number, answer):
                self.channel.sendall(part)
        finally:
            self.channel.setblocking(False)

    def done(self, document: Document, leaving: bool) -> None:
        """Its file has ended; decide whether it serves on."""
        self.began = self.seen = time.monotonic()
        self.away = 0.0
        self.questions = 0
        self.files += 1
        if leaving or self.files >= self.caps.files:
            self.leaving = True
        elif self.files % 50 == 0 or document.size > limits.MIB // 4:
            self.leaving = resident_bytes(self.pid) > self.caps.recycle

    def epitaph(self) -> Unread | None:
        """Why it ended, as the error of the file it was reading."""
        if self.leaving:
            return None
        try:
            status = self.popen.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return Unread("corrupt", "its reader closed its channel", MEND)
        if sys.platform != "win32":
            if status == -signal.SIGXCPU:
                return timeout_reached(
                    "processor seconds without progress", self.caps.cpu_s + 1, self.caps.cpu_s
                )
            if status == -signal.SIGKILL:
                return Unread(
                    "limit_reached",
                    "the system ended its reader, most likely because memory ran out",
                    "Free memory, or split the document into smaller ones.",
                )
        return Unread("corrupt", f"its reader crashed on it (status {status})", MEND)

    def kill(self) -> None:
        """End it and everything it started; its channel is closed."""
        with contextlib.suppress(OSError):
            self.channel.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self.popen.kill()
            elif self.popen.returncode is None:
                os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()

    def _send(self, request: dict[str, Any], descriptor: int | None = None) -> None:
        if descriptor is not None and sys.platform == "win32":
            request["handle"] = _windows_handle(descriptor, self.popen)
        data = _packed(request)
        if descriptor is None or sys.platform == "win32":
            sent = self.channel.send(data)
        else:
            sent = socket.send_fds(self.channel, [data], [descriptor])
        if sent != len(data):
            raise BrokenPipeError("the reader process takes no requests")


def packed_answer(number: int, answer: Answer) -> Iterator[bytes]:
    """The requests that carry an answer: one, or several for a long one."""
    if isinstance(answer, Unread):
        error = [answer.code, answer.reason, answer.remedy]
        yield _packed({"answer": [number, error, [], "", {}, False]})
        return
    part: list[tuple[Any, ...]] = []
    size = 0
    for piece in answer.pieces:
        if size + len(piece.text) > limits.READER_ANSWER_PART_BYTES // 6 and part:
            yield _packed({"answer": [number, None, part, "", {}, True]})
            part, size = [], 0
        part.append((piece.text, piece.confidence, piece.start, piece.end))
        size += len(piece.text)
    facts = dict(answer.facts)
    yield _packed({"answer": [number, None, part, answer.engine, facts, False]})


def _packed(request: dict[str, Any]) -> bytes:
    body = json.dumps(request).encode()
    return LENGTH.pack(len(body)) + body


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 where that cannot be told (Windows, or it is gone)."""
    try:
        if sys.platform == "linux":
            with open(f"/proc/{pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if sys.platform == "win32":
            return 0
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, timeout=EXIT_S, check=False
        )
        return int(told.stdout or 0) * 1024
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return 0


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", BOOTSTRAP, str(ROOT)]
    nothing = subprocess.DEVNULL
    if sys.platform == "win32":
        popen = subprocess.Popen(
            [*command, "-1", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
            env=_environment(),
            creationflags=subprocess.CREATE_NO_WINDOW,
        )
        popen.communicate(theirs.share(popen.pid))
        return popen
    return subprocess.Popen(
        [*command, str(theirs.fileno()), str(os.getpid())],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        env=_environment(),
        cwd="/",
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    nowhere = str(ROOT / "helpers" / "extract")  # exists, and the process cannot write to it
    thai = {"PYTHAINLP_DATA": nowhere, "PYTHAINLP_READ_ONLY": "1", "PYTHAINLP_OFFLINE": "1"}
    return reader_environment() | thai


def child_settings(
    policy: ReadPolicy, registry: str, paths: tuple[str, ...], recogniser: Recogniser | None
) -> dict[str, Any]:
    caps = policy.limits
    refusals = None
    if recogniser is not None:
        told = recogniser.refusals()
        refusals = {family: [why.code, why.reason, why.remedy] for family, why in told.items()}
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return {
        "registry": registry,
        "archives": policy.archives,
        "paths": [*packages, *paths],
        "chunk": [policy.chunk.chars, policy.chunk.overlap, policy.chunk.thai_words],
        "recognition": refusals,
        **dataclasses.asdict(caps),
    }


def _windows_handle(descriptor: int, popen: subprocess.Popen[bytes]) -> int:
    """A handle of the file that is valid in the other process."""
    import _winapi
    import msvcrt

    winapi: Any = _winapi
    handle: Any = msvcrt
    return int(
        winapi.DuplicateHandle(
            winapi.GetCurrentProcess(),
            handle.get_osfhandle(descriptor),
            getattr(popen, "_handle"),  # noqa: B009 - the attribute exists on Windows alone
            0,
            False,
            winapi.DUPLICATE_SAME_ACCESS,
        )
    )
