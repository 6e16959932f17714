"""ZIP archives that are followed, and what holds inside of them and of every nested document."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import formats, nested
from helpers.extract.blocks import Block, Context, Location, Metadata, Notice
from tests.extract.mail_files import attached, mail, mixed, read
from tests.extract.office_files import docx, packed, paragraph

KOREAN = "보고서"


def followed(data: bytes):  # type: ignore[no-untyped-def]
    return read(data, "zip_members", "a.zip", archives=True)


def test_members_are_read_and_named_by_their_path() -> None:
    report = docx(paragraph("Budget", "Heading1") + paragraph("the costs"))
    found = followed(packed({"2024/plan.docx": report, "notes.txt": "some words"}))
    assert found.at("the costs") == "2024/plan.docx, Budget"
    assert found.at("some words") == "notes.txt, line 1"
    assert found.title is None and found.notices == []


def test_without_the_setting_an_archive_is_unsupported_and_says_how_to_read_it() -> None:
    with pytest.raises(Unread) as refused:
        read(packed({"notes.txt": "some words"}), "zip_members", "a.zip")
    assert refused.value.code == "unsupported"
    assert "--archives on" in refused.value.remedy


def test_names_are_labels_and_lead_nowhere() -> None:
    found = followed(packed({"../../etc/passwd.txt": "one", "C:\\x\\y.txt": "two", "/z.txt": "3"}))
    assert found.at("one") == "../../etc/passwd.txt, line 1"
    assert found.at("two").endswith("y.txt, line 1") and found.at("3") == "z.txt, line 1"


@pytest.mark.parametrize("charset", ["cp949", "utf-8"])
def test_names_without_the_mark_of_utf_8_are_decoded_by_their_bytes(charset: str) -> None:
    raw = f"{KOREAN}.txt".encode(charset)
    stand_in = b"X" * len(raw)
    data = packed({stand_in.decode(): "some words"}).replace(stand_in, raw)
    assert followed(data).at("some words") == f"{KOREAN}.txt, line 1"


def test_hidden_system_and_secret_members_are_left_out() -> None:
    found = followed(
        packed(
            {
                "__MACOSX/._a.txt": "one",
                "Thumbs.db": "two",
                ".hidden/a.txt": "three",
                "id_rsa": "four",
                "keys/passwords.csv": "five",
                "kept.txt": "six",
            }
        )
    )
    assert [block.text for block in found.blocks] == ["kept.txt", "six"]
    assert found.codes == ["hidden", "sensitive", "sensitive"]


def encrypted(data: bytes, name: str) -> bytes:
    """The archive with the mark of encryption on one member."""
    found = bytearray(data)
    at = 0
    for magic, flags, named in ((b"PK\3\4", 6, 30), (b"PK\1\2", 8, 46)):
        while (at := found.find(magic, at)) >= 0:
            if found[at + named : at + named + len(name)] == name.encode():
                found[at + flags] |= 1
            at += 4
        at = 0
    return bytes(found)


def test_an_encrypted_member_is_told_and_the_others_are_read() -> None:
    data = packed({"a.txt": "secret words", "b.txt": "open words"})
    found = followed(encrypted(data, "a.txt"))
    assert found.codes == ["encrypted"] and found.at("open words")
    with pytest.raises(Unread) as refused:
        followed(encrypted(encrypted(data, "a.txt"), "b.txt"))
    assert refused.value.code == "encrypted"


def test_a_damaged_member_is_told_and_the_others_are_read() -> None:
    data = bytearray(packed({"a.txt": "first words " * 20, "b.txt": "second words"}))
    data[45] ^= 0xFF
    found = followed(bytes(data))
    assert found.codes == ["part_unread"] and found.at("second words")


def test_archives_and_mails_inside_archives_end_at_the_depth_that_is_allowed() -> None:
    data = packed({"deep.txt": "words at level 4"})
    for level in (3, 2, 1):
        data = packed({f"in{level}.zip": data, f"t{level}.txt": f"words at level {level}"})
    found = followed(data)
    assert found.at("words at level 3") == "in1.zip, in2.zip, t3.txt, line 1"
    assert "words at level 4" not in found.text
    assert found.codes == ["limit_reached"]
    assert "deep.txt: nesting of documents reached 4 > 3 levels" in found.notices[0].message


def test_archives_that_hold_nothing_are_empty() -> None:
    with pytest.raises(Unread) as refused:
        followed(packed({"a.zip": packed({"b.zip": packed({})})}))
    assert refused.value.code == "empty"


@pytest.mark.parametrize(
    ("member", "content", "code"),
    [("a.7z", b"7z\xbc\xaf\x27\x1c", "unsupported"), ("id_rsa", b"x", "sensitive")],
)
def test_an_archive_without_any_text_says_why(member: str, content: bytes, code: str) -> None:
    with pytest.raises(Unread) as refused:
        followed(packed({member: content}))
    assert refused.value.code == code and member in refused.value.reason


def test_a_bomb_ends_at_the_ratio() -> None:
    data = packed({"zeros.txt": b"\0" * (40 * limits.MIB), "b.txt": "x"})
    with pytest.raises(Unread) as refused:
        followed(data)
    assert refused.value.code == "limit_reached"


def test_overlapping_members_are_refused() -> None:
    data = bytearray(packed({"a.txt": "words " * 50, "b.txt": "words " * 50}))
    second = data.rfind(b"PK\1\2")
    struct.pack_into("<I", data, second + 42, 0)
    with pytest.raises(Unread) as refused:
        followed(bytes(data))
    assert refused.value.code == "corrupt"  # no more than there is: a fault, no bomb


def test_counts_hold_over_all_depths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NESTED_MEMBERS", 5)
    inner = packed({f"i{number}.txt": f"inner {number}" for number in range(9)})
    found = followed(packed({"in.zip": inner, "z.txt": "last"}))
    assert "inner 3" in found.text and "inner 4" not in found.text and "last" not in found.text
    assert found.codes == ["limit_reached"]  # once, not for each further one
    assert "6 > 5 documents" in found.notices[0].message


def test_bytes_hold_for_one_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NESTED_BYTES", 1_000)
    found = read(mixed(attached(b"a" * 2_000, "a.txt"), attached(b"small words", "b.txt")))
    assert found.at("small words")
    assert "> 1,000 bytes" in found.notices[0].message
    monkeypatch.setattr(limits, "NESTED_TOTAL_BYTES", 15)
    found = read(mixed(attached(b"small words", "a.txt"), attached(b"other words", "b.txt")))
    assert found.at("small words") and "other words" not in found.text
    assert "22 > 15 bytes" in found.notices[0].message


# --- nested documents in general --------------------------------------------------------------


def items(name: str, data: bytes, place: str = "attachment x"):  # type: ignore[no-untyped-def]
    ctx = nested.opened(Context("outer.eml", 0))
    return list(nested.read_nested(io.BytesIO(data), name, ctx, place))


def test_a_title_of_its_own_is_text_and_never_the_outer_title() -> None:
    page = b"<title>The page</title><p>some words</p>"
    found = items("a.html", page)
    assert not any(isinstance(item, Metadata) for item in found)
    assert [item.text for item in found] == ["attachment x", "The page", "some words"]


def test_pages_sheets_and_sections_keep_their_labels() -> None:
    relabel = nested._Relabel("attachment x")
    places = {
        "p. 3": Location("page", "p. 3", 3),
        "Sheet1 row 815": Location("sheet", "Sheet1 row 815", 815, "Sheet1"),
        "footnotes": Location("part", "footnotes"),
    }
    for label, inner in places.items():
        *_, block = relabel(Block("text", location=inner))
        assert isinstance(block, Block) and block.location is not None
        assert block.location.kind == "part"
        assert block.location.label == f"attachment x, {label}"
        assert (block.location.number == 3) is (inner.kind == "page")


def test_a_reader_that_fails_does_not_end_the_outer_document() -> None:
    def failing(ctx: Context):  # type: ignore[no-untyped-def]
        yield Block("first", location=Location("line", "line 1", 1))
        raise KeyError("hidden words of the document")

    def hungry(ctx: Context):  # type: ignore[no-untyped-def]
        raise MemoryError
        yield

    ctx = nested.opened(Context())
    found = list(nested.read_inner(failing, "a", 1, ctx, "a"))
    assert [type(item).__name__ for item in found] == ["Block", "Block", "Notice"]
    assert isinstance(found[-1], Notice)
    assert "KeyError" in found[-1].message and "hidden" not in found[-1].message
    (told,) = nested.read_inner(hungry, "a", 1, ctx, "a")
    assert isinstance(told, Notice) and told.code == "limit_reached"


def test_the_end_of_the_parent_is_not_swallowed() -> None:
    def gone(ctx: Context):  # type: ignore[no-untyped-def]
        raise ConnectionResetError
        yield

    with pytest.raises(ConnectionError):
        list(nested.read_inner(gone, "a", 1, nested.opened(Context()), "a"))


def test_controls_in_names_are_not_shown_and_long_names_are_cut() -> None:
    assert nested.clean_name("a\u202egpj.\nexe\0") == "a gpj. exe"
    long = nested.clean_name("a" * 500 + ".docx")
    assert len(long) == nested.NAME_CHARS and long.endswith(".docx")


def test_what_is_inside_belongs_to_the_fingerprint() -> None:
    holder, plain = formats.BY_NAME["zip"], formats.BY_NAME["docx"]
    assert formats.fingerprint(holder, True) != formats.fingerprint(holder, False)
    assert formats.fingerprint(formats.BY_NAME["eml"], True) != formats.fingerprint(
        formats.BY_NAME["eml"], False
    )
    assert formats.fingerprint(plain, True) == formats.fingerprint(plain, False)


def test_a_mail_in_an_archive_has_its_attachments() -> None:
    data = packed({"m.eml": mixed(attached(b"attached words", "a.txt")), "n.eml": mail("words")})
    assert followed(data).at("attached words") == "m.eml, attachment a.txt, line 1"
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["m.eml", "n.eml"]
