"""Every reference document gives its text, or the documented reason why not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.accept.documents import TEXT_CLASSES, Library, Outcome, outcomes, samples, table
from tests.sync.stage import stage_in

TEXT_SHARE = 0.98  # of the files of class "text" that have to be complete
BOMB_S = 30  # seconds that the bombs may take, all of them in one run
UNUSABLE = re.compile("\\(cid:|/[GgCc][0-9]{2,}|[\ue000-\uf8ff\ufffd\x00-\x08]")


class Run:
    """The sync of the whole folder."""

    def __init__(self, folder: Path, shared: Path) -> None:
        library = Library(folder, source=shared / "docs")
        self.job = library.sync("--ocr", "off")  # with it: test_recognition
        self.all = outcomes(library, samples(shared))
        self.failures = {failure["path"]: failure for failure in self.job["failures"]}
        self.refused = library.rows("SELECT value FROM meta WHERE key = 'report'")

    def of(self, *kinds: str, readable: bool = True) -> list[Outcome]:
        return [o for o in self.all if o.sample.kind in kinds and o.sample.readable is readable]


@pytest.fixture(scope="module")
def run(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("documents"), shared)


def _wrong(found: list[Outcome], right: Callable[[Outcome], bool]) -> list[str]:
    assert found
    return [f"{o.sample.path}: {o.code}, {o.reason}" for o in found if not right(o)]


def test_whole_folder_syncs_in_one_run_that_ends(run: Run) -> None:
    assert (run.job["status"], run.job["progress_percent"], run.job["exit_code"]) == (
        "done",
        100,
        1,
    )
    assert run.job["completed_files"] == run.job["total_files"]
    assert run.job["added"] + run.job["failed"] == run.job["total_files"]


def test_text_files_give_all_that_the_manifest_names(run: Run) -> None:
    found = run.of("text")
    complete = [o for o in found if o.complete]
    assert len(complete) >= TEXT_SHARE * len(found), "\n".join(table(run.all))


@pytest.mark.parametrize("kind", [kind for kind in TEXT_CLASSES if kind != "text"])
def test_hard_and_damaged_files_give_their_text(run: Run, kind: str) -> None:
    assert _wrong(run.of(kind), lambda o: o.complete) == []


def test_fragments_that_not_every_reader_gets_are_there(run: Run) -> None:
    found = [o for o in run.of(*TEXT_CLASSES) if o.sample.hard]
    assert _wrong(found, lambda o: not o.hard_missing) == []


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("encrypted", {"encrypted"}),
        ("corrupt", {"corrupt"}),
        ("bomb", {"limit_reached", "corrupt"}),
        ("xxe", {"corrupt"}),
        ("empty", {"empty", "no_text"}),
    ],
)
def test_files_without_usable_text_get_their_code_and_no_text(
    run: Run, kind: str, codes: set[str]
) -> None:
    assert _wrong(run.of(kind), lambda o: o.code in codes and not o.text) == []


def test_scans_and_useless_text_layers_are_reported_or_read_never_indexed_as_junk(
    run: Run,
) -> None:
    found = run.of("ocr", "garbled")
    assert _wrong(found, lambda o: o.complete or (o.code == "no_text" and not o.text)) == []
    junk = [o.sample.path for o in run.all if UNUSABLE.search(o.text)]
    assert [path for path in junk if path.endswith(".pdf")] == []


def test_page_without_text_beside_pages_with_text_is_noticed(run: Run) -> None:
    (mixed,) = run.of("text+ocr")
    assert "no_text" in mixed.notices and "2" in mixed.notices


def test_wrong_endings_are_read_by_content_or_named(run: Run) -> None:
    found = run.of("text-or-report")
    assert _wrong(found, lambda o: o.complete or bool(o.code and o.reason)) == []


def test_files_skipped_by_name_are_no_failures(run: Run) -> None:
    found = run.of("skip")
    assert len(found) == 4
    assert [o.sample.path for o in found if o.known or o.sample.path in run.failures] == []


def test_cloud_pointer_is_refused_with_a_way_out(run: Run) -> None:
    ((report,),) = run.refused
    assert "budget.gsheet" in report and "Export the document" in report


def test_every_format_of_the_reference_documents_has_a_reader(run: Run) -> None:
    assert [o.sample.path for o in run.all if not o.sample.readable and o.code != "empty"] == []


def test_every_failure_says_why_and_what_to_do(run: Run) -> None:
    def acts(failure: dict[str, Any]) -> bool:
        return bool(failure["reason"]) and (bool(failure["remedy"]) or failure["code"] == "empty")

    assert [path for path, failure in run.failures.items() if not acts(failure)] == []


def test_bombs_end_within_their_limits(shared: Path, tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    for sample in samples(shared):
        if sample.kind == "bomb":
            name = unicodedata.normalize("NFC", Path(sample.path).name)
            stage.write(name, (shared / "docs" / sample.path).read_bytes())
    job = stage.sync()
    assert {f["code"] for f in job["failures"]} <= {"limit_reached", "corrupt"}
    assert job["failed"] == job["total_files"] > 0
    assert _seconds(job) < BOMB_S


def _seconds(job: dict[str, Any]) -> float:
    started, finished = (
        datetime.fromisoformat(job[key].replace("Z", "+00:00"))
        for key in ("started_at", "finished_at")
    )
    return (finished - started).total_seconds()
