"""LIMITS 33: fuzzed queries raise nothing; short ones give all that holds them and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from helpers.errors import UsageError
from helpers.language.normalize import fold
from helpers.language.terms import index_terms
from rag_search import Searcher, SearchRequest
from tests.retrieve.library import library

SAMPLE, EVERYTHING = 600, 20_000
WORDS = (
    *(
        "budget",
        "review",
        "AI",
        "go",
        "C++",
        "AB-1234",
        "3.14",
        "x",
        "it",
        "ไฟ",
        "น้ำ",
        "ปี",
        "ข่าวน้ำท่วม",
    ),
    *("ครู", "물", "역사", "예산안", "서울에서", "도로포장공사", "歷史", "カナ", "ñandú", "straße"),
)
SIGNS = ('"', "'", "*", "(", ")", "^", ":", "-", "+", "{", "}", "\\", "%", "_", ",", ".", "/", "\t")
OPERATORS = ("AND", "OR", "NOT", "NEAR", "NEAR(", "rowid:", "body :", "text MATCH")
ODD = (
    "\u0e33",
    "\u0e48",
    "\u200b",
    "\u00ad",
    "\u1100",
    "\ufeff",
    "\u202e",
    "\U0001f600",
    "\u0301",
    "ﬁ",
)
Query = str


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    chance = random.Random(33)
    documents = {
        f"{number:03}.md": " ".join(chance.choices(WORDS, k=12)) + f" number {number}"
        for number in range(160)
    }
    shelf = library(tmp_path_factory.mktemp("fuzz"), documents)
    with Searcher(shelf.settings) as opened:
        yield opened


def fuzzed(chance: random.Random) -> Query:
    pieces = chance.choices([*WORDS, *SIGNS, *OPERATORS, *ODD], k=chance.randint(1, 9))
    return chance.choice(("", " ")).join(pieces)


def test_fuzzed_queries_raise_nothing_and_mark_only_words(
    searcher: Searcher, points: Callable[[int, int], int]
) -> None:
    chance = random.Random(1)
    asked = 0
    for _ in range(points(SAMPLE, EVERYTHING)):
        query = fuzzed(chance)
        try:
            request = SearchRequest(query, limit=chance.randint(1, 50))
        except UsageError:
            assert not query.strip()
            continue
        asked += 1
        for result in searcher.search(request)["results"]:
            text = result["text"]
            assert all(0 <= a < b <= len(text) for a, b in result["highlights"])
    assert asked > 500


def test_short_queries_give_every_chunk_that_holds_them_and_no_other(searcher: Searcher) -> None:
    texts = [row[0] for row in searcher.db.execute("SELECT text FROM chunk")]
    terms = {text: set(index_terms(text)) for text in texts}
    short = {term for found in terms.values() for term in found if len(term) <= 2}
    short |= {text[i : i + 2].strip() for text in texts[:20] for i in range(0, 40, 3)} - {""}
    assert len(short) > 100
    for query in sorted(short):
        request = SearchRequest(query, limit=50, max_tokens=1_000_000)
        found = {result["text"] for result in searcher.search(request)["results"]}
        assert all(fold(query) in fold(text) for text in found), query
        holding = {text for text in texts if fold(query) in terms[text]}
        if len(holding) <= 50:
            assert {text for text in holding if fold(query) in fold(text)} <= found, query
