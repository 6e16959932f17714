"""The search: warm latency at 100,000 chunks, and the first search of a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rag_search
from bench import corpus
from bench.measure import ROOT, Ratio, median, sync_command, timed
from helpers.config import Settings
from helpers.language.terms import query_terms
from helpers.retrieve import keyword
from helpers.retrieve.request import SearchRequest
from helpers.store import database

CORPUS_MB = 130  # gives a little over 100,000 chunks
QUESTIONS = 200
FIRST_LIMIT_MS = 150.0
FIRST_QUESTION = "prosirenuwa konuran dipro"


def latency(total_mb: int = CORPUS_MB) -> list[Ratio]:
    """Warm p50 against the bare MATCH, and a fresh process against the interpreter alone."""
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "docs", Path(folder) / "state"
        corpus.text_corpus(docs, total_mb * 1_000_000, 50_000)
        timed(sync_command(docs, state))
        settings = Settings(docs, state, state / "ragdoc.sqlite3")
        warm = _warm(settings, corpus.Prose(seed=7).questions(QUESTIONS))
        return [*warm, _first(settings)]


def _warm(settings: Settings, questions: list[str]) -> list[Ratio]:
    db = database.open_read(settings.db)
    chunks = db.execute("SELECT count(*) FROM chunk").fetchone()[0]
    ours: list[float] = []
    bare: list[float] = []
    for asked in (questions, questions):  # the first round warms caches and does not count
        ours.clear()
        bare.clear()
        for question in asked:
            expression = _expression(db, question)
            if not expression:
                continue
            begun = time.perf_counter()
            db.execute(
                "SELECT rowid, rank FROM posting WHERE posting MATCH ? ORDER BY rank LIMIT 50",
                (expression,),
            ).fetchall()
            bare.append(1000 * (time.perf_counter() - begun))
            begun = time.perf_counter()
            rag_search.search(SearchRequest(question), settings)
            ours.append(1000 * (time.perf_counter() - begun))
    db.close()
    name = f"warm search at {chunks:,} chunks against the bare MATCH"
    return [
        Ratio(f"{name}, p50", statistics.median(ours), statistics.median(bare), "ms", 3.0),
    ]


def _first(settings: Settings) -> Ratio:
    where = ["--knowledge-dir", str(settings.knowledge_dir), "--data-dir", str(settings.data_dir)]
    command = [sys.executable, str(ROOT / "rag_search.py"), FIRST_QUESTION, *where]
    bare = median(9, lambda: _milliseconds([sys.executable, "-c", "pass"]))
    ours = median(9, lambda: _milliseconds(command))
    name = f"first search of a fresh process beyond interpreter start ({bare:.0f} ms)"
    return Ratio(name, ours - bare, FIRST_LIMIT_MS, "ms", 1.0)


def _expression(db: database.Connection, question: str) -> str:
    """The very MATCH expression that the keyword leg asks."""
    query = query_terms(question)
    return keyword._plan(query, keyword._Counts(db, query.terms), ()).any_of


def _milliseconds(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - begun)
