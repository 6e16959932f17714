"""The documentation, tested like code: what a person can type or meet is written down.

A flag, a tool, a variable, a limit, a code of an unread file or an exit code without a line in
README.md or docs/ fails here, and so does a limit that is documented with another number, a
command that names no script and a link that leads nowhere.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
from pathlib import Path

import pytest

from helpers import config, errors, limits

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
EVERYTHING = README + "".join(PAGES.values())
LIMITS = PAGES[ROOT / "docs" / "limits.md"]
UNITS = {"KIB", "MIB", "GIB"}
CONSTANTS = sorted(name for name in vars(limits) if name.isupper() and name not in UNITS)
DOORS = ("rag_server", "rag_sync", "rag_search")


def flags(door: str) -> list[str]:
    """The long flags of a door that its help shows."""
    parser: argparse.ArgumentParser = importlib.import_module(door)._parser()
    return [
        option
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
        if option.startswith("--")
    ]


def variables() -> set[str]:
    """Every environment variable that the product reads, told by its flags and its source."""
    parser = argparse.ArgumentParser()
    config.add_shared_flags(parser)
    shared = [option for action in parser._actions for option in action.option_strings]
    found = {config.variable(option) for option in shared if option[:2] == "--"}
    found -= {"RAGDOC_HELP", "RAGDOC_VERSION"}
    for path in [*ROOT.glob("*.py"), *ROOT.glob("helpers/**/*.py"), ROOT / "tests/conftest.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\bRAGDOC_[A-Z]+(?:_[A-Z]+)*\b", node.value))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "environment_value":
                (flag,) = node.args[:1]
                assert isinstance(flag, ast.Constant)
                found.add(config.variable(str(flag.value)))
    return found


def forms(name: str, value: float) -> set[str]:
    """The ways in which the value of a limit may be written."""
    if name.endswith("_NS"):
        value = value / 1e9
    shown = {f"{value:,g}" if value < 1_000_000 else f"{value:,.0f}", f"{value:,}"}
    if isinstance(value, float) and value < 1:
        shown.add(f"{value * 100:g} %")
    for unit, size in (("KiB", limits.KIB), ("MiB", limits.MIB), ("GiB", limits.GIB)):
        if value >= size and value % size == 0:
            shown.add(f"{value // size:g} {unit}")
    return shown


@pytest.mark.parametrize("door", DOORS)
def test_every_flag_is_documented(door: str) -> None:
    missing = [flag for flag in flags(door) if not re.search(rf"{flag}(?![\w-])", EVERYTHING)]
    assert missing == []


@pytest.mark.parametrize("door", DOORS)
def test_help_begins_with_examples_and_a_mistake_costs_one_line(
    door: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main = importlib.import_module(door).main
    for words, status in ((["--help"], 0), (["--bogus"], 2), (["--know", "x"], 2)):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == status
        said = capsys.readouterr()
        if status:
            assert said.err.count("\n") == 1 and words[0] in said.err and "--help" in said.err
        else:
            assert said.out.startswith("examples:\n") and f"usage: {door}.py" in said.out


def test_every_variable_is_documented() -> None:
    assert sorted(name for name in variables() if f"`{name}`" not in EVERYTHING) == []


def test_every_tool_and_prompt_is_documented() -> None:
    offer = json.loads((ROOT / "helpers" / "mcp_offer.json").read_text(encoding="utf-8"))
    names = [entry["name"] for entry in offer["tools"] + offer["prompts"]]
    assert [name for name in names if f"`{name}`" not in README] == []


@pytest.mark.parametrize("name", CONSTANTS)
def test_every_limit_is_documented_with_its_value(name: str) -> None:
    lines = [line for line in LIMITS.splitlines() if f"`{name}`" in line]
    assert lines, f"docs/limits.md says nothing of {name}"
    value = getattr(limits, name)
    for number in value if isinstance(value, tuple) else (value,):
        shown = forms(name, number)
        found = any(
            re.search(rf"(?<![\d,.]){re.escape(form)}(?![\d]|[,.]\d)", line)
            for line in lines
            for form in shown
        )
        assert found, f"{name} is {number}, but docs/limits.md says: {lines}"


def test_no_limit_is_documented_that_does_not_exist() -> None:
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", LIMITS))
    assert {name for name in named - set(CONSTANTS) if not name.startswith("RAGDOC_")} == set()


def test_every_code_of_an_unread_file_is_explained() -> None:
    assert sorted(code for code in errors.UNREAD_CODES if f"`{code}`" not in README) == []


def test_every_exit_code_is_documented() -> None:
    row = re.search(r"Exit codes: (.*?)\n\n", README, re.DOTALL)
    assert row is not None
    assert re.findall(r"`(\d+)`", row[1]) == ["0", "1", "2", "3", "4", "5", "6", "130"]


def test_every_supported_ending_of_an_office_or_pdf_file_is_in_the_readme() -> None:
    from helpers.extract.formats import FORMATS

    named = [
        e for entry in FORMATS if entry.supported and not entry.is_text for e in entry.extensions
    ]
    assert [ending for ending in named if f"`{ending}`" not in README] == []


def test_every_format_that_is_read_has_a_section() -> None:
    from helpers.extract.formats import FORMATS

    page = PAGES[ROOT / "docs" / "formats.md"]
    told = {
        word
        for line in page.splitlines()
        if line.startswith("## ")
        for word in line[3:].split(", ")
    }
    assert (
        sorted(entry.name for entry in FORMATS if entry.supported and entry.name not in told) == []
    )


def test_commands_name_scripts_that_exist() -> None:
    for script in set(re.findall(r"\bpython3? ([\w/]+\.py)", EVERYTHING)):
        assert (ROOT / script).is_file(), script


def test_links_between_the_pages_lead_somewhere() -> None:
    for page, text in {ROOT / "README.md": README, **PAGES}.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
