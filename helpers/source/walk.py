"""One pass over the knowledge folder, folder by folder.

Promises: one listing per folder and one stat per file; folders come parent first, in name
order, entries in name order; links, special, hidden and sensitive files are named as refused,
exclusions are counted per rule; an unreadable folder is reported and says nothing about what
is beneath it; a missing or unreadable knowledge folder raises RootGone.
A mount point inside is entered like any folder; one that was seen before (`mounts`) and is now
an empty folder on the disk around it is reported as unread, so that nothing beneath is pruned.
A hard link is a file like any other: it cannot be told from its other names.
Does not: open documents, follow links, or compare with the index (`delta`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from helpers.errors import RootGone, Unread, limit_reached
from helpers.limits import FOLDER_DEPTH, IGNORE_BYTES
from helpers.source import ignore, refuse
from helpers.source.ignore import Rules, Scope
from helpers.source.names import ENCODING, ENCODING_ERRORS, encode, join
from helpers.source.refuse import Refusal, Verdict
from helpers.source.root import Root, Vanished, unread

HAS_ATTRIBUTES = sys.platform in ("win32", "darwin")
INTEGER = (1 << 63) - 1  # the largest integer that the index can hold
_ENDS = refuse.ENDINGS_TO_ASK
_STEMS = refuse.STEMS_TO_ASK
_PREFIXES = refuse.PREFIXES_TO_ASK


class Entry(NamedTuple):
    """A file that may be read. Everything but the name is its key."""

    name: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(slots=True)
class Folder:
    """One folder of the walk; with an `error`, nothing is known about what it holds."""

    raw: bytes
    entries: list[Entry] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)  # label of the rule → entries
    error: Refusal | None = None
    is_mount: bool = False


@dataclass(slots=True)
class _Listing:
    """A folder as it was listed, before exclusions."""

    files: list[Entry] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    odd: list[tuple[str, Verdict]] = field(default_factory=list)
    has_ignore_file: bool = False


class _Level(NamedTuple):
    """A folder that is held open, and its folders still to come, last first."""

    raw: bytes
    handle: Any
    scope: Scope
    pending: list[str]


def walk(
    root: Root, rules: Rules | None = None, mounts: Collection[bytes] = frozenset()
) -> Iterator[Folder]:
    """Every folder of `root` that is not left out. Raises RootGone.

    `mounts` holds the folders that earlier walks reported as mount points.
    """
    folder, level = _visit(root, root.handle, b"", ignore.scope(rules or Rules()), mounts)
    if folder.error is not None:
        raise RootGone(
            f"The knowledge folder {root.path} cannot be read: {folder.error.reason}",
            folder.error.remedy + " Nothing was pruned.",
        )
    levels = [level] if level else []
    try:
        yield folder
        while levels:
            if not levels[-1].pending:
                _leave(root, levels.pop())
                continue
            inside, inner = _step(root, levels, mounts)
            if inner is not None:
                levels.append(inner)
            if inside is not None:
                yield inside
    finally:
        for level in levels:
            _leave(root, level)


def _step(
    root: Root, levels: list[_Level], mounts: Collection[bytes]
) -> tuple[Folder | None, _Level | None]:
    """The next folder below the innermost level."""
    outer = levels[-1]
    name = outer.pending.pop()
    raw = join(outer.raw, encode(name))
    if len(levels) > FOLDER_DEPTH:
        error = limit_reached(
            "Folder depth", len(levels), FOLDER_DEPTH, "folders", "Move the folder further up."
        )
        return Folder(raw, error=_refusal(raw, error)), None
    try:
        handle = root.steps.enter_to_list(outer.handle, encode(name))
    except OSError as error:
        return _not_entered(root, outer, raw, error), None
    try:
        return _visit(root, handle, raw, outer.scope.inside(name), mounts)
    except BaseException:
        root.steps.leave(handle)
        raise


def _visit(
    root: Root, handle: Any, raw: bytes, scope: Scope, mounts: Collection[bytes]
) -> tuple[Folder, _Level | None]:
    """List one folder; the level is None, and the handle left, where listing failed."""
    device, inode = root.steps.identity(handle)
    folder = Folder(raw, is_mount=bool(raw) and device != root.identity[0])
    try:
        if (device, inode) in scope.rules.closed:
            folder.excluded["the data directory"] = 1
            listing = _Listing()
        else:
            listing = _list(handle)
            if listing.has_ignore_file:
                scope = scope.with_file(_ignore_file(root, raw))
    except OSError as error:
        folder.error = _refusal(raw, unread(error))
    except Unread as error:
        folder.error = _refusal(raw, error)
    else:
        empty = not (listing.files or listing.folders or listing.odd)
        if empty and not folder.is_mount and raw in mounts:
            folder.error = _refusal(raw, _unmounted())
        else:
            _fill(folder, listing, scope)
            return folder, _Level(raw, handle, scope, listing.folders)
    if raw:
        root.steps.leave(handle)
    return folder, None


def _list(handle: Any) -> _Listing:
    """One scandir of the folder: the loop that a sync without changes spends its time in."""
    listing = _Listing()
    files, append, new = listing.files, listing.files.append, tuple.__new__
    with os.scandir(handle if isinstance(handle, int) else handle.path) as items:
        for item in items:
            name = item.name
            if item.is_file(follow_symlinks=False):
                lower = name.lower()
                stem, _, ending = lower.rpartition(".")
                if ending in _ENDS or stem in _STEMS or lower.startswith(_PREFIXES):
                    if name == refuse.IGNORE_FILE:
                        listing.has_ignore_file = True
                    verdict = refuse.by_name(name)
                    if verdict is not None:
                        listing.odd.append((name, verdict))
                        continue
                try:
                    status = item.stat(follow_symlinks=False)
                except PermissionError:
                    raise  # the folder may be listed but not entered: nothing is known of it
                except OSError as error:
                    _list_broken(listing, name, error)
                    continue
                if HAS_ATTRIBUTES and (verdict := _attributes(status)) is not None:
                    listing.odd.append((name, verdict))
                    continue
                mtime = status.st_mtime_ns
                append(
                    new(
                        Entry,
                        (
                            name.encode(ENCODING, ENCODING_ERRORS),
                            status.st_size,
                            mtime if mtime < INTEGER else INTEGER,
                            status.st_ctime_ns,
                            status.st_ino & INTEGER,
                        ),
                    )
                )
            else:
                _list_other(listing, item)
    files.sort(key=itemgetter(0))
    listing.folders.sort(key=encode, reverse=True)
    listing.odd.sort()
    return listing


def _list_broken(listing: _Listing, name: str, error: OSError) -> None:
    """A file that the system lists and cannot tell about; one that just went is no news."""
    problem = unread(error)
    if not isinstance(problem, Vanished):
        listing.odd.append((name, Verdict(problem.code, problem.reason, problem.remedy)))


def _list_other(listing: _Listing, item: os.DirEntry[str]) -> None:
    """Sort in what is no file: a folder, a link, or something special."""
    name, verdict = item.name, None
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if item.is_dir(follow_symlinks=False):
        verdict = _attributes(status) if HAS_ATTRIBUTES else None
        if verdict is None:
            listing.folders.append(name)
            return
    else:
        if name == refuse.IGNORE_FILE:
            listing.has_ignore_file = True
        verdict = refuse.by_name(name)
        if verdict != refuse.QUIET:
            verdict = refuse.by_mode(status.st_mode) or verdict
    if verdict is not None:
        listing.odd.append((name, verdict))


def _fill(folder: Folder, listing: _Listing, scope: Scope) -> None:
    """Apply the exclusions and the rules for folder names."""
    folder.entries = listing.files
    if not scope.is_plain:
        folder.entries = [
            entry
            for entry in listing.files
            if not _counted(folder, scope, os.fsdecode(entry[0]), False)
        ]
    for name, verdict in listing.odd:
        if verdict.code == "":
            _count(folder, verdict.reason)
        elif not _counted(folder, scope, name, False):
            folder.refusals.append(Refusal(join(folder.raw, encode(name)), *verdict))
    kept = []
    for name in listing.folders:
        if _counted(folder, scope, name, True):
            continue
        verdict_or_none = refuse.folder_by_name(name)
        if verdict_or_none is None:
            kept.append(name)
        else:
            raw = join(folder.raw, encode(name))
            folder.refusals.append(Refusal(raw, *verdict_or_none))
    listing.folders[:] = kept
    folder.refusals.sort()


def _counted(folder: Folder, scope: Scope, name: str, is_folder: bool) -> bool:
    label = scope.excluded(name, is_folder)
    if label is None:
        return False
    _count(folder, label)
    return True


def _count(folder: Folder, label: str) -> None:
    folder.excluded[label] = folder.excluded.get(label, 0) + 1


def _ignore_file(root: Root, raw: bytes) -> tuple[ignore.Pattern, ...]:
    """The folder's own patterns. Raises Unread: without them nobody knows what may be read."""
    where = os.fsdecode(join(raw, encode(refuse.IGNORE_FILE)))
    try:
        with root.open(join(raw, encode(refuse.IGNORE_FILE))) as source:
            size = source.stat.st_size
            if size > IGNORE_BYTES:
                raise limit_reached("its size", size, IGNORE_BYTES, "bytes", "Shorten it.")
            data = os.read(source.fd, IGNORE_BYTES + 1)
        return ignore.parse(data.decode("utf-8", "surrogateescape"), where)
    except Vanished:
        return ()
    except (Unread, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, Unread) else str(error)
        raise Unread(
            "unreadable",
            f"its {refuse.IGNORE_FILE} cannot be used: {reason}",
            "Mend that file; until then nothing in this folder is read.",
        ) from None


def _not_entered(root: Root, outer: _Level, raw: bytes, error: OSError) -> Folder | None:
    """A folder that could not be opened: gone, swapped for something else, or unreadable."""
    name = raw[len(outer.raw) + 1 :] if outer.raw else raw
    problem = root.explain(error, outer.handle, name)
    if isinstance(problem, Vanished):
        return None
    refusal = _refusal(raw, problem)
    if problem.code in ("symlink", "not_regular"):
        return Folder(raw, refusals=[refusal])
    return Folder(raw, error=refusal)


def _unmounted() -> Unread:
    return Unread(
        "unreadable",
        "the drive or share that was mounted here is gone",
        "Mount it again; what was indexed beneath it is kept.",
    )


def _attributes(status: os.stat_result) -> Verdict | None:
    return refuse.by_attributes(
        getattr(status, "st_file_attributes", 0),
        getattr(status, "st_reparse_tag", 0),
        getattr(status, "st_flags", 0),
    )


def _refusal(raw: bytes, error: Unread) -> Refusal:
    return Refusal(raw, error.code, error.reason, error.remedy)


def _leave(root: Root, level: _Level) -> None:
    if level.raw:
        root.steps.leave(level.handle)
