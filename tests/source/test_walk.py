from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest

from helpers import limits
from helpers.errors import RootGone
from helpers.source import by_descriptor, by_path, ignore
from helpers.source.root import Root
from helpers.source.walk import INTEGER, walk
from tests.source.tree import as_nobody, excluded, files, posix_only, public_folder, walked, write

STEPS = [pytest.param(by_descriptor, id="descriptors"), pytest.param(by_path, id="paths")]


@pytest.mark.parametrize("steps", STEPS)
def test_walk_gives_folders_and_entries_in_a_fixed_order(tmp_path: Path, steps: ModuleType) -> None:
    for name in ("b.md", "a.md", "ก.md", "s/z.md", "s-t/y.md", "s/t/x.md", "A.md"):
        write(tmp_path, name)
    with Root(tmp_path, steps) as root:
        found = list(walk(root))
    assert [folder.raw for folder in found] == [b"", b"s", b"s/t", b"s-t"]
    assert [entry[0] for entry in found[0].entries] == [b"A.md", b"a.md", b"b.md", "ก.md".encode()]


@pytest.mark.parametrize("steps", STEPS)
def test_entry_carries_the_key_of_its_file(tmp_path: Path, steps: ModuleType) -> None:
    path = write(tmp_path, "a.md", b"12345")
    status = os.stat(path)
    with Root(tmp_path, steps) as root:
        [folder] = walk(root)
    key = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert folder.entries == [(b"a.md", *key)]


@pytest.mark.parametrize("steps", STEPS)
def test_links_and_special_files_are_refused_and_never_entered(
    tmp_path: Path, steps: ModuleType
) -> None:
    docs = tmp_path / "docs"
    write(docs, "a.md")
    write(tmp_path, "outside/foreign.md")
    (docs / "file-link.md").symlink_to(tmp_path / "outside" / "foreign.md")
    (docs / "folder-link").symlink_to(tmp_path / "outside")
    (docs / "loop").symlink_to(docs)
    (docs / "dangling.md").symlink_to("nowhere")
    os.mkfifo(docs / "pipe.md")
    with Root(docs, steps) as root:
        [folder] = walk(root)
    assert [entry[0] for entry in folder.entries] == [b"a.md"]
    assert {r.raw: r.code for r in folder.refusals} == {
        b"file-link.md": "symlink",
        b"folder-link": "symlink",
        b"loop": "symlink",
        b"dangling.md": "symlink",
        b"pipe.md": "not_regular",
    }
    assert all(r.reason and r.remedy for r in folder.refusals)


def test_ending_met_in_a_harmless_name_does_not_wave_a_secret_through(tmp_path: Path) -> None:
    names = (
        "a.json",
        "credentials.json",
        "b.txt",
        "passwords.txt",
        "x.dat",
        "wallet.dat",
        ".b.txt",
    )
    for name in (*names, "turkea", "id_rsa", "wallet.DAT", "Secrets.JSON"):
        write(tmp_path, name)
    for name in names:
        write(tmp_path, f"z/{name}")
    assert files(tmp_path) == [
        "a.json",
        "b.txt",
        "turkea",
        "x.dat",
        "z/a.json",
        "z/b.txt",
        "z/x.dat",
    ]


def test_hidden_folders_are_named_once_and_not_entered(tmp_path: Path) -> None:
    write(tmp_path, ".private/deep/a.md")
    write(tmp_path, ".git/config")
    [folder] = walked(tmp_path).values()
    assert [(r.raw, r.code) for r in folder.refusals] == [(b".private", "hidden")]
    assert folder.excluded == {"default: .git/": 1}


def test_names_that_are_no_utf8_and_twins_stay_files_of_their_own(tmp_path: Path) -> None:
    raws = {b"caf\xe9.md", "caf\u00e9.md".encode(), "cafe\u0301.md".encode()}
    for raw in raws:
        write(tmp_path, raw, raw)
    [folder] = walked(tmp_path).values()
    assert {entry[0] for entry in folder.entries} == raws
    with Root(tmp_path) as root:
        for raw in raws:
            with root.open(raw) as source:
                assert os.read(source.fd, 99) == raw


def test_time_stamp_beyond_the_index_is_cut_to_its_largest_integer(tmp_path: Path) -> None:
    path = write(tmp_path, "future.md")
    try:
        os.utime(path, (15_000_000_000, 15_000_000_000))
    except OverflowError:
        return
    [folder] = walked(tmp_path).values()
    assert all(-INTEGER <= number <= INTEGER for number in folder.entries[0][1:])


@posix_only
def test_unreadable_folder_is_reported_and_the_walk_goes_on() -> None:
    with public_folder() as path:
        for name in ("a/ok.md", "locked/in.md", "listed/in.md", "z/ok2.md"):
            write(path, name)
        os.chmod(path / "locked", 0)
        os.chmod(path / "listed", 0o744)  # may be listed, not entered

        def seen() -> list[object]:
            found = walked(path).values()
            return [[f.raw.decode(), len(f.entries), f.error and f.error.code] for f in found]

        assert as_nobody(seen) == [
            ["", 0, None],
            ["a", 1, None],
            ["listed", 0, "unreadable"],
            ["locked", 0, "unreadable"],
            ["z", 1, None],
        ]


@posix_only
@pytest.mark.parametrize("mode", [0, 0o711, 0o744])
def test_unreadable_root_is_root_gone(mode: int) -> None:
    with public_folder() as outer:
        path = outer / "docs"
        write(path, "a.md")
        os.chmod(path, mode)

        def fails() -> str:
            try:
                walked(path)
            except RootGone as error:
                return str(error)
            return ""

        assert "othing was pruned" in as_nobody(fails)


def test_folder_that_vanishes_during_the_walk_is_passed_over(tmp_path: Path) -> None:
    for name in ("a/x.md", "b/y.md", "c/z.md"):
        write(tmp_path, name)
    with Root(tmp_path) as root:
        steps = walk(root)
        assert next(steps).raw == b""
        (tmp_path / "b" / "y.md").unlink()
        (tmp_path / "b").rmdir()
        assert [folder.raw for folder in steps] == [b"a", b"c"]


def test_folder_swapped_for_a_link_during_the_walk_is_refused(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs, "a/x.md")
    write(tmp_path, "outside/foreign.md")
    with Root(docs) as root:
        steps = walk(root)
        next(steps)
        (docs / "a").rename(tmp_path / "moved")
        (docs / "a").symlink_to(tmp_path / "outside")
        [folder] = steps
    assert folder.entries == [] and [r.code for r in folder.refusals] == ["symlink"]


def test_data_directory_inside_is_never_entered(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md")
    write(tmp_path, "docs/state/ragdoc.sqlite3")
    status = os.stat(tmp_path / "docs" / "state")
    rules = ignore.build(closed=[(status.st_dev, status.st_ino)])
    assert files(tmp_path / "docs", rules) == ["a.md"]
    assert excluded(tmp_path / "docs", rules) == {"the data directory": 1}


def test_lost_mount_point_is_unread_until_it_holds_something(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    with Root(tmp_path) as root:
        lost = {folder.raw: folder for folder in walk(root, mounts={b"share"})}[b"share"]
        assert lost.error is not None and "mounted" in lost.error.reason and lost.is_mount
        write(tmp_path, "share/a.md")
        back = {folder.raw: folder for folder in walk(root, mounts={b"share"})}[b"share"]
        assert back.error is None and len(back.entries) == 1 and not back.is_mount


def test_folders_deeper_than_the_cap_are_reported_with_both_numbers(tmp_path: Path) -> None:
    deep = "/".join(["d"] * (limits.FOLDER_DEPTH + 2))
    write(tmp_path, f"{deep}/a.md")
    found = walked(tmp_path)
    [error] = [folder.error for folder in found.values() if folder.error]
    assert error.code == "limit_reached" and f"{limits.FOLDER_DEPTH + 1} > " in error.reason
    assert files(tmp_path) == []


def test_path_longer_than_the_system_takes_at_once_is_walked_and_opened(tmp_path: Path) -> None:
    name = ("길" * 80).encode()
    with Root(tmp_path) as root:
        handle, made = os.open(tmp_path, os.O_RDONLY), []
        for _ in range(25):
            os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = inner
            made.append(name)
        os.close(os.open(b"a.md", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
        os.close(handle)
        raw = b"/".join(made)
        assert len(raw) > 4096
        assert [len(folder.entries) for folder in walk(root) if folder.raw == raw] == [1]
        root.open(raw + b"/a.md").close()


def test_walk_given_up_halfway_leaves_no_descriptor(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/d.md")
    with Root(tmp_path) as root:
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        steps = walk(root)
        for _ in range(3):
            next(steps)
        steps.close()  # type: ignore[attr-defined]
        after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        assert after == before
