"""Speech to text by Whisper, where the operator has put a model: faster-whisper or whisper.cpp.

A recording is transcribed in parts of SOUND_PART_S; each part is kept, so that a sync that is
cancelled, or killed, goes on with the part it was at.

Promises: the model is one that lies in the folder of `--whisper-model-dir`, picked by the cores
and memory of this machine; nothing is ever downloaded; the program runs bound like any engine.
Does not: play, record, or tell speakers apart.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
import time
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import limits, packages
from helpers.errors import Unread
from helpers.recognition import Piece, Recognised
from helpers.recognize import kept
from helpers.recognize.command import Caps, CommandFailed
from helpers.recognize.task import Task

TRANSCRIBE = str(Path(__file__).with_name("transcribe.py"))
PROGRAMS = ("whisper-cli", "whisper-cpp", "whisper.cpp")
RATE = 16_000  # samples a second that Whisper hears
# Size → memory it wants in bytes, and cores below which it is slower than speech (both from the
# sizes of the published models and the tables of whisper.cpp's README).
SIZES = {
    "tiny": (1 * limits.GIB, 1),
    "base": (1 * limits.GIB, 1),
    "small": (2 * limits.GIB, 2),
    "medium": (5 * limits.GIB, 4),
    "turbo": (6 * limits.GIB, 6),
    "large": (10 * limits.GIB, 8),
}
FLAG = "--whisper-model-dir"
OFF = (
    "To have recordings transcribed, install faster-whisper (pip) or whisper.cpp, put a model into "
    f"a folder and name it by {FLAG}; nothing is downloaded."
)
_SIZE = re.compile(r"(tiny|base|small|medium|turbo|large)")


@dataclass(frozen=True, slots=True)
class Model:
    """A model on disk: `kind` is faster-whisper (a folder) or whisper.cpp (a file)."""

    kind: str
    path: Path
    size: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Program:
    """What runs a model: the words its command begins with, and its version."""

    kind: str
    words: tuple[str, ...]
    version: str


class Whisper:
    """The engine for sound over one folder of models."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._programs = _programs() if folder is not None else {}
        found = _models(folder) if folder is not None and folder.is_dir() else []
        self._all = found
        usable = [model for model in found if model.kind in self._programs]
        self.model = _fitting(usable)

    @property
    def name(self) -> str:
        return f"{self.model.kind} {self.model.size}" if self.model else "whisper"

    @property
    def fingerprint(self) -> str:
        if self.model is None:
            return "absent" if self.folder is None else "broken"
        program = self._programs[self.model.kind]
        facts = (program.version, self.model.path.name, self.model.bytes)
        return f"{self.model.kind}={self.model.size}:{kept.key(*facts)[:12]}"

    @property
    def refusal(self) -> Unread | None:
        """`unsupported` where nobody asked for it, `missing_reader` where something is missing."""
        if self.model is not None:
            return None
        if self.folder is None:
            return Unread("unsupported", "Recordings are not transcribed here", OFF)
        if not self._all:
            what = f"{self.folder} holds no Whisper model"
            remedy = (
                "Put a model there: a folder of faster-whisper, or a ggml-….bin of whisper.cpp."
            )
            return Unread("missing_reader", what, remedy)
        wanted = sorted({model.kind for model in self._all})
        what = f"The models in {self.folder} need {' or '.join(wanted)}, which is not installed"
        return Unread("missing_reader", what, "pip install faster-whisper, or install whisper.cpp.")

    def recognise(self, task: Task) -> Recognised:
        """What is said, with times in seconds. Raises Unread, CommandFailed, Stopped."""
        assert self.model is not None
        sound, length = self._sound(task)
        pieces: list[Piece] = []
        date = ""
        for start in _starts(length):
            task.checkpoint()
            name = kept.key("sound", self.fingerprint, task.material.digest(), start)
            part = task.kept.get(name)
            if part is None:
                part = self._part(task, sound, start, length)
                task.kept.put(name, part)
            pieces += part.pieces
            date = max(date, part.facts.get("transcribed_at", ""))
        facts = {"whisper_model": self.model.size, "transcribed_at": date}
        return Recognised(tuple(pieces), self.name, facts)

    def close(self) -> None:
        """Nothing was started for longer than a part."""

    # --- one part -------------------------------------------------------------------------

    def _part(self, task: Task, sound: Path, start: int, length: float | None) -> Recognised:
        assert self.model is not None
        end = None if length is None else min(start + limits.SOUND_PART_S, length)
        run = self._faster if self.model.kind == "faster-whisper" else self._cpp
        pieces = tuple(run(task, sound, start, end))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return Recognised(pieces, self.name, {"transcribed_at": now})

    def _faster(self, task: Task, sound: Path, start: int, end: float | None) -> Iterator[Piece]:
        assert self.model is not None
        program = self._programs["faster-whisper"]
        threads = str(os.cpu_count() or 1)
        words = [
            *program.words,
            str(self.model.path),
            str(sound),
            str(start),
            str(end or ""),
            threads,
        ]
        for line in task.run(words, _caps(), {"HF_HUB_OFFLINE": "1"}).splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                said = json.loads(line)
                yield Piece(str(said["text"]), None, float(said["start"]), float(said["end"]))

    def _cpp(self, task: Task, sound: Path, start: int, end: float | None) -> Iterator[Piece]:
        assert self.model is not None
        program = self._programs["whisper.cpp"]
        target = task.folder / f"part-{start}"
        words = [*program.words, "-m", str(self.model.path), "-f", str(sound), "-l", "auto"]
        words += ["-t", str(os.cpu_count() or 1), "-oj", "-of", str(target), "-np"]
        if end is not None:
            words += ["-ot", str(start * 1000), "-d", str(int((end - start) * 1000))]
        task.run(words, _caps())
        try:
            text = target.with_suffix(".json").read_text(encoding="utf-8", errors="replace")
            said = json.loads(text)["transcription"]
            for entry in said:
                offsets = entry["offsets"]
                yield Piece(str(entry["text"]), None, offsets["from"] / 1000, offsets["to"] / 1000)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandFailed("crash", f"whisper.cpp wrote no transcript: {error}") from error

    # --- the recording --------------------------------------------------------------------

    def _sound(self, task: Task) -> tuple[Path, float | None]:
        """What the engine is given, and its length in seconds where that is known."""
        source = task.material.path()
        length = _wave_seconds(source)
        converter = shutil.which("ffmpeg")
        if length is None and converter is not None:
            target = task.folder / "sound.wav"
            words = [converter, "-nostdin", "-v", "error", "-i", f"file:{source}", "-map", "0:a:0"]
            words += [
                "-ac",
                "1",
                "-ar",
                str(RATE),
                "-t",
                str(limits.SOUND_S),
                "-y",
                f"file:{target}",
            ]
            task.run(words, _caps())
            source, length = target, _wave_seconds(target)
        if length is not None and length > limits.SOUND_S:
            what = f"Its length reached {length:,.0f} > {limits.SOUND_S:,} seconds"
            raise Unread("limit_reached", what, "Split the recording.")
        return source, length


def _starts(length: float | None) -> range:
    """Where the parts begin, in seconds; one part where the length is not known."""
    return range(0, 1) if length is None else range(0, max(1, int(length)), limits.SOUND_PART_S)


def _wave_seconds(path: Path) -> float | None:
    try:
        with wave.open(str(path), "rb") as sound:
            return sound.getnframes() / sound.getframerate()
    except (wave.Error, EOFError, OSError, ZeroDivisionError):
        return None


def _caps() -> Caps:
    return Caps(
        seconds=limits.SOUND_PART_WALL_S,
        cpu_s=int(limits.SOUND_PART_WALL_S * (os.cpu_count() or 1)),
        memory=limits.SOUND_MEMORY_BYTES,
        file=limits.SOUND_FILE_BYTES,
    )


def _programs() -> dict[str, Program]:
    found = {}
    spec = importlib.util.find_spec("faster_whisper")
    if spec is not None and spec.origin is not None:
        package = os.path.dirname(os.path.dirname(spec.origin))
        words = (sys.executable, "-I", "-S", "-B", TRANSCRIBE, package)
        version = packages.version("faster-whisper") or "unknown"
        found["faster-whisper"] = Program("faster-whisper", words, version)
    path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is not None:
        status = os.stat(path)
        found["whisper.cpp"] = Program("whisper.cpp", (path,), str(status.st_size))
    return found


def _models(folder: Path) -> list[Model]:
    """The models in a folder, or the one that it is."""
    found = []
    for path in sorted([folder, *_entries(folder)]):
        if path.is_dir() and (path / "model.bin").is_file() and (path / "config.json").is_file():
            size = (path / "model.bin").stat().st_size
            found.append(Model("faster-whisper", path, _size(path.name), size))
        elif path.is_file() and path.name.startswith("ggml-") and path.suffix == ".bin":
            found.append(Model("whisper.cpp", path, _size(path.name), path.stat().st_size))
    return found


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _size(name: str) -> str:
    sizes = _SIZE.findall(name.lower())
    return "turbo" if "turbo" in sizes else sizes[0] if sizes else "small"


def _fitting(models: list[Model]) -> Model | None:
    """The largest that this machine runs faster than speech, else the smallest there is."""
    cores, memory = os.cpu_count() or 1, _memory_bytes()
    order = list(SIZES)
    ranked = sorted(models, key=lambda model: (order.index(model.size), model.kind, model.path))
    fits = [
        model
        for model in ranked
        if SIZES[model.size][0] <= memory / 2 and SIZES[model.size][1] <= cores
    ]
    return fits[-1] if fits else ranked[0] if ranked else None


def _memory_bytes() -> int:
    names: dict[str, Any] = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 8 * limits.GIB  # Windows does not say without help; most machines have that
