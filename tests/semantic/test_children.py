"""Children: at most 112 tokens, at most 24 shared, cut between words."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from helpers.limits import CHILD_OVERLAP_TOKENS, CHILD_TOKENS
from helpers.semantic import children

BEGINS = st.lists(st.booleans(), max_size=600)


@given(BEGINS)
def test_windows_cover_every_token_within_their_limits(begins: list[bool]) -> None:
    found = children.windows(begins)
    covered = {place for begin, end in found for place in range(begin, end)}
    assert covered == set(range(len(begins)))
    assert all(0 < end - begin <= CHILD_TOKENS for begin, end in found)
    for (_, before), (begin, end) in itertools.pairwise(found):
        assert before - CHILD_OVERLAP_TOKENS <= begin <= before < end


@given(st.integers(0, 400), st.integers(1, 12))
def test_ends_fall_between_words_where_there_are_words(size: int, word: int) -> None:
    begins = [place % word == 0 for place in range(size)]
    for begin, end in children.windows(begins):
        assert begins[begin] and (end == size or begins[end])


def test_text_without_a_word_is_cut_between_tokens() -> None:
    assert children.windows([True] + [False] * 223) == [(0, 112), (112, 224)]


def test_a_short_text_is_one_child_and_none_is_none() -> None:
    assert children.windows([True] * 112) == [(0, 112)]
    assert children.windows([]) == []


@given(BEGINS, st.integers(0, 60))
def test_a_context_is_kept_within_its_limit(begins: list[bool], most: int) -> None:
    kept = children.context(begins, most)
    assert kept <= most or kept == len(begins) <= most
    assert len(begins) <= most or kept >= most // 2


def test_a_context_ends_between_words() -> None:
    assert children.context([place % 5 == 0 for place in range(100)], 48) == 45


def test_neighbouring_children_share_the_overlap_where_words_allow_it() -> None:
    found = children.windows([True] * 300, most=100, overlap=20)
    assert found == [(0, 100), (80, 180), (160, 260), (240, 300)]
    # Words of seven tokens: the next window begins with the first whole word of the overlap.
    sevens = [place % 7 == 0 for place in range(300)]
    ends = children.windows(sevens, most=100, overlap=20)
    assert all(0 < one[1] - other[0] <= 20 for one, other in itertools.pairwise(ends))
    assert all(begin % 7 == 0 for begin, _ in ends)


def test_a_context_is_kept_whole_or_cut_between_words() -> None:
    assert children.context([True] * 5, most=10) == 5
    assert children.context([True] * 25, most=10) == 10
    assert children.context([place % 4 == 0 for place in range(25)], most=10) == 8
    assert children.context([True] + [False] * 24, most=10) == 10


def test_a_word_that_begins_too_far_back_ends_no_child_and_no_context() -> None:
    begins = [place in (0, 40) for place in range(200)]
    assert children.windows(begins)[0] == (0, CHILD_TOKENS)
    begins = [place in (0, 81) for place in range(200)]
    assert children.windows(begins)[0] == (0, 81)
    assert children.context([place in (0, 3) for place in range(25)], most=10) == 10
