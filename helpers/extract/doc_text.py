"""The text of a binary Word document: its piece table, and the charset of its 8-bit pieces.

Sources: [MS-DOC] 2.4.1 and 2.9.38 (Clx) to 2.9.178; the published Word 6 format.
Promises: text comes in stretches of at most STRETCH_BYTES, one sign for each position of the
file (text in a charset of two bytes per letter comes undecoded, `Stretch.codec` names it);
what is deleted or hidden is blotted out with NUL; pieces that lie over each other again and
again are refused. Does not: know paragraphs.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from helpers.extract import encoding
from helpers.extract.codepages import WIDE, codec_of_language
from helpers.extract.doc_fib import Fib, corrupt
from helpers.extract.doc_pages import Characters
from helpers.extract.doc_sprms import Effect, effect_of, short_modifier
from helpers.extract.symbols import symbol_text

STRETCH_BYTES = 128 * 1024
SAMPLE_BYTES = 4 * 1024 * 1024  # of 8-bit text that is looked at for its charset
OVERLAP = 8  # times the main stream's bytes that all pieces together may have
MISSING_SHARE = 0.1  # of the text: with more of it missing a document counts as broken
FOREIGN_LETTERS = 8  # Thai or Korean letters that outweigh the Western charset of 8-bit pieces

# Signs that stand for embedded things, and for pictures, in a text; how many it may have.
FIRST_THING, FIRST_IMAGE, THINGS = 0xF0000, 0x100000, 0xFF00

_SEPARATOR, _PICTURE = "\x14", "\x01"
_COMPRESSED = 0x40000000
_PAIRED = frozenset(("cp949", "johab", "cp932", "gbk", "gb18030", "cp950", "euc_jp"))
_KEPT_MARKS = re.compile("[^\r\x07\x0c\x13-\x15]")
_PAIR = re.compile("[\xa1-\xfe]{2}")
_FOREIGN = re.compile("[\u0400-\u045f\u0e01-\u0e5b\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


class Stretch(NamedTuple):
    """`text`, one sign per position, from the position `first` on; `place` of its first byte,
    `width` of a position in bytes; `codec` that its Latin-1 signs are still to be decoded with;
    `extra` modifiers; `wide` the text in UTF-16, where it is unchanged from the file."""

    text: str
    first: int
    place: int
    width: int
    codec: str | None
    extra: bytes
    wide: bytes = b""


class _Piece(NamedTuple):
    first: int
    last: int
    place: int
    width: int
    extra: bytes
    hidden: bool = False


class Text:
    """A document's text by character position. `codec` is that of its 8-bit pieces."""

    def __init__(
        self,
        fib: Fib,
        main: BinaryIO,
        raw: bytes,
        characters: Characters,
        fonts: dict[int, str],
        font: int = -1,
    ) -> None:
        """`raw` is the piece table; `fonts` maps numbers of fonts to codecs, `font` is that of
        body text."""
        self._main, self._characters, self._fonts, self._font = main, characters, fonts, font
        self._old = fib.old
        self._size = main.seek(0, 2)
        total = sum(fib.counts)
        self.pieces = _pieces(raw, fib.old, 2 if fib.wide else 1) if raw else []
        if not self.pieces and (fib.old or not raw):
            self.pieces = _one_piece(fib, total)
        if total:  # some programs let the last piece run on
            self.pieces = [
                piece._replace(last=min(piece.last, total + 1))
                for piece in self.pieces
                if piece.first <= total
            ]
        if not self.pieces:
            raise corrupt("its piece table is broken")
        held = sum((piece.last - piece.first) * piece.width for piece in self.pieces)
        if held > OVERLAP * self._size + STRETCH_BYTES:
            raise corrupt("its pieces lie over each other")
        self.end = self.pieces[-1].last
        self._firsts = [piece.first for piece in self.pieces]
        missing = sum(_missing(piece, self._size) for piece in self.pieces)
        if missing > held * MISSING_SHARE:
            raise corrupt(f"{missing:,} of the {held:,} bytes of its text are missing")
        self.cut = missing > 0
        self.things: list[
            int
        ] = []  # numbers of embedded things, places of pictures, as they are met
        self.codec = self._narrow_codec(fib)
        self._pairs = fib.wide and self._has_pairs()

    def stretches(self, first: int, last: int) -> Iterator[Stretch]:
        """The text from one position up to another, in order."""
        at = max(0, bisect_right(self._firsts, first) - 1)
        while at < len(self.pieces) and self.pieces[at].first < last:
            piece = self.pieces[at]
            begin, end = max(first, piece.first), min(last, piece.last)
            place = piece.place + (begin - piece.first) * piece.width
            yield from self._stretches(piece, place, (end - begin) * piece.width)
            at += 1

    def _stretches(self, piece: _Piece, place: int, size: int) -> Iterator[Stretch]:
        while size > 0:
            self._main.seek(place)
            raw = self._main.read(min(size, STRETCH_BYTES))
            raw = raw[: len(raw) - len(raw) % piece.width]
            if not raw:
                return
            if piece.width == 2 and len(raw) < size and 0xD8 <= raw[-1] < 0xDC:
                raw = raw[:-2] or raw  # the first half of a pair goes with the second
            yield from self._effected(raw, place, piece)
            place += len(raw)
            size -= len(raw)

    def _effected(self, raw: bytes, place: int, piece: _Piece) -> Iterator[Stretch]:
        """A stretch, cut where its font changes the charset."""
        (text, wide), width = self._decoded(raw, piece.width), piece.width
        if piece.hidden:
            text, wide = _KEPT_MARKS.sub("\0", text), b""
        at = 0
        parts: list[str] = []
        for start, end, effect in self._characters.between(place, place + len(raw)):
            first, last = (start - place) // width, (end - place + width - 1) // width
            first = max(first, at)
            if last <= first:
                continue
            if (effect.thing >= 0 or effect.image >= 0) and not effect.hidden:
                parts += (text[at:first], self._marked(text[first:last], effect))
                at = last
                continue
            codec = self._fonts.get(effect.font, self.codec)
            if width == 1 and codec != self.codec and self._obeys(text[first:last], codec):
                before = "".join(parts) + text[at:first]
                if before:
                    begin = place + first * width - len(before) * width
                    yield self._stretch(before, begin, piece, self.codec)
                parts, at = [], last
                shown = _shown(text[first:last], effect)
                yield self._stretch(shown, place + first * width, piece, codec)
                continue
            parts += (text[at:first], _shown(text[first:last], effect))
            at = last
        if not at:
            yield self._stretch(text, place, piece, self.codec, wide)
            return
        rest = "".join(parts) + text[at:]
        if rest:
            begin = place + (len(text) - len(rest)) * width
            yield self._stretch(rest, begin, piece, self.codec)

    def _marked(self, text: str, effect: Effect) -> str:
        """The mark in front of a field's result names what is embedded there, that of a picture
        the picture."""
        if effect.thing >= 0:
            mark, first, thing = _SEPARATOR, FIRST_THING, effect.thing
        else:
            mark, first, thing = _PICTURE, FIRST_IMAGE, effect.image
        if mark not in text or len(self.things) >= THINGS:
            return text
        self.things.append(thing)
        return text.replace(mark, chr(first + len(self.things) - 1), 1)

    def _obeys(self, text: str, codec: str) -> bool:
        """Whether a run is in the charset of its font: that of a Western one counts for little
        where the document is not Western."""
        if codec != "cp1252" or text.isascii():
            return True
        return self.codec in _PAIRED and not _PAIR.search(text)

    def _stretch(
        self, text: str, place: int, piece: _Piece, codec: str, wide: bytes = b""
    ) -> Stretch:
        first, later = piece.first + (place - piece.place) // piece.width, None
        if piece.width == 2:
            later = self.codec if self._pairs else None
        elif not text.isascii():
            if codec in _PAIRED:
                later = codec
            else:
                text = _single(text, codec)
        return Stretch(text, first, place, piece.width, later, piece.extra, wide)

    def _decoded(self, raw: bytes, width: int) -> tuple[str, bytes]:
        """One sign per position; these signs in UTF-16, where that is what the bytes are."""
        if width == 1:
            return raw.decode("latin-1"), b""
        text = "" if self._pairs else raw.decode(WIDE, "replace")
        if 2 * len(text) == len(raw):
            return text, raw
        # letters beyond U+FFFF take two positions
        return "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw))), b""

    # --- charsets -------------------------------------------------------------------------

    def _narrow_codec(self, fib: Fib) -> str:
        """The charset of 8-bit text. Word 97 has only Western text there; other programs do
        not keep to that, and old files have that of their language."""
        told = codec_of_language(fib.language) if fib.old else None
        if told in (None, "cp1252"):
            told = self._fonts.get(self._font, told)
        if told not in (None, "cp1252"):
            return str(told)
        sample = self._sample()
        if not sample:
            return "cp1252"
        found = encoding.legacy(sample)
        letters = len(_FOREIGN.findall(sample.decode(found.codec, "replace")))
        needed = 2 if fib.old else FOREIGN_LETTERS
        possible = fib.old or found.codec in ("cp874", "cp949")
        return found.codec if possible and found.sure and letters >= needed else "cp1252"

    def _sample(self) -> bytes:
        """Lines with letters beyond ASCII from the 8-bit pieces."""
        found, left = b"", SAMPLE_BYTES
        for piece in self.pieces:
            if piece.width == 2 or left <= 0:
                continue
            self._main.seek(piece.place)
            raw = self._main.read(min(left, piece.last - piece.first))
            left -= len(raw)
            if not raw.isascii():
                found += encoding.dense_lines(raw.replace(b"\x07", b"\r"), STRETCH_BYTES // 4)
            if len(found) >= STRETCH_BYTES // 4:
                break
        return found

    def _has_pairs(self) -> bool:
        """Whether the 16-bit text of an old file is a charset of one and two bytes per letter,
        rather than Unicode."""
        if self.codec not in _PAIRED:
            return False
        piece = self.pieces[0]
        self._main.seek(piece.place)
        raw = self._main.read(min(STRETCH_BYTES, 2 * (piece.last - piece.first)))
        wide = [n for (n,) in struct.iter_unpack("<H", raw[: len(raw) & ~1]) if n > 0xFF]
        fit = sum(1 for n in wide if n >> 8 >= 0xA1 and n & 0xFF >= 0xA1)
        return fit * 10 >= len(wide) * 9


def _missing(piece: _Piece, size: int) -> int:
    """How many bytes of a piece lie beyond the end of the stream."""
    length = (piece.last - piece.first) * piece.width
    return min(length, max(0, piece.place + length - size))


def decoded(text: str, codec: str) -> str:
    """Text that came undecoded: Latin-1 signs, or two bytes in one sign."""
    raw = bytearray()
    for sign in text if any(sign > "\xff" for sign in text) else ():
        raw += ord(sign).to_bytes(2 if sign > "\xff" else 1, "big")
    return (bytes(raw) or text.encode("latin-1")).decode(codec, "replace")


def _single(text: str, codec: str) -> str:
    """Decode Latin-1 signs one by one."""
    shown = text.encode("latin-1", "replace").decode(codec, "replace")
    return shown if len(shown) == len(text) else text


def _shown(text: str, effect: Effect) -> str:
    if effect.hidden:
        return _KEPT_MARKS.sub("\0", text)
    if effect.symbol and len(text) == 1:
        return symbol_text(effect.symbol) or "\0"
    return text


def _one_piece(fib: Fib, total: int) -> list[_Piece]:
    """A document without a piece table: the text lies in one go."""
    width = 2 if fib.wide else 1
    if not fib.first or fib.last <= fib.first:
        return []
    return [_Piece(0, total or (fib.last - fib.first) // width, fib.first, width, b"")]


def _pieces(raw: bytes, old: bool, width: int) -> list[_Piece]:
    """The pieces of a Clx; none where it is broken."""
    lists: list[bytes] = []
    at = 0
    while at + 3 <= len(raw) and raw[at] == 1:
        size = int.from_bytes(raw[at + 1 : at + 3], "little")
        lists.append(raw[at + 3 : at + 3 + size])
        at += 3 + size
    if at + 5 > len(raw) or raw[at] != 2:
        return []
    size = int.from_bytes(raw[at + 1 : at + 5], "little")
    table = raw[at + 5 : at + 5 + size]
    count = (len(table) - 4) // 12
    if count < 1:
        return []
    ends = struct.unpack_from(f"<{count + 1}I", table)
    found = []
    for number in range(count):
        first, last = ends[number], ends[number + 1]
        if not first < last < 0x80000000:
            if first == last:
                continue
            break
        place, word = struct.unpack_from("<IH", table, 4 * (count + 1) + 8 * number + 2)
        extra = _extra(word, lists)
        effect = effect_of(extra, False) if extra else None
        hidden = effect is not None and effect.hidden
        if old:
            found.append(_Piece(first, last, place, width, extra, hidden))
        elif place & _COMPRESSED:
            found.append(_Piece(first, last, (place & 0x3FFFFFFF) // 2, 1, extra, hidden))
        else:
            found.append(_Piece(first, last, place & 0x3FFFFFFF, 2, extra, hidden))
    return found


def _extra(word: int, lists: list[bytes]) -> bytes:
    """The modifiers that a fast save put on a piece, in the form of Word 97."""
    if not word:
        return b""
    if not word & 1:
        return short_modifier(word)
    number = word >> 1
    return lists[number] if number < len(lists) else b""
