"""A page gives the text a reader sees, its headings and tables, in any charset."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import Unread
from helpers.extract import html
from helpers.extract.blocks import Block, Context, Item, Metadata, Notice

PAGE = """<!DOCTYPE html><html><head><title>Ti &amp; tle</title><style>p {x}</style>
<meta name="keywords" content="one, two"></head><body>
<h1>Main <b>part</b></h1><p>para <i>x</i>
 next<br>line</p><ul><li>first<li>second</ul>
<table><tr><th>A<th>B</tr><tr><td>1<td></td><td>3 <p>q</p></tr></table>
<h2>Sub</h2>loose text<pre>
 a
   b
</pre><script>var x = "</p>";</script>end &#44032;</body></html>"""


def read(raw: str | bytes, name: str = "a.html") -> list[Item]:
    data = raw.encode() if isinstance(raw, str) else raw
    return list(html.read(io.BytesIO(data), Context(name, len(data))))


def shapes(raw: str | bytes) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in read(raw) if isinstance(item, Block)]


def test_page_gives_what_a_reader_sees() -> None:
    assert shapes(PAGE) == [
        ("heading", "Main part"),
        ("paragraph", "para x next\nline"),
        ("line", "first"),
        ("line", "second"),
        ("table_header", "A | B"),
        ("table_row", "1 | 3 q"),
        ("heading", "Sub"),
        ("paragraph", "loose text"),
        ("code", " a\n   b"),
        ("paragraph", "end 가"),
    ]


def test_title_and_keywords_are_metadata() -> None:
    found = [item for item in read(PAGE) if isinstance(item, Metadata)]
    assert [item.title for item in found if item.title] == ["Ti & tle"]
    assert [item.tags for item in found if item.tags] == [("one", "two")]


def test_blocks_know_their_section_and_line() -> None:
    places = [item.location for item in read(PAGE) if isinstance(item, Block)]
    assert places[-1] is not None
    assert (places[-1].label, places[-1].name) == ("Main part > Sub", "Sub")
    assert places[2] is not None and places[2].number == 4


@pytest.mark.parametrize("tag", ["script", "style", "template", "svg", "noframes"])
def test_silent_elements_give_no_text(tag: str) -> None:
    assert shapes(f"<p>a</p><{tag}>hidden <b>text</b></{tag}><p>b</p>") == [
        ("paragraph", "a"),
        ("paragraph", "b"),
    ]


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("euc-kr", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("utf-8", "utf-8"),
        ("utf-8", "cp949"),
        ("iso-8859-1", "utf-8"),
        ("none", "utf-16"),
    ],
)
def test_charset_is_right_even_where_the_page_is_wrong(charset: str, codec: str) -> None:
    page = f'<html><head><meta charset="{charset}"></head><p>노후 송수관 교체 공사</p>'
    assert shapes(page.encode(codec)) == [("paragraph", "노후 송수관 교체 공사")]


def test_charset_named_by_habit_gives_way_to_what_the_bytes_show() -> None:
    page = "<META CHARSET='ISO-8859-1'><p>{}</p>"
    for text, codec in (("กำหนดการหยุดจ่ายน้ำ", "cp874"), ("노후 송수관 교체 공사", "cp949")):
        raw = page.format(text).encode(codec)
        assert html.charset(io.BytesIO(raw), Context()).codec == codec
    assert (
        html.charset(io.BytesIO(page.format("Ça va").encode("cp1252")), Context()).codec == "cp1252"
    )


def test_declared_charset_decides_where_bytes_cannot() -> None:
    page = (
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Съешь же</p>'
    )
    assert shapes(page.encode("cp1251")) == [("paragraph", "Съешь же")]


@pytest.mark.parametrize("junk", ["<!-- ", "<script>", "<p title='", "<!DOCTYPE ", "<![CDATA["])
def test_unclosed_markup_costs_neither_memory_nor_the_text_before(junk: str) -> None:
    page = "<p>before</p>" + junk + "x" * 3_000_000
    items = read(page)
    assert next(item.text for item in items if isinstance(item, Block)) == "before"
    assert len(page) < 3_100_000


def test_dropped_markup_is_reported() -> None:
    notices = [
        item.code for item in read("<p>a</p><!-- " + "x" * 3_000_000) if isinstance(item, Notice)
    ]
    assert notices == ["markup_unclosed"]


@pytest.mark.parametrize(
    "junk", ["<", "<!", "<a ", "<!--", "</", "&", "<p>", "<td>", "<b><i>", "&#"]
)
def test_repeated_fragments_take_no_time(junk: str) -> None:
    try:
        assert read("<p>a</p>" + junk * 40_000)
    except Unread as refused:
        assert refused.code == "empty"


@pytest.mark.parametrize(
    "junk", ["<![<b>", "<![if !mso]>", "<![CDATA[ a > b ]]>", "<!x>", "<?x y>"]
)
def test_odd_declarations_do_not_end_the_page(junk: str) -> None:
    assert [text for _, text in shapes(f"<p>a</p>{junk}<p>b</p>")] == ["a", "b"]


@pytest.mark.parametrize("junk", ["<![", "<![CDATA[ x", "<!x [", "<?x", "<!--"])
def test_declaration_cut_off_at_the_end_keeps_the_text_before(junk: str) -> None:
    assert shapes(f"<p>a</p>{junk}")[0] == ("paragraph", "a")


def test_table_inside_a_table_loses_no_text() -> None:
    text = " ".join(
        text for _, text in shapes("<table><tr><td>a<table><tr><td>b</table>c</table>d")
    )
    assert text.split() == ["a", "b", "c", "d"]


def test_page_without_text_is_empty() -> None:
    with pytest.raises(Unread) as refused:
        read("<html><script>x</script></html>")
    assert refused.value.code == "empty"


def test_reference_pages_hold_what_they_must(shared: Path) -> None:
    for name, fragment in {
        "html/tika_testHTML_charset_utf16le.html": "This is a sample text",
        "html/tika_testHTML_utf8.html": "Content with UTF-8 chars",
        "wrong-ext/wrong_html_as.xls": "체납 현황",
    }.items():
        texts = [text for _, text in shapes((shared / "docs" / name).read_bytes())]
        assert fragment in " ".join(texts)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_random_bytes_never_raise_anything_but_unread(raw: bytes) -> None:
    try:
        assert read(raw)
    except Unread as refused:
        assert refused.code in ("empty", "corrupt")


def test_mutated_pages_are_read_or_refused() -> None:
    rng = random.Random(9)
    for _ in range(300):
        raw = bytearray(PAGE.encode())
        for _ in range(rng.randrange(1, 30)):
            raw[rng.randrange(len(raw))] = rng.choice(b"<>!-/&;'\"= \x00\xff\xeaPtd")
        try:
            assert read(bytes(raw))
        except Unread as refused:
            assert refused.code in ("empty", "corrupt")


MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'


def test_an_equation_stands_in_its_sentence_as_latex() -> None:
    half = MATH.format("<mfrac><mi>&pi;</mi><mn>2</mn></mfrac>")
    assert shapes(f"<p>so {half} holds</p>") == [("paragraph", r"so [math: \frac{\pi}{2}] holds")]


def test_an_equation_left_open_ends_with_its_paragraph() -> None:
    assert shapes("<p>a <math><mi>x<p>b") == [("paragraph", "a [math: x]"), ("paragraph", "b")]
    row = "<table><tr><td>a <math><mi>x<td>b</table>"
    assert shapes(row) == [("table_row", "a [math: x] | b")]


def test_the_latex_that_a_page_gives_beside_an_equation_is_taken_once() -> None:
    tex = "<annotation encoding='application/x-tex'>{\\displaystyle x^2}</annotation>"
    seen = "<img alt='{\\displaystyle x^2}'>"
    math = f"<math alttext='{{\\displaystyle x^2}}'><semantics><mi>x</mi>{tex}</semantics></math>"
    assert shapes(f"<p>a {math}{seen} b</p>") == [("paragraph", "a [math: x^2] b")]
    katex = f"<span class='katex'>{math}<span class='katex-html'>x<span>2</span></span></span>"
    assert shapes(f"<p>a {katex} b</p>") == [("paragraph", "a [math: x^2] b")]
    assert shapes("<script type='math/tex'>x^2</script> b") == [("paragraph", "[math: x^2] b")]
