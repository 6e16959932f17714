"""What changed: one walk over the knowledge folder, compared with what the index knows.

Promises: no file is opened; a folder whose snapshot holds is not compared again; a folder that
could not be listed, and everything beneath it, counts as unchanged; where an empty folder took
the place of the one indexed before, RootGone is raised and nothing is said to be gone.
Does not: read, hash or write anything. A sync acts on a Survey, a dry run shows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from helpers.config import Settings
from helpers.errors import RootGone
from helpers.source import delta, ignore, names
from helpers.source.delta import Entry
from helpers.source.refuse import Refusal
from helpers.source.root import Root, looks_unmounted
from helpers.source.walk import Folder, walk
from helpers.store import database, documents, snapshots
from helpers.store.documents import File, Known

ROOT_IDENTITY = "root_identity"  # meta key: [st_dev, st_ino] of the folder at the last sync
MOUNTS = "mounts"  # meta key: hex of the folders that the last sync saw as mount points


class Candidate(NamedTuple):
    """A file to look into; `known` is its row, None for a new file."""

    folder: bytes
    entry: Entry
    known: Known | None

    @property
    def raw(self) -> bytes:
        return names.join(self.folder, self.entry.name)

    @property
    def file(self) -> File:
        return File(self.folder, self.entry.name, names.display(self.raw))


@dataclass(slots=True)
class Survey:
    """What one walk found out."""

    work: list[Candidate] = field(default_factory=list)
    gone: list[tuple[int, str]] = field(default_factory=list)  # id and path of a document
    refusals: list[Refusal] = field(default_factory=list)
    unlisted: list[Refusal] = field(default_factory=list)  # folders that could not be listed
    excluded: dict[str, int] = field(default_factory=dict)  # label of the rule → entries
    mounts: list[bytes] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    unproven: dict[bytes, bytes] = field(default_factory=dict)  # folder → snapshot, as listed
    files: int = 0
    unchanged: int = 0

    @property
    def met(self) -> int:
        """How much there is below the root, whatever became of it."""
        return self.files + len(self.refusals) + sum(self.excluded.values()) + len(self.seen) - 1

    def add(self, folder: Folder, found: delta.Delta) -> None:
        """Take in one folder and what changed in it."""
        raw = folder.raw
        self.seen.add(raw)
        self.refusals += folder.refusals
        self.files += len(folder.entries)
        self.unchanged += found.unchanged
        if folder.error is not None:
            self.unlisted.append(folder.error)
        if folder.is_mount:
            self.mounts.append(raw)
        for label, count in folder.excluded.items():
            self.excluded[label] = self.excluded.get(label, 0) + count
        self.work += [Candidate(raw, entry, None) for entry in found.added]
        self.work += [Candidate(raw, e, cast(Known, row)) for e, row in found.suspect + found.stale]
        for name, row in found.gone:
            self.gone.append((cast(Known, row).id, names.display(names.join(raw, name))))


def survey(
    root: Root,
    settings: Settings,
    db: database.Connection | None,
    valid: Container[str] | None = None,
    readers: bytes | None = None,
    checkpoint: Callable[[], None] = lambda: None,
) -> Survey:
    """Walk `root` once and compare each of its folders with what `db` knows of it.

    `valid` holds the fingerprints still in force (None: all), `readers` their digest, without
    which no snapshot is looked at; `db` is None before the first sync. `checkpoint` is called
    for each folder and may raise to give up. Raises RootGone, sqlite3.Error.
    """
    found = Survey()
    held = snapshots.all_of(db) if db and readers else {}
    mounts = {bytes.fromhex(raw) for raw in database.get_meta(db, MOUNTS, [])} if db else set()
    for folder in walk(root, rules(settings), mounts):
        checkpoint()
        snapshot = snapshots.digest(folder.entries, readers) if readers else b""
        if readers and folder.error is None and held.get(folder.raw) == snapshot:
            found.add(folder, delta.Delta(unchanged=len(folder.entries)))
        else:
            found.unproven[folder.raw] = snapshot
            found.add(folder, _compared(folder, db, valid))
    if db:
        _ensure_mounted(root, db, found.met)
        unlisted = [refusal.raw for refusal in found.unlisted]
        for raw in delta.vanished(documents.folders(db), found.seen, unlisted):
            found.gone += documents.in_folder(db, raw)
            found.unproven[raw] = b""
    return found


def rules(settings: Settings) -> ignore.Rules:
    """The exclusions of this launch; the data directory is never entered."""
    closed = []
    for folder in (settings.data_dir, settings.db.parent):
        with contextlib.suppress(OSError):
            status = folder.stat()
            closed.append((status.st_dev, status.st_ino))
    return ignore.build(
        settings.exclude,
        settings.exclude_dirs,
        settings.exclude_files,
        closed,
        str(settings.knowledge_dir),
    )


def _compared(
    folder: Folder, db: database.Connection | None, valid: Container[str] | None
) -> delta.Delta:
    if folder.error is not None:
        return delta.Delta()
    known = documents.folder_rows(db, folder.raw) if db else {}
    return delta.compare(folder.entries, known, valid)


def _ensure_mounted(root: Root, db: database.Connection, met: int) -> None:
    if met:
        return
    before = database.get_meta(db, ROOT_IDENTITY)
    identity = None if before is None else (before[0], before[1])
    if looks_unmounted(identity, root.identity, met, documents.counts(db)["documents"]):
        raise RootGone(
            f"The knowledge folder {root.path} is empty and not the folder indexed before",
            "Connect its drive or share and sync again; nothing was pruned. If it really is"
            " empty now, run rag_sync.py --clear --yes.",
        )
