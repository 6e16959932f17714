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
