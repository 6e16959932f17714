"""Binary office files made by code: a document, a workbook, a presentation, a Hangul document.

Each maker gives a compound file whose streams have about `stream_bytes` bytes (before they are
deflated, where they are); the writers are those of the readers' tests.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from bench.corpus import Prose
from bench.office_files import LANGUAGES
from tests.extract import doc_files, hangul_files, ppt_files, xls_files
from tests.extract.compound_files import packed

_RECORD_BYTES = 8_224  # of a workbook's record
_ROWS = 65_000


def doc(stream_bytes: int) -> bytes:
    """Paragraphs of prose, a table every so often."""
    prose, paragraphs, total, number = Prose(), list[doc_files.Paragraph](), 0, 0
    while total < stream_bytes:
        number += 1
        text = prose.paragraph(LANGUAGES[number % 3])
        paragraphs.append(doc_files.Paragraph(text))
        total += 2 * len(text)
        if number % 20 == 0:
            cells = prose.chance.choices(prose.sentences[LANGUAGES[number % 3]], k=8)
            paragraphs += doc_files.rows([cell[:30] for cell in cells[:4]], cells[4:])
            total += sum(2 * len(cell) for cell in cells)
    return doc_files.doc(doc_files.Word({"body": paragraphs}))


def xls(stream_bytes: int) -> bytes:
    """Rows of two texts, two short numbers, a price and a share; three fifths are texts."""
    prose, texts, total = Prose(), list[str](), 0
    while total < stream_bytes * 0.6:
        texts.append(prose.chance.choice(prose.sentences[LANGUAGES[len(texts) % 3]]).strip())
        total += 3 + 2 * len(texts[-1])
    rows, size = list[bytes](), 0
    while size < stream_bytes * 0.4 and len(rows) < _ROWS:
        rows.append(_row(prose, len(rows), len(texts)))
        size += len(rows[-1])
    looks = [xls_files.look(code) for code in (0, 14, 3, 10)]
    stream = xls_files.workbook({"자료": b"".join(rows)}, [*looks, *_strings(texts)])
    return packed({"Workbook": stream})


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
    """Slides with a title and six lines."""
    prose, slides, total = Prose(), list[ppt_files.Slide](), 0
    while total < stream_bytes:
        sentences = prose.sentences[LANGUAGES[len(slides) % 3]]
        lines = [line.strip() for line in prose.chance.choices(sentences, k=6)]
        title = ppt_files.typed(lines[0][:50], ppt_files.TITLE)
        body = ppt_files.typed("\n".join(lines), ppt_files.BODY)
        slides.append(ppt_files.Slide([ppt_files.shape(title), ppt_files.shape(body)]))
        total += len(title) + len(body)
    return ppt_files.ppt(ppt_files.Deck(slides))


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
