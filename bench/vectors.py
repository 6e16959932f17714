"""The exact search of vectors, against a float32 product over the same vectors in memory; and the
whole embedding process, its model included, while it searches them.

The vectors are drawn so that they lie as those of multilingual-e5-small do over 4,899 passages in
three languages and 300 questions about them: near one direction, the variance about it spread
over the others by their rank to the power of -0.63, in part shared within a language and within
a topic. Measured and drawn: cosines .731 and .754 on average, deviating by .033 and .034; that
of the best passage .902 and .905; rows that a third of the coordinates leaves in doubt 74 and
66 % (50 best of 4,899).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure import ROOT, Ratio
from helpers import config
from helpers.errors import ConfigError
from helpers.semantic import client, heads, model
from helpers.semantic.scan import Scanner
from helpers.store import database, generations, vector_heads, vectors

DIMENSION = 384
CHILDREN = 3  # vectors per chunk
BEST = 50  # chunks asked for
QUESTIONS = 20
LEAN = 0.86  # length of the mean of all vectors
SPREAD = 0.26  # variance about it, all directions together
DECAY = 0.63
LANGUAGES, PER_TOPIC = 3, 16
SHARED = 0.4  # of a vector's way from the mean, that of its language, and of its topic too
CLOSENESS = 0.55  # of a question's way from its language that it goes with its passage
SEED = 384
BATCH = 4_096
RESIDENT_MIB = 1_200.0


def exact_search(count: int = 1_000_000) -> list[Ratio]:
    """Milliseconds of a warm search and resident memory, over `count` vectors."""
    with tempfile.TemporaryDirectory() as folder:
        index, token = _build(Path(folder), count)
        ours = _measured("scan", str(index), token, str(count), threads="1")
        product = _measured("product", str(index), token, str(count))
        whole = _process_mib(index, token)
    name = f"exact search of {count:,} x {DIMENSION} vectors"
    return [
        Ratio(f"{name}, against a float32 product", ours["ms"], product["ms"], "ms", 0.4),
        Ratio(f"{name}, resident memory", ours["mib"], RESIDENT_MIB, "MiB", 1.0),
        Ratio(f"{name}, the process with its model", whole, RESIDENT_MIB, "MiB", 1.0),
    ]


def _measured(*words: str, threads: str = "") -> dict[str, float]:
    """One side in a process of its own. The product may use every core, as numpy does; the scan
    has numpy use one, as it has in the embedding process."""
    command = [sys.executable, "-m", "bench.vectors", *words]
    environment = os.environ | ({"OPENBLAS_NUM_THREADS": threads} if threads else {})
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _process_mib(index: Path, token: str) -> float:
    """The peak memory of an embedding process that answers questions over the index."""
    settings = config.resolve(argparse.Namespace(data_dir=str(index.parent)))
    found = model.status(settings)
    if not found.ready:
        raise ConfigError(found.reason, found.remedy)
    with client.Worker(settings, found, linger=60) as worker:
        for number in range(3):
            worker.search(f"Question number {number}?", BEST, index, token)
        return _resident(str(worker.pid))


def _build(folder: Path, count: int) -> tuple[Path, str]:
    """An index that holds nothing but vectors, as a sync leaves them."""
    index = folder / "ragdoc.sqlite3"
    db = database.open_write(index)
    generation = generations.begin(db, "bench", "bench", DIMENSION)
    chunk = 0
    for rows in Corpus(count).batches():
        found = []
        for start in range(0, len(rows), CHILDREN):
            chunk += 1
            found.append((chunk, rows[start : start + CHILDREN].tobytes()))
        with database.transaction(db):
            vectors.add(db, generation.id, DIMENSION, found)
        database.truncate_wal(db, index)
    finish(db, index, generation)
    db.close()
    return index, generation.token


def finish(db: database.Connection, index: Path, generation: generations.Generation) -> None:
    """Give the blocks their heads and publish, as the end of a sync does."""
    data = heads.fit(index, generation.id)
    count = next(g.vectors for g in generations.every(db) if g.id == generation.id)
    with database.transaction(db):
        vector_heads.set_basis(db, generation.id, count, data)
    for block in vector_heads.headless(db, generation.id):
        head = heads.head(index, generation.id, block)
        with database.transaction(db):
            vector_heads.set_head(db, block, head)
        database.truncate_wal(db, index)
    assert generations.publish(db, generation)


class Corpus:
    """Vectors and questions, the same for the same count."""

    def __init__(self, count: int) -> None:
        self.count = count
        deviation = np.arange(1, DIMENSION + 1) ** (-DECAY / 2)
        self.deviation = deviation * np.sqrt(SPREAD / (deviation**2).sum())
        random = np.random.default_rng(SEED)
        self.languages = random.normal(size=(LANGUAGES, DIMENSION)) * self.deviation
        topics = max(1, count // PER_TOPIC)
        self.topics = random.standard_normal((topics, DIMENSION), np.float32)

    def batches(self) -> Iterator[NDArray[np.float16]]:
        """Float16 vectors of length 1."""
        random = np.random.default_rng(SEED + 1)
        for start in range(0, self.count, BATCH):
            size = min(BATCH, self.count - start)
            topic = random.integers(0, len(self.topics), size)
            rows = SHARED * self.topics[topic] + np.sqrt(1 - 2 * SHARED**2) * random.normal(
                size=(size, DIMENSION)
            )
            shared = SHARED * self.languages[topic % LANGUAGES]
            yield _unit(rows * self.deviation + shared).astype(np.float16)

    def questions(self) -> NDArray[np.float32]:
        """Questions about some of the passages."""
        random = np.random.default_rng(SEED + 2)
        rows = next(self.batches())[:QUESTIONS].astype(np.float64)
        topic = np.random.default_rng(SEED + 1).integers(
            0, len(self.topics), min(BATCH, self.count)
        )
        shared = SHARED * self.languages[topic[:QUESTIONS] % LANGUAGES]
        rows[:, -1] -= LEAN
        further = random.normal(size=rows.shape) * self.deviation
        further *= np.sqrt((1 - CLOSENESS**2) * (1 - SHARED**2))
        return _unit(shared + CLOSENESS * (rows - shared) + further).astype(np.float32)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moved by the mean, which has a direction of its own, and made as long as 1."""
    rows = rows.copy()
    rows[:, -1] += LEAN
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _scan(index: str, token: str, count: int) -> dict[str, float]:
    scanner = Scanner.open(index, token)
    questions = Corpus(count).questions()
    scanner.top_k(questions[0], BEST)
    return {"ms": _median_ms(questions, lambda q: scanner.top_k(q, BEST)), "mib": _resident()}


def _product(index: str, token: str, count: int) -> dict[str, float]:
    corpus = Corpus(count)
    rows = np.concatenate([part.astype(np.float32) for part in corpus.batches()])
    return {"ms": _median_ms(corpus.questions(), lambda question: rows @ question), "mib": 0.0}


def _median_ms(questions: NDArray[np.float32], ask: Callable[[Any], Any]) -> float:
    found = []
    for question in questions:
        begun = time.perf_counter()
        ask(question)
        found.append((time.perf_counter() - begun) * 1000)
    return statistics.median(found)


def _resident(process: str = "self") -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    side = {"scan": _scan, "product": _product}[sys.argv[1]]
    print(json.dumps(side(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
