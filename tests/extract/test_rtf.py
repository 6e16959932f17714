r"""Rich Text Format: charsets, escapes, destinations, tables, and files cut short or hostile."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable, Iterator

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import rtf
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from tests.extract import office_files
from tests.extract.compound_files import packed
from tests.extract.test_office_mutations import damaged, outcome

FONTS = (
    r"{\fonttbl{\f0\froman\fcharset0 Times;}{\f1\fnil\fcharset222 Angsana New;}"
    r"{\f2\fnil\fcharset129 Batang;}{\f3\fnil\fcharset128 MS Mincho;}{\f4\ftech\fcharset2 Symbol;}"
    r"{\f5\fnil\fcharset204 Arial;}{\f6\fnil\fcharset2 Wingdings;}{\f7\fnil Arial CE;}}"
)
SHEET = (
    r"{\stylesheet{\ql Normal;}{\s1\b\sbasedon0 heading 1;}{\s2\outlinelevel1 Abschnitt;}"
    r"{\s3\sbasedon2 mine;}{\s4 Title;}{\*\cs10 heading 3;}}"
)


def items(body: str | bytes, head: str = FONTS + SHEET) -> list[Item]:
    raw = body.encode("ascii") if isinstance(body, str) else body
    whole = b"{\\rtf1\\ansi\\ansicpg1252\\deff0" + head.encode("ascii") + raw + b"}"
    return list(rtf.read(io.BytesIO(whole), Context("a.rtf", len(whole))))


def blocks(body: str | bytes, head: str = FONTS + SHEET) -> list[Block]:
    return [item for item in items(body, head) if isinstance(item, Block)]


def texts(body: str | bytes, head: str = FONTS + SHEET) -> list[str]:
    return [block.text for block in blocks(body, head)]


def escaped(text: str, codec: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(codec))


@pytest.mark.parametrize(
    ("font", "codec", "text"),
    [
        (1, "cp874", "กำหนดการหยุดจ่ายน้ำ"),
        (2, "cp949", "노후 송수관 똠방각하"),
        (3, "cp932", "こんにちは ソ表"),
        (5, "cp1251", "Договор поставки"),
        (7, "cp1250", "Příliš žluťoučký"),
        (0, "cp1252", "d’indexation"),
    ],
)
def test_escaped_bytes_are_read_in_the_charset_of_their_font(
    font: int, codec: str, text: str
) -> None:
    assert texts(rf"\f{font} {escaped(text, codec)}\par") == [text]
    assert texts(b"\\f%d " % font + text.encode(codec).replace(b"\\", b"\\'5c")) == [text]


def test_letter_of_two_bytes_survives_formatting_and_line_ends_between_them() -> None:
    assert texts("\\f2 \\'b3\r\n\\b\\'eb\\b0 \\'c8\\'c4") == ["노후"]
    assert texts("\\f3 \\'83\\'5c\\'83A") == ["ソア"]


def test_font_of_a_group_ends_with_it() -> None:
    assert texts(r"{\f1 \'a1}\'e9\plain\f2 \'b0\'a1\plain \'e9") == ["กé가é"]


def test_code_page_of_the_document_counts_where_no_font_says_otherwise() -> None:
    assert texts(r"\ansicpg874 \'a1\'d2", head="") == ["กา"]
    assert texts(r"\ansicpg949 \'b0\'a1", head="") == ["가"]
    assert texts(r"\mac \'8e", head="") == ["é"]
    assert texts(r"\ansicpg99999 \'e9", head="") == ["é"]


@pytest.mark.parametrize(
    ("page", "text"), [(874, "กำหนดการหยุดจ่ายน้ำ"), (949, "노후 송수관 교체"), (932, "水道管の工事")]
)
def test_asian_text_in_a_font_that_is_called_western_is_told_by_its_letters(
    page: int, text: str
) -> None:
    raw = escaped(text, f"cp{page}")
    assert texts(rf"\ansicpg{page} \f0 {raw} caf\'e9 \'93x\'94\par\f0 caf\'e9 \'93x\'94")[1:] == [
        "café “x”"
    ]
    assert texts(rf"\ansicpg{page} \f0 {raw}") == [text]


def test_unicode_escape_wins_over_what_stands_behind_it() -> None:
    assert texts(r"\u3585?\u3634?") == ["กา"]
    assert texts(r"\uc2\u44032\'b0\'a1\u45208\'b3\'aa x") == ["가나 x"]
    assert texts(r"\uc0\u3585\u3634  x{\uc1\u3585\'a1}\u3634") == ["กา xกา"]
    assert texts(r"a\u8217 's") == ["a’s"]
    assert texts(r"{\u8217}x\u8364\'80y") == ["’x€y"]
    assert texts(r"\u-10179?\u-8704?") == ["😀"]
    assert texts(r"\uc0\u55357\u56832") == ["😀"]


def test_half_a_surrogate_pair_and_numbers_beyond_unicode_become_replacement_letters() -> None:
    assert texts(r"a\u55357?b") == ["a\ufffdb"]
    assert texts(r"a\u9999999?b") == ["a\ufffdb"]


def test_letters_by_name_and_by_sign() -> None:
    text = r"a\tab b\emdash c\endash d\lquote e\rquote\ldblquote f\rdblquote\bullet g\~h\_i\-j"
    assert texts(text) == ["a\tb—c–d‘e’“f”•g\u00a0h\u2011ij"]
    assert texts(r"\{a\}\\b\line c") == ["{a}\\b\nc"]
    assert texts("a\\\nb\\\r\nc") == ["a", "b", "c"]


def test_signs_of_symbol_fonts_are_letters_or_nothing() -> None:
    assert texts(r"{\f4 a\'b7\'a3}{\f6 \'fe\'41}x") == ["α•≤☑x"]
    assert texts(r"{\f4 \u-3999?}{\f6 \u-3842?}") == ["a☑".replace("a", "α")]


def test_bare_utf8_is_read_as_such() -> None:
    assert texts("แผนงาน 계획".encode()) == ["แผนงาน 계획"]


@pytest.mark.parametrize(
    "hidden",
    [
        r"{\*\generator Writer 1;}",
        r"{\*\unknown {\b x} \bin3 }}} y}",
        r"{\pict\wmetafile8 0102fe}",
        r"{\*\shppict{\pict 00ff}}{\nonshppict{\pict 00}}",
        r"{\object\objemb{\*\objclass Word}{\*\objdata 0105}}",
        r"{\field{\*\fldinst HYPERLINK http://x}}",
        r"{\v secret}",
        r"{\deleted gone}",
        r"{\xe index}{\tc entry}",
        r"{\*\bkmkstart mark}{\*\bkmkend mark}",
        r"{\pntxtb \'b7}{\*\pn\pnlvlblt{\pntxtb\'b7}}",
        r"{\colortbl;\red0 x;}",
        r"{\listtext\f4\'b7\tab}",
    ],
)
def test_what_is_no_text_is_left_out(hidden: str) -> None:
    assert texts(rf"a{hidden}b\par") == ["ab"]


def test_hidden_text_ends_where_it_is_switched_off() -> None:
    assert texts(r"a\v b\v0 c{\v d\plain e}f") == ["acef"]


def test_result_of_a_field_and_of_an_object_is_text() -> None:
    assert texts(r"a {\field{\*\fldinst PAGEREF x}{\fldrslt {\b seven}}} b") == ["a seven b"]
    assert texts(r"{\object{\*\objdata 00}{\result {\pict 00}shown}}") == ["shown"]


def test_headings_by_style_name_outline_level_and_base() -> None:
    found = blocks(
        r"\pard\s1 One\par\pard\s3 Two\par\pard text\par\pard\outlinelevel2 Three\par"
        r"\pard\s1\outlinelevel9 body\par"
    )
    assert [(block.kind, block.level) for block in found] == [
        ("heading", 1), ("heading", 2), ("paragraph", 0), ("heading", 3), ("paragraph", 0),
    ]  # fmt: skip
    assert found[2].location is not None and found[2].location.label == "One > Two"


def test_title_and_keywords_come_from_the_information_group() -> None:
    head = r"{\info{\title Plan \u3585?}{\keywords water; pipe}{\author A}{\doccomm no}}"
    metadata = [item for item in items("x", head) if isinstance(item, Metadata)]
    assert metadata[0].title == "Plan ก"
    assert metadata[0].tags == ("water", "pipe")
    assert texts("x", head) == ["x"]


def test_title_written_twice_is_taken_in_unicode() -> None:
    head = r"{\info{\upr{\title ???}{\*\ud{\title \u44032?\u45208?}}}}"
    assert [item.title for item in items("x", head) if isinstance(item, Metadata)] == ["가나"]


def test_title_in_the_code_page_of_the_document() -> None:
    head = r"\ansicpg932" + FONTS + r"{\info{\title " + escaped("タイトル", "cp932") + "}}"
    assert [item.title for item in items("x", head) if isinstance(item, Metadata)] == ["タイトル"]


def test_paragraph_in_the_title_style_is_the_title() -> None:
    found = items(r"\pard\s4 Annual Report\par\pard x")
    assert [item.title for item in found if isinstance(item, Metadata)] == [None, "Annual Report"]


def test_rows_of_tables_are_blocks_with_cells_apart() -> None:
    found = blocks(
        r"\pard before\par\trowd\cellx1\cellx2\pard\intbl a\cell b\par b2\cell\row"
        r"\trowd\pard\intbl c\cell {}\cell\row\pard after\par"
    )
    assert [(block.kind, block.text) for block in found] == [
        ("paragraph", "before"), ("table_header", "a | b b2"), ("table_row", "c"),
        ("paragraph", "after"),
    ]  # fmt: skip


def test_table_behind_a_long_text_keeps_its_rows() -> None:
    """What a row holds is counted from its own beginning."""
    body = (r"\pard " + "word " * 200 + r"\par ") * 1_500
    row = r"\trowd\pard\intbl a\cell b\cell\row"
    assert texts(body + row + row)[-2:] == ["a | b", "a | b"]


def test_nested_rows_stand_after_the_row_that_holds_them() -> None:
    nested = (
        r"\pard\intbl\itap2 n1\nestcell{\nonesttables\par}\pard\intbl\itap2 n2\nestcell"
        r"{\nonesttables\par}{\*\nesttableprops\trowd\cellx1\cellx2\nestrow}{\nonesttables\par}"
    )
    found = texts(rf"\trowd\pard\intbl a\cell\pard\intbl b\par{nested}\pard\intbl\cell\row\pard z")
    assert found == ["a | b", "n1 | n2", "z"]


def test_table_without_its_last_rows_end_gives_what_it_has() -> None:
    assert texts(r"\trowd\pard\intbl a\cell b\cell\pard after\par") == ["a | b", "after"]
    assert texts(r"\trowd\pard\intbl a\cell b\cell c") == ["a | b | c"]


def test_table_of_one_cell_is_a_frame_around_paragraphs() -> None:
    assert texts(r"\trowd\pard\intbl a\par b\cell\row\pard c") == ["a", "b", "c"]


def test_notes_comments_and_boxes_follow_their_paragraph() -> None:
    found = blocks(
        r"\pard one{\super\chftn{\footnote\pard\chftn note\par}}"
        r"{\*\atnid X}{\*\atnauthor Y}\chatn{\*\annotation{\*\atndate 1}{said}}"
        r"{\footnote\ftnalt last}"
        r"{\shp{\*\shpinst\shpleft1{\sp{\sn gtextUNICODE}{\sv Art}}{\sp{\sn fill}{\sv 1}}"
        r"{\shptxt\pard boxed\par}}{\shprslt{\*\do{\dptxbxtext boxed}}}}"
        r" end\par two\par"
    )
    assert [block.text for block in found] == [
        "one end", "note", "said", "last", "Art", "boxed", "two",
    ]  # fmt: skip
    labels = [block.location.label for block in found if block.location]
    assert labels[1:4] == ["footnotes", "comments", "endnotes"]


def test_headers_and_footers_come_once_and_last_without_mere_page_numbers() -> None:
    margins = r"{\header\pard Ministry\par}{\footerl Page {\field{\fldrslt 7}}\par}"
    found = blocks(rf"{margins}a\par{margins}b\par")
    assert [block.text for block in found] == ["a", "b", "Ministry"]
    assert found[-1].location is not None and found[-1].location.label == "header"


def object_text(kind: str, data: bytes) -> bytes:
    """An embedded object of OLE 1 as an RTF file holds it."""
    name = kind.encode() + b"\0"
    raw = struct.pack("<III", 0x501, 2, len(name)) + name + struct.pack("<III", 0, 0, len(data))
    text = (raw + data).hex().encode()
    lines = b"\n".join(text[at : at + 128] for at in range(0, len(text), 128))
    return rb"{\object\objemb{\*\objclass " + kind.encode() + rb"}{\*\objdata " + lines + b"}}"


def test_documents_embedded_as_objects_are_read_behind_the_text() -> None:
    inner = office_files.docx(office_files.paragraph("inner words"))
    word = object_text("Word.Document.12", packed({"Package": inner}))
    names = b"notes.txt\0C:\\notes.txt\0" + struct.pack("<HHI", 0, 3, 3) + b"C:\0"
    file = object_text("Package", b"\2\0" + names + struct.pack("<I", 10) + b"note words")
    found = blocks(rb"before " + word + file + rb" after\par")
    assert [block.text for block in found if block.kind == "paragraph"] == [
        "before  after",
        "inner words",
        "note words",
    ]
    labels = [block.location.label for block in found if block.location]
    assert any("embedded notes.txt" in label for label in labels)


def test_object_that_is_damaged_or_too_large_costs_nothing_but_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert texts(rb"a{\object{\*\objdata 0105zz}{\result b}}c") == ["abc"]
    assert texts(rb"a{\object{\*\objdata 01050000020000}{\result b}}c") == ["abc"]
    monkeypatch.setattr("helpers.extract.rtf_objects.RTF_OBJECT_BYTES", 100)
    found = items(b"a" + object_text("Package", b"x" * 500) + b"b")
    assert [item.text for item in found if isinstance(item, Block)] == ["ab"]
    assert [item.code for item in found if isinstance(item, Notice)] == ["limit_reached"]


def test_equation_stands_in_its_sentence() -> None:
    fraction = r"{\mf{\mfPr{\mctrlPr x}}{\mnum{\mr\mscr0\msty2 a}}{\mden{\mr {\b b}}}}"
    root = r"{\mrad{\mradPr{\mdegHide on}}{\mdeg}{\me{\mr\mscr3 R}}}"
    total = r"{\mnary{\mnaryPr{\mchr \u8721 ?}}{\msub{\mr i}}{\msup{\mr n}}{\me{\mr x}}}"
    body = rf"If {{\mmath{{\*\moMath{fraction}{root}{total}}}{{\mmathPict p}}}} holds"
    found = texts(body)[0]
    assert found.startswith("If [math: ") and found.endswith("] holds")
    latex = "".join(found.split())
    assert r"\frac{a}{b}\sqrt{\mathbb{R}}\sum_{i}^{n}" in latex


def test_text_of_word_in_the_fonts_of_two_scripts_is_read_in_each() -> None:
    """Word names a font for each kind of script; the last one named is that of the text."""
    asian = r"\rtlch\fcs1 \af0 \ltrch\fcs0 \loch\af0\hich\af0\dbch\f2 \'b0\'a1"
    western = r"\hich\af0\dbch\af2\loch\f0 caf\'e9"
    assert texts(rf"{{{asian}}}{{{western}}}") == ["가café"]
    assert texts(r"{\loch\af0\hich\af0\dbch\af2 \'b0\'a1}") == ["가"]


def test_number_of_a_list_item_is_kept() -> None:
    assert texts(r"{\listtext\pard\plain 1.\tab}first\par{\pntext\f4 \'b7\tab}second") == [
        "1. first",
        "second",
    ]


def test_binary_data_is_jumped_over_whatever_it_holds() -> None:
    binary = b"a{\\pict\\bin300000 " + b"}{\\\\" * 75_000 + b"}b"
    assert texts(binary) == ["ab"]
    assert texts(b"a\\bin4 }}}}b") == ["ab"]


@pytest.mark.parametrize("cut", [1, 5, 30, 80])
def test_file_cut_short_gives_what_is_there_and_says_so(cut: int) -> None:
    body = rb"{\rtf1\ansi first\par " + b"{\\b second} " * 20
    found = list(rtf.read(io.BytesIO(body[:-cut]), Context("a.rtf", len(body))))
    assert isinstance(found[1], Block) and found[1].text == "first"
    assert [item.code for item in found if isinstance(item, Notice)] == ["incomplete"]


def test_one_closing_brace_too_many_does_not_end_the_document() -> None:
    whole = rb"{\rtf1 a}\par} b\par} c"
    found = list(rtf.read(io.BytesIO(whole), Context("a.rtf", len(whole))))
    assert [item.text for item in found if isinstance(item, Block)] == ["a", "b"]


def test_rubbish_behind_the_document_is_no_text() -> None:
    whole = rb"{\rtf1 a\par}" + b"\0\x1arubbish" * 100
    found = list(rtf.read(io.BytesIO(whole), Context("a.rtf", len(whole))))
    assert [item.text for item in found if isinstance(item, Block)] == ["a"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}}", "empty"),
        (rb"{\rtf1\ansi{\fonttbl{\f0 Ar", "corrupt"),
        (b"plain text", "corrupt"),
        (b"{\\rtf1 " + b"{" * (limits.RTF_DEPTH + 10), "limit_reached"),
    ],
)
def test_file_without_text_ends_with_a_typed_error(raw: bytes, code: str) -> None:
    with pytest.raises(Unread) as refused:
        list(rtf.read(io.BytesIO(raw), Context("a.rtf", len(raw))))
    assert refused.value.code == code


class Endless(io.RawIOBase):
    """A paragraph that never ends: `head`, then `body` again and again, `size` bytes in all."""

    def __init__(self, head: bytes, body: bytes, size: int) -> None:
        self._head, self._body, self._size, self._at = head, body, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset if whence == 0 else self._at + offset
        return self._at

    def read(self, count: int = -1) -> bytes:
        begin, end = self._at, min(self._at + count, self._size)
        head = self._head[begin:end]
        rest = max(0, end - begin - len(head))
        start = max(0, begin - len(self._head)) % len(self._body)
        repeated = self._body * (rest // len(self._body) + 2)
        self._at = end
        return head + repeated[start : start + rest]


@pytest.mark.parametrize(
    "body",
    [
        b"word ",
        rb"{\b x} ",
        rb"\intbl a\cell ",
        rb"\intbl a\par ",
        rb"\u3585? ",
        rb"\nestcell x",
        rb"{\footnote n}",
        rb"{\header n\par}",
    ],
)
def test_document_without_end_comes_in_blocks_of_bounded_size(body: bytes) -> None:
    file = Endless(b"{\\rtf1 ", body, 1_000_000)
    found = rtf.read(file, Context("a.rtf", 1_000_000))  # type: ignore[arg-type]
    longest = max(len(item.text) for item in found if isinstance(item, Block))
    assert longest <= 4 * limits.OFFICE_BLOCK_CHARS


FIXTURE = (
    b"{\\rtf1\\ansi\\ansicpg949\\deff0" + (FONTS + SHEET).encode()
    + rb"{\info{\title T\u3585?}}{\header head\par}\pard\s1 One\par"
    + rb"\pard\f2 \'b0\'a1\u44032\'b0\'a1 "
    + rb"\trowd\intbl a\cell{\b b}\cell\row\pard x{\footnote n}{\*\annotation c}"
    + rb"{\field{\*\fldinst X}{\fldrslt y}}{\shp{\*\shpinst{\shptxt box}}}\bin3 }}}z\par}"
)  # fmt: skip


def test_damaged_files_give_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance = random.Random(4)
    outcomes = {outcome("rtf", damaged(FIXTURE, chance)) for _ in range(points(300, 2_000))}
    assert outcomes <= {"read", "corrupt", "empty"}
    assert "read" in outcomes


def test_every_cut_gives_blocks_or_a_typed_error() -> None:
    outcomes = {outcome("rtf", FIXTURE[:length]) for length in range(len(FIXTURE))}
    assert outcomes == {"read", "corrupt"}


def test_small_windows_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of the pieces a file comes in, its text is the same."""

    def read() -> Iterator[str]:
        whole = FIXTURE * 1 + b" " * 10
        found = rtf.read(io.BytesIO(whole), Context("a.rtf", len(whole)))
        return iter([item.text for item in found if isinstance(item, Block)])

    expected = list(read())
    monkeypatch.setattr("helpers.extract.rtf_tokens.READ_BYTES", 7)
    monkeypatch.setattr("helpers.extract.rtf_tokens.MARGIN_BYTES", 100)
    assert list(read()) == expected
