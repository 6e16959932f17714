"""The tools through the SDK's own client, over stdio and HTTP, in both protocol revisions."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.server.session import HELLO, SERVER, STUB

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
SYNC_S = 120.0  # seconds a sync of the examples may take on a busy machine
QUESTIONS = {  # question → the example that answers it
    "How many days of paid leave does a new employee get?": "employee-handbook.docx",
    "출장비는 며칠 안에 정산해야 하나요?": "출장비 규정.pdf",
    "ต้องแจ้งลาป่วยภายในกี่ชั่วโมง": "ระเบียบการลา.pdf",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("rag_search", {"query": "ค่าธรรมเนียม 수수료 fee"}),
    ("get_document_chunk", {"chunk_id": "default:abc", "after": 1}),
    ("sync_kb", {}),
    ("sync_status", {}),
    ("cancel_sync", {"job_id": "j1"}),
    ("rag_health", {}),
    ("list_knowledge_bases", {}),
    ("check_changes", {}),
    ("clear_index", {"kb_id": "default", "confirm": True}),
]


@contextlib.asynccontextmanager
async def connected(state: Path, mode: str, script: Path = STUB) -> AsyncIterator[Client]:
    words = [str(script), "--data-dir", str(state / "s"), "--knowledge-dir", str(state / "k")]
    server = StdioServerParameters(command=sys.executable, args=words)
    async with Client(stdio_client(server), mode=mode) as client:  # type: ignore[arg-type]
        yield client


@pytest.mark.parametrize(("mode", "version"), [("legacy", LEGACY), (MODERN, MODERN)])
def test_every_tool_answers_both_revisions_with_structure_and_text(
    tmp_path: Path, mode: str, version: str
) -> None:
    async def scenario() -> None:
        async with connected(tmp_path, mode) as client:
            assert client.protocol_version == version
            await client.list_tools()  # so that the client checks results against the schemas
            for name, arguments in CALLS:
                result = await client.call_tool(name, arguments)
                assert not result.is_error
                assert isinstance(result.structured_content, dict)
                assert result.content[0].type == "text"
                assert result.content[0].text

    anyio.run(scenario)


def test_prompts_and_resources_are_served(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path, "legacy") as client:
            prompts = (await client.list_prompts()).prompts
            assert [item.name for item in prompts] == ["answer_with_citations", "what_is_indexed"]
            got = await client.get_prompt("answer_with_citations", {"question": "ทำไม?"})
            assert got.messages[0].content.text.endswith("Question: ทำไม?")  # type: ignore[union-attr]
            templates = (await client.list_resource_templates()).resource_templates
            assert [item.uri_template for item in templates] == [
                "ragdoc://kb/{kb_id}",
                "ragdoc://kb/{kb_id}/chunk/{chunk_id}",
            ]
            (base,) = (await client.list_resources()).resources
            assert str(base.uri) == "ragdoc://kb/default"
            overview = await client.read_resource("ragdoc://kb/default")
            assert json.loads(overview.contents[0].text)["health"]["ok"] is True  # type: ignore[union-attr]
            found = await client.read_resource("ragdoc://kb/default/chunk/default%3Aabc")
            (chunk,) = json.loads(found.contents[0].text)["chunks"]  # type: ignore[union-attr]
            assert chunk["untrusted"] is True
            for uri in (
                "ragdoc://kb/nope",
                "ragdoc://kb/default/chunk/nope",
                "ragdoc://kb/nope/chunk/default%3Aabc",
                "ragdoc://kb/a/b/c",
                "ragdoc://kb/" + "x" * 100_000,
            ):
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(uri)
                assert caught.value.error.code == -32602
                assert len(str(caught.value.error)) < 1000

    anyio.run(scenario)


def test_failures_tell_the_caller_what_to_do_and_no_internals(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path, "legacy") as client:
            for name, arguments, words in (
                ("rag_search", {"query": "mend"}, "The index is closed. Open it and call again."),
                ("rag_search", {"query": "a", "limit": 99}, "limit is 99"),
                ("sync_status", {"job_id": "nope"}, "There is no job 'nope'"),
                ("get_document_chunk", {"chunk_id": "nope"}, "There is no chunk 'nope'"),
                ("clear_index", {"kb_id": "default"}, "confirm: true"),
                ("rag_search", {"query": "crash"}, "rag_search failed inside (ZeroDivisionError)"),
            ):
                result = await client.call_tool(name, arguments)
                assert result.is_error
                assert words in result.content[0].text  # type: ignore[union-attr]
                assert "secret detail" not in result.content[0].text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("no_such_tool", {})

    anyio.run(scenario)


def test_a_ping_is_answered_while_a_tool_works(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path, "legacy") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "rag_search", {"query": "block"})
            with anyio.fail_after(20):
                await client.send_ping()
                assert (await client.call_tool("sync_kb", {})).structured_content
            tasks.cancel_scope.cancel()

    anyio.run(scenario)


def test_the_real_tools_fit_their_schemas_from_an_empty_index_to_a_cleared_one(
    tmp_path: Path, repository: Path
) -> None:
    shutil.copytree(repository / "docs" / "examples", tmp_path / "k")

    async def scenario() -> None:
        async with connected(tmp_path, MODERN, SERVER) as client:

            async def call(name: str, **arguments: Any) -> dict[str, Any]:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content
                assert result.structured_content is not None
                return dict(result.structured_content)

            await client.list_tools()  # so that the client checks results against the schemas
            empty = await client.call_tool("rag_search", {"query": "leave"})
            assert empty.is_error and "sync_kb" in empty.content[0].text  # type: ignore[union-attr]
            assert (await call("rag_health"))["problems"][0]["code"] == "no_index"
            assert (await call("check_changes"))["added"]["count"] == 13
            job_id = (await call("sync_kb"))["job_id"]
            with anyio.fail_after(SYNC_S):
                while (await call("sync_status", job_id=job_id))["status"] in ("queued", "running"):
                    await anyio.sleep(0.2)
            assert (await call("sync_status"))["added"] == 13
            assert (await call("check_changes"))["clean"] is True
            assert (await call("rag_health"))["ok"] is True
            (base,) = (await call("list_knowledge_bases"))["result"]
            assert (base["documents"], base["status"]) == (13, "ready")
            for query, path in QUESTIONS.items():
                found = (await call("rag_search", query=query, limit=1))["results"]
                assert [item["path"] for item in found] == [path]
                around = await call("get_document_chunk", chunk_id=found[0]["chunk_id"], before=1)
                assert found[0]["text"] in [item["text"] for item in around["chunks"]]
            first = await call("rag_search", query="days", limit=1)
            assert first["more"] > 0
            rest = await call("rag_search", query="days", limit=1, **first["next"])
            assert rest["results"][0]["chunk_id"] != first["results"][0]["chunk_id"]
            assert await call("cancel_sync", job_id=job_id) == {
                "job_id": job_id,
                "status": "not_running",
            }
            assert await call("clear_index", kb_id="default", confirm=True) == {"cleared": True}

    anyio.run(scenario)


# --- HTTP --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    state = tmp_path_factory.mktemp("http")
    flags = ["--data-dir", str(state / "s"), "--knowledge-dir", str(state / "k")]
    process = subprocess.Popen(
        [sys.executable, str(STUB), "--http", "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None and process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", process.stderr.readline())
    assert found
    yield int(found[1])
    process.terminate()
    assert process.communicate(timeout=20)[0] == ""


def _post(port: int, **headers: str) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    fixed = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", "/mcp", body, {**fixed, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_loopback_names_and_origins_are_served(port: int) -> None:
    assert _post(port) == 200
    assert _post(port, Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
        assert _post(port, Host=host) == 421
    for origin in ("http://evil.example", f"https://127.0.0.1:{port}", "null", "file://"):
        assert _post(port, Origin=origin) == 403


@pytest.mark.parametrize(("mode", "version"), [("legacy", LEGACY), (MODERN, MODERN)])
def test_http_serves_both_revisions(port: int, mode: str, version: str) -> None:
    async def scenario() -> None:
        url = f"http://127.0.0.1:{port}/mcp"
        async with Client(url, mode=mode) as client:  # type: ignore[arg-type]
            assert client.protocol_version == version
            result = await client.call_tool("rag_search", {"query": "fee"})
            assert result.structured_content is not None
            assert result.structured_content["results"][0]["path"] == "ก/fees.pdf"

    anyio.run(scenario)


def test_a_taken_port_is_a_configuration_error_with_a_remedy(port: int, tmp_path: Path) -> None:
    words = [sys.executable, str(STUB), "--http", "--port", str(port), "--data-dir", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "Give another --port" in done.stderr
