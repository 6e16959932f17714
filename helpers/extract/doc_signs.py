"""Control signs and fields in the text of a Word document.

Promises: codes of fields are left out and their results kept, also over several paragraphs; signs
of symbol fonts and marks of embedded things become what they show; a mark that stands alone takes
no text away. Does not: decode, or know where a paragraph ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from helpers.extract.codepages import WIDE
from helpers.extract.doc_fields import shown
from helpers.extract.doc_text import FIRST_IMAGE, FIRST_THING
from helpers.extract.symbols import AS_TRANSLATION

FIELD_CODE_CHARS = 16_384  # code points of one field's code; a longer one is a stray mark
FIELD_DEPTH = 64  # fields within fields; deeper ones are stray marks

_FIELD = re.compile("[\x13-\x15\U000f0000-\U000fff00\U00100000-\U0010ff00]")
CELL, _SECTION = 7, 12  # the signs that end a cell and a section
_CONTROLS = bytes((*range(CELL), 8, 11, *range(14, 32), 127))
_LETTERS = bytes(sorted({*range(256)} - {CELL, _SECTION, 13, *_CONTROLS}))
_SYMBOLS = 0xF0  # the upper byte of all signs of symbol fonts
_HALVES = re.compile("[\ud800-\udfff]")
_FIRST_THING, _FIRST_IMAGE = chr(FIRST_THING), chr(FIRST_IMAGE)
_BEGIN, _SEPARATOR = "\x13", "\x14"
_CLEAN = {
    **dict.fromkeys([*range(9), *range(0x0E, 0x20), 0x7F]),
    0x0B: "\n",
    0x0E: "\n",
    0x1E: "\u2011",
    **AS_TRANSLATION,
}


class _Field:
    """A field that is open: whether its code is being read, the code so far, its length."""

    def __init__(self) -> None:
        self.in_code = True
        self.code: list[str] = []
        self.size = 0


class Signs:
    """The fields of one story, which reach from one paragraph into the next."""

    def __init__(
        self, shown_thing: Callable[[int], str], shown_image: Callable[[int], str]
    ) -> None:
        """`shown_thing` and `shown_image` tell what an embedded thing shows and what a picture is
        of, by its place among all of them."""
        self._shown_thing, self._shown_image = shown_thing, shown_image
        self.fields: list[_Field] = []  # those around the present place

    def clean(self, text: str) -> str:
        """A paragraph, or a part of one, without fields' codes and control signs."""
        if not self.fields and not is_unclean(text):
            return text
        if self.fields or _FIELD.search(text):
            text = self._without_codes(text)
        if _HALVES.search(text):
            text = text.encode(WIDE, "surrogatepass").decode(WIDE, "replace")
        return text.translate(_CLEAN)

    def stray(self) -> list[str]:
        """What was taken for codes and is none: a mark stood alone."""
        parts = [part for field in self.fields for part in field.code]
        self.fields.clear()
        return parts

    def _without_codes(self, text: str) -> str:
        kept: list[str] = []
        at = 0
        for match in _FIELD.finditer(text):
            self._pass(text[at : match.start()], kept)
            at = match.end()
            if match.group() == _BEGIN:
                self.fields.append(_Field())
                if len(self.fields) > FIELD_DEPTH:
                    kept += self.stray()
            elif match.group() >= _FIRST_IMAGE:
                self._pass(self._shown_image(ord(match.group()) - FIRST_IMAGE), kept)
            elif match.group() >= _FIRST_THING:
                if self.fields:
                    self.fields[-1].in_code = False
                self._pass(self._shown_thing(ord(match.group()) - FIRST_THING), kept)
            elif self.fields and match.group() == _SEPARATOR:
                self.fields[-1].in_code = False
            elif self.fields:
                field = self.fields.pop()
                if field.in_code:
                    self._pass(shown("".join(field.code)), kept)
        self._pass(text[at:], kept)
        self._pass("\n" if any(field.in_code for field in self.fields) else "", kept)
        return "".join(kept)

    def _pass(self, text: str, kept: list[str]) -> None:
        """Text between two marks belongs to the nearest code around it, else to the document."""
        if not text:
            return
        for field in reversed(self.fields):
            if field.in_code:
                field.code.append(text)
                field.size += len(text)
                if field.size > FIELD_CODE_CHARS:
                    kept += self.stray()
                return
        kept.append(text)


def split_lines(text: str, wide: bytes = b"") -> tuple[list[str], bytes, bool]:
    """The paragraphs of a text and what has no end behind them; the signs that end paragraphs,
    cells and sections; whether there may be anything in them to clean.

    A pattern takes 6 ns a letter to find all control signs, this 1.5: they are what is left of
    the text without the letters beyond Latin-1, then without those of Latin-1.
    """
    signs = text.encode("latin-1", "ignore").translate(None, _LETTERS)
    ends = signs.translate(None, _CONTROLS)
    if CELL in ends:
        text = text.replace("\x07", "\r")
    if _SECTION in ends:
        text = text.replace("\x0c", "\r")
    return text.split("\r"), ends, len(ends) < len(signs) or has_symbols(text, wide)


def is_unclean(text: str) -> bool:
    """Whether a text without ends of paragraphs may hold anything to clean."""
    if text.isprintable():  # the quickest for a short paragraph
        return False
    return bool(text.encode("latin-1", "ignore").translate(None, _LETTERS)) or has_symbols(text)


def has_symbols(text: str, wide: bytes = b"") -> bool:
    """Whether a text may hold signs of symbol fonts, marks of embedded things or halves of
    letters; `wide` is the same text in UTF-16, if that is known."""
    if text.isascii():
        return False
    try:
        wide = wide or text.encode(WIDE)
    except UnicodeEncodeError:
        return True
    if len(wide) != 2 * len(text):  # marks of embedded things take two pairs
        return True
    at = wide.find(_SYMBOLS)
    while at >= 0 and not at & 1:  # the lower byte of another letter
        at = wide.find(_SYMBOLS, at + 1)
    return at >= 0
