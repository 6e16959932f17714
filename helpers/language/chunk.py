"""Blocks in, chunks out: pieces of about 900 letters that can be cited.

Promises: a chunk is the source's own text, verbatim, so it can be found in the blocks joined
by a blank line (lines and table rows: by a line break), save for the header row that is
repeated on top of each further chunk of a table; nothing but white space is lost; order is
kept; a chunk never exceeds CHUNK_TEXT_CHARS and never spans two pages, slides or sheets; a
heading stands at the start of what follows it; the same blocks give the same chunks. Memory
is bounded by one block and one chunk.
Does not: fold, analyse or index text, and knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from helpers.language import sentences, thai
from helpers.limits import (
    CHUNK_CHARS,
    CHUNK_CHARS_RANGE,
    CHUNK_OVERLAP,
    CHUNK_OVERLAP_SHARE,
    CHUNK_TEXT_CHARS,
    CONTEXT_CHARS,
    SECTION_LABEL_CHARS,
)

CHUNKER_VERSION = 4
ROWS_CHARS = 900  # code points of the row offsets of one chunk
STRETCH_SHARE = 1.15  # of the target: a rest that fits into this is not cut once more
SUBSTANCE_SHARE = 0.5  # of the target: enough to stand alone when the next block does not fit
SECTION_SHARE = 0.33  # of the target: enough to stand alone when a new section begins
HEADER_SHARE = 0.33  # of the target: a longer table header is repeated in part
HEADING_CHARS = 300  # code points: a longer "heading" is treated as a paragraph
TITLE_CHARS = 120  # code points of the title within a chunk's context

_TIGHT = frozenset({"line", "code", "table_header", "table_row"})
_LINES = frozenset({"line", "code"})
_ABOVE = frozenset({"heading", "table_header"})
_APART = frozenset({"page", "slide", "sheet", "part"})
_OWN_HEADINGS = frozenset({"slide", "sheet", "part"})  # what stood above ends with the one before
_ROWED = frozenset({"sheet", "section", "line"})  # the number of such a location counts rows
_SPACES = re.compile(r"\s+")
_COUNTED = re.compile(r"\b(line|row) ([0-9]+)$")
_PARAGRAPH = re.compile("paragraph ([0-9]+)")
_BELOW = " > "  # between the headings of a section's label


class Place(Protocol):
    """What the chunker needs of a location."""

    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def number(self) -> int | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def end(self) -> int | None: ...
    def as_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
    """`chars`: the size aimed at, `overlap`: at most so much is repeated; both in code points."""

    chars: int = CHUNK_CHARS
    overlap: int = CHUNK_OVERLAP
    thai_words: str = thai.BUNDLED

    def __post_init__(self) -> None:
        low, high = CHUNK_CHARS_RANGE
        if not low <= self.chars <= high:
            raise ValueError(f"chunk size {self.chars:,} is outside {low:,} to {high:,} characters")
        if self.overlap < 0:
            raise ValueError(f"chunk overlap {self.overlap:,} is below 0 characters")

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same blocks could give other chunks."""
        words = thai.segmenter_fingerprint(self.thai_words)
        return f"chunk {CHUNKER_VERSION}, {self.chars}/{self.overlap}, {words}"

    @property
    def repeat(self) -> int:
        """Code points that are in fact repeated at most: the overlap, held to its share."""
        return min(self.overlap, int(self.chars * CHUNK_OVERLAP_SHARE))


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is the original, `context` what stands above it; `location` as Location.as_dict."""

    text: str
    context: str
    heading: tuple[str, ...]
    location: dict[str, Any]
    ocr: bool = False


def chunk_blocks(items: Iterable[Any], policy: ChunkPolicy, title: str = "") -> Iterator[Chunk]:
    """Chunks of a document's blocks, in reading order, as soon as each is complete.

    `items` may hold metadata (its tags, aliases and title enter the context of the chunks
    after it) and notices (passed over). `title` serves where no metadata names one.
    """
    running = _Running(policy, title)
    ready = running.ready
    for item in items:
        text = getattr(item, "text", None)
        if text is not None:
            running.add(item, text)
        elif hasattr(item, "tags"):
            running.describe(item)
        if ready:
            yield from ready
            ready.clear()
    running.finish()
    yield from ready


class _Running:
    """The chunk being filled, and what the next one will have to begin with."""

    def __init__(self, policy: ChunkPolicy, title: str) -> None:
        self.ready: list[Chunk] = []
        self.target = policy.chars
        self.repeat = policy.repeat
        self.words = policy.thai_words
        self.stretch = min(CHUNK_TEXT_CHARS, int(policy.chars * STRETCH_SHARE))
        self.substance = int(policy.chars * SUBSTANCE_SHARE)
        self.title = title
        self.labels: tuple[str, ...] = ()
        self.path: tuple[tuple[int, str], ...] = ()
        self.outer: tuple[tuple[int, str], ...] = ()  # the path around an inner document
        self.context: str | None = None
        self.group: tuple[str, Any] | None = None
        self.place: Place | None = None  # of the block added last
        self.header = ""  # of the table that is being read
        self.headings: list[Any] = []  # seen, but nothing has followed them yet
        self._clear()

    def _clear(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.kind = ""  # of the last part
        self.fresh = False  # whether the parts hold more than repeated text
        self.first: dict[str, Any] | Place | None = None  # where what is below the headings begins
        self.headed = False  # whether the parts are headings so far
        self.last: Place | None = None
        self.ocr = False
        self.rows: list[str] = []  # "offset:row" of each table row
        self.chunk_path = self.path

    # --- what comes in ---------------------------------------------------------------

    def describe(self, metadata: Any) -> None:
        """Take over a title, tags and aliases."""
        self.title = metadata.title or self.title
        self.labels = tuple(dict.fromkeys((*self.labels, *metadata.tags, *metadata.aliases)))
        self.context = None

    def add(self, block: Any, text: str) -> None:
        """Take one block; chunks that became complete are in `ready` afterwards."""
        if not text or text.isspace():
            return
        place = block.location
        if place is not self.place:
            self._move(place)
        kind = block.kind
        if kind == "heading" and len(text) <= HEADING_CHARS:
            self._head(block, text)
            return
        if kind != "table_row":
            self.header = text.strip() if kind == "table_header" else ""
        if self.headings:
            self._begin_section()
        elif kind == "table_header" and self.size >= self.substance:
            self._flush("")
        room = self.size + len(text) + 2
        if room <= self.target or (room <= self.stretch and kind not in _TIGHT):
            self._append(block, kind, text)
        else:
            self._overflow(block, kind, text)

    def finish(self) -> None:
        """The document ends here."""
        if self.headings:
            self._begin_section()
        self._flush("")

    def _move(self, place: Place | None) -> None:
        group: tuple[str, Any] | None = None
        if place is not None and place.kind in _APART:
            group = (place.kind, place.name if place.kind == "sheet" else place.number)
            if place.kind == "part" and place.name is not None:
                group = ("part", (place.name, place.number))
            elif group[1] is None:
                group = (place.kind, place.label)
        if group != self.group:
            self.finish()
            self.group, self.header = group, ""
            if not _is_inner(self.place) and _is_inner(place):
                self.outer = self.path
            if place is not None and place.kind in _OWN_HEADINGS:
                if not _same(place, self.place):
                    self._turn(())
            elif _is_inner(self.place):  # back in the document around it
                self._turn(self.outer)
        self.place = place

    def _turn(self, path: tuple[tuple[int, str], ...]) -> None:
        self.path = self.chunk_path = path
        self.context = None

    def _head(self, block: Any, text: str) -> None:
        level = block.level or 1
        above = self.path[0][0] if self.path else 0
        if not self.headings and self.fresh:
            share = SECTION_SHARE / 2 if level <= above else SECTION_SHARE
            if self.size >= self.target * share:
                self._flush("")
        self.header = ""
        self.headings.append(block)
        if sum(len(h.text) for h in self.headings) > self.substance:
            self._begin_section()
            self._flush("")

    def _begin_section(self) -> None:
        """Headings waited for a text to stand above; it has come."""
        headings, self.headings = self.headings, []
        if not self.fresh:
            self._clear()
        for block in headings:
            level = block.level or 1
            kept = tuple(p for p in self.path if p[0] < level)
            self.path = (*kept, (level, _SPACES.sub(" ", block.text).strip()))
            self.context = None
            if not self.fresh:
                self.chunk_path = self.path
            if self.size + len(block.text) + 2 > self.target:
                self._flush("")
            self._append(block, "heading", block.text)

    def _append(
        self, block: Any, kind: str, text: str, first: dict[str, Any] | None = None
    ) -> None:
        if self.parts and not self.fresh and kind in _TIGHT:
            self._clear()
        if self.parts:
            tight = kind in _TIGHT and self.kind in _TIGHT
            self.parts.append("\n" if tight else "\n\n")
            self.size += 1 if tight else 2
        elif kind == "table_row" and self.header:
            self._repeat_header()
        place = block.location
        if kind == "table_row" and place is not None and place.kind in _ROWED and place.number:
            self.rows.append(f"{self.size}:{place.number}")
        self.parts.append(text)
        self.size += len(text)
        self.kind = kind
        if not self.fresh or (self.headed and kind != "heading"):
            self.first = first or block.location
            self.headed = kind == "heading"
            self.fresh = True
        if _continues(self.last, block.location):
            self.last = None if first else block.location
        if block.ocr:
            self.ocr = True

    def _repeat_header(self) -> None:
        header, most = self.header, int(self.target * HEADER_SHARE)
        if len(header) > most:
            cut = header.rfind(" | ", 1, most)
            header = header[: cut if cut > 0 else sentences.cut_position(header, 0, most)]
        self.parts += (header, "\n")
        self.size += len(header) + 1

    # --- cutting ---------------------------------------------------------------------

    def _overflow(self, block: Any, kind: str, text: str) -> None:
        """`text` does not fit beside what is there."""
        headed = self.kind in _ABOVE and self.size <= self.target - self.target // 4
        if self.fresh and not headed and (self.size >= self.substance or kind in _TIGHT):
            self._flush("" if kind in _TIGHT else self._tail())
        if not self.fresh and self.size + len(text) + 2 > self.target:
            self._clear()
        if not self.parts and len(text) <= self._room(kind) + self.stretch - self.target:
            self._append(block, kind, text)
        else:
            self._split(block, kind, text)

    def _split(self, block: Any, kind: str, text: str) -> None:
        """Cut a long block into pieces; the last one stays open for what follows."""
        start, length = 0, len(text)
        lines = _LineCount(block.location, text)
        while True:
            room = self._room(kind)
            if length - start <= room + self.stretch - self.target:
                break
            stop = start + room
            cut = sentences.cut_position(text, start, stop, kind in _LINES, self.words)
            self._append(block, kind, text[start:cut].rstrip(), lines.at(start, cut))
            self._flush("")
            begin = start
            start = _skip_space(text, cut)
            if kind not in _TIGHT and self.repeat:
                size = min(self.repeat, int((cut - begin) * CHUNK_OVERLAP_SHARE))
                back = sentences.overlap_position(text, begin, cut, size)
                start = _skip_space(text, back) if back < cut else start
        if start < length:
            self._append(block, kind, text[start:], lines.at(start, length))

    def _room(self, kind: str) -> int:
        room = self.target - self.size - (2 if self.parts else 0)
        if kind == "table_row" and not self.parts:
            room -= min(len(self.header), int(self.target * HEADER_SHARE)) + 1
        return room

    def _tail(self) -> str:
        """The last sentence of the running chunk, to be repeated by the next one."""
        text = self.parts[-1].rstrip()
        size = min(self.repeat, int(self.size * CHUNK_OVERLAP_SHARE))
        if size < 1 or self.kind in _TIGHT or len(text) < 2:
            return ""
        if len(text) <= size:
            return text
        back = sentences.overlap_position(text, 0, len(text), size)
        return text[_skip_space(text, back) :]

    def _flush(self, tail: str) -> None:
        if self.fresh:
            text = "".join(self.parts).strip()
            heading = tuple(name for _, name in self.chunk_path)
            where = _span(self.first, self.last)
            if self.rows and len(text) == self.size:
                where["rows"] = _clip_rows(self.rows)
            self.ready.append(Chunk(text, self._context(), heading, where, self.ocr))
        ocr, kind = self.ocr, self.kind
        self._clear()
        if tail:
            self.parts, self.size, self.kind, self.ocr = [tail], len(tail), kind, ocr

    def _context(self) -> str:
        if self.chunk_path is not self.path:
            return _context(self.title, self.chunk_path, self.labels)
        if self.context is None:
            self.context = _context(self.title, self.path, self.labels)
        return self.context


class _LineCount:
    """Places of the pieces of one block whose location counts lines."""

    def __init__(self, place: Place | None, text: str) -> None:
        self.counts = place is not None and place.kind == "line" and place.number is not None
        self.place, self.text = place, text
        self.seen = self.breaks = 0

    def at(self, start: int, stop: int) -> dict[str, Any] | None:
        """The location of the piece from `start` to `stop`; None: that of the block."""
        if not self.counts or self.place is None:
            return None
        self.breaks += self.text.count("\n", self.seen, start)
        self.seen = max(self.seen, start)
        line = (self.place.number or 0) + self.breaks
        where = {"kind": "line", "label": f"line {line}", "line": line}
        inner = self.text.count("\n", start, stop)
        return {**where, "end": line + inner} if inner else where


def _span(first: dict[str, Any] | Place | None, last: Place | None) -> dict[str, Any]:
    """The location of a chunk: that of its first block below the headings, with the end of its
    last one; the label names both ends.
    """
    if first is None:
        return {}
    where = dict(first) if isinstance(first, dict) else first.as_dict()
    if last is not None and where["kind"] == last.kind:
        end = last.end or last.number
        key = {"sheet": "row", "section": "line"}.get(where["kind"], where["kind"])
        if first is not last and end is not None and end > (where.get(key) or end):
            where["end"] = end
        if where["kind"] == "section" and where["label"] != last.label:
            where["label"] = _sections(where["label"], last.label)
    if "end" in where:
        where["label"] = _COUNTED.sub(rf"\1s \2–{where['end']}", where["label"])
    return where


def _clip_rows(rows: list[str]) -> str:
    """Rows as `offset:row offset:row …`, so that an answer can name the very row it found."""
    joined = " ".join(rows)
    return joined if len(joined) <= ROWS_CHARS else joined[: joined.rfind(" ", 0, ROWS_CHARS)]


def _same(place: Place, other: Place | None) -> bool:
    """Whether both stand in the same document inside the document, on whatever pages of it."""
    return _is_inner(place) and other is not None and other.name == place.name


def _is_inner(place: Place | None) -> bool:
    """Whether this is a place in a document inside the document, such as an attachment."""
    return place is not None and place.kind == "part" and place.name is not None


def _continues(last: Place | None, place: Place | None) -> bool:
    """False for what stands in no row, such as a sheet's footer, after a row."""
    if last is None or place is None:
        return True
    return place.kind != last.kind or place.number is not None or last.number is None


def _sections(first: str, last: str) -> str:
    """`A > B > C` and `A > B > D` as `A > B > C – D`."""
    one, other = _PARAGRAPH.fullmatch(first), _PARAGRAPH.fullmatch(last)
    if one and other:
        return f"paragraphs {one[1]}–{other[1]}" if int(one[1]) < int(other[1]) else first
    start, end = first.split(_BELOW), last.split(_BELOW)
    while len(end) > 1 and start and start[0] == end[0]:
        del start[0], end[0]
    return _clip(f"{first} – {_BELOW.join(end)}", SECTION_LABEL_CHARS)


def _context(title: str, path: tuple[tuple[int, str], ...], labels: tuple[str, ...]) -> str:
    """Title, headings (the nearest ones where room is short), tags; at most CONTEXT_CHARS."""
    head = _clip(_SPACES.sub(" ", title).strip(), TITLE_CHARS)
    names = [name for _, name in path if name != head]
    room = CONTEXT_CHARS - len(head) - 1
    while len(names) > 1 and len(" > ".join(names)) > room:
        names.pop(0)
    trail = _clip(" > ".join(names), room)
    rest = _clip(", ".join(labels), max(0, room - len(trail) - 1))
    return "\n".join(part for part in (head, trail, rest) if part)


def _clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: sentences.cut_position(text, 0, most)].rstrip() if most > 0 else ""


def _skip_space(text: str, position: int) -> int:
    found = _SPACES.match(text, position)
    return found.end() if found else position
