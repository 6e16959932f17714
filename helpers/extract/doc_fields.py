"""Fields of Word that show something without keeping a result: formulas, signs, buttons.

Sources: [MS-DOC] 2.9.90 (field types), ECMA-376 part 1, 17.16.5 (SYMBOL, MACROBUTTON); Word's
help on EQ. Promises: a formula of EQ comes as LaTeX, or as plain text where it only lays
letters over each other (furigana, letters in circles). Does not: update fields.
"""

from __future__ import annotations

import re

from helpers.extract.symbols import symbol_text

_DEPTH = 32  # formulas within formulas
_WORDS = re.compile(r"\s*(\S+)\s*(.*)", re.DOTALL)
_TOKEN = re.compile(  # a sign's switch, another switch, an escaped sign, a mark, text
    r"\\([lrbfv]c)\\(.)|\\([a-z]{1,3})|\\(.)|([(),;])|([^\\(),;]+)", re.IGNORECASE
)
_RINGS = frozenset("○◯□◇△〇⃝")
_OPERATORS = {"su": r"\sum", "pr": r"\prod", "in": r"\int"}
_FUNCTIONS = frozenset("abdfilorsx")
_LOWERED = "do"
_SYMBOL_FONTS = ("symbol", "wingdings", "webdings")


def shown(code: str) -> str:
    """What a field without a result shows, "" for most."""
    match = _WORDS.match(code)
    if match is None:
        return ""
    name, rest = match[1].upper(), match[2]
    if name == "EQ":
        return _formula(rest)
    if name in ("MACROBUTTON", "GOTOBUTTON"):
        return rest.partition(" ")[2].strip()
    if name == "SYMBOL":
        return _symbol(rest)
    return ""


def _symbol(rest: str) -> str:
    word, _, switches = rest.partition(" ")
    try:
        code = int(word, 0)
    except ValueError:
        return ""
    if any(font in switches.lower() for font in _SYMBOL_FONTS) and code < 0x100:
        return symbol_text(0xF000 | code)
    if code < 0x100 and "\\u" not in switches:
        return bytes((code,)).decode("cp1252", "ignore")
    return symbol_text(code) if 0 <= code <= 0xFFFF else ""


def _formula(code: str) -> str:
    parser = _Parser(code)
    text = parser.sequence(0, top=True).strip()
    return f"[math: {text}]" if parser.is_math and text else text


class _Parser:
    """A formula by recursive descent. `is_math` tells whether it is more than laid-over text."""

    def __init__(self, code: str) -> None:
        self._tokens = list(_TOKEN.finditer(re.sub(r"\\\*\s*(?:\w+|\"[^\"]*\")", "", code)))
        self._at = 0
        self.is_math = False

    def sequence(self, depth: int, top: bool = False) -> str:
        """Text and functions up to the end of an argument."""
        found: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token[5] in (")", ",", ";") and not top:
                break
            self._at += 1
            if token[3] is not None and token[3].lower() in _FUNCTIONS and depth < _DEPTH:
                found.append(self._function(token[3].lower(), depth))
            else:
                found.append(token[4] or token[5] or token[6] or "")
        return "".join(found)

    def _function(self, name: str, depth: int) -> str:
        """A function, its options, and its arguments in brackets."""
        options: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token[5] == "(":
                self._at += 1
                was = self.is_math
                arguments = self._arguments(depth + 1)
                if name in ("o", "x"):  # furigana or a ring is no mathematics
                    self.is_math = was
                return self._made(name, options, arguments)
            if token[3] is not None:
                options.append(token[3].lower())
            elif token[1] is None and (token[6] is None or token[6].strip(" 0123456789-")):
                break
            self._at += 1
        return ""

    def _arguments(self, depth: int) -> list[str]:
        found: list[str] = []
        while True:
            found.append(self.sequence(depth).strip())
            token = self._tokens[self._at] if self._at < len(self._tokens) else None
            self._at += 1
            if token is None or token[5] == ")":
                return found

    def _made(self, name: str, options: list[str], arguments: list[str]) -> str:
        if name in ("o", "x"):
            kept = [text for text in arguments if text and not _beside(text)]
            return "".join(kept or arguments)
        if name in ("l", "d"):
            return ",".join(arguments)
        self.is_math = True
        if name == "f":
            return f"\\frac{{{arguments[0]}}}{{{''.join(arguments[1:])}}}"
        if name == "r":
            index = f"[{arguments[0]}]" if len(arguments) > 1 and arguments[0] else ""
            return f"\\sqrt{index}{{{arguments[-1]}}}"
        if name == "s":
            mark = "_" if _LOWERED in options else "^"
            return f"{mark}{{{''.join(arguments)}}}"
        if name == "i":
            sign = next((_OPERATORS[word] for word in options if word in _OPERATORS), r"\int")
            lower, upper, *rest = [*arguments, "", ""]
            return f"{sign}_{{{lower}}}^{{{upper}}}{''.join(rest)}"
        if name == "a":
            return r"\begin{matrix} " + r" \\ ".join(arguments) + r" \end{matrix}"
        return f"\\left( {', '.join(arguments)} \\right)"


def _beside(text: str) -> bool:
    """Whether an argument only stands above, below or around the text."""
    return text.startswith(("^{", "_{")) or text in _RINGS
