"""Values keep the keys that lead to them; what is broken is read as text and said to be."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import limits
from helpers.errors import Unread
from helpers.extract import structured
from helpers.extract.blocks import Block, Context, Item, Notice


def read(text: str, name: str) -> list[Item]:
    data = text.encode()
    return list(structured.read(io.BytesIO(data), Context(name, len(data))))


def found(text: str, name: str) -> list[tuple[str, str]]:
    """(location label, text) of each block."""
    blocks = [item for item in read(text, name) if isinstance(item, Block)]
    return [(block.location.label if block.location else "", block.text) for block in blocks]


def codes(text: str, name: str) -> list[str]:
    return [item.code for item in read(text, name) if isinstance(item, Notice)]


def test_json_leaves_carry_their_key_path() -> None:
    value = {
        "name": "서울",
        "tags": ["a", "b"],
        "users": [{"id": 1, "address": {"city": "กรุงเทพ"}}, {"id": 2}],
        "open": True,
    }
    assert found(json.dumps(value), "a.json") == [
        ("top", "name: 서울\ntags: a, b"),
        ("users[0]", "id: 1\naddress.city: กรุงเทพ"),
        ("users[1]", "id: 2"),
        ("top", "open: true"),
    ]


def test_nested_lists_are_walked() -> None:
    assert found("[[1, 2], [[3]]]", "a.json") == [("[0]", "1, 2"), ("[1][0]", "3")]


def test_long_list_of_texts_is_not_put_on_one_line() -> None:
    texts = [f"sentence number {i}, long enough to stand alone" for i in range(20)]
    assert [text for _, text in found(json.dumps(texts), "a.json")] == texts


@pytest.mark.parametrize("depth", [600, 100_000])
def test_deep_nesting_is_a_limit_and_no_crash(depth: int) -> None:
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        with pytest.raises(Unread) as refused:
            read(text, "a.json")
        assert refused.value.code == "limit_reached"
        assert f"{depth:,} > {limits.JSON_DEPTH:,} levels" in refused.value.reason


def test_nesting_within_the_limit_is_read() -> None:
    depth = limits.JSON_DEPTH
    assert found("[" * depth + "7" + "]" * depth, "a.json")[0][1] == "7"


def test_brackets_in_strings_are_no_nesting() -> None:
    assert structured.json_depth('{"a": "[[[\\"[[", "b": [1]}') == 2


@pytest.mark.parametrize("text", ['{"a": 1,}', "// comment\n{}", "{'a': 1}", '{"a": "x'])
def test_broken_json_is_read_as_text_and_said_to_be(text: str) -> None:
    assert found(text, "a.json")[0][1] == text
    assert codes(text, "a.json") == ["read_as_text"]


def test_large_json_is_streamed_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JSON_TREE_BYTES", 100)
    text = json.dumps({"key": "value " * 50})
    assert "value value" in found(text, "a.json")[0][1]
    assert codes(text, "a.json") == ["read_as_text"]


def test_json_lines_are_records_with_their_line() -> None:
    text = '{"a": 1, "t": "물"}\n\nbroken\n{"b": {"c": "x"}}\n'
    assert found(text, "a.jsonl") == [
        ("line 1", "a: 1\nt: 물"),
        ("line 3", "broken"),
        ("line 4", "b.c: x"),
    ]
    assert codes(text, "a.jsonl") == ["read_as_text"]


def test_json_line_nested_too_deep_is_read_as_text() -> None:
    assert codes("[" * 100_000 + "\n", "a.jsonl") == ["read_as_text"]


def test_yaml_sections_keep_their_lines_and_know_their_key() -> None:
    text = (
        "# note\nname: test\ndb:\n  host: localhost # main\n  users:\n    - name: 김\nlist:\n- a\n"
    )
    assert found(text, "a.yaml") == [
        ("line 1", "# note"),
        ("name", "name: test"),
        ("db", "db:\n  host: localhost # main\n  users:\n    - name: 김"),
        ("list", "list:\n- a"),
    ]


def test_long_yaml_section_is_parted_under_its_key_path() -> None:
    text = "db:\n" + "".join(f"  host{i}:\n    note: {'word ' * 20}\n" for i in range(60))
    labels = [label for label, _ in found(text, "a.yml")]
    assert labels[0] == "db" and len(labels) > 3
    assert all(label.startswith("db > host") for label in labels[1:])


def test_toml_tables_are_sections() -> None:
    text = (
        'title = "x"\n\n[server.main]\nport = 1\ntext = """\n[not a table]\n"""\n'
        '[[hosts]]\nname = "a"\n'
    )
    assert found(text, "a.toml") == [
        ("line 1", 'title = "x"'),
        ("server > main", '[server.main]\nport = 1\ntext = """\n[not a table]\n"""'),
        ("hosts", '[[hosts]]\nname = "a"'),
    ]


@pytest.mark.parametrize(
    ("text", "name"), [(" \n", "a.json"), ("\n", "a.yaml"), (" ", "a.toml"), ("\n", "a.jsonl")]
)
def test_white_space_alone_is_empty(text: str, name: str) -> None:
    with pytest.raises(Unread) as refused:
        read(text, name)
    assert refused.value.code == "empty"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=30,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from(["a.json", "a.jsonl"]))
def test_any_json_value_is_read(value: object, name: str) -> None:
    try:
        assert read(json.dumps(value), name)
    except Unread as refused:
        assert refused.code == "empty"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["a.json", "a.jsonl", "a.yaml", "a.toml"]))
def test_any_text_is_read_or_refused(text: str, name: str) -> None:
    try:
        assert read(text.encode("utf-8", "ignore").decode(), name)
    except Unread as refused:
        assert refused.code in ("empty", "corrupt")
