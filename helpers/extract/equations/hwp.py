"""The Hangul equation script ("{a+b} over {c}") as LaTeX ("\\frac{a + b}{c}").

Written from Hancom's published description of its document formats, part equations (revision
1.3). Promises: words count whatever their case where the script says so; what is unknown stays
as the text it is; nesting, length and time are bounded. Does not: check that a script is sound;
what is missing in it is missing in the LaTeX.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys

from helpers.extract.equations.signs import (
    accented,
    apart,
    entries,
    in_words,
    latex_of_text,
    padded,
    pairs,
    spaced,
    tidy,
)
from helpers.limits import EQUATION_CHARS, EQUATION_DEPTH

_FRAMES = 12 * EQUATION_DEPTH  # Python frames; a level of nesting takes 7 at most

_TOKEN = re.compile(
    r'(?P<space>\s+)|"(?P<quoted>[^"]*)"?|(?P<word>[A-Za-z]+)|(?P<number>[0-9]+(?:[.,][0-9]+)*)'
    r"|(?P<command>\\[A-Za-z]+)|(?P<other>[^\x00-\x7f]+)"
    r"|(?P<sign><->|<=>|<<<|>>>|<<|>>|<=|>=|->|<-|=>|!=|==|\+-|-\+|.)",
    re.DOTALL,
)
_SIGNS = {
    "<->": "\\leftrightarrow", "<=>": "\\Leftrightarrow", "<<<": "\\lll", ">>>": "\\ggg",
    "<<": "\\ll", ">>": "\\gg", "<=": "\\leq", ">=": "\\geq", "->": "\\rightarrow",
    "<-": "\\leftarrow", "=>": "\\Rightarrow", "!=": "\\neq", "==": "\\equiv",
    "+-": "\\pm", "-+": "\\mp", "+": "+", "-": "-", "=": "=", "<": "<", ">": ">", "*": "*",
    "~": "~", "`": "\\,", "%": "\\%", "$": "\\$", "\\": "\\backslash",
}  # fmt: skip
_FENCES = {
    "{": "\\{", "}": "\\}", "<": "\\langle", ">": "\\rangle", "lbrace": "\\{", "rbrace": "\\}",
    "vert": "|", "line": "|", "dline": "\\|", "lceil": "\\lceil", "rceil": "\\rceil",
    "lfloor": "\\lfloor", "rfloor": "\\rfloor", "langle": "\\langle", "rangle": "\\rangle",
    "ceil": "\\lceil", "floor": "\\lfloor",
}  # fmt: skip
_FENCE_SIGNS = frozenset("()[]|/.")
_FRACTIONS = frozenset(["over", "atop", "choose"])
_RAISED = {"^": "^", "_": "_", "sup": "^", "sub": "_", "from": "_", "to": "^"}
_LEFT_OF = {"lsup": "^", "lsub": "_"}
_FONTS = {"rm": "mathrm", "it": "", "bold": "mathbf", "rmbold": "mathbf", "itbold": "mathbf"}
_ARROWS = {"\\leftarrow": "\\xleftarrow", "\\rightarrow": "\\xrightarrow"}

Cell = list[str]
Rows = list[list[Cell]]


def latex_of_hwp(script: str) -> str:
    """The LaTeX of a script, in one line. Beyond EQUATION_CHARS code points the rest stays as
    it is.
    """
    rest = script[EQUATION_CHARS:]
    allowed = sys.getrecursionlimit()
    sys.setrecursionlimit(max(allowed, _FRAMES))
    try:
        latex = _Script(script[:EQUATION_CHARS]).whole()
    except RecursionError:  # the caller stands deep already
        latex = tidy(script[:EQUATION_CHARS])
    finally:
        sys.setrecursionlimit(allowed)
    return f"{latex} {tidy(rest)}" if rest else latex


@functools.cache
def _words() -> dict[str, tuple[str, str]]:
    """Word → (class, LaTeX); words under `exact` as they are, all others in lower case."""
    found: dict[str, tuple[str, str]] = {}
    for kind, words in entries("hwp_words.txt"):
        if kind in ("text", "column", "dropped"):
            found.update((word, (kind, word)) for word in words)
        elif kind != "capital":
            found.update((word, (kind, command)) for word, command in pairs(words))
    for word in (*_FRACTIONS, *_RAISED, *_LEFT_OF, *_FONTS):
        found[word] = ("structure", word)
    for word in ("sqrt", "root", "of", "left", "right", "rel", "buildrel", "binom", "not", "color"):
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


class _Script:
    """One script on its way: tokens, and the position among them."""

    def __init__(self, script: str) -> None:
        self._tokens: list[tuple[str, str, bool]] = []  # class, text, glued to the one before
        glued = False
        for found in _TOKEN.finditer(script):
            kind = found.lastgroup or ""
            if kind != "space":
                self._take(kind, found[kind], glued)
            glued = kind != "space"
        self._at = 0
        self._depth = 0
        self._fences = 0  # LEFT without RIGHT so far
        self._font = ""

    def _take(self, kind: str, text: str, glued: bool) -> None:
        if kind == "word":
            kind, text = _meaning(text)
        elif kind == "other" and any(map(str.isalpha, text)) and not _mathematical(text):
            kind = "quoted"
        self._tokens.append((kind, text, glued))

    def whole(self) -> str:
        """The script to its end; a closing brace too many is passed over."""
        rows: Rows = [[[]]]
        while self._at < len(self._tokens):
            self._fill(rows)
            self._at += 1
        return tidy(_lines(rows))

    # --- sequences ------------------------------------------------------------------------

    def _fill(self, rows: Rows) -> None:
        """Read items into `rows` up to the closing brace, the RIGHT of an open LEFT or the end."""
        tokens = self._tokens
        while self._at < len(tokens):
            kind, text, _ = tokens[self._at]
            if kind == "sign" and text in "}#&":
                if text == "}":
                    return
                self._at += 1
                if text == "#":
                    rows.append([[]])
                else:
                    rows[-1].append([])
            elif kind == "structure" and text == "right" and self._fences:
                return
            else:
                self._item(rows[-1][-1], kind, text)

    def _item(self, cell: Cell, kind: str, text: str) -> None:
        """One operand, or an operator together with the operand before it."""
        if kind == "structure" and text in _FRACTIONS:
            self._at += 1
            above = cell.pop().strip() if cell else ""
            below = self._operand().strip()
            if text == "over":
                cell.append(f"\\frac{{{above}}}{{{below}}}")
            elif text == "atop":
                cell.append(f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{above}}}{{{below}}}")
            else:
                cell.append(f"\\binom{{{above}}}{{{below}}}")
        elif kind == "structure" and text in _LEFT_OF:
            self._at += 1
            base = cell.pop().strip() if cell else ""
            cell.append(f"{{}}{_LEFT_OF[text]}{{{self._atom().strip()}}}{base}")
        else:
            cell.append(self._operand())

    def _operand(self) -> str:
        """An atom with what is raised or lowered beside it."""
        sign = self._raised()
        if sign:
            return self._scripts("", sign)
        atom = self._atom()
        sign = self._raised()
        return self._scripts(atom, sign) if sign else atom

    def _raised(self) -> str:
        """The kind of script that follows, "^" or "_", or an empty string."""
        if self._at >= len(self._tokens):
            return ""
        kind, text, _ = self._tokens[self._at]
        return _RAISED.get(text, "") if kind in ("sign", "structure") else ""

    def _scripts(self, base: str, sign: str) -> str:
        found = {"_": "", "^": ""}
        while sign and not found[sign]:
            self._at += 1
            found[sign] = self._script(sign)
            sign = self._raised()
        latex = base.rstrip()
        for sign in "_^":
            if found[sign]:
                latex += f"{sign}{{{found[sign]}}}"
        return latex + (" " if base.endswith(" ") else "")

    def _script(self, sign: str) -> str:
        """What is raised: one atom, itself raised further where the same sign follows."""
        chain = [self._atom().strip()]
        while self._raised() == sign and len(chain) < EQUATION_DEPTH:
            self._at += 1
            chain.append(self._atom().strip())
        latex = chain.pop()
        while chain:
            latex = f"{chain.pop()}{sign}{{{latex}}}"
        return latex or "{}"

    # --- atoms ----------------------------------------------------------------------------

    def _atom(self) -> str:
        """The next token, with the arguments it asks for."""
        if self._at >= len(self._tokens) or self._closing():
            return ""
        kind, text, _ = self._tokens[self._at]
        self._at += 1
        if kind in ("name", "number"):
            return self._name(kind, text)
        if kind == "sign":
            return self._group() if text == "{" else _sign(text)
        if kind in ("greek", "letter", "command"):
            return self._styled(apart(text))
        if kind in ("relation", "binary"):
            return padded(text)
        if kind in ("operator", "function"):
            return apart(text)
        if kind in ("quoted", "text"):
            return in_words(text)
        if kind == "other":
            return latex_of_text(text)
        return self._deeper(kind, text)

    def _closing(self) -> bool:
        kind, text, _ = self._tokens[self._at]
        if kind == "sign":
            return text in "}#&"
        return text == "right" and kind == "structure" and self._fences > 0

    def _name(self, kind: str, text: str) -> str:
        """A name or a number, with names and numbers glued to it."""
        parts = ["" if self._tokens[self._at - 1][2] else " ", self._lettered(kind, text)]
        while self._at < len(self._tokens):
            kind, text, glued = self._tokens[self._at]
            if not glued or kind not in ("name", "number"):
                break
            parts.append(self._lettered(kind, text))
            self._at += 1
        return "".join(parts)

    def _lettered(self, kind: str, text: str) -> str:
        return text if kind == "number" else self._styled(text)

    def _styled(self, text: str) -> str:
        return f"\\{self._font}{{{text.strip()}}}" if self._font and text.strip() else text

    def _group(self) -> str:
        """What stands in braces, the opening one having been read."""
        if self._depth >= EQUATION_DEPTH:
            return ""  # the braces of what is nested deeper are passed over
        rows: Rows = [[[]]]
        self._depth += 1
        font = self._font
        self._fill(rows)
        self._close()
        self._font = font
        self._depth -= 1
        return _lines(rows)

    def _close(self) -> None:
        """Pass over the closing brace, if that is what ended the group."""
        if self._at < len(self._tokens) and self._tokens[self._at][:2] == ("sign", "}"):
            self._at += 1

    def _deeper(self, kind: str, text: str) -> str:
        """A word with arguments, none of them nested beyond the bound."""
        if self._depth >= EQUATION_DEPTH:
            return in_words(text)
        self._depth += 1
        try:
            if kind == "accent":
                return accented(text, self._atom())
            if kind == "brace":
                return self._brace(text)
            if kind in ("grid", "column"):
                return self._grid(kind, text)
            if kind == "dropped":
                return self._atom()
            return self._structure(text)
        finally:
            self._depth -= 1

    def _structure(self, text: str) -> str:
        if text == "sqrt" or text == "root":
            return self._root()
        if text == "left":
            return self._fenced()
        if text == "right":  # without a LEFT
            return self._fence().removeprefix(".")
        if text in _FONTS:
            return self._fonted(text)
        if text in ("rel", "buildrel"):
            return self._related(text == "rel")
        if text == "binom":
            above = self._atom().strip()
            return f"\\binom{{{above}}}{{{self._atom().strip()}}}"
        if text == "not":
            return f" \\not{self._atom().strip()} "
        if text == "color":
            self._atom()
            return self._atom()
        return in_words(text)

    def _root(self) -> str:
        inner = self._operand().strip()
        if self._at < len(self._tokens) and self._tokens[self._at][:2] == ("structure", "of"):
            self._at += 1
            return f"\\sqrt[{inner}]{{{self._operand().strip()}}}"
        return f"\\sqrt{{{inner}}}"

    def _fenced(self) -> str:
        """LEFT ( … RIGHT ), the word LEFT having been read."""
        rows: Rows = [[[]]]
        opening = self._fence()
        self._fences += 1
        self._fill(rows)
        self._fences -= 1
        closing = "."
        if self._at < len(self._tokens) and self._tokens[self._at][1] == "right":
            self._at += 1
            closing = self._fence()
        return f"\\left{apart(opening)} {_lines(rows).strip()} \\right{apart(closing)}"

    def _fence(self) -> str:
        """The fence after LEFT or RIGHT; "." where there is none."""
        if self._at >= len(self._tokens):
            return "."
        kind, text, _ = self._tokens[self._at]
        fence = text if text in _FENCE_SIGNS else _FENCES.get(text)
        if fence is None and kind == "letter":
            fence = text
        if fence is None:
            fence = latex_of_text(text).strip() if kind == "other" and len(text) == 1 else None
        if fence is None:
            return "."
        self._at += 1
        return fence

    def _fonted(self, text: str) -> str:
        """A change of font: for the group or the word that follows, or (rm, it) from here on."""
        font = self._font
        follows = self._tokens[self._at] if self._at < len(self._tokens) else ("", "", False)
        self._font = _FONTS[text]
        if follows[:2] != ("sign", "{") and text in ("rm", "it"):
            return ""
        inner = self._atom()
        self._font = font
        return inner

    def _brace(self, command: str) -> str:
        over = self._atom().strip()
        mark = "_" if "under" in command else "^"
        note = ""
        if self._at < len(self._tokens) and self._tokens[self._at][:2] == ("sign", "{"):
            note = f"{mark}{{{self._atom().strip()}}}"
        return f"{command}{{{over}}}{note}"

    def _related(self, both: bool) -> str:
        """REL sign {above} {below}, or BUILDREL sign {above}."""
        sign = self._atom().strip()
        above = self._atom().strip()
        below = self._atom().strip() if both else ""
        if sign in _ARROWS:
            return f" {_ARROWS[sign]}{f'[{below}]' if below else ''}{{{above}}} "
        latex = f"\\overset{{{above}}}{{{sign}}}" if above else sign
        return f" \\underset{{{below}}}{{{latex}}} " if below else f" {latex} "

    def _grid(self, kind: str, name: str) -> str:
        """A matrix, a pile, or cases: the rows of the group that follows."""
        rows: Rows = [[[]]]
        if self._at < len(self._tokens) and self._tokens[self._at][:2] == ("sign", "{"):
            self._at += 1
            self._fill(rows)
            self._close()
        lines = [["".join(cell).strip() for cell in row] for row in rows]
        if kind == "column":
            return "\0" + "\1".join(line[0] for line in lines)
        if lines[0][0].startswith("\0"):
            columns = [column.split("\1") for column in lines[0][0].split("\0")[1:]]
            lines = [list(line) for line in itertools.zip_longest(*columns, fillvalue="")]
        if not any(map(any, lines[-1:])) and len(lines) > 1:
            lines.pop()
        name, _, align = name.partition(":")
        body = " \\\\ ".join(" & ".join(line) for line in lines)
        return f"\\begin{{{name}}}{f'{{{align}}}' if align else ''} {body} \\end{{{name}}}"


def _sign(text: str) -> str:
    command = _SIGNS.get(text, text)
    return padded(command) if command in spaced() else apart(command)


def _lines(rows: Rows) -> str:
    """What stands in a group: usually one cell, else lines and columns as they are."""
    if len(rows) == 1 and len(rows[0]) == 1:
        return "".join(rows[0][0])
    return " \\\\ ".join(" & ".join("".join(cell).strip() for cell in row) for row in rows)


def _mathematical(text: str) -> bool:
    """Whether letters outside ASCII are Greek or other signs of mathematics, no words."""
    return latex_of_text(text) != text
