"""The launch settings: which source wins, what is refused, and how another process gets them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from helpers import config
from helpers.config import Settings
from helpers.errors import ConfigError, RagDocError, UsageError

# (setting, flag, variable, what its text becomes); each source gives another of the values.
SETTINGS = [
    ("knowledge_dir", "--knowledge-dir", "RAGDOC_KNOWLEDGE_DIR", Path, ("/a", "/b", "/c")),
    ("db", "--db", "RAGDOC_DB", Path, ("/a/i", "/b/i", "/c/i")),
    ("kb_id", "--kb", "RAGDOC_KB", str, ("one", "two", "three")),
    ("semantic", "--semantic", "RAGDOC_SEMANTIC", str, ("on", "off", "auto")),
    ("semantic_model_dir", "--semantic-model-dir", "RAGDOC_SEMANTIC_MODEL_DIR", Path, "/a /b /c"),
    ("chunk_chars", "--chunk-chars", "RAGDOC_CHUNK_CHARS", int, ("500", "600", "700")),
    ("chunk_overlap", "--chunk-overlap", "RAGDOC_CHUNK_OVERLAP", int, ("10", "20", "30")),
    ("thai_words", "--thai-words", "RAGDOC_THAI_WORDS", str, "pythainlp bundled pythainlp"),
    ("archives", "--archives", "RAGDOC_ARCHIVES", str, ("on", "on", "on")),
    ("workers", "--workers", "RAGDOC_WORKERS", int, ("1", "2", "3")),
]


def resolved(tmp_path: Path, *words: str, stored: Any = None, **environ: str) -> Settings:
    """The settings of a launch with flags `words`, variables, and `stored` in config.json."""
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    if stored is not None:
        text = stored if isinstance(stored, str) else json.dumps(stored)
        (state / "config.json").write_text(text, "utf-8")
    parser = argparse.ArgumentParser()
    config.add_shared_flags(parser)
    arguments = parser.parse_args([*words, "--data-dir", str(state)])
    return config.resolve(arguments, {"HOME": str(tmp_path), **environ})


@pytest.mark.parametrize("name,flag,variable,kind,values", SETTINGS)
def test_flag_beats_variable_beats_stored_beats_default(
    tmp_path: Path, name: str, flag: str, variable: str, kind: Any, values: Any
) -> None:
    by_flag, by_variable, by_file = values.split() if isinstance(values, str) else values
    default = getattr(resolved(tmp_path), name)
    stored = {flag.lstrip("-").replace("-", "_"): by_file}
    assert getattr(resolved(tmp_path, stored=stored), name) == kind(by_file)
    assert getattr(resolved(tmp_path, **{variable: by_variable}), name) == kind(by_variable)
    found = resolved(tmp_path, flag, by_flag, **{variable: by_variable})
    assert getattr(found, name) == kind(by_flag)
    (tmp_path / "state" / "config.json").unlink()
    assert getattr(resolved(tmp_path, **{variable: ""}), name) == default


def test_data_directory_comes_from_flag_variable_or_home(tmp_path: Path) -> None:
    named = config.resolve(None, {"RAGDOC_DATA_DIR": str(tmp_path / "x")})
    assert named.data_dir == tmp_path / "x" and named.db == tmp_path / "x" / "ragdoc.sqlite3"
    assert resolved(tmp_path, RAGDOC_DATA_DIR="/other").data_dir == tmp_path / "state"
    assert config.resolve(None, {}).data_dir == Path("~/.mcp-ragdoc").expanduser()


def test_lists_are_split_at_commas_but_globs_are_not(tmp_path: Path) -> None:
    found = resolved(
        tmp_path,
        *("--exclude", "a,b/*", "--exclude", "c"),
        RAGDOC_EXCLUDE_DIRS="x, y",
        stored={"exclude_files": ["p", "q"]},
    )
    assert (found.exclude, found.exclude_dirs) == (("a,b/*", "c"), ("x", "y"))
    assert found.exclude_files == ("p", "q")


@pytest.mark.parametrize("text,quiet", [("1", True), ("true", True), ("0", False), ("off", False)])
def test_quiet_is_read_from_its_variable(tmp_path: Path, text: str, quiet: bool) -> None:
    assert resolved(tmp_path, RAGDOC_QUIET=text).quiet is quiet


def test_flags_give_another_process_the_same_settings(tmp_path: Path) -> None:
    first = resolved(
        tmp_path,
        *("--knowledge-dir", "/k k", "--db", "/d/x.db", "--kb", "a-b", "--semantic", "off"),
        *("--semantic-model-dir", "/m", "--exclude=-x", "--exclude-dirs", "p,q", "--workers", "3"),
        *("--chunk-chars", "700", "--chunk-overlap", "0", "--thai-words", "pythainlp", "--quiet"),
        *("--exclude-files", "r"),
    )
    parser = argparse.ArgumentParser()
    config.add_shared_flags(parser)
    assert config.resolve(parser.parse_args(first.flags()), {"HOME": str(tmp_path)}) == first


@pytest.mark.parametrize(
    "stored",
    [
        "{",
        "[]",
        {"knowledge_dir": 5},
        {"db": ["x"]},
        {"exclude": 5},
        {"exclude_dirs": [1]},
        {"semantic": "maybe"},
        {"quiet": "maybe"},
        {"thai_words": [1]},
        '{"workers": Infinity}',
        {"chunk_chars": "many"},
    ],
)
def test_stored_value_that_cannot_be_used_is_an_error_with_a_remedy(
    tmp_path: Path, stored: Any
) -> None:
    with pytest.raises(RagDocError) as caught:
        resolved(tmp_path, stored=stored)
    assert isinstance(caught.value, (ConfigError, UsageError)) and caught.value.remedy


@pytest.mark.parametrize(
    "words,named",
    [
        (["--chunk-chars", "199"], "--chunk-chars"),
        (["--chunk-chars", "1201"], "--chunk-chars"),
        (["--chunk-overlap", "136"], "--chunk-overlap"),
        (["--chunk-overlap", "-2"], "--chunk-overlap"),
        (["--workers", "x"], "--workers"),
        (["--kb", "a b"], "--kb"),
        (["--kb", "../x"], "--kb"),
        (["--knowledge-dir", "a\0b"], "NUL"),
    ],
)
def test_value_out_of_range_is_refused_by_name(
    tmp_path: Path, words: list[str], named: str
) -> None:
    with pytest.raises((UsageError, ConfigError), match=named):
        resolved(tmp_path, *words)


@pytest.mark.parametrize("inside", [".", "x", "x/y"])
def test_state_inside_the_knowledge_folder_is_refused(tmp_path: Path, inside: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "link").symlink_to(docs)
    for where in (docs, tmp_path / "link"):
        for flag, name in (("--db", "The index"), ("--data-dir", "The data directory")):
            parser = argparse.ArgumentParser()
            config.add_shared_flags(parser)
            words = ["--data-dir", str(tmp_path / "state"), "--knowledge-dir", str(docs)]
            with pytest.raises(ConfigError, match=f"{name} .* lies inside") as caught:
                config.resolve(parser.parse_args([*words, flag, str(where / inside)]), {})
            assert flag in caught.value.remedy


def test_reader_processes_get_no_keys(tmp_path: Path) -> None:
    given = {"PATH": "p", "LANG": "l", "OPENAI_API_KEY": "k", "RAGDOC_KB": "x", "HOME": "h"}
    assert config.reader_environment(given) == {"PATH": "p", "LANG": "l"}


@pytest.mark.parametrize(
    "environ,wanted", [({}, True), ({"NO_COLOR": ""}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_left_out_where_the_terminal_says_so(
    environ: dict[str, str], wanted: bool
) -> None:
    assert config.terminal_wants_colour(environ) is wanted
