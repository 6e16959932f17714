"""Files that were put into an Office document: worksheets, presentations, attached files.

Sources: ECMA-376 part 1, 15.2.10 (embedded packages) and 15.2.9 (embedded objects); [MS-OLEDS]
2.3.6 (files in an object's native data). Promises: what is embedded is read through `nested`,
behind the document's own text, as "embedded budget.xlsx"; the figures behind a chart are left
out, they stand in the chart; objects that hold no document are passed over in silence.
Does not: say where on the page an object stands.
"""

from __future__ import annotations

import io
import posixpath
import struct
from collections.abc import Iterator

from helpers.errors import Unread
from helpers.extract import nested
from helpers.extract.archive import Archive
from helpers.extract.blocks import Context, Item, Notice
from helpers.extract.compound import MAGIC, CompoundFile
from helpers.extract.formats import Format
from helpers.extract.opc import Package

FOLDER = "/embeddings/"
NAME_BYTES = 260  # bytes of one name in native data
_PASSED_OVER = frozenset({"zip", "archive", "image", "photo", "audio", "video", "program"})


def embedded(archive: Archive, package: Package, ctx: Context) -> Iterator[Item]:
    """The documents embedded in an Office package; nothing at all where it has none."""
    names = [entry.filename for entry in archive.files() if FOLDER in entry.filename]
    if not names:
        return
    ctx = nested.opened(ctx)
    of_charts = set(_chart_data(archive, package))
    for name in names:
        if name.casefold() in of_charts:
            continue
        shown = posixpath.basename(name)
        try:
            data = nested.held(archive.pieces(name))
        except Unread as error:
            yield nested.unread(error, f"embedded {shown}")
            continue
        yield from read_object(data, shown, ctx)


def read_object(data: io.BytesIO, name: str, ctx: Context) -> Iterator[Item]:
    """The document that an embedded object is or holds; nothing where it is none."""
    data, name = unwrapped(data, name)
    quiet = name.endswith(".bin")  # an object of a program that nobody may know
    for item in nested.read_nested(data, name, ctx, f"embedded {name}", _is_document):
        if not (quiet and isinstance(item, Notice) and item.code == "part_unread"):
            yield item


def unwrapped(data: io.BytesIO, name: str) -> tuple[io.BytesIO, str]:
    """The file inside an object, and its name; the object itself where it holds none."""
    if data.read(len(MAGIC)) != MAGIC:
        return data, name
    try:
        container = CompoundFile(data)
        if ("Package",) in container:
            return io.BytesIO(container.read("Package")), name
        if ("CONTENTS",) in container:
            found = container.read("CONTENTS")
            return (io.BytesIO(found), name) if found.startswith(b"%PDF") else (data, name)
        if ("\x01Ole10Native",) in container:
            return native(container.read("\x01Ole10Native"), data, name)
    except Unread:
        pass
    return data, name


def native(raw: bytes, data: io.BytesIO, name: str) -> tuple[io.BytesIO, str]:
    """The file in an object's native data: two names, a path, and the content."""
    try:
        at = 6
        label, at = _text(raw, at)
        _, at = _text(raw, at)
        (length,) = struct.unpack_from("<I", raw, at + 4)
        at += 8 + length
        (size,) = struct.unpack_from("<I", raw, at)
    except (struct.error, ValueError):
        return data, name
    content = raw[at + 4 : at + 4 + size]
    return (io.BytesIO(content), label or name) if content else (data, name)


def _text(raw: bytes, at: int) -> tuple[str, int]:
    end = raw.index(0, at, at + NAME_BYTES)
    try:
        found = raw[at:end].decode("utf-8")
    except UnicodeDecodeError:
        found = raw[at:end].decode("cp1252", "replace")
    return found.replace("\\", "/").rpartition("/")[2], end + 1


def _is_document(found: Format) -> bool:
    return found.name not in _PASSED_OVER


def _chart_data(archive: Archive, package: Package) -> Iterator[str]:
    """The embedded workbooks that charts draw their figures from."""
    for name in archive.names:
        if "/charts/" in name and name.endswith(".xml"):
            try:
                related = package.relationships(name)
            except Unread:
                continue
            for target in package.targets(related, "package", "oleObject"):
                yield target.casefold()
