from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import embedding, service
from helpers.errors import SemanticError
from helpers.jobs.handle import JobHandle
from helpers.semantic import model as semantic_model
from helpers.store import database, generations, vector_heads, vectors
from tests.semantic.standin import StandIn, Worker, synced, vectors_by_text, vectors_of
from tests.sync.stage import Stage, stage_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return stage_in(tmp_path)


@pytest.fixture
def models(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "embedded.log")


def written(stage: Stage, count: int, word: str = "water") -> None:
    """Documents of two or three chunks each, no two alike."""
    for number in range(count):
        parts = [f"Part {part} of paper {number} about {word}. " * 17 for part in range(3)]
        stage.write(f"paper{number:02}.md", f"# Paper {number}\n\n" + "\n\n".join(parts))


def states(stage: Stage) -> dict[str, str]:
    return dict(stage.rows("SELECT path, state FROM document"))


def published(stage: Stage) -> list[tuple[str, bool]]:
    return [
        (fingerprint, at is not None)
        for fingerprint, at in stage.rows("SELECT fingerprint, published_at FROM generation")
    ]


def total(stage: Stage) -> int:
    return int(stage.rows("SELECT count(*) FROM chunk")[0][0])


def test_every_chunk_gets_the_vectors_of_its_context_and_text(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 5)
    job = synced(stage, models)
    assert (job["status"], job["progress_percent"]) == ("done", 100)
    assert job["semantic_done"] == job["semantic_total"] == total(stage) > 8
    assert set(states(stage).values()) == {"ready"}
    assert published(stage) == [("model-1", True)]
    found = vectors_by_text(stage)
    for path, ordinal, context, text in stage.rows(
        "SELECT path, ordinal, context, text FROM chunk JOIN document ON document.id = document_id"
    ):
        assert found[path, ordinal] == vectors_of(f"{context}\n{text}", "model-1")
    assert len(models.embedded()) == total(stage)
    assert stage.problems() == []


def test_only_chunks_that_changed_are_embedded_again(stage: Stage, models: StandIn) -> None:
    written(stage, 4)
    synced(stage, models)
    before = len(models.embedded())
    path = stage.docs / "paper02.md"
    path.write_text(path.read_text() + "\n\n# One more\n\n" + "A new closing part. " * 40)
    (stage.docs / "paper01.md").unlink()
    synced(stage, models)
    again = models.embedded()[before:]
    assert again and all("new closing" in text or "One more" in text for text in again)
    assert len(vectors_by_text(stage)) == total(stage)
    assert stage.problems() == []


def test_sync_without_a_change_asks_the_model_nothing(stage: Stage, models: StandIn) -> None:
    written(stage, 2)
    synced(stage, models)
    starts, before = models.starts, stage.rows("SELECT * FROM generation")
    job = synced(stage, models)
    assert (models.starts, stage.rows("SELECT * FROM generation")) == (starts, before)
    assert (job["semantic_total"], job["unchanged"]) == (0, 2)


def test_sync_without_a_change_imports_nothing_that_embeds(stage: Stage) -> None:
    written(stage, 1)
    code = "import sys, rag_sync; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "helpers.embedding" in loaded
    assert not loaded & {"numpy", "onnxruntime", "helpers.semantic.client"}


def test_words_find_documents_that_still_wait_for_their_vectors(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 3)
    models.dead = True
    job = synced(stage, models)
    assert job["status"] == "done"
    assert set(states(stage).values()) == {"pending"}
    assert published(stage) == [("model-1", False)]
    assert stage.paths("paper water")
    assert 0 < models.starts <= 12
    models.dead = False
    synced(stage, models)
    assert set(states(stage).values()) == {"ready"}
    assert len(models.embedded()) == total(stage)


def test_what_stopped_the_embedding_is_told_by_health_until_it_goes_on(
    stage: Stage, models: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic_model, "status", models.status)
    written(stage, 2)
    models.dead = True
    synced(stage, models)
    report = service.health(stage.settings)
    assert report["semantic"]["ready"] is False
    assert report["semantic"]["pending"] == total(stage)
    assert [p["code"] for p in report["problems"]] == ["embedding_stopped"]
    assert "status -11" in report["semantic"]["reason"]
    assert report["files"]["pending"] == 2
    models.dead = False
    synced(stage, models)
    report = service.health(stage.settings)
    assert report["ok"] and report["semantic"]["ready"] and report["semantic"]["reason"] is None
    assert report["semantic"]["embedded"] == total(stage)
    assert report["files"]["ready"] == 2


def test_chunk_that_cannot_be_embedded_is_tried_three_times_and_its_document_degraded(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 3)
    stage.write("odd.md", "# Odd\n\nA strange word: xyzzy.")
    models.fails = ["xyzzy"]
    job = synced(stage, models)
    assert job["status"] == "done"
    assert sum("xyzzy" in text for text in models.embedded()) == generations.ATTEMPTS
    assert {p for p, state in states(stage).items() if state == "degraded"} == {"odd.md"}
    assert published(stage) == [("model-1", True)]
    assert stage.paths("xyzzy") == ["odd.md"]
    before = len(models.embedded())
    synced(stage, models)
    assert len(models.embedded()) == before


@pytest.mark.parametrize(("scope", "force"), [("embedding", False), ("full", True)])
def test_failed_chunk_is_tried_again_on_request(
    stage: Stage, models: StandIn, scope: str, force: bool
) -> None:
    written(stage, 2)
    stage.write("odd.md", "# Odd\n\nA strange word: xyzzy.")
    models.fails = ["xyzzy"]
    synced(stage, models)
    models.fails, before = [], len(models.embedded())
    synced(stage, models, scope=scope, force=force)
    assert len(models.embedded()) == before + 1
    assert set(states(stage).values()) == {"ready"}


def test_failed_chunk_that_changes_is_forgotten(stage: Stage, models: StandIn) -> None:
    stage.write("odd.md", "# Odd\n\nA strange word: xyzzy.")
    models.fails = ["xyzzy"]
    synced(stage, models)
    stage.write("odd.md", "# Odd\n\nA usual word.")
    synced(stage, models)
    assert states(stage) == {"odd.md": "ready"}
    assert stage.rows("SELECT count(*) FROM vector_failure") == [(0,)]


def test_chunk_that_kills_the_process_is_singled_out(stage: Stage, models: StandIn) -> None:
    written(stage, 6)
    stage.write("paper03b.md", "# Poison\n\nA deadly word: plugh.")
    models.kills = ["plugh"]
    job = synced(stage, models)
    assert job["status"] == "done"
    expected = dict.fromkeys(states(stage), "ready") | {"paper03b.md": "degraded"}
    assert states(stage) == expected
    assert published(stage) == [("model-1", True)]
    assert len(models.embedded()) == len(set(models.embedded())) == total(stage)  # and the probe
    assert embedding.PROBE in models.embedded()


def test_process_that_dies_of_every_chunk_is_not_taken_for_many_bad_chunks(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 6)
    models.kills = ["of paper"]
    assert synced(stage, models)["status"] == "done"
    assert set(states(stage).values()) == {"pending"}
    assert published(stage) == [("model-1", False)]
    assert stage.rows("SELECT count(*) FROM vector_failure") == [(0,)]


def test_scope_embedding_reads_no_document(stage: Stage, models: StandIn) -> None:
    written(stage, 2)
    synced(stage, StandIn(models.log, ready=False))
    stage.write("later.md", "Not yet looked at.")
    job = synced(stage, models, scope="embedding")
    assert (job["added"], job["completed_files"]) == (0, 0)
    assert "later.md" not in states(stage)
    assert len(models.embedded()) == total(stage) == len(vectors_by_text(stage))


def test_without_a_model_documents_are_ready_and_vectors_stay(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 2)
    synced(stage, models)
    before = len(models.embedded())
    synced(stage, StandIn(models.log, ready=False))
    stage.write("new.md", "A new one.")
    synced(stage, StandIn(models.log, ready=False))
    assert set(states(stage).values()) == {"ready"}
    synced(stage, models)
    assert [text for text in models.embedded()[before:] if "new one" not in text] == []
    assert published(stage) == [("model-1", True)]
    assert stage.problems() == []


def test_cancelled_embedding_keeps_what_it_has_and_publishes_nothing(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 8)
    handles: list[JobHandle] = []
    rounds = iter(range(100))

    def cancel_in_the_third_request() -> None:
        if next(rounds) == 2:
            (stage.settings.jobs_dir / f"{handles[0].job_id}.cancel").touch()
            handles[0]._next_stat = 0

    models.during = cancel_in_the_third_request
    job = synced(stage, models, during=handles.append)
    assert (job["status"], job["phase"]) == ("cancelled", "semantic")
    assert published(stage) == [("model-1", False)]
    assert 90 <= job["progress_percent"] < 100
    assert 0 < len(vectors_by_text(stage)) == len(models.embedded()) < total(stage)
    models.during = lambda: None
    assert synced(stage, models)["status"] == "done"
    assert len(models.embedded()) == len(set(models.embedded())) == total(stage)
    assert published(stage) == [("model-1", True)]


def test_percent_of_the_embedding_is_the_last_tenth(stage: Stage, models: StandIn) -> None:
    written(stage, 6)
    handles: list[JobHandle] = []
    seen: list[tuple[int, int, int]] = []

    def look() -> None:
        handles[0].flush()
        state = handles[0].state()
        seen.append((state.progress_percent, state.semantic_done, state.semantic_total))

    models.during = look
    synced(stage, models, during=handles.append)
    assert [percent for percent, _, _ in seen] == sorted(percent for percent, _, _ in seen)
    assert all(90 <= percent < 100 for percent, _, _ in seen)
    assert seen[0][1] == 0 and {whole for _, _, whole in seen} == {total(stage)}


def test_large_generations_get_heads_and_lose_them_with_their_basis(
    stage: Stage, models: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 16)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 8)
    monkeypatch.setattr(embedding, "HEAD_FROM", 20)
    monkeypatch.setattr(embedding, "NEW_BASIS_AT", 2)
    written(stage, 8)
    synced(stage, models)
    heads = "SELECT count(*), min(basis), max(basis) FROM vector_head"
    first = stage.rows(heads)[0]
    assert first[0] > 0 and first[1:] == (1, 1)
    written(stage, 24)
    synced(stage, models)
    later = stage.rows(heads)[0]
    assert later[0] > first[0] and later[1:] == (2, 2)
    db = database.open_read(stage.settings.db)
    assert vector_heads.headless(db, generations.every(db)[0].id) == []
    db.close()


def test_vectors_that_do_not_agree_with_the_chunks_are_made_again_by_force(
    stage: Stage, models: StandIn
) -> None:
    written(stage, 2)
    synced(stage, models)
    db = database.open_write(stage.settings.db)
    db.execute("DELETE FROM vector_leaf")
    db.close()
    assert [p["code"] for p in stage.problems()] == ["vectors_mismatch"]
    synced(stage, models, force=True)
    assert stage.problems() == []
    assert len(models.embedded()) == 2 * total(stage)
    assert published(stage) == [("model-1", True)]


# --- what is lost, and when it stops -------------------------------------------------------


@pytest.mark.parametrize(("seconds", "kept"), [(0.0, True), (3_600.0, False)])
def test_vectors_are_committed_while_others_are_made(
    stage: Stage, models: StandIn, monkeypatch: pytest.MonkeyPatch, seconds: float, kept: bool
) -> None:
    monkeypatch.setattr(embedding, "COMMIT_S", seconds)
    written(stage, 8)
    seen: list[int] = []
    models.during = lambda: seen.append(len(vectors_by_text(stage)))
    synced(stage, models)
    assert len(seen) > 2 and seen[0] == 0
    assert (seen[-1] > 0) == kept


def test_what_came_in_before_the_process_failed_is_kept(stage: Stage, models: StandIn) -> None:
    written(stage, 8)
    rounds = iter(range(100))

    def fail_in_the_third_request() -> None:
        models.dead = next(rounds) >= 2

    models.during = fail_in_the_third_request
    synced(stage, models)
    assert 0 < len(vectors_by_text(stage)) == len(models.embedded()) < total(stage)
    assert published(stage) == [("model-1", False)]


def test_many_bad_chunks_far_apart_are_left_out_each(stage: Stage, models: StandIn) -> None:
    written(stage, 24)
    bad = {f"paper{number:02}b.md" for number in (3, 8, 13, 18)}
    for name in bad:
        stage.write(name, f"# Poison of {name}\n\nA deadly word: plugh.")
    models.kills = ["plugh"]
    synced(stage, models)
    assert {path for path, state in states(stage).items() if state == "degraded"} == bad
    assert published(stage) == [("model-1", True)]


class Crowded(Worker):
    """Dies of two chunks at once, of none alone."""

    def _survived(self, batch: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if len(batch) > 1:
            raise SemanticError("it cannot take so many", "Wait.")
        return super()._survived(batch)


def test_process_that_fails_again_and_again_without_a_chunk_to_blame_is_given_up(
    stage: Stage, models: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "worker", lambda settings, found: Crowded(models))
    written(stage, 24)
    assert synced(stage, models)["status"] == "done"
    assert 0 < len(vectors_by_text(stage)) < total(stage)
    assert stage.rows("SELECT count(*) FROM vector_failure") == [(0,)]


def test_only_chunk_is_not_blamed_for_a_process_that_never_runs(
    stage: Stage, models: StandIn
) -> None:
    stage.write("one.md", "Water.")
    models.dead = True
    synced(stage, models)
    assert states(stage) == {"one.md": "pending"}
    assert stage.rows("SELECT count(*) FROM vector_failure") == [(0,)]


def test_vectors_of_a_model_that_changed_meanwhile_are_not_taken(
    stage: Stage, models: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = StandIn(models.log, fingerprint="model-2")
    monkeypatch.setattr(models, "worker", other.worker)
    written(stage, 1)
    synced(stage, models)
    assert published(stage) == [("model-1", False)]
    assert models.embedded() == []


@pytest.mark.parametrize(("least", "heads"), [(20, True), (10_000, False)])
def test_heads_are_made_from_a_size_on_and_their_basis_is_kept_while_it_fits(
    stage: Stage,
    models: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    least: int,
    heads: bool,
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 16)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 8)
    monkeypatch.setattr(embedding, "HEAD_FROM", least)
    for count in (8, 16):
        written(stage, count)
        synced(stage, models)
    (found,) = stage.rows("SELECT count(*) > 0, max(basis) FROM vector_head")
    assert found == (heads, 1 if heads else None)
