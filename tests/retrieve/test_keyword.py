"""The keyword leg: what of a query its hits prove beside meaning."""

from __future__ import annotations

from pathlib import Path

from helpers.language.terms import query_terms
from helpers.retrieve import keyword
from helpers.retrieve.hit import Filters
from helpers.retrieve.passages import Passages
from helpers.store import database
from tests.retrieve.library import library


def proofs(folder: Path, query: str, *texts: str) -> list[float]:
    """What each of `texts` proves of `query`, in an index of these alone."""
    documents = {f"{number}.md": text for number, text in enumerate(texts)}
    db = database.open_read(library(folder, documents).settings.db)
    hits = keyword.search(query_terms(query), Passages(db), Filters())
    rows = Passages(db).load(hit.chunk for hit in hits)
    db.close()
    found = {rows[hit.chunk].path: hit.proof or 0.0 for hit in hits}
    return [found.get(path, 0.0) for path in documents]


def test_noun_of_one_syllable_is_proven_with_another_particle(tmp_path: Path) -> None:
    found = proofs(tmp_path, "왕은 누구인가?", "왕이 절에 갔다.", "왕을 보았다.", "말이 갔다.")
    assert found[0] > 0 and found[1] > 0 and found[2] == 0


def test_word_that_looks_like_a_noun_and_a_particle_stays_whole(tmp_path: Path) -> None:
    found = proofs(tmp_path, "국가 무엇인가?", "국가 예산", "국가 기관", "국이 맵다.")
    assert found[0] > 0 and found[2] == 0


def test_compound_is_proven_in_part_by_its_nouns_apart(tmp_path: Path) -> None:
    whole, apart, one = proofs(
        tmp_path, "에도막부는 무엇인가?", "에도막부의 성", "에도 막부의 성", "에도의 성"
    )
    assert whole > apart > one > 0
