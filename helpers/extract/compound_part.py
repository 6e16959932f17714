"""A storage of a compound file as a compound file of its own: what an embedded object is.

Source: [MS-CFB] 2.2 to 2.6. Promises: all streams below the storage under their names, in the
form of version 4; no more bytes than the cap. Does not: keep classes, times or the tree's
balance, which no reader here looks at.
"""

from __future__ import annotations

import io
import struct

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract.compound import (
    END_OF_CHAIN,
    MAGIC,
    NO_ENTRY,
    ROOT,
    STORAGE,
    STREAM,
    CompoundFile,
    Path,
)

_SECTOR, _SMALL, _UNIT = 4096, 4096, 64
_FREE, _TABLE = 0xFFFFFFFF, 0xFFFFFFFD
_TABLES = 109  # allocation tables that the header names: 446 MB


def taken_out(container: CompoundFile, path: Path, most: int = limits.NESTED_BYTES) -> io.BytesIO:
    """The file that a storage would be. Raises Unread: limit_reached, corrupt."""
    start = tuple(name.lower() for name in path)
    below = [
        (folded[len(start) :], entry)
        for folded, entry in container.entries.items()
        if folded[: len(start)] == start and len(folded) > len(start)
    ]
    size = sum(entry.size for _, entry in below if entry.kind == STREAM)
    if size > most:
        raise limit_reached("an embedded object", size, most, "bytes", "Save it as a file.")
    writer = _Writer()
    rows: list[tuple[Path, int, str]] = [((), ROOT, "Root Entry")]
    rows += sorted((folded, entry.kind, entry.path[-1]) for folded, entry in below)
    for folded, kind, _ in rows:
        if kind == STREAM:
            writer.add(folded, container.read(*path, *folded))
    return io.BytesIO(writer.file(rows))


class _Writer:
    def __init__(self) -> None:
        self._table: list[int] = []
        self._body = bytearray()
        self._mini = bytearray()
        self._mini_table: list[int] = []
        self._places: dict[Path, tuple[int, int]] = {}

    def add(self, path: Path, data: bytes) -> None:
        if len(data) >= _SMALL:
            self._places[path] = self._chain(data), len(data)
            return
        count = -(-len(data) // _UNIT)
        first = len(self._mini_table)
        self._mini_table += _linked(first, count)
        self._mini += data.ljust(count * _UNIT, b"\0")
        self._places[path] = first if count else END_OF_CHAIN, len(data)

    def file(self, rows: list[tuple[Path, int, str]]) -> bytes:
        mini, small = self._chain(bytes(self._mini)), len(self._mini_table)
        mini_table = self._chain(struct.pack(f"<{small}I", *self._mini_table))
        self._places[()] = mini, len(self._mini)
        directory = self._chain(self._directory(rows))
        per, count = _SECTOR // 4, 1
        while count * per < len(self._table) + count:
            count += 1
        if count > _TABLES:
            raise Unread("corrupt", "An embedded object is too large to be taken out")
        places = range(len(self._table), len(self._table) + count)
        table = [*self._table, *[_TABLE] * count]
        table += [_FREE] * (count * per - len(table))
        head = MAGIC + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 4, 0xFFFE, 12, 6)
        head += struct.pack("<5I", 0, count, directory, 0, _SMALL)
        head += struct.pack("<4I", mini_table, -(-small * 4 // _SECTOR), END_OF_CHAIN, 0)
        head += struct.pack(f"<{_TABLES}I", *places, *[_FREE] * (_TABLES - count))
        body = bytes(self._body) + struct.pack(f"<{len(table)}I", *table)
        return head.ljust(_SECTOR, b"\0") + body

    def _chain(self, data: bytes) -> int:
        """Append a chain of sectors; the number of its first."""
        if not data:
            return END_OF_CHAIN
        first, count = len(self._table), -(-len(data) // _SECTOR)
        self._table += _linked(first, count)
        self._body += data.ljust(count * _SECTOR, b"\0")
        return first

    def _directory(self, rows: list[tuple[Path, int, str]]) -> bytes:
        """Entries; brothers hang on each other as a list."""
        number = {path: at for at, (path, _, _) in enumerate(rows)}
        child, brother = {}, {}
        last: dict[Path, Path] = {}
        for path, _, _ in rows[1:]:
            holder = path[:-1]
            if holder in last:
                brother[last[holder]] = number[path]
            else:
                child[holder] = number[path]
            last[holder] = path
        found = b""
        for path, kind, name in rows:
            raw = name.encode("utf-16-le", "replace")[:62] + b"\0\0"
            start, size = self._places.get(path, (0, 0))
            links = NO_ENTRY, brother.get(path, NO_ENTRY), child.get(path, NO_ENTRY)
            kind = kind if kind in (ROOT, STREAM) else STORAGE
            found += struct.pack("<64sHBB3I", raw, len(raw), kind, 1, *links)
            found += struct.pack("<16sIQQIQ", bytes(16), 0, 0, 0, start, size)
        return found


def _linked(first: int, count: int) -> list[int]:
    """A chain of `count` numbers from `first` on."""
    return [*range(first + 1, first + count), END_OF_CHAIN][:count]
