from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from helpers.errors import CorruptIndex, DiskFull, NewerSchema, NoIndex, StoreError
from helpers.store import database, schema


def test_reader_before_the_first_sync_is_told_to_sync(tmp_path: Path) -> None:
    with pytest.raises(NoIndex, match=r"rag_sync\.py"):
        database.open_read(tmp_path / "index.sqlite3")


def test_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    db = database.open_write(path)
    db.execute(f"PRAGMA user_version = {schema.CURRENT + 1}")
    db.close()
    for opening in (database.open_read, database.open_write):
        with pytest.raises(NewerSchema, match="Update RagDoc"):
            opening(path)
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone()[0] == schema.CURRENT + 1


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "state" / "index.sqlite3"
        db = database.open_write(path)
        db.execute("INSERT INTO meta VALUES('a', '1')")
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        db.close()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(modes) == 3 and set(modes.values()) == {0o600}


def test_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    database.open_write(path).close()
    db = database.open_read(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM document")


@pytest.mark.parametrize(
    ("message", "kind", "remedy"),
    [
        ("database or disk is full", DiskFull, "Free space"),
        ("database is locked", StoreError, "Try again"),
        ("attempt to write a readonly database", StoreError, "--data-dir"),
        ("database disk image is malformed", CorruptIndex, "rag_sync.py --force"),
        ("file is not a database", CorruptIndex, "rag_sync.py --force"),
    ],
)
def test_every_sqlite_failure_names_its_remedy(
    message: str, kind: type[StoreError], remedy: str
) -> None:
    error = database.store_error(sqlite3.OperationalError(message), "index")
    assert type(error) is kind
    assert remedy in str(error)


def test_meta_keeps_any_json(tmp_path: Path) -> None:
    db = database.open_write(tmp_path / "index.sqlite3")
    database.set_meta(db, "source", {"dir": "자료", "n": 3})
    database.set_meta(db, "source", {"dir": "자료", "n": 4})
    assert database.get_meta(db, "source") == {"dir": "자료", "n": 4}
    assert database.get_meta(db, "absent", 7) == 7


def test_damaged_index_is_set_aside_whole(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    for content in (b"first", b"second"):
        path.write_bytes(content)
        aside = database.set_aside(path)
        assert not path.exists()
        assert aside.read_bytes() == content


def test_what_fails_within_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    db = database.open_write(tmp_path / "index.sqlite3")
    with database.transaction(db):
        db.execute("INSERT INTO meta VALUES('whole', '1')")
    with pytest.raises(ZeroDivisionError), database.transaction(db):
        db.execute("INSERT INTO meta VALUES('partial', '1')")
        raise ZeroDivisionError
    other = sqlite3.connect(tmp_path / "index.sqlite3")
    found = {name for (name,) in other.execute("SELECT key FROM meta")}
    assert "whole" in found and "partial" not in found
    other.close()
    with database.transaction(db):  # nobody else writes meanwhile
        second = sqlite3.connect(tmp_path / "index.sqlite3", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            second.execute("BEGIN IMMEDIATE")
        second.close()
    db.close()
