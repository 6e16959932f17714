"""JSON over HTTP to this machine alone: addresses, caps, redirects, time, giving up."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from helpers import limits
from helpers.errors import ConfigError, RemoteError
from helpers.remote import loopback

Reply = Callable[[http.server.BaseHTTPRequestHandler], None]


@pytest.fixture
def serve() -> Iterator[Callable[[Reply], loopback.Address]]:
    """A server whose every answer is `reply`."""
    servers = []

    def start(reply: Reply) -> loopback.Address:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return loopback.address("--url", f"http://127.0.0.1:{server.server_port}/v1")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def say(handler: http.server.BaseHTTPRequestHandler, body: bytes, status: int = 200) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8090/v1",
        "http://127.1.2.3/",
        "http://localhost:1234/v1/",
        "http://[::1]:8090/v1",
    ],
)
def test_addresses_on_this_machine_are_taken(text: str) -> None:
    assert str(loopback.address("--url", text)).startswith("http://")


@pytest.mark.parametrize(
    "text",
    [
        "https://127.0.0.1/v1",
        "http://10.0.0.1/v1",
        "http://0.0.0.0:80/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://user@127.0.0.1/",
        "http://127.0.0.1@evil.example/",
        "http://127.0.0.1:99999/",
        "http://2130706433/",
        "ftp://127.0.0.1/",
        "127.0.0.1:8090",
        "",
        "http://[::1",
        "http://127.0.0.1/?to=evil.example",
    ],
)
def test_every_other_address_is_refused_with_what_fits(text: str) -> None:
    with pytest.raises(ConfigError, match="--url is") as raised:
        loopback.address("--url", text)
    assert "127.0.0.1" in raised.value.remedy


def test_a_body_is_posted_and_json_comes_back(serve: Any) -> None:
    where = serve(lambda handler: say(handler, json.dumps([handler.path]).encode()))
    assert loopback.ask(where, "/models") == ["/v1/models"]
    echo = serve(lambda handler: say(handler, handler.body))
    assert loopback.ask(echo, "/x", {"ก": "한"}) == {"ก": "한"}


def test_a_redirect_is_an_error_and_is_not_followed(serve: Any) -> None:
    followed = []
    other = serve(lambda handler: followed.append(handler.path))

    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{other}/stolen")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with pytest.raises(RemoteError, match="status 302"):
        loopback.ask(serve(redirect), "/chat", {"page": "secret"})
    assert followed == []


def test_proxies_of_the_environment_are_not_used(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    where = serve(lambda handler: say(handler, b"1"))
    assert loopback.ask(where, "/x") == 1


def test_an_answer_without_end_is_capped(serve: Any) -> None:
    def flood(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 1_000_000)
        except OSError:
            pass

    with pytest.raises(RemoteError, match=f"> {limits.REMOTE_ANSWER_BYTES:,} bytes"):
        loopback.ask(serve(flood), "/x", {})


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_an_error(serve: Any, body: bytes) -> None:
    with pytest.raises(RemoteError, match="no JSON"):
        loopback.ask(serve(lambda handler: say(handler, body)), "/x")


def test_an_error_status_and_a_dead_server_are_errors(serve: Any) -> None:
    where = serve(lambda handler: say(handler, b"{}", 500))
    with pytest.raises(RemoteError, match="status 500"):
        loopback.ask(where, "/x")
    with pytest.raises(RemoteError, match="does not answer"):
        loopback.ask(loopback.address("--url", "http://127.0.0.1:9/"), "/x")


def test_a_silent_server_is_given_up_after_its_time_or_at_once_where_that_is_wanted(
    serve: Any,
) -> None:
    held = threading.Event()
    where = serve(lambda handler: held.wait(30))
    with pytest.raises(RemoteError, match="too long"):
        loopback.ask(where, "/x", {}, seconds=0.3)

    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        loopback.ask(where, "/x", {}, 60, give_up)
    held.set()
