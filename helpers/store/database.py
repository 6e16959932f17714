"""Opening the index file, and saying in words what SQLite says in codes.

Promises: the file and its folder are private (0600, 0700); a writer gets WAL and the current
schema; a reader never changes the file and still reads the schema before; every SQLite failure
becomes a StoreError that names the remedy (`translated`).
Does not: hold any global connection, or know what a chunk is.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.errors import ConfigError, CorruptIndex, DiskFull, NoIndex, StoreError
from helpers.files import private_dir, private_file
from helpers.store import schema

BUSY_S = 10.0  # seconds a connection waits for another's lock
CACHE_KIB = 16_384  # KiB of page cache of the writer
READER_CACHE_KIB = 8_192  # KiB of page cache of a reader
WAL_TRUNCATE_BYTES = 32 * 1024 * 1024  # bytes of WAL from which a commit empties it
KB_ID = "kb_id"  # meta key: the knowledge base that the index was made as
REBUILD = "Run rag_sync.py --force: it sets a damaged index aside and builds it anew."
SIDE_FILES = ("", "-wal", "-shm", "-journal")

Connection = sqlite3.Connection  # for annotations elsewhere: sqlite3 itself is this room's alone


def open_write(path: Path) -> sqlite3.Connection:
    """The writer's connection, in autocommit (BEGIN is the caller's). Raises StoreError.

    Any number of processes may open a new data directory at once: one makes the schema.
    """
    private_dir(path.parent)
    private_file(path)
    with translated(path):
        db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            _enter_wal(db)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            db.execute("PRAGMA temp_store = MEMORY")
            if schema.version(db) != schema.CURRENT:
                schema.migrate(db)
        except BaseException:
            db.close()
            raise
    return db


def open_read(path: Path) -> sqlite3.Connection:
    """A reader's connection. Raises NoIndex before the first sync, StoreError otherwise."""
    if not path.exists():
        raise NoIndex(
            f"There is no index at {path} yet",
            "Run a sync first: the sync_kb tool, or rag_sync.py.",
        )
    with translated(path):
        db = _connect_reader(path)
        try:
            found = schema.version(db)
            schema.refuse_newer(found)
            db.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
            db.execute("PRAGMA query_only = ON")
            if found == 0:
                raise NoIndex(f"The index at {path} is empty", "Run a sync first: rag_sync.py.")
        except BaseException:
            db.close()
            raise
    return db


@contextlib.contextmanager
def translated(path: Path | str = "the index") -> Iterator[None]:
    """Turn SQLite's exceptions inside the block into StoreErrors that name the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CorruptIndex(f"The index {path} is damaged: {error}", REBUILD) from error


def store_error(error: sqlite3.Error, path: Path | str) -> StoreError:
    """The StoreError that says what `error` means for the index at `path`."""
    text = str(error)
    if "disk is full" in text:
        return DiskFull(
            f"The disk is full: {path} cannot grow",
            "Free space there and sync again: it goes on where it stopped.",
        )
    if "locked" in text or "busy" in text:
        return StoreError(f"{path} is in use by another process", "Try again in a moment.")
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        return StoreError(
            f"{path} cannot be used: {text}",
            "Check that the folder is writable and its disk works, or give another --data-dir.",
        )
    return CorruptIndex(f"The index {path} is damaged: {text}", REBUILD)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE … COMMIT; rolled back when the block raises."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        roll_back(db)
        raise


def roll_back(db: sqlite3.Connection) -> None:
    """ROLLBACK, where there still is a transaction: SQLITE_FULL has already ended it."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def truncate_wal(db: sqlite3.Connection, path: Path, at_least: int = WAL_TRUNCATE_BYTES) -> None:
    """Empty the WAL once it passes `at_least` bytes, so that long readers do not let it grow."""
    with contextlib.suppress(OSError):
        if os.path.getsize(f"{path}-wal") > at_least:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def get_meta(db: sqlite3.Connection, key: str, default: Any = None) -> Any:
    """The JSON value under `key`, or `default`."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else json.loads(row[0])


def set_meta(db: sqlite3.Connection, key: str, value: Any) -> None:
    """Store `value` as JSON under `key`."""
    db.execute(
        "INSERT INTO meta VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (key, json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()),
    )


def belongs(db: sqlite3.Connection, kb_id: str) -> bool:
    """Whether the index says that it is the base `kb_id`'s; False where it does not say.

    Raises ConfigError where it is another one's: ids and answers would bear the wrong name.
    """
    made = get_meta(db, KB_ID)
    if made not in (None, kb_id):
        raise ConfigError(
            f"The index was made as the knowledge base {made}, not {kb_id}",
            f"Give --kb {made}, or another --data-dir for {kb_id}.",
        )
    return made is not None


def remove(path: Path) -> None:
    """Delete the index file and its side files; the source documents are never touched."""
    for suffix in reversed(SIDE_FILES):
        try:
            os.unlink(f"{path}{suffix}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(
                f"{path}{suffix} cannot be removed: {error.strerror}",
                "End what holds it and check the rights of its folder, then do it again.",
            ) from error


def set_aside(path: Path) -> Path:
    """Rename a damaged index to `*.damaged`, replacing an earlier one; returns the new name."""
    aside = path.with_name(path.name + ".damaged")
    remove(aside)
    for suffix in reversed(SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


def _connect_reader(path: Path) -> sqlite3.Connection:
    """Read-only; on a read-only disk, where WAL's shared memory cannot be made, immutable."""
    uri = path.as_uri() + "?mode=ro"
    db = sqlite3.connect(
        uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        if os.access(path.parent, os.W_OK) or not os.access(path, os.R_OK):
            raise
        db = sqlite3.connect(
            uri + "&immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
    return db


def _enter_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL. The switch needs the file alone and ignores the busy time-out: ask again."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
