"""Results that are kept, so that nothing is recognised twice.

A result lies under a key made of all that decides it: the bytes, the page, the engine, its
languages. So a re-sync, a forced one, a renamed file or a copy of it finds what is there, and an
engine of another version or language finds nothing.

Promises: a result is written whole or not at all, readable by its owner alone; one that is
damaged or of another shape counts as absent; `prune` removes what was unused for longest.
Does not: know documents or engines, or keep failures.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.errors import StoreError
from helpers.files import private_dir, read_json, write_json
from helpers.recognition import Piece, Recognised

FOLDER = "recognised"  # below the data directory
USED_S = 86_400  # seconds after which a use is noted again
TEXT_CHARS = limits.READER_ANSWER_CHARS


def key(*facts: Any) -> str:
    """The key of what `facts` (JSON values) decide."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Kept:
    """The results below a data directory; None keeps nothing."""

    def __init__(self, data_dir: Path | None) -> None:
        self._folder = None if data_dir is None else data_dir / FOLDER
        self.added = 0

    def get(self, name: str) -> Recognised | None:
        """The result under a key, or None."""
        value = self._read(name)
        if isinstance(value, dict) and isinstance(value.get("see"), str):
            value = self._read(value["see"])
        try:
            return _result(value)
        except (KeyError, TypeError, ValueError):
            return None

    def put(self, name: str, found: Recognised) -> None:
        """Keep a result. A disk that cannot take it costs the next sync the work, no more."""
        pieces = [list(asdict(piece).values()) for piece in found.pieces]
        self._write(name, {"engine": found.engine, "facts": dict(found.facts), "pieces": pieces})

    def link(self, name: str, other: str) -> None:
        """Make the result under `other` found under `name` too."""
        if name != other:
            self._write(name, {"see": other})

    def clear(self) -> None:
        """Remove all of them."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def prune(self, most: int = limits.RECOGNISED_BYTES) -> int:
        """Remove what was unused for longest until `most` bytes are left; how many went."""
        if self._folder is None:
            return 0
        found = []
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, max(status.st_size, 1), path))
        total = sum(size for _, size, _ in found)
        gone = 0
        for _, size, path in sorted(found):
            if total <= most:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                gone += 1
            total -= size
        return gone

    def _path(self, name: str) -> Path | None:
        if self._folder is None or len(name) != 64 or not name.isalnum():
            return None
        return self._folder / name[:2] / f"{name[2:]}.json"

    def _read(self, name: str) -> Any:
        path = self._path(name)
        if path is None:
            return None
        try:
            value = read_json(path)
            if value is not None and time.time() - path.stat().st_mtime > USED_S:
                os.utime(path)
        except (StoreError, OSError):
            return None
        return value

    def _write(self, name: str, value: Any) -> None:
        path = self._path(name)
        if path is None or self._folder is None:
            return
        with contextlib.suppress(StoreError):
            private_dir(self._folder)
            private_dir(path.parent)
            write_json(path, value)
            self.added += 1


def _result(value: Any) -> Recognised | None:
    """Raises KeyError, TypeError, ValueError for another shape."""
    if value is None:
        return None
    pieces = tuple(_piece(*piece) for piece in value["pieces"])
    if sum(len(piece.text) for piece in pieces) > TEXT_CHARS:
        raise ValueError("too long")
    facts = {str(name): str(fact) for name, fact in value["facts"].items()}
    return Recognised(pieces, str(value["engine"]), facts)


def _piece(text: Any, confidence: Any, start: Any, end: Any) -> Piece:
    if not isinstance(text, str):
        raise TypeError("no text")
    numbers = [None if n is None else float(n) for n in (confidence, start, end)]
    return Piece(text, *numbers)
