"""What the sync tests share: a folder, its state, and the command run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.config import Settings
from helpers.language.terms import Analyser
from helpers.store import database, verify
from tests import doors

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stage:
    """A knowledge folder and a data directory beside each other."""

    folder: Path
    python: str = sys.executable

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def settings(self) -> Settings:
        return Settings(self.docs, self.state, self.state / "ragdoc.sqlite3")

    def write(self, name: str, content: str | bytes) -> Path:
        """Make a document; folders on the way are made too."""
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def command(self, script: str, *words: str) -> list[str]:
        """The command line of one door over this stage."""
        where = ["--knowledge-dir", str(self.docs), "--data-dir", str(self.state)]
        return [self.python, str(ROOT / script), *words, *where]

    def run(
        self, script: str, *words: str, cold: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a door to its end; `cold` with an interpreter of its own (see tests/doors.py)."""
        command = self.command(script, *words)
        cold |= self.python != sys.executable or not options.keys() <= {"env", "timeout"}
        if not cold:
            return doors.run(Path(command[1]), command[2:], **options)
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            **{"timeout": 120, **options},
        )

    def sync(self, *words: str, **options: Any) -> dict[str, Any]:
        """Sync in the foreground; the final Job, with `exit_code` beside its fields."""
        done = self.run("rag_sync.py", "--json", "--quiet", *words, **options)
        assert done.stdout, done.stderr
        job: dict[str, Any] = json.loads(done.stdout)
        return job | {"exit_code": done.returncode}

    def search(self, query: str, *words: str) -> dict[str, Any]:
        """The Answer to `query`."""
        done = self.run("rag_search.py", query, "--json", *words)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def paths(self, query: str, *words: str) -> list[str]:
        """The paths found for `query`, best first."""
        return [result["path"] for result in self.search(query, *words)["results"]]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the index."""
        db = database.open_read(self.settings.db)
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()

    def texts(self) -> dict[str, str]:
        """Path → the text of all its chunks."""
        found: dict[str, str] = {}
        for path, text in self.rows(
            "SELECT path, text FROM chunk JOIN document ON document.id = document_id"
            " ORDER BY path, ordinal"
        ):
            found[path] = f"{found[path]}\n{text}" if path in found else text
        return found

    def digest(self) -> list[tuple[Any, ...]]:
        """What the index holds, ids and times left out: equal for equal content."""
        return self.rows(
            "SELECT path, type, title, size, sha256, fingerprint, state, code, chunks, ordinal,"
            " key, text, context, location, ocr FROM document"
            " LEFT JOIN chunk ON document.id = document_id ORDER BY folder, name, ordinal"
        )

    def problems(self) -> list[dict[str, str]]:
        """Everything that a full verification of the index finds."""
        db = database.open_read(self.settings.db)
        try:
            return verify.problems(db, Analyser(), sample=None)
        finally:
            db.close()

    def failures(self) -> dict[str, str]:
        """Path → code of every unread file."""
        return dict(self.rows("SELECT path, code FROM document WHERE state <> 'ready'"))


def stage_in(folder: Path) -> Stage:
    """An empty stage."""
    stage = Stage(folder)
    stage.docs.mkdir()
    return stage
