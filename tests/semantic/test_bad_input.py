"""A model that is damaged, of another kind, or gone: said plainly with a remedy, in every door's
words, and keywords keep answering. The faults themselves are tested one by one in test_install and
test_model; here each meets an index that has vectors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import rag_search
from helpers import limits, packages, service
from helpers.config import Settings
from helpers.embedding import Models
from helpers.errors import UsageError
from helpers.retrieve.meaning import Meaning
from helpers.semantic import model
from rag_search import SearchRequest
from tests.semantic import tiny
from tests.semantic.standin import synced
from tests.sync.stage import Stage, stage_in

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, tiny_models: Path) -> Settings:
    """One document with vectors, in an index that is only read."""
    stage = stage_in(tmp_path_factory.mktemp("kept"))
    return with_vectors(stage, replace(stage.settings, models_dir=tiny_models))


@pytest.fixture
def shelf(kept: Settings, tmp_path: Path) -> Settings:
    """The same with a models folder of its own."""
    shutil.copytree(kept.models_dir, tmp_path / "own")
    return replace(kept, models_dir=tmp_path / "own")


def with_vectors(stage: Stage, settings: Settings) -> Settings:
    """The settings, once there is a document that is found by meaning."""
    stage.write("fees.txt", "The fee for late payment is 300 baht.")
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    assert rag_search.search(SearchRequest("late fee"), settings)["mode"] == "hybrid"
    return settings


def said(settings: Settings, reason: str, remedy: str, mind: Meaning | None = None) -> None:
    """Words answer and say why; meaning alone is refused, and health names the remedy."""
    answer = rag_search.search(SearchRequest("late fee"), settings, mind)
    assert answer["mode"] == "lexical" and answer["results"][0]["path"] == "fees.txt"
    assert answer["legs"]["semantic"]["ran"] is False
    assert reason in answer["legs"]["semantic"]["reason"]
    with pytest.raises(UsageError) as refused:
        rag_search.search(SearchRequest("late fee", mode="semantic"), settings, mind)
    assert reason in refused.value.what and remedy in refused.value.remedy
    health = service.health(settings)
    assert health["semantic"]["ready"] is False and reason in health["semantic"]["reason"]


def _cut(name: str) -> Damage:
    def damage(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return damage


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        *(
            (lambda folder, name=name: (folder / name).unlink(), f"the model has no {name}")
            for name in ("model.onnx", "model.onnx.data", "sentencepiece.model", "tokenizer.table")
        ),
        *(
            (_cut(name), f"{name} is not the file that was installed")
            for name in ("model.onnx", "model.onnx.data", "sentencepiece.model", "tokenizer.table")
        ),
        (lambda folder: (folder / model.DESCRIPTION).unlink(), "is no description of a model"),
        (_cut(model.DESCRIPTION), "is no description of a model"),
        (shutil.rmtree, "no semantic model is installed"),
    ],
)
def test_a_damaged_model_is_told_and_words_answer(
    shelf: Settings, damage: Damage, reason: str
) -> None:
    damage(model.default_folder(shelf))
    said(shelf, reason, "--install")


@pytest.mark.parametrize(
    ("version", "reason"),
    [(None, "onnxruntime is not installed"), ("1.15.0", "onnxruntime 1.15.0 is too old")],
)
def test_a_package_that_is_missing_or_too_old_is_told_and_words_answer(
    shelf: Settings, monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str
) -> None:
    real = packages.version
    monkeypatch.setattr(
        packages, "version", lambda name: version if name == "onnxruntime" else real(name)
    )
    said(shelf, reason, "--setup")


def test_a_model_swapped_under_a_running_server_is_told_and_words_answer(shelf: Settings) -> None:
    weights = model.default_folder(shelf) / "model.onnx.data"
    data = weights.read_bytes()
    mind = Meaning(60.0)
    try:
        ask = SearchRequest("late fee")
        assert rag_search.search(ask, shelf, mind)["mode"] == "hybrid"
        weights.write_bytes(data[:-8] + b"swapped!")
        said(shelf, "is not the file that was installed", "--install", mind)
        weights.write_bytes(data)
        assert rag_search.search(ask, shelf, mind)["mode"] == "hybrid"
    finally:
        mind.close()


def test_another_model_put_in_its_place_gets_its_own_vectors_with_the_next_sync(
    tmp_path: Path, tiny_models: Path, pinned: None
) -> None:
    """Two exports of the same shape: the vectors of the first never answer the second."""
    stage, models = stage_in(tmp_path), tmp_path / "models"
    shutil.copytree(tiny_models, models)
    before = with_vectors(stage, replace(stage.settings, models_dir=models))
    first = replace(before, semantic_model_dir=tiny.export(tmp_path / "a", tiny.packed(2)))
    second = replace(before, semantic_model_dir=tiny.export(tmp_path / "b", tiny.packed(3)))
    for settings in (first, second):
        reason = rag_search.search(SearchRequest("late fee"), settings)["legs"]["semantic"]
        assert not reason["ran"] and "not prepared yet" in reason["reason"]
        assert synced(stage, Models(), settings=settings)["status"] == "done"
        answer = rag_search.search(SearchRequest("late fee"), settings)
        assert answer["mode"] == "hybrid" and answer["index"]["embedded_fraction"] == 1.0
    stale = rag_search.search(SearchRequest("late fee"), first)
    assert stale["mode"] == "lexical" and "vectors" in stale["legs"]["semantic"]["reason"]


@pytest.mark.parametrize(
    ("letter", "sample"), [("ก", 100_000), ("가", 20_000), ("x", 20_000), ("🙂", 100_000)]
)
def test_a_document_of_100_000_letters_without_a_space_is_embedded_whole(
    tmp_path: Path,
    tiny_models: Path,
    points: Callable[[int, int], int],
    letter: str,
    sample: int,
) -> None:
    length = points(sample, 100_000)
    stage = stage_in(tmp_path)
    stage.write("long.txt", letter * length)
    settings = replace(stage.settings, models_dir=tiny_models)
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    assert stage.rows("SELECT state FROM document") == [("ready",)]
    longest, count = stage.rows("SELECT max(length(text)), count(*) FROM chunk")[0]
    assert longest <= limits.CHUNK_TEXT_CHARS and count >= length // limits.CHUNK_TEXT_CHARS
    assert stage.rows("SELECT chunks FROM generation") == [(count,)]
