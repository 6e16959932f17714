"""One file, read as a sync would read it, and what would come of it: the self-test of reading.

Promises: the same rules, readers, limits and processes as in a sync; nothing is written to the
index; the report names the charset, every chunk with its location, every notice and limit, the
seconds it took and the peak memory of the reader, or code, reason and remedy where there is no
text.
Does not: compare with what is indexed, or embed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers import limits
from helpers.errors import Unread, UsageError
from helpers.extract.sandbox import OpenedFile, ReaderPool, Reading
from helpers.source import names
from helpers.source.refuse import by_name, secret_content
from helpers.source.root import OpenedSource, Root, digest


@dataclass(slots=True)
class Trial:
    """What reading one file gave. `seconds` is wall time, `peak_bytes` the largest resident
    memory of a reader process (None where the system does not tell)."""

    path: str
    size: int = 0
    error: Unread | None = None
    format: str | None = None
    title: str | None = None
    encoding: str | None = None
    seconds: float = 0.0
    peak_bytes: int | None = None
    notices: list[dict[str, Any]] = field(default_factory=list)
    chunks: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The fields, the error as `code`, `reason` and `remedy`: null for a file with text."""
        found = {
            name: getattr(self, name)
            for name in ("path", "size", "format", "title", "encoding", "seconds", "peak_bytes")
        }
        error = self.error
        found["code"] = error.code if error else None
        found["reason"] = error.reason if error else None
        found["remedy"] = error.remedy if error else None
        return found | {"notices": self.notices, "chunks": self.chunks}

    @property
    def has_text(self) -> bool:
        return self.error is None and bool(self.chunks)


def attempt(file: str, pool: Callable[[], ReaderPool]) -> Trial:
    """Read `file` with a pool of the caller's making. Raises UsageError for what is no path."""
    path = Path(file).expanduser().absolute()
    if not path.name or path.is_dir() or not os.path.lexists(path):
        raise UsageError(f"{file} is no file", "Give the path of one document.")
    raw = os.fsencode(path.name)
    trial = Trial(names.display(raw))
    began = time.monotonic()
    try:
        verdict = by_name(path.name)
        if verdict is not None:
            raise Unread(verdict.code or "hidden", verdict.reason, verdict.remedy)
        with Root(path.parent) as root:
            _read(trial, root.open(raw), path.name, pool)
    except Unread as unread:
        trial.error = unread
        trial.chunks.clear()
    trial.seconds = round(time.monotonic() - began, 3)
    trial.peak_bytes = _peak_bytes()
    return trial


def readable(found: dict[str, Any]) -> str:
    """The report for a person: what it is, each chunk below its location, then what to know."""
    return "\n".join(_lines(found))


def _read(trial: Trial, opened: OpenedSource, name: str, pool: Callable[[], ReaderPool]) -> None:
    try:
        trial.size = opened.stat.st_size
        found = digest(opened.fd)
        if found.secret is not None:
            raise secret_content(found.secret)
        with pool() as readers:
            file = OpenedFile(0, opened.fd, name, trial.size)
            for reading in readers.read([file]):
                _take(trial, reading)
    finally:
        opened.close()


def _take(trial: Trial, reading: Reading) -> None:
    try:
        for chunk in reading.chunks:
            kept = {"location": chunk.location, "text": chunk.text, "ocr": chunk.ocr}
            trial.chunks.append(kept)
    finally:
        trial.format, trial.title = reading.format, reading.title
        trial.encoding = reading.encoding
        trial.notices = [
            {"code": notice.code, "message": notice.message, "location": notice.location}
            for notice in reading.notices
        ]
    if reading.error is not None:
        raise reading.error


def _peak_bytes() -> int | None:
    """The largest resident memory of any process that was started and has ended, in bytes."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _lines(found: dict[str, Any]) -> Iterator[str]:
    facts = [found["format"] or "unknown format", f"{found['size']:,} bytes"]
    facts += [found["encoding"]] if found["encoding"] else []
    yield f"{found['path']}: {', '.join(facts)}"
    if found["title"]:
        yield f"title: {found['title']}"
    for number, chunk in enumerate(found["chunks"], 1):
        place = (chunk["location"] or {}).get("label", "")
        seen = ", recognised from an image" if chunk["ocr"] else ""
        yield f"\n[{number}] {place}{seen}\n{chunk['text']}"
    if found["chunks"]:
        yield ""
    for notice in found["notices"]:
        yield f"notice: {notice['code']}: {notice['message']}"
    if found["code"]:
        yield f"no text: {found['code']}: {found['reason']}. {found['remedy']}".rstrip()
    chunks = len(found["chunks"])
    peak = found["peak_bytes"]
    memory = f", at most {peak / limits.MIB:,.0f} MiB in one process" if peak else ""
    yield f"{chunks:,} chunk{'s' * (chunks != 1)} in {found['seconds']:.2f} s{memory}"
