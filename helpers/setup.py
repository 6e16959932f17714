"""`--setup`: a `.venv` beside the scripts with what requirements.txt names, the semantic model,
and the demo.

Promises: runs on a bare Python 3.10 or later; done twice, the second time is instant and
needs no network; a half-made or broken `.venv` is made anew; every step says what it does on
standard error; where Python comes without venv or ensurepip, the error names the package to
install; a model that cannot be had is a warning, since keywords work without it. `hand_over`
gives the process to the `.venv`'s Python, once.
Does not: touch anything but `.venv`, the models folder and, for the demo, the data directory's
`demo` folder; pick packages: requirements.txt does.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import environment
from helpers.config import PROJECT, Settings
from helpers.errors import ConfigError
from helpers.files import private_dir, write_json

VENV = Path(environment.VENV)
REQUIREMENTS = PROJECT / "requirements.txt"
WORKER = PROJECT / "semantic_worker.py"
OLDEST_PYTHON = (3, 10)
STAMP = "ragdoc-setup.json"
REMEDY = "Run: python3 rag_server.py --setup"
QUESTIONS = (
    "How many days of paid leave does a new employee get?",
    "출장비는 며칠 안에 정산해야 하나요?",
    "ต้องแจ้งลาป่วยภายในกี่ชั่วโมง",
)
DEMO_RESULTS = 1  # results shown per question
DEMO_TEXT_CHARS = 400  # code points of a passage shown to a person


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """`--setup`, then `--demo` where asked. Returns an exit code; raises ConfigError."""
    wheelhouse = Path(arguments.wheelhouse).expanduser() if arguments.wheelhouse else None
    python = install([REQUIREMENTS], wheelhouse)
    install_model(python, settings, wheelhouse)
    if arguments.demo:
        return demo(settings, arguments.json)
    say("Next: python3 rag_server.py --print-config CLIENT --knowledge-dir YOUR-FOLDER")
    return 0


def say(text: str) -> None:
    """A progress line on standard error."""
    print(text, file=sys.stderr, flush=True)


# --- the interpreter -----------------------------------------------------------------------


def venv_python(venv: Path = VENV) -> Path:
    """Where the interpreter of `venv` is, whether or not it exists."""
    return Path(environment.python_of(str(venv)))


def project_python() -> Path:
    """The `.venv`'s interpreter where there is one, else the running one; absolute."""
    return venv_python() if venv_python().exists() else Path(os.path.abspath(sys.executable))


def sdk_present() -> bool:
    """Whether this interpreter can import the MCP library of the generation that is used."""
    return all(importlib.util.find_spec(name) for name in ("mcp", "mcp_types"))


def hand_over(script: Path, words: Sequence[str]) -> int:
    """Go on with the `.venv`'s Python. Returns only where a process cannot be replaced.

    Raises ConfigError where there is no `.venv`, or where it is the one already running.
    """
    python = venv_python()
    if environment.HANDED_OVER in sys._xoptions or not python.exists():
        state = f"{VENV} is incomplete" if python.exists() else "RagDoc is not set up"
        raise ConfigError(f"{state}: the package mcp cannot be imported", REMEDY)
    command = [str(python), "-X", environment.HANDED_OVER, str(script), *words]
    if os.name != "nt":
        try:
            os.execv(python, command)
        except OSError as error:
            raise ConfigError(f"{python} does not start: {error.strerror}", REMEDY) from error
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130


# --- installing ----------------------------------------------------------------------------


def install(
    requirements: Sequence[Path], wheelhouse: Path | None = None, venv: Path = VENV
) -> Path:
    """Make `venv` hold `requirements`; returns its interpreter. Raises ConfigError."""
    if sys.version_info < OLDEST_PYTHON:
        raise ConfigError(
            f"Python {sys.version.split()[0]} is too old", "Use Python 3.10 or later."
        )
    if wheelhouse is not None and not wheelhouse.is_dir():
        raise ConfigError(f"--wheelhouse {wheelhouse} is no folder", "Give a folder of wheels.")
    python, wanted = venv_python(venv), {str(path): _digest(path) for path in requirements}
    stamp = _stamp(venv)
    if not _works(python) or stamp.get("python", _version(python)) != _version(python):
        _make(venv)
        stamp = {}
    done: dict[str, str] = stamp.get("installed", {})
    missing = [path for path in requirements if done.get(str(path)) != wanted[str(path)]]
    if not missing:
        say(f"Already set up: {venv}")
        return python
    _pip(python, missing, wheelhouse)
    _compile(python)
    write_json(venv / STAMP, {"python": _version(python), "installed": done | wanted})
    say(f"Set up: {venv}")
    return python


def install_model(python: Path, settings: Settings, wheelhouse: Path | None = None) -> bool:
    """Install the embedded semantic model with `python`; False, after a warning, where it fails.

    A folder of wheels is asked instead of the network.
    """
    if settings.semantic == "off" or settings.semantic_model_dir is not None:
        why = "--semantic off" if settings.semantic == "off" else "--semantic-model-dir"
        say(f"No semantic model is installed: {why} was given")
        return True
    command = [str(python), str(WORKER), "--install", "--data-dir", str(settings.data_dir)]
    if wheelhouse is not None:
        command += ["--from", str(wheelhouse.resolve())]
    if subprocess.run(command, check=False, stdout=2).returncode == 0:
        return True
    say(
        "Warning: the semantic model is not installed, so documents are found by their words "
        "alone. The lines above say why. To add it later, with or without a network: "
        "python3 semantic_worker.py --install [--from FOLDER]"
    )
    return False


def _make(venv: Path) -> None:
    base = getattr(sys, "_base_executable", None) or sys.executable
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise ConfigError(f"This Python has no {module}", _package_remedy(_os_release()))
    if venv.exists() or venv.is_symlink():
        say(f"{venv} is incomplete or another Python's; making it anew")
        venv.unlink() if venv.is_symlink() else shutil.rmtree(venv)
    say(f"Making {venv} with Python {sys.version.split()[0]}")
    if subprocess.run([base, "-m", "venv", str(venv)], check=False, stdout=2).returncode:
        shutil.rmtree(venv, ignore_errors=True)
        raise ConfigError(f"{venv} could not be made", _package_remedy(_os_release()))


def _pip(python: Path, requirements: Sequence[Path], wheelhouse: Path | None) -> None:
    names = [name for path in requirements for name in _names(path)]
    say(f"Installing {', '.join(names)}" + (f" from {wheelhouse}" if wheelhouse else ""))
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off"]
    if wheelhouse is not None:
        command += ["--no-index", "--find-links", str(wheelhouse.resolve())]
    for path in requirements:
        command += ["-r", str(path)]
    # pip writes to standard output, which belongs to data.
    if subprocess.run(command, check=False, stdout=2).returncode:
        raise ConfigError(
            "pip could not install the packages; its lines above say why",
            "Check the network and run it again, or copy the wheels into a folder on another "
            "machine (pip download -r requirements.txt -d DIR) and give --wheelhouse DIR.",
        )


def _compile(python: Path) -> None:
    """Compile the project once: a search then starts 50 ms sooner, even where the environment
    forbids Python to keep bytecode by itself."""
    sources = [str(path) for path in (PROJECT / "helpers", *sorted(PROJECT.glob("rag_*.py")))]
    command = [str(python), "-m", "compileall", "-q", *sources]
    subprocess.run(command, check=False, stdout=2, stderr=subprocess.DEVNULL)


def _works(python: Path) -> bool:
    if not python.exists() or not (python.parent.parent / "pyvenv.cfg").exists():
        return False
    try:
        probe = [str(python), "-c", "import pip"]
        return not subprocess.run(probe, check=False, capture_output=True).returncode
    except OSError:
        return False


def _version(python: Path) -> str:
    """`3.12`-like version of an interpreter, or "" where it does not start."""
    if Path(os.path.abspath(sys.executable)) == python:
        return "{}.{}".format(*sys.version_info[:2])
    try:
        probe = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        return subprocess.run(probe, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _stamp(venv: Path) -> dict[str, Any]:
    try:
        value = json.loads((venv / STAMP).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()


def _names(requirements: Path) -> list[str]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [entry.strip() for entry in lines if entry.strip() and not entry.startswith("#")]


def _os_release() -> str:
    try:
        return Path("/etc/os-release").read_text(encoding="utf-8").lower()
    except OSError:
        return ""


def _package_remedy(os_release: str) -> str:
    version = "{}.{}".format(*sys.version_info[:2])
    if "debian" in os_release or "ubuntu" in os_release:
        command = f"sudo apt-get install python3-venv (or python{version}-venv)"
    elif "fedora" in os_release or "rhel" in os_release:
        command = "sudo dnf install python3-libs python3-pip"
    elif "suse" in os_release:
        command = f"sudo zypper install python{version.replace('.', '')}-base"
    elif "alpine" in os_release:
        command = "sudo apk add python3 py3-pip"
    else:
        command = "a full Python 3.10 or later from your system's packages or python.org"
    return f"Install it ({command}), then run --setup again."


# --- the demo ------------------------------------------------------------------------------


def demo(settings: Settings, as_json: bool) -> int:
    """Index the examples, ask a question in each language, show answers and citations."""
    examples = PROJECT / "docs" / "examples"
    if not examples.is_dir():
        raise ConfigError(f"{examples} is missing", "Clone the project again.")
    state = private_dir(settings.data_dir) / "demo"
    shared = ["--knowledge-dir", str(examples), "--data-dir", str(state)]
    say(f"Indexing {examples}")
    _step("rag_sync.py", *shared, "--json")
    answers = []
    for question in QUESTIONS:
        limit = ("--limit", str(DEMO_RESULTS))
        found = json.loads(_step("rag_search.py", *shared, "--json", *limit, "--", question))
        answers += [
            {key: result[key] for key in ("path", "location", "text")} | {"query": question}
            for result in found["results"]
        ]
    if as_json:
        print(json.dumps([_ordered(answer) for answer in answers], ensure_ascii=False, indent=1))
        return 0
    for answer in answers:
        text = answer["text"]
        print(f"\n? {answer['query']}\n  {answer['path']}, {answer['location']['label']}")
        shown = text[:DEMO_TEXT_CHARS] + ("…" if len(text) > DEMO_TEXT_CHARS else "")
        print("  | " + "\n  | ".join(filter(None, shown.splitlines())))
    print("\nConnect a client to your own folder:")
    print("  python3 rag_server.py --print-config claude-desktop --knowledge-dir YOUR-FOLDER")
    print("  (or claude-code, cursor, vscode, lm-studio)")
    return 0


def _ordered(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: answer[key] for key in ("query", "path", "location", "text")}


def _step(script: str, *words: str) -> str:
    """Standard output of one of the project's scripts under the project's Python."""
    command = [str(project_python()), str(PROJECT / script), *words]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise ConfigError(f"{script} ended with {done.returncode}", "Its lines above say why.")
    return done.stdout
