from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rag_sync
from helpers import service
from helpers.errors import Cancelled
from helpers.jobs import state
from helpers.jobs.handle import JobHandle
from helpers.store import database
from tests.sync.stage import Stage


def test_new_changed_touched_and_deleted_files_are_told_apart(stage: Stage) -> None:
    for name in ("keep.md", "change.md", "touch.md", "delete.md"):
        stage.write(name, f"# {name}\n\nThe text of {name}.\n")
    first = stage.sync()
    assert (first["status"], first["added"], first["exit_code"]) == ("done", 4, 0)
    stage.write("change.md", "# change\n\nAnother text.\n")
    os.utime(stage.docs / "touch.md", (1, 1))
    (stage.docs / "delete.md").unlink()
    second = stage.sync()
    counts = {n: second[n] for n in ("added", "updated", "unchanged", "deleted", "failed")}
    assert counts == {"added": 0, "updated": 1, "unchanged": 2, "deleted": 1, "failed": 0}
    assert set(stage.texts()) == {"keep.md", "change.md", "touch.md"}
    assert "Another text." in stage.texts()["change.md"]
    assert stage.problems() == []


def test_final_job_has_every_field_of_the_contract_and_ends_at_100_percent(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.write("empty.txt", "")
    job = stage.sync()
    assert job["progress_percent"] == 100 and job["phase"] == "done"
    assert job["completed_files"] == job["total_files"] == 2
    assert [(f["path"], f["code"]) for f in job["failures"]] == [("empty.txt", "empty")]
    assert job["failures"][0]["reason"]
    assert job["exit_code"] == 1
    saved = json.loads((stage.state / "sync_jobs" / f"{job['job_id']}.json").read_text("utf-8"))
    assert saved["status"] == "done" and saved["failed"] == 1


def test_failure_known_before_is_reported_again_without_being_read_again(stage: Stage) -> None:
    stage.write("bad.docx", b"PK\x03\x04 cut off")
    assert [f["code"] for f in stage.sync()["failures"]] == ["corrupt"]
    for again in (stage.sync(), stage.sync()):
        assert [f["code"] for f in again["failures"]] == ["corrupt"]
        assert (again["updated"], again["unchanged"]) == (0, 1)
    assert stage.sync("--force")["unchanged"] == 0
    stage.write("bad.docx", b"PK\x03\x04 cut off elsewhere")
    assert stage.sync()["unchanged"] == 0


@pytest.mark.parametrize("encoding", ["cp949", "cp874", "ascii"])
def test_every_script_is_printed_whatever_the_terminals_encoding(
    stage: Stage, encoding: str
) -> None:
    name = "ว่าง 비었음.txt"
    stage.write(name, "")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    synced = stage.run("rag_sync.py", "--json", cold=True, env=environment)
    assert [failure["path"] for failure in json.loads(synced.stdout)["failures"]] == [name]
    for words in (("--check",), ("--status",), ("--help",)):
        shown = stage.run("rag_sync.py", *words, cold=True, env=environment)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert name in shown.stdout or words == ("--help",)
    assert stage.run("rag_search.py", "--help", cold=True, env=environment).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_folders_whose_own_names_are_no_utf_8_work(tmp_path: Path) -> None:
    stage = Stage(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff odd")))
    stage.write("a.md", "harbour")
    assert stage.sync()["added"] == 1
    found = json.loads(stage.run("rag_search.py", "harbour", "--json").stdout)
    assert found["results"][0]["absolute_path"] == str(stage.docs / "a.md")
    assert stage.sync()["unchanged"] == 1


class StoppedAfter(JobHandle):
    """A job that somebody cancels once `files` are in."""

    files = 5

    def count(self, **more: int) -> None:
        super().count(**more)
        self._cancelled = self.state().added >= self.files


def test_cancelled_sync_keeps_what_it_says_it_added(stage: Stage) -> None:
    for number in range(40):
        stage.write(f"{number}.txt", f"file {number}")
    (stage.state / "sync_jobs").mkdir(parents=True)
    job = StoppedAfter(stage.settings.jobs_dir, state.new_job("default", state.Request()))
    with pytest.raises(Cancelled):
        rag_sync.sync(stage.settings, job)
    assert 5 <= job.state().added < 40
    assert len(stage.texts()) == job.state().added
    assert stage.problems() == []
    assert stage.sync()["added"] == 40 - job.state().added


class ForceStoppedAfter(StoppedAfter):
    """One that reads known files again, by force."""

    def count(self, **more: int) -> None:
        JobHandle.count(self, **more)
        self._cancelled = self.state().updated >= self.files


@pytest.mark.parametrize("files", [0, 5])
def test_force_that_was_stopped_is_taken_up_by_the_next_sync(stage: Stage, files: int) -> None:
    for number in range(40):
        stage.write(f"{number}.txt", f"file {number}")
    assert stage.sync()["added"] == 40
    request = state.Request(force=True)
    job = ForceStoppedAfter(stage.settings.jobs_dir, state.new_job("default", request))
    job.files = files
    with pytest.raises(Cancelled):
        rag_sync.sync(stage.settings, job)
    job.finish("cancelled")
    again = job.state().updated
    assert files <= again < 40
    assert stage.paths("file") and stage.problems() == []
    resumed = stage.sync()
    assert (resumed["updated"], resumed["unchanged"]) == (40 - again, again)
    assert stage.sync()["unchanged"] == 40
    assert stage.problems() == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits are set by setrlimit")
def test_every_file_is_closed_whether_it_was_read_or_only_touched(stage: Stage) -> None:
    import resource

    few = 64  # descriptors: more than a sync needs, fewer than there are files
    hold = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))}
    for number in range(2 * few):
        stage.write(f"{number}.txt", f"file {number}")
    read = stage.sync(**hold)
    assert (read["added"], read["failures"]) == (2 * few, [])
    for number in range(2 * few):
        os.utime(stage.docs / f"{number}.txt", (1, 1))
    touched = stage.sync(**hold)
    assert (touched["unchanged"], touched["failures"]) == (2 * few, [])


def test_file_that_gets_content_later_is_indexed(stage: Stage) -> None:
    stage.write("later.txt", "")
    assert stage.sync()["failed"] == 1
    stage.write("later.txt", "now it says something")
    assert stage.sync()["failed"] == 0
    assert stage.texts() == {"later.txt": "now it says something"}


def test_vanished_root_prunes_nothing_and_says_so(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.sync()
    away = stage.docs.rename(stage.folder / "away")
    done = stage.run("rag_sync.py", "--quiet")
    assert done.returncode == 3
    assert "nothing was pruned" in done.stdout + done.stderr
    away.rename(stage.docs)
    assert set(stage.texts()) == {"a.md"}
    assert stage.sync()["unchanged"] == 1


def test_index_inside_the_knowledge_directory_is_refused(stage: Stage) -> None:
    inside = str(stage.docs / "state")
    done = stage.run("rag_sync.py", "--db", os.path.join(inside, "ragdoc.sqlite3"))
    assert done.returncode == 3
    assert "--db" in done.stderr
    assert not os.path.exists(inside)


def test_index_of_a_newer_schema_is_left_as_it_is(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.sync()
    db = database.open_write(stage.settings.db)
    db.execute("PRAGMA user_version = 99")
    db.close()
    done = stage.run("rag_sync.py", "--quiet")
    assert done.returncode == 4
    assert "schema 99" in done.stdout + done.stderr and "Update" in done.stdout + done.stderr


def test_damaged_index_names_the_command_that_rebuilds_it(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.sync()
    stage.settings.db.write_bytes(b"this is no database" * 1000)
    done = stage.run("rag_sync.py", "--quiet")
    assert done.returncode == 4
    assert "rag_sync.py --force" in done.stdout + done.stderr
    assert stage.sync("--force")["status"] == "done"
    assert set(stage.texts()) == {"a.md"}


@pytest.mark.parametrize("damage", ["posting", "file_name"])
def test_lost_postings_come_back_by_themselves_or_by_force(stage: Stage, damage: str) -> None:
    stage.write("plan.md", "old pipes")
    stage.sync()
    db = database.open_write(stage.settings.db)
    db.execute(f"INSERT INTO {damage}({damage}) VALUES('delete-all')")
    db.close()
    assert stage.problems()
    stage.sync("--force")
    assert stage.problems() == []


def test_changed_chunk_size_reads_everything_again(stage: Stage) -> None:
    stage.write("a.md", "One sentence of a text. " * 100)
    stage.sync()
    before = stage.rows("SELECT count(*) FROM chunk")[0][0]
    job = stage.sync("--chunk-chars", "300", "--chunk-overlap", "30")
    assert job["updated"] == 1
    assert stage.rows("SELECT count(*) FROM chunk")[0][0] > before
    assert stage.problems() == []


def test_index_of_one_base_never_answers_as_another(stage: Stage) -> None:
    stage.write("a.md", "unlikely words")
    assert stage.sync("--kb", "law")["added"] == 1
    said = "made as the knowledge base law, not default"
    for door, words in (("rag_sync.py", ["--json"]), ("rag_search.py", ["words"])):
        done = stage.run(door, *words)
        assert done.returncode == 3 and said in done.stderr + done.stdout
        assert "--kb law" in done.stderr + done.stdout
    assert service.health(stage.settings)["problems"][0]["code"] == "configuration"
    assert stage.paths("words", "--kb", "law") == ["a.md"]
    assert stage.sync("--kb", "law")["unchanged"] == 1


def test_check_is_a_dry_run(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.write("b.md", "text")
    stage.sync()
    stage.write("c.md", "text")
    stage.write("a.md", "other text")
    (stage.docs / "b.md").unlink()
    found = json.loads(stage.run("rag_sync.py", "--check", "--json").stdout)
    assert found["added"] == {"count": 1, "paths": ["c.md"]}
    assert found["modified"] == {"count": 1, "paths": ["a.md"]}
    assert found["deleted"] == {"count": 1, "paths": ["b.md"]}
    assert found["clean"] is False
    stage.sync()
    assert json.loads(stage.run("rag_sync.py", "--check", "--json").stdout)["clean"] is True


def test_clear_needs_yes_and_never_touches_a_document(stage: Stage) -> None:
    stage.write("a.md", "text")
    stage.sync()
    assert stage.run("rag_sync.py", "--clear").returncode == 2
    assert stage.settings.db.exists()
    assert stage.run("rag_sync.py", "--clear", "--yes").returncode == 0
    assert not stage.settings.db.exists()
    assert (stage.docs / "a.md").read_text() == "text"


def test_excluded_files_leave_the_index(stage: Stage) -> None:
    stage.write("drafts/a.md", "draft text")
    stage.write("b.md", "final text")
    stage.write("node_modules/x/readme.md", "library text")
    stage.sync()
    assert set(stage.texts()) == {"drafts/a.md", "b.md"}
    stage.sync("--exclude", "drafts/")
    assert set(stage.texts()) == {"b.md"}


def test_secret_inside_a_text_file_is_never_indexed(stage: Stage) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq2" * 3 + "\n"
    stage.write("notes.md", "# Server\n\n" + key)
    job = stage.sync()
    assert stage.texts() == {}
    assert stage.failures() == {"notes.md": "sensitive"}
    assert job["failures"] == [] and job["exit_code"] == 0


def test_file_edited_while_it_is_read_is_indexed_by_the_next_sync(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rag_sync
    from helpers import intake
    from helpers.jobs import queue

    path = stage.write("a.md", "the old text")
    original = intake.Source.ensure_unchanged
    edits = iter(["the new text, longer"])

    def edited_first(source: intake.Source) -> None:
        for text in edits:
            path.write_text(text)
        original(source)

    monkeypatch.setattr(intake.Source, "ensure_unchanged", edited_first)
    outcome = queue.run_here(stage.settings, lambda job: rag_sync.sync(stage.settings, job))
    failures = outcome.state.public()["failures"]
    assert [f["code"] for f in failures] == ["changed_while_reading"]
    assert stage.texts() == {}
    assert stage.sync()["failed"] == 0
    assert stage.texts() == {"a.md": "the new text, longer"}


def test_large_text_streams_in_a_transaction_of_its_own(stage: Stage) -> None:
    lines = "".join(f"Entry {n}: the pump ran for {n % 60} minutes.\n" for n in range(60_000))
    stage.write("pump.log", lines)
    stage.write("small.md", "a small one")
    job = stage.sync()
    assert (job["added"], job["failed"]) == (2, 0)
    chunks = stage.rows("SELECT count(*) FROM chunk")[0][0]
    assert chunks > 2_000
    assert "Entry 59999:" in stage.texts()["pump.log"]
    assert stage.problems() == []
    assert stage.sync()["unchanged"] == 2


def test_percent_of_one_large_file_follows_its_reading(stage: Stage) -> None:
    lines = (
        f"Entry {n}: pump {n % 97} ran and stopped; pressure {n % 13} bar." for n in range(60_000)
    )
    stage.write("pump.log", "\n".join(lines))
    (stage.state / "sync_jobs").mkdir(parents=True)
    seen: list[tuple[int, str | None]] = []
    job = JobHandle(
        stage.settings.jobs_dir,
        state.new_job("default", state.Request()),
        lambda now: seen.append((now.progress_percent, now.current_file)),
        clock=iter(range(10**9)).__next__,  # a second passes at each look: every change is told
        writer=lambda folder, now: None,
    )
    rag_sync.sync(replace(stage.settings, semantic="off"), job)
    percents = [percent for percent, _ in seen]
    assert percents == sorted(percents)
    assert len({percent for percent in percents if 5 < percent < 85}) >= 3
    assert {"pump.log"} == {path for percent, path in seen if 0 < percent < 85}


def test_core_runs_with_no_package_installed(stage: Stage, shared: Path) -> None:
    shutil.copy(shared / "docs/pdf/made_ko_lo_pdf.pdf", stage.docs / "a.pdf")
    stage.write("b.md", "노후 송수관 교체 공사")
    words = stage.command("rag_sync.py", "--json", "--quiet")
    bare = [sys.executable, "-S", *words[1:]]
    done = subprocess.run(bare, capture_output=True, text=True, check=False)
    job = json.loads(done.stdout)
    assert job["added"] == 1
    assert [f["code"] for f in job["failures"]] == ["missing_reader"]
    assert "pypdf" in job["failures"][0]["remedy"]
    assert stage.sync()["failed"] == 0, "a reader installed later reads the file by itself"
