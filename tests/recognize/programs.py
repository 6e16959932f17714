"""What the tests of recognition share: the real Tesseract where it is, and stand-ins for it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = {"eng", "tha", "kor", "osd"}
STAND_IN = """#!{python} -S
import os, sys, time
words = sys.argv[1:]
if "--version" in words:
    print("tesseract {version}")
elif "--list-langs" in words:
    print('List of available languages in "{folder}" (2):\\n' + "\\n".join({languages!r}))
else:
    with open({log!r}, "a") as log:
        log.write(" ".join(words) + "\\n")
    looks = "0" in words[words.index("--psm"):]
    target = words[1]
{does}
"""
READS = """
    if looks:
        print("Rotate: 0\\nScript: Latin")
    else:
        row = ["5", "1", "1", "1", "1", "1", "10", "10", "500", "40", "{sure}", "{text}"]
        word = "\\t".join(row)
        open(target + ".tsv", "w", encoding="utf-8").write("heading\\n" + word + "\\n")
        open(target + ".txt", "w", encoding="utf-8").write("{text}\\n")
"""


def _languages() -> set[str]:
    program = shutil.which("tesseract")
    if program is None:
        return set()
    listed = subprocess.run(
        [program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False
    )
    return set(listed.stdout.split())


needs_tesseract = pytest.mark.skipif(
    not (_languages() >= NEEDED and shutil.which("pdftoppm")),
    reason="needs tesseract with eng, tha, kor and osd, and pdftoppm (.ci/run installs them)",
)


class StandIn:
    """A `tesseract` in a folder of its own that does as told, and notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "calls"
        self.path = folder / "tesseract"
        self.reads()

    def does(
        self, code: str, version: str = "5.9.1", languages: tuple[str, ...] = ("eng", "osd")
    ) -> None:
        """Answer version and languages as given; any other call runs `code`, which knows
        `words`, `target` (where the text belongs) and `looks` (asked for the script only).
        """
        tessdata = self.folder / "tessdata"
        tessdata.mkdir(exist_ok=True)
        text = STAND_IN.format(
            python=sys.executable,
            version=version,
            folder=tessdata,
            languages=list(languages),
            log=str(self.log),
            does=code,
        )
        self.path.write_text(text, encoding="utf-8")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def reads(self, text: str = "recognised words", sure: int = 95) -> None:
        """Read this text, with this confidence, in every picture."""
        self.does(READS.format(text=text, sure=sure))

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def environment(self) -> dict[str, str]:
        """Of a process that finds this one first."""
        return os.environ | {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}"}


def without_engine(folder: Path) -> dict[str, str]:
    """The environment of a process that finds no program at all."""
    folder.mkdir(exist_ok=True)
    return os.environ | {"PATH": str(folder)}
