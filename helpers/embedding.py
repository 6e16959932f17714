"""The semantic phase of a sync: give every chunk its vectors, publish, keep the blocks in order.

Promises: a chunk that has vectors is never embedded again; what the process handed over is
committed within COMMIT_S, and before a cancellation or a failure is passed on, so that a kill
loses at most COMMIT_S and what was under way; a generation is published in one statement and
only when it covers every chunk; one that serves goes on serving meanwhile; a chunk that takes
the process down is found, tried ATTEMPTS times, and left out.
Does not: load a model (the process behind `Worker` does), or touch documents' text.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from helpers import log
from helpers.config import Settings
from helpers.errors import SemanticError
from helpers.jobs.handle import JobHandle
from helpers.semantic import model
from helpers.semantic.model import ModelStatus
from helpers.store import database, generations, vector_heads, vectors
from helpers.store.database import Connection
from helpers.store.generations import ATTEMPTS, Generation

COMMIT_S = 1.0  # seconds between two commits of vectors
LINGER_S = 60.0  # seconds the process waits while vectors are written
HEAD_FROM = 16_384  # vectors of a generation from which heads speed a search up
NEW_BASIS_AT = 8  # times as many vectors as when the basis was made: it is made anew
FAILURES_IN_A_ROW = 3  # of the process, without one chunk embedded between
PROBE = "a"  # a text that no model can choke on: the process is well if it embeds this

_logger = log.get_logger("embedding")


class Embedded(Protocol):
    """One chunk's vectors, float16, or the reason why there are none."""

    @property
    def vectors(self) -> bytes: ...

    @property
    def error(self) -> str: ...


class Worker(Protocol):
    """The process that has the model and the arithmetic; every call may raise SemanticError."""

    fingerprint: str

    def embed_chunks(self, chunks: Iterable[tuple[str, str]]) -> Iterator[Any]:
        """An Embedded for each (context, text), in order; pulls ahead as it has room."""

    def basis(self, db_path: Path, generation: int) -> bytes:
        """What the heads of a generation are to be made with."""

    def head(self, db_path: Path, generation: int, block: int) -> tuple[int, bytes, bytes]:
        """The fields of a block's Head."""

    def close(self) -> None:
        """End the process."""


class Models:
    """Where a sync gets its model; another one stands in for tests."""

    def status(self, settings: Settings) -> ModelStatus:
        """The model in force, made ready where that takes only a moment."""
        found = model.status(settings)
        if found.preparable:
            from helpers.semantic import client

            found = client.ensure(settings, _logger.info)
        return found

    def worker(self, settings: Settings, found: ModelStatus) -> Worker:
        """The process for `found`; it starts with the first request."""
        from helpers.semantic import client

        return client.Worker(settings, found, LINGER_S)


def embed(
    db: Connection,
    path: Path,
    job: JobHandle,
    found: ModelStatus,
    open_worker: Callable[[], Worker],
    clock: Callable[[], float] = time.monotonic,
) -> SemanticError | None:
    """Do all that waits for `found`'s model; returns what stopped it, None at its end.

    Whatever the process does, keywords are not concerned: only Cancelled and the index's own
    errors are raised.
    """
    generation = generations.begin(db, found.fingerprint, found.name, found.dimension)
    phase = _Phase(db, path, job, generation, open_worker, clock)
    trouble: SemanticError | None = None
    try:
        phase.run()
    except SemanticError as error:
        _logger.warning("embedding stopped: %s", error)
        trouble = error
    finally:
        phase.close()
    said = None if trouble is None else {"what": trouble.what, "remedy": trouble.remedy}
    generations.note_trouble(db, said)
    return trouble


class _Phase:
    """One run of the phase: rounds over the pending documents, then housekeeping."""

    def __init__(
        self,
        db: Connection,
        path: Path,
        job: JobHandle,
        generation: Generation,
        open_worker: Callable[[], Worker],
        clock: Callable[[], float],
    ) -> None:
        self.db, self.path, self.job, self.generation = db, path, job, generation
        self.open_worker, self.clock = open_worker, clock
        self._worker: Worker | None = None
        self._sent: deque[tuple[int, int | None]] = deque()  # (document, chunk); None: its end
        self._found: list[vectors.Vectors] = []
        self._failed: list[tuple[int, str, int]] = []
        self._done = 0
        self._committed_at = clock()

    def run(self) -> None:
        """Embed, publish, tidy up. Raises SemanticError, Cancelled, sqlite3.Error."""
        self._total = generations.count_waiting(self.db, self.generation.id)
        self.job.semantic(0, self._total)
        for _ in range(ATTEMPTS):
            if generations.pending(self.db, 0, 1):
                self._round()
        self._publish()
        self._tidy()

    def close(self) -> None:
        """End the process, if one was started."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    # --- vectors -------------------------------------------------------------------------

    def _round(self) -> None:
        """Offer every waiting chunk once."""
        failures = 0
        while True:
            done = self._done
            try:
                self._offer(self._waiting())
                return
            except SemanticError as error:
                suspects = [chunk for _, chunk in self._sent if chunk is not None]
                self._sent.clear()
                failures = 1 if self._done > done else failures + 1
                if failures >= FAILURES_IN_A_ROW:
                    raise
                self.close()
                self._single_out(suspects, error)

    def _offer(self, chunks: Iterator[tuple[str, str]]) -> None:
        """Embed what `chunks` yields; what came in is committed, however it ends."""
        try:
            first = next(chunks, None)
            if first is not None:
                for embedded in self._process().embed_chunks(itertools.chain([first], chunks)):
                    self._take(embedded)
        finally:
            self._commit()
        self.job.checkpoint()

    def _waiting(self) -> Iterator[tuple[str, str]]:
        """(context, text) of every waiting chunk; `_sent` remembers whose they are.

        Ends early once the job is cancelled: what is under way is still taken in.
        """
        last = 0
        while documents := generations.pending(self.db, last):
            for document in documents:
                ordinal = -1
                while found := generations.waiting(self.db, self.generation.id, document, ordinal):
                    for chunk in found:
                        if self.job.cancelled():
                            return
                        self._sent.append((document, chunk.id))
                        yield chunk.context, chunk.text
                    ordinal = found[-1].ordinal
                if self.job.cancelled():
                    return
                self._sent.append((document, None))
                self._commit_if_due()
            last = documents[-1]

    def _take(self, embedded: Embedded) -> None:
        """Note what came of the chunk that was sent first."""
        place = next(n for n, (_, chunk) in enumerate(self._sent) if chunk is not None)
        chunk = self._sent[place][1]
        assert chunk is not None
        del self._sent[place]
        if embedded.error:
            self._failed.append((chunk, embedded.error, 1))
        else:
            self._found.append((chunk, embedded.vectors))
            self._done += 1
        self._commit_if_due()
        self.job.semantic(self._done, max(self._done, self._total))

    def _commit_if_due(self) -> None:
        if self.clock() - self._committed_at >= COMMIT_S:
            self._commit()

    def _commit(self) -> None:
        """Write what came in since the last time, and settle documents that are through."""
        through = []
        while self._sent and self._sent[0][1] is None:
            through.append(self._sent.popleft()[0])
        if through or self._found or self._failed:
            with database.transaction(self.db):
                vectors.add(self.db, self.generation.id, self.generation.dimension, self._found)
                vectors.fail(self.db, self.generation.id, self._failed)
                generations.settle_documents(self.db, self.generation.id, through)
            self._found, self._failed = [], []
            self._merge()
            database.truncate_wal(self.db, self.path)
        self._committed_at = self.clock()

    # --- a process that fails ------------------------------------------------------------

    def _process(self) -> Worker:
        if self._worker is None:
            self._worker = self.open_worker()
            if self._worker.fingerprint != self.generation.fingerprint:
                raise SemanticError("the model changed meanwhile", "Sync again.")
        return self._worker

    def _single_out(self, suspects: list[int], error: SemanticError) -> None:
        """Embed `suspects` one by one, leaving out those that take the process down.

        Raises SemanticError where the process is not well by itself: it fails for a harmless
        text too, or for several chunks one after the other.
        """
        guilty: list[tuple[int, str, int]] = []
        for row in filter(None, (generations.one(self.db, chunk) for chunk in suspects)):
            found = self._alone((row.context, row.text))
            if found is None:
                guilty.append((row.id, error.what, ATTEMPTS))
                if len(guilty) == FAILURES_IN_A_ROW or self._alone(("", PROBE)) is None:
                    raise error
                continue
            self._failed += guilty
            guilty.clear()
            self._sent.append((0, row.id))
            self._take(found)
            self._commit()
        self._failed += guilty
        self._commit()

    def _alone(self, chunk: tuple[str, str]) -> Embedded | None:
        """One chunk in a fresh process, ATTEMPTS times if need be; None where all of them fail."""
        for _ in range(ATTEMPTS):
            self.job.checkpoint()
            try:
                return next(iter(list(self._process().embed_chunks([chunk]))), None)
            except SemanticError:
                self.close()
        return None

    # --- order ---------------------------------------------------------------------------

    def _publish(self) -> None:
        """Let the generation serve, once it covers everything."""
        if generations.pending(self.db, 0, 1) or generations.publish(self.db, self.generation):
            return
        # Some chunk has no vectors though its document does not say so: look at all of them.
        _logger.warning("documents and vectors disagree; the next sync compares them all")
        generations.recheck(self.db)

    def _tidy(self) -> None:
        """Merge small blocks, make heads, clear what dropped generations left."""
        self._merge()
        self._make_heads()
        while left := vectors.leftovers(self.db):
            self.job.checkpoint()
            vectors.clear(self.db, left[0])
            database.truncate_wal(self.db, self.path)
        generations.tidied(self.db, self.generation)

    def _merge(self) -> None:
        while vectors.merge(self.db, self.generation.id, self.generation.dimension):
            database.truncate_wal(self.db, self.path)

    def _make_heads(self) -> None:
        generation = generations.of_model(self.db, self.generation.fingerprint)
        assert generation is not None
        if generation.vectors < HEAD_FROM:
            return
        known = vector_heads.basis(self.db, generation.id)
        if known is None or generation.vectors >= NEW_BASIS_AT * known[1]:
            data = self._process().basis(self.path, generation.id)
            with database.transaction(self.db):
                vector_heads.set_basis(self.db, generation.id, generation.vectors, data)
        for block in vector_heads.headless(self.db, generation.id):
            self.job.checkpoint()
            head = vector_heads.Head(*self._process().head(self.path, generation.id, block))
            with database.transaction(self.db):
                vector_heads.set_head(self.db, block, head)
            database.truncate_wal(self.db, self.path)
