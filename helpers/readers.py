"""The readers of this installation: what identifies them, and the processes they run in.

Promises: a document's fingerprint names everything that decides its chunks (reader, packages,
chunker; and, where the document holds images or sound, what recognised them or that nothing
did), so that exactly the documents concerned are read again when one of these changes.
Does not: read anything, or say which documents there are.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from helpers import limits
from helpers.config import Settings
from helpers.extract import formats
from helpers.language.chunk import ChunkPolicy
from helpers.recognition import FAMILIES, Recogniser, Wanted
from helpers.recognize import choose

if TYPE_CHECKING:
    from helpers.extract.sandbox import ReaderPool


class Fingerprints:
    """What identifies the makers of a document's chunks under the launch settings."""

    def __init__(self, settings: Settings) -> None:
        self._by_format = _by_format(policy(settings), settings.archives == "on")
        self._by_family = choose.fingerprints(settings)

    def of(self, format_name: str | None, wanted: Iterable[str] = ()) -> str:
        """Of a document of this format ("" or None: of none), which wanted these families."""
        found = self._by_format.get(format_name or "", "")
        return " ".join([found, *(self._by_family[family] for family in sorted(wanted))])

    def valid(self) -> frozenset[str]:
        """Every fingerprint that a document read now could have."""
        families = sorted(set(FAMILIES.values()))
        wishes = [
            wish
            for count in range(len(families) + 1)
            for wish in itertools.combinations(families, count)
        ]
        return frozenset(self.of(name, wish) for name in self._by_format for wish in wishes)


def policy(settings: Settings) -> ChunkPolicy:
    """How the launch settings want documents cut."""
    return ChunkPolicy(settings.chunk_chars, settings.chunk_overlap, settings.thai_words)


def pool(
    settings: Settings,
    recogniser: Recogniser | None,
    asked: Callable[[int, Wanted], None] | None = None,
) -> ReaderPool:
    """The reader processes; `asked` hears of each question, by the ticket of its file."""
    # Imported here: a sync that finds nothing to do starts 40 ms sooner without it.
    from helpers.extract.sandbox import ReaderPool, ReadPolicy

    workers = settings.workers or min(os.cpu_count() or 1, limits.READERS_MAX)
    reading = ReadPolicy(policy(settings), archives=settings.archives == "on")
    return ReaderPool(reading, workers, recogniser=recogniser, asked=asked)


@functools.cache
def _by_format(chunking: ChunkPolicy, archives: bool) -> dict[str, str]:
    """Format name → what identifies its reader and the chunker; "" stands for no format."""
    chunker = chunking.fingerprint
    found = {f.name: f"{formats.fingerprint(f, archives)} {chunker}" for f in formats.FORMATS}
    return found | {"": "none " + "+".join(sorted(f.name for f in formats.FORMATS if f.supported))}
