"""The normal form: equal for equal-looking text, and traceable to the original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.language.normalize import clean_query, fold, fold_with_map, strip_marks

SAME = [
    ("น้ำ", "น้\u0e4d\u0e32"),
    ("น้ำ", "น\u0e4d\u0e49\u0e32"),
    ("น้ำ", "น\u0e33\u0e49"),
    ("ที่", "ท\u0e48\u0e35"),
    ("แม่", "เเม่"),
    ("ก่า", "ก\u0e48\u0e48า"),
    ("สิทธิ์", "สิทธ\u0e4c\u0e34"),
    ("๒๕๖๗", "2567"),
    ("ＡＢＣ", "abc"),
    ("ﬁn", "fin"),
    ("각", "\u1100\u1161\u11a8"),
    ("coop", "co\u00adop"),
    ("ฟ้า", "ฟ้\u200bา"),
    ("Straße", "STRASSE"),
]
MIXED = st.text(alphabet="กนท่้ํำ าีุ์เa ﾊﾞ가각\u1100\u1161\u11a8\u00ad\u200bé\u0301ßﬁ①٣😀", max_size=12)


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_looking_text_folds_to_the_same(left: str, right: str) -> None:
    assert fold(left) == fold(right)


def test_distinct_thai_words_stay_distinct() -> None:
    assert len({fold(word) for word in ("มา", "ม่า", "ม้า", "หมา", "มำ")}) == 5


@given(MIXED)
def test_map_gives_the_folded_text_and_ascending_offsets(text: str) -> None:
    folded, offsets = fold_with_map(text)
    assert folded == fold(text)
    assert len(offsets) == len(folded) + 1 and offsets[-1] == len(text)
    assert offsets == sorted(offsets)


def test_map_leads_back_to_the_original_letters() -> None:
    text = "เขา ท\u0e33น\u0e49\u0e4d\u0e32 ﬁne"
    folded, offsets = fold_with_map(text)
    start = folded.index("fine")
    assert text[offsets[start] : offsets[start + 4]] == "ﬁne"
    start = folded.index("น้ำ")
    assert text[offsets[start] : offsets[start + 3]] == "น\u0e49\u0e4d\u0e32"


def test_strip_marks_drops_thai_tones_and_accents() -> None:
    assert strip_marks("ที่") == "ท"
    assert strip_marks("café") == "cafe"


def test_clean_query_blanks_what_no_document_can_hold() -> None:
    assert clean_query("a\0b\ud800c") == "a b c"
