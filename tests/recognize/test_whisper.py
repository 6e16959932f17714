"""Transcription: models found and picked, parts kept, both programs stood in for."""

from __future__ import annotations

import io
import os
import sys
import wave
from pathlib import Path

import pytest

from helpers import limits
from helpers.recognition import Wanted
from helpers.recognize import whisper
from helpers.recognize.command import CommandFailed, Stopped
from helpers.recognize.kept import Kept
from helpers.recognize.task import Material, Task

# What the published program writes: one segment per 300 s of the part, named by its offset.
CLI = """#!{python}
import json, sys, pathlib
words = sys.argv[1:]
given = dict(zip(words, words[1:]))
start, length = int(given.get("-ot", 0)), int(given.get("-d", 0)) or 1000
assert pathlib.Path(given["-m"]).exists() and pathlib.Path(given["-f"]).exists()
with open({log!r}, "a") as file:
    file.write(f"{{start}}\\n")
if start == {fail_at}:
    sys.exit(7)
said = [
    {{"text": f" said at {{at // 1000}}", "offsets": {{"from": at, "to": at + 4000}}}}
    for at in range(start, start + length, 300_000)
]
pathlib.Path(given["-of"] + ".json").write_text(json.dumps({{"transcription": said}}))
"""


def recording(seconds: int) -> bytes:
    target = io.BytesIO()
    with wave.open(target, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(100)
        sound.writeframes(b"\x80" * 100 * seconds)
    return target.getvalue()


def task(folder: Path, data: bytes, kept: Kept) -> Task:
    source = folder / "source.wav"
    source.write_bytes(data)
    own = folder / "own"
    own.mkdir(exist_ok=True)
    with source.open("rb") as file:
        material = Material(folder, file.fileno(), len(data))
        material.path()
    return Task(Wanted("sound"), material, own, kept)


def models(folder: Path, *names: str) -> Path:
    for name in names:
        if name.endswith(".bin"):
            (folder / name).write_bytes(b"ggml")
        else:
            (folder / name).mkdir()
            (folder / name / "model.bin").write_bytes(b"ct2")
            (folder / name / "config.json").write_text("{}")
    return folder


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`whisper-cli` on PATH; the file beside it lists the offsets it was asked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, fail_at: int = -1) -> None:
    path = folder / "whisper-cli"
    path.write_text(CLI.format(python=sys.executable, log=str(folder / "log"), fail_at=fail_at))
    path.chmod(0o755)


def offsets(cli: Path) -> list[int]:
    return [int(line) for line in (cli / "log").read_text().split()]


def test_a_recording_is_transcribed_in_parts_with_its_times(cli: Path, tmp_path: Path) -> None:
    engine = whisper.Whisper(models(tmp_path, "ggml-base.bin"))
    length = 2 * limits.SOUND_PART_S + 100
    found = engine.recognise(task(tmp_path, recording(length), Kept(tmp_path)))
    assert offsets(cli) == [0, 600_000, 1_200_000]
    assert [piece.start for piece in found.pieces] == [0, 300, 600, 900, 1200]
    assert found.pieces[2].text == " said at 600"
    assert found.facts["whisper_model"] == "base"
    assert found.facts["transcribed_at"].endswith("Z")


def test_parts_that_are_kept_are_not_transcribed_again(cli: Path, tmp_path: Path) -> None:
    folder = models(tmp_path, "ggml-base.bin")
    data = recording(2 * limits.SOUND_PART_S)
    program(cli, fail_at=600_000)
    kept = Kept(tmp_path)
    with pytest.raises(CommandFailed, match="status 7"):
        whisper.Whisper(folder).recognise(task(tmp_path, data, kept))
    program(cli)  # the same program as far as its version tells
    (cli / "log").unlink()
    engine = whisper.Whisper(folder)
    found = engine.recognise(task(tmp_path, data, kept))
    assert len(found.pieces) == 4
    assert 600_000 in offsets(cli)
    (cli / "log").write_text("")
    assert engine.recognise(task(tmp_path, data, kept)) == found
    assert offsets(cli) == []


def test_a_cancelled_transcription_ends_between_parts(cli: Path, tmp_path: Path) -> None:
    engine = whisper.Whisper(models(tmp_path, "ggml-tiny.bin"))
    asked = task(tmp_path, recording(30), Kept(None))
    asked.stop.stop()
    with pytest.raises(Stopped):
        engine.recognise(asked)


def test_a_recording_beyond_a_day_is_refused_with_both_numbers(
    cli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SOUND_S", 20)
    engine = whisper.Whisper(models(tmp_path, "ggml-tiny.bin"))
    with pytest.raises(Exception, match=r"30 > 20 seconds"):
        engine.recognise(task(tmp_path, recording(30), Kept(None)))


def test_the_other_library_runs_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "faster_whisper"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import collections\n"
        "Said = collections.namedtuple('Said', 'start end text')\n"
        "class WhisperModel:\n"
        "    def __init__(self, folder, **options):\n"
        "        assert options['local_files_only'] and options['device'] == 'cpu'\n"
        "    def transcribe(self, path, clip_timestamps, **_):\n"
        "        start = clip_timestamps[0]\n"
        "        return iter([Said(start, start + 2.5, 'สวัสดี 안녕 hello')]), None\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PATH", "")
    folder = models(tmp_path, "faster-whisper-small")
    engine = whisper.Whisper(folder)
    assert engine.refusal is None
    found = engine.recognise(task(tmp_path, recording(700), Kept(None)))
    assert [(piece.text, piece.start, piece.end) for piece in found.pieces] == [
        ("สวัสดี 안녕 hello", 0, 2.5),
        ("สวัสดี 안녕 hello", 600, 602.5),
    ]


def test_the_largest_model_that_the_machine_carries_is_picked(
    cli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models(
        tmp_path, "ggml-tiny.bin", "ggml-small.bin", "ggml-medium.bin", "ggml-large-v3.bin"
    )
    for cores, memory, expected in (
        (1, 64, "tiny"),
        (2, 64, "small"),
        (4, 64, "medium"),
        (16, 64, "large"),
        (16, 4, "small"),
        (1, 1, "tiny"),
    ):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(whisper, "_memory_bytes", lambda memory=memory: memory * limits.GIB)
        model = whisper.Whisper(folder).model
        assert model is not None and model.size == expected


def test_what_is_missing_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    unwanted = whisper.Whisper(None)
    assert unwanted.refusal is not None
    assert (unwanted.refusal.code, unwanted.fingerprint) == ("unsupported", "absent")
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing = whisper.Whisper(empty).refusal
    assert nothing is not None
    assert (nothing.code, "holds no Whisper model" in nothing.reason) == ("missing_reader", True)
    lone = whisper.Whisper(models(tmp_path, "ggml-base.bin"))
    assert lone.refusal is not None
    assert "need whisper.cpp, which is not installed" in lone.refusal.reason
    assert lone.fingerprint == "broken"


def test_another_model_is_another_fingerprint(cli: Path, tmp_path: Path) -> None:
    first = whisper.Whisper(models(tmp_path, "ggml-base.bin")).fingerprint
    (tmp_path / "ggml-base.bin").write_bytes(b"another model")
    assert whisper.Whisper(tmp_path).fingerprint != first
    assert " " not in first


def test_a_transcript_that_is_none_is_an_error(cli: Path, tmp_path: Path) -> None:
    path = cli / "whisper-cli"
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "open(sys.argv[sys.argv.index('-of') + 1] + '.json', 'w').write('[')\n"
    )
    engine = whisper.Whisper(models(tmp_path, "ggml-tiny.bin"))
    with pytest.raises(CommandFailed, match="no transcript"):
        engine.recognise(task(tmp_path, recording(5), Kept(None)))
