"""Office Open XML files that are encrypted, and yet open without a question.

Excel locks a workbook against changes by encrypting it under a password that every program tries
by itself. Source: [MS-OFFCRYPTO] 2.3.4.5 to 2.3.4.9 (standard), 2.3.4.10 to 2.3.4.15 (agile).
Promises: such a file comes out as the container that it holds; any other password raises
Unread("encrypted"). Needs no package.
Does not: guess passwords, check the package's own signature, or decrypt what rights management
keeps.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import struct
from collections.abc import Callable
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.codepages import WIDE
from helpers.extract.compound import CompoundFile
from helpers.extract.hwp_lock import BLOCK, Decipher
from helpers.extract.markup import Attributes, Scanner, table, whole
from helpers.limits import PROTECTED_BYTES

PASSWORD = "VelvetSweatshop"
MOST_SPINS = 1_000_000  # rounds in which a key is made; programs take 50,000 or 100,000

_INFO, _PACKAGE = "EncryptionInfo", "EncryptedPackage"
_SEGMENT = 4_096  # bytes under one initial vector
_PIECE = 1 << 18  # bytes decrypted at a time, whole segments
_INFO_BYTES = 1 << 20
_INPUT, _VALUE, _KEY = (
    bytes.fromhex(word) for word in ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6")
)
_HASHES = {
    "SHA1": "sha1",
    "SHA-1": "sha1",
    "SHA256": "sha256",
    "SHA384": "sha384",
    "SHA512": "sha512",
}
_NAMESPACES = {
    "e": ("http://schemas.microsoft.com/office/2006/encryption",),
    "p": ("http://schemas.microsoft.com/office/2006/keyEncryptor/password",),
}

Decrypt = Callable[[bytes, int], bytes]  # whole segments and the number of the first


def needs_password() -> Unread:
    return Unread(
        "encrypted",
        "The document is protected by a password: password needed",
        "Save a copy without a password and index that.",
    )


def opened(file: BinaryIO, heartbeat: Callable[[], None] = lambda: None) -> BinaryIO:
    """The container inside an encrypted compound file. Raises Unread: encrypted, limit_reached."""
    try:
        container = CompoundFile(file)
        info = container.read(_INFO, most=_INFO_BYTES)
        package = container.open(_PACKAGE)
    except Unread:
        raise needs_password() from None
    decrypt = _decrypt(info)
    if package.size > PROTECTED_BYTES:
        what, unit = "A protected document", "bytes"
        raise limit_reached(what, package.size, PROTECTED_BYTES, unit, "Exclude the file.")
    size = int.from_bytes(package.read(8), "little")
    found, number = io.BytesIO(), 0
    while piece := package.read(_PIECE):
        heartbeat()
        found.write(decrypt(piece, number))
        number += len(piece) // _SEGMENT
    found.truncate(min(size, found.tell()))
    found.seek(0)
    return found


def _decrypt(info: bytes) -> Decrypt:
    """How the package is decrypted, once the password is proven. Raises Unread encrypted."""
    try:
        major, minor = struct.unpack_from("<HH", info)
        if (major, minor) == (4, 4):
            return _agile(info[8:])
        if minor == 2 and major in (2, 3, 4):
            return _standard(info)
    except (struct.error, ValueError, KeyError, binascii.Error):
        pass
    raise needs_password()


# --- standard: AES without chaining, SHA-1 ------------------------------------------------------


def _standard(info: bytes) -> Decrypt:
    size = struct.unpack_from("<I", info, 8)[0]
    algorithm, bits = struct.unpack_from("<I4xI", info, 12 + 8)
    if algorithm not in (0x660E, 0x660F, 0x6610):
        raise needs_password()
    at = 12 + size
    salt, proof = info[at + 4 : at + 20], info[at + 20 : at + 36]
    wanted = info[at + 40 : at + 72]
    digest = hashlib.sha1(salt + PASSWORD.encode(WIDE)).digest()
    digest = _spun("sha1", digest, 50_000)
    digest = hashlib.sha1(digest + bytes(4)).digest()
    long = b"".join(
        hashlib.sha1(bytes(mask ^ byte for byte in digest.ljust(64, b"\0"))).digest()
        for mask in (0x36, 0x5C)
    )
    cipher = Decipher(long[: _key_bytes(bits)])
    if hashlib.sha1(cipher.blocks(proof)).digest() != cipher.blocks(wanted)[:20]:
        raise needs_password()
    return lambda piece, _: cipher.blocks(piece)


# --- agile: AES with chaining, what else is told in XML ------------------------------------------


def _agile(xml: bytes) -> Decrypt:
    found: dict[str, Attributes] = {}
    starts = {
        "e:keyData": lambda attributes: found.setdefault("data", attributes),
        "p:encryptedKey": lambda attributes: found.setdefault("key", attributes),
    }
    Scanner(_INFO, table(starts, _NAMESPACES)).run((xml,))
    data, key = found["data"], found["key"]
    if {data.get("cipherChaining"), key.get("cipherChaining")} != {"ChainingModeCBC"}:
        raise needs_password()
    secret = _secret(key)
    name, salt = _HASHES[data["hashAlgorithm"]], base64.b64decode(data["saltValue"])
    cipher = Decipher(secret[: _key_bytes(whole(data.get("keyBits")))])

    def decrypt(piece: bytes, number: int) -> bytes:
        chain = bytearray(piece[-BLOCK:] + piece[:-BLOCK])
        for at in range(0, len(piece), _SEGMENT):
            place = struct.pack("<I", number + at // _SEGMENT)
            chain[at : at + BLOCK] = hashlib.new(name, salt + place).digest()[:BLOCK]
        return _xor(cipher.blocks(piece), bytes(chain))

    return decrypt


def _secret(key: Attributes) -> bytes:
    """The key of the package, which the password encrypts. Raises Unread encrypted."""
    name, salt = _HASHES[key["hashAlgorithm"]], base64.b64decode(key["saltValue"])
    spins = whole(key.get("spinCount"), -1)
    if not 0 <= spins <= MOST_SPINS:
        raise needs_password()
    digest = hashlib.new(name, salt + PASSWORD.encode(WIDE)).digest()
    digest = _spun(name, digest, spins)
    count = _key_bytes(whole(key.get("keyBits")))

    def opened(value: str, purpose: bytes) -> bytes:
        own = hashlib.new(name, digest + purpose).digest()[:count].ljust(count, b"\x36")
        raw = base64.b64decode(key[value])
        first = salt[:BLOCK].ljust(BLOCK, b"\x36")
        return _xor(Decipher(own).blocks(raw), first + raw[:-BLOCK])

    proof = opened("encryptedVerifierHashInput", _INPUT)[: len(salt)]
    wanted = opened("encryptedVerifierHashValue", _VALUE)
    made = hashlib.new(name, proof).digest()
    if made != wanted[: len(made)]:
        raise needs_password()
    return opened("encryptedKeyValue", _KEY)


def _spun(name: str, digest: bytes, spins: int) -> bytes:
    make, pack = getattr(hashlib, name), struct.Struct("<I").pack
    for number in range(spins):
        digest = make(pack(number) + digest).digest()
    return digest


def _key_bytes(bits: int) -> int:
    if bits not in (128, 192, 256):
        raise needs_password()
    return bits // 8


def _xor(one: bytes, other: bytes) -> bytes:
    size = min(len(one), len(other))
    found = int.from_bytes(one[:size], "little") ^ int.from_bytes(other[:size], "little")
    return found.to_bytes(size, "little")
