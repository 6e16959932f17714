"""Apple Vision's program stood in for by one that speaks its protocol, well or badly."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.recognition import Wanted
from helpers.recognize import apple
from helpers.recognize.command import CommandFailed
from helpers.recognize.kept import Kept
from helpers.recognize.task import Material, Task

ABOUT = {"protocol": 1, "engine": "Apple Vision 3", "languages": ["en-US", "ko-KR", "th-TH"]}
LINES = [
    {"text": "제목", "confidence": 0.9, "x": 0.1, "y": 0.05, "width": 0.4, "height": 0.04},
    {"text": "first line", "confidence": 1.0, "x": 0.1, "y": 0.2, "width": 0.4, "height": 0.02},
    {"text": "second line", "confidence": 0.5, "x": 0.1, "y": 0.225, "width": 0.4, "height": 0.02},
    {"text": "  ", "confidence": 0.5, "x": 0.1, "y": 0.25, "width": 0.4, "height": 0.02},
    {"text": "บรรทัด", "confidence": 0.7, "x": 0.6, "y": 0.05, "width": 0.3, "height": 0.02},
]


def program(folder: Path, about: Any = ABOUT, found: Any = None, status: int = 0) -> Path:
    path = folder / "ragdoc-vision"
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"print({json.dumps(json.dumps(about))} if sys.argv[1] == '--about'"
        f" else {json.dumps(json.dumps(found if found is not None else {'lines': LINES}))})\n"
        f"open({str(folder / 'asked')!r}, 'a').write(repr(sys.argv[2:]) + '\\n')\n"
        f"sys.exit({status})\n"
    )
    path.chmod(0o755)
    return path


def task(folder: Path, wanted: Wanted) -> Task:
    source = folder / "source.png"
    source.write_bytes(b"\x89PNG")
    with source.open("rb") as file:
        material = Material(folder, file.fileno(), 4)
        material.path()
    return Task(wanted, material, folder, Kept(None))


def test_lines_make_paragraphs_with_their_confidence(tmp_path: Path) -> None:
    engine = apple.AppleVision(program(tmp_path), ())
    found = engine.recognise(task(tmp_path, Wanted("image", 2, orientation=6)))
    assert [(piece.text, piece.confidence) for piece in found.pieces] == [
        ("제목", 0.9),
        ("first line\nsecond line", 0.75),
        ("บรรทัด", 0.7),
    ]
    assert "['1', '6', 'th-TH,ko-KR,en-US']" in (tmp_path / "asked").read_text()


def test_version_and_languages_are_the_fingerprint(tmp_path: Path) -> None:
    engine = apple.AppleVision(program(tmp_path), ("kor", "fr-FR"))
    assert engine.fingerprint == "Apple-Vision-3+ko-KR"
    assert (engine.refusal, engine.missing) == (None, ("fr-FR",))


@pytest.mark.parametrize("about", [[], {"protocol": 2, "languages": []}, {"protocol": 1}, "x"])
def test_a_program_that_speaks_otherwise_is_broken(tmp_path: Path, about: Any) -> None:
    engine = apple.AppleVision(program(tmp_path, about), ())
    assert engine.refusal is not None
    assert "build.sh" in engine.refusal.remedy
    assert engine.fingerprint == "broken"


def test_no_known_language_is_told_apart(tmp_path: Path) -> None:
    engine = apple.AppleVision(program(tmp_path, {**ABOUT, "languages": ["fr-FR"]}), ())
    assert engine.refusal is not None
    assert "knows none of th-TH, ko-KR, en-US" in engine.refusal.reason


@pytest.mark.parametrize("found", [[], {"lines": [{"text": "x"}]}, {"lines": 3}, "junk"])
def test_an_answer_of_another_shape_is_an_error(tmp_path: Path, found: Any) -> None:
    engine = apple.AppleVision(program(tmp_path, found=found), ())
    with pytest.raises(CommandFailed, match="answered otherwise"):
        engine.recognise(task(tmp_path, Wanted("image")))


def test_it_is_looked_for_on_macos_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(apple, "PROGRAM", program(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert apple.built() is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert apple.built() == tmp_path / "ragdoc-vision"


def test_the_source_says_the_protocol_that_is_spoken() -> None:
    source = (apple.PROGRAM.parent / "recognise.swift").read_text(encoding="utf-8")
    assert f"`protocol` = {apple.PROTOCOL}" in source
    for name in ("lines", "text", "confidence", "y", "height", "engine", "languages"):
        assert name in source
