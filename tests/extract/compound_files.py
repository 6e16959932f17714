"""Small compound files made in memory for the tests of their readers."""

from __future__ import annotations

import struct
from collections.abc import Mapping

SECTOR = 512
END, FREE, TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
SMALL = 4096  # a shorter stream lies in the mini stream
STORAGE, STREAM, ROOT = 1, 2, 5

Path = tuple[str, ...]


def packed(streams: Mapping[Path | str, bytes], clsid: bytes = bytes(16)) -> bytes:
    """A compound file of version 3. A key is a path or, at the top, a name."""
    paths = {(key,) if isinstance(key, str) else key: data for key, data in streams.items()}
    rows = _rows(paths)
    small = {path: data for path, data in paths.items() if len(data) < SMALL}
    table: list[int] = []
    body = bytearray()

    def place(data: bytes) -> int:
        """Append a chain of sectors; its first number."""
        if not data:
            return END
        first, count = len(table), -(-len(data) // SECTOR)
        table.extend([*range(first + 1, first + count), END])
        body.extend(data.ljust(count * SECTOR, b"\0"))
        return first

    mini = bytearray()
    mini_table: list[int] = []
    starts: dict[Path, int] = {}
    for path, data in small.items():
        count = -(-len(data) // 64)
        starts[path] = len(mini_table) if count else END
        mini_table += [*range(len(mini_table) + 1, len(mini_table) + count), END][:count]
        mini += data.ljust(count * 64, b"\0")
    for path, data in paths.items():
        if path not in small:
            starts[path] = place(data)
    mini_start = place(bytes(mini))
    mini_table_start = place(struct.pack(f"<{len(mini_table)}I", *mini_table))
    directory = b"".join(
        _entry(row, starts.get(row[0], END), len(paths.get(row[0], b"")), clsid, mini_start, mini)
        for row in rows
    )
    directory_start = place(directory.ljust(-(-len(directory) // SECTOR) * SECTOR, b"\0"))
    return _file(table, body, directory_start, mini_table_start, len(mini_table))


def _rows(paths: Mapping[Path, bytes]) -> list[tuple[Path, int, int, int]]:
    """(path, kind, right sibling, child) of each entry, the root first, siblings as a list."""
    storages = {path[:depth] for path in paths for depth in range(1, len(path))}
    names = [(), *sorted(storages | set(paths), key=lambda path: (len(path), path))]
    number = {path: place for place, path in enumerate(names)}
    rows = []
    for path in names:
        siblings = [other for other in names if other and path and other[:-1] == path[:-1]]
        later = siblings[siblings.index(path) + 1 :] if path else []
        children = [other for other in names if other and other[:-1] == path]
        kind = ROOT if not path else STREAM if path in paths else STORAGE
        right = number[later[0]] if later else FREE
        rows.append((path, kind, right, number[children[0]] if children else FREE))
    return rows


def _entry(
    row: tuple[Path, int, int, int],
    start: int,
    size: int,
    clsid: bytes,
    mini_start: int,
    mini: bytearray,
) -> bytes:
    path, kind, right, child = row
    name = (path[-1] if path else "Root Entry").encode("utf-16-le") + b"\0\0"
    if kind == ROOT:
        start, size = mini_start, len(mini)
    elif kind == STORAGE:
        start = 0
    links = (FREE, right, child)
    own = clsid if kind == ROOT else bytes(16)
    return struct.pack(
        "<64sHBBIII16sIQQIQ", name, len(name), kind, 1, *links, own, 0, 0, 0, start, size
    )


def _file(
    table: list[int], body: bytearray, directory: int, mini_table: int, mini_count: int
) -> bytes:
    per = SECTOR // 4
    count = 1
    while count * per < len(table) + count:
        count += 1
    places = list(range(len(table), len(table) + count))
    numbers = [*table, *[TABLE] * count]
    numbers += [FREE] * (count * per - len(numbers))
    body += struct.pack(f"<{len(numbers)}I", *numbers)
    assert count <= 109, "no further tables are written"
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    mini_sectors = -(-mini_count * 4 // SECTOR)
    header += struct.pack("<9I", 0, count, directory, 0, SMALL, mini_table, mini_sectors, END, 0)
    header += struct.pack("<109I", *places, *[FREE] * (109 - count))
    return header + bytes(body)
