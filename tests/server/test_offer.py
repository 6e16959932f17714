"""What clients are told about the tools, and what the tools accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rag_server
from helpers import limits
from helpers.errors import UsageError
from helpers.mcp_offer import check_arguments, offer, prompt_text, tool

INPUT_CHARS = 4_500  # characters of JSON: names, descriptions, annotations, input schemas
OUTPUT_CHARS = 12_000  # characters of JSON: output schemas
TOOLS = {
    "rag_search",
    "get_document_chunk",
    "sync_kb",
    "sync_status",
    "cancel_sync",
    "rag_health",
    "list_knowledge_bases",
    "check_changes",
    "clear_index",
}
READERS = TOOLS - {"sync_kb", "cancel_sync", "clear_index"}


def test_the_nine_tools_are_offered_and_served() -> None:
    assert {entry["name"] for entry in offer()["tools"]} == TOOLS == set(rag_server.TOOLS)


def test_the_offer_costs_a_client_few_characters() -> None:
    inputs = [{k: v for k, v in entry.items() if k != "outputSchema"} for entry in offer()["tools"]]
    assert len(json.dumps(inputs)) <= INPUT_CHARS
    outputs = [entry["outputSchema"] for entry in offer()["tools"]]
    assert len(json.dumps(outputs)) <= OUTPUT_CHARS


def test_the_schemas_state_the_limits_of_the_product() -> None:
    search = tool("rag_search")["inputSchema"]["properties"]  # type: ignore[index]
    assert search["query"]["maxLength"] == limits.QUERY_CHARS
    assert search["limit"]["maximum"] == limits.RESULT_LIMIT
    assert search["limit"]["default"] == limits.RESULT_DEFAULT
    assert search["offset"]["maximum"] == limits.RESULT_OFFSET
    assert search["max_tokens"]["default"] == limits.ANSWER_TOKENS
    chunk = tool("get_document_chunk")["inputSchema"]["properties"]  # type: ignore[index]
    assert chunk["before"]["maximum"] == chunk["after"]["maximum"] == limits.NEIGHBOURS


def test_annotations_say_what_reads_what_writes_and_what_destroys() -> None:
    for entry in offer()["tools"]:
        hints = entry["annotations"]
        assert hints["openWorldHint"] is False
        if entry["name"] in READERS:
            assert hints["readOnlyHint"] is True
        else:
            assert hints["readOnlyHint"] is False
            assert hints["destructiveHint"] is (entry["name"] == "clear_index")
            assert hints["idempotentHint"] is True


def test_every_field_with_document_text_is_declared_untrusted() -> None:
    for name in ("rag_search", "get_document_chunk"):
        schema = json.dumps(tool(name)["outputSchema"])  # type: ignore[index]
        assert schema.count('"text": {"type": "string", "description": "untrusted') == schema.count(
            '"text": '
        )
        assert '"untrusted": {"type": "boolean", "const": true}' in schema


def _check(name: str, **given: Any) -> dict[str, Any]:
    entry = tool(name)
    assert entry is not None
    return check_arguments(entry, given)


def test_defaults_are_filled_in_and_null_means_absent() -> None:
    expected = {"query": "fee", "limit": 8, "mode": "auto", "max_tokens": 3000, "offset": 0}
    assert _check("rag_search", query="fee") == expected
    assert _check("rag_search", query="fee", kb_id=None, limit=None) == expected


def test_numbers_and_truths_sent_as_strings_are_taken_as_meant() -> None:
    assert _check("rag_search", query="fee", limit="5")["limit"] == 5
    assert _check("rag_search", query="fee", limit=5.0)["limit"] == 5
    assert _check("sync_kb", force="true")["force"] is True


def test_a_tool_without_arguments_ignores_what_it_is_given() -> None:
    assert _check("list_knowledge_bases", random_string="x") == {}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("rag_search", {}, ["needs query", "1 to 4,000 characters"]),
        ("rag_search", {"query": ""}, ["query is empty"]),
        ("rag_search", {"query": " \n"}, ["query is empty"]),
        ("rag_search", {"query": "x" * 4_001}, ["4,001 > 4,000 characters", "Shorten"]),
        ("rag_search", {"query": "a\0b"}, ["NUL", "position 1"]),
        ("rag_search", {"query": "a\ud800"}, ["surrogate", "position 1"]),
        ("rag_search", {"query": 7}, ["query is 7", "a string"]),
        ("rag_search", {"query": "a", "limit": 0}, ["limit is 0", "from 1 to 50"]),
        ("rag_search", {"query": "a", "limit": 51}, ["limit is 51", "from 1 to 50"]),
        ("rag_search", {"query": "a", "limit": True}, ["limit is True", "whole number"]),
        ("rag_search", {"query": "a", "limit": "many"}, ["limit is 'many'"]),
        ("rag_search", {"query": "a", "mode": "magic"}, ["'magic'", "auto, hybrid, lexical"]),
        ("rag_search", {"query": "a", "top_k": 3}, ["no argument 'top_k'", "limit"]),
        ("rag_search", {"query": "a", "path": "a\0"}, ["path has a NUL"]),
        ("get_document_chunk", {"chunk_id": "a", "before": 11}, ["before is 11", "0 to 10"]),
        ("cancel_sync", {}, ["needs job_id"]),
        ("clear_index", {"kb_id": "default"}, ["confirm: true", "Ask the person"]),
        ("clear_index", {"kb_id": "default", "confirm": False}, ["confirm: true"]),
    ],
)
def test_an_argument_that_does_not_fit_is_refused_with_what_does(
    name: str, given: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        _check(name, **given)
    for word in words:
        assert word in str(caught.value)


def test_prompts_put_the_question_last_and_name_the_base() -> None:
    text = prompt_text("answer_with_citations", {"question": "How {kb} much?", "kb_id": "law"})
    assert text.endswith("Question: How {kb} much?")
    assert "rag_search (kb_id: 'law')" in text
    assert "{" not in prompt_text("what_is_indexed", {})


@pytest.mark.parametrize("given", [{}, {"question": ""}])
def test_a_prompt_without_its_question_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="needs the argument question"):
        prompt_text("answer_with_citations", given)
