"""Binary office files made by code: a document, a workbook, a presentation, a Hangul document.

Each maker gives a compound file whose streams have about `stream_bytes` bytes (before they are
deflated, where they are); the writers are those of the readers' tests. What the files are made of
was counted in files that LibreOffice 7.4 wrote from the same texts (400 paragraphs, 1,500 rows,
60 slides); each maker tells the figures. Thumbnails, pictures and the Data stream, which the
readers do not read, are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from bench.corpus import Prose
from bench.office_parts import LANGUAGES
from tests.extract import doc_files, hangul_files, ppt_files, xls_files
from tests.extract.compound_files import packed

_RECORD_BYTES = 8_224  # of a workbook's record
_ROWS = 65_000
_BLOCK_ROWS = 32  # whose records stand in front of their cells
_PARAGRAPH = bytes.fromhex("032400612400412400")  # where it is aligned, how its lines break
_CELL = bytes.fromhex("496601000000") + _PARAGRAPH + bytes.fromhex("13a40000")
_LANGUAGE_RUN = bytes.fromhex("820881")


def doc(stream_bytes: int) -> bytes:
    """Paragraphs of prose, a table every so often.

    Counted: 540 KB of main stream for 505 KB of text; 60 pages of paragraphs with 6 to 23 each,
    every paragraph with its own modifiers (style and three of one byte, in cells 19 bytes more);
    267 runs of characters for 400 paragraphs and 160 cells, where the language is not Western.
    """
    prose, paragraphs, total, number = Prose(), list[doc_files.Paragraph](), 0, 0
    while total < stream_bytes:
        number += 1
        language = LANGUAGES[number % 3]
        text = prose.paragraph(language)
        runs = [] if text.isascii() else [(0, len(text), _LANGUAGE_RUN)]
        paragraphs.append(doc_files.Paragraph(text, raw=_PARAGRAPH, runs=runs))
        total += 2 * len(text)
        if number % 20 == 0:
            cells = prose.chance.choices(prose.sentences[language], k=8)
            rows = doc_files.rows([cell[:30] for cell in cells[:4]], cells[4:])
            for cell in rows:
                cell.raw += _CELL
            paragraphs += rows
            total += sum(2 * len(cell) for cell in cells)
    return doc_files.doc(doc_files.Word({"body": paragraphs}))


def xls(stream_bytes: int) -> bytes:
    """Rows of two texts, two short numbers, a price and a share; three fifths are texts.

    Counted for 1,500 such rows: a record of 20 bytes for each row, in front of every 32 rows;
    3,000 references to shared texts, 1,500 records of two short numbers, 2,170 long numbers.
    """
    prose, texts, total = Prose(), list[str](), 0
    while total < stream_bytes * 0.6:
        texts.append(prose.chance.choice(prose.sentences[LANGUAGES[len(texts) % 3]]).strip())
        total += 3 + 2 * len(texts[-1])
    rows, size = list[bytes](), 0
    while size < stream_bytes * 0.4 and len(rows) < _ROWS:
        rows.append(_row(prose, len(rows), len(texts)))
        size += len(rows[-1]) + 20
    looks = [xls_files.look(code) for code in (0, 14, 3, 10)]
    stream = xls_files.workbook({"자료": _blocks_of(rows)}, [*looks, *_strings(texts)])
    return packed({"Workbook": stream})


def _blocks_of(rows: list[bytes]) -> bytes:
    found = []
    for first in range(0, len(rows), _BLOCK_ROWS):
        block = rows[first : first + _BLOCK_ROWS]
        for row in range(first, first + len(block)):
            facts = struct.pack("<8H", row, 0, 6, 255, 0, 0, 0x140, 15)
            found.append(xls_files.record(0x208, facts))
        found += block
    return b"".join(found)


def _row(prose: Prose, row: int, texts: int) -> bytes:
    return (
        xls_files.shared(row, 0, row % texts)
        + xls_files.shared(row, 1, row * 7 % texts)
        + xls_files.packed_row(row, 2, row, 45_000 + row % 700)
        + xls_files.number(row, 4, float(prose.chance.randrange(10_000_000)), 2)
        + xls_files.number(row, 5, prose.chance.random(), 3)
    )


def _strings(texts: list[str]) -> list[bytes]:
    """The table of shared strings in records that end between two of them."""
    records, body = list[bytes](), struct.pack("<II", len(texts), len(texts))
    for text in map(xls_files.text8, texts):
        if len(body) + len(text) > _RECORD_BYTES:
            records.append(body)
            body = b""
        body += text
    kinds = [0xFC] + [xls_files.CONTINUE] * len(records)
    return [
        xls_files.record(kind, body) for kind, body in zip(kinds, [*records, body], strict=True)
    ]


def ppt(stream_bytes: int) -> bytes:
    """Slides with a title and six lines, a notes page each, without notes.

    Counted for 60 such slides: 2,820 bytes a slide, 1,100 of them text; four shapes, the group's
    own among them; 108 bytes of properties in a shape with text; for each paragraph 56 bytes of
    styles and 28 of languages; rulers of 82 and 86; tags of 346; the colours of 32; and a notes
    page of 492 with the slide's image and an empty text.
    """
    prose, slides, total = Prose(), list[ppt_files.Slide](), 0
    while total < stream_bytes:
        sentences = prose.sentences[LANGUAGES[len(slides) % 3]]
        lines = [line.strip() for line in prose.chance.choices(sentences, k=6)]
        shapes = [_text_shape([lines[0][:50]], 82), _text_shape(lines, 86), _BACKGROUND]
        slides.append(ppt_files.Slide(shapes, notes=_NOTES_SHAPES, parts=_SLIDE_REST))
        total += sum(map(len, shapes)) + len(_SLIDE_REST) + 700
    return ppt_files.ppt(ppt_files.Deck(slides))


def _text_shape(lines: list[str], ruler: int) -> bytes:
    text = ppt_files.typed("\n".join(lines)) + ppt_files.record(0x0FA1, bytes(56 * len(lines)))
    text += ppt_files.record(0x0FAA, bytes(28 * len(lines))) + ppt_files.record(
        0x0FA6, bytes(ruler)
    )
    return ppt_files.container(0xF004, _SHAPE_FACTS, _properties(18), _PLACE, _box(text))


def _properties(count: int) -> bytes:
    """Numbers only: colours, edges, and how lines are drawn."""
    rows = b"".join(struct.pack("<HI", 0x0180 + row, 0x100100 + row) for row in range(count))
    return ppt_files.record(0xF00B, rows, count)


def _box(text: bytes) -> bytes:
    return ppt_files.container(0xF00D, text)


def _placeholder(kind: int) -> bytes:
    facts = ppt_files.record(0x0BC3, struct.pack("<iBBH", 0, kind, 0, 0))
    return ppt_files.container(0xF011, facts)


_SHAPE_FACTS = ppt_files.record(0xF00A, struct.pack("<II", 0x1001, 0xA00))
_PLACE = ppt_files.record(0xF010, struct.pack("<4h", 227, 227, 5896, 907))
_BACKGROUND = ppt_files.container(0xF004, _SHAPE_FACTS, _properties(6))
_TAG_NAME = ppt_files.record(0x0FBA, "___PPT10".encode("utf-16-le"))
_TAGS = ppt_files.container(0x138A, _TAG_NAME, ppt_files.record(0x138B, bytes(306)))
_SLIDE_REST = b"".join(
    (
        ppt_files.record(0x03F9, bytes(16)),
        ppt_files.margins(),
        ppt_files.record(0x07F0, bytes(32), 1),
        ppt_files.container(0x1388, _TAGS),
    )
)
_NOTES_SHAPES = (
    ppt_files.container(
        0xF004, _SHAPE_FACTS, _properties(4), _PLACE, _placeholder(ppt_files.IMAGE)
    ),
    ppt_files.container(
        0xF004,
        _SHAPE_FACTS,
        _properties(10),
        _PLACE,
        _placeholder(12),
        _box(ppt_files.record(0x0F9F, struct.pack("<I", ppt_files.NOTES_TEXT))),
    ),
    ppt_files.container(0xF004, _SHAPE_FACTS, _properties(8)),
)


def hwp(stream_bytes: int) -> bytes:
    """Paragraphs of prose, a table every so often, deflated."""
    prose, paragraphs, total, number = Prose(), list[hangul_files.Tree](), 0, 0
    while total < stream_bytes:
        number += 1
        text = prose.paragraph(LANGUAGES[number % 3])
        paragraphs.append(hangul_files.para(text))
        total += 2 * len(text) + 90
        if number % 20 == 0:
            cells = prose.chance.choices(prose.sentences[LANGUAGES[number % 3]], k=8)
            paragraphs.append(hangul_files.grid([cells[:4], cells[4:]]))
            total += sum(2 * len(cell) + 140 for cell in cells)
    return hangul_files.hwp(paragraphs)


MAKERS: dict[str, Callable[[int], bytes]] = {"doc": doc, "xls": xls, "ppt": ppt, "hwp": hwp}
