"""How a console starts and ends: ports that cannot be had, signals while something hangs."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from helpers.errors import ConfigError
from tests.ui.running import ROOT, start, sync
from ui import acceptor, neighbours
from ui.acceptor import LOOPBACK

END_S = 5.0

# A console whose searches never come to an end.
HANGING = """
import argparse, sys, time
sys.path.insert(0, sys.argv[1])
from helpers import config
from ui import console, routes
parser = config.Parser(prog="x", description="x", examples="x")
config.add_shared_flags(parser)
settings = config.resolve(parser.parse_args(sys.argv[2:]))
hang = lambda *_, **__: time.sleep(600)
sys.exit(console.serve(routes.Console(settings, hang, hang, hang), 0))
"""


def seconds_to_end(process: subprocess.Popen[str], number: int) -> float:
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    return time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_though_a_request_hangs(tmp_path: Path, number: int) -> None:
    (tmp_path / "docs").mkdir()
    where = ["--knowledge-dir", str(tmp_path / "docs"), "--data-dir", str(tmp_path / "state")]
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(ROOT), *where], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    port = int(process.stderr.readline().rstrip("/\n").rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            one = socket.create_connection((LOOPBACK, port))
            stack.enter_context(contextlib.closing(one))
            one.sendall(f"GET /api/search?q=a HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\n\r\n".encode())
        time.sleep(0.5)
        assert seconds_to_end(process, number) <= END_S
    process.stderr.close()


def test_a_signal_ends_it_though_an_original_is_not_fetched(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "docs" / "examples" / "employee-handbook.docx", docs / "big.docx")
    with zipfile.ZipFile(docs / "big.docx", "a") as big:  # more than sockets hold, little to read
        big.writestr("word/media/photo.bin", bytes(15_000_000))
    sync(docs, tmp_path / "state")
    console = start(docs, tmp_path / "state")
    with socket.create_connection((LOOPBACK, console.port)) as one:
        head = f"GET /original?document=1 HTTP/1.1\r\nHost: {LOOPBACK}:{console.port}\r\n\r\n"
        one.sendall(head.encode())
        one.recv(10)
        assert seconds_to_end(console.process, signal.SIGTERM) <= END_S
    console.stop()


@pytest.mark.skipif(os.name != "posix", reason="pairs of sockets report a reset on POSIX alone")
def test_what_was_not_read_does_not_reset_the_connection() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"x" * 1000)
        ours.sendall(b"answer")
        acceptor._end(ours)
        assert theirs.recv(100) == b"answer"
        assert theirs.recv(100) == b""


# --- ports -----------------------------------------------------------------------------------


def held(family: int, address: str) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, 0))
    listener.listen()
    return listener


def test_a_port_that_this_account_may_not_use_leads_to_one_that_it_may() -> None:
    told = neighbours.port_taken(80, OSError(errno.EACCES, "Permission denied"))
    assert isinstance(told, ConfigError)
    assert "may not be used" in told.what
    assert int(told.remedy.partition("--port ")[2].rstrip(".")) >= 1024


def test_another_failure_is_told_as_the_system_tells_it() -> None:
    told = neighbours.port_taken(8769, OSError(errno.ENOBUFS, "No buffer space"))
    assert "No buffer space" in told.what
    assert "--port" in told.remedy


def test_the_free_port_that_is_offered_is_not_the_one_that_is_taken() -> None:
    with held(socket.AF_INET, LOOPBACK) as listener:
        port = listener.getsockname()[1]
        told = neighbours.port_taken(port, OSError(errno.EADDRINUSE, "in use"))
        offered = int(told.remedy.partition("--port ")[2].rstrip(". "))
        assert port < offered <= port + neighbours.NEXT_PORTS
        with socket.socket() as probe:
            probe.bind((LOOPBACK, offered))


def test_at_the_last_port_any_free_one_is_offered() -> None:
    told = neighbours.port_taken(65_535, OSError(errno.EADDRINUSE, "in use"))
    assert "--port 0" in told.remedy


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells whose a port is")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_program_that_holds_the_port_is_named(family: int) -> None:
    try:
        listener = held(family, "127.0.0.1" if family == socket.AF_INET else "::")
    except OSError:
        pytest.skip("no IPv6 here")
    with listener:
        port = listener.getsockname()[1]
        told = neighbours.port_taken(port, OSError(errno.EADDRINUSE, "in use"))
        assert f"in use by process {os.getpid()} (" in told.what


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells whose a port is")
def test_the_end_of_a_connection_is_no_program_that_holds_the_port() -> None:
    with held(socket.AF_INET, LOOPBACK) as listener:
        with socket.create_connection(listener.getsockname()) as client:
            port = client.getsockname()[1]
            told = neighbours.port_taken(port, OSError(errno.EADDRINUSE, "in use"))
            assert told.what.endswith("is in use")
