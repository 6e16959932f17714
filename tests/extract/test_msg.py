"""Outlook messages and TNEF: properties, code pages, bodies in three forms, attachments."""

from __future__ import annotations

import struct
import uuid

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import lzfu, mapi, rtf_html
from tests.extract.compound_files import packed
from tests.extract.mail_files import PLAIN, attached, mixed, part, read
from tests.extract.office_files import docx, paragraph
from tests.extract.outlook_files import (
    SENT,
    Streams,
    Value,
    inner_path,
    message,
    msg,
    stored_rtf,
    tnef,
)

THAI = "แจ้งเหตุน้ำรั่ว ผู้ใช้น้ำสามารถติดต่อขอรถบรรทุกน้ำ"
KOREAN = "상수도 요금 체납 안내문을 보내 드립니다."
RUSSIAN = "Сообщение передано в обработку"
BASIC: dict[int, Value] = {
    mapi.CLASS: "IPM.Note",
    mapi.SUBJECT: "Budget of 2024",
    mapi.AUTHOR: "Ann Example",
    mapi.AUTHOR_ADDRESS: "ann@example.org",
    mapi.SHOWN_TO: "Bob",
    mapi.SENT: SENT,
    mapi.BODY: "Hello Bob,\r\n\r\nthe plain text.",
}
BOB: dict[int, Value] = {mapi.NAME: "Bob", mapi.SMTP: "bob@example.org", mapi.RECIPIENT_TYPE: 1}
CAT: dict[int, Value] = {
    mapi.NAME: "Cat",
    mapi.ADDRESS: "/o=exchange/cn=cat",
    mapi.RECIPIENT_TYPE: 2,
}
FILE: dict[int, Value] = {
    mapi.LONG_FILE_NAME: "a long name.txt",
    mapi.DATA: b"attached words",
    mapi.METHOD: 1,
}


def test_head_text_and_title_of_a_message() -> None:
    found = read(msg(BASIC, recipients=(BOB, CAT)), "msg", "a.msg")
    assert found.title == "Budget of 2024"
    assert found.blocks[0].text.splitlines() == [
        "From: Ann Example <ann@example.org>",
        "To: Bob <bob@example.org>",
        "Cc: Cat",
        "Date: 2024-05-01 09:30 UTC",
        "Subject: Budget of 2024",
    ]
    assert found.at("the plain text") == "paragraph 3"
    assert found.extra["date"] == "2024-05-01T09:30:00+00:00"


@pytest.mark.parametrize(
    ("codec", "number", "text"),
    [("cp874", 874, THAI), ("cp949", 949, KOREAN), ("cp1251", 1251, RUSSIAN)],
)
@pytest.mark.parametrize("told", ["message", "internet", "locale", "nothing"])
def test_eight_bit_text_by_the_code_page_that_is_told_or_by_its_bytes(
    codec: str, number: int, text: str, told: str
) -> None:
    if told == "nothing" and codec == "cp1251":
        return  # what is not told is guessed among Thai, Korean and Western sets alone
    locale = {874: 0x041E, 949: 0x0412, 1251: 0x0419}[number]
    pages = {
        "message": {mapi.MESSAGE_PAGE: number},
        "internet": {mapi.INTERNET_PAGE: number},
        "locale": {mapi.LOCALE: locale},
        "nothing": {},
    }[told]
    values = {mapi.CLASS: "IPM.Note", mapi.SUBJECT: text, mapi.BODY: f"{text}\r\n\r\n{text}"}
    found = read(msg(values | pages, page=codec), "msg", "a.msg")
    assert found.title == text and found.blocks[1].text == text


def test_a_wrong_code_page_gives_way_to_what_the_bytes_show() -> None:
    values = {mapi.SUBJECT: KOREAN, mapi.BODY: KOREAN, mapi.MESSAGE_PAGE: 1252}
    assert read(msg(values, page="cp949"), "msg", "a.msg").title == KOREAN
    values[mapi.MESSAGE_PAGE] = 65001
    assert read(msg(values, page="cp949"), "msg", "a.msg").title == KOREAN


def test_text_in_two_code_pages_is_decoded_piece_by_piece() -> None:
    values: dict[int, Value] = {mapi.SUBJECT: "Grüße äöü", mapi.LOCALE: 0x0407}
    values[mapi.INTERNET_PAGE] = 65001
    streams_8 = message(values, page="cp1252")
    streams_8[("__substg1.0_1000001E",)] = "Body äöü Body".encode()
    found = read(packed(streams_8), "msg", "a.msg")
    assert found.title == "Grüße äöü"
    assert found.at("Body äöü Body")


def test_an_attached_message_that_was_saved_alone_has_a_shorter_header() -> None:
    streams_24 = message({mapi.SUBJECT: RUSSIAN, mapi.MESSAGE_PAGE: 1251}, page="cp1251")
    place = ("__properties_version1.0",)
    streams_24[place] = streams_24[place][8:]
    assert read(packed(streams_24), "msg", "a.msg").title == RUSSIAN


def test_html_is_read_where_there_is_no_plain_text() -> None:
    page = f"<html><body><h1>제목</h1><p>{KOREAN}</p></body></html>"
    for html, number in ((page.encode("cp949"), 949), (page.encode(), 65001), (page, 0)):
        values = BASIC | {mapi.BODY: "", mapi.HTML: html, mapi.INTERNET_PAGE: number}
        assert read(msg(values), "msg", "a.msg").at(KOREAN) == "제목"


def test_rtf_is_read_where_there_is_nothing_else() -> None:
    values = BASIC | {mapi.BODY: "", mapi.RTF: stored_rtf(rb"{\rtf1\ansi the rich text\par}")}
    assert read(msg(values), "msg", "a.msg").at("the rich text") == "paragraph 2"


ENCAPSULATED = (
    rb"{\rtf1\ansi\ansicpg949\fromhtml1 \deff0{\fonttbl{\f0\fnil\fcharset129 Batang;}{\f1 Arial;}}"
    rb"{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 first \'b0\'a1 &amp;\htmlrtf\par}\htmlrtf0"
    rb"{\*\htmltag72 </p>}{\*\htmltag64 <table><tr><td>}\htmlrtf {\htmlrtf0 one"
    rb"{\*\htmltag72 </td><td>}two{\*\htmltag84 &nbsp;}\u44032?{\*\htmltag72 </td></tr></table>}"
    rb"{\*\mhtmltag nothing}{\*\other nothing}\htmlrtf }\htmlrtf0 }"
)


def test_html_inside_rtf_is_taken_out_again() -> None:
    assert rtf_html.holds_html(ENCAPSULATED)
    assert "<p>first 가 &amp;amp;</p>" in rtf_html.html_of(ENCAPSULATED)
    values = BASIC | {mapi.BODY: "", mapi.RTF: stored_rtf(ENCAPSULATED)}
    found = read(msg(values), "msg", "a.msg")
    assert [block.text for block in found.blocks[1:]] == ["first 가 &amp;", "one | two 가"]
    assert [block.kind for block in found.blocks[1:]] == ["paragraph", "table_row"]


def test_compressed_rtf_of_the_specification_is_inflated() -> None:
    # The two examples of [MS-OXRTFCP] 4.1 and 4.2.
    simple = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232"
        "0af32068656c090020627705b06c647d0a800fa0"
    )
    assert lzfu.inflated(simple) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    crossing = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
    assert lzfu.inflated(crossing) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


def test_compressed_rtf_that_is_cut_or_foreign() -> None:
    simple = struct.pack("<IIII", 20, 10_000, lzfu.COMPRESSED, 0) + b"\0abcdefg"
    assert lzfu.inflated(simple) == b"abcdefg"
    for broken in (b"", b"x" * 20):
        with pytest.raises(Unread) as refused:
            lzfu.inflated(broken)
        assert refused.value.code in ("corrupt", "limit_reached")
    with pytest.raises(Unread) as refused:
        lzfu.inflated(struct.pack("<IIII", 0, limits.MSG_RTF_BYTES + 1, lzfu.COMPRESSED, 0))
    assert refused.value.code == "limit_reached"


def test_attachments_are_read_under_the_message() -> None:
    report = docx(paragraph("Budget", "Heading1") + paragraph("the costs"))
    other = {mapi.FILE_NAME: "REPORT~1.DOC", mapi.LONG_FILE_NAME: "보고서.docx", mapi.DATA: report}
    found = read(msg(BASIC, (FILE, other)), "msg", "a.msg")
    assert "Attachments: a long name.txt, 보고서.docx" in found.blocks[0].text
    assert found.at("attached words") == "attachment a long name.txt, line 1"
    assert found.at("the costs") == "attachment 보고서.docx, Budget"


def test_a_forwarded_message_is_read_with_its_attachments() -> None:
    forwarded: dict[int, Value] = {mapi.NAME: "Old mail", mapi.METHOD: mapi.EMBEDDED}
    inner = BASIC | {mapi.SUBJECT: "The older one", mapi.BODY: "older words"}
    found = read(
        packed(message(BASIC, (forwarded,)) | message(inner, (FILE,), path=inner_path(0))),
        "msg",
        "a.msg",
    )
    assert found.title == "Budget of 2024"
    assert found.at("older words") == "attachment Old mail, paragraph 2"
    assert found.at("attached words") == "attachment Old mail, attachment a long name.txt, line 1"
    assert "Subject: The older one" in found.text


def test_pictures_of_the_text_are_left_out_and_missing_files_are_told() -> None:
    picture = {mapi.LONG_FILE_NAME: "logo.png", mapi.DATA: b"\x89PNG", mapi.CONTENT_ID: "1"}
    linked = {mapi.LONG_FILE_NAME: "linked.docx", mapi.METHOD: 2}
    found = read(msg(BASIC, (picture, linked)), "msg", "a.msg")
    assert "logo" not in found.text
    assert found.codes == ["part_unread"]
    assert found.notices[0].message == "attachment linked.docx: it is not in the message"


def test_signed_and_encrypted_messages() -> None:
    signed = mixed(part("signed words", PLAIN), attached(b"x", "s.p7s"), kind="signed")
    file = {mapi.LONG_FILE_NAME: "smime.p7m", mapi.DATA: signed}
    kind = {mapi.CLASS: "IPM.Note.SMIME.MultipartSigned", mapi.BODY: ""}
    assert read(msg(BASIC | kind, (file,)), "msg", "a.msg").at("signed words")
    kind = {mapi.CLASS: "IPM.Note.SMIME", mapi.BODY: ""}
    found = read(msg(BASIC | kind, (FILE | {mapi.DATA: b"\x30\x03\2\1\1"},)), "msg", "a.msg")
    assert found.codes == ["encrypted"] and found.title == "Budget of 2024"


def test_a_contact_shows_its_card() -> None:
    card = {
        mapi.CLASS: "IPM.Contact",
        mapi.SUBJECT: "Ann",
        0x3A16: "Example Ltd",
        0x3A1C: "012-345",
    }
    found = read(msg(card), "msg", "a.msg")
    assert "Company: Example Ltd" in found.text and "Mobile: 012-345" in found.text


def test_a_meeting_shows_its_place_and_time() -> None:
    meeting = uuid.UUID("00062002-0000-0000-c000-000000000046").bytes_le
    names: Streams = {
        ("__nameid_version1.0", "__substg1.0_00020102"): meeting,
        ("__nameid_version1.0", "__substg1.0_00030102"): struct.pack(
            "<IHHIHH", 0x8208, 6, 5, 0x820D, 6, 6
        ),
    }
    item: dict[int, Value] = {
        mapi.CLASS: "IPM.Appointment",
        mapi.SUBJECT: "Budget",
        0x8005: "Room 4",
        0x8006: SENT,
    }
    found = read(packed(message(item) | names), "msg", "a.msg")
    assert "Place: Room 4" in found.text and "Begin: 2024-05-01 09:30 UTC" in found.text


def test_categories_are_tags() -> None:
    text = "Keywords".encode("utf-16-le")
    names: Streams = {
        ("__nameid_version1.0", "__substg1.0_00020102"): b"",
        ("__nameid_version1.0", "__substg1.0_00030102"): struct.pack("<IHH", 4, 5, 7),
        ("__nameid_version1.0", "__substg1.0_00040102"): b"\1\0\0\0"
        + struct.pack("<I", len(text))
        + text,
    }
    for order, word in enumerate(("예산", "To do")):
        names[(f"__substg1.0_8007101F-{order:08X}",)] = f"{word}\0".encode("utf-16-le")
    found = read(packed(message(BASIC) | names), "msg", "a.msg")
    assert found.tags == ["예산", "To do"]
    assert "Categories: 예산, To do" in found.text


def test_a_compound_file_without_a_message_is_refused() -> None:
    with pytest.raises(Unread) as refused:
        read(packed({"Other": b"x"}), "msg", "a.msg")
    assert refused.value.code == "corrupt"


# --- TNEF -----------------------------------------------------------------------------------


def test_the_envelope_of_outlook_is_read_as_a_message() -> None:
    found = read(tnef(BASIC, ("보고서.txt", b"attached words")), "tnef", "winmail.dat")
    assert found.title == "Budget of 2024"
    assert found.at("the plain text") and found.at("Ann Example <ann@example.org>")
    assert found.at("attached words") == "attachment 보고서.txt, line 1"
    narrow = BASIC | {mapi.SUBJECT: KOREAN, mapi.MESSAGE_PAGE: 949}
    assert read(tnef(narrow, page="cp949"), "tnef", "winmail.dat").title == KOREAN


def test_in_a_mail_the_envelope_is_not_seen() -> None:
    envelope = attached(tnef(BASIC, ("a.txt", b"attached words")), "winmail.dat")
    found = read(mixed(part("the text of the mail", PLAIN), envelope))
    assert found.at("attached words") == "attachment a.txt, line 1"
    assert "the plain text" not in found.text
    assert "the plain text" in read(mixed(envelope)).text


def test_an_envelope_that_is_cut_gives_what_lies_in_front() -> None:
    data = tnef(BASIC, ("a.txt", b"first words"), ("b.txt", b"second words"))
    found = read(data[: data.index(b"second") + 3], "tnef", "winmail.dat")
    assert found.at("first words") and "second words" not in found.text
