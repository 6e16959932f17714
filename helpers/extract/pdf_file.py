"""Opening a PDF: password, table of objects, number of pages; and what a stream holds.

Promises: every failure is an Unread with a code; a lost table of objects is made anew once.
Does not: import pypdf (it is handed in by the reader that owns it), or look at pages.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import pdf_rescue

SAVE_REMEDY = "Open it in a PDF program and save it again"
EMPTY_STREAM_BYTES = 24  # bytes of a packed stream that may well hold nothing


def opened(pypdf: Any, file: BinaryIO, size: int) -> tuple[Any, int]:
    """The reader of a file and how many pages it has; a lost table of objects is made anew."""
    try:
        reader = _open(pypdf, file)
        return reader, _page_count(pypdf, reader)
    except Unread as refused:
        if refused.code != "corrupt" or size > limits.PDF_RESCUED_BYTES:
            raise
        file.seek(0)
        rescued = pdf_rescue.rebuilt(file.read(limits.PDF_RESCUED_BYTES))
        if rescued is None:
            raise
        reader = _open(pypdf, io.BytesIO(rescued))
        count = _page_count(pypdf, reader)
        if not count:
            raise
        return reader, count


def _open(pypdf: Any, file: BinaryIO) -> Any:
    try:
        reader = pypdf.PdfReader(file, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unread(
                "encrypted", "The file is protected by a password", "Save a copy without it"
            )
        return reader
    except (Unread, MemoryError):
        raise
    except pypdf.errors.FileNotDecryptedError as error:
        raise Unread(
            "encrypted", "The file is protected by a password", "Save a copy without it"
        ) from error
    except pypdf.errors.DependencyError as error:
        raise Unread(
            "missing_reader",
            "The file's AES encryption needs cryptography",
            "pip install cryptography",
        ) from error
    except pypdf.errors.EmptyFileError as error:
        raise Unread("empty", "The file has no content", "") from error
    except pypdf.errors.LimitReachedError as error:
        raise Unread("limit_reached", f"Its tables: {error}"[:300], SAVE_REMEDY) from error
    except NotImplementedError as error:
        raise Unread("encrypted", f"Its encryption is unknown: {error}"[:300], "") from error
    except Exception as error:
        raise Unread("corrupt", f"It is no readable PDF: {error}"[:300], SAVE_REMEDY) from error


def _page_count(pypdf: Any, reader: Any) -> int:
    try:
        count = len(reader.pages)
    except pypdf.errors.DependencyError as error:
        raise Unread(
            "missing_reader",
            "The file's AES encryption needs cryptography",
            "pip install cryptography",
        ) from error
    except MemoryError:
        raise
    except pypdf.errors.LimitReachedError as error:
        raise Unread("limit_reached", f"Its page tree: {error}"[:300], SAVE_REMEDY) from error
    except Exception as error:
        raise Unread("corrupt", f"It has no page tree: {error}"[:300], SAVE_REMEDY) from error
    if count > limits.PDF_PAGES:
        remedy = "Split it into smaller files"
        raise limit_reached("The number of pages", count, limits.PDF_PAGES, "pages", remedy)
    return count


def stream(contents: Any) -> bytes:
    """The content of a page, unpacked. Raises ValueError, or what pypdf raises."""
    contents = contents.get_object() if hasattr(contents, "get_object") else contents
    if isinstance(contents, list):
        return b"\n".join(stream(part) for part in contents)
    if not hasattr(contents, "get_data"):
        return b""
    data = bytes(contents.get_data())
    if not data and len(getattr(contents, "_data", b"")) > EMPTY_STREAM_BYTES:
        raise ValueError("its content stream cannot be unpacked")
    return data
