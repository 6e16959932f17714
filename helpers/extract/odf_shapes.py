"""What is drawn in an OpenDocument file: slides, the frames on them, pictures' texts, objects.

Promises: the title of a slide comes first; an equation stands in its sentence as LaTeX.
Does not: open parts, or read what a frame's paragraphs say; `odf_body` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from helpers.extract.alternative import alternative
from helpers.extract.blocks import Block, Item, Location, Notice
from helpers.extract.equations import MathmlBuilder, marked
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner
from helpers.extract.odf_text import ShownNames, TextFrames, one

_SLIDE_ITEMS = 2_000  # blocks of one slide held to bring its title to the front
_CLASS = one("presentation:class")
_LINK = one("xlink:href")
_DECORATION = ("page-number", "date-time", "header")


@dataclass(frozen=True, slots=True)
class Embedded:
    """A place where the object in `folder`, perhaps a formula, is to be read."""

    folder: str
    location: Location


Piece: TypeAlias = Item | Embedded


class Slides:
    """The slides of a presentation or the pages of a drawing; their items go into `found`."""

    def __init__(self, found: list[Piece]) -> None:
        self.place: Location | None = None  # of the open slide
        self._found = found
        self._kind = "slide"
        self._number = 0
        self._from = 0  # where the slide's items begin among those found

    def starts(self) -> dict[str, OnStart]:
        return {"draw:page": self._page}

    def ends(self) -> dict[str, OnEnd]:
        return {"draw:page": self._page_end}

    def are_pages(self) -> None:
        """The document is a drawing."""
        self._kind = "page"

    def notes_place(self) -> Location:
        """Where the notes of the open slide stand."""
        return Location("slide", f"slide {self._number} notes", self._number)

    def complete(self) -> list[Piece]:
        """What is found; a slide is held until its title is known to be first."""
        held = [] if self.place is None else self._found[self._from :]
        if not held or len(held) > _SLIDE_ITEMS:
            held = []
        else:
            del self._found[self._from :]
        complete = self._found[:]
        self._found[:] = held
        self._from = 0
        return complete

    def _page(self, attributes: Attributes) -> None:
        self._number += 1
        self.place = Location(self._kind, f"{self._kind} {self._number}", self._number)
        self._from = len(self._found)

    def _page_end(self) -> None:
        self.place = None
        own = self._found[self._from :]
        titles = [item for item in own if isinstance(item, Block) and item.kind == "heading"]
        if len(own) <= _SLIDE_ITEMS and titles and titles != own[: len(titles)]:
            own.sort(key=self._behind_title)
            self._found[self._from :] = own

    def _behind_title(self, item: Piece) -> bool:
        """Of the slide just ended, everything but its title comes later."""
        place = item.location if isinstance(item, (Block, Embedded)) else None
        here = place is not None and place.number == self._number
        return here and not (isinstance(item, Block) and item.kind == "heading")


class Shapes:
    """Frames and what else stands in them than paragraphs and tables.

    `put` gets what is found, `text` an alternative text; `place` tells where. `formula` tells the
    equation in an object's folder as LaTeX, or gives an empty string.
    """

    def __init__(
        self,
        frames: TextFrames,
        put: Callable[[Piece], None],
        text: Callable[[str, int], None],
        place: Callable[[], Location],
        formula: Callable[[str], str | Notice],
    ) -> None:
        self.title = False  # whether the open frame holds the title of its slide
        self._frames = frames
        self._put, self._text, self._place, self._formula = put, text, place, formula
        self._documents = 0
        self._described: list[str] = []
        self._scanner: Scanner

    def attach(self, scanner: Scanner) -> None:
        """Where elements come from."""
        self._scanner = scanner

    def starts(self) -> dict[str, OnStart]:
        return {
            "draw:frame draw:custom-shape": self._shape,
            "draw:object": self._object,
            "svg:title svg:desc": self._picture,
            "math:math": self._inline,
            "office:document": self._document,
        }

    def ends(self) -> dict[str, OnEnd]:
        return {
            "draw:frame draw:custom-shape": self._shape_end,
            "svg:title svg:desc": self._picture_end,
        }

    def _shape(self, attributes: Attributes) -> None:
        kind = attributes.get(_CLASS)
        self.title = kind == "title"
        self._frames.pause()
        if kind in _DECORATION:
            self._scanner.skip()

    def _shape_end(self) -> None:
        self.title = False
        self._frames.resume()

    def _picture(self, attributes: Attributes) -> None:
        """A picture's alternative text: a title, a description."""
        self._frames.pause()
        self._described = []
        self._scanner.collect(self._described.append)

    def _picture_end(self) -> None:
        text = alternative("".join(self._described))
        self._described = []
        self._frames.resume()
        if text:
            self._text(text, 0)

    def _object(self, attributes: Attributes) -> None:
        folder = attributes.get(_LINK, "")
        if not folder:
            return
        found = self._formula(folder)
        if isinstance(found, Notice):
            self._put(replace(found, location=self._place()))
        elif found:
            self._equation(found)
        else:
            self._put(Embedded(folder, self._place()))

    def _inline(self, attributes: Attributes) -> None:
        built = MathmlBuilder()

        def done() -> None:
            self._equation(built.latex())

        self._scanner.divert(built.start, built.end, built.characters, done)

    def _equation(self, latex: str) -> None:
        """An equation stands in its sentence, otherwise by itself."""
        text = marked(latex)
        if text and not self._frames.write_around(text):
            self._put(Block(text, location=self._place()))

    def _document(self, attributes: Attributes) -> None:
        """The root of a flat file, or a document inside it such as a chart, whose names count."""
        self._documents += 1
        if self._documents == 1:
            return
        shown = ShownNames()

        def done() -> None:
            text = shown.text()
            if text:
                self._put(Block(text, location=self._place()))

        self._scanner.divert(shown.start, shown.end, shown.characters, done)
