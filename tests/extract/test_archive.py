"""Containers and their XML: what is refused, and that refusing costs little."""

from __future__ import annotations

import io
import os
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import limits
from helpers.errors import Unread
from helpers.extract import archive, docx, markup
from helpers.extract.archive import Archive
from helpers.extract.blocks import Context
from tests.extract.office_files import docx as made_docx
from tests.extract.office_files import packed, paragraph, refusal, texts


def opened(data: bytes) -> Archive:
    return Archive(io.BytesIO(data), Context("file", len(data)))


def code_of(data: bytes, part: str = "part") -> str:
    with pytest.raises(Unread) as caught:
        opened(data).whole(part)
    return caught.value.code


def scan(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    markup.Scanner("part.xml", {}).run([data])


def test_parts_are_found_whatever_case_and_slashes_a_program_wrote() -> None:
    found = opened(packed({"Word\\Document.XML": "text"}))
    assert "/word/document.xml" in found
    assert found.whole("word/document.xml") == b"text"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_entries_with_one_name_the_last_counts() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as container:
        container.writestr("part", "old")
        container.writestr("part", "new")
    assert opened(target.getvalue()).whole("part") == b"new"


def test_a_name_that_climbs_out_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    data = made_docx(paragraph("carrier"), {"../../evil.txt": "evil"})
    assert texts(docx.read, data) == ["carrier"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b"]


def test_no_zip_and_a_cut_zip_are_corrupt() -> None:
    whole = packed({"part": os.urandom(5_000)})
    for data in (b"plain words", whole[: len(whole) // 2], whole[:-30], b"PK\3\4", b"PK\5\6"):
        assert code_of(data) == "corrupt"


def test_an_empty_file_is_empty() -> None:
    assert code_of(b"") == "empty"


def test_a_wrong_checksum_is_corrupt() -> None:
    data = bytearray(packed({"part": "letters " * 50}, zipfile.ZIP_STORED))
    at = data.index(b"letters")
    data[at] ^= 1
    assert code_of(bytes(data)) == "corrupt"


def test_a_missing_part_is_corrupt_and_named() -> None:
    with pytest.raises(Unread, match="no part other"):
        opened(packed({"part": "x"})).whole("other")


def test_an_entry_with_the_password_flag_is_encrypted() -> None:
    data = bytearray(packed({"part": "x"}))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1
    assert code_of(bytes(data)) == "encrypted"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(method: int) -> None:
    assert code_of(packed({"part": "x" * 100}, method)) == "corrupt"


def test_compound_files_are_told_apart_by_their_streams() -> None:
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    padding = b"\0" * (1 << 20)
    locked = magic + padding[:-20] + "EncryptedPackage".encode("utf-16-le")
    assert code_of(locked) == "encrypted"
    assert code_of(magic + padding + "WordDocument".encode("utf-16-le")) == "unsupported"


def test_too_many_entries_are_refused_with_both_numbers() -> None:
    data = packed(dict.fromkeys(map(str, range(limits.ZIP_ENTRIES + 1)), ""))
    with pytest.raises(Unread, match="10,001 > 10,000 entries") as caught:
        opened(data)
    assert caught.value.code == "limit_reached"


def test_a_directory_larger_than_its_cap_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ZIP_DIRECTORY_BYTES", 100)
    with pytest.raises(Unread, match="> 100 bytes") as caught:
        opened(packed({"a" * 80: "x", "b": "y"}))
    assert caught.value.code == "limit_reached"


def overlapping(count: int, kernel_bytes: int) -> bytes:
    """A container whose entries all claim the same stored bytes."""
    kernel = packed({"x": b"\0" * kernel_bytes})
    local = kernel[: kernel.index(b"PK\1\2")]
    central = kernel[kernel.index(b"PK\1\2") : kernel.index(b"PK\5\6")]
    entries = b"".join(central[:46] + b"%c" % (65 + at) + central[47:] for at in range(count))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(entries), len(local), 0)
    return local + entries + end


def test_entries_that_share_their_bytes_are_refused() -> None:
    with pytest.raises(Unread, match=r"Overlapping ZIP entries reached 24 > 0") as caught:
        opened(overlapping(25, 1_000_000))
    assert caught.value.code == "limit_reached"


def test_damaged_bytes_are_told_as_damage_and_never_as_a_limit() -> None:
    """Lost bytes and wrong sizes make entries overlap, or a directory look too large."""
    chance = random.Random("damage")
    whole = packed({f"{name}.xml": chance.randbytes(200) for name in "abcd"})
    for _ in range(400):
        data = bytearray(whole)
        at = chance.randrange(len(data))
        if chance.random() < 0.5:
            del data[at : at + chance.randint(1, 9)]
        else:
            data[at] ^= 1 << chance.randrange(8)
        try:
            container = opened(bytes(data))
            for name in container.names:
                container.whole(name)
        except Unread as error:
            assert error.code in ("corrupt", "encrypted")


def test_parts_behind_lost_bytes_are_read() -> None:
    whole = packed({"a.xml": b"first", "b.xml": b"second"}, zipfile.ZIP_STORED)
    container = opened(whole.replace(b"first", b"f"))
    assert container.whole("b.xml") == b"second"
    with pytest.raises(Unread) as caught:
        container.whole("a.xml")
    assert caught.value.code == "corrupt"


def test_a_bomb_is_stopped_while_it_inflates_in_flat_memory() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        with container.open("part", "w", force_zip64=True) as part:
            for _ in range(64):
                part.write(b"A" * limits.MIB)
    found = opened(target.getvalue())
    tracemalloc.start()
    inflated = 0
    with pytest.raises(Unread, match="200 bytes inflated per stored byte") as caught:
        for piece in found.pieces("part"):
            inflated += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.code == "limit_reached"
    assert inflated <= limits.ZIP_RATIO_FROM_BYTES
    assert peak < limits.MIB


def test_sizes_are_counted_while_inflating_whatever_the_header_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "ZIP_RATIO_FROM_BYTES", 0)
    monkeypatch.setattr(archive, "ZIP_PART_BYTES", 100_000)
    data = packed({"part": os.urandom(100_001)})
    with pytest.raises(Unread, match=r"100,001 > 100,000 bytes"):
        list(opened(data).pieces("part"))


def test_a_part_read_again_and_again_counts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ZIP_RATIO_FROM_BYTES", 0)
    monkeypatch.setattr(archive, "ZIP_DOCUMENT_BYTES", 250_000)
    found = opened(packed({"part": os.urandom(100_000)}))
    found.whole("part")
    found.whole("part")
    with pytest.raises(Unread, match="> 250,000 bytes"):
        found.whole("part")


def test_a_part_held_whole_has_a_cap() -> None:
    with pytest.raises(Unread, match="> 1,000 bytes"):
        opened(packed({"part": os.urandom(2_000)})).whole("part", 1_000)


def test_inflating_sends_heartbeats() -> None:
    data = packed({"part": os.urandom(200_000)})
    beats: list[int] = []
    found = Archive(io.BytesIO(data), Context("file", len(data), None, lambda: beats.append(1)))
    found.whole("part")
    assert len(beats) >= 3


# --- XML ----------------------------------------------------------------------------------

LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><a>&c;</a>'
EXTERNAL = '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declaration", [LAUGHS, EXTERNAL, "<!DOCTYPE a><a/>"])
def test_a_doctype_is_refused_in_any_encoding(declaration: str, encoding: str) -> None:
    bom = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    with pytest.raises(Unread, match="declares a DOCTYPE") as caught:
        scan(bom + declaration.encode(encoding))
    assert caught.value.code == "corrupt"


def test_nesting_is_capped() -> None:
    depth = 80_000
    with pytest.raises(Unread, match=r"1,001 > 1,000 elements"):
        scan("<a>" * depth + "</a>" * depth)


def test_nesting_is_capped_inside_a_skipped_element() -> None:
    scanner = markup.Scanner("part.xml", {"skipped": lambda _: scanner.skip()})
    with pytest.raises(Unread, match=r"1,001 > 1,000 elements"):
        scanner.run([b"<skipped>" + b"<a>" * 2_000])


def test_a_tag_without_end_is_refused_before_it_fills_memory() -> None:
    def pieces() -> Iterator[bytes]:
        yield b'<a b="'
        while True:
            yield b"x" * 65_536

    with pytest.raises(Unread, match=r"One tag .* > 4,194,304 bytes"):
        markup.Scanner("part.xml", {}).run(pieces())


def test_a_flood_of_different_names_is_refused() -> None:
    text = "<a>" + "".join(f"<n{at}/>" for at in range(limits.MARKUP_NAMES + 1)) + "</a>"
    with pytest.raises(Unread, match="> 20,000 names"):
        scan(text)


@pytest.mark.parametrize(
    "text",
    ["", "words", "<a><b></a>", "<a>&unknown;</a>", "<a/><b/>", "<a b=c/>", "<a>\x01</a>"],
)
def test_what_is_not_well_formed_is_corrupt(text: str) -> None:
    with pytest.raises(Unread) as caught:
        scan(text)
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize("encoding", ["euc-kr", "shift_jis", "no-such", "utf-7", "utf-32"])
def test_an_encoding_that_expat_cannot_follow_is_corrupt(encoding: str) -> None:
    with pytest.raises(Unread, match="encoding") as caught:
        scan(f'<?xml version="1.0" encoding="{encoding}"?><a/>')
    assert caught.value.code == "corrupt"


def test_eight_bit_encodings_are_followed() -> None:
    found: list[str] = []
    scanner = markup.Scanner("part.xml", {"a": lambda _: scanner.collect(found.append)})
    scanner.run(['<?xml version="1.0" encoding="tis-620"?><a>ชำระ</a>'.encode("cp874")])
    assert "".join(found) == "ชำระ"


def test_skipping_an_element_resumes_where_it_ends() -> None:
    found: list[str] = []
    scanner: markup.Scanner
    starts: dict[str, markup.OnStart] = {
        "t": lambda _: scanner.collect(found.append),
        "x": lambda _: scanner.skip(),
    }
    scanner = markup.Scanner("part.xml", starts, {"t": lambda: scanner.collect(None)})
    scanner.run([b"<a><t>one<x>no<t>no</t><x/></x>two</t>no<t>three</t></a>"])
    assert "".join(found) == "onetwothree"


def test_seventy_megabytes_of_markup_pass_through_a_few() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"<a>"
        row = b"<row r='1'><c t='s'><v>1</v></c></row>" * 1_700
        for _ in range(200):
            yield row
        yield b"</a>"

    tracemalloc.start()
    markup.Scanner("part.xml", {}).run(pieces())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * limits.MIB


@pytest.mark.parametrize("text", ["12", " 12 ", "-3"])
def test_whole_numbers_are_read(text: str) -> None:
    assert markup.whole(text) == int(text)


@pytest.mark.parametrize("text", ["", None, "1.5", "9" * 5_000, "¹", "٣", "x", "--1"])
def test_what_is_no_whole_number_gives_the_default(text: str | None) -> None:
    assert markup.whole(text, 7) == 7


# --- on reference files -----------------------------------------------------------------


def test_the_reference_bombs_end_with_their_codes(shared: Path) -> None:
    expected = {
        "docs/docx/bomb_deep.docx": "limit_reached",
        "docs/docx/bomb_entities.docx": "corrupt",
        "docs/docx/xxe_file.docx": "corrupt",
        "docs/docx/tika_testWORD_truncated.docx": "corrupt",
        "docs/docx/tika_testWORD_protected_passtika.docx": "encrypted",
        "docs/docx/zero.docx": "empty",
        "bugs/b35/bomb.docx": "limit_reached",
        "bugs/b11/enc.docx": "encrypted",
        "bugs/b11/old_as.docx": "unsupported",
    }
    found = {name: refusal(docx.read, (shared / name).read_bytes()).code for name in expected}
    assert found == expected
