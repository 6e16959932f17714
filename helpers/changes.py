"""The dry run: what a sync would find changed, without reading what has not.

Promises: files whose key (size, times, inode) is known are not opened; a file whose key differs
is hashed, so that one that was merely touched does not count; nothing is written.
Does not: read documents, or judge whether an added file can be read at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from helpers import limits
from helpers.config import Settings
from helpers.errors import NoIndex, Unread
from helpers.source.names import display
from helpers.source.root import Root, Vanished, digest
from helpers.store import database, documents
from helpers.survey import survey

SKIPPED_BY_RULE = frozenset({"sensitive", "symlink", "hidden", "not_regular"})


@dataclass(slots=True)
class _Group:
    """A count, and the first paths of it."""

    count: int = 0
    paths: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        self.count += 1
        if len(self.paths) < limits.CHANGES_LISTED:
            self.paths.append(path)


class _Changes:
    def __init__(self) -> None:
        self.added, self.modified, self.deleted, self.failed = (_Group() for _ in range(4))

    def as_dict(self) -> dict[str, Any]:
        """The answer of CONTRACT.md; `failed` alone does not make a folder unclean."""
        groups = {"added": self.added, "modified": self.modified, "deleted": self.deleted}
        clean = not any(group.count for group in groups.values())
        groups["failed"] = self.failed
        shown = {name: {"count": g.count, "paths": g.paths} for name, g in groups.items()}
        return {**shown, "clean": clean}


def compare(settings: Settings) -> dict[str, Any]:
    """The changes of the knowledge folder since the last sync. Raises RootGone, StoreError."""
    changes = _Changes()
    with Root(settings.knowledge_dir) as root, _known_rows(settings) as db:
        found = survey(root, settings, db)
        away = set()
        for candidate in found.work:
            away.add(candidate.file.path)
            if candidate.known is None:
                changes.added.add(candidate.file.path)
            else:
                _suspect(root, candidate.raw, candidate.known, changes)
        for _, path in found.gone:
            away.add(path)
            changes.deleted.add(path)
        for refusal in found.unlisted:
            changes.failed.add(display(refusal.raw))
        for refusal in found.refusals:
            if refusal.code not in SKIPPED_BY_RULE:
                changes.failed.add(display(refusal.raw))
        for row in documents.unread(db, limits.JOB_FAILURES) if db else ():
            if row["code"] not in SKIPPED_BY_RULE and row["path"] not in away:
                changes.failed.add(row["path"])
    return changes.as_dict()


def readable(found: dict[str, Any]) -> str:
    """The answer for a terminal: a line per group, its first paths below it."""
    if found["clean"] and not found["failed"]["count"]:
        return "Nothing has changed since the last sync."
    lines = []
    for name in ("added", "modified", "deleted", "failed"):
        group = found[name]
        if group["count"]:
            lines += [f"{group['count']:,} {name}", *(f"  {path}" for path in group["paths"])]
            if group["count"] > len(group["paths"]):
                lines.append(f"  … and {group['count'] - len(group['paths']):,} more")
    return "\n".join(lines)


def _suspect(root: Root, raw: bytes, row: documents.Known, changes: _Changes) -> None:
    try:
        with root.open(raw) as file:
            same = row.sha256 is not None and digest(file.fd).sha256 == row.sha256
    except Vanished:
        changes.deleted.add(display(raw))
    except Unread:
        changes.failed.add(display(raw))
    else:
        if not same:
            changes.modified.add(display(raw))
        elif row.code and row.code not in SKIPPED_BY_RULE:
            changes.failed.add(display(raw))


@contextlib.contextmanager
def _known_rows(settings: Settings) -> Iterator[database.Connection | None]:
    """The index to compare with; None before the first sync. Raises StoreError."""
    try:
        db = database.open_read(settings.db)
    except NoIndex:
        yield None
        return
    try:
        with database.translated(settings.db):
            yield db
    finally:
        db.close()
