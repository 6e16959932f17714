"""What travels between the parent and a reader process, and the suspicion with which it is met.

One frame is HEADER (payload bytes, number of the file it speaks of) and a JSON payload; a frame
without payload is a heartbeat. A payload has some of the keys `begin`, `chunks`, `notices`,
`end`, in that order of time.

Promises: `FrameReader` and `checked` accept nothing but known keys, exact types and bounded
sizes, so a reader process that was taken over by its document can hand over wrong text but
nothing else; whatever does not fit raises BadFrame. Text that holds lone surrogates is
repaired by the sender and refused by the receiver.
Does not: open files, know processes, or know formats.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from helpers.errors import UNREAD_CODES
from helpers.limits import (
    CHUNK_TEXT_CHARS,
    READER_ATTACHED_PART_BYTES,
    READER_FIELD_CHARS,
    READER_FRAME_BYTES,
    READER_NOTICES,
    READER_TERMS_CHARS,
)
from helpers.recognition import FAMILIES, Wanted

HEADER = struct.Struct(">II")  # payload bytes, file number
LABELS = 200  # tags, aliases or extra facts of one document
DEPTH = 12  # entries of one chunk's heading path or location
_WHOLE = 2**53  # numbers of a location stay below this
ORIENTATIONS = range(1, 9)  # of EXIF
SCALES = range(100, 401)  # percent that a picture may be enlarged to
_KEYS = frozenset({"begin", "chunks", "notices", "attach", "ask", "wanted", "end"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


class BadFrame(ValueError):
    """The other side sent what this protocol does not hold."""


@dataclass(frozen=True, slots=True)
class AnalysedChunk:
    """A chunk as the store takes it.

    `text`, `context`, `heading`, `location` and `ocr` as in language.chunk.Chunk; `terms` and
    `context_terms` are the analysed terms joined by spaces; `grams` is "" unless `ocr`.
    """

    text: str
    context: str
    heading: tuple[str, ...]
    location: dict[str, Any]
    ocr: bool
    terms: str
    context_terms: str
    grams: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known of a document before its first chunk."""

    format: str
    title: str | None
    encoding: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    extra: dict[str, str]


@dataclass(frozen=True, slots=True)
class Remark:
    """A reader's notice; `location` as Location.as_dict, or None."""

    code: str
    message: str
    location: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Question:
    """Something to recognise in the document, or in the inner file `attached`."""

    number: int
    wanted: Wanted
    attached: int | None


@dataclass(slots=True)
class Frame:
    """One checked frame. `error` is (code, reason, remedy) and counts only where `ended`;
    `leaving` says that the process ends after it.
    """

    number: int
    size: int = 0
    begin: Beginning | None = None
    chunks: list[AnalysedChunk] = field(default_factory=list)
    notices: list[Remark] = field(default_factory=list)
    attach: tuple[int, bytes] | None = None
    ask: Question | None = None
    wanted: tuple[str, ...] = ()
    ended: bool = False
    error: tuple[str, str, str] | None = None
    leaving: bool = False


def pack(number: int, payload: dict[str, Any] | None = None) -> bytes:
    """The bytes of one frame; without payload, a heartbeat."""
    if payload is None:
        return HEADER.pack(0, number)
    text = _encode(payload)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = _LONE.sub("\ufffd", text).encode()
    return HEADER.pack(len(body), number) + body


def repaired(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE.sub("\ufffd", text)
    return text


class FrameReader:
    """Cuts what arrives into frames. Holds at most one frame and one read more."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[Frame]:
        """The frames that `data` completes. Raises BadFrame."""
        held = self._held
        held += data
        start = 0
        try:
            while len(held) - start >= HEADER.size:
                size, number = HEADER.unpack_from(held, start)
                if size > READER_FRAME_BYTES:
                    raise BadFrame(f"frame of {size:,} > {READER_FRAME_BYTES:,} bytes")
                end = start + HEADER.size + size
                if len(held) < end:
                    break
                body = bytes(memoryview(held)[start + HEADER.size : end])
                start = end
                yield checked(number, body) if size else Frame(number)
        finally:
            del held[:start]


def checked(number: int, body: bytes) -> Frame:
    """A frame from its payload. Raises BadFrame for anything unknown, mistyped or oversized."""
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"no JSON: {type(error).__name__}") from None
    if not isinstance(value, dict) or not _KEYS.issuperset(value):
        raise BadFrame("unknown payload")
    if _SURROGATE.search(body) and _holds_surrogate(value):
        raise BadFrame("lone surrogate")
    frame = Frame(number, len(body))
    if "begin" in value:
        frame.begin = _beginning(value["begin"])
    if "chunks" in value:
        frame.chunks = [_chunk(row) for row in _list(value["chunks"], READER_FRAME_BYTES)]
    if "notices" in value:
        frame.notices = [_remark(row) for row in _list(value["notices"], READER_NOTICES + 1)]
    if "attach" in value:
        frame.attach = _attachment(value["attach"])
    if "ask" in value:
        frame.ask = _question(value["ask"])
    if "wanted" in value:
        frame.wanted = _texts(value["wanted"], len(FAMILIES))
        if not set(FAMILIES.values()).issuperset(frame.wanted):
            raise BadFrame("unknown family")
    if "end" in value:
        frame.ended = True
        frame.error, frame.leaving = _ending(value["end"])
    return frame


# --- one thing each ------------------------------------------------------------------


def _chunk(row: Any) -> AnalysedChunk:
    if type(row) is not list or len(row) != 8:
        raise BadFrame("chunk of another shape")
    text, context, heading, location, ocr, terms, context_terms, grams = row
    if not (
        type(text) is type(context) is type(terms) is type(context_terms) is type(grams) is str
        and type(ocr) is bool
        and 0 < len(text) <= CHUNK_TEXT_CHARS
        and len(context) <= READER_FIELD_CHARS
        and len(terms) <= READER_TERMS_CHARS
        and len(context_terms) <= READER_TERMS_CHARS
        and len(grams) <= READER_TERMS_CHARS
    ):
        raise BadFrame("chunk with a field of another type or size")
    return AnalysedChunk(
        text, context, _texts(heading, DEPTH), _location(location), ocr, terms, context_terms, grams
    )


def _beginning(value: Any) -> Beginning:
    if type(value) is not list or len(value) != 6:
        raise BadFrame("beginning of another shape")
    kind, title, encoding, tags, aliases, extra = value
    if type(extra) is not dict or len(extra) > LABELS:
        raise BadFrame("facts of another shape")
    return Beginning(
        _text(kind),
        None if title is None else _text(title),
        None if encoding is None else _text(encoding),
        _texts(tags, LABELS),
        _texts(aliases, LABELS),
        {_text(key): _text(fact) for key, fact in extra.items()},
    )


def _remark(value: Any) -> Remark:
    if type(value) is not list or len(value) != 3:
        raise BadFrame("notice of another shape")
    code, message, location = value
    return Remark(_text(code), _text(message), None if location is None else _location(location))


def _attachment(value: Any) -> tuple[int, bytes]:
    if type(value) is not list or len(value) != 2 or type(value[1]) is not str:
        raise BadFrame("attachment of another shape")
    try:
        data = base64.b64decode(value[1], validate=True)
    except (ValueError, binascii.Error):
        raise BadFrame("attachment that is no base64") from None
    if len(data) > READER_ATTACHED_PART_BYTES:
        raise BadFrame("attachment of another size")
    return _number(value[0]), data


def _question(value: Any) -> Question:
    if type(value) is not list or len(value) != 8:
        raise BadFrame("question of another shape")
    number, kind, page, pages, dpi, orientation, scale, attached = value
    if type(kind) is not str or kind not in FAMILIES:
        raise BadFrame("question of another kind")
    if type(orientation) is not int or orientation not in ORIENTATIONS:
        raise BadFrame("orientation out of range")
    if type(scale) is not int or scale not in SCALES:
        raise BadFrame("scale out of range")
    counts = [None if count is None else _number(count) for count in (page, pages, dpi, attached)]
    wanted = Wanted(kind, counts[0], counts[1], counts[2], orientation, scale)
    return Question(_number(number), wanted, counts[3])


def _number(value: Any) -> int:
    if type(value) is not int or not 0 < value < 2**31:
        raise BadFrame("number out of range")
    return value


def _ending(value: Any) -> tuple[tuple[str, str, str] | None, bool]:
    if type(value) is not list or len(value) != 2 or type(value[1]) is not bool:
        raise BadFrame("end of another shape")
    error, leaving = value
    if error is None:
        return None, leaving
    code, reason, remedy = _texts(error, 3) + ("",) * (3 - len(error))
    if code not in UNREAD_CODES:
        raise BadFrame("unknown code")
    return (code, reason, remedy), leaving


def _location(value: Any) -> dict[str, Any]:
    if type(value) is not dict or len(value) > DEPTH:
        raise BadFrame("location of another shape")
    for key, entry in value.items():
        _text(key)
        if type(entry) is int:
            if not -_WHOLE < entry < _WHOLE:
                raise BadFrame("number out of range")
        elif entry is not None:
            _text(entry)
    return value


def _list(value: Any, most: int) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise BadFrame("list of another shape")
    return value


def _texts(value: Any, most: int) -> tuple[str, ...]:
    return tuple(_text(entry) for entry in _list(value, most))


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > READER_FIELD_CHARS:
        raise BadFrame("text of another type or size")
    return value


def _holds_surrogate(value: Any) -> bool:
    return _LONE.search(json.dumps(value, ensure_ascii=False)) is not None
