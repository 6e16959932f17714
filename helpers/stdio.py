"""Standard input and output as a JSON-RPC wire that nothing else in the process can touch.

Promises: `take` moves the client's pipes to private descriptors and points descriptor 1 and
`sys.stdout` at standard error and descriptor 0 at the null device, so that a print from
Python, C or a child never reaches the client and a child never eats a request; bytes are
UTF-8 whatever the locale; `parse` tells a message from a fault and gives the fault its
JSON-RPC code.
Does not: know MCP methods, or answer anything.

A line longer than MCP_LINE_BYTES is dropped as it streams by and reported as one fault.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from helpers.limits import MCP_LINE_BYTES, MCP_NESTING

READ_BYTES = 64 * 1024  # bytes asked of the pipe at a time

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
SURROGATE = re.compile("[\ud800-\udfff]")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Wire:
    """The private descriptors that carry the client's messages."""

    incoming: int
    outgoing: int

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises OSError when the client has gone."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.outgoing, view) :]


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that is no message: its JSON-RPC code, why, and the id where one was found."""

    code: int
    message: str
    id: int | str | None = None


def take() -> Wire:
    """Move standard input and output to private descriptors; descriptors 0 and 1 stay valid."""
    with open(os.devnull, "r+b", buffering=0) as null:
        for descriptor in (0, 1, 2):  # a closed standard stream reads as empty, swallows writes
            try:
                os.fstat(descriptor)
            except OSError:
                os.dup2(null.fileno(), descriptor)
        wire = Wire(_private(0), _private(1))
        os.dup2(null.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr or os.fdopen(2, "w", closefd=False)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (lives as long as the process)
    return wire


class Lines:
    """Cuts a stream of bytes into lines; a line over `limit` bytes becomes one Fault."""

    def __init__(self, limit: int = MCP_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | Fault]:
        """The lines that `data` completes, without their ends; blank ones are left out."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            self._add(piece)
            yield from self.end()
        self._add(rest)

    def end(self) -> Iterator[bytes | Fault]:
        """The line that is open, completed by the end of the line or of the stream."""
        size, line = self._size, b"".join(self._parts)
        self._parts, self._size = [], 0
        if size > self._limit:
            yield Fault(
                INVALID_REQUEST,
                f"The message reached {size:,} > {self._limit:,} bytes. Send a smaller one.",
            )
        elif line.strip():
            yield line

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
        else:
            self._parts = []


def parse(line: bytes) -> dict[str, Any] | Fault:
    """The JSON-RPC message in `line`, its envelope checked, or the fault in it."""
    try:
        value = json.loads(line.removeprefix(BOM).decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        return Fault(PARSE_ERROR, f"Parse error: byte {error.start} is not UTF-8.")
    except RecursionError:
        return Fault(PARSE_ERROR, f"Parse error: nested deeper than {MCP_NESTING} levels.")
    except ValueError as error:
        return Fault(PARSE_ERROR, f"Parse error: {error}.")
    if isinstance(value, list):
        return Fault(INVALID_REQUEST, "Batches are not served. Send one message a line.")
    if not isinstance(value, dict):
        return Fault(INVALID_REQUEST, "A message is a JSON object.")
    return _envelope_fault(value, line) or value


def _envelope_fault(message: dict[str, Any], line: bytes) -> Fault | None:
    if "method" not in message and ("result" in message or "error" in message):
        return None  # an answer is never answered, or two peers could do so for ever
    identity = message.get("id")
    valid_id = isinstance(identity, (int, str)) and not isinstance(identity, bool)
    if isinstance(identity, str) and SURROGATE.search(identity):
        valid_id = False  # it could not be sent back
    known_id = identity if valid_id else None
    if message.get("jsonrpc") != "2.0":
        return Fault(INVALID_REQUEST, 'jsonrpc must be "2.0".', known_id)
    if "id" in message and not valid_id:
        return Fault(INVALID_REQUEST, "id must be a string or a whole number.")
    if line.count(b"{") + line.count(b"[") > MCP_NESTING and _depth_over(message, MCP_NESTING):
        return Fault(INVALID_REQUEST, f"Nested deeper than {MCP_NESTING} levels.", known_id)
    if not isinstance(message.get("method"), str):
        return Fault(INVALID_REQUEST, "method must be a string.", known_id)
    if message.get("params") is not None and not isinstance(message["params"], dict):
        return Fault(INVALID_PARAMS, "params must be an object.", known_id)
    return None


def _depth_over(value: Any, limit: int) -> bool:
    layer = [value]
    for _ in range(limit):
        layer = [
            item
            for container in layer
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not layer:
            return False
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _private(descriptor: int) -> int:
    """A duplicate above the standard range that no child inherits."""
    kept = []
    duplicate = os.dup(descriptor)
    while duplicate <= 2:
        kept.append(duplicate)
        duplicate = os.dup(descriptor)
    for spare in kept:
        os.close(spare)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(duplicate, os.O_BINARY)
    return duplicate
