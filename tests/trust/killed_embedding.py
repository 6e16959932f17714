"""A sync with a stand-in model that dies while it embeds.

Run as a script it reads [N, LOG, MODEL, FLAGS] as lines of JSON, runs each in a fork of its own
(what takes longest, importing, is done once) and answers [exit code, points seen]. SIGKILL comes
at the N-th SQL statement or request after embedding has begun; 0: never. LOG takes every embedded
text, MODEL is the fingerprint.
"""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rag_sync
from helpers import config, embedding
from helpers.jobs import queue
from helpers.store import vectors
from tests.semantic.standin import StandIn
from tests.trust.killed_sync import Bomb, connect

# Small enough that one run merges, makes heads, and clears what another model left.
BLOCK_ROWS, HEAD_FROM = 16, 20


def main() -> None:
    """Answer lines until there are none."""
    for line in sys.stdin:
        mine, theirs = os.pipe()
        process = os.fork()
        if not process:
            _exploding(theirs, *json.loads(line))
        os.close(theirs)
        with os.fdopen(mine) as file:
            seen = int(file.read() or 0)
        _, status = os.waitpid(process, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), seen]), flush=True)


def _exploding(answer: int, number: int, log: str, fingerprint: str, flags: list[str]) -> None:
    """A fork's whole life."""
    code = 1
    try:
        seen = run(number, log, fingerprint, flags)
        os.write(answer, str(seen).encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def run(number: int, log: str, fingerprint: str, flags: list[str]) -> int:
    """Run the sync under its bomb; the points seen."""
    bomb = Bomb(number)
    armed: list[bool] = []

    def tick(*_: object) -> None:
        if armed:
            bomb.tick()

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        db.set_trace_callback(tick)
        return db

    def embed(*arguments: Any, **options: Any) -> Any:
        armed.append(True)
        return embedding.embed(*arguments, **options)

    sqlite3.connect = connected  # type: ignore[assignment]
    rag_sync.embed = embed  # type: ignore[attr-defined]
    vectors.BLOCK_ROWS, vectors.SPARSE_ROWS = BLOCK_ROWS, BLOCK_ROWS // 2
    vectors.CLEARED_BLOCKS, vectors.CLEARED_CHUNKS = 2, 10
    embedding.HEAD_FROM, embedding.COMMIT_S = HEAD_FROM, 0.0
    models = StandIn(Path(log), fingerprint)
    models.during = tick
    parser = rag_sync._parser()
    settings = config.resolve(parser.parse_args(flags))
    outcome = queue.run_here(settings, functools.partial(rag_sync.sync, settings, models=models))
    assert outcome.exit_code == 0, outcome.state.error
    return bomb.seen


if __name__ == "__main__":
    main()
