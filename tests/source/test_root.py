from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from types import ModuleType

import pytest

from helpers.errors import RootGone, Unread
from helpers.source import by_descriptor, by_path, root
from helpers.source.root import Root, Vanished
from tests.source.tree import as_nobody, posix_only, public_folder, write

STEPS = [pytest.param(by_descriptor, id="descriptors"), pytest.param(by_path, id="paths")]


def code_of(folder: Root, raw: bytes) -> str:
    with pytest.raises(Unread) as caught:
        folder.open(raw)
    assert folder.check(raw) is None
    return caught.value.code


@pytest.mark.parametrize("steps", STEPS)
def test_regular_file_at_any_depth_is_opened_whole(tmp_path: Path, steps: ModuleType) -> None:
    write(tmp_path, "a/b/ข่าว.md", b"whole")
    with Root(tmp_path, steps) as folder, folder.open("a/b/ข่าว.md".encode()) as source:
        assert os.read(source.fd, 100) == b"whole" and source.stat.st_size == 5
        assert not os.get_inheritable(source.fd)
        status = folder.check("a/b/ข่าว.md".encode())
        assert status is not None and status.st_ino == source.stat.st_ino


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
@pytest.mark.parametrize("steps", STEPS)
def test_no_descriptor_stays_open_whatever_was_asked_for(
    tmp_path: Path, steps: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a/b.md", b"text")
    (tmp_path / "a" / "link.md").symlink_to("b.md")
    original = os.fstat
    with Root(tmp_path, steps) as folder:
        before = set(os.listdir("/proc/self/fd"))
        folder.open(b"a/b.md").close()
        for absent in (b"a/link.md", b"a", b"a/none.md", b"none/b.md"):
            with pytest.raises((Unread, Vanished)):
                folder.open(absent)
            folder.check(absent)
        swapped = os.stat(tmp_path)
        monkeypatch.setattr(os, "fstat", lambda _: swapped)
        with pytest.raises((Unread, Vanished)):
            folder.open(b"a/b.md")
        monkeypatch.setattr(os, "fstat", original)
        assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("steps", STEPS)
def test_links_special_files_and_absent_files_are_told_apart(
    tmp_path: Path, steps: ModuleType
) -> None:
    docs = tmp_path / "docs"
    write(docs, "sub/a.md")
    write(tmp_path, "outside/a.md", b"foreign")
    (docs / "link.md").symlink_to(docs / "sub" / "a.md")
    (docs / "away").symlink_to(tmp_path / "outside")
    (docs / "dangling").symlink_to("nowhere")
    os.mkfifo(docs / "pipe")
    with socket.socket(socket.AF_UNIX) as sock, Root(docs, steps) as folder:
        sock.bind(str(docs / "socket"))
        expected = {
            b"link.md": "symlink",
            b"away/a.md": "symlink",
            b"dangling": "symlink",
            b"pipe": "not_regular",
            b"socket": "not_regular",
            b"sub": "not_regular",
        }
        assert {raw: code_of(folder, raw) for raw in expected} == expected
        for raw in (b"absent.md", b"sub/absent.md", b"absent/a.md", b"sub/a.md/x"):
            with pytest.raises(Vanished):
                folder.open(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b".",
        b"..",
        b"../docs-evil/a.md",
        b"a/../../b",
        b"/etc/hostname",
        b"a//b",
        b"a/",
        b"a\0b",
    ],
)
def test_path_that_could_lead_elsewhere_is_refused(tmp_path: Path, raw: bytes) -> None:
    write(tmp_path, "docs/a/b")
    write(tmp_path, "docs-evil/a.md", b"foreign")
    with Root(tmp_path / "docs") as folder:
        assert code_of(folder, raw) == "unreadable"


def test_root_given_as_a_link_is_resolved_once(tmp_path: Path) -> None:
    write(tmp_path, "real/a.md", b"mine")
    write(tmp_path, "other/a.md", b"foreign")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Root(tmp_path / "link") as folder:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "other")
        with folder.open(b"a.md") as source:
            assert os.read(source.fd, 10) == b"mine"


def test_missing_root_and_root_that_is_no_folder_are_root_gone(tmp_path: Path) -> None:
    write(tmp_path, "file.md")
    for name, word in (("absent", "does not exist"), ("file.md", "is no folder")):
        with pytest.raises(RootGone, match=word) as caught:
            Root(tmp_path / name)
        assert caught.value.exit_code == 3 and caught.value.remedy
    with pytest.raises(RootGone):
        Root("nul\0name")


@posix_only
def test_files_and_folders_without_rights_are_unreadable() -> None:
    with public_folder() as path:
        write(path, "closed.md")
        write(path, "locked/a.md")
        write(path, "enter-only/a.md", b"reached")
        os.chmod(path / "closed.md", 0)
        os.chmod(path / "locked", 0)
        os.chmod(path / "enter-only", 0o711)

        def asked() -> list[object]:
            with Root(path) as folder:
                codes: list[object] = []
                for raw in (b"closed.md", b"locked/a.md"):
                    try:
                        folder.open(raw)
                    except Unread as error:
                        codes.append([error.code, error.reason])
                with folder.open(b"enter-only/a.md") as source:
                    return [*codes, os.read(source.fd, 9).decode()]

        denied = ["unreadable", "permission denied"]
        assert as_nobody(asked) == [denied, denied, "reached"]


def test_digest_is_sha256_and_leaves_the_file_at_its_start(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    write(tmp_path, "a.bin", content)
    beats: list[int] = []
    with Root(tmp_path) as folder, folder.open(b"a.bin") as source:
        found = root.digest(source.fd, lambda: beats.append(1))
        assert found.sha256 == hashlib.sha256(content).digest()
        assert (found.size, found.secret, len(beats)) == (3_000_000, None, 3)
        assert os.read(source.fd, 10) == content[:10]


def test_digest_names_the_secret_it_met(tmp_path: Path) -> None:
    write(tmp_path, "notes.md", b"notes\n-----BEGIN PRIVATE KEY-----\n" + b"A" * 64 + b"\n")
    with Root(tmp_path) as folder, folder.open(b"notes.md") as source:
        assert root.digest(source.fd).secret == "a private key"


@pytest.mark.parametrize("edit", ["append", "same size", "replace"])
def test_edit_under_an_open_file_is_noticed(tmp_path: Path, edit: str) -> None:
    write(tmp_path, "a.md", b"first")
    with Root(tmp_path) as folder, folder.open(b"a.md") as source:
        root.ensure_unchanged(source.fd, source.stat)
        if edit == "append":
            with open(tmp_path / "a.md", "ab") as file:
                file.write(b" more")
        elif edit == "same size":
            write(tmp_path, "a.md", b"other")
            os.utime(tmp_path / "a.md", ns=(1, source.stat.st_mtime_ns + 1))
        else:
            os.replace(write(tmp_path, "b.md", b"other"), tmp_path / "a.md")
        with pytest.raises(Unread) as caught:
            root.ensure_unchanged(source.fd, source.stat)
        assert caught.value.code == "changed_while_reading"


def test_lies_inside_resolves_links_and_sibling_prefixes(tmp_path: Path) -> None:
    (tmp_path / "docs" / "state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    assert root.lies_inside(tmp_path / "docs" / "state" / "not-yet", tmp_path / "docs")
    assert root.lies_inside(tmp_path / "link" / "state", tmp_path / "docs")
    assert root.lies_inside(tmp_path / "docs", tmp_path / "docs")
    assert not root.lies_inside(tmp_path / "docs-state", tmp_path / "docs")
    assert not root.lies_inside(tmp_path, tmp_path / "docs")


def test_empty_stand_in_of_another_device_looks_unmounted() -> None:
    assert root.looks_unmounted((1, 2), (3, 4), found=0, known=5)
    assert not root.looks_unmounted((1, 2), (1, 2), found=0, known=5)  # really emptied
    assert not root.looks_unmounted((1, 2), (3, 4), found=1, known=5)
    assert not root.looks_unmounted(None, (3, 4), found=0, known=0)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c.md")
    (tmp_path / "a" / "link").symlink_to("b")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with Root(tmp_path) as folder:
        for raw in (b"a/b/c.md", b"a/link/c.md", b"a/b/none", b"a/b", b"none/c.md"):
            folder.check(raw)
            try:
                folder.open(raw).close()
            except Unread:
                continue
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


@pytest.mark.parametrize(
    ("path", "long"),
    [
        ("C:\\docs\\a.md", "\\\\?\\C:\\docs\\a.md"),
        ("\\\\server\\share\\a.md", "\\\\?\\UNC\\server\\share\\a.md"),
        ("\\\\?\\C:\\docs", "\\\\?\\C:\\docs"),
    ],
)
def test_windows_paths_are_lifted_over_260_characters(path: str, long: str) -> None:
    assert by_path.long_path(path, windows=True) == long
    assert by_path.long_path(path, windows=False) == path
