"""The words and signs of the Hangul equation script: what each is, and its LaTeX.

Data: hwp_words.txt beside this module. Does not: know how words work together.
"""

from __future__ import annotations

import functools
import re
from typing import TypeAlias

from helpers.extract.equations.signs import entries, latex_of_text, pairs, spaced

Token: TypeAlias = tuple[str, str, bool]  # class, LaTeX or word, glued to the one before

_TOKEN = re.compile(
    r'(?P<space>\s+)|"(?P<quoted>[^"]*)"?|(?P<word>[A-Za-z]+)|(?P<number>[0-9]+(?:[.,][0-9]+)*)'
    r"|(?P<command>\\[A-Za-z]+)|(?P<other>[^\x00-\x7f]+)"
    r"|(?P<sign><->|<=>|<<<|>>>|<<|>>|<=|>=|->|<-|=>|!=|==|\+-|-\+|.)",
    re.DOTALL,
)
FRACTIONS = frozenset(["over", "atop", "choose"])
RAISED = {"^": "^", "_": "_", "sup": "^", "sub": "_", "from": "_", "to": "^"}
LEFT_OF = {"lsup": "^", "lsub": "_"}
FONTS = {"rm": "mathrm", "it": "", "bold": "mathbf", "rmbold": "mathbf", "itbold": "mathbf"}
_STRUCTURES = (
    "sqrt", "root", "of", "left", "right", "rel", "buildrel", "binom", "not", "color", "scale",
    "longdiv",
)  # fmt: skip
_RUN_ON = re.compile(r"[A-Za-z]?(?:(?:sin|cos|tan|cot|sec|csc|log|ln)[A-Za-z]?)+")
_RUN_ON_PARTS = re.compile(r"sin|cos|tan|cot|sec|csc|log|ln|.")


def tokens_of(script: str) -> list[Token]:
    """The script's words, numbers and signs, in order."""
    tokens: list[Token] = []
    glued = False
    for found in _TOKEN.finditer(script):
        kind = found.lastgroup or ""
        if kind != "space":
            _take(tokens, kind, found[kind], glued)
        glued = kind != "space"
    return tokens


@functools.cache
def _words() -> dict[str, tuple[str, str]]:
    """Word → (class, LaTeX); words under `exact` as they are, all others in lower case."""
    found: dict[str, tuple[str, str]] = {}
    for kind, words in entries("hwp_words.txt"):
        if kind in ("text", "column", "dropped"):
            found.update((word, (kind, word)) for word in words)
        elif kind != "capital":
            found.update((word, (kind, command)) for word, command in pairs(words))
    for word in (*FRACTIONS, *RAISED, *LEFT_OF, *FONTS):
        found[word] = ("structure", word)
    for word in _STRUCTURES:
        found[word] = ("structure", word)
    return found


@functools.cache
def _capitals() -> dict[str, str]:
    return {
        word: command
        for kind, words in entries("hwp_words.txt")
        if kind == "capital"
        for word, command in pairs(words)
    }


@functools.lru_cache(4096)
def _meaning(word: str) -> tuple[str, str]:
    """(class, LaTeX) of a word; ("name", word) for one that means nothing."""
    known = _words()
    found = known.get(word)
    if found is None or found[0] not in ("exact", "greek"):
        small = word.lower()
        found = known.get(small, found)
        if found is not None and found[0] == "greek" and word[0].isupper():
            capital = _capitals().get(small)
            return ("letter", capital) if capital else found
    if found is None:
        return "name", word
    kind, latex = found
    if kind == "exact":
        kind = "relation" if latex in spaced() else "operator" if "big" in latex else "letter"
    return kind, latex


def _take(tokens: list[Token], kind: str, text: str, glued: bool) -> None:
    if kind == "word":
        kind, meaning = _meaning(text)
        if kind == "name" and _RUN_ON.fullmatch(text):  # sinx: a function and its letter
            for part in _RUN_ON_PARTS.findall(text):
                tokens.append((*_meaning(part), glued))
                glued = True
            return
        text = meaning
        if (kind, text) == ("structure", "sqrt") and glued and _take_root(tokens):
            text = "of"
    elif kind == "other" and any(map(str.isalpha, text)) and not _mathematical(text):
        kind = "quoted"
    tokens.append((kind, text, glued))


def _take_root(tokens: list[Token]) -> bool:
    """`^3sqrt x` is a root with its index: what was taken as a script becomes that."""
    for size in (2, 4):  # ^3 or ^{3}
        start = tokens[-size:]
        inner = [token[1] for token in start[1:]]
        braced = size == 4 and (inner[:1], inner[-1:]) == (["{"], ["}"])
        if len(start) == size and start[0][:2] == ("sign", "^") and (size == 2 or braced):
            tokens[-size] = ("structure", "root", start[0][2])
            return True
    return False


def _mathematical(text: str) -> bool:
    """Whether letters outside ASCII are Greek or other signs of mathematics, no words."""
    return latex_of_text(text) != text
