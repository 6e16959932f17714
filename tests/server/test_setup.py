"""`--setup` on a bare Python, and the hand-over to the environment it makes."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import config, setup
from helpers.errors import ConfigError
from tests.server.session import REPOSITORY

BARE = [sys.executable, "-E", "-S"]


def _wheel(folder: Path, name: str, code: str) -> None:
    """A minimal wheel of one module."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{path},sha256={digest.decode()},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    _wheel(folder, "ragdoc_probe", "ANSWER = 42\n")
    return folder


@pytest.fixture(scope="module")
def requirements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("needs") / "requirements.txt"
    file.write_text("# a comment\nragdoc_probe>=1,<2\n")
    return file


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, requirements: Path, wheelhouse: Path
) -> Iterator[Path]:
    """An environment made from the wheelhouse alone, where half of one lay."""
    venv = tmp_path_factory.mktemp("made") / ".venv"
    python = setup.venv_python(venv)
    python.parent.mkdir(parents=True)
    shutil.copy(sys.executable, python)
    (venv / "left over").touch()
    setup.install([requirements], wheelhouse, venv)
    yield venv


def _answer(venv: Path) -> str:
    words = [str(setup.venv_python(venv)), "-c", "import ragdoc_probe as p; print(p.ANSWER)"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_a_wheelhouse_is_enough_and_the_second_time_does_nothing(
    made: Path, requirements: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _answer(made) == "42"
    before = (made / setup.STAMP).stat().st_mtime_ns
    setup.install([requirements], Path(made.parent), made)  # no wheel there: nothing may be asked
    assert (made / setup.STAMP).stat().st_mtime_ns == before
    output = capfd.readouterr()
    assert "Already set up" in output.err
    assert output.out == ""


def test_changed_requirements_are_installed_again(
    made: Path, wheelhouse: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "requirements.txt"
    changed.write_text("ragdoc_probe\nragdoc_second\n")
    with pytest.raises(ConfigError, match="pip could not install") as caught:
        setup.install([changed], wheelhouse, made)
    assert "--wheelhouse" in caught.value.remedy
    _wheel(wheelhouse, "ragdoc_second", "")
    setup.install([changed], wheelhouse, made)
    assert _answer(made) == "42"


def test_a_half_made_environment_is_made_anew(made: Path) -> None:
    assert _answer(made) == "42"
    assert not (made / "left over").exists()


@pytest.mark.parametrize("lost", ["pyvenv.cfg", "lib/python*/site-packages/pip"])
def test_an_environment_that_lost_a_part_is_made_anew(
    made: Path, requirements: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    (part,) = made.glob(lost)
    away = part.rename(made / "away")
    remade: list[Path] = []
    monkeypatch.setattr(setup, "_make", remade.append)
    for step in ("_pip", "_compile"):
        monkeypatch.setattr(setup, step, lambda *_: None)
    setup.install([requirements], None, made)
    away.rename(part)
    assert remade == [made]


def test_a_wheelhouse_that_is_no_folder_is_refused(tmp_path: Path, requirements: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        setup.install([requirements], tmp_path / "absent", tmp_path / ".venv")


@pytest.mark.parametrize(
    ("system", "package"),
    [
        ("id=debian", "apt-get install python3-venv"),
        ("id=linuxmint\nid_like=ubuntu", "apt-get install python3-venv"),
        ("id=fedora", "dnf install python3-libs"),
        ("id=alpine", "apk add"),
        ("", "python.org"),
    ],
)
def test_where_python_lacks_venv_the_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    requirements: Path,
    system: str,
    package: str,
) -> None:
    monkeypatch.setattr(setup, "_os_release", lambda: system)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ensurepip" else name
    )
    with pytest.raises(ConfigError, match="has no ensurepip") as caught:
        setup.install([requirements], None, tmp_path / ".venv")
    assert package in caught.value.remedy
    assert not (tmp_path / ".venv").exists()


# --- hand-over -----------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project without its environment."""
    target = tmp_path / "project"
    target.mkdir()
    for name in ("rag_server.py", "requirements.txt"):
        shutil.copy(REPOSITORY / name, target)
    shutil.copytree(
        REPOSITORY / "helpers", target / "helpers", ignore=shutil.ignore_patterns("__pycache__")
    )
    return target


def _launch(copy: Path, *flags: str) -> subprocess.CompletedProcess[bytes]:
    words = [*BARE, str(copy / "rag_server.py"), "--data-dir", str(copy.parent / "state"), *flags]
    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def test_without_an_environment_the_door_names_the_command_that_makes_one(copy: Path) -> None:
    done = _launch(copy)
    assert done.returncode == 3
    assert b"python3 rag_server.py --setup" in done.stderr
    assert done.stdout == b""


def test_a_bare_python_goes_on_with_the_environment_beside_the_scripts(copy: Path) -> None:
    python = setup.venv_python(copy / ".venv")
    python.parent.mkdir(parents=True)
    # Not a link: an interpreter finds its packages from where it is started.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = _launch(copy)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""


def test_an_environment_that_cannot_import_mcp_is_tried_once(copy: Path) -> None:
    python = setup.venv_python(copy / ".venv")
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    done = _launch(copy)
    assert done.returncode == 3
    assert b"incomplete" in done.stderr and b"--setup" in done.stderr


def test_a_python_too_old_to_import_the_helpers_is_told_or_handed_over(copy: Path) -> None:
    pretend = "import sys, runpy; sys.version_info = (3, 9, 18); del sys.argv[0]; "
    code = pretend + "runpy.run_path(sys.argv[0], run_name='__main__')"
    words = [sys.executable, "-c", code, str(copy / "rag_server.py"), "--version"]
    told = subprocess.run(words, capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (3, "")
    assert "needs Python 3.10 or later" in told.stderr
    python = setup.venv_python(copy / ".venv")
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    assert subprocess.run(words, capture_output=True, text=True).stdout.startswith("RagDoc ")


def test_help_version_and_print_config_need_no_package(copy: Path) -> None:
    assert _launch(copy, "--help").stdout.startswith(b"examples:\n")
    assert _launch(copy, "--version").stdout.startswith(b"RagDoc ")
    assert b"mcpServers" in _launch(copy, "--print-config", "cursor").stdout


def test_a_model_that_cannot_be_had_is_a_warning_with_the_way_to_add_it_later(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    environ = {"RAGDOC_DATA_DIR": str(tmp_path / "state")}
    (tmp_path / "empty").mkdir()
    settings = config.resolve(None, environ)
    python = Path(sys.executable)
    assert not setup.install_model(python, settings, tmp_path / "empty")
    said = capfd.readouterr()
    assert "Warning" in said.err and "found by their words alone" in said.err
    assert "python3 semantic_worker.py --install [--from FOLDER]" in said.err
    assert not said.out and "Traceback" not in said.err


@pytest.mark.parametrize("flag", ["SEMANTIC", "SEMANTIC_MODEL_DIR"])
def test_no_model_is_installed_where_none_is_wanted_or_another_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model's install was started")

    monkeypatch.setattr(subprocess, "run", refuse)
    environ = {"RAGDOC_DATA_DIR": str(tmp_path / "state"), f"RAGDOC_{flag}": "off"}
    assert setup.install_model(Path(sys.executable), config.resolve(None, environ))
