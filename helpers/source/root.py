"""The knowledge folder: a relative path becomes an open file, and no path leaves it.

Promises: nothing outside the folder is ever opened, whatever is swapped meanwhile; what is
returned is a regular file; a failure is an Unread with a reason, or RootGone for the folder
itself. One Root belongs to one sync or one search: it holds the folder it opened, even if
another takes its place.
Does not: decide which files are wanted (`walk`, `refuse`), or read their content but to hash it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from helpers.errors import RootGone, Unread
from helpers.limits import DIGEST_BLOCK_BYTES
from helpers.source import by_descriptor, by_path, refuse

# Typed loosely: the two families of steps share their names, not their handles.
_steps: Any = by_descriptor if os.open in os.supports_dir_fd else by_path

_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, getattr(errno, "EMLINK", errno.ELOOP))
_GONE_ERRORS = (errno.ENOENT,)
_PERMISSION_REMEDY = "Give the account that runs the sync the right to read it."


class Vanished(Unread):
    """The file is not there (any more): its rows may go, it is no failure."""

    def __init__(self) -> None:
        super().__init__("unreadable", "it is no longer there", "Sync again.")


@dataclass(slots=True)
class OpenedSource:
    """An open regular file; `stat` was taken from the descriptor."""

    fd: int
    stat: os.stat_result

    def close(self) -> None:
        """Close the descriptor, once."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> OpenedSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Digest:
    """What one reading of a file's bytes found."""

    __slots__ = ("secret", "sha256", "size")

    def __init__(self, sha256: bytes, size: int, secret: str | None) -> None:
        self.sha256, self.size, self.secret = sha256, size, secret


class Root:
    """The knowledge folder, held open. Raises RootGone where it is missing or unreadable."""

    def __init__(self, path: str | os.PathLike[str], steps: Any = None) -> None:
        self.path = Path(path)
        self.steps = steps or _steps
        try:
            self.path = Path(os.path.realpath(path))
            self.handle = self.steps.open_root(str(self.path))
            self.identity: tuple[int, int] = self.steps.identity(self.handle)
        except (OSError, ValueError) as error:
            raise root_gone(self.path, error) from None

    def open(self, raw: bytes) -> OpenedSource:
        """The regular file at a relative path. Raises Vanished or another Unread.

        The caller closes it. Cost: two system calls per folder on the way and three more.
        """
        folder, name = self._descend(raw)
        try:
            verdict = refuse.by_mode(self.steps.look(folder, name).st_mode)
            if verdict is not None:
                raise Unread(*verdict)
            return _opened(self.steps.open_file(folder, name))
        except OSError as error:
            raise self.explain(error, folder, name) from None
        finally:
            self._leave(folder)

    def check(self, raw: bytes) -> os.stat_result | None:
        """What a relative path is now, None unless it is a regular file inside the folder."""
        try:
            folder, name = self._descend(raw)
        except Unread:
            return None
        try:
            status: os.stat_result = self.steps.look(folder, name)
        except (OSError, ValueError):
            return None
        finally:
            self._leave(folder)
        return status if stat.S_ISREG(status.st_mode) else None

    def close(self) -> None:
        """Let the folder go."""
        if self.handle is not None:
            self.steps.leave(self.handle)
            self.handle = None

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _descend(self, raw: bytes) -> tuple[Any, bytes]:
        """The handle of the folder that holds `raw`, and the last name."""
        *folders, name = parts_of(raw)
        handle = self.handle
        for part in folders:
            try:
                inner = self.steps.enter(handle, part)
            except OSError as error:
                raise self.explain(error, handle, part) from None
            finally:
                self._leave(handle)
            handle = inner
        return handle, name

    def _leave(self, handle: Any) -> None:
        if handle is not self.handle:
            self.steps.leave(handle)

    def explain(self, error: OSError, handle: Any, name: bytes) -> Unread:
        """The Unread for a step that failed, by what stands there now."""
        if error.errno not in _LINK_ERRORS:
            return unread(error)
        try:
            verdict = refuse.by_mode(self.steps.look(handle, name).st_mode)
        except OSError:
            verdict = None
        if error.errno == errno.ENOTDIR and (verdict is None or verdict.code != "symlink"):
            return Vanished()  # no folder any more, so nothing inside it
        return Unread(*(verdict or refuse.SYMLINK))


def parts_of(raw: bytes) -> list[bytes]:
    """The names of a relative path. Raises Unread for a path that could lead elsewhere."""
    parts = raw.split(b"/")
    odd = b"\0" in raw or b"" in parts or b"." in parts or b".." in parts
    if odd or (sys.platform == "win32" and (b"\\" in raw or b":" in raw)):
        raise Unread("unreadable", "its path leads out of the knowledge folder")
    return parts


def unread(error: OSError) -> Unread:
    """The Unread for a system error met on a file or folder."""
    if error.errno in _GONE_ERRORS:
        return Vanished()
    if error.errno in (errno.EACCES, errno.EPERM):
        return Unread("unreadable", "permission denied", _PERMISSION_REMEDY)
    if error.errno == errno.ENXIO:
        return Unread("not_regular", "a socket or device, not a file")
    words = os.strerror(error.errno) if error.errno else str(error)
    return Unread("unreadable", words, "See that its disk or share works, then sync again.")


def root_gone(path: Path, error: OSError | ValueError | None) -> RootGone:
    """The RootGone for what was met on the knowledge folder itself."""
    if isinstance(error, FileNotFoundError):
        what = f"The knowledge folder {path} does not exist"
        remedy = (
            "Give the folder you want as --knowledge-dir, or connect its drive or share;"
            " nothing was pruned."
        )
    elif isinstance(error, NotADirectoryError):
        what, remedy = f"{path} is no folder", "Give a folder as --knowledge-dir."
    elif isinstance(error, PermissionError):
        what = f"The knowledge folder {path} may not be read by this account"
        remedy = "Give it the right to list the folder; nothing was pruned."
    else:
        words = error.strerror if isinstance(error, OSError) else error
        what = f"The knowledge folder {path} cannot be read: {words}"
        remedy = "See that its disk or share works; nothing was pruned."
    return RootGone(what, remedy)


def looks_unmounted(
    before: tuple[int, int] | None, now: tuple[int, int], found: int, known: int
) -> bool:
    """True where an empty folder stands in for the one indexed before: pruning would be wrong.

    An unmounted share leaves its empty mount point: another (st_dev, st_ino), no entry.
    """
    return bool(known) and not found and before is not None and tuple(before) != tuple(now)


def lies_inside(inner: str | os.PathLike[str], outer: str | os.PathLike[str]) -> bool:
    """True if `inner`, which need not exist, is `outer` or in it, links and case resolved."""
    target = os.path.realpath(outer)
    step = os.path.realpath(inner)
    while True:
        if step == target or _same(step, target):
            return True
        parent = os.path.dirname(step)
        if parent == step:
            return False
        step = parent


def changed(fd: int, before: os.stat_result) -> bool:
    """True if the file behind `fd` is no longer as `before` saw it."""
    now = os.fstat(fd)
    return (now.st_size, now.st_mtime_ns, now.st_ctime_ns) != (
        before.st_size,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def ensure_unchanged(fd: int, before: os.stat_result) -> None:
    """Raises Unread("changed_while_reading") if what was read may be half old, half new."""
    if changed(fd, before):
        raise Unread("changed_while_reading", "it was edited while it was read", "Sync again.")


def digest(fd: int, heartbeat: Callable[[], None] | None = None) -> Digest:
    """SHA-256 of the whole file, searched for secrets on the way.

    The descriptor's position is put back to 0. `heartbeat` is called after each block of
    DIGEST_BLOCK_BYTES and may raise to give up. Raises Unread where the disk fails.
    """
    hashed, scan, size = hashlib.sha256(), refuse.SecretScan(), 0
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        while block := os.read(fd, DIGEST_BLOCK_BYTES):
            hashed.update(block)
            scan.feed(block)
            size += len(block)
            if heartbeat is not None:
                heartbeat()
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError as error:
        raise unread(error) from None
    return Digest(hashed.digest(), size, scan.found)


def _opened(descriptor: int) -> OpenedSource:
    """The descriptor with its status. Raises Unread unless it is a regular file."""
    try:
        status = os.fstat(descriptor)
        verdict = refuse.by_mode(status.st_mode)
        if verdict is not None:
            raise Unread(*verdict)
    except BaseException:
        os.close(descriptor)
        raise
    return OpenedSource(descriptor, status)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
