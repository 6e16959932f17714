"""Formatting pages of Word: from an offset in the main stream to what the text there is.

Sources: [MS-DOC] 2.8.5, 2.8.6 (bin tables), 2.9.33 and 2.9.174 (formatted disk pages), and the
published Word 6 format. Promises: pages are read as the text reaches them and few are kept; a
page that is damaged formats nothing. Does not: apply styles.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator

from helpers.extract.compound import Stream
from helpers.extract.doc_sprms import Effect, Look, effect_of, look_of

PAGE_BYTES = 512
KEPT_LOOKS = 4_096  # distinct lists of modifiers remembered
KEPT_PAGES = 64  # pages remembered: a fast-saved document comes back to them

_Run = tuple[int, int, Effect]
_PLAIN = Look()


class Pages:
    """The pages that a bin table lists, by the offset of the first byte each of them formats."""

    def __init__(self, table: bytes, main: Stream, old: bool, listed: tuple[int, int]) -> None:
        width = 6 if old else 8
        count = max(0, (len(table) - 4) // width)
        self.starts = struct.unpack_from(f"<{count}I", table) if count else ()
        kind = "H" if old else "I"
        numbers = struct.unpack_from(f"<{count}{kind}", table, 4 * count + 4) if count else ()
        self._numbers = [number & 0x3FFFFF for number in numbers]
        self._main = main
        first, total = listed
        if old and count == 1 and 1 < total < 4_096:  # the others follow the first unlisted
            self._list_all(first, total)

    def _list_all(self, first: int, total: int) -> None:
        numbers = list(range(first, first + total))
        starts = [int.from_bytes(self.read(number)[:4], "little") for number in numbers]
        if starts == sorted(starts):
            self._numbers, self.starts = numbers, tuple(starts)

    def __len__(self) -> int:
        return len(self._numbers)

    def at(self, place: int) -> int:
        """The index of the page for an offset, -1 where there is none."""
        return bisect_right(self.starts, place) - 1

    def page(self, index: int) -> bytes:
        return self.read(self._numbers[index])

    def read(self, number: int) -> bytes:
        """A page by its number in the stream; b"" where the stream ends before it."""
        self._main.seek(number * PAGE_BYTES)
        page = self._main.read(PAGE_BYTES)
        return page if len(page) == PAGE_BYTES else b""


class Paragraphs:
    """What paragraph a byte of text belongs to."""

    def __init__(self, pages: Pages, old: bool, huge: Callable[[int], bytes]) -> None:
        self._pages, self._old, self._huge = pages, old, huge
        self._looks: dict[bytes, Look] = {}
        self._low = self._high = 0  # the offsets that the page in hand formats
        self._ends: tuple[int, ...] = ()
        self._raws: list[bytes] = []
        self._kept: dict[int, tuple[tuple[int, ...], list[bytes]]] = {}

    @property
    def known(self) -> bool:
        """Whether the document says anything about its paragraphs."""
        return len(self._pages) > 0

    def at(self, place: int, extra: bytes = b"") -> Look:
        """The paragraph at an offset; `extra` are modifiers of the piece that holds it."""
        if not self._low <= place < self._high:
            self._turn(place)
        at = bisect_right(self._ends, place)
        raw = self._raws[at] if at < len(self._raws) and place >= self._low else b""
        look = self._looks.get(raw)
        if look is None or extra:
            look = self._look(raw, extra)
            if not extra:
                if len(self._looks) >= KEPT_LOOKS:
                    self._looks.clear()
                self._looks[raw] = look
        return look

    def _look(self, raw: bytes, extra: bytes) -> Look:
        if len(raw) < 2 and not extra:
            return _PLAIN
        style, given = int.from_bytes(raw[:2], "little"), raw[2:]
        look = look_of(style, given, self._old)
        if look.huge >= 0:
            given = self._huge(look.huge)
            look = look_of(style, given, self._old)
        if not extra:
            return look
        over = look_of(look.style, extra, False)
        depth = max(look.depth, over.depth)
        outline = over.outline if over.outline >= 0 else look.outline
        return look._replace(
            depth=depth, row_end=look.row_end or over.row_end, style=over.style, outline=outline
        )

    def _turn(self, place: int) -> None:
        """Take the page for an offset in hand."""
        index = self._pages.at(place)
        if index < 0:
            self._low, self._high = 0, self._pages.starts[0] if len(self._pages) else 1 << 32
            self._ends, self._raws = (), []
            return
        if index not in self._kept:
            if len(self._kept) >= KEPT_PAGES:
                self._kept.clear()
            self._kept[index] = self._parsed(self._pages.page(index))
        starts = self._pages.starts
        self._low = starts[index]
        self._high = starts[index + 1] if index + 1 < len(starts) else 1 << 32
        self._ends, self._raws = self._kept[index]

    def _parsed(self, page: bytes) -> tuple[tuple[int, ...], list[bytes]]:
        """(where each paragraph ends, its style and modifiers)."""
        count = page[-1] if page else 0
        width = 7 if self._old else 13
        if not count or 4 * (count + 1) + width * count >= PAGE_BYTES:
            return (), []
        ends = struct.unpack_from(f"<{count}I", page, 4)
        table = 4 * (count + 1)
        return ends, [self._raw(page, 2 * page[table + width * n]) for n in range(count)]

    def _raw(self, page: bytes, at: int) -> bytes:
        if not at:
            return b""
        size = page[at]
        if self._old:
            return page[at + 1 : at + 1 + 2 * size]
        if size:
            return page[at + 1 : at + 2 * size]
        return page[at + 2 : at + 2 + 2 * page[at + 1]] if at + 1 < PAGE_BYTES else b""


class Characters:
    """Which stretches of bytes are hidden, deleted, a symbol, or (in old files) of which font."""

    def __init__(self, pages: Pages, old: bool) -> None:
        self._pages, self._old = pages, old
        self._effects: dict[bytes, Effect | None] = {}
        self._kept: dict[int, list[_Run]] = {}

    def between(self, first: int, last: int) -> Iterator[_Run]:
        """(start, end, effect) of the runs that are not plain text, cut to the stretch."""
        starts = self._pages.starts
        index = max(0, self._pages.at(first))
        while index < len(starts) and starts[index] < last:
            for start, end, effect in self._runs(index):
                if end > first and start < last:
                    yield max(start, first), min(end, last), effect
            index += 1

    def _runs(self, index: int) -> list[_Run]:
        found = self._kept.get(index)
        if found is None:
            if len(self._kept) >= KEPT_PAGES:
                self._kept.clear()
            found = self._kept[index] = list(self._parsed(self._pages.page(index)))
        return found

    def _parsed(self, page: bytes) -> Iterator[_Run]:
        count = page[-1] if page else 0
        table = 4 * (count + 1)
        if not count or table + count >= PAGE_BYTES:
            return
        places = struct.unpack_from(f"<{count + 1}I", page)
        effects = self._effects
        for number, offset in enumerate(page[table : table + count]):
            if not offset:
                continue
            at = 2 * offset
            raw = page[at + 1 : at + 1 + page[at]]
            if raw in effects:
                effect = effects[raw]
            else:
                if len(effects) >= KEPT_LOOKS:
                    effects.clear()
                effect = effects[raw] = effect_of(raw, self._old)
            if effect is not None and places[number] < places[number + 1]:
                yield places[number], places[number + 1], effect
