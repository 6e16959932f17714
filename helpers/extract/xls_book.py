"""What a binary workbook's sheets refer to: strings, number formats, names and places of sheets.

Sources: [MS-XLS] 2.4 for BIFF8; for BIFF2 to BIFF5 the records as OpenOffice.org's "Documentation
of the Microsoft Excel File Format" describes them.
Promises: shared strings are capped as those of .xlsx are; a sheet's place that is wrong is looked
for where sheets really begin; 8-bit text is decoded by the code page, or by the character set of
the cell's font where the code page is the Western one and the font knows better.
Does not: read cells.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import xls_protection
from helpers.extract.archive import RESAVE, SMALLER
from helpers.extract.codepages import codec_of_charset, codec_of_page
from helpers.extract.number_format import BUILT_IN
from helpers.extract.xls_numbers import PLAIN, Look, look
from helpers.extract.xls_records import (
    BOF,
    CONTINUE,
    EOF,
    OLD_BOFS,
    StringTable,
    narrow,
    records,
    wide,
)
from helpers.extract.xlsx_book import SharedStrings
from helpers.limits import OFFICE_RELATED_PARTS

WORKSHEET, MACRO_SHEET, CHART, MODULE = 0, 1, 2, 6  # kinds of sheets in a BOUNDSHEET
SUBSTREAM_SHEET, SUBSTREAM_MACRO = 0x10, 0x40
WESTERN = "cp1252"
COMPACT_STRINGS = 500_000  # shared strings beyond which they are kept as bytes

_STYLES = 65_536  # cell formats, fonts and number formats looked at
_CODE_PAGE, _FONT, _BOUND_SHEET, _EPOCH, _SST = 0x42, 0x31, 0x85, 0x22, 0xFC
_SHEET_HEAD = 0x8F
_FORMATS, _CELL_FORMATS = (0x1E, 0x41E), (0x43, 0x243, 0x443, 0xE0)


@dataclass(frozen=True, slots=True)
class BoundSheet:
    """A sheet's name, where its records begin, and its kind."""

    name: str
    at: int
    kind: int


@dataclass(slots=True)
class Book:
    """The globals of one workbook. `biff` is 2, 3, 4, 5 or 8; `looks` turn a cell's number into
    text and `codecs` decode its 8-bit text, both by the number of the cell's format.
    """

    stream: BinaryIO
    biff: int
    codec: str = WESTERN
    strings: Sequence[str] | SharedStrings = ()
    sheets: list[BoundSheet] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    codecs: list[str] = field(default_factory=list)
    epoch_1904: bool = False

    def look(self, number: int) -> Look:
        """That of a cell format, plain where there is none of that number."""
        return self.looks[number] if number < len(self.looks) else PLAIN


def read_book(stream: BinaryIO, beat: Callable[[], None]) -> Book:
    """Everything up to the first sheet. Raises Unread: encrypted, corrupt, limit_reached."""
    biff = _begin(stream)
    globals_ = _Globals(stream, biff, beat)
    protection = globals_.read()
    if protection is not None:
        stream = _without_pass(xls_protection.opened(stream, protection, biff == 8, beat))
        globals_ = _Globals(stream, biff, beat)
        globals_.read()
    book = globals_.book()
    if not book.sheets:
        places = sheet_places(book, beat)
        book.sheets = [BoundSheet(name, at, WORKSHEET) for name, at in places]
    return book


def version(body: bytes, kind: int) -> int:
    """The generation of the records a BOF begins."""
    if kind in OLD_BOFS:
        return 2 + OLD_BOFS.index(kind)
    number = int.from_bytes(body[:2], "little")
    return 8 if number >= 0x0600 or not number else 5 if number >= 0x0500 else number >> 8


def _begin(stream: BinaryIO) -> int:
    for kind, _, body in records(stream):
        if kind != BOF and kind not in OLD_BOFS:
            break
        return version(body, kind)
    raise Unread("corrupt", "The workbook does not begin as one", RESAVE)


class _Globals:
    def __init__(self, stream: BinaryIO, biff: int, beat: Callable[[], None]) -> None:
        self._stream, self._biff, self._beat = stream, biff, beat
        self._codec: str | None = None
        self._epoch_1904 = False
        self._bound: list[tuple[bytes, int, int]] = []
        self._codes: dict[int, bytes] = {}
        self._cells: list[tuple[int, int]] = []  # (number format, font)
        self._charsets: list[int] = []
        self._strings = StringTable()
        self._kept: SharedStrings | None = None

    def read(self) -> bytes | None:
        """Up to the end of the globals, in files before BIFF5 of everything; the body of a
        FILEPASS record where there is one, behind which nothing is in the clear.
        """
        open_strings = False
        for kind, _, body in records(self._stream):
            if kind == EOF and self._biff >= 5:
                return None
            if kind == xls_protection.FILE_PASS:
                return body
            if kind == _SST or (kind == CONTINUE and open_strings):
                open_strings = True
                self._beat()
                self._strings.feed(body)
                self._relieve()
                continue
            open_strings = False
            self._take(kind, body)
        return None

    def book(self) -> Book:
        biff, codec = self._biff, self._codec or WESTERN
        if self._kept is not None:
            self._keep()
        return Book(
            self._stream,
            biff,
            codec,
            self._strings.found if self._kept is None else self._kept,
            [_bound_sheet(raw, at, kind, biff, codec) for raw, at, kind in self._bound],
            self._looks(codec),
            [self._font_codec(font, codec) for _, font in self._cells],
            self._epoch_1904,
        )

    # --- records ----------------------------------------------------------------------------

    def _take(self, kind: int, body: bytes) -> None:
        if kind in _CELL_FORMATS:
            self._cell_format(kind, body)
        elif kind in _FORMATS:
            self._format(kind, body)
        elif kind in (_FONT, 0x231):
            charset = body[12] if self._biff >= 5 and len(body) > 12 else 0
            if len(self._charsets) == 4:
                self._charsets.append(0)  # there is no font of number 4
            if len(self._charsets) < _STYLES:
                self._charsets.append(charset)
        elif kind == _BOUND_SHEET and len(body) >= 7:
            at, _, sheet = struct.unpack_from("<IBB", body)
            self._bound.append((body[6:], at, sheet))
            if len(self._bound) > OFFICE_RELATED_PARTS:
                count = len(self._bound)
                raise limit_reached("Sheets", count, OFFICE_RELATED_PARTS, "sheets", SMALLER)
        elif kind == _CODE_PAGE and self._codec is None:
            self._codec = _codec(int.from_bytes(body[:2], "little"))
        elif kind == _EPOCH:
            self._epoch_1904 = body[:1] == b"\1"

    def _format(self, kind: int, body: bytes) -> None:
        """BIFF5 and BIFF8 number their formats, older ones count them."""
        if len(self._codes) >= _STYLES:
            return
        if self._biff >= 5:
            self._codes[int.from_bytes(body[:2], "little")] = body[2:]
        else:
            self._codes[len(self._codes)] = body[2:] if kind == 0x41E else body

    def _cell_format(self, kind: int, body: bytes) -> None:
        if len(body) < 4 or len(self._cells) >= _STYLES:
            return
        if kind == 0xE0:
            self._cells.append((body[2] | body[3] << 8, body[0] | body[1] << 8))
        elif kind == 0x43:
            self._cells.append((body[2] & 0x3F, body[0]))
        else:
            self._cells.append((body[1], body[0]))

    # --- what they come to --------------------------------------------------------------------

    def _looks(self, codec: str) -> list[Look]:
        """By cell format; BIFF2's cells name the number format itself."""
        known: dict[int, Look] = {}
        cells = self._cells if self._biff > 2 else []
        numbers = [number for number, _ in cells] or list(range(64))
        for number in set(numbers):
            usual = BUILT_IN.get(number, "General") if self._biff >= 5 else "General"
            raw = self._codes.get(number)
            code = usual if raw is None else self._code(raw, codec)
            known[number] = look(code, self._epoch_1904)
        return [known[number] for number in numbers]

    def _code(self, raw: bytes, codec: str) -> str:
        return wide(raw, 0) if self._biff == 8 else narrow(raw, 0, codec, wide_count=False)

    def _font_codec(self, font: int, codec: str) -> str:
        """The Western code page is also what programs write who never thought about it."""
        if codec != WESTERN or font >= len(self._charsets):
            return codec
        charset = self._charsets[font]
        return codec_of_charset(charset) or codec if charset > 2 else codec

    def _relieve(self) -> None:
        """Many strings move into one run of bytes."""
        if len(self._strings.found) >= COMPACT_STRINGS:
            self._keep()

    def _keep(self) -> None:
        kept = self._kept = self._kept or SharedStrings()
        kept.extend(self._strings.found)
        self._strings.found.clear()
        kept.check()


def _without_pass(stream: BinaryIO) -> BinaryIO:
    """The FILEPASS record goes, so that the globals read on."""
    for kind, offset, _ in records(stream):
        if kind == xls_protection.FILE_PASS:
            stream.seek(offset)
            stream.write(b"\xff\xff")
            break
    return stream


def _bound_sheet(raw: bytes, at: int, kind: int, biff: int, codec: str) -> BoundSheet:
    name = wide(raw, 0, False) if biff == 8 else narrow(raw, 0, codec, wide_count=False)
    return BoundSheet(name.replace("\0", ""), at, kind)


def _codec(page: int) -> str | None:
    if page in (0x8000, 0x8001):
        return "mac_roman" if page == 0x8000 else WESTERN
    found = codec_of_page(page)
    return found if found is None or not found.startswith("utf-16") else WESTERN


def sheet_places(book: Book, beat: Callable[[], None]) -> list[tuple[str, int]]:
    """(name, offset) of the sheets wherever they begin; names are those of a BIFF4 book."""
    found: list[tuple[str, int]] = []
    name = ""
    for kind, at, body in records(book.stream):
        beat()
        if kind == BOF or kind in OLD_BOFS:
            if int.from_bytes(body[2:4], "little") in (SUBSTREAM_SHEET, SUBSTREAM_MACRO):
                found.append((name or f"Sheet{len(found) + 1}", at))
                name = ""
        elif kind == _SHEET_HEAD:
            name = narrow(body, 4, book.codec, wide_count=False)
        if len(found) > OFFICE_RELATED_PARTS:
            raise limit_reached("Sheets", len(found), OFFICE_RELATED_PARTS, "sheets", SMALLER)
    return found
