"""The embedding process: a cold question, and bulk.

The baseline of a cold question is a worker as one would write it: sentencepiece, the same network
in one file with its weights inline, a default session, an ordinary Python. The baseline of bulk is
the bare sessions on the same tokens, a thread per core. Needs the embedded model
(`python3 semantic_worker.py --install`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import Ratio
from helpers import config
from helpers.errors import ConfigError
from helpers.limits import SEMANTIC_THREADS
from helpers.semantic import client, model
from helpers.semantic.protobuf import block, fields, number

QUESTION = "How many days of paid leave does a new employee get?"
CHUNKS = 48  # chunks of a bulk run
GRAPH, TENSOR, EXTERNAL, RAW = 7, 5, 13, 9  # fields of ONNX's messages
PLAIN = """
import sys, json
import numpy as np, onnxruntime as ort, sentencepiece as spm
folder, text = sys.argv[1:]
pieces = spm.SentencePieceProcessor(model_file=folder + "/sentencepiece.model")
session = ort.InferenceSession(folder + "/inline.onnx")
ids = [0] + [p + 1 if p else 3 for p in pieces.encode("query: " + text)] + [2]
row = np.array([ids], np.int64)
feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
vector = session.run(["last_hidden_state"], feed)[0][0].mean(axis=0)
vector /= np.linalg.norm(vector)
sys.stdout.buffer.write(vector.astype("<f4").tobytes())
"""


def cold(repeats: int = 9) -> list[Ratio]:
    """From the start of a process to the vector of one question, process end included."""
    settings, found = _model()
    assert found.description is not None
    ours: list[float] = []
    plain: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _inline(found.description, folder)
        for _ in range(repeats):  # in turn, so that a busy moment meets both
            plain.append(_plain(folder))
            ours.append(_ours(settings, found))
    return [Ratio("cold question", sorted(ours)[1], sorted(plain)[1], "s", 0.35)]


def _ours(settings: config.Settings, found: client.ModelStatus) -> float:
    begun = time.perf_counter()
    with client.Worker(settings, found, linger=0) as worker:
        worker.embed_query(QUESTION)
        return time.perf_counter() - begun


def _plain(folder: Path) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-c", PLAIN, str(folder), QUESTION]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        vector = process.stdout.read(4 * model.DIMENSION)
        seconds = time.perf_counter() - begun
    assert len(vector) == 4 * model.DIMENSION
    return seconds


def _inline(described: model.Description, folder: Path) -> None:
    """The same network as one file, its tensors inside."""
    weights = described.files["weights"].read_bytes()
    whole = b""
    for field, value in fields(described.files["onnx"].read_bytes()):
        if field == GRAPH and not isinstance(value, int):
            inner = [(f, v) for f, v in fields(value) if not isinstance(v, int)]
            tensors = (_filled(v, weights) if f == TENSOR else bytes(v) for f, v in inner)
            graph = [block(f, v) for (f, _), v in zip(inner, tensors, strict=True)]
            whole += block(field, b"".join(graph))
        else:
            whole += number(field, value) if isinstance(value, int) else block(field, bytes(value))
    (folder / "inline.onnx").write_bytes(whole)
    os.symlink(described.files["sentencepiece"], folder / "sentencepiece.model")


def _filled(tensor: memoryview, weights: bytes) -> bytes:
    """A tensor whose data lay in `weights`, with its data inside."""
    kept, where = b"", {}
    for field, value in fields(tensor):
        if field == EXTERNAL and not isinstance(value, int):
            key, text = (bytes(v).decode() for _, v in fields(value) if not isinstance(v, int))
            where[key] = text
        elif isinstance(value, int):
            kept += number(field, value) if field != EXTERNAL + 1 else b""
        else:
            kept += block(field, bytes(value))
    if not where:
        return kept
    begin, size = int(where["offset"]), int(where["length"])
    return kept + block(RAW, weights[begin : begin + size])


def bulk(repeats: int = 3) -> list[Ratio]:
    """Seconds for the same chunks: through the process, and the bare sessions on their tokens."""
    settings, found = _model()
    chunks = list(_chunks())
    ours: list[float] = []
    bare: list[float] = []
    tokens = _tokens(found, chunks)
    run = _bare(found)
    with client.Worker(settings, found, linger=60) as worker:
        list(worker.embed_chunks(chunks[:2]))
        run(tokens[:2])
        for _ in range(repeats):
            bare.append(run(tokens))
            begun = time.perf_counter()
            embedded = list(worker.embed_chunks(chunks))
            ours.append(time.perf_counter() - begun)
            assert sum(entry.children for entry in embedded) == len(tokens)
    return [Ratio("bulk embedding", min(ours), min(bare), "s", 1 / 0.85)]


def _bare(found: client.ModelStatus) -> Callable[[list[list[int]]], float]:
    import numpy
    import onnxruntime

    assert found.description is not None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    threads = min(len(os.sched_getaffinity(0)), SEMANTIC_THREADS)
    path = str(found.description.files["onnx"])
    sessions = [
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for _ in range(threads)
    ]

    def part(job: tuple[int, list[list[int]]]) -> None:
        for ids in job[1][job[0] :: threads]:
            row = numpy.array([ids], numpy.int64)
            feed = {"input_ids": row, "attention_mask": numpy.ones_like(row)}
            sessions[job[0]].run(None, feed | {"token_type_ids": numpy.zeros_like(row)})

    def run(tokens: list[list[int]]) -> float:
        begun = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, [(place, tokens) for place in range(threads)]))
        return time.perf_counter() - begun

    return run


def _tokens(found: client.ModelStatus, chunks: list[tuple[str, str]]) -> list[list[int]]:
    from helpers.semantic.encoder import BulkEncoder, Plan

    described = found.description
    assert described is not None
    plan = Plan(
        str(described.files["onnx"]),
        str(described.files["sentencepiece"]),
        str(described.files["table"]),
        described.dimension,
        described.max_tokens,
        described.query_prefix,
        described.passage_prefix,
        described.pooling,
    )
    encoder = BulkEncoder(plan, 1)
    return [ids for context, text in chunks for ids in encoder.children(context, text, len(text))]


def _chunks() -> Iterator[tuple[str, str]]:
    """Chunks of about 900 characters made of the calibration's passages, none twice."""
    path = config.PROJECT / "helpers" / "semantic" / "data" / "background.json"
    passages = json.loads(path.read_text(encoding="utf-8"))["passages"]
    for place in range(CHUNKS):
        turned = passages[place % len(passages) :] + passages[: place % len(passages)]
        yield f"Part {place}", f"{place}. " + " ".join(turned)[:900]


def _model() -> tuple[config.Settings, client.ModelStatus]:
    settings = config.resolve(argparse.Namespace(data_dir=tempfile.gettempdir() + "/ragdoc-bench"))
    found = client.status(settings)
    if not found.ready:
        raise ConfigError(found.reason, found.remedy)
    return settings, found
