"""LIMITS lines 8 and 12 to 18: jobs under simultaneous starts, kills, full disks and noise.

`--points N` or `--points all` asks for more than the everyday sample.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from helpers import limits
from helpers.config import Settings
from helpers.errors import DiskFull
from helpers.files import FileLock, is_locked
from helpers.jobs import queue, spawn, state
from helpers.jobs.handle import JobHandle
from helpers.jobs.state import Request
from tests.jobs.stage import ROOT, STEPS, ended, eventually, hold, reaches, settings_in, spawner

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills and rlimits are POSIX")

Points = Callable[[int, int], int]
Start = partial(queue.start, spawner=spawner)


@pytest.fixture()
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python of its own that runs `code` with the project on its path."""
    lines = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + textwrap.dedent(code)
    words = [sys.executable, "-c", lines, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def worker_pid(settings: Settings, job_id: str) -> int:
    path = settings.data_dir / f"pid-{job_id}"
    return int(eventually(lambda: path.exists() and path.read_text()))


# --- 8: a full disk under the job file --------------------------------------------------


def test_8_a_file_size_limit_keeps_the_previous_state(tmp_path: Path) -> None:
    child = run_python(
        """
        import resource, signal
        from pathlib import Path
        from helpers.jobs import handle, state
        folder = Path(sys.argv[1])
        job = handle.JobHandle(folder, state.started(state.new_job("default", state.Request())))
        job.flush()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, most))
        for n in range(10):
            job.count(completed=1)
            job.flush()
            assert state.load(folder, job.job_id).completed_files == 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # standard error may be a file
        print(job.job_id, job.state().completed_files)
        """,
        tmp_path,
    )
    output, _ = child.communicate(timeout=30)
    job_id, completed = output.split()
    assert child.returncode == 0 and completed == "10"
    kept = state.load(tmp_path, job_id)
    assert kept is not None and kept.status == "running"
    assert [path.name for path in tmp_path.iterdir()] == [f"{job_id}.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_8_no_space_ten_times_keeps_the_previous_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    job = JobHandle(tmp_path, state.started(state.new_job("default", Request())))
    job.flush()

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for _ in range(10):
            job.count(completed=1)
            job.flush()
            kept = state.load(tmp_path, job.job_id)
            assert kept is not None and kept.completed_files == 0
        with pytest.raises(DiskFull, match="Free space"):
            state.save(tmp_path, job.state())
    job.finish("done")
    last = state.load(tmp_path, job.job_id)
    assert last is not None and (last.status, last.completed_files) == ("done", 10)


# --- 12 and 13: one worker, and the lock after its death ---------------------------------


def test_12_of_two_simultaneous_starts_one_runs(settings: Settings, points: Points) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in range(points(6, 50)):
            held = hold(settings)
            starts = list(pool.map(lambda _: Start(settings), range(4)))
            assert len({one.job_id for one in starts}) == 1
            assert sorted(one.status for one in starts) == ["already_running"] * 3 + ["queued"]
            held.unlink()
            assert ended(settings, starts[0].job_id).status == "done"
            eventually(lambda: not is_locked(settings.lock_path))


def test_12_of_two_servers_starting_at_once_one_runs(settings: Settings, points: Points) -> None:
    code = """
        import time
        from functools import partial
        from pathlib import Path
        from helpers.jobs import queue
        from tests.jobs.stage import settings_in, spawner
        settings, at = settings_in(Path(sys.argv[1])), float(sys.argv[2])
        while time.time() < at:
            pass
        started = queue.start(settings, spawner=spawner)
        print(started.job_id, started.status)
        """
    for _ in range(points(2, 50)):
        held = hold(settings)
        at = time.time() + 0.7
        servers = [run_python(code, settings.data_dir.parent, at) for _ in range(2)]
        answers = [server.communicate(timeout=30)[0].split() for server in servers]
        assert answers[0][0] == answers[1][0]
        assert {answer[1] for answer in answers} == {"queued", "already_running"}
        held.unlink()
        assert ended(settings, answers[0][0]).status == "done"
        eventually(lambda: not is_locked(settings.lock_path))


def test_13_the_lock_of_a_killed_holder_is_taken_within_a_second(
    settings: Settings, points: Points
) -> None:
    hold(settings)
    for _ in range(points(6, 50)):
        job_id = Start(settings).job_id
        reaches(settings, job_id, 1)
        os.kill(worker_pid(settings, job_id), signal.SIGKILL)
        killed = time.monotonic()
        lock = FileLock(settings.lock_path)
        eventually(lock.acquire, seconds=1.0)
        assert time.monotonic() - killed < 1.0
        lock.release()
        assert queue.status(settings, job_id).status == "interrupted"


def test_13_a_job_after_a_killed_one_runs_to_its_end(settings: Settings) -> None:
    held = hold(settings)
    first = Start(settings).job_id
    reaches(settings, first, 1)
    queued = queue.start(settings, force=True, spawner=spawner).job_id
    os.kill(worker_pid(settings, first), signal.SIGKILL)
    eventually(lambda: not is_locked(settings.lock_path))
    held.unlink()
    last = Start(settings)
    assert last.job_id == queued  # what waited behind the dead job is not lost
    assert ended(settings, last.job_id).status == "done"
    assert queue.status(settings, first).status == "interrupted"


# --- 14: pids are no proof ----------------------------------------------------------------


def test_14_a_recorded_pid_that_lives_again_is_neither_believed_nor_signalled(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        queue.run_here(settings, lambda _: None)
        job = state.started(state.new_job("default", Request(flags=tuple(settings.flags()))))
        value = job.as_dict() | {"worker": {"pid": stranger.pid}}
        path = state.job_path(settings.jobs_dir, job.job_id)
        path.write_text(json.dumps(value), encoding="utf-8")
        monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a process was signalled"))
        assert queue.cancel(settings, job.job_id) == "not_running"
        assert queue.status(settings, job.job_id).status == "interrupted"
        assert stranger.poll() is None
    finally:
        stranger.communicate()
    assert stranger.returncode != -signal.SIGKILL


def test_14_no_code_of_the_jobs_room_can_signal(repository: Path) -> None:
    for path in (repository / "helpers" / "jobs").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "os.kill" not in text and ".terminate(" not in text and "signal" not in imports(text)


def imports(text: str) -> set[str]:
    return {line.split()[1] for line in text.splitlines() if line.startswith("import ")}


# --- 15: polling while it is written ------------------------------------------------------


def test_15_a_polled_job_file_always_parses(tmp_path: Path, points: Points) -> None:
    updates = points(1_000, 10_000)
    code = """
        from pathlib import Path
        from helpers.jobs import handle, state
        folder, job_id, updates = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
        job = handle.JobHandle(folder, state.load(folder, job_id))
        for n in range(updates):
            job.failure(f"file-{n % 50}", "corrupt", "x" * (n % 300))
            job.count(completed=1)
            job.flush()
        job.finish("done")
        """
    job = state.started(state.new_job("default", Request()))
    state.save(tmp_path, job)
    writer = run_python(code, tmp_path, job.job_id, updates)
    reads, last = 0, 0
    while writer.poll() is None:
        seen = state.load(tmp_path, job.job_id)
        assert seen is not None and seen.completed_files >= last
        reads, last = reads + 1, seen.completed_files
    assert writer.returncode == 0 and reads > 100
    assert state.load(tmp_path, job.job_id).completed_files == updates  # type: ignore[union-attr]


# --- 16: the server is killed -------------------------------------------------------------


def test_16_the_worker_outlives_its_server(settings: Settings) -> None:
    held = hold(settings, 2)
    server = run_python(
        """
        from pathlib import Path
        from helpers.jobs import queue
        from tests.jobs.stage import settings_in, spawner
        print(queue.start(settings_in(Path(sys.argv[1])), spawner=spawner).job_id, flush=True)
        input()
        """,
        settings.data_dir.parent,
    )
    assert server.stdout is not None
    job_id = server.stdout.readline().strip()
    reaches(settings, job_id, 2)
    server.kill()
    server.communicate()
    assert queue.status(settings, job_id).status == "running"
    held.unlink()
    job = ended(settings, job_id)
    assert (job.status, job.added) == ("done", STEPS)


# --- 17: cancel at every checkpoint -------------------------------------------------------


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_17_cancel_at_every_checkpoint_keeps_what_was_done(settings: Settings, step: int) -> None:
    def run(job: JobHandle) -> None:
        job.phase("files")
        job.total(STEPS)
        for done in range(1, STEPS + 2):
            job.count(completed=1, added=1)
            if done == step:
                assert queue.cancel(settings, job.job_id) == "cancel_requested"
            eventually(job.cancelled) if done >= step else None
            job.checkpoint()

    outcome = queue.run_here(settings, run)
    assert (outcome.state.status, outcome.exit_code) == ("cancelled", 130)
    assert (outcome.state.added, outcome.state.cancel_requested) == (step, True)
    assert outcome.state.progress_percent < 100
    assert not is_locked(settings.lock_path)


# --- 18: a noisy worker -------------------------------------------------------------------


def test_18_a_noisy_worker_ends_and_its_log_stays_small(settings: Settings, points: Points) -> None:
    noise = points(20, 100) * limits.MIB
    (settings.data_dir / "noise-bytes").write_text(str(noise))
    job_id = Start(settings).job_id
    assert ended(settings, job_id).status == "done"
    log = spawn.log_path(settings.logs_dir)
    assert log.stat().st_mode & 0o777 == 0o600
    assert sum(path.stat().st_size for path in settings.logs_dir.iterdir()) <= limits.JOB_LOG_BYTES


def test_18_what_a_worker_says_before_its_first_import_is_kept(settings: Settings) -> None:
    script = settings.data_dir / "broken.py"
    script.write_text("import no_such_module\n")
    job_id = queue.start(settings, spawner=partial(spawn.start_worker, script=script)).job_id
    log = spawn.log_path(settings.logs_dir)
    eventually(lambda: log.exists() and "no_such_module" in log.read_text())
    eventually(lambda: not is_locked(settings.lock_path))
    assert queue.status(settings, job_id).status == "queued"  # the next start takes it up
    assert Start(settings).job_id == job_id
    assert ended(settings, job_id).status == "done"
