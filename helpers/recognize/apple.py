"""Apple's Vision framework as an engine for pictures, through a small program built on macOS.

The program and its protocol: apple_vision/recognise.swift; `apple_vision/build.sh` builds it.

Promises: the program runs bound like any engine; what it says is checked before it is used; lines
that belong together make a paragraph.
Does not: exist away from macOS, or build itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.errors import Unread
from helpers.recognition import Piece, Recognised
from helpers.recognize import render
from helpers.recognize.command import Caps, CommandFailed, Stop, run
from helpers.recognize.render import Drawer
from helpers.recognize.task import Task

PROTOCOL = 1
PROGRAM = Path(__file__).with_name("apple_vision") / "ragdoc-vision"
# Tesseract's names of languages, by which the settings name them → Vision's.
LANGUAGES = {"eng": "en-US", "kor": "ko-KR", "tha": "th-TH", "jpn": "ja-JP", "deu": "de-DE"}
DEFAULT = ("tha", "kor", "eng")
APART = 0.8  # line heights between two lines of different paragraphs
BUILD = f"Run {PROGRAM.parent / 'build.sh'} on this Mac, then sync again."


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    confidence: float
    top: float
    bottom: float


class AppleVision:
    """The engine. `program` is what was built; `about` what it says of itself."""

    def __init__(
        self, program: Path, wanted: tuple[str, ...], drawer: Drawer | None = None
    ) -> None:
        self.program, self._drawer = program, drawer
        self._about = _about(program)
        known = set(self._about.get("languages", ()))
        asked = [LANGUAGES.get(name, name) for name in wanted or DEFAULT]
        self.languages = tuple(name for name in asked if name in known)
        self.missing = tuple(name for name in asked if name not in known)

    @property
    def name(self) -> str:
        return str(self._about.get("engine", "Apple Vision"))

    @property
    def fingerprint(self) -> str:
        if self.refusal is not None:
            return "broken"
        return f"{self.name.replace(' ', '-')}+{'+'.join(self.languages)}"

    @property
    def refusal(self) -> Unread | None:
        if not self._about:
            return Unread("no_text", f"{self.program.name} does not run here", BUILD)
        if not self.languages:
            what = f"Apple Vision on this Mac knows none of {', '.join(self.missing)}"
            return Unread("no_text", what, "Name others by --ocr-languages, or update macOS.")
        return None

    def recognise(self, task: Task) -> Recognised:
        """The paragraphs of a page or image. Raises Unread, CommandFailed, Stopped."""
        wanted = task.wanted
        is_page = wanted.kind == "page"
        picture = render.draw(task, self._drawer) if is_page else task.material.path()
        frame = 0 if is_page or wanted.page is None else wanted.page - 1
        words = [str(self.program), str(picture), str(frame), str(wanted.orientation)]
        said = task.run([*words, ",".join(self.languages)])
        return Recognised(tuple(_paragraphs(_lines(said))), self.name)

    def close(self) -> None:
        """Nothing was started for longer than a page."""


def built() -> Path | None:
    """The program, where this is macOS and it was built."""
    return PROGRAM if sys.platform == "darwin" and PROGRAM.is_file() else None


def _about(program: Path) -> dict[str, Any]:
    """What the program says of itself; empty where it does not run or speaks otherwise."""
    try:
        caps = Caps(seconds=limits.OCR_PROBE_S, output=limits.KIB * 64)
        value = json.loads(run([str(program), "--about"], Stop(), caps))
    except (CommandFailed, ValueError):
        return {}
    spoken = isinstance(value, dict) and value.get("protocol") == PROTOCOL
    return value if spoken and isinstance(value.get("languages"), list) else {}


def _lines(said: bytes) -> list[_Line]:
    try:
        found = [
            _Line(
                str(line["text"]),
                min(max(float(line["confidence"]), 0.0), 1.0),
                float(line["y"]),
                float(line["y"]) + float(line["height"]),
            )
            for line in json.loads(said)["lines"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise CommandFailed("crash", f"Apple Vision answered otherwise ({error})") from error
    return [line for line in found if line.text.strip()]


def _paragraphs(lines: list[_Line]) -> Iterator[Piece]:
    """Lines in the order in which Vision gives them; a gap begins another paragraph."""
    held: list[_Line] = []
    for line in lines:
        if held:
            height = max(held[-1].bottom - held[-1].top, 1e-6)
            gap = line.top - held[-1].bottom
            if gap > APART * height or gap < -2 * height:
                yield _piece(held)
                held = []
        held.append(line)
    if held:
        yield _piece(held)


def _piece(lines: list[_Line]) -> Piece:
    sure = sum(line.confidence for line in lines) / len(lines)
    return Piece("\n".join(line.text for line in lines), round(sure, 3))
