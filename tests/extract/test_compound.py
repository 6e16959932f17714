"""The compound file reader on files made here, whole and broken."""

from __future__ import annotations

import io
import random
import struct

import pytest

from helpers.errors import Unread
from helpers.extract.compound import CompoundFile
from tests.extract.compound_files import Path, packed

BODY = bytes(range(256)) * 40
STREAMS: dict[Path | str, bytes] = {
    "WordDocument": BODY,
    "Small": b"a small stream",
    ("BodyText", "Section0"): b"\x01" * 5000,
    ("BodyText", "Section1"): b"\x02" * 70,
    "Empty": b"",
}


def opened(data: bytes) -> CompoundFile:
    return CompoundFile(io.BytesIO(data))


def test_every_stream_comes_back_whole() -> None:
    found = opened(packed(STREAMS))
    for key, data in STREAMS.items():
        path = (key,) if isinstance(key, str) else key
        assert found.read(*path) == data
        assert not found.open(*path).cut


def test_names_are_found_without_regard_to_case_and_listed_below_their_storage() -> None:
    found = opened(packed(STREAMS))
    assert ("worddocument",) in found
    assert [entry.path for entry in found.below(("bodytext",))] == [
        ("BodyText", "Section0"),
        ("BodyText", "Section1"),
    ]


def test_a_stream_is_read_from_any_place() -> None:
    stream = opened(packed(STREAMS)).open("WordDocument")
    stream.seek(700)
    assert stream.read(1000) == BODY[700:1700]
    assert stream.tell() == 1700
    assert stream.seek(-3, io.SEEK_END) == len(BODY) - 3
    assert stream.read() == BODY[-3:]


def test_a_file_that_is_cut_off_gives_what_it_holds_and_says_so() -> None:
    data = bytearray(packed({"Late": b"x" * 20_000}))
    start = opened(bytes(data)).entries["late",].start
    data[512 + 4 * start :] = data[512 + 4 * start :]
    table = struct.unpack_from("<I", data, 76)[0]
    struct.pack_into("<I", data, (table + 1) * 512 + 4 * (start + 9), 0xFFFFFFFE)
    stream = opened(bytes(data)).open("Late")
    assert (stream.cut, stream.read()) == (True, b"x" * 5120)


def test_a_chain_that_loops_ends_with_the_size_of_its_stream() -> None:
    data = bytearray(packed({"Round": b"y" * 6000}))
    table = struct.unpack_from("<I", data, 76)[0]
    start = opened(bytes(data)).entries["round",].start
    struct.pack_into("<I", data, (table + 1) * 512 + 4 * (start + 1), start)
    assert len(opened(bytes(data)).read("Round")) == 6000


def test_a_stream_is_read_from_its_first_sector_on_without_a_directory() -> None:
    data = bytearray(packed(STREAMS))
    start = opened(bytes(data)).entries[("worddocument",)].start
    second, third = (slice((start + at) * 512, (start + at + 1) * 512) for at in (2, 3))
    data[second], data[third] = data[third], data[second]
    table = (struct.unpack_from("<I", data, 76)[0] + 1) * 512
    struct.pack_into("<3I", data, table + 4 * start, start + 2, start + 3, start + 1)
    assert CompoundFile(io.BytesIO(data), whole=False).open_at(start).read() == BODY


def test_behind_the_end_of_the_table_a_stream_goes_on_in_one_piece() -> None:
    data = packed(STREAMS)
    start = opened(data).entries[("worddocument",)].start
    cut = io.BytesIO(data[: (start + 1) * 512 + 5_000])
    assert CompoundFile(cut, whole=False).open_at(start).read() == BODY[:5_000]
    assert CompoundFile(cut, whole=False).open_at(9_999).read() == b""


def test_a_directory_that_loops_ends() -> None:
    data = bytearray(packed(STREAMS))
    directory = (struct.unpack_from("<I", data, 48)[0] + 1) * 512
    for place in range(1, 4):
        struct.pack_into("<III", data, directory + 128 * place + 68, 1, 1, 1)
    assert len(opened(bytes(data)).entries) <= len(STREAMS) + 1


@pytest.mark.parametrize("cut", [0, 8, 100, 511])
def test_no_header_is_told(cut: int) -> None:
    with pytest.raises(Unread, match="header") as raised:
        opened(packed(STREAMS)[:cut])
    assert raised.value.code == "corrupt"


def test_a_stream_beyond_the_limit_names_both_numbers() -> None:
    with pytest.raises(Unread, match=r"10,240 > 100 ") as raised:
        opened(packed(STREAMS)).read("WordDocument", most=100)
    assert raised.value.code == "limit_reached"


def test_2000_mutations_raise_nothing_but_unread() -> None:
    whole, chance = packed(STREAMS), random.Random(7)
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            data[chance.choice([chance.randrange(512), chance.randrange(len(data))])] = (
                chance.randrange(256)
            )
        try:
            found = opened(bytes(data))
            for entry in found.entries.values():
                if entry.kind == 2:
                    assert len(found.read(*entry.path)) <= max(entry.size, 0)
        except Unread:
            refused += 1
    assert 0 < refused < 2000
