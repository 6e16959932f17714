"""Formatting pages of Word: from an offset in the main stream to what the text there is.

Sources: [MS-DOC] 2.8.5, 2.8.6 (bin tables), 2.9.33 and 2.9.174 (formatted disk pages), and the
published Word 6 format. Promises: pages are read as the text reaches them and few are kept; a
page that is damaged formats nothing. Does not: apply styles.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import BinaryIO

from helpers.extract.doc_sprms import Effect, Look, effect_of, look_of

PAGE_BYTES = 512
KEPT_LOOKS = 4_096  # distinct lists of modifiers remembered
KEPT_PAGES = 64  # pages remembered: a fast-saved document comes back to them

_Run = tuple[int, int, Effect]
_PLAIN = Look()
_FAR = 1 << 32


class Pages:
    """The pages that a bin table lists, by the offset of the first byte each of them formats."""

    def __init__(self, table: bytes, main: BinaryIO, old: bool, listed: tuple[int, int]) -> None:
        width = 6 if old else 8
        count = max(0, (len(table) - 4) // width)
        kind = "H" if old else "I"
        starts = struct.unpack_from(f"<{count}I", table) if count else ()
        numbers = struct.unpack_from(f"<{count}{kind}", table, 4 * count + 4) if count else ()
        held = main.seek(0, io.SEEK_END) // PAGE_BYTES + 1  # pages that the stream has room for
        listed_pages = sorted(zip(starts[:held], numbers[:held], strict=True))
        self.starts = tuple(start for start, _ in listed_pages)
        self._numbers = [number & 0x3FFFFF for _, number in listed_pages]
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
        self._ends: list[int] = []
        self._page: list[Look] = []
        self._kept: dict[int, tuple[list[int], list[Look]]] = {}

    @property
    def known(self) -> bool:
        """Whether the document says anything about its paragraphs."""
        return len(self._pages) > 0

    def at(self, ends: list[int], width: int, extra: bytes = b"") -> list[Look]:
        """The paragraphs whose marks, of `width` bytes, end at the offsets, which ascend;
        `extra` are modifiers of the piece that holds them."""
        found: list[Look] = []
        first = 0
        while first < len(ends):
            self._turn(ends[first] - width)
            last = bisect_left(ends, self._high + width, first)
            found += self._on_page(ends[first:last], width)
            first = last
        return [self._modified(look, extra) for look in found] if extra else found

    def _on_page(self, ends: list[int], width: int) -> list[Look]:
        """The paragraphs that the page in hand formats. As a rule they are the very ones that
        it lists, which spares looking for them one by one."""
        listed, looks = self._ends, self._page
        first = bisect_right(listed, ends[0] - width)
        last = first + len(ends)
        if listed[first:last] == ends:
            return looks[first:last]
        return [looks[bisect_right(listed, end - width)] for end in ends]

    def _modified(self, look: Look, extra: bytes) -> Look:
        over = look_of(look.style, extra, False)
        depth = max(look.depth, over.depth)
        outline = over.outline if over.outline >= 0 else look.outline
        end = look.row_end or over.row_end
        return look._replace(depth=depth, row_end=end, style=over.style, outline=outline)

    def _turn(self, place: int) -> None:
        """Take the page for an offset in hand."""
        if self._low <= place < self._high:
            return
        index = self._pages.at(place)
        starts = self._pages.starts
        if index < 0:
            self._low, self._high = 0, starts[0] if starts else _FAR
            self._ends, self._page = [], [_PLAIN]
            return
        if index not in self._kept:
            if len(self._kept) >= KEPT_PAGES:
                self._kept.clear()
            self._kept[index] = self._parsed(self._pages.page(index))
        self._low = starts[index]
        self._high = starts[index + 1] if index + 1 < len(starts) else _FAR
        self._ends, self._page = self._kept[index]

    def _parsed(self, page: bytes) -> tuple[list[int], list[Look]]:
        """(where each paragraph ends, what it is), and one more for what lies behind them."""
        count = page[-1] if page else 0
        width = 7 if self._old else 13
        table = 4 * (count + 1)
        if not count or table + width * count >= PAGE_BYTES:
            return [], [_PLAIN]
        ends = sorted(struct.unpack_from(f"<{count}I", page, 4))
        offsets = page[table : table + width * count : width]
        raw_at = _old_raw if self._old else _raw
        looks = {}
        for offset in set(offsets):
            raw = raw_at(page, 2 * offset)
            looks[offset] = self._looks.get(raw) or self._look(raw)
        return ends, [*map(looks.__getitem__, offsets), _PLAIN]

    def _look(self, raw: bytes) -> Look:
        if len(self._looks) >= KEPT_LOOKS:
            self._looks.clear()
        look = _PLAIN
        if len(raw) >= 2:
            style = raw[0] | raw[1] << 8
            look = look_of(style, raw[2:], self._old)
            if look.huge >= 0:
                look = look_of(style, self._huge(look.huge), self._old)
        self._looks[raw] = look
        return look


def _raw(page: bytes, at: int) -> bytes:
    """Style and modifiers of a paragraph that stand on a page, at an even place."""
    if not at:
        return b""
    size = page[at]
    if size:
        return page[at + 1 : at + 2 * size]
    return page[at + 2 : at + 2 + 2 * page[at + 1]]


def _old_raw(page: bytes, at: int) -> bytes:
    return page[at + 1 : at + 1 + 2 * page[at]] if at else b""


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
            found = self._kept[index] = self._parsed(self._pages.page(index))
        return found

    def _parsed(self, page: bytes) -> list[_Run]:
        count = page[-1] if page else 0
        table = 4 * (count + 1)
        if not count or table + count >= PAGE_BYTES:
            return []
        offsets = page[table : table + count]
        effects = {offset: self._effect(page, 2 * offset) for offset in set(offsets)}
        if not any(effects.values()):
            return []
        places = struct.unpack_from(f"<{count + 1}I", page)
        found = []
        for start, end, offset in zip(places, places[1:], offsets, strict=False):
            effect = effects[offset]
            if effect is not None and start < end:
                found.append((start, end, effect))
        return found

    def _effect(self, page: bytes, at: int) -> Effect | None:
        """What the modifiers at a place of a page do; 0 stands for none."""
        raw = page[at + 1 : at + 1 + page[at]] if at else b""
        known = self._effects
        if raw not in known:
            if len(known) >= KEPT_LOOKS:
                known.clear()
            known[raw] = effect_of(raw, self._old)
        return known[raw]
