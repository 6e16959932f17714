"""The letters of a mail: charsets as mail programs name them, encoded words, flowed text.

Sources: RFC 2047 (encoded words), RFC 2231 (charset of a parameter), RFC 3676 (format=flowed,
delsp). Promises: a charset that Python does not know by its name in mail (windows-874,
ks_c_5601-1987, unicode-1-1-utf-7) is known here; one that is missing, unknown or contradicted by
the bytes gives way to what the bytes show; letters that an encoded word cuts in two are whole.
Does not: know parts or files.
"""

from __future__ import annotations

import binascii
import codecs
import functools
import io
import re

from helpers.errors import Unread
from helpers.extract import encoding

PROOF_BYTES = 12  # non-ASCII bytes from which they are believed against a charset named by habit
_BY_HABIT = frozenset({"cp1252", "iso8859-1", "ascii"})  # named by programs that never asked
_ALIASES = {
    "unicode-1-1-utf-7": "utf-7", "x-unicode-1-1-utf-7": "utf-7", "unicode-1-1-utf-8": "utf-8",
    "unicode-2-0-utf-8": "utf-8", "x-unicode-2-0-utf-8": "utf-8", "unicode": "utf-16",
    "iso-10646-ucs-2": "utf-16-be", "ucs-2": "utf-16-be", "x-euc-kr": "cp949", "ksc5601": "cp949",
    "ks-c-5601-1989": "cp949", "ksc-5601": "cp949", "ms949": "cp949", "windows-51949": "cp949",
    "korean": "cp949", "csksc56011987": "cp949", "x-johab": "johab", "windows-1361": "johab",
    "iso-ir-166": "cp874", "tis620-2533": "cp874", "tis-620-2533": "cp874", "tis620.2533": "cp874",
    "tis-620.2533": "cp874", "x-windows-874": "cp874", "thai": "cp874", "ms874": "cp874",
    "x-ms-cp874": "cp874", "dos-874": "cp874", "ibm874": "cp874", "ibm-874": "cp874",
    "hz-gb-2312": "hz", "gb-2312-80": "gb18030", "chinese": "gb18030", "cp-936": "gb18030",
    "windows-936": "gb18030", "cp936": "gb18030", "big5": "cp950", "x-x-big5": "cp950",
    "windows-932": "cp932", "cp932": "cp932", "macintosh": "mac_roman", "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic", "x-mac-thai": "cp874", "x-mac-korean": "cp949",
    "x-mac-japanese": "cp932", "ansi": "cp1252", "x-ansi": "cp1252", "dos-850": "cp850",
    "iso-8859-8-i": "iso8859-8", "iso-8859-8-e": "iso8859-8", "iso-8859-6-i": "iso8859-6",
    "windows-1252http-equivcontent-type": "cp1252",
}  # fmt: skip
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"})
_WORD = re.compile(r"=\?([^?\s]{1,60})\?([BbQq])\?([^?]{0,2000}(?:\?(?!=)[^?]{0,2000}){0,4})\?=")
_BETWEEN = re.compile(r"(\?=)\s+(?==\?[^?\s]{1,60}\?[BbQq]\?)")
_QUOTE = re.compile(">*")
_ESCAPES = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$B", "iso2022_jp"), (b"\x1b$@", "iso2022_jp"))


def codec(label: str) -> str | None:
    """Python's codec of a charset's name, None for one that is unknown or no charset."""
    return _codec(label.strip().strip("\"'").lower().replace("_", "-").partition("*")[0][:60])


def decoded(raw: bytes, label: str) -> tuple[str, str]:
    """(text, charset it was read with). Raises Unread("corrupt") for binary content that names
    no charset.
    """
    named = codec(label) if label else None
    if named is not None and named.startswith(("iso2022", "utf-7", "utf-16", "hz")):
        return raw.decode(named, "replace"), label
    if raw.isascii():
        return _seven_bits(raw)
    try:
        found = encoding.detect(io.BytesIO(raw))
    except Unread:
        if named is None:
            raise
        return raw.decode(named, "replace"), label
    shown = raw[found.skip :]
    if found.skip or named is None or _contradicted(raw, named, found):
        return shown.decode(found.codec, "replace"), found.label
    return raw.decode(named, "replace"), label


def decoded_word(raw: bytes, label: str) -> str:
    """A short text, such as an encoded word or a file's name; undecodable bytes as U+FFFD."""
    named = codec(label) if label else None
    for tried in (named, "utf-8"):
        if tried is not None:
            try:
                return raw.decode(tried)
            except ValueError:
                continue
    try:
        return decoded(raw, label)[0]
    except Unread:
        return raw.decode(named or "utf-8", "replace")


def words(text: str) -> str:
    """A header's value with its encoded words decoded, white space between two of them removed."""
    if "=?" not in text:
        return text
    text = _BETWEEN.sub(r"\1", text)
    found: list[str] = []
    at, pending, charset = 0, b"", ""
    for match in _WORD.finditer(text):
        same = match.start() == at and match[1].lower() == charset
        if not same:
            found.append(decoded_word(pending, charset) if pending else "")
            found.append(text[at : match.start()])
            pending, charset = b"", match[1].lower()
        pending += _word_bytes(match[2], match[3])
        at = match.end()
    found.append(decoded_word(pending, charset) if pending else "")
    found.append(text[at:])
    return "".join(found)


def header_text(raw: bytes) -> str:
    """A header block as text; letters outside ASCII are what the bytes show them to be."""
    raw = raw.replace(b"\0", b"")
    if raw.isascii():
        return raw.decode("ascii")
    return decoded_word(raw, "")


def flowed(text: str, delete_space: bool) -> str:
    """Text sent as format=flowed with its soft line breaks undone."""
    lines: list[str] = []
    depth, soft = -1, False
    for line in text.replace("\r\n", "\n").split("\n"):
        level = len(_QUOTE.match(line)[0])  # type: ignore[index]
        body = line[level:]
        body = body[1:] if body.startswith(" ") else body
        if soft and level == depth and body != "-- ":
            lines[-1] += body
        else:
            lines.append(">" * level + (" " if level else "") + body)
        soft, depth = body.endswith(" ") and body != "-- ", level
        if soft and delete_space:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def _word_bytes(kind: str, text: str) -> bytes:
    raw = text.encode("latin-1", "replace")
    if kind in "Bb":
        kept = re.sub(rb"[^A-Za-z0-9+/]", b"", raw)
        kept = kept[: len(kept) - (len(kept) % 4 == 1)]
        return binascii.a2b_base64(kept + b"=" * (-len(kept) % 4))
    return binascii.a2b_qp(raw, header=True)


def _seven_bits(raw: bytes) -> tuple[str, str]:
    """ASCII, or one of the escape-coded sets whose name was left out."""
    for escape, name in _ESCAPES:
        if escape in raw:
            return raw.decode(name, "replace"), name
    return raw.decode("ascii"), "ASCII"


def _contradicted(raw: bytes, named: str, found: encoding.Encoding) -> bool:
    """Whether the bytes speak against the charset that the mail names."""
    if named == found.codec:
        return False
    if named in _BY_HABIT:
        high = encoding.high_bytes(raw)
        return found.codec == "utf-8" or (found.sure and high >= PROOF_BYTES)
    if found.codec == "utf-8":
        return True
    try:
        raw.decode(named)
    except ValueError:
        return _fits_better(raw, named, found.codec)
    return False


def _fits_better(raw: bytes, named: str, other: str) -> bool:
    bad = [raw.decode(tried, "replace").count("\ufffd") for tried in (named, other)]
    return bad[1] * 4 < bad[0] or named.startswith("utf-")


@functools.cache
def _codec(name: str) -> str | None:
    known = _ALIASES.get(name)
    if known is not None:
        return known
    declared = encoding.declared(name)
    if declared is not None:
        return declared.codec
    for tried in (name, name.removeprefix("x-"), name.replace("cp-", "cp")):
        try:
            found = codecs.lookup(tried)
        except (LookupError, ValueError):
            continue
        if getattr(found, "_is_text_encoding", True) and found.name not in _NO_CHARSETS:
            return found.name
    return None
