"""What the source tests share: making trees, the digest of one, and a child without rights."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.source.ignore import Rules
from helpers.source.names import join
from helpers.source.root import Root
from helpers.source.walk import Folder, walk

NOBODY = 65534


def write(root: Path, name: str | bytes, content: bytes = b"text") -> bytes:
    """Make a file, and the folders on the way; gives back its full path."""
    path = os.path.join(os.fsencode(root), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with open(descriptor, "wb") as file:
        file.write(content)
    return path


def walked(path: Path, rules: Rules | None = None) -> dict[bytes, Folder]:
    """Every folder of a walk by its relative path."""
    with Root(path) as root:
        return {folder.raw: folder for folder in walk(root, rules)}


def files(path: Path, rules: Rules | None = None) -> list[str]:
    """The relative paths of all files that may be read."""
    found = walked(path, rules).values()
    return sorted(os.fsdecode(join(f.raw, entry[0])) for f in found for entry in f.entries)


def refusals(path: Path, rules: Rules | None = None) -> dict[str, str]:
    """Relative path → code of everything refused."""
    found = walked(path, rules).values()
    return {os.fsdecode(r.raw): r.code for f in found for r in f.refusals}


def excluded(path: Path, rules: Rules | None = None) -> dict[str, int]:
    """Label → count of everything excluded."""
    total: dict[str, int] = {}
    for folder in walked(path, rules).values():
        for label, count in folder.excluded.items():
            total[label] = total.get(label, 0) + count
    return total


def tree_digest(path: Path, times: bool = True) -> str:
    """A digest over names, kinds, modes, contents and modification times of a whole tree."""
    hashed = hashlib.sha256()
    base = os.fsencode(path)
    for folder, folders, names in os.walk(base):
        folders.sort()
        for name in sorted(names + folders):
            full = os.path.join(folder, name)
            status = os.lstat(full)
            hashed.update(os.path.relpath(full, base) + b"\0" + str(status.st_mode).encode())
            if times:
                hashed.update(b"\0" + str(status.st_mtime_ns).encode())
            if stat.S_ISREG(status.st_mode):
                with open(full, "rb") as file:
                    hashed.update(file.read())
    return hashed.hexdigest()


@contextlib.contextmanager
def public_folder() -> Iterator[Path]:
    """A temporary folder that any account can reach; pytest's own are private."""
    path = Path(tempfile.mkdtemp(prefix="ragdoc-test-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        for folder, _, _ in os.walk(path):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o755)
        shutil.rmtree(path, ignore_errors=True)


def as_nobody(work: Callable[[], Any]) -> Any:
    """What `work` returns (JSON) in a child without root's rights; its own where already so."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(writer, json.dumps(work()).encode())
            code = 0
        except BaseException as error:
            os.write(writer, json.dumps(f"{type(error).__name__}: {error}").encode())
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        answer = json.loads(pipe.read())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, answer
    return answer


def without_override() -> None:
    """For `preexec_fn`: the program started next is denied what its owner's mode bits deny.

    A program of root's could not start as another account where Python itself lies in root's
    home; so root gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for good instead.
    """
    if os.getuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2):
            assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


posix_only = pytest.mark.skipif(os.name != "posix", reason="accounts and modes are POSIX")
