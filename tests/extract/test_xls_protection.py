"""Workbooks under the password that every program tries by itself, and under others."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.extract import xls_protection
from helpers.extract.xls import read
from helpers.extract.xls_protection import key_stream
from tests.extract import xls_files as made
from tests.extract.compound_files import packed as compound
from tests.extract.office_files import refusal, texts
from tests.extract.xls_files import record

CLEAR = {0x809, 0x2F, 0xE1}
DEFAULT = "VelvetSweatshop"
Scramble = Callable[[bytes, int], bytes]


def sheets() -> dict[str, bytes]:
    return {"가": b"".join(made.label(row, 0, f"비밀 아님 {row}") for row in range(120))}


def protected(file_pass: bytes, scramble: Scramble, biff: int = 8) -> bytes:
    """A workbook whose record bodies are scrambled: `scramble(body, offset of the body)`."""
    cells = sheets()
    if biff == 5:
        cells = {"S": b"".join(made.label5(row, 0, f"row {row}", "cp1252") for row in range(120))}
    stream = made.workbook(cells, [record(0x2F, file_pass)], biff=biff)
    found, at = bytearray(), 0
    while at < len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        body = stream[at + 4 : at + 4 + size]
        clear = size if kind in CLEAR else 4 if kind == 0x85 else 0
        found += stream[at : at + 4] + body[:clear] + scramble(body, at + 4)[clear:]
        at += 4 + size
    return compound({"Book" if biff == 5 else "Workbook": bytes(found)})


def rc4_by_blocks(key: Callable[[int], bytes]) -> Scramble:
    def scramble(body: bytes, offset: int) -> bytes:
        pads: dict[int, bytes] = {}
        found = bytearray()
        for at, value in enumerate(body, offset):
            block = at // 1024
            if block not in pads:
                pads[block] = key_stream(key(block), 1024)
            found.append(value ^ pads[block][at % 1024])
        return bytes(found)

    return scramble


def rc4(password: str, salt: bytes = bytes(range(16))) -> bytes:
    start = hashlib.md5(password.encode("utf-16-le")).digest()[:5]
    seed = hashlib.md5((start + salt) * 16).digest()[:5]

    def key(block: int) -> bytes:
        return hashlib.md5(seed + struct.pack("<I", block)).digest()

    proof = b"0123456789abcdef"
    pad = key_stream(key(0), 32)
    mixed = bytes(a ^ b for a, b in zip(proof + hashlib.md5(proof).digest(), pad, strict=True))
    return protected(struct.pack("<HHH", 1, 1, 1) + salt + mixed, rc4_by_blocks(key))


def rc4_of_the_interface(password: str, bits: int) -> bytes:
    salt = bytes(range(16, 32))
    seed = hashlib.sha1(salt + password.encode("utf-16-le")).digest()

    def key(block: int) -> bytes:
        made_key = hashlib.sha1(seed + struct.pack("<I", block)).digest()[: bits // 8]
        return made_key.ljust(16, b"\0") if bits == 40 else made_key

    proof = b"0123456789abcdef"
    clear = proof + hashlib.sha1(proof).digest()
    mixed = bytes(a ^ b for a, b in zip(clear, key_stream(key(0), 36), strict=True))
    head = struct.pack("<8I", 4, 0, 0x6801, 0x8004, bits, 1, 0, 0) + "x\0".encode("utf-16-le")
    body = struct.pack("<HHHII", 1, 2, 2, 4, len(head)) + head + struct.pack("<I", 16) + salt
    return protected(body + mixed[:16] + struct.pack("<I", 20) + mixed[16:], rc4_by_blocks(key))


def xor(password: bytes, biff: int, key: int = 0x5A3C) -> bytes:
    verifier = 0
    for letter in reversed(bytes((len(password),)) + password):
        verifier = ((verifier >> 14 & 1) | (verifier << 1 & 0x7FFF)) ^ letter
    verifier ^= 0xCE4B
    halves = (key & 0xFF, key >> 8)
    pad = [letter ^ halves[at % 2] for at, letter in enumerate(password + b"\xbb")]
    pad = [(value >> 1 | value << 7) & 0xFF for value in pad]

    def scramble(body: bytes, offset: int) -> bytes:
        start = (offset + len(body)) % 16
        mixed = (value ^ pad[(start + at) % 16] for at, value in enumerate(body))
        return bytes((value << 5 | value >> 3) & 0xFF for value in mixed)

    facts = struct.pack("<HH", key, verifier)
    return protected((b"\0\0" if biff == 8 else b"") + facts, scramble, biff)


@pytest.mark.parametrize(
    "data",
    [
        rc4(DEFAULT),
        rc4_of_the_interface(DEFAULT, 128),
        rc4_of_the_interface(DEFAULT, 40),
        xor(DEFAULT.encode(), 8),
    ],
    ids=["rc4", "cryptoapi-128", "cryptoapi-40", "xor"],
)
def test_a_workbook_that_opens_without_a_question_is_read(data: bytes) -> None:
    assert texts(read, data) == ["가", *(f"비밀 아님 {row}" for row in range(120))]


def test_an_older_workbook_that_opens_without_a_question_is_read() -> None:
    found = texts(read, xor(DEFAULT.encode(), 5))
    assert found == ["S", *(f"row {row}" for row in range(120))]


@pytest.mark.parametrize(
    "data",
    [
        rc4("secret"),
        rc4_of_the_interface("secret", 128),
        xor(b"secretsecret123", 8),
        xor(b"secretsecret123", 5),
        protected(struct.pack("<H", 7) + bytes(60), lambda body, _: body),
        protected(struct.pack("<HHH", 1, 4, 2) + bytes(20), lambda body, _: body),
        protected(b"", lambda body, _: body),
    ],
)
def test_any_other_password_is_asked_for(data: bytes) -> None:
    error = refusal(read, data)
    assert error.code == "encrypted" and "password" in error.reason


def test_a_large_protected_workbook_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xls_protection, "PROTECTED_BYTES", 1_000)
    error = refusal(read, rc4(DEFAULT))
    assert error.code == "limit_reached" and "1,000 bytes" in error.reason


def test_the_key_stream_is_that_of_rc4() -> None:
    """The vector of the original posting: key "Key", text "Plaintext"."""
    mixed = bytes(a ^ b for a, b in zip(b"Plaintext", key_stream(b"Key", 9), strict=True))
    assert mixed.hex() == "bbf316e8d940af0ad3"


def test_a_real_protected_workbook_opens_by_its_password(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (shared / "docs" / "xls" / "tika_testEXCEL_protected_passtika.xls").read_bytes()
    monkeypatch.setattr(xls_protection, "PASSWORD", "tika")
    assert texts(read, data) == ["Sheet1", "This is an Encrypted Excel spreadsheet."]
