"""The Hangul equation script ("{a+b} over {c}") as LaTeX ("\\frac{a + b}{c}").

Written from Hancom's published description of its document formats, part equations (revision
1.3). Promises: words count whatever their case where the script says so; what is unknown stays
as the text it is; nesting, length and time are bounded. Does not: check that a script is sound;
what is missing in it is missing in the LaTeX.
"""

from __future__ import annotations

import itertools
import sys

from helpers.extract.equations.hwp_tokens import FONTS, FRACTIONS, LEFT_OF, RAISED, tokens_of
from helpers.extract.equations.signs import (
    accented,
    apart,
    in_words,
    latex_of_text,
    padded,
    spaced,
    tidy,
)
from helpers.limits import EQUATION_CHARS, EQUATION_DEPTH

_FRAMES = 12 * EQUATION_DEPTH  # Python frames; a level of nesting takes 7 at most

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
_NOT = "\\not"
_LIMITED = frozenset(
    f"\\{name}" for name in ("sum", "prod", "coprod", "int", "oint", "lim", "bigcap", "bigcup")
)
_NEGATED = {"=": "\\neq", "\\in": "\\notin", "\\equiv": "\\not\\equiv"}
_ENDS_SCRIPT = frozenset("^_{}#&~`)];")
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


class _Script:
    """One script on its way: tokens, and the position among them."""

    def __init__(self, script: str) -> None:
        self._tokens = tokens_of(script)
        self._at = 0
        self._depth = 0
        self._fences = 0  # LEFT without RIGHT so far
        self._font = ""

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
        if kind == "structure" and text in FRACTIONS:
            self._at += 1
            above = cell.pop().strip() if cell else ""
            below = self._operand().strip()
            if text == "over":
                cell.append(f"\\frac{{{above}}}{{{below}}}")
            elif text == "atop":
                cell.append(f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{above}}}{{{below}}}")
            else:
                cell.append(f"\\binom{{{above}}}{{{below}}}")
        elif kind == "structure" and text in LEFT_OF:
            self._at += 1
            base = cell.pop().strip() if cell else ""
            cell.append(f"{{}}{LEFT_OF[text]}{{{self._atom().strip()}}}{base}")
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
        return RAISED.get(text, "") if kind in ("sign", "structure") else ""

    def _scripts(self, base: str, sign: str) -> str:
        found = {"_": "", "^": ""}
        limits = base.strip() in _LIMITED
        while sign and not found[sign]:
            self._at += 1
            found[sign] = self._script(sign, limits and sign == "_")
            sign = self._raised()
        latex = base.rstrip()
        for sign in "_^":
            if found[sign]:
                latex += f"{sign}{{{found[sign]}}}"
        return latex + (" " if base.endswith(" ") else "")

    def _script(self, sign: str, limits: bool) -> str:
        """What is raised: one term, itself raised further where the same sign follows at once."""
        chain = [self._term(limits).strip()]
        while self._raised() == sign and len(chain) < EQUATION_DEPTH and self._tokens[self._at][2]:
            self._at += 1
            if self._glued():  # else it only ends the script, as in "x^2^ y"
                chain.append(self._term(limits).strip())
        latex = chain.pop()
        while chain:
            latex = f"{chain.pop()}{sign}{{{latex}}}"
        return latex or "{}"

    def _term(self, limits: bool) -> str:
        """What a script holds: a group, or the letters that follow without a blank, up to a
        sign; of `limits`, such as sum_k=1, signs too.
        """
        if self._at >= len(self._tokens) or self._tokens[self._at][:2] == ("sign", "{"):
            return self._atom()
        parts: list[str] = []
        opened, signed = 0, False  # -x: the sign alone is no script
        while not parts or signed or (self._glued() and self._goes_on(opened, limits)):
            text = self._tokens[self._at][1]
            opened += (text in ("(", "[")) - (text in (")", "]"))
            before = self._at
            parts.append(self._atom())
            if self._at == before or self._at >= len(self._tokens):
                break
            signed = len(parts) == 1 and text in ("+", "-", "+-", "-+") and self._glued()
        return "".join(parts)

    def _glued(self) -> bool:
        """Whether the next token follows without a blank."""
        return self._at < len(self._tokens) and self._tokens[self._at][2]

    def _goes_on(self, opened: int, limits: bool) -> bool:
        """Whether the next token belongs to the script that is being read."""
        kind, text, _ = self._tokens[self._at]
        if kind == "structure":
            return text in ("sqrt", "left", *FONTS)
        if kind != "sign":
            return True
        if text in (")", "]"):
            return opened > 0
        if text == ",":
            return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1][2]
        if _SIGNS.get(text) in spaced():
            return limits or opened > 0
        return text not in _ENDS_SCRIPT

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
        if text in FONTS:
            return self._fonted(text)
        if text in ("rel", "buildrel"):
            return self._related(text == "rel")
        if text == "binom":
            above = self._atom().strip()
            return f"\\binom{{{above}}}{{{self._atom().strip()}}}"
        if text == "not":
            sign = self._atom().strip()
            return f" {_NEGATED.get(sign) or _NOT + sign} "
        if text == "color":
            self._atom()
            return self._atom()
        if text == "scale":
            self._atom()
            return ""
        if text == "longdiv":
            return " ".join(self._atom().strip() for _ in range(3))
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
        self._font = FONTS[text]
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
