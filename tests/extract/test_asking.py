"""Questions about pictures and sound: out of the reader process, to a recogniser, and back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.errors import Cancelled, Unread
from helpers.extract.frames import BadFrame, checked
from helpers.extract.sandbox import OpenedFile, ReaderLimits, ReaderPool, Reading, ReadPolicy
from helpers.language.chunk import ChunkPolicy
from helpers.recognition import Answered, Piece, Recognised, Wanted

FOLDER = Path(__file__).parent
QUICK = ReaderLimits(stall_s=0.4, wall_s=0.6)
WAIT_S = 10.0
Read = Callable[..., list[Reading]]


class Clerk:
    """A recogniser that answers by a function, at once or on demand, and remembers all."""

    def __init__(self, reply: Callable[[Wanted], Recognised | Unread] | None = None) -> None:
        self.reply = reply
        self.refused: dict[str, Unread] = {}
        self.asked: list[tuple[Wanted, int | None]] = []
        self.held: list[Answered] = []
        self.attached: dict[int, bytes] = {}
        self.opened: list[tuple[str, int, bytes]] = []
        self.closed = 0

    def refusals(self) -> dict[str, Unread]:
        return self.refused

    def open(self, descriptor: int, name: str, size: int) -> Clerk:
        self.opened.append((name, size, os.pread(descriptor, 100, 0)))
        return self

    def attach(self, number: int, data: bytes) -> None:
        self.attached[number] = self.attached.get(number, b"") + data

    def ask(self, wanted: Wanted, attached: int | None, answered: Answered) -> None:
        self.asked.append((wanted, attached))
        if self.reply is None:
            self.held.append(answered)
        else:
            answered(self.reply(wanted))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def read(tmp_path: Path) -> Iterator[Read]:
    """Readings of made files, with a recogniser, in one process."""
    opened: list[int] = []

    def files(names: tuple[str, ...]) -> Iterator[OpenedFile]:
        for ticket, name in enumerate(names):
            (tmp_path / name).write_bytes(b"the bytes")
            opened.append(os.open(tmp_path / name, os.O_RDONLY))
            yield OpenedFile(ticket, opened[-1], name, 9)

    def run(
        clerk: Clerk | None,
        *names: str,
        cancelled: Callable[[], bool] = lambda: False,
        limits: ReaderLimits | None = None,
        workers: int = 1,
    ) -> list[Reading]:
        policy = ReadPolicy(ChunkPolicy(), limits or ReaderLimits())
        paths = (str(FOLDER),)
        with ReaderPool(policy, workers, registry="hostile", paths=paths, recogniser=clerk) as pool:
            return list(pool.read(files(names), cancelled))

    yield run
    for descriptor in opened:
        os.close(descriptor)


def text(reading: Reading) -> str:
    assert reading.error is None, reading.error
    return "\n".join(chunk.text for chunk in reading.chunks)


def error_of(reading: Reading) -> Unread:
    assert reading.error is not None
    return reading.error


def page(wanted: Wanted) -> Recognised | Unread:
    if wanted.page == 3:
        return Unread("no_text", "nothing legible", "look at it")
    return Recognised(
        (Piece(f"หน้า {wanted.page}", 0.5), Piece("x", None, 1.5, 2.0)), "eye", {"a": "b"}
    )


def test_pages_asked_ahead_come_back_to_their_own_question(read: Read) -> None:
    clerk = Clerk(page)
    (reading,) = read(clerk, "ask.evil")
    lines = text(reading).splitlines()
    assert lines[0] == "1 by eye {'a': 'b'}: หน้า 1 0.5 None None / x None 1.5 2.0"
    assert lines[2] == "3 no_text: nothing legible. look at it"
    assert [wanted for wanted, _ in clerk.asked] == [Wanted("page", n, 5, 300) for n in range(1, 6)]
    assert clerk.opened == [("ask.evil", 9, b"the bytes")] and clerk.closed == 1
    assert reading.wanted == {"picture"}


def test_orientation_of_a_picture_is_handed_on(read: Read) -> None:
    clerk = Clerk(lambda wanted: Recognised((Piece(str(wanted.orientation)),)))
    assert text(read(clerk, "ask_once.evil")[0]) == "6"


def test_without_a_recogniser_the_reason_names_a_remedy_and_the_wish_is_told(read: Read) -> None:
    (reading,) = read(None, "ask_once.evil")
    assert reading.error is not None and reading.error.code == "no_text"
    assert "OCR" in reading.error.remedy
    assert reading.wanted == {"picture"}


def test_a_missing_engine_refuses_before_anything_is_asked(read: Read) -> None:
    clerk = Clerk()
    clerk.refused = {"picture": Unread("no_text", "no engine", "install one")}
    (reading,) = read(clerk, "ask_once.evil")
    error = error_of(reading)
    assert (error.reason, error.remedy) == ("no engine", "install one")
    assert (clerk.asked, clerk.opened, reading.wanted) == ([], [], {"picture"})


def test_files_that_ask_nothing_want_nothing(read: Read) -> None:
    (reading,) = read(Clerk(), "name.evil")
    assert reading.wanted == frozenset()


def test_an_inner_file_is_handed_out_once_and_whole(read: Read) -> None:
    clerk = Clerk(lambda wanted: Recognised((Piece(f"page {wanted.page}"),)))
    assert text(read(clerk, "ask_within.evil")[0]) == "page 1\npage 2\nat 7"
    assert [number for _, number in clerk.asked] == [1, 1]
    assert clerk.attached == {1: b"inner" * 500_000}


def test_a_long_answer_arrives_whole(read: Read) -> None:
    pieces = tuple(Piece("ถ้อยคำ" * 100, 0.9, n, n + 1) for n in range(3_000))
    (reading,) = read(Clerk(lambda wanted: Recognised(pieces)), "ask_long.evil")
    assert text(reading) == f"3000 {3_000 * 600}"
    assert reading.wanted == {"sound"}


def test_clocks_stand_still_while_an_answer_is_awaited(read: Read) -> None:
    clerk = Clerk()
    reply = Recognised((Piece("late"),))

    def answer_late() -> None:
        deadline = time.monotonic() + WAIT_S
        while not clerk.held and time.monotonic() < deadline:
            os.sched_yield()
        time.sleep(3 * QUICK.wall_s)  # beyond every clock of this pool
        clerk.held[0](reply)

    helper = threading.Thread(target=answer_late)
    helper.start()
    (reading,) = read(clerk, "ask_once.evil", limits=QUICK)
    helper.join()
    assert text(reading) == "late"


def test_clocks_run_again_after_the_answer(read: Read) -> None:
    clerk = Clerk(lambda wanted: Recognised())
    (reading,) = read(clerk, "ask_loop.evil", limits=QUICK)
    assert error_of(reading).code == "timeout"
    assert clerk.closed == 1


def test_cancel_does_not_wait_for_the_answer(read: Read) -> None:
    clerk = Clerk()
    with pytest.raises(Cancelled):
        read(clerk, "ask_once.evil", cancelled=lambda: bool(clerk.held))
    assert clerk.closed == 1


def test_a_file_that_waits_behind_the_one_that_asks_is_read_too(read: Read) -> None:
    clerk = Clerk(page)
    names = [f"{number}.txt" for number in range(20)]
    mixed = [name for pair in zip(names, ["ask.evil"] * 20, strict=True) for name in pair]
    found = read(clerk, *mixed)
    assert sorted(reading.ticket for reading in found) == list(range(40))
    assert all(reading.error is None for reading in found)


def test_an_answer_nobody_waits_for_disturbs_nobody(read: Read) -> None:
    clerk = Clerk()
    found = read(clerk, "ask_unread.evil", "note.txt", "ask_unread.evil", "other.txt")
    assert [reading.error for reading in found] == [None] * 4
    for answered in clerk.held:
        answered(Recognised())


def test_questions_of_another_shape_end_the_process(read: Read) -> None:
    bad, good = read(Clerk(page), "ask_nonsense.evil", "note.txt")
    assert error_of(bad).code == "corrupt" and "nonsense" in error_of(bad).reason
    assert good.error is None


@pytest.mark.parametrize(
    "payload",
    [
        b'{"ask":[1,"page",1,1,1,1]}',
        b'{"ask":[1,"thought",1,1,1,1,100,null]}',
        b'{"ask":[1,["page"],1,1,1,1,100,null]}',
        b'{"ask":[0,"page",1,1,1,1,100,null]}',
        b'{"ask":[1,"page",-1,1,1,1,100,null]}',
        b'{"ask":[1,"page",1.5,1,1,1,null]}',
        b'{"ask":[true,"page",1,1,1,1,100,null]}',
        b'{"ask":[1,"page",1,1,1,9,100,null]}',
        b'{"ask":[1,"page",1,1,1,1,100,"x"]}',
        b'{"ask":[4294967296,"page",1,1,1,1,100,null]}',
        b'{"ask":[1,"page",1,1,1,1,9999,null]}',
        b'{"attach":[1,"%%%"]}',
        b'{"attach":[1]}',
        b'{"attach":["1","eA=="]}',
        b'{"wanted":["thought"]}',
        b'{"wanted":"picture"}',
    ],
)
def test_questions_are_checked_strictly(payload: bytes) -> None:
    with pytest.raises(BadFrame):
        checked(1, payload)


def test_too_large_a_part_is_refused() -> None:
    import base64

    text = base64.b64encode(bytes(1024 * 1024 + 1))
    with pytest.raises(BadFrame):
        checked(1, b'{"attach":[1,"' + text + b'"]}')
