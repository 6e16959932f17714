"""Signs, words and blanks of LaTeX: what all languages of equations have in common.

Promises: every letter that comes in goes out, as a command where LaTeX has one; linear time.
Does not: know any language of equations. Data: symbols.txt beside this module.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

CUT = " …"  # stands where an equation was cut
_REMEMBERED = 20_000  # letters whose LaTeX is remembered

_CODE = re.compile(r"\\u([0-9a-f]{4})")
_COMMAND = re.compile(r"\\[A-Za-z]+\Z")
_WORD = re.compile(r"[A-Za-z]{2,}")
# Blanks that LaTeX would pass over and a person would not type either.
_NEEDLESS = re.compile(r"(?<=[{(\[]) | (?=[})\]^_,;'])")
_UNSEEN = "\u2061\u2062\u2063\u2064\u200b\u200c\u200d\u2060\ufeff"  # "applied to", "times"
_STYLES = (
    ("DOUBLE-STRUCK", "mathbb"),
    ("BLACK-LETTER", "mathfrak"),
    ("FRAKTUR", "mathfrak"),
    ("SCRIPT", "mathcal"),
    ("MONOSPACE", "mathtt"),
    ("SANS-SERIF", "mathsf"),
    ("BOLD", "mathbf"),
)


def entries(file_name: str) -> Iterator[tuple[str, list[str]]]:
    """(class, words) of each line of a data file of this folder."""
    text = Path(__file__).with_name(file_name).read_text(encoding="utf-8")
    for line in text.splitlines():
        kind, colon, words = line.partition(":")
        if colon and not line.startswith("#"):
            yield kind, words.split()


def pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """The words two by two; \\uXXXX in front stands for that letter."""
    for sign, command in zip(words[::2], words[1::2], strict=True):
        code = _CODE.fullmatch(sign)
        yield (chr(int(code[1], 16)) if code else sign), command


class _Signs(dict[int, str]):
    """Letter → LaTeX for str.translate; what is not in the data stays, or loses its style."""

    def __missing__(self, code: int) -> str:
        found = self._plain(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = found
        return found

    def _plain(self, letter: str) -> str:
        name = unicodedata.name(letter, "")
        plain = unicodedata.normalize("NFKC", letter)
        styled = name.startswith("MATHEMATICAL ") or (
            "\u2100" <= letter <= "\u214f" and plain != letter
        )
        if not styled or len(plain) != 1:
            return letter
        command = self.get(ord(plain), plain)
        for word, style in _STYLES:
            if word in name:
                return f"\\{style}{{{command.strip()}}}"
        return command


@functools.cache
def _data() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for kind, words in entries("symbols.txt"):
        if kind == "function":
            found.setdefault(kind, {}).update((word, f"\\{word}") for word in words)
        else:
            found.setdefault(kind, {}).update(pairs(words))
    return found


def signs_of(kind: str) -> dict[str, str]:
    """Sign → command of a class of symbols.txt."""
    return _data()[kind]


@functools.cache
def spaced() -> frozenset[str]:
    """Commands and signs with a blank on either side: relations and binary operators."""
    return frozenset((*_data()["relation"].values(), *_data()["binary"].values()))


@functools.cache
def _table() -> _Signs:
    table = _Signs()
    for kind in ("space", "fence", "operator", "letter", "binary", "relation"):
        for sign, command in _data()[kind].items():
            table[ord(sign)] = padded(command) if kind in ("binary", "relation") else apart(command)
    for unseen in _UNSEEN:
        table[ord(unseen)] = ""
    for blank in "\t\n\r ":
        table[ord(blank)] = " "
    return table


def apart(command: str) -> str:
    """A command with the blank that keeps it from growing into the next letter."""
    return command + " " if _COMMAND.search(command) else command


def padded(command: str) -> str:
    """A relation or a binary operator between its neighbours."""
    return f" {command} "


def latex_of_text(text: str) -> str:
    """Mathematical text, letter by letter; names of functions become their commands."""
    return _short(text) if len(text) < 32 else _told(text)


def _told(text: str) -> str:
    if text.isascii() and text.isalnum() and not _WORD.search(text):
        return text
    return _WORD.sub(_function, text.translate(_table()) if not text.isalpha() else _letters(text))


_short = functools.lru_cache(4096)(_told)  # most runs are a letter or a sign


def _letters(text: str) -> str:
    return text if text.isascii() else text.translate(_table())


def _function(found: re.Match[str]) -> str:
    word = found[0]
    before = found.string[found.start() - 1 : found.start()]
    if before == "\\":
        return word
    command = _data()["function"].get(word)
    return word if command is None else f"{command} "


def in_words(text: str) -> str:
    """Ordinary words inside an equation."""
    text = text.translate(_ESCAPED)
    return f" \\text{{{text}}} " if text.strip() else " "


_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in "%$#&_{}"} | {"\\": "\\backslash "})


def one_letter(latex: str) -> bool:
    """Whether an accent over it needs no width: a letter, a digit or a single command."""
    latex = latex.strip()
    return len(latex) <= 1 or _COMMAND.fullmatch(latex) is not None


def accented(command: str, latex: str) -> str:
    """`latex` under (or over) an accent, the wide form of which stands over several letters."""
    latex = latex.strip()
    if not one_letter(latex):
        command = _data()["wide"].get(command, command)
    return f"{command}{{{latex}}}"


def tidy(latex: str) -> str:
    """One line without needless blanks."""
    return _NEEDLESS.sub("", " ".join(latex.split()))


def marked(latex: str) -> str:
    """How an equation stands in its sentence."""
    return f"[math: {latex}]" if latex else ""
