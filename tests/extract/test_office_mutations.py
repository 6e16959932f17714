"""Damaged office files: whatever byte is wrong, a reader ends with blocks or with Unread."""

from __future__ import annotations

import importlib
import io
import random
import zipfile
from collections.abc import Callable

import pytest

from helpers.errors import Unread
from helpers.extract.blocks import Block, Context
from tests.extract.office_files import docx, odf, paragraph, pptx, relations, shape, styles, xlsx

Damage = Callable[[bytes, random.Random], bytes]

MUTATIONS = 300  # seeded ones per format and way of damage

_TABLE = (
    "<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>"
    "</table:table-row></table:table>"
)
FILES = {
    "docx": docx(
        paragraph("제목", "Heading1")
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:sym w:char='F0FE'/></w:r></w:p>"
        + f"<w:tbl><w:tr><w:tc>{paragraph('x')}</w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
        + "<w:altChunk r:id='rId1'/><w:p><w:r><mc:AlternateContent><mc:Choice/><mc:Fallback/>"
        + "</mc:AlternateContent></w:r></w:p>",
        {"word/a.html": "<p>imported</p>", "word/h.xml": "<a/>"},
        aFChunk__rId1="a.html",
        header__rId2="h.xml",
    ),
    "xlsx": xlsx(
        '<row r="1"><c s="0"><v>45356.5</v></c><c s="1"><v>0.5</v></c><c t="b"><v>1</v></c></row>'
        '<row r="9"><c t="inlineStr"><is><t>행_x000D_</t></is></c></row>',
        {"xl/styles.xml": styles("yyyy-mm-dd h:mm", "0.0%")},
        after="<headerFooter><oddHeader>&amp;Lx</oddHeader></headerFooter>",
    ),
    "pptx": pptx(
        shape("제목", "title") + shape("본문"),
        extra={
            "ppt/slides/_rels/slide0.xml.rels": relations(notesSlide="../n.xml"),
            "ppt/n.xml": "<a/>",
        },
    ),
    "odf": odf(
        '<office:text><text:h text:outline-level="1">제목</text:h><text:p>a<text:s text:c="3"/>b'
        "<text:note><text:note-body><text:p>n</text:p></text:note-body></text:note></text:p>"
        f"{_TABLE}</office:text>",
        {"styles.xml": "<a/>", "meta.xml": "<a/>"},
    ),
}


def outcome(module: str, data: bytes) -> str:
    """How reading ended; anything but blocks and Unread is an error of this test."""
    reader = importlib.import_module(f"helpers.extract.{module}")
    try:
        for item in reader.read(io.BytesIO(data), Context("file", len(data))):
            if isinstance(item, Block):
                item.text.encode("utf-8")
                assert item.location is not None
    except Unread as error:
        return error.code
    return "read"


def damaged(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if not found:
            break
        at = chance.randrange(len(found))
        kind = chance.randrange(4)
        if kind == 0:
            found[at] = chance.randrange(256)
        elif kind == 1:
            found[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del found[at : at + chance.randint(1, 8)]
        else:
            found[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
    return bytes(found)


def repacked(data: bytes, chance: random.Random) -> bytes:
    """The container is sound, one of its parts is damaged."""
    source = zipfile.ZipFile(io.BytesIO(data))
    names = source.namelist()
    victim = chance.choice([name for name in names if source.getinfo(name).file_size > 8])
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        for name in names:
            content = source.read(name)
            container.writestr(name, damaged(content, chance) if name == victim else content)
    return target.getvalue()


def swapped(data: bytes, chance: random.Random) -> bytes:
    """Well-formed XML whose elements stand where they should not."""
    source = zipfile.ZipFile(io.BytesIO(data))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        for name in source.namelist():
            content = source.read(name).decode("utf-8")
            words = sorted({word.split()[0].strip("/>") for word in content.split("<")[2:] if word})
            if len(words) > 1:
                one, other = chance.choice(words), chance.choice(words)
                for before, after in ((one, "\0"), (other, one), ("\0", other)):
                    for opening in ("<", "</"):
                        for end in (" ", ">", "/>"):
                            content = content.replace(
                                f"{opening}{before}{end}", f"{opening}{after}{end}"
                            )
            container.writestr(name, content)
    return target.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("damage", [damaged, repacked, swapped])
@pytest.mark.parametrize("module", FILES)
def test_damage_gives_blocks_or_a_typed_error(module: str, damage: Damage) -> None:
    chance = random.Random(f"{module} {damage}".partition(" at ")[0])
    outcomes = {outcome(module, damage(FILES[module], chance)) for _ in range(MUTATIONS)}
    assert outcomes <= {"read", "corrupt", "encrypted", "unsupported"}  # so small, without a limit
    assert "read" in outcomes


@pytest.mark.parametrize("module", FILES)
def test_every_cut_gives_a_typed_error(module: str) -> None:
    data = FILES[module]
    outcomes = {outcome(module, data[:length]) for length in range(0, len(data), 7)}
    assert outcomes <= {"corrupt", "empty", "limit_reached"}


@pytest.mark.parametrize("module", FILES)
def test_undamaged_files_are_read(module: str) -> None:
    assert outcome(module, FILES[module]) == "read"
