"""The compound file: the small file system in which DOC, XLS, PPT, HWP and MSG are kept.

Source: [MS-CFB] "Compound File Binary File Format", sections 2.1 to 2.6.
The threat: chains of sectors that loop or cross, a directory whose tree loops, a header that
promises more sectors than the file holds, a small stream that says it is 2 GB.
Promises: a chain is followed no further than the stream's own size and the file's; every sector
that lies next to its neighbour is read in one go; what is cut off reads as a shorter stream and
is told by `Stream.cut`; everything that cannot be followed raises `Unread("corrupt")`.
Does not: write, decrypt, inflate, or know what a stream means.
"""

from __future__ import annotations

import io
import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
END_OF_CHAIN = 0xFFFFFFFE
LAST_SECTOR = 0xFFFFFFF9  # greater numbers are marks, not sectors
NO_ENTRY = 0xFFFFFFFF
ENTRY_BYTES = 128
STORAGE, STREAM, ROOT = 1, 2, 5
RESAVE = "Open it in the program that made it and save it again, or replace it by a good copy."

_ENTRY = struct.Struct("<64sHBBIII16sIQQIQ")
_HEADER = struct.Struct("<HHHHH6xIIIIIIIII")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream or storage. `path` holds the names below the root; `size` is in bytes; `clsid`
    the 16 bytes of a storage's class."""

    path: Path
    kind: int
    start: int
    size: int
    clsid: bytes


class CompoundFile:
    """One open compound file.

    `entries` maps paths, folded to lower case as the format compares names, to entries in the
    order of the directory's tree. Raises Unread: `corrupt` where header, allocation table or
    directory cannot be followed, `limit_reached` for a directory beyond OLE_ENTRIES. Not `whole`
    is a file without its directory: it has no entries, only streams to `open_at`.
    """

    def __init__(self, file: BinaryIO, whole: bool = True) -> None:
        self._file = file
        self._length = file.seek(0, io.SEEK_END)
        file.seek(0)
        header = file.read(512)
        if len(header) < 512 or header[:8] != MAGIC:
            raise _corrupt("it has no compound file header")
        facts = _HEADER.unpack_from(header, 24)
        _, version, _, shift, mini_shift = facts[:5]
        if shift not in (9, 12) or mini_shift != 6:
            raise _corrupt(f"its sectors would have 2^{shift} and 2^{mini_shift} bytes")
        self.sector_bytes = 1 << shift
        self._sectors = max(0, -(-self._length // self.sector_bytes) - 1)
        self._read_table(header, difat_first=facts[12])
        self.entries: dict[Path, Entry] = {}
        self._root: Entry | None = None
        if not whole:
            return
        self._read_directory(facts[7], wide=version >= 4)
        first, count = facts[10], facts[11]
        self._mini_table = self._numbers(self._chain_bytes(first, count * self.sector_bytes))
        self._mini: bytes | None = None

    def __contains__(self, path: Path) -> bool:
        return _folded(path) in self.entries

    def below(self, path: Path = ()) -> Iterator[Entry]:
        """The entries right below a storage, in the directory's order."""
        start = _folded(path)
        for folded, entry in self.entries.items():
            if len(folded) == len(start) + 1 and folded[: len(start)] == start:
                yield entry

    def open(self, *path: str) -> Stream:
        """A stream for reading. Raises Unread("corrupt") where there is none of that path."""
        entry = self.entries.get(_folded(path))
        if entry is None or entry.kind != STREAM:
            raise _corrupt(f"it has no stream {'/'.join(path)}")
        if entry.size < 4096:
            return self._open_small(entry)
        return Stream(self._file, self._runs(entry.start, entry.size), entry.size)

    def read(self, *path: str, most: int = limits.OLE_STREAM_BYTES) -> bytes:
        """All bytes of a stream. Raises Unread as `open`, `limit_reached` beyond `most` bytes."""
        stream = self.open(*path)
        if stream.size > most:
            what = f"the stream {path[-1]}"
            raise limit_reached(what, stream.size, most, "bytes", "Split the document.")
        return stream.read()

    def open_at(self, sector: int) -> Stream:
        """What is left of the stream that begins at a sector. Behind the end of the allocation
        table one sector is taken after the other: most programs write a stream in one piece."""
        unit = self.sector_bytes
        runs = self._runs(sector, (self._sectors - sector) * unit)
        end = sum(runs[-1]) if runs else self._length
        if end // unit - 2 >= len(self._table) and end < self._length:
            runs.append((end, self._length - end))
        return Stream(self._file, runs, sum(count for _, count in runs))

    # --- tables ---------------------------------------------------------------------------

    def _read_table(self, header: bytes, difat_first: int) -> None:
        """The allocation table: for every sector the one that follows it."""
        places = [n for n in struct.unpack_from("<109I", header, 76) if n <= LAST_SECTOR]
        sector, per = difat_first, self.sector_bytes // 4
        most = self._sectors // per + 1  # tables that the file has sectors for
        while sector <= LAST_SECTOR and len(places) <= most:
            numbers = self._numbers(self._sector(sector))
            if len(numbers) < per:
                break
            places += [n for n in numbers[:-1] if n <= LAST_SECTOR]
            sector = numbers[-1]
        table = array("I")
        for start, count in _joined(places[: most + 1]):
            table += self._numbers(self._sector(start, count))
        self._table = table
        self._following = array("I", range(1, len(table) + 1))

    def _read_directory(self, start: int, wide: bool) -> None:
        raw = self._chain_bytes(start, (limits.OLE_ENTRIES + 1) * ENTRY_BYTES)
        count = len(raw) // ENTRY_BYTES
        if count > limits.OLE_ENTRIES:
            what = "the compound file's directory"
            raise limit_reached(what, count, limits.OLE_ENTRIES, "entries", "Split the document.")
        rows = [_ENTRY.unpack_from(raw, number * ENTRY_BYTES) for number in range(count)]
        if not rows or rows[0][2] != ROOT:
            raise _corrupt("it has no root entry")
        self._root = _entry((), rows[0], wide)
        seen = {0}
        storages: list[tuple[Path, int]] = [((), rows[0][6])]
        while storages:
            parent, top = storages.pop()
            for number in _in_order(rows, top, seen):
                entry = _entry((*parent, _name(rows[number])), rows[number], wide)
                self.entries.setdefault(_folded(entry.path), entry)
                if entry.kind == STORAGE:
                    storages.append((entry.path, rows[number][6]))

    # --- sectors --------------------------------------------------------------------------

    def _open_small(self, entry: Entry) -> Stream:
        assert self._root is not None
        if self._mini is None:
            self._mini = self._chain_bytes(self._root.start, self._root.size)
        mini, table, pieces, number = self._mini, self._mini_table, [], entry.start
        for _ in range(-(-entry.size // 64)):
            if number > LAST_SECTOR or number * 64 >= len(mini):
                break
            pieces.append(mini[number * 64 : number * 64 + 64])
            number = table[number] if number < len(table) else END_OF_CHAIN
        data = b"".join(pieces)[: entry.size]
        return Stream(io.BytesIO(data), [(0, len(data))], entry.size)

    def _chain_bytes(self, start: int, most: int) -> bytes:
        runs = self._runs(start, most)
        return Stream(self._file, runs, sum(count for _, count in runs)).read()[:most]

    def _runs(self, start: int, size: int) -> list[tuple[int, int]]:
        """(offset in the file, bytes) of what holds the first `size` bytes of a chain."""
        runs: list[tuple[int, int]] = []
        unit, table, sector = self.sector_bytes, self._table, start
        left = min(-(-size // unit), self._sectors)
        while left > 0 and sector < self._sectors and sector <= LAST_SECTOR:
            count = min(self._in_a_row(sector), left)
            runs.append(((sector + 1) * unit, count * unit))
            left -= count
            last = sector + count - 1
            sector = table[last] if last < len(table) else END_OF_CHAIN
        return runs

    def _in_a_row(self, sector: int) -> int:
        """How many sectors of a chain lie one behind the other from this one on; found by
        comparing stretches, which costs a hundredth of following the chain."""
        table, following = self._table, self._following
        most = min(len(table), self._sectors) - 1
        at, step, growing = sector, 1, True
        while step:
            end = at + step
            if end <= most and table[at:end] == following[at:end]:
                at = end
                step *= 2 if growing else 1
            else:
                growing = False
                step //= 2
        return at - sector + 1

    def _sector(self, number: int, count: int = 1) -> bytes:
        if number > self._sectors:
            return b""
        self._file.seek((number + 1) * self.sector_bytes)
        return self._file.read(count * self.sector_bytes)

    def _numbers(self, data: bytes) -> array[int]:
        numbers = array("I")
        numbers.frombytes(data[: len(data) // 4 * 4])
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


class Stream(io.RawIOBase):
    """A stream, read from where it lies. `size` is what its entry says, in bytes; `cut` tells
    that the file holds less of it."""

    def __init__(self, file: BinaryIO, runs: list[tuple[int, int]], size: int) -> None:
        super().__init__()
        self._file, self._runs = file, runs
        self._starts = [0, *accumulate(count for _, count in runs)]
        held = self._starts.pop()
        self.size = size
        self.cut = held < size
        self._end = min(held, size)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._end if size is None or size < 0 else min(self._end, self._at + size)
        pieces = []
        begun = max(0, bisect_right(self._starts, self._at) - 1)
        for number in range(begun, len(self._runs)):
            start, (offset, count) = self._starts[number], self._runs[number]
            if start >= end:
                break
            first, last = max(self._at, start), min(end, start + count)
            self._file.seek(offset + first - start)
            pieces.append(self._file.read(max(0, last - first)))
        data = b"".join(pieces)
        self._at += len(data)
        return data


def _in_order(rows: list[tuple[Any, ...]], top: int, seen: set[int]) -> Iterator[int]:
    """The numbers of a tree's entries from left to right; what was seen is not entered again."""
    waiting: list[int] = []
    number = top
    while waiting or number != NO_ENTRY:
        if number < len(rows) and number not in seen and rows[number][2] in (STORAGE, STREAM):
            seen.add(number)
            waiting.append(number)
            number = rows[number][4]
            continue
        if not waiting:
            return
        number = waiting.pop()
        yield number
        number = rows[number][5]


def _entry(path: Path, row: tuple[Any, ...], wide: bool) -> Entry:
    size = row[12] if wide else row[12] & 0xFFFFFFFF  # the upper half may hold rubbish
    return Entry(path, row[2], row[11], size, row[7])


def _name(row: tuple[Any, ...]) -> str:
    raw: bytes = row[0][: max(0, min(row[1], 64) - 2)]
    return raw.decode("utf-16-le", "replace")


def _folded(path: Iterable[str]) -> Path:
    return tuple(name.lower() for name in path)


def _joined(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """(first, count) of numbers that follow each other."""
    first, count = -1, 0
    for number in numbers:
        if number == first + count and count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = number, 1
    if count:
        yield first, count


def _corrupt(what: str) -> Unread:
    return Unread("corrupt", f"Damaged compound file: {what}", RESAVE)
