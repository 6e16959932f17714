"""Which charset a text file is in.

Promises: the whole file is searched for its first non-ASCII letters, so a charset that shows
late is seen; memory stays at a few READ_BYTES whatever the file's size; a few bad bytes never
turn UTF-8 into something else; bytes that cannot be decoded become U+FFFD and are counted,
and `TextStream.notices` says so. Line ends come out as "\\n".
Does not: read a binary file as text (Unread "corrupt"), look at names, or repair words.

How a legacy charset is chosen: the bytes are priced in bits under each candidate, from letter
frequencies and from what cannot follow what; the cheapest wins. One Korean word of two
syllables or one Thai word of three letters is usually enough.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from helpers import limits
from helpers.errors import Unread
from helpers.extract import encoding_east
from helpers.extract.letters import HANGUL_BITS, THAI_BITS

CONTROL_SHARE = 0.02  # of a sample: more control bytes than this are no text
NUL_SHARE = 0.001  # of a sample: a crash may leave a few NULs in a log, a binary has more
UTF16_SHARE = 0.95  # of decoded letters that must be plausible without a BOM
LEAD_BYTES = 64  # of a line kept before its first non-ASCII byte
SHORT_BYTES = 64  # non-ASCII bytes up to which UTF-8 may be an accident
DOUBTFUL_BITS = 9.0  # per byte: above this no candidate explains the file
BAD_BITS = 40  # of a byte sequence the charset does not have
RARE_HANGUL_BITS = 15  # of a KS X 1001 syllable outside the table
EXTENDED_HANGUL_BITS = 18  # of a syllable that only CP949 has
HANJA_BITS = 14
SYMBOL_BITS = 10
RARE_THAI_BITS = 16
PLACED_BITS = 3  # taken off where a Thai sign stands as it must
MISPLACED_BITS = 8  # of a Thai sign where no Thai sign can stand, of two Western accents in a row

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le", "UTF-32LE"),
    (b"\x00\x00\xfe\xff", "utf-32-be", "UTF-32BE"),
    (b"\xef\xbb\xbf", "utf-8", "UTF-8"),
    (b"\xff\xfe", "utf-16-le", "UTF-16LE"),
    (b"\xfe\xff", "utf-16-be", "UTF-16BE"),
)
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27}) + b"\x7f"
_ASCII = bytes(range(128))
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_GAP = re.compile(rb"\0{16,}")  # what a crash leaves in a log: a hole, the text beside it whole
_REPLACEMENT = "\ufffd".encode()
_HANGUL_COST = {ch: bits for bits, letters in HANGUL_BITS.items() for ch in letters}
_THAI_COST = {ch: bits for bits, letters in THAI_BITS.items() for ch in letters}
_THAI_MISPLACED = re.compile(
    # a sign above, below or after that follows no consonant and no other sign,
    "(?<![\u0e01-\u0e2e\u0e31-\u0e3a\u0e47-\u0e4d])[\u0e30-\u0e3a\u0e47-\u0e4e]"
    # or a leading vowel that no consonant follows
    "|[\u0e40-\u0e44](?![\u0e01-\u0e2e])"
)
_THAI_PLACED = re.compile(
    "[\u0e01-\u0e2e][\u0e31-\u0e3a\u0e47-\u0e4d]|[\u0e40-\u0e44][\u0e01-\u0e2e]"
)
_WESTERN_RUN = re.compile("(?<![a-z])[\u00c0-\u00ff]{2,}|[\u00c0-\u00ff]{2,}(?![a-z])")
_WESTERN_COMMON = frozenset("éèàùâêîôûçäöüßñáíóúåøæãõÉ“”‘’–—…«»°§£€©®·")
_SUSPICIOUS = re.compile("[\u0100-\u05ff\u0700-\u0dff\u1200-\u1dff]")
_ASCII_LETTER = re.compile("[A-Za-z]")
# Up to three letters between small ASCII letters, as in "Größe": no Korean and no Thai word.
_ENCLOSED = re.compile(rb"(?<=[a-z])[\x80-\xff]{1,3}(?=[a-z])")
_PLAUSIBLE_WIDE = re.compile(
    "[\t\n\r -~\u00a0-\u024f\u0e01-\u0e5b\u1100-\u11ff\u2010-\u2027\u2030-\u203b\u20a0-\u20bf"
    "\u2190-\u21ff\u2460-\u27bf\u3000-\u30ff\u3130-\u318f\u3200-\u33ff\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\uff01-\uffee\ufeff\U0001f300-\U0001faff\u0370-\u06ff]"
)

_DECLARED = {
    **dict.fromkeys(("utf-8", "utf8"), "utf-8"),
    **dict.fromkeys(
        (
            "euc-kr",
            "ks-c-5601-1987",
            "ksc5601",
            "ks-c-5601",
            "cp949",
            "uhc",
            "windows-949",
            "x-windows-949",
        ),
        "cp949",
    ),
    **dict.fromkeys(("tis-620", "windows-874", "iso-8859-11", "cp874", "tis620"), "cp874"),
    **dict.fromkeys(
        ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii", "windows-1252"), "cp1252"
    ),
    **dict.fromkeys(("shift-jis", "x-sjis", "sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "x-gbk"), "gb18030"),
}
_DECLARED_PLAIN = re.compile("iso-8859-[0-9]{1,2}|windows-125[0-8]|koi8-[ru]|big5|euc-jp|ibm866")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A charset: Python's `codec`, the `label` for people, `skip` bytes of BOM to pass over,
    and whether the bytes left no doubt.
    """

    codec: str
    label: str
    skip: int = 0
    sure: bool = True


# --- finding out ----------------------------------------------------------------------


def detect(file: BinaryIO, heartbeat: Callable[[], None] | None = None) -> Encoding:
    """The charset of an open text file; leaves the position at the start.

    Raises Unread("corrupt") for binary content.
    """
    file.seek(0)
    start = file.read(limits.READ_BYTES)
    file.seek(0)
    for bom, codec, label in _BOMS:
        if start.startswith(bom):
            return Encoding(codec, label, len(bom))
    if _controls(start):
        wide = _wide_encoding(start)
        if wide is not None:
            return wide
        start = _GAP.sub(b"", start)
        if not start:
            raise binary_content()
        controls, nuls = _controls(start), start.count(0)
        if controls > max(2, CONTROL_SHARE * len(start)) or nuls > max(2, NUL_SHARE * len(start)):
            raise binary_content()
    evidence = _Evidence()
    for raw in reads(file, heartbeat):
        if not raw.isascii() and evidence.add(raw):
            break
    file.seek(0)
    return evidence.verdict()


def binary_content() -> Unread:
    """The error for a file that is named like a text and holds none."""
    return Unread(
        "corrupt",
        "Named like a text file but its content is binary",
        "Rename the file to what it is, or export it as text.",
    )


class _Evidence:
    """What the stretches with non-ASCII bytes look like as UTF-8, and a sample of them."""

    def __init__(self) -> None:
        self.seen = self.high = self.controls = self.good = self.bad = 0
        self.sample = b""
        self.pending = b""  # of a letter that goes on in the next stretch

    def add(self, raw: bytes) -> bool:
        """Take one stretch; True when enough has been seen."""
        self.seen += len(raw)
        self.controls += _controls(_GAP.sub(b"", raw) if b"\0" in raw else raw)
        high = high_bytes(raw)
        raw = self.pending + raw
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(raw)
        self.pending = decoder.getstate()[0]
        bad = text.count("\ufffd") - raw.count(_REPLACEMENT)
        self.high += high
        self.bad += bad
        self.good += len(text) - len(text.encode("ascii", "ignore")) - bad
        room = limits.ENCODING_SAMPLE_BYTES - len(self.sample)
        if room > 0:
            self.sample += dense_lines(raw[: len(raw) - len(self.pending)], room)
        return self.seen >= limits.ENCODING_EVIDENCE_BYTES

    def verdict(self) -> Encoding:
        if not self.seen:
            return Encoding("utf-8", "ASCII")
        if self.controls > max(2, CONTROL_SHARE * self.seen):
            raise binary_content()
        self.sample += self.pending
        self.bad += bool(self.pending)
        if self.high <= SHORT_BYTES:
            return _short_verdict(self.sample)
        if self.good > 2 * self.bad:
            return Encoding("utf-8", "UTF-8")
        return legacy(self.sample)


def _controls(raw: bytes) -> int:
    return len(raw) - len(raw.translate(None, _CONTROLS))


def dense_lines(raw: bytes, room: int) -> bytes:
    """Lines of `raw` that hold non-ASCII bytes, at most about `room` bytes of them."""
    kept: list[bytes] = []
    for line in raw.splitlines(keepends=True):
        found = _HIGH_BYTE.search(line)
        if found:
            start = max(0, found.start() - LEAD_BYTES)
            kept.append(line[start : start + room])
            room -= len(kept[-1])
            if room <= 0:
                break
    return b"".join(kept)


def _short_verdict(sample: bytes) -> Encoding:
    """UTF-8 against the rest where a few bytes may pass as UTF-8 by chance: EUC-KR and TIS-620
    have two-letter words that UTF-8 reads as rare Latin letters.
    """
    found = legacy(sample)
    text = sample.replace(_REPLACEMENT, b"").decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if not bad and not _SUSPICIOUS.search(text):
        return Encoding("utf-8", "UTF-8")
    if found.sure and _utf8_bits(text) > _bits(sample)[found.codec]:
        return found
    good = sum(1 for ch in text if ch >= "\x80") - bad
    return Encoding("utf-8", "UTF-8") if good > 2 * bad else found


def _utf8_bits(text: str) -> int:
    """The price of a short text that may or may not be UTF-8."""
    blocks = Counter(ord(ch) >> 7 for ch in text if _SUSPICIOUS.match(ch))
    ranked = blocks.most_common(1)
    own_block = ranked[0][0] if ranked and ranked[0][1] >= 2 and ranked[0][0] >= 6 else -1
    bits = 0
    for position, ch in enumerate(text):
        if ch < "\x80":
            continue
        if ch == "\ufffd":
            bits += BAD_BITS
        elif _SUSPICIOUS.match(ch):
            around = text[max(0, position - 1) : position] + text[position + 1 : position + 2]
            usual = ord(ch) >> 7 == own_block or _ASCII_LETTER.search(around)
            bits += 8 if usual else 22
        else:
            bits += 8 if ch < "\u0800" else 10
    return bits


def legacy(sample: bytes) -> Encoding:
    """The cheapest charset for a sample that is no UTF-8; a word counts once, however often it
    stands in a log.
    """
    sample = b" ".join(dict.fromkeys(word for word in sample.split() if not word.isascii()))
    high = max(1, high_bytes(sample))
    costs = _bits(sample)
    codec = min(costs, key=lambda name: costs[name])
    return Encoding(codec, _label(codec, sample), sure=costs[codec] <= DOUBTFUL_BITS * high)


def _bits(sample: bytes) -> dict[str, int]:
    enclosed = MISPLACED_BITS * sum(1 for _ in _ENCLOSED.finditer(sample))
    others = {codec: bits + enclosed for codec, bits in encoding_east.bits(sample).items()}
    return {
        "cp949": _korean_bits(sample) + enclosed,
        "cp874": _thai_bits(sample) + enclosed,
        "cp1252": _western_bits(sample),
        **others,
    }


def likelier(raw: bytes, one: str, other: str) -> str:
    """Of two codecs that `_bits` knows the one in which `raw` makes the more usual letters; `one`
    where it knows neither or both are as good.
    """
    first, second = _PRICES.get(one), _PRICES.get(other)
    if first is None or second is None:
        return one
    return other if second(raw) < first(raw) else one


def _korean_bits(sample: bytes) -> int:
    bits = 0
    for ch, count in Counter(sample.decode("cp949", "replace")).items():
        if ch < "\x80":
            continue
        if ch in _HANGUL_COST:
            price = _HANGUL_COST[ch]
        elif ch == "\ufffd":
            price = BAD_BITS
        elif "\uac00" <= ch <= "\ud7a3":
            extended = min(ch.encode("cp949")) < 0xA1
            price = EXTENDED_HANGUL_BITS if extended else RARE_HANGUL_BITS
        else:
            price = HANJA_BITS if ch >= "\u3400" else SYMBOL_BITS
        bits += price * count
    return bits


def _thai_bits(sample: bytes) -> int:
    text = sample.decode("cp874", "replace")
    bits = MISPLACED_BITS * sum(1 for _ in _THAI_MISPLACED.finditer(text))
    bits -= PLACED_BITS * sum(1 for _ in _THAI_PLACED.finditer(text))
    for ch, count in Counter(text).items():
        if ch in _THAI_COST:
            bits += _THAI_COST[ch] * count
        elif ch == "\ufffd":
            bits += BAD_BITS * count
        elif ch >= "\x80":
            bits += count * (RARE_THAI_BITS if ch < "\u2000" else SYMBOL_BITS)
    return bits


def _western_bits(sample: bytes) -> int:
    text = sample.decode("cp1252", "replace")
    together = sum(len(run.group()) for run in _WESTERN_RUN.finditer(text))
    bits = MISPLACED_BITS * together
    for ch, count in Counter(text).items():
        if ch < "\x80":
            continue
        letter = 8 if "\u00c0" <= ch <= "\u00ff" else SYMBOL_BITS
        price = 6 if ch in _WESTERN_COMMON else BAD_BITS if ch == "\ufffd" else letter
        bits += price * count
    return bits


_PRICES: dict[str, Callable[[bytes], int]] = {
    "cp949": _korean_bits,
    "cp874": _thai_bits,
    "cp1252": _western_bits,
    **encoding_east.PRICES,
}


def _label(codec: str, sample: bytes) -> str:
    if codec in encoding_east.CODECS:
        return encoding_east.CODECS[codec]
    if codec == "cp949":
        text = sample.decode("cp949", "replace")
        extended = any(ch >= "\uac00" and _is_extended(ch) for ch in set(text))
        return "CP949" if extended else "EUC-KR"
    controls = any(0x80 <= byte < 0xA0 for byte in set(sample))
    if codec == "cp874":
        return "CP874" if controls or 0xA0 in sample else "TIS-620"
    return "Windows-1252" if controls else "ISO-8859-1"


def _is_extended(ch: str) -> bool:
    raw = ch.encode("cp949", "ignore")
    return len(raw) == 2 and min(raw) < 0xA1


def _wide_encoding(start: bytes) -> Encoding | None:
    """UTF-16 without a BOM, told by which of its two readings looks like text."""
    even = start[: limits.ENCODING_SAMPLE_BYTES & ~1]
    even = even[: len(even) & ~1]
    best, best_share = "", UTF16_SHARE
    for codec in ("utf-16-le", "utf-16-be"):
        text = even.decode(codec, "replace")
        share = len(_PLAUSIBLE_WIDE.findall(text)) / max(1, len(text))
        spaces = text.count(" ") + text.count("\n") + text.count("\r") + 1
        foreign = text.count("\u2000") + text.count("\u0a00") + text.count("\u0d00")
        if share > best_share and spaces > foreign:
            best, best_share = codec, share
    if not best:
        return None
    return Encoding(best, best.upper().replace("UTF-16-", "UTF-16"))


def declared(label: str) -> Encoding | None:
    """The charset a document names (in a meta element, say), None for an unknown or unsafe one.

    Korean, Thai and Western names mean the larger sets that are in fact written under them.
    """
    name = label.strip().lower().replace("_", "-")
    codec = _DECLARED.get(name) or (name if _DECLARED_PLAIN.fullmatch(name) else None)
    if codec is None:
        return None
    try:
        return Encoding(codecs.lookup(codec).name, label.strip())
    except LookupError:
        return None


def high_bytes(raw: bytes) -> int:
    """How many bytes of `raw` are no ASCII."""
    return len(raw.translate(None, _ASCII))


def reads(file: BinaryIO, heartbeat: Callable[[], None] | None) -> Iterator[bytes]:
    """The rest of a file, READ_BYTES at a time."""
    while True:
        raw = file.read(limits.READ_BYTES)
        if not raw:
            return
        yield raw
        if heartbeat is not None:
            heartbeat()
