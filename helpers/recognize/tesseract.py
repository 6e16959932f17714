"""Tesseract by its command line: which way up, which script, then the lines, tried until sure.

One look tells orientation and script (`osd` data). The languages of that script read the page;
lines that were read without confidence are tried with the other languages and another idea of
the page's layout, and each line stays as it was read best.

Promises: a page without legible letters gives nothing, and is not guessed at; what is kept under
the same picture, version and languages is not read again.
Does not: decode pictures in this process, or correct spelling.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from helpers import limits
from helpers.errors import Unread
from helpers.recognition import LACKING, Piece, Recognised
from helpers.recognize import kept, render, turn
from helpers.recognize.command import Caps, CommandFailed
from helpers.recognize.installed import Installed
from helpers.recognize.lines import Line, better_of, legible, lines_of, mean, paragraphs, unsure
from helpers.recognize.task import Task

READING_VERSION = 1  # rises whenever the same picture would give other text
WANTED = ("eng", "tha", "kor")  # languages without a setting, where installed
AUTO, AUTO_TURNED, COLUMN, SPARSE = 3, 1, 4, 11  # ways to lay out a page (--psm)
UPRIGHT = 0.7  # mean confidence of a page that stands the right way up
SCRIPTS = {"tha": "Thai", "kor": "Korean", "jpn": "Japanese", "ara": "Arabic", "rus": "Cyrillic"}
ALONE = frozenset({"Korean", "Japanese"})  # whose data reads Latin letters and digits well itself
DEBIAN = "apt install tesseract-ocr tesseract-ocr-tha tesseract-ocr-kor poppler-utils"
INSTALL = (
    f"Install Tesseract with your languages and sync again (Debian: {DEBIAN}; macOS: brew "
    "install tesseract tesseract-lang; Windows: the installer of UB Mannheim)."
)
_OSD = re.compile(rb"^(Rotate|Script|Orientation confidence): *(\S+)", re.M)


class Tesseract:
    """The engine for pages and images. `wanted` are the languages asked for, () the usual."""

    family = "picture"

    def __init__(self, found: Installed | None, wanted: Sequence[str] = ()) -> None:
        self.found = found
        self.wanted = tuple(dict.fromkeys(wanted))
        held = found.languages if found is not None else ()
        self.languages = tuple(name for name in self.wanted or WANTED if name in held)
        self.missing = tuple(name for name in self.wanted or WANTED if name not in held)
        self.drawer = render.drawer()

    @property
    def name(self) -> str:
        return f"tesseract {self.found.version}" if self.found is not None else "tesseract"

    @property
    def fingerprint(self) -> str:
        """Patch versions of Tesseract read alike: an update must not cost all scans again."""
        if self.found is None:
            return "absent"
        if self.found.broken:
            return "broken"
        version = ".".join(self.found.version.split(".")[:2])
        languages = "+".join(self.languages) or "none"
        pages = "" if self.drawer is not None else "-nopages"
        return f"tesseract-{version}-{READING_VERSION}-{languages}{pages}"

    @property
    def refusal(self) -> Unread | None:
        found = self.found
        if found is None:
            return Unread("no_text", "its text stands in an image and no OCR is installed", INSTALL)
        if found.broken:
            reason = f"its text stands in an image and Tesseract does not run: {found.broken}"
            return Unread("no_text", reason, f"Reinstall Tesseract ({found.path}) and sync again.")
        if not self.languages:
            reason = "its text stands in an image and Tesseract lacks the language data for "
            return Unread("no_text", reason + ", ".join(self.missing), install(self.missing))
        return None

    def close(self) -> None:
        """Nothing was started for longer than a page."""

    def recognise(self, task: Task) -> Recognised:
        """The paragraphs of a page or image. Raises Unread, CommandFailed, Stopped."""
        wanted = task.wanted
        draw = render.draw if wanted.kind == "page" else render.picture
        picture = draw(task, self.drawer)
        digest = _digest(picture)
        frame = None if wanted.kind == "page" else wanted.page
        name = kept.key("picture", self.fingerprint, digest, frame, wanted.orientation)
        found = task.kept.get(name)
        if found is None:
            found = self._read(task, picture, frame)
            task.kept.put(name, found)
        return found

    def _read(self, task: Task, picture: Path, frame: int | None) -> Recognised:
        run = _Runs(self, task, picture, frame)
        turned, script = run.look()
        best: list[Line] = []
        for languages, layout in self._attempts(script, turned):
            try:
                best = better_of(best, run.lines(languages, layout))
            except CommandFailed:
                if not best:  # what was read before counts
                    raise
                break
            if best and not unsure(best):
                break
        if not run.can_look and mean(best) < UPRIGHT:
            best = run.turned(self.languages) or best
        facts = {LACKING: ", ".join(self.missing)} if self.missing else {}
        found = paragraphs(best) if legible(best) else []
        return Recognised(tuple(Piece(text, sure) for text, sure in found), self.name, facts)

    def _attempts(self, script: str, turned: bool) -> list[tuple[tuple[str, ...], int]]:
        """Languages and layouts, in the order of trying."""
        auto = AUTO_TURNED if turned else AUTO
        own = tuple(name for name in self.languages if SCRIPTS.get(name, "Latin") == script)
        latin = tuple(name for name in self.languages if SCRIPTS.get(name, "Latin") == "Latin")
        everything = self.languages
        if not own:
            return [(everything, auto), (everything, AUTO_TURNED if turned else SPARSE)]
        if script == "Latin":
            return [(own, auto), (everything, auto)]
        both = own + latin
        first = own if script in ALONE else both
        layouts = [(first, auto), (both, auto), (first, auto if turned else COLUMN)]
        return list(dict.fromkeys(layouts))


class _Runs:
    """Runs of Tesseract over one picture."""

    def __init__(self, engine: Tesseract, task: Task, picture: Path, frame: int | None) -> None:
        assert engine.found is not None
        self._task, self._installed, self._picture = task, engine.found, picture
        self._options: list[str] = []
        if frame is not None:
            self._options += ["-c", f"tessedit_page_number={frame - 1}"]
        # What a picture says of its resolution is often wrong, and makes Tesseract lose lines.
        dpi = task.wanted.dpi or limits.OCR_DPI
        if picture.suffix != render.DRAWN:  # it could not be enlarged
            dpi = dpi * render.AS_IT_IS // task.wanted.scale
        self._options += ["--dpi", str(max(render.DPI_RANGE[0], dpi))]

    @property
    def can_look(self) -> bool:
        return self._installed.osd

    def look(self) -> tuple[bool, str]:
        """Whether the picture lies or stands on its head, and its script ("" unknown)."""
        if not self.can_look:
            return False, ""
        words = [self._installed.path, str(self._picture), "-", *self._options, "--psm", "0"]
        try:
            said = self._task.run(words, Caps(cpu_s=limits.OCR_LOOK_CPU_S, output=limits.MIB))
        except CommandFailed as failed:
            if failed.why == "timeout":
                raise
            return False, ""  # too few letters to tell
        facts = {
            name.decode(): value.decode("ascii", "replace") for name, value in _OSD.findall(said)
        }
        script = {"Hangul": "Korean", "HangulVert": "Korean"}.get(
            facts.get("Script", ""), facts.get("Script", "")
        )
        return facts.get("Rotate", "0") != "0", script

    def turned(self, languages: Sequence[str]) -> list[Line]:
        """The lines of the page turned so that they are legible, or none: for a Tesseract that
        cannot tell which way up a page stands. Only what was drawn here can be turned.
        """
        for degrees in turn.QUARTERS:
            try:
                picture = turn.turn(self._picture, self._task.folder / "turned.pgm", degrees)
            except (ValueError, OSError):
                return []
            found = self.lines(languages, AUTO, picture)
            if mean(found) >= UPRIGHT:
                return found
        return []

    def lines(
        self, languages: Sequence[str], layout: int, picture: Path | None = None
    ) -> list[Line]:
        """The lines as read with these languages and this layout."""
        target = self._task.folder / "read"
        words = [self._installed.path, str(picture or self._picture), str(target), *self._options]
        words += ["-l", "+".join(languages), "--psm", str(layout), "txt", "tsv"]
        self._task.run(words)
        return lines_of(_text(target.with_suffix(".tsv")), _text(target.with_suffix(".txt")))


def install(languages: Sequence[str]) -> str:
    """How to get the language data of Tesseract."""
    debian = " ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in languages)
    files = ", ".join(f"{name}.traineddata" for name in languages)
    return (
        f"Install the language data and sync again (Debian: apt install {debian}; "
        f"macOS: brew install tesseract-lang; elsewhere put {files} into tessdata)."
    )


def _text(path: Path) -> str:
    if not path.exists():
        raise CommandFailed("crash", "Tesseract ended well and wrote nothing")
    if path.stat().st_size > limits.OCR_OUTPUT_BYTES:
        raise CommandFailed(
            "output", f"Tesseract wrote more than {limits.OCR_OUTPUT_BYTES:,} bytes"
        )
    return path.read_text(encoding="utf-8", errors="replace")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        found = hashlib.sha256()
        while data := file.read(limits.MIB):
            found.update(data)
    return found.hexdigest()
