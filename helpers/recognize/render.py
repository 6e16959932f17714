"""A page of a PDF as a grey picture, by whatever is installed that can draw it.

Promises: pypdfium2 where it is importable, else Poppler's `pdftoppm`; both run as programs of
their own, bound like any engine.
Does not: read the document in this process, or judge what was drawn.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers import limits
from helpers.errors import Unread
from helpers.recognize.command import Caps, CommandFailed
from helpers.recognize.task import Task

DRAW = str(Path(__file__).with_name("draw.py"))
DPI_RANGE = (40, 600)
INSTALL = (
    "Install what draws PDF pages (Debian: apt install poppler-utils; anywhere: "
    "pip install pypdfium2) and sync again."
)


@dataclass(frozen=True, slots=True)
class Drawer:
    """How pages are drawn: `name` is pdfium or pdftoppm, `words` begin its command."""

    name: str
    words: tuple[str, ...]


def drawer() -> Drawer | None:
    """What is installed, or None."""
    spec = importlib.util.find_spec("pypdfium2")
    if spec is not None and spec.origin is not None:
        package = os.path.dirname(os.path.dirname(spec.origin))
        return Drawer("pdfium", (sys.executable, "-I", "-S", "-B", DRAW, package))
    program = shutil.which("pdftoppm")
    return None if program is None else Drawer("pdftoppm", (program,))


def draw(task: Task, found: Drawer | None) -> Path:
    """The picture (PGM) of the page that `task` wants. Raises Unread, CommandFailed, Stopped."""
    if found is None:
        raise Unread("no_text", "nothing installed here draws PDF pages", INSTALL)
    page = task.wanted.page or 1
    dpi = min(max(task.wanted.dpi or limits.OCR_DPI, DPI_RANGE[0]), DPI_RANGE[1])
    target = task.folder / "page.pgm"
    source = str(task.material.path())
    if found.name == "pdfium":
        words = [*found.words, source, str(page), str(dpi), str(limits.OCR_PIXELS), str(target)]
    else:
        number, stem = str(page), str(target.with_suffix(""))
        words = [*found.words, "-r", str(dpi), "-gray", "-f", number, "-l", number]
        words += ["-singlefile", source, stem]
    task.run(words, Caps(output=limits.KIB))
    if not target.exists():
        raise CommandFailed("crash", f"{found.name} drew no page {page}")
    return target
