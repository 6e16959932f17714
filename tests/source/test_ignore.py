from __future__ import annotations

import time
from pathlib import Path

import pytest

from helpers import limits
from helpers.source import ignore
from tests.source.tree import excluded, files, refusals, walked, write


def is_excluded(pattern: str, path: str, folder: bool = False) -> bool:
    """Whether one line of an ignore file at the top leaves `path` out."""
    *above, name = path.split("/")
    scope = ignore.scope(ignore.build()).with_file(ignore.parse(pattern, "here"))
    for part in above:
        scope = scope.inside(part)
    return scope.excluded(name, folder) is not None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.tmp", "a.tmp", True),
        ("*.tmp", "deep/er/a.tmp", True),
        ("*.tmp", "a.tmp.md", False),
        ("a.tmp", "xa.tmp", False),
        ("/a.md", "a.md", True),
        ("/a.md", "sub/a.md", False),
        ("sub/a.md", "sub/a.md", True),
        ("sub/a.md", "x/sub/a.md", False),
        ("sub/*.md", "sub/a.md", True),
        ("sub/*.md", "sub/deep/a.md", False),
        ("sub/**", "sub/deep/a.md", True),
        ("sub/**", "sub", False),
        ("**/a.md", "a.md", True),
        ("**/a.md", "x/y/a.md", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/c", False),
        ("a/**/b/**/c", "a/x/b/y/b/c", True),
        ("**", "any/thing", True),
        ("?.md", "a.md", True),
        ("?.md", "ab.md", False),
        ("?.md", "가.md", True),
        ("[abc].md", "b.md", True),
        ("[!abc].md", "b.md", False),
        ("[^abc].md", "z.md", True),
        ("[a-f]?.md", "c1.md", True),
        ("[]].md", "].md", True),
        ("[z-a].md", "b.md", False),
        ("[open.md", "[open.md", True),
        ("\\*.md", "*.md", True),
        ("\\*.md", "a.md", False),
        ("\\#a.md", "#a.md", True),
        ("\\!a.md", "!a.md", True),
        ("# *.md", "a.md", False),
        ("", "a.md", False),
        ("   ", "a.md", False),
        ("a.md   ", "a.md", True),
        ("a\\ ", "a ", True),
        ("dir/", "dir", False),
        ("b*d*f", "bcdef", True),
        ("b*d*f", "bcdeg", False),
        ("*a*b", "xxaxxb", True),
        ("*a*b", "xxbxxa", False),
        ("보고*.md", "보고서.md", True),
        ("*.(md)", "x.(md)", True),
        ("a.md\n!a.md", "a.md", False),
        ("!a.md\n*.md", "a.md", True),
    ],
)
def test_patterns_match_as_in_gitignore(pattern: str, path: str, expected: bool) -> None:
    assert is_excluded(pattern, path) is expected


def test_folder_patterns_match_folders_alone() -> None:
    assert is_excluded("drafts/", "drafts", folder=True)
    assert is_excluded("drafts/", "x/drafts", folder=True)
    assert not is_excluded("drafts/", "drafts")


def test_pattern_in_nfc_matches_a_name_in_nfd() -> None:
    assert is_excluded("caf\u00e9*", "cafe\u0301.md")


def test_excluded_folder_is_not_entered_and_counted_once(tmp_path: Path) -> None:
    for name in ("drafts/a.md", "drafts/deep/b.md", "keep/c.md", "node_modules/x/readme.md"):
        write(tmp_path, name)
    write(tmp_path, ".ragdocignore", b"drafts/\n")
    assert files(tmp_path) == ["keep/c.md"]
    assert excluded(tmp_path) == {
        ".ragdocignore: drafts/": 1,
        "default: node_modules/": 1,
        "temporary and system files": 1,
    }


def test_deeper_ignore_file_decides_over_the_one_above(tmp_path: Path) -> None:
    for name in ("a.log", "sub/a.log", "sub/keep.log", "sub/deep/keep.log", "other/keep.log"):
        write(tmp_path, name)
    write(tmp_path, ".ragdocignore", b"*.log\n")
    write(tmp_path, "sub/.ragdocignore", b"!keep.log\n")
    assert files(tmp_path) == ["sub/deep/keep.log", "sub/keep.log"]


def test_anchored_pattern_of_a_deeper_file_holds_from_its_own_folder(tmp_path: Path) -> None:
    for name in ("a.md", "sub/a.md", "sub/x/a.md"):
        write(tmp_path, name)
    write(tmp_path, "sub/.ragdocignore", b"/a.md\n")
    assert files(tmp_path) == ["a.md", "sub/x/a.md"]


def test_default_exclusion_can_be_brought_back(tmp_path: Path) -> None:
    write(tmp_path, "venv/a.md")
    write(tmp_path, "node_modules/a.md")
    write(tmp_path, ".ragdocignore", b"!venv/\n")
    assert files(tmp_path) == ["venv/a.md"]


def test_ignore_file_cannot_bring_back_what_the_launch_left_out(tmp_path: Path) -> None:
    write(tmp_path, "private/a.md")
    write(tmp_path, "b.tmp")
    write(tmp_path, ".ragdocignore", b"!private/\n!*.tmp\n")
    assert files(tmp_path, ignore.build(["*.tmp"], ["private"])) == []


def test_ignore_file_cannot_bring_back_hidden_or_secret_files(tmp_path: Path) -> None:
    write(tmp_path, ".hidden.md")
    write(tmp_path, "a.pem")
    write(tmp_path, ".ragdocignore", b"!.hidden.md\n!a.pem\n")
    assert files(tmp_path) == []
    assert refusals(tmp_path) == {".hidden.md": "hidden", "a.pem": "sensitive"}


def test_launch_rules_are_counted_by_their_flag(tmp_path: Path) -> None:
    for name in ("a.tmp", "b.tmp", "old/c.md", "sub/old/d.md", "old.md", "n/old", "keep.md"):
        write(tmp_path, name)
    rules = ignore.build(["*.tmp"], ["old"], ["old.*"])
    assert files(tmp_path, rules) == ["keep.md", "n/old"]
    assert excluded(tmp_path, rules) == {
        "--exclude *.tmp": 2,
        "--exclude-dirs old": 2,
        "--exclude-files old.*": 1,
    }


def test_absolute_glob_is_taken_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, "old/a.md")
    write(tmp_path, "sub/old/b.md")
    rules = ignore.build(exclude_dirs=[f"{tmp_path}/old"], root=str(tmp_path))
    assert files(tmp_path, rules) == ["sub/old/b.md"]


def test_excluded_secret_is_counted_and_not_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.pem")
    rules = ignore.build(["*.pem"])
    assert refusals(tmp_path, rules) == {} and excluded(tmp_path, rules) == {"--exclude *.pem": 1}


@pytest.mark.parametrize("kind", ["link", "long", "many", "folder"])
def test_folder_whose_ignore_file_cannot_be_used_is_not_read(tmp_path: Path, kind: str) -> None:
    write(tmp_path, "sub/a.md")
    path = tmp_path / "sub" / ".ragdocignore"
    if kind == "link":
        path.symlink_to("/dev/null")
    elif kind == "folder":
        path.mkdir()
    elif kind == "long":
        path.write_bytes(b"#" * (limits.IGNORE_BYTES + 1))
    else:
        path.write_text("".join(f"x{n}\n" for n in range(limits.IGNORE_PATTERNS + 1)))
    folder = walked(tmp_path)[b"sub"]
    if kind == "folder":
        assert folder.error is None and [r.code for r in folder.refusals] == ["hidden"]
        return
    assert folder.entries == [] and folder.error is not None
    assert folder.error.code == "unreadable" and ".ragdocignore" in folder.error.reason


@pytest.mark.parametrize(
    "pattern", ["*a" * 40 + "b", "*" * 200 + "b", "?*" * 60 + "b", "[a]*" * 50]
)
def test_hostile_pattern_takes_linear_time(pattern: str) -> None:
    start = time.perf_counter()
    is_excluded(pattern, "a" * 5000)
    assert time.perf_counter() - start < 1.0


def test_hostile_path_pattern_takes_bounded_time() -> None:
    start = time.perf_counter()
    assert not is_excluded("**/a/" * 30 + "b", "a/" * 120 + "c")
    assert time.perf_counter() - start < 1.0
