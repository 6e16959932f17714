"""What is no request: each refusal says what was given, what fits and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.errors import UsageError
from helpers.retrieve.request import SearchRequest


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"query": ""}, "empty"),
        ({"query": "  \n"}, "empty"),
        ({"query": "x" * 4001}, "4,001 > 4,000"),
        ({"query": "a\0b"}, "NUL"),
        ({"query": "a\ud800"}, "surrogate"),
        ({"query": "x", "limit": 0}, "1 to 50"),
        ({"query": "x", "limit": 51}, "1 to 50"),
        ({"query": "x", "limit": True}, "1 to 50"),
        ({"query": "x", "max_tokens": 0}, "max_tokens"),
        ({"query": "x", "offset": -1}, "offset"),
        ({"query": "x", "offset": 201}, "200"),
        ({"query": "x", "mode": "vector"}, "auto, hybrid, lexical, semantic"),
        ({"query": "x", "path": " "}, "path"),
        ({"query": "x", "path": "*" * 4001}, "path has 4,001 > 4,000"),
        ({"query": "x", "type": "p\0df"}, "type"),
        ({"query": "x", "modified_after": "yesterday"}, "2024-05-31"),
        ({"query": "x", "modified_after": ""}, "2024-05-31"),
    ],
)
def test_request_out_of_range_names_what_fits(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SearchRequest(**asked)


@pytest.mark.parametrize(
    "when", ["2024-05-31", "2024-05-31T10:00:00Z", "2024-05-31T10:00:00+07:00", "9999-12-31"]
)
def test_dates_and_times_are_taken(when: str) -> None:
    assert SearchRequest("x", modified_after=when).filters.after_ns


def test_longest_query_is_taken() -> None:
    assert len(SearchRequest("ก" * 4000).query) == 4000
