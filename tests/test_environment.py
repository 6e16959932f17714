"""Which Python a door goes on with."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import environment

ASKED = "from helpers import environment; environment.prefer('door.py'); print('stayed')"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose `.venv` holds a program that says how it was called."""
    (tmp_path / "helpers").mkdir()
    shutil.copy(environment.__file__, tmp_path / "helpers")
    python = Path(environment.python_of(str(tmp_path / ".venv")))
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "handed $*"\n')
    python.chmod(0o755)
    return tmp_path


def said(project: Path, *flags: str) -> str:
    """What a door says that asks for the better Python."""
    command = [sys.executable, *flags, "-c", f"import sys; sys.path[0] = '{project}'; {ASKED}", "w"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project)
    return done.stdout.strip()


def test_door_goes_on_with_the_python_beside_the_scripts(project: Path) -> None:
    assert said(project) == f"handed -X {environment.HANDED_OVER} {project / 'door.py'} w"


@pytest.mark.parametrize("flags", [["-S"], ["-I"], ["-X", environment.HANDED_OVER]])
def test_door_stays_where_it_was_told_to_or_was_handed_over(
    project: Path, flags: list[str]
) -> None:
    assert said(project, *flags) == "stayed"


def test_door_stays_without_an_environment_and_with_one_that_does_not_start(project: Path) -> None:
    python = Path(environment.python_of(str(project / ".venv")))
    python.chmod(0o644)
    assert said(project) == "stayed"
    python.unlink()
    assert said(project) == "stayed"


@pytest.mark.parametrize(
    ("door", "word"),
    [
        ("rag_server.py", "--ui"),
        ("rag_sync.py", "--status"),
        ("rag_search.py", "words"),
        ("semantic_worker.py", "--install"),
    ],
)
def test_every_door_goes_on_with_it_before_it_does_anything(
    project: Path, repository: Path, door: str, word: str
) -> None:
    for script in repository.glob("*.py"):
        shutil.copy(script, project)
    shutil.copytree(repository / "helpers", project / "helpers", dirs_exist_ok=True)
    shutil.copytree(repository / "ui", project / "ui")
    command = [sys.executable, door, word]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=project)
    expected = f"handed -X {environment.HANDED_OVER} {project / door} {word}"
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("door", ["rag_server.py", "rag_sync.py", "rag_search.py"])
def test_an_interrupt_while_a_door_is_still_being_imported_ends_it_without_a_word(
    repository: Path, tmp_path: Path, door: str
) -> None:
    """`argparse` stands for whatever is being imported: here it waits for the interrupt."""
    slow = "import os, signal, sys\nos.kill(os.getpid(), signal.SIGINT)\nsys.exit('still here')\n"
    (tmp_path / "argparse.py").write_text(slow)
    command = [sys.executable, "-X", environment.HANDED_OVER, str(repository / door), "--version"]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == "" and done.stdout == ""
