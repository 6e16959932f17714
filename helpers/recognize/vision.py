"""Correction of recognised text by a vision model on this machine, where the operator wants it.

The server speaks the chat completions of the OpenAI API with pictures (as llama.cpp, vLLM, LM
Studio and Ollama do). It gets one page at a time: its picture and what was recognised on it.

Promises: nothing but loopback is asked; a correction is taken only where `judge` has nothing
against it, else the recognised text stays as it was; a server that is down, slow or talks
nonsense costs a page its correction and nothing else, and after FAILURES in a row it is left
alone for the rest of the sync.
Does not: recognise by itself, think aloud, or change where a paragraph stands.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.errors import RemoteError, Unread
from helpers.log import get_logger
from helpers.recognition import PROVISIONAL, Piece, Recognised
from helpers.recognize import judge, render
from helpers.recognize.command import CommandFailed
from helpers.recognize.engine import Engine
from helpers.recognize.render import Drawer
from helpers.recognize.task import Task
from helpers.remote import loopback
from helpers.remote.loopback import Address

FAILURES = 3  # pages in a row that the server did not answer for
READY_S = 120.0  # seconds that a server which was just started may take to be ready
POLL_S = 0.5  # seconds between two looks at whether it is
CORRECTION = "correction"  # a fact: "accepted", "unchanged", or why it was not
PROMPT = (
    "Below is the text that OCR read on this page. Correct its wrong letters by the picture."
    " Keep language, order and line breaks. Add nothing, translate nothing, explain nothing,"
    " change no number. Answer with the corrected text alone.\n\n"
)
_logger = get_logger("vision")


@dataclass(frozen=True, slots=True)
class Server:
    """Where the model answers, what it is called, and how it is started and stopped."""

    url: Address
    model: str
    control: Address | None = None
    start: bool = False
    stop: bool = False


class Corrected:
    """An engine whose text another engine read and a vision model corrects."""

    def __init__(self, inner: Engine, server: Server, drawer: Callable[[], Drawer | None]) -> None:
        self.inner, self.server, self._drawer = inner, server, drawer
        self._one = threading.Lock()  # one page at a time
        self._failures = 0
        self._started = False

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def fingerprint(self) -> str:
        model = hashlib.sha256(self.server.model.encode()).hexdigest()[:12]
        return f"{self.inner.fingerprint}+vision:{model}"

    @property
    def refusal(self) -> Unread | None:
        return self.inner.refusal

    def recognise(self, task: Task) -> Recognised:
        """The recognised text, corrected where that may be. Raises as `inner` does."""
        found = self.inner.recognise(task)
        if not any(piece.text.strip() for piece in found.pieces):
            return found
        try:
            with self._one:
                return self._corrected(task, found)
        except (RemoteError, CommandFailed, OSError) as error:
            _logger.warning("a page was not corrected: %s", error)
            return _with(found, {CORRECTION: "not answered", PROVISIONAL: "1"})

    def close(self) -> None:
        """The sync has ended: stop the server, where that is wanted and it was started here."""
        if self._started and self.server.stop and self.server.control is not None:
            self._started = False
            try:
                loopback.ask(self.server.control, "/stop", {}, READY_S)
            except RemoteError as error:
                _logger.warning("the vision server was not stopped: %s", error)

    def _corrected(self, task: Task, found: Recognised) -> Recognised:
        task.checkpoint()
        if self._failures >= FAILURES:
            raise RemoteError("The vision server did not answer for earlier pages", "")
        picture = self._picture(task)
        if picture is None:
            return _with(found, {CORRECTION: "its picture cannot be sent"})
        text = "\n\n".join(piece.text for piece in found.pieces)
        if len(text) > judge.JUDGED_CHARS:
            return _with(found, {CORRECTION: "it is too long"})
        try:
            answer = self._ask(task, text, picture)
        except RemoteError:
            self._failures += 1
            raise
        self._failures = 0
        against = judge.objection(text, answer)
        if against is not None:
            return _with(found, {CORRECTION: f"refused: {against}"})
        if answer == text:
            return _with(found, {CORRECTION: "unchanged"})
        pieces = tuple(Piece(part) for part in re.split(r"\n\s*\n", answer) if part.strip())
        facts = {CORRECTION: "accepted", "vision_model": self.server.model}
        return _with(replace(found, pieces=pieces), facts)

    def _ask(self, task: Task, text: str, picture: tuple[str, bytes]) -> str:
        self._start(task)
        kind, data = picture
        url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
        content: list[dict[str, Any]] = [
            {"type": "text", "text": PROMPT + text},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        body = {
            "model": self.server.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": min(8_192, 512 + 2 * len(text)),
            "stream": False,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        seconds = limits.OCR_VISION_PAGE_S
        answer = loopback.ask(self.server.url, "/chat/completions", body, seconds, task.checkpoint)
        try:
            choice = answer["choices"][0]
            told = choice["message"]["content"]
        except (KeyError, IndexError, TypeError):
            told, choice = None, {}
        if not isinstance(told, str) or choice.get("finish_reason") == "length":
            raise RemoteError(f"{self.server.url} gave no whole answer", "See its log.")
        return judge.cleaned(told)

    def _start(self, task: Task) -> None:
        """Start the server once, where that is wanted, and wait until it is ready."""
        control = self.server.control
        if self._started or not self.server.start or control is None:
            return
        loopback.ask(control, "/start", {}, READY_S, task.checkpoint)
        self._started = True
        until = time.monotonic() + READY_S
        while True:
            try:
                loopback.ask(self.server.url, "/models", None, 5, task.checkpoint)
                return
            except RemoteError:
                task.checkpoint()
                if time.monotonic() > until:
                    raise
                time.sleep(POLL_S)

    def _picture(self, task: Task) -> tuple[str, bytes] | None:
        """(type, bytes) of the page's picture, None where it cannot be sent as one."""
        most = limits.OCR_VISION_PICTURE_BYTES
        if task.wanted.kind == "page":
            drawn = task.folder / "page.pgm"
            path = drawn if drawn.exists() else render.draw(task, self._drawer())
            data = _png(path)
            return ("image/png", data) if data is not None and len(data) <= most else None
        path = task.material.path()
        if path.stat().st_size > most:
            return None
        data = path.read_bytes()
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
        known = data.startswith((b"\x89PNG\r\n", b"\xff\xd8\xff"))
        return (kind, data) if known else None


def _png(path: Path) -> bytes | None:
    """A binary PGM (Netpbm P5, 8 bits) as PNG; None for another file."""
    data = path.read_bytes()
    head = re.match(rb"P5\s+(?:#.*\n\s*)*(\d+)\s+(\d+)\s+255\s", data)
    if head is None:
        return None
    width, height = int(head[1]), int(head[2])
    rows = memoryview(data)[head.end() :]
    if len(rows) < width * height or width * height > limits.OCR_PIXELS:
        return None
    lines = (b"\0" + bytes(rows[at : at + width]) for at in range(0, width * height, width))
    packed = zlib.compress(b"".join(lines), 6)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", packed),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )


def _with(found: Recognised, facts: dict[str, str]) -> Recognised:
    return replace(found, facts={**found.facts, **facts})
