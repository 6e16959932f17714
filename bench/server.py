"""The server before anybody asks it anything: time to the first reply, and idle memory.

The baseline is an MCPServer of the same SDK with no tools, in the same interpreter.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import ROOT, Ratio, tree_memory

BARE = "from mcp.server import MCPServer; MCPServer('bare').run()"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
SETTLE_S = 0.5  # seconds after the last reply until memory is read


def handshake(repeats: int = 15) -> list[Ratio]:
    """From exec to the reply to `initialize`, and memory once the tools were listed."""
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        docs.mkdir()
        where = ["--knowledge-dir", str(docs), "--data-dir", str(Path(folder) / "state")]
        ours = [sys.executable, str(ROOT / "rag_server.py"), *where]
        bare = [sys.executable, "-c", BARE]
        timings: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
        for _ in range(repeats):  # in turn, so that a busy moment meets both
            timings["bare"].append(_started(bare))
            timings["ours"].append(_started(ours))
    seconds = {name: statistics.median(s for s, _ in rows) for name, rows in timings.items()}
    memory = {name: statistics.median(m for _, m in rows) for name, rows in timings.items()}
    return [
        Ratio("exec to initialize reply", seconds["ours"], seconds["bare"], "s", 1.15),
        Ratio("idle server memory", memory["ours"], memory["bare"], "MiB", 1.1),
    ]


def _started(command: list[str]) -> tuple[float, float]:
    """(seconds to the first reply, MiB when idle)."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    seconds = time.perf_counter() - begun
    assert reply["id"] == 1 and "result" in reply, reply
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.write(json.dumps(LIST).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()
    time.sleep(SETTLE_S)
    memory = tree_memory(process.pid)
    process.stdin.close()
    process.wait(timeout=30)
    return seconds, memory
