"""Equations of Word and PowerPoint (Office Math, ECMA-376 part 1, 22.1) as LaTeX.

Promises: every construct of the standard is told, styles of letters among them; what was
deleted is left out; what is unknown keeps its letters. Does not: keep sizes, colours or breaks.
"""

from __future__ import annotations

from helpers.extract.equations.elements import Attributes, Builder, Element
from helpers.extract.equations.signs import (
    accented,
    apart,
    in_words,
    latex_of_text,
    one_letter,
    signs_of,
)

MATH = (
    "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "http://purl.oclc.org/ooxml/officeDocument/math",
)
_PREFIXES = tuple(f"{uri} " for uri in MATH)
_DELETED = ("del", "moveFrom", "instrText", "delText", "delInstrText")
_TEXTS = {
    "r": "words",
    "t": "t",
    "tab": "blank",
    "br": "blank",
    "cr": "blank",
}  # of WordprocessingML
_OFF = ("0", "off", "false")
_SCRIPTS = {
    "double-struck": "mathbb", "script": "mathcal", "fraktur": "mathfrak",
    "sans-serif": "mathsf", "monospace": "mathtt",
}  # fmt: skip
_LARGE = frozenset(
    [
        "sSup",
        "sSub",
        "sSubSup",
        "sPre",
        "rad",
        "limLow",
        "limUpp",
        "acc",
        "bar",
        "groupChr",
        "phant",
        "nary",
        "func",
        "f",
    ]
)
_SCRIPTED = ("sSup", "sSub", "sSubSup")
_UNDER_LIMITS = frozenset(
    ["\\lim", "\\max", "\\min", "\\sup", "\\inf", "\\limsup", "\\liminf", "\\sum", "\\prod"]
)
_ROW = " \\\\ "
_NO_BAR = "\\genfrac{}{}{0pt}{}"
_GRIDS = {
    ("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("{", "}"): "Bmatrix",
    ("|", "|"): "vmatrix", ("‖", "‖"): "Vmatrix",
}  # fmt: skip
_MATRIX = "\\begin{matrix}"
_LINES = "\\begin{aligned}"
_ARROWS = {"→": "\\xrightarrow", "←": "\\xleftarrow", "⇒": "\\xRightarrow", "⇐": "\\xLeftarrow"}


class OmmlBuilder(Builder):
    """Takes what stands inside an m:oMath; names are as the scanner reports them."""

    silent = frozenset(["deleted"])

    def start(self, name: str, attributes: Attributes) -> None:
        local = name.rpartition(" ")[2]
        if name.startswith(_PREFIXES):
            super().start(local, attributes)
        elif local in _DELETED:
            super().start("deleted", attributes)
        else:
            super().start(_TEXTS.get(local, "other"), attributes)

    def characters(self, text: str) -> None:
        if self._open[-1].name == "t":
            super().characters(text)

    def ended(self, element: Element, parent: Element, latex: str) -> None:
        name = element.name
        if name.endswith("Pr"):
            parent.props.update(element.props)
        elif parent.name.endswith("Pr"):
            parent.props[name] = _value(element.attributes)
        elif name == "t":
            parent.parts.append(("t", "".join(element.text)))
        elif name in ("e", "mr"):  # an empty cell is a cell
            argument = name == "e" and parent.name in _SCRIPTED
            parent.parts.append((name, _argument(element) if argument else latex))
        elif name == "other":  # insertions, content controls and the like hold runs
            parent.parts += element.parts
        else:
            super().ended(element, parent, latex)


def _value(attributes: Attributes) -> str:
    for name, value in attributes.items():
        if name.rpartition(" ")[2] == "val":
            return value or ""
    return "1"


def _on(element: Element, name: str) -> bool:
    return element.props.get(name, "0") not in _OFF


def _run(element: Element) -> str:
    text = "".join(latex for _, latex in element.parts)
    if not text:
        return ""
    if _on(element, "nor"):
        return in_words(text)
    latex = latex_of_text(text)
    style = _SCRIPTS.get(element.props.get("scr", ""), "")
    if element.props.get("sty") in ("b", "bi") and style in ("", "mathsf"):
        style = "mathbf"
    if style and any(map(str.isalnum, text)):
        return f"\\{style}{{{latex.strip()}}}"
    return latex


def _fraction(element: Element) -> str:
    above, below = element.of("num"), element.of("den")
    command = _NO_BAR if element.props.get("type") == "noBar" else "\\frac"
    return f"{command}{{{above}}}{{{below}}}"


def _root(element: Element) -> str:
    degree = "" if _on(element, "degHide") else element.of("deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{element.of('e')}}}"


def _argument(element: Element) -> str:
    """What stands in an m:e, in braces where a script beside it would cling to its end only."""
    latex = element.whole()
    if len(element.parts) == 1 and element.parts[0][0] not in _LARGE:
        if one_letter(latex) or latex.isalnum() or element.parts[0][0] != "r":
            return latex
        return latex if latex.startswith("\\math") and latex.count("{") == 1 else f"{{{latex}}}"
    return f"{{{latex}}}" if latex else ""


def _scripts(element: Element) -> str:
    latex = element.of("e") or "{}"
    for sign, name in (("_", "sub"), ("^", "sup")):
        found = element.of(name)
        if found:
            latex += f"{sign}{{{found}}}"
    return latex + " "


def _before(element: Element) -> str:
    below, above = element.of("sub"), element.of("sup")
    scripts = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{{}}{scripts}{element.of('e')}"


def _nary(element: Element) -> str:
    sign = element.props.get("chr") or "∫"
    latex = signs_of("operator").get(sign) or latex_of_text(sign).strip()
    for mark, name in (("_", "sub"), ("^", "sup")):
        found = "" if _on(element, f"{name}Hide") else element.of(name)
        if found:
            latex += f"{mark}{{{found}}}"
    return f"{latex} {element.of('e')} "


def _fenced(element: Element) -> str:
    begin, end = element.props.get("begChr", "("), element.props.get("endChr", ")")
    inner = element.each("e")
    if len(inner) == 1:
        only = inner[0]
        if (begin, end) == ("(", ")") and only.startswith(_NO_BAR) and _one_group_pair(only):
            return "\\binom" + only.removeprefix(_NO_BAR)
        if only.startswith(_MATRIX) and only.find(_MATRIX, 1) < 0 and only.endswith("{matrix}"):
            grid = _GRIDS.get((begin, end))
            if grid:
                return only.replace("{matrix}", f"{{{grid}}}")
        if (begin, end) == ("{", "") and only.startswith(_LINES) and only.find(_LINES, 1) < 0:
            return only.replace("{aligned}", "{cases}")
    separator = element.props.get("sepChr", "|")
    middle = f" \\middle{_fence(separator)} " if separator else " "
    return f"\\left{_fence(begin)} {middle.join(inner)} \\right{_fence(end)} "


def _one_group_pair(latex: str) -> bool:
    """Whether nothing follows the two arguments of the fraction."""
    depth = groups = 0
    for at in range(len(_NO_BAR), len(latex)):
        depth += (latex[at] == "{") - (latex[at] == "}")
        groups += not depth
    return groups == 2


def _fence(sign: str) -> str:
    return apart(signs_of("fence").get(sign) or latex_of_text(sign).strip() or ".").rstrip()


def _matrix(element: Element) -> str:
    return f"{_MATRIX} {_ROW.join(element.each('mr'))} \\end{{matrix}}"


def _lines(element: Element) -> str:
    lines = [line.replace("\\&", "") for line in element.each("e")]
    return f"{_LINES} {_ROW.join(lines)} \\end{{aligned}}"


def _named(element: Element) -> str:
    """A function: its name, a command where LaTeX knows it, and its argument."""
    name = element.of("fName")
    if len(name) > 1 and name.isalpha():
        name = f"\\operatorname{{{name}}}"
    return f"{apart(name)}{element.of('e')}"


def _limit(element: Element) -> str:
    """What stands under or over something: a limit, the note of a brace, or anything else."""
    base, limit = element.of("e"), element.of("lim")
    low = element.name == "limLow"
    command = base.partition("{")[0].strip()
    if command in _UNDER_LIMITS or command in (("\\underbrace",) if low else ("\\overbrace",)):
        return f"{base}{'_' if low else '^'}{{{limit}}} "
    return f"\\{'under' if low else 'over'}set{{{limit}}}{{{base}}}"


def _accent(element: Element) -> str:
    sign = element.props.get("chr", "\u0302")
    command = signs_of("accent").get(sign)
    if command is None:
        return f"\\overset{{{latex_of_text(sign).strip()}}}{{{element.of('e')}}}"
    return accented(command, element.of("e"))


def _bar(element: Element) -> str:
    top = element.props.get("pos", "bot") == "top"
    return f"\\{'over' if top else 'under'}line{{{element.of('e')}}}"


def _grouped(element: Element) -> str:
    """A brace or an arrow over or under something."""
    sign, inner = element.props.get("chr", "\u23df"), element.of("e")
    top = element.props.get("pos", "bot") == "top"
    if sign in _ARROWS:
        return f" {_ARROWS[sign]}{f'[{inner}]{{}}' if top else f'{{{inner}}}'} "
    command = signs_of("accent" if top else "under").get(sign)
    if command is None:
        command = f"\\{'over' if top else 'under'}set{{{latex_of_text(sign).strip()}}}"
    return f"{command}{{{inner}}}"


def _phantom(element: Element) -> str:
    shown = element.props.get("show", "1") not in _OFF
    return element.of("e") if shown else f"\\phantom{{{element.of('e')}}}"


OmmlBuilder.rules = {
    "r": _run,
    "f": _fraction,
    "rad": _root,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "nary": _nary,
    "d": _fenced,
    "m": _matrix,
    "mr": lambda element: " & ".join(element.each("e")),
    "eqArr": _lines,
    "func": _named,
    "limLow": _limit,
    "limUpp": _limit,
    "acc": _accent,
    "bar": _bar,
    "borderBox": lambda element: f"\\boxed{{{element.of('e')}}}",
    "groupChr": _grouped,
    "phant": _phantom,
    "words": lambda element: in_words("".join(latex for _, latex in element.parts)),
    "blank": lambda element: " ",
}
