"""Markdown keeps its sections, tables and code; front matter is metadata, not text."""

from __future__ import annotations

import io

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import markdown
from helpers.extract.blocks import Block, Context, Item, Metadata


def read(text: str) -> list[Item]:
    data = text.encode()
    return list(markdown.read(io.BytesIO(data), Context("a.md", len(data))))


def blocks(text: str) -> list[Block]:
    return [item for item in read(text) if isinstance(item, Block)]


def shapes(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in blocks(text)]


def test_headings_become_sections_with_their_path_and_line() -> None:
    found = blocks("# Intro\n\ntext\n\n## Setup ##\nmore\n\nNext\n====\nlast\n")
    assert [(b.kind, b.level) for b in found][:1] == [("heading", 1)]
    labels = [block.location.label for block in found if block.location]
    assert labels == ["Intro", "Intro", "Intro > Setup", "Intro > Setup", "Next", "Next"]
    assert found[3].location is not None
    assert found[3].location.as_dict() == {
        "kind": "section",
        "label": "Intro > Setup",
        "section": "Setup",
        "line": 6,
    }


def test_text_before_any_heading_is_located_by_line() -> None:
    [block, *_] = blocks("preface\n\n# One\n")
    assert block.location is not None and block.location.label == "line 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n---\n", [("heading", 2, "Title")]),
        ("a\n\n---\n\nb\n", [("paragraph", 0, "a"), ("paragraph", 0, "b")]),
        ("#tag is no heading\n", [("paragraph", 0, "#tag is no heading")]),
        ("####### seven\n", [("paragraph", 0, "####### seven")]),
        ("```\n# no heading\n\n```\n", [("code", 0, "```\n# no heading\n\n```")]),
        ("~~~~\n```\n~~~\n~~~~\nx\n", [("code", 0, "~~~~\n```\n~~~\n~~~~"), ("paragraph", 0, "x")]),
        ("```\nnever closed\n", [("code", 0, "```\nnever closed")]),
        ("- one\n- two\n", [("paragraph", 0, "- one\n- two")]),
    ],
)
def test_block_structure(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert shapes(text) == expected


def test_tables_give_a_header_and_rows() -> None:
    text = "| 항목 | 값 |\n|---|:--:|\n| 예산 | 1,000 |\n| a \\| b | |\n\nafter\n"
    assert shapes(text) == [
        ("table_header", 0, "항목 | 값"),
        ("table_row", 0, "예산 | 1,000"),
        ("table_row", 0, "a | b"),
        ("paragraph", 0, "after"),
    ]


def test_table_without_outer_bars_and_a_caption_above() -> None:
    assert shapes("caption\na | b\n--|--\n1 | 2\nnot a row\n") == [
        ("paragraph", 0, "caption"),
        ("table_header", 0, "a | b"),
        ("table_row", 0, "1 | 2"),
        ("paragraph", 0, "not a row"),
    ]


def test_front_matter_gives_metadata_and_no_text() -> None:
    items = read(
        '---\ntitle: "Water: cuts"\ntags: [น้ำ, "two words"]\naliases:\n  - 단수\n  - cut-off\n'
        "secretkey: zebra\n---\nbody\n"
    )
    assert items[0] == Metadata("Water: cuts", ("น้ำ", "two words"), ("단수", "cut-off"), "UTF-8")
    [block] = [item for item in items if isinstance(item, Block)]
    assert block.text == "body"
    assert block.location is not None and block.location.number == 9


@pytest.mark.parametrize(
    "tags", ["tags: a, b", "tags:\n- a\n- b", "keywords: ['a', \"b\"]", "Tags: [a,b] "]
)
def test_front_matter_lists_in_every_plain_form(tags: str) -> None:
    [metadata, _] = read(f"---\n{tags}\n---\nbody\n")
    assert isinstance(metadata, Metadata) and metadata.tags == ("a", "b")


def test_toml_front_matter_is_known() -> None:
    [metadata, _] = read('+++\ntitle = "T"\ntags = ["a", "b"]\n+++\nbody\n')
    assert isinstance(metadata, Metadata)
    assert (metadata.title, metadata.tags) == ("T", ("a", "b"))


@pytest.mark.parametrize(
    "matter",
    [
        "# a comment\nsecretkey: zebra",
        "\nsecretkey: zebra",
        "이름: 수도\nsecretkey: zebra",
        "ชื่อเรื่อง: ประปา\nsecretkey: zebra",
        '"quoted key": x\nsecretkey: zebra',
        "summary: |\n  zebra\n  stripes\nnested:\n  secretkey: zebra",
    ],
)
def test_front_matter_in_odd_forms_enters_no_block(matter: str) -> None:
    assert [b.text for b in blocks(f"---\n{matter}\n---\nbody\n")] == ["body"]


def test_title_that_stands_below_its_key_is_read() -> None:
    [metadata, _] = read("---\ntitle: >-\n  Water\n  cuts\ntags: a\n---\nbody\n")
    assert isinstance(metadata, Metadata)
    assert (metadata.title, metadata.tags) == ("Water cuts", ("a",))


def test_rule_at_the_start_is_no_front_matter() -> None:
    assert [b.text for b in blocks("---\n\ntext\n\n---\n\nmore\n")] == ["text", "more"]


def test_first_top_heading_is_the_title_where_front_matter_has_none() -> None:
    titles = [
        item.title for item in read("## sub\n\n# 회의록\n\n# two\n") if isinstance(item, Metadata)
    ]
    assert titles == [None, "회의록"]


def test_long_paragraph_is_cut_and_memory_bounded() -> None:
    found = blocks("word word word word\n" * 10_000)
    assert len(found) > 4
    assert max(len(block.text) for block in found) <= limits.PARAGRAPH_CHARS + 100


def test_note_of_front_matter_alone_is_found_by_its_names() -> None:
    [block] = blocks("---\ntitle: 단수 안내\ntags: [물]\n---\n")
    assert block.text == "단수 안내, 물"


def test_white_space_alone_is_empty() -> None:
    with pytest.raises(Unread) as refused:
        read(" \n\n")
    assert refused.value.code == "empty"
