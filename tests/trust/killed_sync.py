"""A sync that ends badly on purpose. Run as a script: `killed_sync.py MODE N FLAGS…`.

MODE `statement`: SIGKILL at the N-th SQL statement; `step`: at the N-th 50 virtual-machine
steps; `pages`: the index may grow by N pages; `count`: nothing, print the statements and the
steps of an undisturbed run as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rag_sync

STEPS = 50  # virtual-machine steps between two calls of the progress handler

connect = sqlite3.connect


class Bomb:
    """Counts events and kills the process at the N-th."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def tick(self, *_: object) -> int:
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0


def main(mode: str, number: int, flags: list[str]) -> int:
    """Run the sync under its bomb."""
    statements = Bomb(number if mode == "statement" else 0)
    steps = Bomb(number if mode == "step" else 0)

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        if mode in ("statement", "count"):
            db.set_trace_callback(statements.tick)
        if mode in ("step", "count"):
            db.set_progress_handler(steps.tick, STEPS)
        if mode == "pages":
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            db.execute(f"PRAGMA max_page_count = {pages + number}")
        return db

    sqlite3.connect = connected  # type: ignore[assignment]
    code = rag_sync.main(flags)
    if mode == "count":
        print(json.dumps({"statements": statements.seen, "steps": steps.seen}))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
