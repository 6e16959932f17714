"""Books: reading order, chapters by the table of contents, pages of every kind, protection."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract import epub, formats
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice
from helpers.limits import MARKUP_DEPTH
from tests.extract.epub_files import FIXTURE, HEAD, book, nav, page, point
from tests.extract.test_office_mutations import damaged, outcome, repacked, swapped
from tests.trust.documents import LEAK, changed, doctypes


def read(data: bytes) -> list[Item]:
    return list(epub.read(io.BytesIO(data), Context("a.epub", len(data))))


def blocks(data: bytes) -> list[Block]:
    return [item for item in read(data) if isinstance(item, Block)]


def places(data: bytes) -> list[tuple[str, str]]:
    return [(block.text, block.location.label) for block in blocks(data) if block.location]


TWO = {"b.xhtml": page("<p>second</p>"), "a.xhtml": page("<h1>Alpha</h1><p>first</p>")}


def test_pages_come_in_the_order_of_the_spine_with_title_and_author() -> None:
    found = read(book(TWO, ["a.xhtml", "b.xhtml"]))
    assert found[0] == Metadata(title="Livre", extra={"author": "A. Author"})
    assert [item.text for item in found if isinstance(item, Block)] == ["Alpha", "first", "second"]


def test_a_books_content_is_told_whatever_its_name() -> None:
    assert formats.detect(io.BytesIO(book(TWO)), "x.zip").name == "epub"


def test_the_chapter_is_the_one_that_the_ncx_names() -> None:
    ncx = point("ความนำ", "a.xhtml") + point("둘째 장", "b.xhtml")
    assert places(book(TWO, ["a.xhtml", "b.xhtml"], ncx=ncx)) == [
        ("Alpha", "ความนำ > Alpha"),
        ("first", "ความนำ > Alpha"),
        ("second", "둘째 장"),
    ]


def test_the_chapter_is_the_one_that_the_navigation_document_names() -> None:
    contents = nav(("Alpha", "a.xhtml"), ("Beta", "b.xhtml"))
    ncx = point("Other", "a.xhtml")
    data = book(TWO, ["a.xhtml", "nav", "b.xhtml"], ncx=ncx, contents=contents)
    assert places(data) == [("Alpha", "Alpha"), ("first", "Alpha"), ("second", "Beta")]


def test_chapters_inside_one_page_begin_at_their_marks() -> None:
    body = (
        '<p>before</p><h2 id="one">Un</h2><p>1</p><h3 id="sub">Part</h3><p>1.1</p>'
        '<div><a id="two"></a><p>2</p></div>'
    )
    ncx = (
        point("One", "a.xhtml#one", point("Part", "a.xhtml#sub"))
        + point("Two", "a.xhtml#two")
        + point("Lost", "a.xhtml#nowhere")
    )
    assert places(book({"a.xhtml": page(body)}, ncx=ncx)) == [
        ("before", "a"),
        ("Un", "One > Un"),
        ("1", "One > Un"),
        ("Part", "One > Un > Part"),
        ("1.1", "One > Un > Part"),
        ("2", "Two > Un > Part"),
    ]


def test_a_mark_inside_a_heading_leaves_the_heading_whole() -> None:
    body = '<p>before</p><h2>Un <a name="one"></a>deux</h2><p>1</p><h2><a id="two"/>Trois</h2>'
    ncx = point("One", "a.xhtml#one") + point("Two", "a.xhtml#two")
    found = blocks(book({"a.xhtml": page(body)}, ncx=ncx))
    assert [(block.kind, block.text) for block in found] == [
        ("paragraph", "before"),
        ("heading", "Un deux"),
        ("paragraph", "1"),
        ("heading", "Trois"),
    ]
    labels = [block.location.label for block in found if block.location]
    assert labels == ["a", "One > Un deux", "One > Un deux", "Two > Trois"]


def test_a_page_that_no_entry_names_is_a_chapter_of_its_own() -> None:
    pages = {
        "a.xhtml": page("<h1>A</h1>"),
        "b.xhtml": page("<p>more</p>"),
        "n.xhtml": page("<p>by X</p><h2>Notes</h2><p>note</p><h3>Sub</h3><h2>Thanks</h2>"),
        "z.xhtml": page("<p>last</p>"),
    }
    ncx = point("A", "a.xhtml") + point("Z", "z.xhtml")
    assert places(book(pages, ncx=ncx)) == [
        ("A", "A"),
        ("more", "b"),
        ("by X", "Notes"),
        ("Notes", "Notes"),
        ("note", "Notes"),
        ("Sub", "Notes > Sub"),
        ("Thanks", "Thanks"),
        ("last", "Z"),
    ]


def test_a_page_that_a_program_cut_in_parts_goes_on_with_its_chapter() -> None:
    pages = {
        "c1_split_000.html": page("<h1>A</h1>"),
        "c1_split_001.html": page("<h2>Sub</h2><p>more</p>"),
        "c1_split_002.html": page("<p>end</p><h1>B</h1><p>b</p>"),
        "c2_split_001.html": page("<p>other</p>"),
    }
    assert places(book(pages, ncx=point("A", "c1_split_000.html"))) == [
        ("A", "A"),
        ("Sub", "A > Sub"),
        ("more", "A > Sub"),
        ("end", "A"),
        ("B", "B"),
        ("b", "B"),
        ("other", "c2_split_001"),
    ]


def test_a_page_that_names_itself_does_so_as_a_browser_reads_it() -> None:
    pages = {"a.xhtml": page("<p>A</p>"), "b.xhtml": page("<p>before<h1>B</h1>b<br>c")}
    assert places(book(pages, ncx=point("A", "a.xhtml"))) == [
        ("A", "A"),
        ("before", "B"),
        ("B", "B"),
        ("b\nc", "B"),
    ]


def test_without_contents_the_first_heading_names_the_chapter() -> None:
    pages = {"a.xhtml": page("<h2>Erstes</h2><p>x</p>"), "b.xhtml": page("<h2>Zweites</h2>")}
    assert places(book(pages)) == [("Erstes", "Erstes"), ("x", "Erstes"), ("Zweites", "Zweites")]
    block = blocks(book(pages))[1]
    assert block.location is not None
    assert block.location.as_dict() == {
        "kind": "section",
        "label": "Erstes",
        "section": "Erstes",
    }


def test_lists_tables_breaks_code_and_equations_are_read() -> None:
    body = (
        "<ul><li>one</li></ul><table><tr><th>k</th></tr><tr><td>v</td><td>w</td></tr></table>"
        "<p>a<br/>b &nbsp; &eacute;</p><pre>x\n  y</pre><script>no</script>"
        '<p>so <m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:msqrt><m:mi>π</m:mi>'
        "</m:msqrt></m:math> is</p>"
    )
    assert [(block.kind, block.text) for block in blocks(book({"a.xhtml": page(body)}))] == [
        ("line", "one"),
        ("table_header", "k"),
        ("table_row", "v | w"),
        ("paragraph", "a\nb é"),
        ("code", "x\n  y"),
        ("paragraph", r"so [math: \sqrt{\pi}] is"),
    ]


def test_of_a_switch_one_case_is_read() -> None:
    math = "http://www.w3.org/1998/Math/MathML"
    body = (
        '<epub:switch><epub:case required-namespace="urn:x"><p>no</p></epub:case>'
        "<epub:default><p>yes</p></epub:default></epub:switch>"
        f'<epub:switch><epub:case required-namespace="{math}"><p>case</p></epub:case>'
        "<epub:default><p>no</p></epub:default></epub:switch>"
    )
    assert [block.text for block in blocks(book({"a.xhtml": page(body)}))] == ["yes", "case"]


@pytest.mark.parametrize("media", ["text/html", "TEXT/XML", "text/x-oeb1-document", ""])
def test_pages_of_any_textual_kind_are_read(media: str) -> None:
    assert len(blocks(book(TWO, media=media))) == 3


def test_what_stands_before_the_damage_of_a_page_is_read() -> None:
    body = "<p>start</p>" + "".join(f"<p>{number}</p>" for number in range(50_000))
    data = bytearray(book({"a.xhtml": page(body), "b.xhtml": page("<p>next</p>")}))
    data[len(data) // 3] ^= 0xFF
    found = read(bytes(data))
    texts = [item.text for item in found if isinstance(item, Block)]
    assert texts[0] == "start" and texts[-1] == "next"
    assert [item.code for item in found if isinstance(item, Notice)] == ["part_unread"]


def test_a_page_whose_tags_have_a_prefix_is_read() -> None:
    text = (
        '<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:title>t</h:title></h:head>'
        "<h:body><h:h1>Head</h:h1><h:p>one</h:p><h:p>two</h:p></h:body></h:html>"
    )
    found = blocks(book({"a.xhtml": text}))
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "Head"),
        ("paragraph", "one"),
        ("paragraph", "two"),
    ]


def test_marks_of_notes_are_left_out_and_notes_are_read() -> None:
    body = (
        '<p>word<a epub:type="noteref" href="#n">1</a></p>'
        '<aside epub:type="footnote" id="n"><p>Note <a role="doc-backlink" href="#r">↩</a></p>'
        "</aside>"
    )
    assert [block.text for block in blocks(book({"a.xhtml": page(body)}))] == ["word", "Note"]


@pytest.mark.parametrize(
    "text",
    [
        "<html><body><p>open <br> tags<p>second</body>",
        HEAD + "<p>open <b>tags</p><p>second</p></body></html>",
        "<!DOCTYPE html [<!ENTITY x 'y'>]><html><body><p>open tags</p><p>second</p></body></html>",
        page("<p>open tags</p><p>second</p>").encode("utf-16"),
        page("<p>open tags</p><p>second</p>").replace("utf-8", "euc-kr").encode("cp949"),
    ],
)
def test_a_page_that_is_no_sound_xml_is_read_as_a_browser_reads_it(text: str | bytes) -> None:
    found = [block.text.replace("\n", " ") for block in blocks(book({"a.xhtml": text}))]
    assert found == ["open tags", "second"]


def test_a_page_of_tags_that_nobody_closed_is_read() -> None:
    depth = 2 * MARKUP_DEPTH
    text = page(f"{'<span>' * depth}deep{'</span>' * depth}<p>after</p>")
    assert [block.text for block in blocks(book({"a.xhtml": text}))] == ["deep", "after"]


def test_pages_that_are_missing_damaged_or_pictures_are_noticed() -> None:
    pages: dict[str, str | bytes] = {"a.xhtml": page("<p>here</p>")}
    data = book(pages, ["a.xhtml", "unlisted"])
    assert [item.code for item in read(data) if isinstance(item, Notice)] == ["part_unread"]
    assert len(blocks(data)) == 1
    gone = book(pages).replace(b"OEBPS/a.xhtml", b"OEBPS/z.xhtml")
    assert [item.code for item in read(gone) if isinstance(item, Notice)] == ["part_unread"]
    picture = book({"a.png": b"x"}, media="image/png")
    assert {item.code for item in read(picture) if isinstance(item, Notice)} == {"no_text"}


def test_a_book_of_pictures_is_told() -> None:
    data = book({"a.xhtml": page('<img src="1.jpg" alt=""/>')}, extra={"OEBPS/1.jpg": b"x"})
    assert [item.code for item in read(data) if isinstance(item, Notice)] == ["no_text"]


def test_a_book_without_a_package_gives_its_pages_by_name() -> None:
    data = book(TWO).replace(b"OEBPS/book.opf", b"OEBPS/book.xxx")
    assert [block.text for block in blocks(data)] == ["Alpha", "first", "second"]


def test_names_with_escapes_are_found() -> None:
    pages: dict[str, str | bytes] = {"Text/한 글.xhtml": page("<p>x</p>")}
    plain = book(pages, ncx=point("장", "Text/%ED%95%9C%20%EA%B8%80.xhtml"))
    assert places(plain) == [("x", "장")]


def encryption(algorithm: str, target: str) -> dict[str, str | bytes]:
    text = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
        ' xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
        f'<e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData>'
        f'<e:CipherReference URI="{target}"/></e:CipherData></e:EncryptedData></encryption>'
    )
    return {"META-INF/encryption.xml": text}


def test_a_protected_book_is_encrypted_and_one_with_hidden_fonts_is_read() -> None:
    aes = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
    with pytest.raises(Unread) as refused:
        read(book(TWO, extra=encryption(aes, "OEBPS/a.xhtml")))
    assert refused.value.code == "encrypted"
    hidden = encryption("http://www.idpf.org/2008/embedding", "OEBPS/font.otf")
    assert len(blocks(book(TWO, extra=hidden))) == 3
    assert len(blocks(book(TWO, extra=encryption(aes, "OEBPS/cover.jpg")))) == 3


def test_an_entity_of_a_page_opens_no_file() -> None:
    text = (
        '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>a &x; b</p></body></html>'
    )
    assert "root:" not in "".join(block.text for block in blocks(book({"a.xhtml": text})))


DOORLESS = "http://127.0.0.1:1/x.dtd"


@pytest.mark.parametrize("kind", doctypes("/etc/hostname", DOORLESS))
def test_no_declaration_of_a_page_gives_text_or_opens_anything(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prolog = doctypes("/etc/hostname", DOORLESS)[kind]
    body = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>a &x; b</p></body></html>'
    monkeypatch.setattr("builtins.open", None)
    for text in (prolog + body, (prolog + body).encode("utf-16")):
        found = "".join(block.text for block in blocks(book({"a.xhtml": text})))
        assert LEAK not in found and "b" in found


@pytest.mark.parametrize("part", ["OEBPS/book.opf", "META-INF/container.xml", "OEBPS/toc.ncx"])
@pytest.mark.parametrize("kind", doctypes("/etc/hostname", DOORLESS))
def test_no_declaration_of_a_package_is_followed(part: str, kind: str) -> None:
    prolog = doctypes("/etc/hostname", DOORLESS)[kind]
    data = changed(FIXTURE, part, lambda content: prolog.encode() + content.partition(b"?>")[2])
    try:
        found = read(data)
    except Unread as refused:
        assert refused.code == "corrupt"
    else:
        assert LEAK not in str(found)


def test_a_paragraph_without_end_is_cut() -> None:
    data = book({"a.xhtml": page(f"<p>{'word ' * 400_000}</p>")})
    found = blocks(data)
    assert len(found) > 1
    assert sum(block.text.count("word") for block in found) == 400_000


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("damage", [damaged, repacked, swapped])
def test_damage_gives_blocks_or_a_typed_error(
    damage: Callable[[bytes, random.Random], bytes], points: Callable[[int, int], int]
) -> None:
    chance = random.Random(damage.__name__)
    outcomes = {outcome("epub", damage(FIXTURE, chance)) for _ in range(points(200, 2_000))}
    assert outcomes <= {"read", "corrupt", "limit_reached", "encrypted", "unsupported"}
    assert "read" in outcomes
