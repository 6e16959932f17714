"""Mail: EML messages, MHT web archives and what is attached to them.

Sources: RFC 5322, RFC 2045 to 2049 (MIME), RFC 2557 (MHT), RFC 3156 and 8551 (PGP, S/MIME).
Promises: the subject is the title, sender, recipients and date stand above the text; of
alternative texts one is read, the plain one unless it is a stub; every attachment is read as the
document it is, under the mail ("attachment report.pdf, p. 3"); pictures that only adorn the text
are left out; what is encrypted is said to be.
Does not: decrypt, check signatures, load what a mail refers to, or hold a whole mail in memory.
"""

from __future__ import annotations

import email.utils
import io
import re
from collections.abc import Generator, Iterator
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import mail_text, nested, tnef
from helpers.extract.blocks import Context, Item, Location
from helpers.extract.mail_choice import Chosen, Leaf, chosen
from helpers.extract.mail_parts import Part, part_at, uudecoded
from helpers.extract.mail_writer import Writer

SHOWN_FIELDS = ("From", "To", "Cc", "Date", "Subject")
KNOWN_FIELDS = frozenset(
    str.split(
        "from to cc bcc date subject message-id received return-path mime-version content-type "
        "sender reply-to delivered-to content-location in-reply-to references newsgroups"
    )
)

_EMLX = re.compile(rb"\A\s{0,100}(\d{1,12})[ \t]{0,100}\r?\n")
_UUENCODED = re.compile(
    rb"(?m)^begin [0-7]{3,4} ([^\r\n]{1,255})\r?\n((?:[ -`]{1,100}\r?\n)+?)end\b"
)
_PGP = re.compile(r"-----BEGIN PGP MESSAGE-----.*?(?:-----END PGP MESSAGE-----|\Z)", re.DOTALL)
_PGP_SIGNED = re.compile(r"-----BEGIN PGP SIGNED MESSAGE-----\n(?:[!-9;-~]+: [^\n]*\n)*\n?")
_PGP_SIGNATURE = re.compile(
    r"-----BEGIN PGP SIGNATURE-----.*?(?:-----END PGP SIGNATURE-----|\Z)", re.DOTALL
)
_QUOTED_FROM = re.compile(rb"(?m)^>(>*From )")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Metadata, the header, the text, and the attachments of one message.

    Raises Unread: `empty`, or `corrupt` where there is no header of a mail.
    """
    file = _in_lines(file, ctx)
    start, end = _span(file)
    message = Message(part_at(file, start, end), nested.opened(ctx))
    if not message.is_mail:
        raise Unread(
            "corrupt", "It has no header of a mail", "Export the mail again from its program."
        )
    yield from message.items()


class Message:
    """One message, whether in a file of its own, in a mailbox, or in another message.

    `place` is the location of everything but attachments; without it the text is located by its
    headings and paragraphs. `within` names the message in front of its attachments' names.
    `quoted` tells that lines beginning with "From " were marked by a `>`, as in a mailbox;
    `written` is for a message whose head has been told already.
    """

    def __init__(
        self,
        root: Part,
        ctx: Context,
        place: Location | None = None,
        within: str = "",
        quoted: bool = False,
        written: Writer | None = None,
    ) -> None:
        self._root, self._ctx, self._quoted = root, ctx, quoted
        self._written = written or Writer(ctx, place, within)
        self.subject = root.field("subject")
        self.is_archive = _is_web_archive(root)

    @property
    def is_mail(self) -> bool:
        return not KNOWN_FIELDS.isdisjoint(self._root.header)

    def items(self) -> Iterator[Item]:
        """Everything the message holds, in reading order."""
        found = chosen(self._root, web=self.is_archive)
        if self._written.alone:
            yield from self._written.facts(self.subject, _facts(self._root))
        if not self.is_archive:
            fields = [(name, self._root.field(name.lower())) for name in SHOWN_FIELDS]
            if not self._root.field("date"):  # of a mail that was printed or pasted
                fields.insert(3, ("Sent", self._root.field("sent")))
            files = [leaf.name for leaf in found.leaves if leaf.kind == "file"]
            yield from self._written.head(fields, files)
        yield from self.body(found)

    def body(self, found: Chosen | None = None) -> Iterator[Item]:
        """The texts and attachments."""
        found = found or chosen(self._root)
        texts = any(leaf.kind != "file" for leaf in found.leaves)
        for leaf in found.leaves:
            self._ctx.heartbeat()
            yield from self._leaf(leaf, texts)
        for notice in found.notices:
            yield self._written.notice(notice.code, notice.message)

    def _leaf(self, leaf: Leaf, texts: bool) -> Iterator[Item]:
        try:
            if leaf.kind == "plain":
                yield from self._plain(leaf.part)
            elif leaf.kind == "html":
                raw = yield from self._content(leaf.part)
                yield from self._written.page(raw, leaf.part.charset, own_title=self.is_archive)
            else:
                yield from self._file(leaf, texts)
        except Unread as error:
            if error.code != "empty":
                yield nested.unread(error, self._written.label("text of the mail"))

    def _plain(self, part: Part) -> Iterator[Item]:
        raw = yield from self._content(part)
        raw, files = _without_uuencoded(raw)
        text, charset = mail_text.decoded(raw, part.charset)
        if part.parameter("format").lower() == "flowed":
            text = mail_text.flowed(text, part.parameter("delsp").lower() == "yes")
        if "-----BEGIN PGP " in text:
            text, hidden = _without_pgp(text.replace("\r\n", "\n"))
            if hidden:
                yield self._written.notice("encrypted", "A part of it is encrypted (PGP)")
        if part.type in ("text/enriched", "text/richtext"):
            text = _without_tags(text)
        yield from self._written.text(text, charset)
        for name, content in files:
            yield from self._written.attachment(io.BytesIO(content), name)

    def _content(self, part: Part) -> Generator[Item, None, bytes]:
        """Returns the decoded bytes of a text; a notice where it is longer than allowed."""
        most = limits.MAIL_TEXT_BYTES
        raw = part.content(most + 1)
        if len(raw) > most:
            left_out = limit_reached("a text of the mail", len(raw), most, "bytes", "")
            told = f"{left_out.reason}; the rest was left out"
            yield self._written.notice("limit_reached", told)
            raw = raw[:most]
        quoted = self._quoted and part.encoding != "base64"
        return _QUOTED_FROM.sub(rb"\1", raw) if quoted else raw

    def _file(self, leaf: Leaf, texts: bool) -> Iterator[Item]:
        """An attachment; `texts` tells that the mail has a text of its own."""
        data: BinaryIO = leaf.part.raw()  # type: ignore[assignment]
        if leaf.part.is_encoded:
            try:
                data = nested.held(leaf.part.pieces())
            except Unread as error:
                yield nested.unread(error, self._written.label(f"attachment {leaf.name}"))
                return
        if data.read(len(tnef.MAGIC)) == tnef.MAGIC:  # Outlook's envelope: its content counts
            data.seek(0)
            raw = data.read(limits.NESTED_BYTES)
            yield from tnef.items(raw, self._ctx, self._written, with_text=not texts)
            return
        yield from self._written.attachment(data, leaf.name, leaf.hint)


# --- the file ------------------------------------------------------------------------------


def _in_lines(file: BinaryIO, ctx: Context) -> BinaryIO:
    """The file, or a copy of a small one that is not in ASCII bytes and line feeds."""
    file.seek(0)
    start = file.read(limits.SNIFF_BYTES)
    if not start:
        raise Unread("empty", "The file is empty (0 bytes)", "It is read once it has content.")
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if (not wide and (b"\n" in start or b"\r" not in start)) or ctx.size > limits.NESTED_BYTES:
        return file
    file.seek(0)
    raw = file.read()
    if wide:
        return io.BytesIO(raw.decode("utf-16", "replace").encode("utf-8"))
    return io.BytesIO(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def _span(file: BinaryIO) -> tuple[int, int]:
    """Where the message lies: an EMLX file has its length in front, and a plist behind it."""
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    start = file.read(limits.SNIFF_BYTES)
    counted = _EMLX.match(start)
    if counted:
        return counted.end(), min(end, counted.end() + int(counted[1]))
    return len(start) - len(start.lstrip(b"\r\n \t")), end


def _is_web_archive(root: Part) -> bool:
    """A page saved as MHT: nobody sent it, and its parts name where they came from."""
    if root.field("snapshot-content-location") or "<Saved by" in root.field("from"):
        return True
    sent = any(root.field(name) for name in ("from", "to", "received", "message-id"))
    return not sent and root.type in ("multipart/related", "text/html")


def _facts(root: Part) -> dict[str, str]:
    """Sender and date (ISO 8601) for programs."""
    found = {"from": root.field("from")[:200]} if root.field("from") else {}
    try:
        found["date"] = email.utils.parsedate_to_datetime(root.field("date")).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    return found


# --- what is hidden in texts -----------------------------------------------------------------


def _without_uuencoded(raw: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The text without files that were uuencoded into it, and (name, content) of these."""
    files: list[tuple[str, bytes]] = []
    if b"begin " not in raw:
        return raw, files

    def take(found: re.Match[bytes]) -> bytes:
        files.append((mail_text.decoded_word(found[1], ""), uudecoded(found[2])))
        return b""

    return _UUENCODED.sub(take, raw), files


def _without_pgp(text: str) -> tuple[str, bool]:
    """The text without PGP armour, and whether some of it was encrypted."""
    shown, hidden = _PGP.subn("", text)
    shown = _PGP_SIGNATURE.sub("", _PGP_SIGNED.sub("", shown))
    return shown, bool(hidden)


def _without_tags(text: str) -> str:
    """text/enriched (RFC 1896): commands in angle brackets, `<<` for the sign itself."""
    return re.sub(r"<param>.{0,500}?</param>|<(?!<)/?[A-Za-z-]{1,60}>", "", text, flags=re.DOTALL)
