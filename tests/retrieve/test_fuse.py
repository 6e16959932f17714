"""Fusion: proof adds up, order is fixed, scores never rise."""

from __future__ import annotations

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
