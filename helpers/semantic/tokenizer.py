"""XLM-R's tokenizer, ready the moment its file is mapped: sentencepiece unigram in pure Python.

Loading sentencepiece's own model takes 600 to 1,200 ms, more than all else a question needs;
this table is mapped and looked at where a text touches it. The table holds the pieces under a
hash (open addressing on crc32), their scores, and the normaliser's double array as sentencepiece
compiled it.

Promises: the ids are those of sentencepiece with the same pieces and scores, letter for letter;
the standard library only; a file that is no whole table of this version raises ConfigError.
Does not: read the whole table to check it (`intact` does), or work in bulk: sentencepiece is
30 times faster once it is loaded.

File, little endian: MAGIC | u32 pieces, slots, blob bytes, trie units, target bytes, longest piece
in code points | f32 lowest score | u32 crc32 of the rest | slots u32[] (piece + 1, 0 = free) |
offsets u32[pieces + 1] | scores f32[] | trie u32[] | targets, padded to 4 | blob.
"""

from __future__ import annotations

import mmap
import struct
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from helpers.errors import ConfigError

MAGIC = b"RGTOK1\0\0"
HEAD = struct.Struct("<8s6IfI")
SPECIAL = 3  # pieces that match no text: unknown, begin, end
UNKNOWN = 0  # sentencepiece's id of what no piece covers
UNKNOWN_PENALTY = 10.0  # sentencepiece's own: below the lowest score
MARK = "\u2581"  # stands for a space, and begins each word
CACHED_PIECES = 50_000  # looked-up strings remembered
# XLM-R counts one up from sentencepiece (its own <pad> comes second) and calls unknown 3.
BEGIN_ID, PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2, 3
REMEDY = "Install the model again: python3 semantic_worker.py --install"


def model_ids(pieces: Sequence[int]) -> list[int]:
    """XLM-R's ids of sentencepiece's."""
    return [piece + 1 if piece else UNKNOWN_ID for piece in pieces]


def build(pieces: Sequence[bytes], scores: Sequence[float], charsmap: bytes) -> bytes:
    """The table of `pieces` (sentencepiece's order, specials first) and its normaliser.

    `charsmap` is sentencepiece's: u32 trie bytes, trie, NUL-terminated targets.
    """
    slots = _hashed(pieces)
    offsets = array("I", [0])
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    blob = b"".join(pieces)
    (trie_bytes,) = struct.unpack_from("<I", charsmap)
    trie, targets = charsmap[4 : 4 + trie_bytes], charsmap[4 + trie_bytes :]
    longest = max(len(piece.decode()) for piece in pieces)
    body = b"".join(_little(part) for part in (slots, offsets, array("f", scores)))
    body += trie + targets + b"\0" * (-len(targets) % 4) + blob
    counts = (len(pieces), len(slots), len(blob), trie_bytes // 4, len(targets), longest)
    return HEAD.pack(MAGIC, *counts, min(scores[SPECIAL:]), crc32(body)) + body


def _hashed(pieces: Sequence[bytes]) -> array[int]:
    size = 1 << (2 * len(pieces) - 1).bit_length()
    slots, mask = array("I", bytes(4 * size)), size - 1
    for index, piece in enumerate(pieces[SPECIAL:], SPECIAL):
        slot = crc32(piece) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = index + 1
    return slots


def _little(values: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


class Tokenizer:
    """A mapped table. Not for several threads at once."""

    def __init__(self, path: Path | str) -> None:
        """Raises ConfigError where the file is missing or no such table."""
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            head = HEAD.unpack_from(self._map)
        except (OSError, ValueError, struct.error) as error:
            raise ConfigError(f"{path} cannot be read: {error}", REMEDY) from error
        magic, pieces, slots, blob, units, targets, self._longest, lowest, _ = head
        padded = targets + -targets % 4
        total = HEAD.size + 4 * (slots + 2 * pieces + 1 + units) + padded + blob
        if magic != MAGIC or sys.byteorder == "big" or total != len(self._map) or not units:
            raise ConfigError(f"{path} is no table of this version", REMEDY)
        view, at = memoryview(self._map), HEAD.size
        self._slots, at = view[at : at + 4 * slots].cast("I"), at + 4 * slots
        self._offsets, at = view[at : at + 4 * pieces + 4].cast("I"), at + 4 * pieces + 4
        self._scores, at = view[at : at + 4 * pieces].cast("f"), at + 4 * pieces
        self._trie, at = view[at : at + 4 * units].cast("I"), at + 4 * units
        self._targets, self._blob = at, at + padded
        self._mask = slots - 1
        self._unknown = lowest - UNKNOWN_PENALTY
        self._known: dict[bytes, int] = {}

    def intact(self) -> bool:
        """Whether the whole file is what was written; reads all of it."""
        return crc32(memoryview(self._map)[HEAD.size :]) == HEAD.unpack_from(self._map)[-1]

    def ids(self, text: str) -> list[int]:
        """XLM-R's ids of `text`, without begin and end."""
        return model_ids(self.pieces(text))

    def pieces(self, text: str) -> list[int]:
        """sentencepiece's ids of `text`: the best way to cut it (Viterbi)."""
        text = self.normalize(text)
        if not text:
            return []
        origin, chosen = self._best(text)
        pieces: list[int] = []
        end = len(text)
        while end > 0:
            piece = chosen[end]
            if piece or not pieces or pieces[-1]:  # neighbouring unknowns are one
                pieces.append(piece)
            end = origin[end]
        pieces.reverse()
        return pieces

    def normalize(self, text: str) -> str:
        """`text` by the normaliser's rules, single spaces as MARK, one in front."""
        encoded = text.encode("utf-8", "replace")
        mapped, targets = self._map, self._targets
        out, at = [], 0
        while at < len(encoded):
            target, length = self._rule(encoded, at)
            if length:
                begin = targets + target
                out.append(mapped[begin : mapped.find(b"\0", begin)])
            else:
                lead = encoded[at]
                length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
                out.append(encoded[at : at + length])
            at += length
        words = b"".join(out).decode("utf-8", "replace").split(" ")
        # A text that holds the mark itself keeps it, but for the end: as sentencepiece does.
        return "".join(MARK + word for word in words if word).rstrip(MARK)

    def _rule(self, encoded: bytes, begin: int) -> tuple[int, int]:
        """(offset of the target, bytes replaced) of the longest rule at `begin`; 0 bytes if none.

        Darts-clone's double array: a unit holds its label in the low byte, whether a leaf follows
        in bit 8, and the offset to its children from bit 10 up, shifted by bit 9.
        """
        trie = self._trie
        unit = trie[0]
        node = unit >> 10 << ((unit & 512) >> 6)
        target = length = 0
        for at in range(begin, len(encoded)):
            node ^= encoded[at]
            unit = trie[node]
            if unit & 0x800000FF != encoded[at]:
                break
            node ^= unit >> 10 << ((unit & 512) >> 6)
            if unit >> 8 & 1:
                target, length = trie[node] & 0x7FFFFFFF, at - begin + 1
        return target, length

    def _best(self, text: str) -> tuple[list[int], list[int]]:
        """For each end in `text`: where the best last piece begins, and which it is.

        Sums are rounded to 32 bits as sentencepiece's are, so that ties fall alike.
        """
        size = len(text)
        places = _byte_places(text)
        encoded = text.encode()
        best, origin, chosen = [0.0] * (size + 1), [-1] * (size + 1), [0] * (size + 1)
        known, scores, single = self._known, self._scores, array("f", [0.0])
        if len(known) > CACHED_PIECES:
            known.clear()
        for begin in range(size):
            score, first = best[begin], begin + 1
            for end in range(first, min(size, begin + self._longest) + 1):
                if end > first and text[end - 1] == MARK:
                    break  # a piece holds the mark only in front
                key = encoded[places[begin] : places[end]]
                piece = known.get(key)
                if piece is None:
                    piece = known[key] = self._find(key)
                if piece:
                    single[0] = score + scores[piece]
                    if origin[end] < 0 or single[0] > best[end]:
                        best[end], origin[end], chosen[end] = single[0], begin, piece
            if not known[encoded[places[begin] : places[first]]]:
                single[0] = score + self._unknown
                if origin[first] < 0 or single[0] > best[first]:
                    best[first], origin[first], chosen[first] = single[0], begin, UNKNOWN
        return origin, chosen

    def _find(self, key: bytes) -> int:
        """The piece `key`, 0 where there is none."""
        slot, mapped, offsets = crc32(key) & self._mask, self._map, self._offsets
        while index := self._slots[slot]:
            begin, end = self._blob + offsets[index - 1], self._blob + offsets[index]
            if mapped[begin:end] == key:
                return index - 1
            slot = (slot + 1) & self._mask
        return 0


def _byte_places(text: str) -> list[int]:
    """Where each code point begins in UTF-8, and the end."""
    places, at = [0], 0
    for sign in text:
        code = ord(sign)
        at += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        places.append(at)
    return places
