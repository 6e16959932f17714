"""Which parts of a mail are its text, which are files, and which are neither.

Sources: RFC 2046 (mixed, alternative, digest), RFC 2387 (related), RFC 1847 (signed, encrypted),
RFC 8551 (S/MIME), RFC 3462 (report). Promises: of alternatives one text is chosen, the files of
all of them are kept; pictures inside the text, style sheets and signatures are left out; depth
and number of parts are capped, with a notice.
Does not: decode texts but where alternatives are weighed, or read files.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import mail_text, smime
from helpers.extract.blocks import Notice
from helpers.extract.mail_parts import Part, part_at

STUB_CHARS = 400  # code points up to which a plain text may be a stub that points to the HTML one
STUB_SHARE = 5  # times longer the HTML text must be then

_ENDINGS = {
    "application/pdf": "pdf", "application/msword": "doc", "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt", "application/rtf": "rtf", "text/rtf": "rtf",
    "application/zip": "zip", "application/x-zip-compressed": "zip", "application/ms-tnef": "dat",
    "application/vnd.ms-tnef": "dat", "application/haansofthwp": "hwp", "application/x-hwp": "hwp",
    "application/hwp": "hwp", "application/vnd.hancom.hwp": "hwp", "application/epub+zip": "epub",
    "application/vnd.hancom.hwpx": "hwpx", "application/hwp+zip": "hwpx", "text/html": "html",
    "application/vnd.ms-outlook": "msg", "text/csv": "csv", "text/markdown": "md",
    "application/json": "json", "text/xml": "xml", "application/xml": "xml",
    "message/rfc822": "eml", "message/global": "eml", "message/news": "eml",
}  # fmt: skip
# An appointment or a card is a text that people can read, whatever it is named.
_TEXTS = frozenset({"text/calendar", "application/ics", "text/vcard", "text/x-vcard"})
_SIGNATURES = frozenset(
    [
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
        "application/pgp-keys",
        "application/applefile",
        "application/pgp-encrypted",
    ]
)
_PKCS7 = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_MESSAGES = frozenset({"message/rfc822", "message/global", "message/news"})
_TAGS = re.compile("<[^<>]{0,2000}>")
_FRAMES = re.compile(rb"<frame(?:set)?[\s>]", re.IGNORECASE)
_PICTURES = ("image/", "video/", "audio/", "font/")
_PAGE_PARTS = frozenset(
    str.split(
        "text/css text/javascript application/javascript application/x-javascript text/xml "
        "application/xml application/octet-stream application/font-woff application/x-mso"
    )
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """`kind` is "plain" or "html" for a text of the mail, "file" for a document of its own,
    shown as `name`; `hint` is the name by which its format is told.
    """

    kind: str
    part: Part
    name: str = ""
    hint: str = ""


@dataclass(slots=True)
class Chosen:
    """The leaves in reading order, and what was left out that a person should know of."""

    leaves: list[Leaf] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    parts: int = 0
    pages: int = 0


def chosen(root: Part, web: bool = False) -> Chosen:
    """What to read of a message; `web` for a page saved as a web archive."""
    found = Chosen()
    found.leaves += _walk(root, found, 0, web)
    return found


def _walk(part: Part, found: Chosen, depth: int, web: bool) -> Iterator[Leaf]:
    found.parts += 1
    for what, reached, most, unit in (
        ("parts of a mail", found.parts, limits.MAIL_PARTS, "parts"),
        ("parts within parts of a mail", depth, limits.MAIL_DEPTH, "levels"),
    ):
        if reached > most:
            error = limit_reached(what, reached, most, unit, "")
            if all(notice.message != error.reason for notice in found.notices):
                found.notices.append(Notice("limit_reached", error.reason))
            return
    kind = part.type
    if kind.startswith("multipart/"):
        yield from _multipart(part, found, depth, web)
    elif kind in _PKCS7 or part.file_name.lower().endswith(".p7m"):
        yield from _pkcs7(part, found, depth, web)
    elif kind not in _SIGNATURES:
        yield from _leaf(part, found)


def _multipart(part: Part, found: Chosen, depth: int, web: bool) -> Iterator[Leaf]:
    kind = part.type.partition("/")[2]
    children = []
    for child in part.children():
        children.append(child)
        if len(children) > limits.MAIL_PARTS:
            break
    else:
        children = children or list(part.children(part.likely_boundary()))[: limits.MAIL_PARTS]
    if not children:
        yield Leaf("plain", part)
    elif kind == "encrypted":
        how = "PGP" if "pgp" in part.parameter("protocol").lower() else "S/MIME"
        found.notices.append(_encrypted(how))
    elif kind == "signed":
        for child in children[:1] if len(children) == 2 else children:
            yield from _walk(child, found, depth + 1, web)
    elif kind == "alternative":
        yield from _alternative(children, found, depth, web)
    elif kind == "related":
        yield from _related(part, children, found, depth, web)
    else:
        for child in children:
            yield from _walk(child, found, depth + 1, web)


def _alternative(children: list[Part], found: Chosen, depth: int, web: bool) -> Iterator[Leaf]:
    branches = [list(_walk(child, found, depth + 1, web)) for child in children]
    texts = [[leaf for leaf in branch if leaf.kind != "file"] for branch in branches]
    best = _best(texts)
    for number, branch in enumerate(branches):
        yield from (leaf for leaf in branch if leaf.kind == "file" or number == best)


def _best(branches: list[list[Leaf]]) -> int:
    """The branch to read: a plain text that is no stub, else the last HTML one, else the last."""
    plain = pages = last = -1
    for number, branch in enumerate(branches):
        kinds = {leaf.kind for leaf in branch}
        if "html" in kinds:
            pages = number
        elif any(leaf.part.type == "text/plain" for leaf in branch):
            plain = number if plain < 0 else plain
        if branch:
            last = number
    if plain < 0 or pages < 0:
        return max(plain, pages) if max(plain, pages) >= 0 else last
    said = sum(_length(leaf) for leaf in branches[plain])
    if said > STUB_CHARS or said * STUB_SHARE > sum(_length(leaf) for leaf in branches[pages]):
        return plain
    return pages


def _length(leaf: Leaf) -> int:
    """Code points that a reader would see, white space left out; 0 for what is no text."""
    try:
        text = mail_text.decoded(leaf.part.content(256 * 1024), leaf.part.charset)[0]
    except Unread:
        return 0
    if leaf.kind == "html":
        for name in ("head", "style", "script"):
            text = _without(text, name)
        text = _TAGS.sub(" ", text).replace("&nbsp;", " ")
    return len("".join(text.split()))


def _without(text: str, name: str) -> str:
    """HTML without the elements of a name that show nothing."""
    lower, kept, at = text.lower(), [], 0
    if len(lower) != len(text):
        return text
    while (start := lower.find(f"<{name}", at)) >= 0:
        kept.append(text[at:start])
        at = lower.find(f"</{name}", start)
        if at < 0:
            return "".join(kept)
    return "".join([*kept, text[at:]])


def _related(
    part: Part, children: list[Part], found: Chosen, depth: int, web: bool
) -> Iterator[Leaf]:
    """The root of a compound page, then only what is attached to it on purpose."""
    start = part.parameter("start").strip("<> ")
    root = next(
        (c for c in children if start and c.field("content-id").strip("<> ") == start), None
    )
    root = root or children[0]
    yield from _walk(root, found, depth + 1, web)
    framed = web and root.type == "text/html" and _FRAMES.search(root.content(256 * 1024))
    for child in children:
        kind = child.type
        if child is root:
            continue
        if web and kind == "text/html":
            if framed and not child.field("content-location").endswith("tabstrip.htm"):
                yield Leaf("html", child)
        elif child.disposition == "attachment" or not _adorns(kind, web):
            yield from _walk(child, found, depth + 1, web)


def _adorns(kind: str, web: bool) -> bool:
    """Whether a part of a page is a picture, a style or the like, not a document."""
    return kind.startswith(_PICTURES) or (web and kind in _PAGE_PARTS)


def _leaf(part: Part, found: Chosen) -> Iterator[Leaf]:
    kind, name = part.type, part.file_name
    attached = part.disposition == "attachment"
    if kind.startswith("text/") and not attached and (not name or not found.pages):
        if kind == "text/calendar" and found.pages:
            return
        found.pages += 1
        yield Leaf("html" if kind == "text/html" else "plain", part)
    elif kind in ("message/delivery-status", "message/disposition-notification"):
        yield Leaf("plain", part)
    elif kind in _MESSAGES:
        shown = name or part_at(part.file, part.start, part.end).field("subject") or "message"
        yield Leaf("file", part, shown, f"{shown}.eml")
    elif kind == "message/partial":
        found.notices.append(
            Notice("part_unread", "It holds only a part of a message that was split")
        )
    elif kind.startswith(("message/external", "text/x-moz-deleted")):
        return
    elif not kind.startswith(_PICTURES) or attached or (name and not part.field("content-id")):
        yield _file(part, kind, name)


def _file(part: Part, kind: str, name: str) -> Leaf:
    ending = _ENDINGS.get(kind) or ("txt" if kind.startswith("text/") else "")
    shown = name or (f"unnamed.{ending}" if ending else "unnamed")
    named = "." in name.strip(".")
    hint = name if named else f"{name or 'unnamed'}.{ending}" if ending else name
    if kind in _TEXTS or name.lower().endswith((".ics", ".vcf")):
        hint = f"{name or 'unnamed'}.txt"
    elif kind.startswith("text/") and not named:
        hint = f"{name or 'unnamed'}.{ending}"
    return Leaf("file", part, shown, hint)


# --- signed and encrypted ---------------------------------------------------------------------


def _pkcs7(part: Part, found: Chosen, depth: int, web: bool) -> Iterator[Leaf]:
    """S/MIME in one piece: what is signed is read, what is encrypted is said to be."""
    content = smime.signed_content(part.content())
    if content is None:
        found.notices.append(_encrypted("S/MIME"))
        return
    yield from _walk(part_at(io.BytesIO(content), 0, len(content)), found, depth + 1, web)


def _encrypted(how: str) -> Notice:
    return Notice("encrypted", f"The text of the mail is encrypted ({how}) and was not read")
