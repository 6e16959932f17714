"""Encrypted Office Open XML: read under the password of every program, refused under others."""

from __future__ import annotations

import base64
import hashlib
import io
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.errors import Unread
from helpers.extract import formats, locked
from helpers.extract.hwp_lock import Decipher
from helpers.extract.xlsx import read
from tests.extract.compound_files import packed as compound
from tests.extract.hangul_files import enciphered
from tests.extract.office_files import refusal, texts, xlsx

WORKBOOK = xlsx(
    '<row r="1"><c r="A1" t="inlineStr"><is><t>잠긴 구조</t></is></c></row>',
    {"padding.xml": "".join(hashlib.sha1(bytes((at,))).hexdigest() for at in range(220))},
)
SALT = bytes(range(16))
PURPOSES = ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6")


def padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 16) * 16, b"\0")


def chained(key: bytes, first: bytes, data: bytes) -> bytes:
    found, last = b"", first
    for at in range(0, len(data), 16):
        block = bytes(a ^ b for a, b in zip(data[at : at + 16], last, strict=True))
        last = enciphered(key, block)
        found += last
    return found


def agile(password: str, spins: int = 1_000, chaining: str = "ChainingModeCBC") -> bytes:
    digest = hashlib.sha512(SALT + password.encode("utf-16-le")).digest()
    for number in range(spins):
        digest = hashlib.sha512(struct.pack("<I", number) + digest).digest()
    keys = [hashlib.sha512(digest + bytes.fromhex(word)).digest()[:16] for word in PURPOSES]
    secret, proof = b"0123456789abcdef", b"fedcba9876543210"
    parts = (proof, hashlib.sha512(proof).digest(), secret)
    shut = [
        base64.b64encode(chained(key, SALT, part)).decode()
        for key, part in zip(keys, parts, strict=True)
    ]
    package = struct.pack("<Q", len(WORKBOOK))
    for at in range(0, len(WORKBOOK), 4_096):
        first = hashlib.sha512(SALT + struct.pack("<I", at // 4_096)).digest()[:16]
        package += chained(secret, first, padded(WORKBOOK[at : at + 4_096]))
    facts = (
        f'saltSize="16" blockSize="16" keyBits="128" hashSize="64" cipherAlgorithm="AES"'
        f' cipherChaining="{chaining}" hashAlgorithm="SHA512"'
        f' saltValue="{base64.b64encode(SALT).decode()}"'
    )
    spaces = (
        'xmlns="http://schemas.microsoft.com/office/2006/encryption"'
        ' xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password"'
    )
    xml = (
        f"<encryption {spaces}><keyData {facts}/><keyEncryptors><keyEncryptor><p:encryptedKey"
        f' spinCount="{spins}" {facts} encryptedVerifierHashInput="{shut[0]}"'
        f' encryptedVerifierHashValue="{shut[1]}" encryptedKeyValue="{shut[2]}"/></keyEncryptor>'
        "</keyEncryptors></encryption>"
    )
    info = struct.pack("<HHI", 4, 4, 0x40) + xml.encode()
    return compound({"EncryptionInfo": info, "EncryptedPackage": package})


def standard(password: str) -> bytes:
    digest = hashlib.sha1(SALT + password.encode("utf-16-le")).digest()
    for number in range(50_000):
        digest = hashlib.sha1(struct.pack("<I", number) + digest).digest()
    digest = hashlib.sha1(digest + bytes(4)).digest()
    masked = bytes(0x36 ^ byte for byte in digest.ljust(64, b"\0"))
    key = hashlib.sha1(masked).digest()[:16]
    proof = b"fedcba9876543210"
    wanted = padded(hashlib.sha1(proof).digest())
    head = struct.pack("<8I", 0x24, 0, 0x660E, 0x8004, 128, 24, 0, 0) + "x\0".encode("utf-16-le")
    info = struct.pack("<HHII", 3, 2, 0x24, len(head)) + head + struct.pack("<I", 16) + SALT
    info += enciphered(key, proof) + struct.pack("<I", 20) + enciphered(key, wanted)
    package = struct.pack("<Q", len(WORKBOOK)) + enciphered(key, padded(WORKBOOK))
    return compound({"EncryptionInfo": info, "EncryptedPackage": package})


def detected(data: bytes, name: str) -> str:
    return formats.detect(io.BytesIO(data), name).name


@pytest.mark.parametrize("make", [agile, standard])
def test_a_workbook_that_opens_without_a_question_is_read(make: Callable[[str], bytes]) -> None:
    data = make(locked.PASSWORD)
    assert len(WORKBOOK) > 4_096
    assert texts(read, data) == ["Sheet1", "잠긴 구조"]
    assert detected(data, "a.xlsx") == detected(data, "a.xls") == "xlsx"


@pytest.mark.parametrize("data", [agile("secret"), standard("secret")], ids=["agile", "standard"])
def test_any_other_password_is_asked_for(data: bytes) -> None:
    assert refusal(read, data).code == "encrypted"
    with pytest.raises(Unread) as refused:
        detected(data, "a.docx")
    assert refused.value.code == "encrypted" and "password needed" in refused.value.reason


def test_what_is_not_understood_needs_a_password() -> None:
    whole = agile(locked.PASSWORD)
    for data in (
        agile(locked.PASSWORD, chaining="ChainingModeCFB"),
        whole.replace(b'keyBits="128"', b'keyBits="999"'),
        whole.replace(b'spinCount="1000"', b'spinCount="9999999999"'),
        whole.replace(b"SHA512", b"SHA99x"),
        whole.replace(b"encryptedKeyValue", b"encryptedNoValue!"),
        compound({"EncryptionInfo": b"", "EncryptedPackage": b""}),
        compound({"EncryptionInfo": struct.pack("<HH", 3, 2), "EncryptedPackage": b""}),
        compound({"EncryptedPackage": bytes(99)}),
    ):
        assert refusal(read, data).code in ("encrypted", "corrupt")


def test_a_large_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "PROTECTED_BYTES", 1_000)
    error = refusal(read, agile(locked.PASSWORD))
    assert error.code == "limit_reached" and "1,000 bytes" in error.reason


def test_a_real_encrypted_workbook_opens_by_its_password(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (shared / "docs" / "xlsx" / "made_ko_enc_sheet.xlsx").read_bytes()
    assert refusal(read, data).code == "encrypted"
    monkeypatch.setattr(locked, "PASSWORD", "secret")
    assert len(texts(read, data)) > 2


@pytest.mark.parametrize(
    ("size", "shut"),
    [
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_the_cipher_is_that_of_fips_197(size: int, shut: str) -> None:
    plain = Decipher(bytes(range(size))).blocks(bytes.fromhex(shut) * 3)
    assert plain == bytes.fromhex("00112233445566778899aabbccddeeff") * 3
