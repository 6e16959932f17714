"""A plain JSON-RPC client over a server's pipes, for tests that look at raw bytes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent.parent
STUB = REPOSITORY / "tests" / "server" / "stub_server.py"
SERVER = REPOSITORY / "rag_server.py"
REPLY_S = 30  # seconds a reply may take on a busy machine
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "0"},
}


class Session:
    """A server process, its replies by id, and every byte it wrote; `deaf` reads none."""

    def __init__(
        self,
        state: Path,
        *flags: str,
        script: Path = STUB,
        environment: Mapping[str, str] | None = None,
        deaf: bool = False,
    ) -> None:
        (state / "library").mkdir(parents=True, exist_ok=True)
        words = ["--knowledge-dir", str(state / "library"), "--data-dir", str(state / "state")]
        self.process = subprocess.Popen(
            [sys.executable, str(script), *words, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self.lines: list[bytes] = []
        self._replies: queue.Queue[bytes | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [
            threading.Thread(target=target, daemon=True)
            for target in ((self._err,) if deaf else (self._out, self._err))
        ]
        for thread in self._threads:
            thread.start()
        self._next_id = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(REPLY_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def open(self) -> dict[str, Any]:
        """The initialize handshake; returns its result."""
        result = self.request("initialize", HELLO)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return dict(result)

    def send(self, message: Mapping[str, Any] | bytes) -> None:
        """Write one message, or raw bytes as they are."""
        data = message
        if not isinstance(data, bytes):
            data = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def post(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request without waiting; returns its id."""
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self._next_id

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the reply that carries its id."""
        identity = self.post(method, params)
        while True:
            reply = self.reply()
            if reply.get("id") == identity:
                return reply

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in reply, reply
        return dict(reply["result"])

    def reply(self) -> dict[str, Any]:
        """The next message from the server."""
        line = self._replies.get(timeout=REPLY_S)
        assert line is not None, f"the server ended: {self.errors()}"
        return dict(json.loads(line))

    def end(self) -> tuple[int, float]:
        """Close the server's input; returns its exit code and the seconds it took to end."""
        assert self.process.stdin is not None
        started = time.monotonic()
        self.process.stdin.close()
        code = self.process.wait(REPLY_S)
        taken = time.monotonic() - started
        for thread in self._threads:
            thread.join(REPLY_S)
        return code, taken

    def errors(self) -> str:
        """What the server wrote to standard error so far."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def _out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._replies.put(line)
        self._replies.put(None)

    def _err(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)
