"""Every regular expression of the program, how it is used, and text that would make one slow.

Promises: a pattern is found by its call in the source (`re.compile(…)`, `re.sub(…)`, …) and built
as its module builds it, so that none is missed, wherever it is kept. Does not: run any.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as codes
    import sre_parse as parser

ROOT = Path(__file__).resolve().parent.parent.parent
WAYS = {"match": "match", "fullmatch": "fullmatch"}
WAYS |= dict.fromkeys(("search", "sub", "subn", "findall", "finditer", "split"), "sub")

# The globs of users, whose patterns tests/source/test_ignore.py tries.
_OF_USERS = "helpers.source.ignore"
# What stands in patterns that are put together at work.
FILLINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "helpers.extract.markdown": ({"fence": "```"},),
    "helpers.extract.pdf_mistaken": ({"sign": "\u0e4d"},),
    "helpers.extract.rtf_tokens": ({"fallback": 1}, {"fallback": 0}),
    "helpers.extract.xls_runs": ({"pattern": rb"\x03\x02\x0e\x00(..)\x00\x00\x00\x00.{8}"},),
    "helpers.language.terms": ({"folded": "a"}, {"folded": "\u0e01"}),
    "helpers.extract.trimmed": ({"within": "a"},),
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """`place` is "module:NAME", or the line of a pattern without a name; `ways` are those of match,
    fullmatch and sub that it is put to.
    """

    place: str
    compiled: re.Pattern[Any]
    ways: frozenset[str]


def modules() -> list[str]:
    """The modules of the program that hold patterns."""
    holding = (name for name, tree in _trees().items() if any(_calls(tree)))
    return [name for name in holding if name != _OF_USERS]


def patterns(module: str) -> Iterator[Pattern]:
    """The patterns of one module, each with every filling."""
    scope = vars(importlib.import_module(module))
    tree = _trees()[module]
    named = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call in _calls(tree):
        name = named.get(id(call), "")
        ways = _ways(call, module, name)
        for filling in FILLINGS.get(module, ({},)):
            made = _value(call, scope | filling)
            yield Pattern(f"{module}:{name or call.lineno}", made, ways)


def _value(call: ast.Call, scope: dict[str, Any]) -> re.Pattern[Any]:
    """The pattern of a call, built from its first argument and its flags alone."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else "compile"
    flags = [word for word in call.keywords if word.arg == "flags"]
    build = ast.Attribute(ast.Name("re", ast.Load()), "compile", ast.Load())
    arguments = call.args if name == "compile" else call.args[:1]
    code = ast.fix_missing_locations(ast.Expression(ast.Call(build, arguments, flags)))
    made = eval(compile(code, "<pattern>", "eval"), {**scope, "re": re})
    assert isinstance(made, re.Pattern)
    return made


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "_compiled":
            yield node
        elif isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re":
            late = isinstance(node.args[0], ast.Name) and node.args[0].id == "pattern"
            if function.attr in {"compile", *WAYS} and not late:
                yield node


def _ways(call: ast.Call, module: str, name: str) -> frozenset[str]:
    used: set[str] = set()
    if isinstance(call.func, ast.Attribute) and call.func.attr != "compile":
        used.add(call.func.attr)
    elif name:
        for other, uses in _uses().items():
            if other == module or not name.startswith("_"):
                used |= uses.get(name, set())
    return frozenset(WAYS[use] for use in used or {"search"})


@cache
def _trees() -> dict[str, ast.Module]:
    paths = (
        path for folder in ("*.py", "helpers/**/*.py", "ui/*.py") for path in ROOT.glob(folder)
    )
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(paths)
    }


@cache
def _uses() -> dict[str, dict[str, set[str]]]:
    """For each module the methods called on each name, such as {"_WORD": {"match"}}."""
    found: dict[str, dict[str, set[str]]] = {}
    for module, tree in _trees().items():
        uses = found.setdefault(module, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in WAYS:
                name = ast.unparse(node.value).rpartition(".")[2]
                uses.setdefault(name, set()).add(node.attr)
    return found


# --- text that makes patterns slow -------------------------------------------------------

_SAMPLES = "aA0 \n\t_-.,;:/\\\"'<>()[]{}|*#%&=+!?@~^$`\0\x80\xe9\xff\u0e01\u0e31\uac00"
_ENDS = ("", "!", "\n", "\0")
_LONG = 8  # repetitions from which a repeat is worth filling
_SHOWN = 6  # letters of one class that are tried

Fill = Callable[[int], str]


def attacks(compiled: re.Pattern[Any]) -> Iterator[tuple[str, Fill]]:
    """Named functions from a length to a text of about that length.

    Runs of every letter the pattern knows, and pairs of them; what stands before each repeat,
    then the repeat without end and what does not follow it; the beginning again and again.
    """
    taken = _Taken(255 if isinstance(compiled.pattern, bytes) else sys.maxunicode)
    flags = compiled.flags & (re.VERBOSE | re.IGNORECASE | re.ASCII)
    whole = taken.example(parser.parse(compiled.pattern, flags), "")
    alphabet = list(dict.fromkeys(taken.letters))
    for letter in alphabet:
        yield f"run of {letter!r}", _filled("", letter, "")
    for before, body in dict.fromkeys(taken.repeats):
        for end in _ENDS:
            yield f"{before[:40]!r} then {body!r} and {end!r}", _filled(before, body, end)
        for times in (1, 3):
            again = before + body * times
            yield f"again {again[:60]!r}", _filled("", again, "")
    if whole:
        yield f"again {whole[:60]!r}", _filled("", whole, "")
    for one in alphabet[:_LONG]:
        for other in alphabet[:_LONG]:
            if one != other:
                yield f"pairs of {one + other!r}", _filled("", one + other, "")


def _filled(before: str, body: str, end: str) -> Fill:
    return lambda length: before + body * (length // len(body) + 1) + end


@dataclass(slots=True)
class _Taken:
    """What a pattern is made of: letters it knows, and before and within each long repeat."""

    highest: int
    letters: list[str] = field(default_factory=list)
    repeats: list[tuple[str, str]] = field(default_factory=list)
    groups: dict[int | None, str] = field(default_factory=dict)

    def example(self, tree: Any, before: str) -> str:
        """A short text that the parsed pattern matches, or nearly; `before` stands before it."""
        text = ""
        for code, value in tree:
            text += self._part(code, value, before + text)
        return text

    def _part(self, code: Any, value: Any, before: str) -> str:
        if code in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY, codes.CATEGORY):
            known = self._known(code, value)
            self.letters += known[:_SHOWN]
            return known[0]
        if code in _REPEATS:
            least, most, tree = value
            return self._repeat(least, most, tree, before)
        if code is codes.BRANCH:
            return [self.example(branch, before) for branch in value[1]].pop()
        if code is codes.SUBPATTERN:
            self.groups[value[0]] = self.example(value[3], before)
            return self.groups[value[0]]
        if code is codes.GROUPREF:
            return self.groups.get(value, "")
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            self.example(value[1], before)
            return ""
        if code is codes.AT:
            return ""
        return self.example(value if code in _BARE else value[1], before)

    def _repeat(self, least: int, most: int, tree: Any, before: str) -> str:
        body = self.example(tree, before)
        if body and most > _LONG:
            single = len(tree) == 1 and tree[0][0] is codes.IN
            bodies = self._known(*tree[0])[:_LONG] if single else [body]
            self.repeats += [(before, other) for other in bodies]
        return body * max(least, 1)

    def _known(self, code: Any, value: Any) -> list[str]:
        """Letters that one place of a pattern takes, at least one."""
        items = value if code is codes.IN else [(code, value)]
        tried = [c for c in _SAMPLES if ord(c) <= self.highest]
        tried += [chr(v) for op, v in items if op is codes.LITERAL]
        tried += [chr(v) for op, pair in items if op is codes.RANGE for v in pair]
        return [c for c in dict.fromkeys(tried) if _takes(items, c)] or ["a"]


_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, getattr(codes, "POSSESSIVE_REPEAT", None)}
_BARE = {getattr(codes, "ATOMIC_GROUP", None)}
_CATEGORIES = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
_OTHERS = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


def _takes(items: Any, letter: str) -> bool:
    taken = turned = False
    for code, value in items:
        if code is codes.NEGATE:
            turned = True
        elif code is codes.NOT_LITERAL:
            taken |= ord(letter) != value
        elif code is codes.ANY:
            taken |= letter != "\n"
        elif code is codes.LITERAL:
            taken |= ord(letter) == value
        elif code is codes.RANGE:
            taken |= value[0] <= ord(letter) <= value[1]
        elif value in _OTHERS:
            taken |= not _CATEGORIES[_OTHERS[value]](letter)
        else:
            taken |= _CATEGORIES[value](letter)
    return taken != turned
