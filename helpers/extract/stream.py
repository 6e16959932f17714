"""A text file as a stream of str, in whatever charset it is.

Promises: memory stays at a few READ_BYTES; bytes that cannot be decoded become U+FFFD and are
counted, never dropped; line ends come out as "\n"; Thai marks typed in the other order (they
look the same on screen) come out in the one order that can be searched; `notices` tells what
was replaced or reordered. All other text is verbatim.
Does not: choose the charset (`encoding` does) or split the text into blocks.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.extract.blocks import Context, Location, Notice
from helpers.extract.encoding import Encoding, detect, reads

_TONES = ("\u0e48", "\u0e49", "\u0e4a", "\u0e4b")
# NIKHAHIT, tone, SARA AA for tone, SARA AM; a tone before the vowel above or below its letter
_DISORDER = re.compile("\u0e4d([\u0e48-\u0e4b])\u0e32|([\u0e48-\u0e4b])([\u0e31\u0e34-\u0e39])")


class TextStream:
    """A text file as pieces of str with "\\n" line ends; iterate once.

    After the iteration `replaced` holds the number of undecodable sequences, and `notices`
    says what a person should know. NULs come out as spaces, one for one.
    """

    def __init__(self, file: BinaryIO, ctx: Context, encoding: Encoding | None = None) -> None:
        self.encoding = encoding or detect(file, ctx.heartbeat)
        self.replaced = 0
        self.reordered = 0
        self.first_bad_line: int | None = None
        self._file = file
        self._heartbeat = ctx.heartbeat
        self._line = 1

    def __iter__(self) -> Iterator[str]:
        carry = ""
        for piece in self._decoded():
            text = carry + piece if carry else piece
            carry = ""
            if "\r" in text:
                if text.endswith("\r"):
                    text, carry = text[:-1], "\r"
                text = text.replace("\r\n", "\n").replace("\r", "\n")
            if "\0" in text:
                text = text.replace("\0", " ")
            if not text.isascii() and any(tone in text for tone in _TONES):
                text, count = _DISORDER.subn(_in_order, text)
                self.reordered += count
            if text:
                yield text
        if carry:
            yield "\n"

    def notices(self) -> Iterator[Notice]:
        """What went wrong while decoding; complete once the iteration has ended."""
        label = self.encoding.label
        if not self.encoding.sure:
            yield Notice(
                "encoding_uncertain",
                f"The charset could not be told with certainty; read as {label}",
            )
        if self.replaced:
            number = self.first_bad_line or 1
            many = "place was" if self.replaced == 1 else "places were"
            yield Notice(
                "encoding_errors",
                f"{self.replaced:,} {many} not valid {label} and replaced by U+FFFD, "
                f"the first in line {number:,}",
                Location("line", f"line {number}", number),
            )

        if self.reordered:
            yield Notice(
                "thai_marks_reordered",
                f"Thai marks typed in the other order were put in order: {self.reordered:,} places",
            )

    def _decoded(self) -> Iterator[str]:
        self._file.seek(self.encoding.skip)
        make = codecs.getincrementaldecoder(self.encoding.codec)
        decoder = make("strict")
        for raw in reads(self._file, self._heartbeat):
            state = decoder.getstate()
            try:
                text = decoder.decode(raw)
            except UnicodeDecodeError:
                lenient = make("replace")
                lenient.setstate(state)
                text = lenient.decode(raw)
                decoder.setstate(lenient.getstate())
                self._note(text, raw)
            if self.first_bad_line is None:
                self._line += text.count("\n")
            yield text
        rest = decoder.getstate()[0]
        if rest:
            text = "\ufffd"
            self._note(text, b"")
            yield text

    def _note(self, text: str, raw: bytes) -> None:
        own = raw.count("\ufffd".encode(self.encoding.codec, "ignore") or b"\0\0\0\0")
        self.replaced += max(1, text.count("\ufffd") - own)
        if self.first_bad_line is None:
            self.first_bad_line = self._line + text.count("\n", 0, text.index("\ufffd"))


def _in_order(found: re.Match[str]) -> str:
    return found[1] + "\u0e33" if found[1] else found[3] + found[2]
