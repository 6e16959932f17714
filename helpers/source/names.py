r"""Names as the file system has them, and as people see them.

A name is kept as the bytes the file system gave; a relative path joins them by `/`, and the
knowledge folder itself is `b""`. `display` turns that into one line of safe NFC text: bytes
that are no UTF-8 are shown as `\xNN`, control and bidirectional-override characters escaped.

Promises: the bytes always lead back to the very file, whatever the display shows; two names
that differ in normalisation alone (NFC and NFD twins) stay two files with one display path.
Does not: touch the file system.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable

ENCODING = sys.getfilesystemencoding()
ENCODING_ERRORS = sys.getfilesystemencodeerrors()

# C0, C1, line separators, bidirectional overrides and isolates, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def join(folder: bytes, name: bytes) -> bytes:
    """`name` inside `folder`; the root is `b""`."""
    return folder + b"/" + name if folder else name


def split(raw: bytes) -> tuple[bytes, bytes]:
    """(folder, name) of a relative path."""
    folder, _, name = raw.rpartition(b"/")
    return folder, name


def is_beneath(raw: bytes, folder: bytes) -> bool:
    """True for `folder` itself and everything inside it."""
    return not folder or raw == folder or raw.startswith(folder + b"/")


def display(raw: bytes) -> str:
    """One line of NFC text for a relative path, with `/` between folders."""
    if raw.isascii():
        text = raw.decode("ascii")
        if text.isprintable():
            return text
    else:
        text = unicodedata.normalize("NFC", _decode(raw))
    return _UNSAFE.sub(_escape, text)


def absolute(root: str | os.PathLike[str], raw: bytes) -> str:
    """The operating system's own form of a path, which opens the file."""
    relative = os.fsdecode(raw)
    if os.sep != "/":
        relative = relative.replace("/", os.sep)
    return os.path.join(os.fspath(root), relative)


def encode(name: str) -> bytes:
    """The bytes of a name as `os.scandir` gave it."""
    return name.encode(ENCODING, ENCODING_ERRORS)


def twins(names: Iterable[bytes]) -> list[tuple[bytes, ...]]:
    """Groups of names of one folder that differ in normalisation alone."""
    groups: dict[str, list[bytes]] = {}
    for name in names:
        if not name.isascii():
            groups.setdefault(display(name), []).append(name)
    return [tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1]


def _decode(raw: bytes) -> str:
    """UTF-8 whatever the locale says: the bytes on disk do not change with it."""
    return raw.decode("utf-8", ENCODING_ERRORS)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
