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
from helpers.extract import pdf_objects, pdf_unmapped
from helpers.extract.pdf_cmap import UNKNOWN, CharacterMap
from helpers.extract.pdf_truetype import (
    blank_glyphs,
    embedded_letters,
    is_thai,
    letter_of_name,
    symbol_letters,
)

SPACE_WIDTH = 500  # thousandths of the font size that a space is wide at most

_WMODE = re.compile(rb"/WMode\s+1\b")
_BUILT_IN = re.compile(rb"dup\s+(\d{1,3})\s*/([A-Za-z0-9._]+)\s+put")
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
        stream = pdf_objects.data(resource.get("/ToUnicode"))
        to_unicode = CharacterMap(stream) if stream else None
        if self._wide:
            self._read_composite(resource, tables, to_unicode)
        else:
            self._read_simple(resource, tables, to_unicode)
        self._stand_in(str(resource.get("/BaseFont") or ""))
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

    def _stand_in(self, name: str) -> None:
        """Stand-ins for the marks of a Thai font that have no letter (see pdf_unmapped)."""
        if self._codec is not None or not any(map(is_thai, self._letters.values())):
            return
        for code, width in self._widths.items():
            letter = self._letters.get(code)
            if not width and code and (letter is None or letter in ("", UNKNOWN)):
                first = pdf_unmapped.SILENT if letter == "" else pdf_unmapped.UNKNOWN
                self._letters[code] = pdf_unmapped.stand_in(first, name, code)

    def _width_of_space(self) -> float:
        """The advance of a space, in thousandths; 250 where the font has none."""
        for code, letter in self._letters.items():
            if letter == " " and self._widths.get(code):
                return self._widths[code] * self._scale
        return 250.0

    # --- simple fonts ----------------------------------------------------------------

    def _read_simple(self, resource: Any, tables: GlyphTables, known: CharacterMap | None) -> None:
        descriptor = pdf_objects.get(resource, "/FontDescriptor")
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
            self._letters = symbol_letters(_truetype(descriptor))
        first = pdf_objects.number(resource.get("/FirstChar"), 0)
        for offset, width in enumerate(list(pdf_objects.get(resource, "/Widths") or ())[:256]):
            self._widths[int(first) + offset] = pdf_objects.number(width, 0)
        self._default = pdf_objects.number(pdf_objects.get(descriptor, "/MissingWidth"), 500) or 500
        matrix = pdf_objects.get(resource, "/FontMatrix")
        if resource.get("/Subtype") == "/Type3" and matrix:
            self._scale = abs(pdf_objects.number(matrix[0], 0.001)) * 1000

    # --- composite fonts -------------------------------------------------------------

    def _read_composite(
        self, resource: Any, tables: GlyphTables, known: CharacterMap | None
    ) -> None:
        below = pdf_objects.get(resource, "/DescendantFonts") or [{}]
        font = pdf_objects.resolve(below[0]) or {}
        encoding = pdf_objects.resolve(resource.get("/Encoding"))
        self._read_encoding(encoding)
        self._default = pdf_objects.number(pdf_objects.get(font, "/DW"), 1000)
        by_cid = dict(_cid_widths(pdf_objects.get(font, "/W") or []))
        if self._codec is None and not self._lengths:
            self._widths = by_cid
        else:
            self._by_cid = by_cid
        if known and self._codec is not None and self._codec[0] == "utf-16-be":
            # The codes are letters themselves; but for private ones the table knows no better.
            known.letters = {c: t for c, t in known.letters.items() if 0xE000 <= c < 0xF900}
        if known:
            self._letters.update(known.letters)
        ordering = str(pdf_objects.get(pdf_objects.get(font, "/CIDSystemInfo"), "/Ordering") or "")
        if self._codec is None:
            self._add_collection(known, ordering, tables)
            self._add_glyph_letters(font)
            self._add_space(font)

    def _add_space(self, font: Any) -> None:
        """A glyph that draws nothing and has no letter is the space, in a font without one."""
        if " " in self._letters.values() or self._lengths:
            return
        controls = [code for code, letter in self._letters.items() if "" < letter < " "]
        if len(controls) == 1 and 0 < self._widths.get(controls[0], 0) <= SPACE_WIDTH:
            self._letters[controls[0]] = " "
            return
        if pdf_objects.get(font, "/CIDToGIDMap") not in (None, "/Identity"):
            return
        for glyph in blank_glyphs(_truetype(pdf_objects.get(font, "/FontDescriptor"))):
            letter = self._letters.get(glyph, "")
            if glyph and self._widths.get(glyph) and (letter == UNKNOWN or letter < " "):
                self._letters[glyph] = " "

    def _read_encoding(self, encoding: Any) -> None:
        if hasattr(encoding, "get_data"):
            stream = pdf_objects.data(encoding)
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
        descriptor = pdf_objects.get(font, "/FontDescriptor")
        if pdf_objects.get(font, "/CIDToGIDMap") not in (None, "/Identity"):
            return
        if not self._letters:
            self._letters.update(embedded_letters(_truetype(descriptor)))
        elif _is_doubtful(self._letters):
            glyphs = embedded_letters(_truetype(descriptor))
            self._letters.update((c, t) for c, t in glyphs.items() if is_thai(t))
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


def _encoding_names(resource: Any, descriptor: Any, tables: GlyphTables) -> dict[int, str]:
    """Letters by code, from the encoding of a simple font."""
    encoding = pdf_objects.get(resource, "/Encoding")
    base = encoding if isinstance(encoding, str) else pdf_objects.get(encoding, "/BaseEncoding")
    found: dict[int, str] = {}
    symbolic = int(pdf_objects.number(pdf_objects.get(descriptor, "/Flags"), 32)) & 4
    name = str(resource.get("/BaseFont") or "")
    if base is None and name in ("/Symbol", "/ZapfDingbats"):
        base = name
    if base is None and not (symbolic and pdf_objects.get(descriptor, "/FontFile2")):
        base = "/StandardEncoding"
    if resource.get("/Subtype") == "/Type3":
        base = None
    for code, letter in enumerate(tables.encodings.get(str(base), [])):
        if letter and letter != "\0":
            found[code] = letter
    if not encoding:
        for code, glyph in _BUILT_IN.findall(
            pdf_objects.data(pdf_objects.get(descriptor, "/FontFile"))[:65536]
        ):
            found[int(code)] = letter_of_name(glyph.decode("ascii"), tables.letters) or UNKNOWN
    _apply_differences(pdf_objects.get(encoding, "/Differences"), found, tables)
    return found


def _apply_differences(differences: Any, found: dict[int, str], tables: GlyphTables) -> None:
    code = 0
    for item in list(differences or ())[:2048]:
        item = pdf_objects.resolve(item)
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
    items = [pdf_objects.resolve(item) for item in array]
    position = 0
    while position + 1 < len(items):
        first, second = items[position], items[position + 1]
        if not isinstance(first, (int, float)):
            position += 1
        elif isinstance(second, list):
            for offset, width in enumerate(second):
                yield int(first) + offset, pdf_objects.number(width, 0)
            position += 2
        elif position + 2 < len(items):
            last = min(int(pdf_objects.number(second, 0)), int(first) + limits.PDF_MAP_RANGE)
            width = pdf_objects.number(items[position + 2], 0)
            yield from ((code, width) for code in range(int(first), last + 1))
            position += 3
        else:
            return


def _truetype(descriptor: Any) -> bytes:
    return pdf_objects.data(pdf_objects.get(descriptor, "/FontFile2"))


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
    return {
        c: t
        for c, t in embedded_letters(_truetype(descriptor)).items()
        if is_thai(t) and c in mapped
    }
