"""Running text of an RTF document: paragraphs, and the rows of tables within tables.

Promises: bounded memory (a paragraph or a row without end is cut); rows of a nested table stand
after the row that holds them; a table left without its last row's end gives what it has.
Does not: know control words, or where in the document it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from helpers.extract.blocks import CELL_SEPARATOR, Location
from helpers.extract.markup import severed
from helpers.limits import OFFICE_BLOCK_CHARS, RTF_TABLE_DEPTH

_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one row held before it is cut
_PIECE_CHARS = 100  # code points that a paragraph counts beside its text
_CELLS = 2_000  # cells of one row before it is cut
_FRAME_PARAGRAPHS = 3  # paragraphs above which a lone filled cell is a frame around text


@dataclass(slots=True)
class Piece:
    """One paragraph, heading or row; `location` only where it does not follow from headings."""

    text: str
    kind: str = "paragraph"
    level: int = 0
    location: Location | None = None
    title: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """What the paragraph that ends now is: a heading of `level`, in a table `depth` deep."""

    level: int = 0
    depth: int = 0
    title: bool = False


@dataclass(slots=True)
class _Table:
    rows: int = 0
    cells: list[list[Piece]] = field(default_factory=list)
    cell: list[Piece] = field(default_factory=list)


class Flow:
    """The body, a note, a text box: text in, pieces out into `found`.

    `place` is the location of everything in it, None for the body.
    """

    def __init__(self, place: Location | None = None) -> None:
        self.found: list[Piece] = []
        self.after: list[Piece] = []  # notes and boxes anchored in the paragraph that is open
        self.header_row = False
        self.place = place
        self._parts: list[str] = []
        self._chars = 0
        self._held = 0
        self._tables: list[_Table] = []

    @property
    def begun(self) -> bool:
        """Whether the open paragraph has text."""
        return bool(self._parts)

    def write(self, text: str) -> None:
        self._parts.append(text)
        self._chars += len(text)
        if self._chars > OFFICE_BLOCK_CHARS:
            self._put(self._sink(0), severed(self._parts), Paragraph())
            self._chars = sum(map(len, self._parts))

    def paragraph_end(self, paragraph: Paragraph) -> None:
        r"""\par: the text so far is a paragraph, of a cell where it stands in a table."""
        depth = min(paragraph.depth, RTF_TABLE_DEPTH)
        if not depth:
            self._leave_tables()
        self._put(self._sink(depth), self._taken(), paragraph)
        self._anchored(depth)

    def cell_end(self, depth: int, paragraph: Paragraph) -> None:
        """A cell of the table `depth` deep is complete."""
        depth = max(1, min(depth, RTF_TABLE_DEPTH))
        self._put(self._sink(depth), self._taken(), paragraph)
        for inner in range(len(self._tables), depth, -1):
            self._row(inner)
        table = self._tables[depth - 1]
        table.cells.append(table.cell)
        table.cell = []
        if self._held > _HELD_CHARS or len(table.cells) > _CELLS:
            self.row_end(depth)

    def row_end(self, depth: int) -> None:
        """A row of the table `depth` deep is complete."""
        depth = max(1, min(depth, RTF_TABLE_DEPTH))
        self._put(self._sink(depth), self._taken(), Paragraph())
        for inner in range(len(self._tables), depth - 1, -1):
            self._row(inner)
        self._anchored(depth if depth > 1 else 0)

    def finish(self) -> list[Piece]:
        """Everything is over: what is left unfinished counts as finished."""
        self.paragraph_end(Paragraph())
        found, self.found = self.found, []
        return found

    # --- tables ---------------------------------------------------------------------------

    def _sink(self, depth: int) -> list[Piece]:
        if not depth:
            return self.found
        while len(self._tables) < depth:
            self._tables.append(_Table())
        return self._tables[depth - 1].cell

    def _anchored(self, depth: int) -> None:
        """What was anchored in a paragraph follows it, or the row it stands in."""
        if not depth and self.after:
            self.found += self.after
            self.after.clear()

    def _leave_tables(self) -> None:
        self._end_rows()
        self._tables.clear()

    def _end_rows(self) -> None:
        for depth in range(len(self._tables), 0, -1):
            self._row(depth)

    def _row(self, depth: int) -> None:
        table = self._tables[depth - 1]
        cells, table.cells = table.cells, []
        if table.cell:
            cells.append(table.cell)
            table.cell = []
        sink = self._sink(depth - 1)
        filled = [cell for cell in cells if cell]
        alone = len(filled) == 1
        if len(cells) == 1 or (alone and len(filled[0]) > _FRAME_PARAGRAPHS):
            for cell in filled:
                sink += cell
        elif filled:
            header = self.header_row or table.rows == 0
            text = CELL_SEPARATOR.join(filter(None, map(_cell_text, filled)))
            if text:
                kind = "table_header" if header else "table_row"
                sink.append(Piece(text, kind, location=self.place))
                table.rows += 1
            for cell in filled:
                sink += [piece for piece in cell if piece.kind.startswith("table")]
        if depth == 1:
            self._held = 0

    # --- text -------------------------------------------------------------------------------

    def _taken(self) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        self._chars = 0
        return text

    def _put(self, sink: list[Piece], text: str, paragraph: Paragraph) -> None:
        text = text.strip()
        if not text:
            return
        if sink is not self.found:
            self._held += len(text) + _PIECE_CHARS
        kind = "heading" if paragraph.level else "paragraph"
        sink.append(Piece(text, kind, paragraph.level, self.place, paragraph.title))
        if sink is not self.found and self._held > 2 * _HELD_CHARS:
            self._end_rows()


def _cell_text(cell: list[Piece]) -> str:
    """The cell in one line; rows of a nested table stand after the row that holds them."""
    return " ".join(
        " ".join(piece.text.split()) for piece in cell if not piece.kind.startswith("table")
    )
