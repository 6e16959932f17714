"""LIMITS 17, 28 and 40 to 42, as far as they concern meaning; and kills while embedding.

Each test's output says how many points it took; `--points all` takes every one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers import config
from helpers.jobs.handle import JobHandle
from helpers.semantic import client
from helpers.store import database, generations
from tests.semantic.conftest import packed, pinned, tiny_models  # noqa: F401 (fixtures)
from tests.semantic.standin import StandIn, synced, vectors_by_text, vectors_of
from tests.sync.stage import Stage, stage_in
from tests.trust.test_store import spread, whole, written

Points = Callable[[int, int], int]
Record = Callable[[str, object], None]

DRIVER = Path(__file__).with_name("killed_embedding.py")


def covered(stage: Stage, fingerprint: str) -> list[str]:
    """The text of every chunk that has vectors of this model."""
    rows = stage.rows(
        "SELECT text FROM chunk JOIN vector_of ON chunk_id = chunk.id"
        f" JOIN generation ON generation.id = generation AND fingerprint = '{fingerprint}'"
    )
    return [" ".join(text.split()) for (text,) in rows]


def never_partly_published(stage: Stage) -> bool:
    """Whatever is published covers every chunk of a document that is through."""
    chunks = stage.rows("SELECT count(*) FROM chunk")[0][0]
    return all(
        found == chunks or not at
        for found, at in stage.rows("SELECT chunks, published_at FROM generation")
    )


class Reembedding:
    """A folder that one model has embedded and another is about to, restored before each kill."""

    def __init__(self, folder: Path) -> None:
        self.stage = stage_in(folder)
        self.log = folder / "embedded.log"
        written(self.stage, 8)
        self.driver = subprocess.Popen(
            [sys.executable, str(DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert self.embed(0, "model-1")[0] == 0
        self.saved = folder / "saved"
        shutil.copytree(self.stage.state, self.saved)
        self.log.unlink()
        code, self.points = self.embed(0, "model-2")
        assert code == 0
        self.result = vectors_by_text(self.stage)
        self.texts = sorted(self.log.read_text("utf-8").splitlines())

    def restore(self) -> None:
        shutil.rmtree(self.stage.state)
        shutil.copytree(self.saved, self.stage.state)
        self.log.unlink(missing_ok=True)

    def embed(self, number: int, fingerprint: str) -> tuple[int, int]:
        """The exit code, and the points that a whole run passes."""
        flags = self.stage.command("rag_sync.py", "--quiet", "--workers", "1")[2:]
        assert self.driver.stdin and self.driver.stdout
        self.driver.stdin.write(json.dumps([number, str(self.log), fingerprint, flags]) + "\n")
        code, seen = json.loads(self.driver.stdout.readline())
        return code, seen

    def close(self) -> None:
        with self.driver:
            assert self.driver.stdin is not None
            self.driver.stdin.close()

    def check(self) -> None:
        """Sound; the rest is embedded, and nothing that was written is embedded again."""
        assert self.stage.problems() == []
        assert whole(self.stage) and never_partly_published(self.stage)
        have = covered(self.stage, "model-2")
        self.log.unlink(missing_ok=True)
        assert self.embed(0, "model-2")[0] == 0
        again = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        assert sorted(again + have) == self.texts
        assert vectors_by_text(self.stage) == self.result
        assert self.stage.problems() == []
        for table in ("vector_of", "vector_block", "vector_basis"):
            query = f"SELECT count(DISTINCT generation) FROM {table}"
            assert self.stage.rows(query) == [(1,)], table


@pytest.fixture(scope="module")
def reembedding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reembedding]:
    with contextlib.closing(Reembedding(tmp_path_factory.mktemp("reembedding"))) as made:
        yield made


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork and SIGKILL")
@pytest.mark.timeout(7_200)  # seconds for every point; a sample takes ten
def test_a_kill_at_any_point_of_the_embedding_publishes_nothing_half_and_repeats_nothing(
    reembedding: Reembedding, points: Points, record_property: Record
) -> None:
    chosen = spread(reembedding.points, points(8, reembedding.points))
    for point in chosen:
        reembedding.restore()
        assert reembedding.embed(point, "model-2")[0] == -signal.SIGKILL
        reembedding.check()
    record_property("points", f"{len(chosen)} of {reembedding.points}")


@pytest.mark.timeout(1_200)
def test_17_cancel_at_every_checkpoint_of_the_embedding(
    tmp_path: Path, points: Points, record_property: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    written(stage, 4)
    synced(stage, StandIn(tmp_path / "log", ready=False))
    saved = tmp_path / "saved"
    shutil.copytree(stage.state, saved)
    seen, at = [0], [0]
    asked = JobHandle.cancelled

    def cancelled(job: JobHandle) -> bool:
        seen[0] += 1
        if seen[0] == at[0]:
            job._cancelled = True
        return asked(job)

    monkeypatch.setattr(JobHandle, "cancelled", cancelled)
    assert synced(stage, StandIn(tmp_path / "whole"), scope="embedding")["status"] == "done"
    result = vectors_by_text(stage)
    every = seen[0]
    chosen = spread(every, points(12, every))
    for number, point in enumerate(chosen):
        shutil.rmtree(stage.state)
        shutil.copytree(saved, stage.state)
        models = StandIn(tmp_path / f"log{number}")
        seen[0], at[0] = 0, point
        assert synced(stage, models, scope="embedding")["status"] == "cancelled"
        at[0] = 0
        assert never_partly_published(stage) and stage.problems() == []
        assert sorted(models.embedded()) == sorted(covered(stage, "model-1"))
        assert synced(stage, models, scope="embedding")["status"] == "done"
        assert len(models.embedded()) == len(result)
        assert vectors_by_text(stage) == result
    record_property("points", f"{len(chosen)} of {every}")


def test_28_embedding_process_sees_no_secret(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "canary-5c1e")
    environ = {"RAGDOC_DATA_DIR": str(tmp_path), "RAGDOC_MODELS_DIR": str(tiny_models)}
    settings = config.resolve(None, environ)
    found = client.status(settings)
    with client.Worker(settings, found, linger=60) as worker:
        worker.embed_query("a question")
        environment = Path(f"/proc/{worker.pid}/environ")
        if not environment.exists():
            pytest.skip("needs /proc to look into another process")
        assert b"canary" not in environment.read_bytes()
        assert b"canary" not in Path(f"/proc/{worker.pid}/cmdline").read_bytes()


def test_41_sync_and_search_need_no_network(tmp_path: Path, tiny_models: Path) -> None:  # noqa: F811
    alone = ["unshare", "--map-root-user", "--net"]
    probe = [*alone, "true"] if shutil.which("unshare") else ["false"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody start a process without a network")
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    written(stage, 2)
    environment = os.environ | {"RAGDOC_MODELS_DIR": str(tiny_models)}
    for words in (["rag_sync.py", "--json", "--quiet"], ["rag_search.py", "water pipes", "--json"]):
        command = [*alone, *stage.command(*words)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    assert stage.rows("SELECT published_at IS NOT NULL, chunks > 0 FROM generation") == [(1, 1)]


def test_40_one_bad_chunk_of_many_is_marked_and_the_others_are_found(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    count = points(250, 1_250)
    parts = [f"## Part {n}\n\n" + f"Entry {n} of the register. " * 30 for n in range(count)]
    parts[count // 2] += "\n\nunspeakable"
    stage.write("register.md", "\n\n".join(parts))
    models = StandIn(tmp_path / "log", fails=["unspeakable"])
    assert synced(stage, models)["status"] == "done"
    chunks = stage.rows("SELECT count(*) FROM chunk")[0][0]
    assert chunks >= count
    assert stage.rows("SELECT state FROM document") == [("degraded",)]
    assert stage.rows("SELECT chunks, published_at IS NOT NULL FROM generation") == [
        (chunks - 1, 1)
    ]
    assert stage.paths("unspeakable") == ["register.md"]
    record_property("chunks", f"{chunks - 1} of {chunks}")


def test_42_model_swapped_in_the_middle_of_a_build_never_mixes_vectors(
    tmp_path: Path, points: Points, record_property: Record
) -> None:
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    written(stage, 6)
    swaps = points(4, 12)
    for swap in range(swaps):
        shutil.rmtree(stage.state, ignore_errors=True)
        first, second = StandIn(tmp_path / "log", "a"), StandIn(tmp_path / "log", "b")
        requests = iter(range(1_000))
        first.during = lambda: setattr(first, "dead", next(requests) >= swap)  # noqa: B023
        synced(stage, first)
        synced(stage, second)
        assert stage.rows("SELECT fingerprint FROM generation") == [("b",)]
        found = vectors_by_text(stage)
        for path, ordinal, context, text in stage.rows(
            "SELECT path, ordinal, context, text FROM chunk JOIN document"
            " ON document.id = document_id"
        ):
            assert found[path, ordinal] == vectors_of(f"{context}\n{text}", "b")
    record_property("swaps", swaps)


def test_42_search_asks_only_the_vectors_of_its_own_model(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    stage = stage_in(tmp_path / "a")
    written(stage, 2)
    synced(stage, StandIn(tmp_path / "log", "a"))
    db = database.open_read(stage.settings.db)
    assert generations.serving(db, "a") is not None
    assert generations.serving(db, "b") is None
    assert generations.serving(db, "") is None
    db.close()
