"""How a job looks at a terminal."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from helpers.jobs import progress, state
from helpers.jobs.state import Failure, JobState, Request

JOB = replace(
    state.started(state.new_job("default", Request())),
    phase="files",
    progress_percent=45,
    completed_files=1_500,
    total_files=3_000,
    eta_s=1_200,
)


class Terminal(io.StringIO):
    """Standard error as a person sees it."""

    def isatty(self) -> bool:
        return True


def with_failures(count: int) -> dict[str, Any]:
    failures = tuple(Failure(f"{n}.pdf", "encrypted", "needs a password") for n in range(count))
    job = replace(JOB, failed=count, failures=failures)
    return state.finished(job, state.DONE).public()


def test_summary_of_a_running_job_says_how_far_it_is() -> None:
    text = progress.summary(JOB.public())
    assert text == (
        "running: 0 added, 0 updated, 0 unchanged, 0 deleted, 0 failed, 0 skipped"
        f"; job {JOB.job_id}, 45 %, about 1,200 s left"
    )


def test_summary_of_a_finished_job_names_its_error_and_each_failure() -> None:
    failed = state.finished(JOB, state.FAILED, "The disk is full.").public()
    assert progress.summary(failed).splitlines()[1] == "The disk is full."
    done = progress.summary(with_failures(1)).splitlines()
    assert done[1:] == ["  0.pdf: encrypted: needs a password"]


@pytest.mark.parametrize("count,more", [(20, None), (21, "  … and 1 more (--json lists all)")])
def test_summary_names_twenty_failures_and_counts_the_rest(count: int, more: str | None) -> None:
    lines = progress.summary(with_failures(count)).splitlines()
    assert len([line for line in lines if ".pdf: " in line]) == 20
    assert (lines[-1] if more else None) == more


def test_line_says_percent_phase_files_time_and_file() -> None:
    job = replace(JOB, current_file="a.pdf")
    assert progress.line(job) == " 45% files, 1,500 of 3,000 files, 1,200 s left: a.pdf"
    assert progress.line(replace(JOB, eta_s=None)) == " 45% files, 1,500 of 3,000 files"


def test_bar_is_drawn_on_a_terminal_and_wiped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with progress.shown(quiet=False) as show:
        assert show is not None
        show(JOB)
    written = terminal.getvalue()
    assert written.startswith("\r\x1b[K[##########..............]  45% files")
    assert written.endswith("\r\x1b[K")


@pytest.mark.parametrize("name,value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_bar_where_the_terminal_cannot_or_should_not(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv(name, value)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with progress.shown(quiet=False) as show:
        assert show is not None
        for clock[0] in (100.0, 109.9, 110.0, 119.9, 120.0):
            show(JOB)
    assert terminal.getvalue() == (progress.line(JOB) + "\n") * 2


def test_quiet_shows_nothing() -> None:
    with progress.shown(quiet=True) as show:
        assert show is None


def test_a_job_shown_as_text_and_as_fields_holds_its_facts() -> None:
    job: JobState = replace(JOB, status="running")
    assert "45 %" in progress.summary(job.public())
    assert progress.fields({"cleared": True, "n": 2}) == "cleared: True\nn: 2"
