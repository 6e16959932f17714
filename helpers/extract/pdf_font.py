"""Fonts of a PDF: from the bytes a page shows to letters and widths.

Promises: a glyph's letter comes from what the file itself says (ToUnicode, the encoding, the
character map or glyph names of the embedded font), in the order that is right most often; a
glyph without any such evidence gives U+FFFD and is counted, never a guess; table sizes are
capped.
Does not: draw, measure outlines, or import pypdf (its objects are used as mappings).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from helpers import limits

UNICODE_MAPS = ((0, 0), (0, 1), (0, 3), (0, 4), (3, 1), (3, 10))  # platform, encoding
UNKNOWN = "\ufffd"

_SECTION = re.compile(rb"begin(bfchar|bfrange|codespacerange|cidchar|cidrange)\b")
_HEX_OR_BRACKET = re.compile(rb"<([0-9A-Fa-f\s]*)>|([\[\]])|(\d+)")
_WMODE = re.compile(rb"/WMode\s+1\b")
_BUILT_IN = re.compile(rb"dup\s+(\d{1,3})\s*/([A-Za-z0-9._]+)\s+put")
_HEX_NAME = re.compile(r"^(?:uni([0-9A-F]{4})(?:[0-9A-F]{4})*|u([0-9A-F]{4,6}))$")
_CODECS = (
    (re.compile(r"UTF16|UCS2"), "utf-16-be", 2),
    (re.compile(r"KSCms-UHC"), "cp949", 1),
    (re.compile(r"^KSC-Johab"), "johab", 1),
    (re.compile(r"^KSCpc|^KSC-EUC"), "euc_kr", 1),
    (re.compile(r"^(?:90|83pv|Add|Ext).*RKSJ|^90pv"), "cp932", 1),
    (re.compile(r"^EUC-[HV]"), "euc_jp", 1),
    (re.compile(r"^GBK2K"), "gb18030", 1),
    (re.compile(r"^GBK|^GBpc|^GB-EUC"), "gbk", 1),
    (re.compile(r"^HKscs"), "big5hkscs", 1),
    (re.compile(r"^B5pc|^ETen"), "cp950", 1),
)


@dataclass(frozen=True, slots=True)
class GlyphTables:
    """What the PDF standard takes for granted: `letters` by glyph name ("/A"), `encodings` by
    name (256 letters each), `cids`: letters of an Adobe collection, by its ordering.
    """

    letters: Mapping[str, str] = field(default_factory=dict)
    encodings: Mapping[str, list[str]] = field(default_factory=dict)
    cids: Callable[[str], Mapping[int, str]] = lambda ordering: {}


class Font:
    """`decode` turns shown bytes into letters. Widths are in thousandths of the font size."""

    def __init__(self, resource: Any, tables: GlyphTables) -> None:
        self.vertical = False
        self._letters: dict[int, str] = {}
        self._widths: dict[int, float] = {}
        self._default = 500.0
        self._wide = resource.get("/Subtype") == "/Type0"
        self._codec: tuple[str, int] | None = None
        self._lengths: list[tuple[int, int, int]] = []  # low, high, bytes of code space ranges
        self._cid_of: Callable[[int], int] = lambda code: code
        self._by_cid: dict[int, float] = {}
        self._scale = 1.0
        stream = _data(resource.get("/ToUnicode"))
        to_unicode = CharacterMap(stream) if stream else None
        if self._wide:
            self._read_composite(resource, tables, to_unicode)
        else:
            self._read_simple(resource, tables, to_unicode)
        self.space = self._width_of_space()

    def decode(self, shown: bytes) -> tuple[str, float, int]:
        """Letters, advance in thousandths of the font size, and how many codes were shown."""
        letters, widths, default = self._letters, self._widths, self._default
        codes: Iterable[int] = shown
        count = len(shown)
        if self._wide:
            codes = self._codes(shown)
            count = len(codes)  # type: ignore[arg-type]
        text = "".join([letters.get(code, UNKNOWN) for code in codes])
        advance = sum([widths.get(code, default) for code in codes])
        return text, advance * self._scale, count

    def _width_of_space(self) -> float:
        """The advance of a space, in thousandths; 250 where the font has none."""
        for code, letter in self._letters.items():
            if letter == " " and self._widths.get(code):
                return self._widths[code] * self._scale
        return 250.0

    # --- simple fonts ----------------------------------------------------------------

    def _read_simple(self, resource: Any, tables: GlyphTables, known: CharacterMap | None) -> None:
        descriptor = _get(resource, "/FontDescriptor")
        names = _encoding_names(resource, descriptor, tables)
        mapped = known.letters if known else {}
        trusted = _thai_glyph_letters(descriptor, mapped) if not names else {}
        for code in range(256):
            letter = trusted.get(code) or mapped.get(code)
            if letter is None:
                letter = names.get(code)
            if letter is not None:
                self._letters[code] = letter
        if not self._letters:
            self._letters = symbol_letters(descriptor)
        first = _number(resource.get("/FirstChar"), 0)
        for offset, width in enumerate(list(_get(resource, "/Widths") or ())[:256]):
            self._widths[int(first) + offset] = _number(width, 0)
        self._default = _number(_get(descriptor, "/MissingWidth"), 500) or 500
        matrix = _get(resource, "/FontMatrix")
        if resource.get("/Subtype") == "/Type3" and matrix:
            self._scale = abs(_number(matrix[0], 0.001)) * 1000

    # --- composite fonts -------------------------------------------------------------

    def _read_composite(
        self, resource: Any, tables: GlyphTables, known: CharacterMap | None
    ) -> None:
        below = _get(resource, "/DescendantFonts") or [{}]
        font = _resolve(below[0]) or {}
        encoding = _resolve(resource.get("/Encoding"))
        self._read_encoding(encoding)
        self._default = _number(_get(font, "/DW"), 1000)
        by_cid = dict(_cid_widths(_get(font, "/W") or []))
        if self._codec is None and not self._lengths:
            self._widths = by_cid
        else:
            self._by_cid = by_cid
        if known:
            self._letters.update(known.letters)
        ordering = str(_get(_get(font, "/CIDSystemInfo"), "/Ordering") or "")
        if self._codec is None:
            self._add_collection(known, ordering, tables)
            self._add_glyph_letters(font)

    def _read_encoding(self, encoding: Any) -> None:
        if hasattr(encoding, "get_data"):
            stream = _data(encoding)
            found = CharacterMap(stream)
            self.vertical = bool(_WMODE.search(stream))
            self._lengths = found.spaces
            if found.cids:
                self._cid_of = lambda code: found.cids.get(code, code)
            return
        name = str(encoding or "/Identity-H").lstrip("/")
        self.vertical = name.endswith("-V") or name == "V"
        for pattern, codec, width in _CODECS:
            if pattern.search(name):
                self._codec = (codec, width)
                return

    def _add_collection(
        self, known: CharacterMap | None, ordering: str, tables: GlyphTables
    ) -> None:
        """Letters by CID, for fonts of an Adobe collection."""
        if known is not None and known.base:
            ordering = known.base
        elif self._letters or ordering in ("", "Identity", "UCS"):
            return
        for cid, letter in tables.cids(ordering).items():
            self._letters.setdefault(cid, letter)

    def _add_glyph_letters(self, font: Any) -> None:
        """Letters that the embedded font itself gives to its glyphs."""
        descriptor = _get(font, "/FontDescriptor")
        if _get(font, "/CIDToGIDMap") not in (None, "/Identity"):
            return
        if not self._letters:
            self._letters.update(embedded_letters(descriptor))
        elif _is_doubtful(self._letters):
            glyphs = embedded_letters(descriptor)
            self._letters.update((c, t) for c, t in glyphs.items() if _is_thai(t))
            for code, letter in glyphs.items():
                if not self._letters.get(code):
                    self._letters[code] = letter

    def _codes(self, shown: bytes) -> list[int]:
        if self._codec is not None:
            return self._by_codec(shown)
        if self._lengths:
            return self._by_space(shown)
        if len(shown) % 2:
            shown += b"\0"
        return list(struct.unpack(f">{len(shown) // 2}H", shown))

    def _by_codec(self, shown: bytes) -> list[int]:
        """Codes of a predefined character map; their letters are learnt on the way."""
        codec, width = self._codec or ("latin-1", 1)
        codes = []
        position, end = 0, len(shown)
        while position < end:
            size = 2 if width == 2 or shown[position] >= 0x81 else 1
            piece = shown[position : position + size]
            code = int.from_bytes(piece, "big")
            if code not in self._letters:
                self._letters[code] = piece.decode(codec, "replace")
            if size == 1 or code < 0x80:
                self._widths.setdefault(code, self._default / 2)
            codes.append(code)
            position += size
        return codes

    def _by_space(self, shown: bytes) -> list[int]:
        """CIDs of an embedded character map with codes of one to four bytes."""
        codes, position, end = [], 0, len(shown)
        while position < end:
            for size in range(1, 5):
                code = int.from_bytes(shown[position : position + size], "big")
                if any(n == size and low <= code <= high for low, high, n in self._lengths):
                    break
            else:
                size, code = 1, shown[position]
            if code not in self._widths:
                self._widths[code] = self._by_cid.get(self._cid_of(code), self._default)
            codes.append(code)
            position += size
        return codes


class CharacterMap:
    """A parsed CMap: `letters` by code, `cids` by code, code space, and the map it builds on."""

    def __init__(self, stream: bytes) -> None:
        self.letters: dict[int, str] = {}
        self.cids: dict[int, int] = {}
        self.spaces: list[tuple[int, int, int]] = []
        found = re.search(rb"/Adobe-(\w+?)-(?:UCS2|\d)\s+usecmap", stream)
        self.base = found.group(1).decode("ascii") if found else ""
        for section in _SECTION.finditer(stream):
            kind = section.group(1)
            end = stream.find(b"end" + kind, section.end())
            if end < 0:
                break
            tokens = list(_tokens(stream[section.end() : end]))
            if kind == b"bfchar":
                self._characters(tokens)
            elif kind == b"bfrange":
                self._ranges(tokens)
            elif kind == b"codespacerange":
                self._code_space(tokens)
            elif kind == b"cidrange":
                for low, high, cid in zip(*[iter(tokens)] * 3, strict=False):
                    self._cid_range(low, high, cid)
            elif kind == b"cidchar":
                for code, cid in zip(*[iter(tokens)] * 2, strict=False):
                    self._cid_range(code, code, cid)

    def _code_space(self, tokens: list[Any]) -> None:
        for low, high in zip(*[iter(tokens)] * 2, strict=False):
            if isinstance(low, bytes) and isinstance(high, bytes) and low:
                self.spaces.append((_int(low), _int(high), len(low)))

    def _cid_range(self, low: Any, high: Any, cid: Any) -> None:
        if isinstance(low, bytes) and isinstance(high, bytes) and isinstance(cid, int):
            first, last = _int(low), _int(high)
            for code in range(first, min(last, first + limits.PDF_MAP_RANGE) + 1):
                if len(self.cids) < limits.PDF_MAP_ENTRIES:
                    self.cids[code] = cid + code - first

    def _characters(self, tokens: list[Any]) -> None:
        for code, letters in zip(*[iter(tokens)] * 2, strict=False):
            if isinstance(code, bytes) and isinstance(letters, bytes):
                self._set(_int(code), _utf16(letters))

    def _ranges(self, tokens: list[Any]) -> None:
        position = 0
        while position + 2 < len(tokens):
            low, high, target = tokens[position : position + 3]
            position += 3
            if not isinstance(low, bytes) or not isinstance(high, bytes):
                continue
            first, last = _int(low), min(_int(high), _int(low) + limits.PDF_MAP_RANGE)
            if target == "[":
                code = first
                while position < len(tokens) and tokens[position] != "]":
                    if code <= last and isinstance(tokens[position], bytes):
                        self._set(code, _utf16(tokens[position]))
                    code, position = code + 1, position + 1
                position += 1
            elif isinstance(target, bytes):
                self._run(first, last, _utf16(target))

    def _run(self, first: int, last: int, letters: str) -> None:
        if letters:
            head, base = letters[:-1], ord(letters[-1])
            for code in range(first, last + 1):
                sign = base + code - first
                if sign <= 0x10FFFF:
                    self._set(code, head + chr(sign))

    def _set(self, code: int, letters: str) -> None:
        if len(self.letters) < limits.PDF_MAP_ENTRIES and letters not in ("\0", UNKNOWN):
            self.letters[code] = letters


def embedded_letters(descriptor: Any) -> dict[int, str]:
    """Letters by glyph number, from the character map and glyph names of a TrueType font."""
    stream = _get(descriptor, "/FontFile2")
    data = _data(stream)
    if not 12 < len(data) <= limits.PDF_FONT_BYTES:
        return {}
    try:
        tables = _sfnt_tables(data)
        found = _glyph_names(tables.get(b"post", b""))
        for glyph, code in _sfnt_map(tables.get(b"cmap", b"")):
            letter = chr(code)
            if 0xF000 <= code <= 0xF0FF or (glyph in found and not _is_thai(letter)):
                continue
            found[glyph] = letter
        return found
    except (struct.error, IndexError, ValueError):
        return {}


def symbol_letters(descriptor: Any) -> dict[int, str]:
    """Letters by code of a TrueType font with an encoding of its own: its character map leads
    from codes to glyphs, its glyph names to letters.
    """
    data = _data(_get(descriptor, "/FontFile2"))
    if not 12 < len(data) <= limits.PDF_FONT_BYTES:
        return {}
    try:
        tables = _sfnt_tables(data)
        names = _glyph_names(tables.get(b"post", b""))
        pairs = list(_sfnt_map(tables.get(b"cmap", b""), ((3, 0), (1, 0))))
    except (struct.error, IndexError, ValueError):
        return {}
    return {code & 0xFF: names[glyph] for glyph, code in pairs if glyph in names}


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


# --- reading the objects ---------------------------------------------------------------


def _resolve(value: Any) -> Any:
    return value.get_object() if hasattr(value, "get_object") else value


def _get(holder: Any, key: str) -> Any:
    holder = _resolve(holder)
    return _resolve(holder.get(key)) if isinstance(holder, Mapping) else None


def _data(value: Any) -> bytes:
    value = _resolve(value)
    return bytes(value.get_data()) if hasattr(value, "get_data") else b""


def _number(value: Any, default: float) -> float:
    value = _resolve(value)
    return float(value) if isinstance(value, (int, float)) else default


def _int(code: bytes) -> int:
    return int.from_bytes(code, "big")


def _utf16(letters: bytes) -> str:
    if len(letters) == 1:
        return chr(letters[0])
    return letters.decode("utf-16-be", "ignore")


def _tokens(section: bytes) -> Iterator[Any]:
    for match in _HEX_OR_BRACKET.finditer(section):
        if match.group(2):
            yield match.group(2).decode("ascii")
        elif match.group(3):
            yield int(match.group(3)[:9])
        else:
            digits = b"".join(match.group(1).split())
            yield bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))


def _encoding_names(resource: Any, descriptor: Any, tables: GlyphTables) -> dict[int, str]:
    """Letters by code, from the encoding of a simple font."""
    encoding = _get(resource, "/Encoding")
    base = encoding if isinstance(encoding, str) else _get(encoding, "/BaseEncoding")
    found: dict[int, str] = {}
    symbolic = int(_number(_get(descriptor, "/Flags"), 32)) & 4
    name = str(resource.get("/BaseFont") or "")
    if base is None and name in ("/Symbol", "/ZapfDingbats"):
        base = name
    if base is None and not (symbolic and _get(descriptor, "/FontFile2")):
        base = "/StandardEncoding"
    if resource.get("/Subtype") == "/Type3":
        base = None
    for code, letter in enumerate(tables.encodings.get(str(base), [])):
        if letter and letter != "\0":
            found[code] = letter
    if not encoding:
        for code, glyph in _BUILT_IN.findall(_data(_get(descriptor, "/FontFile"))[:65536]):
            found[int(code)] = letter_of_name(glyph.decode("ascii"), tables.letters) or UNKNOWN
    _apply_differences(_get(encoding, "/Differences"), found, tables)
    return found


def _apply_differences(differences: Any, found: dict[int, str], tables: GlyphTables) -> None:
    code = 0
    for item in list(differences or ())[:2048]:
        item = _resolve(item)
        if isinstance(item, (int, float)):
            code = int(item)
        else:
            letter = letter_of_name(str(item).lstrip("/"), tables.letters)
            if letter is None:
                found.pop(code, None)
            else:
                found[code] = letter
            code += 1


def _cid_widths(array: Any) -> Iterator[tuple[int, float]]:
    items = [_resolve(item) for item in array]
    position = 0
    while position + 1 < len(items):
        first, second = items[position], items[position + 1]
        if not isinstance(first, (int, float)):
            position += 1
        elif isinstance(second, list):
            for offset, width in enumerate(second):
                yield int(first) + offset, _number(width, 0)
            position += 2
        elif position + 2 < len(items):
            last = min(int(_number(second, 0)), int(first) + limits.PDF_MAP_RANGE)
            width = _number(items[position + 2], 0)
            yield from ((code, width) for code in range(int(first), last + 1))
            position += 3
        else:
            return


def _is_thai(letters: str) -> bool:
    return len(letters) == 1 and (
        "\u0e01" <= letters <= "\u0e5b" or "\uf700" <= letters <= "\uf71a"
    )


def _is_doubtful(letters: Mapping[int, str]) -> bool:
    """Whether a ToUnicode table for Thai has glyphs without a letter, or with a whole cluster:
    the sign of a program that knew the text of clusters only.
    """
    return any("\u0e01" <= letter[:1] <= "\u0e5b" for letter in letters.values()) and any(
        len(letter) != 1 for letter in letters.values()
    )


def _thai_glyph_letters(descriptor: Any, mapped: Mapping[int, str]) -> dict[int, str]:
    """Thai letters of a simple font whose own map contradicts a doubtful ToUnicode."""
    if not _is_doubtful(mapped):
        return {}
    return {c: t for c, t in embedded_letters(descriptor).items() if _is_thai(t) and c in mapped}


# --- TrueType ----------------------------------------------------------------------------


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
