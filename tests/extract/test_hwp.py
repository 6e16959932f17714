"""HWP 5 documents: what is read, where it stands, and what is told of the ones that are not."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.extract import hwp as reader
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.extract.hwp_lock import Decipher
from helpers.limits import HANGUL_HEADING_CHARS, HWP_LEVELS, HWP_RECORD_BYTES
from tests.extract.hangul_files import (
    DRM,
    FORM,
    LINE_SEG,
    MEMO_LIST,
    PARA_HEADER,
    PARA_TEXT,
    PASSWORD,
    SHAPE,
    TEXT_ART,
    Tree,
    automatic,
    cell,
    control,
    deflated,
    distributed,
    enciphered,
    equation,
    grid,
    header,
    hwp,
    info,
    listing,
    mark,
    para,
    record,
    table,
    wide,
    written,
)


def items(data: bytes) -> list[Item]:
    return list(reader.read(io.BytesIO(data), Context("a.hwp", len(data))))


def blocks(data: bytes) -> list[Block]:
    return [item for item in items(data) if isinstance(item, Block)]


def texts(*section: Tree) -> list[str]:
    return [block.text for block in blocks(hwp(section))]


def refusal(data: bytes) -> Unread:
    with pytest.raises(Unread) as refused:
        items(data)
    return refused.value


# --- paragraphs -------------------------------------------------------------------------------


def test_paragraphs_come_in_order_from_all_sections_by_their_number() -> None:
    sections = [[para(f"구역 {number}")] for number in range(12)]
    found = blocks(hwp(*sections))
    assert [block.text for block in found] == [f"구역 {number}" for number in range(12)]
    assert found[2].location is not None
    assert found[2].location.label == "paragraph 3"


def test_a_stream_that_is_not_compressed_is_read_as_it_is() -> None:
    assert [block.text for block in blocks(hwp([para("그대로")], flags=0))] == ["그대로"]


def test_a_stream_that_is_not_deflated_although_the_flag_says_so_is_read() -> None:
    data = hwp(written([para("그대로")]), docinfo=info([None]), flags=1)
    assert [block.text for block in blocks(data)] == ["그대로"]


def test_paragraphs_and_cells_mean_the_same_one_by_one_and_in_runs() -> None:
    """A header that does not tell how long its records are makes the reader walk them."""
    rows = [["가", "나"], ["다", ""], ["", "라"]]
    section = [para("앞"), grid(rows), para("뒤"), para("")]
    plain = written(section)
    honest, odd = (struct.pack("<HHHI", n, 0, n, 0) for n in (1, 9))
    odd = plain.replace(honest, odd)
    assert odd != plain
    found = [(b.text, b.kind) for b in blocks(hwp(deflated(plain)))]
    assert [(b.text, b.kind) for b in blocks(hwp(deflated(odd)))] == found
    assert found == [
        ("앞", "paragraph"),
        ("가 | 나", "table_header"),
        ("다", "table_row"),
        ("라", "table_row"),
        ("뒤", "paragraph"),
    ]


@pytest.mark.parametrize(
    ("written_as", "shown"),
    [
        ("한\x0a글", "한\n글"),
        (f"가{mark(9)}나", "가\t나"),
        ("한\x18글", "한-글"),
        ("천\x1e원", "천\u00a0원"),
        ("천\x1f원", "천 원"),
        (f"누름{mark(3, '%clk')}틀{mark(4)}끝", "누름틀끝"),
        (f"쪽{mark(21, 'pghd')}{mark(22, 'bokm')}번호", "쪽번호"),
        ("확장\U000f02b1가\U0001f600", "확장\U000f02b1가\U0001f600"),
        ("\u3000들여 쓴 글\u3000", "들여 쓴 글"),
    ],
)
def test_control_characters_become_what_they_show(written_as: str, shown: str) -> None:
    assert texts(para(written_as)) == [shown]


@pytest.mark.parametrize("code", [9, 3, 4, 11, 17, 18, 2])
def test_controls_are_seen_where_the_header_names_none(code: int) -> None:
    text = f"앞{mark(code, 'abcd')}뒤"
    assert texts(para(text, masked=False)) == [("앞\t뒤" if code == 9 else "앞뒤")]


def test_a_controls_data_is_no_text_even_where_it_looks_like_letters() -> None:
    lure = chr(3) + "%clk"[::-1].encode().decode("utf-16-le") + "비밀 명령" + chr(3)
    assert len(lure) == 8 + 1  # one letter too many, as a damaged file has it
    assert texts(para(f"{mark(3, '%hlk')}글")) == ["글"]


def test_a_fields_command_is_not_read() -> None:
    command = control("%hlk", data=bytes(9) + wide("https://example.org/?secret"))
    assert texts(para(f"{mark(3, '%hlk')}여기{mark(4)}를 보라", command)) == ["여기를 보라"]


def test_a_paragraph_longer_than_a_records_usual_size_is_read() -> None:
    long = "긴 문장 " * 3_000
    assert texts(para(long)) == [long.strip()]


def test_outline_levels_and_named_styles_make_headings_and_their_path() -> None:
    docinfo = info([None, 0, 1], ["바탕글", "개요 1", "제목 2", "Outline 3", "본문"])
    section = [
        para("머리말 앞"),
        para("제1장", shape=1),
        para("제1절", shape=2),
        para("본문이다", style=4),
        para("둘째 장", style=1),
        para("그 절", style=2),
        para("그 항", style=3),
        para("긴 " * HANGUL_HEADING_CHARS, shape=1),
    ]
    found = blocks(hwp(section, docinfo=docinfo))
    assert [(block.kind, block.level) for block in found] == [
        ("paragraph", 0),
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
        ("heading", 1),
        ("heading", 2),
        ("heading", 3),
        ("paragraph", 0),
    ]
    labels = [block.location.label for block in found if block.location is not None]
    assert labels[3] == "제1장 > 제1절"
    assert labels[7] == "둘째 장 > 그 절 > 그 항"


# --- tables -----------------------------------------------------------------------------------


def test_rows_have_separated_cells_and_the_first_one_is_the_header() -> None:
    found = blocks(hwp([grid([["구분", "예산"], ["교육부", "95조"], ["", "1조"]])]))
    assert [(block.text, block.kind) for block in found] == [
        ("구분 | 예산", "table_header"),
        ("교육부 | 95조", "table_row"),
        ("1조", "table_row"),
    ]


def test_a_merged_cell_stands_in_the_row_where_it_begins() -> None:
    merged = table(
        3,
        cell(0, 0, para("합계"), span=2),
        cell(0, 2, para("100")),
        cell(1, 1, para("가")),
        cell(1, 2, para("40")),
    )
    assert texts(para(mark(11, "tbl "), merged)) == ["합계 | 100", "가 | 40"]


def test_a_label_merged_over_rows_is_told_in_each_of_them() -> None:
    """Rows 0 to 4 of three columns: 교육부 and, within it, 본부 lie over several rows."""
    cells = [
        cell(0, 0, para("부처")), cell(0, 1, para("부서")), cell(0, 2, para("예산")),
        cell(1, 0, para("교육부"), rows=3), cell(1, 1, para("본부"), rows=2), cell(1, 2, para("1")),
        cell(2, 2, para("2")),
        cell(3, 1, para("소속")), cell(3, 2, para("3")),
        cell(4, 0, para("환경부")), cell(4, 1, para("본부")), cell(4, 2, para("4")),
    ]  # fmt: skip
    assert texts(para(mark(11, "tbl "), table(3, *cells))) == [
        "부처 | 부서 | 예산",
        "교육부 | 본부 | 1",
        "교육부 | 본부 | 2",
        "교육부 | 소속 | 3",
        "환경부 | 본부 | 4",
    ]


def test_a_merged_cell_of_many_words_or_on_the_right_is_told_once() -> None:
    long = "가나다라마 " * 20
    cells = [
        cell(0, 0, para(long), rows=2), cell(0, 1, para("1")), cell(0, 2, para("비고"), rows=2),
        cell(1, 1, para("2")),
    ]  # fmt: skip
    assert texts(para(mark(11, "tbl "), table(3, *cells))) == [f"{long}| 1 | 비고", "2"]


def test_a_marked_title_row_is_a_header_wherever_it_stands() -> None:
    rows = [cell(r, c, para(f"{r}{c}"), title=r == 1) for r in range(3) for c in range(2)]
    found = blocks(hwp([para(mark(11, "tbl "), table(2, *rows))]))
    assert [block.kind for block in found] == ["table_header", "table_header", "table_row"]


def test_several_paragraphs_and_tabs_of_a_cell_make_one_text() -> None:
    cells = [cell(0, 0, para("첫째"), para(f"둘{mark(9)}째"), para("")), cell(0, 1, para("옆"))]
    assert texts(para(mark(11, "tbl "), table(2, *cells))) == ["첫째 둘 째 | 옆"]


def test_a_table_in_a_cell_follows_the_row_that_holds_it() -> None:
    inner = grid([["안1", "안2"]])
    outer = table(
        2, cell(0, 0, para("밖"), inner), cell(0, 1, para("옆")), cell(1, 0, para("다음"))
    )
    assert texts(para(mark(11, "tbl "), outer)) == ["밖 | 옆", "안1 | 안2", "다음"]


def test_a_table_of_one_column_is_a_frame_around_text() -> None:
    frame = table(1, cell(0, 0, para("제목"), para("내용"), grid([["a", "b"]])))
    found = blocks(hwp([para(mark(11, "tbl "), frame)]))
    assert [(block.text, block.kind) for block in found] == [
        ("제목", "paragraph"),
        ("내용", "paragraph"),
        ("a | b", "table_header"),
    ]


def test_a_title_over_all_columns_is_no_row() -> None:
    title = cell(0, 0, para("2024년 예산안"), span=2)
    rows = [cell(r, c, para(f"{r}{c}")) for r in (1, 2) for c in (0, 1)]
    found = blocks(hwp([para(mark(11, "tbl "), table(2, title, *rows))]))
    assert [(block.text, block.kind) for block in found] == [
        ("2024년 예산안", "paragraph"),
        ("10 | 11", "table_header"),
        ("20 | 21", "table_row"),
    ]


def test_a_caption_stands_before_its_table_with_its_number() -> None:
    caption = listing(para(f"표 {mark(18, 'atno')} 지역별 인구", automatic(4, 7)))
    body = table(2, cell(0, 0, para("서울")), cell(0, 1, para("9")), caption=caption)
    assert texts(para(mark(11, "tbl "), body)) == ["표  지역별 인구 (표 7)", "서울 | 9"]


def test_a_caption_of_a_number_alone_is_its_words_and_number() -> None:
    caption = listing(para(f"[표 {mark(18, 'atno')}]", automatic(4, 7)))
    body = table(1, cell(0, 0, para("가")), caption=caption)
    assert texts(para(mark(11, "tbl "), body)) == ["표 7", "가"]


def test_a_pages_automatic_number_is_no_text() -> None:
    assert texts(para(f"쪽 {mark(18, 'atno')} 끝", automatic(0, 3))) == ["쪽  끝"]


# --- what is anchored in paragraphs -----------------------------------------------------------


@pytest.mark.parametrize(("code", "kind"), [(17, "fn  "), (17, "en  "), (15, "tcmt")])
def test_notes_and_hidden_comments_follow_their_paragraph(code: int, kind: str) -> None:
    note = control(kind, listing(para("주석이다"), para("둘째 줄")))
    assert texts(para(f"본문{mark(code, kind)} 뒤", note)) == ["본문 뒤", "주석이다", "둘째 줄"]


def test_a_note_in_a_cell_stands_after_the_row() -> None:
    note = control("fn  ", listing(para("주석이다")))
    cells = [cell(0, 0, para(f"값{mark(17, 'fn  ')}", note)), cell(0, 1, para("옆"))]
    assert texts(para(mark(11, "tbl "), table(2, *cells))) == ["값 | 옆", "주석이다"]


def test_text_boxes_grouped_shapes_and_text_art_follow_their_paragraph() -> None:
    inner = (SHAPE, bytes(40), [listing(para("상자 속 상자"))])
    art = (SHAPE, bytes(40), [(TEXT_ART, bytes(32) + wide("글맵시\n두 줄") + wide("굴림"), ())])
    group = (SHAPE, bytes(40), [listing(para("상자")), inner, art])
    box = control("gso ", listing(para("설명문")), group, data=bytes(42))
    assert texts(para(f"앞{mark(11, 'gso ')}", box)) == [
        "앞",
        "설명문",
        "상자",
        "상자 속 상자",
        "글맵시 두 줄",
    ]


def test_headers_footers_and_master_pages_stand_once_at_the_end_without_page_numbers() -> None:
    margins = [control(kind, listing(para("대외비"), para("- 3 -"))) for kind in ("head", "foot")]
    master = control("secd", listing(para("바탕쪽 글")))
    marks = mark(2, "secd") + mark(16, "head") + mark(16, "foot")
    found = blocks(hwp([para(f"{marks}본문", master, *margins), para("끝")]))
    assert [block.text for block in found] == ["본문", "끝", "바탕쪽 글", "대외비"]
    assert found[3].location is not None
    assert found[3].location.label == "header or footer"


def test_memos_are_located_as_comments() -> None:
    memo: Tree = (MEMO_LIST, bytes(4), [listing(para("메모 내용"))])
    found = blocks(hwp([para("본문", memo)]))
    assert [block.text for block in found] == ["본문", "메모 내용"]
    assert found[1].location is not None
    assert found[1].location.label == "comments"


def test_an_equation_stands_in_its_sentence_as_latex() -> None:
    first, second = equation("{a+b} over {c}"), equation("x^2")
    sentence = f"식 {mark(11, 'eqed')}와 {mark(11, 'eqed')}이다"
    [found] = texts(para(sentence, first, second))
    assert "".join(found.split()) == r"식[math:\frac{a+b}{c}]와[math:x^{2}]이다"


def test_small_text_above_a_word_and_composed_letters_stand_in_the_line() -> None:
    ruby = control("tdut", data=wide("本文") + wide("본문") + bytes(16))
    composed = control("tcps", data=wide("㈜가") + bytes(4))
    text = f"이 {mark(23, 'tdut')}과 {mark(23, 'tcps')}."
    assert texts(para(text, ruby, composed)) == ["이 本文(본문)과 ㈜가."]


def test_form_fields_give_their_captions_and_texts() -> None:
    look = "Name:wstring:4:btn1 Caption:wstring:5:제출 하기 Text:wstring:2:이름 "
    raw: Tree = (FORM, bytes(8) + look.encode("utf-16-le"), ())
    assert texts(para(f"양식{mark(11, 'form')}", control("form", raw))) == [
        "양식",
        "제출 하기",
        "이름",
    ]


def test_a_pictures_description_stands_at_the_end_without_its_measures() -> None:
    told = "교육부의 조직도\n원본 그림의 이름: a.png\n원본 그림의 크기: 가로 10pixel"
    picture = control("gso ", data=bytes(40) + wide(told))
    found = blocks(hwp([para(f"그림{mark(11, 'gso ')}", picture), para("뒤")]))
    assert [block.text for block in found] == ["그림", "뒤", "교육부의 조직도"]
    assert found[2].location is not None
    assert found[2].location.label == "picture description"


def test_what_hangul_says_of_a_shape_by_itself_makes_no_part_of_its_own() -> None:
    shape = control("gso ", data=bytes(40) + wide("사각형입니다."))
    picture = control("gso ", data=bytes(40) + wide("그림입니다.\n원본 그림의 이름: a.png"))
    marks = mark(11, "gso ") * 2
    found = blocks(hwp([para(f"본문{marks}", shape, picture), para(marks, shape, picture)]))
    assert [block.text for block in found] == ["본문", "사각형입니다. 그림입니다."]
    assert found[1].location is not None
    assert found[1].location.label == "paragraph 2"
    assert blocks(hwp([para(marks, shape, picture)])) == []


# --- the document -----------------------------------------------------------------------------


def test_a_document_without_text_gives_no_block() -> None:
    assert blocks(hwp([para(mark(2, "secd"), control("secd")), para("")])) == []


def test_a_document_of_pictures_alone_is_told_to_need_recognition() -> None:
    picture = control("gso ", (SHAPE, bytes(40), [(85, bytes(70), ())]), data=bytes(42))
    [told] = [i for i in items(hwp([para(mark(11, "gso "), picture)])) if isinstance(i, Notice)]
    assert told.code == "no_text"
    assert not [
        i for i in items(hwp([para(f"글{mark(11, 'gso ')}", picture)])) if isinstance(i, Notice)
    ]


def test_a_distribution_document_is_read_from_its_scrambled_text() -> None:
    for seed in (0, 7, 0xFFFF_FFFF):
        data = distributed([para("배포된 본문"), grid([["가", "나"]])], seed)
        assert [block.text for block in blocks(data)] == ["배포된 본문", "가 | 나"]


def test_deciphering_is_that_of_the_standard() -> None:
    """FIPS 197, appendix C.1."""
    key = bytes(range(16))
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    secret = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")
    assert Decipher(key).blocks(secret + secret + b"rest") == plain + plain
    assert enciphered(key, plain) == secret


@pytest.mark.parametrize("flag", [PASSWORD, DRM, 256, 1024])
def test_locked_documents_are_told_as_encrypted(flag: int) -> None:
    refused = refusal(hwp([para("x")], flags=1 | flag))
    assert refused.code == "encrypted"
    assert refused.remedy


@pytest.mark.parametrize("version", ["3.00", "2.10"])
def test_older_documents_are_named_with_their_version(version: str) -> None:
    refused = refusal(f"HWP Document File V{version} \x1a\1\2\3\4\5".encode() + bytes(100))
    assert refused.code == "unsupported"
    assert f"HWP {version}" in refused.reason
    assert ".hwpx" in refused.remedy


@pytest.mark.parametrize(
    "data",
    [
        b"no compound file at all",
        hwp([para("x")], extra={"FileHeader": b"HWP Document File"}),
        hwp([para("x")], extra={"FileHeader": header(1).replace(b"HWP", b"XYZ")}),
        hwp(),
        hwp(b"\xff" * 99),
        hwp(deflated(written([para("x" * 999)]))[:-9]),
        hwp([para("x")], storage="ViewText", flags=5),
    ],
)
def test_damage_is_told_as_corrupt(data: bytes) -> None:
    refused = refusal(data)
    assert refused.code == "corrupt"
    assert refused.remedy


def test_a_section_that_ends_within_a_record_is_read_up_to_there() -> None:
    cut = written([para("읽힌다"), para("잘렸다")])[:-60]
    found = items(hwp(deflated(cut)))
    assert [item.text for item in found if isinstance(item, Block)] == ["읽힌다"]
    assert [item.code for item in found if isinstance(item, Notice)] == ["part_unread"]


def test_what_stands_behind_the_records_is_passed_over() -> None:
    sound = written([para("읽힌다")])
    padded = items(hwp(deflated(sound + bytes(5_000_000))))
    assert [item.text for item in padded if isinstance(item, Block)] == ["읽힌다"]
    assert not [item for item in padded if isinstance(item, Notice)]
    odd = items(hwp(deflated(sound + b"\x07" + bytes(99))))
    assert [item.code for item in odd if isinstance(item, Notice)] == ["part_unread"]


def test_unreadable_styles_cost_the_headings_only() -> None:
    assert [b.kind for b in blocks(hwp([para("제목", shape=1)], docinfo=b"\xff" * 9, flags=0))] == [
        "paragraph"
    ]


def test_a_bomb_ends_at_the_limit_of_compression() -> None:
    packer = zlib.compressobj(9, wbits=-15)
    bomb = b"".join(packer.compress(record(LINE_SEG, 1, bytes(4_000)) * 1_000) for _ in range(40))
    refused = refusal(hwp(bomb + packer.flush()))
    assert refused.code == "limit_reached"
    assert "> 200" in refused.reason


@pytest.mark.parametrize("letter", [b"\0", b"A", b"\xff"])
def test_a_bomb_of_one_letter_ends_at_a_limit(letter: bytes) -> None:
    packer = zlib.compressobj(9, wbits=-15)
    bomb = b"".join(packer.compress(letter * 1_000_000) for _ in range(40)) + packer.flush()
    assert refusal(hwp(bomb)).code == "limit_reached"
    assert refusal(hwp([para("x")], extra={"DocInfo": bomb})).code == "limit_reached"


def test_a_bomb_in_many_sections_ends_at_the_limit_of_the_document() -> None:
    small = deflated(written([para("가나다라 " * 200)] * 900))
    assert len(small) * 100 < 2_000_000
    refused = refusal(hwp(*[small] * 80))
    assert refused.code == "limit_reached"


def test_a_record_of_2_gb_ends_at_its_limit() -> None:
    lie = struct.pack("<II", PARA_TEXT | 1 << 10 | 0xFFF << 20, 1 << 31)
    refused = refusal(hwp(deflated(lie + bytes(100))))
    assert refused.code == "limit_reached"
    assert f"{HWP_RECORD_BYTES:,}" in refused.reason


def test_nesting_without_end_ends_at_its_limit() -> None:
    deep = b"".join(
        record((72, 71)[level % 2], level, b" lbt" + bytes(12)) for level in range(HWP_LEVELS + 9)
    )
    assert refusal(hwp(deflated(deep))).code == "limit_reached"


def test_a_table_without_end_is_handed_on_in_flat_memory() -> None:
    rows = [[f"{row}번 지방자치단체 보조사업 " * 3, "100"] for row in range(16_000)]
    found = texts(para("앞"), grid(rows), para("뒤"))
    assert len(found) == 16_002
    assert found[0] == "앞"
    assert found[-1] == "뒤"


def test_titles_and_keywords_come_from_the_summary(shared: Path) -> None:
    data = (shared / "docs/hwp/pyhwp_footnote-endnote.hwp").read_bytes()
    assert Metadata(title="각주참조") in items(data)


def test_reference_documents_give_their_tables(shared: Path) -> None:
    data = (shared / "bugs/b27/표.hwp").read_bytes()
    assert [block.text for block in blocks(data)] == [
        "표 1",
        "ABC 123 | DEF | GHI",
        "LMN | OPQ | STR",
        "UVM | 123 | 456",
    ]


def test_header_sizes_of_other_versions_are_walked() -> None:
    found = bytearray()
    for size in (11, 18, 22, 23, 24, 40):
        found += record(PARA_HEADER, 0, bytes(size))
        found += record(PARA_TEXT, 1, f"머리 {size}\r".encode("utf-16-le"))
    assert [block.text for block in blocks(hwp(deflated(bytes(found))))] == [
        f"머리 {size}" for size in (11, 18, 22, 23, 24, 40)
    ]
