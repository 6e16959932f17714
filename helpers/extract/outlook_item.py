"""An Outlook item's head and text, made of its properties.

Sources: [MS-OXCMSG] (bodies), [MS-OXOABK] and [MS-OXOCNTC] (names and cards).
Promises: the plain text, else the HTML one, else the RTF one, from which HTML is taken out again.
Does not: know whether the properties came from a compound file or from TNEF.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from helpers.errors import Unread
from helpers.extract import lzfu, mapi, nested, rtf, rtf_html
from helpers.extract.blocks import Block, Context, Item, Notice
from helpers.extract.mail_writer import Writer
from helpers.extract.mapi import Properties

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".wmf", ".emf", ".svg")


def categories(found: Properties) -> tuple[str, ...]:
    """What the item was filed under."""
    return tuple(filter(None, map(str.strip, found.text(mapi.KEYWORDS).split("\n"))))


def facts(found: Properties) -> dict[str, str]:
    """Sender and date (ISO 8601) for programs."""
    sender = sender_of(found)
    sent = found.time(mapi.SENT) or found.time(mapi.DELIVERED)
    told = {"from": sender[:200]} if sender else {}
    return told | ({"date": sent.replace(microsecond=0).isoformat()} if sent else {})


def fields_of(
    found: Properties, people: Mapping[str, list[str]] | None = None
) -> list[tuple[str, str]]:
    """What stands above the text; `people` are the recipients by kind, where they are known."""
    people = people or {}
    named = {"To": found.line(mapi.SHOWN_TO), "Cc": found.line(mapi.SHOWN_CC)}
    lines = [("From", sender_of(found) or ", ".join(people.get("From", [])))]
    lines += [(kind, ", ".join(people.get(kind, [])) or named[kind]) for kind in ("To", "Cc")]
    sent = mapi.moment(found, mapi.SENT) or mapi.moment(found, mapi.DELIVERED)
    lines.append(("Date", sent))
    lines.append(("Subject", mapi.subject(found)))
    lines.append(("Categories", ", ".join(categories(found))))
    if not found.line(mapi.CLASS).upper().startswith("IPM.NOTE"):
        lines += [("Name", found.line(mapi.NAME)), ("Place", found.line(mapi.PLACE))]
        for label, number in (("Begin", mapi.BEGIN), ("End", mapi.END), ("Due", mapi.DUE)):
            lines.append((label, mapi.moment(found, number)))
        lines.append(("E-mail", found.line(mapi.MAIL_ADDRESS)))
        lines += [(label, found.line(number)) for number, label in mapi.CARD.items()]
    return lines


def body(found: Properties, written: Writer, ctx: Context) -> Iterator[Item]:
    """The text of an item: plain, else HTML, else RTF."""
    try:
        text = found.text(mapi.BODY)
        if text.strip():
            wide = found.values[mapi.BODY][0] == mapi.WIDE
            yield from written.text(text, "UTF-16" if wide else (found.pages or ("",))[0])
            return
        kind, raw = found.values.get(mapi.HTML, (0, b""))
        if kind == mapi.WIDE:
            raw = found.text(mapi.HTML).encode("utf-8", "replace")
        if raw.strip(b"\0 \r\n\t"):
            page = "utf-8" if kind == mapi.WIDE else found.html_page
            yield from written.page(raw, page)
        elif found.raw(mapi.RTF):
            yield from _formatted(lzfu.inflated(found.raw(mapi.RTF)), written, ctx)
    except Unread as error:
        if error.code != "empty":
            yield nested.unread(error, written.label("text of the mail"))


def sender_of(found: Properties) -> str:
    author = mapi.person(found, mapi.AUTHOR, mapi.AUTHOR_ADDRESS, mapi.AUTHOR_SMTP)
    sender = mapi.person(found, mapi.SENDER, mapi.SENDER_ADDRESS, mapi.SENDER_SMTP)
    return author if "@" in author or not sender else sender


def is_picture(own: Properties, name: str) -> bool:
    """Whether an attachment is a picture that the text shows, or that Outlook hides."""
    picture = own.line(mapi.MIME_TYPE).startswith("image/") or name.lower().endswith(_PICTURES)
    placed = own.line(mapi.CONTENT_ID) or own.whole(mapi.RENDERED) & 4 or own.whole(mapi.HIDDEN)
    return picture and bool(placed)


def _formatted(raw: bytes, written: Writer, ctx: Context) -> Iterator[Item]:
    if rtf_html.holds_html(raw):
        yield from written.page(
            rtf_html.html_of(raw, ctx.heartbeat).encode("utf-8", "replace"), "utf-8"
        )
        return
    for item in rtf.read(io.BytesIO(raw), ctx):
        if isinstance(item, Block):
            yield written.block(item.text, item.kind, item.level)
        elif isinstance(item, Notice):
            yield written.notice(item.code, item.message)
