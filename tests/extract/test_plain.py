"""Texts come out verbatim, with the line where each block begins."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import formats, plain
from helpers.extract.blocks import Block, Context, Item, Metadata


def read(raw: bytes | str, name: str = "a.txt") -> list[Item]:
    data = raw.encode() if isinstance(raw, str) else raw
    return list(plain.read(io.BytesIO(data), Context(name, len(data))))


def blocks(raw: bytes | str, name: str = "a.txt") -> list[Block]:
    return [item for item in read(raw, name) if isinstance(item, Block)]


def test_paragraphs_are_parted_by_blank_lines_and_know_their_line() -> None:
    found = blocks("one\ntwo\n\n\n  \nthree\n \t\n\nfour\n")
    assert [block.text for block in found] == ["one\ntwo", "three", "four"]
    assert [block.location.number for block in found if block.location] == [1, 6, 9]
    assert found[0].location is not None and found[0].location.end == 2


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("Harbour plan\n\nThe plan has two parts.", "Harbour plan"),
        ("  항만 계획 \n\n두 부분.", "항만 계획"),
        ("Harbour plan\nsecond line\n\nText", None),
        ("This is a sentence.\n\nText", None),
        ("Dear all,\n\nText", None),
        ("12.5\n\nText", None),
        ("Harbour plan", None),
        ("x" * 81 + "\n\nText", None),
    ],
)
def test_short_first_line_with_more_below_is_the_title(raw: str, title: str | None) -> None:
    found = [i.title for i in read(raw) if isinstance(i, Metadata) and i.title is not None]
    assert found == ([] if title is None else [title])
    assert blocks(raw)[0].text.strip() == raw.split("\n\n")[0].strip()


def test_encoding_is_reported_first() -> None:
    [metadata, _] = read("กำหนดการหยุดจ่ายน้ำ".encode("cp874"))
    assert metadata == Metadata(encoding="TIS-620")


@pytest.mark.parametrize(("name", "kind"), [("a.py", "code"), ("a.log", "line")])
def test_source_code_and_logs_keep_their_lines(name: str, kind: str) -> None:
    [block] = blocks("def f():\n\n    return 1\n", name)
    assert block.text == "def f():\n\n    return 1"
    assert block.kind == kind
    assert block.location is not None and block.location.as_dict()["line"] == 1


@pytest.mark.parametrize("raw", ["", " \n\t\n", "\n\n\n", "\ufeff \n"])
def test_white_space_alone_is_empty(raw: str) -> None:
    with pytest.raises(Unread) as refused:
        read(raw)
    assert refused.value.code == "empty"


@pytest.mark.parametrize("name", ["a.txt", "a.log"])
def test_one_endless_line_comes_in_pieces_without_loss(name: str) -> None:
    text = "คำและน้ำ word " * 40_000
    found = blocks(text, name)
    assert len(found) > 10
    assert all(len(block.text) <= limits.PARAGRAPH_CHARS for block in found)
    assert "".join(block.text for block in found).replace(" ", "") == text.replace(" ", "")


def test_line_numbers_hold_across_read_borders_and_long_paragraphs() -> None:
    rng = random.Random(3)
    lines = [rng.choice(["", "x" * rng.randrange(1, 300), "word " * 30]) for _ in range(20_000)]
    for name in ("a.txt", "a.log"):
        for block in blocks("\n".join(lines), name):
            place = block.location
            assert place is not None and place.number is not None
            assert block.text.split("\n")[0].strip() == lines[place.number - 1].strip()


def test_text_is_kept_verbatim() -> None:
    paragraphs = ["  indented\n\tand tabs  ", "น้ำ e\u0301 \u200b ﬁ"]
    found = blocks("\n\n".join(paragraphs))
    assert [block.text.rstrip() for block in found] == [part.rstrip() for part in paragraphs]


def test_cut_keeps_marks_with_their_letters() -> None:
    text = "น้ำที่" * 100
    cut = plain.cut_position(text, 100)
    assert text[cut] in "นท" or text[cut] == "ำ"
    assert text[cut] not in "\u0e49\u0e35\u0e48"


def test_numbered_lines_count_like_an_editor() -> None:
    pieces = ["a\nb", "c\n\n", "d"]
    assert list(plain.numbered(pieces)) == [(1, "a"), (2, "bc"), (3, ""), (4, "d")]


def test_numbered_gives_a_long_line_in_parts_under_one_number() -> None:
    found = list(plain.numbered(["a\n" + "x" * 250 + "\nb\n"], most=100))
    assert [number for number, _ in found] == [1, 2, 2, 2, 3]
    assert "".join(part for number, part in found if number == 2) == "x" * 250


def test_reference_texts_hold_what_they_must(shared: Path) -> None:
    files = [*sorted((shared / "docs" / "txt").glob("enc_*")), *(shared / "bugs" / "b33").iterdir()]
    fragments = {
        "enc_ko": ("노후 송수관 교체 공사", "基本計劃", "재무팀"),
        "enc_th": ("กำหนดการหยุดจ่าย", "จ่ายนํ้าชั่วคราว", "จ่ายน"),
    }
    seen = 0
    for file in files:
        with file.open("rb") as opened:
            found = formats.load(formats.detect(opened, file.name))
            items = list(found(opened, Context(file.name, file.stat().st_size)))
        text = "\n".join(item.text for item in items if isinstance(item, Block))
        assert any(part in text for part in fragments[file.name[:6]]), file.name
        seen += 1
    assert seen >= 10
