"""Corrections that may be taken and those that may not."""

from __future__ import annotations

import random
import time

import pytest

from helpers.recognize.judge import JUDGED_CHARS, cleaned, objection

THAI = "กาหนดการหยดจายนาชวคราว ซอมทอประธาน ถนนสขมวท 1,284,500 บาท วนท 12 มกราคม 2568"
THAI_RIGHT = "กำหนดการหยุดจ่ายน้ำชั่วคราว ซ่อมท่อประธาน ถนนสุขุมวิท 1,284,500 บาท วันที่ 12 มกราคม 2568"
KOREAN = "노후 송수관 교체 공시 총공사비는 128,450,000원이며 예비비에서 집햄합니다"
KOREAN_RIGHT = "노후 송수관 교체 공사 총공사비는 128,450,000원이며 예비비에서 집행합니다"
ENGLISH = "The quarterly rep0rt shows that rnaintenance costs fell by 12 percent in Bangkok."
ENGLISH_RIGHT = "The quarterly report shows that maintenance costs fell by 12 percent in Bangkok."


@pytest.mark.parametrize(
    ("original", "corrected"),
    [
        (THAI, THAI_RIGHT),
        (KOREAN, KOREAN_RIGHT),
        (ENGLISH, ENGLISH_RIGHT),
        (ENGLISH, ENGLISH),
        (KOREAN, KOREAN_RIGHT.replace(" ", "\n")),
    ],
)
def test_corrected_letters_are_taken(original: str, corrected: str) -> None:
    assert objection(original, corrected) is None


@pytest.mark.parametrize(
    ("original", "corrected", "reason"),
    [
        (ENGLISH, "", "empty"),
        (ENGLISH, "The page shows a report about maintenance costs in a city.", "length|letters"),
        (ENGLISH, "Here is the corrected text: " + ENGLISH_RIGHT, "letters"),
        (ENGLISH, ENGLISH_RIGHT.replace("12", "21"), "number 21"),
        (ENGLISH, ENGLISH_RIGHT.replace("12 percent", "12.5 percent"), "number 125"),
        (ENGLISH, ENGLISH_RIGHT.replace("in Bangkok", "in Bangkok by Somchai"), "brings|length"),
        (ENGLISH, ENGLISH_RIGHT.replace("Bangkok", "Chiang Mai"), "the word 'Chiang'"),
        (ENGLISH, ENGLISH_RIGHT.replace("The quarterly report shows", "shows"), "length|leaves"),
        (KOREAN, KOREAN_RIGHT.replace("128,450,000", "182,450,000"), "number 182450000"),
        (KOREAN, KOREAN_RIGHT.replace("예비비에서", "김철수 과장이 예비비에서"), "brings|length"),
        (
            KOREAN,
            "The old water pipe is replaced at a total cost of 128,450,000 won",
            "letters|len",
        ),
        (THAI, "Schedule of a temporary stop of the water supply: 1,284,500 baht, 12, 2568", "l"),
        (THAI, THAI_RIGHT.replace("1,284,500", "1,284,900"), "number 1284900"),
        (THAI, THAI_RIGHT + " ติดต่อนายสมชาย", "brings|length|letters"),
        ("๑๒ บาท " * 5, "13 บาท " + "๑๒ บาท " * 4, "number 13"),
    ],
)
def test_what_adds_changes_or_translates_is_refused(
    original: str, corrected: str, reason: str
) -> None:
    import re

    found = objection(original, corrected)
    assert found is not None
    assert re.search(reason, found)


def test_thai_digits_and_arabic_ones_are_the_same_number() -> None:
    assert objection("งบ ๑๒๕ บาทถวน สามญ", "งบ 125 บาทถ้วน สามัญ") is None


def test_a_fence_around_the_answer_is_taken_off() -> None:
    assert cleaned("```text\nwords\nmore\n```\n") == "words\nmore"
    assert cleaned("  words ``` inside  ") == "words ``` inside"


def test_a_full_page_is_judged_in_seconds() -> None:
    chance = random.Random(3)
    page = "".join(chance.choice("abcdefghij klmno") for _ in range(4_000))
    wrong = "".join(chance.choice("xyz") if chance.random() < 0.05 else one for one in page)
    began = time.monotonic()
    objection(wrong, page)
    assert time.monotonic() - began < 20
    assert "letters" in str(objection("a" * (JUDGED_CHARS + 1), "a" * JUDGED_CHARS))
