"""Character maps (CMaps) of PDF fonts: from codes to letters or to glyph identifiers.

Promises: the size of every table is capped; broken sections are passed over.
Does not: know the predefined maps by name (see pdf_font).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from helpers import limits

UNKNOWN = "\ufffd"

_SECTION = re.compile(rb"begin(bfchar|bfrange|codespacerange|cidchar|cidrange)\b")
_HEX_OR_BRACKET = re.compile(rb"<([0-9A-Fa-f\s]*)>|([\[\]])|(\d+)")


class CharacterMap:
    """A parsed CMap: `letters` by code, `cids` by code, code space, and the map it builds on."""

    def __init__(self, stream: bytes) -> None:
        self.letters: dict[int, str] = {}
        self.cids: dict[int, int] = {}
        self.spaces: list[tuple[int, int, int]] = []
        found = re.search(rb"/Adobe-(\w+?)-(?:UCS2|\d)\s+usecmap", stream)
        self.base = found.group(1).decode("ascii") if found else ""
        for section in _SECTION.finditer(stream):
            kind = section.group(1)
            end = stream.find(b"end" + kind, section.end())
            if end < 0:
                break
            tokens = list(_tokens(stream[section.end() : end]))
            if kind == b"bfchar":
                self._characters(tokens)
            elif kind == b"bfrange":
                self._ranges(tokens)
            elif kind == b"codespacerange":
                self._code_space(tokens)
            elif kind == b"cidrange":
                for low, high, cid in zip(*[iter(tokens)] * 3, strict=False):
                    self._cid_range(low, high, cid)
            elif kind == b"cidchar":
                for code, cid in zip(*[iter(tokens)] * 2, strict=False):
                    self._cid_range(code, code, cid)

    def _code_space(self, tokens: list[Any]) -> None:
        for low, high in zip(*[iter(tokens)] * 2, strict=False):
            if isinstance(low, bytes) and isinstance(high, bytes) and low:
                self.spaces.append((_int(low), _int(high), len(low)))

    def _cid_range(self, low: Any, high: Any, cid: Any) -> None:
        if isinstance(low, bytes) and isinstance(high, bytes) and isinstance(cid, int):
            first, last = _int(low), _int(high)
            for code in range(first, min(last, first + limits.PDF_MAP_RANGE) + 1):
                if len(self.cids) < limits.PDF_MAP_ENTRIES:
                    self.cids[code] = cid + code - first

    def _characters(self, tokens: list[Any]) -> None:
        for code, letters in zip(*[iter(tokens)] * 2, strict=False):
            if isinstance(code, bytes) and isinstance(letters, bytes):
                self._set(_int(code), _utf16(letters))

    def _ranges(self, tokens: list[Any]) -> None:
        position = 0
        while position + 2 < len(tokens):
            low, high, target = tokens[position : position + 3]
            position += 3
            if not isinstance(low, bytes) or not isinstance(high, bytes):
                continue
            first, last = _int(low), min(_int(high), _int(low) + limits.PDF_MAP_RANGE)
            if target == "[":
                code = first
                while position < len(tokens) and tokens[position] != "]":
                    if code <= last and isinstance(tokens[position], bytes):
                        self._set(code, _utf16(tokens[position]))
                    code, position = code + 1, position + 1
                position += 1
            elif isinstance(target, bytes):
                self._run(first, last, _utf16(target))

    def _run(self, first: int, last: int, letters: str) -> None:
        if letters:
            head, base = letters[:-1], ord(letters[-1])
            for code in range(first, last + 1):
                sign = base + code - first
                if sign <= 0x10FFFF:
                    self._set(code, head + chr(sign))

    def _set(self, code: int, letters: str) -> None:
        if len(self.letters) < limits.PDF_MAP_ENTRIES and letters not in ("\0", UNKNOWN):
            self.letters[code] = letters


def _int(code: bytes) -> int:
    return int.from_bytes(code, "big")


def _utf16(letters: bytes) -> str:
    if len(letters) == 1:
        return chr(letters[0])
    return letters.decode("utf-16-be", "ignore")


def _tokens(section: bytes) -> Iterator[Any]:
    for match in _HEX_OR_BRACKET.finditer(section):
        if match.group(2):
            yield match.group(2).decode("ascii")
        elif match.group(3):
            yield int(match.group(3)[:9])
        else:
            digits = b"".join(match.group(1).split())
            yield bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
