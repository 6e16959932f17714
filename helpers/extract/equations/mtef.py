"""Equations of Equation Editor 3 and MathType, as objects in binary office files hold them.

Sources: the published "MTEF v.3" and "MTEF v.5" specifications of Design Science (records,
template selectors), [MS-OLEDS] for the stream "Equation Native". Promises: LaTeX in the look of
the other equation languages; an equation that breaks off gives what stood before; depth and
length are bounded by the data. Does not: keep fonts, sizes, colours or rulers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from helpers.extract.equations.signs import accented, in_words, latex_of_text, signs_of, tidy

_HEADER = 28  # bytes in front of the equation in the stream
_DEPTH = 40  # templates within templates
_END, _LINE, _CHAR, _TEMPLATE, _PILE, _MATRIX, _EMBELL, _RULER, _FONT, _SIZE = range(10)
_COLOR, _COLOR_DEF, _FONT_DEF, _PREFS, _ENCODING, _FUTURE = 15, 16, 17, 18, 19, 100
_NUDGE = 0x8
_ROW = r" \\ "
_TEXT = 1  # the typeface of words

_FENCES = {
    "angle": "⟨⟩", "paren": "()", "brace": "{}", "brack": "[]", "bar": "||", "dbar": "‖‖",
    "floor": "⌊⌋", "ceil": "⌈⌉", "[[": "[[", "]]": "]]", "][": "][", "[)": "[)", "(]": "(]",
}  # fmt: skip
_LARGE = {
    "sum": "∑", "prod": "∏", "coprod": "∐", "union": "⋃", "inter": "⋂", "int": "∫", "iint": "∬",
    "iiint": "∭", "oint": "∮", "op": "",
}  # fmt: skip
# Selectors of templates. Version 3 has one for each form, version 5 tells forms by variations.
_OLD_KINDS = (
    "angle", "paren", "brace", "brack", "bar", "dbar", "floor", "ceil", "[[", "]]", "][", "[)",
    "(]", "root", "frac", "script", "ubar", "obar", "arrow", "arrow", "arrow", "int", "iint",
    "iiint", "oint", "oint", "oint", "over", "under", "sum", "sum", "prod", "prod", "coprod",
    "coprod", "union", "union", "inter", "inter", "lim", "div", "slash", "op", "op", "before",
    "angle", "accent", "accent", "accent", "accent", "accent", "accent",
)  # fmt: skip
_KINDS = (
    "angle", "paren", "brace", "brack", "bar", "dbar", "floor", "ceil", "[[", "[)", "root",
    "frac", "ubar", "obar", "arrow", "int", "sum", "prod", "coprod", "union", "inter", "op", "op",
    "lim", "brace_over", "over", "div", "sub", "sup", "script", "angle", "vec", "tilde", "hat",
    "arc", "joint", "strike", "box",
)  # fmt: skip
_ACCENTS = {
    2: "\\dot", 3: "\\ddot", 4: "\\dddot", 8: "\\tilde", 9: "\\hat", 10: "\\not",
    11: "\\overrightarrow", 12: "\\overleftarrow", 13: "\\overleftrightarrow", 14: "\\vec",
    17: "\\bar", 19: "\\overparen", 24: "\\ddddot",
}  # fmt: skip
_PRIMES = {5: "'", 6: "''", 18: "'''"}
_OVER = {"vec": "\\overrightarrow", "tilde": "\\tilde", "hat": "\\hat", "arc": "\\overparen"}


class _Slots(NamedTuple):
    """What stands in a template: its lines, and single signs such as its fences."""

    lines: list[str]
    signs: list[str]

    def line(self, number: int) -> str:
        return self.lines[number] if number < len(self.lines) else ""


def latex_of_mtef(stream: bytes) -> str:
    """The LaTeX of a stream "Equation Native"; "" where it holds no equation that is known."""
    start = int.from_bytes(stream[:2], "little") if len(stream) > 2 else 0
    data = stream[start if _HEADER <= start <= 64 else _HEADER :]
    if len(data) < 6 or data[0] not in (2, 3, 4, 5):
        return ""
    parser = _Parser(data)
    return tidy(" ".join(parser.objects(0, whole=True).lines))


class _Parser:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._new = data[0] >= 5
        self._at = 5
        if self._new:
            self._name()
            self._at += 1
        self._actions: dict[int, Callable[[int, int], str]] = {
            _LINE: self._line, _TEMPLATE: self._template, _PILE: self._pile, _MATRIX: self._matrix,
        }  # fmt: skip

    # --- bytes ----------------------------------------------------------------------------

    def _byte(self) -> int:
        """The next byte; behind the last one all are 0, which ends every list."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def _word(self) -> int:
        return self._byte() | self._byte() << 8

    def _number(self) -> int:
        found = self._byte()
        return self._word() if found == 255 else found

    def _name(self) -> None:
        end = self._data.find(0, self._at)
        self._at = len(self._data) if end < 0 else end + 1

    # --- records --------------------------------------------------------------------------

    def objects(self, depth: int, whole: bool = False) -> _Slots:
        """The records up to the end mark: lines apart, single signs apart."""
        lines: list[str] = []
        signs: list[str] = []
        while depth <= _DEPTH and (record := self._record()) is not None:
            kind, marks = record
            if kind == _END and not whole:
                break
            if kind == _CHAR:
                signs.append(self._char(marks)[1])
            elif kind in self._actions:
                lines.append(self._actions[kind](marks, depth))
            elif kind != _END:
                self._pass_over(kind, marks)
        if whole:
            lines.append(latex_of_text("".join(signs)))
        return _Slots(lines, signs)

    def _record(self) -> tuple[int, int] | None:
        """(kind, options) of the next record; None at the end of the equation."""
        if self._at >= len(self._data):
            return None
        tag = self._byte()
        if not self._new:
            return tag & 0xF, tag >> 4
        if tag in (_LINE, _CHAR, _TEMPLATE, _PILE, _MATRIX, _EMBELL):
            return tag, self._byte()
        return tag, 0

    def _nudged(self, marks: int) -> None:
        if marks & _NUDGE and (self._byte(), self._byte()) == (128, 128):
            self._at += 4

    def _line(self, marks: int, depth: int) -> str:
        self._nudged(marks)
        if marks & 0x4:
            self._at += 2
        if marks & 0x2:
            self._ruler()
        return "" if marks & 0x1 or depth > _DEPTH else self._content(depth)

    def _content(self, depth: int) -> str:
        """Signs and templates of a line, up to its end mark."""
        found: list[str] = []
        run, words = "", False
        while (record := self._record()) is not None:
            kind, marks = record
            if kind == _CHAR:
                face, sign = self._char(marks)
                if run and (face == _TEXT) != words:
                    found.append(in_words(run) if words else latex_of_text(run))
                    run = ""
                run, words = run + sign, face == _TEXT
                if len(sign) > 1:  # an accent has made LaTeX of it
                    found += [latex_of_text(run[: -len(sign)]), sign]
                    run = ""
                continue
            if kind == _END or kind in self._actions:
                found.append(in_words(run) if words else latex_of_text(run))
                run = ""
                if kind == _END:
                    break
                found.append(self._actions[kind](marks, depth + 1))
                continue
            self._pass_over(kind, marks)
        found.append(latex_of_text(run))
        return "".join(found)

    def _char(self, marks: int) -> tuple[int, str]:
        """(typeface, sign); the sign is LaTeX of several letters where it is accented."""
        self._nudged(marks)
        face = self._byte() - 128
        code = 0
        if not self._new:
            code = self._word() if self._data[0] > 2 else self._byte()
            accents = marks & 0x2
        else:
            if not marks & 0x20:
                code = self._word()
            eight = self._byte() if marks & 0x04 else 0
            sixteen = self._word() if marks & 0x10 else 0
            code, accents = code or eight or sixteen, marks & 0x1
        sign = chr(code) if code >= 0x20 and not 0xD800 <= code < 0xE000 else ""
        if 0xE000 <= code <= 0xF8FF:  # spaces and pieces of MathType's own fonts
            sign = " " if 0xEF00 <= code <= 0xEF0F else "d" if code == 0xED10 else ""
        return face, self._accented(sign) if accents else sign

    def _accented(self, sign: str) -> str:
        found = latex_of_text(sign).strip()
        while (record := self._record()) is not None and record[0] == _EMBELL:
            self._nudged(record[1])
            kind = self._byte()
            if kind in _ACCENTS:
                found = accented(_ACCENTS[kind], found)
            else:
                found += _PRIMES.get(kind, "")
        return f"{found} "

    def _pile(self, marks: int, depth: int) -> str:
        self._nudged(marks)
        self._at += 2
        if marks & 0x2:
            self._ruler()
        lines = self.objects(depth + 1).lines
        if len(lines) < 2:
            return "".join(lines)
        return f"\\begin{{aligned}} {_ROW.join(lines)} \\end{{aligned}}"

    def _matrix(self, marks: int, depth: int) -> str:
        self._nudged(marks)
        self._at += 3
        rows, columns = self._byte(), self._byte()
        self._at += (rows + 4) // 4 + (columns + 4) // 4
        cells = self.objects(depth + 1).lines
        lines = [" & ".join(cells[at : at + columns]) for at in range(0, len(cells), columns or 1)]
        return f"\\begin{{matrix}} {_ROW.join(lines)} \\end{{matrix}}"

    def _ruler(self) -> None:
        """The rest of a ruler whose tag stands in front of it."""
        if self._byte() & 0xF == _RULER:
            self._at += 3 * self._byte()

    def _pass_over(self, kind: int, marks: int) -> None:
        """Records of looks."""
        if kind == _EMBELL:
            self._nudged(marks)
            self._at += 1
        elif kind == _RULER:
            self._at += 3 * self._byte()
        elif kind == _FONT:
            self._at += 2
            if not self._new:
                self._name()
        elif kind == _SIZE:
            self._at += {100: 3, 101: 2}.get(self._byte(), 1)
        elif kind == _COLOR:
            self._number()
        elif kind == _COLOR_DEF:
            options = self._byte()
            self._at += 8 if options & 1 else 6
            if options & 4:
                self._name()
        elif kind == _FONT_DEF:
            self._number()
            self._name()
        elif kind == _ENCODING:
            self._name()
        elif kind == _PREFS:
            self._preferences()
        elif kind >= _FUTURE:
            self._at += self._number()

    def _preferences(self) -> None:
        self._at += 1
        for _ in range(2):  # sizes, then spaces: numbers in half bytes, each ended by 15
            left = self._byte()
            while left > 0 and self._at < len(self._data):
                both = self._byte()
                left -= both >> 4 == 15
                left -= left > 0 and both & 15 == 15
        for _ in range(self._byte()):
            if self._number():
                self._at += 1

    # --- templates ------------------------------------------------------------------------

    def _template(self, marks: int, depth: int) -> str:
        self._nudged(marks)
        selector, variation = self._byte(), self._byte()
        if self._new and variation & 0x80:
            variation = variation & 0x7F | self._byte() << 7
        self._at += 1
        kinds = _KINDS if self._new else _OLD_KINDS
        kind = kinds[selector] if selector < len(kinds) else ""
        return self._made(kind, variation, self.objects(depth + 1))

    def _made(self, kind: str, variation: int, slots: _Slots) -> str:
        main = slots.line(0)
        if kind in _FENCES:
            return self._fenced(kind, variation, slots)
        if kind == "frac":
            return f"\\frac{{{main}}}{{{slots.line(1)}}}"
        if kind == "slash":
            return f"{main}/{slots.line(1)}"
        if kind == "root":
            index = slots.line(1)
            return f"\\sqrt{f'[{index}]' if index else ''}{{{main}}}"
        if kind in ("script", "sub", "sup", "before"):
            return ("{}" if kind == "before" else "") + self._scripts(kind, variation, slots)
        if kind in _LARGE:
            return self._large(kind, variation, slots)
        if kind == "lim":
            return f"\\lim_{{{slots.line(1)}}} " if main.strip() == "\\lim" else (
                f"{main.rstrip()}_{{{slots.line(1)}}} "
            )  # fmt: skip
        if kind in ("ubar", "obar"):
            return f"\\{'over' if kind == 'obar' else 'under'}line{{{main}}}"
        if kind in ("over", "under", "brace_over"):
            top = kind == "over" or (kind == "brace_over" and variation & 1)
            note = slots.line(1)
            mark = f"{'^' if top else '_'}{{{note}}}" if note else ""
            return f"\\{'over' if top else 'under'}brace{{{main}}}{mark}"
        if kind == "box":
            return f"\\boxed{{{main}}}"
        if kind in _OVER:
            return accented(_OVER[kind], main)
        return " ".join(filter(None, slots.lines))

    def _scripts(self, kind: str, variation: int, slots: _Slots) -> str:
        if not self._new and kind == "script" and variation < 2 and len(slots.lines) == 1:
            kind = ("sup", "sub")[variation]
        below, above = slots.line(0), slots.line(1)
        if kind == "sup" and not above:
            below, above = "", below
        return "".join(f"{sign}{{{text}}}" for sign, text in (("_", below), ("^", above)) if text)

    def _large(self, kind: str, variation: int, slots: _Slots) -> str:
        sign = next((sign for sign in slots.signs if sign.strip()), _LARGE[kind])
        latex = signs_of("operator").get(sign) or latex_of_text(sign).strip()
        for mark, number in (("_", 1), ("^", 2)):
            if slots.line(number):
                latex += f"{mark}{{{slots.line(number)}}}"
        return f"{latex} {slots.line(0)} "

    def _fenced(self, kind: str, variation: int, slots: _Slots) -> str:
        begin, end = tuple(_FENCES[kind])
        if self._new:
            left, right = variation & 1 or not variation & 3, variation & 2 or not variation & 3
        else:
            left, right = variation != 2, variation != 1
        fence = signs_of("fence")
        opening = fence.get(begin, begin) if left else "."
        closing = fence.get(end, end) if right else "."
        opening, closing = (f"\\{sign}" if sign in "{}" else sign for sign in (opening, closing))
        return f"\\left{opening} {slots.line(0)} \\right{closing} "
