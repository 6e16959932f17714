"""What a chunk promises: nothing lost, verbatim, in order, within its size, at honest places."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.extract.blocks import Block, Location, Metadata, Notice
from helpers.language import sentences
from helpers.language.chunk import Chunk, ChunkPolicy, chunk_blocks
from helpers.limits import CHUNK_TEXT_CHARS, CONTEXT_CHARS

POLICY = ChunkPolicy()
TIGHT = {"line", "code", "table_header", "table_row"}
THAI = "การประชุมคณะกรรมการครั้งที่สามจะจัดขึ้นที่ห้องประชุมใหญ่ชั้นสองในวันพรุ่งนี้"


def page(number: int) -> Location:
    return Location("page", f"p. {number}", number)


def row(number: int, sheet: str = "Sheet1") -> Location:
    return Location("sheet", f"{sheet} row {number}", number, sheet)


def chunks(*blocks: object, policy: ChunkPolicy = POLICY, title: str = "T") -> list[Chunk]:
    return list(chunk_blocks(list(blocks), policy, title))


def joined(blocks: list[Block]) -> str:
    text, kind = "", ""
    for block in blocks:
        if block.text.isspace():
            continue
        if text:
            text += "\n" if kind in TIGHT and block.kind in TIGHT else "\n\n"
        text += block.text
        kind = block.kind
    return text


def squeezed(text: str) -> str:
    return "".join(text.split())


ODD = "alpha 3.14 Dr. end. why? (see e.g.) 1,284,500.50 했다. 한국어 น้ำ กำหนดการ 👩‍👩‍👧 🇹🇭🇰🇷"
LONG = ["x" * 1600, "ก" * 950, "e\u0301" * 30]
WORDS = st.sampled_from([*ODD.split(), '"so."', THAI, "\n", "\n\n", " ", *LONG])
TEXTS = st.lists(WORDS, min_size=1, max_size=60).flatmap(
    lambda words: st.sampled_from([" ", " ", ""]).map(lambda gap: gap.join(words))
)
LOCATIONS = st.sampled_from([None, page(1), page(2), row(3), Location("line", "line 4", 4)])
BLOCKS = st.lists(
    st.builds(
        Block,
        text=TEXTS,
        kind=st.sampled_from(["paragraph", "paragraph", "heading", "line", "code"]),
        level=st.integers(0, 6),
        location=LOCATIONS,
    ),
    min_size=1,
    max_size=12,
)
POLICIES = st.builds(ChunkPolicy, chars=st.integers(200, 1200), overlap=st.integers(0, 300))
QUICK = settings(
    max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)


@QUICK
@given(BLOCKS, POLICIES)
def test_every_letter_is_in_some_chunk_and_order_is_kept(
    blocks: list[Block], policy: ChunkPolicy
) -> None:
    source = joined(blocks)
    covered = 0
    for chunk in chunks(*blocks, policy=policy):
        assert 0 < len(chunk.text) <= CHUNK_TEXT_CHARS
        gap = len(source) - covered - len(source[covered:].lstrip())
        begin = source.rfind(chunk.text, 0, covered + gap + len(chunk.text))
        assert begin >= 0
        covered = max(covered, begin + len(chunk.text))
    assert squeezed(source[covered:]) == ""


@QUICK
@given(BLOCKS, POLICIES)
def test_the_same_blocks_give_the_same_chunks(blocks: list[Block], policy: ChunkPolicy) -> None:
    assert chunks(*blocks, policy=policy) == chunks(*blocks, policy=policy)


@QUICK
@given(st.lists(TEXTS, min_size=1, max_size=30), TEXTS, POLICIES)
def test_table_rows_lose_nothing_and_stay_within_the_cap(
    rows: list[str], header: str, policy: ChunkPolicy
) -> None:
    blocks = [Block(header, "table_header", 0, row(1))]
    blocks += [Block(text, "table_row", 0, row(2 + at)) for at, text in enumerate(rows)]
    found = chunks(*blocks, policy=policy)
    assert all(len(chunk.text) <= CHUNK_TEXT_CHARS for chunk in found)
    everything = squeezed("".join(chunk.text for chunk in found))
    position = 0
    for sign in squeezed("".join(block.text for block in blocks)):
        position = everything.find(sign, position) + 1
        assert position > 0


@QUICK
@given(TEXTS, st.integers(0, 400))
def test_a_piece_never_begins_inside_a_combining_sequence(text: str, seed: int) -> None:
    found = chunks(Block(text), policy=ChunkPolicy(200 + seed, 0))
    for chunk in found:
        assert unicodedata.category(chunk.text[0]) != "Mn"
        assert chunk.text[0] not in "\u0e33\u200d"


def test_a_run_without_a_space_is_cut_at_the_cap() -> None:
    for sign in ("x", "ก", "漢", "\u0301"):
        found = chunks(Block(sign * 100_000))
        assert max(len(chunk.text) for chunk in found) <= CHUNK_TEXT_CHARS
        assert sum(len(chunk.text) for chunk in found) == 100_000


def test_cuts_fall_at_sentence_ends_in_english_and_korean() -> None:
    english = (
        "Dr. Kim paid 1,284,500.50 baht, e.g. for rice. It was 3.14 times more than before. " * 40
    )
    korean = "이사회는 예산을 승인했다. 언제 시작할까? 내년 봄에 시작해요. " * 60
    for text in (english, korean):
        found = chunks(Block(text))
        assert len(found) > 2
        assert all(chunk.text[-1] in ".?" for chunk in found)
        assert not any(chunk.text.endswith(("Dr.", "e.g.", "3.")) for chunk in found)


def test_short_parentheses_and_quotations_stay_whole() -> None:
    text = ("The plan (it was long. It was dear. It was late) passed. " * 30).strip()
    for chunk in chunks(Block(text), policy=ChunkPolicy(300, 0)):
        assert chunk.text.count("(") == chunk.text.count(")")
    text = ('He said "Stop now. Please go. It is late." and left the room. ' * 30).strip()
    for chunk in chunks(Block(text), policy=ChunkPolicy(300, 0)):
        assert chunk.text.count('"') % 2 == 0


def test_thai_is_cut_at_phrase_breaks_where_there_are_any() -> None:
    text = " ".join([THAI] * 60)
    found = chunks(Block(text))
    assert all(chunk.text.startswith("การประชุม") for chunk in found)
    assert all(chunk.text.endswith("พรุ่งนี้") for chunk in found)


def test_thai_without_spaces_is_cut_between_words() -> None:
    words = ["โรงเรียน", "ประชุม", "นักเรียน", "กรรมการ", "รัฐบาล"]
    text = "".join(words * 300)
    pytest.importorskip("helpers.language.thai")
    found = chunks(Block(text), policy=ChunkPolicy(900, 0))
    assert "".join(chunk.text for chunk in found) == text
    assert all(chunk.text.startswith(tuple(words)) for chunk in found)


def test_rows_inside_a_paragraph_are_cut_between_rows() -> None:
    text = "\n".join(f"({n}) substance number {n} … {n * 13}" for n in range(200))
    assert all(chunk.text.startswith("(") for chunk in chunks(Block(text)))


def test_overlap_is_whole_sentences_and_at_most_its_share() -> None:
    text = " ".join(f"Sentence number {n} tells of item {n * 7}." for n in range(400))
    found = chunks(Block(text))
    repeated = 0
    for before, after in pairwise(found):
        sizes = [n for n in range(1, 200) if before.text.endswith(after.text[:n])]
        assert sizes and max(sizes) <= 135
        assert after.text.startswith("Sentence")
        repeated += max(sizes)
    assert repeated <= 0.15 * len(text)
    assert sum(len(c.text) for c in chunks(Block(text), policy=ChunkPolicy(900, 0))) <= len(text)


def test_pages_slides_and_sheets_are_never_merged() -> None:
    found = chunks(*(Block(f"Text of page {n}.", "paragraph", 0, page(n)) for n in (1, 2, 3)))
    assert [chunk.location["page"] for chunk in found] == [1, 2, 3]
    found = chunks(Block("a", "table_row", 0, row(1)), Block("b", "table_row", 0, row(1, "Two")))
    assert [chunk.location["sheet"] for chunk in found] == ["Sheet1", "Two"]


def test_a_slide_without_a_title_does_not_inherit_the_one_before() -> None:
    first, second = (Location("slide", f"slide {at}", at) for at in (1, 2))
    found = chunks(
        Block("Flood", "heading", 1, first), Block("a", location=first), Block("b", location=second)
    )
    assert [chunk.heading for chunk in found] == [("Flood",), ()]
    assert found[1].context == "T"


def test_a_table_header_is_repeated_and_rows_are_located() -> None:
    rows = [Block(f"item {n} | {n * 3} baht", "table_row", 0, row(n)) for n in range(2, 200)]
    found = chunks(Block("name | price", "table_header", 0, row(1)), *rows)
    assert len(found) > 2
    assert all(chunk.text.startswith("name | price\n") for chunk in found)
    assert found[0].location["row"] == 1
    for before, after in pairwise(found):
        assert after.location["row"] == before.location["end"] + 1


def test_a_heading_opens_the_chunk_and_the_path_follows_it() -> None:
    body = "This sentence fills the section with words. " * 15
    found = chunks(
        Block("Guide", "heading", 1),
        Block(body),
        Block("Install", "heading", 2),
        Block(body),
        Block("Use", "heading", 2),
        Block(body),
    )
    assert [chunk.text.split("\n")[0] for chunk in found] == ["Guide", "Install", "Use"]
    assert [chunk.heading for chunk in found] == [
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Use"),
    ]
    assert found[2].context == "T\nGuide > Use"


def test_small_sections_share_a_chunk() -> None:
    blocks = []
    for number in range(30):
        blocks += [Block(f"Term {number}", "heading", 3), Block(f"Short entry {number}.")]
    assert len(chunks(*blocks)) <= 5


def test_headings_alone_are_not_lost() -> None:
    found = chunks(*(Block(f"Heading {n}", "heading", 1) for n in range(200)))
    assert all(any(f"Heading {n}" in c.text for c in found) for n in range(200))


def test_metadata_reaches_the_context_and_notices_are_passed_over() -> None:
    metadata = Metadata(title="Annual report", tags=("budget", "budget"), aliases=("AR24",))
    (chunk,) = chunks(metadata, Notice("no_text", "page 2"), Block("Body."), title="file")
    assert chunk.context == "Annual report\nbudget, AR24"
    long = Metadata(title="t" * 500, tags=tuple(f"tag{n}" for n in range(200)))
    (chunk,) = chunks(long, Block("h" * 200, "heading", 1), Block("Body."))
    assert len(chunk.context) <= CONTEXT_CHARS


def test_a_long_text_block_is_located_by_its_own_lines() -> None:
    text = "\n".join(f"Line {n} has a sentence here." for n in range(10, 300))
    for chunk in chunks(Block(text, "code", 0, Location("line", "line 10", 10, None, 299))):
        assert chunk.text.startswith(f"Line {chunk.location['line']} ")
        assert f"Line {chunk.location['end']} " in chunk.text.splitlines()[-1]


def test_ocr_marks_the_chunk() -> None:
    assert chunks(Block("scan", ocr=True), Block("typed"))[0].ocr
    assert not chunks(Block("typed"))[0].ocr


def test_a_chunk_size_out_of_range_names_the_range() -> None:
    with pytest.raises(ValueError, match="5,000 is outside 200 to 1,200"):
        ChunkPolicy(5000)


def test_memory_is_bounded_by_streaming() -> None:
    def endless() -> object:
        while True:
            yield Block("One more sentence of the stream. " * 20)

    stream = chunk_blocks(endless(), POLICY, "")  # type: ignore[arg-type]
    assert len([next(stream) for _ in range(50)]) == 50


@pytest.mark.parametrize(
    ("text", "position", "whole"),
    [
        ("กำ", 1, False),
        ("เก", 1, False),
        ("ab", 1, True),
        ("e\u0301", 1, False),
        ("🇹🇭🇰🇷", 2, True),
        ("🇹🇭🇰🇷", 1, False),
        ("\r\n", 1, False),
        ("\u1100\u1161", 1, False),
        ("가나", 1, True),
    ],
)
def test_cluster_boundaries(text: str, position: int, whole: bool) -> None:
    assert sentences.starts_cluster(text, position) is whole


def test_a_chunk_is_located_below_the_headings_it_begins_with() -> None:
    outer, inner = Location("section", "Leave", name="Leave"), Location("section", "Leave > Paid")
    found = chunks(
        Block("Leave", "heading", 1, outer),
        Block("Paid", "heading", 2, inner),
        Block("Fifteen days.", location=inner),
    )
    assert [chunk.location["label"] for chunk in found] == ["Leave > Paid"]


def test_a_label_names_both_ends_of_what_it_spans() -> None:
    first, second = Location("section", "Work > Trial"), Location("section", "Work > Tools")
    (sections,) = chunks(Block("a", location=first), Block("b", location=second))
    assert sections.location["label"] == "Work > Trial – Tools"
    rows = [Location("sheet", f"Stock row {n}", n, "Stock") for n in (1, 2, 3)]
    (sheet,) = chunks(*[Block(f"r{n.number}", "table_row", location=n) for n in rows])
    assert sheet.location == {
        "kind": "sheet", "label": "Stock rows 1–3", "sheet": "Stock", "row": 1, "end": 3,
        "rows": "0:1 3:2 6:3",
    }  # fmt: skip
    (lines,) = chunks(Block("x\ny", "line", location=Location("line", "line 4", 4, None, 5)))
    assert lines.location["label"] == "lines 4–5"


def test_numbered_paragraphs_and_a_sheets_footer_keep_the_span_readable() -> None:
    numbered = [Location("section", f"paragraph {n}") for n in (2, 5)]
    (found,) = chunks(*[Block("a", location=place) for place in numbered])
    assert found.location["label"] == "paragraphs 2–5"
    (note,) = chunks(*[Block("a", location=place) for place in reversed(numbered)])
    assert note.location["label"] == "paragraph 5"
    rows = [Location("sheet", f"S row {n}", n, "S") for n in (1, 2)]
    footer = Block("For internal use", location=Location("sheet", "S", None, "S"))
    (sheet,) = chunks(*[Block("r", "table_row", location=row) for row in rows], footer)
    assert sheet.location["label"] == "S rows 1–2"


def test_an_inner_document_has_its_own_headings_and_gives_the_outer_ones_back() -> None:
    def inner(page: int) -> Location:
        return Location("part", f"attachment a.pdf, p. {page}", page, "attachment a.pdf")

    items = [
        Block("Contract", "heading", 1, Location("section", "Contract")),
        Block("before", location=Location("section", "Contract")),
        Block("attachment a.pdf", "heading", 1, inner(1)),
        Block("first page", location=inner(1)),
        Block("second page", location=inner(2)),
        Block("after", location=Location("section", "Contract")),
    ]
    chunks = list(chunk_blocks(items, ChunkPolicy(), "mail"))
    assert [chunk.text for chunk in chunks] == [
        "Contract\n\nbefore",
        "attachment a.pdf\n\nfirst page",
        "second page",
        "after",
    ]
    assert [chunk.heading for chunk in chunks] == [
        ("Contract",),
        ("attachment a.pdf",),
        ("attachment a.pdf",),
        ("Contract",),
    ]


def test_rows_of_a_table_on_a_slide_are_no_rows_of_a_sheet() -> None:
    place = Location("slide", "slide 2", 2)
    (chunk,) = chunk_blocks([Block("a | b", "table_row", 0, place)], ChunkPolicy(), "t")
    assert "rows" not in chunk.location
