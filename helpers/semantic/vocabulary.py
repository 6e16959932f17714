"""XLM-R's vocabulary in each form it comes in, and as the two forms the worker needs.

Read from sentencepiece's model file, from a `tokenizer.json`, or from the packed bundle; written
as sentencepiece's model (for bulk) and as the instant table (for a question).

Promises: the standard library only; what is not XLM-R's unigram vocabulary raises ConfigError
that says what is the matter.
Does not: tokenize.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.errors import ConfigError
from helpers.limits import MODEL_NOTE_BYTES
from helpers.semantic import tokenizer
from helpers.semantic.protobuf import block, fields, number, real, text

CHARSMAP = Path(__file__).with_name("data") / "nmt_nfkc.xz"
CHARSMAP_SHA256 = "0942789e0111452f1cc446f70036e26d24458c3c7858c53cc12ca4d87531279b"
SPECIALS = (b"<unk>", b"<s>", b"</s>")  # sentencepiece's order
XLMR_SPECIALS = (b"<s>", b"<pad>", b"</s>", b"<unk>")  # XLM-R's order
XLMR_LAST = b"<mask>"
NORMAL, UNKNOWN, CONTROL = 1, 2, 3  # piece types of sentencepiece
UNIGRAM = 1
OTHER = "Use a model with XLM-R's tokenizer, such as paraphrase-multilingual-MiniLM-L12-v2."


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces and scores in sentencepiece's order (specials first), and its normaliser."""

    pieces: Sequence[bytes]
    scores: Sequence[float]
    charsmap: bytes

    def table(self) -> bytes:
        """The instant table."""
        return tokenizer.build(self.pieces, self.scores, self.charsmap)

    def sentencepiece(self) -> bytes:
        """sentencepiece's model file."""
        kinds = [UNKNOWN, CONTROL, CONTROL] + [NORMAL] * (len(self.pieces) - len(SPECIALS))
        out = bytearray()
        for piece, score, kind in zip(self.pieces, self.scores, kinds, strict=True):
            entry = block(1, piece) + real(2, score)
            out += block(1, entry + (number(3, kind) if kind != NORMAL else b""))
        ids = number(40, 0) + number(41, 1) + number(42, 2) + number(43, -1)
        out += block(2, number(3, UNIGRAM) + number(4, len(self.pieces)) + ids)
        out += block(3, text(1, "nmt_nfkc") + block(2, self.charsmap))
        return bytes(out)


def xlmr_charsmap() -> bytes:
    """XLM-R's normaliser, sentencepiece's compiled nmt_nfkc of 2019 (data/NOTICE)."""
    charsmap = lzma.decompress(CHARSMAP.read_bytes())
    if hashlib.sha256(charsmap).hexdigest() != CHARSMAP_SHA256:
        raise ConfigError(f"{CHARSMAP} is damaged", "Clone the project again.")
    return charsmap


def from_xlmr(pieces: Sequence[bytes], scores: Sequence[float], charsmap: bytes) -> Vocabulary:
    """A vocabulary given in XLM-R's own order. Raises ConfigError."""
    if tuple(pieces[:4]) != XLMR_SPECIALS or pieces[-1] != XLMR_LAST:
        raise ConfigError("The vocabulary is not XLM-R's", OTHER)
    plain = slice(len(XLMR_SPECIALS), -1)
    return Vocabulary([*SPECIALS, *pieces[plain]], [0.0] * 3 + list(scores[plain]), charsmap)


def read(path: Path) -> Vocabulary:
    """From a sentencepiece model or a tokenizer.json. Raises ConfigError, OSError."""
    size = path.stat().st_size
    if size > MODEL_NOTE_BYTES:
        raise ConfigError(f"{path} reached {size:,} > {MODEL_NOTE_BYTES:,} bytes", OTHER)
    data = path.read_bytes()
    try:
        return _from_json(data) if path.suffix == ".json" else _from_model(data)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ConfigError(f"{path} is no tokenizer that can be used: {error!r}", OTHER) from error


def _from_model(data: bytes) -> Vocabulary:
    pieces, scores, charsmap, kind = [], [], b"", UNIGRAM
    for field, value in fields(data):
        if isinstance(value, int):
            continue
        if field == 1:
            entry = dict(fields(value))
            pieces.append(bytes(_bytes(entry[1])))
            scores.append(memoryview(_bytes(entry.get(2, bytes(4)))).cast("f")[0])
        elif field == 2:
            kind = next((v for f, v in fields(value) if f == 3 and isinstance(v, int)), UNIGRAM)
        elif field == 3:
            charsmap = next((bytes(_bytes(v)) for f, v in fields(value) if f == 2), b"")
    if tuple(pieces[:3]) != SPECIALS or kind != UNIGRAM or not charsmap:
        raise ConfigError("The sentencepiece model is not XLM-R's unigram", OTHER)
    return Vocabulary(pieces, scores, charsmap)


def _bytes(value: Any) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where bytes belong")
    return bytes(value)


def _from_json(data: bytes) -> Vocabulary:
    whole = json.loads(data)
    model = whole["model"]
    if model.get("type", "Unigram") != "Unigram" or "vocab" not in model:
        raise ConfigError("tokenizer.json holds no unigram model", OTHER)
    pieces = [str(piece).encode() for piece, _ in model["vocab"]]
    scores = [float(score) for _, score in model["vocab"]]
    return from_xlmr(pieces, scores, _charsmap_of(whole.get("normalizer")))


def _charsmap_of(normalizer: Any) -> bytes:
    """The compiled rules inside a tokenizer.json's normaliser."""
    for part in [normalizer, *((normalizer or {}).get("normalizers") or [])]:
        if isinstance(part, dict) and part.get("precompiled_charsmap"):
            try:
                return base64.b64decode(part["precompiled_charsmap"], validate=True)
            except binascii.Error as error:
                raise ValueError("its normaliser is damaged") from error
    raise ConfigError("tokenizer.json names no compiled normaliser", OTHER)
