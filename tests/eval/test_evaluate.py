"""The measure itself: what counts as a hit, and what the figures are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.errors import UsageError
from helpers.evaluate import read_golden, readable, run

QUESTIONS: list[dict[str, Any]] = [
    {"query": "one", "expect": [{"path": "a", "contains": "x  y"}], "lang": "en"},
    {"query": "two", "expect": [{"path": "a"}, {"path": "b"}], "lang": "ko"},
    {"query": "three", "expect": [{"path": "c"}], "lang": "ko"},
]
ANSWERS = {
    "one": [("a", "x"), ("b", "x y"), ("a", "x\n y")],
    "two": [("b", "")],
    "three": [("a", "")] * 8 + [("c", "")],
}


def ask(question: str) -> list[dict[str, Any]]:
    return [{"path": p, "text": t, "chunk_id": f"{p}{t}"} for p, t in ANSWERS[question]]


def test_figures_follow_the_ranks() -> None:
    report = run(QUESTIONS, ask)
    assert report["n"] == 3
    assert (report["recall@1"], report["recall@3"], report["recall@8"]) == (0.3333, 0.6667, 0.6667)
    assert report["mrr"] == round((1 / 3 + 1) / 3, 4)
    assert report["by_lang"]["ko"]["n"] == 2 and "queries" not in report
    assert "recall@8" in readable(report)


def test_details_show_eight_results_of_every_question() -> None:
    queries = run(QUESTIONS, ask, details=True)["queries"]
    assert [len(entry["results"]) for entry in queries] == [3, 1, 8]


@pytest.mark.parametrize("value", [[], {}, [1], [{"query": "x"}], [{"query": 1, "expect": []}]])
def test_file_that_is_no_golden_file_is_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(UsageError, match="golden"):
        read_golden(path)
