"""Measuring retrieval: a golden file's questions asked, and how often the answer was found.

Promises: every question is asked, in the file's order; a hit is a result whose path matches and
whose text, white space folded, holds `contains` where that is given.
Does not: search. It is handed a function that does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helpers.errors import UsageError

TOP = 8  # results per question that count
RECALLS = (1, 3, 8)

Question = dict[str, Any]
Result = dict[str, Any]


def read_golden(path: str | Path) -> list[Question]:
    """[{"query", "expect": [{"path", "contains"?}], "lang"?}]. Raises UsageError."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"The golden file {path} cannot be read: {error}", "Give a JSON file."
        ) from None
    if not isinstance(value, list) or not value or not all(map(_is_question, value)):
        raise UsageError(
            f"The golden file {path} holds no list of questions",
            'Write [{"query": "…", "expect": [{"path": "…", "contains": "…"}]}, …].',
        )
    return value


def run(
    questions: Sequence[Question], ask: Callable[[str], list[Result]], details: bool = False
) -> dict[str, Any]:
    """{"n", "recall@1", "recall@3", "recall@8", "mrr", "p50_ms", "p95_ms", "by_lang"}, and with
    `details` {"queries": [{"query", "results": [{"path", "chunk_id", "text"}]}]}."""
    ranks: list[int | None] = []
    times: list[float] = []
    shown: list[dict[str, Any]] = []
    for question in questions:
        started = time.perf_counter()
        results = ask(question["query"])[:TOP]
        times.append((time.perf_counter() - started) * 1000)
        ranks.append(_rank(question, results))
        if details:
            shown.append({"query": question["query"], "results": [_brief(r) for r in results]})
    report = _scores(ranks)
    report["p50_ms"], report["p95_ms"] = _percentile(times, 50), _percentile(times, 95)
    report["by_lang"] = _by_language(questions, ranks)
    if details:
        report["queries"] = shown
    return report


def readable(report: dict[str, Any]) -> str:
    """The report as lines for a terminal."""
    lines = [f"{name:10} {report[name]}" for name in report if name not in ("by_lang", "queries")]
    for language, scores in report["by_lang"].items():
        lines.append(f"{language}: " + ", ".join(f"{k} {v}" for k, v in scores.items()))
    for entry in report.get("queries", ()):
        lines.append(f"? {entry['query']}")
        lines += [f"    {result['path']}" for result in entry["results"]]
    return "\n".join(lines)


def _is_question(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("query"), str)
        and isinstance(value.get("expect"), list)
        and all(isinstance(e, dict) and isinstance(e.get("path"), str) for e in value["expect"])
    )


def _rank(question: Question, results: Sequence[Result]) -> int | None:
    for rank, result in enumerate(results, 1):
        text = _unspaced(result["text"])
        for expected in question["expect"]:
            wanted = _unspaced(expected.get("contains") or "")
            if result["path"] == expected["path"] and wanted in text:
                return rank
    return None


def _unspaced(text: str) -> str:
    return " ".join(text.split())


def _brief(result: Result) -> dict[str, Any]:
    return {name: result[name] for name in ("path", "chunk_id", "text")}


def _scores(ranks: Sequence[int | None]) -> dict[str, Any]:
    count = len(ranks)
    scores: dict[str, Any] = {"n": count}
    for top in RECALLS:
        scores[f"recall@{top}"] = round(sum(r is not None and r <= top for r in ranks) / count, 4)
    scores["mrr"] = round(sum(1 / rank for rank in ranks if rank) / count, 4)
    return scores


def _by_language(
    questions: Sequence[Question], ranks: Sequence[int | None]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[int | None]] = {}
    for question, rank in zip(questions, ranks, strict=True):
        groups.setdefault(str(question.get("lang") or "?"), []).append(rank)
    return {language: _scores(found) for language, found in sorted(groups.items())}


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)], 2)
