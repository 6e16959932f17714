"""A model that stands in for a real one: vectors drawn from each text, every request written down.

It behaves as the process does: takes chunks ahead in batches, fails for chosen texts, dies of
others, and dies altogether when it is told to.
"""

from __future__ import annotations

import itertools
import os
import random
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rag_sync
from helpers.config import Settings
from helpers.embedding import Models
from helpers.errors import SemanticError
from helpers.jobs import queue
from helpers.jobs.handle import JobHandle
from helpers.semantic.client import Embedded
from helpers.semantic.model import ModelStatus
from helpers.store import database
from tests.sync.stage import Stage

DIMENSION = 12
BATCH = 4  # chunks per request
AHEAD = 2  # requests under way
CHILD_CHARS = 400  # code points per vector


def vectors_of(text: str, fingerprint: str, dimension: int = DIMENSION) -> bytes:
    """Float16 vectors of length about 1, the same for the same text and model."""
    drawn = random.Random(f"{fingerprint} {text}")
    found = b""
    for _ in range(1 + len(text) // CHILD_CHARS):
        row = [drawn.gauss(0, 1) for _ in range(dimension)]
        length = sum(x * x for x in row) ** 0.5
        found += struct.pack(f"<{dimension}e", *(x / length for x in row))
    return found


@dataclass
class StandIn(Models):
    """`log`: a file that takes a line per embedded text, so that it outlives a killed process."""

    log: Path
    fingerprint: str = "model-1"
    dimension: int = DIMENSION
    ready: bool = True
    fails: Collection[str] = ()  # words: a text with one of them cannot be embedded
    kills: Collection[str] = ()  # words: a text with one of them takes the process down
    dead: bool = False  # the process dies at every request
    starts: int = field(default=0, init=False)
    during: Callable[[], None] = field(default=lambda: None)  # called at each batch

    def status(self, settings: Settings) -> ModelStatus:
        if not self.ready or settings.semantic == "off":
            return ModelStatus(False, "no semantic model is installed", "Install one.")
        return ModelStatus(
            True, fingerprint=self.fingerprint, name="stand-in", dimension=self.dimension
        )

    def worker(self, settings: Settings, found: ModelStatus) -> Worker:
        return Worker(self)

    def embedded(self) -> list[str]:
        """Every text embedded so far, in order."""
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []

    def note(self, text: str) -> None:
        line = " ".join(text.split()) + "\n"
        file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, line.encode())
        os.close(file)


class Worker:
    """One process of the stand-in's."""

    def __init__(self, models: StandIn) -> None:
        self.models = models
        self.fingerprint = models.fingerprint
        self._started = False

    def embed_chunks(self, chunks: Iterable[tuple[str, str]]) -> Iterator[Embedded]:
        self.models.starts += not self._started
        self._started = True
        source = iter(chunks)
        waiting: list[list[tuple[str, str]]] = []
        while True:
            while len(waiting) < AHEAD and (batch := list(itertools.islice(source, BATCH))):
                waiting.append(batch)
            if not waiting:
                return
            self.models.during()
            yield from [self._one(*chunk) for chunk in self._survived(waiting.pop(0))]

    def _survived(self, batch: list[tuple[str, str]]) -> list[tuple[str, str]]:
        deadly = any(word in text for _, text in batch for word in self.models.kills)
        if self.models.dead or deadly:
            raise SemanticError("the embedding process failed: it ended with status -11", "Wait.")
        return batch

    def _one(self, context: str, text: str) -> Embedded:
        self.models.note(text)
        if any(word in text for word in self.models.fails):
            return Embedded(0, b"", "it is no text")
        dimension = self.models.dimension
        found = vectors_of(f"{context}\n{text}", self.fingerprint, dimension)
        return Embedded(len(found) // (2 * dimension), found)

    def basis(self, db_path: Path, generation: int) -> bytes:
        from helpers.semantic import heads

        return heads.fit(db_path, generation)

    def head(self, db_path: Path, generation: int, block: int) -> tuple[int, bytes, bytes]:
        from helpers.semantic import heads

        found = heads.head(db_path, generation, block)
        return found.basis, found.facts, found.codes

    def close(self) -> None:
        self._started = False


def synced(
    stage: Stage,
    models: Models,
    *,
    scope: str = "full",
    force: bool = False,
    during: Callable[[JobHandle], None] = lambda job: None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Sync in this process with `models`; the final Job. `during` sees the handle first."""
    chosen = settings or stage.settings

    def story(job: JobHandle) -> None:
        during(job)
        rag_sync.sync(chosen, job, models)

    return queue.run_here(chosen, story, force=force, scope=scope).state.public()


def vectors_by_text(stage: Stage) -> dict[tuple[str, int], bytes]:
    """(path, ordinal) of every chunk that has vectors, with those."""
    from helpers.store import generations, vectors

    db = database.open_read(stage.settings.db)
    try:
        (generation,) = generations.every(db)
        size = 2 * generation.dimension
        found = {}
        for path, ordinal, chunk in db.execute(
            "SELECT path, ordinal, chunk.id FROM chunk JOIN document ON document.id = document_id"
        ).fetchall():
            for place in vectors.places(db, generation.id, [chunk]):
                data = vectors.vectors(db, place.block)
                found[path, ordinal] = data[size * place.first : size * (place.first + place.rows)]
        return found
    finally:
        db.close()
