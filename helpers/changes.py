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
from helpers.errors import NoIndex, RootGone, Unread
from helpers.source import delta, ignore, walk
from helpers.source.names import display, join
from helpers.source.root import Root, Vanished, digest, looks_unmounted
from helpers.store import database, documents

ROOT_IDENTITY = "root_identity"  # meta key: [st_dev, st_ino] of the folder at the last sync
MOUNTS = "mounts"  # meta key: hex of the folders that the last sync saw as mount points
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
        mounts = database.get_meta(db, MOUNTS, []) if db else []
        seen: set[bytes] = set()
        files = 0
        unread: list[bytes] = []
        for folder in walk.walk(root, rules(settings), {bytes.fromhex(name) for name in mounts}):
            if folder.error is not None:
                unread.append(folder.raw)
                changes.failed.add(display(folder.raw))
                continue
            seen.add(folder.raw)
            files += len(folder.entries) + len(folder.refusals)
            _folder(root, folder, documents.folder_rows(db, folder.raw) if db else {}, changes)
        if db is not None:
            ensure_mounted(root, db, files + len(seen) - 1)
            for gone in delta.vanished(documents.folders(db), seen, unread):
                for _, path in documents.in_folder(db, gone):
                    changes.deleted.add(path)
    return changes.as_dict()


def ensure_mounted(root: Root, db: database.Connection, found: int) -> None:
    """Raise RootGone where an empty folder took the place of the one indexed before.

    `found` counts everything that a walk met below the root.
    """
    if found:
        return
    before = database.get_meta(db, ROOT_IDENTITY)
    known = documents.counts(db)["documents"]
    identity = None if before is None else (before[0], before[1])
    if looks_unmounted(identity, root.identity, found, known):
        raise RootGone(
            f"The knowledge folder {root.path} is empty and not the folder indexed before",
            "Connect its drive or share and sync again; nothing was pruned. If it really is"
            " empty now, run rag_sync.py --clear --yes.",
        )


def rules(settings: Settings) -> ignore.Rules:
    """The exclusions of this launch; the data directory is never entered."""
    closed = []
    with contextlib.suppress(OSError):
        status = settings.data_dir.stat()
        closed.append((status.st_dev, status.st_ino))
    return ignore.build(
        settings.exclude,
        settings.exclude_dirs,
        settings.exclude_files,
        closed,
        str(settings.knowledge_dir),
    )


def _folder(
    root: Root, folder: walk.Folder, known: dict[bytes, documents.Known], changes: _Changes
) -> None:
    for refusal in folder.refusals:
        if refusal.code not in SKIPPED_BY_RULE:
            changes.failed.add(display(refusal.raw))
    found = delta.compare(folder.entries, known)
    for entry in found.added:
        changes.added.add(display(join(folder.raw, entry.name)))
    for name, _ in found.gone:
        changes.deleted.add(display(join(folder.raw, name)))
    for entry, _ in found.suspect:
        _suspect(root, join(folder.raw, entry.name), known[entry.name], changes)
    away = {name for name, _ in found.gone} | {entry.name for entry, _ in found.suspect}
    for name, known_row in known.items():
        if known_row.code and known_row.code not in SKIPPED_BY_RULE and name not in away:
            changes.failed.add(display(join(folder.raw, name)))


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
