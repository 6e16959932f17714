"""JSON over HTTP to a program on this machine.

The threat: an address that looks local and is not, a redirect or a proxy that carries a page of
a private document away, an answer without end.
Promises: only 127.0.0.0/8, ::1 and the name localhost are addresses; a connection goes to a
loopback address and nowhere else, whatever proxies the environment names; redirects are errors;
answers are capped; waiting can be given up at any time.
Does not: use TLS, keep connections, or send any key.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import selectors
import socket
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from helpers import limits
from helpers.errors import ConfigError, RemoteError, shown

CONNECT_S = 5.0  # seconds to connect, and between two pieces of an answer
LOOK_S = 0.2  # seconds between two looks at whether the answer is still wanted


@dataclass(frozen=True, slots=True)
class Address:
    """A base address on this machine, such as http://127.0.0.1:8090/v1."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.path}"


def address(name: str, text: str) -> Address:
    """The address in setting `name`. Raises ConfigError unless it is http on loopback."""
    remedy = "Give one such as http://127.0.0.1:8090/v1: nothing but this machine is asked."
    try:
        url = urllib.parse.urlsplit(text)
        host, port = url.hostname or "", url.port or 80
    except ValueError:
        raise ConfigError(f"{name} is {shown(text)}, which is no address", remedy) from None
    if url.scheme != "http" or url.username is not None or url.query or url.fragment:
        raise ConfigError(f"{name} is {shown(text)}, which is no plain http address", remedy)
    if host != "localhost" and not _is_loopback(host):
        raise ConfigError(f"{name} is {shown(text)}, which is not on this machine", remedy)
    return Address(host, port, url.path.rstrip("/"))


def ask(
    where: Address,
    path: str,
    body: Any = None,
    seconds: float = 30.0,
    checkpoint: Callable[[], None] = lambda: None,
) -> Any:
    """The JSON that comes back: for a POST of `body`, for a GET where it is None.

    `checkpoint` is called every LOOK_S while nothing has come and may raise. Raises RemoteError
    for whatever else keeps an answer of status 200 from coming within `seconds`.
    """
    until = time.monotonic() + seconds
    connection = http.client.HTTPConnection(_numeric(where), where.port, timeout=CONNECT_S)
    try:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Host": f"{where.host}:{where.port}", "Content-Type": "application/json"}
        method = "GET" if data is None else "POST"
        connection.request(method, where.path + path, data, headers)
        _await(connection.sock, until, checkpoint, where)
        reply = connection.getresponse()
        text = _read(reply, until, checkpoint, where)
    except (OSError, http.client.HTTPException) as error:
        raise RemoteError(
            f"{where} does not answer ({type(error).__name__}: {error})",
            "See that the server runs there.",
        ) from error
    finally:
        connection.close()
    if reply.status != 200:
        raise RemoteError(f"{where}{path} answered with status {reply.status}", "See its log.")
    try:
        return json.loads(text or b"null")
    except (ValueError, RecursionError):
        raise RemoteError(f"{where}{path} answered with what is no JSON", "See its log.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _numeric(where: Address) -> str:
    """What is connected to: localhost is not looked up, it might be anybody."""
    return "127.0.0.1" if where.host == "localhost" else where.host


def _await(
    sock: socket.socket, until: float, checkpoint: Callable[[], None], where: Address
) -> None:
    """Return when something can be read."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        while not selector.select(LOOK_S):
            checkpoint()
            if time.monotonic() > until:
                raise RemoteError(f"{where} took too long to answer", "Ask a smaller model.")


def _read(
    reply: http.client.HTTPResponse,
    until: float,
    checkpoint: Callable[[], None],
    where: Address,
) -> bytes:
    text = bytearray()
    most = limits.REMOTE_ANSWER_BYTES
    while part := reply.read1(65_536):
        text += part
        checkpoint()
        if len(text) > most:
            raise RemoteError(f"{where} answered with {len(text):,} > {most:,} bytes", "See it.")
        if time.monotonic() > until:
            raise RemoteError(f"{where} took too long to answer", "Ask a smaller model.")
    return bytes(text)
