"""One job's state: percent, rate, throttled writes, and a disk that is full."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import limits
from helpers.errors import Cancelled, DiskFull, UsageError
from helpers.jobs import handle as handles
from helpers.jobs import state
from helpers.jobs.handle import JobHandle
from helpers.jobs.state import JobState, Request


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Writes:
    """A writer that remembers, or fails as a full disk does."""

    def __init__(self) -> None:
        self.states: list[JobState] = []
        self.full = False

    def __call__(self, _: Path, job: JobState) -> None:
        if self.full:
            raise DiskFull("The disk is full", "Free space.")
        self.states.append(job)


@pytest.fixture()
def clock() -> Clock:
    return Clock()


@pytest.fixture()
def writes() -> Writes:
    return Writes()


@pytest.fixture()
def handle(tmp_path: Path, clock: Clock, writes: Writes) -> JobHandle:
    job = state.started(state.new_job("default", Request()))
    return JobHandle(tmp_path, job, clock=clock, writer=writes)


def test_percent_never_falls_and_is_100_only_when_done(handle: JobHandle, clock: Clock) -> None:
    seen = []
    rng = random.Random(7)
    handle.phase("files")
    for _ in range(200):
        clock.now += 1
        handle.total(rng.randrange(1, 500))
        handle.count(completed=rng.randrange(0, 4))
        seen.append(handle.state().progress_percent)
    for phase in ("cleanup", "semantic"):
        handle.phase(phase)
        seen.append(handle.state().progress_percent)
    for done in range(50):
        clock.now += 1
        handle.semantic(done + 1, 50)
        seen.append(handle.state().progress_percent)
    assert seen == sorted(seen) and seen[-1] < 100
    handle.finish("done")
    assert handle.state().progress_percent == 100


def test_semantic_work_is_the_last_tenth(handle: JobHandle, clock: Clock) -> None:
    handle.phase("files")
    handle.total(10)
    handle.count(completed=10)
    handle.flush()
    assert handle.state().progress_percent == 90
    handle.phase("semantic")
    handle.semantic(5, 10)
    handle.flush()
    assert handle.state().progress_percent == 95


@pytest.mark.parametrize("status", ["cancelled", "failed", "interrupted"])
def test_a_job_that_did_not_finish_never_shows_100(handle: JobHandle, status: str) -> None:
    handle.phase("files")
    handle.total(1)
    handle.count(completed=1)
    handle.finish(status)
    assert handle.state().progress_percent <= 90


def test_the_first_end_stands(handle: JobHandle) -> None:
    handle.finish("cancelled")
    handle.finish("done")
    assert handle.state().status == "cancelled"
    with pytest.raises(ValueError, match="does not end"):
        state.finished(handle.state(), "running")


def test_writes_are_throttled_but_phases_and_the_end_are_not(
    handle: JobHandle, clock: Clock, writes: Writes
) -> None:
    handle.phase("files")
    before = len(writes.states)
    for _ in range(1000):
        clock.now += 0.001
        handle.count(completed=1)
    assert len(writes.states) - before <= 2
    handle.phase("cleanup")
    handle.finish("done")
    assert [job.phase for job in writes.states[-2:]] == ["cleanup", "done"]


@pytest.mark.parametrize(
    ("phase", "files", "embedded", "percent"),
    [
        ("prepare", (0, 0), (0, 0), 0),
        ("files", (0, 4), (0, 0), 0),
        ("files", (1, 4), (0, 0), 22),
        ("files", (4, 4), (0, 0), 90),
        ("cleanup", (0, 0), (0, 0), 90),
        ("semantic", (4, 4), (0, 0), 90),
        ("semantic", (4, 4), (1, 2), 95),
        ("semantic", (4, 4), (2, 2), 99),
    ],
)
def test_percent_is_what_the_counts_prove(
    phase: str, files: tuple[int, int], embedded: tuple[int, int], percent: int
) -> None:
    job = replace(
        state.started(state.new_job("default", Request())),
        phase=phase,
        completed_files=files[0],
        total_files=files[1],
        semantic_done=embedded[0],
        semantic_total=embedded[1],
    )
    assert state.with_percent(job).progress_percent == percent
    assert state.with_percent(replace(job, progress_percent=97)).progress_percent >= 97


def test_embedded_chunks_are_told_while_they_grow(
    handle: JobHandle, clock: Clock, writes: Writes
) -> None:
    handle.phase("semantic")
    for done in (1, 2, 3):
        clock.now += 60
        handle.semantic(done, 4)
    assert [job.semantic_done for job in writes.states[-3:]] == [1, 2, 3]
    assert [job.progress_percent for job in writes.states[-3:]] == [92, 95, 97]


def test_a_slow_disk_is_written_to_less_often(tmp_path: Path, clock: Clock) -> None:
    written = []

    def slow(_: Path, job: JobState) -> None:
        clock.now += 1.0
        written.append(job)

    job = JobHandle(tmp_path, state.new_job("default", Request()), clock=clock, writer=slow)
    for _ in range(100):
        clock.now += 1.0
        job.count(completed=1)
    assert len(written) < 10


def test_the_eta_follows_a_smoothed_rate(handle: JobHandle, clock: Clock) -> None:
    handle.phase("files")
    handle.total(100)
    assert handle.state().eta_s is None
    for _ in range(20):
        clock.now += 1
        handle.count(completed=2)
    assert handle.state().eta_s == 30
    rate = state.Rate(0.0)
    for second, done in enumerate([10, 20, 30, 31, 32], 1):
        rate = state.sampled(rate, done, float(second))
    assert 1 < rate.per_second < 10
    assert state.eta_s(rate, 0) == 0


def test_the_eta_holds_while_a_batch_is_on_its_way() -> None:
    rate, at = state.Rate(0.0), 0.0
    for batch in range(1, 6):
        for _ in range(20):  # looked at each second, counted every twentieth
            at += 1
            rate = state.sampled(rate, 32 * (batch - 1), at)
        rate = state.sampled(rate, 32 * batch, at)
        assert state.eta_s(rate, 160) == 100


def test_a_checkpoint_raises_soon_after_the_cancel_file_appears(
    handle: JobHandle, clock: Clock, tmp_path: Path
) -> None:
    handle.checkpoint()
    state.cancel_path(tmp_path, handle.job_id).touch()
    clock.now += 0.06
    with pytest.raises(Cancelled, match="resume"):
        handle.checkpoint()
    assert handle.state().cancel_requested


def test_a_checkpoint_stats_at_most_every_50_ms(
    handle: JobHandle, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def absent(path: str) -> bool:
        looks.append(path)
        return False

    monkeypatch.setattr(os.path, "exists", absent)
    for _ in range(1000):
        clock.now += 0.001
        handle.checkpoint()
    assert 15 <= len(looks) <= 21


def test_one_failure_per_file_and_the_count_follows(handle: JobHandle) -> None:
    handle.failure("a.pdf", "corrupt", "broken")
    handle.failure("a.pdf", "timeout", "took over 60 s")
    handle.failure("b.bin", "unsupported", "not a known format")
    job = handle.state()
    assert job.failed == 2
    assert [(f.path, f.code) for f in job.failures] == [
        ("a.pdf", "timeout"),
        ("b.bin", "unsupported"),
    ]


def test_secrets_do_not_reach_the_job_file(handle: JobHandle) -> None:
    handle.failure("a", "unreadable", "refused: api_key=abcdefgh12345678xyz")
    handle.finish("failed", "HTTP 401, authorization: Bearer abcdefgh12345678xyz")
    assert "abcdefgh12345678xyz" not in json.dumps(handle.state().as_dict())


def test_a_full_disk_keeps_the_sync_going(
    handle: JobHandle, clock: Clock, writes: Writes, caplog: pytest.LogCaptureFixture
) -> None:
    handle.phase("files")
    writes.full = True
    for _ in range(10):
        clock.now += 1
        handle.count(completed=1)
    writes.full = False
    handle.finish("done")
    assert writes.states[-1].completed_files == 10


def test_a_saved_job_reads_back_as_it_was(tmp_path: Path) -> None:
    job = replace(
        state.new_job("default", Request(True, "embedding", True, ("--kb", "default"))),
        failures=(state.Failure("ก/하.txt", "empty", "no text"),),
        current_file="한국어.pdf",
    )
    state.save(tmp_path, job)
    assert state.load(tmp_path, job.job_id) == job
    assert state.load(tmp_path, "20250101T000000000Z-abcdef") is None


def test_unknown_fields_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    job = state.new_job("default", Request())
    value = job.as_dict() | {"later": 1}
    state.job_path(tmp_path, job.job_id).write_text(json.dumps(value), encoding="utf-8")
    assert state.load(tmp_path, job.job_id) == job


@pytest.mark.parametrize("job_id", ["", "..", "a/b", "x" * 5000, "20250101T000000000Z-abcde\n"])
def test_what_cannot_be_a_job_id_reaches_no_path(tmp_path: Path, job_id: str) -> None:
    with pytest.raises(UsageError, match="There is no job"):
        state.job_path(tmp_path, job_id)


def test_ids_sort_by_time() -> None:
    ids = [state.new_job("default", Request(), now=float(1_700_000_000 + n)).job_id for n in (1, 2)]
    back = state.new_job("default", Request(), now=1_600_000_000.0, after=ids[-1])
    ids.append(back.job_id)
    assert str(back.created_at).startswith("2020-09-13")
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("done", "asked", "covered"),
    [
        (Request(), Request(), True),
        (Request(), Request(force=True), False),
        (Request(force=True), Request(), True),
        (Request(scope="embedding"), Request(), False),
        (Request(), Request(scope="contextualization"), True),
        (Request(flags=("--db", "a")), Request(flags=("--db", "b")), False),
        (Request(flags=("--db", "a")), Request(flags=("--db", "a", "--quiet")), True),
    ],
)
def test_one_request_covers_another(done: Request, asked: Request, covered: bool) -> None:
    assert done.covers(asked) is covered
    if state.same_base(done.flags, asked.flags):
        assert done.widened(asked).covers(done) and done.widened(asked).covers(asked)


def test_a_job_can_say_that_the_disk_is_full(tmp_path: Path) -> None:
    job = state.started(state.new_job("default", Request()))
    reserve = state.job_path(tmp_path, job.job_id).with_suffix(".reserve")
    written = []

    def full_but_for_the_reserve(_: Path, one: JobState) -> None:
        if reserve.exists():
            raise DiskFull("The disk is full", "Free space.")
        written.append(one)

    state.keep_reserve(tmp_path, job.job_id)
    assert reserve.stat().st_size == limits.JOB_RESERVE_BYTES
    handle = JobHandle(tmp_path, job, writer=full_but_for_the_reserve)
    for n in range(500):
        handle.failure(f"file-{n}", "corrupt", "broken")
    handle.flush()
    assert reserve.exists()
    handle.finish("failed", "The disk is full. Free space.")
    assert [one.status for one in written] == ["failed"]
    assert (written[0].failed, len(written[0].failures)) == (500, handles.RESERVED_FAILURES)
