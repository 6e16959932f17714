"""PDF files end to end: pages in the location, junk refused page by page, faults typed."""

from __future__ import annotations

import builtins
import csv
import io
import random
import re
import unicodedata
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.extract import pdf
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice

pytest.importorskip("pypdf")

HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
NO_LETTERS = (
    "<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<<>>"
    "/Encoding<</Differences[65/g1/g2/g3/g4/g5/g6]>>/FirstChar 65/LastChar 70"
    "/Widths[500 500 500 500 500 500]>>"
)


def made(
    *contents: str | bytes,
    font: str = HELVETICA,
    page: str = "",
    info: str = "",
    catalog: str = "",
    more: Iterable[str] = (),
) -> bytes:
    """A PDF with a page for each content stream; `more` are further objects, from 1000 on."""
    objects: dict[int, bytes] = {2: font.encode("latin-1")}
    kids = []
    for number, content in enumerate(contents):
        data = content.encode("latin-1") if isinstance(content, str) else content
        at = 10 + 2 * number
        kids.append(f"{at} 0 R")
        objects[at] = (
            f"<</Type/Page/Parent 3 0 R/MediaBox[0 0 600 800]/Contents {at + 1} 0 R"
            f"/Resources<</Font<</F 2 0 R>>>>{page}>>"
        ).encode("latin-1")
        head = "/Filter/FlateDecode" if data[:1] == b"\x78" else ""
        objects[at + 1] = f"<</Length {len(data)}{head}>>stream\n".encode() + data + b"\nendstream"
    objects[3] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>".encode()
    objects[1] = f"<</Type/Catalog/Pages 3 0 R{catalog}>>".encode("latin-1")
    objects[4] = f"<<{info}>>".encode("latin-1")
    for number, extra in enumerate(more):
        objects[1000 + number] = extra.encode("latin-1")
    out = bytearray(b"%PDF-1.7\n")
    table = f"xref\n0 1\n{0:010} 65535 f \n".encode()
    for number, body in objects.items():
        table += f"{number} 1\n{len(out):010} 00000 n \n".encode()
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    end = f"trailer\n<</Root 1 0 R/Info 4 0 R/Size 2000>>\nstartxref\n{len(out)}\n%%EOF\n"
    return bytes(out + table + end.encode())


def shown(*lines: str) -> str:
    """A content stream that shows lines below each other."""
    return "BT /F 12 Tf 14 TL 50 700 Td " + " T* ".join(f"({line}) Tj" for line in lines) + " ET"


def items(data: bytes) -> list[Item]:
    return list(pdf.read(io.BytesIO(data), Context("made.pdf", len(data))))


def blocks(data: bytes) -> list[Block]:
    return [item for item in items(data) if isinstance(item, Block)]


def notices(data: bytes) -> list[Notice]:
    return [item for item in items(data) if isinstance(item, Notice)]


def refusal(data: bytes) -> Unread:
    with pytest.raises(Unread) as caught:
        items(data)
    return caught.value


# --- tables of objects that are lost ----------------------------------------------------


def test_lost_table_of_objects_is_made_anew() -> None:
    whole = made(shown("First page."), shown("Second page."))
    for cut in (whole.rindex(b"startxref"), whole.rindex(b"xref\n0 1"), whole.rindex(b"trailer")):
        assert [block.text for block in blocks(whole[:cut])] == ["First page.", "Second page."]
    assert len(blocks(whole.replace(b"startxref", b"startxxxx"))) == 2


def test_objects_packed_into_a_stream_survive_the_loss_of_the_table() -> None:
    bodies = {
        1: "<</Type/Catalog/Pages 3 0 R>>",
        3: "<</Type/Pages/Count 1/Kids[10 0 R]>>",
        10: "<</Type/Page/Parent 3 0 R/MediaBox[0 0 600 800]/Contents 11 0 R"
        "/Resources<</Font<</F 2 0 R>>>>>>",
    }
    table, content = "", ""
    for number, body in bodies.items():
        table += f"{number} {len(content)} "
        content += body + " "
    packed = zlib.compress((table + content).encode())
    text = shown("Packed page.").encode()
    data = (
        b"%%PDF-1.5\n20 0 obj\n<</Type/ObjStm/N 3/First %d/Filter/FlateDecode/Length %d>>stream\n"
        % (len(table), len(packed))
        + packed
        + b"\nendstream\nendobj\n2 0 obj\n%s\nendobj\n" % HELVETICA.encode()
        + b"11 0 obj\n<</Length %d>>stream\n%s\nendstream\nendobj\n" % (len(text), text)
    )
    assert [block.text for block in blocks(data)] == ["Packed page."]


def test_file_cut_off_before_its_catalog_is_corrupt() -> None:
    whole = made(shown("First page."))
    assert refusal(whole[: whole.index(b"/Catalog")]).code == "corrupt"


# --- pages and structure ---------------------------------------------------------------


def test_each_block_carries_its_page() -> None:
    found = blocks(made(shown("First page."), shown("Second page."), shown("Third page.")))
    assert [block.text for block in found] == ["First page.", "Second page.", "Third page."]
    assert [block.location.as_dict() for block in found if block.location] == [
        {"kind": "page", "label": f"p. {n}", "page": n} for n in (1, 2, 3)
    ]


def test_wrapped_lines_become_a_paragraph_and_hyphens_close() -> None:
    (block,) = blocks(
        made(shown("This sentence is long enough to be docu-", "mented on two lines."))
    )
    assert block.text == "This sentence is long enough to be documented on two lines."


def test_lines_that_stand_far_apart_all_over_the_page_are_one_paragraph() -> None:
    lines = [f"Line {n} of a text that is set with much room between lines" for n in range(5)]
    (block,) = blocks(made(shown(*lines).replace("14 TL", "24 TL")))
    assert block.text == " ".join(lines)


def test_large_short_lines_are_headings() -> None:
    content = "BT /F 24 Tf 50 740 Td (Water supply) Tj ET " + shown("Body text. " * 5)
    heading, body = blocks(made(content))
    assert (heading.kind, heading.level, heading.text) == ("heading", 1, "Water supply")
    assert body.kind == "paragraph"


def test_bookmarks_make_their_lines_headings() -> None:
    outline = "<</Type/Outlines/First 1001 0 R/Last 1001 0 R/Count 1>>"
    entry = "<</Title(Closing times)/Parent 1000 0 R/Dest[10 0 R /Fit]>>"
    data = made(
        "BT /F 12 Tf 50 740 Td (2. Closing times) Tj 0 -40 Td (We close at noon.) Tj ET",
        catalog="/Outlines 1000 0 R",
        more=[outline, entry],
    )
    assert [(b.kind, b.level) for b in blocks(data)] == [("heading", 1), ("paragraph", 0)]


def test_a_running_head_is_no_heading() -> None:
    head = "BT /F 24 Tf 50 740 Td (Yearbook %d) Tj ET "
    data = made(*[head % n + shown(f"Text of page {n} in the body size.") for n in (1, 2, 3)])
    assert {block.kind for block in blocks(data)} == {"paragraph"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Annual report 2025", "Annual report 2025"),
        ("Microsoft Word - Minutes of May", "Minutes of May"),
        ("Microsoft Word - minutes.docx", None),
        ("Untitled", None),
        ("scan0001.pdf", None),
        ("   ", None),
    ],
)
def test_the_title_is_kept_unless_a_program_made_it(given: str, kept: str | None) -> None:
    found = items(made(shown("Text."), info=f"/Title({given})"))
    assert isinstance(found[0], Metadata) and found[0].title == kept


# --- what stands beside the content -------------------------------------------------------


def annotated(*annotations: str) -> list[str]:
    data = made(shown("Content."), page=f"/Annots[{''.join(annotations)}]")
    return [block.text for block in blocks(data)]


def test_comments_and_text_boxes_are_read_and_hidden_ones_are_not() -> None:
    assert annotated(
        "<</Subtype/FreeText/Rect[0 0 9 9]/Contents(A typed note)>>",
        "<</Subtype/Text/Rect[0 0 9 9]/Contents(A sticky note)>>",
        "<</Subtype/Text/Rect[0 0 9 9]/Contents(Hidden)/F 2>>",
        "<</Subtype/Link/Rect[0 0 9 9]/Contents(A link)>>",
    ) == ["Content.", "A typed note", "A sticky note"]


def test_form_fields_give_their_values_but_no_password() -> None:
    assert annotated(
        "<</Subtype/Widget/FT/Tx/T(name)/V(Somchai)/Rect[0 0 9 9]>>",
        "<</Subtype/Widget/FT/Ch/T(city)/V[(Seoul)(Busan)]/Rect[0 0 9 9]>>",
        "<</Subtype/Widget/FT/Tx/Ff 8192/T(pin)/V(secret)/Rect[0 0 9 9]>>",
    ) == ["Content.", "Somchai", "Seoul", "Busan"]


# --- verdicts ---------------------------------------------------------------------------


def test_glyphs_without_letters_are_reported_and_not_indexed() -> None:
    error = refusal(made(shown("ABCDEF" * 5), font=NO_LETTERS))
    assert error.code == "no_text"
    assert "page 1" in error.reason.lower() and "OCR" in error.remedy


def test_one_unusable_page_does_not_cost_the_others() -> None:
    two = made(shown("Good text on this page."), shown("unused")).replace(
        b"(unused) Tj", b"(\x01\x02\x03\x04\x05) Tj"
    )
    assert [block.location.number for block in blocks(two) if block.location] == [1]
    (notice,) = notices(two)
    assert notice.code == "no_text"
    assert notice.location is not None and notice.location.number == 2


def test_a_blank_page_is_no_cause_for_a_notice() -> None:
    data = made(shown("Text."), "")
    assert notices(data) == []


def test_a_file_without_any_text_is_empty() -> None:
    assert refusal(made("", "")).code == "empty"


def test_text_drawn_as_outlines_is_reported() -> None:
    assert refusal(made("0 0 m 5 5 l f " * 40)).code == "no_text"


def test_hidden_text_over_an_image_counts_as_recognised() -> None:
    image = "<</Type/XObject/Subtype/Image/Width 1/Height 1/Length 0>>stream\n\nendstream"
    data = made("/I Do BT 3 Tr /F 12 Tf 50 700 Td (Scanned words) Tj ET", more=[image])
    data = data.replace(b"/Font<</F 2 0 R>>>>", b"/Font<</F 2 0 R>>/XObject<</I 1000 0 R>>>>")
    assert [block.ocr for block in blocks(data)] == [True]


# --- faults -----------------------------------------------------------------------------


def test_a_missing_library_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pypdf(name: str, *rest: object, **named: object) -> object:
        if name.split(".")[0] == "pypdf":
            raise ImportError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_pypdf)
    error = refusal(made(shown("Text.")))
    assert (error.code, error.remedy) == ("missing_reader", "pip install pypdf")


def test_a_stream_that_inflates_too_far_is_a_limit_and_costs_its_page_only() -> None:
    bomb = zlib.compress(b" " * 40_000_000, 9)
    assert refusal(made(bomb)).code == "limit_reached"
    data = made(shown("Good page."), bomb)
    assert [block.text for block in blocks(data)] == ["Good page."]
    (notice,) = notices(data)
    assert notice.code == "limit_reached"
    assert "33,554,433 > 33,554,432 bytes" in notice.message


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.limits.PDF_PAGES", 2)
    error = refusal(made(*[shown("Text.")] * 3))
    assert error.code == "limit_reached"
    assert "3 > 2 pages" in error.reason


def test_text_of_all_pages_is_bounded_by_the_size_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = made(*[shown("some words on a page")] * 3)
    monkeypatch.setattr("helpers.limits.PDF_CHARS", 50)
    assert len(blocks(data)) == 3
    monkeypatch.setattr("helpers.limits.PDF_CHARS_PER_BYTE", 0)
    error = refusal(data)
    assert error.code == "limit_reached" and "first 3 pages reached 60 > 50 characters" in str(
        error
    )


def test_a_form_that_calls_itself_ends() -> None:
    form = (
        "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 1000 0 R>>"
        "/Font<</F 2 0 R>>>>/Length 70>>stream\nBT /F 9 Tf (again) Tj ET /X Do /X Do"
        + " " * 30
        + "\nendstream"
    )
    data = made("/X Do", more=[form]).replace(
        b"/Font<</F 2 0 R>>>>", b"/Font<</F 2 0 R>>/XObject<</X 1000 0 R>>>>", 1
    )
    assert "again" in blocks(data)[0].text


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.4 nothing", b"%PDF-1.7\n%%EOF\n"])
def test_a_stump_is_corrupt(data: bytes) -> None:
    assert refusal(data).code in ("corrupt", "empty")


def test_a_damaged_content_stream_is_corrupt() -> None:
    packed = zlib.compress(shown("Text.").encode())
    assert refusal(made(packed[:2] + b"\xff" * 60)).code == "corrupt"


def test_junk_before_the_header_is_passed_over() -> None:
    assert blocks(b"junk\n" * 40 + made(shown("Still here.")))[0].text == "Still here."


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    items(b"junk\n" + made(shown("Text."), info="/Title(x) /CreationDate(nonsense)"))
    refusal(b"%PDF-1.7\n")
    out, err = capfd.readouterr()
    assert out == "" and err == ""


def test_mutated_files_raise_typed_errors_only() -> None:
    seed = random.Random(20)
    source = made(
        shown("One page of text.", "With two lines."),
        shown("Another page."),
        page="/Annots[<</Subtype/FreeText/Contents(Note)>>]",
    )
    outcomes: dict[str, int] = {}
    for _ in range(80):
        data = bytearray(source)
        for _ in range(seed.choice((1, 4, 20))):
            at = seed.randrange(len(data))
            piece = seed.choice(
                [b"", b"<<", b">>", b"[", b"(", b"-1", b"99999999", b"/Kids", b"\0"]
            )
            data[at : at + seed.randrange(4)] = piece
        try:
            items(bytes(data))
            outcomes["read"] = outcomes.get("read", 0) + 1
        except Unread as error:
            outcomes[error.code] = outcomes.get(error.code, 0) + 1
    assert sum(outcomes.values()) == 80
    assert outcomes["read"] > 10


# --- the reference documents --------------------------------------------------------------


def comparable(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFC", text))
    text = text.replace("\u0e4d\u0e32", "\u0e33")
    return re.sub(r"[\s\u200b-\u200f\u2060\ufeff\u00ad]", "", text).lower()


def outcome(path: Path) -> tuple[str, str]:
    """Comparable text, and the code of the error or ""."""
    found: list[str] = []
    try:
        with path.open("rb") as file:
            for item in pdf.read(file, Context(path.name, path.stat().st_size)):
                if isinstance(item, Block):
                    found.append(item.text)
    except Unread as error:
        return comparable("\n".join(found)), error.code
    return comparable("\n".join(found)), ""


ALLOWED = {
    "text": {""},
    "text-hard": {""},
    "damaged": {""},
    "recover": {""},
    "text+ocr": {""},
    "garbled": {"", "no_text"},
    "ocr": {"no_text"},
    "encrypted": {"encrypted"},
    "corrupt": {"corrupt"},
    "empty": {"empty"},
    "bomb": {"limit_reached"},
}


def test_reference_documents_give_their_text_or_their_code(shared: Path) -> None:
    table = (shared / "docs" / "MANIFEST.tsv").read_text(encoding="utf-8")
    faults, checked = [], 0
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["format"] != "pdf":
            continue
        text, code = outcome(shared / "docs" / row["file"])
        checked += 1
        wanted = [part for part in row["must_contain"].split(" ¦ ") if part and not code]
        missing = [part for part in wanted if comparable(part) not in text]
        unwanted = [
            part
            for part in row["must_not_contain"].split(" ¦ ")
            if part and comparable(part) in text
        ]
        if missing or unwanted or code not in ALLOWED[row["class"]]:
            faults.append((row["file"], code, missing, unwanted))
    assert checked >= 40
    assert faults == []


def test_b07_broken_thai_text_layers_are_repaired(shared: Path) -> None:
    for name in ("split.pdf", "mixed_up.pdf", "pua.pdf"):
        text, code = outcome(shared / "bugs" / "b07" / name)
        assert code == ""
        assert comparable("กำหนดการหยุดจ่ายน้ำชั่วคราว") in text
        assert not re.search("[\uf700-\uf71a\x00-\x08]", text)


def test_b18_noisy_files_print_nothing(shared: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in sorted((shared / "bugs" / "b18").iterdir()):
        outcome(path)
    assert capfd.readouterr().out == ""


def test_b32_glyph_codes_are_not_taken_for_text(shared: Path) -> None:
    assert outcome(shared / "bugs" / "b32" / "cid.pdf") == ("", "no_text")
    text, code = outcome(shared / "bugs" / "b32" / "no_map.pdf")
    assert code == "no_text" or "시청" in text
    assert "cid:" not in text and "/g" not in text
