"""The analyser: every kind of word is findable, and terms are safe for the index."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.language import terms
from helpers.language.normalize import clean_query, fold

SAFE = re.compile(r"[0-9a-z\u0080-\U0010ffff]+")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("part AB-1234 arrived", "ab1234"),
        ("part AB1234 arrived", "AB-1234"),
        ("the sum is 1,284,500 won", "1284500"),
        ("the sum is 1284500 won", "1,284,500"),
        ("covid19 wave", "covid-19"),
        ("a data-base of names", "database"),
        ("the country's law", "country"),
        ("O’Brien said", "obrien"),
        ("see user_name here", "username"),
        ("Café au lait", "cafe"),
        ("大韓民國의 歷史", "歷史"),
        ("カタカナ", "カタ"),
        ("조선 시대의 역사와 물 관리", "역사"),
        ("조선 시대의 역사와 물을 관리", "물"),
        ("ปลาอยู่ในน้ำ ไฟไหม้ป่า", "ไฟ"),
        ("ในปี ๒๕๖๗ มี", "2567"),
        ("ฉันอ่านข่าวน้ำท่วมกรุงเทพมหานครทุกเช้า", "กรุงเทพ"),
        ("Привет мир", "привет"),
        ("हिन्दी भाषा", "हिन्दी"),
    ],
)
def test_word_in_text_is_found_by_query(text: str, query: str) -> None:
    wanted = set(terms.query_terms(query).terms)
    assert wanted & set(terms.index_terms(text))


@settings(deadline=None)
@given(st.text(max_size=80))
def test_terms_pass_the_index_tokenizer_unchanged(text: str) -> None:
    found = terms.index_terms(text)
    assert all(SAFE.fullmatch(term) for term in found)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='ascii')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, row)")
    kept = " ".join(term for term in found if not any(_surrogate(c) for c in term))
    db.execute("INSERT INTO t VALUES(?)", (kept,))
    assert {row[0] for row in db.execute("SELECT term FROM v")} == set(kept.split())
    db.close()


def _surrogate(sign: str) -> bool:
    return "\ud800" <= sign <= "\udfff"


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_query_is_understood_and_meets_the_text_it_stands_in(text: str) -> None:
    query = terms.query_terms(text)
    found = set(terms.index_terms(clean_query(text)))
    assert {word.term for word in query.words} <= found


@pytest.mark.parametrize(
    "text", ['"', '"a', "AND", "NEAR(a b)", "a* col:b", "\0", "\ud800", "(" * 50]
)
def test_search_operators_and_broken_signs_are_text(text: str) -> None:
    assert all(SAFE.fullmatch(term) for term in terms.query_terms(text).terms)


def test_query_keeps_words_in_order_once_and_its_phrases() -> None:
    query = terms.query_terms('Budget report "Data  Base" budget “เงิน ทุน”')
    assert [word.surface for word in query.words[:4]] == ["budget", "report", "data", "base"]
    assert query.phrases == ("data base", "เงิน ทุน")


def test_grams_ignore_marks_and_cut_words_in_threes() -> None:
    assert terms.grams("ที่นี่") == terms.grams("ทีนี")
    assert terms.grams("report") == ["rep", "epo", "por", "ort"]
    assert terms.grams("역사를 서울") == ["역사", "사를", "서울"]


def test_token_spans_cover_the_folded_words() -> None:
    folded = fold("AB-1234 서울에서 ข่าวน้ำท่วม")
    plain, found = terms.tokens(folded)
    assert plain == folded and found == ["ab-1234", "서울에서", "ข่าวน้ำท่วม"]
    plain, found = terms.tokens(fold("Café Ünïon"))
    assert (plain, found) == ("cafe union", ["cafe", "union"])


def test_path_is_found_by_the_words_of_its_name() -> None:
    words, grams = terms.Analyser().path("reports/AnnualReport_2023-final.pdf")
    assert {"annual", "report", "2023", "final"} <= set(words.split())
    assert "ann" in grams.split()


def test_importing_the_analyser_loads_no_third_party_module_and_no_word_list() -> None:
    code = (
        "import sys; from helpers.language import terms, thai; terms.index_terms('plain words');"
        "print(thai._word_list.cache_info().currsize, 'pythainlp' in sys.modules,"
        " 'argparse' in sys.modules)"
    )
    root = Path(terms.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["0", "False", "False"], done.stderr
