"""Formats that misbehave, for reader processes under test: `<action>.evil` does the action.

Everything else is detected and read as usual. Never imported by the test process.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.recognition import Wanted, Within

BIG = 100_000_000  # bytes


@dataclass(frozen=True)
class Evil:
    name: str


def detect(file: BinaryIO, name: str) -> Any:
    return Evil(name[:-5]) if name.endswith(".evil") else formats.detect(file, name)


def load(found: Any) -> Callable[[BinaryIO, Context], Iterator[Item]]:
    return globals()["read_" + found.name] if isinstance(found, Evil) else formats.load(found)


def line(text: object) -> Block:
    return Block(str(text), "line", location=Location("line", "line 1", 1))


def attempt(what: Callable[[], object]) -> str:
    try:
        return f"done {what()!r}"
    except Exception as error:
        return f"refused {type(error).__name__}"


# --- time and memory -----------------------------------------------------------------


def read_loop(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("before the loop")
    while True:
        pass


def read_beat(file: BinaryIO, context: Context) -> Iterator[Item]:
    while True:
        context.heartbeat()
    yield line("never")


def read_sleep(file: BinaryIO, context: Context) -> Iterator[Item]:
    time.sleep(1_000)
    yield line("never")


def read_allocate(file: BinaryIO, context: Context) -> Iterator[Item]:
    held = []
    while True:
        held.append(bytearray(16 * 1024 * 1024))
    yield line("never")


def read_grow_slowly(file: BinaryIO, context: Context) -> Iterator[Item]:
    held = []
    while True:
        held.append(bytes(1024 * 1024))
        time.sleep(0.01)
        context.heartbeat()
    yield line("never")


def read_keep(file: BinaryIO, context: Context) -> Iterator[Item]:
    globals()["kept"] = bytearray(os.urandom(1) * 64 * 1024 * 1024)
    for number in range(1_000):
        yield line(f"line {number} " + "word " * 150)


def read_recurse(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield from read_recurse(file, context)


def read_endless(file: BinaryIO, context: Context) -> Iterator[Item]:
    while True:
        yield line("endless text goes on and on " * 30)


def read_notices(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("text")
    for number in range(10_000):
        yield Notice("page_without_text", f"page {number}", Location("page", "p. 1", number))


# --- ends ----------------------------------------------------------------------------


def read_exit(file: BinaryIO, context: Context) -> Iterator[Item]:
    os._exit(0)
    yield line("never")


def read_sys_exit(file: BinaryIO, context: Context) -> Iterator[Item]:
    sys.exit(0)
    yield line("never")


def read_segfault(file: BinaryIO, context: Context) -> Iterator[Item]:
    ctypes.string_at(0)
    yield line("never")


def read_killed(file: BinaryIO, context: Context) -> Iterator[Item]:
    getattr(ctypes.CDLL(None), "raise")(signal.SIGKILL)
    yield line("never")


def read_fault(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("some text")
    raise KeyError("secret content of the document")


def read_memory_error(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("some text")
    raise MemoryError


def read_unread(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("some text")
    raise Unread("encrypted", "it needs a password", "Save it without one.")


def read_late_fault(file: BinaryIO, context: Context) -> Iterator[Item]:
    for number in range(3_000):
        yield line(f"{number} " + "word " * 170)
    raise Unread("corrupt", "its end is missing", "Restore it.")


# --- reaching out --------------------------------------------------------------------


def read_reach(file: BinaryIO, context: Context) -> Iterator[Item]:
    """One line per attempt: what was tried, and what came of it."""
    here = os.path.dirname(os.path.abspath(__file__))
    tries: dict[str, Callable[[], object]] = {
        "socket": lambda: socket.socket(),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
        "resolve": lambda: socket.getaddrinfo("localhost", 80),
        "fork": os.fork,
        "spawn": lambda: subprocess.run(["true"], check=True),
        "system": lambda: os.system("true"),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "kill": lambda: os.kill(os.getppid(), 0),
        "write": lambda: open(os.path.join(here, "written"), "w"),  # noqa: SIM115
        "create": lambda: os.open(os.path.join(here, "written"), os.O_CREAT | os.O_WRONLY),
        "remove": lambda: os.remove(os.path.join(here, "hostile.py")),
        "mkdir": lambda: os.mkdir(os.path.join(here, "made")),
        "chmod": lambda: os.chmod(file.fileno(), 0o777),
        "passwd": lambda: open("/etc/passwd", "rb").read(),  # noqa: SIM115
        "list": lambda: os.listdir("/etc"),
        "own folder": lambda: os.path.exists(__file__) and open(__file__, "rb").read(1),  # noqa: SIM115
    }
    for name, what in tries.items():
        yield line(f"{name}: {attempt(what)}")


def read_reach_from_c(file: BinaryIO, context: Context) -> Iterator[Item]:
    """The same without Python's knowledge: what the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.path.dirname(os.path.abspath(__file__)).encode()
    yield line(f"socket: {libc.socket(2, 1, 0)}")
    yield line(f"fork: {libc.fork()}")
    yield line(f"open: {libc.open(here + b'/written', os.O_CREAT | os.O_WRONLY, 0o600)}")
    yield line(f"unlink: {libc.unlink(here + b'/hostile.py')}")
    yield line(f"chmod: {libc.fchmod(file.fileno(), 0o777)}")
    yield line(f"kill: {libc.kill(os.getppid(), 0)}")
    yield line(f"exec: {libc.execl(b'/bin/true', b'true', None)}")
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    yield line("thread: ran")


def read_environment(file: BinaryIO, context: Context) -> Iterator[Item]:
    for name in sorted(os.environ):
        yield line(name)
    descriptors = [number for number in range(64) if _is_open(number)]
    yield line(f"descriptors: {len(descriptors)}")
    yield line(f"group: {os.getpgrp() == os.getpid()}")


def read_print(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line("before the noise")
    for descriptor in (1, 2):
        for _ in range(BIG // 1_000_000):
            os.write(descriptor, b"x" * 1_000_000)
    print("noise " * 1_000)
    print("noise " * 1_000, file=sys.stderr, flush=True)
    yield line("after the noise")


def read_imports(file: BinaryIO, context: Context) -> Iterator[Item]:
    for name in ("pypdf", "pythainlp.tokenize.newmm", "cryptography.hazmat.primitives.ciphers"):
        try:
            importlib.import_module(name)
            yield line(f"{name}: imported")
        except Exception as error:
            yield line(f"{name}: {type(error).__name__}")


# --- lies ----------------------------------------------------------------------------


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _channel() -> socket.socket:
    return next(found for found in gc.get_objects() if isinstance(found, socket.socket))


def read_garbage(file: BinaryIO, context: Context) -> Iterator[Item]:
    _channel().sendall(b"\xff" * 4096)
    yield line("never believed")
    time.sleep(1_000)


def read_huge_frame(file: BinaryIO, context: Context) -> Iterator[Item]:
    _channel().sendall(struct.pack(">II", 2**31, 1))
    yield line("never believed")
    time.sleep(1_000)


def read_foreign_frame(file: BinaryIO, context: Context) -> Iterator[Item]:
    body = b'{"end":[null,false]}'
    _channel().sendall(struct.pack(">II", len(body), 77) + body)
    yield line("never believed")
    time.sleep(1_000)


def read_heartbeat_flood(file: BinaryIO, context: Context) -> Iterator[Item]:
    channel = _channel()
    number = int(file.read())
    while True:
        channel.sendall(struct.pack(">II", 0, number) * 1_000)
    yield line("never")


def read_hang_up(file: BinaryIO, context: Context) -> Iterator[Item]:
    _channel().shutdown(socket.SHUT_RDWR)
    time.sleep(1_000)
    yield line("never")


# --- honest --------------------------------------------------------------------------


def read_facts(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield Metadata(title="A title", tags=("red", "blue"), encoding="cp874")
    yield line("one \ud800 two")
    yield Notice("odd_page", "page 3 is odd", Location("page", "p. 3", 3))
    yield Metadata(aliases=("also",), extra={"author": "\udcffN"})


def read_ocr(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield Block("recognised text", location=Location("page", "p. 1", 1), ocr=True)


def read_long(file: BinaryIO, context: Context) -> Iterator[Item]:
    for number in range(6_000):
        yield line(f"{number} " + "word " * 170)


def read_silence(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield from ()


def read_scan(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield Notice("no_text", "page 1 has no text", Location("page", "p. 1", 1))


def read_name(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line(f"{context.name} {context.size} {file.read().decode()}")


# --- asking --------------------------------------------------------------------------


def read_ask(file: BinaryIO, context: Context) -> Iterator[Item]:
    """Each page of five asked ahead, then each answer, or why there is none."""
    begun = [context.recognize.begin(Wanted("page", page, 5, 300)) for page in range(1, 6)]
    for page, pending in enumerate(begun, 1):
        try:
            found = pending.result()
        except Unread as unread:
            yield line(f"{page} {unread.code}: {unread.reason}. {unread.remedy}")
        else:
            told = " / ".join(f"{p.text} {p.confidence} {p.start} {p.end}" for p in found.pieces)
            yield line(f"{page} by {found.engine} {dict(found.facts)}: {told}")


def read_ask_once(file: BinaryIO, context: Context) -> Iterator[Item]:
    yield line(context.recognize(Wanted("image", orientation=6)).pieces[0].text)


def read_ask_unread(file: BinaryIO, context: Context) -> Iterator[Item]:
    context.recognize.begin(Wanted("page", 1))
    yield line("it does not wait for the answer")


def read_ask_within(file: BinaryIO, context: Context) -> Iterator[Item]:
    inner = io.BytesIO(b"inner" * 500_000)
    inner.seek(7)
    for page in (1, 2):
        yield line(Within(context.recognize, inner)(Wanted("page", page)).pieces[0].text)
    yield line(f"at {inner.tell()}")


def read_ask_long(file: BinaryIO, context: Context) -> Iterator[Item]:
    found = context.recognize(Wanted("sound"))
    yield line(f"{len(found.pieces)} {sum(len(piece.text) for piece in found.pieces)}")


def read_ask_loop(file: BinaryIO, context: Context) -> Iterator[Item]:
    context.recognize(Wanted("page", 1))
    while True:
        pass
    yield line("never")


def read_ask_nonsense(file: BinaryIO, context: Context) -> Iterator[Item]:
    pack = struct.Struct(">II").pack
    body = b'{"ask":[1,"page","/etc/passwd",null,null,1,100,null]}'
    _channel().sendall(pack(len(body), 1) + body)
    time.sleep(1_000)
    yield line("never")
