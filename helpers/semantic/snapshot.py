"""A sentence-transformers ONNX export as it lies on disk: in a folder or the Hugging Face cache.

The cache layout is `models--ORG--NAME/refs/main` (a commit) and `snapshots/COMMIT/` (links into
`blobs/`). An export holds `onnx/` with one artifact per kind of CPU, `config.json`, a
sentencepiece model or `tokenizer.json`, and the pooling and prompts that belong to it.

Promises: reads small files only, opens no socket; a folder without one of the files raises
ConfigError naming it; the artifact is one that this CPU runs well.
Does not: load the model (prepare does).
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.errors import ConfigError, StoreError
from helpers.files import read_json
from helpers.limits import MODEL_NOTE_BYTES

REPOSITORIES = (
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "intfloat/multilingual-e5-small",
)
TOKENIZERS = ("sentencepiece.bpe.model", "sentencepiece.model", "tokenizer.json")
PLACES = ("onnx", ".")  # where the artifacts lie
COMPLETE = "Download the whole model again, or give another --semantic-model-dir."
# Eight bits with signed weights overflow on a CPU without VNNI, so avx2 has an artifact of its own.
ARTIFACTS = {
    "arm64": ("model_qint8_arm64.onnx",),
    "avx512_vnni": ("model_qint8_avx512_vnni.onnx", "model_qint8_avx512.onnx"),
    "avx512": ("model_qint8_avx512.onnx", "model_quint8_avx2.onnx"),
    "avx2": ("model_quint8_avx2.onnx",),
}
ANY_CPU = ("model_quantized.onnx", "model_O2.onnx", "model_O1.onnx", "model.onnx")
E5_PROMPTS = {"query": "query: ", "passage": "passage: "}
MAX_TOKENS = 512  # tokens, where the export does not say


@dataclass(frozen=True, slots=True)
class Export:
    """One export; `weights` are the artifact's external data, where it has some."""

    name: str
    folder: Path
    artifact: Path
    weights: Path | None
    tokenizer: Path
    pooling: str
    max_tokens: int
    query_prefix: str
    passage_prefix: str


def in_cache(cache: Path) -> Path | None:
    """The snapshot folder of the first known repository that `cache` holds."""
    for repository in REPOSITORIES:
        base = cache / f"models--{repository.replace('/', '--')}"
        found = _snapshot(base)
        if found is not None:
            return found
    return None


def _snapshot(base: Path) -> Path | None:
    """What refs/main points to; without it the newest snapshot."""
    try:
        commit = (base / "refs" / "main").read_text(encoding="ascii").strip()
        if commit.isalnum() and (base / "snapshots" / commit).is_dir():
            return base / "snapshots" / commit
    except (OSError, ValueError):
        pass
    try:
        folders = [path for path in (base / "snapshots").iterdir() if path.is_dir()]
        return max(folders, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)
    except OSError:
        return None


def read(folder: Path, kinds: Sequence[str] | None = None) -> Export:
    """What `folder` holds, for the CPU of `kinds` (default: this one). Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(f"The model folder {folder} is missing", COMPLETE)
    config = _json(folder / "config.json")
    artifact = _artifact(folder, cpu_kinds() if kinds is None else kinds)
    tokenizer = next((folder / n for n in TOKENIZERS if (folder / n).is_file()), None)
    if tokenizer is None:
        raise ConfigError(f"{folder} has none of {', '.join(TOKENIZERS)}", COMPLETE)
    name = _name(folder, config)
    prompts = _prompts(folder, name)
    limits = _json(folder / "sentence_bert_config.json")
    most = int(limits.get("max_seq_length") or MAX_TOKENS)
    places = int(config.get("max_position_embeddings") or MAX_TOKENS)
    beside = [artifact.with_name(f"{artifact.name}{end}") for end in ("_data", ".data")]
    return Export(
        name=name,
        folder=folder,
        artifact=artifact,
        weights=next((path for path in beside if path.is_file()), None),
        tokenizer=tokenizer,
        pooling=_pooling(folder),
        max_tokens=max(16, min(most, MAX_TOKENS, places)),
        query_prefix=prompts["query"],
        passage_prefix=prompts["passage"],
    )


def cpu_kinds() -> list[str]:
    """Kinds of artifact that this CPU runs well, best first."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return ["arm64"]
    flags = _linux_flags() if sys.platform == "linux" else {"avx2"}
    tests = {"avx512_vnni": {"avx512_vnni"}, "avx512": {"avx512f", "avx512bw"}, "avx2": {"avx2"}}
    return [kind for kind, needed in tests.items() if needed <= flags]


def _linux_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return next((set(line.split()) for line in file if line.startswith("flags")), set())
    except OSError:
        return set()


def _artifact(folder: Path, kinds: Sequence[str]) -> Path:
    wanted = [name for kind in kinds for name in ARTIFACTS[kind]]
    # At last what was made for another CPU: it runs too, at worst a little less exactly.
    others = ("model_quint8_avx2.onnx", *(name for names in ARTIFACTS.values() for name in names))
    for name in dict.fromkeys((*wanted, *ANY_CPU, *others)):
        for place in PLACES:
            if (folder / place / name).is_file():
                return folder / place / name
    raise ConfigError(f"{folder} has no ONNX file for this CPU (onnx/model.onnx)", COMPLETE)


def _pooling(folder: Path) -> str:
    rules = _json(folder / "1_Pooling" / "config.json")
    if rules.get("pooling_mode_cls_token"):
        return "cls"
    if rules and not rules.get("pooling_mode_mean_tokens", True):
        raise ConfigError(f"{folder} pools neither by mean nor by the first token", COMPLETE)
    return "mean"


def _prompts(folder: Path, name: str) -> dict[str, str]:
    given = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    fallback = E5_PROMPTS if "e5" in name.lower().split("/")[-1].split("-") else {}
    passage = given.get("passage") or given.get("document") or fallback.get("passage", "")
    return {"query": str(given.get("query") or fallback.get("query", "")), "passage": str(passage)}


def _name(folder: Path, config: dict[str, Any]) -> str:
    for part in folder.parts[::-1]:
        if part.startswith("models--"):
            return "/".join(part.split("--")[1:])
    return str(config.get("_name_or_path") or folder.name)


def _json(path: Path) -> dict[str, Any]:
    """A small JSON object; empty where the file is absent. Raises ConfigError."""
    try:
        if path.is_file() and path.stat().st_size > MODEL_NOTE_BYTES:
            raise ConfigError(f"{path} is larger than {MODEL_NOTE_BYTES:,} bytes", COMPLETE)
        value = read_json(path)
    except (StoreError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read", COMPLETE) from error
    return value if isinstance(value, dict) else {}
