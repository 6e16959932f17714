r"""Letters of RTF: bytes by the charset of their font, \u and its surrogate pairs, symbols.

Promises: a letter of two bytes is decoded whole, whatever stands between the two; text that a
program wrote in bare UTF-8 is taken for that. Does not: know where the text goes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence

from helpers.extract import rtf_charsets
from helpers.extract.encoding import likelier
from helpers.extract.rtf_tables import Font

_FONTS = 20_000  # fonts of one document that are looked at
_PIECES = 64  # pieces of text held before they are decoded
_PIECE_BYTES = 4_096  # bytes of a piece that is decoded at once
_UTF8_BYTES = 2  # bytes beyond one per letter from which bare UTF-8 is taken for what it is
_WESTERN = "cp1252"
_CONTROLS = dict.fromkeys(set(range(32)) - {9, 10})
_HALVES = re.compile("[\ud800-\udfff]")


class Letters:
    """Decoded text goes to `write`. `codec` is that of text in no font's charset; a font of
    None stands for the default one.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self.codec = "cp1252"
        self.default_font = 0
        self._fonts: dict[int, Font] = {}
        self._codecs: dict[int | None, str] = {}
        self._raw: list[bytes] = []
        self._raw_codec = self._raw_font = ""
        self._half = ""  # the first of a surrogate pair

    def font(self, number: int) -> Font | None:
        """A new entry of the font table; None where there are too many."""
        self.decode()
        self._codecs.clear()
        if len(self._fonts) >= _FONTS:
            return None
        font = self._fonts[number] = Font()
        return font

    def set_codec(self, codec: str | None) -> None:
        self.codec = codec or self.codec
        self._codecs.clear()

    def add(self, raw: bytes, font: int | None, bare: bool, plain: bool = False) -> None:
        """Bytes in a font. `bare`: they stand in the file as they are; `plain`: what has no font
        is in the charset of the document, not in that of the default font.
        """
        if bare and not raw.isascii() and (text := _bare_utf8(raw)):
            self.write(text)
            return
        codec = self.codec if plain and font is None else self._codecs.get(font, "")
        if not codec:
            codec = self._codecs[font] = self._codec_of(font)
        if codec != self._raw_codec or codec == rtf_charsets.SYMBOL:
            self.decode()
            self._raw_codec, self._raw_font = codec, self._name_of(font)
        self._raw.append(raw)
        if len(self._raw) > _PIECES or len(raw) > _PIECE_BYTES:
            self._relieve()

    def codes(self, numbers: Sequence[int], font: int | None) -> None:
        r"""The numbers of a run of \u, negative ones as 16-bit words."""
        self.decode()
        text = "".join(map(_character, numbers))
        if any("\uf000" <= letter <= "\uf0ff" for letter in text):
            name = self._name_of(font)
            signs = (
                rtf_charsets.sign(ord(letter), name) if "\uf000" <= letter <= "\uf0ff" else letter
                for letter in text
            )
            text = "".join(signs)
        if not self._half and not _HALVES.search(text):
            self._hand_on(text)
            return
        text, self._half = self._half + text, ""
        half = text[-1] if "\ud800" <= text[-1] < "\udc00" else ""
        text = text[: len(text) - len(half)]
        self._hand_on(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        self._half = half

    def write(self, text: str) -> None:
        """Text that needs no decoding, in its place."""
        self.decode()
        self._hand_on(text)

    def decode(self) -> None:
        """Decode the bytes in hand."""
        if not self._raw:
            return
        raw = b"".join(self._raw)
        self._raw.clear()
        if self._raw_codec == rtf_charsets.SYMBOL:
            self._hand_on("".join([rtf_charsets.sign(code, self._raw_font) for code in raw]))
        else:
            self._hand_on(raw.decode(self._likelier(raw), "replace"))

    def _likelier(self, raw: bytes) -> str:
        """The codec of bytes in hand: programs call Asian text in any font Western."""
        codec = self._raw_codec
        if codec == _WESTERN and self.codec != _WESTERN and not raw.isascii():
            return likelier(raw, codec, self.codec)
        return codec

    def _relieve(self) -> None:
        """Decode the bytes in hand but for the first half of a letter."""
        if self._raw_codec == rtf_charsets.SYMBOL:
            self.decode()
            return
        raw = b"".join(self._raw)
        decoder = codecs.getincrementaldecoder(self._likelier(raw))("replace")
        text = decoder.decode(raw)
        half = decoder.getstate()[0]
        self._raw = [half] if half else []
        self._hand_on(text)

    def _hand_on(self, text: str) -> None:
        if self._half and text:
            text, self._half = f"\ufffd{text}", ""
        if not text.isprintable():
            text = text.translate(_CONTROLS)
        if text:
            self._write(text)

    def _codec_of(self, font: int | None) -> str:
        known = self._fonts.get(self.default_font if font is None else font)
        return (known.codec() if known is not None else None) or self.codec

    def _name_of(self, font: int | None) -> str:
        known = self._fonts.get(self.default_font if font is None else font)
        return known.name if known is not None else ""


def _character(number: int) -> str:
    if number < 0:
        number &= 0xFFFF
    return chr(number) if number < 0x110000 else "\ufffd"


def _bare_utf8(raw: bytes) -> str | None:
    """Text of a program that writes UTF-8 as it is, which RTF does not know."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(raw) - len(text) >= _UTF8_BYTES else None
