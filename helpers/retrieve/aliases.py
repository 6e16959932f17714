"""Other names of the same thing, from an optional file in the data directory.

`aliases.json` is a list of groups, `[["hr", "human resources", "인사부"], …]`, or an object of a
name and its others, `{"hr": ["human resources"]}`. `aliases.txt` has a group a line, the names
between commas, lines that begin with # left out. A query that holds one name of a group is
searched for the others too.

Promises: a file that cannot be used raises ConfigError naming it; no file costs one look.
Does not: change the index: an edit counts from the next search on.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from helpers.errors import ConfigError, limit_reached
from helpers.files import read_json
from helpers.language.terms import Query, query_terms
from helpers.limits import ALIAS_FILE_BYTES

NAMES = ("aliases.json", "aliases.txt")


def expansions(query: Query, data_dir: Path) -> list[list[str]]:
    """The main terms of each further wording that the alias file gives for `query`."""
    groups = read_groups(data_dir)
    if not groups:
        return []
    asked = [word.term for word in query.words]
    found: list[list[str]] = []
    for group in groups:
        names = [[word.term for word in query_terms(name).words] for name in group]
        if any(_stands_in(name, asked) for name in names):
            found += [name for name in names if name and not _stands_in(name, asked)]
    return found


def read_groups(data_dir: Path) -> list[list[str]]:
    """The groups of the alias file; [] where there is none. Raises ConfigError."""
    for name in NAMES:
        path = data_dir / name
        if path.is_file():
            size = path.stat().st_size
            if size > ALIAS_FILE_BYTES:
                cap = limit_reached(str(path), size, ALIAS_FILE_BYTES, "bytes", "")
                raise ConfigError(cap.reason, "Keep fewer aliases in it.")
            return _json_groups(path) if name.endswith(".json") else _text_groups(path)
    return []


def _json_groups(path: Path) -> list[list[str]]:
    value = read_json(path)
    if isinstance(value, dict):
        value = [
            [name, *(more if isinstance(more, list) else [more])] for name, more in value.items()
        ]
    if not isinstance(value, list) or not all(_is_group(group) for group in value):
        raise ConfigError(
            f"{path} holds no list of groups of names",
            'Write [["hr", "human resources"], …] or remove the file.',
        )
    return value


def _text_groups(path: Path) -> list[list[str]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "Save it as UTF-8 text.") from None
    split = ([n.strip() for n in line.split(",")] for line in lines if not line.startswith("#"))
    return [group for group in split if len(group) > 1]


def _is_group(group: object) -> bool:
    return isinstance(group, list) and all(isinstance(name, str) for name in group)


def _stands_in(name: list[str], asked: list[str]) -> bool:
    size = len(name)
    return bool(size) and any(asked[i : i + size] == name for i in _starts(asked, size))


def _starts(asked: list[str], size: int) -> Iterable[int]:
    return range(len(asked) - size + 1)
