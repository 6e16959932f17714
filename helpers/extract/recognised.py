"""Recognised text as blocks: what an engine read, cleaned of what engines do to Thai.

Promises: marks in order, SARA AM in one sign, no space inside a Thai word where the word list
proves it, words whole that a line end parted; every block is marked as recognised.
Does not: ask for anything, or correct letters.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.errors import Unread
from helpers.extract import pdf_layout, pdf_text, pdf_thai
from helpers.extract.blocks import Block, Location
from helpers.recognition import LACKING, Recognised

LOOK_AGAIN = "Look at it: a sharper scan may help; a picture without text can be excluded."


class Illegible(Unread):
    """Recognition worked and found nothing."""

    def __init__(self, found: Recognised) -> None:
        lacking = found.facts.get(LACKING)
        why = f" (no language data for {lacking})" if lacking else ""
        super().__init__("no_text", f"nothing legible was found in it{why}", LOOK_AGAIN)


def blocks(found: Recognised, place: Location, beside: str = "") -> list[Block]:
    """A block for each paragraph that was read on a page or image; what stands in `beside`, the
    page's own text, is not told twice. Raises Illegible where nothing was read.
    """
    known = _squeezed(beside)
    texts = list(_texts(found))
    if not texts:
        raise Illegible(found)
    wanted = [text for text in texts if not known or _squeezed(text) not in known]
    return [Block(text, "paragraph", 0, place, ocr=True) for text in wanted]


def _texts(found: Recognised) -> Iterator[str]:
    for piece in found.pieces:
        lines = [line.strip() for line in piece.text.split("\n") if line.strip()]
        if lines:
            text = tidied(pdf_layout.joined([pdf_text.repair(line) for line in lines]))
            if text.strip():
                yield text


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


def tidied(text: str) -> str:
    """One paragraph, cleaned."""
    (text,) = pdf_thai.repair_page([pdf_text.without_unknown(pdf_text.repair(text))])
    return pdf_thai.close_gaps(text)
