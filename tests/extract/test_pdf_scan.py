"""Pages of a PDF that are pictures: asked for page by page, beside pages that keep their text."""

from __future__ import annotations

import io

import pytest

from helpers.errors import Unread
from helpers.extract import pdf
from helpers.extract.blocks import Block, Context, Item, Notice
from helpers.recognition import Recognised, Wanted
from tests.extract.test_pdf import HELVETICA, NO_LETTERS, made, shown
from tests.recognize.asked import Answer, Asked, says
from tests.recognize.pictures import scan

pytest.importorskip("pypdf")

NOTHING = Recognised((), "engine")


def items(data: bytes, asked: Asked) -> list[Item]:
    return list(pdf.read(io.BytesIO(data), Context("made.pdf", len(data), recognize=asked)))


def told(found: list[Item]) -> list[tuple[int | None, str, bool]]:
    return [
        (item.location.number if item.location else None, item.text, item.ocr)
        for item in found
        if isinstance(item, Block)
    ]


def numbered(wanted: Wanted) -> Answer:
    return says(f"page {wanted.page}")(wanted)


def test_pages_come_in_their_order_whatever_is_recognised() -> None:
    data = scan(*range(9), text={1: "first", 4: "fourth", 9: "last"})
    found = told(items(data, Asked(numbered)))
    assert [number for number, _, _ in found] == list(range(1, 10))
    assert [text for _, text, ocr in found if not ocr] == ["first", "fourth", "last"]
    assert [text for _, text, ocr in found if ocr] == [f"page {n}" for n in (2, 3, 5, 6, 7, 8)]


def test_pages_with_text_are_not_asked_about() -> None:
    asked = Asked(numbered)
    items(scan(1, 2, 3, text={1: "one", 3: "three"}), asked)
    assert asked.asked == [Wanted("page", 2, 3, 300)]


def test_a_text_layer_of_glyph_numbers_is_asked_about_and_never_told() -> None:
    asked = Asked(numbered)
    found = items(made(shown("ABCDEF" * 9), font=NO_LETTERS), asked)
    assert told(found) == [(1, "page 1", True)]
    assert len(asked.asked) == 1


def test_a_stamp_on_a_scan_is_kept_beside_what_is_recognised() -> None:
    content = f"{shown('RECEIVED 12 MAY')} q 590 0 0 790 5 5 cm /I Do Q"
    image = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray"
    stream = f"{image}/BitsPerComponent 8/Length 1>>stream\n0\nendstream"
    data = made(content, font=HELVETICA, more=[stream]).replace(
        b"/Resources<</Font<</F 2 0 R>>>>",
        b"/Resources<</Font<</F 2 0 R>>/XObject<</I 1000 0 R>>>>",
    )
    read = told(items(data, Asked(says("the letter", "received 12 may"))))
    assert read == [(1, "RECEIVED 12 MAY", False), (1, "the letter", True)]
    found = items(data, Asked(lambda wanted: NOTHING))
    assert told(found) == [(1, "RECEIVED 12 MAY", False)]
    assert not any(isinstance(item, Notice) for item in found)


def test_a_page_that_fails_is_noticed_and_the_others_are_told() -> None:
    def answer(wanted: Wanted) -> Answer:
        return Unread("timeout", "too slow", "wait") if wanted.page == 2 else numbered(wanted)

    found = items(scan(1, 2, 3), Asked(answer))
    assert [number for number, _, _ in told(found)] == [1, 3]
    (notice,) = [item for item in found if isinstance(item, Notice)]
    assert notice.code == "timeout" and "Page 2 is an image" in notice.message


def test_where_no_page_can_be_read_the_engines_reason_and_remedy_are_told() -> None:
    refused = Unread("no_text", "no engine", "install one")
    for count in (1, 3):
        with pytest.raises(Unread) as caught:
            items(scan(*range(count)), Asked(lambda wanted: refused))
        assert (caught.value.code, caught.value.remedy) == ("no_text", "install one")
        assert "no engine" in caught.value.reason


def test_large_pages_are_asked_for_at_a_lower_resolution() -> None:
    asked = Asked(numbered)
    data = scan(1).replace(b"/MediaBox[0 0 200 100]", b"/MediaBox[0 0 9000 9000]")
    items(data, asked)
    dpi = asked.asked[0].dpi
    assert dpi is not None and dpi < 90 and (9_000 / 72 * dpi) ** 2 <= 100_000_000


def test_a_page_with_a_giant_image_is_refused_before_anything_is_asked() -> None:
    asked = Asked(numbered)
    data = scan(1, 2).replace(b"/Width 2/Height 1/", b"/Width 50000/Height 50000/", 1)
    found = items(data, asked)
    assert [number for number, _, _ in told(found)] == [2]
    (notice,) = [item for item in found if isinstance(item, Notice)]
    assert notice.code == "limit_reached" and "2,500,000,000 > 100,000,000" in notice.message


def test_a_long_scan_asks_ahead_but_not_for_all_at_once() -> None:
    asked = Asked(numbered)
    data = scan(*range(40))
    reader = pdf.read(io.BytesIO(data), Context("long.pdf", len(data), recognize=asked))
    for item in reader:
        if isinstance(item, Block):
            break
    assert 2 <= len(asked.asked) <= 12
    reader.close()  # type: ignore[attr-defined]
