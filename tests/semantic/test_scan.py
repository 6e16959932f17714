from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from helpers.semantic import heads, narrowing, products
from helpers.semantic import shelf as shelves
from helpers.store import database, generations, vector_heads, vectors
from tests.semantic.shelf import Matrix, Shelf, brute_force, unit

ROUNDING = 3e-6  # what two float32 products over unit vectors may differ by


def family(kind: str, count: int, dimension: int, seed: int) -> Matrix:
    """Vectors that lie about in one way or another."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, dimension))
    if kind == "clustered":
        rows = 0.3 * rows + random.normal(size=(6, dimension))[random.integers(0, 6, count)]
    elif kind == "cone":  # as sentence models do: far from zero, near each other
        rows = 0.3 * rows * np.geomspace(1, 0.05, dimension) + random.normal(size=dimension)
    elif kind == "repeated":
        rows = rows[random.integers(0, max(1, count // 5), count)]
    elif kind == "equal":
        rows = np.ones_like(rows)
    elif kind == "sparse":
        rows *= random.random(rows.shape) < 0.2
        rows[:, 0] += 0.01
    return unit(rows)


def agree(
    found: list[tuple[int, float]],
    rows: Matrix,
    chunks: list[int],
    query: NDArray[np.float32],
    k: int,
) -> None:
    """`found` is the exact answer, but for the order of what rounding cannot tell apart."""
    every = dict(brute_force(rows, chunks, query, len(chunks)))
    expected = sorted(every.values(), reverse=True)[:k]
    assert len(found) == len(expected) == len({chunk for chunk, _ in found})
    for (chunk, score), best in zip(found, expected, strict=True):
        assert abs(score - every[chunk]) < ROUNDING
        assert abs(score - best) < ROUNDING
    assert found == sorted(found, key=lambda item: (-item[1], item[0]))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(["even", "clustered", "cone", "repeated", "equal", "sparse"]),
    dimension=st.sampled_from([2, 3, 7, 16, 48]),
    chunks=st.integers(1, 150),
    k=st.sampled_from([1, 2, 8, 30, 400]),
    gone=st.sets(st.integers(0, 149), max_size=60),
    seed=st.integers(0, 2**32 - 1),
)
def test_best_chunks_are_those_of_a_float32_product(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    dimension: int,
    chunks: int,
    k: int,
    gone: set[int],
    seed: int,
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 64)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 32)
    monkeypatch.setattr(narrowing, "STRIP_ROWS", 50)
    monkeypatch.setattr(products, "WIDE_COLUMNS", 20)
    counts = np.random.default_rng(seed).integers(1, 6, chunks).tolist()
    rows = family(kind, sum(counts), dimension, seed)
    query = family(kind, 1, dimension, seed + 1)[0].astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder), dimension)
        half = len(counts) // 2
        cut = sum(counts[:half])
        ids = shelf.add(rows[:cut], counts[:half]) if half else []
        shelf.tidy()  # what is there by now gets heads, what comes after it has none
        ids += shelf.add(rows[cut:], counts[half:])
        removed = {ids[n] for n in gone if n < len(ids)}
        shelf.remove(sorted(removed))
        shelf.publish()
        owner = [chunk for chunk, count in zip(ids, counts, strict=True) for _ in range(count)]
        alive = np.array([chunk not in removed for chunk in owner])
        kept = [chunk for chunk in owner if chunk not in removed]
        scanner = shelf.scanner()
        agree(scanner.top_k(query, k), rows[alive], kept, query, k)
        again = dict(scanner.scores(query, ids))
        assert again == dict(scanner.top_k(query, len(ids)))
        shelf.db.close()


@pytest.mark.parametrize("kind", ["even", "clustered", "cone", "repeated", "sparse"])
def test_headed_and_plain_vectors_are_ranked_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 64)
    monkeypatch.setattr(vectors, "SPARSE_ROWS", 32)
    for seed in range(6):
        rows = family(kind, 400, 16, seed)
        shelf = Shelf(tmp_path / str(seed), 16)
        ids = shelf.add(rows[:300])
        shelf.tidy()
        ids += shelf.add(rows[300:])
        shelf.publish()
        bases = [block.basis for block in vector_heads.blocks(shelf.db, shelf.begun.id)]
        assert bases.count(None) == 2 and len(bases) >= 6
        query = family(kind, 1, 16, seed + 1)[0].astype(np.float32)
        agree(shelf.scanner().top_k(query, 8), rows, ids, query, 8)
        shelf.db.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shelf, Matrix]:
    """20,000 vectors of 96 numbers in real blocks with heads, two to a chunk."""
    rows = family("cone", 20_000, 96, 7)
    shelf = Shelf(tmp_path_factory.mktemp("large"), 96)
    for start in range(0, len(rows), 1_000):
        shelf.add(rows[start : start + 1_000], [2] * 500)
    shelf.tidy()
    shelf.publish()
    return shelf, rows


def test_heads_rule_out_most_rows_and_nothing_that_counts(
    large: tuple[Shelf, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, rows = large
    blocks = vector_heads.blocks(shelf.db, shelf.begun.id)
    assert sum(block.rows for block in blocks if block.basis) > 0.8 * len(rows)
    looked_at: list[int] = []
    compute = narrowing.exact

    def counted(stored: NDArray[np.int16], query: NDArray[np.float32]) -> NDArray[np.float64]:
        looked_at[-1] += len(stored)
        return compute(stored, query)

    monkeypatch.setattr(narrowing, "exact", counted)
    chunks = [1 + n // 2 for n in range(len(rows))]
    scanner = shelf.scanner()
    for seed in range(20):
        query = family("cone", 8, 96, 7)[seed % 8].astype(np.float32)
        query += 0.02 * np.random.default_rng(seed).normal(size=96).astype(np.float32)
        looked_at.append(0)
        agree(scanner.top_k(query, 20), rows, chunks, query, 20)
    assert np.median(looked_at) < 0.01 * len(rows)


def test_no_row_reaches_less_than_its_score(large: tuple[Shelf, Matrix]) -> None:
    shelf, rows = large
    with vectors.reading(shelf.path) as db:
        held = shelves.loaded(db, shelf.generation, None)
        for seed in range(5):
            query = family("cone", 1, 96, 7 + seed)[0].astype(np.float32)
            search = narrowing.Search(db, held, products.quickest(), query, 10)
            places = 2 * (held.headed.chunks - 1) + np.arange(search.headed) % 2
            scores = rows[places].astype(np.float32) @ query
            reach = np.empty(search.headed, np.float32)
            search._bound(reach)
            assert (reach >= scores).all() and (reach - scores).mean() < 0.02
            some = np.arange(0, search.headed, 3)
            closer = search._closer(some, reach[some])
            assert (closer >= scores[some]).all() and (closer < reach[some]).mean() > 0.9


def test_chunk_of_hundreds_of_likely_vectors_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = family("cone", 10_000, 16, 3)
    query = rows[0].astype(np.float32)
    rows[:400] = rows[0]
    shelf = Shelf(tmp_path, 16)
    counts = [400] + [1] * 9_600
    ids = shelf.add(rows, counts)
    shelf.tidy()
    shelf.publish()
    looked_at: list[int] = []
    closer = narrowing.Search._closer

    def counted(
        self: narrowing.Search, picked: NDArray[np.int64], reach: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        looked_at.append(len(picked))
        return closer(self, picked, reach)

    monkeypatch.setattr(narrowing.Search, "_closer", counted)
    owner = [chunk for chunk, count in zip(ids, counts, strict=True) for _ in range(count)]
    agree(shelf.scanner().top_k(query, 20), rows, owner, query, 20)
    assert sum(looked_at) < 2_000


def test_heads_that_are_held_are_taken_over_as_they_are(large: tuple[Shelf, Matrix]) -> None:
    shelf, _ = large
    with vectors.reading(shelf.path) as db:
        first = shelves.loaded(db, shelf.generation, None)
        first.headed.blocks[0] = first.headed.blocks[0]._replace(rows=1)  # as if it had changed
        again = shelves.loaded(db, shelf.generation, first)
        anew = shelves.loaded(db, shelf.generation, None)
    assert again.headed is not first.headed
    for name in ("chunks", "facts", "codes"):
        assert (getattr(again.headed, name) == getattr(anew.headed, name)).all()


def test_thousands_of_equal_vectors_cost_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a footer on every page has them."""
    rows = np.concatenate([family("equal", 12_000, 16, 1), family("even", 4_000, 16, 2)])
    shelf = Shelf(tmp_path, 16)
    ids = shelf.add(rows)
    shelf.tidy()
    shelf.publish()
    asked: list[int] = []
    floor = narrowing.Ranking.floor

    def counted(self: narrowing.Ranking, k: int) -> float:
        asked.append(k)
        return floor(self, k)

    monkeypatch.setattr(narrowing.Ranking, "floor", counted)
    query = rows[0].astype(np.float32)
    agree(shelf.scanner().top_k(query, 30), rows, ids, query, 30)
    assert len(asked) < 40


def test_facts_bound_what_they_say(large: tuple[Shelf, Matrix]) -> None:
    shelf, _ = large
    with vectors.reading(shelf.path) as db:
        basis = heads.current(db, shelf.begun.id)
        block = vector_heads.blocks(db, shelf.begun.id)[0]
        head = vector_heads.head(db, block.id)
        rows = np.frombuffer(vectors.vectors(db, block.id), np.float16).reshape(-1, 96)
    facts = np.frombuffer(head.facts, np.float32).reshape(heads.FACTS, -1)
    every = large[1].astype(np.float64)
    assert np.linalg.norm(basis.mean - every.mean(axis=0)) < 0.02
    rest = rows.astype(np.float64) - basis.mean
    rest -= np.outer(facts[heads.LEAD], basis.direction)
    codes = np.frombuffer(head.codes, np.int8).reshape(96, -1).T
    held = codes * facts[heads.SCALE][:, None]
    assert np.allclose(rest @ basis.direction, 0, atol=1e-6)
    assert (np.linalg.norm(rest - held, axis=1) <= facts[heads.ERROR] + 1e-6).all()
    assert (facts[heads.ERROR] < 0.02 * facts[heads.NORM]).all()
    assert np.allclose(np.linalg.norm(held, axis=1), facts[heads.NORM], atol=1e-6)
    assert np.allclose(heads.MIDDLE * held.sum(axis=1), facts[heads.EVEN], atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 97, 384, 1_023, 1_536])
def test_products_are_exact_either_way(size: int) -> None:
    random = np.random.default_rng(size)
    largest = products.LARGEST
    weights = random.integers(0, largest + 1, size, np.uint8)
    codes = random.integers(-largest, largest + 1, (size, 9_001), np.int8)
    weights[::2], codes[::2, ::2], codes[1::2, ::2] = largest, largest, -largest
    weights[1::2] //= 2
    full = np.full(size, largest, np.uint8)
    codes[:, 1] = largest
    codes[-1, 1] -= 1  # no sum that a float32 would happen to hold
    for asked in (weights, full):
        expected = asked.astype(np.int64) @ codes.astype(np.int64)
        assert (products.widened(asked, codes) == expected).all()
        assert (products.quickest()(asked, codes) == expected).all()


def test_product_that_counts_wrong_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert products.quickest() is not products.widened  # onnxruntime is installed here

    def saturating() -> products.Product:
        return lambda weights, codes: products.widened(weights, codes).clip(-(2**15), 2**15 - 1)

    monkeypatch.setattr(products, "_of_onnxruntime", saturating)
    assert products.quickest() is products.widened


def test_vectors_are_searched_without_onnxruntime(
    large: tuple[Shelf, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, rows = large
    query = rows[77].astype(np.float32)
    expected = shelf.scanner().top_k(query, 5)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "helpers.semantic.sessions", raising=False)
    monkeypatch.delattr("helpers.semantic.sessions", raising=False)
    assert products.quickest() is products.widened
    assert shelf.scanner().top_k(query, 5) == expected


def test_search_sees_what_was_added_and_removed_since(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, 16)
    rows = family("even", 30, 16, 3)
    ids = shelf.add(rows[:20])
    shelf.publish()
    scanner = shelf.scanner()
    query = rows[25].astype(np.float32)
    assert scanner.top_k(query, 1)[0][0] in ids
    added = shelf.add(rows[20:])
    assert scanner.top_k(query, 1)[0][0] == added[5]
    shelf.remove([added[5]])
    assert scanner.top_k(query, 1)[0][0] != added[5]


def test_index_put_in_the_place_of_another_is_the_one_that_is_searched(tmp_path: Path) -> None:
    rows = family("even", 30, 16, 3)
    shelves = [Shelf(tmp_path / name, 16) for name in ("one", "two")]
    for shelf, part in zip(shelves, (rows[:10], rows[10:]), strict=True):
        shelf.add(part)
        shelf.publish()
    old, new = shelves
    scanner, query = old.scanner(), rows[25].astype(np.float32)
    assert len(scanner.top_k(query, 50)) == 10
    old.db.close()
    new.db.execute("UPDATE generation SET token = ?", (old.begun.token,))
    new.db.close()
    database.remove(old.path)  # with its side files, as whoever replaces an index does
    os.replace(new.path, old.path)
    assert len(scanner.top_k(query, 50)) == 20
    assert len(scanner.scores(query, range(1, 31))) == 20


def test_filter_leaves_only_the_chunks_of_its_documents(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, 16)
    rows = family("even", 40, 16, 4)
    ids = shelf.add(rows)
    for number, path in ((1, "a/x.md"), (2, "b/y.md")):
        shelf.db.execute(
            "INSERT INTO document(id, folder, name, path) VALUES(?, ?, x'00', ?)",
            (number, path.encode(), path),
        )
    shelf.db.execute("UPDATE chunk SET document_id = 2 WHERE id % 4 = 0")
    shelf.publish()
    allowed = [chunk for chunk in ids if chunk % 4 == 0]
    query = rows[0].astype(np.float32)
    found = shelf.scanner().top_k(query, 50, ("document.path = ?", ["b/y.md"]))
    assert [chunk for chunk, _ in found] == [
        chunk for chunk, _ in brute_force(rows[3::4], allowed, query, 50)
    ]


def test_generation_that_is_not_published_or_gone_answers_nobody(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, 16)
    shelf.add(family("even", 5, 16, 5))
    query = np.ones(16, np.float32)
    with pytest.raises(LookupError, match="replaced"):
        shelf.scanner().top_k(query, 3)
    shelf.publish()
    scanner = shelf.scanner()
    assert len(scanner.top_k(query, 3)) == 3
    generations.drop_all(shelf.db)
    with pytest.raises(LookupError, match="replaced"):
        scanner.top_k(query, 3)


def test_nothing_to_find_is_found_in_an_empty_generation(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, 16)
    shelf.publish()
    assert shelf.scanner().top_k(np.ones(16, np.float32), 5) == []
