"""Signs of symbol fonts (Wingdings, Symbol) that stand in a text as numbers of the font.

Promises: check boxes, ticks, arrows and bullets as forms use them, in Unicode. Does not: know
whole fonts; an unknown sign is left out.
"""

from __future__ import annotations

WINGDINGS = {
    0xF0FE: "☑", 0xF0A8: "☐", 0xF06F: "☐", 0xF0FC: "✓", 0xF0FB: "✗", 0xF0FD: "☒",
    0xF0E0: "→", 0xF0DF: "←", 0xF0B7: "•", 0xF0A7: "▪", 0xF06E: "■", 0xF06C: "●",
    0xF0D8: "➢", 0xF076: "❖",
}  # fmt: skip
AS_TRANSLATION = {code: WINGDINGS.get(code) for code in range(0xF000, 0xF100)}


def symbol_text(code: int) -> str:
    """The sign of a symbol font's code, "" where it is unknown."""
    if code in WINGDINGS:
        return WINGDINGS[code]
    if code == 9:
        return "\t"
    if 0xE000 <= code <= 0xF8FF or 0xD800 <= code < 0xE000 or code < 0x20:
        return ""
    return chr(code)
