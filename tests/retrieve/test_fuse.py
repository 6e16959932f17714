"""Fusion: proof adds up, order is fixed, scores never rise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers.retrieve.fuse import fuse
from helpers.retrieve.hit import Hit, Leg
from helpers.retrieve.passages import Passage


def passage(number: int, text: str = "", path: str = "") -> Passage:
    return Passage(
        number, bytes(10), 1, number, text or f"text {number}", "", "{}", path, b"", b"n", "t", 0
    )


PASSAGES = {number: passage(number) for number in range(1, 6)}


def order(*legs: Leg) -> list[int]:
    return [item.passage.id for item in fuse(legs, PASSAGES)]


def test_a_leg_alone_keeps_its_order() -> None:
    assert order(Leg("keyword", (Hit(2, 0.9), Hit(1, 0.5), Hit(3, 0.1)))) == [2, 1, 3]


def test_two_legs_that_agree_beat_one() -> None:
    words = Leg("keyword", (Hit(1, 0.6), Hit(2, 0.55)))
    named = Leg("filename", (Hit(2, 1.0),))
    found = fuse([named, words], PASSAGES)
    assert [item.passage.id for item in found] == [2, 1]
    assert found[0].matched_by == ("filename", "keyword")


def test_ties_go_by_path_then_reading_order() -> None:
    rows = {1: passage(1, path="b"), 2: passage(2, path="a"), 3: passage(3, path="a")}
    found = fuse([Leg("keyword", (Hit(3, 0.5), Hit(1, 0.5), Hit(2, 0.5)))], rows)
    assert [item.passage.id for item in found] == [2, 3, 1]


def test_rest_stays_behind_in_its_own_order() -> None:
    hits = (Hit(5, 0.2), Hit(4, 0.0, rest=True), Hit(1, 0.0, rest=True))
    assert order(Leg("keyword", hits)) == [5, 4, 1]


def test_copies_follow_and_scores_never_rise() -> None:
    rows = {1: passage(1, "same"), 2: passage(2, "same"), 3: passage(3, "other")}
    found = fuse([Leg("keyword", (Hit(1, 0.9), Hit(2, 0.8), Hit(3, 0.1)))], rows)
    assert [item.passage.id for item in found] == [1, 3, 2]
    assert found[0].score >= found[1].score >= found[2].score


def test_hit_whose_row_is_gone_is_left_out() -> None:
    assert order(Leg("keyword", (Hit(99, 1.0), Hit(1, 0.5)))) == [1]


# --- with meaning --------------------------------------------------------------------------


def by_words(*hits: tuple[int, float], proof: float = 1.0) -> Leg:
    return Leg("keyword", tuple(Hit(chunk, score, proof=proof * score) for chunk, score in hits))


def by_meaning(*hits: tuple[int, float], also: dict[int, float] | None = None) -> Leg:
    found = tuple(Hit(chunk, score) for chunk, score in hits)
    return Leg("semantic", found, also=also or {}, weight=2.0)


def test_words_that_prove_little_do_not_outweigh_meaning() -> None:
    near = by_meaning((2, 0.5), also={1: 0.3})
    assert order(by_words((1, 0.9)), near) == [1, 2]
    assert order(by_words((1, 0.9), proof=0.1), near) == [2, 1]


def test_candidates_of_words_are_scored_by_meaning_too() -> None:
    words = by_words((1, 0.6), (2, 0.55))
    assert order(words, by_meaning((3, 0.2), also={1: 0.0, 2: 0.1})) == [2, 1, 3]


def test_a_chunk_without_vectors_keeps_its_place_by_words() -> None:
    words = by_words((1, 0.9), (2, 0.5), (3, 0.4))
    near = by_meaning((4, 0.9), (5, 0.8), also={1: 0.1, 3: 0.2})
    assert order(words, near) == [4, 2, 5, 1, 3]
    assert order(words, near)[1] == 2  # second by words, second now, though others are near


def test_chunks_without_vectors_all_keep_the_order_of_words() -> None:
    assert order(by_words((3, 0.9), (1, 0.5), (2, 0.4)), by_meaning()) == [3, 1, 2]


@given(
    words=st.lists(st.tuples(st.integers(1, 30), st.floats(0.01, 1), st.floats(0, 1)), max_size=30),
    near=st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1)), max_size=30),
    bare=st.sets(st.integers(1, 30)),
    share=st.floats(0.01, 1),
    weight=st.floats(0, 20),
    rule=st.sampled_from(["score", "rrf"]),
)
def test_documents_not_yet_embedded_keep_their_keyword_rank(
    words: list[tuple[int, float, float]],
    near: list[tuple[int, float]],
    bare: set[int],
    share: float,
    weight: float,
    rule: str,
) -> None:
    """However meaning judges the others: `bare` are the chunks that have no vectors."""
    rows = {number: passage(number) for number in range(1, 41)}
    hits = {chunk: Hit(chunk, score, proof=score * proof) for chunk, score, proof in words}
    seen = {chunk: Hit(chunk, score) for chunk, score in near if chunk not in bare}
    keyword = Leg("keyword", tuple(hits.values()))
    also = {chunk: 0.1 for chunk in hits if chunk not in bare and chunk not in seen}
    meaning = Leg("semantic", tuple(seen.values()), also=also, weight=weight, share=share)
    alone = [item.passage.id for item in fuse([keyword], rows)]
    found = fuse([keyword, meaning], rows, rule)
    together = [item.passage.id for item in found]
    assert set(together) == set(hits) | set(seen)
    kept = [chunk for chunk in alone if chunk in bare]
    assert [chunk for chunk in together if chunk in bare] == kept
    assert all(together.index(chunk) <= alone.index(chunk) for chunk in kept)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)


def test_the_less_meaning_sees_the_more_words_count_as_they_do_alone() -> None:
    words = Leg("keyword", (Hit(1, 0.9, proof=0.1), Hit(2, 0.8, proof=0.7)))
    also = {1: 0.2, 2: 0.2}
    for share, expected in ((1.0, [2, 1]), (0.9, [2, 1]), (0.2, [1, 2]), (0.01, [1, 2])):
        near = Leg("semantic", also=also, weight=2.0 * share**2, share=share)
        assert order(words, near) == expected, share


def test_scores_fall_although_places_are_kept() -> None:
    words = by_words((1, 0.2), (2, 0.1))
    found = fuse([words, by_meaning((4, 0.9), (5, 0.8))], PASSAGES)
    scores = [item.score for item in found]
    assert [item.passage.id for item in found] == [1, 2, 4, 5]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] <= scores[0] <= 1


def test_reciprocal_ranks_add_up() -> None:
    words, near = by_words((1, 0.9), (2, 0.8)), by_meaning((2, 0.9), (3, 0.8), also={1: 0.7})
    found = fuse([words, near], PASSAGES, "rrf")
    assert [item.passage.id for item in found] == [2, 1, 3]
    assert found[0].matched_by == ("keyword", "semantic")


def test_a_deeper_look_by_meaning_moves_nothing_that_was_shown() -> None:
    words = by_words((1, 0.4), (2, 0.3))
    first = [Hit(3, 0.5)]
    deeper = [*first, Hit(4, 0.45, later=True), Hit(2, 0.4, later=True)]
    known = {1: 0.1, 2: 0.4}
    shown = order(words, Leg("semantic", tuple(first), also=known, weight=2.0))
    after = order(words, Leg("semantic", tuple(deeper), also={1: 0.1}, weight=2.0))
    assert after[: len(shown)] == shown and after[len(shown) :] == [4]


def test_meaning_alone_is_ordered_by_nearness() -> None:
    skipped = Leg("keyword", ran=False, reason="mode is semantic")
    assert order(skipped, by_meaning((2, 0.9), (1, 0.3))) == [2, 1]
