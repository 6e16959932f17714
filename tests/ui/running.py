"""A console that runs: started as a user starts it, asked over its socket."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import doors

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Console:
    """A running `rag_server.py --ui`."""

    process: subprocess.Popen[str]
    port: int
    docs: Path
    state: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        return self.ask("GET", path, headers=headers)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, dict(headers or {}))
        return connection.getresponse()

    def json(self, path: str) -> Any:
        reply = self.get(path)
        value = json.loads(reply.read())
        assert reply.status == 200, value
        return value

    def token(self) -> str:
        found = re.search(rb'name="ragdoc-token" content="([^"]+)"', self.get("/").read())
        assert found is not None
        return found[1].decode()

    def change(self, name: str, body: Any, **changed: str) -> http.client.HTTPResponse:
        headers = {
            "Origin": self.address,
            "X-RagDoc-Token": self.token(),
            "Content-Type": "application/json",
            **changed,
        }
        return self.ask("POST", f"/api/{name}", json.dumps(body).encode(), headers)

    def raw(self, data: bytes, seconds: float = 10) -> bytes:
        """What comes back for these bytes until the console closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(data)
            received = b""
            with contextlib.suppress(ConnectionError):
                while data := connection.recv(65536):
                    received += data
            return received

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=20)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


def command(docs: Path, state: Path, *words: str) -> list[str]:
    where = ["--knowledge-dir", str(docs), "--data-dir", str(state)]
    return [sys.executable, str(ROOT / "rag_server.py"), "--ui", *where, *words]


def start(docs: Path, state: Path, port: int = 0) -> Console:
    """Start a console and wait until it listens."""
    process = subprocess.Popen(
        command(docs, state, "--port", str(port)),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found, line + process.stderr.read()
    return Console(process, int(found[1]), docs, state)


@contextlib.contextmanager
def running(docs: Path, state: Path) -> Iterator[Console]:
    console = start(docs, state)
    try:
        yield console
    finally:
        console.stop()


def sync(docs: Path, state: Path) -> None:
    """Index the folder, in the foreground."""
    where = ["--knowledge-dir", str(docs), "--data-dir", str(state), "--quiet"]
    done = doors.run(ROOT / "rag_sync.py", where)
    assert done.returncode in (0, 1), done.stderr
