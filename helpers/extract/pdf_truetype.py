"""What an embedded TrueType font says about its glyphs: character map and glyph names.

Promises: a broken table gives an empty answer, never an error; loops are capped.
Does not: read outlines, or any other font format.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping

from helpers import limits

UNICODE_MAPS = ((0, 0), (0, 1), (0, 3), (0, 4), (3, 1), (3, 10))  # platform, encoding
_HEX_NAME = re.compile(r"^(?:uni([0-9A-F]{4})(?:[0-9A-F]{4})*|u([0-9A-F]{4,6}))$")


def embedded_letters(data: bytes) -> dict[int, str]:
    """Letters by glyph number, from the character map and glyph names of a TrueType font."""
    if not 12 < len(data) <= limits.PDF_FONT_BYTES:
        return {}
    try:
        tables = _sfnt_tables(data)
        found = _glyph_names(tables.get(b"post", b""))
        for glyph, code in _sfnt_map(tables.get(b"cmap", b"")):
            letter = chr(code)
            if 0xF000 <= code <= 0xF0FF or (glyph in found and not is_thai(letter)):
                continue
            found[glyph] = letter
        return found
    except (struct.error, IndexError, ValueError):
        return {}


def symbol_letters(data: bytes) -> dict[int, str]:
    """Letters by code of a TrueType font with an encoding of its own: its character map leads
    from codes to glyphs, its glyph names to letters.
    """
    if not 12 < len(data) <= limits.PDF_FONT_BYTES:
        return {}
    try:
        tables = _sfnt_tables(data)
        names = _glyph_names(tables.get(b"post", b""))
        pairs = list(_sfnt_map(tables.get(b"cmap", b""), ((3, 0), (1, 0))))
    except (struct.error, IndexError, ValueError):
        return {}
    return {code & 0xFF: names[glyph] for glyph, code in pairs if glyph in names}


def blank_glyphs(data: bytes) -> set[int]:
    """Glyphs that draw nothing, such as that of a space."""
    if not 12 < len(data) <= limits.PDF_FONT_BYTES:
        return set()
    try:
        tables = _sfnt_tables(data)
        wide = struct.unpack_from(">h", tables[b"head"], 50)[0]
        table = tables[b"loca"]
        count = min(len(table) // (4 if wide else 2), limits.PDF_MAP_RANGE)
        places = struct.unpack_from(f">{count}{'L' if wide else 'H'}", table)
    except (struct.error, IndexError, KeyError, ValueError):
        return set()
    return {glyph for glyph in range(count - 1) if places[glyph] == places[glyph + 1]}


def letter_of_name(name: str, letters: Mapping[str, str]) -> str | None:
    """The letter(s) a glyph name stands for, or None: "A", "uni0E01", "f_i", "A.sc"."""
    found = letters.get("/" + name)
    if found is not None:
        return found
    stem = name.split(".", 1)[0]
    match = _HEX_NAME.match(stem)
    if match:
        code = int(match.group(1) or match.group(2), 16)
        return chr(code) if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None
    if stem != name and stem:
        return letter_of_name(stem, letters)
    if "_" in name.strip("_"):
        parts = [letter_of_name(part, letters) for part in name.split("_")]
        return "".join(part for part in parts if part) if all(parts) else None
    return None


def is_thai(letters: str) -> bool:
    return len(letters) == 1 and (
        "\u0e01" <= letters <= "\u0e5b" or "\uf700" <= letters <= "\uf71a"
    )


def _sfnt_tables(data: bytes) -> dict[bytes, bytes]:
    count = min(struct.unpack_from(">H", data, 4)[0], 64)
    found = {}
    for number in range(count):
        tag, _, offset, length = struct.unpack_from(">4sIII", data, 12 + 16 * number)
        if tag in (b"cmap", b"post"):
            found[tag] = data[offset : offset + length]
    return found


def _sfnt_map(
    table: bytes, kinds: Iterable[tuple[int, int]] = UNICODE_MAPS
) -> Iterator[tuple[int, int]]:
    """(glyph, code point) pairs of the subtables of a cmap that are of the given kinds."""
    if len(table) < 4:
        return
    for number in range(min(struct.unpack_from(">H", table, 2)[0], 16)):
        platform, kind, offset = struct.unpack_from(">HHI", table, 4 + 8 * number)
        if (platform, kind) not in kinds:
            continue
        layout = struct.unpack_from(">H", table, offset)[0]
        if layout == 4:
            yield from _format_4(table, offset)
        elif layout in (0, 6):
            yield from _dense(table, offset, layout)
        elif layout == 12:
            groups = struct.unpack_from(">I", table, offset + 12)[0]
            for group in range(min(groups, 10_000)):
                first, last, glyph = struct.unpack_from(">III", table, offset + 16 + 12 * group)
                for code in range(first, min(last, first + limits.PDF_MAP_RANGE, 0x10FFFF) + 1):
                    yield glyph + code - first, code


def _dense(table: bytes, offset: int, layout: int) -> Iterator[tuple[int, int]]:
    """Formats 0 and 6: one glyph for each code of a range."""
    if layout == 0:
        first, glyphs = 0, struct.unpack_from(">256B", table, offset + 6)
    else:
        first, count = struct.unpack_from(">2H", table, offset + 6)
        glyphs = struct.unpack_from(f">{count}H", table, offset + 10)
    yield from ((glyph, first + at) for at, glyph in enumerate(glyphs) if glyph)


def _format_4(table: bytes, offset: int) -> Iterator[tuple[int, int]]:
    count = struct.unpack_from(">H", table, offset + 6)[0] // 2
    at = offset + 14
    ends = struct.unpack_from(f">{count}H", table, at)
    starts = struct.unpack_from(f">{count}H", table, at + 2 * count + 2)
    deltas = struct.unpack_from(f">{count}H", table, at + 4 * count + 2)
    offsets_at = at + 6 * count + 2
    offsets = struct.unpack_from(f">{count}H", table, offsets_at)
    for segment in range(count):
        for code in range(starts[segment], ends[segment] + 1):
            glyph = (code + deltas[segment]) & 0xFFFF
            if offsets[segment]:
                where = offsets_at + 2 * segment + offsets[segment]
                where += 2 * (code - starts[segment])
                if where + 2 > len(table):
                    continue
                glyph = struct.unpack_from(">H", table, where)[0]
                glyph = (glyph + deltas[segment]) & 0xFFFF if glyph else 0
            if glyph and code < 0xFFFF:
                yield glyph, code


def _glyph_names(table: bytes) -> dict[int, str]:
    """Letters by glyph number, from names such as uniC2DC of a post table, version 2."""
    if len(table) < 34 or table[:4] != b"\0\2\0\0":
        return {}
    count = struct.unpack_from(">H", table, 32)[0]
    numbers = struct.unpack_from(f">{count}H", table, 34)
    names, at = [], 34 + 2 * count
    while at < len(table):
        size = table[at]
        names.append(table[at + 1 : at + 1 + size].decode("latin-1"))
        at += 1 + size
    found = {}
    for glyph, number in enumerate(numbers):
        letter: str | None = chr(number + 29) if 3 <= number <= 97 else None  # Macintosh order
        if 258 <= number < 258 + len(names):
            letter = letter_of_name(names[number - 258], {})
        if letter is not None:
            found[glyph] = letter
    return found
