"""The meaning leg: it answers beside the words, and whatever its process does, words answer.

The tiny model's vectors mean nothing, so these tests look at what runs and what is said; recall is
measured in tests/eval.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rag_search
from helpers import config, limits
from helpers.config import Settings
from helpers.embedding import Models
from helpers.errors import SemanticError, UsageError
from helpers.retrieve import meaning
from helpers.retrieve.keyword import DEEP_POOL, POOL
from helpers.retrieve.meaning import Meaning
from helpers.semantic import client, model, process
from helpers.semantic.model import Description
from helpers.store import database, vectors
from rag_search import Searcher, SearchRequest
from tests.semantic.asking import acting, wait_until_gone
from tests.semantic.conftest import packed, pinned, tiny_models  # noqa: F401 (fixtures)
from tests.semantic.standin import synced
from tests.sync.stage import stage_in

TEXTS = {
    "fees.txt": "The fee for late payment is 300 baht.",
    "leave.txt": "New employees get ten days of paid leave.",
    "notes/meeting.txt": "The meeting about the budget was moved to Friday.",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, tiny_models: Path) -> Settings:  # noqa: F811
    """Three documents with vectors; not to be changed."""
    return embedded(tmp_path_factory.mktemp("shelf"), tiny_models, TEXTS)


def embedded(folder: Path, models: Path, texts: Mapping[str, str]) -> Settings:
    """Settings over documents that were synced with their vectors."""
    stage = stage_in(folder)
    for path, text in texts.items():
        stage.write(path, text)
    settings = replace(stage.settings, models_dir=models)
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    return settings


@pytest.fixture
def mind() -> Iterator[Meaning]:
    made = Meaning(60.0)
    yield made
    made.close()


def ask(settings: Settings, mind: Meaning | None = None, **asked: Any) -> dict[str, Any]:
    request = SearchRequest(asked.pop("query", "late fee"), **asked)
    return rag_search.search(request, settings, mind)


def test_auto_is_hybrid_where_vectors_serve(shelf: Settings, mind: Meaning) -> None:
    answer = ask(shelf, mind)
    assert answer["mode"] == "hybrid" and answer["index"]["embedded_fraction"] == 1.0
    assert answer["legs"]["semantic"]["ran"] and answer["legs"]["semantic"]["hits"] == 3
    first = answer["results"][0]
    assert first["path"] == "fees.txt" and first["matched_by"] == ["keyword", "semantic"]
    assert {result["path"] for result in answer["results"]} == set(TEXTS)


def test_each_mode_runs_its_own_legs(shelf: Settings, mind: Meaning) -> None:
    by_words = ask(shelf, mind, mode="lexical")
    assert by_words["mode"] == "lexical" and len(by_words["results"]) == 1
    assert by_words["legs"]["semantic"]["reason"] == "mode is lexical"
    by_meaning = ask(shelf, mind, mode="semantic")
    assert by_meaning["mode"] == "semantic" and len(by_meaning["results"]) == 3
    assert all(result["matched_by"] == ["semantic"] for result in by_meaning["results"])
    assert by_meaning["legs"]["keyword"] == {
        "ran": False, "hits": 0, "ms": 0.0, "reason": "mode is semantic"
    }  # fmt: skip


def test_filters_hold_for_meaning_too(shelf: Settings, mind: Meaning) -> None:
    for mode in ("hybrid", "semantic"):
        answer = ask(shelf, mind, mode=mode, path="notes/")
        assert [result["path"] for result in answer["results"]] == ["notes/meeting.txt"]


def test_a_deleted_file_is_not_found_by_meaning(shelf: Settings, mind: Meaning) -> None:
    file = shelf.knowledge_dir / "leave.txt"
    aside = shelf.data_dir / "leave.txt"
    os.rename(file, aside)
    try:
        found = ask(shelf, mind, mode="semantic")["results"]
    finally:
        os.rename(aside, file)
    assert {result["path"] for result in found} == {"fees.txt", "notes/meeting.txt"}


def test_one_process_answers_all_questions_of_a_searcher_that_is_given_one(
    shelf: Settings, mind: Meaning
) -> None:
    pids = set()
    for query in ("late fee", "paid leave", "budget"):
        with Searcher(shelf, mind) as searcher:
            searcher.search(SearchRequest(query))
        assert mind._slot is not None and mind._slot._worker is not None
        pids.add(mind._slot._worker.pid)
    assert len(pids) == 1 and None not in pids
    mind.close()
    assert wait_until_gone(pids.pop() or 0)


def test_a_search_alone_leaves_no_process(shelf: Settings) -> None:
    with Searcher(shelf) as searcher:
        assert searcher.search(SearchRequest("fee"))["mode"] == "hybrid"
        worker = searcher.mind._slot._worker if searcher.mind._slot else None
        pid = worker.pid if worker else None
    assert pid is None or wait_until_gone(pid)


# --- without meaning -----------------------------------------------------------------------


def test_without_a_model_words_answer_and_meaning_alone_is_refused(shelf: Settings) -> None:
    bare = replace(shelf, models_dir=Path(os.devnull) / "none")
    for mode in ("auto", "hybrid"):
        answer = ask(bare, mode=mode)
        assert answer["mode"] == "lexical" and answer["results"]
        assert "no semantic model is installed" in answer["legs"]["semantic"]["reason"]
    with pytest.raises(UsageError, match=r"semantic_worker\.py --install"):
        ask(bare, mode="semantic")


def test_off_is_a_reason(shelf: Settings) -> None:
    off = replace(shelf, semantic="off")
    assert ask(off)["legs"]["semantic"]["reason"] == "semantic search is off"


def test_vectors_of_another_model_do_not_answer(
    shelf: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "fingerprint", lambda *_: "another")
    answer = ask(shelf)
    assert answer["mode"] == "lexical" and answer["index"]["embedded_fraction"] == 0.0
    assert answer["legs"]["semantic"]["reason"] == meaning.NO_VECTORS
    with pytest.raises(UsageError, match=r"rag_sync\.py"):
        ask(shelf, mode="semantic")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("os._exit(9)", "ended with status 9"),
        ("out.write(b'Segmentation fault, core dumped'); out.flush()", "junk"),
        ("wire.send(out, {'hits': 3}, b'short')", "another number of hits"),
        ("wire.send(out, {'error': 'disk on fire', 'remedy': ''})", "disk on fire"),
        ("wire.send(out, {'hits': 0}, b'') if header['op'] == 'search' else os._exit(1)", "status"),
        ("time.sleep(3600)", "took longer than 1 s"),
    ],
)
def test_whatever_the_process_does_words_answer(
    shelf: Settings, mind: Meaning, monkeypatch: pytest.MonkeyPatch, action: str, said: str
) -> None:
    monkeypatch.setattr(limits, "SEMANTIC_QUERY_S", 1.0)
    acting(monkeypatch, action)
    begun = time.monotonic()
    answer = ask(shelf, mind)
    assert time.monotonic() - begun < 8
    assert answer["mode"] == "lexical" and answer["results"][0]["path"] == "fees.txt"
    assert answer["legs"]["semantic"]["ran"] is False
    assert said in answer["legs"]["semantic"]["reason"]
    assert answer["results"] == ask(shelf, mode="lexical")["results"]


def test_meaning_alone_fails_aloud(
    shelf: Settings, mind: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting(monkeypatch, "os._exit(9)")
    with pytest.raises(SemanticError, match="status 9"):
        ask(shelf, mind, mode="semantic")


def test_no_process_is_started_where_it_has_nothing_to_do(
    shelf: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_spawn", lambda: pytest.fail("started"))
    ask(shelf, mode="lexical")
    ask(replace(shelf, semantic="off"))


# --- half-built ----------------------------------------------------------------------------


def test_documents_that_await_their_vectors_keep_their_place_by_words(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    mind: Meaning,
) -> None:
    texts = {
        f"{number}.txt": "budget " * (1 + number % 4) + f"of the year {2000 + number}."
        for number in range(12)
    }
    settings = embedded(tmp_path, tiny_models, texts)
    without = {f"{number}.txt" for number in range(0, 12, 2)}
    _remove_vectors(settings, without)
    query = "budget of the year 2004"
    answer = ask(settings, query=query, mode="lexical", limit=12)
    by_words = [result["path"] for result in answer["results"]]
    answer = ask(settings, mind, query=query, limit=12)
    together = [result["path"] for result in answer["results"]]
    assert answer["mode"] == "hybrid" and answer["index"]["embedded_fraction"] == 0.5
    assert all(together.index(path) <= by_words.index(path) for path in without & set(by_words))
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def _remove_vectors(settings: Settings, paths: set[str]) -> None:
    db = database.open_write(settings.db)
    marks = ",".join("?" * len(paths))
    rows = db.execute(
        "SELECT chunk.id FROM chunk JOIN document ON document.id = document_id"
        f" WHERE path IN ({marks})",
        sorted(paths),
    ).fetchall()
    with database.transaction(db):
        vectors.drop(db, [row[0] for row in rows])
    db.close()


def test_settings_take_the_rule_of_fusion() -> None:
    assert config.resolve(None, {}).fusion == "score"
    assert config.resolve(None, {"RAGDOC_FUSION": "rrf"}).fusion == "rrf"


def test_reciprocal_ranks_can_be_chosen(shelf: Settings, mind: Meaning) -> None:
    ranked = replace(shelf, fusion="rrf")
    answer = ask(ranked, mind)
    assert answer["mode"] == "hybrid" and answer["results"][0]["path"] in TEXTS
    assert answer["results"][0]["score"] <= 1.0


# --- what a question asks for and says -----------------------------------------------------


class Answered:
    """A process that was asked and found `count` chunks, each less near than the one before."""

    def __init__(self, count: int) -> None:
        self.count, self.asked_also = count, list[int]()

    def result(self) -> list[tuple[int, float]]:
        return [(chunk, 0.9 - 0.001 * chunk) for chunk in range(self.count)]

    def also(self, chunks: Sequence[int]) -> list[tuple[int, float]]:
        self.asked_also = list(chunks)
        return [(chunk, 0.5) for chunk in chunks]


@pytest.fixture
def described(shelf: Settings) -> Description:
    found = model.status(shelf).description
    assert found is not None
    return replace(found, background_mean=0.7, fusion_weight=0.1)


def test_a_hit_beyond_the_first_pool_moves_nothing_of_an_earlier_page(
    described: Description,
) -> None:
    leg = meaning.Question(Answered(POOL + 20), described, 1.0).leg()  # type: ignore[arg-type]
    assert [hit.later for hit in leg.hits] == [False] * POOL + [True] * 20


def test_nearness_counts_from_the_background_and_with_the_square_of_what_is_seen(
    described: Description,
) -> None:
    pending = Answered(3)
    question = meaning.Question(pending, described, 0.5)  # type: ignore[arg-type]
    leg = question.leg([1, 7, 8])
    assert pending.asked_also == [7, 8]
    assert leg.hits[0].score == pytest.approx((0.9 - 0.7) / 0.3)
    assert leg.also == {7: 0.0, 8: 0.0}  # below the background is no nearness at all
    assert leg.share == 0.5
    assert leg.weight == pytest.approx(meaning.SAY * 0.25 * 0.3 / 0.1)


@pytest.mark.parametrize(("deep", "wanted"), [(False, POOL), (True, DEEP_POOL)])
def test_a_later_page_asks_the_process_for_more(
    shelf: Settings, monkeypatch: pytest.MonkeyPatch, deep: bool, wanted: int
) -> None:
    asked: list[int] = []
    search = client.Worker.searching

    def noted(worker: client.Worker, text: str, k: int, *rest: Any) -> Any:
        asked.append(k)
        return search(worker, text, k, *rest)

    monkeypatch.setattr(client.Worker, "searching", noted)
    ask(shelf, limit=8, offset=48 if deep else 0)
    assert asked == [wanted]
