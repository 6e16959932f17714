"""OWPML sections as a stream: elements in, paragraphs and table rows out.

Source: KS X 6101 "Open Word-Processor Markup Language (OWPML) document structure", section 10.
Promises: constant memory whatever the part's size; what belongs to a field but is not seen (its
command and parameters) is left out, its result is read; what a tracked change deletes is no
longer part of its paragraph, which is given once more as it was.
Does not: open parts, or number paragraphs.
"""

from __future__ import annotations

from collections.abc import Mapping

from helpers.extract.equations import latex_of_hwp, marked
from helpers.extract.hwp_flow import (
    EARLIER,
    MEMO,
    NOTE,
    Grid,
    Margins,
    Piece,
    numbered,
    paragraph,
    relieve,
)
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, severed, table, whole
from helpers.limits import OFFICE_BLOCK_CHARS

_YEARS = (2011, 2016, 2018, 2021, 2022, 2024)
_VERSIONS = (
    *(f"http://www.hancom.co.kr/hwpml/{year}" for year in _YEARS[:2]),
    *(f"http://www.owpml.org/owpml/{year}" for year in _YEARS),
)
NAMESPACES: dict[str, tuple[str, ...]] = {
    prefix: tuple(f"{version}/{room}" for version in _VERSIONS)
    for prefix, room in (("hp", "paragraph"), ("hh", "head"), ("hs", "section"))
}
_COUNTED = ("PICTURE", "TABLE", "EQUATION")
_UNSEEN = "hp:parameters hp:secPr hp:metaTag"
_BOXES = "hp:caption hp:drawText"
_NOTES = "hp:footNote hp:endNote hp:hiddenComment"
_MARGINS = "hp:header hp:footer"
_BUTTONS = "hp:btn hp:checkBtn hp:radioBtn hp:comboBox hp:listBox"


class _Paragraph:
    """An open paragraph. `before` is its text without tracked changes, where there are any."""

    __slots__ = ("after", "aside", "before", "deleted", "number", "parts", "rank", "sink")

    def __init__(self, sink: list[Piece], aside: str, rank: int) -> None:
        self.sink, self.aside, self.rank = sink, aside, rank
        self.parts: list[str] = []
        self.before: list[str] | None = None
        self.deleted = False
        self.number = ""
        self.after: list[Piece] = []


class SectionScanner:
    """One section or master page. Feed `scanner`, then `relieve` and take `found` after each
    piece. `charts` gets the names of charts' parts; `headings` and `styles` map the ids of a
    paragraph's shape and style to a heading's level.
    """

    def __init__(
        self,
        part: str,
        headings: Mapping[str, int],
        styles: Mapping[str, int],
        margins: Margins,
        into_margins: bool = False,
    ) -> None:
        self.found: list[Piece] = margins.pieces if into_margins else []
        self.charts: list[str] = []
        self._headings, self._styles, self._margins = headings, styles, margins
        self._sinks: list[tuple[list[Piece], str]] = [(self.found, "")]
        self._paragraphs: list[_Paragraph] = []
        self._grids: list[Grid] = []
        self._rows: list[int] = []
        self._column = "0"
        self._branches: list[bool] = []
        self._inserting = self._deleting = False
        self._text: list[str] = []
        self.scanner = Scanner(
            part, table(self._starts(), NAMESPACES), table(self._ends(), NAMESPACES)
        )

    def relieve(self) -> None:
        """Cut or hand on what grew past its cap, so that memory stays flat."""
        for open_one in self._paragraphs:
            if sum(map(len, open_one.parts)) > OFFICE_BLOCK_CHARS:
                if cut := severed(open_one.parts).strip():
                    self.found.append(paragraph(cut, 0, open_one.aside))
                open_one.before = None
        if sum(map(len, self._text)) > OFFICE_BLOCK_CHARS:
            self._text.clear()
        sinks = [sink for sink, _ in self._sinks] + [p.after for p in self._paragraphs]
        relieve(self.found, sinks, self._grids, self._margins)

    # --- what elements do ---------------------------------------------------------------

    def _starts(self) -> dict[str, OnStart]:
        write = self._literal
        return {
            "hp:p": self._paragraph,
            "hp:t": self._run,
            "hp:tab": write("\t"),
            "hp:lineBreak": write("\n"),
            "hp:nbSpace": write("\u00a0"),
            "hp:fwSpace": write(" "),
            "hp:hyphen": write("-"),
            "hp:insertBegin": lambda _: self._track(True, self._deleting),
            "hp:insertEnd": lambda _: self._track(False, self._deleting),
            "hp:deleteBegin": lambda _: self._track(self._inserting, True),
            "hp:deleteEnd": lambda _: self._track(self._inserting, False),
            "hp:tbl": self._table,
            "hp:tr": self._row,
            "hp:tc": self._cell,
            "hp:cellAddr": self._address,
            "hp:cellSpan": self._span,
            _BOXES: lambda _: self._box(),
            _NOTES: lambda _: self._note(),
            "hp:fieldBegin": lambda a: self._box(MEMO if a.get("type") == "MEMO" else NOTE),
            "hp:memo": lambda _: self._box(MEMO),
            _MARGINS: lambda _: self._margin(),
            _UNSEEN: lambda _: self.scanner.skip(),
            "hp:script hp:mainText hp:subText hp:text hp:shapeComment": self._inner,
            "hp:pic": lambda _: self._margins.picture(),
            "hp:compose": lambda a: self._write(a.get("composeText", "")),
            "hp:textart": lambda a: self._aside(a.get("text", "")),
            _BUTTONS: lambda a: self._aside(a.get("selectedValue") or a.get("caption", "")),
            "hp:autoNum": self._number,
            "hp:switch": lambda _: self._branches.append(False),
            "hp:case": self._case,
            "hp:default": self._default,
            "hp:chart": lambda a: self.charts.append(a.get("chartIDRef", "")),
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "hp:p": self._paragraph_end,
            "hp:t": lambda: self.scanner.collect(None),
            "hp:tbl": self._table_end,
            "hp:tr": self._row_end,
            "hp:script": self._equation_end,
            "hp:switch": lambda: self._branches and self._branches.pop(),
            "hp:mainText": lambda: self._write(self._taken()),
            "hp:subText": self._ruby_end,
            "hp:text": lambda: self._aside(self._taken()),
            "hp:shapeComment": lambda: self._margins.describe(self._taken()),
            f"hp:tc hp:fieldBegin hp:memo {_BOXES} {_NOTES} {_MARGINS}": self._leave,
        }

    # --- text -------------------------------------------------------------------------------

    def _run(self, attributes: Attributes) -> None:
        paragraphs = self._paragraphs
        if paragraphs:
            simple = not (self._deleting or self._inserting) and paragraphs[-1].before is None
            self.scanner.collect(paragraphs[-1].parts.append if simple else self._write)

    def _write(self, text: str) -> None:
        if not self._paragraphs:
            return
        here = self._paragraphs[-1]
        if self._deleting:
            here.deleted = True
        else:
            here.parts.append(text)
        if self._deleting or self._inserting or here.before is not None:
            if here.before is None:
                here.before = here.parts[: len(here.parts) - (not self._deleting)]
            if not self._inserting:
                here.before.append(text)

    def _literal(self, text: str) -> OnStart:
        return lambda _: self._write(text)

    def _track(self, inserting: bool, deleting: bool) -> None:
        self._inserting, self._deleting = inserting, deleting
        self.scanner.collect(self._write)

    def _inner(self, attributes: Attributes) -> None:
        self._text = []
        self.scanner.collect(self._text.append)

    def _taken(self) -> str:
        self.scanner.collect(None)
        text = "".join(self._text)
        self._text = []
        return text

    def _equation_end(self) -> None:
        self._write(marked(latex_of_hwp(self._taken())))

    def _ruby_end(self) -> None:
        above = self._taken().strip()
        self._write(f"({above})" if above else "")

    def _aside(self, text: str) -> None:
        """A text that stands for itself at this place: a button, a text art."""
        text = text.strip()
        if text:
            sink, aside = self._around()
            sink.append(paragraph(text, 0, aside))

    def _number(self, attributes: Attributes) -> None:
        """An automatic number, in the words before it: "그림" makes "그림 1"."""
        if self._paragraphs and attributes.get("numType") in _COUNTED:
            here = self._paragraphs[-1]
            if not here.number:
                here.number = f"{''.join(here.parts).strip()} {attributes.get('num', '')}"

    # --- paragraphs and what is anchored in them ----------------------------------------------

    def _paragraph(self, attributes: Attributes) -> None:
        sink, aside = self._sinks[-1]
        get = attributes.get
        rank = self._headings.get(get("paraPrIDRef", "")) or self._styles.get(
            get("styleIDRef", ""), 0
        )
        self._paragraphs.append(_Paragraph(sink, aside, rank))

    def _paragraph_end(self) -> None:
        if not self._paragraphs:
            return
        here = self._paragraphs.pop()
        text = "".join(here.parts).strip()
        if here.number:
            text = numbered(text, here.number)
        if text:
            here.sink.append(paragraph(text, here.rank, here.aside))
        if here.deleted and here.before is not None:
            earlier = "".join(here.before).strip()
            if earlier:
                here.sink.append(paragraph(earlier, 0, EARLIER))
        if here.after:
            here.sink.extend(here.after)

    def _case(self, attributes: Attributes) -> None:
        if self._branches:
            self._branches[-1] = True

    def _default(self, attributes: Attributes) -> None:
        """The same content once more for programs that do not know the case before it."""
        if self._branches and self._branches[-1]:
            self.scanner.skip()

    def _around(self) -> tuple[list[Piece], str]:
        sink, aside = self._sinks[-1]
        if self._paragraphs and self._paragraphs[-1].sink is sink:
            return self._paragraphs[-1].after, aside
        return sink, aside

    def _box(self, aside: str = "") -> None:
        sink, around = self._around()
        self._sinks.append((sink, aside or around))

    def _note(self) -> None:
        self._box(NOTE)

    def _margin(self) -> None:
        self._sinks.append((self._margins.pieces, ""))

    def _leave(self) -> None:
        if len(self._sinks) > 1:
            self._sinks.pop()

    # --- tables -------------------------------------------------------------------------------

    def _table(self, attributes: Attributes) -> None:
        sink, _ = self._around()
        self._grids.append(Grid(sink, whole(attributes.get("colCnt"))))
        self._rows.append(0)

    def _table_end(self) -> None:
        if self._grids:
            self._grids.pop().end_row()
            self._rows.pop()

    def _row(self, attributes: Attributes) -> None:
        if self._rows:
            self._rows[-1] += 1

    def _row_end(self) -> None:
        if self._grids:
            self._grids[-1].end_row()

    def _cell(self, attributes: Attributes) -> None:
        sink, aside = self._sinks[-1]
        if self._grids:
            sink = self._grids[-1].cell(self._rows[-1], 0, 1, attributes.get("header") == "1")
        self._sinks.append((sink, aside))

    def _address(self, attributes: Attributes) -> None:
        if self._grids:
            self._column = attributes.get("colAddr", "0")
            if len(self._grids[-1].cells) == 1:
                self._grids[-1].column = whole(self._column)

    def _span(self, attributes: Attributes) -> None:
        if not self._grids:
            return
        grid, rows, span = self._grids[-1], attributes.get("rowSpan"), attributes.get("colSpan")
        grid.widen(1 if span == "1" else whole(span, 1))
        if rows != "1" and grid.cells:
            grid.lengthen(whole(self._column), whole(rows, 1), grid.cells[-1])
