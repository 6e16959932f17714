"""State files: private directories, atomic JSON, and the lock that proves a worker lives.

Promises: a reader of `write_json`'s file sees the old value or the new one, never half
(temp + fsync + os.replace); directories are 0700 and files 0600 whatever the umask; a lock
is freed by the operating system when its holder dies, however it dies.
Does not: create anything outside the path it is given, or follow what a caller did not name.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from helpers.errors import DiskFull, StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
LOCK_RETRY_S = 0.01  # seconds between two tries of a patient acquirer
FULL_ERRNOS = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EFBIG", "EDQUOT") if hasattr(errno, name)
)


def private_dir(path: Path) -> Path:
    """Make `path` (and its parents) and give it mode 0700. Raises StoreError."""
    try:
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        if os.name == "posix" and path.stat().st_mode & 0o077 and path.stat().st_uid == os.getuid():
            path.chmod(DIRECTORY_MODE)
    except OSError as error:
        raise _state_error(path, error) from error
    return path


def private_file(path: Path) -> Path:
    """Make `path` if it is absent and give it mode 0600. Raises StoreError."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, FILE_MODE)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _state_error(path, error) from error
    return path


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as UTF-8 JSON, atomically. Raises DiskFull or StoreError."""
    try:
        temporary = f"{path.parent}/.{path.name}.{os.getpid()}-{os.urandom(4).hex()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOEXEC, FILE_MODE)
    except OSError as error:
        raise _state_error(path, error) from error
    try:
        # A path that is no UTF-8 is kept by the escapes of its bytes, which JSON reads back.
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise _state_error(path, error) from error


def read_json(path: Path) -> Any:
    """The value in `path`, or None where there is no such file. Raises StoreError."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _state_error(path, error) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} holds no JSON: {error}", "Mend it or remove it.") from error


class FileLock:
    """An advisory lock on a file of its own; held until `release` or the process's death."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @classmethod
    def adopt(cls, path: Path, descriptor: int) -> FileLock:
        """The lock that a parent took and passed down as an open descriptor (POSIX).

        Falls back to a lock that is not held when `descriptor` is not that file.
        """
        lock = cls(path)
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)) and _lock(descriptor, False):
                os.set_inheritable(descriptor, False)
                lock._descriptor = descriptor
        return lock

    @property
    def descriptor(self) -> int | None:
        """The open descriptor that carries the lock, to pass down; None when not held."""
        return self._descriptor

    def acquire(self, blocking: bool = False, patience_s: float = 0.0) -> bool:
        """Take the lock; False when another process still holds it after `patience_s`.

        Raises StoreError.
        """
        until = time.monotonic() + patience_s
        while not self._try(blocking):
            if time.monotonic() >= until:
                return False
            time.sleep(LOCK_RETRY_S)
        return True

    def _try(self, blocking: bool) -> bool:
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, FILE_MODE)
        except OSError as error:
            raise _state_error(self.path, error) from error
        if not _lock(descriptor, blocking):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Free the lock; does nothing when it is not held."""
        if self._descriptor is None:
            return
        _unlock(self._descriptor)
        self._descriptor = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def __enter__(self) -> FileLock:
        self.acquire(blocking=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Whether another open file description holds the lock on `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _state_error(path, error) from error
    try:
        return not _lock(descriptor, blocking=False, shared=True)
    finally:
        _unlock(descriptor)


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def _unlock(descriptor: int) -> None:
    # Closing is enough on POSIX, and leaves the lock with a child that holds the same descriptor.
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    os.close(descriptor)


def _lock(descriptor: int, blocking: bool, shared: bool = False) -> bool:
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        while True:
            try:
                # LK_LOCK gives up after 10 tries of one second, so a blocking caller asks again.
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if blocking else msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not blocking:
                    return False
    else:
        try:
            # A shared probe never makes another probe believe that somebody holds the lock.
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | (0 if blocking else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True


def _replace(temporary: str, path: Path) -> None:
    try:
        os.replace(temporary, path)
    except PermissionError:
        # Windows refuses while a reader has the file open without share-delete: once more, after
        # the reader's short read; a second refusal is a real one.
        if os.name != "nt":
            raise
        with open(path, "rb") as reader:
            reader.read()
        os.replace(temporary, path)


def _state_error(path: Path, error: BaseException) -> StoreError:
    number = getattr(error, "errno", None)
    if number in FULL_ERRNOS:
        return DiskFull(
            f"The disk is full: {path} cannot be written",
            "Free space there or give another --data-dir, then run the command again.",
        )
    detail = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"{path} cannot be used: {detail}",
        "Check its permissions, or give another --data-dir.",
    )
