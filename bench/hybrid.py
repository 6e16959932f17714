"""The search by words and meaning together: what meaning adds to the words' latency.

Documents are made and synced for real; their vectors are drawn, since embedding 100,000 passages
takes hours and a scan does not care what they mean. The question is embedded for real.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import rag_search
from bench import corpus
from bench.measure import Ratio, sync_command, timed
from bench.vectors import CHILDREN, DIMENSION, Corpus, finish
from helpers import config
from helpers.config import Settings
from helpers.retrieve.request import SearchRequest
from helpers.semantic import client, model
from helpers.store import database, generations, vectors

CORPUS_MB = 130  # gives a little over 100,000 chunks
QUESTIONS = 100
BEST = 50  # chunks that a search asks the scan for
SHARE = 1.5  # of embedding and scan alone that meaning may add


def latency(total_mb: int = CORPUS_MB) -> list[Ratio]:
    """Warm hybrid p50 against the lexical one, plus SHARE times embedding and scan alone."""
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "docs", Path(folder) / "state"
        corpus.text_corpus(docs, total_mb * 1_000_000, 50_000)
        timed(sync_command(docs, state))
        found = config.resolve(None)
        settings = Settings(docs, state, state / "ragdoc.sqlite3", models_dir=found.models_dir)
        chunks, token = _draw_vectors(settings)
        questions = corpus.Prose(seed=7).questions(QUESTIONS)
        words, both, alone = _measured(settings, token, questions)
    name = (
        f"warm hybrid search at {chunks:,} chunks, p50, against words ({words:.1f} ms)"
        f" + {SHARE} x embedding and scan ({alone:.1f} ms)"
    )
    return [Ratio(name, both, words + SHARE * alone, "ms", 1.0)]


def _draw_vectors(settings: Settings) -> tuple[int, str]:
    """Give every chunk CHILDREN vectors and publish them for the installed model."""
    found = model.status(settings)
    db = database.open_write(settings.db)
    ids = [row[0] for row in db.execute("SELECT id FROM chunk ORDER BY id")]
    generation = generations.begin(db, found.fingerprint, found.name, DIMENSION)
    chunk = iter(ids)
    for rows in Corpus(CHILDREN * len(ids)).batches():
        drawn = [
            (number, rows[start : start + CHILDREN].tobytes())
            for start, number in zip(range(0, len(rows), CHILDREN), chunk, strict=False)
        ]
        with database.transaction(db):
            vectors.add(db, generation.id, DIMENSION, drawn)
    finish(db, settings.db, generation)
    db.close()
    return len(ids), generation.token


def _measured(settings: Settings, token: str, questions: list[str]) -> tuple[float, float, float]:
    """Milliseconds, p50: words, both, and embedding + scan alone. Taken in turns."""
    mind = rag_search.Meaning(60.0)
    worker = client.Worker(settings, model.status(settings), linger=60.0)
    taken: dict[str, list[float]] = {"words": [], "both": [], "alone": []}

    def search(question: str, mode: str) -> None:
        rag_search.search(SearchRequest(question, mode=mode), settings, mind)

    for warm in (True, False):  # the first round warms caches and does not count
        for values in taken.values():
            values.clear()
        for question in questions[: 10 if warm else None]:
            taken["words"].append(_ms(partial(search, question, "lexical")))
            taken["both"].append(_ms(partial(search, question, "hybrid")))
            alone = partial(worker.search, question, BEST, settings.db, token)
            taken["alone"].append(_ms(alone))
    mind.close()
    worker.close()
    p50 = {name: statistics.median(values) for name, values in taken.items()}
    return p50["words"], p50["both"], p50["alone"]


def _ms(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return 1000 * (time.perf_counter() - begun)
