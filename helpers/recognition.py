"""What is asked of an engine that reads pictures or sound, and what comes back.

The words that a reader (inside its process), the pool that carries the question out of it, and
whoever answers share. A reader cannot run an engine: it may start no process and open no file.

Promises: plain immutable values and the interfaces between the three; needs nothing but errors.
Does not: run anything, or know an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol

from helpers.errors import Unread

FAMILIES = {"page": "picture", "image": "picture", "sound": "sound"}  # kind asked for → who answers
KINDS = tuple(FAMILIES)
PROVISIONAL = "provisional"  # a fact: true for now, so that it is not kept
LACKING = "lacking"  # a fact of Recognised: languages that could not be looked for
SCAN_REMEDY = (
    "Nothing here recognises text in images: run the file through an OCR program and sync again"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to recognise: a `page` of a PDF, an `image`, or the `sound` of a recording.

    `page` is the page or frame, from 1, and `pages` how many there are (for showing progress);
    `dpi` is the resolution a page is drawn at, or what an image seems to have once it is enlarged
    to `scale` percent (None: as the engine likes it); `orientation` is how a picture says it was
    held (EXIF, 1 to 8). `file` is None for the document itself, else an open file inside it, such
    as an attachment, which is handed out as a whole.
    """

    kind: str
    page: int | None = None
    pages: int | None = None
    dpi: int | None = None
    orientation: int = 1
    scale: int = 100
    file: BinaryIO | None = None

    @property
    def family(self) -> str:
        return FAMILIES[self.kind]


@dataclass(frozen=True, slots=True)
class Piece:
    """A paragraph, or what was said without a pause.

    `confidence` runs from 0 to 1 where the engine says it; `start` and `end` are seconds of a
    recording.
    """

    text: str
    confidence: float | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """What an engine read, in reading order, which may be nothing; `engine` names it.

    `facts` go into the document's metadata, such as the size of a model and the date.
    """

    pieces: tuple[Piece, ...] = ()
    engine: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


# --- inside a reader -----------------------------------------------------------------


class Pending(Protocol):
    """A question on its way."""

    def result(self) -> Recognised:
        """Wait for the answer. Raises Unread: `no_text`, `limit_reached`, `timeout`, …"""


class Recognition(Protocol):
    """What a reader asks through: `ctx.recognize(wanted)` waits for the answer.

    `begin` asks and goes on, so that several pages are recognised while the next is parsed;
    at most READER_QUESTIONS_OPEN of a document are open, then `begin` waits for the oldest.
    """

    def __call__(self, wanted: Wanted) -> Recognised: ...

    def begin(self, wanted: Wanted) -> Pending: ...


class _Refused:
    def __init__(self, why: Unread) -> None:
        self._why = why

    def result(self) -> Recognised:
        raise self._why


class NoRecognition:
    """Where nothing recognises: every question is refused, with the reason and the remedy."""

    def __init__(self, why: Unread | None = None) -> None:
        self._why = why or Unread("no_text", "its text stands in an image", SCAN_REMEDY)

    def __call__(self, wanted: Wanted) -> Recognised:
        raise self._why

    def begin(self, wanted: Wanted) -> Pending:
        return _Refused(self._why)


class Within:
    """`outer` for a document inside a document: what it wants is looked for in `file`."""

    def __init__(self, outer: Recognition, file: BinaryIO) -> None:
        self._outer, self._file = outer, file

    def __call__(self, wanted: Wanted) -> Recognised:
        return self.begin(wanted).result()

    def begin(self, wanted: Wanted) -> Pending:
        return self._outer.begin(wanted if wanted.file else replace(wanted, file=self._file))


# --- outside of it -------------------------------------------------------------------

Answer = Recognised | Unread
Answered = Callable[[Answer], None]


class Session(Protocol):
    """What answers the questions of one document; all methods return at once."""

    def attach(self, number: int, data: bytes) -> None:
        """Take the next bytes of an inner file, by its number; what went wrong with it is told
        to the questions about it.
        """

    def ask(self, wanted: Wanted, attached: int | None, answered: Answered) -> None:
        """Recognise `wanted` (its `file` is None) of the document, or of the inner file
        `attached`; `answered` is called once, from any thread.
        """

    def close(self) -> None:
        """The document has ended, or was given up: stop what is running, keep nothing of it.
        No answer is called after it.
        """


class Recogniser(Protocol):
    """What a pool of readers hands questions to."""

    def refusals(self) -> Mapping[str, Unread]:
        """Family → why nothing of it can be answered, for those that cannot."""

    def open(self, descriptor: int, name: str, size: int) -> Session:
        """Begin a document. The descriptor shares its position and closes when the session
        does: it is read by os.pread, through a duplicate.
        """
