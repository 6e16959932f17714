"""Equations of web pages, books and OpenDocument files (presentation MathML 3) as LaTeX.

Promises: where the author's own LaTeX stands beside the markup (an annotation), that is given;
other annotations, such as StarMath, are left out; what is unknown keeps its letters.
Does not: read content markup beyond its letters, or keep sizes and colours.
"""

from __future__ import annotations

import functools

from helpers.extract.equations.elements import Attributes, Builder, Element
from helpers.extract.equations.signs import (
    accented,
    apart,
    in_words,
    latex_of_text,
    one_letter,
    signs_of,
)

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_TEX = ("tex", "latex")  # in the name of an annotation's encoding
_DISPLAY = "{\\displaystyle "
_VARIANTS = {
    "bold": "mathbf", "bold-italic": "mathbf", "double-struck": "mathbb", "script": "mathcal",
    "bold-script": "mathcal", "fraktur": "mathfrak", "bold-fraktur": "mathfrak",
    "sans-serif": "mathsf", "bold-sans-serif": "mathbf", "monospace": "mathtt",
}  # fmt: skip
_LARGE = frozenset(
    ["msup", "msub", "msubsup", "munder", "mover", "munderover", "msqrt", "mroot", "mfrac"]
)
_LIMITS = frozenset(["lim", "max", "min", "sup", "inf", "limsup", "liminf", "Pr", "det", "gcd"])
_BRACES = ("\\underbrace", "\\overbrace")
_GRIDS = {
    ("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("\\{", "\\}"): "Bmatrix", ("|", "|"): "vmatrix",
    ("\\|", "\\|"): "Vmatrix", ("\\{", ""): "cases",
}  # fmt: skip
_MATRIX = "\\begin{matrix}"
_NO_BAR = "\\genfrac{}{}{0pt}{}"
_FRACTION = "\\frac"
_ROW = " \\\\ "
_ENCLOSED = {
    "box": "\\boxed", "roundedbox": "\\boxed", "radical": "\\sqrt", "top": "\\overline",
    "bottom": "\\underline", "updiagonalstrike": "\\cancel", "downdiagonalstrike": "\\bcancel",
    "horizontalstrike": "\\sout",
}  # fmt: skip
_SPACES = ((1.5, "\\qquad "), (0.9, "\\quad "), (0.25, "\\;"), (0.2, "\\:"), (0.05, "\\,"))


class MathmlBuilder(Builder):
    """Takes what stands inside a math element; names may have a namespace or a prefix."""

    def __init__(self) -> None:
        super().__init__()
        self._tex = ""

    def start(self, name: str, attributes: Attributes) -> None:
        super().start(name.rpartition(" ")[2].rpartition(":")[2], attributes)

    def end(self, name: str = "") -> None:
        """An end tag without its start is passed over; elements left open inside end with it."""
        local = name.rpartition(" ")[2].rpartition(":")[2]
        if name and not self._passed and self._open[-1].name != local:
            if all(element.name != local for element in self._open):
                return
            while self._open[-1].name != local:
                super().end()
        super().end()

    def ended(self, element: Element, parent: Element, latex: str) -> None:
        """Children count by their place, so an empty one is kept."""
        name = element.name
        if name == "annotation":
            kind = (element.attributes.get("encoding") or "").casefold()
            if any(word in kind for word in _TEX) and not self._tex:
                self._tex = undressed(" ".join("".join(element.text).split()))
        elif name != "annotation-xml":
            if not element.parts and name not in self.rules:
                latex = latex_of_text(_text(element))
            parent.parts.append((name, latex))

    def told(self, root: Element) -> str:
        return _row(root)

    def latex(self) -> str:
        return self._tex or super().latex()


def undressed(tex: str) -> str:
    """Without the braces in which some programs set the whole in display style."""
    if tex.startswith(_DISPLAY) and tex.endswith("}"):
        depth = 0
        for at, sign in enumerate(tex):
            depth += (sign == "{") - (sign == "}")
            if not depth:
                return tex[len(_DISPLAY) : -1].strip() if at == len(tex) - 1 else tex
    return tex


def _text(element: Element) -> str:
    return " ".join("".join(element.text).split())


def _attribute(element: Element, name: str) -> str:
    return element.attributes.get(name) or ""


def _letters(element: Element) -> str:
    text = _text(element)
    latex = latex_of_text(text)
    if len(text) > 1 and latex == text and not text.isascii():
        return in_words(text)
    style = _VARIANTS.get(_attribute(element, "mathvariant"))
    return f"\\{style}{{{latex.strip()}}}" if style and latex.strip() else latex


def _sign(element: Element) -> str:
    text = _text(element)
    return latex_of_text(text) if text else ""


def _words(element: Element) -> str:
    text = "".join(element.text)
    return in_words(" ".join(text.split())) if text.strip() else " "


def _space(element: Element) -> str:
    if _attribute(element, "linebreak") == "newline":
        return _ROW
    width = _attribute(element, "width").strip()
    try:
        em = float(width.removesuffix("em")) if width.endswith("em") else 0.0
    except ValueError:
        return " "
    return next((command for least, command in _SPACES if em >= least), " ")


def _child(element: Element, place: int) -> str:
    return element.parts[place][1].strip() if place < len(element.parts) else ""


def _base(element: Element) -> str:
    """The first child, in braces where a script would cling to its end only."""
    latex = _child(element, 0)
    name = element.parts[0][0] if element.parts else ""
    if not latex:
        return "{}"
    if one_letter(latex) or latex.isalnum() or (name not in _LARGE and _closed(latex)):
        return latex
    return f"{{{latex}}}"


def _closed(latex: str) -> bool:
    """Whether it is one thing: a command with its arguments, or what stands in one fence."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    if latex[0] == "\\" and latex.count("{") == 1 and latex.endswith("}"):
        return True
    if pairs.get(latex[0]) != latex[-1]:
        return False
    depth = 0
    for at, sign in enumerate(latex):
        depth += (sign == latex[0]) - (sign == latex[-1])
        if not depth:
            return at == len(latex) - 1
    return False


def _scripts(element: Element) -> str:
    latex = _base(element)
    signs = {"msub": "_", "msup": "^"}.get(element.name, "_^")
    for place, sign in enumerate(signs, 1):
        script = _child(element, place)
        if script and sign == "^" and not script.strip("'"):
            latex += script
        elif script:
            latex += f"{sign}{{{script}}}"
    return latex + " "


def _around(element: Element) -> str:
    """Accents, braces and limits under and over something."""
    base = _child(element, 0)
    under = _child(element, 1) if element.name != "mover" else ""
    over = _child(element, 2 if element.name == "munderover" else 1)
    over = over if element.name != "munder" else ""
    if _takes_limits(base):
        below, above = (f"_{{{under}}}" if under else ""), (f"^{{{over}}}" if over else "")
        return f"{base}{below}{above} "
    if over:
        base = _beside(base, over, "accent", "^", "\\overset")
    if under:
        base = _beside(base, under, "under", "_", "\\underset")
    return base


def _takes_limits(base: str) -> bool:
    name = base.removeprefix("\\operatorname{").removesuffix("}").strip("\\ ")
    return base in signs_of("operator").values() or name in _LIMITS


def _beside(base: str, other: str, kind: str, sign: str, command: str) -> str:
    accent = _commands(kind).get(other)
    if accent is not None:
        return accented(accent, base)
    if base.startswith(_BRACES) and (sign == "^") == base.startswith("\\over"):
        return f"{base}{sign}{{{other}}} "
    return f"{command}{{{other}}}{{{base}}}"


@functools.cache
def _commands(kind: str) -> dict[str, str]:
    """What an accent's sign became as an operator → the accent's own command."""
    return {latex_of_text(sign).strip(): command for sign, command in signs_of(kind).items()}


def _fraction(element: Element) -> str:
    thin = _attribute(element, "linethickness").strip() in ("0", "0pt", "0em", "0px", "0.0")
    return f"{_NO_BAR if thin else _FRACTION}{{{_child(element, 0)}}}{{{_child(element, 1)}}}"


def _row(element: Element) -> str:
    """A row; a fence around nothing but a table or a binomial joins it."""
    parts = [(name, latex) for name, latex in element.parts if latex.strip()]
    if not 2 <= len(parts) <= 3 or parts[0][0] != "mo":
        return element.whole()
    inner, begin = parts[1][1].strip(), parts[0][1].strip()
    end = parts[2][1].strip() if len(parts) == 3 else ""
    return _in_fence(begin, inner, end) or element.whole()


def _in_fence(begin: str, inner: str, end: str) -> str:
    grid = _GRIDS.get((begin, end))
    lone = inner.startswith(_MATRIX) and inner.endswith("{matrix}") and inner.find(_MATRIX, 1) < 0
    if grid and lone:
        return inner.replace("{matrix}", f"{{{grid}}}")
    if (begin, end) == ("(", ")") and inner.startswith(_NO_BAR):
        return "\\binom" + inner.removeprefix(_NO_BAR)
    return ""


def _fenced(element: Element) -> str:
    begin, end = (
        latex_of_text(element.attributes.get(name, sign) or "").strip()
        for name, sign in (("open", "("), ("close", ")"))
    )
    inner = [latex.strip() for _, latex in element.parts]
    if len(inner) == 1 and (found := _in_fence(begin, inner[0], end)):
        return found
    separators = "".join((element.attributes.get("separators", ",") or "").split())
    text = inner[0] if inner else ""
    for place, latex in enumerate(inner[1:]):
        sign = separators[min(place, len(separators) - 1)] if separators else ""
        text += latex_of_text(sign) + latex
    return f"\\left{begin or '.'} {text} \\right{end or '.'} "


def _table(element: Element) -> str:
    return f"{_MATRIX} {_ROW.join(latex.strip() for _, latex in element.parts)} \\end{{matrix}}"


def _cells(element: Element) -> str:
    cells = element.parts[1:] if element.name == "mlabeledtr" else element.parts
    return " & ".join(latex.strip() for _, latex in cells)


def _multiscripts(element: Element) -> str:
    """Base, pairs of scripts, and pairs of scripts before the base."""
    before = ""
    after = _base(element)
    place, left = 1, False
    while place < len(element.parts):
        if element.parts[place][0] == "mprescripts":
            place, left = place + 1, True
            continue
        below, above = _child(element, place), _child(element, place + 1)
        pair = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
        before, after = (before + pair, after) if left else (before, after + pair)
        place += 2
    return f"{'{}' if before else ''}{before}{after} "


def _enclosed(element: Element) -> str:
    inner = element.whole()
    for kind in _attribute(element, "notation").split():
        if kind in _ENCLOSED:
            inner = f"{_ENCLOSED[kind]}{{{inner}}}"
    return inner


def _chosen(element: Element) -> str:
    """Of a toggle's children the one that shows at first."""
    chosen = _attribute(element, "selection").strip()
    return apart(_child(element, int(chosen) - 1 if chosen.isdecimal() and chosen != "0" else 0))


def _apart(element: Element) -> str:
    """Sums as they are done at school: the numbers, one after the other."""
    return " ".join(latex.strip() for _, latex in element.parts)


MathmlBuilder.rules = {
    "mi": _letters,
    "mn": _letters,
    "mo": _sign,
    "ci": _letters,
    "cn": _letters,
    "mtext": _words,
    "ms": _words,
    "mspace": _space,
    "msup": _scripts,
    "msub": _scripts,
    "msubsup": _scripts,
    "munder": _around,
    "mover": _around,
    "munderover": _around,
    "mmultiscripts": _multiscripts,
    "mprescripts": lambda element: "",
    "none": lambda element: "",
    "mfrac": _fraction,
    "msqrt": lambda element: f"\\sqrt{{{element.whole()}}}",
    "mroot": lambda element: f"\\sqrt[{_child(element, 1)}]{{{_child(element, 0)}}}",
    "mrow": _row,
    "math": _row,
    "mfenced": _fenced,
    "mtable": _table,
    "mtr": _cells,
    "mlabeledtr": _cells,
    "menclose": _enclosed,
    "mphantom": lambda element: f"\\phantom{{{element.whole()}}}",
    "maction": _chosen,
    **dict.fromkeys(["mstack", "mlongdiv", "msgroup", "msrow", "mscarries"], _apart),
}
