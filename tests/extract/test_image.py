"""Pictures: what their heads say, what is asked about them, and hostile ones."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import formats, image, picture
from helpers.extract.blocks import Block, Context, Item, Notice
from helpers.extract.picture import Picture
from helpers.recognition import LACKING, Recognised, Wanted
from tests.recognize.asked import Answer, Asked, says
from tests.recognize.pictures import png, tiff

MUTATIONS = 2_000


def items(data: bytes, asked: Asked | None = None) -> list[Item]:
    context = Context("picture", len(data))
    if asked is not None:
        context = Context("picture", len(data), recognize=asked)
    return list(image.read(io.BytesIO(data), context))


def refusal(data: bytes, asked: Asked | None = None) -> Unread:
    with pytest.raises(Unread) as caught:
        items(data, asked)
    return caught.value


def jpeg(width: int = 30, height: int = 20, exif: bytes = b"", fill: bytes = b"") -> bytes:
    frame = struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    segment = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif if exif else b""
    table = b"\xff\xdb" + struct.pack(">H", 67) + bytes(65)
    return b"\xff\xd8" + segment + table + fill + b"\xff\xc2" + frame + b"\xff\xda\0\2\xff\xd9"


def exif(orientation: int, order: str = "<") -> bytes:
    head = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0" + head + struct.pack(order + "IH", 8, 1) + entry + bytes(4)


def bmp(width: int, height: int) -> bytes:
    return (
        b"BM" + struct.pack("<IHHI", 62, 0, 0, 62) + struct.pack("<IiiHH", 40, width, height, 1, 1)
    )


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(30)


def webp(kind: bytes, body: bytes) -> bytes:
    return (
        b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", 50) + body + bytes(9)
    )


LOSSY = webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 70, 40 | 1 << 14))
LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 69 | 39 << 14))
EXTENDED = webp(b"VP8X", bytes(4) + (69).to_bytes(3, "little") + (39).to_bytes(3, "little"))


# --- heads ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (png(20, 10), Picture("PNG", 20, 10)),
        (jpeg(30, 20), Picture("JPEG", 30, 20)),
        (jpeg(30, 20, fill=b"\xff\xff\xff"), Picture("JPEG", 30, 20)),
        (jpeg(30, 20, exif(6)), Picture("JPEG", 30, 20, 1, 6)),
        (jpeg(30, 20, exif(8, ">")), Picture("JPEG", 30, 20, 1, 8)),
        (jpeg(30, 20, exif(77)), Picture("JPEG", 30, 20)),
        (tiff(1, 2, 3), Picture("TIFF", 20, 10, 3)),
        (tiff(1, order=">"), Picture("TIFF", 20, 10, 1)),
        (gif(7, 9), Picture("GIF", 7, 9)),
        (bmp(7, -9), Picture("BMP", 7, 9)),
        (LOSSY, Picture("WebP", 70, 40)),
        (LOSSLESS, Picture("WebP", 70, 40)),
        (EXTENDED, Picture("WebP", 70, 40)),
    ],
)
def test_kind_size_pages_and_orientation_stand_in_the_head(data: bytes, wanted: Picture) -> None:
    assert picture.look(io.BytesIO(data)) == wanted
    assert (
        formats.detect(io.BytesIO(data), "misnamed.txt" if b"\0" in data else "a.jpg").name
        == "image"
    )


def test_tiff_whose_pages_run_in_a_circle_ends() -> None:
    data = bytearray(tiff(1, 2))
    first = struct.unpack_from("<I", data, 4)[0]
    entries = struct.unpack_from("<H", data, first)[0]
    struct.pack_into("<I", data, first + 2 + 12 * entries, first)
    found = picture.look(io.BytesIO(bytes(data)))
    assert found is not None and found.pages == 1


def test_big_tiff_is_followed_too() -> None:
    entries = struct.pack("<HHQQ", 256, 4, 1, 640) + struct.pack("<HHQQ", 257, 3, 1, 480)
    data = b"II+\0" + struct.pack("<HHQ", 8, 0, 16) + struct.pack("<Q", 2) + entries + bytes(8)
    assert picture.look(io.BytesIO(data)) == Picture("TIFF", 640, 480)


# --- limits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (png(declared=50_000), "2,500,000,000 > 100,000,000 pixels"),
        (gif(65_535, 65_535), "> 100,000,000 pixels"),
        (jpeg(40_000, 100), "40,000 > 32,000 pixels"),
        (tiff(*[9] * (limits.OCR_FRAMES + 1), width=1, height=1), "5,001 > 5,000 pages"),
    ],
    ids=["png", "gif", "long", "pages"],
)
def test_too_large_a_picture_is_refused_before_anything_is_asked(data: bytes, told: str) -> None:
    asked = Asked(says("never"))
    unread = refusal(data, asked)
    assert unread.code == "limit_reached" and told in unread.reason and unread.remedy
    assert asked.asked == []


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n", png()[:20], b"\xff\xd8\xff\xda", b"II*\0\xff\xff\xff\0", bmp(0, 0)],
)
def test_a_broken_head_is_corrupt(data: bytes) -> None:
    unread = refusal(data, Asked(says("never")))
    assert unread.code == "corrupt" and unread.remedy


def test_photographs_of_other_kinds_are_named() -> None:
    with pytest.raises(Unread) as caught:
        formats.detect(io.BytesIO(b"\0\0\0\x20ftypheic" + bytes(40)), "photo.heic")
    assert caught.value.code == "unsupported" and "HEIC" in caught.value.reason


# --- what is asked, what comes of it ---------------------------------------------------


def test_text_of_a_picture_is_marked_as_recognised_and_stands_on_its_page() -> None:
    (block,) = items(png(), Asked(says("words")))
    assert isinstance(block, Block) and block.ocr and block.text == "words"
    assert block.location is not None and block.location.as_dict()["page"] == 1


def test_small_pictures_are_enlarged_and_turned_ones_turned() -> None:
    asked = Asked(says("words"))
    items(jpeg(30, 20, exif(6)), asked)
    items(jpeg(3_000, 2_000), asked)
    items(tiff(1, 2), asked)
    assert asked.asked == [
        Wanted("image", dpi=70, orientation=6, scale=200),
        Wanted("image", dpi=256),
        Wanted("image", 1, 2, 70),
        Wanted("image", 2, 2, 70),
    ]
    items(png(1_500, 9), asked)
    assert asked.asked[-1] == Wanted("image", dpi=256, scale=200)


def test_a_page_that_cannot_be_read_is_noticed_beside_the_others() -> None:
    def answer(wanted: Wanted) -> Answer:
        return Unread("timeout", "too slow", "") if wanted.page == 2 else says("words")(wanted)

    found = items(tiff(1, 2, 3), Asked(answer))
    assert [type(item) for item in found] == [Block, Notice, Block]
    notice = found[1]
    assert isinstance(notice, Notice) and notice.location is not None
    assert (notice.code, notice.location.number) == ("timeout", 2)


def test_without_an_engine_the_reason_is_the_engines() -> None:
    unread = refusal(png())
    assert unread.code == "no_text" and unread.remedy
    assert "No page" in refusal(tiff(1, 2)).reason


def test_nothing_legible_says_which_languages_could_not_be_looked_for() -> None:
    nothing = Recognised((), "engine", {LACKING: "tha, kor"})
    unread = refusal(png(), Asked(lambda wanted: nothing))
    assert unread.code == "no_text" and "no language data for tha, kor" in unread.reason


@pytest.mark.parametrize(
    ("read", "wanted"),
    [
        ("น\u0e4d\u0e49าประปา", "น้ำประปา"),
        ("สํานักงาน", "สำนักงาน"),
        ("กำหน ดการหยุดจ่าย", "กำหนดการหยุดจ่าย"),
        ("ขอแจ้ง กำหนดการ", "ขอแจ้ง กำหนดการ"),
        ("ปริมาณ\nน้ำที่ต้องการ", "ปริมาณน้ำที่ต้องการ"),
        ("식당 앞 사거리의 교통\n이 통제됩니다.", "식당 앞 사거리의 교통이 통제됩니다."),
        ("a wrapped\nline and re-\npair", "a wrapped line and repair"),
    ],
)
def test_recognised_text_is_cleaned(read: str, wanted: str) -> None:
    (block,) = items(png(), Asked(says(read)))
    assert isinstance(block, Block) and block.text == wanted


# --- mutations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "original",
    [png(), jpeg(30, 20, exif(6)), tiff(1, 2, 3), gif(7, 9), bmp(7, 9), LOSSY, LOSSLESS, EXTENDED],
    ids=["png", "jpeg", "tiff", "gif", "bmp", "lossy", "lossless", "extended"],
)
def test_mutations_end_in_text_or_a_typed_code(
    original: bytes, points: Callable[[int, int], int]
) -> None:
    seeded = random.Random(original)
    for _ in range(points(200, MUTATIONS)):
        data = bytearray(original)
        for _ in range(seeded.randint(1, 6)):
            data[seeded.randrange(min(len(data), 120))] = seeded.choice((0, 1, 127, 128, 255))
        if seeded.random() < 0.3:
            del data[seeded.randrange(len(data)) :]
        try:
            items(bytes(data), Asked(says("words")))
        except Unread as unread:
            assert unread.code in ("corrupt", "limit_reached", "unsupported")
