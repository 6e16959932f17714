"""The detached worker: started so that neither its parent's end nor its own noise harms it.

Promises: the worker runs in a session of its own, with the null device as input, its output
in a log that stays under JOB_LOG_BYTES (see `logpump`), and no inherited descriptor but the
worker lock, which it therefore holds from its first instant (POSIX); on Windows the start
waits, briefly, until the worker has taken it. The environment is passed on whole: a sync may
need the operator's provider keys; the command line never carries one.
Does not: choose the job, write job files, or signal any process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.config import PROJECT
from helpers.errors import StoreError
from helpers.files import FileLock, is_locked, private_dir, private_file

WORKER = PROJECT / "rag_sync.py"
PUMP = Path(__file__).with_name("logpump.py")
LOG_NAME = "sync.log"
POLL_S = 0.01  # seconds between two looks at the lock of a new worker (Windows)

# Windows: no console, no Ctrl-C from the parent's group, and out of the parent's job object,
# which would end the worker together with the client that started the server.
_DETACHED_PROCESS, _NEW_GROUP, _BREAKAWAY = 0x00000008, 0x00000200, 0x01000000


def start_worker(
    job_id: str, flags: Sequence[str], logs_dir: Path, lock: FileLock, script: Path | None = None
) -> None:
    """Start the worker of `job_id` and give it `lock`, which is no longer held on return.

    Raises StoreError when no process can be started; the lock is then still held.
    """
    command = [sys.executable, os.fspath(script or WORKER), "--worker", "--job", job_id]
    inherited: tuple[int, ...] = ()
    if os.name == "posix" and lock.descriptor is not None:
        inherited = (lock.descriptor,)
        command += ["--lock-fd", str(lock.descriptor)]
    else:
        lock.release()
    worker = _start_with_log([*command, *flags], logs_dir, inherited)
    if inherited:
        lock.release()
    else:
        _wait_for_lock(lock.path, worker)


def log_path(logs_dir: Path) -> Path:
    """Where the worker's messages go; its older half is beside it, with `.1`."""
    return logs_dir / LOG_NAME


def _start_with_log(
    command: list[str], logs_dir: Path, inherited: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    log = private_file(log_path(private_dir(logs_dir)))
    pump_command = [sys.executable, "-I", "-S", os.fspath(PUMP)]
    pump_command += [os.fspath(log), str(limits.JOB_LOG_BYTES)]
    try:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        pump = _popen(pump_command, cwd=logs_dir, stdin=subprocess.PIPE, **quiet)
        _reap(pump)
        assert pump.stdin is not None
        with pump.stdin as sink:
            worker = _popen(
                command,
                cwd=logs_dir,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                pass_fds=inherited,
            )
    except OSError as error:
        raise StoreError(
            f"The sync worker cannot be started: {error.strerror or error}",
            "Free memory and processes, or run rag_sync.py in a terminal instead.",
        ) from error
    _reap(worker)
    return worker


def _popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    if os.name == "posix":
        return subprocess.Popen(command, close_fds=True, start_new_session=True, **options)
    options.pop("pass_fds", None)
    flags = _DETACHED_PROCESS | _NEW_GROUP
    try:
        return subprocess.Popen(command, creationflags=flags | _BREAKAWAY, **options)
    except PermissionError:  # the parent's job object allows no breakaway
        return subprocess.Popen(command, creationflags=flags, **options)


def _reap(process: subprocess.Popen[bytes]) -> None:
    # A server lives for weeks: without a waiter each finished worker would stay as a zombie.
    threading.Thread(target=process.wait, name="reap-worker", daemon=True).start()


def _wait_for_lock(path: Path, worker: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + limits.JOB_START_WAIT_S
    while time.monotonic() < until and worker.poll() is None and not is_locked(path):
        time.sleep(POLL_S)
