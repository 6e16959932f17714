"""Windows code pages, font character sets and languages: which Python codec their bytes need.

Sources: [MS-UCODEREF] code page identifiers, [MS-LCID] language identifiers, the CharSet of
[MS-WMF] 2.1.1.5. Promises: a codec that Python has, in its Windows form (949 is UHC, 874 the
Windows set), or None where the number names none.
Does not: look at text; `encoding` judges bytes without a declaration.
"""

from __future__ import annotations

import codecs
import functools

WIDE = "utf-16-le"

_PAGES = {
    1200: WIDE, 1201: "utf-16-be", 65001: "utf-8", 936: "gbk", 950: "cp950", 932: "cp932",
    949: "cp949", 51949: "euc_kr", 1361: "johab", 874: "cp874", 28591: "latin-1", 20127: "ascii",
    10000: "mac_roman", 10001: "shift_jis", 10003: "cp949", 10006: "mac_greek",
    10007: "mac_cyrillic", 10029: "mac_latin2", 10081: "mac_turkish", 10021: "cp874",
    20866: "koi8_r", 21866: "koi8_u", 54936: "gb18030", 51932: "euc_jp", 50220: "iso2022_jp",
    28605: "iso8859-15", 20949: "cp949", 38598: "iso8859-8",
}  # fmt: skip
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 78: "shift_jis", 79: "cp949", 80: "gbk", 81: "cp950",
    128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250",
}  # fmt: skip
_LANGUAGES = {  # primary language: its lower ten bits
    0x01: "cp1256", 0x02: "cp1251", 0x04: "gbk", 0x05: "cp1250", 0x08: "cp1253", 0x0D: "cp1255",
    0x0E: "cp1250", 0x11: "cp932", 0x12: "cp949", 0x15: "cp1250", 0x18: "cp1250", 0x19: "cp1251",
    0x1A: "cp1250", 0x1B: "cp1250", 0x1C: "cp1250", 0x1E: "cp874", 0x1F: "cp1254", 0x20: "cp1256",
    0x22: "cp1251", 0x23: "cp1251", 0x24: "cp1250", 0x25: "cp1257", 0x26: "cp1257",
    0x27: "cp1257", 0x29: "cp1256", 0x2A: "cp1258", 0x2F: "cp1251", 0x3F: "cp1251",
}  # fmt: skip
_LOCALES = {0x0404: "cp950", 0x0C04: "cp950", 0x1404: "cp950", 0x0C1A: "cp1251", 0x042C: "cp1254"}


def codec_of_page(page: int) -> str | None:
    """The codec of a Windows code page such as 874, 949 or 1252; 1200 is UTF-16."""
    known = _PAGES.get(page)
    return known if known is not None else _python_codec(f"cp{page}")


def codec_of_charset(charset: int) -> str | None:
    """The codec of a font's character set such as 222 (Thai) or 129 (Hangul); None for the
    default and symbol sets."""
    return _CHARSETS.get(charset)


def codec_of_language(language: int) -> str | None:
    """The ANSI codec of a language identifier such as 0x041E (Thai); None for 0 and 0x0400."""
    if not language & 0x3FF:
        return None
    return _LOCALES.get(language) or _LANGUAGES.get(language & 0x3FF, "cp1252")


@functools.cache
def _python_codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None
