"""The console under pressure: slow clients, endless bodies, a file that changes meanwhile."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import limits
from tests.ui.running import Console, running, sync

SLOW_CLIENTS = 300
ANSWER_S = 2.0
THREADS = 32
SEARCHES = 400
SEARCHES_MB = 8  # by which they may make the console grow once it is warm


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("pressed")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("words about budgets")
    (docs / "big.txt").write_text("line\n" * 2_000_000)
    sync(docs, folder / "state")
    with running(docs, folder / "state") as started:
        yield started


def threads(console: Console) -> int:
    status = Path(f"/proc/{console.process.pid}/status").read_text()
    return int(status.partition("Threads:")[2].split()[0])


@contextlib.contextmanager
def clients(console: Console, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", console.port))
            stack.enter_context(contextlib.closing(one))
            one.sendall(said)
            opened.append(one)
        yield opened


def seconds_of_an_answer(console: Console) -> float:
    began = time.monotonic()
    assert console.json("/api/files")["total"] == 2
    return time.monotonic() - began


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_300_slow_clients_cost_neither_answers_nor_threads(console: Console, said: bytes) -> None:
    with clients(console, SLOW_CLIENTS, said):
        assert seconds_of_an_answer(console) <= ANSWER_S
        assert threads(console) <= THREADS
    assert seconds_of_an_answer(console) <= ANSWER_S


def test_300_clients_that_promise_10_gb_are_refused_at_once(console: Console) -> None:
    head = (
        f"POST /api/sync HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nOrigin: {console.address}"
        f"\r\nX-RagDoc-Token: {console.token()}\r\nContent-Type: application/json"
        f"\r\nContent-Length: {10 * 2**30}\r\n\r\n"
    ).encode()
    with clients(console, SLOW_CLIENTS, head) as opened:
        assert seconds_of_an_answer(console) <= ANSWER_S
        for one in opened:
            one.settimeout(10)
            assert b" 413 " in one.recv(100)
    assert threads(console) <= THREADS


def test_clients_beyond_the_most_push_out_those_that_waited_longest(console: Console) -> None:
    with clients(console, limits.UI_CONNECTIONS + 20, b"GET /") as opened:
        assert seconds_of_an_answer(console) <= ANSWER_S
        opened[0].settimeout(10)
        with contextlib.suppress(ConnectionError):
            assert opened[0].recv(1) == b""


def test_300_clients_that_do_not_read_leave_threads_for_others(console: Console) -> None:
    head = f"GET /original?document=2 HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\n\r\n"
    with clients(console, SLOW_CLIENTS, head.encode()) as opened:
        assert seconds_of_an_answer(console) <= ANSWER_S
        told = [one.recv(12)[-3:] for one in opened]
        assert told.count(b"200") == limits.UI_ORIGINALS
        assert told.count(b"503") == SLOW_CLIENTS - limits.UI_ORIGINALS
        assert threads(console) <= THREADS


def test_a_file_that_shrinks_while_it_is_sent_ends_the_answer_short(console: Console) -> None:
    big = console.docs / "big.txt"
    whole = big.read_bytes()
    head = f"GET /original?document=2 HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", console.port), timeout=20) as one:
        one.sendall(head.encode())
        received = len(one.recv(1000))
        big.write_bytes(whole[: len(whole) // 2])
        with contextlib.suppress(ConnectionError):
            while data := one.recv(1 << 20):
                received += len(data)
    assert received < len(whole)
    assert seconds_of_an_answer(console) <= ANSWER_S


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_searches_leave_neither_memory_nor_sockets_behind(console: Console) -> None:
    def held() -> tuple[int, int]:
        folder = Path(f"/proc/{console.process.pid}")
        status = (folder / "status").read_text()
        kilobytes = int(status.partition("VmRSS:")[2].split()[0])
        return kilobytes // 1024, len(list((folder / "fd").iterdir()))

    for number in range(SEARCHES):
        console.json(f"/api/search?q=budgets+words+{number}")
        if number == SEARCHES // 4:
            megabytes, files = held()
    after_megabytes, after_files = held()
    assert after_megabytes <= megabytes + SEARCHES_MB
    assert after_files <= files + 2


def test_twenty_clients_cancelling_the_same_job_get_an_answer_each(console: Console) -> None:
    job_id = json.loads(console.change("sync", {"force": True}).read())["job_id"]
    told = [json.loads(console.change("cancel", {"job_id": job_id}).read()) for _ in range(20)]
    assert {entry["status"] for entry in told} <= {"cancel_requested", "cancelled", "not_running"}
