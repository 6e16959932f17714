"""Configuration for MCP clients, ready to paste: `--print-config CLIENT`.

Promises: commands and paths are absolute, the interpreter is the project's own `.venv` where
there is one, and what is printed is the JSON that the client's documentation asks for.
Does not: edit a client's files.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.config import Settings

SERVER_NAME = "ragdoc"


@dataclass(frozen=True, slots=True)
class Client:
    """Where a client looks: the key that holds its servers, and the file to paste into."""

    key: str
    typed: bool
    where: str


CLIENTS = {
    "claude-code": Client(
        "mcpServers", True, ".mcp.json in the project folder, or run the command below"
    ),
    "claude-desktop": Client(
        "mcpServers",
        False,
        "claude_desktop_config.json (Settings, Developer, Edit Config): "
        "~/Library/Application Support/Claude/ on macOS, %APPDATA%\\Claude\\ on Windows, "
        "~/.config/Claude/ on Linux",
    ),
    "cursor": Client("mcpServers", True, "~/.cursor/mcp.json, or .cursor/mcp.json in a project"),
    "vscode": Client(
        "servers", True, ".vscode/mcp.json, or the command MCP: Open User Configuration"
    ),
    "lm-studio": Client("mcpServers", False, "mcp.json (Program tab, Install, Edit mcp.json)"),
}


def launch_command(python: Path, script: Path, settings: Settings) -> list[str]:
    """The words that start the server with `settings`; only what differs from a default."""
    words = [str(python), str(script)]
    words += ["--knowledge-dir", str(settings.knowledge_dir), "--data-dir", str(settings.data_dir)]
    if settings.db != settings.data_dir / "ragdoc.sqlite3":
        words += ["--db", str(settings.db)]
    if settings.kb_id != "default":
        words += ["--kb", settings.kb_id]
    if settings.semantic != "auto":
        words += ["--semantic", settings.semantic]
    if settings.semantic_model_dir:
        words += ["--semantic-model-dir", str(settings.semantic_model_dir)]
    if settings.semantic_linger is not None:
        words += ["--semantic-linger", f"{settings.semantic_linger:g}"]
    for name in ("exclude", "exclude_dirs", "exclude_files"):
        words += [f"--{name.replace('_', '-')}={value}" for value in getattr(settings, name)]
    return words


def configuration(client: str, command: Sequence[str]) -> dict[str, Any]:
    """The JSON object that `client` reads. Raises KeyError for an unknown client."""
    entry: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if CLIENTS[client].typed:
        entry = {"type": "stdio", **entry}
    return {CLIENTS[client].key: {SERVER_NAME: entry}}


def as_text(client: str, command: Sequence[str]) -> str:
    """`configuration` as JSON text."""
    return json.dumps(configuration(client, command), indent=2, ensure_ascii=False)


def hint(client: str, command: Sequence[str]) -> str:
    """Where the JSON goes, for a person."""
    lines = [f"Put this into {CLIENTS[client].where}."]
    if client == "claude-code":
        lines.append(f"claude mcp add --scope user {SERVER_NAME} -- {shlex.join(command)}")
    lines.append("Beside other servers, add only the inner entry; then restart the client.")
    return "\n".join(lines)
