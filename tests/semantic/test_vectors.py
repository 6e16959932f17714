from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.store import database, vector_heads, vectors
from tests.semantic.shelf import Matrix, Shelf, unit

DIMENSION = 8


def drawn(count: int, seed: int = 1) -> Matrix:
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSION)))


def held(shelf: Shelf) -> dict[int, bytes]:
    """Chunk → its vectors, as the places say."""
    size = DIMENSION * vectors.FLOAT16_BYTES
    found = {}
    for place in vectors.places(shelf.db, shelf.begun.id, range(1, shelf.last + 1)):
        data = vectors.vectors(shelf.db, place.block)
        found[place.chunk] = data[size * place.first : size * (place.first + place.rows)]
    return found


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """An empty shelf whose blocks are full with 64 vectors."""
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 64)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 32)
    return Shelf(tmp_path, DIMENSION)


def test_vectors_of_a_chunk_come_back_whole_and_side_by_side(shelf: Shelf) -> None:
    rows = drawn(90)
    counts = [3, 1, 17, 9, 40, 20]
    ids = shelf.add(rows, counts)
    ends = np.cumsum(counts)
    expected = {
        chunk: rows[end - count : end].tobytes()
        for chunk, count, end in zip(ids, counts, ends, strict=True)
    }
    assert held(shelf) == expected
    assert vectors.problems(shelf.db) == []
    assert (shelf.generation.chunks, shelf.generation.vectors) == (6, 90)


def test_vectors_of_another_dimension_are_refused_whole(shelf: Shelf) -> None:
    with pytest.raises(ValueError, match="bytes"), database.transaction(shelf.db):
        vectors.add(shelf.db, shelf.begun.id, DIMENSION, [(1, b"\0" * 15)])
    assert held(shelf) == {} and vector_heads.blocks(shelf.db, shelf.begun.id) == []


def test_deleting_chunks_leaves_tombstones_and_rewrites_no_block(shelf: Shelf) -> None:
    ids = shelf.add(drawn(64))
    before = [block.id for block in vector_heads.blocks(shelf.db, shelf.begun.id)]
    shelf.remove(ids[:10])
    assert [block.id for block in vector_heads.blocks(shelf.db, shelf.begun.id)] == before
    assert vectors.dead(shelf.db, shelf.begun.id) == {before[0]: ids[:10]}
    assert set(held(shelf)) == set(ids[10:])
    shelf.tidy()
    assert [block.id for block in vector_heads.blocks(shelf.db, shelf.begun.id)] == before
    assert vectors.problems(shelf.db) == []


def test_small_and_sparse_blocks_are_merged_into_full_ones(shelf: Shelf) -> None:
    big = shelf.add(drawn(64, seed=2))
    for number in range(30):
        shelf.add(drawn(7, seed=number + 3), [2, 2, 3])
    shelf.remove(big[:50])
    before = held(shelf)
    shelf.tidy()
    blocks = vector_heads.blocks(shelf.db, shelf.begun.id)
    assert held(shelf) == before
    assert sum(block.live for block in blocks) == 14 + 210
    assert sum(block.live < vectors.SPARSE_ROWS for block in blocks) <= vectors.SMALL_BLOCKS
    assert vectors.dead(shelf.db, shelf.begun.id) == {}
    assert vectors.problems(shelf.db) == []
    assert vectors.merge(shelf.db, shelf.begun.id, DIMENSION) is False


def test_many_small_changes_never_leave_more_than_a_few_small_blocks(shelf: Shelf) -> None:
    most = 0
    for number in range(60):
        shelf.add(drawn(1, seed=number))
        while vectors.merge(shelf.db, shelf.begun.id, DIMENSION):
            pass
        most = max(most, len(vector_heads.blocks(shelf.db, shelf.begun.id)))
    assert most <= vectors.SMALL_BLOCKS + 1
    assert len(held(shelf)) == 60


def test_block_without_a_living_vector_is_deleted(shelf: Shelf) -> None:
    shelf.remove(shelf.add(drawn(40)))
    shelf.tidy()
    count = "SELECT (SELECT count(*) FROM vector_block) + (SELECT count(*) FROM vector_leaf)"
    assert shelf.db.execute(count).fetchone() == (0,)
    assert shelf.generation.vectors == 0


def test_chunk_with_new_vectors_has_no_failure_any_more(shelf: Shelf) -> None:
    with database.transaction(shelf.db):
        vectors.fail(shelf.db, shelf.begun.id, [(1, "too odd", 1), (2, "too odd", 1)])
    shelf.add(drawn(1))
    assert shelf.db.execute("SELECT chunk_id FROM vector_failure").fetchall() == [(2,)]
    shelf.remove([2])
    assert shelf.db.execute("SELECT chunk_id FROM vector_failure").fetchall() == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM vector_leaf WHERE id % 3 = 0", "lack vectors"),
        ("UPDATE vector_block SET live = live - 1", "blocks miscount"),
        ("UPDATE generation SET chunks = 7", "generations miscount"),
        ("DELETE FROM chunk WHERE id = 5", "no longer there"),
        ("UPDATE vector_block SET chunks = x'00'", "blocks miscount"),
    ],
)
def test_damage_to_the_vectors_is_told(shelf: Shelf, damage: str, said: str) -> None:
    shelf.add(drawn(70))
    shelf.db.execute(damage)
    assert any(said in problem for problem in vectors.problems(shelf.db))


def test_cleared_generation_leaves_no_row(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "CLEARED_BLOCKS", 1)
    monkeypatch.setattr(vectors, "CLEARED_CHUNKS", 30)
    for seed in range(3):
        shelf.add(drawn(50, seed))
    shelf.tidy()
    shelf.db.execute("DELETE FROM generation")
    while left := vectors.leftovers(shelf.db):
        vectors.clear(shelf.db, left[0])
    for table in ("block", "leaf", "head", "basis", "of", "dead", "failure"):
        assert shelf.db.execute(f"SELECT count(*) FROM vector_{table}").fetchone() == (0,), table
