"""The public id of a chunk: what it is made of, and how it looks.

Promises: the same wording at the same place of the same document of the same knowledge base has
the same id, in every index; no id needs quoting anywhere.
Does not: know rows or tables.
"""

from __future__ import annotations

import base64

KEY_BYTES = 10  # bytes of a chunk key: 2**40 chunks before a collision is likely


def chunk_key(salt: bytes, path: str, context: str, ocr: bool, text: str) -> bytes:
    """KEY_BYTES that name this wording in this document of this knowledge base."""
    from hashlib import blake2b  # only a sync makes keys

    digest = blake2b(salt, digest_size=KEY_BYTES)
    digest.update(f"\0{path}\0{context}\0{int(ocr)}\0{text}".encode())
    return digest.digest()


def public_id(key: bytes) -> str:
    """The chunk_id that answers carry: 16 letters and digits."""
    return base64.b32encode(key).decode().lower()


def key_of(chunk_id: str) -> bytes | None:
    """The key behind a chunk_id; None when it has not the form of one."""
    try:
        key = base64.b32decode(chunk_id.upper())
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None
