"""A folder may be passed over only where its rows prove that nothing in it needs work."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.store import database, snapshots
from helpers.store.documents import Description, Stat, Writer
from tests.store.fakes import FakeChunk, Words, named

VALID = {"r1"}
READERS = snapshots.readers_digest(VALID)
LISTED = [(b"a.md", 1, 2, 3, 4), (b"b.md", 1, 2, 3, 5)]  # name, size, mtime, ctime, inode


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = database.open_write(tmp_path / "index.sqlite3")
    yield connection
    connection.close()


def index(
    db: sqlite3.Connection, name: str, stat: Stat, by: str = "r1", code: str | None = None
) -> None:
    """A row of folder `docs`; unread where a code is given."""
    unread = Unread(code, "reason") if code else None
    writer = Writer(db, Words(), "default")
    chunks = [] if code else [FakeChunk(name)]
    writer.replace(named(f"docs/{name}"), chunks, lambda: Description(stat, by, unread=unread))
    writer.commit()


def recorded(db: sqlite3.Connection) -> bool:
    """Whether the folder has a snapshot after `record`, whatever it had before."""
    found = snapshots.digest(LISTED, READERS)
    with database.transaction(db):
        db.execute("INSERT OR REPLACE INTO folder VALUES(?, ?)", (b"docs", b"old"))
        snapshots.record(db, {b"docs": found}, READERS, VALID)
    kept = snapshots.all_of(db)
    assert kept in ({}, {b"docs": found})
    return bool(kept)


def test_folder_whose_rows_equal_its_listing_is_recorded(db: sqlite3.Connection) -> None:
    index(db, "b.md", Stat(1, 2, 3, 5))
    index(db, "a.md", Stat(1, 2, 3, 4), code="corrupt")
    assert recorded(db)


@pytest.mark.parametrize(
    "stat,by,code",
    [
        (Stat(9, 2, 3, 5), "r1", None),
        (Stat(1, 9, 3, 5), "r1", None),
        (Stat(1, 2, 0, 5), "r1", None),  # changed too lately to be trusted
        (Stat(1, 2, 3, 9), "r1", None),
        (Stat(1, 2, 3, 5), "older reader", None),
        (Stat(1, 2, 3, 5), "r1", "unreadable"),
        (Stat(1, 2, 3, 5), "r1", "changed_while_reading"),
    ],
)
def test_folder_with_one_row_that_needs_work_is_not(
    db: sqlite3.Connection, stat: Stat, by: str, code: str | None
) -> None:
    index(db, "a.md", Stat(1, 2, 3, 4))
    index(db, "b.md", stat, by, code)
    assert not recorded(db)


def test_folder_with_a_row_too_few_or_too_many_is_not(db: sqlite3.Connection) -> None:
    index(db, "a.md", Stat(1, 2, 3, 4))
    assert not recorded(db)
    index(db, "b.md", Stat(1, 2, 3, 5))
    assert recorded(db)
    index(db, "c.md", Stat(1, 2, 3, 6))
    assert not recorded(db)


def test_another_reader_gives_another_digest(db: sqlite3.Connection) -> None:
    other = snapshots.readers_digest({"r1", "r2"})
    assert snapshots.digest(LISTED, READERS) != snapshots.digest(LISTED, other)
    assert snapshots.readers_digest(["b", "a"]) == snapshots.readers_digest(["a", "b"])


def test_forgotten_folder_has_no_snapshot(db: sqlite3.Connection) -> None:
    index(db, "a.md", Stat(1, 2, 3, 4))
    index(db, "b.md", Stat(1, 2, 3, 5))
    assert recorded(db)
    snapshots.forget(db, [b"docs", b"elsewhere"])
    assert snapshots.all_of(db) == {}
