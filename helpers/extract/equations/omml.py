"""Equations of Word and PowerPoint (Office Math, ECMA-376 part 1, 22.1) as LaTeX.

Promises: every construct of the standard is told, styles of letters among them; what was
deleted is left out; what is unknown keeps its letters. Does not: keep sizes, colours or breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helpers.extract.equations.signs import (
    CUT,
    accented,
    apart,
    in_words,
    latex_of_text,
    marked,
    one_letter,
    signs_of,
    tidy,
)
from helpers.extract.markup import Attributes, Scanner, too_deep
from helpers.limits import EQUATION_CHARS, MARKUP_DEPTH

MATH = (
    "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "http://purl.oclc.org/ooxml/officeDocument/math",
)
_PREFIXES = tuple(f"{uri} " for uri in MATH)
_DELETED = ("del", "moveFrom", "instrText", "delText", "delInstrText")
_PROPERTIES = frozenset(
    ["chr", "type", "begChr", "sepChr", "endChr", "pos", "sty", "scr", "nor", "show"]
    + [f"{name}Hide" for name in ("deg", "sub", "sup")]
)
_ARGUMENTS = frozenset(["e", "num", "den", "sub", "sup", "deg", "lim", "fName"])
_VALUES = tuple(f"{uri} val" for uri in MATH)
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


class _Object:
    """A construct: `args` are its arguments by name, `cells` each of those that may repeat."""

    __slots__ = ("args", "cells", "name", "props")

    def __init__(self, name: str) -> None:
        self.name = name
        self.args: dict[str, str] = {}
        self.cells: list[str] = []
        self.props: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self.args.get(name, "")

    def on(self, name: str) -> bool:
        return self.props.get(name, "0") not in _OFF


class _Argument:
    """What stands inside an argument: LaTeX of its constructs, and the name of the last one."""

    __slots__ = ("last", "name", "parts")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[str] = []
        self.last = ""

    def whole(self) -> str:
        return "".join(self.parts).strip()


class _Kinds(dict[str, tuple[str, str]]):
    """What to do with an element, and its local name, by its name as the scanner reports it."""

    def __missing__(self, name: str) -> tuple[str, str]:
        local = name.rpartition(" ")[2]
        if name.startswith(_PREFIXES):
            kind = _kind_of(local)
        elif local in _DELETED or local == "rPr":
            kind = "skip"
        else:
            kind = {"t": "text", "r": "words", "tab": "blank", "br": "blank"}.get(local, "through")
        if len(self) < 1_000:
            self[name] = kind, local
        return kind, local


def _kind_of(local: str) -> str:
    if local in _ARGUMENTS:
        return "argument"
    if local in _PROPERTIES:
        return "property"
    return {"t": "text", "ctrlPr": "skip", "r": "run"}.get(
        local, "object" if local in _RULES else "through"
    )


_KINDS = _Kinds()


def read_equation(scanner: Scanner, done: Callable[[str], object]) -> None:
    """Read the m:oMath whose start action is running; `done` gets "[math: LaTeX]" at its end.

    The handlers are closures: a document of equations holds little but their elements.
    """
    root = _Argument("")
    open_: list[_Object | _Argument] = [root]
    text: list[str] = []
    kinds, collect, gather = _KINDS, scanner.collect, text.append
    size, level, skipped = 0, 1, 0  # `skipped` is the level of an element that is passed over

    def start(name: str, attributes: Attributes) -> None:
        nonlocal size, level, skipped
        level += 1
        if skipped:
            if level > MARKUP_DEPTH:
                raise too_deep("an equation", level)
            return
        kind, local = kinds[name]
        if kind == "text":
            collect(gather)
        elif size > EQUATION_CHARS or level > MARKUP_DEPTH or kind == "skip":
            skipped = level
        elif kind == "argument":
            size += 1
            open_.append(_Argument(local))
        elif kind == "property":
            _set_property(open_[-1], local, attributes)
        elif kind != "through":
            size += 1
            open_.append(_Object(local))

    def end(name: str) -> None:
        nonlocal size, level, skipped
        level -= 1
        if skipped:
            if level < skipped:
                skipped = 0
            if level:
                return
        if not level:
            give_back(name)
            done(marked(tidy(root.whole()) + (CUT if size > EQUATION_CHARS else "")))
            return
        kind, local = kinds[name]
        if kind == "text":
            collect(None)
        elif kind == "argument":
            _argument_ended(open_)
        elif kind != "through" and kind != "property" and len(open_) > 1:
            found = open_.pop()
            if not isinstance(found, _Object):
                return
            if kind == "object":
                latex = _RULES[local](found)
            else:
                letters = "".join(text)
                text.clear()
                size += len(letters)
                latex = _lettered(kind, found, letters)
            _add(open_[-1], local, latex)

    give_back = scanner.lend(start, end)


def _set_property(holder: _Object | _Argument, local: str, attributes: Attributes) -> None:
    if isinstance(holder, _Object):
        value = next((attributes[name] for name in _VALUES if name in attributes), "1")
        holder.props[local] = value


def _lettered(kind: str, found: _Object, letters: str) -> str:
    if kind == "run":
        return _run(found, letters)
    return " " if kind == "blank" else in_words(letters)


def _add(parent: _Object | _Argument, name: str, latex: str) -> None:
    """A construct ended inside `parent`."""
    if isinstance(parent, _Argument):
        if latex:
            parent.parts.append(latex)
            parent.last = name
    elif name == "mr":
        parent.cells.append(latex)
    elif latex:  # a run outside any argument
        parent.args["e"] = parent.of("e") + latex


def _argument_ended(open_: list[_Object | _Argument]) -> None:
    found = open_[-1]
    if len(open_) < 2 or not isinstance(found, _Argument):
        return
    open_.pop()
    parent = open_[-1]
    if isinstance(parent, _Argument):
        parent.parts += found.parts
        return
    name = found.name
    latex = _based(found) if name == "e" and parent.name in _SCRIPTED else found.whole()
    if name == "e":
        parent.cells.append(latex)
    parent.args[name] = parent.args.get(name, "") + latex


def _run(found: _Object, text: str) -> str:
    if not found.props:
        return latex_of_text(text)
    if found.on("nor"):
        return in_words(text)
    latex = latex_of_text(text)
    style = _SCRIPTS.get(found.props.get("scr", ""), "")
    if found.props.get("sty") in ("b", "bi") and style in ("", "mathsf"):
        style = "mathbf"
    if style and any(map(str.isalnum, text)):
        return f"\\{style}{{{latex.strip()}}}"
    return latex


def _based(base: _Argument) -> str:
    """The base of scripts, in braces where they would cling to its end only."""
    latex = base.whole()
    if len(base.parts) == 1 and base.last not in _LARGE:
        if one_letter(latex) or latex.isalnum() or base.last != "r":
            return latex
        return latex if latex.startswith("\\math") and latex.count("{") == 1 else f"{{{latex}}}"
    return f"{{{latex}}}" if latex else ""


def _fraction(found: _Object) -> str:
    command = _NO_BAR if found.props.get("type") == "noBar" else "\\frac"
    return f"{command}{{{found.of('num')}}}{{{found.of('den')}}}"


def _root(found: _Object) -> str:
    degree = "" if found.on("degHide") else found.of("deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{found.of('e')}}}"


def _scripts(found: _Object) -> str:
    latex = found.of("e") or "{}"
    for sign, name in (("_", "sub"), ("^", "sup")):
        script = found.of(name)
        if script:
            latex += f"{sign}{{{script}}}"
    return latex + " "


def _before(found: _Object) -> str:
    below, above = found.of("sub"), found.of("sup")
    scripts = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{{}}{scripts}{found.of('e')}"


def _nary(found: _Object) -> str:
    sign = found.props.get("chr") or "∫"
    latex = signs_of("operator").get(sign) or latex_of_text(sign).strip()
    for mark, name in (("_", "sub"), ("^", "sup")):
        script = "" if found.on(f"{name}Hide") else found.of(name)
        if script:
            latex += f"{mark}{{{script}}}"
    return f"{latex} {found.of('e')} "


def _fenced(found: _Object) -> str:
    begin, end = found.props.get("begChr", "("), found.props.get("endChr", ")")
    inner = found.cells
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
    separator = found.props.get("sepChr", "|")
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


def _matrix(found: _Object) -> str:
    return f"{_MATRIX} {_ROW.join(found.cells)} \\end{{matrix}}"


def _lines(found: _Object) -> str:
    lines = [line.replace("\\&", "") for line in found.cells]
    return f"{_LINES} {_ROW.join(lines)} \\end{{aligned}}"


def _named(found: _Object) -> str:
    """A function: its name, a command where LaTeX knows it, and its argument."""
    name = found.of("fName")
    if len(name) > 1 and name.isalpha():
        name = f"\\operatorname{{{name}}}"
    return f"{apart(name)}{found.of('e')}"


def _limit(found: _Object) -> str:
    """What stands under or over something: a limit, the note of a brace, or anything else."""
    base, limit = found.of("e"), found.of("lim")
    low = found.name == "limLow"
    command = base.partition("{")[0].strip()
    if command in _UNDER_LIMITS or command in (("\\underbrace",) if low else ("\\overbrace",)):
        return f"{base}{'_' if low else '^'}{{{limit}}} "
    return f"\\{'under' if low else 'over'}set{{{limit}}}{{{base}}}"


def _accent(found: _Object) -> str:
    sign = found.props.get("chr", "\u0302")
    command = signs_of("accent").get(sign)
    if command is None:
        return f"\\overset{{{latex_of_text(sign).strip()}}}{{{found.of('e')}}}"
    return accented(command, found.of("e"))


def _bar(found: _Object) -> str:
    top = found.props.get("pos", "bot") == "top"
    return f"\\{'over' if top else 'under'}line{{{found.of('e')}}}"


def _grouped(found: _Object) -> str:
    """A brace or an arrow over or under something."""
    sign, inner = found.props.get("chr", "\u23df"), found.of("e")
    top = found.props.get("pos", "bot") == "top"
    if sign in _ARROWS:
        return f" {_ARROWS[sign]}{f'[{inner}]{{}}' if top else f'{{{inner}}}'} "
    command = signs_of("accent" if top else "under").get(sign)
    if command is None:
        command = f"\\{'over' if top else 'under'}set{{{latex_of_text(sign).strip()}}}"
    return f"{command}{{{inner}}}"


def _phantom(found: _Object) -> str:
    shown = found.props.get("show", "1") not in _OFF
    return found.of("e") if shown else f"\\phantom{{{found.of('e')}}}"


_RULES: Mapping[str, Callable[[_Object], str]] = {
    "f": _fraction,
    "rad": _root,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "nary": _nary,
    "d": _fenced,
    "m": _matrix,
    "mr": lambda found: " & ".join(found.cells),
    "eqArr": _lines,
    "func": _named,
    "limLow": _limit,
    "limUpp": _limit,
    "acc": _accent,
    "bar": _bar,
    "borderBox": lambda found: f"\\boxed{{{found.of('e')}}}",
    "groupChr": _grouped,
    "phant": _phantom,
}
