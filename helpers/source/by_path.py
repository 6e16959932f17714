r"""Steps through folders by paths: for Windows, which has no `openat`.

The same threat as in `by_descriptor`, met as well as the system allows: every name on the way
is looked at and a link or junction refused, then the file is opened, then every folder on the
way is looked at again and must be the very same one, and the open file must be the one seen.
What remains: a folder swapped for a junction and back again between two looks. Creating one
needs write access to the knowledge folder.

Promises: paths longer than 260 characters work (`\\?\` prefix); a link, junction or other
name surrogate is never passed through knowingly.
Does not: pretend to be free of races, as the descriptor steps are.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import NamedTuple

WINDOWS = sys.platform == "win32"
_NAME_SURROGATE = 0x2000_0000  # of st_reparse_tag
_FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


class Handle(NamedTuple):
    """A folder by its path, with what was seen on the way there."""

    path: str
    chain: tuple[tuple[str, int, int], ...]  # (path, st_dev, st_ino) from the root down


def open_root(path: str) -> Handle:
    """The knowledge folder itself, already resolved."""
    return _handle(long_path(path), ())


def enter(handle: Handle, name: bytes) -> Handle:
    """A folder to pass through. Raises OSError."""
    return _handle(os.path.join(handle.path, os.fsdecode(name)), handle.chain)


enter_to_list = enter


def open_file(handle: Handle, name: bytes) -> int:
    """A descriptor of the regular file that was seen there."""
    path = os.path.join(handle.path, os.fsdecode(name))
    before = _real(path)
    if not stat.S_ISREG(before.st_mode):
        raise OSError(errno.ENXIO, "not a regular file", path)
    descriptor = os.open(path, _FILE | getattr(os, "O_NONBLOCK", 0))
    try:
        after = os.fstat(descriptor)
        if (after.st_dev, after.st_ino) != (before.st_dev, before.st_ino):
            raise OSError(errno.ELOOP, "replaced while it was opened", path)
        for folder, device, inode in handle.chain:
            seen = _real(folder)
            if (seen.st_dev, seen.st_ino) != (device, inode):
                raise OSError(errno.ELOOP, "a folder was replaced meanwhile", folder)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def look(handle: Handle, name: bytes) -> os.stat_result:
    """What stands there, links not followed."""
    return os.lstat(os.path.join(handle.path, os.fsdecode(name)))


def identity(handle: Handle) -> tuple[int, int]:
    """(st_dev, st_ino) of a folder."""
    return handle.chain[-1][1:]


def leave(handle: Handle) -> None:
    """Nothing is held."""


def long_path(path: str, windows: bool = WINDOWS) -> str:
    r"""The form that lifts Windows' limit of 260 characters: `\\?\C:\...`, `\\?\UNC\...`."""
    if not windows or path.startswith("\\\\?\\"):
        return path
    if path.startswith("\\\\"):
        return "\\\\?\\UNC\\" + path[2:]
    return "\\\\?\\" + path


def _handle(path: str, chain: tuple[tuple[str, int, int], ...]) -> Handle:
    status = _real(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return Handle(path, (*chain, (path, status.st_dev, status.st_ino)))


def _real(path: str) -> os.stat_result:
    """lstat that refuses links and junctions."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) & _NAME_SURROGATE:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return status
