#!/usr/bin/env python3
"""The MCP door: nine tools, two prompts and two resources over stdio or loopback HTTP.

Promises: standard output carries JSON-RPC messages alone; nothing heavy is loaded before the
first tool call; what a client is told about the tools never depends on documents; the process
ends with 0 within 5 seconds of the end of its input, a detached sync going on without it.
Does not: read documents, touch the index or start a sync itself: it hands validated arguments
to `helpers.service` and `rag_search`, and gives back what they return, free of controls.
"""

from __future__ import annotations

from helpers import environment

if __name__ == "__main__":
    environment.hush()

import argparse
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 10):  # noqa: UP036 (what macOS calls python3 is older)
    _VENV = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv", "bin", "python")
    if os.path.exists(_VENV):
        os.execv(_VENV, [_VENV, *sys.argv])
    sys.stderr.write("rag_server.py needs Python 3.10 or later: run it with one.\n")
    sys.exit(3)

from helpers import config, limits, log, setup, stdio
from helpers.clients import CLIENTS, as_text, hint, launch_command
from helpers.config import Settings
from helpers.errors import ConfigError, RagDocError, UsageError, shown
from helpers.mcp_offer import offer, prompt_text, tool
from helpers.mcp_reply import Arguments, Tool, called, resource

if TYPE_CHECKING:
    from mcp.server import Server

EXAMPLES = """\
examples:
  python3 rag_server.py --setup --demo                       install, then show what it does
  python3 rag_server.py --knowledge-dir ~/Documents          serve a folder over stdio
  python3 rag_server.py --print-config claude-desktop --knowledge-dir ~/Documents
  python3 rag_server.py --ui                                 search and sync in a browser
  python3 rag_server.py --http --port 8770                   serve on http://127.0.0.1:8770/mcp
"""
UI_PORT = 8769
HTTP_PORT = 8770
URI_CHARS = 500  # characters of an unknown resource's address that an error repeats
HTTP_BACKLOG = 64  # connections that wait to be accepted
CLOSE_S = 3.0  # seconds that the end of this process waits for that of the embedding process
LOOPBACK = "127.0.0.1"


def main(argv: list[str] | None = None, tools: Mapping[str, Tool] | None = None) -> int:
    """Run the door with command-line words `argv`; returns the exit code of CONTRACT's table."""
    words = sys.argv[1:] if argv is None else argv
    log.speak_utf8()
    arguments = _parser().parse_args(words)
    try:
        environment.listen()
        settings = config.resolve(arguments)
        log.set_up(settings.quiet)
        return _run(arguments, settings, words, tools or TOOLS)
    except RagDocError as error:
        print(f"rag_server.py: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = config.Parser(
        prog="rag_server.py",
        description="Serve a folder of documents to MCP clients (stdio by default).",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "--http", action="store_true", help="serve Streamable HTTP on loopback instead of stdio"
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"port of --ui (default: {UI_PORT}) or --http (default: {HTTP_PORT})",
    )
    parser.add_argument(
        "--ui", action="store_true", help="the console for a browser on this machine"
    )
    parser.add_argument(
        "--print-config", choices=tuple(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)
    )
    parser.add_argument(
        "--setup", action="store_true", help="make .venv beside the scripts and install into it"
    )
    parser.add_argument(
        "--wheelhouse", metavar="DIR", help="with --setup: install from this folder"
    )
    parser.add_argument(
        "--demo", action="store_true", help="with --setup: index the examples, ask three questions"
    )
    parser.add_argument(
        "--json", action="store_true", help="with --demo: print the answers as JSON"
    )
    config.add_shared_flags(parser)
    return parser


def _run(
    arguments: argparse.Namespace,
    settings: Settings,
    words: list[str],
    tools: Mapping[str, Tool],
) -> int:
    script = Path(__file__).resolve()
    if arguments.ui:
        if words == sys.argv[1:]:  # the console itself needs no package, but its searches may
            environment.prefer(str(script))
        return _serve_console(
            settings, _port(arguments, config.environment_value("--ui-port") or UI_PORT)
        )
    if arguments.print_config:
        command = launch_command(setup.project_python(), script, settings)
        print(hint(arguments.print_config, command), file=sys.stderr)
        print(as_text(arguments.print_config, command))
        return 0
    if arguments.setup or arguments.demo:
        return setup.run(arguments, settings)
    if arguments.wheelhouse or arguments.json:
        raise UsageError("--wheelhouse and --json go with --setup", "Add --setup (and --demo).")
    if not setup.sdk_present():
        return setup.hand_over(script, words)
    searches = _Searches()
    if tools["rag_search"] is _search:
        tools = {**tools, "rag_search": searches.search, "rag_health": searches.health}
    if arguments.http:
        with contextlib.closing(searches):
            return _serve_http(
                build(settings, tools),
                _port(arguments, config.environment_value("--http-port") or HTTP_PORT),
            )
    return _serve_stdio(settings, tools)


def _port(arguments: argparse.Namespace, default: str | int) -> int:
    """The port by --port, else `default`."""
    given = default if arguments.port is None else arguments.port
    try:
        port = int(given)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port is {given}", "Give a number from 0 (any free one) to 65535.")
    return port


# --- the server ----------------------------------------------------------------------------


def build(settings: Settings, tools: Mapping[str, Tool]) -> Server[Any]:
    """The MCP server: handlers over the constants of `mcp_offer`, and nothing else."""
    import mcp_types as types
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": offer()["tools"]})

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        from anyio import to_thread

        entry = tool(params.name)
        if entry is None:
            names = ", ".join(item["name"] for item in offer()["tools"])
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool. Call one of: {names}.")
        reply = await to_thread.run_sync(
            called, entry, params.arguments or {}, settings, tools, abandon_on_cancel=True
        )
        return types.CallToolResult.model_validate(reply)

    async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate({"prompts": offer()["prompts"]})

    async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        try:
            text = prompt_text(params.name, params.arguments or {})
        except UsageError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        content = {"role": "user", "content": {"type": "text", "text": text}}
        return types.GetPromptResult.model_validate({"messages": [content]})

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        entry = {**offer()["resource_templates"][0], "uri": f"ragdoc://kb/{settings.kb_id}"}
        del entry["uriTemplate"]
        return types.ListResourcesResult.model_validate({"resources": [entry]})

    async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
        value = {"resourceTemplates": offer()["resource_templates"]}
        return types.ListResourceTemplatesResult.model_validate(value)

    async def read_resource(
        _: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        from anyio import to_thread

        uri = str(params.uri)
        try:
            text = await to_thread.run_sync(resource, uri, settings, tools, abandon_on_cancel=True)
        except RagDocError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri[:URI_CHARS]}) from error
        content = {"uri": uri, "mimeType": "application/json", "text": text}
        return types.ReadResourceResult.model_validate({"contents": [content]})

    return Server(
        "ragdoc",
        version=config.VERSION,
        title="RagDoc",
        instructions=offer()["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


# --- what the tools call -----------------------------------------------------------------------


def _search(settings: Settings, given: Arguments) -> Mapping[str, Any]:
    import rag_search

    return rag_search.search(rag_search.SearchRequest(**given), settings)


class _Searches:
    """Searches of one door, which share an embedding process for as long as it serves, and the
    health that knows of its trouble.

    Nothing is loaded or started before the first search that finds vectors. The process reads its
    input from this one, so it ends with it, however that ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mind: Any = None

    def search(self, settings: Settings, given: Arguments) -> Mapping[str, Any]:
        """The tool `rag_search`."""
        import rag_search

        with self._lock:
            if self._mind is None:
                self._mind = rag_search.Meaning(limits.SEMANTIC_LINGER_S)
        return rag_search.search(rag_search.SearchRequest(**given), settings, self._mind)

    def health(self, settings: Settings, given: Arguments) -> Mapping[str, Any]:
        """The tool `rag_health`."""
        from helpers import service

        trouble = None if self._mind is None else self._mind.trouble()
        return service.health(settings, given.get("kb_id"), trouble)

    def close(self) -> None:
        """End the embedding process, if there is one. Searches at work hold it up no longer than
        CLOSE_S: the process ends with this one at the latest.
        """
        if self._mind is not None:
            closing = threading.Thread(target=self._mind.close, daemon=True)
            closing.start()
            closing.join(CLOSE_S)


def _chunk(settings: Settings, given: Arguments) -> Mapping[str, Any]:
    import rag_search

    return rag_search.chunk(given["chunk_id"], given["before"], given["after"], settings)


def _service(function: str, *names: str) -> Tool:
    """A tool that hands the arguments `names`, in that order, to a function of the service."""

    def call(settings: Settings, given: Arguments) -> Mapping[str, Any]:
        from helpers import service

        result = getattr(service, function)(settings, *(given.get(name) for name in names))
        return result if isinstance(result, Mapping) else {"result": result}

    return call


def _sync(settings: Settings, given: Arguments) -> Mapping[str, Any]:
    from helpers import service

    asked = given.get("kb_id", settings.kb_id)
    if asked != settings.kb_id:
        raise UsageError(
            f"There is no knowledge base {shown(asked)}",
            f"Call again with kb_id {settings.kb_id!r}.",
        )
    return service.start_sync(settings, given["force"], given["scope"], given["deferred"])


TOOLS: Mapping[str, Tool] = {
    "rag_search": _search,
    "get_document_chunk": _chunk,
    "sync_kb": _sync,
    "sync_status": _service("sync_status", "job_id"),
    "cancel_sync": _service("cancel_sync", "job_id"),
    "rag_health": _service("health", "kb_id"),
    "list_knowledge_bases": _service("knowledge_bases"),
    "check_changes": _service("check_changes", "kb_id"),
    "clear_index": _service("clear_index", "kb_id", "confirm"),
}


# --- stdio -------------------------------------------------------------------------------------


def _serve_stdio(settings: Settings, tools: Mapping[str, Tool]) -> int:
    wire = stdio.take()
    # Nothing is held that an interrupt could leave half done.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    gc.disable()  # importing the SDK makes no garbage: collecting took 7 % of the handshake
    import anyio

    server = build(settings, tools)
    gc.freeze()
    gc.enable()
    anyio.run(_Session(server, wire).run)
    # A tool may still be at work in a thread, or the reader blocked on the pipe: neither has
    # anyone left to answer.
    sys.stderr.flush()
    os._exit(0)


class _Session:
    """One client on a wire: lines in, messages to the SDK's server, messages out."""

    def __init__(self, server: Server[Any], wire: stdio.Wire) -> None:
        self._server = server
        self._wire = wire
        self._open: set[int | str] = set()

    async def run(self) -> None:
        """Serve until the end of input, then until open requests are answered or late."""
        import anyio
        from mcp.shared.message import SessionMessage

        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        options = self._server.create_initialization_options()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, to_server, outgoing.clone())
            tasks.start_soon(self._write, from_server)
            await self._server.run(incoming, outgoing, options)
            tasks.cancel_scope.cancel()

    async def _read(self, to_server: Any, faults: Any) -> None:
        from anyio import BrokenResourceError, to_thread

        lines = stdio.Lines()
        with contextlib.suppress(BrokenResourceError):  # the server has ended before its input
            async with to_server, faults:
                while data := await to_thread.run_sync(self._receive, abandon_on_cancel=True):
                    for line in lines.feed(data):
                        await self._accept(line, to_server, faults)
                for line in lines.end():
                    await self._accept(line, to_server, faults)
                await self._settle()

    def _receive(self) -> bytes:
        """The next bytes; at the end of input, b"" and a clock that ends the process."""
        try:
            data = os.read(self._wire.incoming, stdio.READ_BYTES)
        except OSError:
            data = b""
        if not data:
            clock = threading.Timer(limits.MCP_EXIT_GRACE_S, os._exit, (0,))
            clock.daemon = True
            clock.start()
        return data

    async def _accept(self, line: bytes | stdio.Fault, to_server: Any, faults: Any) -> None:
        import mcp_types as types
        from mcp.shared.message import SessionMessage
        from pydantic import ValidationError

        message = line if isinstance(line, stdio.Fault) else stdio.parse(line)
        if isinstance(message, dict):
            try:
                parsed = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
            except ValidationError:  # a client's malformed answer: nobody waits for a reply
                log.get_logger().warning("dropped a malformed answer from the client")
                return
            self._note(message)
            await to_server.send(SessionMessage(parsed))
            return
        error = types.ErrorData(code=message.code, message=message.message)
        reply = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        await faults.send(SessionMessage(reply))

    def _note(self, message: Mapping[str, Any]) -> None:
        """Keep the ids that await an answer; a subscription never gets one."""
        method = message.get("method")
        if method == "notifications/cancelled":
            cancelled = (message.get("params") or {}).get("requestId")
            self._open = {identity for identity in self._open if identity != cancelled}
        elif "id" in message and method not in (None, "subscriptions/listen"):
            self._open.add(message["id"])

    async def _settle(self) -> None:
        import anyio

        with anyio.move_on_after(limits.MCP_ANSWER_GRACE_S):
            while self._open:
                await anyio.sleep(0.01)

    async def _write(self, from_server: Any) -> None:
        from anyio import to_thread

        async with from_server:
            async for item in from_server:
                try:
                    await to_thread.run_sync(self._wire.write, _encoded(item.message) + b"\n")
                except OSError:  # the client closed its end: nobody is left to answer
                    sys.stderr.flush()
                    os._exit(0)
                self._open.discard(getattr(item.message, "id", None))


def _encoded(message: Any) -> bytes:
    """A message as JSON. One that repeats half a surrogate pair, as an error does that names an
    unknown method, has no UTF-8: it goes out with escapes."""
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
        return text.encode()
    except ValueError:
        import json

        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value).encode()


# --- the console -------------------------------------------------------------------------------


def _serve_console(settings: Settings, port: int) -> int:
    import rag_search
    from ui import console, routes

    def search(**asked: Any) -> Mapping[str, Any]:
        return searches.search(settings, asked)

    def chunk(chunk_id: str, before: int, after: int) -> Mapping[str, Any]:
        return rag_search.chunk(chunk_id, before, after, settings)

    def health() -> Mapping[str, Any]:
        return searches.health(settings, {})

    with contextlib.closing(_Searches()) as searches:
        return console.serve(routes.Console(settings, search, chunk, health), port)


# --- HTTP --------------------------------------------------------------------------------------


def _serve_http(server: Server[Any], port: int) -> int:
    import socket

    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere this option would let a second server share the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(HTTP_BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"Port {port} on {LOOPBACK} cannot be used: {error.strerror}",
            "Give another --port, or 0 for any free one.",
        ) from error
    port = listener.getsockname()[1]
    names = [f"{host}:{port}" for host in (LOOPBACK, "localhost")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(host=LOOPBACK, transport_security=security)
    print(f"Serving MCP on http://{LOOPBACK}:{port}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
