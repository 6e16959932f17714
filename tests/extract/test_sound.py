"""Recordings as blocks by time."""

from __future__ import annotations

import io

import pytest

from helpers.errors import Unread
from helpers.extract import formats, sound
from helpers.extract.blocks import Block, Context, Notice
from helpers.recognition import Piece, Recognised, Wanted


class Said:
    """A recognition that answers with these pieces."""

    def __init__(self, *pieces: Piece) -> None:
        facts = {"whisper_model": "small", "transcribed_at": "2026-02-03T04:05:06Z"}
        self.found = Recognised(pieces, "whisper.cpp small", facts)

    def __call__(self, wanted: Wanted) -> Recognised:
        assert wanted.kind == "sound"
        return self.found

    def begin(self, wanted: Wanted) -> Said:
        return self

    def result(self) -> Recognised:
        return self.found


def items(*pieces: Piece) -> list[object]:
    return list(sound.read(io.BytesIO(), Context("talk.mp3", recognize=Said(*pieces))))


def test_about_a_minute_makes_a_block_that_names_from_when_to_when() -> None:
    pieces = [Piece(f" sentence {n} ", None, 720 + 10 * n, 730 + 10 * n) for n in range(9)]
    blocks = [item for item in items(*pieces) if isinstance(item, Block)]
    assert [block.location.as_dict() for block in blocks if block.location] == [
        {"kind": "time", "label": "12:00–13:00", "time": 720, "end": 780},
        {"kind": "time", "label": "13:00–13:30", "time": 780, "end": 810},
    ]
    assert blocks[1].text == "sentence 6 sentence 7 sentence 8"


def test_model_and_day_are_noted() -> None:
    (notice,) = [item for item in items(Piece("hello", None, 0, 1)) if isinstance(item, Notice)]
    assert notice.code == "transcribed"
    assert "model small" in notice.message
    assert "2026-02-03" in notice.message


def test_silence_is_no_text() -> None:
    with pytest.raises(Unread) as raised:
        items(Piece("  ", None, 0, 1))
    assert raised.value.code == "no_text"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0:00"), (59, "0:59"), (723, "12:03"), (4323, "1:12:03")]
)
def test_the_clock(seconds: int, expected: str) -> None:
    assert sound.clock(seconds) == expected


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"ID3\x04\0\0\0", "a.mp3"),
        (b"\xff\xfb\x90\0", "a.mp3"),
        (b"\xff\xf3\x90\0", "a.mp3"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a.wav"),
        (b"\0\0\0 ftypM4A \0", "a.m4a"),
        (b"OggS\0", "a.ogg"),
        (b"fLaC\0", "a.flac"),
        (b"\x1aE\xdf\xa3\0webm", "a.webm"),
    ],
)
def test_recordings_are_told_by_their_content(start: bytes, name: str) -> None:
    assert formats.detect(io.BytesIO(start + bytes(100)), name).name == "audio"


def test_a_film_is_no_recording() -> None:
    with pytest.raises(Unread, match="Video"):
        formats.detect(io.BytesIO(b"\x1aE\xdf\xa3\0matroska" + bytes(100)), "a.mkv")
