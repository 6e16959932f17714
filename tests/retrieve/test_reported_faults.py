"""Faults that people reported against systems of this kind do not happen here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.language.normalize import fold
from tests.sync.stage import Stage

Shelf = Callable[[str], Stage]


@pytest.fixture(scope="module")
def shelf(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    made: dict[str, Stage] = {}

    def index(name: str) -> Stage:
        if name not in made:
            stage = Stage(tmp_path_factory.mktemp(name))
            stage.docs.symlink_to(shared / "bugs" / name)
            assert stage.sync()["status"] == "done"
            made[name] = stage
        return made[name]

    return index


def test_b01_short_term_beside_a_long_one_constrains(shelf: Shelf) -> None:
    results = shelf("b01").search("도로포장공사 예산")["results"]
    assert results[0]["path"] == "b.md"
    marked = {r["path"]: {r["text"][a:b] for a, b in r["highlights"]} for r in results}
    assert marked["b.md"] == {"도로포장공사", "예산"}
    assert marked.get("a.md", set()) <= {"도로포장공사"}


@pytest.mark.parametrize(
    ("fault", "query", "path"),
    [
        ("b02", "역사", "history.md"),
        ("b02", "물", "history.md"),
        ("b02", "ไฟ", "th.md"),
        ("b02", "ปลา", "th.md"),
        ("b04", "서울", "seoul.md"),
        ("b04", "혈당에서", "sugar.md"),
        ("b04", "부산항의 물동량은", "busan.md"),
        ("b05", "ข่าว", "news.md"),
        ("b05", "น้ำท่วม", "news.md"),
        ("b05", "กรุงเทพ", "news.md"),
        ("b05", "ข้าวสวย", "food.md"),
    ],
)
def test_word_finds_its_file_first(shelf: Shelf, fault: str, query: str, path: str) -> None:
    results = shelf(fault).search(query, "--mode", "lexical")["results"]
    assert results[0]["path"] == path and results[0]["matched_by"] == ["keyword"]


@pytest.mark.parametrize(("query", "name"), [("ท้ายสุดกำก", "am.md"), ("끝글자", "nfd.md")])
def test_b08_snippet_is_whole_and_verbatim_and_offsets_fall_on_it(
    shelf: Shelf, query: str, name: str
) -> None:
    stage = shelf("b08")
    result = stage.search(query)["results"][0]
    assert result["path"] == name
    source = (stage.docs / name).read_bytes().decode("utf-8")
    assert result["text"] in source
    slices = [result["text"][a:b] for a, b in result["highlights"]]
    assert slices and all(part and fold(part) in fold(query) for part in slices)
    assert fold(query).endswith(fold(slices[-1]))
