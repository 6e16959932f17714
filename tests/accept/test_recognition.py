"""Scans, images and useless text layers: read where Tesseract is, named where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.accept.documents import PICTURE_CLASSES, Library, Outcome, outcomes, recognition, samples
from tests.recognize.programs import needs_tesseract, without_engine
from tests.sync.stage import Stage, stage_in

SHARE = 0.7  # of the fragments that have to be found
SYNC_S = 900


def _stage(folder: Path, shared: Path, *kinds: str) -> Stage:
    stage = stage_in(folder)
    for sample in samples(shared):
        if sample.kind in kinds:
            stage.write(sample.path, (shared / "docs" / sample.path).read_bytes())
    return stage


def _outcomes(stage: Stage, shared: Path, *kinds: str) -> list[Outcome]:
    return outcomes(stage, [sample for sample in samples(shared) if sample.kind in kinds])


@pytest.fixture(scope="module")
def read(recognised: Library, shared: Path) -> list[Outcome]:
    return _outcomes(recognised, shared, *PICTURE_CLASSES, "text+ocr")


@needs_tesseract
@pytest.mark.parametrize("kind", PICTURE_CLASSES)
def test_most_fragments_are_found_with_an_engine(read: list[Outcome], kind: str) -> None:
    counts = [outcome.recognised for outcome in read if outcome.sample.kind == kind]
    found, wanted = (sum(count) for count in zip(*counts, strict=True))
    assert wanted and found >= SHARE * wanted, "\n".join(recognition(read))


@needs_tesseract
def test_scanned_page_beside_a_page_with_text_is_read(read: list[Outcome]) -> None:
    (mixed,) = [outcome for outcome in read if outcome.sample.kind == "text+ocr"]
    assert mixed.complete and "ซ่อมท่อประธาน" in mixed.text and mixed.notices == "[]"


@needs_tesseract
def test_a_page_of_unknown_glyphs_is_never_indexed_as_their_numbers(read: list[Outcome]) -> None:
    (unknown,) = [o for o in read if o.sample.path.endswith("type3_font_nomapping.pdf")]
    assert "(cid:" not in unknown.text
    assert unknown.text or unknown.code == "no_text"


@needs_tesseract
def test_pages_on_their_side_or_head_are_read(recognised: Library) -> None:
    pages = recognised.rows(
        "SELECT json_extract(location, '$.page'), text FROM chunk JOIN document"
        " ON document.id = document_id WHERE path = 'pdf/ocrmypdf_cardinal.pdf'"
    )
    turned = {page for page, text in pages if "pressRECORDandPLAY" in "".join(text.split())}
    assert turned >= {2, 3, 4}


def test_without_an_engine_each_is_named_with_what_to_install(shared: Path, tmp_path: Path) -> None:
    stage = _stage(tmp_path, shared, "ocr", "garbled")
    stage.sync(env=without_engine(tmp_path / "nothing"), timeout=SYNC_S)
    found = _outcomes(stage, shared, "ocr", "garbled")
    unread = [outcome for outcome in found if not outcome.complete]
    assert {outcome.sample.path for outcome in unread} >= {
        outcome.sample.path for outcome in found if outcome.sample.kind == "ocr"
    }
    for outcome in unread:
        assert (outcome.code, outcome.text) == ("no_text", ""), outcome.sample.path
        assert "tesseract-ocr tesseract-ocr-tha tesseract-ocr-kor" in outcome.remedy
