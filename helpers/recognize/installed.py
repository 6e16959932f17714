"""Which Tesseract is installed, which languages it has, and whether it runs.

Promises: asking costs two stats where nothing changed since the last time (the answer is kept in
the data directory); a program that is there and does not run is told apart from none.
Does not: recognise anything, or choose languages.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.config import engine_environment
from helpers.errors import StoreError
from helpers.files import read_json, write_json
from helpers.recognize.command import Caps, CommandFailed, Stop, run

PROGRAM = "tesseract"
REMEMBERED = "recognition.json"  # below the data directory
# Where installers put it and a program started from a desktop does not look.
USUAL_FOLDERS = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "C:\\Program Files\\Tesseract-OCR",
    "C:\\Program Files (x86)\\Tesseract-OCR",
)
_VERSION = re.compile(r"tesseract v?(\d+(?:\.\d+)*)")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,30}")
_FOLDER = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Installed:
    """A Tesseract. `broken` says why it does not run; `osd` whether it can tell scripts."""

    path: str
    version: str = ""
    languages: tuple[str, ...] = ()
    osd: bool = False
    broken: str = ""


def tesseract(data_dir: Path | None = None) -> Installed | None:
    """What is installed, or None; remembered below `data_dir` where that exists."""
    path = _found()
    if path is None:
        return None
    note = None if data_dir is None else data_dir / REMEMBERED
    known = _remembered(note, path)
    if known is not None:
        return known
    found, folder = _asked(path)
    if note is not None and not found.broken:
        with contextlib.suppress(StoreError):
            write_json(note, {"key": _key(path, folder), "folder": folder, **asdict(found)})
    return found


def _found() -> str | None:
    found = shutil.which(PROGRAM)
    if found is not None:
        return os.path.abspath(found)
    elsewhere = [folder for folder in USUAL_FOLDERS if os.path.isdir(folder)]
    return shutil.which(PROGRAM, path=os.pathsep.join(elsewhere)) if elsewhere else None


def _asked(path: str) -> tuple[Installed, str]:
    """What it says of itself, and the folder of its languages."""
    caps = Caps(seconds=limits.OCR_PROBE_S, output=limits.MIB)
    try:
        said = run([path, "--version"], Stop(), caps).decode("utf-8", "replace")
        listed = run([path, "--list-langs"], Stop(), caps).decode("utf-8", "replace")
    except CommandFailed as failed:
        return Installed(path, broken=failed.what), ""
    version = _VERSION.search(said)
    if version is None:
        return Installed(path, broken="it does not say its version"), ""
    heading, *names = listed.splitlines() or [""]
    folder = _FOLDER.search(heading)
    languages = [name.strip() for name in names if _LANGUAGE.fullmatch(name.strip())]
    text = tuple(sorted(name for name in languages if name not in ("osd", "equ")))
    return Installed(path, version[1], text, "osd" in languages), folder[1] if folder else ""


def _remembered(note: Path | None, path: str) -> Installed | None:
    if note is None:
        return None
    try:
        value: Any = read_json(note)
        if value["key"] != _key(path, value["folder"]):
            return None
        found = Installed(
            str(value["path"]),
            str(value["version"]),
            tuple(str(name) for name in value["languages"]),
            value["osd"] is True,
        )
    except (StoreError, KeyError, TypeError):
        return None
    return found if found.path == path else None


def _key(path: str, folder: str) -> list[Any]:
    """Changes when the program or its languages do."""
    prefix = engine_environment().get("TESSDATA_PREFIX", "")
    facts: list[Any] = [path, prefix, sys.platform]
    for each in (path, folder):
        try:
            status = os.stat(each)
            facts += [status.st_size, status.st_mtime_ns]
        except OSError:
            facts.append(None)
    return facts
