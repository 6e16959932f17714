"""LIMITS lines 24 to 28: bombs, DOCTYPE, looping parsers, mutations, and the view from inside.

`--points N` or `--points all` asks for more mutations than the everyday sample.
"""

from __future__ import annotations

import collections
import functools
import io
import os
import random
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from helpers.errors import UNREAD_CODES, Unread
from helpers.extract import formats
from helpers.extract.sandbox import OpenedFile, ReaderLimits, ReaderPool, ReadPolicy
from helpers.language.chunk import ChunkPolicy
from helpers.limits import READER_MEMORY_BYTES
from tests.extract import epub_files as books
from tests.trust import documents
from tests.trust.documents import BOMBS, LEAK, WHOLE
from tests.trust.further_documents import (
    BOMBS_TOO,
    FLAT_PLACES,
    UNHEARD,
    WHOLE_TOO,
    drawing,
    packed_formula,
)

Points = Callable[[int, int], int]

HOSTILE = str(Path(__file__).parent.parent / "extract")
BOMB_S = 30.0  # seconds within which a bomb is reported: processor seconds, where they are known
SEED = 20_240_229
MUTATIONS = 2_000  # per format
SAMPLE = 40  # per format, every day


@dataclass
class Outcome:
    """What came of one document."""

    name: str
    error: Unread | None = None
    text: str = ""
    seconds: float = 0.0


@dataclass
class Watch:
    """A pool at work: reads documents from memory and weighs its processes at every look.

    `worked` are the processor seconds of each process at the last look (Linux).
    """

    pool: ReaderPool
    peak: int = 0
    worked: dict[int, float] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)

    def read(self, named: Iterable[tuple[str, bytes]]) -> Iterator[Outcome]:
        """One Outcome per document, in the order of completion; at most 1 MB of its text."""
        held: dict[int, tuple[str, IO[bytes]]] = {}

        def opened() -> Iterator[OpenedFile]:
            for ticket, (name, content) in enumerate(named):
                file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when read
                file.write(content)
                file.flush()
                held[ticket] = (name, file)
                yield OpenedFile(ticket, file.fileno(), name, len(content))

        last = time.monotonic()
        for reading in self.pool.read(opened(), self._weigh):
            name, file = held.pop(reading.ticket)
            outcome = Outcome(name, reading.error)
            try:
                for chunk in reading.chunks:
                    if len(outcome.text) < 1_000_000:
                        outcome.text += chunk.text + "\n"
            except Unread as error:
                outcome.error = error
            file.close()
            now = time.monotonic()
            outcome.seconds, last = now - last, now
            yield outcome
        assert not held

    def _weigh(self) -> bool:
        self.pids.update(self.pool.pids)
        for pid in self.pool.pids:
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            except OSError:
                continue
            if "VmHWM:" in status:
                self.worked[pid] = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
                self.peak = max(self.peak, int(status.split("VmHWM:")[1].split()[0]) * 1024)
        return False


Watches = Callable[..., Watch]


@pytest.fixture
def watch() -> Iterator[Watches]:
    made: list[ReaderPool] = []

    def start(caps: ReaderLimits | None = None, workers: int = 1, hostile: bool = False) -> Watch:
        policy = ReadPolicy(ChunkPolicy(), caps or ReaderLimits(), archives=True)
        if hostile:
            made.append(ReaderPool(policy, workers, registry="hostile", paths=(HOSTILE,)))
        else:
            made.append(ReaderPool(policy, workers))
        return Watch(made[-1])

    yield start
    for pool in made:
        pool.close()


def test_every_whole_document_is_read(watch: Watches) -> None:
    """The seeds of what follows are sound: a fault found below is the fault's."""
    outcomes = list(watch().read((WHOLE | WHOLE_TOO).items()))
    assert {o.name: str(o.error) for o in outcomes if o.error} == {}
    assert {o.name for o in outcomes if not o.text.strip()} == set()


def test_every_format_that_is_read_has_its_documents() -> None:
    named = (WHOLE | WHOLE_TOO | UNHEARD).items()
    found = {formats.detect(io.BytesIO(content), name).name for name, content in named}
    assert found == {known.name for known in formats.FORMATS if known.supported}


# --- 24: bombs -----------------------------------------------------------------------


def test_24_bombs_end_in_time_and_memory_and_the_next_file_is_read(
    watch: Watches, points: Points, record_property: Callable[[str, object], None]
) -> None:
    bombs = BOMBS | BOMBS_TOO
    count = points(6, len(bombs))
    for name, make in list(bombs.items())[:: -(-len(bombs) // count)]:
        reader = watch()
        bomb, after = reader.read([(name, make()), ("after.txt", b"still here")])
        taken = sum(reader.worked.values()) or bomb.seconds
        told = f"{name}: {taken:.1f} s, {reader.peak >> 20} MiB, {bomb.error}"
        record_property("bomb", told)
        assert taken <= BOMB_S, told
        assert reader.peak <= READER_MEMORY_BYTES, told
        assert after.text.strip() == "still here", told
        print(told)


def test_24_bombs_of_the_reference_data_end_and_say_why(watch: Watches, shared: Path) -> None:
    files = [*(shared / "docs").glob("*/bomb_*"), shared / "docs/docx/xxe_file.docx"]
    reader = watch()
    outcomes = list(reader.read((path.name, path.read_bytes()) for path in files))
    assert len(outcomes) >= 5
    for outcome in outcomes:
        assert outcome.error is not None, outcome.name
        assert outcome.error.code in ("limit_reached", "corrupt"), outcome.name
        assert outcome.seconds <= BOMB_S
    assert reader.peak <= READER_MEMORY_BYTES


# --- 25: DOCTYPE ---------------------------------------------------------------------

PLACES: dict[str, tuple[str, Callable[[str, str], bytes]]] = {
    "docx": ("word/document.xml", documents.docx),
    "xlsx": ("xl/sharedStrings.xml", documents.xlsx),
    "pptx": ("ppt/slides/slide1.xml", documents.pptx),
    "odt": ("content.xml", lambda text, prolog: documents.odf("text", text, prolog)),
    "ods": ("content.xml", lambda text, prolog: documents.odf("spreadsheet", text, prolog)),
    "hwpx": ("Contents/section0.xml", documents.hwpx),
    "odp": ("content.xml", lambda text, prolog: documents.odf("presentation", text, prolog)),
    "odg": ("content.xml", drawing),
    "odf": ("content.xml", packed_formula),
}


@pytest.fixture
def door() -> Iterator[tuple[str, list[int]]]:
    """An address on this machine, and who knocked there."""
    knocks: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    visitor, _ = server.accept()
                except OSError:
                    return
                knocks.append(1)
                visitor.close()

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.dtd", knocks
        server.shutdown(socket.SHUT_RDWR)


def test_25_every_doctype_is_refused_without_file_or_network_access(
    watch: Watches, door: tuple[str, list[int]], tmp_path: Path
) -> None:
    address, knocks = door
    secret = tmp_path / "secret.txt"
    secret.write_text(LEAK)
    named = []
    for kind, prolog in documents.doctypes(str(secret), address).items():
        for ending, (part, make) in PLACES.items():
            document = make("before &x; after", prolog)
            named.append((f"{kind}.{ending}", document))
            named.append((f"{kind} in UTF-16.{ending}", documents.in_utf_16(document, part)))
        for ending, flat in FLAT_PLACES.items():
            document = flat("before &x; after", prolog)
            named.append((f"{kind}.{ending}", document))
            named.append((f"{kind} in UTF-16.{ending}", document.decode().encode("utf-16")))
    outcomes = list(watch(workers=2).read(named))
    assert len(outcomes) == 2 * 9 * (len(PLACES) + len(FLAT_PLACES))
    for outcome in outcomes:
        if outcome.text.startswith("<!DOCTYPE"):  # so long that nothing but the text is seen
            assert outcome.name.startswith("quadratic") and "before &x; after" in outcome.text
            continue
        assert outcome.error is not None, outcome.name
        assert outcome.error.code in ("corrupt", "limit_reached"), outcome.name
        assert LEAK not in outcome.text and LEAK not in str(outcome.error), outcome.name
    assert knocks == []


def test_25_a_book_shows_no_entity_and_asks_for_nothing(
    watch: Watches, door: tuple[str, list[int]], tmp_path: Path
) -> None:
    """Its pages may have a DOCTYPE; one that declares is read without what it declares."""
    address, knocks = door
    secret = tmp_path / "secret.txt"
    secret.write_text(LEAK)
    page = books.page("<p>before &x; after</p>")
    whole = books.book({"a.xhtml": page}, ncx=books.point("H", "a.xhtml"))
    parts = ("META-INF/container.xml", "OEBPS/book.opf", "OEBPS/a.xhtml", "OEBPS/toc.ncx")
    named = []
    for kind, prolog in documents.doctypes(str(secret), address).items():
        for part in parts:
            behind = functools.partial(_behind_declaration, prolog.encode())
            document = documents.changed(whole, part, behind)
            named.append((f"{kind} {part.rpartition('/')[2]}.epub", document))
    outcomes = list(watch(workers=2).read(named))
    assert len(outcomes) == 9 * len(parts)
    for outcome in outcomes:
        assert outcome.error is None or outcome.error.code in (
            "corrupt",
            "limit_reached",
            "no_text",
        )
        assert LEAK not in outcome.text and LEAK not in str(outcome.error), outcome.name
    assert knocks == []


def _behind_declaration(prolog: bytes, xml: bytes) -> bytes:
    at = xml.index(b"?>") + 2 if xml.startswith(b"<?xml") else 0
    return xml[:at] + prolog + xml[at:].replace(b"<!DOCTYPE html>", b"")


# --- 26: a looping parser ------------------------------------------------------------


@pytest.mark.parametrize("action", ["loop", "sleep", "beat"])
def test_26_a_looping_parser_is_killed_with_its_group_and_the_next_file_is_read(
    watch: Watches, action: str
) -> None:
    reader = watch(ReaderLimits(stall_s=1.0, wall_s=1.5), workers=2, hostile=True)
    named = [(f"{action}.evil", b"x"), *((f"{n}.txt", b"good words") for n in range(20))]
    outcomes = {o.name: o for o in reader.read(named)}
    error = outcomes[f"{action}.evil"].error
    assert error is not None and error.code == "timeout" and error.remedy
    assert len(outcomes) == 21
    assert all(outcomes[f"{n}.txt"].text.strip() == "good words" for n in range(20))
    killed = reader.pids - set(reader.pool.pids)
    assert len(killed) == 1
    assert not _group_lives(killed.pop())


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# --- 27: mutations -------------------------------------------------------------------


def test_27_mutations_give_text_or_typed_errors(
    watch: Watches, points: Points, record_property: Callable[[str, object], None]
) -> None:
    """Every whole document of every format, damaged by a seeded hand."""
    count = points(SAMPLE, MUTATIONS)
    luck = random.Random(SEED)
    whole = WHOLE | WHOLE_TOO | UNHEARD
    named = (
        (f"{turn}-{name}", documents.mutated(content, luck))
        for name, content in whole.items()
        for turn in range(count)
    )
    tally = _tally(watch(workers=2).read(named))
    record_property("mutations", dict(tally))
    assert sum(tally.values()) == count * len(whole)
    assert set(tally) <= UNREAD_CODES | {"read"}
    assert tally["read"] > 0 and tally["corrupt"] > 0


def test_27_mutations_of_real_files_give_text_or_typed_errors(
    watch: Watches, points: Points, shared: Path, record_property: Callable[[str, object], None]
) -> None:
    count = points(SAMPLE, MUTATIONS)
    endings = (
        "pdf",
        "docx",
        "xlsx",
        "pptx",
        "odt",
        "ods",
        "odp",
        "hwp",
        "hwpx",
        "html",
        "csv",
        "md",
    )
    luck = random.Random(SEED)
    seeds = {
        ending: [
            path.read_bytes()
            for path in sorted((shared / "docs" / ending).glob(f"*.{ending}"))
            if 0 < path.stat().st_size < 60_000 and not path.name.startswith("bomb")
        ]
        for ending in endings
    }
    named = (
        (f"{turn}.{ending}", documents.mutated(luck.choice(seeds[ending]), luck))
        for ending in endings
        if seeds[ending]
        for turn in range(count)
    )
    tally = _tally(watch(workers=2).read(named))
    record_property("mutations", dict(tally))
    assert sum(tally.values()) >= count * 7
    assert set(tally) <= UNREAD_CODES | {"read"}


def _tally(outcomes: Iterator[Outcome]) -> collections.Counter[str]:
    tally: collections.Counter[str] = collections.Counter()
    for outcome in outcomes:
        tally["read" if outcome.error is None else outcome.error.code] += 1
        if outcome.error is not None:
            assert outcome.error.reason and "\n" not in outcome.error.reason
    return tally


# --- 28: seen from inside ------------------------------------------------------------


def test_28_no_key_and_no_network_inside(watch: Watches, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets fail in Python everywhere; from C code on Linux (x86-64, arm64) alone."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "HF_TOKEN", "AWS_SECRET", "DB_PASSWORD"):
        monkeypatch.setenv(name, "canary")
    inside = {o.name: o.text for o in watch(hostile=True).read(_inspections())}
    assert "canary" not in inside["environment.evil"]
    names = inside["environment.evil"].split("\n")
    assert [n for n in names if n.endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))] == []
    for attempt in ("socket", "connect", "resolve", "spawn", "fork", "write", "passwd"):
        assert f"{attempt}: refused" in inside["reach.evil"]
    if sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64"):
        assert "socket: -1" in inside["reach_from_c.evil"]


def _inspections() -> list[tuple[str, bytes]]:
    return [("environment.evil", b"x"), ("reach.evil", b"x"), ("reach_from_c.evil", b"x")]
