from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.limits import UNSETTLED_NS
from helpers.source import delta
from helpers.source.delta import Entry

A = Entry(b"a", 1, 10, 20, 30)
B = Entry(b"b", 2, 11, 21, 31)
SECOND = 1_000_000_000


def row(entry: Entry, fingerprint: str = "new") -> tuple[object, ...]:
    return (*entry[1:], fingerprint, "more")


def test_files_are_told_apart_by_their_keys() -> None:
    known = {
        b"a": row(A),
        b"b": row(B._replace(size=99)),
        b"old": row(A, "old"),
        b"gone2": row(A),
        b"gone1": row(B),
    }
    entries = [tuple(A), tuple(B), (b"new", 1, 1, 1, 1), (b"old", *A[1:])]
    found = delta.compare(entries, known, {"new"})  # type: ignore[arg-type]
    assert found.unchanged == 1
    assert found.added == [Entry(b"new", 1, 1, 1, 1)]
    assert found.suspect == [(B, known[b"b"])]
    assert found.stale == [(Entry(b"old", *A[1:]), known[b"old"])]
    assert [name for name, _ in found.gone] == [b"gone1", b"gone2"]
    assert not found.is_clean


@pytest.mark.parametrize("field", ["size", "mtime_ns", "ctime_ns", "inode"])
def test_every_part_of_the_key_counts(field: str) -> None:
    changed = Entry(**(A._asdict() | {field: 77}))
    known = {b"a": row(changed)}
    assert [entry for entry, _ in delta.compare([A], known).suspect] == [A]


def test_equal_keys_are_clean_and_an_empty_folder_loses_all() -> None:
    assert delta.compare([A, B], {b"a": row(A), b"b": row(B)}).is_clean
    assert [name for name, _ in delta.compare([], {b"a": row(A)}).gone] == [b"a"]
    assert delta.compare([], {}).is_clean


def test_folders_beneath_an_unread_one_are_not_vanished() -> None:
    known = [b"", b"a", b"a/b", b"ab", b"locked", b"locked/x", b"lockedout"]
    assert list(delta.vanished(known, {b"", b"a"}, [b"locked"])) == [b"a/b", b"ab", b"lockedout"]
    assert list(delta.vanished(known, set(), [b""])) == []


def entry_of(status: os.stat_result) -> Entry:
    return Entry(b"a", status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def test_key_is_recorded_only_once_its_time_stamps_have_settled(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    status = os.stat(tmp_path / "a")
    entry, touched = entry_of(status), status.st_ctime_ns
    assert delta.recordable(entry, status, touched + UNSETTLED_NS) == entry
    assert delta.recordable(entry, status, touched + SECOND).ctime_ns == 0
    assert delta.recordable(entry, status, touched - SECOND).ctime_ns == 0


def test_key_of_a_file_changed_between_listing_and_opening_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    entry = entry_of(os.stat(tmp_path / "a"))
    (tmp_path / "a").write_text("longer text")
    status = os.stat(tmp_path / "a")
    recorded = delta.recordable(entry, status, status.st_ctime_ns + 100 * SECOND)
    assert (recorded.size, recorded.ctime_ns) == (status.st_size, 0)


def test_key_of_a_listing_without_inodes_is_recorded_as_listed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    status = os.stat(tmp_path / "a")
    listed = entry_of(status)._replace(inode=0)
    assert delta.recordable(listed, status, status.st_ctime_ns + 100 * SECOND) == listed
