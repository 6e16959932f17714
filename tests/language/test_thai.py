"""Thai: the same pieces wherever it runs, names and compounds findable, whole words for cuts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.language import thai

THAI = st.text(alphabet="กขคนมรสอยะาิีุูเแโไ่้์็ัำ", max_size=30)


def test_sentence_is_cut_into_its_words() -> None:
    assert thai.pieces("อ่านข่าวทุกเช้าก่อนไปทำงาน") == [
        *("อ่าน", "ข่าว", "ทุก", "เช้า", "ก่อน", "ไป", "ทำงาน")
    ]


@pytest.mark.parametrize(
    ("compound", "inside"),
    [("กรุงเทพมหานคร", "กรุงเทพ"), ("ไฟไหม้", "ไฟ"), ("น้ำท่วม", "น้ำ"), ("ข้าวสวย", "ข้าว")],
)
def test_compound_is_found_by_its_parts(compound: str, inside: str) -> None:
    assert {compound, inside} <= set(thai.index_terms(compound))


def test_name_outside_the_list_gets_joined_neighbours() -> None:
    terms = thai.index_terms("คลีโอพัตรา")
    assert any(len(term) >= 4 for term in terms)
    assert set(terms) <= set(thai.index_terms("เรื่องคลีโอพัตราในอดีต"))


@given(THAI)
def test_pieces_join_to_the_run_and_units_to_the_terms(run: str) -> None:
    assert "".join(thai.pieces(run)) == run
    flat = [term for word, more in thai.units(run) for term in (word, *more)]
    assert flat == thai.index_terms(run)


@settings(deadline=None)  # the first example loads the segmenter
@given(st.text(max_size=40) | THAI, st.sampled_from((thai.BUNDLED, thai.PYTHAINLP)))
def test_segments_join_to_any_text(text: str, by: str) -> None:
    assert "".join(thai.segment(text, by)) == text


def test_no_piece_ends_inside_a_cluster() -> None:
    for run in ("วิทยาศาสตร์", "สิทธิ์ของพันธุ์ไม้", "เก็บเงิน", "ทำน้ำ"):
        at = 0
        for piece in thai.pieces(run)[:-1]:
            at += len(piece)
            assert run[at] not in "ะัาำิีึืุู็่้๊๋์" and run[at - 1] not in "เแโใไ"


def test_importing_the_segmenter_writes_nothing_into_the_home_directory(tmp_path: Path) -> None:
    code = "from helpers.language import thai; print(len(thai.segment('ข่าวน้ำท่วม', thai.PYTHAINLP)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(thai.__file__).parents[2],
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "2", done.stderr
    assert list(tmp_path.iterdir()) == []


def test_fingerprint_names_the_segmenter() -> None:
    assert thai.segmenter_fingerprint().startswith("greedy")
    assert thai.segmenter_fingerprint(thai.PYTHAINLP).split()[0] in ("newmm", "greedy")
