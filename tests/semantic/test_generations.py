from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import rag_search
from helpers import embedding, service
from helpers.semantic import model as semantic_model
from helpers.semantic import scan
from helpers.store import database, generations, schema, vectors
from tests.semantic.standin import StandIn, synced, vectors_by_text, vectors_of
from tests.semantic.test_embedding import published, states, total, written
from tests.sync.stage import Stage, stage_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return stage_in(tmp_path)


def model(stage: Stage, fingerprint: str) -> StandIn:
    return StandIn(stage.folder / "embedded.log", fingerprint)


def serving(stage: Stage, fingerprint: str) -> generations.Generation | None:
    db = database.open_read(stage.settings.db)
    try:
        return generations.serving(db, fingerprint)
    finally:
        db.close()


def test_unfinished_generation_serves_nobody(stage: Stage) -> None:
    written(stage, 4)
    models = model(stage, "a")
    models.kills = ["paper 3"]
    models.dead = True
    synced(stage, models)
    assert serving(stage, "a") is None
    models.dead, models.kills = False, []
    synced(stage, models)
    found = serving(stage, "a")
    assert found is not None and found.chunks == total(stage)


def test_new_model_is_built_beside_the_old_one_which_serves_only_its_own_questions(
    stage: Stage,
) -> None:
    written(stage, 4)
    old, new = model(stage, "a"), model(stage, "b")
    synced(stage, old)
    seen: list[tuple[bool, bool]] = []

    def look() -> None:
        seen.append((serving(stage, "a") is not None, serving(stage, "b") is not None))

    new.during = look
    synced(stage, new)
    assert set(seen) == {(True, False)}
    assert published(stage) == [("b", True)]
    assert serving(stage, "a") is None
    for path, ordinal, context, text in stage.rows(
        "SELECT path, ordinal, context, text FROM chunk JOIN document ON document.id = document_id"
    ):
        assert vectors_by_text(stage)[path, ordinal] == vectors_of(f"{context}\n{text}", "b")
    assert stage.rows(
        "SELECT (SELECT count(DISTINCT generation) FROM vector_of),"
        " (SELECT count(DISTINCT generation) FROM vector_block)"
    ) == [(1, 1)]


def test_model_of_another_size_takes_over_and_words_go_on_meanwhile(stage: Stage) -> None:
    written(stage, 4)
    small, large = model(stage, "a"), model(stage, "b")
    large.dimension = 3 * small.dimension
    synced(stage, small)
    before = serving(stage, "a")
    found: list[list[str]] = []
    large.during = lambda: found.append(stage.paths("paper water"))
    synced(stage, large)
    after = serving(stage, "b")
    assert found and all(len(set(paths)) == 4 for paths in found)
    assert before is not None and after is not None
    assert (before.dimension, after.dimension) == (12, 36)
    scanner = scan.Scanner.open(str(stage.settings.db), after.token)
    text = stage.rows("SELECT context || char(10) || text FROM chunk WHERE id = 3")[0][0]
    query = np.frombuffer(vectors_of(text, "b", 36), np.float16)[:36].astype(np.float32)
    assert scanner.top_k(query, 1)[0][0] == 3
    with pytest.raises(LookupError, match="replaced"):
        scan.Scanner.open(str(stage.settings.db), before.token).top_k(query, 1)


def test_returning_to_the_old_model_before_the_new_one_is_done_costs_nothing(
    stage: Stage,
) -> None:
    written(stage, 5)
    old, new = model(stage, "a"), model(stage, "b")
    synced(stage, old)
    requests = iter(range(100))
    new.during = lambda: setattr(new, "dead", next(requests) > 1)
    synced(stage, new)
    assert published(stage) == [("a", True), ("b", False)]
    before = len(old.embedded())
    assert before > total(stage)
    synced(stage, old)
    assert len(old.embedded()) == before
    assert set(states(stage).values()) == {"ready"}
    assert published(stage) == [("a", True)]
    assert stage.problems() == []


def test_published_generation_serves_while_changed_documents_wait(stage: Stage) -> None:
    written(stage, 4)
    models = model(stage, "a")
    synced(stage, models)
    before = serving(stage, "a")
    written(stage, 6)
    models.dead = True
    synced(stage, models)
    found = serving(stage, "a")
    assert found is not None and before is not None and found.token == before.token
    assert states(stage) == {f"paper{n:02}.md": "ready" if n < 4 else "pending" for n in range(6)}
    share = generations.fraction(found, total(stage))
    assert 0.5 < share < 1
    models.dead = False
    synced(stage, models)
    assert generations.fraction(serving(stage, "a"), total(stage)) == 1


def test_answer_says_which_fraction_can_be_found_by_meaning(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(stage, 3)
    models = model(stage, "a")
    synced(stage, models)
    stage.write("late.md", "It came late.")
    models.dead = True
    synced(stage, models)
    monkeypatch.setattr(semantic_model, "status", models.status)
    request = rag_search.SearchRequest("paper", mode="lexical")
    index = rag_search.search(request, stage.settings)["index"]
    assert index["embedded_fraction"] == round((total(stage) - 1) / total(stage), 4)
    monkeypatch.setattr(semantic_model, "status", model(stage, "b").status)
    index = rag_search.search(request, stage.settings)["index"]
    assert index["embedded_fraction"] == 0.0


def test_vectors_of_a_process_with_another_model_are_never_stored(stage: Stage) -> None:
    written(stage, 2)
    models = model(stage, "a")

    class Swapped(StandIn):
        """Its process loads what lies there now."""

        def worker(self, settings: object, found: object) -> object:  # type: ignore[override]
            return models.worker(stage.settings, found)  # type: ignore[arg-type]

    job = synced(stage, Swapped(models.log, "b"))
    assert job["status"] == "done"
    assert published(stage) == [("b", False)]
    assert models.embedded() == [] and stage.rows("SELECT count(*) FROM vector_of") == [(0,)]
    assert set(states(stage).values()) == {"pending"}


def test_documents_and_vectors_that_disagree_are_compared_again(stage: Stage) -> None:
    written(stage, 3)
    models = model(stage, "a")
    synced(stage, models)
    db = database.open_write(stage.settings.db)
    (chunk,) = db.execute("SELECT max(id) FROM chunk").fetchone()
    with database.transaction(db):
        vectors.drop(db, [chunk])
    db.close()
    before = len(models.embedded())
    synced(stage, models)
    synced(stage, models)
    assert len(models.embedded()) == before + 1
    assert len(vectors_by_text(stage)) == total(stage)


def as_schema_1(stage: Stage) -> None:
    """The index as the version before wrote it."""
    db = sqlite3.connect(stage.settings.db)
    for table in ("block", "leaf", "head", "basis", "of", "dead", "failure"):
        db.execute(f"DROP TABLE vector_{table}")
    db.execute("DROP TABLE generation")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def as_schema_2(stage: Stage) -> None:
    """The index with heads in the form of the version before."""
    db = sqlite3.connect(stage.settings.db)
    db.execute("DROP TABLE vector_head")
    db.execute(next(text for text in schema.VERSION_2 if "TABLE vector_head(" in text))
    db.execute("INSERT INTO vector_head SELECT id, 1, x'00', x'00', x'00' FROM vector_block")
    db.execute("UPDATE vector_basis SET data = x'00'")
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()


def test_heads_of_the_form_before_are_made_anew_and_no_vector_is(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 16)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 8)
    monkeypatch.setattr(embedding, "HEAD_FROM", 20)
    written(stage, 8)
    models = model(stage, "a")
    synced(stage, models)
    before, made = len(models.embedded()), stage.rows("SELECT block FROM vector_head")
    as_schema_2(stage)
    assert stage.search("paper water")["results"] and serving(stage, "a") is None  # by words
    synced(stage, models)
    assert len(models.embedded()) == before
    assert made and stage.rows("SELECT block FROM vector_head") == made
    assert serving(stage, "a") is not None
    assert published(stage) == [("a", True)]


def test_schema_before_is_searched_as_it_is_and_migrated_by_the_next_sync(stage: Stage) -> None:
    written(stage, 2)
    synced(stage, StandIn(stage.folder / "log", ready=False))
    as_schema_1(stage)
    found = stage.search("paper water")
    assert found["results"] and found["index"]["embedded_fraction"] == 0.0
    report = service.health(stage.settings)
    assert report["index"]["schema"] == 1 and report["index"]["integrity"] == "ok"
    synced(stage, model(stage, "a"))
    db = database.open_read(stage.settings.db)
    assert schema.version(db) == schema.CURRENT
    db.close()
    assert published(stage) == [("a", True)]
