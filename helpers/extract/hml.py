"""HWPML, the Hangul document in one XML file (.hml, often named .hwp by web systems).

Source: Hancom, "한글 문서 파일 형식 3.0 / HWPML", revision 1.2. The elements are those of OWPML
under other names, so they are read by the same hands.
Promises: as of hwpx.py; pictures inside the file cost no memory. Does not: read what hwpx.py
does not, or charsets but Unicode's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.extract.blocks import Context, Item, Metadata
from helpers.extract.hwp_flow import Located, Margins, heading_level, title_of
from helpers.extract.hwpx_body import SectionScanner
from helpers.extract.markup import Attributes, OnEnd, OnStart, whole
from helpers.extract.outline import DEEPEST_HEADING
from helpers.limits import READ_BYTES

_COUNTED = {"Figure": "PICTURE", "Table": "TABLE", "Equation": "EQUATION"}
_BOXES = "CAPTION DRAWTEXT"
_NOTES = "FOOTNOTE ENDNOTE HIDDENCOMMENT"
_MARGINS = "HEADER FOOTER MASTERPAGE"


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the sections' blocks, then headers, footers and master pages.

    Raises Unread: corrupt, limit_reached.
    """
    file.seek(0)
    margins, located = Margins(), Located()
    body = _Scanner(margins)
    told = False
    for _ in body.scanner.scan(_pieces(file, ctx)):
        body.relieve()
        if body.found and not told:
            told = True
            yield body.metadata()
        yield from located.blocks(body.found)
    yield from margins.blocks(located)


def _pieces(file: BinaryIO, ctx: Context) -> Iterator[bytes]:
    while piece := file.read(READ_BYTES):
        ctx.heartbeat()
        yield piece


class _Scanner(SectionScanner):
    """The whole file: styles and summary in its head, sections in its body."""

    def __init__(self, margins: Margins) -> None:
        self._levels: dict[str, int] = {}
        self._named: dict[str, int] = {}
        self._title: list[str] = []
        self._words: list[str] = []
        super().__init__("the document", self._levels, self._named, margins)

    def metadata(self) -> Metadata:
        words = (word.strip() for word in re.split(r"[,;]", "".join(self._words)))
        return Metadata(title_of("".join(self._title)), tuple(filter(None, words)))

    def _starts(self) -> dict[str, OnStart]:
        write = self._literal
        return {
            "TITLE": lambda _: self.scanner.collect(self._title.append),
            "KEYWORDS": lambda _: self.scanner.collect(self._words.append),
            "PARASHAPE": self._shape,
            "STYLE": self._style,
            "P": self._old_paragraph,
            "CHAR": self._run,
            "TAB": write("\t"),
            "LINEBREAK": write("\n"),
            "NBSPACE": write("\u00a0"),
            "FWSPACE": write(" "),
            "HYPEN HYPHEN": write("-"),
            "TABLE": lambda a: self._table({"colCnt": a.get("ColCount", "")}),
            "ROW": self._row,
            "CELL": self._old_cell,
            _BOXES: lambda _: self._box(),
            _NOTES: lambda _: self._note(),
            _MARGINS: lambda _: self._margin(),
            "SCRIPT MAINTEXT SUBTEXT SHAPECOMMENT": self._inner,
            "COMPOSE": lambda a: self._write(a.get("ComposeText", "")),
            "TEXTART": lambda a: self._aside(a.get("Text", "")),
            "PICTURE": lambda _: self._margins.picture(),
            "AUTONUM": self._old_number,
            "SCRIPTCODE BINDATASTORAGE XMLTEMPLATE FACENAMELIST": lambda _: self.scanner.skip(),
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "TITLE KEYWORDS CHAR": lambda: self.scanner.collect(None),
            "P": self._paragraph_end,
            "TABLE": self._table_end,
            "ROW": self._row_end,
            "SCRIPT": self._equation_end,
            "MAINTEXT": lambda: self._write(self._taken()),
            "SUBTEXT": self._ruby_end,
            "SHAPECOMMENT": lambda: self._margins.describe(self._taken()),
            f"CELL {_BOXES} {_NOTES} {_MARGINS}": self._leave,
        }

    # --- the head -----------------------------------------------------------------------------

    def _shape(self, attributes: Attributes) -> None:
        if attributes.get("HeadingType") == "Outline":
            level = 1 + max(0, whole(attributes.get("Level")))
            self._levels[attributes.get("Id", "")] = min(DEEPEST_HEADING, level)

    def _style(self, attributes: Attributes) -> None:
        names = (attributes.get("Name", ""), attributes.get("EngName", ""))
        level = heading_level(names[0]) or heading_level(names[1])
        if level:
            self._named[attributes.get("Id", "")] = level

    # --- the body -----------------------------------------------------------------------------

    def _old_paragraph(self, attributes: Attributes) -> None:
        get = attributes.get
        self._paragraph({"paraPrIDRef": get("ParaShape", ""), "styleIDRef": get("Style", "")})

    def _old_cell(self, attributes: Attributes) -> None:
        self._cell({"header": "1" if attributes.get("Header") == "true" else "0"})
        get = attributes.get
        self._address({"colAddr": get("ColAddr", "0")})
        self._span({"colSpan": get("ColSpan", "1"), "rowSpan": get("RowSpan", "1")})

    def _old_number(self, attributes: Attributes) -> None:
        kind = _COUNTED.get(attributes.get("NumberType", ""), "")
        self._number({"numType": kind, "num": attributes.get("Number", "")})
