"""Reading office files, against the least that reading them can cost.

`formats`: a file of each XML format, read in this process, against inflating its parts (a flat
file has none) and parsing them, names resolved, with handlers that do nothing. `legacy`: a file of
each binary format on disk, against reading its streams sector by sector with the standard library
and inflating them. A ratio is ours / baseline in processor time: a reader at 60 % of the rate
stands at 1 / 0.6.
`folder`: 200 mixed files by one reader process, against two.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import io
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO
from xml.parsers import expat

from bench import office_files
from bench.measure import Ratio, best
from helpers.extract import formats as registry
from helpers.extract.blocks import Block, Context
from helpers.extract.reading import OpenedFile, ReadPolicy
from helpers.extract.sandbox import ReaderPool

XML_BYTES = 20_000_000  # of XML in each file
STREAM_BYTES = 5_000_000  # of the streams of each binary file
PIECE_BYTES = 65_536
RATE = 0.6  # of the baseline's rate, at least
LEGACY_RATE = 0.3  # of the rate of merely reading and inflating, at least
FOLDER_FILES = 200
FOLDER_GAIN = 1.6  # times as fast with two reader processes, at least
SIZES = (60_000, 240_000, 900_000)  # bytes of XML or streams of the folder's files, in turn


def formats(xml_bytes: int = XML_BYTES, repeats: int = 5) -> list[Ratio]:
    """One claim per format."""
    return [_against(name, make(xml_bytes), repeats) for name, make in office_files.MAKERS.items()]


def legacy(stream_bytes: int = STREAM_BYTES, repeats: int = 5) -> list[Ratio]:
    """One claim per binary format."""
    from bench import legacy_files  # needs the writers of the tests

    found = []
    with tempfile.TemporaryDirectory() as place:
        for name, make in legacy_files.MAKERS.items():
            path = Path(place) / f"file.{name}"
            path.write_bytes(make(stream_bytes))
            with path.open("rb") as file:
                size = streams(file)
                ours, baseline = _in_turn(
                    partial(read, name, file), partial(streams, file), repeats
                )
            label = f"read {name}, {size / 1e6:.1f} MB of streams, against reading them only"
            found.append(Ratio(label, ours, baseline, "s", 1 / LEGACY_RATE))
    return found


def folder(files: int = FOLDER_FILES, repeats: int = 3) -> list[Ratio]:
    """Reading a folder of mixed files, chunks and terms included, by one process and by two."""
    from bench import legacy_files

    makers = [*office_files.MAKERS.items(), *legacy_files.MAKERS.items()]
    with tempfile.TemporaryDirectory() as place:
        paths: list[Path] = []
        for number in range(files):
            name, make = makers[number % len(makers)]
            if number < len(makers) * len(SIZES):
                data = make(SIZES[number // len(makers)])
            else:
                data = paths[number - len(makers) * len(SIZES)].read_bytes()
            paths.append(Path(place) / f"{number:04}.{name}")
            paths[-1].write_bytes(data)
        one = best(repeats, lambda: _pooled(paths, 1))
        two = best(repeats, lambda: _pooled(paths, 2))
    label = f"read {files} mixed office files with two reader processes, against one"
    return [Ratio(label, two, one, "s", 1 / FOLDER_GAIN)]


def _pooled(paths: list[Path], workers: int) -> float:
    """Seconds from the first file to the last, the processes being there already."""
    with ReaderPool(ReadPolicy(), workers=workers) as pool:
        _drained(pool, paths[: 4 * workers])
        begun = time.perf_counter()
        _drained(pool, paths)
        return time.perf_counter() - begun


def _drained(pool: ReaderPool, paths: list[Path]) -> None:
    with contextlib.ExitStack() as opened:
        files = [
            OpenedFile(
                ticket, opened.enter_context(path.open("rb")), path.name, path.stat().st_size
            )
            for ticket, path in enumerate(paths)
        ]
        for reading in pool.read(files, lambda: False):
            if reading.error is not None:
                raise reading.error
            collections.deque(reading.chunks, maxlen=0)


def _against(name: str, data: bytes, repeats: int) -> Ratio:
    ours, baseline = _in_turn(lambda: read(name, data), lambda: parsed(data), repeats)
    megabytes = xml_size(data) / 1e6
    label = f"read {name}, {megabytes:.0f} MB of XML, against inflating and parsing it"
    return Ratio(label, ours, baseline, "s", 1 / RATE)


def _in_turn(
    ours: Callable[[], object], baseline: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """The best of each; they take turns, so that a busy moment meets both."""
    pairs = [(timed(ours), timed(baseline)) for _ in range(repeats)]
    return min(one for one, _ in pairs), min(other for _, other in pairs)


def timed(run: Callable[[], object]) -> float:
    """Seconds of processor time: what else the machine does, does not count."""
    gc.collect()
    begun = time.process_time()
    run()
    return time.process_time() - begun


def read(name: str, data: bytes | BinaryIO) -> int:
    """Take all items of a file; how many blocks there were."""
    found = registry.by_name(f"file.{name}")
    assert found is not None
    reader = registry.load(found)
    file = io.BytesIO(data) if isinstance(data, bytes) else data
    context = Context(f"file.{name}", file.seek(0, io.SEEK_END))
    return sum(isinstance(item, Block) for item in reader(file, context))


def parsed(data: bytes) -> None:
    """Inflate and parse every XML part with handlers that do nothing."""

    def start(name: str, attributes: dict[str, str]) -> None:
        pass

    def nothing(text: str) -> None:
        pass

    for part in _parts(data):
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        parser.EndElementHandler = nothing
        parser.CharacterDataHandler = nothing
        while piece := part.read(PIECE_BYTES):
            parser.Parse(piece)
        parser.Parse(b"", True)


def _parts(data: bytes) -> Iterator[IO[bytes]]:
    """The XML parts of a container, one open at a time, or the flat file."""
    if data.startswith(b"<?xml"):
        yield io.BytesIO(data)
        return
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        for name in container.namelist():
            if name.endswith((".xml", ".rels", ".xhtml", ".opf", ".ncx")):
                with container.open(name) as part:
                    yield part


def xml_size(data: bytes) -> int:
    """Bytes of XML in a container or a flat file."""
    if data.startswith(b"<?xml"):
        return len(data)
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        return sum(entry.file_size for entry in container.infolist())


def streams(file: BinaryIO) -> int:
    """Read every stream of a compound file on disk, sector by sector along its chain; inflate
    what is deflated. How many bytes there were."""
    file.seek(0)
    header = file.read(512)
    table: list[int] = []
    for sector in struct.unpack_from("<109I", header, 76):
        if sector < 0xFFFFFFFA:
            file.seek((sector + 1) * 512)
            table += struct.unpack("<128I", file.read(512))

    def chain(sector: int) -> bytes:
        found = []
        while sector < 0xFFFFFFFA:
            file.seek((sector + 1) * 512)
            found.append(file.read(512))
            sector = table[sector]
        return b"".join(found)

    total = 0
    directory = chain(struct.unpack_from("<I", header, 48)[0])
    for at in range(0, len(directory), 128):
        start, size = struct.unpack_from("<II", directory, at + 116)
        if directory[at + 66] == 2 and size >= 4096:
            body = chain(start)[:size]
            with contextlib.suppress(zlib.error):
                body = zlib.decompress(body, -15)
            total += len(body)
    return total
