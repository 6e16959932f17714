"""The structure of a mail: its header fields and parts, found in the file without holding it.

Sources: RFC 5322 (message), RFC 2045 and 2046 (MIME bodies and types), RFC 2183 (disposition),
RFC 2231 (parameters). Promises: a part is two offsets and its header, so a mail or mailbox of any
size needs little memory; what is cut off, unclosed or wrongly nested still gives its parts;
base64, quoted-printable and uuencode are decoded leniently and piece by piece.
Does not: choose among parts, turn bytes into text, or follow what a part refers to.
"""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import BinaryIO

from helpers import limits
from helpers.extract import mail_text
from helpers.extract.compound import Stream

PIECE_BYTES = limits.READ_BYTES
LINE_BYTES = 1_000  # bytes of a line that is looked at for a boundary
FIELD_CHARS = 8_000  # code points of a type or disposition that are looked at
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
_NOT_BASE64 = bytes(set(_NOT_BASE64) - set(b"0123456789+/="))
_UU = ("x-uuencode", "x-uue", "uuencode", "uue")
_FIELD = re.compile(rb"[!-9;-~]{1,99}[ \t]{0,9}:")
_BASE64 = re.compile(rb"\A(?:[A-Za-z0-9+/]*=*\s+)*(?:[A-Za-z0-9+/]+=*\Z)?")
_FROM_LINE = re.compile(rb">?From [^\n]{0,999}\n")
_BOUNDARY_LINE = re.compile(
    rb"(?m)^--([^\s-][^\r\n]{0,99}?)[ \t]*\r?\n(?=Content-[A-Za-z-]{1,40}:)"
)
_FIELD_END = re.compile(r"\r?\n(?![ \t])")
_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}")


@dataclass(frozen=True, slots=True)
class Part:
    """A message or a part of one: its header, and where its body lies in `file`."""

    file: BinaryIO
    header: Mapping[str, list[str]]
    start: int
    end: int
    usual_type: str = "text/plain"

    @property
    def type(self) -> str:
        """The content type in lower case, such as "text/plain"."""
        named = mail_text.words(self._first("content-type"))
        found = _TYPE.match(named.partition(";")[0].strip())
        return found[0].lower() if found else self.usual_type

    @property
    def disposition(self) -> str:
        """ "attachment", "inline", or "" where nothing is said."""
        return self._first("content-disposition").partition(";")[0].strip().lower()

    @property
    def encoding(self) -> str:
        """The content transfer encoding in lower case."""
        named = self._first("content-transfer-encoding")
        return named.partition(";")[0].strip().strip('"').lower()

    def parameter(self, name: str, field: str = "content-type") -> str:
        """A parameter of a header field, decoded; "" where there is none."""
        written = self._first(field)
        if ";" not in written:
            return ""
        parser = Message()
        parser[field] = written[:FIELD_CHARS]  # it is slow on hostile ones
        try:
            value = parser.get_param(name, "", field)
        except (ValueError, TypeError, IndexError, KeyError):  # of malformed continuations
            return ""
        if isinstance(value, tuple):
            charset, _, raw = value
            return mail_text.decoded_word(raw.encode("latin-1", "replace"), charset or "")
        return mail_text.words(str(value))

    @property
    def file_name(self) -> str:
        """What the sender called this part; "" where it has no name."""
        name = self.parameter("filename", "content-disposition") or self.parameter("name")
        return name.replace("\\", "/").rpartition("/")[2].strip()

    @property
    def charset(self) -> str:
        return self.parameter("charset")

    def field(self, name: str) -> str:
        """A header field, decoded and on one line; all of them joined where there are several."""
        if name not in self.header:
            return ""
        found = map(mail_text.words, self.header[name])
        return ", ".join(" ".join(value.split()) for value in found if value.strip())

    @property
    def is_encoded(self) -> bool:
        """Whether the body in the file is not the content itself."""
        return self.encoding in ("base64", "quoted-printable", *_UU)

    def _first(self, name: str) -> str:
        values = self.header.get(name)
        return values[0] if values else ""

    def raw(self) -> Stream:
        """The body as it lies in the file."""
        size = max(0, self.end - self.start)
        return Stream(self.file, [(self.start, size)], size)

    def pieces(self) -> Iterator[bytes]:
        """The body, its transfer encoding undone."""
        raw, encoding = self.raw(), self.encoding
        source = iter(lambda: raw.read(PIECE_BYTES), b"")
        if encoding == "base64":
            return _from_base64(source)
        if encoding == "quoted-printable":
            return _from_quoted_printable(source)
        if encoding in _UU:
            return iter([uudecoded(b"".join(source))])
        return source

    def content(self, most: int = limits.MAIL_TEXT_BYTES) -> bytes:
        """The decoded body, at most `most` bytes of it."""
        if self.encoding == "base64" and self.type.startswith("text/"):
            return _text_from_base64(self.raw().read(most))
        found, size = [], 0
        for piece in self.pieces():
            found.append(piece)
            size += len(piece)
            if size >= most:
                break
        return b"".join(found)[:most]

    def likely_boundary(self) -> str:
        """What seems to part a multipart body whose boundary is missing or another one."""
        start = self.raw().read(limits.SNIFF_BYTES)
        found = _BOUNDARY_LINE.search(start)
        return found[1].decode("latin-1") if found else ""

    def children(self, boundary: str = "") -> Iterator[Part]:
        """The parts of a multipart body, in order; none where its boundary is not found."""
        boundary = boundary or self.parameter("boundary").rstrip()
        if not boundary:
            return
        usual = "message/rfc822" if self.type == "multipart/digest" else "text/plain"
        mark = b"--" + boundary.encode("utf-8", "replace")
        begin: int | None = None
        for at, line in lines_beginning(self.file, self.start, self.end, mark[: len(mark)]):
            rest = line[len(mark) :].strip()
            if rest not in (b"", b"--"):
                continue
            if begin is not None:
                yield part_at(self.file, begin, _before_line_end(self.file, begin, at), usual)
            begin = None if rest else at + len(line) + 1
            if begin is None:
                return
        if begin is not None and begin < self.end:
            yield part_at(self.file, begin, self.end, usual)


def part_at(file: BinaryIO, start: int, end: int, usual_type: str = "text/plain") -> Part:
    """The message or part whose header begins at `start`."""
    file.seek(start)
    block = file.read(min(limits.MAIL_HEADER_BYTES, end - start))
    first, last = _header_span(block)
    body = min(end, start + last + _blank_line(block, last))
    header: dict[str, list[str]] = {}
    for field in _FIELD_END.split(mail_text.header_text(block[first:last])):
        name, _, value = field.partition(":")
        header.setdefault(name.strip().lower(), []).append(value.strip())
    return Part(file, header, body, end, usual_type)


def lines_beginning(
    file: BinaryIO, start: int, end: int, mark: bytes
) -> Iterator[tuple[int, bytes]]:
    """(offset, line without its line feed) of the lines between two offsets that begin with
    `mark`; the file may be read elsewhere meanwhile.
    """
    wanted = b"\n" + mark
    data, base, at = b"\n", start - 1, start
    while True:
        file.seek(at)
        piece = file.read(min(PIECE_BYTES, end - at)) if at < end else b""
        at += len(piece)
        data += piece
        found = data.find(wanted)
        while found >= 0:
            stop = data.find(b"\n", found + 1)
            if stop < 0 and piece and len(data) - found < LINE_BYTES:
                break  # the rest of this line comes with the next piece
            stop = len(data) if stop < 0 else stop
            yield base + found + 1, data[found + 1 : stop]
            found = data.find(wanted, found + 1)
        if not piece:
            return
        passed = found if found >= 0 else max(0, len(data) - len(mark))
        base, data = base + passed, data[passed:]


def uudecoded(raw: bytes) -> bytes:
    """The content of uuencoded lines, with or without their `begin` and `end`."""
    found = []
    for line in raw.splitlines():
        if line.startswith(b"begin ") or not line.strip():
            continue
        if line == b"end":
            break
        try:
            found.append(binascii.a2b_uu(line))
        except binascii.Error:  # a line that another program padded or cut
            count = (((line[0] - 32) & 63) * 4 + 5) // 3
            try:
                found.append(binascii.a2b_uu(line[:count]))
            except binascii.Error:
                continue
    return b"".join(found)


def _header_span(block: bytes) -> tuple[int, int]:
    """Where the header begins and ends in `block`."""
    at = 3 if block.startswith(b"\xef\xbb\xbf") else 0
    leading = _FROM_LINE.match(block, at)
    first = at = leading.end() if leading else at
    while at < len(block):
        if block[at] not in b" \t" and not _FIELD.match(block, at):
            break
        stop = block.find(b"\n", at)
        at = len(block) if stop < 0 else stop + 1
    return first, at


def _blank_line(block: bytes, at: int) -> int:
    """The length of the empty line at `at`; 0 where the body begins without one."""
    return 2 if block.startswith(b"\r\n", at) else int(block.startswith(b"\n", at))


def _before_line_end(file: BinaryIO, begin: int, at: int) -> int:
    """The line end in front of a boundary belongs to the boundary."""
    file.seek(max(begin, at - 2))
    tail = file.read(min(2, at - begin))
    return at - (2 if tail.endswith(b"\r\n") else int(tail.endswith(b"\n")))


def _from_base64(source: Iterator[bytes]) -> Iterator[bytes]:
    kept = b""
    for piece in source:
        kept += piece.translate(None, _NOT_BASE64)
        if b"=" in kept:  # the end, or several encoded texts one after another
            head, _, tail = kept.rpartition(b"=")
            for text in head.split(b"="):
                yield _unpadded(text)
            kept = tail
        whole = len(kept) // 4 * 4
        yield binascii.a2b_base64(kept[:whole])
        kept = kept[whole:]
    yield _unpadded(kept)


def _text_from_base64(raw: bytes) -> bytes:
    """A text whose base64 may be followed by the plain lines of a mailing list, or be none."""
    encoded = _BASE64.match(raw)
    length = encoded.end() if encoded else 0
    ended = raw[:length].rstrip().endswith(b"=")
    if length < len(raw.strip()) / 2 and not ended:
        return raw
    rest = raw[length:]
    return b"".join(_from_base64(iter([raw[:length]]))) + (b"\n" + rest if rest.strip() else b"")


def _unpadded(text: bytes) -> bytes:
    """Base64 without its padding; a lone last letter holds nothing."""
    text = text[: len(text) - (len(text) % 4 == 1)]
    return binascii.a2b_base64(text + b"=" * (-len(text) % 4))


def _from_quoted_printable(source: Iterator[bytes]) -> Iterator[bytes]:
    kept = b""
    for piece in source:
        kept += piece
        cut = kept.rfind(b"\n") + 1
        if cut or len(kept) > PIECE_BYTES:
            cut = cut or max(kept.rfind(b"=", len(kept) - 3), 0) or len(kept)
            yield quopri.decodestring(kept[:cut])
            kept = kept[cut:]
    yield quopri.decodestring(kept)
