"""PowerPoint presentations (.pptx, .ppsx): slides in the order they are shown.

Promises: a slide's title comes first, as a heading; then its texts, table rows, charts' names
and SmartArt, its speaker notes and comments, all located at that slide; hidden slides are
read. Does not: read slide masters and layouts (their text is decoration), pictures, or media.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from helpers.errors import Unread, limit_reached
from helpers.extract.alternative import alternative
from helpers.extract.archive import SMALLER, Archive
from helpers.extract.blocks import CELL_SEPARATOR, Block, Context, Item, Location, Notice
from helpers.extract.drawing import shown_texts
from helpers.extract.embedded import embedded
from helpers.extract.embedded_objects import part_equation
from helpers.extract.equations import read_equation
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, first, names, severed, table
from helpers.extract.opc import NAMESPACES, Package
from helpers.extract.trimmed import bare, trimmed
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_RELATED_PARTS, OFFICE_TEXT_CHARS

_SLIDE_BLOCKS = 2_000  # blocks of one slide held to bring its title to the front
_RELATION = names("r:id", NAMESPACES)
_TITLES = ("title", "ctrTitle", "vertTitle")
_DECORATION = ("sldNum", "dt", "sldImg", "hdr")
_FOOTER = "ftr"

_SAID = "p r t br fld tbl tr tc"
_LOOKS = re.compile(
    "|".join(
        (
            bare("a", "rPr endParaRPr pPr bodyPr lstStyle tcPr extLst", r"a\d*", _SAID),
            bare("p", "spPr grpSpPr xfrm style cNvSpPr", r"a\d*", _SAID),
        )
    ).encode()
)

_COMMENT_NAMESPACES = {
    **NAMESPACES,
    "p188": ("http://schemas.microsoft.com/office/powerpoint/2018/8/main",),
}


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then slide by slide its blocks.

    Raises Unread: encrypted, corrupt, limit_reached, empty, unsupported.
    """
    archive = Archive(file, ctx)
    package = Package(archive)
    yield from items(package)
    yield from embedded(archive, package, ctx)


def items(package: Package) -> Iterator[Item]:
    """The items of a presentation whose parts are at hand, in whatever container."""
    yield from _Presentation(package).items()


class _Presentation:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main_part("ppt/presentation.xml")
        self._footers: set[str] = set()
        self._chars = 0

    def items(self) -> Iterator[Item]:
        yield self._package.metadata()
        for number, part in enumerate(self._slides(), 1):
            for item in self._slide(number, part):
                if isinstance(item, Block):
                    self._chars += len(item.text)
                    if self._chars > OFFICE_TEXT_CHARS:
                        what, unit = "Text", "code points"
                        raise limit_reached(what, self._chars, OFFICE_TEXT_CHARS, unit, SMALLER)
                yield item

    def _slides(self) -> list[str]:
        """The slides' parts in order; an id without a part keeps its number."""
        related = self._package.relationships(self._main)
        slides: list[str] = []

        def slide(attributes: Attributes) -> None:
            arrow = related.get(first(attributes, _RELATION))
            slides.append(arrow.target if arrow else "")
            if len(slides) > OFFICE_RELATED_PARTS:
                what, unit = "Slides", "slides"
                raise limit_reached(what, len(slides), OFFICE_RELATED_PARTS, unit, SMALLER)

        actions = table({"p:sldId": slide}, NAMESPACES)
        Scanner(self._main, actions).run(self._package.follow(self._main))
        return slides

    def _slide(self, number: int, part: str) -> Iterator[Item]:
        place = Location("slide", f"slide {number}", number)
        if part not in self._package.archive:
            yield Notice("part_unread", f"Slide {number} is missing from the file", place)
            return
        try:
            yield from self._shapes(part, place, notes=False)
            for text in shown_texts(self._package, part):
                yield Block(text, location=place)
            related = self._package.relationships(part)
            beside = Location("slide", f"slide {number} notes", number)
            for target in self._package.targets(related, "notesSlide"):
                yield from self._shapes(target, beside, notes=True)
            beside = Location("slide", f"slide {number} comment", number)
            for target in self._package.targets(related, "comments"):
                yield from _comments(self._package, target, beside)
        except Unread as error:
            if error.code != "corrupt":
                raise
            yield Notice("part_unread", error.reason, place)

    def _shapes(self, part: str, place: Location, notes: bool) -> Iterator[Block]:
        def formula(relation: str) -> str:
            arrow = self._package.relationships(part).get(relation)
            return part_equation(self._package, arrow)

        shapes = _Shapes(part, place, notes, self._footers, formula)
        held: list[Block] | None = []
        for _ in shapes.scanner.scan(trimmed(self._package.follow(part), _LOOKS)):
            shapes.relieve()
            if held is None:
                yield from shapes.found
            else:
                held += shapes.found
                if len(held) > _SLIDE_BLOCKS:
                    yield from _title_first(held)
                    held = None
            shapes.found.clear()
        yield from _title_first(held or [])


def _title_first(blocks: list[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.kind != "heading")


@dataclass(slots=True)
class _Table:
    rows: int = 0
    cells: list[list[str]] = field(default_factory=list)


class _Shapes:
    """One slide's or notes page's shapes as a stream."""

    def __init__(
        self,
        part: str,
        place: Location,
        notes: bool,
        footers: set[str],
        formula: Callable[[str], str],
    ) -> None:
        self._formula = formula
        self.found: list[Block] = []
        self._place = place
        self._notes = notes
        self._footers = footers
        self._holder = ""
        self._parts: list[str] = []
        self._title: list[str] = []
        self._tables: list[_Table] = []
        self._branches: list[int] = []
        self._texts = 0
        self.scanner = Scanner(
            part, table(self._starts(), NAMESPACES), table(self._ends(), NAMESPACES)
        )

    def _starts(self) -> dict[str, OnStart]:
        def text(attributes: Attributes) -> None:
            self._texts += 1
            self.scanner.collect(sink)

        sink = self._parts.append
        return {
            "p:sp": self._shape,
            "p:ph": self._placeholder,
            "p:cNvPr": self._picture,
            "a:t": text,
            "m:oMath": self._equation,
            "p:oleObj": self._object,
            "a:br": lambda _: self._parts.append("\n"),
            "a:fld": self._field,
            "a:tbl": lambda _: self._tables.append(_Table()),
            "a:tc": self._cell,
            "mc:AlternateContent": lambda _: self._branches.append(self._texts),
            "mc:Choice mc:Fallback": self._branch,
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "a:t": lambda: self.scanner.collect(None),
            "a:p": self._paragraph,
            "a:tr": self._row,
            "a:tbl": lambda: self._tables and self._tables.pop(),
            "p:sp": self._shape_end,
            "mc:AlternateContent": lambda: self._branches and self._branches.pop(),
        }

    def relieve(self) -> None:
        """Cut a paragraph, title or row without end, so that memory stays flat."""
        if sum(map(len, self._parts)) > OFFICE_BLOCK_CHARS:
            self._text_end(severed(self._parts))
        if sum(map(len, self._title)) > OFFICE_BLOCK_CHARS:
            self._shape_end()
        for grid in self._tables:
            if sum(len(text) + 50 for cell in grid.cells for text in cell) > OFFICE_BLOCK_CHARS:
                self._emit_row(grid)

    def _shape(self, attributes: Attributes) -> None:
        self._holder = ""

    def _picture(self, attributes: Attributes) -> None:
        if "descr" not in attributes and "title" not in attributes:
            return
        text = alternative(attributes.get("descr", ""), attributes.get("title", ""))
        if text and all(block.text != text for block in self.found):
            self.found.append(Block(text, location=self._place))

    def _placeholder(self, attributes: Attributes) -> None:
        self._holder = attributes.get("type", "body")

    def _equation(self, attributes: Attributes) -> None:
        def done(text: str) -> None:
            self._texts += bool(text)
            self._parts.append(text)

        read_equation(self.scanner, done)

    def _object(self, attributes: Attributes) -> None:
        """An equation of the old editor or of MathType."""
        if attributes.get("progId", "").startswith("Equation"):
            text = self._formula(first(attributes, _RELATION))
            self._texts += bool(text)
            if text:
                self._emit(text, "paragraph")

    def _field(self, attributes: Attributes) -> None:
        if attributes.get("type") == "slidenum":
            self.scanner.skip()

    def _branch(self, attributes: Attributes) -> None:
        """Of alternative contents the first that has text is read."""
        if self._branches and self._texts > self._branches[-1]:
            self.scanner.skip()

    def _paragraph(self) -> None:
        parts = self._parts
        if parts:
            text = parts[0] if len(parts) == 1 else "".join(parts)
            parts.clear()
            self._text_end(text)

    def _text_end(self, text: str) -> None:
        text = text.strip()
        holder = self._holder
        if not text or holder in _DECORATION:
            return
        if self._tables and self._tables[-1].cells:
            self._tables[-1].cells[-1].append(text)
        elif holder in _TITLES and not self._notes:
            self._title.append(text)
        elif holder != _FOOTER:
            self._emit(text, "paragraph")
        elif text not in self._footers and len(self._footers) < _SLIDE_BLOCKS:
            self._footers.add(text)
            self._emit(text, "paragraph")

    def _shape_end(self) -> None:
        if self._title:
            self._emit("\n".join(self._title), "heading", 1)
            self._title.clear()
        self._holder = ""

    def _cell(self, attributes: Attributes) -> None:
        if self._tables:
            self._tables[-1].cells.append([])

    def _row(self) -> None:
        if self._tables:
            self._emit_row(self._tables[-1])

    def _emit_row(self, grid: _Table) -> None:
        texts = [" ".join(" ".join(cell).split()) for cell in grid.cells]
        grid.cells = []
        text = CELL_SEPARATOR.join(filter(None, texts))
        if text:
            self._emit(text, "table_row" if grid.rows else "table_header")
            grid.rows += 1

    def _emit(self, text: str, kind: str, level: int = 0) -> None:
        self.found.append(Block(text, kind, level, self._place))


def _comments(package: Package, part: str, place: Location) -> Iterator[Block]:
    """Comments of both kinds: p:text of the old one, paragraphs of the threaded one."""
    parts: list[str] = []
    found: list[str] = []

    def complete() -> None:
        text = "".join(parts).strip()
        parts.clear()
        if text:
            found.append(text)

    def end() -> None:
        scanner.collect(None)

    scanner: Scanner
    starts = {"p:text a:t": lambda _: scanner.collect(parts.append)}
    ends: dict[str, OnEnd] = {"p:text a:t": end, "p:cm a:p p188:cm": complete}
    scanner = Scanner(part, table(starts, _COMMENT_NAMESPACES), table(ends, _COMMENT_NAMESPACES))
    for _ in scanner.scan(package.follow(part)):
        if sum(map(len, parts)) > OFFICE_BLOCK_CHARS:
            complete()
        yield from (Block(text, location=place) for text in found)
        found.clear()
