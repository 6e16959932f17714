"""The real Tesseract over the reference scans, and what is decided around it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.config import Settings
from helpers.errors import Unread
from helpers.recognition import Answer, Recognised, Wanted
from helpers.recognize import choose, installed, render, turn
from helpers.recognize.installed import Installed
from helpers.recognize.recogniser import Recogniser
from helpers.recognize.tesseract import Tesseract
from tests.recognize.pictures import png, scan
from tests.recognize.programs import StandIn, needs_tesseract

WAIT_S = 120.0
RECOGNIZE = Path(__file__).resolve().parents[2] / "helpers" / "recognize"


def ask(recogniser: Recogniser, path: Path, wanted: Wanted) -> Answer:
    descriptor = os.open(path, os.O_RDONLY)
    session = recogniser.open(descriptor, path.name, path.stat().st_size)
    answers: list[Answer] = []
    done = threading.Event()

    def answered(answer: Answer) -> None:
        answers.append(answer)
        done.set()

    session.ask(wanted, None, answered)
    assert done.wait(WAIT_S)
    session.close()
    os.close(descriptor)
    return answers[0]


def text(answer: Answer) -> str:
    assert isinstance(answer, Recognised), answer
    return "".join("".join(piece.text.split()) for piece in answer.pieces)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Recogniser]:
    with Recogniser({"picture": Tesseract(installed.tesseract())}, tmp_path / "state", 2) as made:
        yield made


@needs_tesseract
def test_a_page_on_its_side_is_read_without_the_data_that_tells(
    tmp_path: Path, shared: Path
) -> None:
    found = installed.tesseract()
    assert found is not None
    blind = Tesseract(Installed(found.path, found.version, found.languages, osd=False), ("kor",))
    with Recogniser({"picture": blind}, tmp_path / "state") as recogniser:
        path = shared / "docs" / "pdf" / "made_ko_scan_rot90.pdf"
        assert "노후송수관교체공사" in text(ask(recogniser, path, Wanted("page", 1)))


@needs_tesseract
def test_exif_orientation_is_followed(real: Recogniser, shared: Path, tmp_path: Path) -> None:
    drawn, pdf = tmp_path / "upright.jpg", tmp_path / "page.pdf"
    words = [sys.executable, "-I", "-S", str(RECOGNIZE / "wrap.py")]
    photo = shared / "docs" / "image" / "made_ko_photo.jpg"
    assert subprocess.run([*words, str(photo), str(pdf), "8"], check=False).returncode == 0
    draw = ["pdftoppm", "-r", "72", "-gray", "-jpeg", "-singlefile", str(pdf)]
    subprocess.run([*draw, str(drawn.with_suffix(""))], check=True)
    answer = ask(real, drawn, Wanted("image", orientation=6))
    assert "오전9시부터오후4시30분까지" in text(answer)


@needs_tesseract
def test_a_patch_of_grey_holds_nothing(real: Recogniser, tmp_path: Path) -> None:
    (tmp_path / "grey.png").write_bytes(png(900, 600, 200))
    answer = ask(real, tmp_path / "grey.png", Wanted("image"))
    assert isinstance(answer, Recognised) and answer.pieces == ()


@needs_tesseract
def test_a_broken_picture_is_a_failure_with_a_code(real: Recogniser, tmp_path: Path) -> None:
    (tmp_path / "cut.png").write_bytes(png(900, 600)[:50])
    answer = ask(real, tmp_path / "cut.png", Wanted("image"))
    assert isinstance(answer, Unread) and answer.code == "no_text" and answer.remedy


# --- drawing and turning -------------------------------------------------------------


def raster(path: Path) -> tuple[int, int, bytes]:
    head, data = path.read_bytes().split(b"255", 1)
    width, height = head.split()[1:3]
    return int(width), int(height), data[1:]


@pytest.mark.parametrize(
    ("degrees", "wanted"),
    [(90, (2, 3, b"daebfc")), (180, (3, 2, b"fedcba")), (270, (2, 3, b"cfbead"))],
)
def test_a_drawn_page_is_turned_clockwise(
    tmp_path: Path, degrees: int, wanted: tuple[int, int, bytes]
) -> None:
    (tmp_path / "page").write_bytes(b"P5 3 2 255\nabcdef")
    assert raster(turn.turn(tmp_path / "page", tmp_path / "turned", degrees)) == wanted


@pytest.mark.parametrize(
    "data", [b"", b"P6 3 2 255\nabcdef", b"P5 3 2 255\nabc", b"P5 9999999 9999999 255\n"]
)
def test_what_is_no_drawn_page_is_not_turned(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "page").write_bytes(data)
    with pytest.raises(ValueError):
        turn.turn(tmp_path / "page", tmp_path / "turned", 90)


def wrapped(tmp_path: Path, data: bytes, orientation: int = 1) -> int:
    (tmp_path / "picture").write_bytes(data)
    words = [sys.executable, "-I", "-S", str(RECOGNIZE / "wrap.py"), str(tmp_path / "picture")]
    words += [str(tmp_path / "page.pdf"), str(orientation)]
    return subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="needs pdftoppm (.ci/run)")
def test_a_wrapped_picture_is_drawn_as_it_was_held(tmp_path: Path) -> None:
    assert wrapped(tmp_path, png(20, 10, 77), 6) == 0
    stem = tmp_path / "drawn"
    words = ["pdftoppm", "-r", "144", "-gray", "-singlefile", str(tmp_path / "page.pdf"), str(stem)]
    subprocess.run(words, check=True)
    width, height, data = raster(stem.with_suffix(".pgm"))
    assert (width, height) == (20, 40) and set(data) == {77}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8\xff",
        b"\xff\xd8" + b"\xff\xc9" * 9,
        png()[:20],
        b"GIF89a" + bytes(20),
        png().replace(b"\x08\0\0\0\0", b"\x08\6\0\0\0", 1),
    ],
)
def test_what_cannot_be_wrapped_says_so(tmp_path: Path, data: bytes) -> None:
    assert wrapped(tmp_path, data) != 0


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="needs pdftoppm (.ci/run)")
def test_pdfium_draws_where_it_is_installed_and_poppler_where_not() -> None:
    found = render.drawer()
    assert found is not None
    try:
        import pypdfium2  # noqa: F401
    except ImportError:
        assert found.name == "pdftoppm"
    else:
        assert found.name == "pdfium"


def test_pdfium_draws_in_grey_within_the_cap(tmp_path: Path) -> None:
    package = pytest.importorskip("pypdfium2")
    (tmp_path / "scan.pdf").write_bytes(scan(0, 255))
    words = [sys.executable, "-I", "-S", str(RECOGNIZE / "draw.py")]
    words += [os.path.dirname(os.path.dirname(package.__file__)), str(tmp_path / "scan.pdf"), "2"]
    subprocess.run([*words, "300", "10000", str(tmp_path / "page.pgm")], check=True)
    width, height, data = raster(tmp_path / "page.pgm")
    assert width * height <= 10_000 and len(data) == width * height and 255 in data


# --- what is installed, what is told ---------------------------------------------------


def settings(tmp_path: Path, **facts: object) -> Settings:
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    return Settings(tmp_path / "docs", state, state / "db", **facts)  # type: ignore[arg-type]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(made.folder))
    return made


def test_health_names_engine_and_languages(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.does("", languages=("eng", "tha", "fra", "osd"))
    value, problems = choose.report(settings(tmp_path))
    assert (value["engine"], value["languages"]) == ("tesseract 5.9.1", ["eng", "tha"])
    assert problems == []


def test_a_language_that_was_asked_for_and_is_missing_is_a_problem(
    stand_in: StandIn, tmp_path: Path
) -> None:
    value, problems = choose.report(settings(tmp_path, ocr_languages=("eng", "chi_sim")))
    assert value["languages"] == ["eng"]
    assert [problem["code"] for problem in problems] == ["ocr_language_missing"]
    assert "tesseract-ocr-chi-sim" in problems[0]["remedy"]


def test_a_broken_engine_is_a_problem_and_an_absent_one_is_not(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.path.write_text("#!/bin/sh\nexit 1\n")
    value, problems = choose.report(settings(tmp_path))
    assert value["engine"] is None
    assert [problem["code"] for problem in problems] == ["ocr_broken"]
    stand_in.path.unlink()
    value, problems = choose.report(settings(tmp_path))
    assert (value["engine"], value["languages"], problems) == (None, [], [])


def test_what_is_installed_is_asked_again_when_it_changed(
    stand_in: StandIn, tmp_path: Path
) -> None:
    state = settings(tmp_path).data_dir
    first = installed.tesseract(state)
    assert first is not None and first.languages == ("eng",)
    (stand_in.folder / "tessdata" / "tha.traineddata").touch()
    code = stand_in.path.read_text()
    stand_in.path.write_text(code.replace("['eng', 'osd']", "['eng', 'osd', 'tha']"))
    second = installed.tesseract(state)
    assert second is not None and second.languages == ("eng", "tha")


def test_what_was_remembered_is_not_believed_when_it_is_nonsense(
    stand_in: StandIn, tmp_path: Path
) -> None:
    state = settings(tmp_path).data_dir
    for nonsense in ("", "[]", '{"key": 1}', "{"):
        (state / installed.REMEMBERED).write_text(nonsense)
        found = installed.tesseract(state)
        assert found is not None and found.version == "5.9.1"
