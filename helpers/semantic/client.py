"""Asking the embedding process, from any process that must not load the model itself.

Promises: no socket; a process that crashes, hangs, writes junk or floods its standard error costs
the caller at most the request's time limit and becomes a SemanticError with a reason, after which
no new process is started for SEMANTIC_PAUSE_S; a process that had left after its idle time is
started anew without the caller noticing; no process outlives this one, however it ends (it reads
its input, which closes with us, and each request carries an alarm).
Does not: decide what to do without meaning (the caller degrades), or keep vectors.

A `Worker` may be shared by threads; it answers one request at a time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from helpers import limits
from helpers.config import Settings, reader_environment
from helpers.errors import Cancelled, SemanticError
from helpers.semantic import model, wire
from helpers.semantic.model import ModelStatus, status
from helpers.semantic.process import REMEDY, ROOT, Failed, Left, Process, Refused
from helpers.semantic.stamp import stamp_of

__all__ = ["Embedded", "ModelStatus", "Pending", "Worker", "WorkerSlot", "ensure", "status"]

AHEAD = 2  # batches of texts in the process: one being embedded, one waiting
CLOSE_S = 1.0  # seconds that an end waits for a question at work


@dataclass(frozen=True, slots=True)
class Embedded:
    """One chunk's children: `vectors` is float16, little endian, children x dimension, length 1.

    With `error`, there are none and the chunk cannot be embedded.
    """

    children: int
    vectors: bytes
    error: str = ""


def ensure(settings: Settings, say: Callable[[str], None] = lambda text: None) -> ModelStatus:
    """`status`, after preparing a model that was found but never used. For a sync, not a search."""
    found = status(settings)
    if not found.preparable or found.source is None:
        return found
    say(f"Preparing the model {found.name} (once)")
    command = [sys.executable, str(ROOT / "semantic_worker.py"), "--prepare", str(found.source)]
    environment = reader_environment() | {"RAGDOC_MODELS_DIR": str(settings.models_dir)}
    environment |= {"RAGDOC_DATA_DIR": str(settings.data_dir)}
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=limits.SEMANTIC_PREPARE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return ModelStatus(False, f"the model {found.name} could not be prepared: {error}", REMEDY)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it crashed"]
        reason = said[-1].removeprefix("semantic_worker.py: ")
        return ModelStatus(False, f"the model {found.name} cannot be used: {reason}", REMEDY)
    return status(settings)


class Worker:
    """An embedding process, started at the first request and again whenever it had left."""

    def __init__(self, settings: Settings, found: ModelStatus, linger: float | None = None) -> None:
        """`found` must be ready. `linger` None is the setting, which is 0 where nobody set it."""
        if not found.ready or found.description is None:
            raise SemanticError(found.reason or "there is no semantic model", found.remedy)
        chosen = settings.semantic_linger if linger is None else linger
        self.fingerprint = found.fingerprint
        self.dimension = found.dimension
        self._linger = chosen or 0.0
        self._opening = _opening(found.description, self._linger, _threads(settings.workers))
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._paused_until, self._pause_reason = 0.0, SemanticError("")

    def embed_query(self, text: str) -> bytes:
        """The vector of a question: float32, little endian, length 1. Raises SemanticError."""
        text = text[: limits.SEMANTIC_TEXT_CHARS]
        with self._asking({"op": "query", "text": text}) as pending:
            _, vector = pending.answer()
        if len(vector) != 4 * self.dimension:
            raise self._junk(f"a vector of {len(vector)} bytes")
        return vector

    def search(
        self, text: str, k: int, db_path: str | os.PathLike[str], generation: str | int
    ) -> list[tuple[int, float]]:
        """The `k` best chunks as (chunk id, cosine of its best child). Raises SemanticError."""
        with self.searching(text, k, db_path, generation) as pending:
            return pending.result()

    @contextlib.contextmanager
    def searching(
        self,
        text: str,
        k: int,
        db_path: str | os.PathLike[str],
        generation: str | int,
        where: tuple[str, Sequence[object]] | None = None,
    ) -> Iterator[Pending]:
        """Begin a search and do something else; `result()` of what it gives waits for the hits.

        `where` is a condition over the table `document`, with its values. With `also(chunks)`
        after `result()` the process says how near further chunks are to the same question.
        """
        header: dict[str, Any] = {"op": "search", "text": text[: limits.SEMANTIC_TEXT_CHARS]}
        header |= {"k": k, "db": os.fspath(db_path), "generation": generation, "more": True}
        if where is not None and where[0]:
            header["where"] = [where[0], list(where[1])]
        with self._asking(header) as pending:
            yield pending

    def embed_chunks(
        self,
        chunks: Iterable[tuple[str, str]],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[Embedded, None, None]:
        """For each (context, text), in order, its children's vectors.

        `chunks` is pulled as the process has room. Raises SemanticError, Cancelled.
        """
        source = iter(chunks)
        with self._lock:
            process = self._running()
            sent: deque[int] = deque()
            try:
                while True:
                    while len(sent) < AHEAD and (batch := _batch(source)):
                        _raise_if(cancelled)
                        process.send({"op": "texts", "chunks": batch}, limits.SEMANTIC_TEXTS_S)
                        sent.append(len(batch))
                    if not sent:
                        break
                    answer = process.receive(limits.SEMANTIC_TEXTS_S)
                    yield from self._embedded(answer, sent.popleft())
                    _raise_if(cancelled)
            except Failed as failure:
                raise self._failed(failure) from failure
            except Refused as refusal:
                raise refusal.as_error() from refusal
            finally:
                if sent or process.ended:
                    self._drop()

    def embed_passages(self, texts: Iterable[str]) -> Iterator[Embedded]:
        """`embed_chunks` of texts that stand alone."""
        return self.embed_chunks(("", text) for text in texts)

    def basis(self, db_path: str | os.PathLike[str], generation: int) -> bytes:
        """What heads of a generation's blocks are made with. Raises SemanticError."""
        header = {"op": "basis", "db": os.fspath(db_path), "generation": generation}
        with self._asking(header, limits.SEMANTIC_TEXTS_S) as pending:
            return pending.answer()[1]

    def head(
        self, db_path: str | os.PathLike[str], generation: int, block: int
    ) -> tuple[int, bytes, bytes]:
        """The number of the basis, and facts and codes of a block. Raises SemanticError."""
        header = {"op": "head", "db": os.fspath(db_path), "generation": generation, "block": block}
        with self._asking(header, limits.SEMANTIC_TEXTS_S) as pending:
            found, data = pending.answer()
        try:
            number, facts = int(found["basis"]), int(found["facts"])
        except (KeyError, TypeError, ValueError):
            raise self._junk("a head without its parts") from None
        return number, data[:facts], data[facts:]

    def fits(self, found: ModelStatus) -> bool:
        """Whether this is the process of `found`: of the same model, in the same files still."""
        if self.fingerprint != found.fingerprint or found.description is None:
            return False
        return bool(self._opening["stamps"] == _stamps(found.description))

    def trouble(self) -> SemanticError | None:
        """Why no process is started just now."""
        return self._pause_reason if time.monotonic() < self._paused_until else None

    @property
    def pid(self) -> int | None:
        """The process that is alive, if one is."""
        process = self._process
        return process.popen.pid if process is not None and not process.ended else None

    def close(self) -> None:
        """End the process; what it is at work on for longer than CLOSE_S is given up."""
        while not self._lock.acquire(timeout=CLOSE_S):
            process = self._process
            if process is not None:
                process.popen.kill()
        try:
            self._drop()
        finally:
            self._lock.release()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _asking(self, header: dict[str, Any], limit_s: float | None = None) -> Iterator[Pending]:
        if not self._lock.acquire(timeout=limits.SEMANTIC_QUERY_S):
            raise SemanticError("the embedding process is busy with other questions", "Ask again.")
        pending = None
        try:
            pending = Pending(self, header, limit_s or limits.SEMANTIC_QUERY_S)
            yield pending
        finally:
            if pending is not None and not pending.answered:
                self._drop()  # its answer would be taken for the next one's
            self._lock.release()

    def _running(self) -> Process:
        """The process, started where there is none. The lock is held."""
        if (trouble := self.trouble()) is not None:
            raise SemanticError(trouble.what, trouble.remedy)
        if self._process is not None and self._process.ended:
            self._drop()
        if self._process is None:
            try:
                self._process = Process(self._opening)
            except (OSError, ImportError, AttributeError) as error:
                raise self._failed(Failed(f"it does not start: {error}")) from error
        return self._process

    def _embedded(self, answer: wire.Frame, wanted: int) -> Iterator[Embedded]:
        header, vectors = answer
        counts, size, at = header.get("counts"), 2 * self.dimension, 0
        if not isinstance(counts, list) or len(counts) != wanted:
            raise Failed("its answer has another number of texts")
        if len(vectors) != size * sum(count for count in counts if isinstance(count, int)):
            raise Failed("its answer has another number of vectors")
        for count in counts:
            if not isinstance(count, int):
                yield Embedded(0, b"", str(count))
                continue
            yield Embedded(count, vectors[at : at + size * count])
            at += size * count

    def _junk(self, what: str) -> SemanticError:
        with self._lock:
            return self._failed(Failed(f"it answered with {what}"))

    def _failed(self, failure: Failed) -> SemanticError:
        """End the process, and start none for a while. The lock is held."""
        self._drop()
        error = SemanticError(f"the embedding process failed: {failure}", REMEDY)
        self._pause_reason = error
        self._paused_until = time.monotonic() + limits.SEMANTIC_PAUSE_S
        return error

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


class Pending:
    """A question under way."""

    def __init__(self, worker: Worker, header: dict[str, Any], limit_s: float) -> None:
        self._worker, self._header = worker, header
        self._until = time.monotonic() + limit_s
        self.answered = False
        self._fresh = worker._process is None
        self._send()

    def result(self) -> list[tuple[int, float]]:
        """The hits of a search. Raises SemanticError."""
        return self._hits(self.answer())

    def also(self, chunks: Sequence[int]) -> list[tuple[int, float]]:
        """The cosine of each of `chunks` that has vectors; after `result`. Raises SemanticError."""
        self._header = {name: self._header[name] for name in ("db", "generation")}
        self._header |= {"op": "also", "chunks": list(chunks)}
        self._fresh, self.answered = True, False  # a new process would not know the question
        self._send()
        return self._hits(self.answer())

    def _hits(self, answer: wire.Frame) -> list[tuple[int, float]]:
        header, payload = answer
        hits = header.get("hits")
        if not isinstance(hits, int) or len(payload) != 12 * hits:
            raise self._worker._failed(Failed("its answer has another number of hits"))
        ids, cosines = array("q", payload[: 8 * hits]), array("f", payload[8 * hits :])
        if sys.byteorder == "big":
            ids.byteswap()
            cosines.byteswap()
        return list(zip(ids, cosines, strict=True))

    def answer(self) -> wire.Frame:
        """The answer's frame. Raises SemanticError; once more where the process had just left."""
        self.answered = True
        try:
            try:
                return self._receive()
            except Left:
                if self._fresh:
                    raise
                self._worker._drop()
                self._fresh = True
                self._send()
                return self._receive()
        except Failed as failure:
            raise self._worker._failed(failure) from failure
        except Refused as refusal:
            raise refusal.as_error() from refusal

    def _send(self) -> None:
        try:
            process = self._worker._running()
            process.send(self._header, self._left())
        except Failed as failure:
            if not isinstance(failure, Left) or self._fresh:
                raise self._worker._failed(failure) from failure
            self._worker._drop()
            self._fresh = True
            self._send()

    def _receive(self) -> wire.Frame:
        process = self._worker._process
        if process is None:
            raise Left("it is gone")
        return process.receive(self._left())

    def _left(self) -> float:
        return max(0.1, self._until - time.monotonic())


class WorkerSlot:
    """The one worker of a long-lived process, made anew when the model or its files change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def worker(self, settings: Settings, found: ModelStatus, linger: float | None = None) -> Worker:
        """The worker for `found`. Raises SemanticError where that is not ready."""
        with self._lock:
            if self._worker is None or not self._worker.fits(found):
                old, self._worker = self._worker, Worker(settings, found, linger)
                if old is not None:
                    old.close()
            return self._worker

    def trouble(self) -> SemanticError | None:
        """Why the worker starts no process just now."""
        worker = self._worker
        return None if worker is None else worker.trouble()

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def _opening(described: model.Description, linger: float, threads: int) -> dict[str, Any]:
    plan = {role: str(described.files[role]) for role in ("onnx", "sentencepiece", "table")}
    facts = ("dimension", "max_tokens", "query_prefix", "passage_prefix", "pooling")
    return {
        "op": "open",
        "plan": plan | {name: getattr(described, name) for name in facts},
        "stamps": _stamps(described),
        "linger": linger,
        "threads": threads,
    }


def _stamps(described: model.Description) -> dict[str, list[int]]:
    """What tells the model's files from changed ones. Raises SemanticError."""
    try:
        return {str(path): list(stamp_of(path)) for path in described.files.values()}
    except OSError as error:
        raise SemanticError(f"the model lost a file: {error}", REMEDY) from error


def _threads(workers: int) -> int:
    """Texts embedded at once: a run per core that this process may use."""
    if workers:
        return min(workers, limits.SEMANTIC_THREADS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, limits.SEMANTIC_THREADS))


def _batch(source: Iterator[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """The next chunks; a text that is too long is cut just behind its limit, and refused there."""
    most = limits.SEMANTIC_TEXT_CHARS + 1
    batch = itertools.islice(source, limits.SEMANTIC_BATCH_TEXTS)
    return [(context[:most], text[:most], len(text)) for context, text in batch]


def _raise_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("The embedding was cancelled")
