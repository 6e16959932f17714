"""The MCP door over tools that need no index: what the transport's tests start.

Queries steer it: `noise` prints from Python, C and a child; `block` never returns; `crash`
raises; `mend` raises an error with a remedy; anything else is answered, the query inside.
"""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import rag_server
from helpers.config import Settings
from helpers.errors import UsageError
from helpers.mcp_reply import Tool

TEXT = "The fee is 40 baht.\nค่าธรรมเนียม 40 บาท\n수수료는 40바트"


def answer(query: str, text: str = TEXT) -> dict[str, Any]:
    """An Answer of one result whose text is `text`."""
    location = {"kind": "page", "label": "p. 3", "page": 3}
    result = {
        **{"rank": 1, "kb_id": "default", "chunk_id": "default:abc", "path": "ก/fees.pdf"},
        **{"absolute_path": "/library/ก/fees.pdf", "title": "Fees", "location": location},
        **{"text": text, "highlights": [[4, 7]], "score": 0.9, "matched_by": ["keyword"]},
        **{"modified": "2024-05-01T00:00:00Z", "untrusted": True},
    }
    index = {"synced_at": None, "documents": 1, "chunks": 1, "embedded_fraction": 0}
    return {
        **{"query": query, "kb_ids": ["default"], "mode": "lexical", "results": [result]},
        "legs": {"keyword": {"ran": True, "hits": 1, "ms": 0.4}},
        **{"index": {**index, "unread_files": 0}, "truncated": False, "more": 0},
    }


def search(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    query = given["query"]
    if query == "noise":
        print("noise from Python")
        if sys.__stdout__:
            print("noise from the first stdout", file=sys.__stdout__, flush=True)
        os.write(1, b"noise from descriptor 1\n")
        ctypes.CDLL(None).puts(b"noise from C")
        ctypes.CDLL(None).fflush(None)
        subprocess.run([sys.executable, "-c", "print('noise from a child')"], check=True)
        logging.getLogger("some.library").warning("noise from a library's log")
    elif query == "block":
        threading.Event().wait()
    elif query == "child eats stdin":
        code = "import sys; sys.exit(len(sys.stdin.buffer.read()))"
        return answer(str(subprocess.run([sys.executable, "-c", code], check=False).returncode))
    elif query == "crash":
        raise ZeroDivisionError("secret detail")
    elif query == "mend":
        raise UsageError("The index is closed", "Open it and call again.")
    elif query.startswith("file:"):
        return answer(query, Path(query[5:]).read_bytes().decode("utf-8", "surrogateescape"))
    return answer(query)


def chunk(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if given["chunk_id"] != "default:abc":
        raise UsageError(f"There is no chunk {given['chunk_id']!r}", "Search again.")
    one = {"chunk_id": "default:abc", "location": {"kind": "page", "label": "p. 3"}}
    found = {**one, "text": TEXT, "untrusted": True}
    return {"chunk_id": "default:abc", "kb_id": "default", "path": "ก/fees.pdf", "chunks": [found]}


def job(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if given.get("job_id", "j1") != "j1":
        raise UsageError(f"There is no job {given['job_id']!r}", "Call sync_status without job_id.")
    return {
        **{"job_id": "j1", "kb_id": "default", "status": "running", "phase": "files"},
        **{"progress_percent": 40, "completed_files": 4, "current_file": "ก.txt"},
        "failures": [{"path": "x.pdf", "code": "encrypted", "reason": "locked", "remedy": "open"}],
    }


def health(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **{"kb_id": "default", "ok": True, "problems": [], "formats": {"txt": "ok"}},
        **{"source": {"dir": "/library", "readable": True}, "semantic": {"ready": False}},
        **{"index": {"path": "/state/i.sqlite3", "documents": 1, "chunks": 1}},
        **{"files": {"ready": 1}, "unread": [], "active_job": None},
    }


def bases(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    base = {"kb_id": "default", "name": "default", "documents": 1, "chunks": 1, "status": "ready"}
    return {"result": [base]}


def changes(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    none = {"count": 0, "paths": []}
    return {"added": none, "modified": none, "deleted": none, "failed": none, "clean": True}


def started(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"job_id": "j1", "status": "queued", "poll_after_s": 1}


def cancelled(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"job_id": given["job_id"], "status": "not_running"}


def cleared(settings: Settings, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"cleared": True}


TOOLS: dict[str, Tool] = {
    "rag_search": search,
    "get_document_chunk": chunk,
    "sync_kb": started,
    "sync_status": job,
    "cancel_sync": cancelled,
    "rag_health": health,
    "list_knowledge_bases": bases,
    "check_changes": changes,
    "clear_index": cleared,
}

if __name__ == "__main__":
    sys.exit(rag_server.main(tools=TOOLS))
