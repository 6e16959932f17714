"""Excel 2003 XML spreadsheets: the whole workbook as one XML file, often named .xml or .xls.

Source: Microsoft's "XML Spreadsheet Reference" (Office 2003).
Promises: the same look as .xlsx: rows located by sheet and number whatever gaps lie between,
numbers by their style's format, dates as ISO, comments, print headers, hidden sheets; a DOCTYPE
is refused. Does not: calculate, or read names, pictures and pivot tables.
"""

from __future__ import annotations

import codecs
import itertools
import operator
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import BinaryIO

from helpers.errors import limit_reached
from helpers.extract.archive import PIECE_BYTES, SMALLER
from helpers.extract.blocks import Context, Item, Metadata
from helpers.extract.codepages import codec_of_page
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, names, severed, table, whole
from helpers.extract.number_format import Render, plain, renderer
from helpers.extract.opc import real_title
from helpers.extract.sheets import (
    HELD_CHARS,
    SheetRows,
    Told,
    comment,
    in_one_line,
    margin_text,
    margins,
)
from helpers.limits import OFFICE_BLOCK_CHARS, OFFICE_RELATED_PARTS

NAMESPACES = {
    "ss": ("urn:schemas-microsoft-com:office:spreadsheet",),
    "x": ("urn:schemas-microsoft-com:office:excel",),
    "o": ("urn:schemas-microsoft-com:office:office",),
}
_STYLES = 100_000  # cell styles of one workbook that are looked at
_COLUMNS = 16_384  # columns whose style is remembered
_COMMENTS = 100_000  # comments and print headers of one sheet
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z?")
_ENCODING = re.compile(rb"<\?xml[^>]{1,80}encoding=[\"']([\w.:-]{2,40})[\"']")
_EPOCH = datetime(1899, 12, 30)
_NAMED_FORMATS = {
    "General": "General", "General Number": "General", "General Date": "yyyy-mm-dd h:mm",
    "Long Date": "yyyy-mm-dd", "Medium Date": "yyyy-mm-dd", "Short Date": "yyyy-mm-dd",
    "Long Time": "h:mm:ss", "Medium Time": "h:mm", "Short Time": "h:mm", "Currency": "#,##0.00",
    "Euro Currency": "€#,##0.00", "Fixed": "0.00", "Standard": "#,##0.00", "Percent": "0.00%",
    "Scientific": "0.00E+00",
}  # fmt: skip


def _one(qualified: str) -> str:
    return names(qualified, NAMESPACES)[0]


_NAME, _ID, _FORMAT, _PARENT = map(_one, ("ss:Name", "ss:ID", "ss:Format", "ss:Parent"))
_INDEX, _STYLE_ID, _TYPE = map(_one, ("ss:Index", "ss:StyleID", "ss:Type"))
_SPAN, _MERGED = map(_one, ("ss:Span", "ss:MergeAcross"))
_MARGIN = _one("x:Data")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then sheet by sheet a heading (its name) and the rows.

    Raises Unread: corrupt, limit_reached.
    """
    told = Told()
    for sheet, found in itertools.groupby(_found(file, ctx), key=operator.itemgetter(0)):
        items = (item for _, item in found)
        yield from items if sheet is None else told.sheet(sheet.rows.name, items)


class _Sheet:
    """An open sheet; `rows` collects its rows."""

    def __init__(self, name: str) -> None:
        self.rows = SheetRows(name)
        self.comments: list[tuple[int, str]] = []
        self.margins: list[str] = []
        self.looks: dict[int, str] = {}  # of columns
        self.row = self.column = self.span = 0
        self.row_look = ""
        self.cells: list[str] = []


Found = tuple[_Sheet | None, Item]


def _found(file: BinaryIO, ctx: Context) -> Iterator[Found]:
    file.seek(0)
    workbook = _Workbook()
    for _ in workbook.scanner.scan(_pieces(file)):
        ctx.heartbeat()
        workbook.relieve()
        yield from workbook.found
        workbook.found.clear()


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The file in UTF-8 where its declaration names a charset that the parser does not know."""
    pieces = iter(lambda: file.read(PIECE_BYTES), b"")
    start = next(pieces, b"")
    declared = _ENCODING.match(start)
    codec = _codec(declared[1].decode("ascii")) if declared else None
    if declared is None or codec is None:
        yield start
    else:
        decoder = codecs.getincrementaldecoder(codec)("replace")
        yield decoder.decode(start).replace(declared[1].decode("ascii"), "utf-8", 1).encode()
        pieces = (decoder.decode(piece).encode() for piece in pieces)
    yield from pieces


def _codec(name: str) -> str | None:
    """None for what the parser reads by itself, and for what nobody knows."""
    if name.casefold() in ("utf-8", "utf-16", "us-ascii", "iso-8859-1"):
        return None
    page = re.fullmatch(r"(?:windows-|cp|x-windows-)(\d+)", name, re.IGNORECASE)
    if page:
        return codec_of_page(int(page[1]))
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


class _Workbook:
    """Feed `scanner`, then `relieve` and take `found` after each piece."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self._sheet: _Sheet | None = None
        self._sheets = 0
        self._parts: list[str] = []
        self._formats: dict[str, str] = {}
        self._renders: dict[str, Render] = {}
        self._style = ""
        self._kind = ""
        self._look = ""
        self._in_comment = False
        self._title = ""
        self._tags = ""
        starts: dict[str, OnStart] = {
            "ss:Style": self._style_start,
            "ss:NumberFormat": self._number_format,
            "ss:Worksheet": self._sheet_start,
            "ss:Column": self._column,
            "ss:Row": self._row_start,
            "ss:Cell": self._cell_start,
            "ss:Data": self._data_start,
            "ss:Comment": lambda _: self._comment(True),
            "x:Header x:Footer": self._margin,
            "o:Title o:Keywords": lambda _: self._collect(),
        }
        ends: dict[str, OnEnd] = {
            "ss:Worksheet": self._sheet_end,
            "ss:Row": self._row_end,
            "ss:Data": self._data_end,
            "ss:Comment": lambda: self._comment(False),
            "o:Title": self._title_end,
            "o:Keywords": self._tags_end,
            "o:DocumentProperties": self._properties_end,
        }
        self.scanner = Scanner(
            "the spreadsheet", table(starts, NAMESPACES), table(ends, NAMESPACES)
        )

    def relieve(self) -> None:
        """Hand on the rows so far; cut a cell or a row without end."""
        sheet = self._sheet
        if sheet is None:
            return
        if sum(map(len, self._parts)) > HELD_CHARS:
            text = severed(self._parts).strip()
            if text:
                sheet.cells.append(text)
        if sum(map(len, sheet.cells)) + len(sheet.cells) > HELD_CHARS:
            self._row_end()
        self.found += [(sheet, block) for block in sheet.rows.found]
        sheet.rows.found.clear()

    # --- styles and properties -----------------------------------------------------------------

    def _style_start(self, attributes: Attributes) -> None:
        self._style = attributes.get(_ID, "")
        parent = self._formats.get(attributes.get(_PARENT, "Default"))
        if parent is not None and len(self._formats) < _STYLES:
            self._formats[self._style] = parent

    def _number_format(self, attributes: Attributes) -> None:
        code = attributes.get(_FORMAT, "General")
        if len(self._formats) < _STYLES:
            self._formats[self._style] = _NAMED_FORMATS.get(code, code)

    def _render(self, look: str) -> Render:
        render = self._renders.get(look)
        if render is None:
            code = self._formats.get(look) or self._formats.get("Default", "General")
            render = plain if code == "General" else renderer(code)
            if len(self._renders) < _STYLES:
                self._renders[look] = render
        return render

    def _collect(self) -> None:
        self._parts.clear()
        self.scanner.collect(self._parts.append)

    def _collected(self) -> str:
        self.scanner.collect(None)
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def _title_end(self) -> None:
        self._title = " ".join(self._collected().split())

    def _tags_end(self) -> None:
        self._tags = self._collected()

    def _properties_end(self) -> None:
        tags = (word.strip() for word in re.split(r"[,;]", self._tags))
        metadata = Metadata(title=real_title(self._title), tags=tuple(filter(None, tags)))
        self.found.append((None, metadata))

    # --- sheets --------------------------------------------------------------------------------

    def _sheet_start(self, attributes: Attributes) -> None:
        self._sheets += 1
        if self._sheets > OFFICE_RELATED_PARTS:
            count = self._sheets
            raise limit_reached("Sheets", count, OFFICE_RELATED_PARTS, "sheets", SMALLER)
        self._sheet = _Sheet(attributes.get(_NAME, f"Sheet{self._sheets}"))

    def _sheet_end(self) -> None:
        self.relieve()
        sheet, self._sheet = self._sheet, None
        if sheet is not None:
            name = sheet.rows.name
            self.found += [(sheet, block) for block in margins(name, sheet.margins)]
            self.found += [(sheet, comment(name, row, text)) for row, text in sheet.comments]

    def _column(self, attributes: Attributes) -> None:
        if self._sheet is not None and len(self._sheet.looks) < _COLUMNS:
            sheet = self._sheet
            first = whole(attributes.get(_INDEX), sheet.column + 1)
            sheet.column = first + min(_COLUMNS, max(0, whole(attributes.get(_SPAN))))
            for column in range(first, sheet.column + 1):
                sheet.looks[column] = attributes.get(_STYLE_ID, "")

    def _row_start(self, attributes: Attributes) -> None:
        if self._sheet is not None:
            sheet = self._sheet
            sheet.row = whole(attributes.get(_INDEX), sheet.row + sheet.span + 1)
            sheet.span = max(0, whole(attributes.get(_SPAN)))
            sheet.column = 0
            sheet.row_look = attributes.get(_STYLE_ID, "")

    def _row_end(self) -> None:
        sheet = self._sheet
        if sheet is not None and sheet.cells:
            sheet.rows.put(max(1, sheet.row), sheet.cells)
            sheet.cells.clear()

    def _cell_start(self, attributes: Attributes) -> None:
        sheet = self._sheet
        if sheet is not None:
            column = whole(attributes.get(_INDEX), sheet.column + 1)
            sheet.column = column + max(0, whole(attributes.get(_MERGED)))
            look = attributes.get(_STYLE_ID)
            self._look = look or sheet.row_look or sheet.looks.get(column, "Default")

    def _data_start(self, attributes: Attributes) -> None:
        self._kind = attributes.get(_TYPE, "String")
        self._collect()

    def _data_end(self) -> None:
        text = self._collected()
        sheet = self._sheet
        if sheet is None:
            return
        if self._in_comment:
            if text.strip() and len(sheet.comments) < _COMMENTS:
                sheet.comments.append((sheet.row, text.strip()[:OFFICE_BLOCK_CHARS]))
            return
        if self._kind == "Number":
            shown = self._render(self._look)(text.strip())
        elif self._kind == "DateTime":
            shown = _date(text.strip(), self._render(self._look))
        elif self._kind == "Boolean":
            shown = {"1": "TRUE", "0": "FALSE"}.get(text.strip(), text.strip())
        else:
            shown = in_one_line(text)
        if shown:
            sheet.cells.append(shown)

    def _comment(self, inside: bool) -> None:
        self._in_comment = inside

    def _margin(self, attributes: Attributes) -> None:
        text = margin_text(attributes.get(_MARGIN, ""))
        if text and self._sheet is not None and len(self._sheet.margins) < _COMMENTS:
            self._sheet.margins.append(text)


def _date(text: str, render: Render) -> str:
    """An ISO moment as its cell's format shows it, or as it is."""
    if render is plain:
        match = _MOMENT.fullmatch(text)
        if match is None:
            return in_one_line(text)
        return match[1] if match[2] == "00:00:00" else f"{match[1]} {match[2]}"
    try:
        moment = datetime.fromisoformat(text.partition(".")[0].rstrip("Z"))
    except ValueError:
        return in_one_line(text)
    return render(repr((moment.replace(tzinfo=None) - _EPOCH) / timedelta(days=1)))
