"""What every kind of mail is written with: its head, its texts and its attachments as blocks.

Promises: a mail in a file of its own is located by headings and paragraphs, one in a mailbox by
its place there; an attachment by its name. Does not: know how any kind of mail is stored.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from helpers import limits
from helpers.extract import html, mail_text, nested, plain
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.extract.encoding import Encoding
from helpers.extract.outline import Outline
from helpers.extract.stream import TextStream

_UTF8 = Encoding("utf-8", "UTF-8")
_BOM = b"\xef\xbb\xbf"
_PAGE_CHARSET = re.compile(rb"charset\s*=\s*(?:[\"']\s*)?([A-Za-z0-9_.:-]{2,30})", re.IGNORECASE)


class Writer:
    """Blocks of one message. `place` is where all but attachments stands, None for a file of its
    own; `within` stands in front of the names of attachments.
    """

    def __init__(self, ctx: Context, place: Location | None = None, within: str = "") -> None:
        self._ctx, self._place, self._within = ctx, place, within
        self._outline = Outline()

    @property
    def alone(self) -> bool:
        """Whether this is a file of its own, to which a title belongs."""
        return self._place is None

    def facts(
        self, subject: str, extra: dict[str, str], tags: tuple[str, ...] = ()
    ) -> Iterator[Metadata]:
        """The title of a file of its own, its categories, sender and date for programs."""
        if self._place is None:
            yield Metadata(title=subject or None, tags=tags, extra=extra)

    def head(self, fields: Sequence[tuple[str, str]], files: Sequence[str]) -> Iterator[Block]:
        """Sender, recipients, date and subject, and the names of attachments, as one block."""
        lines = [f"{name}: {value[: limits.MAIL_FIELD_CHARS]}" for name, value in fields if value]
        if files:
            named = ", ".join(map(nested.clean_name, files))
            lines.append(f"Attachments: {named[: limits.MAIL_FIELD_CHARS]}")
        if lines:
            yield self.block("\n".join(lines))

    def text(self, text: str, charset: str) -> Iterator[Item]:
        """Paragraphs of a plain text."""
        raw = io.BytesIO(text.encode("utf-8", "replace"))
        stream = TextStream(raw, self._ctx, _UTF8)
        if self._place is None and text:
            yield Metadata(encoding=charset)
        for item in plain.paragraphs(stream):
            if isinstance(item, Block):
                yield self.block(item.text, item.kind)
        for notice in stream.notices():
            yield self.notice(notice.code, notice.message)

    def page(self, raw: bytes, charset: str, own_title: bool = False) -> Iterator[Item]:
        """An HTML text; its title is the document's where it has `own_title`."""
        if charset or not raw.isascii():
            named = _PAGE_CHARSET.search(raw[: limits.SNIFF_BYTES])
            told = charset or (named[1].decode("ascii") if named else "")
            text, charset = mail_text.decoded(raw, told)
            raw = _BOM + text.removeprefix("\ufeff").encode("utf-8", "replace")
        for item in html.read(io.BytesIO(raw), self._ctx):
            if isinstance(item, Block):
                yield self.block(item.text, item.kind, item.level)
            elif isinstance(item, Notice):
                yield self.notice(item.code, item.message)
            elif self._place is None:
                title = item.title if own_title else None
                yield Metadata(title=title, encoding=charset or item.encoding)

    def attachment(self, data: BinaryIO, name: str, hint: str = "") -> Iterator[Item]:
        """A document that is attached; `hint` is the name by which its format is told."""
        return nested.read_nested(data, hint or name, self._ctx, self._attached(name))

    def inner(
        self, started: Callable[[Context], Iterator[Item]], name: str, size: int
    ) -> Iterator[Item]:
        """An attached document that is no file of its own."""
        return nested.read_inner(started, name, size, self._ctx, self._attached(name))

    def label(self, what: str) -> str:
        """`what`, behind the message it belongs to."""
        return f"{self._within}, {what}" if self._within else what

    def block(self, text: str, kind: str = "paragraph", level: int = 0) -> Block:
        """A block at the place that is next."""
        if self._place is not None:
            return Block(text, kind, min(level + 1, 6) if level else 0, self._place)
        if kind == "heading":
            return Block(text, kind, level, self._outline.heading(text, level))
        return Block(text, kind, level, self._outline.paragraph())

    def notice(self, code: str, message: str) -> Notice:
        return Notice(code, self.label(message), self._place)

    def _attached(self, name: str) -> str:
        return self.label(f"attachment {nested.clean_name(name)}")
