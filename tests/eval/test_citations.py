"""Labelled questions through MCP: the right file and place among the first three results.

The places were found by reading the documents in other programs, page by page and row by row.
citations_examples.json asks the files of docs/examples; citations.json asks the reference
documents and is skipped where they are absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from helpers.language.terms import index_terms, query_terms
from tests.accept.documents import Library

HERE = Path(__file__).resolve().parent
FIRST = 3  # results in which the right place must stand
SHARE = 0.9  # of the questions
_PARAGRAPHS = re.compile("paragraphs? ([0-9]+)(?:–([0-9]+))?")

Answers = Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]


@pytest.fixture(scope="module")
def examples_answers(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("examples")
    examples = Library(folder, source=repository / "docs" / "examples")
    assert examples.sync()["status"] == "done"
    return answers(examples, "citations_examples.json")


@pytest.fixture(scope="module")
def reference_answers(recognised: Library) -> Answers:
    return answers(recognised, "citations.json")


def test_every_example_question_is_answered_with_its_place(examples_answers: Answers) -> None:
    assert len(examples_answers) >= 12
    assert misses(examples_answers) == []


def test_the_first_hit_answers_each_question_of_the_demo(examples_answers: Answers) -> None:
    from helpers.setup import QUESTIONS

    first = {asked["query"]: (asked, results[:1]) for asked, results in examples_answers}
    assert [misses([first[question]]) for question in QUESTIONS] == [[], [], []]


def test_nine_in_ten_reference_questions_are_answered_with_their_place(
    reference_answers: Answers,
) -> None:
    assert len(reference_answers) >= 80
    assert len({asked["path"].rsplit(".", 1)[1] for asked, _ in reference_answers}) >= 14
    wrong = misses(reference_answers)
    right = len(reference_answers) - len(wrong)
    assert right >= SHARE * len(reference_answers), "\n".join(wrong)


def test_each_highlight_of_a_keyword_hit_in_the_examples_holds_a_matched_term(
    examples_answers: Answers,
) -> None:
    assert stray_highlights(examples_answers) == []


def test_each_highlight_of_a_keyword_hit_in_the_reference_holds_a_matched_term(
    reference_answers: Answers,
) -> None:
    assert stray_highlights(reference_answers) == []


# --- asking --------------------------------------------------------------------------------


def answers(library: Library, golden: str) -> Answers:
    """Each question of `golden` with its results, asked of one server over stdio."""
    questions = json.loads((HERE / golden).read_text(encoding="utf-8"))
    command, *words = library.command("rag_server.py")
    server = StdioServerParameters(command=command, args=words)

    async def ask() -> Answers:
        async with Client(stdio_client(server)) as client:
            found = []
            for question in questions:
                arguments = {"query": question["query"], **question.get("filters", {})}
                result = await client.call_tool("rag_search", arguments)
                assert result.structured_content is not None, result.content
                found.append((question, result.structured_content["results"]))
            return found

    return anyio.run(ask)


# --- judging -------------------------------------------------------------------------------


def misses(asked: Answers) -> list[str]:
    """A line for each question whose file and place are not among the first results."""
    return [
        f"{question['query']} → {question['path']} {question['location']}, found "
        + str([(item["path"], item["location"]["label"]) for item in results[:FIRST]])
        for question, results in asked
        if not any(
            item["path"] == question["path"] and stands_at(item["location"], question["location"])
            for item in results[:FIRST]
        )
    ]


def stands_at(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a result's location holds the labelled one: its page, its row, its heading."""
    for key, value in wanted.items():
        if key == "label":
            if not within_label(found["label"], value):
                return False
        elif key == "sheet":
            if found.get(key) != value:
                return False
        elif not found.get(key, value + 1) <= value <= found.get("end", found.get(key)):
            return False
    return True


def within_label(label: str, wanted: str) -> bool:
    """`wanted` is part of the label, or a paragraph within its range."""
    here, there = _PARAGRAPHS.fullmatch(label), _PARAGRAPHS.fullmatch(wanted)
    if here and there:
        return int(here[1]) <= int(there[1]) <= int(here[2] or here[1])
    return wanted in label


def stray_highlights(asked: Answers) -> list[str]:
    """Highlights of keyword hits, as text, in which no term of the query stands."""
    stray, seen = [], 0
    for question, results in asked:
        terms = set(query_terms(question["query"]).terms)
        for item in results:
            if "keyword" not in item["matched_by"]:
                continue
            for start, end in item["highlights"]:
                seen += 1
                piece = item["text"][start:end]
                if not terms & set(index_terms(piece)):
                    stray.append(f"{question['query']}: {piece!r} in {item['path']}")
    assert seen
    return stray
