"""Markup that says only how a text looks, cut out before the parser sees it.

An element costs the parser and its two handlers a microsecond, whether or not anything is done
with it, and half of a slide is nothing else; a pattern passes over it in a tenth of that time.

Promises: what is cut out stands whole in one piece, so that the rest is as well-formed as before;
from the first comment or CDATA section of a part on nothing is cut, for what stands in there is no
element. Does not: look at the attributes of what it cuts out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

_NO_ELEMENT = b"<!"


def trimmed(
    pieces: Iterable[bytes], looks: re.Pattern[bytes], wanted: Callable[[], bool] = lambda: True
) -> Iterator[bytes]:
    """The pieces without what `looks` matches, but for what its only group holds.

    A piece stays as it is where `wanted`, asked after those before it were parsed, says so.
    """
    iterator = iter(pieces)
    before = b""
    for piece in iterator:
        # A single byte is looked for at many times the speed of two.
        if b"!" in piece and (_NO_ELEMENT in piece or before + piece[:1] == _NO_ELEMENT):
            yield piece
            break
        before = piece[-1:]
        yield b"".join(filter(None, looks.split(piece))) if wanted() else piece
    yield from iterator


def bare(prefix: str, names: str, within: str, but: str) -> str:
    """The pattern of elements with these local names that are empty, or hold nothing but tags of
    the prefix `within`, of whose local names none is one of `but` or would end the element.
    """
    own = "|".join(names.split())
    other = "|".join((*but.split(), *(names.split() if re.fullmatch(within, prefix) else ())))
    tags = rf"(?:</?{within}:(?!(?:{other})\b)[^<>]*>)*"
    return rf"<{prefix}:(?:{own})\b[^<>]*>(?:(?<=/>)|{tags}</{prefix}:(?:{own})>)"
