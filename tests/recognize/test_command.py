"""Engines' programs: bound, watched, and gone with whoever wanted them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from helpers.recognize.command import Caps, CommandFailed, Stop, Stopped, run

ROOT = Path(__file__).resolve().parents[2]
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="process groups")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="held by Linux alone")


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", textwrap.dedent(code)]


def gone(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in ("Z", "X"):
            return True
        os.sched_yield()
    return False


def written(path: Path, within_s: float = 10.0) -> str:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()):
            return text
        os.sched_yield()
    raise AssertionError(f"{path.name} was not written")


def test_output_of_a_program_comes_back() -> None:
    assert run(python("print('ok')"), Stop()) == b"ok\n"


def test_a_failing_program_is_told_with_its_last_words() -> None:
    with pytest.raises(CommandFailed, match="no such page") as failed:
        run(python("import sys; sys.exit('first\\nno such page')"), Stop())
    assert failed.value.why == "crash"


def test_a_program_that_is_not_there_is_missing_or_fails() -> None:
    with pytest.raises(CommandFailed):
        run(["/nonexistent/engine"], Stop())


def test_a_program_that_hangs_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(CommandFailed) as failed:
        run(python("import time; time.sleep(1000)"), Stop(), Caps(seconds=0.5))
    assert failed.value.why == "timeout" and time.monotonic() - began < 5


def test_a_program_that_writes_without_end_is_ended() -> None:
    with pytest.raises(CommandFailed) as failed:
        run(python("while True: print('x' * 100_000)"), Stop(), Caps(output=1_000_000))
    assert failed.value.why == "output"


def test_noise_on_standard_error_fills_no_memory_and_blocks_nothing() -> None:
    code = "import sys\nfor _ in range(1000): sys.stderr.write('x' * 100_000)\nprint('done')"
    assert run(python(code), Stop()) == b"done\n"


@posix_only
def test_processor_time_is_limited() -> None:
    with pytest.raises(CommandFailed) as failed:
        run(python("while True: pass"), Stop(), Caps(cpu_s=1))
    assert failed.value.why == "timeout"


@linux_only
def test_memory_and_files_are_limited(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="MemoryError"):
        run(python("bytearray(400_000_000)"), Stop(), Caps(memory=300_000_000))
    code = "open('big', 'wb').write(bytes(5_000_000))"
    with pytest.raises(CommandFailed):
        run(python(code), Stop(), Caps(file=1_000_000), tmp_path)
    assert (tmp_path / "big").stat().st_size <= 1_000_000


@posix_only
def test_a_program_gets_no_key_no_input_and_a_low_priority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("RAGDOC_DATA_DIR", "/somewhere")
    code = "import os, sys; print(dict(os.environ), repr(sys.stdin.read()), os.nice(0))"
    told = run(python(code), Stop()).decode()
    assert "secret" not in told and "RAGDOC" not in told
    assert "'OMP_THREAD_LIMIT': '1'" in told and "''" in told
    assert int(told.split()[-1]) >= 10


@posix_only
def test_stop_ends_the_whole_group_at_once(tmp_path: Path) -> None:
    code = f"""
        import os, subprocess, sys, time
        inner = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"])
        open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{inner.pid}} ")
        time.sleep(1000)
    """
    stop, outcome = Stop(), []

    def work() -> None:
        try:
            run(python(code), stop)
        except Stopped:
            outcome.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    pids = [int(word) for word in written(tmp_path / "pids").split()]
    began = time.monotonic()
    stop.stop()
    thread.join(5)
    assert outcome == ["stopped"] and time.monotonic() - began < 2
    assert all(gone(pid) for pid in pids)


def test_nothing_starts_after_a_stop(tmp_path: Path) -> None:
    stop = Stop()
    stop.stop()
    with pytest.raises(Stopped):
        run(python(f"open({str(tmp_path / 'x')!r}, 'w')"), stop)
    assert not (tmp_path / "x").exists()


@linux_only
def test_a_program_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    inner = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); "
    code = f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from helpers.recognize.command import Stop, run
        run([sys.executable, "-S", "-c", {inner + "time.sleep(1000)"!r}], Stop())
    """
    parent = subprocess.Popen(python(code))
    pid = int(written(tmp_path / "pid"))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone(pid)
