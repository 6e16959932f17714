r"""HTML that Outlook keeps inside RTF, taken out again.

Source: [MS-OXRTFEX] "Rich Text Format (RTF) Extensions Algorithm", 2.1 to 2.2. Promises: the
content of `\*\htmltag` groups as it stands, the text between them as text, what `\htmlrtf` marks
as made for RTF alone left out; letters by the character set of their font.
Does not: read RTF that holds no HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from helpers.extract.codepages import codec_of_charset, codec_of_page

FROM_HTML = re.compile(rb"\\fromhtml1?(?![a-z0-9])")
HEAD_BYTES = 2_048  # bytes within which the mark stands
BEAT_TOKENS = 50_000  # tokens between two signs of life
DEPTH = 10_000  # groups within groups
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+"
    rb"|([^\\{}\r\n]+)"
)
_SYMBOLS = {
    b"par": "\n", b"line": "\n", b"tab": "\t", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"bullet": "•", b"endash": "–", b"emdash": "—", b"emspace": "\u2003",
    b"enspace": "\u2002", b"zwj": "\u200d", b"zwnj": "\u200c",
}  # fmt: skip
_ESCAPED = {b"~": "&nbsp;", b"_": "\u00ad", b"-": "\u00ad"}
_PASSED_OVER = frozenset(
    [b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"object", b"mhtmltag", b"generator"]
)


def holds_html(rtf: bytes) -> bool:
    """Whether this RTF was made from HTML."""
    return FROM_HTML.search(rtf[:HEAD_BYTES]) is not None


def html_of(rtf: bytes, heartbeat: Callable[[], None] = lambda: None) -> str:
    """The HTML document that `rtf` was made from."""
    return _Reader(rtf).read(heartbeat)


class _Reader:
    """One pass over the tokens. A group inherits `skip`, `tag`, `made` and `font` from the one
    around it."""

    def __init__(self, rtf: bytes) -> None:
        self._rtf = rtf
        self._found: list[str] = []
        self._bytes = bytearray()  # of letters in the present code page
        self._codec = "cp1252"
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._skip = False  # a group without text
        self._tag = False  # inside \*\htmltag
        self._made = False  # between \htmlrtf and \htmlrtf0
        self._starred = False
        self._in_fonts = False
        self._font = 0
        self._wide_skip = 1
        self._pass = 0  # letters that stand for the last \u where it is not known

    def read(self, heartbeat: Callable[[], None]) -> str:
        groups: list[tuple[Any, ...]] = []
        for number, token in enumerate(_TOKEN.finditer(self._rtf)):
            if not number % BEAT_TOKENS:
                heartbeat()
            word, value, code, sign, brace, text = token.groups()
            if brace == b"{":
                if len(groups) >= DEPTH:
                    break
                flags = (self._skip, self._tag, self._made, self._in_fonts)
                groups.append((*flags, self._codec, self._wide_skip))
                self._starred = False
            elif brace == b"}":
                self._flush()
                if groups:
                    self._skip, self._tag, self._made, self._in_fonts, *rest = groups.pop()
                    self._codec, self._wide_skip = rest
                self._pass = 0
            elif word is not None:
                self._word(word, None if value is None else int(value))
            elif code is not None:
                self._letters(bytes([int(code, 16)]))
            elif sign is not None:
                self._sign(sign)
            elif text is not None:
                self._letters(text)
        self._flush()
        return _paired("".join(self._found))

    def _word(self, word: bytes, number: int | None) -> None:
        if word == b"htmlrtf":
            self._flush()
            self._made = number != 0
        elif word == b"htmltag":
            self._flush()
            self._tag, self._skip, self._starred = True, False, False
        elif word in _PASSED_OVER:
            self._skip, self._in_fonts = True, word == b"fonttbl"
        elif word == b"ansicpg" and number:
            self._page = self._codec = codec_of_page(number) or self._page
        elif word == b"f" and number is not None:
            self._font = number
            if not self._in_fonts:
                self._turn(self._fonts.get(number, self._page))
        elif word == b"fcharset" and number is not None and self._in_fonts:
            self._fonts[self._font] = codec_of_charset(number) or self._page
        elif word == b"uc" and number is not None:
            self._wide_skip = max(0, min(number, 8))
        elif word == b"u" and number is not None:
            self._text(_letter(number))
            self._pass = self._wide_skip
        elif word in _SYMBOLS:
            self._text(_SYMBOLS[word])
        elif self._starred:
            self._skip = True
        self._starred = False

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._starred = True
        elif sign in b"\\{}":
            self._letters(sign)
        elif sign in _ESCAPED:
            self._text(_ESCAPED[sign], raw=True)

    def _turn(self, codec: str) -> None:
        if codec != self._codec:
            self._flush()
            self._codec = codec

    def _letters(self, raw: bytes) -> None:
        if self._pass:
            passed = min(self._pass, len(raw))
            self._pass -= passed
            raw = raw[passed:]
        if not self._skip and (self._tag or not self._made):
            self._bytes += raw

    def _text(self, text: str, raw: bool = False) -> None:
        self._flush()
        if not self._skip and (self._tag or not self._made):
            self._found.append(text if self._tag or raw else html.escape(text, quote=False))

    def _flush(self) -> None:
        if self._bytes:
            text = bytes(self._bytes).decode(self._codec, "replace")
            self._bytes.clear()
            self._found.append(text if self._tag else html.escape(text, quote=False))


def _letter(number: int) -> str:
    return chr(number % 65_536)


def _paired(text: str) -> str:
    """Two halves of a letter above U+FFFF made one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
