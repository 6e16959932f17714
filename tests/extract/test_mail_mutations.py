"""Damaged mails, messages and archives: whatever byte is wrong, blocks or Unread come out."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract import lzfu, mapi, rtf_html
from tests.extract.compound_files import packed as compound
from tests.extract.mail_files import HTML, PLAIN, attached, mixed, multipart, part, read
from tests.extract.office_files import docx, packed, paragraph
from tests.extract.outlook_files import SENT, inner_path, message, stored_rtf, tnef
from tests.extract.test_msg import BASIC, BOB, ENCAPSULATED, FILE
from tests.extract.test_office_mutations import damaged

REPORT = docx(paragraph("Budget", "Heading1") + paragraph("the costs"))
MAIL = mixed(
    multipart(
        "alternative", part("plain =EA=B0=80", PLAIN), part("<p>page</p>", HTML), boundary="inner"
    ),
    attached(REPORT, "=?utf-8?B?67O06rOg7IScLmRvY3g=?="),
    attached(tnef(BASIC, ("a.txt", b"words")), "winmail.dat"),
    part(mixed(part("deep", PLAIN), boundary="third"), "Content-Type: message/rfc822"),
    part(
        base64.encodebytes(bytes.fromhex("3080060b2a864886f70d010702a080")),
        "Content-Type: application/pkcs7-mime",
        "Content-Transfer-Encoding: base64",
    ),
)
MESSAGE = message(
    BASIC | {mapi.BODY: "", mapi.RTF: stored_rtf(ENCAPSULATED), mapi.SENT: SENT},
    ({mapi.NAME: "Old mail"}, FILE | {mapi.DATA: REPORT}),
    (BOB,),
) | message(BASIC, (FILE,), path=inner_path(0))
FILES = {
    "mail": MAIL,
    "mbox": b"From a@example.org Mon Nov 12 10:00:00 2007\n"
    + MAIL
    + b"\n"
    + b"From b@example.org Mon Nov 12 10:00:00 2007\n"
    + mixed(part("two", PLAIN)),
    "msg": compound(MESSAGE),
    "tnef": tnef(BASIC | {mapi.HTML: b"<p>x</p>"}, ("a.txt", b"words"), ("b.docx", REPORT)),
    "zip_members": packed({"a.eml": MAIL, "b/c.docx": REPORT, "d.txt": "words"}),
}
CODES = {"read", "corrupt", "empty", "limit_reached", "encrypted", "no_text", "unsupported"}


def outcome(module: str, data: bytes) -> str:
    try:
        found = read(data, module, "a", archives=True)
    except Unread as error:
        return error.code
    for block in found.blocks:
        block.text.encode("utf-8")
        assert block.location is not None
    return "read"


@pytest.mark.parametrize("module", FILES)
def test_damage_gives_blocks_or_a_typed_error(
    module: str, points: Callable[[int, int], int]
) -> None:
    chance = random.Random(module)
    outcomes = {outcome(module, damaged(FILES[module], chance)) for _ in range(points(200, 2_000))}
    assert outcomes <= CODES
    assert "read" in outcomes


@pytest.mark.parametrize("module", FILES)
def test_every_cut_gives_blocks_or_a_typed_error(module: str) -> None:
    data = FILES[module]
    step = max(7, len(data) // 150)
    assert {outcome(module, data[:length]) for length in range(0, len(data), step)} <= CODES


@pytest.mark.parametrize("module", FILES)
def test_undamaged_files_are_read(module: str) -> None:
    assert outcome(module, FILES[module]) == "read"


def test_damaged_properties_inside_a_sound_container(points: Callable[[int, int], int]) -> None:
    chance = random.Random("properties")
    for _ in range(points(100, 1_000)):
        streams = dict(MESSAGE)
        victim = chance.choice(sorted(streams, key=str))
        if streams[victim]:
            streams[victim] = damaged(streams[victim], chance)
        assert outcome("msg", compound(streams)) in CODES


def test_damaged_rtf_is_inflated_and_taken_apart(points: Callable[[int, int], int]) -> None:
    chance = random.Random("rtf")
    simple = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a00726370673132354232"
        "0af32068656c090020627705b06c647d0a800fa0"
    )
    for _ in range(points(300, 2_000)):
        try:
            lzfu.inflated(damaged(simple, chance))
        except Unread as error:
            assert error.code in ("corrupt", "limit_reached")
        assert isinstance(rtf_html.html_of(damaged(ENCAPSULATED, chance)), str)
