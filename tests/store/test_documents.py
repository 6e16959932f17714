from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.store import database, documents, keys, postings, verify
from helpers.store.documents import Writer
from tests.store.fakes import FakeChunk, Words, described, named


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = database.open_write(tmp_path / "index.sqlite3")
    yield connection
    connection.close()


@pytest.fixture
def writer(db: sqlite3.Connection) -> Writer:
    return Writer(db, Words(), "default")


def matches(db: sqlite3.Connection, word: str) -> list[str]:
    rows = db.execute(
        "SELECT text FROM posting JOIN chunk ON chunk.id = posting.rowid"
        " WHERE posting MATCH ? ORDER BY posting.rowid",
        (f'"{word}"',),
    )
    return [row[0] for row in rows]


def ids(db: sqlite3.Connection) -> dict[str, tuple[int, bytes]]:
    return {t: (i, k) for i, k, t in db.execute("SELECT id, key, text FROM chunk ORDER BY ordinal")}


def consistent(db: sqlite3.Connection) -> bool:
    return not verify.problems(db, Words(), sample=None)


def test_document_is_found_by_its_words_and_name(db: sqlite3.Connection, writer: Writer) -> None:
    writer.replace(named("a/plan.md"), [FakeChunk("Old Pipes"), FakeChunk("Water")], described())
    writer.commit()
    assert matches(db, "pipes") == ["Old Pipes"]
    assert db.execute("SELECT rowid FROM file_name WHERE file_name MATCH 'plan'").fetchall()
    assert documents.counts(db) == {"documents": 1, "chunks": 2, "states": {"ready": 1}}


def test_unchanged_chunks_keep_their_ids_when_a_document_changes(
    db: sqlite3.Connection, writer: Writer
) -> None:
    writer.replace(named("a.md"), [FakeChunk("one"), FakeChunk("two")], described())
    before = ids(db)
    writer.replace(
        named("a.md"), [FakeChunk("new"), FakeChunk("two"), FakeChunk("three")], described()
    )
    writer.commit()
    after = ids(db)
    assert list(after) == ["new", "two", "three"]
    assert after["two"] == before["two"]
    assert matches(db, "one") == []
    assert consistent(db)


def test_same_wording_twice_gets_two_chunk_ids(db: sqlite3.Connection, writer: Writer) -> None:
    for _ in range(3):
        writer.replace(named("a.md"), [FakeChunk("same")] * 600, described())
        keys = [row[0] for row in db.execute("SELECT key FROM chunk")]
        assert len(keys) == len(set(keys)) == 600
    writer.commit()
    assert consistent(db)


def test_removed_document_leaves_nothing_behind(db: sqlite3.Connection, writer: Writer) -> None:
    writer.replace(named("a.md"), [FakeChunk("one", ocr=True)], described())
    writer.replace(named("b.md"), [FakeChunk("two")], described())
    for known in documents.folder_rows(db, b"").values():
        writer.remove(known.id)
    writer.commit()
    for table in ("document", "chunk", "posting_docsize", "fuzzy_docsize", "file_name_docsize"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table
    assert db.execute("SELECT count(*) FROM posting_vocab").fetchone()[0] == 0


def test_unread_file_keeps_its_reason_and_loses_its_old_chunks(
    db: sqlite3.Connection, writer: Writer
) -> None:
    writer.replace(named("a.docx"), [FakeChunk("old")], described())
    why = Unread("encrypted", "a.docx needs a password", "Save it without one.")
    writer.replace(named("a.docx"), [], described(unread=why))
    writer.commit()
    assert matches(db, "old") == []
    assert documents.unread(db, 10) == [
        {
            "path": "a.docx",
            "state": "needs_action",
            "code": "encrypted",
            "reason": "a.docx needs a password",
            "remedy": "Save it without one.",
        }
    ]
    assert consistent(db)


def test_streaming_document_that_fails_midway_leaves_the_old_one(
    db: sqlite3.Connection, writer: Writer
) -> None:
    writer.replace(named("a.txt"), [FakeChunk("old")], described())

    def broken() -> Iterator[FakeChunk]:
        for n in range(1_000):
            yield FakeChunk(f"new {n}")
        raise Unread("timeout", "a.txt took too long")

    with pytest.raises(Unread):
        writer.replace(named("a.txt"), broken(), described(), streaming=True)
    assert [row[0] for row in db.execute("SELECT text FROM chunk")] == ["old"]
    assert consistent(db)


def test_small_documents_share_a_transaction_until_it_is_due(
    tmp_path: Path, db: sqlite3.Connection
) -> None:
    now = [0.0]
    writer = Writer(db, Words(), "default", clock=lambda: now[0])
    reader = database.open_read(tmp_path / "index.sqlite3")
    writer.replace(named("a.md"), [FakeChunk("one")], described())
    assert documents.counts(reader)["documents"] == 0
    now[0] = documents.COMMIT_S
    writer.replace(named("b.md"), [FakeChunk("two")], described())
    assert documents.counts(reader)["documents"] == 2


def test_chunk_id_goes_there_and_back_and_junk_is_no_id() -> None:
    key = bytes(range(10))
    assert keys.key_of(keys.public_id(key)) == key
    assert len(keys.public_id(key)) == 16
    for junk in ("", "x", "a" * 15, "a" * 17, "!" * 16, "기린"):
        assert keys.key_of(junk) is None


@pytest.mark.parametrize(
    "given,kept", [(-1_000_000_001, -1_000_000_001), (2**70, 2**63 - 1), (-(2**70), 1 - 2**63)]
)
def test_times_before_1970_and_beyond_the_integers_are_kept_in_order(
    db: sqlite3.Connection, writer: Writer, given: int, kept: int
) -> None:
    found = documents.Description(documents.Stat(1, given, given, 4), "r")
    writer.replace(documents.File(b"", b"a.txt", "a.txt"), [FakeChunk("x")], lambda: found)
    writer.commit()
    known = documents.folder_rows(db, b"")[b"a.txt"]
    assert (known.mtime_ns, known.ctime_ns) == (kept, kept)


def test_names_that_are_not_utf8_and_huge_inodes_are_kept(
    db: sqlite3.Connection, writer: Writer
) -> None:
    stat = documents.Stat(1, 2**63, 3, 2**64 - 1)
    file = documents.File(b"caf\xe9", b"\xff.txt", "caf\\xe9/\\xff.txt")
    writer.replace(file, [FakeChunk("x")], lambda: documents.Description(stat, "r"))
    writer.commit()
    known = documents.folder_rows(db, b"caf\xe9")[b"\xff.txt"]
    assert known.inode == 2**63 - 1
    assert documents.folders(db) == [b"caf\xe9"]


def test_rebuild_makes_the_postings_of_another_analyser(
    db: sqlite3.Connection, writer: Writer
) -> None:
    class Backwards(Words):
        def chunk(self, text: str, context: str, ocr: bool) -> tuple[str, str, str]:
            return text.lower()[::-1], context, ""

    writer.replace(named("a.md"), [FakeChunk("pipes")], described())
    writer.commit()
    with database.transaction(db):
        assert postings.rebuild(db, Backwards("backwards-1")) == 1
    assert postings.made_by(db) == "backwards-1"
    assert matches(db, "sepip") == ["pipes"]
    assert matches(db, "pipes") == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("INSERT INTO posting(posting) VALUES('delete-all')", "have no posting"),
        (
            "INSERT INTO posting(posting, rowid, body, context)"
            " VALUES('delete', 1, 'one', 'title')",
            "1 chunks have no posting",
        ),
        ("INSERT INTO posting(rowid, body, context) VALUES(99, 'one', 't')", "1 postings have no"),
        ("UPDATE chunk SET text = 'other words' WHERE id = 1", "under other terms"),
        ("INSERT INTO file_name(file_name) VALUES('delete-all')", "document names"),
    ],
)
def test_each_kind_of_desynchronised_posting_is_found_and_rebuilt(
    db: sqlite3.Connection, writer: Writer, damage: str, told: str
) -> None:
    writer.replace(named("a.md"), [FakeChunk("one"), FakeChunk("two")], described())
    writer.commit()
    with database.transaction(db):
        postings.rebuild(db, Words())
    assert consistent(db)
    db.execute(damage)
    found = verify.problems(db, Words(), sample=None)
    assert any(told in problem["what"] for problem in found)
    assert all("--force" in problem["remedy"] for problem in found)
    with database.transaction(db):
        postings.rebuild(db, Words())
    assert consistent(db)


def test_common_terms_are_listed_once_the_index_is_large(
    db: sqlite3.Connection, writer: Writer
) -> None:
    chunks = [FakeChunk(f"everywhere rare{n}") for n in range(postings.COMMON_FROM)]
    writer.replace(named("a.md"), chunks, described())
    writer.commit()
    postings.settle(db, writer.changed_chunks)
    listed = db.execute("SELECT * FROM common_term ORDER BY term").fetchall()
    assert listed == [("everywhere", 2_000), ("title", 2_000)]
