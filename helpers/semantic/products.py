"""The sums of products of one question's weights with all codes, exact in integers.

onnxruntime, which is here for the model's sake, multiplies bytes as they are: 12 ms for 1,000,000
columns of 384 on two cores, where numpy takes 140 on one to widen them to float32 first. Where it
cannot be had, or does not count right on this processor, numpy does the same.

Promises: both ways give the same sums.
Does not: know what is multiplied, or round.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.semantic.onnx_file import INT8, INT32, UINT8, Graph

if TYPE_CHECKING:  # numpy.typing alone takes 7 ms to import
    from numpy.typing import NDArray

    Weights = NDArray[np.uint8]
    Codes = NDArray[np.int8]
    Sums = NDArray[np.int32]

# Of weights 0 to 127 and codes -127 to 127 two products fit into 16 bits: many processors add
# pairs there, and saturate.
LARGEST = 127
THREADS_MAX = 2  # memory is not read quicker by more
WIDE_COLUMNS = 1_024  # widened at a time: they stay in the cache
EXACT_FLOAT32 = 2**24  # integers up to here are float32 as they are

Product = Callable[["Weights", "Codes"], "Sums"]  # (d,) and (d, n) to (n,)


def quickest() -> Product:
    """onnxruntime's product where there is one that counts right, else numpy's."""
    try:
        product = _of_onnxruntime()
        right = _counts_right(product)
    except Exception:  # an import, or whatever onnxruntime raises: the other way is as good
        return widened
    return product if right else widened


def widened(weights: Weights, codes: Codes) -> Sums:
    """numpy's product, by way of floats that hold every sum exactly."""
    exact = len(weights) * LARGEST * LARGEST < EXACT_FLOAT32
    wide = np.float32 if exact else np.float64
    row, count = weights.astype(wide), codes.shape[1]
    sums = np.empty(count, np.int32)
    for start in range(0, count, WIDE_COLUMNS):
        part = codes[:, start : start + WIDE_COLUMNS].astype(wide)
        sums[start : start + WIDE_COLUMNS] = row @ part
    return sums


def _of_onnxruntime() -> Product:
    from helpers.semantic import sessions

    graph = Graph("products")
    graph.input("weights", UINT8, [1, "size"])
    graph.input("codes", INT8, ["size", "count"])
    graph.node("MatMulInteger", ["weights", "codes"], output="sums")
    graph.output("sums", INT32, [1, "count"])
    options = sessions.options(min(THREADS_MAX, os.cpu_count() or 1))
    options.enable_cpu_mem_arena = False  # the sums are no memory to keep
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = sessions.opened(graph.model(), options)

    def product(weights: Weights, codes: Codes) -> Sums:
        sums: Any = session.run(None, {"weights": weights[np.newaxis], "codes": codes})
        return np.asarray(sums[0][0])

    return product


def _counts_right(product: Product) -> bool:
    """Whether sums come out exact where they are largest, and at odd sizes."""
    codes = np.empty((67, 131), np.int8)
    codes[:] = np.where(np.arange(131) % 3, LARGEST, -LARGEST)
    weights = np.full(67, LARGEST, np.uint8)
    return bool((product(weights, codes) == widened(weights, codes)).all())
