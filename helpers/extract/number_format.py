"""Numbers of a spreadsheet as a person sees them: dates, percentages, grouping, units.

Promises: a date is ISO ("2024-03-05 14:30"), or as its format writes it where that format
holds words ("2024년 3월 5일"); no binary noise (0.1 + 0.2 is 0.3); the Buddhist year where the
format asks for it; anything that is not understood is shown as the plain number.
Does not: colour, align, or know a locale's own default formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from helpers.extract import number_quick
from helpers.extract.number_quick import Column, Show

FORMAT_CHARS = 1_000  # code points of a format code; a longer one is not understood
DECIMALS = 30  # decimal places shown at most
BUDDHIST_YEARS = 543

Render = Callable[[str], str]

_SHORT = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*[1-9])?")
_EPOCH_1900 = datetime(1899, 12, 30)
_EPOCH_1904 = datetime(1904, 1, 1)
_DAYS = 2_958_466  # serial number after 9999-12-31

# Numbers of the formats that every workbook knows without listing them (ECMA-376 18.8.30);
# 27 to 36, 50 to 58 and 71 to 81 are the dates of East Asian and Thai programs.
BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 12: "General", 13: "General", 14: "yyyy-mm-dd", 15: "d-mmm-yy",
    16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
    21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0;-#,##0", 38: "#,##0;-#,##0",
    39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00", 41: "#,##0;-#,##0",
    42: "#,##0;-#,##0", 43: "#,##0.00;-#,##0.00", 44: "#,##0.00;-#,##0.00", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss", 48: "0.00E+00", 49: "@",
    59: "0", 60: "0.00", 61: "#,##0", 62: "#,##0.00", 67: "0%", 68: "0.00%",
    **dict.fromkeys((*range(27, 32), 34, 35, 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((32, 33), "h:mm:ss"),
    **dict.fromkeys(range(71, 75), "bbbb-mm-dd"), 75: "h:mm", 76: "h:mm:ss",
    77: "bbbb-mm-dd h:mm", 78: "mm:ss", 79: "[h]:mm:ss", 80: "mm:ss", 81: "bbbb-mm-dd",
}  # fmt: skip

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*](?P<space>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>(?i:General))|(?P<half>AM/PM|A/P|오전/오후|上午/下午)"
    r"|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+(?:\.0+)?|[bB]+|[eEgG]{1,4}(?![+-])|a{3,4})"
    r"|(?P<exponent>[eE][+-])|(?P<digits>[0#?.,%/]+)|(?P<other>.)",
    re.DOTALL,
)
_CURRENCY = re.compile(r"\$([^-]*)")
_BUDDHIST = re.compile(r"\$-(?:[0-9a-fA-F]{1,2})?07[0-9a-fA-F]{4}$|\$-(?:107|D07)[0-9a-fA-F]{4}$")


def renderer(code: str, epoch_1904: bool = False) -> Render:
    """A function from a cell's raw number, as the file writes it, to what is shown."""
    if len(code) > FORMAT_CHARS or code.strip().casefold() in ("", "@", "general"):
        return plain
    sections = [_tokens(section) for section in _sections(code)]
    main = sections[0]
    if any(token.kind == "date" for token in main):
        return _date_renderer(main, _EPOCH_1904 if epoch_1904 else _EPOCH_1900)
    if any(token.kind == "condition" for section in sections for token in section):
        return plain
    if all(token.kind in ("literal", "general") and not token.text.strip() for token in main):
        return plain
    return _number_renderer([_Number.of(section) for section in sections])


def number_renderer(code: str, epoch_1904: bool = False) -> Show:
    """The same for numbers that are no text yet."""
    render = renderer(code, epoch_1904)
    if render is plain:
        return plain_number
    quick = getattr(render, "quick", None)

    def show(value: float) -> str:
        text = quick(value) if quick is not None else None
        return text if text is not None else render(raw_number(value))

    return show


def column_renderer(code: str) -> Callable[[Show], Column] | None:
    """For codes of which many numbers are shown at little cost: from the way of one to that."""
    found: Callable[[Show], Column] | None = getattr(renderer(code), "column_of", None)
    return found


def plain_number(value: float) -> str:
    """A number without a format."""
    if value.is_integer() and -1e15 < value < 1e15:
        return str(int(value))
    return plain(repr(value))


def raw_number(value: float) -> str:
    """A number as .xlsx writes it."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def plain(raw: str) -> str:
    """A number without a format: whole numbers as they are, others with 15 digits at most."""
    if raw.isdigit() and len(raw) < 16 and (raw[0] != "0" or raw == "0"):
        return raw
    if len(raw) <= 16 and _SHORT.fullmatch(raw):
        return raw
    try:
        value = float(raw)
    except ValueError:
        return raw.strip()
    if value != value or value in (float("inf"), float("-inf")):
        return raw.strip()
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}".replace("e", "E")


# --- format codes ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # literal | date | half | digits | exponent | general | condition | buddhist
    text: str


def _sections(code: str) -> list[str]:
    found, start, quoted = [], 0, False
    for at, letter in enumerate(code):
        escaped = at > 0 and code[at - 1] == "\\"
        if letter == '"' and not escaped:
            quoted = not quoted
        elif letter == ";" and not quoted and not escaped:
            found.append(code[start:at])
            start = at + 1
    return [*found, code[start:]][:4]


def _tokens(section: str) -> list[_Token]:
    return [token for match in _TOKEN.finditer(section) if (token := _token(match)) is not None]


def _token(match: re.Match[str]) -> _Token | None:
    kind, text = match.lastgroup, match[0]
    if kind == "bracket":
        return _bracket(match["bracket"])
    if kind == "quoted":
        return _Token("literal", match["quoted"])
    if kind == "escaped":
        return _Token("literal", match["escaped"])
    if kind == "space":
        return None
    return _Token("literal" if kind == "other" else str(kind), text)


def _bracket(inside: str) -> _Token | None:
    if inside and not inside.casefold().strip(inside[0].casefold()) and inside[0] in "hHmMsS":
        return _Token("date", f"[{inside}]")
    if inside[:1] in ("<", ">", "="):
        return _Token("condition", inside)
    if _BUDDHIST.match(inside):
        return _Token("buddhist", "")
    currency = _CURRENCY.match(inside)
    return _Token("literal", currency[1]) if currency and currency[1] else None


# --- dates ------------------------------------------------------------------------------


def _date_renderer(tokens: list[_Token], epoch: datetime) -> Render:
    codes = [token.text[0].casefold() for token in tokens if token.kind == "date"]
    if any(token.text[0] == "[" for token in tokens if token.kind == "date"):
        return _elapsed
    worded = any(
        token.kind == "literal" and any(ord(letter) > 0x2FF for letter in token.text)
        for token in tokens
    )
    named = any(
        token.kind == "date" and token.text[0] in "mMdD" and len(token.text) > 2 for token in tokens
    )
    clock = "h" in codes or "s" in codes
    day = any(code in "ydbega" for code in codes) or not clock
    buddhist = "b" in codes or any(token.kind == "buddhist" for token in tokens)
    marked = _minutes_marked(tokens)

    def render(raw: str) -> str:
        moment = _moment(raw, epoch)
        if moment is None:
            return plain(raw)
        year = moment.year + (BUDDHIST_YEARS if buddhist else 0)
        if worded and not named:
            return _as_written(marked, moment, year).strip()
        parts = [f"{year:04d}-{moment:%m-%d}"] if day else []
        if clock:
            parts.append(f"{moment:%H:%M:%S}" if "s" in codes else f"{moment:%H:%M}")
        return " ".join(parts)

    return render


def _moment(raw: str, epoch: datetime) -> datetime | None:
    try:
        serial = float(raw)
    except ValueError:
        return None
    if not 0 <= serial < _DAYS:
        return None
    if epoch is _EPOCH_1900 and serial < 60:
        serial += 1 if serial >= 1 else 0  # the program counts a 29 February 1900
    try:
        return epoch + timedelta(seconds=round(serial * 86_400))
    except OverflowError:
        return None


def _minutes_marked(tokens: list[_Token]) -> list[_Token]:
    """`m` next to hours or seconds means minutes: spelled "n" from here on."""
    dates = [at for at, token in enumerate(tokens) if token.kind == "date"]
    marked = list(tokens)
    for position, at in enumerate(dates):
        if tokens[at].text[0] not in "mM":
            continue
        before = tokens[dates[position - 1]].text[0] if position else ""
        after = tokens[dates[position + 1]].text[0] if position + 1 < len(dates) else ""
        if before in ("h", "H") or after in ("s", "S"):
            marked[at] = _Token("date", "n" * len(tokens[at].text))
    return marked


def _as_written(tokens: list[_Token], moment: datetime, year: int) -> str:
    half = any(token.kind == "half" for token in tokens)
    hour = (moment.hour % 12 or 12) if half else moment.hour
    values = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute}
    values["s"] = moment.second
    shown = []
    for token in tokens:
        letter = token.text[:1].casefold()
        if token.kind == "literal":
            shown.append(token.text)
        elif token.kind == "half":
            korean = token.text.startswith("오")
            names = ("오전", "오후") if korean else ("AM", "PM")
            shown.append(names[moment.hour >= 12])
        elif token.kind == "date" and letter in "ybe":
            shown.append(f"{year % 100:02d}" if len(token.text) == 2 else str(year))
        elif token.kind == "date" and letter == "a":
            shown.append("월화수목금토일"[moment.weekday()])
        elif token.kind == "date" and letter in values:
            shown.append(f"{values[letter]:0{min(len(token.text), 2)}d}")
        elif token.kind == "digits":
            shown.append(token.text)
    return "".join(shown)


def _elapsed(raw: str) -> str:
    try:
        seconds = round(float(raw) * 86_400)
    except (ValueError, OverflowError):
        return plain(raw)
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


# --- numbers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Number:
    """One section of a number format, taken apart."""

    before: str
    after: str
    pattern: str
    decimals: int
    required: int
    percent: bool
    general: bool
    scale: int
    mask: str  # places of digits and the signs between them, as in 000-0000-0000; else ""

    @classmethod
    def of(cls, tokens: list[_Token]) -> _Number:
        kinds = [token.kind for token in tokens]
        places = [at for at, kind in enumerate(kinds) if kind in ("digits", "general")]
        first, last = (places[0], places[-1]) if places else (len(tokens), len(tokens))
        digits = "".join(
            token.text if token.kind == "digits" else "" for token in tokens[first : last + 1]
        )
        inner = [token for token in tokens[first : last + 1] if token.kind == "literal"]
        parted = bool("".join(t.text for t in inner).strip())
        masked = parted and not set(digits) - set("0#?") and "general" not in kinds
        odd = "exponent" in kinds or "/" in digits or (parted and not masked)
        whole, _, fraction = digits.rstrip("%").partition(".")
        whole_core = whole.rstrip(",") if not fraction else whole
        places_of = [letter for letter in fraction if letter in "0#?"]
        return cls(
            before=_literals(tokens[:first]),
            after=_literals(tokens[last + 1 :]),
            pattern="odd" if odd else whole_core,
            decimals=min(len(places_of), DECIMALS),
            required=min(sum(letter == "0" for letter in places_of), DECIMALS),
            percent="%" in digits,
            general="general" in kinds,
            scale=len(whole) - len(whole_core),
            mask="".join(t.text for t in tokens[first : last + 1]) if masked else "",
        )

    def show(self, value: Decimal, raw: str) -> str:
        if self.pattern == "odd":
            return plain(raw)
        if self.general:
            return f"{self.before}{plain(raw)}{self.after}"
        if not self.pattern and not self.decimals:
            return f"{self.before}{self.after}"
        if self.mask:
            return f"{self.before}{_masked(self.mask, value)}{self.after}"
        scaled = value * 100 if self.percent else value
        scaled = scaled.scaleb(-3 * self.scale) if self.scale else scaled
        rounded = scaled.quantize(Decimal(1).scaleb(-self.decimals), ROUND_HALF_UP)
        text = f"{rounded:,f}" if "," in self.pattern else f"{rounded:f}"
        whole, _, fraction = text.partition(".")
        while len(fraction) > self.required and fraction.endswith("0"):
            fraction = fraction[:-1]
        zeros = min(self.pattern.count("0"), DECIMALS)
        if "," not in self.pattern:
            sign = "-" if whole.startswith("-") else ""
            whole = sign + whole.lstrip("-").zfill(zeros)
        shown = f"{whole}.{fraction}" if fraction else whole
        percent = "%" if self.percent else ""
        return f"{self.before}{shown}{percent}{self.after}"


def _masked(mask: str, value: Decimal) -> str:
    """The digits of a whole number in the places of a mask, the last digit in the last place."""
    digits = list(str(int(abs(value).quantize(Decimal(1), ROUND_HALF_UP))))
    shown: list[str] = []
    for sign in reversed(mask):
        if sign not in "0#?":
            shown.append(sign)
        elif digits:
            shown.append(digits.pop())
        elif sign == "0":
            shown.append("0")
    text = "".join(digits) + "".join(reversed(shown)).lstrip("" if "0" in mask[:1] else "-. ")
    return f"-{text}" if value < 0 else text


def _literals(tokens: list[_Token]) -> str:
    return "".join(token.text for token in tokens if token.kind == "literal")


def _number_renderer(sections: list[_Number]) -> Render:
    exact = _exact_renderer(sections)
    first = sections[0]
    usual = first.pattern.count("0") == 1 and first.decimals == first.required
    if not usual or first.general or first.mask or first.scale or first.pattern == "odd":
        return exact
    if first.decimals > number_quick.DECIMALS:
        return exact
    after = (("%" if first.percent else "") + first.after).rstrip()
    usual_format = number_quick.QuickFormat(
        first.decimals, "," in first.pattern, first.percent, first.before.lstrip(), after
    )
    quick = usual_format.show()

    def render(raw: str) -> str:
        try:
            shown = quick(float(raw))
        except ValueError:
            return exact(raw)
        return exact(raw) if shown is None else shown

    render.quick, render.column_of = quick, usual_format.column  # type: ignore[attr-defined]
    return render


def _exact_renderer(sections: list[_Number]) -> Render:
    def render(raw: str) -> str:
        try:
            value = Decimal(raw)
            if not value.is_finite() or value.adjusted() > 40:
                return plain(raw)
            section = sections[0]
            if value < 0 and len(sections) > 1:
                section, value, raw = sections[1], -value, raw.strip().lstrip("-")
            elif value == 0 and len(sections) > 2:
                section = sections[2]
            return section.show(value, raw).strip()
        except (InvalidOperation, ValueError, ArithmeticError):
            return plain(raw)

    return render
