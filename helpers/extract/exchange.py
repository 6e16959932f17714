"""The parent's side of questions: from a reader process to whoever recognises, and back.

Promises: a question is handed over at once and its answer wakes the pool's selector; answers
reach the pool in its own thread; a document that ended or was given up gets none, and what was
running for it is stopped.
Does not: recognise anything, or know processes.
"""

from __future__ import annotations

import collections
import contextlib
import socket
from collections.abc import Callable, Iterator

from helpers.extract.frames import BadFrame, Frame
from helpers.extract.reading import Document
from helpers.limits import READER_QUESTIONS, READER_QUESTIONS_OPEN
from helpers.recognition import Answer, Recogniser, Wanted


class Exchange:
    """Carries questions of documents to a recogniser; `near` is readable when answers wait."""

    def __init__(
        self, recogniser: Recogniser | None, asked: Callable[[int, Wanted], None] | None = None
    ) -> None:
        self._recogniser, self._asked = recogniser, asked
        self._answers: collections.deque[tuple[Document, int, Answer]] = collections.deque()
        self.near, self._far = socket.socketpair()
        self.near.setblocking(False)
        self._far.setblocking(False)

    def take(self, document: Document, frame: Frame) -> bool:
        """Take what a frame attaches or asks; True for a question. Raises BadFrame."""
        if frame.attach is None and frame.ask is None:
            return False
        if self._recogniser is None:
            raise BadFrame("question that nobody answers")
        if document.session is None:
            file = document.file
            document.session = self._recogniser.open(file.fileno(), file.name, file.size)
        if frame.attach is not None:
            document.session.attach(*frame.attach)
        question = frame.ask
        if question is None:
            return False
        document.questions += 1
        document.waiting.add(question.number)
        if document.questions > READER_QUESTIONS or len(document.waiting) > READER_QUESTIONS_OPEN:
            raise BadFrame("too many questions")

        def answered(answer: Answer, number: int = question.number) -> None:
            self._answers.append((document, number, answer))
            self._wake()

        document.session.ask(question.wanted, question.attached, answered)
        if self._asked is not None and question.attached is None:
            self._asked(document.file.ticket, question.wanted)
        return True

    def answers(self) -> Iterator[tuple[Document, int, Answer]]:
        """What has been answered since the last call, of documents that still wait for it."""
        with contextlib.suppress(BlockingIOError):
            while self.near.recv(4096):
                pass
        while self._answers:
            document, number, answer = self._answers.popleft()
            if not document.ended and number in document.waiting:
                document.waiting.discard(number)
                yield document, number, answer

    def close_session(self, document: Document) -> None:
        """The document has ended or goes back into the queue."""
        document.waiting.clear()
        if document.session is not None:
            document.session.close()
            document.session = None

    def close(self) -> None:
        self.near.close()
        self._far.close()

    def _wake(self) -> None:
        # Full: it will wake all the same. Closed: nobody waits any more.
        with contextlib.suppress(OSError):
            self._far.send(b"\0")
