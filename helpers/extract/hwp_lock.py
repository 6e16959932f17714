"""Distribution documents (배포용 문서): their text lies scrambled in ViewText, without a password.

Source: Hancom, "한글 문서 파일 구조 5.0 — 배포용 문서"; FIPS 197 (AES). A record of 256 bytes
holds a key under a key stream that its own first number starts; what follows it is enciphered
with AES-128 in ECB mode. Every block is treated alike, so the four rows of a block's state are kept
over many blocks at a time: each step of the cipher is then one `bytes.translate` or one exclusive
or over a whole row, at some 15 MB/s without any package.
Promises: memory holds a piece, never the stream. Does not: break passwords or DRM.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator

from helpers.extract.hwp_records import DISTRIBUTE_DOC_DATA, Source, corrupt

BLOCK = 16  # bytes
PIECE_BYTES = 1 << 15  # bytes deciphered at a time
_DATA_BYTES = 256
_KEY_CHARS_AT = 4  # where the 16 possible places of the key begin


class Unlocked:
    """The deciphered bytes behind the record that holds the key, to be read in pieces."""

    def __init__(self, stream: Source, name: str) -> None:
        header = stream.read(4)
        if len(header) < 4 or struct.unpack("<I", header)[0] & 0x3FF != DISTRIBUTE_DOC_DATA:
            raise corrupt(f"{name} does not begin with the data of a distribution document")
        size = struct.unpack("<I", header)[0] >> 20
        data = stream.read(size)
        if len(data) < _DATA_BYTES:
            raise corrupt(f"{name} holds {len(data)} of the {_DATA_BYTES} bytes of its key")
        self._cipher = Decipher(_key(data))
        self._stream = stream
        self._left = b""

    def read(self, size: int) -> bytes:
        while len(self._left) < size:
            piece = self._stream.read(PIECE_BYTES)
            if not piece:
                break
            self._left += self._cipher.blocks(piece)
        found, self._left = self._left[:size], self._left[size:]
        return found


class Decipher:
    """AES with a key of 16, 24 or 32 bytes, backwards, block by block."""

    def __init__(self, key: bytes) -> None:
        self._round_keys = _expanded(key)

    def blocks(self, data: bytes) -> bytes:
        """The plain text of all whole blocks; an incomplete last block is left out."""
        count = len(data) // BLOCK
        if not count:
            return b""
        end, width = count * BLOCK, 4 * count
        rows = [b"".join(data[r + c : end : BLOCK] for c in range(0, BLOCK, 4)) for r in range(4)]
        state = _keyed(rows, self._round_keys[-1], count)
        for number in range(len(self._round_keys) - 2, -1, -1):
            rows = [row.to_bytes(width, "little") for row in state]
            turned = [rows[r][-r * count :] + rows[r][: -r * count] for r in range(1, 4)]
            rows = [row.translate(_unsubstituted()) for row in (rows[0], *turned)]
            state = _keyed(rows, self._round_keys[number], count)
            if number:
                state = _unmixed(state, width)
        found = bytearray(end)
        for r, row in enumerate(row.to_bytes(width, "little") for row in state):
            for c in range(4):
                found[r + 4 * c :: BLOCK] = row[c * count : (c + 1) * count]
        return bytes(found)


def _key(data: bytes) -> bytes:
    """The key inside the 256 bytes: the letters of a digest, 8 of them in UTF-16."""
    seed = int.from_bytes(data[:4], "little")
    stream = _key_stream(seed)
    plain = bytes(byte ^ mask for byte, mask in zip(data[:_DATA_BYTES], stream, strict=False))
    at = _KEY_CHARS_AT + (seed & 0xF)
    return plain[at : at + BLOCK]


def _key_stream(state: int) -> Iterator[int]:
    """A mask per byte: one number of the generator says which, the next how often."""
    while True:
        state, mask = _rand(state)
        state, times = _rand(state)
        for _ in range((times & 0xF) + 1):
            yield mask & 0xFF


def _rand(state: int) -> tuple[int, int]:
    """The C library's linear congruential generator of Microsoft Visual C++."""
    state = (state * 214_013 + 2_531_011) & 0xFFFFFFFF
    return state, (state >> 16) & 0x7FFF


# --- AES ------------------------------------------------------------------------------------


def _doubled(byte: int) -> int:
    return ((byte << 1) ^ 0x11B) if byte & 0x80 else byte << 1


def _product(one: int, other: int) -> int:
    found = 0
    while other:
        if other & 1:
            found ^= one
        one, other = _doubled(one), other >> 1
    return found


@functools.cache
def _substitution() -> bytes:
    """The S-box: the inverse in GF(2^8), then an affine map."""
    table, power, inverse = bytearray(256), 1, 1
    while True:
        power ^= _doubled(power)  # times 3, which generates the field
        inverse = _product(inverse, 0xF6)  # divided by 3
        turned = inverse
        for shift in (1, 2, 3, 4):
            turned ^= ((inverse << shift) | (inverse >> (8 - shift))) & 0xFF
        table[power] = turned ^ 0x63
        if power == 1:
            break
    table[0] = 0x63
    return bytes(table)


@functools.cache
def _unsubstituted() -> bytes:
    """The inverse S-box."""
    table = bytearray(256)
    for plain, found in enumerate(_substitution()):
        table[found] = plain
    return bytes(table)


@functools.cache
def _multiples(factor: int) -> bytes:
    return bytes(_product(byte, factor) for byte in range(256))


def _times(factor: int, row: int, width: int) -> int:
    return int.from_bytes(row.to_bytes(width, "little").translate(_multiples(factor)), "little")


def _keyed(rows: list[bytes], key: bytes, count: int) -> list[int]:
    """The rows of `count` blocks under a round key, as numbers."""
    found = []
    for r, row in enumerate(rows):
        mask = b"".join([key[r + c : r + c + 1] * count for c in range(0, BLOCK, 4)])
        found.append(int.from_bytes(row, "little") ^ int.from_bytes(mask, "little"))
    return found


def _unmixed(state: list[int], width: int) -> list[int]:
    """The inverse of MixColumns, which is a step before MixColumns itself."""
    even = _times(4, state[0] ^ state[2], width)
    odd = _times(4, state[1] ^ state[3], width)
    a, b, c, d = state[0] ^ even, state[1] ^ odd, state[2] ^ even, state[3] ^ odd
    total = a ^ b ^ c ^ d
    pairs = ((a, b), (b, c), (c, d), (d, a))
    return [_times(2, one ^ other, width) ^ total ^ one for one, other in pairs]


def _expanded(key: bytes) -> list[bytes]:
    """The round keys: 11 of a key of 16 bytes, 13 of 24, 15 of 32."""
    box, words, constant = _substitution(), [key[at : at + 4] for at in range(0, len(key), 4)], 1
    count = len(words)
    for number in range(count, 4 * (count + 7)):
        word = words[-1]
        if number % count == 0:
            word = word[1:] + word[:1]
            word = word.translate(box)
            word = bytes((word[0] ^ constant,)) + word[1:]
            constant = _doubled(constant)
        elif count > 6 and number % count == 4:
            word = word.translate(box)
        words.append(bytes(a ^ b for a, b in zip(words[number - count], word, strict=True)))
    return [b"".join(words[at : at + 4]) for at in range(0, len(words), 4)]
