"""`python3 -m tests [pytest arguments]`: install what the tests need, then run them.

Needs nothing but Python 3.10 and, the first time, its package registry. `--trust` runs every
point of tests/trust instead of a sample; `--conformance` also runs the protocol's own
conformance suites, which need Node 22.19 and the npm registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from helpers import setup  # noqa: E402 (the path comes first)
from helpers.errors import RagDocError  # noqa: E402

TRUST = ("tests/trust", "--points", "all")
CONFORMANCE = ("tests/server/conformance.py",)


def main(words: list[str]) -> int:
    """Returns pytest's exit code, or 3 where the installation failed."""
    try:
        needs = [setup.REQUIREMENTS, PROJECT / "tests" / "requirements.txt"]
        python = setup.install(needs)
    except RagDocError as error:
        print(f"python3 -m tests: {error}", file=sys.stderr)
        return error.exit_code
    arguments = [word for word in words if word not in ("--trust", "--conformance")]
    if "--trust" in words:
        arguments = [*TRUST, *arguments]
    if "--conformance" in words:
        arguments = [*CONFORMANCE, *arguments]
    command = [str(python), "-m", "pytest", *arguments]
    sys.stderr.flush()
    if os.name == "nt":
        return subprocess.run(command, check=False, cwd=PROJECT).returncode
    os.chdir(PROJECT)
    os.execv(python, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
