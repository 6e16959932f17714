"""Mail: headers, texts in every charset, alternatives, attachments, and what is encrypted."""

from __future__ import annotations

import base64
import quopri

import pytest

from helpers import limits
from helpers.errors import Unread
from tests.extract.mail_files import (
    HTML,
    PLAIN,
    attached,
    body_of,
    mail,
    mixed,
    multipart,
    part,
    read,
)
from tests.extract.office_files import docx, paragraph

KEY = (b"MIIEpAIBAAKCAQEA7" * 4)[:64] + b"\n"
THAI = "ผู้ใช้น้ำสามารถติดต่อขอรถบรรทุกน้ำได้ที่งานบริการลูกค้า"
KOREAN = "상수도 요금 체납 안내문을 보내 드립니다. 첨부한 보고서를 확인해 주세요."


def encoded(text: str, charset: str, how: str = "B") -> str:
    raw = text.encode(charset)
    if how == "B":
        return base64.b64encode(raw).decode()
    return quopri.encodestring(raw, header=True).decode().replace("=\n", "")


# --- headers ------------------------------------------------------------------------------


def test_the_subject_is_the_title_and_the_header_stands_above_the_text() -> None:
    found = read(mail("Hello Bob\n"))
    assert found.title == "Subject of the mail"
    assert found.blocks[0].text.splitlines() == [
        "From: Ann <ann@example.org>",
        "To: bob@example.org",
        "Date: Mon, 12 Nov 2007 10:00:00 +0700",
        "Subject: Subject of the mail",
    ]
    assert found.blocks[1].text == "Hello Bob"
    assert found.at("Hello Bob") == "paragraph 2"
    assert found.extra["date"] == "2007-11-12T10:00:00+07:00"


@pytest.mark.parametrize(
    ("label", "charset", "text"),
    [
        ("windows-874", "cp874", THAI),
        ("TIS-620", "cp874", THAI),
        ("ks_c_5601-1987", "cp949", KOREAN),
        ("euc-kr", "cp949", KOREAN),
        ("x-windows-949", "cp949", "똠방각하 펲시콜라"),
        ("iso-2022-kr", "iso2022_kr", "한글 제목"),
        ("utf-8", "utf-8", KOREAN),
        ("unicode-1-1-utf-7", "utf-7", "한글 제목"),
        ("x-unknown", "cp949", KOREAN),
        ("utf-8", "cp949", KOREAN),  # named wrongly
    ],
)
@pytest.mark.parametrize("how", ["B", "Q"])
def test_encoded_words_are_decoded_in_every_charset(
    label: str, charset: str, text: str, how: str
) -> None:
    subject = f"=?{label}?{how}?{encoded(text, charset, how)}?="
    if how == "Q":
        subject = subject.replace(" ", "_")
    assert read(mail("x", subject=subject)).title == text


def test_a_letter_cut_in_two_by_encoded_words_is_whole() -> None:
    raw = KOREAN.encode()
    halves = "\n ".join(
        f"=?UTF-8?B?{base64.b64encode(piece).decode()}?=" for piece in (raw[:10], raw[10:])
    )
    assert read(mail("x", subject=halves)).title == KOREAN


def test_an_encoded_word_beside_text_keeps_its_spaces() -> None:
    found = read(mail("x", subject="Re: =?utf-8?Q?=EC=95=88=EB=85=95?= and more"))
    assert found.title == "Re: 안녕 and more"


def test_raw_letters_in_a_header_are_decoded_by_what_they_are() -> None:
    for charset in ("utf-8", "cp949"):
        data = mail("x").replace(b"Subject of the mail", KOREAN.encode(charset))
        assert read(data).title == KOREAN


def test_a_long_list_of_recipients_is_cut() -> None:
    many = ", ".join(f"person{number}@example.org" for number in range(2_000))
    found = read(mail("x").replace(b"bob@example.org", many.encode()))
    assert len(found.blocks[0].text) < limits.MAIL_FIELD_CHARS + 500


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_any_line_end_will_do(end: bytes) -> None:
    data = mixed(part("first text", PLAIN), attached(b"inner text\n", "a.txt"))
    found = read(data.replace(b"\n", end))
    assert found.at("first text") == "paragraph 2"
    assert found.at("inner text").startswith("attachment a.txt")


def test_a_body_that_begins_without_an_empty_line_is_read() -> None:
    found = read(b"From: a@example.org\nSubject: s\nThis is no field but the text\n")
    assert found.at("no field but the text")


def test_a_text_without_any_field_is_no_mail() -> None:
    with pytest.raises(Unread) as refused:
        read(b"just some text\nwithout a header\n")
    assert refused.value.code == "corrupt"
    with pytest.raises(Unread) as refused:
        read(b"")
    assert refused.value.code == "empty"


def test_apple_mail_counts_its_message_in_front() -> None:
    message = mail("apple text\n")
    data = str(len(message)).encode() + b"\n" + message + b"<?xml version='1.0'?><plist>no</plist>"
    found = read(data, name="1.emlx")
    assert found.title == "Subject of the mail"
    assert found.at("apple text") and "plist" not in found.text


# --- texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "charset", "text"),
    [
        ("windows-874", "cp874", THAI),
        ("iso-8859-11", "cp874", THAI),
        ("ks_c_5601-1987", "cp949", KOREAN),
        ("cp949", "cp949", KOREAN),
        ("iso-2022-kr", "iso2022_kr", "한글 본문입니다"),
        ("us-ascii", "cp949", KOREAN),  # named by habit
        ("iso-8859-1", "cp874", THAI),
        ("", "cp949", KOREAN),
        ("", "cp874", THAI),
        ("", "iso2022_kr", "한글 본문입니다"),
        ("no-such-charset", "utf-8", THAI),
        ("utf-8", "cp874", THAI),
        ("euc-kr", "utf-8", KOREAN),
        ("koi8-r", "koi8_r", "Сообщение передано в обработку"),
        ("iso-8859-1", "cp1252", "Größe – naïve café"),
    ],
)
@pytest.mark.parametrize("how", ["quoted-printable", "base64", "8bit"])
def test_a_text_is_decoded_by_its_charset_or_by_what_its_bytes_show(
    label: str, charset: str, text: str, how: str
) -> None:
    raw = text.encode(charset)
    body = {"quoted-printable": quopri.encodestring, "base64": base64.encodebytes}.get(
        how, lambda raw: raw
    )(raw)
    kind = f'Content-Type: text/plain; charset="{label}"' if label else "Content-Type: text/plain"
    found = read(mail(body, kind, f"Content-Transfer-Encoding: {how}"))
    assert found.blocks[1].text == text


def test_an_html_text_alone_is_read_as_a_page() -> None:
    page = f"<html><head><title>t</title></head><body><h1>제목</h1><p>{KOREAN}</p></body></html>"
    found = read(mail(page.encode("cp949"), "Content-Type: text/html; charset=euc-kr"))
    assert found.at(KOREAN) == "제목"
    assert found.title == "Subject of the mail"
    by_page = page.replace("<title>", '<meta charset="euc-kr"><title>').encode("cp949")
    assert read(mail(by_page, "Content-Type: text/html")).at(KOREAN) == "제목"


def test_of_alternatives_the_plain_text_is_read() -> None:
    plain, page = part("the plain text", PLAIN), part("<p>the html text</p>", HTML)
    found = read(mixed(plain, page, kind="alternative"))
    assert "the plain text" in found.text and "html text" not in found.text


@pytest.mark.parametrize("stub", ["", "This mail needs HTML."])
def test_a_plain_text_that_only_points_to_the_other_is_passed_over(stub: str) -> None:
    page = part(f"<p>{KOREAN * 5}</p>", HTML)
    found = read(mixed(part(stub, PLAIN), page, kind="alternative"))
    assert KOREAN in found.text and "needs HTML" not in found.text


def test_files_in_a_branch_that_is_not_chosen_are_kept() -> None:
    inner = multipart(
        "mixed", part("<p>page</p>", HTML), attached(b"attached text", "n.txt"), boundary="in"
    )
    found = read(mixed(part("plain words of the mail", PLAIN), inner, kind="alternative"))
    assert found.at("plain words") and found.at("attached text").startswith("attachment n.txt")
    assert "page" not in found.text


def test_pictures_of_a_page_are_left_out_and_its_documents_are_not() -> None:
    picture = part("R0lGOD==", "Content-Type: image/png", "Content-ID: <1>")
    related = multipart("related", part("<p>page text</p>", HTML), picture, boundary="rel")
    found = read(mixed(related, attached(b"more text", "m.txt")))
    assert found.notices == []
    assert found.at("page text") and found.at("more text")


def test_flowed_text_is_joined_again() -> None:
    body = "one line that \nwas broken softly\n> quoted that \n> was too\nnext\n"
    found = read(mail(body, "Content-Type: text/plain; format=flowed"))
    assert "one line that was broken softly" in found.text
    assert "> quoted that was too" in found.text
    deleted = read(mail("ab \ncd\n", "Content-Type: text/plain; format=flowed; delsp=yes"))
    assert "abcd" in deleted.text


@pytest.mark.parametrize(
    ("body", "how"),
    [
        (b"SGVsbG8gd29y\nbGQ", "base64"),  # without its padding
        (b"SGVsbG8g\nd29ybGQ=\n_____\nthe list's footer", "base64"),
        (b"Hello world, but not encoded at all: (really)", "base64"),
        (b"Hello=20world=\n=", "quoted-printable"),
        (b"Hello world=ZZ", "quoted-printable"),
        (b"Hello world", "no-such-encoding"),
        (b"begin 644 x\n+2&5L;&\\@=V]R;&0\n`\nend\n", "x-uuencode"),
    ],
)
def test_a_broken_transfer_encoding_gives_what_can_be_read(body: bytes, how: str) -> None:
    found = read(mail(body, "Content-Type: text/plain", f"Content-Transfer-Encoding: {how}"))
    assert "Hello world" in found.text


def test_a_file_uuencoded_into_the_text_is_an_attachment() -> None:
    body = b"See this:\n\nbegin 644 note.txt\n+2&5L;&\\@=V]R;&0\n`\nend\n\nBye\n"
    found = read(mail(body))
    assert found.at("Hello world") == "attachment note.txt, line 1"
    assert found.at("Bye") and "2&5L" not in found.text


def test_a_text_beyond_its_cap_is_cut_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAIL_TEXT_BYTES", 1_000)
    found = read(mail("word " * 1_000))
    assert len(found.text) < 1_300
    assert found.codes == ["limit_reached"]
    assert "1,001 > 1,000 bytes" in found.notices[0].message


# --- structure ------------------------------------------------------------------------------


def test_a_multipart_body_that_is_cut_off_gives_its_parts() -> None:
    data = mixed(part("first", PLAIN), part("second half of", PLAIN))
    found = read(data[: data.index(b"half") + 4])
    assert "first" in found.text and "second half" in found.text


def test_an_unclosed_inner_part_ends_with_the_outer_boundary() -> None:
    inner = multipart("alternative", part("inner text", PLAIN), boundary="in").replace(
        b"--in--\n", b""
    )
    found = read(mixed(inner, attached(b"behind it", "b.txt")))
    assert "inner text" in found.text and found.at("behind it").startswith("attachment b.txt")


def test_a_boundary_that_begins_like_another_does_not_end_it() -> None:
    inner = multipart("mixed", part("one", PLAIN), part("two", PLAIN), boundary="=b0undary2")
    found = read(mixed(inner, part("three", PLAIN)))
    assert [block.text for block in found.blocks[1:]] == ["one", "two", "three"]


@pytest.mark.parametrize("told", ['; boundary="another"', ""])
def test_a_boundary_that_is_missing_or_another_is_found_by_its_lines(told: str) -> None:
    body = body_of([part("first", PLAIN), attached(b"attached words", "a.txt")])
    found = read(mail(body, f"Content-Type: multipart/mixed{told}"))
    assert found.at("first") == "paragraph 2"
    assert found.at("attached words") == "attachment a.txt, line 1"


def test_a_multipart_type_without_its_boundary_is_read_as_text() -> None:
    found = read(mail("the text\n", "Content-Type: multipart/mixed"))
    assert found.at("the text")


def test_too_many_parts_and_levels_are_left_out_with_a_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAIL_PARTS", 5)
    found = read(mixed(*[part(f"text {number}", PLAIN) for number in range(20)]))
    assert "text 2" in found.text and "text 9" not in found.text
    assert any("6 > 5 parts" in notice.message for notice in found.notices)
    monkeypatch.undo()
    data = part("deep", PLAIN)
    for level in range(limits.MAIL_DEPTH + 2):
        data = multipart("mixed", data, boundary=f"b{level}.")
    found = read(b"Subject: s\n" + data)
    assert "deep" not in found.text
    assert any("levels" in notice.message for notice in found.notices)


# --- attachments ----------------------------------------------------------------------------


def test_an_attached_document_is_read_under_the_mail() -> None:
    report = docx(paragraph("Budget", "Heading1") + paragraph("the costs of 2024"))
    found = read(mixed(part("see the report", PLAIN), attached(report, "report.docx")))
    assert found.title == "Subject of the mail"
    assert "Attachments: report.docx" in found.blocks[0].text
    assert found.at("the costs of 2024") == "attachment report.docx, Budget"
    block = next(block for block in found.blocks if "costs" in block.text)
    assert block.location is not None
    assert block.location.as_dict() == {
        "kind": "part",
        "label": "attachment report.docx, Budget",
        "name": "attachment report.docx",
    }


@pytest.mark.parametrize(
    "field",
    [
        "filename*=UTF-8''%EB%B3%B4%EA%B3%A0%EC%84%9C.txt",
        "filename*=windows-874''%C3%D2%C2%A7%D2%B9.txt",
        "filename*0*=UTF-8''%EB%B3%B4; filename*1*=%EA%B3%A0%EC%84%9C.txt",
        'filename="=?utf-8?B?67O06rOg7IScLnR4dA==?="',
        f'filename="=?euc-kr?B?{base64.b64encode("보고서.txt".encode("cp949")).decode()}?="',
        'filename="../../etc/보고서.txt"',
        'filename="C:\\\\docs\\\\보고서.txt"',
    ],
)
def test_names_of_attachments_are_decoded_and_are_no_paths(field: str) -> None:
    data = mixed(
        part("see", PLAIN),
        part(
            "attached words",
            "Content-Type: application/octet-stream",
            f"Content-Disposition: attachment; {field}",
        ),
    )
    label = read(data).at("attached words")
    assert label.startswith(("attachment 보고서.txt", "attachment รายงาน.txt"))


def test_what_cannot_be_read_is_noticed_and_the_mail_is_read() -> None:
    data = mixed(
        part("the mail itself", PLAIN),
        attached(b"MZ\0\0\0\0", "setup.exe"),
        attached(b"PK\3\4broken", "a.docx"),
        attached(b"", "empty.txt"),
        attached(b"-----BEGIN " + b"RSA PRIVATE KEY-----\n" + KEY, "notes.txt"),
    )
    found = read(data)
    assert found.at("the mail itself")
    assert found.codes == ["part_unread", "part_unread", "sensitive"]
    assert found.notices[0].message.startswith("attachment setup.exe: Program or library")
    assert "PRIVATE" not in found.text


def test_a_forwarded_mail_is_read_with_its_own_attachments() -> None:
    inner = mixed(
        part("forwarded words", PLAIN), attached(b"deepest words", "deep.txt"), boundary="inner"
    )
    forwarded = part(inner, "Content-Type: message/rfc822")
    found = read(mixed(part("see below", PLAIN), forwarded))
    assert found.at("forwarded words") == "attachment Subject of the mail, paragraph 2"
    assert (
        found.at("deepest words") == "attachment Subject of the mail, attachment deep.txt, line 1"
    )
    assert found.title == "Subject of the mail"


def test_mails_in_mails_end_at_the_depth_that_is_allowed() -> None:
    data = mail("innermost words")
    for level in range(6):
        forwarded = part(data, "Content-Type: message/rfc822")
        data = mixed(part("words", PLAIN), forwarded, boundary=f"level {level}")
    found = read(data)
    assert "innermost" not in found.text
    assert found.codes == ["limit_reached"]
    assert "4 > 3 levels" in found.notices[0].message


def test_a_zip_attachment_is_followed_only_where_that_was_asked_for() -> None:
    from tests.extract.office_files import packed

    data = mixed(part("see", PLAIN), attached(packed({"a.txt": "zipped words"}), "a.zip"))
    assert read(data).codes == ["part_unread"]
    found = read(data, archives=True)
    assert found.at("zipped words") == "attachment a.zip, a.txt, line 1"


def test_appointments_and_cards_are_texts() -> None:
    event = b"BEGIN:VCALENDAR\nSUMMARY:Budget meeting\nEND:VCALENDAR\n"
    found = read(mixed(part("see", PLAIN), attached(event, "invite.ics", "text/calendar")))
    assert found.at("Budget meeting") == "attachment invite.ics, line 1"


def test_a_bounce_tells_why_and_for_what() -> None:
    data = mixed(
        part("Your mail was not delivered", PLAIN),
        part("Final-Recipient: rfc822; x@example.org", "Content-Type: message/delivery-status"),
        part(mail("the mail that bounced"), "Content-Type: message/rfc822"),
        kind="report",
    )
    found = read(data)
    assert found.at("Final-Recipient") and found.at("the mail that bounced")


# --- signed and encrypted -------------------------------------------------------------------


def test_a_signed_mail_is_read_and_its_signature_is_not_an_attachment() -> None:
    signature = attached(b"0\x82", "smime.p7s", "application/pkcs7-signature")
    found = read(mixed(part("signed words", PLAIN), signature, kind="signed"))
    assert found.at("signed words") and found.codes == []


def der(tag: int, *content: bytes) -> bytes:
    body = b"".join(content)
    length = bytes([len(body)]) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes([tag]) + length + body


SIGNED, DATA = "2a864886f70d010702", "2a864886f70d010701"


@pytest.mark.parametrize("endless", [False, True])
def test_a_mail_signed_in_one_piece_is_unwrapped(endless: bool) -> None:
    inner = part("wrapped words", PLAIN)
    if endless:  # of indefinite length, in segments
        octets = b"\x24\x80" + der(4, inner[:9]) + der(4, inner[9:]) + b"\0\0"
    else:
        octets = der(4, inner)
    content = der(0x30, der(6, bytes.fromhex(DATA)), der(0xA0, octets))
    signed = der(0x30, der(2, b"\1"), der(0x31), content)
    wrapped = der(0x30, der(6, bytes.fromhex(SIGNED)), der(0xA0, signed))
    found = read(
        mail(
            base64.encodebytes(wrapped),
            "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m",
            "Content-Transfer-Encoding: base64",
        )
    )
    assert found.at("wrapped words") and found.codes == []


def test_an_encrypted_mail_is_said_to_be() -> None:
    enveloped = der(0x30, der(6, bytes.fromhex("2a864886f70d010703")), der(0xA0, der(0x30)))
    smime = mail(
        base64.encodebytes(enveloped),
        "Content-Type: application/pkcs7-mime; name=smime.p7m",
        "Content-Transfer-Encoding: base64",
    )
    pgp = mixed(
        part("Version: 1", "Content-Type: application/pgp-encrypted"),
        part("-----BEGIN PGP MESSAGE-----\nhQEMA", "Content-Type: application/octet-stream"),
        kind="encrypted",
        also='; protocol="application/pgp-encrypted"',
    )
    inline = mail("hi\n\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\nbye\n")
    for data in (smime, pgp, inline):
        found = read(data)
        assert found.codes == ["encrypted"]
        assert found.title == "Subject of the mail" and "hQEMA" not in found.text
    assert "hi" in read(inline).text and "bye" in read(inline).text


def test_a_text_signed_with_pgp_is_read_without_its_armour() -> None:
    body = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\nthe signed words\n"
        "-----BEGIN PGP SIGNATURE-----\n\niD8DBQF\n-----END PGP SIGNATURE-----\n"
    )
    found = read(mail(body))
    assert found.blocks[1].text == "the signed words"


# --- web archives ---------------------------------------------------------------------------


def archive(*parts: bytes, sender: str = "<Saved by Blink>") -> bytes:
    head = f"From: {sender}\nSubject: Saved page\nMIME-Version: 1.0\n"
    kind = 'Content-Type: multipart/related; type="text/html"; boundary="=b0undary"\n\n'
    return (head + kind).encode() + body_of(parts)


def test_a_saved_page_is_read_as_a_page() -> None:
    page = part("<title>The page</title><h1>Head</h1><p>page words</p>", HTML)
    style = part("p {color: red}", "Content-Type: text/css")
    picture = part("R0lGOD==", "Content-Type: image/gif", "Content-Transfer-Encoding: base64")
    frame = part("<p>an advertisement</p>", HTML)
    found = read(archive(page, style, picture, frame), name="a.mht")
    assert [block.text for block in found.blocks] == ["Head", "page words"]
    assert found.title == "The page" and found.notices == []


def test_a_workbook_saved_as_a_web_archive_gives_its_sheets() -> None:
    frames = part("<html><frameset><frame src='s1.htm'></frameset></html>", HTML)
    sheets = [part(f"<table><tr><td>cell {n}</td></tr></table>", HTML) for n in (1, 2)]
    found = read(archive(frames, *sheets, sender=""), name="a.xls")
    assert [block.text for block in found.blocks] == ["cell 1", "cell 2"]
