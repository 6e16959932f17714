"""What is cut out before the parser changes nothing of what is read."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

import pytest

from helpers.extract import archive, odf, odf_body, pptx
from helpers.extract.blocks import Block
from helpers.extract.pptx import _LOOKS as SLIDES
from helpers.extract.trimmed import trimmed
from tests.extract.office_files import Read, blocks
from tests.extract.office_files import odf as odf_file
from tests.extract.office_files import pptx as presentation

RUNS = (
    '<a:r><a:rPr lang="ko-KR" sz="1800"/><a:t>{n} 가 나</a:t></a:r>',
    '<a:r><a:rPr><a:solidFill><a:srgbClr val="FF0000"/></a:solidFill><a:latin typeface="x"/>'
    "</a:rPr><a:t>{n} b</a:t></a:r>",
    "<a:r><a:rPr>\n<a:ln/> </a:rPr><a:t>{n} c</a:t></a:r>",
    "<a:r><a:rPr><a:rPr/></a:rPr><a:t>{n} d</a:t></a:r>",
    '<a:r><a:rPr title="a > b"/><a:t>{n} e</a:t></a:r>',
    "<a:r><a:rPr><a:t>{n} odd</a:t></a:rPr></a:r><a:br/>",
    "<a:r><a:rPr><a:br/></a:rPr><a:t>{n} f</a:t></a:r>",
    '<a:fld type="slidenum"><a:rPr/><a:pPr/><a:t>{n} g</a:t></a:fld>',
)
RARE = ("<!-- <a:rPr/> -->", "<a:r><a:t><![CDATA[{n} <a:rPr/> x]]></a:t></a:r>", "<?x <a:rPr/>?>")


def slide(chance: random.Random, rare: float) -> str:
    shapes = []
    for number in range(chance.randrange(1, 9)):
        runs = [chance.choice(RARE if chance.random() < rare else RUNS) for _ in range(5)]
        lines = "".join(f'<a:p><a:pPr marL="2"><a:buNone/></a:pPr>{run}</a:p>' for run in runs)
        shapes.append(
            "<p:sp><p:nvSpPr><p:cNvSpPr><a:spLocks/></p:cNvSpPr><p:nvPr><p:ph/></p:nvPr></p:nvSpPr>"
            "<p:spPr><a:xfrm><a:off/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>"
            f"{lines}</p:txBody></p:sp>".replace("{n}", str(number))
        )
    return "".join(shapes)


def slides(chance: random.Random, rare: float) -> bytes:
    return presentation(*(slide(chance, rare) for _ in range(4)))


SPANS = (
    "{n} 가 나",
    '<text:span text:style-name="T1"> {n}  b </text:span>',
    '<text:span text:style-name="T1">{n}<text:span text:style-name="T2">c</text:span></text:span>',
    '<text:span text:style-name="T1"/><text:span>{n} d</text:span>',
    '<text:span text:style-name="a > b">{n} e</text:span>',
    '<text:span text:style-name="T1">{n} &amp;<text:s text:c="2"/>f</text:span>',
    '<text:note><text:note-body><text:p>n <text:span text:style-name="x">{n}</text:span></text:p>'
    "</text:note-body></text:note>",
    "<draw:frame><draw:text-box><text:p>box {n}</text:p></draw:text-box></draw:frame>",
)
RARE_SPANS = (
    '<!-- <text:span text:style-name="T1">x</text:span> -->',
    '<![CDATA[{n} <text:span text:style-name="T1">x</text:span>]]>',
)


def text(chance: random.Random, rare: float) -> bytes:
    parts = []
    for number in range(40):
        runs = [chance.choice(RARE_SPANS if chance.random() < rare else SPANS) for _ in range(4)]
        said = f"<text:p>{''.join(runs)}</text:p>".replace("{n}", str(number))
        cells = f"<table:table-cell>{said}</table:table-cell>" * 2
        row = f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
        parts.append(row if number % 5 == 0 else said)
    look = '<style:text-properties text:display="none"/>'
    hidden = f'<style:style style:name="T2">{look}</style:style>'
    body = f"<office:text>{''.join(parts)}</office:text>"
    return odf_file(body, automatic=chance.choice(("", hidden)))


@pytest.mark.parametrize("rare", [0.0, 0.05, 0.5])
@pytest.mark.parametrize(
    ("module", "read", "make"), [(pptx, pptx.read, slides), (odf_body, odf.read, text)]
)
def test_what_is_read_is_what_the_parser_finds_in_the_whole(
    module: object,
    read: Read,
    make: Callable[[random.Random, float], bytes],
    rare: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def as_they_are(
        pieces: Iterable[bytes], looks: re.Pattern[bytes], *wanted: object
    ) -> Iterable[bytes]:
        return pieces

    for seed in range(30):
        data = make(random.Random(seed), rare)
        monkeypatch.setattr(archive, "PIECE_BYTES", 150 * (seed + 1))
        found = blocks(read, data)
        with monkeypatch.context() as changed:
            changed.setattr(module, "trimmed", as_they_are)
            assert found == blocks(read, data)
        assert any(isinstance(block, Block) for block in found)


def test_elements_without_text_are_cut_out() -> None:
    piece = (
        b'<a:r><a:rPr sz="18"><a:latin typeface="x"/></a:rPr><a:t>text</a:t></a:r>'
        b'<p:spPr><a:xfrm><a:off x="1"/></a:xfrm></p:spPr><a:endParaRPr/>'
    )
    assert list(trimmed([piece], SLIDES)) == [b"<a:r><a:t>text</a:t></a:r>"]


def test_what_does_not_stand_whole_in_a_piece_stays() -> None:
    text = b'<a:r><a:rPr sz="18"><a:latin/></a:rPr><a:t>text</a:t></a:r>'
    for at in range(len(text)):
        left = b"".join(trimmed([text[:at], text[at:]], SLIDES))
        assert left.count(b"<a:rPr") == left.count(b"</a:rPr>") <= 1
        assert left.endswith(b"<a:t>text</a:t></a:r>")


@pytest.mark.parametrize("mark", [b"<!-- ", b"<![CDATA["])
def test_behind_a_comment_or_marked_section_nothing_is_cut_out(mark: bytes) -> None:
    text = mark + b"<a:rPr/>"
    for at in range(len(text)):
        assert b"".join(trimmed([b"<a:rPr/>", text[:at], text[at:]], SLIDES)) == text
