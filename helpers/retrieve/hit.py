"""What legs speak: a Hit, the Filters of a search, and a Leg's report.

Does not: find, rank or read anything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

GLOB_SIGNS = "*?["


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk (by row id) that a leg proposes; `score` is 0 to 1, higher is better.

    `proof` is what the hit is worth beside other legs' (None: its score): the best hit of a leg
    may have proven little.
    `rest` marks a hit beyond those the leg looked at closely: it stays behind all others.
    `later` marks one that only a later page asks for: it moves nothing that a page before showed.
    """

    chunk: int
    score: float
    rest: bool = False
    later: bool = False
    proof: float | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg did: its hits, best first, its time, and why it did not run if it did not."""

    name: str
    hits: tuple[Hit, ...] = ()
    ms: float = 0.0
    ran: bool = True
    reason: str | None = None
    also: Mapping[int, float] = field(default_factory=dict)  # its scores of other legs' hits
    weight: float | None = None  # of its scores, where that is not the same for every search
    share: float = 1.0  # of the index that it can find anything in

    @property
    def near(self) -> tuple[Hit, ...]:
        """The hits of a first look."""
        return tuple(hit for hit in self.hits if not hit.later)

    def report(self) -> dict[str, object]:
        """The leg's entry in Answer.legs."""
        found: dict[str, object] = {"ran": self.ran, "hits": len(self.hits)}
        found["ms"] = round(self.ms, 2)
        if self.reason:
            found["reason"] = self.reason
        return found


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents a search may answer from: a path glob, a type, a least time (ns)."""

    path: str | None = None
    type: str | None = None
    after_ns: int | None = None
    _where: tuple[str, tuple[object, ...]] = field(init=False, default=("", ()))

    def __post_init__(self) -> None:
        object.__setattr__(self, "_where", self._condition())

    def __bool__(self) -> bool:
        return bool(self._where[0])

    @property
    def sql(self) -> str:
        """A condition over the table `document`, "" for none; its values are `values`."""
        return self._where[0]

    @property
    def values(self) -> tuple[object, ...]:
        return self._where[1]

    def _condition(self) -> tuple[str, tuple[object, ...]]:
        parts: list[str] = []
        values: list[object] = []
        if self.path:
            pattern = unicodedata.normalize("NFC", self.path).replace("\\", "/").removeprefix("./")
            if any(sign in pattern for sign in GLOB_SIGNS):
                parts.append("(document.path GLOB ? OR document.path GLOB ?)")
                values += [pattern, f"*/{pattern}"]
            else:
                whole = pattern.rstrip("/")
                parts.append("(document.path = ? OR substr(document.path, 1, ?) = ?)")
                values += [whole, len(whole) + 1, f"{whole}/"]
        if self.type:
            kind = self.type.lower().lstrip(".")
            parts.append("(document.type = ? OR lower(substr(document.path, ?)) = ?)")
            values += [kind, -len(kind) - 1, f".{kind}"]
        if self.after_ns is not None:
            parts.append("document.mtime_ns > ?")
            values.append(self.after_ns)
        return " AND ".join(parts), tuple(values)
