"""Odd addresses and heads, and originals of every kind: over the socket of a running console."""

from __future__ import annotations

import json
import os
import sqlite3
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.running import Console, running, sync

THAI = "งบประมาณประจำปีของสำนักงานและรายงานการประชุม"
KOREAN = "오래된 한글 파일입니다. 예산 보고서와 회의록이 들어 있습니다."
STRANGE = b'bad\xff\r\nX-Evil: 1 "quoted";.md'
NFD = "\u1100\u1161\u11a8\u1109\u1165.md"  # 각서, decomposed, as macOS types and lists it


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("addresses")
    docs, state = folder / "docs", folder / "state"
    docs.mkdir()
    (docs / "thai.txt").write_bytes(THAI.encode("cp874"))
    (docs / "korean.txt").write_bytes(KOREAN.encode("cp949"))
    (docs / "plain.md").write_text("nothing but ASCII words")
    (docs / NFD).write_text("a memorandum")
    (docs / "mail.eml").write_text("From: a@b.c\nSubject: Budget\n\nwords of the mail\n")
    (docs / "drawing.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script><text>x</text></svg>"
    )
    with wave.open(str(docs / "talk.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(b"\1\2" * 8000)
    if os.name == "posix":
        Path(os.fsdecode(os.fsencode(docs) + b"/" + STRANGE)).write_text("a strange name")
    sync(docs, state)
    with sqlite3.connect(state / "ragdoc.sqlite3") as db:
        db.execute(
            "UPDATE chunk SET ocr = 1 WHERE document_id ="
            " (SELECT id FROM document WHERE path = 'plain.md')"
        )
    db.close()
    with running(docs, state) as started:
        yield started


def row(console: Console, text: str) -> dict[str, Any]:
    found = console.json(f"/api/files?text={text}")["documents"]
    assert len(found) == 1
    return dict(found[0])


def head_of(console: Console, *lines: str) -> bytes:
    host = f"Host: 127.0.0.1:{console.port}"
    return "\r\n".join([lines[0], host, *lines[1:], "", ""]).encode("latin-1")


# --- addresses and heads ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/api/files?text=%ff", 400),
        ("/api/files?type=%ff", 400),
        ("/api/search?q=%ed%a0%80", 400),
        ("/api/search?q=a&" + "&".join(f"f{n}=1" for n in range(40)), 400),
        ("/api/files?offset=" + "9" * 30, 400),
        ("/original?document=" + "9" * 30, 400),
        ("/original?document=-" + "9" * 30, 400),
        ("/original?chunk=%ff", 400),
        ("/api/files?text=%00", 200),
        ("/files?anything=%00%ff", 200),
        ("http://[", 404),
        ("http://evil.example/", 404),
        ("//evil.example/files", 404),
        ("*", 404),
        ("/%2e%2e/rag_server.py", 404),
        ("/api/../api/files", 404),
        ("/api/", 404),
        ("/api/search?q=" + "x" * 15_000, 400),
    ],
)
def test_an_odd_address_gets_a_plain_answer(console: Console, target: str, status: int) -> None:
    reply = console.raw(head_of(console, f"GET {target} HTTP/1.1"))
    assert int(reply.split(b" ", 2)[1]) == status


@pytest.mark.parametrize(
    "asked", ["bytes=\xb2-", "bytes=-\xb9", "bytes=" + "9" * 50 + "-", "lines=1-2", "bytes=3", "-"]
)
def test_a_range_that_is_none_gives_the_whole(console: Console, asked: str) -> None:
    found = row(console, "plain.md")
    address = f"GET /original?document={found['id']} HTTP/1.1"
    reply = console.raw(head_of(console, address, f"Range: {asked}"))
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(b"ASCII words")


def test_a_body_is_asked_for_only_when_the_asker_may_send_it(console: Console) -> None:
    lines = ["POST /api/cancel HTTP/1.1", "Expect: 100-continue", "Content-Length: 2"]
    refused = console.raw(head_of(console, *lines))
    assert refused.startswith(b"HTTP/1.1 403 ")
    lines += [
        *(f"Origin: {console.address}", f"X-RagDoc-Token: {console.token()}"),
        "Content-Type: application/json",
    ]
    asked = console.raw(head_of(console, *lines) + b"{}")
    assert asked.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 ")


def test_an_answer_arrives_whole_though_more_was_sent_than_is_read(console: Console) -> None:
    """Pipelined requests and refused bodies lie unread when the connection is closed."""
    address = head_of(console, "GET /rag.js HTTP/1.1")
    reply = console.raw(address * 200)
    assert reply.endswith(b"start();\n")
    refused = console.raw(
        head_of(console, "POST /api/sync HTTP/1.1", "Content-Length: 9999999") + b"x" * 200_000
    )
    assert refused.startswith(b"HTTP/1.1 403 ")


def test_a_client_of_http_1_0_is_answered(console: Console) -> None:
    reply = console.raw(head_of(console, "GET /api/status HTTP/1.0"))
    assert b" 200 " in reply[:20]
    assert reply.endswith(b"}")


# --- originals -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "text"), [("thai", THAI), ("korean", KOREAN)])
def test_a_text_is_shown_in_the_charset_it_is_written_in(
    console: Console, name: str, text: str
) -> None:
    reply = console.get(f"/original?document={row(console, name)['id']}")
    charset = reply.headers.get_content_charset()
    assert charset not in (None, "utf-8")
    assert reply.read().decode(str(charset)) == text
    plain = console.get(f"/original?document={row(console, 'plain.md')['id']}")
    assert plain.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_a_recording_is_played_and_in_parts(console: Console) -> None:
    address = f"/original?document={row(console, 'talk.wav')['id']}"
    reply = console.get(address, {"Range": "bytes=0-3"})
    assert (reply.status, reply.read()) == (206, b"RIFF")
    assert reply.headers["Content-Type"] == "audio/wav"
    assert reply.headers["Content-Disposition"].startswith("inline;")
    assert "media-src 'self'" in reply.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["mail.eml", "drawing.svg"])
def test_mails_and_drawings_are_downloads(console: Console, name: str) -> None:
    reply = console.get(f"/original?document={row(console, name)['id']}")
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert reply.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"


@pytest.mark.skipif(os.name != "posix", reason="such names exist on POSIX alone")
def test_a_file_name_cannot_write_headers(console: Console) -> None:
    found = row(console, "Evil")
    reply = console.get(f"/original?document={found['id']}")
    assert (reply.status, reply.read()) == (200, b"a strange name")
    assert reply.headers["X-Evil"] is None
    disposition = reply.headers["Content-Disposition"]
    assert disposition.isascii()
    assert '"' not in disposition
    assert disposition.count(";") == 1


def test_an_original_that_is_gone_is_told_to_a_person_by_the_page(console: Console) -> None:
    to_person = console.get("/original?document=77777", {"Accept": "text/html,*/*;q=0.8"})
    assert (to_person.status, to_person.headers.get_content_type()) == (404, "text/html")
    assert b"rag.js" in to_person.read()
    to_script = console.get("/original?document=77777", {"Accept": "application/json"})
    assert json.loads(to_script.read())["error"]["code"] == "no_document"


def test_text_recognised_in_an_image_is_told_from_text(console: Console) -> None:
    found = {
        result["path"]: result["recognised"]
        for words in ("ASCII", "memorandum")
        for result in console.json(f"/api/search?q={words}&mode=lexical")["results"]
    }
    assert found["plain.md"] is True
    assert [flag for path, flag in found.items() if path != "plain.md"] == [False]
    hit = console.json("/api/search?q=ASCII&mode=lexical")["results"][0]
    read = console.json(f"/api/chunk?id={hit['chunk_id']}")
    assert [chunk["recognised"] for chunk in read["chunks"]] == [True]


def test_a_name_is_found_however_its_letters_are_composed(console: Console) -> None:
    from unicodedata import normalize
    from urllib.parse import quote

    for form in ("NFC", "NFD"):
        typed = quote(normalize(form, "각서"))  # type: ignore[arg-type]
        assert console.json(f"/api/files?text={typed}")["total"] == 1
