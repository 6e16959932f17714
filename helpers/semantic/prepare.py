"""Describing a model once: does it run, how alike are unrelated texts to it, what is its hash.

Cosines mean nothing by themselves: unrelated texts sit at .82 in one model and at .05 in another.
So each model is measured on unrelated questions and passages when it is installed or prepared, and
fusion reads the figures from its description.

Promises: a description is written only after the model embedded texts in both its forms, question
and bulk, alike; folders appear whole (temporary folder + rename).
Does not: download anything (install does), or write into an export's own folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers.errors import ConfigError, StoreError
from helpers.files import private_dir, write_json
from helpers.semantic import model, snapshot, vocabulary
from helpers.semantic.encoder import BulkEncoder, Plan, QueryEncoder
from helpers.semantic.stamp import stamp_of

BACKGROUND = Path(__file__).with_name("data") / "background.json"
TABLE, SENTENCEPIECE = "tokenizer.table", "sentencepiece.model"
REFERENCE_WEIGHT = 0.1  # of idf coverage beside the cosine, measured for the embedded model ...
REFERENCE_MEAN = 0.7335  # ... whose unrelated texts (data/background.json) lie at this cosine
WEIGHT_RANGE = (0.05, 1.0)
ALIKE = 0.99  # cosine between the two ways to the same vector, at least


@dataclass(frozen=True, slots=True)
class Nature:
    """What belongs to a model besides its files."""

    name: str
    query_prefix: str
    passage_prefix: str
    pooling: str
    max_tokens: int


def prepare(source: Path, models_dir: Path, into: Path) -> None:
    """Describe the export in `source` in the folder `into`. Raises ConfigError, StoreError."""
    found = snapshot.read(source)
    words = vocabulary.read(found.tokenizer)
    with new_folder(models_dir, into) as folder:
        (folder / TABLE).write_bytes(words.table())
        (folder / SENTENCEPIECE).write_bytes(words.sentencepiece())
        files = {"onnx": found.artifact, "table": folder / TABLE}
        files["sentencepiece"] = folder / SENTENCEPIECE
        if found.weights is not None:
            files["weights"] = found.weights
        prompts = (found.query_prefix, found.passage_prefix)
        describe(folder, files, Nature(found.name, *prompts, found.pooling, found.max_tokens))


def describe(folder: Path, files: dict[str, Path], nature: Nature) -> None:
    """Try the model of these files and write its description into `folder`."""
    plan = Plan(
        onnx=str(files["onnx"]),
        sentencepiece=str(files["sentencepiece"]),
        table=str(files["table"]),
        dimension=model.DIMENSION,
        max_tokens=nature.max_tokens,
        query_prefix=nature.query_prefix,
        passage_prefix=nature.passage_prefix,
        pooling=nature.pooling,
    )
    calibration = calibrate(plan)
    write_json(
        folder / model.DESCRIPTION,
        {
            "format": model.FORMAT,
            "dimension": model.DIMENSION,
            **asdict(nature),
            "calibration": calibration,
            "files": {role: _entry(folder, path) for role, path in sorted(files.items())},
        },
    )


def calibrate(plan: Plan) -> dict[str, float]:
    """Mean and spread of the cosine between unrelated texts, and the fusion weight that follows."""
    samples = json.loads(BACKGROUND.read_text(encoding="utf-8"))
    ask, bulk = QueryEncoder(plan), BulkEncoder(plan, 1)
    questions = np.stack([ask.embed(text) for text in samples["questions"]])
    rows = bulk.embed([("", text, len(text)) for text in samples["passages"]])
    failed = next((row for row in rows if isinstance(row, str)), None)
    if failed is not None:
        raise ConfigError(f"the model fails on plain text: {failed}", snapshot.COMPLETE)
    passages = np.stack([row[0] for row in rows if not isinstance(row, str)]).astype(np.float32)
    _same_both_ways(plan, bulk, samples["questions"][0], questions[0])
    cosines = questions @ passages.T
    mean = float(cosines.mean())
    weight = REFERENCE_WEIGHT * (1 - mean) / (1 - REFERENCE_MEAN)
    return {
        "background_mean": round(mean, 4),
        "background_std": round(float(cosines.std()), 4),
        "fusion_weight": round(min(max(weight, WEIGHT_RANGE[0]), WEIGHT_RANGE[1]), 4),
    }


def _same_both_ways(plan: Plan, bulk: BulkEncoder, text: str, vector: Any) -> None:
    """The question's way (instant table, bare session) and the bulk way agree."""
    ids = bulk.question_ids(text)
    cosine = float(vector @ bulk.run(ids))
    if cosine < ALIKE:
        raise ConfigError(
            f"the tokenizer does not fit {plan.onnx} (cosine {cosine:.3f})", snapshot.COMPLETE
        )


@contextlib.contextmanager
def new_folder(models_dir: Path, into: Path) -> Iterator[Path]:
    """A temporary folder that becomes `into` when the block ends well, and vanishes otherwise."""
    private_dir(models_dir)
    private_dir(into.parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{into.name}.", dir=into.parent))
    except OSError as error:
        raise StoreError(f"{into.parent} cannot be written: {error}", "") from error
    try:
        yield folder
        _sync_files(folder)
        _take_place(folder, into)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error.strerror or error}", "Free space there."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_place(folder: Path, into: Path) -> None:
    """Rename `folder` to `into`; what was there before is moved aside first, then removed."""
    old = into.with_name(f".{into.name}.old-{os.getpid()}")
    if into.exists():
        os.replace(into, old)
    try:
        os.replace(folder, into)
    except OSError:
        if old.exists():
            os.replace(old, into)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sync_files(folder: Path) -> None:
    for path in folder.iterdir():
        with open(path, "rb+") as file:
            os.fsync(file.fileno())


def _entry(folder: Path, path: Path) -> dict[str, Any]:
    inside = path.parent == folder
    return {
        "path": path.name if inside else str(path),
        "sha256": model.sha256(path),
        "stamp": list(stamp_of(path)),
    }
