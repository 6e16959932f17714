"""Writing ONNX files with external weights, and reading what a model takes and gives.

Promises: written with the standard library and numpy's bytes alone; large tensors lie in
`NAME.data` beside the model, aligned for mapping, so that opening a model reads almost nothing.
Does not: check a graph; onnxruntime does when it loads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.semantic.protobuf import block, number, real, text, varint

FLOAT, UINT8, INT8, INT32, INT64, FLOAT16, INT4 = 1, 2, 3, 6, 7, 10, 22
OF_DTYPE = {"f4": FLOAT, "u1": UINT8, "i1": INT8, "i4": INT32, "i8": INT64, "f2": FLOAT16}
MICROSOFT = "com.microsoft"
OPSET, MICROSOFT_OPSET, IR_VERSION = 18, 1, 10
EXTERNAL_BYTES = 1024  # bytes from which a tensor lies outside
PAGE_ALIGNED_BYTES = 65_536  # bytes from which it begins on a page of its own
PAGE, LINE = 4_096, 64
ATTRIBUTE_FLOAT, ATTRIBUTE_INT = 1, 2

Values = Sequence[str]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant: `element` is ONNX's type, `shape` its own where bytes hold packed values."""

    values: NDArray[Any]
    element: int
    shape: tuple[int, ...]


class Graph:
    """A graph under construction; `write` ends it. A value is named by a string."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._constants: dict[str, Tensor] = {}

    def input(self, name: str, element: int, shape: Sequence[str | int]) -> str:
        """Declare an input."""
        self._inputs.append(_value_info(name, element, shape))
        return name

    def output(self, name: str, element: int, shape: Sequence[str | int]) -> str:
        """Declare an output."""
        self._outputs.append(_value_info(name, element, shape))
        return name

    def constant(
        self,
        name: str,
        values: Any,
        element: int | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> str:
        """A constant, kept once per name."""
        if name not in self._constants:
            array = np.asarray(values, order="C")
            found = OF_DTYPE[array.dtype.str[1:]] if element is None else element
            self._constants[name] = Tensor(array, found, array.shape if shape is None else shape)
        return name

    def node(
        self,
        operator: str,
        inputs: Values,
        output: str = "",
        domain: str = "",
        **attributes: int | float,
    ) -> str:
        """One operator with one output; returns the output's name."""
        return self.nodes(operator, inputs, [output] if output else 1, domain, **attributes)[0]

    def nodes(
        self,
        operator: str,
        inputs: Values,
        outputs: Values | int,
        domain: str = "",
        **attributes: int | float,
    ) -> list[str]:
        """One operator with several outputs, named or counted."""
        serial = len(self._nodes)
        if isinstance(outputs, int):
            outputs = [f"v{serial}_{place}" for place in range(outputs)]
        message = b"".join(text(1, name) for name in inputs)
        message += b"".join(text(2, name) for name in outputs)
        message += text(3, f"n{serial}") + text(4, operator)
        message += b"".join(block(5, _attribute(key, v)) for key, v in attributes.items())
        self._nodes.append(message + (text(7, domain) if domain else b""))
        return list(outputs)

    def write(self, path: Path, notes: Mapping[str, str] | None = None) -> None:
        """Write `path` and `path`.data. Raises OSError."""
        data_name = f"{path.name}.data"
        with open(path.with_name(data_name), "wb") as data:
            constants = [
                block(5, _tensor(name, tensor, data, data_name))
                for name, tensor in self._constants.items()
            ]
        path.write_bytes(self._model(constants, notes or {}))

    def model(self) -> bytes:
        """The whole model, of a graph without constants."""
        assert not self._constants
        return self._model([], {})

    def _model(self, constants: Sequence[bytes], notes: Mapping[str, str]) -> bytes:
        graph = b"".join(block(1, node) for node in self._nodes) + text(2, self.name)
        graph += b"".join(constants)
        graph += b"".join(block(11, value) for value in self._inputs)
        graph += b"".join(block(12, value) for value in self._outputs)
        model = number(1, IR_VERSION) + text(2, "ragdoc") + block(7, graph)
        model += block(8, text(1, "") + number(2, OPSET))
        model += block(8, text(1, MICROSOFT) + number(2, MICROSOFT_OPSET))
        for key, value in notes.items():
            model += block(14, text(1, key) + text(2, value))
        return model


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, float):
        return text(1, name) + real(2, value) + number(20, ATTRIBUTE_FLOAT)
    return text(1, name) + number(3, value) + number(20, ATTRIBUTE_INT)


def _value_info(name: str, element: int, shape: Sequence[str | int]) -> bytes:
    sides = b"".join(
        block(1, text(2, side) if isinstance(side, str) else number(1, side)) for side in shape
    )
    return text(1, name) + block(2, block(1, number(1, element) + block(2, sides)))


def _tensor(name: str, tensor: Tensor, data: Any, data_name: str) -> bytes:
    raw = tensor.values.tobytes()
    message = b"".join(number(1, side) for side in tensor.shape)
    message += number(2, tensor.element) + text(8, name)
    if len(raw) < EXTERNAL_BYTES:
        return message + block(9, raw)
    data.write(b"\0" * (-data.tell() % (PAGE if len(raw) >= PAGE_ALIGNED_BYTES else LINE)))
    where = {"location": data_name, "offset": str(data.tell()), "length": str(len(raw))}
    data.write(raw)
    for key, value in where.items():
        message += block(13, text(1, key) + text(2, value))
    return message + varint(14 << 3) + varint(1)
