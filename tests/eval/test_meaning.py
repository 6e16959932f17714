"""Recall by words, by meaning and by both, on one reference set, with the embedded model.

All sets are in docs/measurements.md, with the commands; this one is small enough to embed here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import evaluate
from helpers.config import Settings
from helpers.embedding import Models
from helpers.store import database, vectors
from rag_search import Meaning, Searcher, SearchRequest
from tests.semantic.conftest import installed_model  # noqa: F401 (fixture)
from tests.semantic.standin import synced
from tests.sync.stage import stage_in

STEP = 6  # every STEP-th question is asked
NEVER_WORSE = 0.005  # that both may lose against the better of the two
SAMPLED = 0.015  # what a sample of a hundred questions may differ by: one question and a half


@pytest.fixture(scope="module")
def library(
    shared: Path, installed_models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    stage = stage_in(tmp_path_factory.mktemp("xquad"))
    docs = shared / "retrieval" / "en_xquad" / "docs"
    settings = replace(stage.settings, knowledge_dir=docs, models_dir=installed_models)
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    return settings


@pytest.fixture(scope="module")
def mind() -> Iterator[Meaning]:
    made = Meaning(60.0)
    yield made
    made.close()


def recall(settings: Settings, mind: Meaning, golden: Path, mode: str) -> tuple[float, float]:
    """Recall at 1 and at 8 of a sample of the questions."""
    with Searcher(settings, mind) as searcher:

        def ask(question: str) -> list[dict[str, Any]]:
            answer = searcher.search(SearchRequest(question, mode=mode, max_tokens=100_000))
            assert answer["mode"] == mode
            results: list[dict[str, Any]] = answer["results"]
            return results

        report = evaluate.run(evaluate.read_golden(golden)[::STEP], ask)
    return report["recall@1"], report["recall@8"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("golden", "first", "eight"),
    [("golden", 0.895, 0.985), ("golden_th_to_en", 0.68, 0.95)],
)
@pytest.mark.usefixtures("installed_model")
def test_both_together_lose_against_neither(
    shared: Path, library: Settings, mind: Meaning, golden: str, first: float, eight: float
) -> None:
    path = shared / "retrieval" / "en_xquad" / f"{golden}.json"
    words, meaning, both = (
        recall(library, mind, path, mode) for mode in ("lexical", "semantic", "hybrid")
    )
    least = NEVER_WORSE + SAMPLED
    assert both[0] >= max(words[0], meaning[0]) - least and both[0] >= first - SAMPLED
    assert both[1] >= max(words[1], meaning[1]) - least and both[1] >= eight - SAMPLED


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("installed_model")
def test_half_the_vectors_are_never_worse_than_none(
    shared: Path, library: Settings, mind: Meaning, tmp_path: Path
) -> None:
    shutil.copytree(library.data_dir, tmp_path / "state")
    half = replace(library, db=tmp_path / "state" / library.db.name)
    db = database.open_write(half.db)
    chunks = [row[0] for row in db.execute("SELECT id FROM chunk ORDER BY key")]
    with database.transaction(db):
        vectors.drop(db, chunks[::2])
    db.close()
    path = shared / "retrieval" / "en_xquad" / "golden.json"
    words, both = (recall(half, mind, path, mode) for mode in ("lexical", "hybrid"))
    assert both[0] >= words[0] - SAMPLED and both[1] >= words[1] - SAMPLED
