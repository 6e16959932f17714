"""PDF, page by page: pypdf opens the file, our own reading of the page content gives the text.

Promises: each block carries its page; a page whose text layer is missing or unusable is
recognised as a picture where something can, else reported, and its letters are not indexed; a
page with a text layer keeps it; one bad page does not cost the others; memory is that
of one page; nothing is printed, whatever pypdf has to say; streams, pages, forms and nesting
are capped.
Does not: draw pages, run scripts, open attachments, or ask for passwords (a file that
opens with the empty password is read, whatever its owner forbids).
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from helpers import limits
from helpers.errors import Unread, limit_reached
from helpers.extract import (
    pdf_cid,
    pdf_file,
    pdf_layout,
    pdf_mistaken,
    pdf_notes,
    pdf_text,
    pdf_thai,
    pdf_unmapped,
    recognised,
)
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.extract.pdf_content import Page
from helpers.extract.pdf_file import SAVE_REMEDY
from helpers.extract.pdf_font import Font, GlyphTables
from helpers.recognition import Pending, Wanted

SMALLER = "Scan the page anew: 300 dots per inch are enough for text."
SPLIT = "Print it anew, or split it into smaller files."
RELEASE_PAGES = 20  # pages after which pypdf's cache of objects is emptied
RUNNING_PAGES = 2  # pages ahead in which a running head must come back
FONTS_KEPT = 200  # fonts of one document
OUTLINES_ONLY = 20  # filled shapes on a page without letters: text drawn as outlines
PAGES_AHEAD = 4  # pages that are parsed while one is being recognised
COVER_SHARE = 0.5  # of the page: an image that large may be a scan, in spite of ...
STAMP_LETTERS = 80  # ... at most so many letters of text on it, such as a stamp or a page number
HIDDEN_SHARE = 0.8  # of a page's letters: above it they are the result of an OCR program

_SPACES = re.compile(r"\s+")
_PROGRAM_TITLE = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - ", re.I)
_NO_TITLE = re.compile(
    r"^(?:untitled|document\d*|slide \d+|powerpoint presentation|binder\d*|title|print|"
    r".*\.(?:pdf|docx?|pptx?|xlsx?|odt|hwp|indd|dvi|tex|txt|html?|rtf|qxd))$",
    re.I,
)


@dataclass(slots=True)
class _Page:
    """What one page gave; `pending` is its recognition, `instead` what its failure means."""

    number: int
    place: Location
    items: list[Item] = field(default_factory=list)
    pending: Pending | None = None
    instead: str = ""


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a PDF. Raises Unread: `missing_reader`, `encrypted`, `corrupt`, `empty`,
    `no_text`, `limit_reached`.
    """
    document = _Document(file, ctx)
    yield Metadata(title=document.title())
    yield from _without_running_heads(document.pages())
    document.finish()


def _without_running_heads(pages: Iterator[list[Item]]) -> Iterator[Item]:
    """Items of all pages; a heading that one of the next pages repeats is a running head."""
    known: set[str] = set()
    waiting: deque[tuple[list[Item], set[str]]] = deque()
    for page in pages:
        keys = {_key(item.text) for item in page if isinstance(item, Block) and item.level}
        for _, before in waiting:
            known |= keys & before
        waiting.append((page, keys))
        if len(waiting) > RUNNING_PAGES:
            yield from _demoted(waiting.popleft()[0], known)
    for page, _ in waiting:
        yield from _demoted(page, known)


def _demoted(page: list[Item], known: set[str]) -> Iterator[Item]:
    for item in page:
        if isinstance(item, Block) and item.level and _key(item.text) in known:
            yield Block(item.text, "paragraph", 0, item.location, item.ocr)
        else:
            yield item


class _Document:
    def __init__(self, file: BinaryIO, ctx: Context) -> None:
        self.pypdf = _library()
        self.heartbeat, self.recognize = ctx.heartbeat, ctx.recognize
        self.most_shown = limits.PDF_CHARS + limits.PDF_CHARS_PER_BYTE * ctx.size
        self.shown = 0
        self.reader, self.count = pdf_file.opened(self.pypdf, file, ctx.size)
        self.tables = _glyph_tables()
        self.fonts: dict[Any, tuple[Any, Font]] = {}
        self.readable = 0
        self.refused: list[Unread] = []

    # --- pages -----------------------------------------------------------------------

    def pages(self) -> Iterator[list[Item]]:
        """The items of each page. Parsing goes ahead of pages that are being recognised."""
        outline = self.outline()
        waiting: deque[_Page] = deque()
        for number in range(1, self.count + 1):
            self.heartbeat()
            place = Location("page", f"p. {number}", number)
            waiting.append(self._page(number, place, outline.get(number, {})))
            if self.shown > self.most_shown:
                told = f"The text of its first {number} pages"
                raise limit_reached(told, self.shown, self.most_shown, "characters", SPLIT)
            while waiting and (waiting[0].pending is None or len(waiting) > PAGES_AHEAD):
                yield self._counted(waiting.popleft())
            if number % RELEASE_PAGES == 0:
                self.reader.resolved_objects.clear()
        while waiting:
            yield self._counted(waiting.popleft())

    def _counted(self, page: _Page) -> list[Item]:
        items = self._settled(page)
        self.readable += any(isinstance(item, Block) for item in items)
        return items

    def _settled(self, page: _Page) -> list[Item]:
        """The items of a page whose recognition, if any, has come to an end."""
        if page.pending is not None:
            beside = "\n".join(item.text for item in page.items if isinstance(item, Block))
            try:
                page.items += recognised.blocks(page.pending.result(), page.place, beside)
            except Unread as unread:
                if beside and isinstance(unread, recognised.Illegible):
                    return page.items
                reason = f"Page {page.number} {page.instead}: {unread.reason}"
                error = Unread(unread.code, reason, unread.remedy)
                page.items.append(self._refuse(error, page.place))
        return page.items

    def _page(self, number: int, place: Location, titles: Mapping[str, int]) -> _Page:
        """The blocks of one page, a question, or a notice why there are none."""
        page = _Page(number, place)
        try:
            content, notes = self._content(number)
            self._read(page, content, notes, titles)
        except self.pypdf.errors.LimitReachedError:
            most = limits.PDF_STREAM_BYTES
            error = limit_reached(
                f"A stream of page {number}", most + 1, most, "bytes", "Print the page anew"
            )
            page.items = [self._refuse(error, place)]
        except (MemoryError, ConnectionError):
            raise
        except Exception as error:
            reason = f"Page {number} is damaged: {type(error).__name__}: {error}"
            page.items = [self._refuse(Unread("corrupt", reason[:300], SAVE_REMEDY), place)]
        return page

    def _content(self, number: int) -> tuple[Page, list[str]]:
        source = self.reader.pages[number - 1]
        content = Page(self._font, self.heartbeat)
        stream = pdf_file.stream(source.get("/Contents"))
        content.show(stream, source.get("/Resources") or {})
        self.shown += content.shown
        return content, pdf_notes.texts(source, lambda: Page(self._font, self.heartbeat))

    def _font(self, resource: Any) -> Font:
        key = (getattr(resource, "idnum", None), getattr(resource, "generation", id(resource)))
        found = self.fonts.get(key)
        if found is None:
            if len(self.fonts) >= FONTS_KEPT:
                self.fonts.clear()
            found = self.fonts[key] = (resource, self._new_font(resource))
        return found[1]

    def _new_font(self, resource: Any) -> Font:
        font = resource.get_object() if hasattr(resource, "get_object") else resource
        try:
            return Font(font, self.tables)
        except (MemoryError, self.pypdf.errors.LimitReachedError):
            raise
        except Exception:  # a broken font: its glyphs count as unknown
            return Font({}, GlyphTables())

    def _read(
        self, page: _Page, content: Page, notes: list[str], titles: Mapping[str, int]
    ) -> None:
        number, place, items = page.number, page.place, page.items
        lines = pdf_layout.lines_of(content.spans)
        texts = [pdf_text.repair(text) for text in pdf_thai.restore_am([e.text for e in lines])]
        texts = pdf_thai.restore_aa(texts)
        texts = pdf_mistaken.corrected(pdf_unmapped.resolve(texts))
        texts = pdf_thai.repair_page(texts)
        for line, text in zip(lines, texts, strict=True):
            line.text = text
        verdict = pdf_mistaken.judged(texts, pdf_text.judge("\n".join(texts)))
        if verdict.usable:
            items += _layer(content, lines, place, titles)
        if content.truncated:
            most = limits.PDF_PAGE_INSTRUCTIONS
            reason = (
                f"Page {number} has more than {limits.PDF_PAGE_CHARS:,} characters or {most:,} "
                "instructions; the rest of it was left out"
            )
            items.append(Notice("limit_reached", reason, place))
        if verdict.usable and verdict.reason:
            reason = f"Page {number} is damaged in part: {verdict.reason}"
            items.append(Notice("no_text", reason, place))
        elif verdict.reason:
            self._ask(page, content, f"has an unusable text layer ({verdict.reason})")
        elif not lines and not notes and (content.images or content.shapes > OUTLINES_ONLY):
            self._ask(page, content, "is an image without a text layer")
        elif self._is_stamped_scan(content, number, texts):
            self._ask(page, content, "is an image with a little text on it")
        items += [Block(pdf_text.repair(note), "paragraph", 0, place) for note in notes]

    def _ask(self, page: _Page, content: Page, what: str) -> None:
        """Have a page recognised: it counts as what it is where nothing can."""
        if content.pixels > limits.OCR_PIXELS:
            told, most = f"An image on page {page.number}", limits.OCR_PIXELS
            error = limit_reached(told, content.pixels, most, "pixels", SMALLER)
            page.items.append(self._refuse(error, page.place))
            return
        page.instead = what
        dpi = _dpi(*self._size(page.number))
        wanted = Wanted("page", page.number, self.count, dpi)
        page.pending = self.recognize.begin(wanted)

    def _is_stamped_scan(self, content: Page, number: int, texts: Iterable[str]) -> bool:
        if not content.images or sum(map(len, texts)) > STAMP_LETTERS:
            return False
        width, height = self._size(number)
        hidden = any(span.hidden for span in content.spans)  # an OCR program has been there
        return not hidden and content.covered > COVER_SHARE * width * height

    def _size(self, number: int) -> tuple[float, float]:
        """Points of the page's visible part; A4 where it does not say."""
        try:
            box = self.reader.pages[number - 1].cropbox
            width, height = abs(float(box.width)), abs(float(box.height))
            unit = float(self.reader.pages[number - 1].get("/UserUnit", 1) or 1)
            return max(1.0, width * unit), max(1.0, height * unit)
        except Exception:
            return 595.0, 842.0

    def _refuse(self, error: Unread, place: Location) -> Notice:
        if len(self.refused) < 10:
            self.refused.append(error)
        return Notice(error.code, str(error), place)

    def finish(self) -> None:
        """Raises Unread where no page gave text."""
        if self.readable:
            return
        if not self.refused:
            raise Unread("empty", "The file holds no text", "")
        codes = [error.code for error in self.refused]
        for code in ("limit_reached", "no_text", "timeout", "corrupt"):
            if code in codes:
                first = self.refused[codes.index(code)]
                if self.count == 1:
                    raise first
                raise Unread(code, f"No page has usable text. {first.reason}", first.remedy)

    # --- the document ----------------------------------------------------------------

    def title(self) -> str | None:
        """The title in the document's properties, unless a program put it there."""
        try:
            title = self.reader.metadata.title if self.reader.metadata else None
        except Exception:
            return None
        if not isinstance(title, str):
            return None
        title = _PROGRAM_TITLE.sub("", _SPACES.sub(" ", pdf_text.repair(title)).strip())
        usable = pdf_text.judge(title).usable and not _NO_TITLE.match(title)
        return title[: limits.READER_FIELD_CHARS] if usable else None

    def outline(self) -> dict[int, dict[str, int]]:
        """Bookmarks: their levels by title, by page number."""
        found: dict[int, dict[str, int]] = {}
        try:
            self._collect(self.reader.outline, 1, found)
        except Exception:
            return {}
        return found

    def _collect(self, entries: Any, level: int, found: dict[int, dict[str, int]]) -> None:
        for entry in entries:
            if isinstance(entry, list):
                self._collect(entry, min(level + 1, 6), found)
                continue
            number = self.reader.get_destination_page_number(entry)
            if number is not None and isinstance(entry.title, str):
                found.setdefault(number + 1, {})[_key(entry.title)] = level


def _layer(
    content: Page, lines: list[pdf_layout.Line], place: Location, titles: Mapping[str, int]
) -> Iterator[Block]:
    """The blocks of a text layer; one that an OCR program put under an image is told apart."""
    hidden = sum(len(span.text) for span in content.spans if span.hidden)
    total = sum(len(span.text) for span in content.spans)
    by_ocr = content.images > 0 and hidden > total * HIDDEN_SHARE
    for paragraph in pdf_layout.paragraphs_of(lines):
        text = pdf_text.without_unknown(paragraph.text)
        if text.strip():
            level = titles.get(_key(text)) or paragraph.heading_level
            yield Block(text, "heading" if level else "paragraph", level, place, by_ocr)


def _dpi(width: float, height: float) -> int:
    """Dots per inch at which a page of so many points stays within the caps."""
    inches = (width / 72, height / 72)
    by_area = (limits.OCR_PIXELS / (inches[0] * inches[1])) ** 0.5
    return max(1, int(min(limits.OCR_DPI, by_area, limits.OCR_SIDE_PIXELS / max(inches))))


def _key(title: str) -> str:
    return re.sub(r"[\W\d_]+", "", title).casefold()


def _library() -> Any:
    try:
        import pypdf
        import pypdf.errors
    except ImportError as error:
        raise Unread("missing_reader", "PDF needs pypdf", "pip install pypdf") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    _cap_streams(pypdf)
    return pypdf


def _cap_streams(pypdf: Any) -> None:
    most = limits.PDF_STREAM_BYTES
    caps = {
        "zlib_maximum_output_length": most,
        "lzw_maximum_output_length": most,
        "run_length_maximum_output_length": most,
        "array_based_stream_maximum_output_length": most,
        "maximum_declared_stream_length": limits.PDF_RAW_STREAM_BYTES,
        "outline_maximum_entries": limits.PDF_OUTLINE_ENTRIES,
    }
    known = getattr(getattr(pypdf, "Configuration", None), "__dataclass_fields__", {})
    if known:
        pypdf.overwrite_configuration(**{name: caps[name] for name in caps if name in known})
    else:  # before pypdf 6.21
        pypdf.filters.ZLIB_MAX_OUTPUT_LENGTH = most


def _glyph_tables() -> GlyphTables:
    from pypdf._codecs import adobe_glyphs, charset_encoding

    return GlyphTables(adobe_glyphs, charset_encoding, pdf_cid.letters)
