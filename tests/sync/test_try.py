"""`rag_sync.py --try FILE`: what would be indexed of one file, and what hinders."""

from __future__ import annotations

import json
import re

import pytest

from tests.sync.stage import Stage


def test_a_text_is_printed_chunk_by_chunk_with_its_place(stage: Stage) -> None:
    file = stage.write("plan.md", "# Budget\n\nThe pipe costs 46 won.\n")
    done = stage.run("rag_sync.py", "--try", str(file))
    assert done.returncode == 0
    assert "plan.md: md, 33 bytes" in done.stdout
    assert re.search(r"\[1\] .+\n.*The pipe costs 46 won\.", done.stdout, re.DOTALL)
    assert re.search(r"1 chunk in \d+\.\d\d s", done.stdout)


def test_json_is_one_value_with_time_memory_and_locations(stage: Stage) -> None:
    file = stage.write("표.csv", "품목,수량\n강관,46\n".encode("cp949"))
    done = stage.run("rag_sync.py", "--try", str(file), "--json")
    found = json.loads(done.stdout)
    assert (found["format"], found["code"], found["path"]) == ("csv", None, "표.csv")
    assert found["encoding"] == "EUC-KR"
    assert found["chunks"][0]["location"]["label"]
    assert found["seconds"] > 0
    assert found["peak_bytes"] is None or found["peak_bytes"] > 1_000_000


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("nothing.txt", b"", "empty"),
        ("film.mp4", b"\0\0\0 ftypisom\0\0\0\0", "unsupported"),
        ("broken.docx", b"PK\x03\x04 cut off", "corrupt"),
        ("key.pem", b"-----BEGIN PRIVATE KEY-----", "sensitive"),
        (".hidden.md", b"text", "hidden"),
        ("note.md", b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n" * 9, "sensitive"),
    ],
)
def test_a_file_without_text_says_why_and_ends_with_1(
    stage: Stage, name: str, content: bytes, code: str
) -> None:
    done = stage.run("rag_sync.py", "--try", str(stage.write(name, content)), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["code"], found["chunks"]) == (1, code, [])
    assert found["reason"]


def test_what_is_no_file_is_wrong_usage(stage: Stage) -> None:
    stage.write("a.md", "text")
    for path in (stage.docs, stage.docs / "absent.md"):
        done = stage.run("rag_sync.py", "--try", str(path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "is no file" in done.stderr


def test_nothing_is_written(stage: Stage) -> None:
    file = stage.write("a.md", "text")
    stage.run("rag_sync.py", "--try", str(file))
    assert not (stage.state / "ragdoc.sqlite3").exists()
