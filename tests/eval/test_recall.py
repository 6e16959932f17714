"""Retrieval on the reference sets stays where it was measured, on a sample of the questions.

The sample is every fourth question, so the floors lie two points below what must be reached on
all of them; `rag_search.py --eval` gives the full figures (docs/measurements.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers import evaluate
from helpers.config import Settings
from rag_search import Searcher, SearchRequest

ROOT = Path(__file__).resolve().parents[2]
STEP = 4  # every STEP-th question is asked
Ask = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def searcher(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Settings]]:
    made: dict[str, Settings] = {}

    def index(name: str) -> tuple[Path, Settings]:
        folder = shared / "retrieval" / name
        if name not in made:
            state = tmp_path_factory.mktemp(name)
            where = ["--knowledge-dir", str(folder / "docs"), "--data-dir", str(state)]
            command = [sys.executable, str(ROOT / "rag_sync.py"), "--quiet", "--json", *where]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=200)
            assert json.loads(done.stdout)["status"] == "done", done.stderr
            made[name] = Settings(folder / "docs", state, state / "ragdoc.sqlite3")
        return folder, made[name]

    return index


@pytest.mark.parametrize(
    ("name", "golden", "first", "eight"),
    [
        ("ko_tydi", "golden", 0.75, 0.92),
        ("en_tydi", "golden", 0.79, 0.93),
        ("th_iapp", "golden", 0.885, 0.96),
        ("th_xquad", "golden", 0.875, 0.96),
        ("en_xquad", "golden", 0.85, 0.96),
        ("ko_tydi", "golden_short", 0.94, 1.0),
        ("th_iapp", "golden_short", 0.98, 1.0),
    ],
)
def test_recall_holds(
    searcher: Callable[[str], tuple[Path, Settings]],
    name: str,
    golden: str,
    first: float,
    eight: float,
) -> None:
    folder, settings = searcher(name)
    questions = evaluate.read_golden(folder / f"{golden}.json")
    sample = questions if golden == "golden_short" else questions[::STEP]
    with Searcher(settings) as open_index:

        def ask(question: str) -> list[dict[str, Any]]:
            request = SearchRequest(question, max_tokens=100_000)
            results: list[dict[str, Any]] = open_index.search(request)["results"]
            return results

        report = evaluate.run(sample, ask)
    assert report["recall@1"] >= first and report["recall@8"] >= eight, report
