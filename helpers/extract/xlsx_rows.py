"""Sheet rows in the one form that nearly every program writes, taken without the XML parser.

A sheet is a million elements of four kinds, so calling a function for each is what reading it
costs. Rows as Excel, LibreOffice and the common libraries write them are recognised as text
instead; everything else goes through the parser as before, in its place.

Promises: a run of rows is taken only where every tag in it is one of a row's or stands inside a
recognised cell; one odd tag, attribute, comment or byte that is not UTF-8, and the parser gets
the run. What is cut out for it are whole elements, so what is left is as well-formed as before.
Does not: check attributes of rows it takes for being well-formed, or read anything but cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

BEGIN = b"<sheetData>"
END_OF_ROW = b"</row>"
ODD_RUNS = 4  # runs in a row that the parser had to take, after which it takes all

_HELD_BYTES = 1 << 17  # bytes of one row, beyond which the parser takes over
_ENCODING = re.compile(rb"<\?xml[^>]*encoding=[\"'](?!(?i:utf-8[\"']))")
_CELL = r'<(?:c r="[A-Z]+\d+"([^<>]*)>(?:(?<=/>)|{}</c>)|row r="(\d{{1,9}})"[^<>]*>)'
_VALUE = r"(?:<f(?: [^<>]*)?(?:/>|>[^<]*</f>))?<v>([^<]*)</v>"
_CELLS = re.compile(_CELL.format(_VALUE))
_INLINE_CELLS = re.compile(_CELL.format(rf"(?:{_VALUE}|<is><t(?: [^<>]*)?>([^<]*)</t></is>)"))

Found = list[tuple[str, str, str]]


def regular(text: str) -> Found | None:
    """(attributes, value, number) of rows and cells, the number where a row begins; None where
    there is anything but rows of the usual form.

    Each match begins with a tag; if these and the tags that stand inside of them are all the
    tags there are, nothing was passed over.
    """
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


def apart(
    pieces: Iterable[bytes], inside: Callable[[], bool], take: Callable[[Found], None]
) -> Iterator[bytes]:
    """The pieces of a sheet without the rows that `take` was given.

    `inside` tells whether the parser, having got what was yielded so far, stands between two
    rows. An empty piece is yielded for each run taken, so that the caller keeps pace.
    """
    iterator = iter(pieces)
    rest = b""
    for piece in iterator:
        if _ENCODING.match(piece):
            yield piece
            break
        at = piece.find(BEGIN)
        if at >= 0:
            at += len(BEGIN)
            yield piece[:at]
            rest = piece[at:]
            break
        yield piece
    odd = 0 if inside() else ODD_RUNS
    while odd < ODD_RUNS:
        end = rest.rfind(END_OF_ROW)
        if end >= 0:
            run, rest = rest[: end + len(END_OF_ROW)], rest[end + len(END_OF_ROW) :]
            found = _found(run)
            if found is None:
                yield run
                odd = odd + 1 if inside() else ODD_RUNS
            else:
                odd = 0
                take(found)
                yield b""
        piece = next(iterator, b"")
        if not piece or len(rest) > _HELD_BYTES:
            rest += piece
            break
        rest += piece
    yield rest
    yield from iterator


def _found(run: bytes) -> Found | None:
    try:
        return regular(run.decode("utf-8"))
    except UnicodeDecodeError:
        return None
