"""Rows and shared strings in the form nearly every program writes, taken without the parser.

A sheet is a million elements of four kinds, so calling a function for each is what reading it
costs. Rows as Excel, LibreOffice and the common libraries write them are recognised as text
instead; everything else goes through the parser as before, in its place.

Promises: a run of rows is taken only where every tag in it is one of a row's or stands inside a
recognised cell; one odd tag, comment or byte that is not UTF-8, and the parser gets the run. What
is cut out for it are whole elements, so what is left is as well-formed as before.
Does not: check attributes of rows it takes for being well-formed, or read anything but cells.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Found = list[tuple[str, str, str]]  # attributes and value of a cell, what a row begins with
Taken = TypeVar("Taken")

ODD_RUNS = 12  # runs in a row that the parser had to take, after which it takes all
HELD_BYTES = 1 << 17  # bytes of one row, beyond which the parser takes over
SMALL_RUN_BYTES = 1 << 13  # bytes of a run that is not looked at in halves

_NO_LETTERS = bytes({*range(32)} - {9, 10, 13})
_ENCODING = re.compile(rb"<\?xml[^>]*encoding=[\"'](?!(?i:utf-8[\"']))")


@dataclass(frozen=True, slots=True)
class Form(Generic[Taken]):
    """How a kind of file writes its rows: how the file must begin; where the first row begins,
    before or behind these bytes; where a row ends; and a function from the text of whole rows to
    what is in them, None for any other text."""

    head: re.Pattern[bytes]
    begin: bytes
    behind: bool
    end: bytes
    found: Callable[[str], Taken | None]


def apart(
    pieces: Iterable[bytes],
    form: Form[Taken],
    among_rows: Callable[[], bool],
    take: Callable[[Taken], None],
) -> Iterator[bytes]:
    """The pieces of a sheet without the rows that `take` was given.

    `among_rows` tells whether the parser, having got what was yielded so far, stands between two
    rows. An empty piece is yielded after each run taken, so that the caller keeps pace.
    """
    iterator = iter(pieces)
    first = next(iterator, b"")
    usual = form.head.match(first) is not None and not _ENCODING.match(first)
    for piece in itertools.chain((first,), iterator):
        rest = b""
        begin = piece.find(form.begin) if usual else -1
        if begin >= 0:
            begin += len(form.begin) if form.behind else 0
            yield piece[:begin]
            rest = piece[begin:]
            break
        yield piece
    odd = 0 if rest and among_rows() else ODD_RUNS
    while odd < ODD_RUNS:
        at = rest.rfind(form.end)
        if at >= 0:
            run, rest = rest[: at + len(form.end)], rest[at + len(form.end) :]
            for part, found in _parts(run, form):
                if found is not None and odd < ODD_RUNS:
                    odd = 0
                    take(found)
                    yield b""
                else:
                    yield part
                    odd = odd + 1 if among_rows() else ODD_RUNS
        piece = next(iterator, b"")
        rest += piece
        if not piece or len(rest) > len(piece) + HELD_BYTES:
            break
    yield rest
    yield from iterator


def _parts(run: bytes, form: Form[Taken]) -> Iterator[tuple[bytes, Taken | None]]:
    """A run, or its halves where it is not of the usual form."""
    try:
        legal = len(run.translate(None, _NO_LETTERS)) == len(run)
        found = form.found(run.decode("utf-8")) if legal else None
    except UnicodeDecodeError:
        found = None
    middle = run.find(form.end, len(run) // 2 - len(form.end))
    if (
        found is not None
        or len(run) <= SMALL_RUN_BYTES
        or not 0 <= middle < len(run) - len(form.end)
    ):
        yield run, found
        return
    yield from _parts(run[: middle + len(form.end)], form)
    yield from _parts(run[middle + len(form.end) :], form)


# --- the forms ----------------------------------------------------------------------------------

# Each match begins with a tag; if these and the tags that stand inside of them are all the tags
# there are, nothing was passed over.

_CELL = r'<(?:c r="[A-Z]+\d+"([^<>]*)>(?:(?<=/>)|{}</c>)|row r="(\d{{1,9}})"[^<>]*>)'
_VALUE = r"(?:<f(?: [^<>]*)?(?:/>|>[^<]*</f>))?<v>([^<]*)</v>"
_CELLS = re.compile(_CELL.format(_VALUE))
_INLINE_CELLS = re.compile(_CELL.format(rf"(?:{_VALUE}|<is><t(?: [^<>]*)?>([^<]*)</t></is>)"))
_STRINGS = re.compile(r"<si><t(?: [^<>]*)?>([^<]*)</t></si>")
_LINE_ENDS = re.compile(r">\n\s*<")
_PARAGRAPHS = re.compile(
    r"<table:(?:table-cell([^<>]*)>"
    r"(?:(?<=/>)|<text:p>([^<]*(?:</text:p><text:p>[^<]*)*)</text:p></table:table-cell>)"
    r"|(table-row[^<>]*)>|covered-table-cell[^<>]*/>)"
)


def _in_workbook(text: str) -> Found | None:
    """ECMA-376: attributes of a cell behind its address; the number of a row."""
    inline = "<is>" in text
    found = (_INLINE_CELLS if inline else _CELLS).findall(text)
    inside = text.count("</row>") + 3 * text.count("</v></c>")
    if inline:
        inside += 5 * text.count("</t></is></c>")
    if "<f" in text:
        inside += text.count("<f>") + text.count("<f ") + text.count("</f>")
    if len(found) + inside != text.count("<"):
        return None
    return [(look, value or text, row) for look, value, text, row in found] if inline else found


def _in_spreadsheet(text: str) -> Found | None:
    """OpenDocument: paragraphs of a cell with the tags between them; the tag of a row. A flat file
    has line ends between tags, where they mean nothing.
    """
    if ">\n" in text:
        text = _LINE_ENDS.sub("><", text)
    found = _PARAGRAPHS.findall(text)
    inside = text.count("</table:table-row>") + 3 * text.count("</text:p></table:table-cell>")
    inside += 2 * text.count("</text:p><text:p>")
    return found if len(found) + inside == text.count("<") else None


def _strings(text: str) -> list[str] | None:
    """ECMA-376: shared strings in one piece."""
    found = _STRINGS.findall(text)
    return found if 4 * len(found) == text.count("<") else None


STRINGS = Form(re.compile(b""), b"<si>", False, b"</si>", _strings)
WORKBOOK = Form(re.compile(b""), b"<sheetData>", True, b"</row>", _in_workbook)
SPREADSHEET = Form(
    re.compile(
        rb'\A(?=(?:<\?[^>]*>)?[^>]*xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1\.0")'
        rb'(?=(?:<\?[^>]*>)?[^>]*xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1\.0")'
    ),
    b"<table:table-row",
    False,
    b"</table:table-row>",
    _in_spreadsheet,
)
