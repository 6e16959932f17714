"""The meaning leg: the chunks whose vectors lie nearest to the question's.

Promises: the embedding process starts when there are vectors to search, not before, and works
while the other legs do; a model that is missing, vectors that are not there yet and a process that
crashed, hung or wrote junk each become a reason of this leg; it says of every other leg's
candidate, too, how near that is, unless it has no vectors.
Does not: load a model, or fuse. Scores are calibrated: 0 is what the model gives texts that have
nothing to do with each other, 1 is the same text. No score is low enough to say "not found".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpers.config import Settings
from helpers.errors import SemanticError, UsageError
from helpers.retrieve.hit import Filters, Hit, Leg
from helpers.retrieve.keyword import DEEP_POOL, POOL
from helpers.semantic import model
from helpers.semantic.model import Description, ModelStatus
from helpers.store import generations
from helpers.store.database import Connection
from helpers.store.generations import Generation

if TYPE_CHECKING:
    from helpers.semantic.client import Pending, WorkerSlot

NAME = "semantic"
SAY = 1.4  # of nearness beside words, times the model's weight; 1.3 and 1.4 keep every set
NO_VECTORS = "the chunks have not got their vectors yet"
SYNC = "Run a sync (python3 rag_sync.py)"


@dataclass(frozen=True, slots=True)
class Source:
    """What meaning is searched with: a model, and the vectors it made of this index.

    `fraction` of all `chunks` have vectors. With a `reason` there is nothing to search with, and
    `remedy` says what to do about it.
    """

    found: ModelStatus
    generation: Generation | None
    chunks: int
    fraction: float
    reason: str = ""
    remedy: str = ""


def source(settings: Settings, db: Connection, chunks: int) -> Source:
    """What `settings` and `db`, which holds so many chunks, offer."""
    found = model.status(settings)
    generation = generations.serving(db, found.fingerprint)
    fraction = generations.fraction(generation, chunks)
    if not found.ready:
        return Source(found, generation, chunks, fraction, found.reason, found.remedy)
    if generation is None:
        return Source(found, None, chunks, fraction, NO_VECTORS, SYNC)
    return Source(found, generation, chunks, fraction)


def required(given: Source) -> None:
    """Raise UsageError where meaning alone was asked for and there is none."""
    if given.reason:
        remedy = f"{given.remedy.rstrip('.')}. Mode auto or lexical searches by words."
        what = f"mode is semantic, and {given.reason}"
        raise UsageError(what, remedy, code="semantic_missing")


def absent(reason: str) -> Leg:
    """The leg that did not run."""
    return Leg(NAME, ran=False, reason=reason)


class Meaning:
    """The embedding process of one door, started at the first question that needs it."""

    def __init__(self, linger: float = 0.0) -> None:
        """`linger`: seconds an idle process stays, where the settings do not say."""
        self._linger = linger
        self._lock = threading.Lock()
        self._slot: WorkerSlot | None = None

    @contextmanager
    def asked(
        self, text: str, given: Source, settings: Settings, filters: Filters, deep: bool
    ) -> Iterator[Question]:
        """Put `text` to the process, and do something else meanwhile. Raises SemanticError."""
        assert given.generation is not None and given.found.description is not None
        chosen = settings.semantic_linger
        linger = self._linger if chosen is None else chosen
        worker = self._opened().worker(settings, given.found, linger)
        token, where = given.generation.token, (filters.sql, filters.values)
        wanted = DEEP_POOL if deep else POOL
        with worker.searching(text, wanted, settings.db, token, where) as pending:
            yield Question(pending, given.found.description, given.fraction)

    def trouble(self) -> SemanticError | None:
        """Why no process is started just now, after one failed."""
        slot = self._slot
        return None if slot is None else slot.trouble()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            slot, self._slot = self._slot, None
        if slot is not None:
            slot.close()

    def _opened(self) -> WorkerSlot:
        from helpers.semantic.client import WorkerSlot

        with self._lock:
            if self._slot is None:
                self._slot = WorkerSlot()
            return self._slot


class Question:
    """A question that the process is at work on."""

    def __init__(self, pending: Pending, described: Description, fraction: float) -> None:
        self._pending = pending
        self._base = described.background_mean
        # What is nearest says little while much is unseen: two passages are compared by meaning
        # only where both have vectors. With half of them, this keeps every set above keywords.
        self._share = fraction
        self._weight = SAY * fraction**2 * (1 - self._base) / described.fusion_weight
        self._begun = time.perf_counter()

    def leg(self, others: Sequence[int] = ()) -> Leg:
        """Wait for the hits, best first, and the scores of `others`. Raises SemanticError."""
        found = self._pending.result()
        known = {chunk for chunk, _ in found}
        rest = [chunk for chunk in others if chunk not in known]
        also = self._pending.also(rest) if rest else []
        hits = tuple(
            Hit(chunk, self._calibrated(cosine), later=place >= POOL)
            for place, (chunk, cosine) in enumerate(found)
        )
        scores = {chunk: self._calibrated(cosine) for chunk, cosine in also}
        ms = (time.perf_counter() - self._begun) * 1000
        return Leg(NAME, hits, ms, also=scores, weight=self._weight, share=self._share)

    def _calibrated(self, cosine: float) -> float:
        return max(0.0, (cosine - self._base) / (1 - self._base))
