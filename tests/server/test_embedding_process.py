"""The server and its embedding process: started by a search, shared, gone with the server."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rag_search
import rag_server
from helpers import limits
from helpers.config import Settings
from helpers.embedding import Models
from helpers.semantic import client
from tests.semantic.asking import acting, wait_until_gone
from tests.semantic.conftest import packed, pinned, tiny_models  # noqa: F401 (fixtures)
from tests.semantic.standin import synced
from tests.server.session import SERVER, Session
from tests.sync.stage import stage_in


def children(pid: int) -> list[int]:
    """The processes that `pid` started, by the system's own list."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for file in found for word in file.read_text().split()]


def search(session: Session, **arguments: Any) -> dict[str, Any]:
    call = {"name": "rag_search", "arguments": arguments}
    result = session.request("tools/call", call)["result"]
    return dict(result["structuredContent"])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of child processes")
def test_one_process_starts_with_the_first_search_and_ends_with_the_server(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
) -> None:
    stage = stage_in(tmp_path)
    (tmp_path / "docs").rename(tmp_path / "library")
    settings = replace(stage.settings, models_dir=tiny_models, knowledge_dir=tmp_path / "library")
    (tmp_path / "library" / "fees.txt").write_text("The late fee is 300 baht.")
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    environment = {"RAGDOC_MODELS_DIR": str(tiny_models)}
    with Session(tmp_path, script=SERVER, environment=environment) as session:
        session.open()
        assert children(session.process.pid) == []
        assert search(session, query="late fee", mode="lexical")["mode"] == "lexical"
        assert children(session.process.pid) == []
        assert search(session, query="late fee")["mode"] == "hybrid"
        (pid,) = children(session.process.pid)
        assert search(session, query="a fine")["legs"]["semantic"]["ran"] is True
        assert children(session.process.pid) == [pid]
        assert session.process.stdin is not None
        session.process.stdin.close()
        assert session.process.wait(10) == 0
        assert wait_until_gone(pid)


@pytest.mark.parametrize("asked", [None, 0.0, 7.0])
def test_an_idle_process_stays_thirty_seconds_under_a_server_unless_told_otherwise(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    asked: float | None,
) -> None:
    settings = _library(tmp_path, tiny_models, asked)
    lingers: list[float | None] = []
    given = client.WorkerSlot.worker

    def noted(
        slot: client.WorkerSlot, settings: Any, found: Any, linger: float | None = None
    ) -> client.Worker:
        lingers.append(linger)
        return given(slot, settings, found, linger)

    monkeypatch.setattr(client.WorkerSlot, "worker", noted)
    searches = rag_server._Searches()
    searches.search(settings, {"query": "late fee"})
    searches.close()
    rag_search.search(rag_search.SearchRequest("late fee"), settings)  # as a command line does
    if asked is None:
        assert lingers == [limits.SEMANTIC_LINGER_S, 0.0] and limits.SEMANTIC_LINGER_S == 30
    else:
        assert lingers == [asked, asked]


def test_health_says_while_no_process_is_started_after_one_failed(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = _library(tmp_path, tiny_models)
    served: list[Mapping[str, Any]] = []

    def serve(_: Settings, tools: Mapping[str, Any]) -> int:
        served.append(tools)
        return 0

    monkeypatch.setattr(rag_server, "_serve_stdio", serve)
    folders = ["--knowledge-dir", str(settings.knowledge_dir), "--data-dir"]
    assert rag_server.main([*folders, str(settings.data_dir)]) == 0
    search, health = (served[0][name] for name in ("rag_search", "rag_health"))
    assert health(settings, {})["semantic"]["ready"]
    with monkeypatch.context() as broken:
        acting(broken, "os._exit(9)")
        leg = search(settings, {"query": "late fee"})["legs"]["semantic"]
    told = health(settings, {})
    assert not leg["ran"] and not told["ok"] and not told["semantic"]["ready"]
    (problem,) = told["problems"]
    assert problem["code"] == "embedding_stopped" and problem["what"] == leg["reason"]
    assert told["semantic"]["reason"] == problem["what"] and problem["remedy"]
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)  # the minute is over
    assert health(settings, {})["semantic"]["ready"]


def test_a_search_on_a_command_line_leaves_no_process_behind(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
) -> None:
    settings = _library(tmp_path, tiny_models)
    before = children(os.getpid())
    found = rag_search.search(rag_search.SearchRequest("late fee"), settings)
    assert found["mode"] == "hybrid"
    assert children(os.getpid()) == before


def _library(folder: Path, models: Path, linger: float | None = None) -> Settings:
    """One document with its vectors."""
    stage = stage_in(folder)
    stage.write("fees.txt", "The late fee is 300 baht.")
    settings = replace(stage.settings, models_dir=models, semantic_linger=linger)
    assert synced(stage, Models(), settings=settings)["status"] == "done"
    return settings
