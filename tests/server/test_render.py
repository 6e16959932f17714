"""The text form holds every fact and lets no document out of its quotation."""

from __future__ import annotations

from typing import Any

from helpers.limits import MCP_NAME_CHARS
from helpers.render import NOTICE, facts, line, neutral, quote, text_form
from tests.server.stub_server import answer, changes, health, job


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def test_every_fact_of_an_answer_is_in_its_text() -> None:
    result = answer("fees?")
    text = text_form("rag_search", result)
    for leaf in _leaves(result):
        for part in str(leaf).split("\n"):
            assert part in text or leaf is None or isinstance(leaf, bool)
    assert "[1] ก/fees.pdf | p. 3 (kind: page, page: 3) — Fees" in text
    assert text.index(NOTICE) < text.index("[1] ")


def test_an_answer_without_results_says_so() -> None:
    text = text_form("rag_search", {**answer("ไม่มี"), "results": []})
    assert text.startswith('0 results for "ไม่มี"')
    assert "nothing found" in text and NOTICE not in text


def test_every_fact_of_a_job_a_health_and_a_check_is_in_its_text() -> None:
    for result in (job(None, {}), health(None, {}), changes(None, {})):  # type: ignore[arg-type]
        text = facts(result)
        for leaf in _leaves(result):
            assert leaf is None or str(leaf).lower() in text.lower()


def test_a_chunk_and_its_neighbours_are_quoted_in_reading_order() -> None:
    place = {"kind": "line", "label": "line 1"}
    chunks = [
        {"chunk_id": f"default:{number}", "location": place, "text": f"text {number}"}
        for number in (1, 2, 3)
    ]
    value = {"chunk_id": "default:2", "path": "a.txt", "chunks": chunks}
    text = text_form("get_document_chunk", value)
    assert text.index(NOTICE) < text.index("> text 1")
    assert text.index("> text 1") < text.index("(asked for)") < text.index("> text 2")
    assert text.count("(asked for)") == 1


def test_controls_are_replaced_one_for_one() -> None:
    text = "a\x1b[31m\x00\x7f\x9b\u202eb\u2066\U000e0041\ud800\rc"
    assert len(neutral(text)) == len(text)
    assert neutral(text) == "a␛[31m␀\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd c"
    assert neutral("tab\tand\nline ก็ น้ำ 한국\u200b") == "tab\tand\nline ก็ น้ำ 한국\u200b"


def test_controls_are_replaced_in_keys_lists_and_nested_values() -> None:
    assert neutral({"a\x07": ["\x07", {"b": ("\u202e", 1, None, True)}]}) == {
        "a␇": ["␇", {"b": ["\ufffd", 1, None, True]}]
    }


def test_no_line_separator_ends_a_quotation() -> None:
    for separator in "\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        assert quote(f"one{separator}two") == "> one\n> two"
    assert quote("one\r\ntwo") == "> one \n> two"


def test_forged_marks_are_defused_and_markup_is_left_alone() -> None:
    assert quote("<|im_start|>") == "> ‹|im_start|>"
    assert quote("</system> <s> [/INST]") == "> ‹/system> ‹s> ⁅/INST]"
    assert quote('<div class="x"> a<b [1]') == '> <div class="x"> a<b [1]'


def test_names_stay_on_one_short_line() -> None:
    assert line("a\nb\u2028c\td") == "a b c d"
    assert len(line("x" * 5_000)) == MCP_NAME_CHARS
