"""What an embedding process may do wrong, and that nothing of it hurts the asker."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import limits
from helpers.config import Settings
from helpers.errors import SemanticError
from helpers.semantic import client, model, process
from helpers.store import database, vector_heads, vectors
from tests.semantic.asking import VECTOR, acting
from tests.semantic.shelf import Shelf, brute_force, unit


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
