"""What a workbook's sheets refer to: shared strings, number formats, sheet names.

Promises: shared strings lie in one block of bytes, not in a million objects, and are capped.
Does not: read cells.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from helpers.errors import limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.markup import Attributes, Scanner, first, names, table, unreferenced, whole
from helpers.extract.number_format import BUILT_IN, Render, plain, renderer
from helpers.extract.opc import NAMESPACES, Relationship
from helpers.extract.regular_rows import STRINGS, apart
from helpers.extract.remembered import remembered
from helpers.limits import OFFICE_RELATED_PARTS, SHEET_STRING_BYTES, SHEET_STRINGS

_PLAIN_STRINGS = 250_000  # strings kept as they are ...
_PLAIN_BYTES = 24 << 20  # ... and bytes of them in UTF-8
_STYLES = 100_000  # cell styles of one workbook that are looked at; Excel allows 65,490
_RELATION = names("r:id", NAMESPACES)
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class SharedStrings:
    """The workbook's strings by index, each in one line: as they are while they are few, then as
    UTF-8 in one run of bytes.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._held = 0  # bytes of the texts
        self._bytes = bytearray()
        self._ends = array("Q", [0])

    def add(self, text: str) -> None:
        self.extend((text,))

    def extend(self, texts: Iterable[str]) -> None:
        """Add many: tidied, and measured as they will be counted."""
        added = [text.strip() if text.isprintable() else " ".join(text.split()) for text in texts]
        self._texts += added
        self._held += len("".join(added).encode("utf-8", "replace"))
        if self._held > _PLAIN_BYTES or len(self._texts) > _PLAIN_STRINGS:
            encoded = [text.encode("utf-8", "replace") for text in self._texts]
            ends = itertools.accumulate(map(len, encoded), initial=len(self._bytes))
            self._ends.extend(itertools.islice(ends, 1, None))
            self._bytes += b"".join(encoded)
            self._texts.clear()
            self._held = 0

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._texts)

    def __getitem__(self, index: int) -> str:
        """The text, or "" where there is no such string."""
        packed = len(self._ends) - 1
        if not 0 <= index < packed + len(self._texts):
            return ""
        if index >= packed:
            return self._texts[index - packed]
        return self._bytes[self._ends[index] : self._ends[index + 1]].decode("utf-8")

    def check(self) -> None:
        """Raises Unread limit_reached."""
        for what, reached, limit, unit in (
            ("Shared strings", len(self), SHEET_STRINGS, "strings"),
            ("Shared strings", len(self._bytes) + self._held, SHEET_STRING_BYTES, "bytes"),
        ):
            if reached > limit:
                raise limit_reached(what, reached, limit, unit, SMALLER)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet's name as its tab shows it, and its part."""

    name: str
    part: str


def unescape(text: str) -> str:
    """Undo `_x000D_`, how these files write what XML cannot hold."""
    return _ESCAPED.sub(_escaped, text) if "_x" in text else text


def read_strings(part: str, pieces: Iterable[bytes]) -> SharedStrings:
    """Rich text runs are joined, phonetic guides left out. Raises Unread."""
    strings = SharedStrings()
    parts: list[str] = []

    open_strings, in_string = False, False

    def enter(_: Attributes) -> None:
        nonlocal open_strings
        open_strings = True

    def begin(_: Attributes) -> None:
        nonlocal in_string
        in_string = True

    def complete() -> None:
        nonlocal in_string
        in_string = False
        strings.add(unescape("".join(parts)))
        parts.clear()

    def take(found: list[str]) -> None:
        texts = map(unreferenced, found) if any("&" in text for text in found) else found
        strings.extend(map(unescape, texts))

    scanner: Scanner
    starts = {
        "s:sst": enter,
        "s:si": begin,
        "s:t": lambda _: scanner.collect(parts.append),
        "s:rPh": lambda _: scanner.skip(),
    }
    ends = {"s:t": lambda: scanner.collect(None), "s:si": complete}
    scanner = Scanner(part, table(starts, NAMESPACES), table(ends, NAMESPACES))

    def among_strings() -> bool:
        return open_strings and not (in_string or scanner.pending)

    pieces = apart(pieces, STRINGS, among_strings, take)
    for _ in scanner.scan(pieces):
        strings.check()
        held = sum(map(len, parts))
        if held > SHEET_STRING_BYTES:
            raise limit_reached("One string", held, SHEET_STRING_BYTES, "code points", SMALLER)
    return strings


def read_formats(part: str, pieces: Iterable[bytes], epoch_1904: bool) -> list[Render]:
    """How the cells of each style show a number, by style index. Raises Unread."""
    codes: dict[int, str] = {}
    cells: list[int] = []
    inside = False

    def define(attributes: Attributes) -> None:
        if len(codes) < _STYLES:
            codes[whole(attributes.get("numFmtId"), -1)] = attributes.get("formatCode", "")

    def enter(inside_cells: bool) -> Callable[..., None]:
        def switch(*_: object) -> None:
            nonlocal inside
            inside = inside_cells

        return switch

    def style(attributes: Attributes) -> None:
        if inside and len(cells) < _STYLES:
            cells.append(whole(attributes.get("numFmtId")))

    starts = table({"s:numFmt": define, "s:cellXfs": enter(True), "s:xf": style}, NAMESPACES)
    Scanner(part, starts, table({"s:cellXfs": enter(False)}, NAMESPACES)).run(pieces)
    known: dict[int, Render] = {}
    for number in set(cells):
        code = codes.get(number, BUILT_IN.get(number, "General"))
        known[number] = plain if code == "General" else remembered(renderer(code, epoch_1904))
    return [known[number] for number in cells]


def read_book(
    part: str, pieces: Iterable[bytes], related: dict[str, Relationship]
) -> tuple[list[Sheet], bool]:
    """The sheets in tab order, hidden ones included, and whether dates count from 1904."""
    sheets: list[Sheet] = []
    epoch_1904 = False

    def properties(attributes: Attributes) -> None:
        nonlocal epoch_1904
        epoch_1904 = attributes.get("date1904", "") in ("1", "true")

    def sheet(attributes: Attributes) -> None:
        arrow = related.get(first(attributes, _RELATION))
        if arrow is not None:
            sheets.append(Sheet(attributes.get("name", ""), arrow.target))
        if len(sheets) > OFFICE_RELATED_PARTS:
            raise limit_reached("Sheets", len(sheets), OFFICE_RELATED_PARTS, "sheets", SMALLER)

    actions = {"s:workbookPr": properties, "s:sheet": sheet}
    Scanner(part, table(actions, NAMESPACES)).run(pieces)
    return sheets, epoch_1904


def _escaped(match: re.Match[str]) -> str:
    point = int(match[1], 16)
    if 0xD800 <= point <= 0xDFFF or (point < 32 and point not in (9, 10)):
        return ""
    return chr(point)
