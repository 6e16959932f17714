"""What the vector tests share: an index with chunks and no documents to speak of, and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from helpers.semantic import heads, scan
from helpers.store import database, generations, vector_heads, vectors
from helpers.store.generations import Generation

Matrix = NDArray[np.float16]


class Shelf:
    """An index file with one published generation, filled by hand."""

    def __init__(self, folder: Path, dimension: int, fingerprint: str = "model-1") -> None:
        self.path = folder / "state" / "ragdoc.sqlite3"
        self.dimension = dimension
        self.db = database.open_write(self.path)
        self.begun = generations.begin(self.db, fingerprint, "a model", dimension)
        self.last = 0

    @property
    def generation(self) -> Generation:
        found = generations.of_model(self.db, self.begun.fingerprint)
        assert found is not None
        return found

    def publish(self) -> None:
        assert generations.publish(self.db, self.begun)

    def add(self, rows: Matrix, counts: Iterable[int] | None = None) -> list[int]:
        """New chunks with as many vectors each as `counts` says (1); returns their ids."""
        counts = list(counts if counts is not None else [1] * len(rows))
        assert sum(counts) == len(rows)
        ids = list(range(self.last + 1, self.last + 1 + len(counts)))
        self.last += len(counts)
        found, start = [], 0
        for chunk, count in zip(ids, counts, strict=True):
            found.append((chunk, rows[start : start + count].tobytes()))
            start += count
        with database.transaction(self.db):
            self.db.executemany(
                "INSERT INTO chunk VALUES(?, 1, ?, x'00', '', '', '{}', 0)",
                [(chunk, chunk) for chunk in ids],
            )
            vectors.add(self.db, self.begun.id, self.dimension, found)
        return ids

    def remove(self, chunks: Sequence[int]) -> None:
        with database.transaction(self.db):
            vectors.drop(self.db, chunks)
            self.db.executemany("DELETE FROM chunk WHERE id = ?", [(chunk,) for chunk in chunks])

    def tidy(self) -> None:
        """Merge, and give each full block its head."""
        while vectors.merge(self.db, self.begun.id, self.dimension):
            pass
        if vector_heads.headless(self.db, self.begun.id):
            if vector_heads.basis(self.db, self.begun.id) is None:
                data = heads.fit(self.path, self.begun.id)
                with database.transaction(self.db):
                    vector_heads.set_basis(self.db, self.begun.id, self.generation.vectors, data)
            for block in vector_heads.headless(self.db, self.begun.id):
                head = heads.head(self.path, self.begun.id, block)
                with database.transaction(self.db):
                    vector_heads.set_head(self.db, block, head)

    def scanner(self) -> scan.Scanner:
        return scan.Scanner.open(str(self.path), self.begun.token)


def unit(rows: NDArray[np.floating]) -> Matrix:
    """Rows of length 1, as float16."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def brute_force(
    rows: Matrix, chunks: Sequence[int], query: NDArray[np.float32], k: int
) -> list[tuple[int, float]]:
    """The k best chunks by a float32 product over everything."""
    scores = rows.astype(np.float32) @ query
    best: dict[int, float] = {}
    for chunk, score in zip(chunks, scores.tolist(), strict=True):
        best[chunk] = max(score, best.get(chunk, -2.0))
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
