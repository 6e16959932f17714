"""A port that is taken: by whom, and which one is free.

Promises: asks the loopback interface alone, and only when a start has failed.
Does not: stop anybody, or take another port than the one that was given.
"""

from __future__ import annotations

import errno
import os
import socket

from helpers.errors import ConfigError
from ui.acceptor import LOOPBACK

LISTENS = "0A"  # the state of a listening socket in Linux's tables
NEXT_PORTS = 50  # ports after the one that is taken, of which a free one is offered


def port_taken(port: int, error: OSError) -> ConfigError:
    """The error of a start on `port` that failed with `error`."""
    if error.errno not in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
        return ConfigError(f"Port {port} on {LOOPBACK} cannot be used: {error.strerror}", _other())
    if error.errno == errno.EACCES:
        what = f"Port {port} on {LOOPBACK} may not be used by this account, or is kept by a program"
        return ConfigError(what, _other(1024))
    owner = _owner(port)
    by = f" by {owner}" if owner else ""
    return ConfigError(f"Port {port} on {LOOPBACK} is in use{by}", _other(port + 1))


def _other(start: int = 8769) -> str:
    free = next((n for n in range(start, min(start + NEXT_PORTS, 65_536)) if _is_free(n)), 0)
    return f"Give --port {free}." if free else "Give --port 0 for any free one."


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _owner(port: int) -> str:
    """The program that listens on `port`, where Linux tells; "" elsewhere."""
    inode = _listening_inode(port)
    if inode is None:
        return ""
    wanted = f"socket:[{inode}]"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            folder = f"/proc/{pid}/fd"
            if any(os.readlink(f"{folder}/{n}") == wanted for n in os.listdir(folder)):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode("utf-8", "replace").split("\0")
                command = " ".join(os.path.basename(word) for word in words[:2] if word)
                return f"process {pid} ({command})"
        except OSError:
            continue  # another user's, or it has ended
    return "another account's process"


def _listening_inode(port: int) -> str | None:
    for table in ("tcp", "tcp6"):  # one that listens on [::] may hold the port as well
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if row[3] == LISTENS and int(row[1].rpartition(":")[2], 16) == port:
                return row[9]
    return None
