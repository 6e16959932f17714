"""Answering questions: what is kept, what is copied, what is left when nobody asks any more."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.recognition import Answer, Piece, Recognised, Wanted
from helpers.recognize import kept
from helpers.recognize.command import CommandFailed
from helpers.recognize.kept import Kept
from helpers.recognize.recogniser import Recogniser, Session
from helpers.recognize.task import Task

WAIT_S = 20.0


class Engine:
    """Reads by a function; remembers the bytes it was shown."""

    name, fingerprint, refusal = "engine", "engine-1", None

    def __init__(self, read: Callable[[Task], Recognised] | None = None) -> None:
        self.read = read or (lambda task: Recognised((Piece("words", 0.9),), "engine", {"a": "b"}))
        self.shown: list[bytes] = []
        self.closed = False

    def recognise(self, task: Task) -> Recognised:
        self.shown.append(task.material.path().read_bytes())
        return self.read(task)

    def close(self) -> None:
        self.closed = True


class Desk:
    """A recogniser over one engine, and answers to questions put to it."""

    def __init__(self, folder: Path, engine: Engine, state: Path | None = None) -> None:
        self.folder, self.engine = folder, engine
        self.recogniser = Recogniser({"picture": engine}, state or folder / "state", 2)  # type: ignore[dict-item]

    def open(self, data: bytes, size: int | None = None) -> Session:
        path = self.folder / "document"
        path.write_bytes(data)
        descriptor = os.open(path, os.O_RDONLY)
        session = self.recogniser.open(descriptor, "document", len(data) if size is None else size)
        os.close(descriptor)
        return session

    def ask(
        self, session: Session, wanted: Wanted | None = None, attached: int | None = None
    ) -> Answer:
        answers: list[Answer] = []
        done = threading.Event()

        def answered(answer: Answer) -> None:
            answers.append(answer)
            done.set()

        session.ask(wanted or Wanted("image"), attached, answered)
        assert done.wait(WAIT_S)
        return answers[0]

    def files(self) -> list[Path]:
        return [
            path for path in (self.folder / "state" / "recognising").rglob("*") if path.is_file()
        ]


Desks = Callable[..., Desk]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desks]:
    made: list[Desk] = []

    def desk(engine: Engine | None = None) -> Desk:
        made.append(Desk(tmp_path, engine or Engine()))
        return made[-1]

    yield desk
    for each in made:
        each.recogniser.close()


def eventually(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while not true() and time.monotonic() < deadline:
        os.sched_yield()
    return true()


def test_the_engine_sees_the_bytes_and_the_position_stays(desk: Desks) -> None:
    at = desk()
    path = at.folder / "document"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    os.lseek(descriptor, 4, os.SEEK_SET)
    session = at.recogniser.open(descriptor, "document", 10)
    assert isinstance(at.ask(session), Recognised)
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 4
    os.close(descriptor)
    assert at.engine.shown == [b"0123456789"]


def test_the_same_bytes_and_question_are_answered_without_the_engine(desk: Desks) -> None:
    first, second = desk(), desk()
    assert first.ask(first.open(b"scan")) == second.ask(second.open(b"scan"))
    assert (len(first.engine.shown), second.engine.shown) == (1, [])


@pytest.mark.parametrize(
    "wanted", [Wanted("image", 2), Wanted("page", 1), Wanted("image", orientation=6)]
)
def test_another_question_about_the_same_bytes_asks_the_engine(desk: Desks, wanted: Wanted) -> None:
    at = desk()
    session = at.open(b"scan")
    at.ask(session)
    at.ask(session, wanted)
    assert len(at.engine.shown) == 2


def test_how_many_pages_there_are_does_not_matter(desk: Desks) -> None:
    at = desk()
    session = at.open(b"scan")
    at.ask(session, Wanted("page", 1, 10))
    at.ask(session, Wanted("page", 1, 11))
    assert len(at.engine.shown) == 1


def test_failures_are_not_kept(desk: Desks) -> None:
    def fails(task: Task) -> Recognised:
        raise CommandFailed("timeout", "engine took too long")

    first, second = desk(Engine(fails)), desk()
    answer = first.ask(first.open(b"scan"))
    assert isinstance(answer, Unread) and answer.code == "timeout" and answer.remedy
    assert isinstance(second.ask(second.open(b"scan")), Recognised)


def test_a_fault_in_an_engine_is_an_answer_too(desk: Desks) -> None:
    at = desk(Engine(lambda task: 1 / 0))  # type: ignore[arg-type,return-value]
    answer = at.ask(at.open(b"scan"))
    assert isinstance(answer, Unread) and "ZeroDivisionError" in answer.reason


def test_a_file_cut_short_meanwhile_is_told(desk: Desks) -> None:
    at = desk()
    answer = at.ask(at.open(b"short", size=500))
    assert isinstance(answer, Unread) and answer.code == "changed_while_reading"


def test_an_inner_file_is_read_as_it_was_handed_over(desk: Desks) -> None:
    at = desk()
    session = at.open(b"outer")
    session.attach(1, b"in")
    session.attach(1, b"ner")
    at.ask(session, Wanted("page", 1), attached=1)
    at.ask(session, Wanted("page", 2), attached=1)
    assert at.engine.shown == [b"inner", b"inner"]


def test_copies_go_with_the_session(desk: Desks) -> None:
    at = desk()
    session = at.open(b"scan")
    session.attach(1, b"inner")
    at.ask(session)
    assert len(at.files()) == 2
    session.close()
    assert eventually(lambda: at.files() == [])


def test_a_closed_session_answers_no_more_and_stops_what_runs(desk: Desks) -> None:
    running = threading.Event()

    def waits(task: Task) -> Recognised:
        running.set()
        while True:
            task.checkpoint()
            os.sched_yield()

    at = desk(Engine(waits))
    answers: list[Answer] = []
    session = at.open(b"scan")
    session.ask(Wanted("image"), None, answers.append)
    assert running.wait(WAIT_S)
    session.close()
    at.recogniser.close()
    assert answers == [] and at.engine.closed
    assert at.files() == []


def test_closing_the_recogniser_ends_sessions_that_wait_for_their_turn(desk: Desks) -> None:
    def waits(task: Task) -> Recognised:
        while True:
            task.checkpoint()
            os.sched_yield()

    at = desk(Engine(waits))
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    sessions = [at.open(str(number).encode()) for number in range(10)]
    for session in sessions:
        session.ask(Wanted("image"), None, lambda answer: None)
    at.recogniser.close()
    if descriptors is not None:
        assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert at.files() == []


def test_too_long_an_answer_is_cut(desk: Desks) -> None:
    pieces = tuple(Piece("x" * 1_000_000) for _ in range(6))
    at = desk(Engine(lambda task: Recognised(pieces)))
    answer = at.ask(at.open(b"scan"))
    assert isinstance(answer, Recognised)
    assert sum(len(piece.text) for piece in answer.pieces) == 4_000_000


# --- what is kept --------------------------------------------------------------------


def name(number: int) -> str:
    return kept.key(number)


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    store = Kept(tmp_path)
    found = Recognised((Piece("ก", 0.5, 1.5, 2.0), Piece("b")), "engine", {"a": "b"})
    store.put(name(1), found)
    store.link(name(2), name(1))
    assert store.get(name(1)) == store.get(name(2)) == found
    assert store.get(name(3)) is None
    assert Kept(None).get(name(1)) is None


@pytest.mark.parametrize(
    "nonsense", ["", "[]", "{}", '{"see": "../../x"}', '{"pieces": [[1, 2, 3, 4]], "facts": {}}']
)
def test_damaged_results_count_as_absent(tmp_path: Path, nonsense: str) -> None:
    store = Kept(tmp_path)
    store.put(name(1), Recognised())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(nonsense)
    assert store.get(name(1)) is None


def test_the_least_used_results_go_first(tmp_path: Path) -> None:
    store = Kept(tmp_path)
    for number in range(5):
        store.put(name(number), Recognised((Piece("x" * 1_000),)))
    paths = sorted(tmp_path.rglob("*.json"))
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    total = sum(path.stat().st_size for path in paths)
    assert store.prune(total - 1_500) == 2
    assert [path.exists() for path in paths] == [False, False, True, True, True]
