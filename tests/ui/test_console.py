"""The console over its socket: addresses, originals, bad requests, a port that is taken."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from helpers import limits
from tests.ui.running import ROOT, Console, command, running, sync

HOSTILE = "<img src=x onerror=alert(1)>.md"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console")
    docs, state = folder / "docs", folder / "state"
    shutil.copytree(ROOT / "docs" / "examples", docs)
    (docs / "sub").mkdir()
    (docs / "sub" / "page.html").write_text("<script>alert(1)</script><p>harmless words</p>")
    (docs / HOSTILE).write_text("a <script>alert(2)</script> body")
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 cut off")
    (docs / "empty.md").touch()
    sync(docs, state)
    with running(docs, state) as started:
        yield started


def documents(console: Console, **asked: str) -> dict[str, dict[str, object]]:
    query = "&".join(f"{name}={quote(value)}" for name, value in asked.items())
    return {row["path"]: row for row in console.json(f"/api/files?{query}")["documents"]}


@pytest.mark.parametrize("path", ["/", "/files", "/sync", "/health"])
def test_each_view_is_the_page_with_a_policy_that_forbids_foreign_and_inline_code(
    console: Console, path: str
) -> None:
    reply = console.get(path)
    policy = reply.headers["Content-Security-Policy"]
    assert (reply.status, reply.headers.get_content_type()) == (200, "text/html")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_asks_for_nothing_that_is_not_its_own(console: Console) -> None:
    for part in ("/", "/rag.css", "/rag.js", "/icon.svg", "/words/ko.json"):
        reply = console.get(part)
        body = reply.read().decode()
        assert reply.status == 200
        foreign = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", body))
        assert foreign <= {"http://www.w3.org", "//www.w3.org"}, part


def test_a_search_gives_the_answer_of_the_contract(console: Console) -> None:
    answer = console.json(f"/api/search?q={quote('paid leave')}&type=docx&limit=2")
    assert answer["results"][0]["path"] == "employee-handbook.docx"
    assert {"legs", "index", "more", "mode"} <= answer.keys()


def test_neighbours_come_in_reading_order(console: Console) -> None:
    hit = console.json("/api/search?q=bereavement&type=docx")["results"][0]
    found = console.json(f"/api/chunk?id={hit['chunk_id']}&before=1&after=1")
    assert hit["chunk_id"] in [chunk["chunk_id"] for chunk in found["chunks"]]


def test_files_are_listed_with_state_reason_and_both_paths(console: Console) -> None:
    found = documents(console)
    broken = found["broken.docx"]
    assert (broken["code"], broken["chunks"]) == ("corrupt", 0)
    assert broken["reason"]
    assert found["it-guide.md"]["absolute_path"] == str(console.docs / "it-guide.md")
    assert next(iter(documents(console, unread="first"))) in ("broken.docx", "empty.md")
    assert list(documents(console, text="GUIDE it")) == ["it-guide.md"]
    assert documents(console, text="%") == {}
    sizes = [row["size"] for row in documents(console, sort="size", order="desc").values()]
    assert sizes == sorted(sizes, reverse=True)  # type: ignore[type-var]
    assert {row["type"] for row in documents(console, type="pdf").values()} == {"pdf"}


def test_the_overview_counts_types_and_estimates_scripts(console: Console) -> None:
    found = console.json("/api/overview")
    assert sum(row["files"] for row in found["types"]) == len(documents(console))
    assert {"th", "ko", "latin"} <= {row["language"] for row in found["languages"]}
    assert abs(sum(row["share"] for row in found["languages"]) - 1) < 0.01
    assert found["folders"] == ["sub"]


def test_a_pdf_is_shown_and_in_parts_where_the_browser_asks_so(console: Console) -> None:
    row = next(row for path, row in documents(console, type="pdf").items() if path.isascii() or 1)
    whole = console.get(f"/original?document={row['id']}")
    body = whole.read()
    assert whole.headers["Content-Type"] == "application/pdf"
    assert whole.headers["Content-Disposition"].startswith("inline; filename*=UTF-8''")
    assert len(body) == row["size"]
    part = console.get(f"/original?document={row['id']}", {"Range": "bytes=5-9"})
    assert (part.status, part.read()) == (206, body[5:10])
    assert part.headers["Content-Range"] == f"bytes 5-9/{len(body)}"
    tail = console.get(f"/original?document={row['id']}", {"Range": "bytes=-4"})
    assert tail.read() == body[-4:]
    beyond = console.get(f"/original?document={row['id']}", {"Range": f"bytes={len(body)}-"})
    assert beyond.status == 416


@pytest.mark.parametrize(
    ("path", "kind", "how"),
    [
        (HOSTILE, "text/plain", "inline"),
        ("sub/page.html", "application/octet-stream", "attachment"),
        ("employee-handbook.docx", "application/octet-stream", "attachment"),
    ],
)
def test_what_could_run_is_never_shown_as_what_it_is(
    console: Console, path: str, kind: str, how: str
) -> None:
    reply = console.get(f"/original?document={documents(console)[path]['id']}")
    assert (reply.headers.get_content_type(), reply.status) == (kind, 200)
    assert reply.headers["Content-Disposition"].startswith(how + ";")
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "asked",
    ["document=999999", "document=-1", "chunk=../../etc/passwd", "chunk=aaaaaaaaaaaaaaaa", ""],
)
def test_an_original_is_reached_by_a_known_id_alone(console: Console, asked: str) -> None:
    reply = console.get(f"/original?{asked}")
    assert reply.status == 404
    assert json.loads(reply.read())["error"]["remedy"]


@pytest.mark.parametrize("asked", ["document=x", "document=1e3"])
def test_an_id_that_is_no_number_is_wrong_usage(console: Console, asked: str) -> None:
    assert console.get(f"/original?{asked}").status == 400


def test_a_file_that_became_a_link_is_not_opened(tmp_path: Path) -> None:
    docs, state = tmp_path / "docs", tmp_path / "state"
    docs.mkdir()
    (docs / "a.md").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    sync(docs, state)
    with running(docs, state) as console:
        (docs / "a.md").unlink()
        (docs / "a.md").symlink_to(tmp_path / "secret.txt")
        reply = console.get("/original?document=1")
        assert (reply.status, b"outside" in reply.read()) == (404, False)


@pytest.mark.parametrize(
    "path",
    ["/../rag_server.py", "/..%2frag_server.py", "/ui/console.py", "/words/../console.py", "/x"],
)
def test_no_other_file_can_be_had(console: Console, path: str) -> None:
    assert console.get(path).status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/search", 400),
        (f"/api/search?q={'x' * 4001}", 400),
        ("/api/search?q=a&limit=1000", 400),
        ("/api/search?q=a&limit=x", 400),
        ("/api/search?q=%00", 400),
        ("/api/search?q=%ff%fe", 400),
        ("/api/search?q=a&mode=magic", 400),
        ("/api/chunk?id=nonsense", 400),
        ("/api/files?sort=colour", 400),
        ("/api/files?offset=-1", 400),
        ("/api/job?id=../../x", 400),
        ("/api/nothing", 404),
    ],
)
def test_what_cannot_be_answered_is_said_with_a_remedy(
    console: Console, path: str, status: int
) -> None:
    reply = console.get(path)
    error = json.loads(reply.read())["error"]
    assert (reply.status, bool(error["what"])) == (status, True)
    assert status == 404 or error["remedy"]


def test_a_change_needs_the_token_and_our_origin(console: Console) -> None:
    done = console.change("sync", {})
    assert done.status == 200
    assert json.loads(done.read())["job_id"]
    assert console.change("sync", {}, **{"X-RagDoc-Token": "guess"}).status == 403
    assert console.change("sync", {}, Origin="http://evil.example").status == 403
    assert console.ask("GET", "/api/sync").status == 404
    assert console.change("cancel", {"job_id": 7}).status == 400
    assert console.change("cancel", {"job_id": "20000101T000000000Z-aaaaaa"}).status == 400


def test_a_foreign_host_gets_nothing(console: Console) -> None:
    for path in ("/", "/api/search?q=leave", "/rag.js", "/original?document=1"):
        reply = console.get(path, {"Host": "evil.example"})
        assert reply.status == 421
        assert b"leave" not in reply.read()


def test_bodies_are_capped_before_they_are_read(console: Console) -> None:
    most = limits.UI_BODY_BYTES
    head = (
        f"POST /api/sync HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nOrigin: {console.address}"
        f"\r\nX-RagDoc-Token: {console.token()}\r\nContent-Type: application/json\r\n"
    )
    for length, status in ((10 * 2**30, b"413"), (most + 1, b"413"), ("x", b"411")):
        reply = console.raw(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert reply.split(b" ", 2)[1] == status
    chunked = console.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode())
    assert chunked.split(b" ", 2)[1] == b"411"
    for body in (b"[]", b"{", b"[" * 60_000):
        reply = console.raw(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert reply.split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"421"),
        (b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n", b"421"),
        (b"BREW / HTTP/1.1\r\nHost: HOST\r\n\r\n", b"405"),
        (b"OPTIONS / HTTP/1.1\r\nHost: HOST\r\n\r\n", b"405"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n", b"505"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000, b"431"),
    ],
)
def test_malformed_heads_are_answered_and_the_console_lives(
    console: Console, head: bytes, status: bytes
) -> None:
    host = f"127.0.0.1:{console.port}".encode()
    assert status in console.raw(head.replace(b"HOST", host))[:40]
    assert console.get("/").status == 200


def test_answers_are_packed_where_the_browser_takes_it(console: Console) -> None:
    plain, packed = console.get("/rag.js"), console.get("/rag.js", {"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.read()) < len(plain.read()) / 2


def test_a_taken_port_is_told_with_its_owner_and_a_free_one(console: Console) -> None:
    done = subprocess.run(
        command(console.docs, console.state, "--port", str(console.port)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert f"Port {console.port} on 127.0.0.1 is in use" in done.stderr
    offered = re.search(r"--port (\d+)", done.stderr)
    assert offered and int(offered[1]) > console.port
    if Path("/proc/net/tcp").exists():
        assert f"process {console.process.pid} " in done.stderr


def test_the_port_is_that_of_the_flag_else_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    process = subprocess.Popen(
        command(tmp_path / "docs", tmp_path / "state"),
        stderr=subprocess.PIPE,
        text=True,
        env={"RAGDOC_UI_PORT": str(free), "HOME": "/"},
    )
    assert process.stderr is not None
    assert f":{free}/" in process.stderr.readline()
    process.terminate()
    assert process.wait(timeout=20) == 0
    process.stderr.close()


def test_without_an_index_the_page_works_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with running(tmp_path / "docs", tmp_path / "state") as console:
        assert console.get("/").status == 200
        reply = console.get("/api/search?q=a")
        assert reply.status == 503
        assert json.loads(reply.read())["error"]["code"] == "no_index"
        assert console.json("/api/status")["job"] is None
        assert console.json("/api/health")["problems"]
