"""The console's HTTP: one page, its parts, its answers, the originals; on 127.0.0.1 alone.

Promises: every request passes the gate first; every answer forbids scripts, frames and requests
other than the console's own; bodies are capped before they are read; an original is sent as
what cannot run (PDF, pictures, recordings, plain text) or as a download; originals that are
fetched slowly leave threads for everything else; nothing a document holds reaches a header
unescaped. Runs on the standard library alone.
Does not: decide what an address means (see routes.py), who may ask (gate.py), or when a request
is complete (acceptor.py).
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import os
import re
import secrets
import signal
import socket
import sys
import threading
import urllib.parse
from collections.abc import Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from helpers import limits, log
from helpers.catalogue import NoDocument, Original
from helpers.config import VERSION
from helpers.errors import BusyError, ConfigError, RagDocError, StoreError, UsageError
from ui import neighbours
from ui.acceptor import LOOPBACK, Acceptor
from ui.gate import Asked, Refusal, refusal
from ui.routes import Console, problem

HERE = Path(__file__).parent
PAGES = ("/", "/files", "/sync", "/health")
PARTS = {
    "/rag.css": ("rag.css", "text/css; charset=utf-8"),
    "/rag.js": ("rag.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/words/{name}.json": (f"words/{name}.json", "application/json")
        for name in ("en", "ko", "th")
    },
}
TOKEN_MARK = b"{{token}}"
MAX_FIELDS = 32  # fields after the ? of an address
PIECE_BYTES = 256 * 1024  # bytes of an original sent at a time
# What a browser shows without running anything in it; every other type is a download.
INLINE = {
    "pdf": "application/pdf",
    **{name: f"image/{name}" for name in ("png", "gif", "bmp", "webp")},
    **{"jpg": "image/jpeg", "jpeg": "image/jpeg", "jfif": "image/jpeg"},
    **{"mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "aac": "audio/aac"},
    **{"m4a": "audio/mp4", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg"},
    **{"mp4": "video/mp4", "webm": "video/webm"},
}
PLAIN = ("txt", "text", "log", "md", "markdown", "csv", "tsv", "json", "yaml", "yml", "toml", "rst")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The browser's own viewer of a picture or a recording draws with inline style.
ORIGINAL_POLICY = (
    "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline';"
    " frame-ancestors 'none'"
)
CHARSET = re.compile("[A-Za-z0-9_-]{2,40}")  # what may stand in a header as the name of one
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_logger = log.get_logger("console")


def serve(console: Console, port: int) -> int:
    """Serve until SIGINT or SIGTERM. Raises ConfigError where the port cannot be had."""
    token = secrets.token_urlsafe(32)
    page = Page(console, token)
    try:
        acceptor = Acceptor(port, page.answer)
    except OSError as error:
        raise neighbours.port_taken(port, error) from error
    page.port = acceptor.port
    with contextlib.closing(acceptor):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: acceptor.stop())
        print(f"Console on http://{LOOPBACK}:{acceptor.port}/", file=sys.stderr, flush=True)
        acceptor.serve()
    return 0


class Page:
    """The console of one start: its token, its port, its files."""

    def __init__(self, console: Console, token: str) -> None:
        self.console, self.token = console, token
        self.port = 0
        self.originals = threading.Semaphore(limits.UI_ORIGINALS)

    def answer(self, connection: socket.socket, received: bytes) -> None:
        """Answer one request; its connection is closed afterwards by who called."""
        try:
            _Request(self, connection, received).handle_one_request()
        except (OSError, ValueError):
            pass  # the client has gone, or stopped reading

    @functools.cache  # noqa: B019 (one object for the life of the process)
    def part(self, name: str) -> tuple[bytes, bytes]:
        """A file of the page, plain and packed."""
        data = (HERE / name).read_bytes()
        if name == "rag.html":
            data = data.replace(TOKEN_MARK, self.token.encode())
        return data, gzip.compress(data, mtime=0)


class _Request(BaseHTTPRequestHandler):
    """One request and its answer."""

    protocol_version = "HTTP/1.1"
    server_version = "RagDoc"
    sys_version = ""

    def __init__(self, page: Page, connection: socket.socket, received: bytes) -> None:
        self.page = page
        self.connection = connection
        self.client_address = (LOOPBACK, 0)
        self.rfile = io.BufferedReader(_Received(connection, received))
        self.wfile = io.BufferedWriter(_Sent(connection), PIECE_BYTES)

    # --- the three methods ------------------------------------------------------------

    def do_GET(self) -> None:
        url = _address(self.path)
        if not self._admitted(url.path in PAGES):
            return
        if url.path in PAGES:
            self._send_part("rag.html", "text/html; charset=utf-8")
        elif url.path in PARTS:
            self._send_part(*PARTS[url.path])
        elif url.path == "/original":
            self._guarded(lambda: self._original(_values(url)))
        elif url.path.startswith("/api/"):
            read = self.page.console.reads().get(url.path[5:])
            if read is None:
                self._send_error(404, "There is no such address.")
            else:
                self._guarded(lambda: self._send_json(200, read(_values(url))))
        else:
            self._send_error(404, "There is no such page.")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        url = _address(self.path)
        if not self._admitted(is_page=False):
            return
        change = self.page.console.changes().get(url.path.removeprefix("/api/"))
        if change is None or not url.path.startswith("/api/"):
            self._send_error(404, "There is no such address.")
            return
        body = self._body()
        if body is not None:
            self._guarded(lambda: self._send_json(200, change(body)))

    def __getattr__(self, name: str) -> Any:
        """Every other method meets the gate, which refuses it."""
        if name.startswith("do_"):
            return lambda: self._admitted(is_page=False)
        raise AttributeError(name)

    # --- before an answer -------------------------------------------------------------

    def _admitted(self, is_page: bool) -> bool:
        found = refusal(self._asked(is_page), self.page.port, self.page.token)
        if found is None:
            return True
        self._refuse(found)
        return False

    def _asked(self, is_page: bool) -> Asked:
        one = self.headers.get_all
        hosts = one("Host") or []
        return Asked(
            self.command,
            hosts[0].strip() if len(hosts) == 1 else None,
            self.headers.get("Origin"),
            self.headers.get("Sec-Fetch-Site"),
            self.headers.get("X-RagDoc-Token"),
            self.headers.get("Content-Type"),
            is_page,
        )

    def _body(self) -> Mapping[str, Any] | None:
        """The JSON object sent, or None after an answer that says what is wrong with it."""
        most = limits.UI_BODY_BYTES
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not _digits(length):
            self._send_error(411, "Say how long the body is (Content-Length).")
            return None
        if len(length) > 12 or int(length) > most:
            self._send_error(413, f"The body has {length} > {most:,} bytes.")
            return None
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            body = json.loads(self.rfile.read(int(length)) or b"{}")
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self._send_error(400, "The body is no JSON object.")
            return None
        return body

    def handle_expect_100(self) -> bool:
        """Nothing yet: who asks is judged before a body is asked for."""
        return True

    def _guarded(self, work: Any) -> None:
        """Run `work`; what fails becomes an answer with a remedy."""
        try:
            work()
        except RagDocError as error:
            self._send_json(_status_of(error), problem(error))
        except OSError:
            raise
        except Exception:
            _logger.exception("the console could not answer %s", self.path.partition("?")[0])
            self._send_error(500, "The console failed at this. Its log says more.")

    # --- answers ----------------------------------------------------------------------

    def _refuse(self, found: Refusal) -> None:
        self._send_error(found.status, found.reason)

    def _send_error(self, status: int, what: str) -> None:
        error = {"code": f"http_{status}", "what": what.rstrip("."), "remedy": ""}
        self._send_json(status, {"error": error})

    def _send_json(self, status: int, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        data = text.encode("utf-8", "backslashreplace")  # half a surrogate pair: a JSON escape
        self._send(status, "application/json", data)

    def _send_part(self, name: str, kind: str, status: int = 200) -> None:
        plain, packed = self.page.part(name)
        self._send(status, kind, plain, packed)

    def _send(self, status: int, kind: str, data: bytes, packed: bytes | None = None) -> None:
        headers = {"Content-Type": kind, "Content-Security-Policy": POLICY}
        if "gzip" in self.headers.get("Accept-Encoding", "") and len(data) > 1400:
            data = packed or gzip.compress(data, 3)
            headers["Content-Encoding"] = "gzip"
        self._start(status, headers, len(data))
        if self.command != "HEAD":
            self.wfile.write(data)
        self.wfile.flush()

    def _original(self, given: Mapping[str, str]) -> None:
        """The original; where it cannot be had, a browser that goes there gets the page, which
        asks for the reason and says it in its own words."""
        if not self.page.originals.acquire(blocking=False):
            self._send_error(503, "Too many originals are being fetched. Try again in a moment.")
            return
        try:
            self._send_original(self.page.console.original(given))
        except RagDocError as error:
            if "text/html" not in self.headers.get("Accept", ""):
                raise
            self._send_part("rag.html", "text/html; charset=utf-8", _status_of(error))
        finally:
            self.page.originals.release()

    def _send_original(self, found: Original) -> None:
        with contextlib.closing(found.opened):
            kind = _shown_as(found)
            name = urllib.parse.quote(found.name, safe="")
            headers = {
                "Content-Type": kind or "application/octet-stream",
                "Content-Disposition": f"{'inline' if kind else 'attachment'}; "
                f"filename*=UTF-8''{name}",
                "Content-Security-Policy": ORIGINAL_POLICY,
                "Accept-Ranges": "bytes",
            }
            first, last, status = _range(self.headers.get("Range"), found.size)
            if status == 206:
                headers["Content-Range"] = f"bytes {first}-{last}/{found.size}"
            if status == 416:
                headers["Content-Range"] = f"bytes */{found.size}"
            self._start(status, headers, last - first + 1)
            if self.command != "HEAD":
                self._copy(found.opened.fd, first, last)
            self.wfile.flush()

    def _copy(self, descriptor: int, first: int, last: int) -> None:
        os.lseek(descriptor, first, os.SEEK_SET)
        left = last - first + 1
        while left > 0:
            data = os.read(descriptor, min(PIECE_BYTES, left))
            if not data:  # it became shorter: the length promised cannot be kept
                raise OSError("the file changed while it was sent")
            self.wfile.write(data)
            left -= len(data)

    def _start(self, status: int, headers: Mapping[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library finds wrong with a head, in our form."""
        self.command = getattr(self, "command", None) or "GET"
        if not hasattr(self, "headers"):
            self.headers = Message()
        self._send_error(code, message or "The request is not understood.")

    def version_string(self) -> str:
        return f"RagDoc/{VERSION}"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: an address holds what was searched for."""


class _Received(io.RawIOBase):
    """What was received already, then the connection."""

    def __init__(self, connection: socket.socket, received: bytes) -> None:
        super().__init__()
        self._connection, self._received = connection, memoryview(received)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._received:
            count = min(len(buffer), len(self._received))
            buffer[:count] = self._received[:count]
            self._received = self._received[count:]
            return count
        return self._connection.recv_into(buffer)


class _Sent(io.RawIOBase):
    """The connection, written to its end or to a time-out."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._connection.sendall(data)
        return len(data)


def _address(path: str) -> urllib.parse.SplitResult:
    """The parts of a request's target; all are empty where it is no path on this server."""
    return urllib.parse.urlsplit(path if path.startswith("/") else "")


def _shown_as(found: Original) -> str | None:
    """The type under which a browser shows an original, None where it is a download."""
    ending = found.name.rpartition(".")[2].lower()
    if ending not in PLAIN:
        return INLINE.get(ending)
    known = CHARSET.fullmatch(found.encoding) and found.encoding != "ASCII"
    return f"text/plain; charset={found.encoding if known else 'utf-8'}"


def _values(url: urllib.parse.SplitResult) -> dict[str, str]:
    """What an address asks. Raises UsageError where it is too much or no UTF-8."""
    try:
        pairs = urllib.parse.parse_qsl(
            url.query, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except UnicodeDecodeError:
        raise UsageError("The address is no UTF-8", "Write it in UTF-8.") from None
    except ValueError:
        many = url.query.count("&") + 1
        raise UsageError(f"The address has {many} > {MAX_FIELDS} fields", "Ask less.") from None
    return dict(pairs)


def _range(asked: str | None, size: int) -> tuple[int, int, int]:
    """(first byte, last byte, status) of one range as in RFC 9110, 14.1.2; anything else: all."""
    unit, _, span = (asked or "").partition("=")
    start, dash, end = span.strip().partition("-")
    if unit.strip() != "bytes" or not dash or not _digits(start + end) or len(span) > 40:
        return 0, size - 1, 200
    if not start:
        first, last = max(0, size - int(end)), size - 1
    else:
        first, last = int(start), min(int(end or size - 1), size - 1)
    return (first, last, 206) if first <= last else (0, -1, 416)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _status_of(error: RagDocError) -> int:
    kinds = ((NoDocument, 404), (UsageError, 400), (BusyError, 409), (StoreError, 503))
    found = [status for kind, status in kinds if isinstance(error, kind)]
    return found[0] if found else 503 if isinstance(error, ConfigError) else 500
