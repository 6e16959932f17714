"""One question on its way to an engine: the bytes it is about, and the means to answer it.

Promises: the file is read beside its reader (by os.pread), hashed, and copied at most once per
document, into a private folder that goes when the document has ended; what an engine runs ends
when the question is given up.
Does not: recognise, or keep the original's name or place.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers import limits
from helpers.errors import StoreError, Unread
from helpers.recognition import Wanted
from helpers.recognize import command
from helpers.recognize.kept import Kept

BLOCK_BYTES = limits.MIB
CHANGED = "It changed while it was read; the next sync reads it again."


class Material:
    """The bytes of a document, or of a file inside it, for whoever asks: digest and copy."""

    def __init__(self, folder: Path, descriptor: int | None = None, size: int = 0) -> None:
        """Of the open file `descriptor`, or of what `add` brings."""
        self._path = folder / ("document" if descriptor is not None else os.urandom(8).hex())
        self._descriptor, self._size = descriptor, size
        self._lock = threading.Lock()
        self._copied = False
        self._digest: str | None = None
        self._hash = hashlib.sha256()
        self._failure: OSError | None = None

    def add(self, data: bytes) -> None:
        """Take the next bytes of an inner file."""
        self._hash.update(data)
        try:
            with open(self._path, "ab", opener=_private) as file:
                file.write(data)
        except OSError as error:
            self._failure = error

    def digest(self) -> str:
        """SHA-256 of the bytes. Raises Unread."""
        with self._lock:
            if self._digest is None:
                self._digest = self._hashed() if self._descriptor is not None else self._added()
            return self._digest

    def path(self) -> Path:
        """A private copy, made at the first call. Raises Unread."""
        digest = self.digest()
        with self._lock:
            if not self._copied and self._descriptor is not None:
                try:
                    with open(self._path, "wb", opener=_private) as file:
                        found = self._hashed(file.fileno())
                except OSError as error:
                    raise unwritten(error) from error
                if found != digest:
                    raise Unread("changed_while_reading", "it changed while it was read", CHANGED)
            self._copied = True
            return self._path

    def _added(self) -> str:
        if self._failure is not None:
            raise unwritten(self._failure)
        return self._hash.hexdigest()

    def _hashed(self, copy: int | None = None) -> str:
        assert self._descriptor is not None
        found, at = hashlib.sha256(), 0
        while at < self._size:
            try:
                data = os.pread(self._descriptor, min(BLOCK_BYTES, self._size - at), at)
            except OSError as error:
                raise Unread("unreadable", f"it cannot be read: {error}", "Try again.") from error
            if not data:
                raise Unread("changed_while_reading", "it became shorter while read", CHANGED)
            found.update(data)
            if copy is not None:
                _write_all(copy, data)
            at += len(data)
        return found.hexdigest()


@dataclass
class Task:
    """What an engine gets: the question, the bytes, a folder for this question alone.

    `run` starts a program that ends with the question, `kept` holds earlier results.
    """

    wanted: Wanted
    material: Material
    folder: Path
    kept: Kept
    stop: command.Stop = field(default_factory=command.Stop)

    def run(
        self,
        words: Sequence[str],
        caps: command.Caps | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """Standard output of a program. Raises CommandFailed, Stopped."""
        return command.run(words, self.stop, caps, self.folder, environment)

    def checkpoint(self) -> None:
        """For long work in this process. Raises Stopped."""
        self.stop.checkpoint()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def unwritten(error: OSError | StoreError) -> Unread:
    """The answer where the disk takes no copy; the next sync tries again."""
    why = error.strerror if isinstance(error, OSError) else error.what
    return Unread(
        "unreadable",
        f"no copy of it could be made to recognise its text ({why})",
        "Free space on the disk of the data directory and sync again.",
    )
