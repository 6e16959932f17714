"""The int8 ONNX graph of a BERT-like encoder, made from the packed four-bit model.

Measured choices: activations are quantised with one scale per token and weights to seven bits
(no saturation in the CPU's 8-bit products), which keeps the cosine to the source at .998 or more
and makes a text's vector independent of its neighbours in a batch; attention, layer norms and
GELU are onnxruntime's fused operators, so no optimisation is needed when the graph is loaded; the
embedding table stays in four bits, exactly.

Inputs `input_ids`, `attention_mask`, `token_type_ids` (batch, seq) int64; output
`last_hidden_state` (batch, seq, hidden) float32: as sentence-transformers exports have them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from helpers.semantic.e5_bundle import Bundle
from helpers.semantic.onnx_file import FLOAT, INT4, INT32, INT64, MICROSOFT, Graph

WEIGHT_STEPS = 63  # largest quantised weight: seven bits with sign
ACTIVATION_STEPS = 127
ZERO = 128  # of unsigned activations
BLOCK = 32  # embedding values that share a scale


def write(bundle: Bundle, path: Path) -> None:
    """Write the graph of `bundle` to `path` and `path`.data. Raises ConfigError, OSError."""
    builder = _Builder(bundle)
    builder.build()
    builder.graph.write(path)


class _Builder:
    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.shape = bundle.shape
        self.graph = Graph("encoder")

    def build(self) -> None:
        graph, hidden = self.graph, self.shape.hidden
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            graph.input(name, INT64, ["batch", "seq"])
        hidden_state = self._embeddings()
        self._shared_values()
        mask = graph.node("Cast", ["attention_mask"], to=INT32)
        for layer in range(self.shape.layers):
            hidden_state = self._layer(f"l{layer}.", hidden_state, mask)
        graph.node("Identity", [hidden_state], output="last_hidden_state")
        graph.output("last_hidden_state", FLOAT, ["batch", "seq", hidden])

    def _embeddings(self) -> str:
        graph, bundle, hidden = self.graph, self.bundle, self.shape.hidden
        scales, values = bundle.packed("emb.word", hidden)
        signed = np.bitwise_xor(values, np.uint8(8))  # an offset of eight to two's complement
        pairs = signed[:, 0::2] | signed[:, 1::2] << 4
        table = graph.constant("words", pairs, INT4, values.shape)
        words = graph.node(
            "GatherBlockQuantized",
            [table, "input_ids", graph.constant("words.scale", scales)],
            domain=MICROSOFT,
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
        )
        words = graph.node("Cast", [words], to=FLOAT)
        types = bundle.floats("emb.type").reshape(self.shape.types, hidden)
        kind = graph.node("Gather", [graph.constant("types", types), "token_type_ids"])
        places = bundle.floats("emb.pos").reshape(1, self.shape.positions, hidden)
        length = graph.node("Shape", ["input_ids"], start=1, end=2)
        bounds = [self._integers("0", 0), length, self._integers("1", 1)]
        place = graph.node("Slice", [graph.constant("places", places), *bounds])
        return self._norm(graph.node("Add", [words, kind]), place, "emb.ln")

    def _shared_values(self) -> None:
        """What every linear layer needs and only the input's shape decides."""
        graph = self.graph
        shape = graph.node("Shape", ["input_ids"])
        tokens = graph.node("ReduceProd", [shape], keepdims=1)
        zero = graph.constant("zero", np.array([ZERO], np.uint8))
        graph.node("Expand", [zero, tokens], output="zeros")
        for size in (self.shape.hidden, self.shape.inner):
            graph.node("Concat", [shape, self._integers(str(size), size)], f"by{size}", axis=0)

    def _layer(self, name: str, x: str, mask: str) -> str:
        graph, hidden = self.graph, self.shape.hidden
        parts = [f"{name}{letter}" for letter in "qkv"]
        joined = self._linear(x, f"{name}qkv", parts, hidden)
        sizes = self._integers("split", hidden, hidden, hidden)
        query, key, value = graph.nodes("Split", [joined, sizes], 3, axis=-1)
        bias = np.concatenate([self.bundle.floats(f"{part}.b") for part in parts])
        inputs = [query, key, value, graph.constant(f"{name}qkv.b", bias), mask]
        heads = self.shape.heads
        seen = graph.node("MultiHeadAttention", inputs, domain=MICROSOFT, num_heads=heads)
        x = self._joined(seen, x, f"{name}ao", f"{name}aln", hidden)
        inner = self._linear(x, f"{name}fi", [f"{name}fi"], hidden)
        inner_bias = graph.constant(f"{name}fi.b", self.bundle.floats(f"{name}fi.b"))
        inner = graph.node("BiasGelu", [inner, inner_bias], domain=MICROSOFT)
        return self._joined(inner, x, f"{name}fo", f"{name}oln", self.shape.inner)

    def _joined(self, x: str, skip: str, layer: str, norm: str, inputs: int) -> str:
        """A linear layer, its bias, the skip connection and the norm."""
        return self._norm(self._linear(x, layer, [layer], inputs), skip, norm, f"{layer}.b")

    def _norm(self, x: str, skip: str, name: str, bias: str = "") -> str:
        graph, floats = self.graph, self.bundle.floats
        inputs = [x, skip]
        for tensor in (f"{name}.w", f"{name}.b", *([bias] if bias else [])):
            inputs.append(graph.constant(tensor, floats(tensor)))
        epsilon = float(self.shape.epsilon)
        return graph.node("SkipLayerNormalization", inputs, domain=MICROSOFT, epsilon=epsilon)

    def _linear(self, x: str, name: str, tensors: list[str], inputs: int) -> str:
        """`x` times the tensors side by side, without bias, in eight bits."""
        graph = self.graph
        weights = np.concatenate([self.bundle.weights(f"{t}.w", inputs) for t in tensors])
        quantised, scales = _seven_bits(weights)
        largest = graph.node("ReduceMax", [graph.node("Abs", [x]), self._integers("-1", -1)])
        step = graph.constant("step", np.float32(1 / ACTIVATION_STEPS))
        token_scale = graph.node("Mul", [largest, step])
        minus_one = self._integers("-1", -1)
        rows = graph.node("Reshape", [x, self._integers(f"rows{inputs}", -1, inputs)])
        row_scales = graph.node("Reshape", [token_scale, minus_one])
        rows = graph.node("QuantizeLinear", [rows, row_scales, "zeros"], axis=0)
        product = graph.node(
            "MatMulIntegerToFloat",
            [
                graph.node("Reshape", [rows, f"by{inputs}"]),
                graph.constant(f"{name}.q", quantised),
                graph.constant("one", np.float32(1)),
                graph.constant(f"{name}.s", scales),
                graph.constant("zero point", np.full((), ZERO, np.uint8)),
                graph.constant(f"{name}.z", np.zeros(len(scales), np.int8)),
            ],
            domain=MICROSOFT,
        )
        return graph.node("Mul", [product, token_scale])

    def _integers(self, name: str, *values: int) -> str:
        return self.graph.constant(f"i{name}", np.array(values, np.int64))


def _seven_bits(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights (inputs, outputs) in -63..63 and a scale per output."""
    scales = np.abs(weights).max(axis=1) / WEIGHT_STEPS
    scales[scales == 0] = 1
    steps = np.rint(weights / scales[:, None]).clip(-WEIGHT_STEPS, WEIGHT_STEPS)
    return np.ascontiguousarray(steps.T.astype(np.int8)), scales.astype(np.float32)
