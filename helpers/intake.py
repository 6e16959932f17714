"""Opening what a survey found: one file at a time, as the readers ask for it.

Promises: a file whose bytes are those already indexed is not read again; one that holds a
secret is never handed to a reader; whatever is opened is closed, by who takes it or by `close`.
Does not: parse anything, or write to the index.
"""

from __future__ import annotations

import os
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass

from helpers import limits
from helpers.errors import Unread
from helpers.extract import formats
from helpers.extract.reading import OpenedFile
from helpers.jobs.handle import JobHandle
from helpers.source import delta
from helpers.source.refuse import secret_content
from helpers.source.root import OpenedSource, Root, digest, ensure_unchanged
from helpers.store.documents import Stat
from helpers.survey import Candidate

UNHASHED_BYTES = 64 * limits.MIB  # bytes from which a file that nobody reads is not hashed


@dataclass(slots=True)
class Source:
    """An opened file, what it was when it was opened, and its hash."""

    opened: OpenedSource
    stat: Stat
    sha256: bytes | None

    @property
    def position(self) -> int:
        """How far its reader has come, in bytes: the two share the descriptor's place."""
        return os.lseek(self.opened.fd, 0, os.SEEK_CUR)

    def ensure_unchanged(self) -> None:
        ensure_unchanged(self.opened.fd, self.opened.stat)

    def close(self) -> None:
        self.opened.close()


class Intake:
    """Opens candidates one by one as the readers ask for them; settles what needs no reader."""

    def __init__(
        self,
        root: Root,
        work: list[Candidate],
        job: JobHandle,
        valid: Container[str],
        left_out: Container[str] = (),
    ) -> None:
        self._root, self._work, self._job, self._valid = root, work, job, valid
        self._left_out = left_out  # formats that this sync does not read
        self._open: dict[int, tuple[Candidate, Source]] = {}
        self._settled: list[tuple[Candidate, Unread | Stat]] = []

    def __iter__(self) -> Iterator[OpenedFile]:
        for ticket, candidate in enumerate(self._work):
            self._job.checkpoint()
            try:
                source = self._opened(candidate)
            except Unread as unread:
                self._settled.append((candidate, unread))
                continue
            if source is not None:
                self._open[ticket] = (candidate, source)
                name = os.fsdecode(candidate.entry.name)
                yield OpenedFile(ticket, source.opened.fd, name, source.stat.size)

    def take(self, ticket: int) -> tuple[Candidate, Source]:
        """The candidate behind a reading, and its open file, which the caller closes."""
        return self._open.pop(ticket)

    def path(self, ticket: int) -> str:
        """The display path of a file that is being read."""
        return self._open[ticket][0].file.path

    def settled(self) -> Iterator[tuple[Candidate, Unread | Stat]]:
        """What needed no reader since the last call; a Stat stands for the same bytes."""
        settled, self._settled = self._settled, []
        yield from settled

    def close(self) -> None:
        """Close what is still open."""
        for _, source in self._open.values():
            source.close()
        self._open.clear()

    def _opened(self, candidate: Candidate) -> Source | None:
        """The opened file; None where its bytes are those already indexed. Raises Unread."""
        opened = self._root.open(candidate.raw)
        try:
            entry = delta.recordable(candidate.entry, opened.stat, time.time_ns())
            stat = Stat(*entry[1:])
            # A format that nobody reads is told by its head: hashing a film would be in vain.
            named = formats.by_name(os.fsdecode(entry.name))
            unread = named is None or not named.supported or named.name in self._left_out
            if entry.size > UNHASHED_BYTES and unread:
                return Source(opened, stat, None)
            found = digest(opened.fd, self._job.checkpoint)
            if found.secret is not None:
                raise secret_content(found.secret)
            known = candidate.known
            same = known is not None and known.sha256 == found.sha256
            if known is not None and same and known.fingerprint in self._valid:
                self._settled.append((candidate, stat))
                opened.close()
                return None
            return Source(opened, stat, found.sha256)
        except BaseException:
            opened.close()
            raise
