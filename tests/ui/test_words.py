"""The page's words: the same in three languages, each of them used, none missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

UI = Path(__file__).resolve().parents[2] / "ui"
WORDS = {
    name: json.loads((UI / "words" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("en", "ko", "th")
}
# Keys that are put together from a prefix and what the server says.
PREFIXES = (
    "leg_",
    "state_",
    "code_",
    "column_",
    "phase_",
    "cancel_",
    "change_",
    "job_",
    "script_",
    "about_",
    "integrity_",
    "place_",
    "notice_",
    "advice_",
    "problem_",
)


def used() -> set[str]:
    page = (UI / "rag.html").read_text(encoding="utf-8")
    script = (UI / "rag.js").read_text(encoding="utf-8")
    found = set(re.findall(r'data-(?:word|label)="(\w+)"', page))
    found |= set(re.findall(r'\b(?:t|button|fact|section|wordOr)\("(\w+)"', script))
    return found


@pytest.mark.parametrize("language", ["ko", "th"])
def test_every_language_has_the_same_keys_and_the_same_gaps(language: str) -> None:
    english, other = WORDS["en"], WORDS[language]
    assert english.keys() == other.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", other[key]))
        assert other[key].strip()


def test_every_key_that_the_page_names_exists() -> None:
    known = WORDS["en"].keys()
    assert {key for key in used() if key not in known and f"about_{key}" not in known} == set()


def test_no_word_is_there_in_vain() -> None:
    script = (UI / "rag.js").read_text(encoding="utf-8")
    page = (UI / "rag.html").read_text(encoding="utf-8")
    for key in WORDS["en"]:
        named = f'"{key}"' in script or f'"{key}"' in page
        built = any(key.startswith(prefix) and f"`{prefix}" in script for prefix in PREFIXES)
        assert named or built, key


@pytest.mark.parametrize(("language", "letters"), [("ko", "가-힣"), ("th", "ก-๛")])
def test_a_translation_is_in_its_own_script(language: str, letters: str) -> None:
    own = re.compile(f"[{letters}]")
    plain = [key for key, text in WORDS[language].items() if not own.search(text)]
    assert plain == []
