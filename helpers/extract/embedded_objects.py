"""What is embedded in a binary Word document, workbook or PowerPoint presentation.

Sources: [MS-DOC] 2.4.9 (ObjectPool), [MS-PPT] 2.10 (external objects), [MS-OLEDS].
Promises: equations of Equation Editor and MathType come as LaTeX, for the place where they
stand; documents are read behind the text, as "embedded worksheet 1". Does not: read other
programs' objects.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator

from helpers.errors import Unread
from helpers.extract import nested
from helpers.extract.blocks import Context, Item
from helpers.extract.compound import MAGIC, STORAGE, CompoundFile, Entry
from helpers.extract.compound_part import taken_out
from helpers.extract.embedded import read_object
from helpers.extract.equations import latex_of_mtef, marked
from helpers.extract.opc import Package, Relationship
from helpers.limits import NESTED_BYTES

POOL = "ObjectPool"
EQUATION = "Equation Native"
_EQUATION_BYTES = 256 * 1024
_OBJECT_BYTES = 4 * 1024 * 1024  # of an object that may be an equation, its picture included
_NAMES = (  # a stream that tells what an object is, and how such a one is named
    ("Workbook", "worksheet {}.xls"), ("Book", "worksheet {}.xls"),
    ("WordDocument", "document {}.doc"), ("PowerPoint Document", "presentation {}.ppt"),
    ("Package", "document {}"), ("CONTENTS", "document {}.bin"),
    ("\x01Ole10Native", "file {}.bin"),
)  # fmt: skip


def pool_equation(container: CompoundFile, number: int) -> str:
    """What the equation of a number shows; "" where that is none."""
    path = (POOL, f"_{number}", EQUATION)
    if path not in container:
        return ""
    try:
        return marked(latex_of_mtef(container.open(*path).read(_EQUATION_BYTES)))
    except Unread:
        return ""


def pool_documents(container: CompoundFile, ctx: Context) -> Iterator[Item]:
    """The documents embedded in a Word document."""
    return _documents(container, [e for e in container.below((POOL,)) if e.kind == STORAGE], ctx)


def book_documents(container: CompoundFile, ctx: Context) -> Iterator[Item]:
    """The documents embedded in a workbook."""
    kept = [e for e in container.below() if e.kind == STORAGE and e.path[-1][:3] == "MBD"]
    return _documents(container, kept, ctx)


def _documents(container: CompoundFile, storages: list[Entry], ctx: Context) -> Iterator[Item]:
    if storages:
        ctx = nested.opened(ctx)
    for number, entry in enumerate(storages, 1):
        name = _name_of(container, entry.path, number)
        if name:
            try:
                data = taken_out(container, entry.path)
            except Unread as error:
                yield nested.unread(error, f"embedded {name}")
                continue
            yield from read_object(data, name, ctx)


def inflated(raw: bytes) -> bytes:
    """The compound file that a presentation keeps of an object, packed or not; b"" if broken."""
    if raw.startswith(MAGIC):
        return raw
    try:
        return zlib.decompressobj().decompress(raw[4:], NESTED_BYTES)
    except zlib.error:
        return b""


def object_equation(raw: bytes) -> str:
    """What an object of a presentation shows if it is an equation."""
    try:
        container = CompoundFile(io.BytesIO(raw))
        if (EQUATION,) in container:
            return marked(latex_of_mtef(container.open(EQUATION).read(_EQUATION_BYTES)))
    except Unread:
        pass
    return ""


def part_equation(package: Package, arrow: Relationship | None) -> str:
    """What the object in a part of an Office package shows if it is an equation."""
    if arrow is None or arrow.target not in package.archive:
        return ""
    found = bytearray()
    try:
        for piece in package.follow(arrow.target):
            found += piece
            if len(found) > _OBJECT_BYTES:
                return ""
    except Unread as error:
        if error.code == "limit_reached":
            raise
        return ""
    return object_equation(bytes(found))


def object_document(raw: bytes, number: int, ctx: Context) -> Iterator[Item]:
    """The document that is an object of a presentation; `ctx` comes from `nested.opened`."""
    try:
        name = _name_of(CompoundFile(io.BytesIO(raw)), (), number)
    except Unread:
        return
    if name:
        yield from read_object(io.BytesIO(raw), name, ctx)


def _name_of(container: CompoundFile, path: tuple[str, ...], number: int) -> str:
    for stream, name in _NAMES:
        if (*path, stream) in container:
            if stream == "CONTENTS" and container.open(*path, stream).read(4) == b"%PDF":
                name = "document {}.pdf"
            return name.format(number)
    return ""
