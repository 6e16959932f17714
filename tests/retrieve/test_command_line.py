"""rag_search.py as a person or a script runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rag_search
from helpers.store import database
from tests.retrieve.library import Library, library

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Library:
    documents = {
        "a.md": "The budget \x1b[31mwas\x1b[0m approved.\n\nA second paragraph.",
        "sub/น้ำ.txt": "ข่าวน้ำท่วมกรุงเทพ",
    }
    return library(tmp_path_factory.mktemp("shelf"), documents)


def run(shelf: Library, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    where = ["--knowledge-dir", str(shelf.folder), "--data-dir", str(shelf.settings.data_dir)]
    return subprocess.run(
        [sys.executable, str(ROOT / "rag_search.py"), *words, *where],
        capture_output=True,
        encoding="utf-8",
        env={"PATH": "", **env},
        timeout=60,
        check=False,
    )


def test_json_is_one_value_even_under_another_code_page(shelf: Library) -> None:
    done = run(shelf, "น้ำท่วม", "--json", PYTHONIOENCODING="cp949")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["path"] == "sub/น้ำ.txt"
    assert done.stderr == ""


def test_readable_answer_cites_and_lets_no_escape_through(shelf: Library) -> None:
    done = run(shelf, "budget")
    assert "1. a.md, line 1" in done.stdout and "> The budget" in done.stdout
    assert "\x1b" not in done.stdout


def test_nothing_found_is_no_failure(shelf: Library) -> None:
    done = run(shelf, "xylophone-quartet")
    assert done.returncode == 0 and "Nothing found in 2 documents" in done.stdout
    assert "(synced 2026-01-02T03:04:05Z)" in done.stdout


def test_nothing_found_during_the_first_sync_says_so() -> None:
    index = {"documents": 3, "synced_at": None}
    said = rag_search._readable({"results": [], "more": 0, "index": index, "legs": {}})
    assert "3 documents (the first sync has not come to its end yet)" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([""], 2, "empty"),
        (["x", "--limit", "99"], 2, "1 to 50"),
        (["x", "--mode", "semantic"], 2, "lexical"),
        ([], 2, "query"),
        (["--eval", "missing.json"], 2, "golden"),
    ],
)
def test_usage_errors_end_with_two_and_say_why(
    shelf: Library, words: list[str], code: int, said: str
) -> None:
    done = run(shelf, *words)
    assert done.returncode == code and said in done.stderr and done.stdout == ""


def test_damaged_index_ends_with_four_and_names_the_command(tmp_path: Path) -> None:
    broken = library(tmp_path, {"a.md": "text"})
    broken.settings.db.write_bytes(b"not a database" * 100)
    done = run(broken, "text")
    assert done.returncode == 4 and "rag_sync.py --force" in done.stderr


def test_export_gives_every_chunk_once_in_order(shelf: Library) -> None:
    entries = [json.loads(line) for line in run(shelf, "--export").stdout.splitlines()]
    assert [entry["path"] for entry in entries] == ["a.md", "a.md", "sub/น้ำ.txt"]
    assert all({"path", "chunk_id", "location", "text"} <= set(entry) for entry in entries)
    assert run(shelf, "--export", "--path", "*" * 60_000).returncode == 2
    some = run(shelf, "--export", "--path", "sub/*").stdout.splitlines()
    assert len(some) == 1
    db = database.open_read(shelf.settings.db)
    count = db.execute("SELECT count(*) FROM chunk").fetchone()[0]
    db.close()
    assert count == len(entries) == len({entry["chunk_id"] for entry in entries})


def test_eval_reports_recall_and_details(shelf: Library, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    questions = [
        {
            "query": "budget",
            "expect": [{"path": "a.md", "contains": "was  approved"}],
            "lang": "en",
        },
        {"query": "น้ำท่วม", "expect": [{"path": "sub/น้ำ.txt"}], "lang": "th"},
        {"query": "nowhere", "expect": [{"path": "a.md"}]},
    ]
    questions[0]["expect"] = [{"path": "a.md", "contains": "approved."}]
    golden.write_text(json.dumps(questions), encoding="utf-8")
    done = run(shelf, "--eval", str(golden), "--details", "--json")
    report = json.loads(done.stdout)
    assert report["n"] == 3 and report["recall@1"] == report["recall@8"] == 0.6667
    assert report["by_lang"]["th"]["recall@1"] == 1.0
    assert [entry["query"] for entry in report["queries"]] == ["budget", "น้ำท่วม", "nowhere"]
    assert set(report["queries"][0]["results"][0]) == {"path", "chunk_id", "text"}
    assert {"p50_ms", "p95_ms", "mrr", "recall@3"} <= set(report)
    assert "recall@1" in run(shelf, "--eval", str(golden)).stdout


def test_help_begins_with_examples(shelf: Library) -> None:
    assert "examples:" in run(shelf, "--help").stdout[:200]


def test_words_without_quotes_are_one_query(shelf: Library) -> None:
    done = run(shelf, "budget", "approved", "--json")
    assert json.loads(done.stdout)["query"] == "budget approved"
