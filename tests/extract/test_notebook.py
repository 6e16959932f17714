"""Notebooks: cells of both formats, outputs, pictures, damage."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from helpers.errors import Unread
from helpers.extract import formats, notebook
from helpers.extract.blocks import Block, Context, Item, Metadata
from helpers.limits import JSON_DEPTH, NOTEBOOK_BYTES
from tests.extract.test_office_mutations import damaged, outcome


def read(book: Any) -> list[Item]:
    data = book if isinstance(book, bytes) else json.dumps(book, ensure_ascii=False).encode()
    return list(notebook.read(io.BytesIO(data), Context("a.ipynb", len(data))))


def shapes(*cells: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in read({"cells": cells}) if isinstance(item, Block)]


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": [source], "outputs": outputs}


def shown(**data: str) -> dict[str, Any]:
    told = {f"text/{name}": text for name, text in data.items()}
    return {"output_type": "display_data", "data": {"image/png": "iVBO", **told}}


TEXT = {
    "cell_type": "markdown",
    "source": ["# 보고서\n", "\n", "첫 문단\n", "|a|b|\n", "|-|-|\n", "|1|2|"],
}


def test_cells_give_their_blocks_located_by_number() -> None:
    found = read({"cells": [TEXT, code("x = 1")], "nbformat": 4})
    assert [item.title for item in found if isinstance(item, Metadata)] == [None, "보고서"]
    blocks = [item for item in found if isinstance(item, Block)]
    assert [(block.kind, block.text) for block in blocks] == [
        ("heading", "보고서"),
        ("paragraph", "첫 문단"),
        ("table_header", "a | b"),
        ("table_row", "1 | 2"),
        ("code", "x = 1"),
    ]
    assert blocks[-1].location is not None
    assert blocks[-1].location.as_dict() == {"kind": "part", "label": "cell 2", "part": 2}


def test_outputs_give_the_form_that_reads_best() -> None:
    printed = {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m\n"]}
    failed = {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["no"]}
    assert shapes(code("f()", printed, failed)) == [
        ("code", "f()"),
        ("code", "red"),
        ("code", "KeyError: 'a'"),
    ]
    assert shapes(code("x", shown(plain="42", html="<b>42</b>")))[1:] == [("code", "42")]
    assert shapes(code("x", shown(plain="<Figure size 6x4>")))[1:] == []
    told = shown(plain="<IPython.core.display.HTML object>", html="<p>said</p>")
    assert shapes(code("x", told))[1:] == [("paragraph", "said")]
    assert shapes(code("x", shown(plain="<a.b object>", latex="$x^2$")))[1:] == [
        ("paragraph", "$x^2$")
    ]


def test_a_notebook_of_format_3_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "y", "outputs": [{"output_type": "pyout", "text": "7"}]},
    ]
    found = read({"worksheets": [{"cells": cells}], "nbformat": 3})
    assert [(i.kind, i.text) for i in found if isinstance(i, Block)] == [
        ("heading", "Old"),
        ("code", "y"),
        ("code", "7"),
    ]


def test_pictures_take_no_room() -> None:
    picture = ("iVBORw0KGgo/" * 6 + "AAA=\n") * (NOTEBOOK_BYTES // 70)
    data = json.dumps({"cells": [TEXT, code("x", {"data": {"image/png": picture}})]}).encode()
    assert len(data) > NOTEBOOK_BYTES
    assert len([item for item in read(data) if isinstance(item, Block)]) == 5


@pytest.mark.parametrize(
    ("data", "code_"),
    [
        (b"{", "corrupt"),
        (b"[]", "corrupt"),
        (b'{"a": 1}', "corrupt"),
        (b"\xff\xfe", "corrupt"),
        (b"[" * (JSON_DEPTH + 1), "limit_reached"),
        (b'{"cells": ["' + b"word " * (NOTEBOOK_BYTES // 5) + b'"]}', "limit_reached"),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, code_: str) -> None:
    with pytest.raises(Unread) as refused:
        read(data)
    assert refused.value.code == code_


def test_a_notebook_is_told_by_its_name() -> None:
    assert formats.detect(io.BytesIO(b'{"cells": []}'), "a.ipynb").name == "ipynb"


FIXTURE = json.dumps(
    {"cells": [TEXT, code("x", shown(plain="1")), {"cell_type": "raw", "source": "r"}]}
).encode()


def test_damage_gives_blocks_or_a_typed_error(points: Callable[[int, int], int]) -> None:
    chance = random.Random(3)
    found = {outcome("notebook", damaged(FIXTURE, chance)) for _ in range(points(200, 2_000))}
    assert found <= {"read", "corrupt", "limit_reached"}
