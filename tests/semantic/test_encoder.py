"""The model's session: what it may give, and what is said where it gives something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.errors import ConfigError
from helpers.semantic import client, encoder

Given = Callable[[int], Any]


class Session:
    """A session that gives the same for every text; `given` takes the number of tokens."""

    def __init__(self, given: Given) -> None:
        self.given = given

    def run(self, _: list[str], feed: dict[str, Any]) -> list[Any]:
        return [np.array([self.given(feed["input_ids"].shape[1])], np.float32)]


@pytest.fixture
def network(tiny_status: client.ModelStatus) -> encoder.Network:
    described = tiny_status.description
    assert described is not None
    files = {role: str(described.files[role]) for role in ("onnx", "sentencepiece", "table")}
    plan = encoder.Plan(
        **files, dimension=384, max_tokens=128, query_prefix="", passage_prefix="", pooling="mean"
    )
    return encoder.Network(plan, bulk=False)


def test_tokens_are_averaged_and_the_vector_is_of_length_one(network: encoder.Network) -> None:
    network._session = Session(lambda tokens: [[float(n)] * 384 for n in range(tokens)])
    found = network.run([0, 5, 6, 2])
    assert np.allclose(found, 384**-0.5) and found.dtype == np.float32


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "no vector for this text"),
        (np.inf, "no vector for this text"),
        (0.0, "no vector for this text"),
    ],
)
def test_numbers_that_have_no_direction_are_no_vector(
    network: encoder.Network, value: float, said: str
) -> None:
    network._session = Session(lambda tokens: [[value] * 384] * tokens)
    with pytest.raises(ConfigError, match=said):
        network.run([0, 5, 2])


def test_another_number_of_numbers_is_told(network: encoder.Network) -> None:
    network._session = Session(lambda tokens: [[1.0] * 12] * tokens)
    with pytest.raises(ConfigError, match="gives 12 numbers per text, 384 are needed"):
        network.run([0, 5, 2])


def test_a_model_that_is_missing_is_told(network: encoder.Network, tmp_path: Path) -> None:
    import dataclasses

    plan = dataclasses.replace(network._plan, onnx=str(tmp_path / "none.onnx"))
    with pytest.raises(ConfigError, match=r"none\.onnx"):
        encoder.Network(plan, bulk=False)


def encoders(
    found: client.ModelStatus, **values: Any
) -> tuple[encoder.QueryEncoder, encoder.BulkEncoder]:
    described = found.description
    assert described is not None
    roles = ("onnx", "sentencepiece", "table")
    facts: dict[str, Any] = {role: str(described.files[role]) for role in roles}
    facts |= {"dimension": 384, "max_tokens": 128, "pooling": "mean"}
    facts |= {"query_prefix": "", "passage_prefix": ""}
    plan = encoder.Plan(**facts | values)
    return encoder.QueryEncoder(plan), encoder.BulkEncoder(plan, 1)


def test_no_text_is_longer_than_the_model_takes(tiny_status: client.ModelStatus) -> None:
    ask, bulk = encoders(tiny_status, max_tokens=40, passage_prefix="passage: ")
    lengths: list[int] = []

    def given(tokens: int) -> list[list[float]]:
        lengths.append(tokens)
        return [[1.0] * 384] * tokens

    ask._network._session = Session(given)
    ask.embed("water " * 100)
    assert lengths == [40]
    assert len(bulk.question_ids("water " * 100)) == 40
    children = bulk.children("a title of many words " * 20, "water " * 300, 1_800)
    assert len(children) > 1 and max(map(len, children)) == 40
    assert {(ids[0], ids[-1]) for ids in children} == {(0, 2)}


def test_a_context_is_kept_from_its_beginning(tiny_status: client.ModelStatus) -> None:
    _, bulk = encoders(tiny_status, max_tokens=512)
    (short,) = bulk.children("First words", "water", 5)
    (long,) = bulk.children("First words " + "and many others " * 100, "water", 5)
    begin = len(bulk.question_ids("First words")) - 1
    assert long[:begin] == short[:begin]


def test_the_first_token_stands_for_the_text_where_the_model_says_so(
    tiny_status: client.ModelStatus,
) -> None:
    ask, _ = encoders(tiny_status, pooling="cls")
    rows = np.eye(384, dtype=np.float32)
    ask._network._session = Session(lambda tokens: rows[:tokens])
    assert ask.embed("water and salt").tolist() == rows[0].tolist()
