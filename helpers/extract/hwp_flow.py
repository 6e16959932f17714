"""The text of a Hangul document on its way: paragraphs, rows of cells, notes, in reading order.

HWP and HWPX differ in everything but this: what is anchored in a paragraph (a table, a text box,
a note, a caption) stands after it; a cell's paragraphs make one text; a table of one column is
a frame around text and no table.
Promises: a paragraph, row or table without end is cut or handed on, so that memory stays flat.
Does not: parse anything, or know where a page ends.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from helpers.errors import limit_reached
from helpers.extract.archive import SMALLER
from helpers.extract.blocks import CELL_SEPARATOR, Block, Item, Location, Notice
from helpers.extract.docx_styles import heading_of_name
from helpers.extract.hwp_headings import ARTICLE_LEVEL, FIRST_LETTERS, implied
from helpers.extract.opc import real_title
from helpers.extract.outline import DEEPEST_HEADING, Outline, only_page_number
from helpers.extract.quick import block
from helpers.limits import HANGUL_HEADING_CHARS, OFFICE_BLOCK_CHARS, OFFICE_TEXT_CHARS

MARGIN_PIECES = 2_000  # distinct texts of headers, footers and master pages that are kept
MARGIN = "header or footer"
DESCRIPTION = "picture description"
MEMO = "comments"
EARLIER = "text before tracked changes"

NOTE = "\0note"
# A paragraph of the text as it is; anything else as (text, kind, heading level, aside), where
# `aside` is "" for what belongs to the place around it, NOTE for what stands after a row that
# holds it, or the label of a place of its own.
Piece = str | tuple[str, str, int, str]
_ROW_KINDS = ("table_row", "table_header")
_STYLE_LEVELS = {
    "제목": 1, "큰제목": 1, "대제목": 1, "문서제목": 1, "장제목": 1, "title": 1,
    "중제목": 2, "중간제목": 2, "절제목": 2, "소제목": 3, "작은제목": 3, "항제목": 3,
}  # fmt: skip
_OUTLINE_STYLE = re.compile(r"outline\s*([1-9])", re.IGNORECASE)
_MEASURE = re.compile(r"\s*(?:원본 그림의|사진 찍은 날짜|프로그램 이름|색 대표)")
_MADE_UP = "made up"
_KIND_OF_SHAPE = re.compile(r"[가-힣 ]{1,8}입니다\.?")
_BRACKETS = " <>()[]{}.:〈〉《》「」『』【】〔〕"
_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one table or box held before it goes on
_LABEL_CHARS = 60  # code points of a merged cell that is told again
_MERGED_CELLS = 200  # of one table that are remembered at a time
_FRAME_PARAGRAPHS = 3  # in the only filled cell of a row: more are text in a frame


def paragraph(text: str, level: int = 0, aside: str = "") -> Piece:
    """A piece for a paragraph's stripped text; a long heading is a paragraph."""
    if aside:
        return (text, "paragraph", 0, aside)
    return (text, "heading", level, "") if level and len(text) <= HANGUL_HEADING_CHARS else text


def title_of(text: str) -> str | None:
    """A document's title; Hangul makes one up of the first line, be it a single letter."""
    title = " ".join(text.split())
    return real_title(title) if len(title) > 1 else None


@functools.lru_cache(maxsize=4_096)
def heading_level(style: str) -> int:
    """The level of a style by its name ("개요 1", "Outline 2"), 0 where it is no heading's."""
    found = _OUTLINE_STYLE.fullmatch(style.strip())
    if found is not None:
        return min(DEEPEST_HEADING, int(found[1]))
    plain = "".join(style.split()).lower()
    return _STYLE_LEVELS.get(plain) or heading_of_name(style)


def numbered(text: str, number: str) -> str:
    """A caption with the number that a program counts: "그림 설명" becomes "그림 설명 (그림 1)",
    so that its words stay together and a search for "그림 1" finds it."""
    number = number.strip(_BRACKETS)
    label = number.rpartition(" ")[0]
    rest = text.strip(_BRACKETS)
    return number if rest in ("", label) else f"{text} ({number})"


class Grid:
    """One open table; `columns` is how many it says it has, 0 where it does not say.

    A short cell that is merged over several rows is told again in the rows below it where it
    stands to their left: there it says what the row is about.
    """

    __slots__ = (
        "cells", "column", "columns", "header", "labels", "row", "rows", "sink", "spans", "wide"
    )  # fmt: skip

    def __init__(self, sink: list[Piece], columns: int = 0) -> None:
        self.sink = sink
        self.columns = columns
        self.row = -1
        self.column = 0  # of the first cell in the row
        self.rows = 0
        self.header = False
        self.wide = False
        self.cells: list[list[Piece]] = []
        self.spans: list[tuple[int, int, list[Piece]]] = []  # cells of this row, and
        self.labels: list[tuple[int, int, str]] = []  # of rows above: column, row behind, text

    def cell(self, row: int, column: int, span: int = 1, header: bool = False) -> list[Piece]:
        """A new cell, over `span` columns; gives the list its pieces go to."""
        cell: list[Piece] = []
        if row != self.row:
            self.end_row()
            self.row, self.column, self.header = row, column, header
            self.widen(span)
        self.cells.append(cell)
        return cell

    def lengthen(self, column: int, rows: int, cell: list[Piece]) -> None:
        """A cell of the row at hand turns out to lie over `rows` rows."""
        if rows > 1 and len(self.spans) < _MERGED_CELLS:
            self.spans.append((column, self.row + rows, cell))

    def widen(self, span: int) -> None:
        """The cell at hand turns out to lie over `span` columns."""
        self.wide = span >= self.columns

    def end_row(self) -> None:
        """Hand the cells over as a row, or as what they hold where they only frame it."""
        cells = [cell for cell in self.cells if cell]
        if cells:
            labels = self._labels() if self.labels else []
            alone = self.wide and len(self.cells) == 1
            if alone or (len(cells) == 1 and len(cells[0]) > _FRAME_PARAGRAPHS and not labels):
                self.sink.extend(piece for cell in cells for piece in cell)
            else:
                self._row(cells, labels)
        if self.spans:
            self._keep_labels()
        self.cells = []
        self.header = False

    def _row(self, cells: list[list[Piece]], labels: list[str]) -> None:
        texts: list[str] = []
        after: list[Piece] = []
        for cell in cells:
            try:
                texts.append(" ".join(cell))  # type: ignore[arg-type]
            except TypeError:  # something else than plain paragraphs, which are nearly all
                if text := " ".join(_own(cell)):
                    texts.append(text)
                after += [piece for piece in cell if not _belongs_in_cell(piece)]
        if texts:
            kind = "table_header" if self.header or not self.rows else "table_row"
            text = CELL_SEPARATOR.join(labels + texts)
            if "  " in text or "\n" in text or "\t" in text or "\xa0" in text or "\u3000" in text:
                text = " ".join(text.split())
            self.sink.append((text, kind, 0, ""))
            self.rows += 1
        self.sink += after

    def _labels(self) -> list[str]:
        """What merged cells of rows above say about this one, from left to right."""
        self.labels = [label for label in self.labels if label[1] > self.row]
        return [text for column, _, text in self.labels if column < self.column]

    def _keep_labels(self) -> None:
        """The merged cells of this row are complete: the short ones are labels."""
        for column, behind, cell in self.spans:
            text = " ".join(_own(cell))
            if 0 < len(text) <= _LABEL_CHARS and len(self.labels) < _MERGED_CELLS:
                self.labels.append((column, behind, text))
        self.labels.sort()
        self.spans = []


class Margins:
    """What belongs to no place of the text: headers, footers and master pages without page
    numbers, and what pictures are described by. Each text once, at the end.
    """

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.pictures = 0
        self._seen: dict[str, dict[str, None]] = {MARGIN: {}, DESCRIPTION: {}, _MADE_UP: {}}

    def settle(self) -> None:
        """Keep what is new of the pieces that arrived."""
        for piece in self.pieces:
            text = piece if isinstance(piece, str) else piece[0]
            if not only_page_number(text):
                self._keep(MARGIN, text)
        self.pieces.clear()

    def describe(self, text: str) -> None:
        """The description of a picture or shape; Hangul fills it with the picture's measures."""
        lines = (line for line in text.splitlines() if not _MEASURE.match(line))
        told = "\n".join(lines).strip()
        self._keep(_MADE_UP if _KIND_OF_SHAPE.fullmatch(told) else DESCRIPTION, told)

    def blocks(self, located: Located) -> Iterator[Item]:
        """The rest of the document, behind what is `located`. What Hangul itself wrote of the
        shapes ("그림입니다.") makes no part of its own, since it would answer any question."""
        made_up = " ".join(self._seen.pop(_MADE_UP))
        if made_up and located.any:
            yield from located.blocks([made_up])
        self.settle()
        for label, texts in self._seen.items():
            place = Location("part", label)
            for text in texts:
                yield Block(text, location=place)
        if self.pictures and not located.any:
            yield Notice("no_text", f"it holds pictures alone ({self.pictures:,})")

    def picture(self) -> None:
        """A picture stands in the document; it may be a scanned page."""
        self.pictures += 1

    def _keep(self, label: str, text: str) -> None:
        seen = self._seen[label]
        if text and len(seen) < MARGIN_PIECES:
            seen.setdefault(text[:OFFICE_BLOCK_CHARS])


def relieve(
    found: list[Piece], sinks: list[list[Piece]], grids: list[Grid], margins: Margins
) -> None:
    """Hand on to `found`, in order, what boxes and tables without end have gathered, so that
    memory stays flat; the cells of a row at hand only where they alone are too much."""
    cells = {id(cell): cell for grid in grids for cell in grid.cells}
    kept = {id(found), id(margins.pieces), *cells}
    others = {id(sink): sink for sink in sinks if id(sink) not in kept}
    for group in (others, cells):
        held = sum(_weight(piece) for sink in group.values() for piece in sink)
        if held > _HELD_CHARS:
            for sink in group.values():
                found.extend(sink)
                sink.clear()
    margins.settle()


class Located:
    """Pieces in, blocks with their locations out.

    Until a heading of the document's own comes, those that it only writes give the places.
    """

    def __init__(self) -> None:
        self._outline = Outline()
        self._chars = 0
        self._outlined = False

    @property
    def any(self) -> bool:
        """Whether there was text at all."""
        return self._chars > 0

    def blocks(self, pieces: list[Piece]) -> Iterator[Item]:
        """Empties `pieces`. Raises Unread("limit_reached") beyond OFFICE_TEXT_CHARS."""
        next_place, most, chars = self._outline.paragraph, OFFICE_BLOCK_CHARS, self._chars
        for piece in pieces:
            if isinstance(piece, str):  # nearly all are plain paragraphs of moderate length
                chars += len(piece)
                if len(piece) <= most and piece[:1] not in FIRST_LETTERS:
                    yield block(piece, "paragraph", next_place())
                else:
                    yield from self._rare(piece, "paragraph")
                continue
            text, kind, level, aside = piece
            chars += len(text)
            if kind == "heading":
                self._outlined = True
                yield Block(text, kind, level, self._outline.heading(text, level))
            elif aside and aside != NOTE:
                place = Location("part", aside)
                for at in range(0, len(text), most):
                    yield block(text[at : at + most], kind, place)
            else:
                yield from self._rare(text, kind)
        pieces.clear()
        self._chars = chars
        if chars > OFFICE_TEXT_CHARS:
            raise limit_reached("Text", chars, OFFICE_TEXT_CHARS, "code points", SMALLER)

    def _rare(self, text: str, kind: str) -> Iterator[Block]:
        """A paragraph or row that may begin with a heading, or has to be cut."""
        title, level = "", 0
        if text[:1] in FIRST_LETTERS and not self._outlined:
            title, level = implied(text)
        if level and level != ARTICLE_LEVEL:
            yield Block(text, "heading", level, self._outline.heading(title, level))
            return
        if level and kind == "paragraph":
            place = self._outline.heading(title, level)
        else:
            place = self._outline.paragraph()
        for at in range(0, len(text), OFFICE_BLOCK_CHARS):
            yield block(text[at : at + OFFICE_BLOCK_CHARS], kind, place)


def _weight(piece: Piece) -> int:
    """What a piece takes while it is held, in code points."""
    return len(piece if isinstance(piece, str) else piece[0]) + 100


def _own(cell: list[Piece]) -> list[str]:
    own = [piece for piece in cell if _belongs_in_cell(piece)]
    return [piece if isinstance(piece, str) else piece[0] for piece in own]


def _belongs_in_cell(piece: Piece) -> bool:
    """Nested rows and notes stand after the row that holds them."""
    return isinstance(piece, str) or not (piece[3] or piece[1] in _ROW_KINDS)
