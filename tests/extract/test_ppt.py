"""Binary PowerPoint presentations: what is read of which slide, and which slides are live."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import ppt as reader
from helpers.extract import ppt_records
from helpers.extract.blocks import Block, Context, Metadata, Notice
from helpers.extract.properties import SUMMARY, TITLE
from tests.extract import ppt_files as made
from tests.extract.compound_files import packed
from tests.extract.mtef_files import signs as mtef_signs
from tests.extract.mtef_files import stream as mtef
from tests.extract.ppt_files import Deck, Slide, ppt, shape, streams, typed
from tests.extract.property_sets import property_set


def items(data: bytes) -> list[object]:
    return list(reader.read(io.BytesIO(data), Context("a.ppt", len(data))))


def told(deck: Deck) -> list[tuple[str, str, str]]:
    """(label, kind, text) of each block."""
    return [
        (item.location.label, item.kind, item.text)
        for item in items(ppt(deck))
        if isinstance(item, Block) and item.location is not None
    ]


def texts(*shapes: bytes) -> list[str]:
    return [text for _, _, text in told(Deck([Slide(shapes)]))]


def refusal(data: bytes) -> Unread:
    with pytest.raises(Unread) as refused:
        items(data)
    return refused.value


# --- slides -----------------------------------------------------------------------------


def test_a_title_comes_first_as_a_heading() -> None:
    slide = Slide([shape(typed("본문\n둘째 줄")), shape(typed("제목", made.CENTER_TITLE))])
    assert told(Deck([slide])) == [
        ("slide 1", "heading", "제목"),
        ("slide 1", "paragraph", "본문"),
        ("slide 1", "paragraph", "둘째 줄"),
    ]


def test_a_title_is_told_by_its_placeholder_too() -> None:
    slide = Slide([shape(typed("세로 제목"), placeholder=17)])
    assert told(Deck([slide])) == [("slide 1", "heading", "세로 제목")]


def test_slides_come_in_the_order_they_are_shown() -> None:
    slides = [Slide([shape(typed(f"slide {n}"))]) for n in "abc"]
    assert told(Deck(slides, order=(2, 0, 1))) == [
        ("slide 1", "paragraph", "slide c"),
        ("slide 2", "paragraph", "slide a"),
        ("slide 3", "paragraph", "slide b"),
    ]


def test_only_the_last_edit_of_a_slide_is_read() -> None:
    now, before = Slide([shape(typed("now"))]), Slide([shape(typed("before"))])
    assert told(Deck([now], old=[before, before])) == [("slide 1", "paragraph", "now")]


def test_a_slide_that_an_edit_left_alone_is_read_where_it_lies() -> None:
    deck = Deck([Slide([shape(typed("new"))])], old=[Slide(), Slide([shape(typed("kept"))])])
    body = streams(deck)
    whole = bytes(body["PowerPoint Document"])
    entry = made._entry(10, 256)
    assert whole.count(entry) == 2  # the list of the last edit, made to show both slides
    at = whole.rindex(entry)
    changed = whole[:at] + made._entry(11, 257) + whole[at + len(entry) :]
    found = items(packed({**body, "PowerPoint Document": changed}))
    assert [item.text for item in found if isinstance(item, Block)] == ["kept"]


def test_text_kept_in_the_outline_is_read_once() -> None:
    outline = [typed("Outline title", made.TITLE), typed("항목 하나\n항목 둘", made.BODY)]
    shapes = [
        shape(made.outline_reference(0), placeholder=13),
        shape(made.outline_reference(1), placeholder=14),
        shape(typed("own")),
    ]
    expected = ["Outline title", "항목 하나", "항목 둘", "own"]
    assert [text for _, _, text in told(Deck([Slide(shapes, outline)]))] == expected
    without = [text for _, _, text in told(Deck([Slide(shapes[2:], outline)]))]
    assert without == ["Outline title", "own", "항목 하나", "항목 둘"]


def test_texts_in_groups_are_read() -> None:
    inner = made.group(shape(typed("inner")), shape(typed("café “q”")))
    assert texts(made.group(shape(typed("outer")), inner)) == ["outer", "inner", "café “q”"]


def test_a_table_is_read_row_by_row() -> None:
    slide = Slide([made.table(("품목", "수량"), ("강관\nDN300", "46"), ("", "끝"))])
    assert told(Deck([slide])) == [
        ("slide 1", "table_header", "품목 | 수량"),
        ("slide 1", "table_row", "강관 DN300 | 46"),
        ("slide 1", "table_row", "끝"),
    ]


def test_word_art_is_read() -> None:
    assert texts(shape(art="워드아트 글")) == ["워드아트 글"]


def test_the_alternative_text_of_a_picture_is_read() -> None:
    assert texts(shape(described="수로의 흐름도"), shape(described="Picture 3")) == [
        "[image: 수로의 흐름도]"
    ]


def test_a_break_within_a_paragraph_is_a_line_break() -> None:
    assert texts(shape(typed("one\x0btwo\nthree"))) == ["one\ntwo", "three"]


def test_what_stands_behind_a_text_in_its_box_is_read_too() -> None:
    looks = made.record(0x0FA1, bytes(20)) + made.record(0x0FAA, bytes(8))
    assert texts(shape(typed("alone") + looks), shape(typed("one") + looks + typed("둘"))) == [
        "alone", "one", "둘"
    ]  # fmt: skip


def test_a_shape_that_says_more_than_its_size_is_read_as_far_as_it_reaches() -> None:
    whole = shape(typed("first"))
    longer = whole[:4] + struct.pack("<I", len(whole) + 100) + whole[8:]
    assert texts(longer, shape(typed("within"))) == ["first"]


def test_a_paragraph_that_is_too_long_is_cut() -> None:
    long = "ก" * (limits.OFFICE_BLOCK_CHARS + 5)
    slide = Slide([shape(typed(long)), shape(typed("short")), shape(typed(long, made.TITLE))])
    sizes = [(kind, len(text)) for _, kind, text in told(Deck([slide]))]
    most = limits.OFFICE_BLOCK_CHARS
    assert sizes == [
        ("heading", most), ("heading", 5), ("paragraph", most), ("paragraph", 5), ("paragraph", 5)
    ]  # fmt: skip


def test_a_stream_that_is_not_held_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    held = items(packed(_samples()[0]))
    monkeypatch.setattr(ppt_records, "_HELD_BYTES", 0)
    assert items(packed(_samples()[0])) == held


def test_fields_leave_no_star() -> None:
    page = shape(made.field_text("Page *", 5))
    assert texts(page, shape(typed("5 * 3 = 15"))) == ["Page", "5 * 3 = 15"]


def test_an_equation_stands_at_its_slide_and_a_document_behind_them() -> None:
    equation = packed({"Equation Native": mtef(mtef_signs("E=mc"))})
    inner = ppt(Deck([Slide([shape(typed("inside"))])]))
    deck = Deck(
        [Slide([shape(thing=1), shape(thing=2)]), Slide([shape(typed("end"))])],
        document=made.object_list((1, 800), (2, 801)),
        objects={800: equation, 801: inner},
    )
    assert told(deck)[:2] == [
        ("slide 1", "paragraph", "[math: E = mc]"),
        ("slide 2", "paragraph", "end"),
    ]
    assert ("embedded presentation 2.ppt, slide 1", "paragraph", "inside") in told(deck)


# --- beside the slides --------------------------------------------------------------------


def test_notes_and_comments_stand_at_their_slide() -> None:
    notes = [
        shape(typed("1"), placeholder=made.IMAGE),
        shape(typed("발표자 노트", made.NOTES_TEXT), placeholder=12),
    ]
    first = Slide([shape(typed("one"))])
    second = Slide([shape(typed("two"))], notes=notes, parts=made.comment("의견\rmore"))
    assert told(Deck([first, second])) == [
        ("slide 1", "paragraph", "one"),
        ("slide 2", "paragraph", "two"),
        ("slide 2 notes", "paragraph", "발표자 노트"),
        ("slide 2 comment", "paragraph", "의견\nmore"),
    ]


def test_footers_are_told_once_and_numbers_never() -> None:
    shapes = [
        shape(typed("x")),
        shape(made.field_text("*", 0), placeholder=made.NUMBER),
        shape(made.field_text("*", 0, 0x0FFA), placeholder=made.FOOTER),
    ]
    own = Slide(shapes, parts=made.margins(footer="바닥글 둘"))
    deck = Deck([Slide(shapes), Slide(shapes), own], document=made.margins("", "바닥글", 3))
    assert [text for _, _, text in told(deck)] == ["x", "바닥글", "x", "x", "바닥글 둘"]


def test_a_master_is_read_once_and_its_prompts_never() -> None:
    master = [
        shape(typed("Click to edit Master title style", made.TITLE), placeholder=1),
        shape(typed("Click to edit Master text styles", made.BODY), placeholder=2),
        shape(typed("대외비")),
    ]
    slides = [Slide([shape(typed("a"))]), Slide([shape(typed("b"))])]
    assert [text for _, _, text in told(Deck(slides, master))] == ["a", "대외비", "b"]


def test_title_and_keywords_come_from_the_summary() -> None:
    summary = property_set({TITLE: "발표 제목"}, 949)
    assert items(ppt(Deck([Slide()], streams={SUMMARY: summary})))[0] == Metadata(title="발표 제목")


# --- what is damaged or cannot be read -------------------------------------------------------


def test_a_password_is_told() -> None:
    refused = refusal(ppt(Deck([Slide()], token=0xF3D1C4DF)))
    assert refused.code == "encrypted" and "password needed" in refused.reason


def test_a_password_is_told_without_the_stream_of_the_user() -> None:
    body = streams(Deck([Slide()]))
    crypt = made.record(0x2F14, bytes(40))
    raw = crypt + bytes(body["PowerPoint Document"])
    assert refusal(packed({"PowerPoint Document": raw})).code == "encrypted"


def test_the_last_edit_is_found_without_its_pointer() -> None:
    body = streams(Deck([Slide([shape(typed("found"))])], old=[Slide([shape(typed("old"))])]))
    del body["Current User"]
    assert [item.text for item in items(packed(body)) if isinstance(item, Block)] == ["found"]


def test_powerpoint_95_is_told_as_unsupported() -> None:
    assert refusal(packed({"PP40": b"x" * 100})).code == "unsupported"


def test_the_newer_half_of_a_dual_file_is_read() -> None:
    body = streams(Deck([Slide([shape(typed("dual"))])]))
    inside: made.Streams = {("PP97_DUALSTORAGE", str(name)): raw for name, raw in body.items()}
    found = items(packed({**inside, "PP40": b"x"}))
    assert [item.text for item in found if isinstance(item, Block)] == ["dual"]


def test_a_missing_stream_or_list_is_told_as_corrupt() -> None:
    assert refusal(packed({"other": b"x"})).code == "corrupt"
    assert refusal(packed({"PowerPoint Document": b"x" * 100})).code == "corrupt"


def test_a_missing_slide_is_told_and_its_outline_read() -> None:
    body = streams(Deck([Slide([], [typed("from the outline")])]))
    raw = bytearray(body["PowerPoint Document"])
    at = bytes(raw).index(struct.pack("<HH", 0x0F, 0x03EE))
    struct.pack_into("<H", raw, at + 2, 0x0123)
    found = items(packed({**body, "PowerPoint Document": bytes(raw)}))
    assert [item.code for item in found if isinstance(item, Notice)] == ["part_unread"]
    assert [item.text for item in found if isinstance(item, Block)] == ["from the outline"]


def test_a_slide_listed_a_thousand_times_is_read_once() -> None:
    slide = Slide([shape(typed("again"))])
    found = items(ppt(Deck([slide], order=(0,) * 1_000)))
    assert [item.text for item in found if isinstance(item, Block)] == ["again"]
    assert not [item for item in found if isinstance(item, Notice)]


def test_edits_that_lead_round_in_a_circle_end() -> None:
    body = streams(Deck([Slide([shape(typed("x"))])]))
    raw = bytearray(body["PowerPoint Document"])
    at = len(raw) - 36
    struct.pack_into("<I", raw, at + 16, at)
    found = items(packed({**body, "PowerPoint Document": bytes(raw)}))
    assert [item.text for item in found if isinstance(item, Block)] == ["x"]


def _samples() -> list[made.Streams]:
    slide = Slide(
        [
            shape(typed("제목", made.TITLE), placeholder=13),
            shape(made.outline_reference(0)),
            made.group(shape(typed("inner")), made.group(shape(art="art"))),
            made.table(("a", "b"), ("c", "d")),
            shape(made.field_text("Page *", 5)),
            shape(thing=1),
        ],
        [typed("outline", made.BODY)],
        [shape(typed("노트", made.NOTES_TEXT), placeholder=12)],
        made.comment("comment") + made.margins("head", "foot"),
    )
    objects = {
        800: packed({"Equation Native": mtef(mtef_signs("E=mc"))}),
        801: ppt(Deck([Slide([shape(typed("inside"))])])),
    }
    document = made.margins("", "f", 3) + made.object_list((1, 800), (2, 801))
    deck = Deck([slide, slide], [shape(typed("master"))], document, [slide], objects=objects)
    return [streams(deck)]


def test_damage_gives_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance, samples = random.Random(21), _samples()
    outcomes = set()
    for _ in range(points(200, 2_000)):
        parts = dict(chance.choice(samples))
        victim = chance.choice(sorted(parts, key=str))
        raw = bytearray(parts[victim])
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(raw))
            if chance.random() < 0.3:
                value = chance.choice((0, 0xFFFFFFFF, 1 << 31, 7))
                struct.pack_into("<I", raw, min(at, len(raw) - 4), value)
            raw[at] = chance.randrange(256)
        whole = bytearray(packed({**parts, victim: bytes(raw)}))
        if chance.random() < 0.3:
            whole[chance.randrange(len(whole))] = chance.randrange(256)
        try:
            for item in items(bytes(whole)):
                if isinstance(item, Block):
                    item.text.encode("utf-8")
                    assert item.location is not None
            outcomes.add("read")
        except Unread as error:
            outcomes.add(error.code)
    assert outcomes <= {"read", "corrupt", "encrypted", "unsupported", "limit_reached"}
    assert "read" in outcomes


def test_the_reference_presentations(shared: Path) -> None:
    folder = shared / "docs" / "ppt"
    found = items((folder / "made_th_lo_slides.ppt").read_bytes())
    assert [item.text for item in found if isinstance(item, Block)] == [
        "แผนป้องกันน้ำท่วม",
        "แผนป้องกันน้ำท่วม",
        "สูบน้ำออกจากพื้นที่ต่ำ",
        "ผู้บรรยายต้องย้ำเรื่องคันกั้นน้ำ",
    ]
    labels = [item.location.label for item in items((folder / "poi_WithComments.ppt").read_bytes())
              if isinstance(item, Block) and item.location is not None]  # fmt: skip
    assert labels == ["slide 1", "slide 1", "slide 1 comment"]
