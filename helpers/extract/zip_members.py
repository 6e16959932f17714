"""ZIP archives, where following them was asked for: each member read as the document it is.

The threat: bombs, overlapping entries, archives in archives in archives, names that point outside.
Promises: names are labels and never paths; `archive` counts what is inflated, `nested` how much
and how deep; hidden members and those with the names of keys or passwords are left out, as they
are in a folder; encrypted and damaged members are told, the others read all the same.
Does not: unpack anything to disk, or read 7z, RAR, TAR and multi-volume archives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import UNREAD_CODES, Unread
from helpers.extract import mail_text, nested
from helpers.extract.archive import Archive
from helpers.extract.blocks import Block, Context, Item, Location, Notice
from helpers.source.refuse import Verdict, by_name, folder_by_name

SYSTEM_FOLDER = "__macosx"  # of a Mac: resource forks beside the files


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """The members in the order of the archive's directory, each located by its path inside.

    Raises Unread: `unsupported` where archives are not to be followed, `empty`, `corrupt`,
    `limit_reached`; where no member gave text, the code of the first that could not be read.
    """
    if not ctx.archives:
        raise Unread(
            "unsupported",
            "ZIP archive: what is inside is read with --archives on alone",
            "Sync with --archives on, or unpack it into the knowledge directory.",
        )
    ctx = nested.opened(ctx)
    archive = Archive(file, ctx)
    found = False
    told: Notice | None = None
    for item in _items(archive, ctx):
        found = found or isinstance(item, Block)
        told = told or (item if isinstance(item, Notice) else None)
        yield item
    if not found:
        raise _without_text(told)


def _items(archive: Archive, ctx: Context) -> Iterator[Item]:
    for name, shown in _members(archive):
        verdict = _verdict(shown)
        if verdict is not None:
            if verdict.code:
                yield Notice(verdict.code, f"{shown}: {verdict.reason}", _place(shown))
            continue
        try:
            data = nested.held(archive.pieces(name))
        except Unread as error:
            yield nested.unread(error, shown)
            continue
        yield from nested.read_nested(data, shown.rpartition("/")[2], ctx, shown)


def _without_text(told: Notice | None) -> Unread:
    """Why an archive gave nothing: what was said of its first member that could not be read."""
    if told is None:
        return Unread("empty", "The archive holds no text", "It is read once it has content.")
    code = told.code if told.code in UNREAD_CODES else "unsupported"
    remedy = "Unpack it into the knowledge directory to see what becomes of each file."
    return Unread(code, f"No member of the archive could be read: {told.message}", remedy)


def _members(archive: Archive) -> Iterator[tuple[str, str]]:
    """(name for the archive, path to show) of the files, in the order of the directory."""
    for entry in archive.files():
        raw = entry.orig_filename
        if not entry.flag_bits & 0x800:  # not in UTF-8: the code page of where it was made
            raw = mail_text.decoded_word(raw.encode("cp437", "replace"), "")
        shown = raw.replace("\\", "/").strip("/")
        yield entry.filename, nested.clean_name(shown, 2 * nested.NAME_CHARS)


def _verdict(path: str) -> Verdict | None:
    """Why a member is left out, by the names of its folders and its own."""
    *folders, name = path.split("/")
    for folder in folders:
        if folder.lower() == SYSTEM_FOLDER:
            return Verdict("", "")
        found = folder_by_name(folder) if folder not in (".", "..") else None
        if found is not None:
            return found
    return by_name(name)


def _place(shown: str) -> Location:
    return Location("part", shown, name=shown)
