"""Repairs of a text layer and the verdict on it."""

from __future__ import annotations

import pytest

from helpers.extract import pdf_text, pdf_thai, pdf_unmapped

THAI = "กำหนดการหยุดจ่ายน้ำชั่วคราว จำนวนครัวเรือนและปริมาณน้ำที่ต้องการล่วงหน้าอย่างน้อยสองวันทำการ"
NOTICE = f"{THAI} สำนักงานประปาอำเภอขอแจ้งกำหนดการ ประจำปี ดำเนินการ ลำดับ ตำบล สำคัญ"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("น\u0e4d\u0e32", "นำ"),
        ("น\u0e49\u0e4d\u0e32", "น้ำ"),
        ("น\u0e4d\u0e49\u0e32", "น้ำ"),
        ("น\u0e33\u0e49", "น้ำ"),
        ("ท ำงาน", "ทำงาน"),
        ("จ่ ายน ้ำ", "จ่ายน้ำ"),
        ("จ\uf70aาย แจ\uf70bง", "จ่าย แจ้ง"),
        ("ท\u0e48\u0e35", "ที่"),
        ("เ เ", "เ เ"),
        ("เเละ", "และ"),
        ("เ ด็ก", "เด็ก"),
        ("ทีี่", "ที่"),
        ("น้ำ\u0e4d้", "น้ำ"),
        ("soft\u00adhyphen", "softhyphen"),
        ("ที่ 14 ตุลาคม", "ที่ 14 ตุลาคม"),
        ("plain text, 3.14", "plain text, 3.14"),
    ],
)
def test_thai_is_stored_as_it_is_meant(given: str, meant: str) -> None:
    assert pdf_text.repair(given) == meant


def test_repair_is_stable() -> None:
    assert pdf_text.repair(NOTICE) == NOTICE
    assert pdf_thai.repair_page([NOTICE]) == [NOTICE]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("หยุดจ่ายน้ำชัว่ คราว ในวันที่", "หยุดจ่ายน้ำชั่วคราว ในวันที่"),
        ("ทัว่ ไป", "ทั่วไป"),
        ("เครือ่ งมือ", "เครื่องมือ"),
        ("พืน้ ที่", "พื้นที่"),
        ("มิก่อน ตัวอย่าง หัวหน้า", "มิก่อน ตัวอย่าง หัวหน้า"),
    ],
)
def test_a_tone_that_slipped_goes_back(given: str, meant: str) -> None:
    assert pdf_thai.repair_page([given]) == [meant]


def test_sara_am_comes_back_where_a_page_has_none() -> None:
    assert pdf_thai.repair_page([NOTICE.replace("ำ", "า")]) == [NOTICE]


def test_sara_aa_comes_back_where_a_program_made_sara_am_of_each() -> None:
    garbled = NOTICE.replace("า", "ำ")
    assert pdf_thai.repair_page(pdf_thai.restore_aa([garbled])) == [NOTICE]
    assert pdf_thai.restore_aa([NOTICE]) == [NOTICE]


def test_mark_without_a_letter_is_told_by_the_words_it_stands_in() -> None:
    silent = pdf_unmapped.stand_in(pdf_unmapped.SILENT, "/ABCDEF+Font", 0x31)
    lines = [NOTICE.replace("้", silent), f"ในอ่างน\u0e4d{silent}\u0e32"]
    assert pdf_unmapped.resolve(lines) == [NOTICE, "ในอ่างน้ำ"]
    assert pdf_unmapped.resolve([f"น\u0e4d{silent}\u0e32"]) == ["น้ำ"]


def test_mark_that_no_word_proves_stays_silent_or_unknown() -> None:
    silent = pdf_unmapped.stand_in(pdf_unmapped.SILENT, "/F", 7)
    unknown = pdf_unmapped.stand_in(pdf_unmapped.UNKNOWN, "/F", 7)
    assert pdf_unmapped.resolve([f"จ่ายน้ำ{silent}ทุกวัน"]) == ["จ่ายน้ำทุกวัน"]
    assert pdf_unmapped.resolve([f"part {unknown} 5"]) == ["part \ufffd 5"]


def test_sara_aa_stays_on_a_page_that_knows_sara_am() -> None:
    lines = [NOTICE, "น้าสาว จานวน"]
    assert pdf_thai.repair_page(lines) == lines


def test_letters_placed_one_by_one_are_joined() -> None:
    spaced = " ".join("กรรมการประชุมโรงเรียนเทศบาลนคร".replace("ร์", "ร"))
    assert "กรรมการประชุม" in pdf_thai.repair_page([pdf_text.repair(spaced)])[0]


@pytest.mark.parametrize(
    "junk",
    [
        "\ufffd" * 50,
        "(cid:25)(cid:31)(cid:7)" * 5,
        "/g437/g258/g12",
        "\x01\x02\x03\x04\x05" * 9,
        "\ue001\ue002\ue003" * 9,
        "ੋఠ࠭ഘੋഌ\u0ba0ೖۄ\u0a49ఠ",
        "   \n ",
    ],
)
def test_what_is_no_text_is_unusable(junk: str) -> None:
    assert not pdf_text.judge(junk).usable


@pytest.mark.parametrize(
    "text",
    [
        NOTICE,
        "시청 상수도사업본부는 2025년 10월 14일 단수를 실시합니다.",
        "The quick brown fox — “quoted”, 50 % of it.",
        "日本語 あいうえお",
        "שלום עולם",
        "α + β = γ, Привет",
        "12,345.67",
    ],
)
def test_writing_of_many_scripts_is_usable(text: str) -> None:
    assert pdf_text.judge(text) == pdf_text.Verdict(True)


def test_a_page_that_lost_some_letters_is_usable_with_a_reason() -> None:
    verdict = pdf_text.judge("Mostly readable text on this page. " * 5 + "\ufffd" * 10)
    assert verdict.usable
    assert "10 of" in verdict.reason
