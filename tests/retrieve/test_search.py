"""The search as a whole: what is found, in which order, and what is never returned."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.errors import NoIndex, RagDocError, RootGone, UsageError
from helpers.language.normalize import fold
from helpers.language.terms import index_terms, query_terms
from helpers.retrieve import fuzzy
from helpers.retrieve.hit import Filters
from helpers.retrieve.passages import Passages
from rag_search import Searcher, SearchRequest, chunk, search
from tests.retrieve.library import Library, library

DOCUMENTS = {
    "reports/annual_report-2023.md": "Revenue grew in every region.\n\nThe outlook is stable.",
    "reports/minutes.txt": "The budget was approved by the board on 5 May.",
    "shop/parts.csv": "AB-1234 gasket 1,284,500 won\n\nAB-9999 seal 3.14 cm",
    "code/notes.md": "The C++ compiler and the C# compiler differ.",
    "ko/road.md": "도로포장공사 예산은 3억 원이다. 서울에서 회의가 열렸다.",
    "ko/water.md": "조선 시대의 역사와 물 관리 제도를 다룬다.",
    "th/news.md": "ฉันอ่านข่าวน้ำท่วมกรุงเทพมหานครทุกเช้าก่อนไปทำงาน",
    "th/fish.md": "ปลาอยู่ในน้ำ ไฟไหม้ป่า",
    "db/one.md": "Our database holds every invoice.",
    "db/two.md": "Our data base holds every receipt.",
    "db/three.md": "A data-base of ships.",
    "copy/a.md": "The lighthouse keeper wrote this letter.",
    "copy/b.md": "The lighthouse keeper wrote this letter.",
    "copy/c.md": "A lighthouse keeper, and nothing more of a letter than that.",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return library(tmp_path_factory.mktemp("shelf"), DOCUMENTS)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("budget approved", "reports/minutes.txt"),
        ("When was the budget approved?", "reports/minutes.txt"),
        ("AB-1234", "shop/parts.csv"),
        ("ab1234", "shop/parts.csv"),
        ("1284500", "shop/parts.csv"),
        ("C++", "code/notes.md"),
        ("annual report 2023", "reports/annual_report-2023.md"),
        ("annual_report-2023.md", "reports/annual_report-2023.md"),
        ("anual reprot 2023", "reports/annual_report-2023.md"),
        ("도로 예산", "ko/road.md"),
        ("서울은", "ko/road.md"),
        ("역사", "ko/water.md"),
        ("물", "ko/water.md"),
        ("น้ำท่วม", "th/news.md"),
        ("กรุงเทพ", "th/news.md"),
        ("ไฟ", "th/fish.md"),
        ("ปลา", "th/fish.md"),
        ("น\u0e4d\u0e49า", "th/fish.md"),
    ],
)
def test_query_finds_its_document_first(shelf: Library, query: str, first: str) -> None:
    assert shelf.paths(query)[0] == first


@pytest.mark.parametrize("query", ["database", "data base", "data-base"])
def test_split_words_find_every_spelling(shelf: Library, query: str) -> None:
    assert set(shelf.paths(query)) >= {"db/one.md", "db/two.md", "db/three.md"}


def test_answer_has_the_contracts_fields(shelf: Library) -> None:
    answer = shelf.search("budget")
    assert {"query", "kb_ids", "mode", "results", "legs", "index", "truncated", "more"} <= set(
        answer
    )
    assert answer["mode"] == "lexical" and answer["kb_ids"] == ["default"]
    assert answer["legs"]["semantic"]["ran"] is False and answer["legs"]["semantic"]["reason"]
    assert set(answer["legs"]) == {"filename", "keyword", "fuzzy", "semantic"}
    assert answer["index"] == {
        **{"synced_at": "2026-01-02T03:04:05Z", "documents": len(DOCUMENTS), "chunks": 16},
        **{"embedded_fraction": 0.0, "unread_files": 0},
    }
    result = answer["results"][0]
    assert result["path"] == "reports/minutes.txt" and result["rank"] == 1
    assert result["absolute_path"] == str(shelf.folder.resolve() / "reports" / "minutes.txt")
    assert result["matched_by"] == ["keyword"] and result["untrusted"] is True
    assert [result["text"][a:b] for a, b in result["highlights"]] == ["budget"]
    assert result["location"]["label"] == "line 1" and result["modified"].endswith("Z")


def test_scores_never_rise_and_the_same_question_gets_the_same_answer(shelf: Library) -> None:
    answers = [shelf.search("the keeper holds every letter", limit=50) for _ in range(2)]
    scores = [result["score"] for result in answers[0]["results"]]
    assert len(scores) > 3 and scores == sorted(scores, reverse=True)
    assert answers[0]["results"] == answers[1]["results"]


def test_copies_of_a_text_follow_the_texts_that_differ(shelf: Library) -> None:
    assert shelf.paths("lighthouse keeper letter") == ["copy/a.md", "copy/c.md", "copy/b.md"]


def test_quoted_phrase_comes_before_the_same_words_apart(tmp_path: Path) -> None:
    shelf = library(
        tmp_path,
        {
            "a.md": "red wine and red wine and white bread, house red",
            "b.md": "We sell white house wine, all colours but red: red red red wine wine house",
            "c.md": "Ask for the house red wine.",
        },
    )
    assert shelf.paths('"house red wine"')[0] == "c.md"


def test_phrase_that_no_term_finds_is_found_letter_by_letter(shelf: Library) -> None:
    assert shelf.paths('"bles the bo"') == []
    assert shelf.paths('"pproved by the boar"') == ["reports/minutes.txt"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"path": "ko/*.md"}, {"ko/road.md", "ko/water.md"}),
        ({"path": "ko"}, {"ko/road.md", "ko/water.md"}),
        ({"path": "road.m?"}, {"ko/road.md"}),
        ({"type": "csv"}, {"shop/parts.csv"}),
        ({"type": ".CSV"}, {"shop/parts.csv"}),
        ({"modified_after": "2999-01-01"}, set()),
    ],
)
def test_filters_hold_for_every_leg(
    shelf: Library, asked: dict[str, str], expected: set[str]
) -> None:
    query = "도로 역사 gasket report parts road water"
    assert set(shelf.paths(query, limit=50, **asked)) == expected


def test_filter_is_applied_before_the_limit(tmp_path: Path) -> None:
    documents = {f"many/{i}.md": "harbour harbour harbour" for i in range(80)}
    shelf = library(tmp_path, {**documents, "one/z.md": f"harbour {'and more words ' * 20}"})
    assert shelf.paths("harbour", path="one/*") == ["one/z.md"]


def test_modified_after_compares_times(shelf: Library) -> None:
    os.utime(shelf.folder / "ko" / "road.md")
    assert shelf.paths("예산", modified_after="2001-01-01T00:00:00Z") == ["ko/road.md"]


@pytest.mark.parametrize("change", ["deleted", "folder", "symlink"])
def test_file_that_is_gone_or_changed_kind_is_not_returned(tmp_path: Path, change: str) -> None:
    shelf = library(tmp_path, {"gone.md": "zebra-gone one", "kept.md": "zebra-gone two"})
    file = shelf.folder / "gone.md"
    file.unlink()
    if change == "folder":
        file.mkdir()
    elif change == "symlink":
        file.symlink_to(shelf.folder / "kept.md")
    answer = shelf.search("zebra-gone")
    assert [result["path"] for result in answer["results"]] == ["kept.md"]
    assert answer["more"] == 0


def test_folder_swapped_by_a_symlink_gives_nothing_from_outside(tmp_path: Path) -> None:
    shelf = library(tmp_path, {"inner/a.md": "walrus tusk"})
    outside = tmp_path / "outside"
    shutil.move(str(shelf.folder / "inner"), outside)
    (shelf.folder / "inner").symlink_to(outside)
    assert shelf.paths("walrus") == []


def test_vanished_root_and_missing_index_say_what_to_do(tmp_path: Path) -> None:
    shelf = library(tmp_path, {"a.md": "text"})
    shelf.folder.rename(tmp_path / "moved")
    with pytest.raises(RootGone):
        shelf.search("text")
    (tmp_path / "moved").rename(shelf.folder)
    shelf.settings.db.unlink()
    with pytest.raises(NoIndex, match="sync"):
        shelf.search("text")


def test_pages_join_to_the_whole_list(tmp_path: Path) -> None:
    shelf = library(tmp_path, {f"{i:02}.md": f"harbour number {i}" for i in range(60)})
    whole = shelf.search("harbour", limit=50)
    assert whole["more"] >= 1 and whole["next"] == {"offset": 50}
    paged: list[str] = []
    offset = 0
    while True:
        answer = shelf.search("harbour", limit=7, offset=offset)
        paged += [result["path"] for result in answer["results"]]
        assert [r["rank"] for r in answer["results"]][:1] in ([offset + 1], [])
        if "next" not in answer:
            break
        offset = answer["next"]["offset"]
    assert paged[:50] == [result["path"] for result in whole["results"]]
    assert len(paged) == len(set(paged)) == 60


def test_pages_over_copies_neither_repeat_nor_miss_a_passage(tmp_path: Path) -> None:
    texts = {f"{i:03}.md": "harbour of copies" if i % 3 else f"harbour {i}" for i in range(90)}
    shelf = library(tmp_path, texts | {"harbour.md": "harbour too"})
    paged: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = shelf.search("harbour", limit=8, offset=offset)
        paged += [result["path"] for result in answer["results"]]
        offset = answer.get("next", {}).get("offset")
    assert len(paged) == len(set(paged)) == 91


def test_answer_is_cut_to_its_tokens_and_says_so(tmp_path: Path) -> None:
    shelf = library(tmp_path, {f"{i}.md": f"harbour {i} " + "x" * 390 for i in range(5)})
    answer = shelf.search("harbour", max_tokens=250)
    assert len(answer["results"]) == 2
    assert answer["truncated"] is True and answer["more"] == 3 and answer["next"] == {"offset": 2}
    one = shelf.search("harbour", max_tokens=10)
    assert len(one["results"]) == 1 and len(one["results"][0]["text"]) <= 40
    assert one["truncated"] is True and one["more"] == 4
    full = shelf.search("harbour", max_tokens=5000)
    assert full["truncated"] is False and full["more"] == 0 and "next" not in full


@pytest.mark.parametrize("query", ["ปี", "물", "ai", "5", "c#"])
def test_short_query_gives_every_chunk_that_holds_it_and_no_other(
    tmp_path: Path, query: str
) -> None:
    texts = [f"{word} {i}" for i in range(12) for word in ("ในปี", "물을", "AI", "plain", "C#", "5")]
    shelf = library(tmp_path, {f"{i:03}-ai.md": text for i, text in enumerate(texts)})
    results = shelf.search(query, limit=50, max_tokens=100_000)["results"]
    assert results and all(fold(query) in fold(result["text"]) for result in results)
    holding = sum(query in index_terms(text) for text in texts)
    assert len(results) >= holding


def test_unread_and_weak_words_do_not_bury_the_rest(shelf: Library) -> None:
    assert shelf.paths("what is the of in?") != []
    assert shelf.paths("the") != []


def test_aliases_find_the_other_name(tmp_path: Path) -> None:
    shelf = library(
        tmp_path, {"a.md": "Human resources plan", "b.md": "HR handbook", "c.md": "인사부"}
    )
    state = shelf.settings.data_dir
    assert shelf.paths("hr handbook") == ["b.md"]
    (state / "aliases.txt").write_text("# names\nHR, human resources, 인사부\n", encoding="utf-8")
    assert set(shelf.paths("hr")) == {"a.md", "b.md", "c.md"}
    assert set(shelf.paths("human resources")) == {"a.md", "b.md", "c.md"}
    (state / "aliases.json").write_text('{"handbook": ["plan"]}', encoding="utf-8")
    assert set(shelf.paths("handbook")) == {"a.md", "b.md"}
    for broken in ('{"handbook": 5}', '[["hr", 1]]', '{"a": ["b"', '"hr"'):
        (state / "aliases.json").write_text(broken, encoding="utf-8")
        with pytest.raises(RagDocError, match="remove"):
            shelf.search("handbook")


def test_text_read_by_ocr_is_found_with_wrong_letters(tmp_path: Path) -> None:
    shelf = library(
        tmp_path,
        {"scan.md": "The munlcipal watcr supply repart of the harbonr", "clean.md": "Nothing here"},
        ocr=["scan.md"],
    )
    answer = shelf.search("municipal water supply report")
    assert answer["results"][0]["path"] == "scan.md"
    assert "fuzzy" in answer["results"][0]["matched_by"]
    assert shelf.search("municipal")["results"][0]["path"] == "scan.md"


def test_rare_letters_tell_more_than_common_ones_in_text_read_by_ocr(tmp_path: Path) -> None:
    common = {f"{n}.md": f"the municipal office {n}" for n in range(6)}
    shelf = library(tmp_path, {**common, "rare.md": "a lantern, munch"}, ocr=[*common, "rare.md"])
    with Searcher(shelf.settings) as searcher:
        asked = query_terms("municipal lantern")
        hits = fuzzy.search(asked, Passages(searcher.db), Filters())
        rows = Passages(searcher.db).load(hit.chunk for hit in hits)
    assert rows[hits[0].chunk].path == "rare.md"


def test_a_misread_letter_takes_its_part_of_the_match(tmp_path: Path) -> None:
    shelf = library(tmp_path, {"scan.md": "the munlcipal office"}, ocr=["scan.md"])
    with Searcher(shelf.settings) as searcher:
        (hit,) = fuzzy.search(query_terms("municipal office"), Passages(searcher.db), Filters())
        (whole,) = fuzzy.search(query_terms("office"), Passages(searcher.db), Filters())
    assert 0.45 < hit.score < 0.9 and whole.score == 1.0


def test_chunk_gives_its_neighbours_in_reading_order(tmp_path: Path) -> None:
    shelf = library(tmp_path, {"a.md": "\n\n".join(f"paragraph {i} quokka{i}" for i in range(6))})
    found = shelf.search("quokka3")["results"][0]
    around = chunk(found["chunk_id"], 1, 2, shelf.settings)
    assert [c["text"].split()[1] for c in around["chunks"]] == ["2", "3", "4", "5"]
    assert around["text"] == found["text"] and around["path"] == "a.md"
    for unknown in ("", "nope", "a" * 16, "../etc"):
        with pytest.raises(UsageError, match="chunk"):
            chunk(unknown, 0, 0, shelf.settings)
    with pytest.raises(UsageError, match="before"):
        chunk(found["chunk_id"], 11, 0, shelf.settings)


def test_unknown_base_and_semantic_mode_are_refused_with_a_remedy(shelf: Library) -> None:
    with pytest.raises(UsageError, match="default"):
        shelf.search("x", kb_id="other")
    with pytest.raises(UsageError, match="lexical"):
        shelf.search("x", mode="semantic")
    assert search(SearchRequest("budget", mode="hybrid"), shelf.settings)["mode"] == "lexical"


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.text(min_size=1, max_size=40)
    | st.lists(
        st.sampled_from(
            ['"', "AND", "OR", "NOT", "NEAR(", ")", "*", "^", ":", "-", "{", "budget", "물"]
        ),
        min_size=1,
        max_size=8,
    ).map(" ".join)
)
def test_any_text_is_a_query(shelf: Library, query: str) -> None:
    try:
        request = SearchRequest(query, limit=50, max_tokens=100_000)
    except UsageError:
        return
    with Searcher(shelf.settings) as searcher:
        results = searcher.search(request)["results"]
    for result in results:
        spans = result["highlights"]
        assert all(0 <= a < b <= len(result["text"]) for a, b in spans)
        assert spans == sorted(spans)


def test_search_loads_nothing_heavy(shelf: Library) -> None:
    code = (
        "import sys; before = set(sys.modules); import rag_search;"
        "from helpers.config import Settings; from pathlib import Path;"
        f"s = Settings(Path({str(shelf.folder)!r}), Path({str(shelf.settings.data_dir)!r}),"
        f" Path({str(shelf.settings.db)!r}));"
        "rag_search.search(rag_search.SearchRequest('น้ำท่วม 예산 budget'), s);"
        "heavy = {'pythainlp', 'asyncio', 'subprocess', 'importlib.metadata', 'email', 'mcp',"
        " 'xml', 'zipfile', 'ssl', 'socket', 'multiprocessing', 'helpers.extract'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]", done.stderr
