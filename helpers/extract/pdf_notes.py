"""What stands on a PDF page beside its content: comments, text boxes, form fields.

Promises: gives the text a reader of the page would see or open, once; hidden annotations and
passwords stay out; capped per page.
Does not: follow links, run form scripts, or judge the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from helpers import limits
from helpers.extract import pdf_layout
from helpers.extract.pdf_content import Page
from helpers.extract.pdf_objects import resolve
from helpers.extract.pdf_tokens import text_of

HIDDEN_FLAGS = 2 | 32  # annotation flags: hidden, not viewable
PASSWORD_FLAG = 1 << 13  # of a text field
FIELD_DEPTH = 16  # parents of a form field

_KINDS = (
    "/FreeText /Text /Highlight /Underline /StrikeOut /Squiggly /Caret /Stamp /Ink /Square "
    "/Circle /Line /Polygon /PolyLine"
)
_COMMENTS = frozenset(_KINDS.split())


def texts(page: Any, canvas: Callable[[], Page]) -> list[str]:
    """Texts of a page's annotations, in file order. `canvas` gives an empty page to read an
    appearance with.
    """
    found: dict[str, None] = {}
    for annotation in _annotations(page):
        try:
            for text in _texts(annotation, canvas):
                if text and not text.isspace():
                    found[text.replace("\r\n", "\n").replace("\r", "\n").strip()] = None
        except (AttributeError, TypeError, ValueError, KeyError, IndexError):
            continue  # a malformed annotation
    return list(found)


def _annotations(page: Any) -> Iterator[Any]:
    entries = resolve(page.get("/Annots"))
    if not isinstance(entries, list):
        return
    for entry in entries[: limits.PDF_ANNOTATIONS]:
        annotation = resolve(entry)
        if isinstance(annotation, Mapping):
            flags = resolve(annotation.get("/F"))
            if not (isinstance(flags, int) and flags & HIDDEN_FLAGS):
                yield annotation


def _texts(annotation: Any, canvas: Callable[[], Page]) -> Iterator[str]:
    kind = resolve(annotation.get("/Subtype"))
    if kind == "/Widget":
        yield from _field(annotation)
    elif kind in _COMMENTS:
        contents = text_of(resolve(annotation.get("/Contents")))
        if contents.strip():
            yield contents
        elif kind in ("/FreeText", "/Stamp"):
            yield _appearance(annotation, canvas)


def _field(field: Any) -> Iterator[str]:
    """The value of a text or choice field."""
    flags = resolve(_inherited(field, "/Ff"))
    if isinstance(flags, int) and flags & PASSWORD_FLAG:
        return
    if _inherited(field, "/FT") in ("/Tx", "/Ch"):
        value = resolve(_inherited(field, "/V"))
        for item in value if isinstance(value, list) else [value]:
            yield text_of(resolve(item))


def _inherited(field: Any, key: str) -> Any:
    for _ in range(FIELD_DEPTH):
        if not isinstance(field, Mapping):
            return None
        if key in field:
            return field[key]
        field = resolve(field.get("/Parent"))
    return None


def _appearance(annotation: Any, canvas: Callable[[], Page]) -> str:
    form = resolve(resolve(annotation.get("/AP"))["/N"])
    page = canvas()
    page.show(form.get_data(), resolve(form.get("/Resources")) or {})
    lines = pdf_layout.lines_of(page.spans)
    return "\n".join(paragraph.text for paragraph in pdf_layout.paragraphs_of(lines))
