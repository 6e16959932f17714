"""What an address's arguments become, without a server."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from helpers import service
from helpers.errors import UsageError
from helpers.store import listing
from ui import routes
from ui.routes import Console


def asked_for(given: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def search(**asked: Any) -> dict[str, Any]:
        found.update(asked)
        return {"results": []}

    console = Console(None, search, None, None)  # type: ignore[arg-type]
    console.reads()["search"](given)
    return found


def test_each_argument_of_a_search_reaches_it() -> None:
    given = {"q": "a", "mode": "lexical", "path": "b/", "type": "pdf", "after": "2024-05-31"}
    found = asked_for(given | {"limit": "5", "offset": "20"})
    assert found.pop("max_tokens") == routes.MAX_TOKENS
    assert found == {
        **{"query": "a", "mode": "lexical", "path": "b/", "type": "pdf"},
        **{"modified_after": "2024-05-31", "limit": 5, "offset": 20},
    }
    assert asked_for({"q": "a"}).keys() == {"query", "max_tokens", "limit", "offset"}


@pytest.mark.parametrize(
    ("body", "force"), [({"force": True}, True), ({"force": 1}, False), ({}, False)]
)
def test_every_file_is_read_again_only_where_that_is_said(
    monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], force: bool
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(service, "start_sync", lambda _, force: told.append(force))
    Console(None, None, None, None).changes()["sync"](body)  # type: ignore[arg-type]
    assert told == [force]


@pytest.mark.parametrize("text", ["x", "1.5", "9" * 16, "-" + "9" * 16])
def test_a_number_that_is_none_or_beyond_all_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        asked_for({"q": "a", "offset": text})


def test_an_underscore_and_a_percent_sign_are_letters_and_words_must_all_be_there() -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE document({listing._COLUMNS.replace(' ', '')})")
        for number, path in enumerate(("a_b.md", "axb.md", "a%b x.md"), 1):
            db.execute(
                "INSERT INTO document(id, path, folder, name, size, chunks)"
                " VALUES(?, ?, x'', ?, ?, 1)",
                (number, path, path.encode(), 10 * (number % 3)),
            )

        def paths(text: str, sort: str = "path", descending: bool = False) -> list[str]:
            total, rows = listing.page(db, text, "", sort, descending, False, 0, 10)
            assert total == len(rows)
            return [row["path"] for row in rows]

        assert paths("a_b") == ["a_b.md"]
        assert paths("a%b") == ["a%b x.md"]
        assert paths("b x") == ["a%b x.md", "axb.md"]
        assert paths("", "size") == ["a%b x.md", "a_b.md", "axb.md"]
        assert paths("", "size", True) == ["axb.md", "a_b.md", "a%b x.md"]
        assert paths("", "path", True) == ["axb.md", "a_b.md", "a%b x.md"]
    db.close()


def test_types_come_commonest_first_and_samples_are_spread_over_the_index() -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE document(type, chunks, size)")
        rows = [("a", 1, 5), ("z", 0, 1), ("z", 2, 1), ("z", 3, 1)]
        db.executemany("INSERT INTO document VALUES(?, ?, ?)", rows)
        found = [tuple(row.values()) for row in listing.types(db)]
        assert found == [("z", 3, 2, 5, 3), ("a", 1, 1, 1, 5)]
        db.execute("CREATE TABLE chunk(id INTEGER PRIMARY KEY, text)")
        assert listing.sample(db, 4) == []
        db.executemany("INSERT INTO chunk VALUES(?, ?)", ((n, str(n)) for n in range(1, 102)))
        assert listing.sample(db, 4) == ["1", "26", "51", "76", "101"]
    db.close()
