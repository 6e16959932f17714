"""Correction by a vision server on this machine: a stand-in that corrects, lies, hangs or dies."""

from __future__ import annotations

import base64
import http.server
import json
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.config import Settings
from helpers.errors import ConfigError, Unread
from helpers.recognition import PROVISIONAL, Piece, Recognised, Wanted
from helpers.recognize import choose, vision
from helpers.recognize.command import Stopped
from helpers.recognize.kept import Kept
from helpers.recognize.recogniser import Recogniser
from helpers.recognize.task import Material, Task
from helpers.remote import loopback

READ = "The quarterly rep0rt shows that rnaintenance costs fell."
RIGHT = "The quarterly report shows that maintenance costs fell."
PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", 1, 1, 8, 0, 0, 0, 0, 0)
    + b"\0\0\0\0IEND\xaeB`\x82"
)


class Reader:
    """An engine that reads the same from every picture."""

    name, fingerprint, refusal = "reader 1", "reader=1", None

    def __init__(self, text: str = READ) -> None:
        self.text = text
        self.asked = 0

    def recognise(self, task: Task) -> Recognised:
        self.asked += 1
        if task.wanted.kind == "page":
            (task.folder / "page.pgm").write_bytes(b"P5 3 2 255\n" + bytes(range(6)))
        return Recognised((Piece(self.text),), self.name)

    def close(self) -> None:
        """Nothing to do."""


class StandIn:
    """A server that answers as `say` does: a text, a whole answer, or an exception to die by."""

    def __init__(self, say: Callable[[dict[str, Any]], Any]) -> None:
        self.say = say
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.at_once = self.most_at_once = 0
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                stand_in.at_once += 1
                stand_in.most_at_once = max(stand_in.most_at_once, stand_in.at_once)
                try:
                    body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    stand_in.paths.append(self.path)
                    stand_in.bodies.append(body)
                    told = {} if "chat" not in self.path else stand_in.say(body)
                finally:  # before the reply: who has it may ask again
                    stand_in.at_once -= 1
                if told is None:
                    self.connection.close()
                    return
                if isinstance(told, str):
                    choice = {"message": {"content": told}, "finish_reason": "stop"}
                    told = {"choices": [choice]}
                self.reply(json.dumps(told).encode())

            def do_GET(self) -> None:
                stand_in.paths.append(self.path)
                self.reply(b"{}")

            def reply(self, data: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def stand_in() -> Iterator[Callable[[Callable[[dict[str, Any]], Any]], StandIn]]:
    started: list[StandIn] = []

    def start(say: Callable[[dict[str, Any]], Any]) -> StandIn:
        started.append(StandIn(say))
        return started[-1]

    yield start
    for one in started:
        one.close()


def corrected(server: StandIn, reader: Reader | None = None, **more: Any) -> vision.Corrected:
    address = loopback.address("--ocr-vlm-url", server.url + "/v1")
    return vision.Corrected(
        reader or Reader(), vision.Server(address, "small-vision", **more), lambda: None
    )


def task(folder: Path, kind: str = "image", data: bytes = PIXEL) -> Task:
    source = folder / "source"
    source.write_bytes(data)
    own = folder / "own"
    own.mkdir(exist_ok=True)
    with source.open("rb") as file:
        material = Material(folder, file.fileno(), len(data))
        material.path()
    return Task(Wanted(kind, 1), material, own, Kept(None))


def text_of(found: Recognised) -> str:
    return "\n\n".join(piece.text for piece in found.pieces)


def test_a_correction_of_letters_is_taken_with_the_models_name(
    stand_in: Any, tmp_path: Path
) -> None:
    server = stand_in(lambda body: f"```\n{RIGHT}\n```")
    found = corrected(server).recognise(task(tmp_path))
    assert text_of(found) == RIGHT
    assert found.facts["vision_model"] == "small-vision"
    assert found.facts["correction"] == "accepted"
    body = server.bodies[0]
    assert server.paths == ["/v1/chat/completions"]
    assert (body["model"], body["temperature"], body["stream"]) == ("small-vision", 0, False)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    text, picture = body["messages"][0]["content"]
    assert READ in text["text"]
    assert base64.b64decode(picture["image_url"]["url"].partition(",")[2]) == PIXEL


def test_a_page_is_sent_as_the_picture_that_was_read(stand_in: Any, tmp_path: Path) -> None:
    server = stand_in(lambda body: RIGHT)
    corrected(server).recognise(task(tmp_path, "page", b"%PDF-1.7"))
    url = server.bodies[0]["messages"][0]["content"][1]["image_url"]["url"]
    png = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack_from(">II", png, 16) == (3, 2)
    size = struct.unpack_from(">I", png, 33)[0]
    assert zlib.decompress(png[41 : 41 + size]) == b"\0\0\1\2\0\3\4\5"


@pytest.mark.parametrize(
    "lie",
    [
        "The picture shows a quarterly report about maintenance costs in an office.",
        RIGHT + " Signed by Somchai.",
        RIGHT.replace("fell", "fell by 40 percent"),
        "รายงานไตรมาสแสดงว่าค่าบำรุงรักษาลดลง",
        "",
        RIGHT[:20],
    ],
)
def test_a_lie_leaves_the_recognised_text_as_it_was(
    stand_in: Any, tmp_path: Path, lie: str
) -> None:
    found = corrected(stand_in(lambda body: lie)).recognise(task(tmp_path))
    assert text_of(found) == READ
    assert found.facts["correction"].startswith("refused: ")
    assert PROVISIONAL not in found.facts


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"choices": []},
        {"error": "out of memory"},
        [],
        {"choices": [{"message": {"content": [RIGHT]}}]},
        {"choices": [{"message": {"content": RIGHT}, "finish_reason": "length"}]},
    ],
)
def test_a_server_that_dies_or_talks_nonsense_costs_the_correction_alone_and_is_asked_again(
    stand_in: Any, tmp_path: Path, answer: Any
) -> None:
    server = stand_in(lambda body: answer)
    found = corrected(server).recognise(task(tmp_path))
    assert text_of(found) == READ
    assert found.facts[PROVISIONAL]


def test_a_server_that_does_not_answer_is_left_alone_after_three_pages(
    stand_in: Any, tmp_path: Path
) -> None:
    server = stand_in(lambda body: None)
    engine = corrected(server)
    for _ in range(5):
        engine.recognise(task(tmp_path))
    assert len(server.bodies) == 3


def test_a_server_that_hangs_is_given_up_with_the_question(
    stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()
    server = stand_in(lambda body: held.wait(60) and None)
    engine = corrected(server)
    asked = task(tmp_path)
    threading.Timer(0.3, asked.stop.stop).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        engine.recognise(asked)
    assert time.monotonic() - began < 10
    monkeypatch.setattr("helpers.limits.OCR_VISION_PAGE_S", 0.3)
    found = engine.recognise(task(tmp_path))
    assert text_of(found) == READ
    held.set()


def test_one_page_at_a_time(stand_in: Any, tmp_path: Path) -> None:
    two = threading.Event()

    def say(_: dict[str, Any]) -> str:
        if server.at_once > 1:
            two.set()
        two.wait(0.2)  # for a second page, which must not come
        return RIGHT

    server = stand_in(say)
    engine = corrected(server)
    folders = [tmp_path / str(number) for number in range(4)]
    for folder in folders:
        folder.mkdir()
    threads = [
        threading.Thread(target=engine.recognise, args=(task(folder),)) for folder in folders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(server.bodies), server.most_at_once) == (4, 1)


def test_the_server_is_started_once_and_stopped_at_the_end_where_that_is_wanted(
    stand_in: Any, tmp_path: Path
) -> None:
    server = stand_in(lambda body: RIGHT)
    control = loopback.address("--llm-control-url", server.url + "/control")
    engine = corrected(server, control=control, start=True, stop=True)
    engine.close()
    assert server.paths == []
    engine.recognise(task(tmp_path))
    engine.recognise(task(tmp_path))
    engine.close()
    engine.close()
    started = ["/control/start", "/v1/models", "/v1/chat/completions"]
    assert server.paths == [*started, "/v1/chat/completions", "/control/stop"]


def test_nothing_is_asked_about_a_picture_without_text(stand_in: Any, tmp_path: Path) -> None:
    server = stand_in(lambda body: RIGHT)
    corrected(server, Reader("  ")).recognise(task(tmp_path))
    assert server.bodies == []


def test_a_corrected_page_is_kept_and_one_without_an_answer_is_not(
    stand_in: Any, tmp_path: Path
) -> None:
    told: list[Any] = [None]
    server = stand_in(lambda body: told[0])
    reader = Reader()
    data = tmp_path / "state"
    data.mkdir()
    with Recogniser({"picture": corrected(server, reader)}, data) as recogniser:
        recogniser.answer(task(tmp_path))
        recogniser.answer(task(tmp_path))
        assert reader.asked == 2
        told[0] = RIGHT
        assert text_of(recogniser.answer(task(tmp_path))) == RIGHT
        assert text_of(recogniser.answer(task(tmp_path))) == RIGHT
    assert reader.asked == 3


def test_the_model_belongs_to_the_fingerprint(stand_in: Any) -> None:
    engine = corrected(stand_in(lambda body: RIGHT))
    assert engine.fingerprint.startswith("reader=1+vision:")
    assert " " not in engine.fingerprint


# --- settings ----------------------------------------------------------------------------------


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(tmp_path / "docs", tmp_path / "state", tmp_path / "state" / "db", **more)


def test_without_the_address_nothing_is_corrected(tmp_path: Path) -> None:
    assert choose.vision_server(settings(tmp_path)) is None


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"ocr_vlm_url": "http://10.1.1.1/v1", "ocr_vlm_model": "m"}, "not on this machine"),
        ({"ocr_vlm_url": "http://127.0.0.1:1/v1"}, "no model is named"),
        (
            {
                "ocr_vlm_url": "http://127.0.0.1:1/v1",
                "ocr_vlm_model": "m",
                "llm_control_url": "http://evil.example/",
            },
            "not on this machine",
        ),
    ],
)
def test_an_address_elsewhere_is_refused_before_anything_is_sent(
    tmp_path: Path, given: dict[str, str], what: str
) -> None:
    with pytest.raises(ConfigError, match=what):
        choose.vision_server(settings(tmp_path, **given))
    _, problems = choose.report(settings(tmp_path, **given))
    assert any(what in problem["what"] for problem in problems)


def test_an_engine_that_is_missing_stays_missing(stand_in: Any, tmp_path: Path) -> None:
    reader = Reader()
    reader.refusal = Unread("no_text", "no engine", "Install one.")  # type: ignore[assignment]
    assert corrected(stand_in(lambda body: RIGHT), reader).refusal is reader.refusal
