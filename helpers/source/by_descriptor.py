"""Steps through folders by descriptors: for systems with `openat` (Linux, macOS, BSD).

The threat: between a look at a path and the opening of it, a file or a folder on the way is
swapped for a symbolic link, and bytes from elsewhere are read. So no path is ever resolved:
each step opens one name inside the folder already held, refusing a link, and the answer to
"what is it" comes from the descriptor that will be read.

Promises: a handle is a descriptor of a real folder reached without a link; a named pipe or a
device never blocks; descriptors are not inherited.
Does not: judge names, close handles it did not open, or work on Windows (see `by_path`).
"""

from __future__ import annotations

import os

Handle = int

_COMMON = os.O_CLOEXEC | os.O_NOFOLLOW
_LIST = os.O_RDONLY | os.O_DIRECTORY | _COMMON
# Passing through a folder needs the right to enter it, not to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _COMMON
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _COMMON


def open_root(path: str) -> Handle:
    """The knowledge folder itself, already resolved; the only path that is opened."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def enter(handle: Handle, name: bytes) -> Handle:
    """A folder to pass through. Raises OSError."""
    return os.open(name, _PASS, dir_fd=handle)


def enter_to_list(handle: Handle, name: bytes) -> Handle:
    """A folder whose entries will be listed. Raises OSError."""
    return os.open(name, _LIST, dir_fd=handle)


def open_file(handle: Handle, name: bytes) -> int:
    """A descriptor of what stands there, read-only; the caller still asks it what it is."""
    return os.open(name, _FILE, dir_fd=handle)


def look(handle: Handle, name: bytes) -> os.stat_result:
    """What stands there, links not followed."""
    return os.stat(name, dir_fd=handle, follow_symlinks=False)


def identity(handle: Handle) -> tuple[int, int]:
    """(st_dev, st_ino) of a folder."""
    status = os.fstat(handle)
    return status.st_dev, status.st_ino


def leave(handle: Handle) -> None:
    """Close a handle."""
    os.close(handle)
