"""WordprocessingML as a stream: elements in, paragraphs and table rows out.

Promises: constant memory whatever the part's size (a paragraph or cell without end is cut);
what is deleted, moved away, formatted as hidden or a field's code is left out, but for a field that
shows only that.
Does not: open parts or resolve relationships; an include names the relationship's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from helpers.extract.alternative import alternative
from helpers.extract.blocks import CELL_SEPARATOR, Location
from helpers.extract.doc_fields import shown
from helpers.extract.docx_styles import OFF, VALUE, Styles
from helpers.extract.equations import read_equation
from helpers.extract.markup import (
    Attributes,
    OnEnd,
    OnStart,
    Scanner,
    first,
    names,
    severed,
    table,
    whole,
)
from helpers.extract.opc import NAMESPACES
from helpers.limits import OFFICE_BLOCK_CHARS

_HELD_CHARS = 16 * OFFICE_BLOCK_CHARS  # code points of one table row held before it is cut

_PICTURES = 10_000  # different alternative texts of one part

_TYPE = names("w:type", NAMESPACES)
_SYMBOL = names("w:char", NAMESPACES)
_RELATION = names("r:id", NAMESPACES)
_PROGRAM = "ProgID"
_FIELD = names("w:fldCharType", NAMESPACES)
_FIELDS = 32  # fields within fields
_CODE_CHARS = 4_096  # code points of a field's code
_DIAGRAM = names("r:dm", NAMESPACES)
# What ends after formatting that hides: a run; what holds formatting without any text of its own.
_FORMATTED = frozenset(
    name for word in ("w:r", "w:pPr", "w:sdtPr", "w:sdtEndPr") for name in names(word, NAMESPACES)
)
_VANISH = names("w:vanish", NAMESPACES)
_OF_FIELDS = frozenset((*names("w:fldChar", NAMESPACES), *names("w:instrText", NAMESPACES)))
_SEPARATORS = ("separator", "continuationSeparator", "continuationNotice")

# Check boxes, ticks and arrows of the Wingdings font, as forms use them.
_WINGDINGS = {
    0xF0FE: "☑", 0xF0A8: "☐", 0xF06F: "☐", 0xF0FC: "✓", 0xF0FB: "✗", 0xF0FD: "☒",
    0xF0E0: "→", 0xF0DF: "←", 0xF0B7: "•", 0xF0A7: "▪", 0xF06E: "■", 0xF06C: "●",
}  # fmt: skip


@dataclass(slots=True)
class Found:
    """One paragraph, heading or row; or, with `include`, a place where the part that the
    relationship `text` names is to be read ("drawing" or "import").
    """

    text: str
    kind: str = "paragraph"
    level: int = 0
    location: Location | None = None
    title: bool = False
    include: str = ""


@dataclass(slots=True)
class _Paragraph:
    parts: list[str] = field(default_factory=list)
    style: str = ""
    outline: int | None = None
    hidden: bool = False
    after: list[Found] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    rows: int = 0
    header: bool = False
    deleted: bool = False
    in_properties: bool = False
    cells: list[list[Found]] = field(default_factory=list)


class WordScanner:
    """One part of WordprocessingML. Feed `scanner`, then `relieve` and `drain` after each piece.

    `note` is the word for what stands in this part ("footnotes", "comments", "header"), empty
    for the body, whose locations the caller gives. Notes of one kind share one location, so
    that short ones are found together. `formula` tells the equation in the part that a
    relationship names, or gives an empty string.
    """

    def __init__(
        self,
        part: str,
        styles: Styles,
        note: str = "",
        formula: Callable[[str], str] = lambda relation: "",
    ) -> None:
        self._formula = formula
        self._styles = styles
        self._place = Location("part", note) if note else None
        self._found: list[Found] = []
        self._sinks: list[list[Found]] = [self._found]
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[_Table] = []
        self._branches: list[int] = []
        self._texts = 0
        self._fields: list[list[str] | None] = []  # codes of open fields, None beside a result
        self._pictures: set[str] = set()
        self.scanner = Scanner(
            part, table(self._starts(), NAMESPACES), table(self._ends(), NAMESPACES)
        )

    def drain(self) -> Iterator[Found]:
        """What is complete so far, in order."""
        yield from self._found
        self._found.clear()

    def relieve(self) -> None:
        """Cut a paragraph or a table row that grew past its cap, so that memory stays flat."""
        for paragraph in self._paragraphs:
            if sum(map(len, paragraph.parts)) > OFFICE_BLOCK_CHARS:
                self._put(self._found, severed(paragraph.parts), "paragraph")
        held = self._sinks[1:] + [cell for table in self._tables for cell in table.cells]
        held += [paragraph.after for paragraph in self._paragraphs]
        if sum(len(found.text) + 100 for sink in held for found in sink) > _HELD_CHARS:
            for sink in held:
                self._found.extend(sink)
                sink.clear()

    # --- what elements do ---------------------------------------------------------------

    def _starts(self) -> dict[str, OnStart]:
        literal = self._literal
        return {
            "w:p": lambda _: self._paragraphs.append(_Paragraph()),
            "w:t a:t": self._text,
            "w:tab w:ptab": literal("\t"),
            "w:br w:cr": literal("\n"),
            "w:noBreakHyphen": literal("\u2011"),
            "w:sym": self._symbol,
            "w:vanish": self._hide,
            "w:rStyle": self._run_style,
            "w:pStyle": self._style,
            "w:outlineLvl": self._outline,
            "w:tbl": lambda _: self._tables.append(_Table()),
            "w:tr": self._row,
            "w:trPr": lambda _: self._row_properties(True),
            "w:tblHeader": self._header_row,
            "w:tc": lambda _: self._sinks.append([]),
            "w:txbxContent": self._box,
            "wp:docPr v:shape": self._picture,
            "w:del": self._deleted,
            "w:tabs w:moveFrom w:pPrChange w:rPrChange w:sectPrChange w:rt": self._skip,
            "mc:AlternateContent": lambda _: self._branches.append(self._texts),
            "mc:Choice mc:Fallback": self._branch,
            "w:footnote w:endnote w:comment": self._note_start,
            "w:altChunk": lambda attributes: self._include("import", first(attributes, _RELATION)),
            "c:chart": lambda attributes: self._include("drawing", first(attributes, _RELATION)),
            "dgm:relIds": lambda attributes: self._include("drawing", first(attributes, _DIAGRAM)),
            "m:oMath": self._equation,
            "o:OLEObject": self._object,
            "w:fldChar": self._field,
            "w:instrText": self._code,
        }

    def _ends(self) -> dict[str, OnEnd]:
        return {
            "w:p": self._paragraph_end,
            "w:t a:t w:instrText": lambda: self.scanner.collect(None),
            "w:tbl": lambda: self._tables and self._tables.pop(),
            "w:tr": self._row_end,
            "w:trPr": lambda: self._row_properties(False),
            "w:tc": self._cell_end,
            "w:txbxContent": lambda: len(self._sinks) > 1 and self._sinks.pop(),
            "mc:AlternateContent": lambda: self._branches and self._branches.pop(),
        }

    def _skip(self, attributes: Attributes) -> None:
        self.scanner.skip()

    # --- text -----------------------------------------------------------------------------

    def _text(self, attributes: Attributes) -> None:
        if self._paragraphs:
            self._texts += 1
            self.scanner.collect(self._paragraphs[-1].parts.append)

    def _write(self, text: str) -> None:
        if self._paragraphs:
            self._paragraphs[-1].parts.append(text)

    def _literal(self, text: str) -> OnStart:
        return lambda _: self._write(text)

    def _equation(self, attributes: Attributes) -> None:
        """An equation stands in its sentence; one outside any paragraph is a paragraph."""
        parts = self._paragraphs[-1].parts if self._paragraphs else None

        def done(text: str) -> None:
            self._texts += bool(text)
            if parts is None:
                self._put(self._sinks[-1], text, "paragraph")
            else:
                parts.append(text)

        read_equation(self.scanner, done)

    def _object(self, attributes: Attributes) -> None:
        """An equation of the old editor or of MathType stands in its sentence as well."""
        if attributes.get(_PROGRAM, "").startswith("Equation"):
            text = self._formula(first(attributes, _RELATION))
            self._texts += bool(text)
            self._write(text)

    def _field(self, attributes: Attributes) -> None:
        """A field without a result, such as a formula of EQ, shows what its code says."""
        kind = first(attributes, _FIELD)
        if kind == "begin" and len(self._fields) < _FIELDS:
            self._fields.append([])
        elif kind == "separate" and self._fields:
            self._fields[-1] = None
        elif kind == "end" and self._fields:
            code = self._fields.pop()
            if code:
                self._write(shown("".join(code)))

    def _code(self, attributes: Attributes) -> None:
        code = self._fields[-1] if self._fields else None
        if code is not None and sum(map(len, code)) < _CODE_CHARS:
            self.scanner.collect(code.append)

    def _symbol(self, attributes: Attributes) -> None:
        code = first(attributes, _SYMBOL)
        try:
            point = int(code[:8], 16)
        except ValueError:
            return
        if 0xE000 <= point <= 0xF8FF:
            self._write(_WINGDINGS.get(point, ""))
        elif 32 <= point < 0xD800 or 0xF900 <= point <= 0x10FFFF:
            self._write(chr(point))

    def _run_style(self, attributes: Attributes) -> None:
        if first(attributes, VALUE) in self._styles.hidden:
            self._hide({})

    def _hide(self, attributes: Attributes) -> None:
        """Pass over what stands in this run, or nothing where a paragraph's mark is hidden; fields
        are followed, which may end elsewhere. Other handlers do it, so that runs without such
        formatting cost nothing.
        """
        if first(attributes, VALUE) in OFF:
            return

        def start(name: str, attributes: Attributes) -> None:
            usual_start(name if name in _OF_FIELDS else "", attributes)
            if name in _VANISH and first(attributes, VALUE) in OFF:  # against the run's style
                self.scanner.take_over()
            elif name not in _OF_FIELDS:
                self.scanner.skip()

        def end(name: str) -> None:
            usual_end(name if name in _OF_FIELDS or name in _FORMATTED else "")
            if name in _FORMATTED:
                self.scanner.take_over()

        usual_start, usual_end = self.scanner.take_over(start, end)

    # --- paragraphs -------------------------------------------------------------------------

    def _style(self, attributes: Attributes) -> None:
        if self._paragraphs:
            style = first(attributes, VALUE)
            self._paragraphs[-1].style = style
            self._paragraphs[-1].hidden = style in self._styles.hidden

    def _outline(self, attributes: Attributes) -> None:
        if self._paragraphs:
            self._paragraphs[-1].outline = whole(first(attributes, VALUE), 9)

    def _paragraph_end(self) -> None:
        if not self._paragraphs:
            return
        paragraph = self._paragraphs.pop()
        sink = self._sinks[-1]
        level = self._styles.level(paragraph.style, paragraph.outline)
        text = "" if paragraph.hidden else "".join(paragraph.parts)
        title = paragraph.style in self._styles.titles
        self._put(sink, text, "heading" if level else "paragraph", level, title)
        sink.extend(paragraph.after)

    def _put(
        self, sink: list[Found], text: str, kind: str, level: int = 0, title: bool = False
    ) -> None:
        text = text.strip()
        if text:
            sink.append(Found(text, kind, level, self._place, title))

    def _box(self, attributes: Attributes) -> None:
        """A text box stands after the paragraph that anchors it."""
        self._sinks.append(self._paragraphs[-1].after if self._paragraphs else self._sinks[-1])

    def _picture(self, attributes: Attributes) -> None:
        """A picture's alternative text stands after the paragraph that holds it, once."""
        get = attributes.get
        text = alternative(get("descr", ""), get("title", ""), get("alt", ""))
        if not text:
            return
        self._texts += 1
        if text not in self._pictures and len(self._pictures) < _PICTURES:
            self._pictures.add(text)
            sink = self._paragraphs[-1].after if self._paragraphs else self._sinks[-1]
            self._put(sink, text, "paragraph")

    def _include(self, kind: str, relation: str) -> None:
        sink = self._paragraphs[-1].after if self._paragraphs else self._sinks[-1]
        sink.append(Found(relation, location=self._place, include=kind))

    def _branch(self, attributes: Attributes) -> None:
        """Of alternative contents the first that has text is read."""
        if self._branches and self._texts > self._branches[-1]:
            self.scanner.skip()

    def _note_start(self, attributes: Attributes) -> None:
        if first(attributes, _TYPE) in _SEPARATORS:
            self.scanner.skip()

    # --- tables -------------------------------------------------------------------------------

    def _row(self, attributes: Attributes) -> None:
        if self._tables:
            row = self._tables[-1]
            row.header, row.deleted, row.cells = row.rows == 0, False, []

    def _row_properties(self, inside: bool) -> None:
        if self._tables:
            self._tables[-1].in_properties = inside

    def _header_row(self, attributes: Attributes) -> None:
        if self._tables and first(attributes, VALUE) not in OFF:
            self._tables[-1].header = True

    def _deleted(self, attributes: Attributes) -> None:
        if self._tables and self._tables[-1].in_properties:
            self._tables[-1].deleted = True
        self.scanner.skip()

    def _cell_end(self) -> None:
        if len(self._sinks) > 1:
            cell = self._sinks.pop()
            if self._tables:
                self._tables[-1].cells.append(cell)
            else:
                self._sinks[-1].extend(cell)

    def _row_end(self) -> None:
        if not self._tables or self._tables[-1].deleted:
            return
        row = self._tables[-1]
        sink = self._sinks[-1]
        filled = [cell for cell in row.cells if cell]
        if len(row.cells) == 1 or (len(filled) == 1 and len(filled[0]) > 3):
            for cell in filled:  # a frame around text, not a row of data
                sink.extend(cell)
        elif filled:
            texts = [_cell_text(cell) for cell in filled]
            kind = "table_header" if row.header else "table_row"
            self._put(sink, CELL_SEPARATOR.join(filter(None, texts)), kind)
            for cell in filled:
                sink.extend(found for found in cell if not _belongs_in_cell(found))
            row.rows += 1
        row.cells = []


def _cell_text(cell: list[Found]) -> str:
    return " ".join(" ".join(found.text.split()) for found in cell if _belongs_in_cell(found))


def _belongs_in_cell(found: Found) -> bool:
    """Rows of a nested table and includes stand after the row that holds them."""
    return not found.include and not found.kind.startswith("table")
