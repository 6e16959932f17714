"""A page of a PDF, or an image turned and enlarged, as a grey picture, by what is installed.

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
WRAP = str(Path(__file__).with_name("wrap.py"))
DPI_RANGE = (40, 600)
DRAWN = ".pgm"  # how what was drawn here ends
AS_IT_IS = 100  # percent
POINTS_PER_INCH = 72  # a wrapped picture has a pixel per point
TURNED = frozenset(range(3, 9))  # EXIF orientations that lie or stand on their head
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
    source, page = task.material.path(), task.wanted.page or 1
    return _drawn(task, found, source, page, task.wanted.dpi or limits.OCR_DPI)


def picture(task: Task, found: Drawer | None) -> Path:
    """The image that `task` wants: turned and enlarged as it says, where its kind and what is
    installed allow that, else as it is. Raises Unread, Stopped.
    """
    source, wanted = task.material.path(), task.wanted
    if found is None or (wanted.orientation not in TURNED and wanted.scale == AS_IT_IS):
        return source
    page = task.folder / "picture.pdf"
    words = [sys.executable, "-I", "-S", "-B", WRAP, str(source), str(page)]
    try:
        task.run([*words, str(wanted.orientation)], Caps(output=limits.KIB))
        return _drawn(task, found, page, 1, POINTS_PER_INCH * wanted.scale // AS_IT_IS)
    except CommandFailed:
        return source


def _drawn(task: Task, found: Drawer, source: Path, page: int, dpi: int) -> Path:
    dpi = min(max(dpi, DPI_RANGE[0]), DPI_RANGE[1])
    target = task.folder / f"page{DRAWN}"
    if found.name == "pdfium":
        words = [*found.words, str(source), str(page), str(dpi), str(limits.OCR_PIXELS)]
        words.append(str(target))
    else:
        number, stem = str(page), str(target.with_suffix(""))
        words = [*found.words, "-r", str(dpi), "-gray", "-cropbox", "-f", number, "-l", number]
        words += ["-singlefile", str(source), stem]
    task.run(words, Caps(cpu_s=limits.OCR_DRAW_CPU_S, output=limits.KIB))
    if not target.exists():
        raise CommandFailed("crash", f"{found.name} drew no page {page}")
    return target
