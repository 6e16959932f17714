"""Property sets: titles in any code page, and damage that costs no more than what it hit."""

from __future__ import annotations

import io
import random
import struct

import pytest

from helpers.extract import properties
from helpers.extract.compound import CompoundFile
from helpers.extract.properties import KEYWORDS, TITLE, parsed
from tests.extract.compound_files import packed
from tests.extract.property_sets import property_set, stream_of


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (874, "แผนป้องกันน้ำท่วม"),
        (949, "단수 안내문 뷁"),
        (1252, "Café"),
        (65001, "둘 สอง"),
        (1200, "둘 สอง"),
    ],
)
def test_text_is_read_in_the_code_page_of_the_set(page: int, title: str) -> None:
    found = parsed(property_set({TITLE: title, 14: 7}, page))
    assert found.text(TITLE) == title
    assert found.values[14] == 7


def test_sixteen_bit_strings_need_no_code_page() -> None:
    assert parsed(property_set({TITLE: "배포 문서"}, wide=True)).text(TITLE) == "배포 문서"


def test_without_a_code_page_the_codec_of_the_document_counts() -> None:
    raw = "ประกาศ".encode("cp874") + b"\0"
    stream = stream_of([(TITLE, struct.pack("<II", 0x1E, len(raw)) + raw)])
    assert parsed(stream, "cp874").text(TITLE) == "ประกาศ"


def test_bytes_that_do_not_fit_the_code_page_are_judged_by_themselves() -> None:
    raw = "노후 송수관 교체 공사".encode("cp949") + b"\0"
    page = (1, struct.pack("<IHH", 2, 65001, 0))
    stream = stream_of([page, (TITLE, struct.pack("<II", 0x1E, len(raw)) + raw)])
    assert parsed(stream).text(TITLE) == "노후 송수관 교체 공사"


def test_title_and_keywords_of_a_container() -> None:
    stream = property_set({TITLE: "Water", KEYWORDS: "pump, flood; rain"}, 1252)
    found = properties.metadata(CompoundFile(io.BytesIO(packed({properties.SUMMARY: stream}))))
    assert (found.title, found.tags) == ("Water", ("pump", "flood", "rain"))


def test_a_container_without_a_summary_has_no_title() -> None:
    found = properties.metadata(CompoundFile(io.BytesIO(packed({"x": b"y"}))))
    assert (found.title, found.tags) == (None, ())


def test_damage_raises_nothing() -> None:
    chance = random.Random(7)
    whole = property_set({TITLE: "단수 안내문", KEYWORDS: "물", 14: 3}, 949)
    read = 0
    for _ in range(2000):
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        read += parsed(bytes(raw[: chance.randrange(len(raw))])).text(TITLE) != ""
    assert read > 100
