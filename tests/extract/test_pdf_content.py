"""Content streams: operators, stated text, fonts and the order of what is shown."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from helpers.extract import pdf_cid, pdf_layout
from helpers.extract.pdf_cmap import UNKNOWN, CharacterMap
from helpers.extract.pdf_content import Page
from helpers.extract.pdf_font import Font, GlyphTables
from helpers.extract.pdf_tokens import text_of
from helpers.extract.pdf_truetype import letter_of_name

LATIN = GlyphTables(
    {"/A": "A", "/f": "f", "/i": "i", "/space": " "},
    {"/StandardEncoding": [chr(code) if 32 <= code < 127 else "\0" for code in range(256)]},
    pdf_cid.letters,
)
RESOURCES = {"/Font": {"/F": {"/Subtype": "/Type1", "/Widths": [500] * 256, "/FirstChar": 0}}}


class Stream(dict):  # type: ignore[type-arg]
    """A stream object, as far as the readers care."""

    def __init__(self, data: bytes, **entries: object) -> None:
        super().__init__({f"/{name}": value for name, value in entries.items()})
        self.data = data

    def get_data(self) -> bytes:
        return self.data


def page(stream: bytes, resources: object = RESOURCES) -> Page:
    found = Page(lambda resource: Font(resource, LATIN), lambda: None)
    found.show(stream, resources)
    return found


def paragraphs(stream: bytes, resources: object = RESOURCES) -> list[str]:
    lines = pdf_layout.lines_of(page(stream, resources).spans)
    return [paragraph.text for paragraph in pdf_layout.paragraphs_of(lines)]


def test_letters_placed_one_by_one_make_words() -> None:
    stream = b"BT /F 10 Tf " + b"".join(
        b"1 0 0 1 %d 700 Tm (%c) Tj " % (x, letter)
        for x, letter in zip((0, 5, 10, 18, 23, 28), b"onetwo", strict=True)
    )
    assert paragraphs(stream + b"ET") == ["one two"]


def test_a_wide_adjustment_is_a_space_and_kerning_is_none() -> None:
    assert paragraphs(b"BT /F 10 Tf [(Wo) 40 (rd) -300 (next)] TJ ET") == ["Word next"]


def test_spaces_drawn_before_their_words_fall_into_place() -> None:
    stream = (
        b"BT /F 10 Tf 1 0 0 1 15 0 Tm ( ) Tj 1 0 0 1 0 0 Tm (one) Tj 1 0 0 1 20 0 Tm (two) Tj ET"
    )
    assert paragraphs(stream) == ["one two"]


def test_columns_stay_apart() -> None:
    stream = b"BT /F 10 Tf 12 TL 0 700 Td (left one) Tj T* (left two) Tj "
    stream += b"1 0 0 1 300 700 Tm (right one) Tj T* (right two) Tj ET"
    assert paragraphs(stream) == ["left one left two", "right one right two"]


@pytest.mark.parametrize("matrix", [b"1 0 0 1", b"0 1 -1 0", b"-1 0 0 -1", b"0 -1 1 0"])
def test_turned_text_reads_the_same(matrix: bytes) -> None:
    stream = b"BT /F 10 Tf " + matrix + b" 300 300 Tm 12 TL (turned text) Tj T* (goes on) Tj ET"
    assert paragraphs(stream) == ["turned text goes on"]


def test_stated_text_replaces_the_glyphs() -> None:
    stream = "BT /F 10 Tf (a) Tj /Span<</ActualText<FEFF0E190E490E33>>>BDC (xyz) Tj EMC (b) Tj ET"
    assert paragraphs(stream.encode()) == ["aน้ำb"]


def test_cluster_shown_in_parts_that_each_state_the_whole_comes_once() -> None:
    letters = {1: "น", 2: "\u0e4d", 3: "\u0e49", 4: "\u0e32"}
    pairs = "".join(f"<{code:02x}> <{ord(letter):04x}> " for code, letter in letters.items())
    cmap = f"4 beginbfchar {pairs}endbfchar".encode()
    font = {"/Subtype": "/Type1", "/ToUnicode": Stream(cmap), "/Widths": [0, 500, 0, 0, 500]}
    whole = "/Span<</ActualText<FEFF0E190E490E33>>>BDC"
    stream = (
        f"BT /F 10 Tf {whole} <01> Tj EMC ET BT /F 10 Tf {whole} 1 0 0 1 5 0.4 Tm <0203> Tj EMC ET"
        f" BT /F 10 Tf {whole} 1 0 0 1 5 0 Tm <04> Tj EMC {whole} <01020304> Tj EMC ET"
    )
    assert paragraphs(stream.encode(), {"/Font": {"/F": font}}) == ["น้ำน้ำ"]


def thai_font(letters: dict[int, str]) -> dict:
    pairs = "".join(f"<{code:02x}> <{ord(letter):04x}> " for code, letter in letters.items())
    cmap = f"{len(letters)} beginbfchar {pairs}endbfchar".encode()
    widths = [0, *(0 if letters[code] >= "\u0e31" else 500 for code in sorted(letters))]
    return {"/Subtype": "/Type1", "/ToUnicode": Stream(cmap), "/Widths": widths}


def test_mark_that_is_stated_to_be_nothing_keeps_its_letter() -> None:
    font = thai_font({1: "ท", 2: "\u0e35", 3: "\u0e48"})
    nothing = "/Span<</ActualText<FEFF>>>BDC"
    stream = f"BT /F 10 Tf <01> Tj {nothing} <02> Tj EMC {nothing} <03> Tj EMC ET"
    assert paragraphs(stream.encode(), {"/Font": {"/F": font}}) == ["ที่"]


def test_consonant_that_is_stated_with_the_marks_of_another_place_stands_alone() -> None:
    font = thai_font({1: "น", 2: "\u0e34", 3: "\u0e49"})
    stated = "/Span<</ActualText<FEFF0E190E34>>>BDC <01> Tj EMC"
    stream = f"BT /F 10 Tf {stated} <02> Tj {stated} <03> Tj ET"
    assert paragraphs(stream.encode(), {"/Font": {"/F": font}}) == ["นิน้"]


def wide_font(cmap: str, encoding: str, widths: list[int]) -> dict:
    below = {"/DescendantFonts": [{"/W": [0, widths]}], "/Encoding": encoding}
    return {"/Subtype": "/Type0", "/ToUnicode": Stream(cmap.encode()), **below}


def test_code_that_is_a_letter_itself_counts_before_a_table_that_says_otherwise() -> None:
    font = wide_font("1 beginbfchar <0030> <004f> endbfchar", "/UniKS-UCS2-H", [])
    stream = b"BT /F 10 Tf <AC000031 0030> Tj ET"
    assert paragraphs(stream, {"/Font": {"/F": font}}) == ["가10"]


def test_control_sign_of_the_width_of_a_space_is_one_in_a_font_without_a_space() -> None:
    cmap = "2 beginbfchar <0001> <ac00> <0002> <0001> endbfchar"
    font = wide_font(cmap, "/Identity-H", [0, 900, 250])
    stream = b"BT /F 10 Tf <000100020001> Tj ET"
    assert paragraphs(stream, {"/Font": {"/F": font}}) == ["가 가"]


def test_hyphen_that_is_stated_to_be_nothing_is_left_out() -> None:
    stream = b"BT /F 10 Tf (run) Tj /Span<</ActualText<FEFF>>>BDC (-) Tj EMC ET"
    assert paragraphs(stream) == ["run"]


def test_bold_by_double_print_is_read_once() -> None:
    stream = b"BT /F 10 Tf 1 0 0 1 10 10 Tm (Bold) Tj 1 0 0 1 10.3 10 Tm (Bold) Tj ET"
    assert paragraphs(stream) == ["Bold"]


@pytest.mark.parametrize(
    "stream",
    [
        rb"BT /F 10 Tf (a\(b\) \143 (nested (twice))) Tj ET",
        b"BT /F 10 Tf <61286229206320286e6573746564202874776963652929> Tj ET",
        b"q 1 0 0 1 0 0 cm BI /W 1 /H 1 ID \x00(((\xff EI Q "
        rb"BT /F 10 Tf [(a\(b\) c \(nested )(\(twice\)\))] TJ ET",
    ],
)
def test_strings_are_read_however_they_are_written(stream: bytes) -> None:
    assert paragraphs(stream) == ["a(b) c (nested (twice))"]


def test_malformed_instructions_are_passed_over() -> None:
    stream = b"Tj 1 Td (x) cm ] >> /F Tf BT /F 10 Tf ( good ) Tj [ (text) TJ /X Do ET Q Q EMC ) >"
    assert paragraphs(stream)[0].startswith("good")


def test_any_bytes_end() -> None:
    seed = random.Random(5)
    for _ in range(60):
        data = bytes(seed.choice(b"()<>[]/ \\\n0123456789.TjJdmqQBEIFD%-") for _ in range(3000))
        assert page(b"BT /F 10 Tf (ok) Tj " + data).spans[0].text == "ok"


def test_forms_are_followed_with_their_place() -> None:
    form = Stream(b"BT /F 10 Tf (inside) Tj ET", Subtype="/Form", Matrix=[1, 0, 0, 1, 100, 50])
    found = page(b"/X Do", {**RESOURCES, "/XObject": {"/X": form}})
    assert [(span.text, span.x, span.y) for span in found.spans] == [("inside", 100.0, 50.0)]


def test_a_page_that_shows_too_much_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.limits.PDF_PAGE_CHARS", 100)
    found = page(b"BT /F 10 Tf " + b"(ten signs.) Tj " * 50)
    assert found.truncated
    assert sum(len(span.text) for span in found.spans) <= 100


# --- fonts --------------------------------------------------------------------------------


def test_to_unicode_maps_characters_ranges_and_lists() -> None:
    found = CharacterMap(
        b"2 beginbfchar <01> <0E19> <02> <D83DDE00> endbfchar "
        b"2 beginbfrange <10> <12> <0041> <20> <21> [<0061> <00620063>] endbfrange"
    )
    assert found.letters == {1: "น", 2: "😀", 16: "A", 17: "B", 18: "C", 32: "a", 33: "bc"}


def test_a_table_without_end_or_of_absurd_size_is_bounded() -> None:
    assert CharacterMap(b"beginbfchar " * 4000).letters == {}
    huge = CharacterMap(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange")
    assert len(huge.letters) <= 65_537


def test_codes_of_korean_and_japanese_collections_have_letters() -> None:
    assert pdf_cid.letters("Korea1")[1086] == "가"
    assert pdf_cid.letters("Japan1")[843] == "あ"
    assert pdf_cid.letters("Nowhere") == {}


@pytest.mark.parametrize(
    ("encoding", "shown", "text"),
    [
        ("/KSCms-UHC-H", "똠방각하 식당".encode("cp949"), "똠방각하 식당"),
        ("/UniKS-UCS2-H", "한국어".encode("utf-16-be"), "한국어"),
        ("/90ms-RKSJ-H", "日本語abc".encode("cp932"), "日本語abc"),
        ("/GBK-EUC-H", "中文".encode("gbk"), "中文"),
    ],
)
def test_predefined_encodings_of_unembedded_fonts(encoding: str, shown: bytes, text: str) -> None:
    font = Font({"/Subtype": "/Type0", "/Encoding": encoding, "/DescendantFonts": [{}]}, LATIN)
    assert font.decode(shown)[0] == text


def test_a_code_without_evidence_is_unknown() -> None:
    font = Font({"/Subtype": "/Type0", "/Encoding": "/Identity-H", "/DescendantFonts": [{}]}, LATIN)
    assert font.decode(b"\x00\x01\x00\x02") == (UNKNOWN * 2, 2000.0, 2)


@pytest.mark.parametrize(
    ("name", "letter"),
    [("A", "A"), ("uni0E01", "ก"), ("u1F600", "😀"), ("f_i", "fi"), ("A.sc", "A"), ("g12", None)],
)
def test_glyph_names(name: str, letter: str | None) -> None:
    assert letter_of_name(name, LATIN.letters) == letter


@pytest.mark.parametrize(
    ("value", "text"),
    [(b"\xfe\xff\x0e\x19", "น"), (b"\xef\xbb\xbf\xe0\xb8\x99", "น"), (b"caf\xe9", "café"), (7, "")],
)
def test_text_strings(value: object, text: str) -> None:
    assert text_of(value) == text


# --- lines --------------------------------------------------------------------------------


def test_hebrew_comes_out_in_logical_order() -> None:
    assert pdf_layout.logical_order("!2025 םלוע םולש") == "שלום עולם 2025!"
    assert pdf_layout.logical_order("The word םולש means peace") == "The word שלום means peace"


def lines(*texts: str, width: float = 300.0, kept: bool = False) -> list[pdf_layout.Line]:
    return [
        pdf_layout.Line(text, 0, width, 700 - 12.0 * n, 10, 0, kept and n < len(texts) - 1)
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("texts", "kept", "paragraph"),
    [
        (["노후 송수", "관 교체 공사로"], False, "노후 송수관 교체 공사로"),
        (["이틀 전까지", "민원콜센터에 알려"], False, "이틀 전까지 민원콜센터에 알려"),
        (["양을 알려", "주시기 바랍니다."], True, "양을 알려 주시기 바랍니다."),
        (["ขอแจ้งกำหนด", "การหยุดจ่ายน้ำ"], False, "ขอแจ้งกำหนดการหยุดจ่ายน้ำ"),
        (["a state-of-the-", "art device"], False, "a state-of-the-art device"),
        (["the peri-", "odic report"], False, "the periodic report"),
        (["日本", "語"], False, "日本語"),
        (["first line", "second line"], False, "first line second line"),
    ],
)
def test_wrapped_words_become_whole(texts: list[str], kept: bool, paragraph: str) -> None:
    words = lines(*texts, kept=kept)
    if "state" in texts[0]:
        words += lines("the", "state-of-the-art")[1:]
        words[-1].base = 100
    assert pdf_layout.paragraphs_of(words)[0].text == paragraph


def test_a_short_line_or_a_bullet_ends_a_paragraph() -> None:
    found = lines("A full line of text", "short", "Another full line", "• a bullet")
    found[1].right = 60
    texts = "\n".join(paragraph.text for paragraph in pdf_layout.paragraphs_of(found)).split("\n")
    assert texts == ["A full line of text short", "Another full line", "• a bullet"]


def test_layout_of_nothing_is_nothing() -> None:
    assert pdf_layout.lines_of([]) == []
    assert pdf_layout.paragraphs_of([]) == []
    assert Counter(paragraphs(b"BT /F 10 Tf (   ) Tj ET")) == Counter()
