"""Mails made in memory for the tests of their readers, and what reading them gives."""

from __future__ import annotations

import base64
import importlib
import io
from collections.abc import Iterable
from dataclasses import dataclass, field

from helpers.extract.blocks import Block, Context, Metadata, Notice


@dataclass
class Found:
    """What a reader yielded: blocks in order, notices, and the last title."""

    blocks: list[Block] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    title: str | None = None
    encodings: list[str] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    @property
    def codes(self) -> list[str]:
        return [notice.code for notice in self.notices]

    def at(self, text: str) -> str:
        """The label of the first block that contains `text`."""
        for block in self.blocks:
            if text in block.text:
                assert block.location is not None
                return block.location.label
        raise AssertionError(f"{text!r} is not in {self.text!r}")


def read(data: bytes, module: str = "mail", name: str = "a.eml", archives: bool = False) -> Found:
    """Everything that the reader `module` gives for `data`."""
    found = Found()
    reader = importlib.import_module(f"helpers.extract.{module}")
    context = Context(name, len(data), archives=archives)
    for item in reader.read(io.BytesIO(data), context):
        if isinstance(item, Block):
            found.blocks.append(item)
        elif isinstance(item, Metadata):
            found.title = item.title or found.title
            found.extra |= item.extra
            found.tags += item.tags
            if item.encoding:
                found.encodings.append(item.encoding)
        else:
            found.notices.append(item)
    return found


def mail(body: bytes | str, *fields: str, subject: str = "Subject of the mail") -> bytes:
    """A message with the usual fields, `fields` among them, in front of `body`."""
    head = ["From: Ann <ann@example.org>", "To: bob@example.org", f"Subject: {subject}"]
    head += ["Date: Mon, 12 Nov 2007 10:00:00 +0700", *fields]
    raw = body if isinstance(body, bytes) else body.encode()
    return "\n".join(head).encode() + b"\n\n" + raw


def part(content: bytes | str, *fields: str) -> bytes:
    """A part of a multipart body."""
    raw = content if isinstance(content, bytes) else content.encode()
    return "\n".join(fields).encode() + b"\n\n" + raw


def multipart(kind: str, *parts: bytes, boundary: str = "=b0undary", also: str = "") -> bytes:
    """A multipart entity (its header and body), to be nested or to follow `mail`'s fields."""
    field = f'Content-Type: multipart/{kind}; boundary="{boundary}"{also}'
    return field.encode() + b"\n\n" + body_of(parts, boundary)


def body_of(parts: Iterable[bytes], boundary: str = "=b0undary") -> bytes:
    mark = b"--" + boundary.encode()
    return b"".join(mark + b"\n" + one + b"\n" for one in parts) + mark + b"--\n"


def mixed(*parts: bytes, kind: str = "mixed", also: str = "", boundary: str = "=b0undary") -> bytes:
    """A mail whose body has several parts."""
    field = f'Content-Type: multipart/{kind}; boundary="{boundary}"{also}'
    return mail(body_of(parts, boundary), field, "MIME-Version: 1.0")


def attached(content: bytes, name: str, kind: str = "application/octet-stream") -> bytes:
    """A part that is a file."""
    return part(
        base64.encodebytes(content),
        f"Content-Type: {kind}",
        f'Content-Disposition: attachment; filename="{name}"',
        "Content-Transfer-Encoding: base64",
    )


PLAIN = "Content-Type: text/plain; charset=utf-8"
HTML = "Content-Type: text/html; charset=utf-8"
