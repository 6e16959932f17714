"""LIMITS lines 19 to 23: swapped links, hostile names, edits while reading, lost folders.

`--points N` or `--points all` asks for more than the everyday sample of swaps.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.errors import Unread
from helpers.source import names, root
from helpers.source.root import Root
from helpers.source.walk import walk
from tests.source.tree import tree_digest, without_override, write
from tests.sync.stage import ROOT, Stage

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes are POSIX")

Points = Callable[[int, int], int]
MINE, FOREIGN = b"mine and only mine", b"FOREIGN BYTES"

# Swaps argv[2] for a link to argv[3] and back, argv[4] times, then ends.
SWAPPER = """
import os, sys
kind, target, foreign, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
aside, link = target + "-aside", target + "-link"
print("ready", flush=True)
sys.stdin.readline()
for _ in range(count):
    os.symlink(foreign, link)
    os.rename(target, aside)
    os.rename(link, target)
    os.unlink(target)
    os.rename(aside, target)
"""


@pytest.fixture()
def stage(tmp_path: Path) -> Stage:
    (tmp_path / "docs").mkdir()
    (tmp_path / "state").mkdir()
    return Stage(tmp_path)


def swapping(kind: str, target: Path, foreign: Path, count: int) -> subprocess.Popen[str]:
    """A process that has begun to swap."""
    process = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, kind, str(target), str(foreign), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.close()
    return process


# --- 19: swaps by a symbolic link ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "parent"])
def test_19_opening_during_swaps_never_gives_a_foreign_byte(
    tmp_path: Path, points: Points, kind: str
) -> None:
    count = points(1_000, 10_000)
    write(tmp_path, "docs/a/b/doc.md", MINE)
    write(tmp_path, "outside/doc.md", FOREIGN)
    docs, outside = tmp_path / "docs", tmp_path / "outside"
    target = docs / "a" / "b" / "doc.md" if kind == "file" else docs / "a" / "b"
    foreign = outside / "doc.md" if kind == "file" else outside
    seen: dict[str, int] = {}
    with Root(docs) as folder, swapping(kind, target, foreign, count) as process:
        while process.poll() is None:
            try:
                with folder.open(b"a/b/doc.md") as source:
                    outcome = os.read(source.fd, 99).decode()
            except Unread as error:
                outcome = error.code
            seen[outcome] = seen.get(outcome, 0) + 1
            status = folder.check(b"a/b/doc.md")
            assert status is None or status.st_size == len(MINE)
    print(f"{count} swaps of a {kind}, outcomes {seen}")
    assert process.returncode == 0
    assert set(seen) <= {MINE.decode(), "symlink", "unreadable"}
    assert seen.get(MINE.decode(), 0) > 0


def test_19_walking_during_swaps_never_lists_a_foreign_name(tmp_path: Path, points: Points) -> None:
    count = points(1_000, 10_000)
    for name in ("a/b/doc.md", "a/b/c/deep.md", "z.md"):
        write(tmp_path / "docs", name, MINE)
    for name in ("foreign.md", "c/foreign.md"):
        write(tmp_path / "outside", name, FOREIGN)
    listed, walks = set(), 0
    with swapping("parent", tmp_path / "docs/a/b", tmp_path / "outside", count) as process:
        while process.poll() is None:
            with Root(tmp_path / "docs") as folder:
                for found in walk(folder):
                    listed |= {names.join(found.raw, entry[0]) for entry in found.entries}
            walks += 1
    print(f"{count} swaps of a folder, {walks} walks")
    allowed = {b"a/b/doc.md", b"a/b/c/deep.md", b"z.md"}
    aside = {raw.replace(b"a/b/", b"a/b-aside/") for raw in allowed}
    assert process.returncode == 0 and b"z.md" in listed
    assert listed <= allowed | aside


@pytest.mark.parametrize("kind", ["file", "parent"])
def test_19_sync_and_search_during_swaps_never_show_a_foreign_byte(
    stage: Stage, points: Points, kind: str
) -> None:
    count = points(3_000, 10_000)
    stage.write("a/b/doc.md", "# Mine\n\nThe word heron stands here.\n")
    stage.write("other.md", "# Other\n\nA heron again.\n")
    outside = Path(os.fsdecode(write(stage.folder, "outside/doc.md", b"# Not\n\nostrich heron\n")))
    target = stage.docs / "a" / "b" / "doc.md" if kind == "file" else stage.docs / "a" / "b"
    foreign = outside if kind == "file" else outside.parent
    with swapping(kind, target, foreign, count) as process:
        syncs = 0
        while process.poll() is None or not syncs:
            stage.sync()
            assert stage.paths("ostrich") == []
            syncs += 1
    print(f"{count} swaps of a {kind}, {syncs} syncs")
    assert process.returncode == 0
    stage.sync()
    assert "ostrich" not in "".join(stage.texts().values())
    assert set(stage.paths("heron")) == {"a/b/doc.md", "other.md"}
    target.rename(stage.folder / "away")
    target.symlink_to(foreign)
    assert stage.paths("heron") == ["other.md"]


# --- 20: hostile names --------------------------------------------------------------------

LONG_THAI = "ก" * 84 + ".md"  # 255 bytes
ASKED: tuple[bytes, ...] = (
    *(b"", b".", b"..", b"/", b"//", b"../outside/a.md", b"sub/../../outside/a.md", b"./a.md"),
    *(b"../docs-evil/a.md", b"/etc/hostname", b"sub//a.md", b"sub/a.md/", b"a.md\0.txt", b"\0"),
    *(b"sub/.", b"sub/..", b"a.md/x", b"absent.md", b"x" * 300, b"x/" * 3000 + b"y"),
)
READ: tuple[bytes, ...] = (
    *(b"a.md", b"sub/a.md", b" leading.md", b"trailing .md", b"two\nlines.md", b"tab\t.md"),
    *(b"\x1b[31m.md", b"-rf.md", b"--help.md", b"$(id).md", b"`id`.md", b"a;b.md", b"a'b.md"),
    *(b'a"b.md', b"back\\slash.md", b"C:\\evil.md", b"con.md", b"...md"[1:].replace(b"..", b"x.")),
    *(b"%2e%2e%2f.md", b"*.md", b"[a].md", b"\xff\xfe.md", b"caf\xe9.md", b"\xc0\xae.md"),
    *("\u202eexe.md".encode(), "zero\u200bwidth.md".encode(), "\ufeffbom.md".encode()),
    *("caf\u00e9.md".encode(), unicodedata.normalize("NFD", "caf\u00e9.md").encode()),
    *("한글.md".encode(), unicodedata.normalize("NFD", "한글.md").encode(), LONG_THAI.encode()),
    *(b"x" * 252 + b".md", b"hard.md", b"a.md.exe.md", b"<script>.md"),
)
REFUSED = {
    b"link.md": "symlink",
    b"folder-link": "symlink",
    b"dangling.md": "symlink",
    b"self.md": "symlink",
    b"pipe.md": "not_regular",
    b"socket.md": "not_regular",
    b"device.md": "not_regular",
    b".hidden.md": "hidden",
    b"id_rsa": "sensitive",
}
SILENT = (b"~$a.docx", b".~lock.a.odt#", b"Thumbs.db", b".DS_Store")


@pytest.fixture()
def hostile(tmp_path: Path) -> Iterator[Path]:
    """A folder with every name of READ, REFUSED and SILENT, beside what must stay unread."""
    docs = tmp_path / "docs"
    write(tmp_path, "docs-evil/a.md", FOREIGN)
    write(tmp_path, "outside/a.md", FOREIGN)
    write(tmp_path, "outside/hard.md", MINE)
    for raw in {*READ, *SILENT, b".hidden.md", b"id_rsa"} - {b"hard.md"}:
        write(docs, raw, MINE)
    os.link(tmp_path / "outside" / "hard.md", docs / "hard.md")
    (docs / "link.md").symlink_to(tmp_path / "outside" / "a.md")
    (docs / "folder-link").symlink_to(tmp_path / "outside")
    (docs / "dangling.md").symlink_to("nowhere")
    (docs / "self.md").symlink_to("self.md")
    os.mkfifo(docs / "pipe.md")
    try:
        os.mknod(docs / "device.md", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:  # only root makes devices; a pipe stands in
        os.mkfifo(docs / "device.md")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(docs / "socket.md"))
        yield docs


def timed(call: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    try:
        return call()
    finally:
        assert time.perf_counter() - start < 1.0


def test_20_there_are_at_least_60_hostile_names() -> None:
    assert len({*ASKED, *READ, *REFUSED, *SILENT}) >= 60


@pytest.mark.parametrize("raw", ASKED, ids=lambda raw: repr(raw[:30]))
def test_20_path_asked_for_leads_nowhere(hostile: Path, raw: bytes) -> None:
    with Root(hostile) as folder:
        with pytest.raises(Unread) as caught:
            timed(lambda: folder.open(raw))
        assert caught.value.code == "unreadable"
        assert timed(lambda: folder.check(raw)) is None


@pytest.mark.parametrize("raw", sorted(READ), ids=lambda raw: repr(raw[:30]))
def test_20_odd_name_of_a_real_file_is_read_and_shown_on_one_line(
    hostile: Path, raw: bytes
) -> None:
    with Root(hostile) as folder, timed(lambda: folder.open(raw)) as source:
        assert os.read(source.fd, 99) == MINE
    shown = names.display(raw)
    assert shown.isprintable() or set(shown) & {"\u200b", "\ufeff"}
    assert shown == unicodedata.normalize("NFC", shown)
    with open(names.absolute(hostile, raw), "rb") as file:
        assert file.read() == MINE


def test_20_one_walk_gives_the_documented_result_for_every_name(hostile: Path) -> None:
    with Root(hostile) as folder:
        found = timed(lambda: list(walk(folder)))
    listed = {names.join(f.raw, entry[0]) for f in found for entry in f.entries}
    refused = {refusal.raw: refusal.code for f in found for refusal in f.refusals}
    assert listed == set(READ)
    assert refused == REFUSED
    assert found[0].excluded == {"temporary and system files": len(SILENT)}


@pytest.mark.parametrize("raw", sorted(REFUSED), ids=repr)
def test_20_refused_name_is_not_opened_even_if_asked_for(hostile: Path, raw: bytes) -> None:
    with Root(hostile) as folder:
        if REFUSED[raw] in ("hidden", "sensitive"):  # refused by the walk, by name
            assert timed(lambda: folder.check(raw)) is not None
            return
        with pytest.raises(Unread) as caught:
            timed(lambda: folder.open(raw))
        assert caught.value.code == REFUSED[raw]


def test_20_hostile_names_go_through_a_sync_and_twins_are_both_found(
    hostile: Path, tmp_path: Path
) -> None:
    stage = Stage(tmp_path)
    (tmp_path / "state").mkdir()
    job = stage.sync()
    assert (job["added"], job["failed"]) == (len(READ), 0)
    shown = sorted(path for (path,) in stage.rows("SELECT path FROM document"))
    assert shown == sorted(names.display(raw) for raw in READ)
    assert shown.count("caf\u00e9.md") == 2 and shown.count("한글.md") == 2
    assert stage.sync()["unchanged"] == len(READ)


# --- 21: edits while reading --------------------------------------------------------------


@pytest.mark.parametrize("edit", ["appended", "rewritten at the same size", "replaced", "cut"])
def test_21_file_edited_while_it_is_read_is_not_recorded_as_current(
    tmp_path: Path, edit: str
) -> None:
    path = Path(os.fsdecode(write(tmp_path, "a.md", b"x" * 3_000_000)))
    write(tmp_path, "b.md", b"y" * 3_000_000)
    edits: list[int] = []

    def edit_once() -> None:
        if edits:
            return
        edits.append(1)
        if edit == "replaced":
            os.replace(tmp_path / "b.md", path)
        elif edit == "cut":
            os.truncate(path, 10)
        else:
            with open(path, "ab" if edit == "appended" else "r+b") as file:
                file.write(b"edited")

    with Root(tmp_path) as folder, folder.open(b"a.md") as source:
        root.digest(source.fd, edit_once)
        with pytest.raises(Unread) as caught:
            root.ensure_unchanged(source.fd, source.stat)
    assert caught.value.code == "changed_while_reading"


# --- 22: the source is only read ----------------------------------------------------------


def test_22_sync_search_check_and_force_leave_the_source_as_it_was(
    stage: Stage, shared: Path
) -> None:
    shutil.copytree(shared / "bugs" / "b11", stage.docs / "b11")
    shutil.copytree(shared / "bugs" / "b33", stage.docs / "b33")
    stage.write("notes/a.md", "# Heron\n\nA heron.\n")
    (stage.docs / "link.md").symlink_to("notes/a.md")
    before = tree_digest(stage.docs)
    stage.sync()
    stage.search("heron")
    stage.run("rag_sync.py", "--check", "--json")
    stage.sync("--force")
    stage.run("rag_sync.py", "--clear", "--yes")
    assert tree_digest(stage.docs) == before


# --- 23: lost and locked folders ----------------------------------------------------------


def indexed(stage: Stage) -> set[str]:
    return set(stage.texts())


def lose_by_removal(docs: Path) -> None:
    docs.rename(docs.with_name("away"))


def lose_by_an_empty_stand_in(docs: Path) -> None:
    """As an unmounted share leaves its mount point: the path is there, another folder, empty."""
    docs.rename(docs.with_name("away"))
    docs.mkdir()


@pytest.mark.parametrize("lose", [lose_by_removal, lose_by_an_empty_stand_in])
def test_23_vanished_root_prunes_nothing_and_says_why(
    stage: Stage, lose: Callable[[Path], None]
) -> None:
    stage.write("a.md", "one")
    stage.write("sub/b.md", "two")
    stage.sync()
    lose(stage.docs)
    done = stage.run("rag_sync.py", "--quiet")
    assert done.returncode == 3
    assert "nothing was pruned" in done.stdout + done.stderr
    assert indexed(stage) == {"a.md", "sub/b.md"}
    if stage.docs.is_dir():
        stage.docs.rmdir()
    stage.docs.with_name("away").rename(stage.docs)
    assert stage.sync()["unchanged"] == 2


def test_23_folder_moved_away_and_back_around_a_kill_is_indexed_again(stage: Stage) -> None:
    def sync(change: str) -> int:
        """A sync that trusts young time stamps, with one more `change` to its module."""
        young = "from helpers.source import delta\ndelta.UNSETTLED_NS = 0"
        lines = f"import os, rag_sync\n{young}\n{change}\nrag_sync.main()"
        words = [sys.executable, "-c", lines, *stage.command("rag_sync.py", "--quiet")[2:]]
        return subprocess.run(words, cwd=ROOT, check=False, timeout=60).returncode

    stage.write("a.md", "one")
    stage.write("sub/b.md", "two")
    assert sync("") == sync("") == 0
    (stage.docs / "sub").rename(stage.folder / "away")
    assert sync("rag_sync._Sync._settle = lambda *_: os._exit(9)") == 9
    assert indexed(stage) == {"a.md"}
    (stage.folder / "away").rename(stage.docs / "sub")
    assert sync("") == 0
    assert indexed(stage) == {"a.md", "sub/b.md"}


def test_23_locked_folder_keeps_its_rows_and_is_named_in_the_report(stage: Stage) -> None:
    for name in ("ok.md", "locked/kept.md", "locked/deep/kept.md", "zone/ok2.md"):
        stage.write(name, f"text of {name}")
    stage.sync()
    before = indexed(stage)
    os.chmod(stage.docs / "locked", 0)
    stage.write("zone/ok2.md", "another text")
    job = stage.sync(preexec_fn=without_override)
    os.chmod(stage.docs / "locked", 0o755)
    assert (job["status"], job["updated"], job["deleted"]) == ("done", 1, 0)
    assert [(f["path"], f["code"]) for f in job["failures"]] == [("locked", "unreadable")]
    assert job["failures"][0]["reason"] and job["failures"][0]["remedy"]
    assert indexed(stage) == before


def test_23_locked_root_prunes_nothing_and_says_why(stage: Stage) -> None:
    stage.write("a.md", "one")
    stage.sync()
    os.chmod(stage.docs, 0)
    done = stage.run("rag_sync.py", "--quiet", preexec_fn=without_override)
    os.chmod(stage.docs, 0o755)
    assert done.returncode == 3 and "may not be read" in done.stdout + done.stderr
    assert indexed(stage) == {"a.md"}
