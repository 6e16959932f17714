"""Highlights fall on the original text, and an answer fits into what was asked for."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.language.normalize import fold
from helpers.language.terms import query_terms
from helpers.retrieve.answer import Highlighter, cut, iso, tokens_of


def marked(text: str, query: str) -> list[str]:
    return [text[a:b] for a, b in Highlighter(query_terms(query)).spans(text)]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The Studies of studying", "study", ["Studies", "studying"]),
        ("서울은 수도이다. 서울에서", "서울", ["서울", "서울"]),
        ("도로포장공사비 산출", "도로포장공사", ["도로포장공사"]),
        ("도로포장공사비 산출", "공사", ["공사"]),
        ("อ่านข่าวน้ำท่วมทุกเช้า", "น้ำท่วม", ["น้ำท่วม"]),
        ("อ่านข่าวน\u0e49\u0e4d\u0e32ท่วมทุกเช้า", "น้ำท่วม", ["น\u0e49\u0e4d\u0e32ท่วม"]),
        ("ไฟไหม้ป่า", "ไฟ", ["ไฟ"]),
        ("ท\u0e33นา น\u0e4d\u0e49าค\u0e33 ท้ายสุดก\u0e33ก", "ท้ายสุด", ["ท้ายสุด"]),
        ("\u1100\u1161\u11a8설탕 \u1101\u1173\u11c0글자", "끝글자", ["\u1101\u1173\u11c0글자"]),
        ("part AB-1234 and ab1234", "AB-1234", ["AB-1234", "ab1234"]),
        ("Total: 1,284,500 won", "1284500", ["1,284,500"]),
        ("ﬁne Ｗｉｄｅ text", "fine wide", ["ﬁne", "Ｗｉｄｅ"]),
        ("co\u00adop\u200beration", "cooperation", ["co\u00adop\u200beration"]),
        ("What is the population?", "What is the population", ["population"]),
        ("大韓民國의 歷史", "歷史", ["歷史"]),
        ("nothing here", "elsewhere", []),
        ("the xfoobarbazy value", "oobarb", ["oobarb"]),
        ("a ==> b ==> c", "==>", ["==>", "==>"]),
        ("นํ้าท่วมขังในเขต", "่วมข", ["่วมข"]),
    ],
)
def test_highlight_covers_the_word_as_the_text_spells_it(
    text: str, query: str, expected: list[str]
) -> None:
    assert marked(text, query) == expected


@settings(deadline=None)
@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_spans_are_ascending_apart_and_hold_a_matched_term(text: str, query: str) -> None:
    understood = query_terms(query)
    spans = Highlighter(understood).spans(text)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    wanted = query_terms(query).terms
    for a, b in spans:
        assert set(query_terms(text[a:b]).terms) & set(wanted) or any(
            term in fold(text[a:b]) for term in [*wanted, understood.text, *understood.phrases]
        )


def test_word_at_the_very_end_of_a_text_that_shrinks_is_whole() -> None:
    text = "น\u0e4d\u0e49า" * 40 + " ท้ายสุด"
    (start, end) = Highlighter(query_terms("ท้ายสุด")).spans(text)[-1]
    assert text[start:end] == "ท้ายสุด" and end == len(text)


def test_tokens_count_ascii_in_fours_and_others_whole() -> None:
    assert tokens_of("abcd" * 10) == 10
    assert tokens_of("물 관리") == 3.25


def test_cut_keeps_whole_texts_and_shortens_only_the_first() -> None:
    assert cut(["a" * 40, "b" * 40, "c" * 40], 20) == (["a" * 40, "b" * 40], False)
    assert cut([], 5) == ([], False)
    kept, shortened = cut(["word " * 100, "x"], 10)
    assert shortened and len(kept) == 1 and tokens_of(kept[0]) <= 10
    assert kept[0] == ("word " * 100)[: len(kept[0])]


@pytest.mark.parametrize("ns", [0, -1, 2**63 - 1, -(2**63), 1_700_000_000_123_456_789])
def test_times_are_iso_whatever_a_file_system_says(ns: int) -> None:
    assert iso(ns).endswith("Z") and len(iso(ns)) == 20
