"""Asking the embedding process: answers, and that nothing it does can hurt the asker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import limits
from helpers.config import Settings
from helpers.errors import Cancelled, SemanticError
from helpers.semantic import client, process
from tests.semantic.asking import VECTOR, acting, gone, halves, length, wait_until_gone
from tests.semantic.shelf import Shelf, unit

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
