"""What is never read, decided from a name, an attribute or a piece of content alone.

The threat: a folder of documents also holds what its owner would not hand to a search index
or a model (keys, passwords), what is no document (lock files, thumbnails, pipes), and what
costs money or minutes to touch (files that live in a cloud and are fetched on access).

Promises: pure functions; every refusal has a code of errors.UNREAD_CODES, a reason and a
remedy; the rules err on the side of reading (`keyboard.md`, `monkey.txt`, `password policy.md`
are documents), except that a private key found anywhere refuses the whole file.
Does not: open files, look inside compressed documents, or search for every kind of secret.
"""

from __future__ import annotations

import json
import re
import stat
from itertools import product
from pathlib import Path
from typing import NamedTuple

from helpers.errors import Unread

IGNORE_FILE = ".ragdocignore"
QUIET_LABEL = "temporary and system files"

SCAN_OVERLAP = 4096  # bytes of the block before that are searched again with the next one
UTF16_HEAD = 65536  # bytes of the head that are also searched as UTF-16


class Verdict(NamedTuple):
    """Why an entry is left out; an empty code means quietly, it is only counted."""

    code: str
    reason: str
    remedy: str = ""


class Refusal(NamedTuple):
    """A file or folder that is not read, by its relative path."""

    raw: bytes
    code: str
    reason: str
    remedy: str = ""

    def as_error(self) -> Unread:
        """The same facts as an exception."""
        return Unread(self.code, self.reason, self.remedy)


QUIET = Verdict("", QUIET_LABEL)
HIDDEN = Verdict(
    "hidden", "a hidden file or folder", "Rename it without the leading dot to have it read."
)
HIDDEN_BY_ATTRIBUTE = Verdict(
    "hidden", "marked as hidden", "Take the hidden mark away to have it read."
)
SYMLINK = Verdict(
    "symlink",
    "a symbolic link, which is never followed",
    "Put the file itself into the knowledge folder.",
)
PLACEHOLDER = Verdict(
    "unreadable",
    "kept in the cloud and not on this computer",
    "Make it available offline, then sync.",
)
POINTER = Verdict(
    "unsupported",
    "a pointer to a document in Google Drive, without content",
    "Export the document as a file (docx, xlsx, pptx, pdf) into the knowledge folder.",
)
SECRET_REMEDY = (
    "Keep secrets outside the knowledge folder; rename the file if it holds nothing secret."
)
SECRET_NAME = Verdict("sensitive", "its name is that of a file of keys or passwords", SECRET_REMEDY)

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISDIR, "a folder"),
)

_NAMES = json.loads(Path(__file__).with_name("data").joinpath("names.json").read_text("utf-8"))
# A name without a dot counts as its own ending: `rpartition(".")` leaves it there.
SECRET_ENDINGS = frozenset(_NAMES["secret_endings"])
# A stem is a secret with certain endings only: `secrets.md` is a document.
SECRET_STEMS = {stem: frozenset(endings) for stem, endings in _NAMES["secret_stems"].items()}
SECRET_PREFIXES = tuple(_NAMES["secret_json_prefixes"])
HIDDEN_SECRETS = frozenset(_NAMES["secret_hidden"])
POINTER_ENDINGS = frozenset(_NAMES["cloud_pointer_endings"])
QUIET_NAMES = frozenset(_NAMES["quiet_names"])
QUIET_PREFIXES = tuple(_NAMES["quiet_prefixes"])
DEFAULT_FOLDERS = frozenset(_NAMES["default_folders"])

# A name that begins otherwise and whose ending was asked about before needs no verdict; a
# dotless secret (`id_rsa`) is caught by its first two letters. Hidden names sort below "0".
FIRST_TO_ASK = "0"
HEADS_TO_ASK = frozenset(
    "".join(letters)
    for word in (*SECRET_ENDINGS, *SECRET_STEMS, *SECRET_PREFIXES, *QUIET_NAMES, *QUIET_PREFIXES)
    for letters in product(*({letter, letter.upper()} for letter in word[:2]))
)

# Windows st_file_attributes; the two RECALL bits and OFFLINE mean "opening fetches it".
_WINDOWS_HIDDEN = stat.FILE_ATTRIBUTE_HIDDEN
_WINDOWS_PLACEHOLDER = stat.FILE_ATTRIBUTE_OFFLINE | 0x0004_0000 | 0x0040_0000
_WINDOWS_NAME_SURROGATE = 0x2000_0000  # of st_reparse_tag: links and junctions, not placeholders
# macOS st_flags
_MACOS_HIDDEN = 0x8000
_MACOS_DATALESS = 0x4000_0000


def by_name(name: str) -> Verdict | None:
    """The verdict on a file by its name alone, None for a name that may be read."""
    lower = name.lower()
    if lower in QUIET_NAMES or lower.startswith(QUIET_PREFIXES):
        return QUIET
    if is_secret_name(lower):
        return SECRET_NAME
    if lower.startswith(".") and lower.endswith(".icloud"):
        return PLACEHOLDER
    if lower.startswith("."):
        return HIDDEN
    return POINTER if lower.rpartition(".")[2] in POINTER_ENDINGS else None


def folder_by_name(name: str) -> Verdict | None:
    """The verdict on a folder by its name alone."""
    if not name.startswith("."):
        return None
    return SECRET_NAME if name.lower() in HIDDEN_SECRETS else HIDDEN


def is_harmless_ending(name: str) -> bool:
    """True if no verdict of `by_name` can come from this name's ending."""
    ending = name.lower().rpartition(".")[2]
    return ending not in SECRET_ENDINGS and ending not in POINTER_ENDINGS


def is_secret_name(lower: str) -> bool:
    """True for the lower-case name of a key, password or wallet file."""
    if lower in HIDDEN_SECRETS or lower.startswith(".env."):
        return True
    stem, _, ending = lower.rpartition(".")
    if ending in SECRET_ENDINGS:
        return True
    if stem in SECRET_STEMS:
        return ending in SECRET_STEMS[stem]
    return ending == "json" and lower.startswith(SECRET_PREFIXES)


def by_mode(mode: int) -> Verdict | None:
    """The verdict on what is no regular file, by `st_mode`."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return SYMLINK
    kind = next((words for test, words in _KINDS if test(mode)), "no regular file")
    return Verdict("not_regular", f"{kind}, not a file", "Put a regular file in its place.")


def by_attributes(attributes: int, reparse_tag: int = 0, flags: int = 0) -> Verdict | None:
    """The verdict by Windows `st_file_attributes`, `st_reparse_tag` and macOS `st_flags`."""
    if reparse_tag & _WINDOWS_NAME_SURROGATE:
        return SYMLINK
    if attributes & _WINDOWS_PLACEHOLDER or flags & _MACOS_DATALESS:
        return PLACEHOLDER
    if attributes & _WINDOWS_HIDDEN or flags & _MACOS_HIDDEN:
        return HIDDEN_BY_ATTRIBUTE
    return None


# --- content -------------------------------------------------------------------------

_MARKER = b"PRIVATE KEY"
_BEGIN = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----")
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,64}-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY")
_LINE_END = re.compile(rb"(?:\\r|\\n|\s){1,8}")
_KEY_LINE = re.compile(rb"[A-Za-z0-9+/]{16,4096}={0,2}(?=[\s\\\"'<]|$)")
_KEY_HEADER = re.compile(rb"(?:Proc-Type|DEK-Info|Version|Comment|Charset): ")
_TOKEN_RULES = (
    (
        (b"ecret_access_key", b"ECRET_ACCESS_KEY", b"SecretAccessKey"),
        re.compile(
            rb"(?:aws_?)?secret_?access_?key[\"']?\s{0,8}[=:]\s{0,8}[\"']?"
            rb"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
            re.IGNORECASE,
        ),
        "an AWS secret access key",
    ),
    (
        (b"ghp_", b"github_pat_"),
        re.compile(rb"\b(?:ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,100})\b"),
        "a GitHub token",
    ),
    ((b"xoxb-", b"xoxp-"), re.compile(rb"\bxox[bp]-\d{8,16}-[A-Za-z0-9-]{20,80}"), "a Slack token"),
    ((b"sk_live_",), re.compile(rb"\bsk_live_[A-Za-z0-9]{24,99}"), "a Stripe live key"),
    ((b"PuTTY-User-Key-File-",), re.compile(rb"\APuTTY-User-Key-File-\d"), "a PuTTY private key"),
    ((b"AGE-SECRET-KEY-1",), re.compile(rb"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"), "an age key"),
)


class SecretScan:
    """Searches a file's bytes, block after block, for a private key or a known token.

    A private key is looked for everywhere, a token in the first block only: that tells files
    of settings, and searching for all of them everywhere takes seven times as long.
    """

    __slots__ = ("_first", "_tail", "found")

    def __init__(self) -> None:
        self.found: str | None = None
        self._tail = b""
        self._first = True

    def feed(self, block: bytes) -> None:
        """Search the next block; `found` names the first secret."""
        if self.found is not None or not block:
            return
        if self._first:
            self.found = _secret_at_head(block) or find_secret(block)
            self._first = False
        elif _MARKER in block or _MARKER in self._tail + block[:SCAN_OVERLAP]:
            self.found = _private_key(self._tail + block)
        self._tail = block[-SCAN_OVERLAP:]


def find_secret(data: bytes) -> str | None:
    """The kind of secret in `data` ("a private key"), or None. Linear in its length."""
    if found := _private_key(data):
        return found
    for literals, pattern, kind in _TOKEN_RULES:
        if any(literal in data for literal in literals) and pattern.search(data):
            return kind
    return None


def secret_content(kind: str) -> Unread:
    """The error for a file in which `find_secret` found `kind`."""
    return Unread("sensitive", f"it holds {kind}", SECRET_REMEDY)


def _secret_at_head(block: bytes) -> str | None:
    head = block[:UTF16_HEAD]
    if b"\0" in head[:64]:
        head = head.replace(b"\0", b"").lstrip(b"\xff\xfe")
        return "a private key" if _FIRST.match(head) else find_secret(head)
    return "a private key" if _FIRST.match(head) else None


def _private_key(data: bytes) -> str | None:
    """A marker followed by a line of key, not by the prose or dots of a manual."""
    if _MARKER not in data:
        return None
    for match in _BEGIN.finditer(data):
        end = _LINE_END.match(data, match.end())
        if end is None:
            continue
        if _KEY_LINE.match(data, end.end()) or _KEY_HEADER.match(data, end.end()):
            return "a private key"
    return None
