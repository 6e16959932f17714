"""The protocol's own suites against the server: `python3 -m tests --conformance`.

Needs Node's npx, the npm registry and a few minutes, so no default run collects this file.
docs/conformance.md lists what applies to this server and why the rest does not.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.session import SERVER

NODE = "node@22"
INSPECTOR = "@modelcontextprotocol/inspector@2.12"
RELEASED = "@modelcontextprotocol/conformance@0.1.16"
PREVIEW = "@modelcontextprotocol/conformance@0.2.0-alpha.12"  # the first with 2026-07-28
RUN_S = 600  # seconds for one suite, downloads included

COMMON = {
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
HANDSHAKE = COMMON | {"server-initialize", "ping"}
# What passes although the suite's fixtures are absent is asked for as well: it must stay so.
MODERN = COMMON | {
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "input-required-result-missing-input-response",
    "input-required-result-unsupported-methods",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
}
# Checks of server-stateless that need a diagnostic tool of the suite; its others must pass.
UNTESTABLE = "Not testable"
STATELESS = "server-stateless"


@pytest.fixture(scope="module", autouse=True)
def npx() -> str:
    found = shutil.which("npx")
    if found is None:
        pytest.fail("npx is missing: install Node 22.19 or later")
    return found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    state = tmp_path_factory.mktemp("state")
    (state / "library").mkdir()
    flags = ["--data-dir", str(state / "s"), "--knowledge-dir", str(state / "library")]
    process = subprocess.Popen(
        [sys.executable, str(SERVER), "--http", "--port", "0", *flags],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    found = re.search(r"http://\S+/mcp", process.stderr.readline())
    assert found
    yield found[0]
    process.terminate()
    process.communicate(timeout=20)


def _suite(npx: str, package: str, url: str, output: Path, *flags: str) -> dict[str, int]:
    """Failed checks of each scenario that ran."""
    words = [npx, "-y", "-p", NODE, "-p", package, "conformance", "server", "--url", url, *flags]
    words += ["--suite", "all", "-o", str(output)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_S)
    found = re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed", done.stdout, re.MULTILINE)
    assert found, done.stdout[-2_000:] + done.stderr[-2_000:]
    return {scenario: int(failed) for scenario, failed in found}


@pytest.mark.timeout(RUN_S)
def test_the_released_suite_passes_where_it_applies(npx: str, url: str, tmp_path: Path) -> None:
    failed = _suite(npx, RELEASED, url, tmp_path)
    assert {name: failed[name] for name in sorted(HANDSHAKE)} == dict.fromkeys(HANDSHAKE, 0)


@pytest.mark.timeout(RUN_S)
@pytest.mark.parametrize(
    ("revision", "scenarios"),
    [("2025-11-25", HANDSHAKE | {"server-session-lifecycle"}), ("2026-07-28", MODERN)],
)
def test_the_preview_suite_passes_where_it_applies(
    npx: str, url: str, tmp_path: Path, revision: str, scenarios: set[str]
) -> None:
    failed = _suite(npx, PREVIEW, url, tmp_path, "--spec-version", revision)
    assert {name: failed[name] for name in sorted(scenarios)} == dict.fromkeys(scenarios, 0)
    for file in tmp_path.glob(f"*{STATELESS}*/checks.json"):
        for check in json.loads(file.read_text(encoding="utf-8")):
            if check["status"] == "FAILURE":
                assert UNTESTABLE in check["errorMessage"], check["id"]


@pytest.mark.timeout(RUN_S)
def test_the_inspector_finds_nothing_to_say_about_the_tools(npx: str, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    flags = f"--knowledge-dir {tmp_path}/library --data-dir {tmp_path}/s"
    command = f"mcp-inspector --cli {sys.executable} {SERVER} {flags} --method tools/list --strict"
    words = [npx, "-y", "-p", NODE, "-p", INSPECTOR, "-c", command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_S)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 9
    assert "Warning:" not in done.stderr and "Error:" not in done.stderr
