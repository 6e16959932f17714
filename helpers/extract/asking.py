"""Inside a reader process: questions about pictures and sound, asked through the parent.

Promises: a question is a frame, its answer a request in the inbox, and files that arrive
meanwhile are kept for later; every family that a document wanted is told to the parent, whether
anything could answer or not.
Does not: run an engine, or open anything.
"""

from __future__ import annotations

import base64
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.limits import (
    READER_ATTACHED_BYTES,
    READER_ATTACHED_PART_BYTES,
    READER_QUESTIONS,
    READER_QUESTIONS_OPEN,
)
from helpers.recognition import NoRecognition, Pending, Piece, Recognised, Wanted

SPLIT = "Split the document into smaller ones."
_NUMBERS = itertools.count(1)  # of questions, so that a late answer to an earlier file fits none
CAN_SHARE = hasattr(os, "pread")  # else the parent cannot read the file beside this process


class Asking:
    """The `recognize` of one document's Context; `send` sends a frame, `receive` an answer."""

    def __init__(
        self,
        file: BinaryIO,
        refusals: Mapping[str, list[str]] | None,
        send: Callable[[dict[str, Any]], None],
        receive: Callable[[], list[Any]],
    ) -> None:
        self.wanted: dict[str, None] = {}  # families
        self._file, self._refusals = file, refusals
        self._send, self._receive = send, receive
        self._asked = 0
        self._open: dict[int, list[list[Any]]] = {}
        self._answers: dict[int, Recognised | Unread] = {}
        self._attached: BinaryIO | None = None
        self._attachments = self._attached_bytes = 0

    def __call__(self, wanted: Wanted) -> Recognised:
        return self.begin(wanted).result()

    def begin(self, wanted: Wanted) -> Pending:
        """Ask, and go on. Raises Unread where the document wants too much."""
        self.wanted[wanted.family] = None
        if self._refusals is None:
            return NoRecognition().begin(wanted)
        refusal = self._refusals.get(wanted.family)
        if refusal is not None:
            return NoRecognition(Unread(*refusal)).begin(wanted)
        if self._asked >= READER_QUESTIONS:
            what = "what is recognised in it"
            raise limit_reached(
                what, self._asked + 1, READER_QUESTIONS, "pages, images and recordings", SPLIT
            )
        while len(self._open) >= READER_QUESTIONS_OPEN:
            self._take()
        file = wanted.file or (None if CAN_SHARE else self._file)
        attached = None if file is None else self._attach(file)
        number = next(_NUMBERS)
        self._asked += 1
        self._open[number] = []
        question = [number, wanted.kind, wanted.page, wanted.pages, wanted.dpi]
        self._send({"ask": [*question, wanted.orientation, wanted.scale, attached]})
        return _Question(self, number)

    def answer(self, number: int) -> Recognised:
        """Wait for the answer to a question. Raises Unread."""
        while number in self._open:
            self._take()
        found = self._answers.pop(number)
        if isinstance(found, Unread):
            raise found
        return found

    def _take(self) -> None:
        number, error, pieces, engine, facts, more = self._receive()
        gathered = self._open.get(number)
        if gathered is None:
            return
        gathered += pieces
        if more:
            return
        del self._open[number]
        if error is not None:
            self._answers[number] = Unread(*error)
        else:
            self._answers[number] = Recognised(tuple(Piece(*p) for p in gathered), engine, facts)

    def _attach(self, file: BinaryIO) -> int:
        """Hand out an inner file, once for questions that follow one another; its number."""
        if file is not self._attached:
            self._attached, self._attachments = None, self._attachments + 1
            for part in _parts(file):
                self._attached_bytes += len(part)
                if self._attached_bytes > READER_ATTACHED_BYTES:
                    what = "the files inside it that hold images or sound"
                    reached = self._attached_bytes
                    raise limit_reached(what, reached, READER_ATTACHED_BYTES, "bytes", SPLIT)
                text = base64.b64encode(part).decode()
                self._send({"attach": [self._attachments, text]})
            self._attached = file
        return self._attachments


class _Question:
    def __init__(self, asking: Asking, number: int) -> None:
        self._asking, self._number = asking, number

    def result(self) -> Recognised:
        return self._asking.answer(self._number)


def _parts(file: BinaryIO) -> Iterator[bytes]:
    """All of a file, its position left as it was."""
    at = file.tell()
    try:
        file.seek(0)
        while part := file.read(READER_ATTACHED_PART_BYTES):
            yield part
    finally:
        file.seek(at)
