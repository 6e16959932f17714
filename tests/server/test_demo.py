"""The demo indexes the examples and answers a question in each language, with citations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.server.session import REPOSITORY

EXPECTED = {  # path → what the passage must say
    "employee-handbook.docx": "15 days of paid leave",
    "출장비 규정.pdf": "정산하여야 한다",
    "ระเบียบการลา.pdf": "2 ชั่วโมง",
}


def _demo(state: Path, *flags: str) -> subprocess.CompletedProcess[bytes]:
    """What `--setup --demo` does after it has installed."""
    code = (
        "import sys; from helpers import config, setup; from pathlib import Path; "
        "settings = config.resolve(None, {'RAGDOC_DATA_DIR': sys.argv[1]}); "
        "sys.exit(setup.demo(settings, '--json' in sys.argv))"
    )
    words = [sys.executable, "-c", code, str(state), *flags]
    return subprocess.run(words, capture_output=True, cwd=REPOSITORY, timeout=120)


def test_the_demo_as_json_is_one_value_with_a_citation_for_each_language(tmp_path: Path) -> None:
    done = _demo(tmp_path / "state", "--json")
    assert done.returncode == 0, done.stderr.decode()
    answers = json.loads(done.stdout)
    assert {answer["path"] for answer in answers} == set(EXPECTED)
    for answer in answers:
        assert list(answer) == ["query", "path", "location", "text"]
        assert answer["location"]["label"]
        assert EXPECTED[answer["path"]] in " ".join(answer["text"].split())


def test_the_demo_for_a_person_says_how_to_connect_a_client(tmp_path: Path) -> None:
    done = _demo(tmp_path / "state")
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    for path in EXPECTED:
        assert path in text
    assert "--print-config claude-desktop" in text
    if os.name == "posix":
        assert (tmp_path / "state").stat().st_mode & 0o077 == 0
