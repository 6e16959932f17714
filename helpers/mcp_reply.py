"""Run a tool and shape what it gives as MCP replies, in plain dicts.

Promises: a tool's result goes out as structured content and as text with the same facts, both
free of controls; a failure that the caller can mend becomes a tool error that says how; any
other failure is logged with its traceback and told without internals.
Does not: know the MCP library, or which tools there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from helpers import log
from helpers.config import Settings
from helpers.errors import RagDocError, UsageError, shown
from helpers.mcp_offer import check_arguments, tool
from helpers.render import neutral, text_form

Arguments = Mapping[str, Any]
Tool = Callable[[Settings, Arguments], Mapping[str, Any]]


def called(
    entry: Mapping[str, Any], given: Arguments, settings: Settings, tools: Mapping[str, Tool]
) -> dict[str, Any]:
    """Run one tool: its result as structured content and text, or an error the caller can mend."""
    name = entry["name"]
    try:
        result = neutral(tools[name](settings, check_arguments(entry, given)))
        text = text_form(name, result)
    except RagDocError as error:
        return _failed(neutral(str(error)))
    except Exception as error:
        log.get_logger().exception("%s failed", name)
        return _failed(
            f"{name} failed inside ({type(error).__name__}). Its log on standard error says "
            "where; call rag_health for the state of the index."
        )
    return {"content": [{"type": "text", "text": text}], "structuredContent": result}


def resource(uri: str, settings: Settings, tools: Mapping[str, Tool]) -> str:
    """The JSON text of a `ragdoc://` resource. Raises UsageError for any other address."""
    parts = [unquote(part) for part in uri.removeprefix("ragdoc://").split("/")]
    if not uri.startswith("ragdoc://kb/") or len(parts) not in (2, 4):
        raise UsageError(
            f"{shown(uri)} is no resource", "Read ragdoc://kb/{kb_id} or one of its chunks."
        )

    def call(name: str, **given: Any) -> Mapping[str, Any]:
        return tools[name](settings, check_arguments(tool(name) or {}, given))

    bases = call("list_knowledge_bases")["result"]
    base = next((item for item in bases if item["kb_id"] == parts[1]), None)
    if base is None:
        known = ", ".join(item["kb_id"] for item in bases)
        raise UsageError(f"There is no knowledge base {shown(parts[1])}", f"Known: {known}.")
    if len(parts) == 2:
        value: Mapping[str, Any] = {**base, "health": call("rag_health", kb_id=parts[1])}
    elif parts[2] == "chunk":
        value = call("get_document_chunk", chunk_id=parts[3])
    else:
        raise UsageError(
            f"{shown(uri)} is no resource", "Read ragdoc://kb/{kb_id}/chunk/{chunk_id}."
        )
    return json.dumps(neutral(value), ensure_ascii=False)


def _failed(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}
