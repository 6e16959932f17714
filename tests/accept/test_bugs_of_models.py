"""Faults that people reported of embedding models in systems of this kind; see test_bugs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import config
from helpers.semantic import client
from tests.semantic import tiny
from tests.semantic.conftest import packed, pinned, tiny_models  # noqa: F401 (fixtures)
from tests.semantic.standin import StandIn, synced
from tests.server.session import SERVER, Session
from tests.sync.stage import Stage, stage_in

ALONE = ["unshare", "--map-root-user", "--net"]  # starts a process that has no network


@pytest.fixture(scope="module")
def offline() -> list[str]:
    """How to start a process without a network, where the system lets one do so."""
    probe = [*ALONE, "true"] if shutil.which("unshare") else ["false"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody start a process without a network")
    return ALONE


def test_b37_vectors_of_another_size_are_replaced_and_words_answer_meanwhile(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
) -> None:
    stage = stage_in(tmp_path)
    stage.write("fees.txt", "The fee for late payment is 300 baht.")
    stage.write("leave.txt", "New employees get ten days of paid leave.")
    synced(stage, StandIn(tmp_path / "log", "small", dimension=24))
    assert stage.rows("SELECT dimension, chunks FROM generation") == [(24, 2)]
    environment = os.environ | {"RAGDOC_MODELS_DIR": str(tiny_models)}

    def search() -> dict[str, object]:
        done = stage.run("rag_search.py", "late fee", "--json", env=environment)
        assert done.returncode == 0, done.stderr
        answer: dict[str, object] = json.loads(done.stdout)
        assert [r["path"] for r in answer["results"]][:1] == ["fees.txt"]  # type: ignore[attr-defined]
        return answer

    before = search()
    assert before["mode"] == "lexical"
    assert "vectors" in before["legs"]["semantic"]["reason"]  # type: ignore[index]
    assert stage.sync(env=environment)["exit_code"] == 0
    assert stage.rows("SELECT dimension, chunks FROM generation") == [(384, 2)]
    assert search()["mode"] == "hybrid"


def test_b38_a_model_of_the_hugging_face_cache_is_used_without_a_network(
    tmp_path: Path,
    packed: bytes,  # noqa: F811
    offline: list[str],
) -> None:
    stage = stage_in(tmp_path)
    (tmp_path / "library").symlink_to(stage.docs)
    stage.write("fees.txt", "The fee for late payment is 300 baht.")
    cache = tmp_path / "hub"
    model = "models--sentence-transformers--paraphrase-multilingual-MiniLM-L12-v2"
    tiny.export(cache / model / "snapshots" / "abc", packed)
    environment = os.environ | {
        "HF_HUB_CACHE": str(cache),
        "RAGDOC_MODELS_DIR": str(tmp_path / "models"),
    }
    for words in (["rag_sync.py", "--json", "--quiet"], ["rag_search.py", "late fee", "--json"]):
        done = subprocess.run(
            [*offline, *stage.command(*words)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["mode"] == "hybrid", answer["legs"]["semantic"]
    assert answer["results"][0]["path"] == "fees.txt"
    settings = config.resolve(None, environment)
    assert client.status(settings).ready


def test_b38_a_server_without_a_network_answers_by_meaning(
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    offline: list[str],
) -> None:
    stage = Stage(tmp_path)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "fees.txt").write_text("The fee for late payment is 300 baht.")
    launch = tmp_path / "launch.py"
    launch.write_text(
        f"import os, sys\nprefix = {[*offline]!r}\n"
        f"words = [sys.executable, {str(SERVER)!r}, *sys.argv[1:]]\n"
        "os.execvp(prefix[0], prefix + words)\n"
    )
    environment = {"RAGDOC_MODELS_DIR": str(tiny_models)}
    sync = ["--knowledge-dir", str(tmp_path / "library"), "--data-dir", str(stage.state)]
    done = subprocess.run(
        [*offline, *stage.command("rag_sync.py", "--quiet")[:2], *sync],
        env=os.environ | environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with Session(tmp_path, script=launch, environment=environment) as session:
        session.open()
        call = {"name": "rag_search", "arguments": {"query": "late fee"}}
        found = session.request("tools/call", call)["result"]["structuredContent"]
    assert found["mode"] == "hybrid" and found["results"][0]["path"] == "fees.txt"
