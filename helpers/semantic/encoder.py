"""Running the model: token ids in, unit vectors out. Used inside the embedding process alone.

Measured choices: one text per run (batching buys nothing on a CPU, and a per-tensor quantised
export would let texts in a batch change each other); one thread per run, a run per core; for a
question no prepacking and no graph optimisation, which would take longer than the question;
for bulk both, and sentencepiece instead of the instant tokenizer.

Promises: vectors have length 1; a text that yields none (no number, or infinite) raises
ConfigError; a text longer than the model takes is cut at its limit.
Does not: read frames, know chunks by id, or look for models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.errors import ConfigError, limit_reached
from helpers.limits import CHILD_CONTEXT_TOKENS, CHILD_TOKENS, SEMANTIC_TEXT_CHARS
from helpers.semantic import children, sessions
from helpers.semantic.tokenizer import BEGIN_ID, END_ID, MARK, Tokenizer, model_ids

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
POOLED_OUTPUT = "sentence_embedding"
OTHER = "Give an ONNX export of a sentence-transformers model, or install the default."

Vector = NDArray[np.float32]
Chunk = tuple[str, str, int]  # context, text, the text's length


@dataclass(frozen=True, slots=True)
class Plan:
    """What an encoder is made of; paths as text."""

    onnx: str
    sentencepiece: str
    table: str
    dimension: int
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    pooling: str


class Network:
    """One loaded ONNX file; `run` may be called from several threads."""

    def __init__(self, plan: Plan, bulk: bool) -> None:
        """Raises ConfigError where the file cannot be loaded or takes or gives something else."""
        try:
            self._session = sessions.opened(plan.onnx, sessions.options(hasty=not bulk))
        except Exception as error:  # onnxruntime's own classes differ between versions
            raise ConfigError(
                f"{plan.onnx} cannot be loaded: {_first_line(error)}", OTHER
            ) from error
        self._inputs = [value.name for value in self._session.get_inputs()]
        unknown = set(self._inputs) - set(INPUTS)
        if unknown or "input_ids" not in self._inputs:
            raise ConfigError(f"{plan.onnx} takes {', '.join(self._inputs)}", OTHER)
        self._plan = plan
        self._output = self._choose([value.name for value in self._session.get_outputs()])

    def _choose(self, outputs: Sequence[str]) -> str:
        known = (POOLED_OUTPUT,) if self._plan.pooling == "none" else TOKEN_OUTPUTS
        found = next((name for name in known if name in outputs), None)
        if found is None:
            raise ConfigError(f"{self._plan.onnx} gives {', '.join(outputs)}", OTHER)
        return found

    def run(self, ids: Sequence[int]) -> Vector:
        """The unit vector of these ids (with begin and end). Raises ConfigError."""
        row = np.array([ids], np.int64)
        values = {"input_ids": row, "attention_mask": np.ones_like(row)}
        values["token_type_ids"] = np.zeros_like(row)
        feed = {name: values[name] for name in self._inputs}
        try:
            output: Vector = self._session.run([self._output], feed)[0][0]
        except Exception as error:  # as above
            detail = _first_line(error)
            raise ConfigError(f"{self._plan.onnx} fails on a text: {detail}", OTHER) from error
        if self._plan.pooling == "mean":
            output = output.mean(axis=0)
        elif self._plan.pooling == "cls":
            output = output[0]
        return self._unit(output)

    def _unit(self, output: Vector) -> Vector:
        wanted = self._plan.dimension
        if output.shape != (wanted,):
            numbers = output.shape[-1] if output.ndim else 1
            raise ConfigError(
                f"{self._plan.onnx} gives {numbers} numbers per text, {wanted} are needed", OTHER
            )
        length = float(np.linalg.norm(output))
        if not np.isfinite(length) or length == 0:
            raise ConfigError("the model gives no vector for this text", OTHER)
        return (output / length).astype(np.float32)


class QueryEncoder:
    """Ready as fast as can be: for one question at a time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._network = Network(plan, bulk=False)
        self._tokenizer = Tokenizer(plan.table)

    def embed(self, text: str) -> Vector:
        """The vector of a question."""
        ids = self._tokenizer.ids(self._plan.query_prefix + text)
        return self._network.run([BEGIN_ID, *ids[: self._plan.max_tokens - 2], END_ID])


class BulkEncoder:
    """Many chunks, on `threads` cores."""

    def __init__(self, plan: Plan, threads: int) -> None:
        # Loaded for bulk alone: a question would wait for them.
        from concurrent.futures import ThreadPoolExecutor

        import sentencepiece

        self._plan = plan
        self._pieces: Any = sentencepiece.SentencePieceProcessor(model_file=plan.sentencepiece)
        count = self._pieces.get_piece_size()
        names = self._pieces.id_to_piece(list(range(count)))
        self._begins = [name.startswith(MARK) for name in names]
        self._network = Network(plan, bulk=True)
        self._pool = ThreadPoolExecutor(threads)
        self._prefix = model_ids(self._encode(plan.passage_prefix))
        room = plan.max_tokens - 2 - len(self._prefix) - CHILD_TOKENS
        self._context_room = max(0, min(CHILD_CONTEXT_TOKENS, room))

    def embed(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float16] | str]:
        """For each chunk its children's vectors, or why there are none."""
        plans: list[list[list[int]] | str] = []
        for chunk in chunks:
            plans.append(_tried(self.children, *chunk))
        flat = [ids for plan in plans if not isinstance(plan, str) for ids in plan]
        vectors = iter(list(self._pool.map(lambda ids: _tried(self._half, ids), flat)))
        found: list[NDArray[np.float16] | str] = []
        for plan in plans:
            if isinstance(plan, str):
                found.append(plan)
                continue
            rows = [next(vectors) for _ in plan]
            error = next((row for row in rows if isinstance(row, str)), None)
            found.append(
                np.stack([r for r in rows if not isinstance(r, str)]) if error is None else error
            )
        return found

    def children(self, context: str, text: str, size: int) -> list[list[int]]:
        """The ids of each child: prefix, context, window. Raises RagDocError where there are none.

        `size` is the text's length before it was cut on its way here.
        """
        if size > SEMANTIC_TEXT_CHARS:
            raise limit_reached(
                "the text of this chunk",
                size,
                SEMANTIC_TEXT_CHARS,
                "characters",
                "Keywords find it; to find it by meaning, split the document.",
            )
        body = self._encode(text)
        if not body:
            raise ConfigError("the text has no letter the model knows", "")
        before = self._encode(context)
        kept = children.context([self._begins[piece] for piece in before], self._context_room)
        head = [BEGIN_ID, *self._prefix, *model_ids(before[:kept])]
        room = self._plan.max_tokens - 1 - len(head)
        found = []
        for begin, end in children.windows([self._begins[piece] for piece in body]):
            found.append([*head, *model_ids(body[begin:end])[:room], END_ID])
        return found

    def question_ids(self, text: str) -> list[int]:
        """The ids of a question by sentencepiece, to compare with the instant table's."""
        ids = model_ids(self._encode(self._plan.query_prefix + text))
        return [BEGIN_ID, *ids[: self._plan.max_tokens - 2], END_ID]

    def run(self, ids: Sequence[int]) -> Vector:
        """The unit vector of these ids."""
        return self._network.run(ids)

    def _encode(self, text: str) -> list[int]:
        clean = text.encode("utf-8", "replace").decode()
        pieces: list[int] = self._pieces.encode(clean)
        return pieces

    def _half(self, ids: list[int]) -> NDArray[np.float16]:
        return self._network.run(ids).astype(np.float16)


def _tried(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` gives, or as text why it failed: one bad chunk never stops the others."""
    try:
        return work(*arguments)
    except Exception as error:
        return _first_line(error) or type(error).__name__


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
