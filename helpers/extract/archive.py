"""Guarded reading of ZIP containers: the parts of an office file, inflated piece by piece.

The threat: a container of 42 KB can declare 5.2 GB through overlapping entries, a header may
lie about sizes, a name may point outside (`../../evil`), a directory may list a million entries.
Promises: nothing is ever written to disk; inflated bytes are counted while they are inflated,
per part and per document; only stored and deflated entries are read; every failure is `Unread`.
Does not: know any document format, or repair a damaged container.
"""

from __future__ import annotations

import errno
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import locked
from helpers.extract.blocks import Context
from helpers.limits import (
    ZIP_DIRECTORY_BYTES,
    ZIP_DOCUMENT_BYTES,
    ZIP_ENTRIES,
    ZIP_PART_BYTES,
    ZIP_RATIO,
    ZIP_RATIO_FROM_BYTES,
    ZIP_SMALL_PART_BYTES,
)

PIECE_BYTES = 65_536  # bytes inflated at a time
RESAVE = "Open it in the program that made it and save it again, or replace it by a good copy."
SMALLER = "Split the document, or exclude the file."

_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_ENCRYPTED_FLAG = 0x1
_UTF8_FLAG = 0x800
_LOCAL_HEADER_BYTES = 30
_ENTRY_BYTES = 46  # of an entry of the directory, at least
_END_RECORD = struct.Struct("<4s4H2LH")
_END_RECORD_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OverflowError,
    struct.error,
    zlib.error,
)


class Archive:
    """One open container.

    Names are looked up without regard to case, leading slash or kind of slash; of entries
    with the same name the last one counts, as in the programs that write them.
    """

    def __init__(self, file: BinaryIO, ctx: Context) -> None:
        self._heartbeat = ctx.heartbeat
        file = _container(file, ctx)
        self._bytes = file.seek(0, 2)
        _refuse_large_directory(file, self._bytes)
        try:
            self._zip = zipfile.ZipFile(file)
        except OSError as error:
            raise _io_failure(error) from error
        except _DAMAGE as error:
            raise _corrupt(f"is cut short or no ZIP container ({error})") from error
        entries = self._zip.infolist()
        if len(entries) > ZIP_ENTRIES:
            raise limit_reached("ZIP entries", len(entries), ZIP_ENTRIES, "entries", SMALLER)
        _refuse_overlaps(entries, self._bytes)
        self._entries = {_plain(entry.filename): entry for entry in entries}
        self._inflated = 0

    @property
    def names(self) -> list[str]:
        """The folded names of all entries, directories included."""
        return list(self._entries)

    def files(self) -> list[zipfile.ZipInfo]:
        """The entries that are no directories, in the order of the container's directory."""
        return [entry for entry in self._entries.values() if not entry.is_dir()]

    def __contains__(self, name: str) -> bool:
        return _plain(name) in self._entries

    def pieces(self, name: str) -> Iterator[bytes]:
        """The part's bytes in pieces of PIECE_BYTES at most.

        Raises Unread: corrupt (missing, damaged, wrong checksum), encrypted, limit_reached.
        """
        entry = self._entries.get(_plain(name))
        if entry is None:
            raise _corrupt(f"has no part {name}")
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise Unread("encrypted", "The file is encrypted", "Save a copy without a password.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _corrupt(f"stores {name} by the unknown method {entry.compress_type}")
        stored = max(1, min(entry.compress_size, self._bytes))
        inflated = 0
        for piece in self._inflate(entry):
            inflated += len(piece)
            self._inflated += len(piece)
            self._heartbeat()
            if inflated > ZIP_RATIO_FROM_BYTES or self._inflated > ZIP_RATIO_FROM_BYTES:
                self._check(name, inflated, stored)
            yield piece

    def whole(self, name: str, most: int = ZIP_SMALL_PART_BYTES) -> bytes:
        """A small part's bytes; raises Unread limit_reached beyond `most` bytes."""
        found = bytearray()
        for piece in self.pieces(name):
            found += piece
            if len(found) > most:
                raise limit_reached(f"Part {name}", len(found), most, "bytes inflated", SMALLER)
        return bytes(found)

    def _inflate(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        try:
            with self._zip.open(entry) as part:
                while piece := part.read(PIECE_BYTES):
                    yield piece
        except OSError as error:
            raise _io_failure(error) from error
        except _DAMAGE as error:
            raise _corrupt(f"has a damaged part {entry.filename!r} ({error})") from error

    def _check(self, name: str, inflated: int, stored: int) -> None:
        for what, reached, limit, unit in (
            (f"Part {name}", inflated, ZIP_PART_BYTES, "bytes inflated"),
            ("The document", self._inflated, ZIP_DOCUMENT_BYTES, "bytes inflated"),
        ):
            if reached > limit:
                raise limit_reached(what, reached, limit, unit, SMALLER)
        ratio = max(inflated / stored, self._inflated / max(1, self._bytes))
        if ratio > ZIP_RATIO:
            what, unit = f"Compression of part {name}", "bytes inflated per stored byte"
            raise limit_reached(what, math.ceil(ratio), ZIP_RATIO, unit, SMALLER)


# --- what is refused before anything is inflated ----------------------------------------


def _container(file: BinaryIO, ctx: Context) -> BinaryIO:
    """The file, or the container inside it that needs no question to be decrypted. An empty file
    is refused, and a compound file that holds an old document or needs a password.
    """
    if not file.seek(0, 2):
        raise Unread(
            "empty", "The file is empty (0 bytes)", "Delete it, or save the document again."
        )
    file.seek(0)
    if file.read(len(_COMPOUND_FILE)) != _COMPOUND_FILE:
        return file
    file.seek(0)
    tail = b""
    while piece := file.read(1 << 20):
        if _ENCRYPTED_STREAM in tail + piece:
            return locked.opened(file, ctx.heartbeat)
        tail = piece[-len(_ENCRYPTED_STREAM) :]
    raise Unread(
        "unsupported",
        "The file is an old binary Office document (.doc, .xls, .ppt) by its content",
        "Save it in the present format of that program (.docx, .xlsx, .pptx).",
    )


def _refuse_large_directory(file: BinaryIO, size: int) -> None:
    """The directory is read into memory whole, so its size is looked at first."""
    tail_at = max(0, size - _END_RECORD.size - 0xFFFF)
    file.seek(tail_at)
    tail = file.read()
    at = len(tail) - _END_RECORD.size
    if at < 0 or not (tail.startswith(b"PK\5\6", at) and tail.endswith(b"\0\0")):
        at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END_RECORD.size:
        raise _corrupt("is cut short or no ZIP container")
    record = _END_RECORD.unpack_from(tail, at)
    entries, directory = record[4], record[5]
    wide = _wide_record(file, tail_at + at)
    if wide is not None:
        entries, directory = wide
    if directory > size or (entries > ZIP_ENTRIES and entries * _ENTRY_BYTES > directory):
        raise _corrupt("is damaged: its end tells of a directory that cannot be")
    if entries > ZIP_ENTRIES:
        raise limit_reached("ZIP entries", entries, ZIP_ENTRIES, "entries", SMALLER)
    if directory > ZIP_DIRECTORY_BYTES:
        raise limit_reached("ZIP directory", directory, ZIP_DIRECTORY_BYTES, "bytes", SMALLER)


def _wide_record(file: BinaryIO, end_at: int) -> tuple[int, int] | None:
    """Entry count and directory size of a ZIP64 container, or None."""
    if end_at < _LOCATOR_64.size + _END_RECORD_64.size:
        return None
    file.seek(end_at - _LOCATOR_64.size)
    if _LOCATOR_64.unpack(file.read(_LOCATOR_64.size))[0] != b"PK\6\7":
        return None
    file.seek(end_at - _LOCATOR_64.size - _END_RECORD_64.size)
    record = _END_RECORD_64.unpack(file.read(_END_RECORD_64.size))
    return (record[7], record[8]) if record[0] == b"PK\6\6" else None


def _refuse_overlaps(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Entries that share stored bytes; one listed twice, at the same place, is let through.

    Where all lie within the file and claim more than twice its bytes, the sharing was meant; one
    wrong size in a directory cannot do that. Lost bytes may let entries begin before the file,
    which is told by whoever reads them.
    """
    spans = sorted({_span(entry) for entry in entries})
    overlaps, reach = 0, -math.inf
    for begin, end, _ in spans:
        overlaps += begin < reach
        reach = max(reach, end)
    claimed = sum(end - begin for begin, end, _ in spans)
    if overlaps and reach <= size and claimed > 2 * size:
        raise limit_reached("Overlapping ZIP entries", overlaps, 0, "entries", RESAVE)
    if overlaps:
        raise _corrupt(f"lists parts that lie over each other ({overlaps:,} of them)")


def _span(entry: zipfile.ZipInfo) -> tuple[int, int, str]:
    charset = "utf-8" if entry.flag_bits & _UTF8_FLAG else "cp437"
    head = _LOCAL_HEADER_BYTES + len(entry.orig_filename.encode(charset, "replace"))
    begin = entry.header_offset
    return begin, begin + head + entry.compress_size, entry.orig_filename


# --- words --------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").casefold()


def _corrupt(reason: str) -> Unread:
    return Unread("corrupt", f"The file {reason}", RESAVE)


def _io_failure(error: OSError) -> Unread:
    if error.errno in (None, errno.EINVAL):
        return _corrupt("is cut short or damaged: an offset points outside the file")
    return Unread(
        "unreadable", f"The file cannot be read ({error.strerror})", "Check the disk or share."
    )
