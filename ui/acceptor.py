"""Accepting connections: one thread waits for all heads, a few answer.

The threat: a client that sends its request a byte a minute costs a thread each in the standard
server, which also sets no time limit and starts as many threads as there are clients.
Promises: a connection costs no thread until the whole head of its request is there; heads are
bounded in bytes and seconds, connections in number (the one that has waited longest goes first),
threads in number; a thread that is stuck does not keep the process; nothing but 127.0.0.1 is
listened on, and no name is looked up.
Does not: understand HTTP beyond the empty line that ends a head.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from helpers import limits, log

LOOPBACK = "127.0.0.1"
BACKLOG = 128  # connections that wait to be accepted
TICK_S = 0.5  # seconds between two looks at the clock
HEAD_END = b"\r\n\r\n"
LEFT_BYTES = 1024 * 1024  # bytes of a refused body that are taken off a connection before its end
_CLOSE = b"Connection: close\r\nContent-Length: 0\r\n\r\n"
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _CLOSE
BUSY = b"HTTP/1.1 503 Service Unavailable\r\n" + _CLOSE

_logger = log.get_logger("console")

Answer = Callable[[socket.socket, bytes], None]


@dataclass(slots=True)
class _Waiting:
    """A connection whose head is not complete; `since` is when it was accepted."""

    connection: socket.socket
    since: float
    head: bytearray = field(default_factory=bytearray)


class Acceptor:
    """A listening socket on 127.0.0.1. Raises OSError where the port cannot be had.

    `answer(connection, received)` is called in one of UI_THREADS threads with a blocking
    connection and what was received of it, at least a whole head; the acceptor closes it.
    """

    def __init__(self, port: int, answer: Answer) -> None:
        self._answer = answer
        self._listener = _listen(port)
        self.port: int = self._listener.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._waiting: dict[int, _Waiting] = {}
        self._ready: queue.SimpleQueue[tuple[socket.socket, bytes]] = queue.SimpleQueue()
        for _ in range(limits.UI_THREADS):  # daemons: what hangs in one must not hold up the end
            threading.Thread(target=self._work, name="console", daemon=True).start()
        self._room = threading.Semaphore(limits.UI_CONNECTIONS)
        self._stopping = False

    def serve(self) -> None:
        """Accept and answer until `stop` is called."""
        while not self._stopping:
            for key, _ in self._selector.select(TICK_S):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is not self._woken:
                    self._receive(key.data)
            self._drop_late()

    def stop(self) -> None:
        """Make `serve` return; safe in any thread and in a signal handler."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def close(self) -> None:
        """Close every connection that waits; the threads end with the process."""
        self._stopping = True
        for waiting in list(self._waiting.values()):
            self._drop(waiting)
        self._selector.close()
        for end in (self._listener, self._wake, self._woken):
            end.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if len(self._waiting) >= limits.UI_CONNECTIONS:
            self._drop(next(iter(self._waiting.values())))  # dicts keep their order
        waiting = _Waiting(connection, time.monotonic())
        self._waiting[connection.fileno()] = waiting
        self._selector.register(connection, selectors.EVENT_READ, waiting)

    def _receive(self, waiting: _Waiting) -> None:
        try:
            data = waiting.connection.recv(limits.UI_HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        waiting.head += data
        if not data:
            self._drop(waiting)
        elif HEAD_END in waiting.head:
            self._hand_over(waiting)
        elif len(waiting.head) > limits.UI_HEAD_BYTES:
            self._drop(waiting, TOO_LONG)

    def _hand_over(self, waiting: _Waiting) -> None:
        if not self._room.acquire(blocking=False):
            self._drop(waiting, BUSY)
            return
        self._forget(waiting)
        waiting.connection.settimeout(limits.UI_STALL_S)
        self._ready.put((waiting.connection, bytes(waiting.head)))

    def _work(self) -> None:
        while True:
            connection, received = self._ready.get()
            try:
                self._answer(connection, received)
            except Exception:
                _logger.exception("a connection could not be answered")
            finally:
                self._room.release()
                _end(connection)

    def _drop_late(self) -> None:
        """Let those go whose head has not come in time: the first of them wait longest."""
        oldest = time.monotonic() - limits.UI_HEAD_S
        for waiting in list(self._waiting.values()):
            if waiting.since > oldest:
                break
            self._drop(waiting)

    def _drop(self, waiting: _Waiting, last_words: bytes = b"") -> None:
        self._forget(waiting)
        with contextlib.suppress(OSError):
            if last_words:
                waiting.connection.send(last_words)
        waiting.connection.close()

    def _forget(self, waiting: _Waiting) -> None:
        self._waiting.pop(waiting.connection.fileno(), None)
        self._selector.unregister(waiting.connection)


def _end(connection: socket.socket) -> None:
    """Close so that the answer arrives: what came and was not read would reset the connection."""
    with contextlib.closing(connection), contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        connection.setblocking(False)
        left = LEFT_BYTES
        while left > 0 and (data := connection.recv(left)):
            left -= len(data)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere this option would let a second server share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif sys.platform == "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
