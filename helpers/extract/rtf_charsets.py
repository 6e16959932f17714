"""Code pages of RTF: what a byte above 127 means in this document, in this font.

Source: RTF 1.9.1, font table. Promises: every lookup gives a codec that Python has, or None where
the document's own counts. Does not: guess from the text.
"""

from __future__ import annotations

from helpers.extract.codepages import codec_of_charset

SYMBOL = "symbol"  # stands for fonts of signs, which have no charset

# Of fonts: sets of the old Macintosh and of DOS, beside those of Windows.
_OLD_CHARSETS = {
    84: "mac_arabic",
    85: "mac_greek",
    86: "mac_turkish",
    87: "cp874",
    88: "mac_latin2",
    89: "mac_cyrillic",
    179: "cp1256",
    180: "cp1256",
    181: "cp1255",
    254: "cp437",
    255: "cp850",
}
# Font names that carry their script, in files without a charset.
_NAME_ENDINGS = (
    (" cyr", "cp1251"),
    (" ce", "cp1250"),
    (" greek", "cp1253"),
    (" tur", "cp1254"),
    (" baltic", "cp1257"),
    (" (hebrew)", "cp1255"),
    (" (arabic)", "cp1256"),
    (" (thai)", "cp874"),
    (" (vietnamese)", "cp1258"),
    ("upc", "cp874"),
)
_SIGN_FONTS = ("symbol", "wingdings", "webdings", "zapfdingbats", "marlett")

_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
_SMALL_GREEK = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SYMBOLS = {
    **dict(zip(range(0x41, 0x5B), _GREEK, strict=True)),
    **dict(zip(range(0x61, 0x7B), _SMALL_GREEK, strict=True)),
    0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°",
    0xB1: "±", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠",
    0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC5: "⊕", 0xC7: "∩", 0xC8: "∪", 0xCC: "⊂", 0xCE: "∈",
    0xCF: "∉", 0xD0: "∠", 0xD1: "∇", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xD8: "¬", 0xD9: "∧",
    0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫",
}  # fmt: skip
# Check boxes, ticks and arrows of the Wingdings font, as forms use them.
_DINGBATS = {
    0xFE: "☑", 0xA8: "☐", 0x6F: "☐", 0xFC: "✓", 0xFB: "✗", 0xFD: "☒", 0xE0: "→", 0xDF: "←",
    0xB7: "•", 0xA7: "▪", 0x6E: "■", 0x6C: "●",
}  # fmt: skip


def of_font(charset: int | None, name: str) -> str | None:
    """The codec of a font's text, SYMBOL for a font of signs; None: that of the document."""
    folded = name.casefold()
    if charset == 2 or folded.startswith(_SIGN_FONTS):
        return SYMBOL
    if charset in (None, 0, 1):
        for ending, codec in _NAME_ENDINGS:
            if folded.endswith(ending):
                return codec
    if charset is None:
        return None
    return codec_of_charset(charset) or _OLD_CHARSETS.get(charset)


def sign(code: int, font: str) -> str:
    """What a code of a font of signs shows; empty for mere decoration."""
    code &= 0xFF
    if font.casefold().startswith("symbol"):
        return _SYMBOLS.get(code) or (chr(code) if 0x20 <= code < 0x7F else "")
    return " " if code == 0x20 else _DINGBATS.get(code, "")
