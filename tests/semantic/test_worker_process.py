"""The embedding process by itself, asked in frames: how it waits, answers and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.semantic import client, wire


def test_the_process_ends_at_something_that_is_no_frame(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(repository / "semantic_worker.py")],
        input=b"GET / HTTP/1.1\r\n\r\n",
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 70 and b"begins no frame" in done.stderr and not done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are ended otherwise there")
def test_a_frame_cut_by_the_death_of_the_parent_ends_the_process(repository: Path) -> None:
    """The parent is gone: its end of standard error too, so that nothing can be said any more."""
    command = [sys.executable, str(repository / "semantic_worker.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as started:
        assert started.stdin and started.stdout and started.stderr
        started.stderr.close()
        started.stdout.close()
        started.stdin.write(wire.pack({"op": "query", "text": "x" * 5_000})[:3_000])
        started.stdin.close()
        assert started.wait(30) == 70


def test_a_request_the_process_does_not_know_is_an_answer(repository: Path) -> None:
    frames = wire.pack({"op": "dance"})
    command = [sys.executable, str(repository / "semantic_worker.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as started:
        assert started.stdin and started.stdout
        started.stdin.write(frames)
        started.stdin.flush()
        answer = wire.receive(started.stdout)  # type: ignore[arg-type]
    assert answer is not None and "dance" in answer[0]["error"]


SLEEPER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import semantic_worker as w
w._State.query = lambda state, header: (time.sleep(header.get("sleep", 0)), ({}, b""))[1]
w.serve()
"""


@pytest.fixture
def sleeper(repository: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process as it is, but that a question takes as many seconds as it says."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SLEEPER, str(repository)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as started:
        yield started
        started.kill()


def put(started: subprocess.Popen[bytes], *headers: dict[str, object]) -> None:
    assert started.stdin
    started.stdin.write(b"".join(wire.pack({"op": "query"} | header) for header in headers))
    started.stdin.flush()


def taken(started: subprocess.Popen[bytes]) -> wire.Frame | None:
    assert started.stdout
    return wire.receive(started.stdout)  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no alarm on Windows")
def test_the_process_ends_by_itself_when_a_request_passes_its_limit(
    sleeper: subprocess.Popen[bytes],
) -> None:
    put(sleeper, {"sleep": 3_600, "limit_s": 0.2})
    assert sleeper.wait(30) == -signal.SIGALRM


def test_a_limit_ends_with_its_request_and_an_announced_one_is_waited_for(
    sleeper: subprocess.Popen[bytes],
) -> None:
    put(sleeper, {"limit_s": 0.2, "more": True})
    assert taken(sleeper) == ({}, b"")
    with pytest.raises(subprocess.TimeoutExpired):
        sleeper.wait(0.8)
    put(sleeper, {})
    assert taken(sleeper) == ({}, b"")
    assert sleeper.wait(30) == 0


def test_requests_that_wait_are_answered_before_the_process_leaves(
    sleeper: subprocess.Popen[bytes],
) -> None:
    put(sleeper, {"sleep": 0.2}, {})
    assert [taken(sleeper), taken(sleeper), taken(sleeper)] == [({}, b""), ({}, b""), None]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal on Windows")
def test_an_interrupt_of_the_terminal_is_left_to_the_parent(worker: client.Worker) -> None:
    # A process inherits that a signal is ignored, as it is where tests run in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        worker.embed_query("one")
    finally:
        signal.signal(signal.SIGINT, before)
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert len(worker.embed_query("one")) == 4 * 384 and worker.pid == pid
