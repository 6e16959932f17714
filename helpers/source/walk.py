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
ENDINGS_REMEMBERED = 4096  # name endings


# name, size, mtime_ns, ctime_ns, inode: a plain tuple, since building a named one and having
# the collector track it makes a sync without changes 10 % slower. `delta.Entry` names the fields.
Found = tuple[bytes, int, int, int, int]


@dataclass(slots=True)
class Folder:
    """One folder of the walk; with an `error`, nothing is known about what it holds."""

    raw: bytes
    entries: list[Found] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)  # label of the rule → entries
    error: Refusal | None = None
    is_mount: bool = False


@dataclass(slots=True)
class _Listing:
    """A folder as it was listed, before exclusions."""

    files: list[Found] = field(default_factory=list)
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
    return _Walk(root, mounts).run(rules or Rules())


class _Walk:
    """The folders held open from the root down to where the walk stands."""

    __slots__ = ("harmless", "levels", "mounts", "root")

    def __init__(self, root: Root, mounts: Collection[bytes]) -> None:
        self.root, self.mounts = root, mounts
        self.levels: list[_Level] = []
        self.harmless: set[str] = set()

    def run(self, rules: Rules) -> Iterator[Folder]:
        folder = self._visit(self.root.handle, b"", ignore.scope(rules))
        if folder.error is not None:
            raise RootGone(
                f"The knowledge folder {self.root.path} cannot be read: {folder.error.reason}",
                folder.error.remedy + " Nothing was pruned.",
            )
        try:
            yield folder
            while self.levels:
                inside = self._step(self.levels[-1])
                if inside is not None:
                    yield inside
        finally:
            for level in self.levels:
                self._leave(level.raw, level.handle)

    def _step(self, outer: _Level) -> Folder | None:
        """The next folder inside `outer`; None if it went, or once there is none left."""
        if not outer.pending:
            self.levels.pop()
            self._leave(outer.raw, outer.handle)
            return None
        name = outer.pending.pop()
        raw_name = encode(name)
        raw = join(outer.raw, raw_name)
        depth = len(self.levels)
        if depth > FOLDER_DEPTH:
            return Folder(raw, error=_refusal(raw, _too_deep(depth)))
        try:
            handle = self.root.steps.enter_to_list(outer.handle, raw_name)
        except OSError as error:
            return _not_entered(raw, self.root.explain(error, outer.handle, raw_name))
        try:
            return self._visit(handle, raw, outer.scope.inside(name))
        except BaseException:
            self._leave(raw, handle)
            raise

    def _visit(self, handle: Any, raw: bytes, scope: Scope) -> Folder:
        """List one folder; where that works, it becomes the innermost level."""
        folder = Folder(raw)
        try:
            self._fill(folder, handle, scope)
        except OSError as error:
            folder.error = _refusal(raw, unread(error))
        except Unread as error:
            folder.error = _refusal(raw, error)
        if folder.error is not None:
            self._leave(raw, handle)
        return folder

    def _fill(self, folder: Folder, handle: Any, scope: Scope) -> None:
        device, inode = self.root.steps.identity(handle)
        folder.is_mount = bool(folder.raw) and device != self.root.identity[0]
        listing = _Listing()
        if (device, inode) in scope.rules.closed:
            _count(folder, "the data directory")
        else:
            listing = _list(handle, self.harmless)
        empty = not (listing.files or listing.folders or listing.odd)
        if empty and not folder.is_mount and folder.raw in self.mounts:
            folder.is_mount = True  # it stays known as one until it holds something else
            raise _unmounted()
        if listing.has_ignore_file:
            scope = scope.with_file(_ignore_file(self.root, folder.raw))
        _apply(folder, listing, scope)
        self.levels.append(_Level(folder.raw, handle, scope, listing.folders))

    def _leave(self, raw: bytes, handle: Any) -> None:
        if raw:  # the root's handle belongs to the Root
            self.root.steps.leave(handle)


def _list(handle: Any, harmless: set[str]) -> _Listing:
    """One scandir of the folder: the loop that a sync without changes spends its time in.

    `harmless` collects name endings that need no verdict; it lives as long as the walk.
    """
    listing = _Listing()
    append, heads, first = listing.files.append, refuse.HEADS_TO_ASK, refuse.FIRST_TO_ASK
    most, odd_attributes = INTEGER, _attributes if HAS_ATTRIBUTES else None
    with os.scandir(handle if isinstance(handle, int) else handle.path) as items:
        for item in items:
            name = item.name
            if not item.is_file(follow_symlinks=False):
                _list_other(listing, item)
                continue
            if (
                name < first or name[:2] in heads or name[name.rfind(".") :] not in harmless
            ) and _is_refused(listing, name, harmless):
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except OSError as error:
                _list_broken(listing, name, error)
                continue
            if odd_attributes is not None and (verdict := odd_attributes(status)) is not None:
                listing.odd.append((name, verdict))
                continue
            mtime = status.st_mtime_ns
            append(
                (
                    name.encode() if name.isascii() else name.encode(ENCODING, ENCODING_ERRORS),
                    status.st_size,
                    mtime if mtime < most else most,
                    status.st_ctime_ns,
                    status.st_ino & most,
                )
            )
    listing.files.sort(key=itemgetter(0))
    listing.folders.sort(key=encode, reverse=True)
    listing.odd.sort()
    return listing


def _is_refused(listing: _Listing, name: str, harmless: set[str]) -> bool:
    """Ask for the verdict on a name that the loop could not wave through."""
    if name == refuse.IGNORE_FILE:
        listing.has_ignore_file = True
    verdict = refuse.by_name(name)
    if verdict is not None:
        listing.odd.append((name, verdict))
    elif refuse.is_harmless_ending(name) and len(harmless) < ENDINGS_REMEMBERED:
        harmless.add(name[name.rfind(".") :])
    return verdict is not None


def _list_broken(listing: _Listing, name: str, error: OSError) -> None:
    """A file that the system lists and cannot tell about; one that just went is no news.

    Raises PermissionError on: the folder may be listed but not entered, nothing is known of it.
    """
    if isinstance(error, PermissionError):
        raise error
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


def _apply(folder: Folder, listing: _Listing, scope: Scope) -> None:
    """Apply the exclusions and the rules for folder names; `listing.folders` is cut down."""
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


def _not_entered(raw: bytes, problem: Unread) -> Folder | None:
    """A folder that could not be opened: gone, swapped for something else, or unreadable."""
    refusal = _refusal(raw, problem)
    if isinstance(problem, Vanished):
        return None
    if problem.code in ("symlink", "not_regular"):
        return Folder(raw, refusals=[refusal])
    return Folder(raw, error=refusal)


def _too_deep(depth: int) -> Unread:
    return limit_reached(
        "Folder depth", depth, FOLDER_DEPTH, "folders", "Move the folder further up."
    )


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
