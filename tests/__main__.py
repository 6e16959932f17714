"""`python3 -m tests [pytest arguments]`: install what the tests need, then run them.

Needs nothing but Python 3.10 and, the first time, its package registry. Without arguments, where
there are two processors or more, two halves run at once, since most tests keep one busy;
`.venv/bin/python -m pytest` runs them all in one process. `--trust` runs every point of
tests/trust instead of a sample and records the outcome in docs/trust.md; `--conformance` runs the
protocol's own suites instead, which need Node and the npm registry.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from helpers import setup  # noqa: E402 (the path comes first)
from helpers.errors import RagDocError  # noqa: E402

TRUST = "--trust"
CONFORMANCE = "--conformance"
RECORD = PROJECT / "docs" / "trust.md"
# Half of the work. The browser comes last: the others begin with scans, which take both cores.
APART = ("extract", "semantic", "recognize", "server", "sync", "browser")
OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def main(words: list[str]) -> int:
    """Returns pytest's exit code, or 3 where the installation failed."""
    try:
        python = setup.install([setup.REQUIREMENTS, PROJECT / "tests" / "requirements.txt"])
    except RagDocError as error:
        print(f"python3 -m tests: {error}", file=sys.stderr)
        return error.exit_code
    os.chdir(PROJECT)
    # Bytecode of the tests (8 s) and of what they start is kept, where .gitignore names it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    arguments = [word for word in words if word not in (TRUST, CONFORMANCE)]
    if TRUST in words:
        return _trust(python, arguments)
    if not words and (os.cpu_count() or 1) > 1:
        return _halves([str(python), "-m", "pytest"])
    if CONFORMANCE in words:
        arguments = ["tests/server/conformance.py", *arguments]
    command = [str(python), "-m", "pytest", *arguments]
    sys.stderr.flush()
    if os.name == "nt":
        return subprocess.run(command, check=False).returncode
    os.execv(python, command)


def _halves(pytest: list[str]) -> int:
    """Run the folders named APART beside all others; their report follows the others'."""
    apart = [f"tests/{name}" for name in APART]
    rest = ["tests", *(f"--ignore={folder}" for folder in apart)]
    with tempfile.TemporaryFile() as report:
        print(f"# all but {' '.join(apart)}, which come after", flush=True)
        with subprocess.Popen([*pytest, *apart], stdout=report, stderr=report) as beside:
            code = subprocess.run([*pytest, *rest], check=False).returncode
        report.seek(0)
        print(f"\n# {' '.join(apart)}", flush=True)
        shutil.copyfileobj(report, sys.stdout.buffer)
    print(f"\n# {'not all' if code or beside.returncode else 'all'} passed", flush=True)
    return code or beside.returncode


def _trust(python: Path, arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["tests/trust", "--points", "all", f"--junitxml={report}"]
        words += ["-o", "junit_family=xunit1", *arguments]
        code = subprocess.run([str(python), "-m", "pytest", *words], check=False).returncode
        if report.exists():
            RECORD.write_text(_record(report), encoding="utf-8")
            print(f"Recorded in {RECORD}", file=sys.stderr)
    return code


def _record(report: Path) -> str:
    """docs/trust.md from pytest's report: every test, its outcome, how many cases it took (where
    it says so), its seconds."""
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    files: dict[str, list[str]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for case in suite.iter("testcase"):
        outcome = next((OUTCOMES[item.tag] for item in case if item.tag in OUTCOMES), "passed")
        counts[outcome] += 1
        name = case.get("name", "").replace("|", "\\|").encode("ascii", "backslashreplace")
        taken = ", ".join(str(item.get("value")) for item in case.iter("property"))
        row = f"| {name.decode()} | {outcome} | {taken} | {float(case.get('time', 0)):.1f} |"
        files[case.get("classname", "")].append(row)
    summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    lines = [
        "# Reliability and security: the full run",
        "",
        f"`python3 -m tests --trust`, {suite.get('timestamp', '')[:10]}, "
        f"{platform.system()} {platform.machine()}, {summary}.",
    ]
    for file, rows in sorted(files.items()):
        lines += [
            "",
            f"## {file}",
            "",
            "| test | outcome | cases | seconds |",
            "|---|---|---|---|",
            *rows,
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
