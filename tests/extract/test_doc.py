"""Binary Word documents: what is read, in which order, and where it is said to stand."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.extract import doc as reader
from helpers.extract import formats
from helpers.extract.blocks import Block, Context, Metadata, Notice
from helpers.extract.properties import SUMMARY, TITLE
from tests.extract import ppt_files
from tests.extract.compound_files import packed
from tests.extract.doc_files import (
    DELETED,
    HIDDEN,
    IN_TABLE,
    INNER_CELL,
    INNER_ROW_END,
    OLD_DELETED,
    OLD_HIDDEN,
    ROW_END,
    Paragraph,
    Streams,
    Word,
    depth,
    doc,
    plain,
    rows,
    shows_object,
    streams,
)
from tests.extract.mtef_files import signs as mtef_signs
from tests.extract.mtef_files import stream as mtef
from tests.extract.property_sets import property_set

THAI = "แผนป้องกันน้ำท่วม\nสูบน้ำออกจากพื้นที่ต่ำ"
KOREAN = "노후 송수관 교체 공사\n시청 상수도사업본부는 똠방각하"


def items(data: bytes) -> list[object]:
    return list(reader.read(io.BytesIO(data), Context("a.doc", len(data))))


def blocks(data: bytes) -> list[Block]:
    return [item for item in items(data) if isinstance(item, Block)]


def texts(word: Word | str) -> list[str]:
    return [block.text for block in blocks(doc(word))]


def labels(word: Word) -> list[tuple[str, str]]:
    return [
        (block.location.label, block.text)
        for block in blocks(doc(word))
        if block.location is not None
    ]


def refusal(data: bytes) -> Unread:
    with pytest.raises(Unread) as refused:
        items(data)
    return refused.value


# --- text ------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [0, 7, 50])
def test_text_follows_the_piece_table(pieces: int) -> None:
    word = Word({"body": plain("첫 문단 😀 emoji\nแผนที่สอง\n\nlast")}, pieces=pieces)
    assert texts(word) == ["첫 문단 😀 emoji", "แผนที่สอง", "last"]


def test_a_pair_of_halves_is_whole_across_stretches() -> None:
    line = "😀" * 40_000
    assert "".join(texts(Word({"body": plain("x" + line)}))) == "x" + line


@pytest.mark.parametrize("pieces", [0, 5])
@pytest.mark.parametrize("language", [0x0409, 0x041E])
@pytest.mark.parametrize("old", [False, True])
def test_thai_in_eight_bits(old: bool, language: int, pieces: int) -> None:
    word = Word({"body": plain(THAI)}, codec="cp874", old=old, language=language, pieces=pieces)
    assert texts(word) == THAI.split("\n")


@pytest.mark.parametrize("pieces", [0, 5])
@pytest.mark.parametrize("language", [0x0409, 0x0412])
@pytest.mark.parametrize("old", [False, True])
def test_korean_in_eight_bits(old: bool, language: int, pieces: int) -> None:
    word = Word({"body": plain(KOREAN)}, codec="cp949", old=old, language=language, pieces=pieces)
    assert texts(word) == KOREAN.split("\n")
    told = items(doc(word))[0]
    assert isinstance(told, Metadata) and told.encoding == ("cp949" if old else None)


@pytest.mark.parametrize(
    ("codec", "line"),
    [
        ("cp1251", "привет как дела сегодня"),
        ("cp932", "日本語の文章です。東京"),
        ("gbk", "中文文档测试，北京市"),
    ],
)
def test_an_old_file_without_language_or_font_is_judged_by_its_letters(
    codec: str, line: str
) -> None:
    assert texts(Word({"body": plain(line)}, codec=codec, old=True)) == [line]


def test_western_punctuation_and_accents_stay_western() -> None:
    line = "“Café” – naïve Größe £5 … déjà vu, señor; Ærø"
    assert texts(Word({"body": plain(line)}, codec="cp1252")) == [line]


@pytest.mark.parametrize(
    ("charset", "codec", "word"),
    [(222, "cp874", "แผน"), (129, "cp949", "노후"), (204, "cp1251", "да")],
)
def test_the_font_of_a_run_names_its_charset_in_old_files(
    charset: int, codec: str, word: str
) -> None:
    fonts = (("Times", 0), ("Other", charset))
    runs = [(0, 5, b"\x5d\0\0"), (5, 5 + len(word), b"\x5d\1\0")]
    made = Word({"body": [Paragraph("Text " + word, runs=runs)]}, codec, old=True, fonts=fonts)
    assert texts(made) == ["Text " + word]


def test_the_font_of_the_body_style_names_the_charset_of_an_old_file() -> None:
    fonts = (("Times", 0), ("Arial CE", 238))
    text = "Příliš žluťoučký kůň"
    made = Word({"body": plain(text)}, "cp1250", old=True, fonts=fonts, font=1)
    assert texts(made) == [text]


def test_korean_under_a_western_font_stays_korean() -> None:
    text = "노후 “q” 공사"
    runs = [(0, 2, b"\x5d\0\0"), (3, 6, b"\x5d\1\0")]
    fonts = (("Batang", 0), ("Times", 0))
    body = [Paragraph("노후 qqq 공사", runs=runs)]
    made = Word({"body": body}, "cp949", old=True, language=0x412, fonts=fonts)
    parts = streams(made)
    main = bytes(parts["WordDocument"]).replace(b"qqq", b"\x93q\x94")
    found = [block.text for block in blocks(packed({**parts, "WordDocument": main}))]
    assert found == [text]


def test_old_far_eastern_files_hold_two_bytes_in_a_sign() -> None:
    raw = "".join(
        chr(int.from_bytes(sign.encode("cp949"), "big")) for sign in "노후 송수관 abc 교체"
    )
    word = Word({"body": plain(raw)}, old=True, language=0x0412, flags=0x1000)
    assert texts(word) == ["노후 송수관 abc 교체"]


def test_old_far_eastern_files_hold_unicode_too() -> None:
    word = Word(
        {"body": plain("노후 송수관 각하 교체 공사 안내")}, old=True, language=0x0412, flags=0x1000
    )
    assert texts(word) == ["노후 송수관 각하 교체 공사 안내"]


def test_deleted_and_hidden_text_is_left_out() -> None:
    runs = [(5, 10, DELETED), (15, 22, HIDDEN)]
    made = Word({"body": [Paragraph("keep gone then hidden end", runs=runs)]})
    assert texts(made) == ["keep then end"]


def test_deleted_and_hidden_text_is_left_out_of_old_files() -> None:
    runs = [(5, 9, OLD_DELETED), (15, 21, OLD_HIDDEN)]
    made = Word({"body": [Paragraph("keep gone then hidden end", runs=runs)]}, "cp1252", old=True)
    assert texts(made) == ["keep  then  end"]


def test_a_fast_save_hides_a_whole_piece() -> None:
    word = Word({"body": plain("abcdeXXXXXfghij")}, pieces=5, piece_words=(0, 0x41 << 1 | 1 << 8))
    assert texts(word) == ["abcdefghij"]


def test_fields_show_their_results() -> None:
    link = '\x13 HYPERLINK "http://x" \x14a link\x15'
    condition = "\x13 IF \x13 PAGE \x147\x15 = 1 \x14yes\x15"
    line = link + ", " + condition + ', \x13 XE "w" \x15end'
    assert texts(line) == ["a link, yes, end"]


def test_a_field_may_span_paragraphs() -> None:
    assert texts("\x13 TOC \\o \x14One\t1\nTwo\t2\x15\nbody") == ["One\t1", "Two\t2", "body"]


def test_a_formula_in_a_field_is_told_as_latex() -> None:
    half, root = "\x13 EQ \\f(a+b,2) \x15", "\x13 EQ \\r(3,x\\s\\up8(2)) \x15"
    assert texts(f"mean {half} and {root}") == [
        "mean [math: \\frac{a+b}{2}] and [math: \\sqrt[3]{x^{2}}]"
    ]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('EQ \\* jc2 \\* "Font:MS Mincho" \\o\\ad(\\s\\up 10(とうきょう),東京)', "東京"),
        ("eq \\o\\ac(○,인)", "인"),
        ("MACROBUTTON NoMacro [Click here]", "[Click here]"),
        ('SYMBOL 252 \\f "Wingdings"', "✓"),
        ("SYMBOL 169", "©"),
        ("PAGE", ""),
        ("EQ \\f(a", "[math: \\frac{a}{}]"),
        ("EQ " + "\\f(" * 200, ""),
    ],
)
def test_a_field_without_a_result_shows_what_it_is_for(code: str, told: str) -> None:
    found = texts(f"a \x13 {code} \x15 z")[0]
    assert found.startswith("a ") and found.endswith(" z")
    assert told in found and "EQ" not in found


def test_a_stray_mark_at_the_end_leaves_the_text() -> None:
    assert texts("one\ntwo \x13 three 😀\nfour") == ["one", "two", "three 😀", "four"]


def test_a_stray_field_mark_does_not_swallow_the_document() -> None:
    body = "\x13 broken\n" + "\n".join(f"paragraph {number} of many" for number in range(2_000))
    assert texts(body)[-1] == "paragraph 1999 of many"


def test_signs_of_symbol_fonts_and_breaks() -> None:
    symbol = b"\x09\x6a" + struct.pack("<HH", 0, 0xF0FC)
    paragraph = Paragraph("a\x0bb\x1ec\x1fd (\uf0b7", runs=[(8, 9, symbol)])
    assert texts(Word({"body": [paragraph]})) == ["a\nb\u2011cd ✓•"]


# --- embedded ---------------------------------------------------------------------------


def test_an_equation_stands_in_its_sentence() -> None:
    text = "flow \x13 EMBED Equation.3 \x14\x01\x15 is told 😀"
    at = text.index("\x14")
    paragraph = Paragraph(text, runs=[(at, at + 1, shows_object(77))])
    equation: Streams = {("ObjectPool", "_77", "Equation Native"): mtef(mtef_signs("Q=vA"))}
    found = texts(Word({"body": [paragraph]}, streams=equation))
    assert found == ["flow [math: Q = vA] is told 😀"]


def test_an_object_that_is_no_equation_leaves_its_sentence_alone() -> None:
    text = "see \x13 EMBED Excel.Sheet.8 \x14\x01\x15 here"
    at = text.index("\x14")
    assert texts(Word({"body": [Paragraph(text, runs=[(at, at + 1, shows_object(5))])]})) == [
        "see  here"
    ]


def test_an_embedded_document_is_read_behind_the_text() -> None:
    inner = streams(
        Word({"body": [Paragraph("Chapter", style=1), *plain("inside\n" + "x" * 5_000)]})
    )
    pool: Streams = {("ObjectPool", "_9", str(name)): raw for name, raw in inner.items()}
    found = labels(Word({"body": plain("outside")}, streams=pool))
    assert found[0] == ("paragraph 1", "outside")
    assert ("embedded document 1.doc, Chapter", "inside") in found


# --- structure ----------------------------------------------------------------------------


def test_headings_give_the_section_path() -> None:
    body = [
        Paragraph("before"),
        Paragraph("제1장", style=1),
        Paragraph("one"),
        Paragraph("Own level", raw=b"\x40\x26\x01"),
        Paragraph("two"),
        Paragraph("Body level", style=1, raw=b"\x40\x26\x09"),
    ]
    made = Word({"body": body})
    assert labels(made) == [
        ("paragraph 1", "before"),
        ("제1장", "제1장"),
        ("제1장", "one"),
        ("제1장 > Own level", "Own level"),
        ("제1장 > Own level", "two"),
        ("제1장 > Own level", "Body level"),
    ]
    assert [block.level for block in blocks(doc(made))] == [0, 1, 0, 2, 0, 0]


@pytest.mark.parametrize("name", ["제목 3", "หัวเรื่อง 3", "Überschrift 3"])
def test_a_style_is_a_heading_by_its_name_or_by_what_it_is_based_on(name: str) -> None:
    styles = ((20, 0xFFE, name, 0), (21, 0xFFE, "My own", 20))
    body = [Paragraph("x", style=20), Paragraph("y", style=21)]
    found = blocks(doc(Word({"body": body}, styles=styles)))
    assert [(block.kind, block.level) for block in found] == [("heading", 3)] * 2


def test_the_title_style_gives_the_title() -> None:
    body = [Paragraph("문서 이름", style=20), Paragraph("y")]
    found = items(doc(Word({"body": body}, styles=((20, 62, "Title", 0),))))
    assert Metadata(title="문서 이름") in found


def test_title_and_keywords_come_from_the_summary() -> None:
    made = Word({"body": plain("x")}, streams={SUMMARY: property_set({TITLE: "단수 안내문"}, 949)})
    assert items(doc(made))[0] == Metadata(title="단수 안내문")


@pytest.mark.parametrize("old", [False, True])
def test_a_table_row_is_one_block(old: bool) -> None:
    body = [
        Paragraph("before"),
        *rows(("a", "b", "c"), ("", "d", "e"), old=old),
        Paragraph("after"),
    ]
    found = blocks(doc(Word({"body": body}, codec="cp1252" if old else "", old=old)))
    assert [(block.kind, block.text) for block in found] == [
        ("paragraph", "before"),
        ("table_header", "a | b | c"),
        ("table_row", "d | e"),
        ("paragraph", "after"),
    ]


def test_paragraphs_of_a_cell_stand_in_its_row() -> None:
    body = [
        Paragraph("one", raw=IN_TABLE),
        Paragraph("two", "\x07", raw=IN_TABLE),
        Paragraph("three", "\x07", raw=IN_TABLE),
        Paragraph("", "\x07", raw=IN_TABLE + ROW_END),
    ]
    assert texts(Word({"body": body})) == ["one two | three"]


def test_a_table_of_one_cell_is_a_frame_around_text() -> None:
    assert texts(Word({"body": rows(("framed",))})) == ["framed"]


def test_rows_of_a_nested_table_stand_after_the_row_that_holds_them() -> None:
    inner = IN_TABLE + depth(2)
    body = [
        Paragraph("outer", "\x07", raw=IN_TABLE),
        Paragraph("n1", raw=inner + INNER_CELL),
        Paragraph("n2", raw=inner + INNER_CELL),
        Paragraph("", raw=inner + INNER_CELL + INNER_ROW_END),
        Paragraph("rest", "\x07", raw=IN_TABLE + depth(1)),
        Paragraph("", "\x07", raw=IN_TABLE + ROW_END),
    ]
    assert texts(Word({"body": body})) == ["outer | rest", "n1 | n2"]


def test_rows_end_at_a_double_mark_where_no_formatting_is_known() -> None:
    word = Word({"body": rows(("a", "b"), ("c", "d")) + plain("after")})
    made = streams(word)
    head = bytearray(made["WordDocument"])
    struct.pack_into("<4I", head, 154 + 8 * 12, 0, 0, 0, 0)
    assert [b.text for b in blocks(packed({**made, "WordDocument": bytes(head)}))] == [
        "a | b", "c | d", "after",
    ]  # fmt: skip


def test_stories_beside_the_body_name_their_part() -> None:
    headers = [
        "",
        "",
        "",
        "",
        "",
        "",
        "even",
        "odd words",
        "Page 3",
        "바닥글",
        "first",
        "odd words",
    ]
    story = [Paragraph(text) for text in headers if text]
    places, at = [0], 0
    for text in headers:
        at += len(text) + 1 if text else 0
        places.append(at)
    places.append(at + 1)
    made = Word(
        {
            "body": plain("body"),
            "footnotes": plain("\x02 각주"),
            "headers": [*story, Paragraph("")],
            "comments": plain("\x05 comment"),
            "endnotes": plain("\x02 end"),
            "boxes": plain("box"),
            "header_boxes": plain("in the margin"),
        },
        parts={11: struct.pack(f"<{len(places)}I", *places)},
    )
    assert labels(made) == [
        ("paragraph 1", "body"),
        ("paragraph 2", "box"),
        ("footnotes", "각주"),
        ("endnotes", "end"),
        ("comments", "comment"),
        ("header", "even"),
        ("header", "odd words"),
        ("footer", "바닥글"),
        ("header", "first"),
        ("header", "in the margin"),
    ]


def test_a_text_box_stands_after_the_paragraph_that_anchors_it() -> None:
    shapes = struct.pack("<3I", 7, 20, 24) + (struct.pack("<I", 77).ljust(26, b"\0")
        + struct.pack("<I", 88).ljust(26, b"\0"))  # fmt: skip
    boxes = struct.pack("<4I", 0, 4, 8, 9) + b"".join(
        (bytes(14) + struct.pack("<I", shape)).ljust(22, b"\0") for shape in (88, 77, 0)
    )
    body = [Paragraph("One", style=1), Paragraph("a b\x08"), Paragraph("Two words", style=1)]
    body += [Paragraph("c\x08d"), Paragraph("end")]
    made = Word({"body": body, "boxes": plain("two\none\n")}, parts={40: shapes, 56: boxes})
    assert texts(made) == ["One", "a b", "one", "Two words", "cd", "two", "end"]


def test_word_art_and_alternative_texts_stand_where_their_shape_is_anchored() -> None:
    shapes = struct.pack("<3I", 5, 10, 15)
    shapes += b"".join(struct.pack("<I", shape).ljust(26, b"\0") for shape in (7, 8))
    grouped = ppt_files.group(ppt_files.shape(number=9, described="a pump"))
    drawn = ppt_files.container(
        0xF002,
        ppt_files.group(
            ppt_files.shape(number=7, art="대외비"),
            ppt_files.container(0xF003, ppt_files.shape(number=8), grouped),
            ppt_files.shape(number=99, art="Draft"),
        ),
    )
    drawings = ppt_files.record(0xF000, bytes(8)) + b"\0" + drawn
    body = [Paragraph("One \x08"), Paragraph("two \x08"), Paragraph("three")]
    made = Word({"body": body}, parts={40: shapes, 50: drawings})
    assert labels(made) == [
        ("paragraph 1", "One"),
        ("paragraph 2", "대외비"),
        ("paragraph 3", "two"),
        ("paragraph 4", "[image: a pump]"),
        ("paragraph 5", "three"),
        ("header", "Draft"),
    ]


def test_the_alternative_text_of_a_picture_in_the_text_is_read() -> None:
    head = struct.pack("<IHh", 4_000, 68, 0x64).ljust(68, b"\0")
    data = bytes(12) + head + ppt_files.shape(described="수로의 흐름도")
    paragraph = Paragraph("see \x01 here", runs=[(4, 5, b"\x03\x6a" + struct.pack("<I", 12))])
    made = Word({"body": [paragraph]}, streams={"Data": data.ljust(5_000, b"\0")})
    assert texts(made) == ["see  [image: 수로의 흐름도]  here"]


# --- what cannot be read ----------------------------------------------------------------------


def test_a_password_is_told() -> None:
    refused = refusal(doc(Word({"body": plain("x")}, flags=0x100)))
    assert refused.code == "encrypted" and "password needed" in refused.reason


def test_word_1_is_told_as_unsupported() -> None:
    old = Word({"body": plain("x")}, "cp1252", old=True, version=33)
    assert refusal(doc(old)).code == "unsupported"


@pytest.mark.parametrize("version", [45, 101])
def test_a_document_without_a_container_is_read(version: int) -> None:
    word = Word(
        {"body": plain(THAI), "footnotes": plain("note")}, "cp874", old=True, version=version
    )
    raw = bytearray(streams(word)["WordDocument"])
    raw[:2] = b"\xdb\xa5" if version == 45 else b"\xdc\xa5"
    assert formats.detect(io.BytesIO(bytes(raw)), "a.doc").name == "doc"
    assert [block.text for block in blocks(bytes(raw))] == [*THAI.split("\n"), "note"]


@pytest.mark.parametrize("missing", ["WordDocument", "0Table"])
def test_a_missing_stream_is_told_as_corrupt(missing: str) -> None:
    made = streams(Word({"body": plain("x")}))
    del made[missing]
    assert refusal(packed({**made, "other": b"x"})).code == "corrupt"


def test_pieces_that_lie_over_each_other_are_refused() -> None:
    made = streams(Word({"body": plain("x" * 50_000)}))
    count = 2_000
    table = struct.pack(f"<{count + 1}I", *(number * 50_000 for number in range(count + 1)))
    table += struct.pack("<HIH", 0, 2048, 0) * count
    head = bytearray(made["WordDocument"])
    struct.pack_into("<II", head, 154 + 8 * 33, len(made["0Table"]), len(table) + 5)
    struct.pack_into("<i", head, 76, 50_000 * count)
    tables = made["0Table"] + b"\2" + struct.pack("<I", len(table)) + table
    refused = refusal(packed({"WordDocument": bytes(head), "0Table": tables}))
    assert refused.code == "corrupt"


def test_a_file_without_much_of_its_text_is_told_as_corrupt() -> None:
    made = streams(Word({"body": plain("\n".join(f"line {n}" for n in range(500)))}))
    assert refusal(packed({**made, "WordDocument": made["WordDocument"][:4_096]})).code == "corrupt"


def test_a_file_without_its_end_gives_what_is_left_and_says_so() -> None:
    made = streams(Word({"body": plain("\n".join(f"line {n}" for n in range(500)))}))
    found = items(packed({**made, "WordDocument": made["WordDocument"][:10_000]}))
    told = [item for item in found if isinstance(item, Notice)]
    assert any(isinstance(item, Block) and item.text == "line 9" for item in found)
    assert [notice.code for notice in told] == ["part_unread"]


# --- damage -------------------------------------------------------------------------------------


def _samples() -> list[Streams]:
    body = [
        Paragraph("제목", style=1),
        Paragraph("x \x13 PAGE \x147\x15 (", runs=[(0, 1, DELETED)]),
        *rows(("a", "b"), ("c", "d")),
        Paragraph("n1", raw=IN_TABLE + depth(2) + INNER_CELL),
        Paragraph("box \x08"),
        Paragraph("e \x13 EMBED \x14\x01\x15", runs=[(10, 11, shows_object(7))]),
    ]
    summary: Streams = {SUMMARY: property_set({TITLE: "제목"}, 949)}
    notes = {"footnotes": plain("각주"), "headers": plain("head"), "boxes": plain("box\n")}
    summary |= {("ObjectPool", "_7", "Equation Native"): mtef(mtef_signs("a=b"))}
    inner = streams(Word({"body": plain("inner")}))
    summary |= {("ObjectPool", "_8", str(name)): raw for name, raw in inner.items()}
    old = [Paragraph("제목", style=1), *rows(("가", "나"), old=True), *plain(KOREAN)]
    return [
        streams(Word({"body": body, **notes}, pieces=9, streams=summary)),
        streams(Word({"body": old}, "cp949", old=True, fonts=(("A", 129),), streams=summary)),
        streams(Word({"body": old, **notes}, "cp949", 4, True)),
    ]


def test_damage_gives_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance, samples = random.Random(20), _samples()
    outcomes = set()
    for _ in range(points(200, 2_000)):
        made = dict(chance.choice(samples))
        victim = chance.choice(sorted(made, key=str))
        raw = bytearray(made[victim])
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(raw))
            if chance.random() < 0.3:
                struct.pack_into(
                    "<I", raw, min(at, len(raw) - 4), chance.choice((0, 0xFFFFFFFF, 1 << 31))
                )
            raw[at] = chance.randrange(256)
        whole = bytearray(packed({**made, victim: bytes(raw)}))
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


def test_the_reference_documents(shared: Path) -> None:
    folder = shared / "docs" / "doc"
    codes = {
        "tika_testWORD_protected_passtika.doc": "encrypted",
        "poi_clusterfuzz-testcase-minimized-POIHWPFFuzzer-5418937293340672.doc": "corrupt",
    }
    for name, code in codes.items():
        assert refusal((folder / name).read_bytes()).code == code
    found = [block.text for block in blocks((folder / "made_ko_lo_doc.doc").read_bytes())]
    assert found[3:6] == ["품목 | 수량", "강관 DN300 | 46", "이음관 | 112"]
