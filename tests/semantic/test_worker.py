"""Asking the embedding process: answers, and that nothing it does can hurt the asker."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import limits
from helpers.config import Settings
from helpers.errors import Cancelled, SemanticError
from helpers.semantic import client, model, process, wire
from helpers.store import database, vector_heads, vectors
from tests.semantic.shelf import Shelf, brute_force, unit

MADE_WORKER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from helpers.semantic import wire
out = os.fdopen(os.dup(1), "wb")
while True:
    frame = wire.receive(sys.stdin.buffer)
    if frame is None:
        os._exit(0)
    header = frame[0]
    if header["op"] == "open":
        continue
    {action}
"""
VECTOR = "wire.send(out, {}, bytes(4 * 384))"


def acting(monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """Let an embedding process do `action` at each request."""
    monkeypatch.setattr(process, "BOOTSTRAP", MADE_WORKER.replace("{action}", action))


def halves(vectors: bytes) -> list[tuple[float, ...]]:
    return [struct.unpack_from("<384e", vectors, at) for at in range(0, len(vectors), 768)]


def length(numbers: tuple[float, ...] | array[float]) -> float:
    return math.sqrt(sum(number * number for number in numbers))


def gone(pid: int) -> bool:
    """Whether a process is no more, or dead and not buried yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pid: int, seconds: float = 60.0) -> bool:
    """Wait for the end of a process; on a machine that is busy it may be long in coming."""
    until = time.monotonic() + seconds
    while not gone(pid) and time.monotonic() < until:
        threading.Event().wait(0.01)
    return gone(pid)


# --- answers -------------------------------------------------------------------------------


def test_a_question_becomes_a_vector_of_length_one(worker: client.Worker) -> None:
    vector = array("f", worker.embed_query("How long is the guarantee?"))
    assert len(vector) == 384 and abs(length(vector) - 1) < 1e-5
    assert worker.embed_query("How long is the guarantee?") == vector.tobytes()
    assert worker.embed_query("ปี") != vector.tobytes()


def test_each_chunk_gets_its_children_in_order(worker: client.Worker) -> None:
    chunks = [("Title", "one"), ("", "word " * 300), ("T " * 500, "ปีงบประมาณ"), ("", "예산")]
    found = list(worker.embed_chunks(chunks * 20))
    assert [entry.children for entry in found[:4]] == [1, found[1].children, 1, 1]
    assert found[1].children > 2 and not any(entry.error for entry in found)
    for entry in found:
        assert len(entry.vectors) == entry.children * 768
    assert [entry.vectors for entry in found[:4]] * 20 == [entry.vectors for entry in found]
    assert all(abs(length(row) - 1) < 5e-3 for row in halves(found[1].vectors))


def test_a_vector_does_not_depend_on_its_neighbours(worker: client.Worker) -> None:
    alone = [next(worker.embed_chunks([("", text)])).vectors for text in ("one", "word " * 90)]
    together = list(worker.embed_chunks([("", "one"), ("", "other"), ("", "word " * 90)]))
    assert [together[0].vectors, together[2].vectors] == alone


def test_a_text_without_a_token_is_marked_and_the_rest_goes_on(worker: client.Worker) -> None:
    found = list(worker.embed_passages(["one", "", " \u200b ", "two"]))
    assert [entry.children for entry in found] == [1, 0, 0, 1]
    assert found[1].error and found[1].vectors == b""


@pytest.mark.parametrize("letter", ["ก", "x", "가", "\u0e33", "🙂"])
def test_letters_without_a_space_are_embedded_in_children_up_to_the_limit(
    worker: client.Worker, letter: str
) -> None:
    most = limits.SEMANTIC_TEXT_CHARS // 5
    found = list(worker.embed_passages([letter * most, letter * 100_000, "one"]))
    assert found[0].children >= 1 and not found[0].error
    assert found[1].children == 0 and "100,000 > 20,000 characters" in found[1].error
    assert found[2].children == 1


def test_odd_letters_are_taken(worker: client.Worker) -> None:
    texts = ["\ud800 lone", "nul \0 byte", "\u202e bidi", "a\ufeffb"]
    assert [entry.error for entry in worker.embed_passages(texts)] == [""] * 4
    for text in texts:
        assert len(worker.embed_query(text)) == 4 * 384
    assert len(worker.embed_query("")) == 4 * 384


def test_both_ways_give_the_same_vector(
    worker: client.Worker, tiny_settings: Settings, tiny_status: client.ModelStatus
) -> None:
    described = tiny_status.description
    assert described is not None
    asked = array("f", worker.embed_query("passage: one")).tolist()
    (bulk,) = worker.embed_passages(["query: passage: one"])
    (row,) = halves(bulk.vectors)
    # The prefixes differ, so the vectors do; with the passage's prefix gone they are the same.
    assert sum(a * b for a, b in zip(asked, row, strict=True)) < 0.9999
    plain = replace(described, passage_prefix="", query_prefix="")
    without = replace(tiny_status, description=plain)
    with client.Worker(tiny_settings, without, linger=60) as bare:
        asked = array("f", bare.embed_query("one two")).tolist()
        (bulk,) = bare.embed_passages(["one two"])
    (row,) = halves(bulk.vectors)
    assert sum(a * b for a, b in zip(asked, row, strict=True)) > 0.999


def test_texts_are_pulled_as_there_is_room(worker: client.Worker) -> None:
    pulled = []

    def source() -> Iterator[tuple[str, str]]:
        for place in range(1_000):
            pulled.append(place)
            yield "", f"text {place}"

    stream = worker.embed_chunks(source())
    next(stream)
    assert len(pulled) <= (client.AHEAD + 1) * limits.SEMANTIC_BATCH_TEXTS
    stream.close()
    assert len(worker.embed_query("after a stream that was left")) == 4 * 384


def test_a_cancelled_stream_stops_within_a_batch(worker: client.Worker) -> None:
    seen: list[client.Embedded] = []
    texts = (("", f"text {place}") for place in range(500))
    with pytest.raises(Cancelled):
        for entry in worker.embed_chunks(texts, lambda: len(seen) > 3):
            seen.append(entry)
    assert len(seen) <= limits.SEMANTIC_BATCH_TEXTS
    assert len(worker.embed_query("and the process serves on")) == 4 * 384


def test_threads_take_turns(worker: client.Worker) -> None:
    expected = {text: worker.embed_query(text) for text in ("one", "two", "three")}
    found: list[bool] = []

    def ask(text: str) -> None:
        for _ in range(10):
            found.append(worker.embed_query(text) == expected[text])

    threads = [threading.Thread(target=ask, args=(text,)) for text in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 30


# --- life and death ------------------------------------------------------------------------


def test_without_linger_the_process_is_gone_after_its_answer(
    tiny_settings: Settings, tiny_status: client.ModelStatus
) -> None:
    with client.Worker(tiny_settings, tiny_status, linger=0) as worker:
        first = worker.embed_query("one")
        held = worker._process
        assert held is not None and held.popen.wait(10) == 0
        assert worker.pid is None
        assert worker.embed_query("one") == first


def test_an_idle_process_leaves_after_its_linger_and_comes_back_unseen(
    tiny_settings: Settings, tiny_status: client.ModelStatus
) -> None:
    with client.Worker(tiny_settings, tiny_status, linger=0.2) as worker:
        first, held = worker.embed_query("one"), worker._process
        assert held is not None and held.popen.wait(10) == 0
        assert worker.embed_query("one") == first
        assert worker._process is not held


def test_linger_comes_from_the_settings(tiny_settings: Settings) -> None:
    found = client.status(tiny_settings)
    assert client.Worker(tiny_settings, found)._linger == 0
    assert client.Worker(replace(tiny_settings, semantic_linger=7.0), found)._linger == 7


def test_a_killed_process_is_replaced_at_the_next_question(worker: client.Worker) -> None:
    first = worker.embed_query("one")
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert worker.embed_query("one") == first
    assert worker.pid != pid


ORPHAN = """
import sys
sys.path.insert(0, sys.argv[1])
from helpers import config
from helpers.semantic import client
settings = config.resolve()
worker = client.Worker(settings, client.status(settings), linger=3600)
worker.embed_query("one")
print(worker.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize("busy", [False, True])
def test_the_process_ends_when_its_parent_is_killed(
    tiny_settings: Settings, repository: Path, busy: bool
) -> None:
    script = ORPHAN
    if busy:  # a bulk request is on its way when the parent dies
        script += 'list(worker.embed_passages(["word " * 3_000] * 4_000))'
    environment = dict(os.environ) | {
        "RAGDOC_MODELS_DIR": str(tiny_settings.models_dir),
        "RAGDOC_DATA_DIR": str(tiny_settings.data_dir),
    }
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", script, str(repository)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as parent:
        assert parent.stdin and parent.stdout
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        if busy:
            parent.stdin.close()
            threading.Event().wait(0.3)
        parent.kill()
        parent.wait()
    assert wait_until_gone(pid)


def test_the_process_sees_no_secret_and_runs_without_site(
    monkeypatch: pytest.MonkeyPatch, worker: client.Worker
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-0123456789")
    worker.embed_query("one")
    environment = Path(f"/proc/{worker.pid}/environ").read_bytes()
    command = Path(f"/proc/{worker.pid}/cmdline").read_bytes().split(b"\0")
    assert b"canary" not in environment and b"KEY" not in environment
    assert command[1:3] == [b"-I", b"-S"]


@pytest.mark.parametrize(
    "act", ["socket.socket()", "os.system('true')", "subprocess.run(['true'])"]
)
def test_no_code_in_the_process_reaches_the_network_or_a_program(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    trying = (
        "import sys; sys.path[:0] = sys.argv[1:2]; sys.path += sys.argv[2:]; "
        "import os, socket, subprocess, semantic_worker as w; "
        f"w._State.query = lambda *_: {act}; w.serve()"
    )
    monkeypatch.setattr(process, "BOOTSTRAP", trying)
    with pytest.raises(SemanticError, match="may not do this"):
        worker.embed_query("one")


# --- what a process may do wrong -----------------------------------------------------------


def ask_for_the_reason(worker: client.Worker) -> str:
    with pytest.raises(SemanticError) as caught:
        worker.embed_query("one")
    assert caught.value.remedy
    assert worker.pid is None
    return caught.value.what


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEMANTIC_QUERY_S", 1.0)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("os._exit(9)", "ended with status 9"),
        ("os.abort()", "ended with status"),
        ("raise ValueError('inside')", "ValueError: inside"),
        ("out.write(b'Segmentation fault, core dumped'); out.flush()", "junk"),
        ("out.write(wire.HEAD.pack(b'RGF1', 9, 0xffffffff)); out.flush()", "junk"),
        ("wire.send(out, {}, b'short')", "a vector of 5 bytes"),
        ("out.write(wire.pack({}, bytes(1536))[:700]); out.flush(); os._exit(0)", "status 0"),
    ],
)
def test_a_crash_or_junk_is_a_reason(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch, action: str, said: str
) -> None:
    acting(monkeypatch, action)
    assert said in ask_for_the_reason(worker)


def test_a_hanging_process_is_killed_at_the_limit(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    acting(monkeypatch, "time.sleep(3600)")
    begun = time.monotonic()
    assert "took longer than 1 s" in ask_for_the_reason(worker)
    assert time.monotonic() - begun < 5


def test_a_process_is_watched_by_one_thread_however_much_is_asked(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, VECTOR)
    worker.embed_query("one")
    threads = threading.active_count()
    for _ in range(20):
        worker.embed_query("one")
        assert threading.active_count() == threads
    held = worker._process
    assert held is not None and held._watch._thread is not None
    worker.close()
    held._watch._thread.join(10)
    assert not held._watch._thread.is_alive()


def test_a_short_limit_after_a_long_one_is_kept(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, f"time.sleep(3600) if header['text'] == 'hang' else {VECTOR}")
    assert worker.embed_query("one") == bytes(4 * 384)
    monkeypatch.setattr(limits, "SEMANTIC_QUERY_S", 0.5)
    begun = time.monotonic()
    with pytest.raises(SemanticError, match="took longer"):
        worker.embed_query("hang")
    assert time.monotonic() - begun < 8


def test_a_process_that_does_not_listen_is_killed_at_the_limit(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEMANTIC_TEXTS_S", 1.0)
    monkeypatch.setattr(process, "BOOTSTRAP", "import time; time.sleep(3600)")
    with pytest.raises(SemanticError, match="took longer than 1 s"):
        list(worker.embed_passages(["a long text " * 1_500] * 32))
    assert worker.pid is None


def test_after_a_failure_no_process_is_started_for_a_while(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, "os._exit(9)")
    first = ask_for_the_reason(worker)
    assert worker._paused_until > time.monotonic() + limits.SEMANTIC_PAUSE_S / 2
    acting(monkeypatch, VECTOR)
    assert ask_for_the_reason(worker) == first
    monkeypatch.setattr(worker, "_paused_until", 0.0)
    assert worker.embed_query("one") == bytes(4 * 384)


def test_100_mb_on_standard_error_hurt_nobody(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = "[os.write(2, b'noise ' * 10_000) for _ in range(1_700)]; "
    acting(monkeypatch, noise + VECTOR)
    assert worker.embed_query("one") == bytes(4 * 384)
    held = worker._process
    assert held is not None
    worker.close()
    assert len(held._note) <= limits.SEMANTIC_NOTE_BYTES


def test_prints_of_libraries_never_reach_the_frames(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    loud = (
        "import sys; sys.path[:0] = sys.argv[1:2]; sys.path += sys.argv[2:]; import os; "
        "import semantic_worker as w; listen = w._answered; "
        "w._answered = lambda *a: (print('python'), os.write(1, b'below'), listen(*a))[2]; "
        "w.serve()"
    )
    monkeypatch.setattr(process, "BOOTSTRAP", loud)
    assert len(worker.embed_query("one")) == 4 * 384


def test_bulk_with_a_wrong_number_of_vectors_is_a_reason(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in ("{'counts': [1, 1]}", "{'counts': [1]}, b'abc'", "{'counts': 'x'}", "{}"):
        acting(monkeypatch, f"wire.send(out, {answer})")
        monkeypatch.setattr(worker, "_paused_until", 0.0)
        with pytest.raises(SemanticError, match="another number"):
            list(worker.embed_passages(["one"]))


def test_a_search_that_fails_inside_is_an_error_and_the_process_serves_on(
    worker: client.Worker, tmp_path: Path
) -> None:
    worker.embed_query("one")
    pid = worker.pid
    with pytest.raises(SemanticError):
        worker.search("one", 5, tmp_path / "none.sqlite3", "no such generation")
    assert worker.pid == pid
    assert len(worker.embed_query("one")) == 4 * 384


def test_heads_made_by_the_process_are_searched_by_it(
    worker: client.Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 64)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 32)
    rows = unit(np.random.default_rng(1).normal(size=(200, 384)))
    shelf = Shelf(tmp_path, 384)
    ids = shelf.add(rows)
    with database.transaction(shelf.db):
        data = worker.basis(shelf.path, shelf.begun.id)
        vector_heads.set_basis(shelf.db, shelf.begun.id, 200, data)
    for block in vector_heads.headless(shelf.db, shelf.begun.id):
        head = vector_heads.Head(*worker.head(shelf.path, shelf.begun.id, block))
        with database.transaction(shelf.db):
            vector_heads.set_head(shelf.db, block, head)
    shelf.publish()
    assert vector_heads.headless(shelf.db, shelf.begun.id) == []
    query = np.frombuffer(worker.embed_query("water"), np.float32)
    found = worker.search("water", 9, shelf.path, shelf.begun.token)
    expected = brute_force(rows, ids, query, 9)
    assert [chunk for chunk, _ in found] == [chunk for chunk, _ in expected]
    assert np.allclose([score for _, score in found], [score for _, score in expected], atol=1e-5)


def test_hits_come_back_as_ids_and_cosines(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "struct.pack('<2q2f', 7, 1 << 40, 0.5, -0.25)"
    acting(monkeypatch, f"import struct; wire.send(out, {{'hits': 2}}, {body})")
    assert worker.search("one", 5, "db", "g") == [(7, 0.5), (1 << 40, -0.25)]
    with worker.searching("one", 5, "db", "g") as pending:
        assert pending.result()[0] == (7, 0.5)
    acting(monkeypatch, "wire.send(out, {'hits': 2}, b'abc')")
    worker.close()
    with pytest.raises(SemanticError, match="another number of hits"):
        worker.search("one", 5, "db", "g")


def test_an_answer_that_was_not_waited_for_is_never_taken_for_the_next(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, "wire.send(out, {}, header['text'].encode().ljust(4 * 384))")
    with worker.searching("one", 5, "db", "g"):
        pass
    assert worker.embed_query("two").startswith(b"two ")


def test_a_process_that_left_is_not_asked_how_near_further_chunks_are_to_its_question(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one would not know the question: it must fail, not be asked in its stead."""
    acting(
        monkeypatch,
        "wire.send(out, {'hits': 0}, b'') if header['op'] == 'search' else os._exit(3)",
    )
    starts: list[int] = []
    spawn = process._spawn

    def counted() -> subprocess.Popen[bytes]:
        starts.append(1)
        return spawn()

    monkeypatch.setattr(process, "_spawn", counted)
    with worker.searching("one", 5, "db", "g") as pending:
        assert pending.result() == []
        with pytest.raises(SemanticError, match="status 3"):
            pending.also([1, 2])
    assert len(starts) == 1


def test_a_model_swapped_under_a_running_process_is_refused_until_asked_anew(
    tiny_settings: Settings, tiny_models: Path, tmp_path: Path
) -> None:
    import shutil

    shutil.copytree(tiny_models, tmp_path / "own")
    settings = replace(tiny_settings, models_dir=tmp_path / "own")
    found = client.status(settings)
    slot = client.WorkerSlot()
    with contextlib.closing(slot):
        worker = slot.worker(settings, found, linger=60)
        weights = tmp_path / "own" / model.DEFAULT_NAME / "model.onnx.data"
        data = weights.read_bytes()
        weights.write_bytes(data[:-8] + b"swapped!")
        with pytest.raises(SemanticError, match="changed while it was in use"):
            worker.embed_query("one")
        assert not client.status(settings).ready
        weights.write_bytes(data)
        for file in ("tokenizer.table", "model.onnx.data"):  # put back in place, and by renaming
            again = client.status(settings)
            assert again.fingerprint == found.fingerprint
            worker = slot.worker(settings, again, linger=60)
            assert len(worker.embed_query("one")) == 4 * 384
            assert slot.worker(settings, again, linger=60) is worker
            path = tmp_path / "own" / model.DEFAULT_NAME / file
            shutil.copy(path, tmp_path / "copy")
            os.truncate(path, 100)
            assert not client.status(settings).ready
            os.replace(tmp_path / "copy", path)
        last = slot.worker(settings, client.status(settings), linger=60)
        assert len(last.embed_query("one")) == 4 * 384


def test_a_slot_keeps_its_worker_until_the_model_is_another(
    tiny_settings: Settings, tiny_status: client.ModelStatus
) -> None:
    with contextlib.closing(client.WorkerSlot()) as slot:
        first = slot.worker(tiny_settings, tiny_status)
        assert slot.worker(tiny_settings, tiny_status) is first
        other = replace(tiny_status, fingerprint="another")
        assert slot.worker(tiny_settings, other) is not first
        with pytest.raises(SemanticError, match="gone"):
            slot.worker(tiny_settings, client.ModelStatus(False, "it is gone", "Put it back."))


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


# --- the process by itself -----------------------------------------------------------------

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


# --- what a request says -------------------------------------------------------------------


def test_a_long_question_is_cut_and_carries_a_limit_a_little_above_the_parents(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "f\"{len(header['text'])} {header['limit_s']} \".encode().ljust(1536)"
    acting(monkeypatch, f"wire.send(out, {{}}, {told})")
    characters, limit = worker.embed_query("x" * 30_000).split()[:2]
    assert int(characters) == limits.SEMANTIC_TEXT_CHARS
    assert limits.SEMANTIC_QUERY_S < float(limit) < limits.SEMANTIC_QUERY_S + 2


def test_a_search_is_cut_too_and_announces_that_more_may_follow(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "struct.pack('<qf', len(header['text']), header.get('more', False))"
    acting(monkeypatch, f"import struct; wire.send(out, {{'hits': 1}}, {told})")
    found = worker.search("x" * 30_000, 5, "db", "g")
    assert found == [(limits.SEMANTIC_TEXT_CHARS, 1.0)]


def test_a_question_behind_a_long_one_is_told_to_ask_again(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, "wire.send(out, {'hits': 0}, b'')")
    with worker.searching("one", 5, "db", "g") as pending:
        monkeypatch.setattr(limits, "SEMANTIC_QUERY_S", 0.2)
        with pytest.raises(SemanticError, match="busy"):
            worker.embed_query("two")
        assert pending.result() == []


def test_a_process_that_does_not_go_is_killed(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "EXIT_S", 0.2)
    acting(monkeypatch, f"{VECTOR}; time.sleep(3600)")
    worker.embed_query("one")
    held = worker._process
    assert held is not None
    worker.close()
    assert held.popen.poll() == -signal.SIGKILL


def test_an_end_does_not_wait_for_a_question_at_work(
    worker: client.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CLOSE_S", 0.2)
    acting(monkeypatch, "time.sleep(3600)")
    failed: list[str] = []

    def ask() -> None:
        with pytest.raises(SemanticError) as caught:
            worker.embed_query("one")
        failed.append(caught.value.what)

    asking = threading.Thread(target=ask)
    asking.start()
    while worker.pid is None:
        os.sched_yield()
    worker.close()
    asking.join(10)
    assert failed and "took longer" not in failed[0]


def test_a_slot_ends_the_process_of_the_model_before(
    tiny_settings: Settings, tiny_status: client.ModelStatus
) -> None:
    with contextlib.closing(client.WorkerSlot()) as slot:
        first = slot.worker(tiny_settings, tiny_status, linger=60)
        first.embed_query("one")
        held = first._process
        slot.worker(tiny_settings, replace(tiny_status, fingerprint="another"))
        assert held is not None and held.ended and first.pid is None


def test_however_many_workers_are_asked_for_texts_are_embedded_within_the_limit() -> None:
    assert client._threads(1_000) == limits.SEMANTIC_THREADS
    assert client._threads(3) == 3


def test_each_search_is_of_the_index_it_names(worker: client.Worker, tmp_path: Path) -> None:
    rows = unit(np.random.default_rng(2).normal(size=(6, 384)))
    for folder, count in ((tmp_path / "one", 2), (tmp_path / "other", 6)):
        (folder / "state").mkdir(parents=True)
        shelf = Shelf(folder, 384)
        ids = shelf.add(rows[:count])
        shelf.publish()
        found = worker.search("water", 9, shelf.path, shelf.begun.token)
        assert sorted(chunk for chunk, _ in found) == ids
