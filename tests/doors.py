"""Doors that start warm: a process that has imported them forks for every run.

Importing is two thirds of what a run of `rag_sync.py` over one small file takes (0.2 of 0.3 s).
Promises: the script runs as `__main__`, in a process of its own, with its own arguments,
environment, folder and streams, and ends as any Python does; where a process cannot fork, it
starts cold.
Does not: what an interpreter does before a script's first line (flags, `PYTHON…` variables, the
locale). A test of that starts the script itself, as do those of detached workers and of servers.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = ("rag_sync", "rag_search", "helpers.intake", "helpers.semantic.client")
Done = subprocess.CompletedProcess[str]


def run(
    script: Path, words: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 120
) -> Done:
    """Run a script to its end and capture what it says.

    Raises subprocess.TimeoutExpired when it took longer than `timeout` seconds and was killed.
    """
    command = [str(script), *words]
    if hasattr(os, "fork"):
        return _template.run(command, dict(os.environ if env is None else env), timeout)
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        encoding="utf-8",
        env=env,
        timeout=timeout,
        check=False,
    )


class Template:
    """The process that forks; it starts with the first run and ends with the tests."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: list[str], env: dict[str, str], timeout: float) -> Done:
        with self._busy, tempfile.TemporaryDirectory() as streams:
            wanted = {"command": command, "env": env, "folder": os.getcwd(), "streams": streams}
            code = self._ask(json.dumps(wanted).encode() + b"\n", timeout)
            if code is None:
                raise subprocess.TimeoutExpired(command, timeout)
            out, err = (Path(streams, name).read_text("utf-8") for name in ("out", "err"))
            return subprocess.CompletedProcess(command, code, out, err)

    def _ask(self, wanted: bytes, timeout: float) -> int | None:
        """The exit code as subprocess gives it; None when time ran out."""
        process = self._process = self._process or self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(wanted)
        pid = int(process.stdout.readline())
        in_time = bool(select.select([process.stdout], [], [], timeout)[0])
        if not in_time:
            os.kill(pid, signal.SIGKILL)
        code = int(process.stdout.readline())
        return code if in_time else None

    def _started(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        command = [sys.executable, __file__]
        process = subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, cwd=ROOT)
        atexit.register(process.wait)
        assert process.stdin is not None
        atexit.register(process.stdin.close)  # runs first, and ends it
        return process


_template = Template()


# --- inside the template ----------------------------------------------------------------------


def serve() -> None:
    """Fork for every line of JSON; answer with the pid, then with the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    sys.path[0] = str(ROOT)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # no fork looks through what is imported when it ends: 20 ms of 60
    while line := os.read(0, 1_000_000):
        while not line.endswith(b"\n"):
            line += os.read(0, 1_000_000)
        pid = os.fork()
        if not pid:
            return _become(**json.loads(line))
        os.write(1, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(command: list[str], env: dict[str, str], folder: str, streams: str) -> None:
    """Be the script: in a fork, to its end."""
    for number, name in enumerate(("in", "out", "err")):
        path = os.path.join(streams, name) if number else os.devnull
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    serve()
