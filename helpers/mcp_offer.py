"""What the MCP server offers, read from `mcp_offer.json`, and the check of tool arguments.

Promises: names, descriptions, annotations and schemas are constants of the project, so no
document, file name or setting changes a byte of what a client is told; an argument that does
not fit raises UsageError saying what was given, what fits and what to do next.
Does not: know the MCP library, call a tool or look at an index.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.errors import UsageError, shown

OFFER = Path(__file__).with_name("mcp_offer.json")
SURROGATE = re.compile("[\ud800-\udfff]")
TYPE_NAMES = {"string": "a string", "integer": "a whole number", "boolean": "true or false"}


@functools.cache
def offer() -> dict[str, Any]:
    """The whole table: instructions, tools, prompts, resource_templates."""
    value: dict[str, Any] = json.loads(OFFER.read_text(encoding="utf-8"))
    return value


def tool(name: str) -> dict[str, Any] | None:
    """The entry of one tool, or None."""
    return next((entry for entry in offer()["tools"] if entry["name"] == name), None)


def check_arguments(entry: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` made to fit the tool's input schema, defaults filled in, absent ones left out.

    A number or truth written as a string is taken as meant, and null as absent: models send
    both. Raises UsageError.
    """
    name, schema = entry["name"], entry["inputSchema"]
    properties: dict[str, Any] = schema["properties"]
    unknown = sorted(set(given) - set(properties))
    # Some clients send a made-up argument to a tool that takes none.
    if unknown and properties:
        raise UsageError(
            f"{name} has no argument {shown(unknown[0])}",
            f"Call it again with some of: {', '.join(properties)}.",
        )
    arguments: dict[str, Any] = {}
    for key, rule in properties.items():
        value = given.get(key)
        if value is None:
            if key in schema.get("required", ()):
                raise _missing(name, key, rule)
            if "default" in rule:
                arguments[key] = rule["default"]
        else:
            arguments[key] = _checked(name, key, _coerced(value, rule["type"]), rule)
    return arguments


def prompt_text(name: str, arguments: Mapping[str, str]) -> str:
    """The text of prompt `name`. Raises UsageError for an unknown name or a missing argument."""
    entry = next((item for item in offer()["prompts"] if item["name"] == name), None)
    if entry is None:
        names = ", ".join(item["name"] for item in offer()["prompts"])
        raise UsageError(f"There is no prompt {shown(name)}", f"Ask for one of: {names}.")
    for argument in entry["arguments"]:
        if argument["required"] and not arguments.get(argument["name"]):
            raise UsageError(
                f"{name} needs the argument {argument['name']}", "Give it and ask again."
            )
    kb_id = arguments.get("kb_id")
    text: str = entry["text"].replace("{kb}", f" (kb_id: {shown(kb_id)})" if kb_id else "")
    return text.replace("{question}", arguments.get("question", ""))


def _missing(name: str, key: str, rule: Mapping[str, Any]) -> UsageError:
    if "const" in rule:
        return UsageError(
            f"{name} needs {key}: true",
            f"Ask the person first, then call it again with {key} set to true.",
        )
    return UsageError(f"{name} needs {key}", f"Call it again with {key}: {_fits(rule)}.")


def _coerced(value: Any, kind: str) -> Any:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        if kind == "integer" and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
            return int(value)
        if kind == "boolean" and value.lower() in ("true", "false"):
            return value.lower() == "true"
    return value


def _checked(name: str, key: str, value: Any, rule: Mapping[str, Any]) -> Any:
    kind = {"string": str, "integer": int, "boolean": bool}[rule["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _refused(name, f"{key} is {shown(value)}", key, rule)
    if isinstance(value, str):
        _check_text(name, key, value, rule)
    elif rule["type"] == "integer":
        low, high = rule.get("minimum"), rule.get("maximum")
        if (low is not None and value < low) or (high is not None and value > high):
            raise _refused(name, f"{key} is {value:,}", key, rule)
    if "const" in rule and value is not rule["const"]:
        raise _missing(name, key, rule)
    return value


def _check_text(name: str, key: str, value: str, rule: Mapping[str, Any]) -> None:
    low, high = rule.get("minLength", 0), rule.get("maxLength")
    if len(value) < low or (low and not value.strip()):
        raise _refused(name, f"{key} is empty", key, rule)
    if high is not None and len(value) > high:
        raise UsageError(
            f"{name}: {key} has {len(value):,} > {high:,} characters",
            "Shorten it and call again.",
        )
    if "\0" in value:
        raise UsageError(
            f"{name}: {key} has a NUL character at position {value.index(chr(0))}",
            "Take it out and call again.",
        )
    lone = SURROGATE.search(value)
    if lone:
        raise UsageError(
            f"{name}: {key} has half a surrogate pair at position {lone.start()}",
            "Send whole Unicode characters and call again.",
        )
    if "enum" in rule and value not in rule["enum"]:
        raise _refused(name, f"{key} is {shown(value)}", key, rule)


def _refused(name: str, what: str, key: str, rule: Mapping[str, Any]) -> UsageError:
    return UsageError(f"{name}: {what}", f"Call it again with {key}: {_fits(rule)}.")


def _fits(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return "one of " + ", ".join(rule["enum"])
    if "maxLength" in rule:
        return f"a string of {rule['minLength']:,} to {rule['maxLength']:,} characters"
    kind = TYPE_NAMES[rule["type"]]
    if "maximum" in rule:
        return f"{kind} from {rule['minimum']:,} to {rule['maximum']:,}"
    if "minimum" in rule:
        return f"{kind} of at least {rule['minimum']:,}"
    return kind
