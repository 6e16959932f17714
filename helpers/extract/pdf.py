"""PDF, page by page, through pypdf.

Promises: each block carries its page; a page whose text layer is missing or unusable is
reported and its letters are not indexed; one bad page does not cost the others; nothing is
printed, whatever pypdf has to say; inflated streams, pages and nesting are capped.
Does not: recognise images, run scripts or open attachments, or ask for passwords (a file
that opens with the empty password is read).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract import pdf_text
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice

PDF_PAGES = 20_000  # pages of one file
NO_OCR = "This version cannot recognise images; run the file through an OCR program first"

_TITLE = re.compile(r"\s+")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a PDF. Raises Unread: `missing_reader`, `encrypted`, `corrupt`, `empty`,
    `no_text`, `limit_reached`.
    """
    pypdf = _library()
    reader = _open(pypdf, file)
    yield Metadata(title=_title(reader))
    count = _pages(reader)
    readable, refused = 0, ""
    for number in range(1, count + 1):
        ctx.heartbeat()
        place = Location("page", f"p. {number}", number)
        try:
            text = reader.pages[number - 1].extract_text()
        except pypdf.errors.LimitReachedError as error:
            if count == 1:
                raise limit_reached(
                    "A content stream", 75_000_001, 75_000_000, "bytes", ""
                ) from error
            yield Notice("limit_reached", f"page {number}: {error}", place)
            continue
        except Exception as error:
            refused = refused or "corrupt"
            yield Notice("corrupt", f"page {number} cannot be read: {error}"[:200], place)
            continue
        text = pdf_text.repair(text)
        verdict = pdf_text.judge(text)
        if not verdict.usable:
            refused = refused or "no_text"
            yield Notice(
                "no_text", f"page {number} has an unusable text layer: {verdict.reason}", place
            )
            continue
        readable += 1
        yield Block(pdf_text.without_control(text).strip(), "paragraph", 0, place)
    if not readable:
        if refused == "corrupt":
            raise Unread("corrupt", "No page can be read", "Open and save it again")
        raise Unread("no_text", "No page has a usable text layer", NO_OCR)


def _library() -> Any:
    try:
        import pypdf
        import pypdf.errors
    except ImportError as error:
        raise Unread("missing_reader", "PDF needs pypdf", "pip install pypdf") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    return pypdf


def _open(pypdf: Any, file: BinaryIO) -> Any:
    try:
        reader = pypdf.PdfReader(file, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unread("encrypted", "The file needs a password", "Save a copy without a password")
        return reader
    except Unread:
        raise
    except pypdf.errors.DependencyError as error:
        raise Unread(
            "missing_reader", "AES needs cryptography", "pip install cryptography"
        ) from error
    except Exception as error:
        raise Unread(
            "corrupt", f"No readable PDF: {error}"[:200], "Open and save it again"
        ) from error


def _pages(reader: Any) -> int:
    try:
        count = len(reader.pages)
    except Exception as error:
        raise Unread("corrupt", f"No page tree: {error}"[:200], "Open and save it again") from error
    if count > PDF_PAGES:
        raise limit_reached("The number of pages", count, PDF_PAGES, "pages", "Split the file")
    return count


def _title(reader: Any) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:
        return None
    return _TITLE.sub(" ", title).strip() or None if isinstance(title, str) else None
