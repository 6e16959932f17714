"""Running an engine's program: bound, watched, and gone when nobody wants it any more.

Promises: a program runs in a process group of its own with a clean environment, without input,
under limits of time, memory, processor and output; `Stop.stop` and the end of this process end
the whole group; what it says on standard error is kept up to NOTE_BYTES.
Does not: know engines or read documents. On Windows only time and output are limited, and the
program alone is ended, not what it started.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers import limits
from helpers.config import engine_environment

LAUNCH = str(Path(__file__).with_name("launch.py"))
NOTE_BYTES = 4_096  # of what a program writes to standard error: the end is kept
READ_BYTES = 65_536
END_S = 5.0  # seconds a program that closed its output is given to end


class Stopped(Exception):
    """The question is not wanted any more."""


class CommandFailed(Exception):
    """A program that did not do its work: `why` is one of missing, timeout, output, crash."""

    def __init__(self, why: str, what: str) -> None:
        self.why, self.what = why, what
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Caps:
    """What one run may cost: seconds of wall clock and of processor, and bytes."""

    seconds: float = limits.OCR_PAGE_S
    cpu_s: int = limits.OCR_PAGE_CPU_S
    memory: int = limits.OCR_MEMORY_BYTES
    output: int = limits.OCR_OUTPUT_BYTES
    file: int = limits.OCR_FILE_BYTES


class Stop:
    """Ends what runs under it, from any thread and for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            for popen in self._running:
                _kill(popen)

    def checkpoint(self) -> None:
        """Raises Stopped once `stop` was called."""
        if self.stopped:
            raise Stopped

    @contextlib.contextmanager
    def holding(self, popen: subprocess.Popen[bytes]) -> Iterator[None]:
        """`stop` ends `popen` while this holds."""
        with self._lock:
            self._running.add(popen)
            if self.stopped:
                _kill(popen)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(popen)
                _kill(popen)


def run(
    words: Sequence[str],
    stop: Stop,
    caps: Caps | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """What a program writes to standard output. Raises CommandFailed, Stopped."""
    caps = caps or Caps()
    stop.checkpoint()
    popen = _spawn(words, caps, folder, environment or {})
    with stop.holding(popen):
        try:
            output, note, late, full = _listen(popen, caps)
        finally:
            _kill(popen)
            status = popen.wait()
            for stream in (popen.stdout, popen.stderr):
                if stream is not None:
                    stream.close()
    stop.checkpoint()
    name = Path(words[0]).name
    said = _last_line(note)
    if late:
        raise CommandFailed("timeout", f"{name} took more than {caps.seconds:,.0f} seconds")
    if full:
        raise CommandFailed("output", f"{name} wrote more than {caps.output:,} bytes")
    if sys.platform != "win32" and status in (-signal.SIGXCPU, -signal.SIGKILL):
        what = f"{name} used more than {caps.cpu_s:,} processor seconds, or too much memory"
        raise CommandFailed("timeout", what)
    if status:
        raise CommandFailed("crash", f"{name} ended with status {status}{said}")
    return output


def _spawn(
    words: Sequence[str], caps: Caps, folder: Path | None, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    bound = list(words)
    options: dict[str, object] = {}
    if sys.platform == "win32":
        options["creationflags"] = (
            subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS
        )
    else:
        bounds = (os.getpid(), caps.memory, caps.cpu_s, caps.file)
        launcher = [sys.executable, "-I", "-S", "-B", LAUNCH]
        bound = [*launcher, *map(str, bounds), *words]
        options["start_new_session"] = True
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            bound,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env=engine_environment() | dict(environment),
            cwd=folder,
            **options,
        )
    except OSError as error:
        raise CommandFailed("missing", f"{words[0]} cannot be started: {error}") from error


def _listen(popen: subprocess.Popen[bytes], caps: Caps) -> tuple[bytes, bytes, bool, bool]:
    """Output, the end of standard error, whether it took too long, whether it wrote too much."""
    if sys.platform == "win32":
        return _listen_by_threads(popen, caps)
    assert popen.stdout is not None and popen.stderr is not None
    output, note = bytearray(), bytearray()
    until = time.monotonic() + caps.seconds
    with selectors.DefaultSelector() as selector:
        selector.register(popen.stdout, selectors.EVENT_READ, output)
        selector.register(popen.stderr, selectors.EVENT_READ, note)
        while selector.get_map():
            left = until - time.monotonic()
            if left <= 0:
                return bytes(output), bytes(note), True, False
            for key, _ in selector.select(left):
                part = os.read(key.fd, READ_BYTES)
                if not part:
                    selector.unregister(key.fileobj)
                key.data.extend(part)
            del note[:-NOTE_BYTES]
            if len(output) > caps.output:
                return b"", bytes(note), False, True
    late = False
    try:
        popen.wait(min(END_S, max(0.0, until - time.monotonic())))
    except subprocess.TimeoutExpired:
        late = True
    return bytes(output), bytes(note), late, False


def _listen_by_threads(
    popen: subprocess.Popen[bytes], caps: Caps
) -> tuple[bytes, bytes, bool, bool]:
    """The same where pipes cannot be waited for together."""
    held: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    def take(name: str) -> None:
        stream = getattr(popen, name)
        while part := os.read(stream.fileno(), READ_BYTES):
            held[name] += part
            if name == "stderr":
                del held[name][:-NOTE_BYTES]
            elif len(held[name]) > caps.output:
                popen.kill()
                return

    threads = [threading.Thread(target=take, args=(name,), daemon=True) for name in held]
    for thread in threads:
        thread.start()
    late = False
    try:
        popen.wait(caps.seconds)
    except subprocess.TimeoutExpired:
        late = True
        popen.kill()
    for thread in threads:
        thread.join(END_S)
    full = len(held["stdout"]) > caps.output
    return bytes(held["stdout"]), bytes(held["stderr"]), late, full


def _kill(popen: subprocess.Popen[bytes]) -> None:
    """End the group. It is buried (and its number free) only after the last call of this."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            popen.kill()
        elif popen.returncode is None:
            os.killpg(popen.pid, signal.SIGKILL)


def _last_line(note: bytes) -> str:
    lines = note.decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:200]}" if said else ""
