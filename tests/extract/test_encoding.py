"""Charsets are told from the bytes, and nothing is lost or changed in silence."""

from __future__ import annotations

import codecs
import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import limits
from helpers.errors import Unread
from helpers.extract.blocks import Context
from helpers.extract.encoding import declared, detect
from helpers.extract.stream import TextStream

THAI = "กำหนดการหยุดจ่ายน้ำชั่วคราว ในวันที่ 14 ตุลาคม"
CHINESE = "本市自来水公司定于十月十四日上午九时起更换老旧水管，届时部分地区将停止供水。"
TRADITIONAL = "本市自來水公司定於十月十四日上午九時起更換老舊水管，屆時部分地區將停止供水。"
JAPANESE = "十月十四日の午前九時から古い水道管の交換工事のため、断水します。ご協力をお願いします。"
RUSSIAN = "Водоканал сообщает: четырнадцатого октября с девяти часов утра воды в домах не будет."
KOREAN = "노후 송수관 교체 공사로 단수를 실시합니다"


def stream_of(raw: bytes) -> TextStream:
    return TextStream(io.BytesIO(raw), Context("a.txt", len(raw)))


def text_of(raw: bytes) -> str:
    return "".join(stream_of(raw))


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (THAI, "utf-8", "UTF-8"),
        (KOREAN, "utf-8", "UTF-8"),
        ("plain words", "ascii", "ASCII"),
        (THAI, "cp874", "TIS-620"),
        ("“" + THAI + "”", "cp874", "CP874"),
        (KOREAN, "euc-kr", "EUC-KR"),
        (KOREAN + " 똠방각하 펲시", "cp949", "CP949"),
        ("L'été dernier, déjà vu à la fenêtre", "latin-1", "ISO-8859-1"),
        ("“Señor José” – 5 €", "cp1252", "Windows-1252"),
        ("Größe und Straße", "latin-1", "ISO-8859-1"),
        (THAI + "\n", "utf-16-le", "UTF-16LE"),
        (THAI + "\n", "utf-16-be", "UTF-16BE"),
        (KOREAN + "\n", "utf-16-le", "UTF-16LE"),
        (KOREAN + "\n", "utf-16-be", "UTF-16BE"),
        ("plain words\n", "utf-16-le", "UTF-16LE"),
    ],
)
def test_charset_is_told_without_a_bom(text: str, codec: str, label: str) -> None:
    stream = stream_of(text.encode(codec))
    assert "".join(stream) == text
    assert stream.encoding.label == label
    assert not list(stream.notices())


@pytest.mark.parametrize(
    ("bom", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_bom_decides_and_is_removed(bom: bytes, codec: str) -> None:
    assert text_of(bom + KOREAN.encode(codec)) == KOREAN


@pytest.mark.parametrize("word", ["서울", "예산", "성춘향", "홍길동,총무팀", "노후 송수관"])
def test_one_korean_word_is_enough(word: str) -> None:
    assert detect(io.BytesIO(word.encode("cp949"))).codec == "cp949"


@pytest.mark.parametrize("word", ["น้ำท่วม", "กำหนดการ", "งบประมาณ", "กรุงเทพ", "อังกฤษ", "ปลา"])
def test_one_thai_word_is_enough(word: str) -> None:
    assert detect(io.BytesIO(word.encode("cp874"))).codec == "cp874"


@pytest.mark.parametrize("word", ["카트", "타짜", "천황", "크기"])
def test_korean_that_passes_as_utf8_by_chance_is_korean(word: str) -> None:
    raw = (word + ", " + "서울").encode("cp949")
    assert text_of(raw) == word + ", 서울"


@pytest.mark.parametrize(
    "text", ["Łódź", "Čeština žluťoučký", "đường phố", "Ωμέγα", "Привет", "שלום"]
)
def test_other_scripts_in_utf8_stay_utf8(text: str) -> None:
    assert text_of(text.encode()) == text


def test_charset_that_shows_only_after_much_ascii_is_seen() -> None:
    raw = b"INFO service started\n" * 50_000 + KOREAN.encode("cp949")
    assert text_of(raw).endswith(KOREAN)


@pytest.mark.parametrize("codec", ["utf-8", "cp949", "cp874"])
def test_charset_that_shows_only_late_in_one_long_line_is_seen(codec: str) -> None:
    word = "กำหนดการ" if codec == "cp874" else "노후 송수관"
    raw = b"word " * 100_000 + word.encode(codec) + b" word" * 100_000
    assert word in text_of(raw)


@pytest.mark.parametrize("shift", range(4))
def test_one_letter_across_a_read_border_is_seen(shift: int) -> None:
    text = "x" * (limits.READ_BYTES - shift) + "한" + "y" * 100
    stream = stream_of(text.encode())
    assert "".join(stream) == text
    assert not list(stream.notices())


def test_binary_that_follows_a_text_is_not_read_as_text() -> None:
    raw = b"#!/bin/sh\necho unpack\n" * 20_000 + bytes(range(256)) * 4_000
    with pytest.raises(Unread) as refused:
        text_of(raw)
    assert refused.value.code == "corrupt"


def test_one_bad_byte_leaves_utf8_as_it_is_and_is_reported_with_its_line() -> None:
    raw = f"first\n{KOREAN}".encode() + b"\xb0" + f" {THAI}\n".encode()
    stream = stream_of(raw)
    text = "".join(stream)
    assert text == f"first\n{KOREAN}\ufffd {THAI}\n"
    [notice] = stream.notices()
    assert notice.code == "encoding_errors"
    assert notice.location is not None and notice.location.number == 2


def test_letter_cut_off_at_the_end_is_reported() -> None:
    stream = stream_of(KOREAN.encode()[:-1])
    assert "".join(stream) == KOREAN[:-1] + "\ufffd"
    assert [notice.code for notice in stream.notices()] == ["encoding_errors"]


def test_replacement_letters_of_the_text_itself_are_no_errors() -> None:
    stream = stream_of("a \ufffd b 한글".encode())
    assert "".join(stream) == "a \ufffd b 한글"
    assert not list(stream.notices())


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (CHINESE, "gb18030", "GB18030"),
        (TRADITIONAL, "big5", "Big5"),
        (JAPANESE, "shift_jis", "Shift_JIS"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (RUSSIAN, "koi8_r", "KOI8-R"),
    ],
)
def test_old_charsets_of_china_japan_and_russia_are_told(text: str, codec: str, label: str) -> None:
    stream = stream_of(text.encode(codec))
    assert "".join(stream) == text
    assert stream.encoding.label == label
    assert not list(stream.notices())


@pytest.mark.parametrize("words", [1, 2, 3])
def test_korean_and_thai_words_are_never_taken_for_a_charset_further_off(words: int) -> None:
    """However rare a word, and however often it stands there."""
    korean = [
        "펌프",
        "꺼짐",
        "밸브",
        "닫힘",
        "쿠폰",
        "텔레콤",
        "팩스",
        "콘크리트",
        "뚜껑",
        "찌꺼기",
        "빨래",
        "튤립",
        "휠체어",
        "캐비닛",
    ]
    thai = [
        "ปั๊ม",
        "วาล์ว",
        "ฟิวส์",
        "คอนกรีต",
        "ฎีกา",
        "ฤดู",
        "เฌอ",
        "กฎ",
        "ฆ้อง",
        "ญาติ",
        "ธง",
        "ศาล",
        "ที่ทำการ",
        "ซ่อมท่อ",
    ]
    for listed, codec in ((korean, "cp949"), (thai, "cp874")):
        for at in range(len(listed)):
            one = " ".join((listed * 2)[at : at + words]) + "\n"
            for times in (1, 30):
                assert detect(io.BytesIO(one.encode(codec) * times)).codec in ("cp949", "cp874")


def test_text_in_an_unknown_charset_is_read_with_a_warning() -> None:
    stream = stream_of("Το γρήγορο καφέ αλεπού πηδά".encode("iso8859_7") + b"\x80\x81\x9f" * 9)
    assert "".join(stream)
    assert "encoding_uncertain" in [notice.code for notice in stream.notices()]


def test_letters_across_read_borders_are_whole() -> None:
    text = "가" + "น้ำ" * (limits.READ_BYTES // 3)
    for codec in ("utf-8", "utf-16"):
        assert text_of(text.encode(codec)) == text


def test_line_ends_come_out_as_newlines_across_read_borders() -> None:
    raw = b"x" * (limits.READ_BYTES - 1) + b"\r\n" + b"y\rz\r"
    assert text_of(raw) == "x" * (limits.READ_BYTES - 1) + "\ny\nz\n"


@pytest.mark.parametrize(
    "raw", [bytes(range(256)) * 8, b"\0" * 4096, b"MZ\x90\0\x03\0\0\0" * 200, b"abc\0\0\0def" * 99]
)
def test_binary_content_is_never_read_as_text(raw: bytes) -> None:
    with pytest.raises(Unread) as refused:
        detect(io.BytesIO(raw))
    assert refused.value.code == "corrupt"


def test_a_few_nuls_in_a_long_log_become_spaces() -> None:
    assert text_of(b"line of a log\n" * 1000 + b"\0\0end") == "line of a log\n" * 1000 + "  end"


def test_hole_that_a_crash_left_in_a_log_does_not_make_it_binary() -> None:
    raw = b"pump on\n" + b"\0" * 3000 + "펌프 꺼짐\n".encode("cp949") * 20
    assert detect(io.BytesIO(raw)).codec == "cp949"


def test_memory_does_not_grow_with_the_file() -> None:
    class Endless(io.RawIOBase):
        """64 MB of text that exists nowhere, counting the largest read."""

        def __init__(self) -> None:
            self.position, self.largest = 0, 0

        def seek(self, offset: int, whence: int = 0) -> int:
            self.position = offset
            return offset

        def read(self, size: int = -1) -> bytes:
            self.largest = max(self.largest, size if size >= 0 else 1 << 30)
            left = (64 << 20) - self.position
            self.position += min(size, left)
            return b"word " * (min(size, left) // 5) if left > 0 else b""

    source = Endless()
    stream = TextStream(source, Context("a.txt", 64 << 20))  # type: ignore[arg-type]
    assert sum(1 for piece in stream if len(piece) <= limits.READ_BYTES) > 100
    assert source.largest <= limits.READ_BYTES


def test_thai_marks_typed_in_the_other_order_are_put_in_order_and_said_to_be() -> None:
    stream = stream_of("นํ้า ผู้ แล้ว น้ํา ที่".encode())
    assert "".join(stream) == "น้ำ ผู้ แล้ว น้ํา ที่"
    assert [notice.code for notice in stream.notices()] == ["thai_marks_reordered"]


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("EUC-KR", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("windows-874", "cp874"),
        ("TIS-620", "cp874"),
        ("ISO-8859-1", "cp1252"),
        ("utf8", "utf-8"),
        ("windows-1251", "cp1251"),
    ],
)
def test_declared_names_mean_what_is_written_under_them(name: str, codec: str) -> None:
    found = declared(name)
    assert found is not None and found.codec == codec


@pytest.mark.parametrize("name", ["", "zlib", "rot13", "unicode_escape", "idna", "utf-7", "../x"])
def test_unsafe_declared_names_are_ignored(name: str) -> None:
    assert declared(name) is None


def _lines_of(shared: Path, folder: str) -> Iterator[str]:
    files = sorted((shared / "retrieval" / folder / "docs").iterdir())[:60]
    for file in files:
        yield from (line for line in file.read_text("utf-8").split("\n") if not line.isascii())


@pytest.mark.parametrize(("folder", "codec"), [("ko_tydi", "cp949"), ("th_iapp", "cp874")])
def test_single_lines_of_real_articles_are_told(shared: Path, folder: str, codec: str) -> None:
    told = asked = 0
    for line in _lines_of(shared, folder):
        raw = line.encode(codec, "ignore")
        if len(raw) - len(raw.decode("ascii", "ignore")) < 8:
            continue
        asked += 1
        told += detect(io.BytesIO(raw)).codec == codec
    assert asked > 100
    assert told >= 0.995 * asked, f"{told} of {asked} lines"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=4096))
def test_random_bytes_never_raise_anything_but_unread(raw: bytes) -> None:
    try:
        text = text_of(raw)
    except Unread as refused:
        assert refused.code == "corrupt"
    else:
        assert "\r" not in text and "\0" not in text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=500))
def test_utf8_comes_out_as_it_went_in(text: str) -> None:
    clean = text.encode("utf-8", "ignore").decode().replace("\0", "").lstrip("\ufeff")
    clean = "".join(ch for ch in clean if ch >= " " or ch == "\n").replace("\x7f", "")
    safe = "안녕하세요 " + clean
    assert text_of(safe.encode()) == safe


def test_mutated_texts_are_read_or_refused() -> None:
    rng = random.Random(7)
    base = bytearray((KOREAN + "\n" + THAI + "\nplain text\n").encode() * 20)
    for _ in range(300):
        raw = bytearray(base)
        for _ in range(rng.randrange(1, 20)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        try:
            assert text_of(bytes(raw))
        except Unread as refused:
            assert refused.code == "corrupt"
