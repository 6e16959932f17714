"""Workbooks that a program protected by the one password it always uses.

A workbook whose structure is locked is encrypted by the password "VelvetSweatshop", which every
program tries by itself: such a file opens without a question. Sources: [MS-OFFCRYPTO] 2.3.6
(RC4), 2.3.5 (RC4 CryptoAPI), 2.3.7 (XOR obfuscation); [MS-XLS] 2.2.10 and 2.4.117 (FilePass).
Promises: a file with that password comes out in the clear, any other raises Unread("encrypted").
Does not: ask for or guess passwords; know the AES of newer files.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.codepages import WIDE
from helpers.extract.xls_records import records
from helpers.limits import PROTECTED_BYTES

PASSWORD = "VelvetSweatshop"
FILE_PASS = 0x2F
BLOCK_BYTES = 1024  # bytes of the stream under one key

# Records that stay in the clear: BOF, FILEPASS, INTERFACEHDR, USREXCL, FILELOCK, RRDINFO, RRDHEAD.
_CLEAR = frozenset({0x0809, 0x0409, 0x0209, 0x0009, FILE_PASS, 0xE1, 0x194, 0x195, 0x196, 0x138})
_BOUND_SHEET = 0x85
_XOR, _RC4 = 0, 1
_ROTATED = bytes((value >> 5 | value << 3) & 0xFF for value in range(256))  # right by five

Key = Callable[[int], bytes]


def encrypted() -> Unread:
    return Unread("encrypted", "The workbook needs a password", "Save a copy without a password.")


def opened(stream: BinaryIO, body: bytes, wide: bool, beat: Callable[[], None]) -> BinaryIO:
    """The stream in the clear; `body` is that of its FILEPASS record, `wide` tells BIFF8.

    Raises Unread: encrypted, limit_reached.
    """
    size = stream.seek(0, io.SEEK_END)
    if size > PROTECTED_BYTES:
        raise limit_reached("A protected workbook", size, PROTECTED_BYTES, "bytes", SMALLER)
    method = int.from_bytes(body[:2], "little") if wide else _XOR
    if method == _XOR:
        key, verifier = struct.unpack_from("<HH", body.ljust(6, b"\0"), 2 if wide else 0)
        if verifier != _xor_verifier(PASSWORD.encode()):
            raise encrypted()
        return _deciphered(stream, _XorCipher(key), beat)
    if method != _RC4:
        raise encrypted()
    return _deciphered(stream, _Rc4Cipher(_rc4_key(body)), beat)


def _deciphered(stream: BinaryIO, cipher: _XorCipher | _Rc4Cipher, beat: Callable) -> BinaryIO:
    found = bytearray()
    for kind, offset, body in records(stream):
        beat()
        found += struct.pack("<HH", kind, len(body))
        if kind in _CLEAR:
            found += body
            continue
        clear = 4 if kind == _BOUND_SHEET else 0
        found += body[:clear] + cipher.clear(body, offset + 4)[clear:]
    return io.BytesIO(found)


# --- XOR obfuscation ------------------------------------------------------------------------


class _XorCipher:
    def __init__(self, key: int) -> None:
        low, high = key & 0xFF, key >> 8
        letters = PASSWORD.encode() + b"\xbb"
        pairs = (letter ^ (high if at % 2 else low) for at, letter in enumerate(letters))
        self._pad = bytes((value >> 1 | value << 7) & 0xFF for value in pairs)

    def clear(self, body: bytes, offset: int) -> bytes:
        start = (offset + len(body)) % 16
        pad = (self._pad[start:] + self._pad * (len(body) // 16 + 1))[: len(body)]
        return _xor(body.translate(_ROTATED), pad)


def _xor_verifier(password: bytes) -> int:
    value = 0
    for letter in reversed(bytes((len(password),)) + password):
        value = ((value >> 14 & 1) | (value << 1 & 0x7FFF)) ^ letter
    return value ^ 0xCE4B


# --- RC4 --------------------------------------------------------------------------------------


class _Rc4Cipher:
    """Each block of the stream has a key stream of its own; heads and clear bodies use it up."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._number = -1
        self._pad = b""

    def clear(self, body: bytes, offset: int) -> bytes:
        pad = bytearray()
        at, end = offset, offset + len(body)
        while at < end:
            number, begin = divmod(at, BLOCK_BYTES)
            if number != self._number:
                self._number = number
                self._pad = key_stream(self._key(number), BLOCK_BYTES)
            taken = self._pad[begin : begin + end - at]
            pad += taken
            at += len(taken)
        return _xor(body, bytes(pad))


def key_stream(key: bytes, count: int) -> bytes:
    """The first `count` bytes of RC4's output under `key`."""
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) & 0xFF
        state[i], state[j] = state[j], state[i]
    return bytes(_output(state, count))


def _output(state: list[int], count: int) -> Iterator[int]:
    i = j = 0
    for _ in range(count):
        i = (i + 1) & 0xFF
        one = state[i]
        j = (j + one) & 0xFF
        other = state[j]
        state[i], state[j] = other, one
        yield state[(one + other) & 0xFF]


def _rc4_key(body: bytes) -> Key:
    """How the keys of the blocks are made, once the password is proven. Raises Unread."""
    major, minor = struct.unpack_from("<HH", body.ljust(6, b"\0"), 2)
    if (major, minor) == (1, 1) and len(body) >= 54:
        key = _plain_key(body[6:22])
        proof, wanted, digest = body[22:38], body[38:54], hashlib.md5
    elif minor == 2 and len(body) >= 14:
        key, proof, wanted = _interface_key(body)
        digest = hashlib.sha1
    else:
        raise encrypted()
    clear = _xor(proof + wanted, key_stream(key(0), len(proof + wanted)))
    if digest(clear[: len(proof)]).digest() != clear[len(proof) :]:
        raise encrypted()
    return key


def _plain_key(salt: bytes) -> Key:
    start = hashlib.md5(PASSWORD.encode(WIDE)).digest()[:5]
    seed = hashlib.md5((start + salt) * 16).digest()[:5]
    return lambda number: hashlib.md5(seed + struct.pack("<I", number)).digest()


def _interface_key(body: bytes) -> tuple[Key, bytes, bytes]:
    """Key, verifier and its hash of the CryptoAPI form. Raises Unread for other ciphers."""
    head = struct.unpack_from("<I", body, 10)[0]
    if len(body) < 14 + head + 60 or head < 32:
        raise encrypted()
    algorithm, bits = struct.unpack_from("<I4xI", body, 14 + 8)
    if algorithm not in (0, 0x6801):
        raise encrypted()
    count = (bits or 40) // 8
    salt_bytes, salt = struct.unpack_from("<I16s", body, 14 + head)
    proof = body[14 + head + 20 : 14 + head + 36]
    wanted = body[14 + head + 40 : 14 + head + 60]
    seed = hashlib.sha1(salt[:salt_bytes] + PASSWORD.encode(WIDE)).digest()

    def key(number: int) -> bytes:
        made = hashlib.sha1(seed + struct.pack("<I", number)).digest()[:count]
        return made.ljust(16, b"\0") if count == 5 else made

    if not 5 <= count <= 16:
        raise encrypted()
    return key, proof, wanted


def _xor(one: bytes, other: bytes) -> bytes:
    found = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return found.to_bytes(len(one), "little")
