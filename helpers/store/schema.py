"""The index's tables, all DDL in one place, and how an older file becomes the current one.

Promises: `migrate` runs in one transaction, so a kill at any statement leaves the old version or
the new one; a newer file is refused, never altered.
Does not: decide when to migrate (only a sync does), or touch rows outside a migration step.

The three FTS5 tables are contentless: their rowid is the chunk's (or document's) id, their text
lives in `chunk`. Their tokenizer is `ascii`: what it gets are analysed terms joined by spaces.
"""

from __future__ import annotations

import sqlite3

from helpers.errors import NewerSchema

# FTS5 flushes its in-memory hash at this size: 32 MiB builds within 5 % of 64 MiB's speed.
POSTING_HASH_BYTES = 32 * 1024 * 1024

VERSION_1 = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE document(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        folder BLOB NOT NULL,        -- raw bytes of the folder's path below the root, '/' between
        name BLOB NOT NULL,          -- raw bytes of the file's name
        path TEXT NOT NULL,          -- what people see: NFC, '/' between
        type TEXT NOT NULL DEFAULT '', -- format name, '' when it is not known
        title TEXT NOT NULL DEFAULT '',
        size INTEGER NOT NULL DEFAULT 0, mtime_ns INTEGER NOT NULL DEFAULT 0,
        ctime_ns INTEGER NOT NULL DEFAULT 0, inode INTEGER NOT NULL DEFAULT 0,
        sha256 BLOB,                 -- of the bytes that were read
        fingerprint TEXT NOT NULL DEFAULT '', -- of the reader and chunker that made the chunks
        state TEXT NOT NULL DEFAULT 'pending', -- also degraded, ready, failed, needs_action
        code TEXT, reason TEXT, remedy TEXT,
        encoding TEXT, notices TEXT, -- notices: JSON list of what could not be read inside
        chunks INTEGER NOT NULL DEFAULT 0,
        indexed_at TEXT NOT NULL DEFAULT '',
        UNIQUE(folder, name))""",
    "CREATE INDEX document_state ON document(state) WHERE state <> 'ready'",
    "CREATE TABLE folder(raw BLOB PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE chunk(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,    -- reading order from 0; negative while being replaced
        key BLOB NOT NULL,           -- 10 bytes, the public chunk_id
        text TEXT NOT NULL,          -- verbatim
        context TEXT NOT NULL,       -- title and heading path
        location TEXT NOT NULL,      -- JSON
        ocr INTEGER NOT NULL)""",
    "CREATE INDEX chunk_document ON chunk(document_id, ordinal)",
    "CREATE INDEX chunk_key ON chunk(key)",
    "CREATE VIRTUAL TABLE posting USING fts5(body, context, content='', tokenize='ascii')",
    "CREATE VIRTUAL TABLE fuzzy USING fts5(grams, content='', tokenize='ascii')",
    "CREATE VIRTUAL TABLE file_name USING fts5(terms, grams, content='', tokenize='ascii')",
    "CREATE VIRTUAL TABLE posting_vocab USING fts5vocab(posting, row)",
    "CREATE TABLE common_term(term TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID",
    f"INSERT INTO posting(posting, rank) VALUES('hashsize', {POSTING_HASH_BYTES})",
)

# Vectors of chunks, by generation: all of one generation come from one model and one way of
# dividing chunks. A chunk has one or more vectors, side by side within one block.
VERSION_2 = (
    """CREATE TABLE generation(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        token TEXT NOT NULL,         -- random: what readers know this generation by
        fingerprint TEXT NOT NULL UNIQUE, -- of the model and of how chunks are divided
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL,
        chunks INTEGER NOT NULL DEFAULT 0, -- chunks that have their vectors
        vectors INTEGER NOT NULL DEFAULT 0, -- of those chunks
        published_at TEXT,           -- when it covered every chunk; NULL: it serves nobody yet
        tidy INTEGER NOT NULL DEFAULT 0)   -- 1: no block to merge or to summarise""",
    """CREATE TABLE vector_block(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        generation INTEGER NOT NULL,
        rows INTEGER NOT NULL,       -- vectors as written; rows never change afterwards
        live INTEGER NOT NULL,       -- of them, those whose chunk still is
        chunks BLOB NOT NULL)        -- int64 per row: the chunk's id""",
    # id: block * LEAVES + number; LEAF_ROWS vectors of float16 each, little-endian.
    "CREATE TABLE vector_leaf(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # What a scan reads in a block's stead: int8 per row, and float32 facts that bound the error.
    """CREATE TABLE vector_head(
        block INTEGER PRIMARY KEY,
        basis INTEGER NOT NULL,      -- the number of the basis it was made with
        facts BLOB NOT NULL,
        head BLOB NOT NULL,          -- the first coordinates, read for every row
        tail BLOB NOT NULL)          -- the others, read where those leave a doubt""",
    """CREATE TABLE vector_basis(
        generation INTEGER PRIMARY KEY,
        number INTEGER NOT NULL,
        vectors INTEGER NOT NULL,    -- of the generation when it was made
        data BLOB NOT NULL)""",
    """CREATE TABLE vector_of(
        generation INTEGER NOT NULL, chunk_id INTEGER NOT NULL,
        block INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
        PRIMARY KEY(generation, chunk_id)) WITHOUT ROWID""",
    """CREATE TABLE vector_dead(
        block INTEGER NOT NULL, chunk_id INTEGER NOT NULL,
        PRIMARY KEY(block, chunk_id)) WITHOUT ROWID""",
    """CREATE TABLE vector_failure(
        generation INTEGER NOT NULL, chunk_id INTEGER NOT NULL,
        attempts INTEGER NOT NULL, reason TEXT NOT NULL,
        PRIMARY KEY(generation, chunk_id)) WITHOUT ROWID""",
)

# Heads hold whole vectors as int8, coordinate by coordinate; the next sync makes them anew.
VERSION_3 = (
    "DROP TABLE vector_head",
    """CREATE TABLE vector_head(
        block INTEGER PRIMARY KEY,
        basis INTEGER NOT NULL,      -- the number of the basis it was made with
        facts BLOB NOT NULL,         -- float32, all of one kind after the other
        codes BLOB NOT NULL)         -- int8, all of one coordinate after the other""",
    "DELETE FROM vector_basis",
    "UPDATE generation SET tidy = 0",
)

# MIGRATIONS[n] brings a file from version n to n + 1.
MIGRATIONS: tuple[tuple[str, ...], ...] = (VERSION_1, VERSION_2, VERSION_3)
CURRENT = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """The file's schema version; 0 for an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> int:
    """Bring `db` to CURRENT in one transaction; returns the version it had. Raises NewerSchema."""
    db.execute("BEGIN IMMEDIATE")
    try:
        before = version(db)
        refuse_newer(before)
        for step in MIGRATIONS[before:]:
            for statement in step:
                db.execute(statement)
        if before != CURRENT:
            db.execute(f"PRAGMA user_version = {CURRENT}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return before


def refuse_newer(found: int) -> None:
    """Raise NewerSchema for a file of a later version."""
    if found > CURRENT:
        raise NewerSchema(
            f"The index has schema {found}, this version reads up to {CURRENT}",
            "Update RagDoc, or give another --data-dir; the index was left as it is.",
        )
