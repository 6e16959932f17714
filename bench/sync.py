"""The sync: a tree without changes, a text corpus, and one very large file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import corpus
from bench.measure import Ratio, best, median, peak_memory, sync_command, timed
from helpers.language.terms import Analyser
from helpers.store import database, schema

BATCH = 256  # rows per executemany of the straight loops, as in the product
MEMORY_LIMIT_MIB = 150.0


def no_change(files: int = 100_000, repeats: int = 5) -> list[Ratio]:
    """A sync that finds nothing to do, against scandir + stat of the same tree."""
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "docs", Path(folder) / "state"
        corpus.small_files(docs, files)
        timed(sync_command(docs, state))
        timed(sync_command(docs, state))  # settles what was too young to be trusted
        walk = best(repeats, lambda: _walked(str(docs)))
        ours = best(repeats, lambda: timed(sync_command(docs, state)))
    return [Ratio(f"no-change sync of {files:,} files", ours, walk, "s", 2.0)]


def text(total_mb: int = 100, file_kb: int = 50, repeats: int = 1) -> list[Ratio]:
    """A first sync of text, against two straight loops over the same chunks."""
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "docs", Path(folder) / "state"
        written = corpus.text_corpus(docs, total_mb * 1_000_000, file_kb * 1_000)

        def synced() -> float:
            shutil.rmtree(state, ignore_errors=True)
            return timed(sync_command(docs, state))

        ours = median(repeats, synced)
        index = state / "ragdoc.sqlite3"
        words = median(repeats, lambda: _straight_loop(index, Path(folder) / "words.db"))
        grams = median(repeats, lambda: _trigram_loop(index, Path(folder) / "grams.db"))
        chunks = _count(index)
    name = f"first sync of {written / 1e6:.0f} MB of text, {chunks:,} chunks"
    return [
        Ratio(f"{name}, against analysis + FTS5", ours, words, "s", 1.2),
        Ratio(f"{name}, against an FTS5 trigram index", ours, grams, "s", 1.0),
    ]


def one_large_file(total_mb: int = 1_000) -> list[Ratio]:
    """Peak memory of a sync of a single text file, all processes together."""
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "docs", Path(folder) / "state"
        docs.mkdir()
        written = corpus.large_text(docs / "large.txt", total_mb * 1_000_000)
        seconds, peak = peak_memory(sync_command(docs, state))
        chunks = _count(state / "ragdoc.sqlite3")
    assert chunks > written / 10_000
    name = f"peak memory, one file of {written / 1e6:,.0f} MB ({chunks:,} chunks, {seconds:.0f} s)"
    return [Ratio(name, peak, MEMORY_LIMIT_MIB, "MiB", 1.0)]


def _walked(folder: str) -> float:
    begun = time.perf_counter()
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
    return time.perf_counter() - begun


def _straight_loop(index: Path, target: Path) -> float:
    """Analyse every chunk and insert its terms, in one thread and one transaction."""
    db = _emptied(target)
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, context, content='', tokenize='ascii')")
    db.execute(f"INSERT INTO t(t, rank) VALUES('hashsize', {schema.POSTING_HASH_BYTES})")
    analyser = Analyser()
    begun = time.perf_counter()
    db.execute("BEGIN")
    for rows in _chunks(index):
        terms = [(key, *analyser.chunk(body, context, False)[:2]) for key, body, context in rows]
        db.executemany("INSERT INTO t(rowid, body, context) VALUES(?, ?, ?)", terms)
    db.execute("COMMIT")
    db.execute("INSERT INTO t(t) VALUES('optimize')")
    return time.perf_counter() - begun


def _trigram_loop(index: Path, target: Path) -> float:
    """A plain FTS5 table with the trigram tokenizer over the same text."""
    db = _emptied(target)
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='trigram')")
    begun = time.perf_counter()
    db.execute("BEGIN")
    for rows in _chunks(index):
        db.executemany(
            "INSERT INTO t(rowid, body) VALUES(?, ?)", [(key, body) for key, body, _ in rows]
        )
    db.execute("COMMIT")
    return time.perf_counter() - begun


def _emptied(path: Path) -> sqlite3.Connection:
    database.remove(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA cache_size = -{database.CACHE_KIB}")
    return db


def _chunks(index: Path) -> Iterator[list[tuple[int, str, str]]]:
    db = database.open_read(index)
    cursor = db.execute("SELECT id, text, context FROM chunk ORDER BY id")
    while rows := cursor.fetchmany(BATCH):
        yield rows
    db.close()


def _count(index: Path) -> int:
    db = database.open_read(index)
    count = int(db.execute("SELECT count(*) FROM chunk").fetchone()[0])
    db.close()
    return count
