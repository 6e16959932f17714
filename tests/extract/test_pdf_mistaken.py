"""Letters that a PDF calls by another's name: put right where words prove it, else left alone."""

from __future__ import annotations

import pytest

from helpers.extract import pdf_mistaken, pdf_text, pdf_thai

# A water board's notice, written for this test.
PAGE = [
    "ประกาศเรื่องการหยุดจ่ายน้ำชั่วคราวเพื่อซ่อมท่อประธาน ผู้ใช้น้ำทุกครัวเรือนในเขตเทศบาลควรสำรองน้ำไว้",
    "ให้เพียงพอ เจ้าหน้าที่จะเข้าตรวจสอบข้อมูลและดูแลความเรียบร้อย ข้อร้องเรียนให้แจ้งที่ศูนย์รับเรื่อง",
    "ผู้อำนวยการกล่าวว่าผู้สูงอายุและผู้ป่วยที่ต้องการความช่วยเหลือให้ติดต่อล่วงหน้า ทั้งนี้บ้านที่อยู่ใกล้",
    "สถานีสูบน้ำจะได้รับน้ำก่อน ส่วนหมู่บ้านที่อยู่สูงต้องรอประมาณห้าชั่วโมง ร้านค้าและโรงเรียนรู้ล่วงหน้าแล้ว",
    "ค่าใช้จ่ายทั้งหมดเบิกจากงบกลาง ผู้รับจ้างต้องรับผิดชอบความเสียหายที่เกิดขึ้นทุกกรณีตามสัญญา",
    "ลูกจ้างประจำและลูกค้าของร้านอาหารใต้สะพานใหญ่ไม่ได้รับผลกระทบ ดูรายละเอียดได้ที่ประตูหน้าที่ทำการ",
]


def exchanged(lines: list[str], one: str, other: str) -> list[str]:
    """Both letters called by each other's name, as where a program mixed up two glyphs."""
    table = str.maketrans(one + other, other + one)
    return [line.translate(table) for line in lines]


def test_two_marks_mixed_up_all_over_a_page_are_put_right() -> None:
    page = exchanged(PAGE, "\u0e39", "\u0e49")
    found = "\n".join(pdf_mistaken.corrected(page))
    wanted = "\n".join(PAGE)
    right = sum(a == b for a, b in zip(found, wanted, strict=True))
    assert right > 0.985 * len(wanted)
    for word in ("ผู้ใช้", "เจ้าหน้าที่", "ข้อมูล", "ล่วงหน้า", "ผู้สูงอายุ"):
        assert word in found


@pytest.mark.parametrize(("letter", "sign"), [("ร", "/"), ("น", "0"), ("า", "@")])
def test_sign_that_stands_for_a_letter_all_over_a_page_is_that_letter(
    letter: str, sign: str
) -> None:
    page = [line.replace(letter, sign) for line in PAGE]
    assert pdf_mistaken.corrected(page) == PAGE


def test_sound_page_is_left_alone() -> None:
    assert pdf_mistaken.corrected(PAGE) == PAGE


def test_foreign_names_and_abbreviations_are_no_proof() -> None:
    names = "ชาลอตต์ ดัชเชสแห่งแลงคัสเตอร์ กับเบียทริซแห่งเวือร์ทเทิมแบร์ค และฟรีดริช เกาส์แห่งเบราน์ชไวค์ "
    years = "เกิดเมื่อ พ.ศ. ๒๔๗๑ และ/หรือ ม.ล. ส.พ.จ.ท. พ.ศ. ๒๔๗๗ วันที่ ๑๐/๑๐/๖๗ "
    page = [names * 4, years * 8, names * 4]
    assert pdf_mistaken.corrected(page) == page


def test_short_page_is_left_alone() -> None:
    page = exchanged(PAGE[:1], "\u0e39", "\u0e49")
    assert pdf_mistaken.corrected(page) == page


def test_sara_am_told_as_two_letters_is_one() -> None:
    assert pdf_text.repair_thai("อำานาจ น้ำา นำ้า") == "อำนาจ น้ำ น้ำ"


def test_sara_am_whose_ring_became_a_space_is_whole_again() -> None:
    page = [line.replace("น้ำ", "น ้า").replace("ำ", " า") for line in PAGE]
    found = [pdf_text.repair(line) for line in pdf_thai.restore_am(page)]
    assert found == PAGE


def test_letters_placed_one_by_one_are_no_lost_sara_am() -> None:
    page = [" ".join(line.replace("ำ", "")) for line in PAGE]
    assert pdf_thai.restore_am(page) == page


def test_ring_above_told_as_a_tone_is_sara_am_again() -> None:
    page = [line.replace("ำ", "้า") for line in PAGE]
    found = "\n".join(pdf_thai.repair_page(page))
    for word in ("สำรอง", "อำนวยการ", "ประจำ", "ที่ทำการ"):
        assert word in found


def test_page_without_sara_am_by_chance_keeps_its_sara_aa() -> None:
    page = [" ".join(word for word in line.split() if "ำ" not in word) for line in PAGE * 2]
    page.append("เจสสิก้า อมรกุลดิลก เจสสิก้า และเพื่อน")
    assert pdf_thai.repair_page(page) == page


@pytest.mark.parametrize("junk", ["2ค/@-N2/?%>.-\x01", "%?/?$//-%C\x02ญ"])
def test_page_whose_letters_are_shown_as_signs_is_unusable(junk: str) -> None:
    verdict = pdf_text.judge(junk * 40)
    assert not verdict.usable
    assert "stand for other letters" in verdict.reason or "no known letter" in verdict.reason


def test_page_of_ornaments_is_unusable_and_one_with_check_boxes_is_not() -> None:
    assert not pdf_text.judge("\u2701\u2702 \u2704\u260e \u2706\u271d \u2704\u271e" * 30).usable
    assert pdf_text.judge(
        "\u2611 yes \u2610 no \u2714 done, please tick \u2605\u2605\u2605" * 9
    ).usable


def test_page_whose_thai_falls_into_no_word_is_unusable() -> None:
    lost = [line.translate(str.maketrans("นรกมสท", "ญฆฌฎฬฮ")) for line in PAGE]
    sound = pdf_text.Verdict(True)
    assert not pdf_mistaken.judged(lost, sound).usable
    assert pdf_mistaken.judged(PAGE, sound).usable
    assert pdf_mistaken.judged(lost[:1], sound).usable


def test_page_of_source_code_is_usable() -> None:
    code = "if (count >= limit && name != NULL) { total += values[index] * 2; return total; }\n"
    assert pdf_text.judge(code * 10).usable


def test_letters_of_another_alphabet_inside_korean_words_make_a_page_unusable() -> None:
    assert not pdf_text.judge(
        "선의왕후¬ 거Ü에Ý 성장한 차¸ 사도세자와 Í론에게 호의를 ü이자 노론은 " * 9
    ).usable
    measures = "폭 3m², 온도 25°C, ±5 µm·kg, «가»·나 §3 ©회사, é도 café에서 "
    assert pdf_text.judge(measures * 9).usable
