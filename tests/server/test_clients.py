"""What `--print-config` prints can be pasted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.clients import CLIENTS, configuration, hint, launch_command
from helpers.config import resolve
from tests.server.session import SERVER


def _print_config(client: str, *flags: str, cwd: Path) -> tuple[dict[str, object], str]:
    words = [sys.executable, str(SERVER), "--print-config", client, *flags]
    environment = {"PYTHONIOENCODING": "cp1252", "PATH": "", "HOME": str(cwd)}
    done = subprocess.run(words, capture_output=True, check=True, cwd=cwd, env=environment)
    return json.loads(done.stdout), done.stderr.decode("utf-8", "replace")


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_the_configuration_of_every_client_starts_the_server_by_absolute_paths(
    client: str, tmp_path: Path
) -> None:
    (tmp_path / "เอกสาร").mkdir()
    value, _ = _print_config(
        client, "--knowledge-dir", "เอกสาร", "--data-dir", "state", cwd=tmp_path
    )
    key = "servers" if client == "vscode" else "mcpServers"
    entry = value[key]["ragdoc"]  # type: ignore[index]
    assert set(value) == {key}
    assert Path(entry["command"]).is_absolute()
    assert entry["args"] == [
        *(str(SERVER), "--knowledge-dir", str(tmp_path / "เอกสาร")),
        *("--data-dir", str(tmp_path / "state")),
    ]
    started = subprocess.run(
        [entry["command"], *entry["args"], "--version"], capture_output=True, text=True
    )
    assert started.stdout.startswith("RagDoc ")


def test_vscode_is_told_the_transport() -> None:
    assert configuration("vscode", ["py", "x"])["servers"]["ragdoc"]["type"] == "stdio"


def test_the_command_for_claude_code_quotes_what_a_shell_would_split() -> None:
    text = hint("claude-code", ["/usr/bin/python3", "/a b/rag_server.py"])
    assert "claude mcp add --scope user ragdoc -- /usr/bin/python3 '/a b/rag_server.py'" in text


def test_settings_that_differ_from_the_defaults_are_part_of_the_command(tmp_path: Path) -> None:
    environment = {
        "RAGDOC_DATA_DIR": str(tmp_path / "s"),
        "RAGDOC_DB": str(tmp_path / "i.sqlite3"),
        "RAGDOC_KB": "law",
        "RAGDOC_EXCLUDE_DIRS": "old,tmp",
    }
    words = launch_command(Path("py"), Path("rag_server.py"), resolve(None, environment))
    assert words[words.index("--db") + 1] == str(tmp_path / "i.sqlite3")
    assert words[words.index("--kb") + 1] == "law"
    assert "--exclude-dirs=old" in words and "--exclude-dirs=tmp" in words


def test_an_unknown_client_is_a_usage_error(tmp_path: Path) -> None:
    words = [sys.executable, str(SERVER), "--print-config", "netscape"]
    assert subprocess.run(words, capture_output=True).returncode == 2
