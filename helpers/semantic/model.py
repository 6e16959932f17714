"""Which model there is, whether it can be used, and what its vectors depend on.

A model is a folder with a description beside its files, made by `install` (the embedded
default) or by `prepare` (a sentence-transformers export found in a folder or in the Hugging Face
cache). Prefixes, pooling and calibration come from the description, never from code.

Promises: the standard library only, no process, no socket; a file that was altered since it was
described is told by its stat, then by its hash; whatever is wrong becomes a reason and a remedy,
never an exception; when nothing changed it costs a few stats.
Does not: load or download a model, or write anything but the cache of hashes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers import packages
from helpers.config import Settings
from helpers.errors import ConfigError, RagDocError, StoreError
from helpers.files import read_json, write_json
from helpers.limits import MODEL_FILE_BYTES, MODEL_NOTE_BYTES
from helpers.semantic import children, snapshot
from helpers.semantic.stamp import Stamp, stamp_of

DEFAULT_NAME = "multilingual-e5-small-int8"
DESCRIPTION = "ragdoc-model.json"
FORMAT = 1  # of the description
DIMENSION = 384  # numbers per vector
ROLES = ("onnx", "weights", "sentencepiece", "table")
POOLINGS = ("mean", "cls", "none")  # none: the model pools itself
PACKAGES = {"numpy": (1, 26), "onnxruntime": (1, 20), "sentencepiece": (0, 2)}
HASH_BLOCK = 1 << 20  # bytes read at a time
HASHES = "model_hashes.json"  # in the data directory
INSTALL = "Run: python3 semantic_worker.py --install (or --install --from FOLDER, offline)"
SETUP = "Run: python3 rag_server.py --setup"


@dataclass(frozen=True, slots=True)
class Description:
    """What a model's folder says of it; files by role, with their sha256 and stamp."""

    name: str
    dimension: int
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    pooling: str
    background_mean: float
    background_std: float
    fusion_weight: float
    files: Mapping[str, Path]
    hashes: Mapping[str, str]
    stamps: Mapping[str, Stamp]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """Whether meaning can be searched; `preparable` where the next sync makes it so."""

    ready: bool
    reason: str = ""
    remedy: str = ""
    preparable: bool = False
    fingerprint: str = ""
    name: str = ""
    dimension: int = 0
    description: Description | None = None
    source: Path | None = None


def status(settings: Settings) -> ModelStatus:
    """The model that `settings` leads to."""
    if settings.semantic == "off":
        remedy = "Start without --semantic off to search by meaning."
        return ModelStatus(False, "semantic search is off", remedy)
    try:
        return _found(settings, _checked_packages()["onnxruntime"])
    except RagDocError as error:
        return ModelStatus(False, error.what, error.remedy)
    except OSError as error:
        return ModelStatus(False, f"the semantic model cannot be read: {error}", INSTALL)


def default_folder(settings: Settings) -> Path:
    """Where the embedded model is installed."""
    return settings.models_dir / DEFAULT_NAME


def prepared_folder(settings: Settings, source: Path, artifact: Path) -> Path:
    """Where the description of an export lies, which is not ours to write into."""
    key = hashlib.sha256(os.fsencode(f"{source}\0{artifact}")).hexdigest()[:16]
    return settings.models_dir / "prepared" / key


def read_description(folder: Path) -> Description:
    """The description in `folder`. Raises ConfigError where it is missing or unfit."""
    path = folder / DESCRIPTION
    try:
        if path.stat().st_size > MODEL_NOTE_BYTES:
            raise ConfigError(f"{path} is too large for a description", INSTALL)
        return _description(folder, read_json(path))
    except (OSError, StoreError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is no description of a model: {error!r}", INSTALL) from error


def sha256(path: Path) -> str:
    """The hash of a file, read in blocks. Raises OSError, ConfigError above MODEL_FILE_BYTES."""
    size = path.stat().st_size
    if size > MODEL_FILE_BYTES:
        raise ConfigError(f"{path} reached {size:,} > {MODEL_FILE_BYTES:,} bytes", INSTALL)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(HASH_BLOCK):
            digest.update(part)
    return digest.hexdigest()


def _stamp(size: int, mtime_ns: int, inode: int) -> Stamp:
    return int(size), int(mtime_ns), int(inode)


def _checked_packages() -> dict[str, str]:
    """The version of each package that the embedding process needs. Raises ConfigError."""
    versions = {}
    for package, oldest in PACKAGES.items():
        found = packages.version(package)
        if found is None:
            raise ConfigError(f"the package {package} is not installed", SETUP)
        if found != "unknown" and _numbers(found) < oldest:
            wanted = ".".join(map(str, oldest))
            raise ConfigError(f"{package} {found} is too old: {wanted} or later is needed", SETUP)
        versions[package] = found
    return versions


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts)


def _found(settings: Settings, onnxruntime: str) -> ModelStatus:
    """The folder that was named, else the installed model, else an export in the cache."""
    if settings.semantic_model_dir is not None:
        folder = settings.semantic_model_dir
        if (folder / DESCRIPTION).exists():
            return _ready(settings, folder, onnxruntime)
        return _export(settings, folder, onnxruntime)
    if default_folder(settings).exists():
        return _ready(settings, default_folder(settings), onnxruntime)
    cached = snapshot.in_cache(settings.huggingface_cache)
    if cached is not None:
        return _export(settings, cached, onnxruntime)
    return ModelStatus(False, "no semantic model is installed", INSTALL)


def _export(settings: Settings, source: Path, onnxruntime: str) -> ModelStatus:
    """A sentence-transformers export: ready once a description of these very files is made."""
    found = snapshot.read(source)
    prepared = prepared_folder(settings, source, found.artifact)
    waiting = ModelStatus(
        False,
        f"the model {found.name} was found but is not prepared yet",
        "The next sync prepares it (python3 rag_sync.py).",
        preparable=True,
        name=found.name,
        source=source,
    )
    if not (prepared / DESCRIPTION).exists():
        return waiting
    try:
        return _ready(settings, prepared, onnxruntime)
    except ConfigError:  # the export changed since: what was made of it is made anew
        return replace(waiting, reason=f"the model {found.name} changed and must be prepared again")


def _ready(settings: Settings, folder: Path, onnxruntime: str) -> ModelStatus:
    described = read_description(folder)
    hashes = _hashes(settings, described)
    for role, path in described.files.items():
        if hashes[role] != described.hashes[role]:
            remedy = f"{INSTALL}, or put the folder back as it was"
            raise ConfigError(f"{path} is not the file that was installed", remedy)
    return ModelStatus(
        True,
        fingerprint=fingerprint(described, onnxruntime),
        name=described.name,
        dimension=described.dimension,
        description=described,
    )


def fingerprint(described: Description, onnxruntime: str) -> str:
    """What the vectors depend on, as one word; vectors of two fingerprints are never mixed."""
    parts = [
        *(f"{role} {described.hashes[role]}" for role in sorted(described.hashes)),
        f"onnxruntime {onnxruntime}",
        f"query {described.query_prefix!r} passage {described.passage_prefix!r}",
        f"{described.pooling} {described.dimension} {described.max_tokens}",
        children.POLICY,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _hashes(settings: Settings, described: Description) -> dict[str, str]:
    """The sha256 of each file now: as described where the stamp is, else cached, else read."""
    found, known, learned = {}, None, False
    for role, path in described.files.items():
        try:
            now = stamp_of(path)
        except OSError as error:
            raise ConfigError(f"the model has no {path.name}: {error.strerror}", INSTALL) from error
        if now == described.stamps[role]:
            found[role] = described.hashes[role]
            continue
        known = _known_hashes(settings) if known is None else known
        key = f"{path} {' '.join(map(str, now))}"
        if key not in known:
            known[key], learned = sha256(path), True
        found[role] = known[key]
    if learned and known is not None:
        _remember(settings, known)
    return found


def _known_hashes(settings: Settings) -> dict[str, str]:
    try:
        value = read_json(settings.data_dir / HASHES)
    except StoreError:
        return {}
    return dict(value) if isinstance(value, dict) else {}


def _remember(settings: Settings, known: dict[str, str]) -> None:
    """Keep the newest hashes; a search on a read-only data directory does without."""
    if settings.data_dir.is_dir():
        try:
            write_json(settings.data_dir / HASHES, dict(list(known.items())[-32:]))
        except StoreError:
            pass


def _description(folder: Path, value: Any) -> Description:
    if value["format"] != FORMAT:
        raise ValueError(f"format {value['format']}, not {FORMAT}")
    calibration, files = value["calibration"], value["files"]
    if not {"onnx", "sentencepiece", "table"} <= files.keys() <= set(ROLES):
        raise ValueError(f"files {sorted(files)}")
    described = Description(
        name=str(value["name"]),
        dimension=int(value["dimension"]),
        max_tokens=int(value["max_tokens"]),
        query_prefix=str(value["query_prefix"]),
        passage_prefix=str(value["passage_prefix"]),
        pooling=str(value["pooling"]),
        background_mean=float(calibration["background_mean"]),
        background_std=float(calibration["background_std"]),
        fusion_weight=float(calibration["fusion_weight"]),
        files={role: folder / entry["path"] for role, entry in files.items()},
        hashes={role: str(entry["sha256"]) for role, entry in files.items()},
        stamps={role: _stamp(*entry["stamp"]) for role, entry in files.items()},
    )
    if described.dimension != DIMENSION or described.pooling not in POOLINGS:
        raise ValueError(f"dimension {described.dimension}, pooling {described.pooling}")
    if not 16 <= described.max_tokens <= 8_192:
        raise ValueError(f"max_tokens {described.max_tokens}")
    return described
