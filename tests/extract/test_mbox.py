"""Mailboxes: where messages begin, what is quoted, and how much memory they take."""

from __future__ import annotations

import io
import tracemalloc
from typing import BinaryIO

import pytest

from helpers.errors import Unread
from helpers.extract import mbox
from helpers.extract.blocks import Block, Context
from tests.extract.mail_files import PLAIN, attached, mail, mixed, part, read

FROM = b"From ann@example.org Mon Nov 12 10:00:00 2007\n"


def box(*messages: bytes, line: bytes = FROM) -> bytes:
    return b"".join(line + message.rstrip(b"\n") + b"\n\n" for message in messages)


def test_each_message_is_a_part_named_by_number_and_subject() -> None:
    found = read(box(mail("one", subject="First"), mail("two", subject="둘째")), "mbox", "a.mbox")
    assert found.at("one") == "message 1: First"
    assert found.at("two") == "message 2: 둘째"
    headings = [block.text for block in found.blocks if block.kind == "heading"]
    assert headings == ["First", "둘째"]
    assert found.title is None
    assert found.blocks[-1].location is not None
    assert found.blocks[-1].location.as_dict()["part"] == 2


def test_attachments_are_named_with_their_message() -> None:
    data = box(mail("one"), mixed(part("two", PLAIN), attached(b"attached words", "a.txt")))
    found = read(data, "mbox", "a.mbox")
    assert found.at("attached words") == "message 2, attachment a.txt, line 1"


@pytest.mark.parametrize(
    "line",
    [
        b"From - Mon Nov 12 10:00:00 2007\n",
        b"From MAILER-DAEMON Fri Jul  8 12:08:34 2011\r\n",
        b"From ann@example.org Mon, 12 Nov 2007 10:00:00 +0700\n",
        b"From 1234567@xxx Wed Apr 09 10:22:15 +0000 2014\n",
    ],
)
def test_every_dialect_of_the_line_in_front_is_known(line: bytes) -> None:
    found = read(box(mail("one"), mail("two"), line=line), "mbox", "a.mbox")
    assert [found.at(text)[:9] for text in ("one", "two")] == ["message 1", "message 2"]


def test_a_sentence_that_begins_with_from_is_no_message() -> None:
    body = "Dear all\n\nFrom now on at 10:00 2007 we meet.\n\n>From there we go on\n>>From quoted\n"
    found = read(box(mail(body), mail("two")), "mbox", "a.mbox")
    assert found.at("From now on") == found.at("we go on") == "message 1: Subject of the mail"
    assert "\nFrom there" in "\n" + found.text and ">From there" not in found.text
    assert ">From quoted" in found.text
    assert found.at("two") == "message 2: Subject of the mail"


def test_messages_without_any_field_are_read() -> None:
    found = read(box(b"\none\n", b"\ntwo\n"), "mbox", "a.mbox")
    assert [found.at(text) for text in ("one", "two")] == ["message 1", "message 2"]


def test_what_thunderbird_has_deleted_is_passed_over() -> None:
    kept = mail("one", "X-Mozilla-Status: 0001")
    deleted = mail("two", "X-Mozilla-Status: 0009", "X-Mozilla-Status2: 00000000")
    found = read(box(kept, deleted, mail("three")), "mbox", "Inbox")
    assert found.at("one") and found.at("three")[:9] == "message 3" and "two" not in found.text


def test_a_damaged_message_does_not_end_the_mailbox() -> None:
    broken = b"Content-Type: multipart/mixed; boundary=x\nContent-Transfer-Encoding: base64\n\n%%%"
    found = read(box(mail("one"), broken, mail("three")), "mbox", "a.mbox")
    assert found.at("three") == "message 3: Subject of the mail"


def test_a_file_without_a_message_is_told() -> None:
    with pytest.raises(Unread) as refused:
        read(b"nothing here\n", "mbox", "a.mbox")
    assert refused.value.code == "corrupt"


class Endless(io.RawIOBase):
    """A mailbox of `count` messages that exists nowhere but in the pieces that are read."""

    def __init__(self, message: bytes, count: int) -> None:
        super().__init__()
        self.message, self.size, self.at = message, len(message) * count, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def read(self, size: int | None = -1) -> bytes:
        count = min(self.size - self.at, size if size is not None and size >= 0 else self.size)
        start = self.at % len(self.message)
        data = (self.message * (count // len(self.message) + 2))[start : start + count]
        self.at += len(data)
        return data


def test_a_large_mailbox_takes_the_memory_of_one_message() -> None:
    message = box(mixed(part("words " * 100, PLAIN), attached(b"x" * 200_000, "a.bin")))
    file: BinaryIO = Endless(message, 60)  # type: ignore[assignment]
    tracemalloc.start()
    messages = sum(
        isinstance(item, Block) and item.kind == "heading"
        for item in mbox.read(file, Context("a.mbox", len(message) * 60))
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert messages == 60
    assert peak < 6_000_000
