"""Reading in killable processes: what a misbehaving reader can and cannot do to the rest."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.errors import Cancelled, RagDocError, Unread
from helpers.extract import process, sandbox
from helpers.extract.frames import BadFrame, FrameReader, checked, pack
from helpers.extract.sandbox import OpenedFile, ReaderLimits, ReaderPool, Reading, ReadPolicy
from helpers.language.chunk import ChunkPolicy
from helpers.limits import MIB, READER_FRAME_BYTES

FOLDER = Path(__file__).parent
Pools = Callable[..., ReaderPool]
QUICK = ReaderLimits(stall_s=1.0, wall_s=1.5)
ROOMY = ReaderLimits(chars=50_000_000)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="held by Linux alone")


class Folder:
    """Files made on the way and opened lazily; remembers what was pulled, closes at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pulled: list[str] = []
        self._open: list[int] = []

    def files(self, *names: str, content: bytes = b"x") -> Iterator[OpenedFile]:
        for ticket, name in enumerate(names):
            (self.path / name).write_bytes(content)
            descriptor = os.open(self.path / name, os.O_RDONLY)
            self._open.append(descriptor)
            self.pulled.append(name)
            yield OpenedFile(ticket, descriptor, name, len(content))

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def pool() -> Iterator[ReaderPool]:
    """One pool for all tests that leave its limits alone: whatever a reader did, it works on."""
    policy = ReadPolicy(ChunkPolicy(), ROOMY)
    with ReaderPool(policy, registry="hostile", paths=(str(FOLDER),)) as shared_pool:
        yield shared_pool


@pytest.fixture
def pools() -> Iterator[Pools]:
    made: list[ReaderPool] = []

    def pool(limits: ReaderLimits = QUICK, workers: int = 1) -> ReaderPool:
        policy = ReadPolicy(ChunkPolicy(), limits)
        made.append(ReaderPool(policy, workers, registry="hostile", paths=(str(FOLDER),)))
        return made[-1]

    yield pool
    for each in made:
        each.close()


def alive(pid: int) -> bool:
    """Whether a process runs (one that nobody has waited for yet counts as ended)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def vanishes(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        os.sched_yield()
    return not alive(pid)


def text_of(reading: Reading) -> str:
    return "\n".join(chunk.text for chunk in reading.chunks)


def error_of(reading: Reading) -> Unread:
    assert reading.error is not None
    return reading.error


def one(pool: ReaderPool, folder: Folder, name: str, content: bytes = b"x") -> Reading:
    (reading,) = pool.read(folder.files(name, content=content))
    return reading


# --- the honest case -----------------------------------------------------------------


def test_a_text_file_is_read_cut_and_analysed(pool: ReaderPool, folder: Folder) -> None:
    reading = one(pool, folder, "note.txt", "The budget of 2024 งบประมาณ".encode())
    assert (reading.error, reading.format, reading.streaming) == (None, "txt", False)
    (chunk,) = reading.chunks
    assert chunk.text == "The budget of 2024 งบประมาณ"
    assert {"budget", "2024"} <= set(chunk.terms.split())
    assert chunk.location["kind"] and chunk.grams == ""


def test_reader_gets_name_size_and_a_file_at_its_start(pool: ReaderPool, folder: Folder) -> None:
    assert text_of(one(pool, folder, "name.evil", b"body")) == "name.evil 4 body"


def test_metadata_notices_and_lone_surrogates_arrive_clean(
    pool: ReaderPool, folder: Folder
) -> None:
    reading = one(pool, folder, "facts.evil")
    assert (reading.title, reading.encoding) == ("A title", "cp874")
    assert reading.metadata["tags"] == ("red", "blue")
    assert reading.metadata["aliases"] == ("also",)
    assert reading.metadata["extra"] == {"author": "\ufffdN"}
    assert [(n.code, (n.location or {}).get("page")) for n in reading.notices] == [("odd_page", 3)]
    assert text_of(reading) == "one \ufffd two"


def test_recognised_text_gets_grams(pool: ReaderPool, folder: Folder) -> None:
    (chunk,) = one(pool, folder, "ocr.evil").chunks
    assert chunk.ocr and "rec" in chunk.grams.split()


def test_a_file_without_text_says_so(pool: ReaderPool, folder: Folder) -> None:
    silent, scan, zero = (
        *pool.read(folder.files("silence.evil", "scan.evil")),
        one(pool, folder, "zero.txt", b""),
    )
    assert [error_of(r).code for r in (silent, scan, zero)] == ["empty", "no_text", "empty"]


def test_every_file_comes_back_once_with_two_processes(pools: Pools, folder: Folder) -> None:
    names = [f"note{number}.txt" for number in range(300)]
    pool = pools(workers=2)
    readings = list(pool.read(folder.files(*names, content=b"some words")))
    assert sorted(r.ticket for r in readings) == list(range(300))
    assert all(r.error is None for r in readings)
    assert len(pool.pids) == 2


def test_files_are_pulled_only_when_a_process_has_room(pools: Pools, folder: Folder) -> None:
    names = [f"note{number}.txt" for number in range(20)]
    for count, _ in enumerate(pools(workers=2).read(folder.files(*names)), 1):
        assert len(folder.pulled) <= count + 4
    assert len(folder.pulled) == 20


def test_no_process_starts_while_there_is_nothing_to_read(pools: Pools, folder: Folder) -> None:
    pool = pools(workers=2)
    assert list(pool.read(folder.files())) == []
    assert pool.pids == []


def test_one_file_needs_one_process_and_the_next_run_uses_it_again(
    pools: Pools, folder: Folder
) -> None:
    pool = pools(workers=4)
    one(pool, folder, "a.txt")
    first = pool.pids
    one(pool, folder, "b.txt")
    assert pool.pids == first and len(first) == 1


def test_read_one_holds_the_chunks_of_a_file(folder: Folder) -> None:
    (opened,) = folder.files("note.txt", content=b"hello there")
    with os.fdopen(os.dup(opened.fileno()), "rb") as file:
        reading = sandbox.read_one(file, "note.txt", 11, ReadPolicy())
    assert text_of(reading) == "hello there"


@linux_only
def test_an_idle_process_is_small_and_growth_gets_it_replaced(pools: Pools, folder: Folder) -> None:
    pool = pools(replace(QUICK, stall_s=10, wall_s=20, recycle=60 * MIB))
    one(pool, folder, "note.txt", b"plain words")
    small = pool.pids[0]
    assert process.resident_bytes(small) < 30 * MIB
    one(pool, folder, "keep.evil")
    one(pool, folder, "note.txt", b"plain words")
    assert pool.pids[0] != small
    assert process.resident_bytes(pool.pids[0]) < 30 * MIB


def test_a_process_is_replaced_after_its_share_of_files(pools: Pools, folder: Folder) -> None:
    pool = pools(replace(QUICK, files=3))
    seen = set()
    for reading in pool.read(folder.files(*(f"n{i}.txt" for i in range(10)), content=b"words")):
        assert reading.error is None
        seen |= set(pool.pids)
    assert 3 <= len(seen) <= 5


# --- long documents ------------------------------------------------------------------


def test_a_long_document_streams_and_the_others_wait(pools: Pools, folder: Folder) -> None:
    pool = pools(ROOMY, workers=2)
    words, texts = 0, {}
    for reading in pool.read(folder.files("long.evil", "a.txt", "b.txt", content=b"words here")):
        if reading.streaming:
            words += sum(chunk.text.count("word") for chunk in reading.chunks)
        else:
            texts[reading.ticket] = text_of(reading)
    assert words >= 6_000 * 170
    assert texts == {1: "words here", 2: "words here"}


def test_memory_here_does_not_grow_with_the_document(pools: Pools, folder: Folder) -> None:
    gc.collect()
    tracemalloc.start()
    try:
        for reading in pools(ROOMY).read(folder.files("long.evil")):
            assert reading.streaming
            count = sum(1 for _ in reading.chunks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count >= 5_000
    assert peak < 15 * MIB


def test_a_long_document_that_breaks_late_raises_out_of_its_chunks(
    pool: ReaderPool, folder: Folder
) -> None:
    readings = pool.read(folder.files("late_fault.evil", "note.txt", content=b"words"))
    streaming = next(readings)
    assert streaming.streaming and streaming.error is None
    with pytest.raises(Unread, match="its end is missing") as caught:
        list(streaming.chunks)
    assert caught.value.code == "corrupt"
    assert [text_of(reading) for reading in readings] == ["words"]


def test_a_long_document_that_nobody_takes_is_given_up(pools: Pools, folder: Folder) -> None:
    pool = pools(ROOMY)
    readings = pool.read(folder.files("long.evil", "note.txt", content=b"words"))
    assert next(readings).streaming
    reading = pool.pids[0]
    assert text_of(next(readings)) == "words"
    assert not alive(reading)


def test_a_slow_consumer_is_not_blamed_on_the_reader(
    pools: Pools, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps by an hour between chunks: the reader waits, it does not stall."""
    offset = [0.0]
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + offset[0])
    pool = pools(ROOMY, workers=2)
    count = 0
    for reading in pool.read(folder.files("long.evil", "a.txt", "long.evil")):
        for number, _ in enumerate(reading.chunks):
            count += 1
            if number % 500 == 0:
                offset[0] += 3_600
    assert count > 10_000


# --- cancelling ----------------------------------------------------------------------


def test_cancel_between_files_stops_and_leaves_nothing_running(
    pools: Pools, folder: Folder
) -> None:
    pool = pools(workers=2)
    asked = [False]
    done = []
    with pytest.raises(Cancelled):
        for reading in pool.read(folder.files(*(f"n{i}.txt" for i in range(50))), lambda: asked[0]):
            done.append(reading)
            asked[0] = len(done) == 5
    assert len(done) == 5
    assert text_of(one(pool, folder, "after.txt", b"still works")) == "still works"


def test_cancel_inside_a_streaming_document_raises_and_kills_its_process(
    pools: Pools, folder: Folder
) -> None:
    pool = pools(ROOMY)
    asked = [False]
    readings = pool.read(folder.files("long.evil"), lambda: asked[0])
    reading = next(readings)
    pid = pool.pids[0]
    asked[0] = True
    with pytest.raises(Cancelled):
        list(reading.chunks)
    with pytest.raises(Cancelled):
        next(readings)
    assert not alive(pid)


def test_cancel_is_seen_while_a_reader_says_nothing(pools: Pools, folder: Folder) -> None:
    pool = pools(ROOMY)
    deadline = time.monotonic() + 0.5
    with pytest.raises(Cancelled):
        list(pool.read(folder.files("sleep.evil"), lambda: time.monotonic() > deadline))
    assert pool.pids == []


def test_closing_the_readings_ends_what_is_being_read(pools: Pools, folder: Folder) -> None:
    pool = pools(workers=2)
    readings = pool.read(folder.files("note.txt", "loop.evil", "loop.evil"))
    next(readings)
    pids = pool.pids
    assert isinstance(readings, Generator)
    readings.close()
    assert [pid for pid in pids if alive(pid)] == pool.pids
    assert text_of(one(pool, folder, "after.txt", b"still works")) == "still works"


# --- misbehaving readers -------------------------------------------------------------

ENDS = {
    "loop": ("timeout", "1.0 seconds without progress"),
    "sleep": ("timeout", "1.0 seconds without progress"),
    "beat": ("timeout", "1.5 seconds of reading"),
    "allocate": ("limit_reached", "bytes of memory"),
    "recurse": ("corrupt", "RecursionError"),
    "exit": ("corrupt", "crashed"),
    "sys_exit": ("corrupt", "SystemExit"),
    "segfault": ("corrupt", "crashed"),
    "killed": ("limit_reached", "memory ran out"),
    "fault": ("corrupt", "KeyError"),
    "memory_error": ("limit_reached", "bytes of memory"),
    "unread": ("encrypted", "it needs a password"),
    "garbage": ("corrupt", "nonsense"),
    "huge_frame": ("corrupt", "nonsense"),
    "foreign_frame": ("corrupt", "nonsense"),
    "hang_up": ("corrupt", "channel"),
}


@pytest.mark.parametrize("action", ENDS)
def test_a_misbehaving_reader_costs_its_own_file_only(
    pools: Pools, pool: ReaderPool, folder: Folder, action: str
) -> None:
    code, reason = ENDS[action]
    pool = pools(QUICK) if code == "timeout" else pool
    began = time.monotonic()
    bad, good = pool.read(folder.files(f"{action}.evil", "note.txt", content=b"good words"))
    assert (bad.ticket, good.ticket) == (0, 1)
    assert bad.error is not None and bad.error.code == code
    assert reason in bad.error.reason
    assert list(bad.chunks) == []
    assert text_of(good) == "good words"
    assert time.monotonic() - began < 10


def test_an_unexpected_fault_does_not_quote_the_document(pool: ReaderPool, folder: Folder) -> None:
    assert "secret" not in str(one(pool, folder, "fault.evil").error)


def test_slow_growth_is_seen_from_outside(
    pools: Pools, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    weigh = process.resident_bytes
    monkeypatch.setattr(sandbox, "resident_bytes", lambda pid: 100 * weigh(pid))
    error = one(pools(replace(QUICK, wall_s=20)), folder, "grow_slowly.evil").error
    assert error is not None and error.code == "limit_reached"
    assert "> 536,870,912 bytes" in error.reason


def test_endless_text_ends_at_the_output_limit(pools: Pools, folder: Folder) -> None:
    pool = pools(ReaderLimits(chars=3_000_000, chars_per_byte=1))
    for reading in pool.read(folder.files("endless.evil")):
        with pytest.raises(Unread, match="> 3,000,001 characters") as caught:
            list(reading.chunks)
        assert caught.value.code == "limit_reached"


def test_a_flood_of_heartbeats_ends(pool: ReaderPool, folder: Folder) -> None:
    error = one(pool, folder, "heartbeat_flood.evil", b"1").error
    assert error is not None and (error.code, "nonsense" in error.reason) == ("corrupt", True)


def test_notices_beyond_the_limit_are_counted(pool: ReaderPool, folder: Folder) -> None:
    reading = one(pool, folder, "notices.evil")
    assert len(reading.notices) == 201
    assert reading.notices[-1].message == "9,800 more notices were left out"


def test_100_mb_of_noise_on_stdout_and_stderr_changes_nothing(
    pool: ReaderPool, folder: Folder
) -> None:
    text = text_of(one(pool, folder, "print.evil"))
    assert text.split("\n") == ["before the noise", "after the noise"]


def test_nothing_can_be_reached_from_inside(pool: ReaderPool, folder: Folder) -> None:
    lines = text_of(one(pool, folder, "reach.evil")).split("\n")
    told = dict(each.split(": ", 1) for each in lines)
    assert told.pop("own folder") == "done b'\"'"
    assert len(told) == 15
    assert {name for name, outcome in told.items() if not outcome.startswith("refused")} == set()
    assert not (FOLDER / "written").exists() and (FOLDER / "hostile.py").exists()


@linux_only
def test_the_kernel_refuses_what_python_does_not_see(pool: ReaderPool, folder: Folder) -> None:
    lines = text_of(one(pool, folder, "reach_from_c.evil")).split("\n")
    told = dict(each.split(": ", 1) for each in lines)
    assert told.pop("thread") == "ran"
    assert set(told.values()) == {"-1"}


def test_packages_that_readers_need_can_be_imported_inside(
    pool: ReaderPool, folder: Folder
) -> None:
    """Each works as far as it is installed; none is stopped by what is refused."""
    lines = text_of(one(pool, folder, "imports.evil")).split("\n")
    told = dict(each.split(": ") for each in lines)
    for name, outcome in told.items():
        installed = importlib.util.find_spec(name.split(".")[0]) is not None
        assert outcome == ("imported" if installed else "ModuleNotFoundError"), name
    assert len(told) == 3


def test_the_process_sees_no_keys_and_leads_its_own_group(
    pools: Pools, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "RAGDOC_DATA_DIR", "HOME"):
        monkeypatch.setenv(name, "canary")
    lines = text_of(one(pools(), folder, "environment.evil")).split("\n")
    assert lines[-1] == "group: True"
    assert lines[-2] in ("descriptors: 5", "descriptors: 4")
    allowed = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"}
    thai = {"PYTHAINLP_DATA", "PYTHAINLP_READ_ONLY", "PYTHAINLP_OFFLINE"}
    assert set(lines[:-2]) <= allowed | thai


# --- starting and ending -------------------------------------------------------------


def test_a_pool_that_cannot_start_says_so_and_leaves_no_process(
    pools: Pools, folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The whole group goes, also what the process started itself."""
    marks = tmp_path / "pids"
    marks.mkdir()
    monkeypatch.setattr(
        process,
        "BOOTSTRAP",
        "import os, sys, time\n"
        f"os.fork(); open({str(marks)!r} + '/' + str(os.getpid()), 'w').close()\n"
        "time.sleep(1000)",
    )
    with pytest.raises(RagDocError, match="ended before they could start") as caught:
        list(pools(replace(QUICK, start_s=0.7)).read(folder.files("note.txt")))
    assert caught.value.remedy
    pids = [int(name) for name in os.listdir(marks)]
    assert len(pids) >= 4
    assert [pid for pid in pids if not vanishes(pid)] == []


def test_a_process_killed_while_idle_is_replaced_and_no_file_is_blamed(
    pools: Pools, folder: Folder
) -> None:
    pool = pools()
    one(pool, folder, "a.txt", b"words")
    os.kill(pool.pids[0], signal.SIGKILL)
    reading = one(pool, folder, "b.txt", b"other words")
    assert text_of(reading) == "other words"


def test_closing_the_pool_ends_its_processes(pools: Pools, folder: Folder) -> None:
    pool = pools(workers=2)
    list(pool.read(folder.files(*(f"n{i}.txt" for i in range(20)))))
    pids = pool.pids
    pool.close()
    assert pids and [pid for pid in pids if alive(pid)] == []


PARENT = """
import os, sys
sys.path.insert(0, {root!r})
from helpers.extract.sandbox import *
def files():
    for ticket in range(2):
        yield OpenedFile(ticket, os.open({file!r}, os.O_RDONLY), {name!r}, 1)
def told():
    if len(pool.pids) == 2:
        print(*pool.pids, flush=True)
        sys.stdin.read()
    return False
pool = ReaderPool(ReadPolicy(), 2, registry="hostile", paths=({folder!r},))
for reading in pool.read(files(), told):
    pass
"""


@linux_only
@pytest.mark.parametrize("name", ["loop.evil", "sleep.evil"])
def test_no_process_outlives_a_parent_that_is_killed(
    tmp_path: Path, repository: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text("x")
    script = textwrap.dedent(PARENT).format(
        root=str(repository), file=str(file), name=name, folder=str(FOLDER)
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
    assert len(pids) == 2
    assert [pid for pid in pids if not vanishes(pid)] == []


# --- frames --------------------------------------------------------------------------

GOOD_CHUNK = ["text", "context", ["heading"], {"kind": "line", "line": 3}, False, "t", "c", ""]
BAD_PAYLOADS = [
    [],
    {"other": 1},
    {"chunks": {}},
    {"chunks": [["text"]]},
    {"chunks": [["", *GOOD_CHUNK[1:]]]},
    {"chunks": [["x" * 1_501, *GOOD_CHUNK[1:]]]},
    {"chunks": [[*GOOD_CHUNK[:4], 1, *GOOD_CHUNK[5:]]]},
    {"chunks": [[*GOOD_CHUNK[:3], {"line": 2.5}, *GOOD_CHUNK[4:]]]},
    {"chunks": [[*GOOD_CHUNK[:3], {"line": 10**40}, *GOOD_CHUNK[4:]]]},
    {"chunks": [[*GOOD_CHUNK[:3], {"name": ["x"]}, *GOOD_CHUNK[4:]]]},
    {"chunks": [[*GOOD_CHUNK[:5], "t" * 40_001, "", ""]]},
    {"chunks": [[*GOOD_CHUNK[:2], ["h"] * 13, *GOOD_CHUNK[3:]]]},
    {"begin": ["txt", 1, None, [], [], {}]},
    {"begin": ["txt", None, None, [], []]},
    {"begin": ["txt", None, None, ["t"] * 201, [], {}]},
    {"begin": ["txt", None, None, [], [], {"key": {}}]},
    {"notices": [["code", "message"]]},
    {"notices": [["code", "x" * 1_001, None]]},
    {"end": None},
    {"end": [["sudden", "reason", ""], False]},
    {"end": [["corrupt", "reason", ""], 1]},
]


@pytest.mark.parametrize("payload", BAD_PAYLOADS, ids=range(len(BAD_PAYLOADS)))
def test_a_frame_of_another_shape_is_refused(payload: Any) -> None:
    with pytest.raises(BadFrame):
        list(FrameReader().feed(pack(1, payload)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"chunks":[["\\ud800","c",[],{},false,"","",""]]}',
        b'{"end":[["corrupt",' + b"1" * 5_000 + b',""],false]}',
    ],
)
def test_a_payload_that_is_no_clean_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadFrame):
        checked(1, body)


def test_text_that_spells_a_surrogate_is_text() -> None:
    text = r"say \ud83d literally"
    row = [text, *GOOD_CHUNK[1:]]
    (frame,) = FrameReader().feed(pack(1, {"chunks": [row]}))
    assert frame.chunks[0].text == text


def test_frames_are_cut_wherever_the_bytes_break() -> None:
    data = pack(7, {"chunks": [GOOD_CHUNK] * 3}) + pack(7) + pack(7, {"end": [None, False]})
    reader = FrameReader()
    frames = [frame for at in range(len(data)) for frame in reader.feed(data[at : at + 1])]
    assert [len(frame.chunks) for frame in frames] == [3, 0, 0]
    assert [frame.ended for frame in frames] == [False, False, True]
    assert frames[0].chunks[0].heading == ("heading",)


def test_a_frame_that_announces_too_much_is_refused_before_it_is_held() -> None:
    header = (READER_FRAME_BYTES + 1).to_bytes(4, "big") + b"\0\0\0\1"
    with pytest.raises(BadFrame, match=f"{READER_FRAME_BYTES + 1:,} > {READER_FRAME_BYTES:,}"):
        list(FrameReader().feed(header))
