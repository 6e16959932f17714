"""Mailboxes in one file: messages one after another, each a part of the document.

Source: RFC 4155 and the dialects in use (mboxo, mboxrd, Thunderbird, Apple Mail). A message begins
with a line `From sender date` behind an empty line and in front of a header field (or of an empty
line, where the date has the usual form); lines of a text that begin with "From " are marked by a
`>` that is taken off again.
Promises: messages are found by their place in the file, so that a mailbox of any size needs the
memory of one message; each is located as "message 12: Subject", its attachments under it.
What Thunderbird has marked as deleted is passed over.
Does not: thread messages, or tell that the same one is there twice.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.errors import Unread
from helpers.extract import nested
from helpers.extract.blocks import Block, Context, Item, Location
from helpers.extract.mail import Message
from helpers.extract.mail_parts import lines_beginning, part_at

EXPUNGED = 0x8  # of X-Mozilla-Status
PEEK_BYTES = 200  # bytes behind a From line within which a header field must begin

_DATED = re.compile(rb"From .{0,200}?\b\d{1,2}:\d\d(?::\d\d)?\b|From .{0,200}?\b(?:19|20)\d\d\s*\Z")
_STATUS = re.compile("[0-9A-Fa-f]{1,8}")
_POSTMARK = re.compile(
    rb"From \S{1,200} +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d(?::\d\d)?"
    rb"(?: [A-Za-z0-9+:-]{1,9}){0,2} \d{4}\s*\Z"
)
_FIELD = re.compile(rb"(?:>?From [^\n]{0,150}\n)?[!-9;-~]{1,99}[ \t]{0,9}:")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """The messages of a mailbox. Raises Unread: `empty`, `corrupt` where no message begins."""
    ctx = nested.opened(ctx)
    found = False
    for number, (start, end) in enumerate(_messages(file), 1):
        found = True
        ctx.heartbeat()
        root = part_at(file, start, end)
        if _is_deleted(root.field("x-mozilla-status")):
            continue
        subject = nested.clean_name(root.field("subject"))
        label = f"message {number}: {subject}" if subject else f"message {number}"
        place = Location("part", label, number)
        yield Block(subject or f"message {number}", "heading", 1, place)
        message = Message(root, ctx, place, within=f"message {number}", quoted=True)
        yield from message.items()
    if not found:
        raise Unread(
            "corrupt",
            "No message begins in it (there is no line `From sender date`)",
            "Export the mailbox again from the mail program.",
        )


def _is_deleted(status: str) -> bool:
    """Whether Thunderbird only keeps the message until it compacts the mailbox."""
    return _STATUS.fullmatch(status) is not None and bool(int(status, 16) & EXPUNGED)


def _messages(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Where the messages begin, behind their From lines, and end."""
    end = file.seek(0, io.SEEK_END)
    begin: int | None = None
    for at, line in lines_beginning(file, 0, end, b"From "):
        if not _begins_message(file, at, line, end):
            continue
        if begin is not None:
            yield begin, at
        begin = min(end, at + len(line) + 1)
    if begin is not None:
        yield begin, end


def _begins_message(file: BinaryIO, at: int, line: bytes, end: int) -> bool:
    if not _DATED.match(line):
        return False
    if at:
        file.seek(max(0, at - 4))
        before = file.read(min(4, at))
        if not before.replace(b"\r", b"").endswith(b"\n\n") and before.strip():
            return False
    file.seek(min(end, at + len(line) + 1))
    ahead = file.read(PEEK_BYTES)
    if ahead.startswith((b"\n", b"\r\n")):  # a message without any field
        return _POSTMARK.match(line) is not None
    return _FIELD.match(ahead) is not None
