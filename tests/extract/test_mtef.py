"""Equations of Equation Editor 3 and MathType as LaTeX."""

from __future__ import annotations

import random
import struct

import pytest

from helpers.extract.equations import latex_of_mtef
from tests.extract.mtef_files import NULL, line, sign, signs, stream, template

MATRIX = b"\x05" + bytes((1, 1, 1, 2, 2, 0, 0)) + b"".join(line(sign(x)) for x in "abcd") + b"\0"


@pytest.mark.parametrize(
    ("parts", "latex"),
    [
        (
            (signs("x="), template(14, 0, line(signs("a+b")), line(sign("2")))),
            r"x = \frac{a + b}{2}",
        ),
        ((sign("x"), template(15, 0, NULL, line(sign("2")))), "x^{2}"),
        ((sign("y"), template(15, 1, line(sign("1")), NULL)), "y_{1}"),
        ((sign("z"), template(15, 2, line(sign("i")), line(sign("2")))), "z_{i}^{2}"),
        ((template(13, 0, line(sign("x"))),), r"\sqrt{x}"),
        ((template(13, 1, line(sign("x")), line(sign("3"))),), r"\sqrt[3]{x}"),
        (
            (template(29, 1, line(sign("x")), line(signs("i=1")), line(sign("n")), sign("∑", 6)),),
            r"\sum_{i = 1}^{n} x",
        ),
        ((template(1, 0, line(sign("x")), signs("()")),), r"\left(x \right)"),
        ((template(2, 1, line(sign("x")), sign("{")),), r"\left\{x \right."),
        ((signs("sin", 2), sign("θ", 4)), r"\sin \theta"),
        ((sign("x", 3, 2), b"\x06\x09\0", sign("y")), r"\hat{x} y"),
        (
            (signs("유량", 1), sign("="), MATRIX),
            r"\text{유량} = \begin{matrix} a & b \\ c & d \end{matrix}",
        ),
    ],
)
def test_equation_editor_3(parts: tuple[bytes, ...], latex: str) -> None:
    assert latex_of_mtef(stream(*parts)) == latex


def test_mathtype_with_its_preferences() -> None:
    head = struct.pack("<HIHI16x", 28, 0x20000, 0, 0) + b"\x05\x01\0\x05\0DSMT5\0\0"
    looks = b"\x13Win\0\x11\x05Times New Roman\0\x12\0\x02\x21\x2f\x27\xf0\x01\x2f\x02\x01\0\0"
    letters = b"".join(b"\x02\0\x83" + struct.pack("<H", ord(x)) for x in "Em")
    times = b"\x02\x04\x86\xd7\x00\xb4"
    fraction = b"\x03\0\x0b\0\0" + (b"\x01\0" + letters + b"\0") * 2 + b"\0"
    raised = b"\x03\0\x1c\0\0\x01\x01\x01\0" + b"\x02\0\x882\0" + b"\0\0"
    raw = head + looks + b"\x0a\x01\0" + letters + raised + times + fraction + b"\0\0"
    assert latex_of_mtef(raw) == r"Em^{2} \times \frac{Em}{Em}"


def test_what_is_no_equation_gives_nothing() -> None:
    assert latex_of_mtef(b"") == latex_of_mtef(b"x" * 100) == ""


def test_an_equation_that_breaks_off_gives_what_stood_before() -> None:
    raw = stream(signs("x="), template(14, 0, line(signs("a+b")), line(sign("2"))))
    assert latex_of_mtef(raw[:-12]).startswith(r"x = \frac{a")


def test_damage_ends() -> None:
    chance = random.Random(9)
    whole = stream(signs("x="), template(14, 0, line(sign("a")), line(MATRIX)), sign("y", 3, 2))
    for _ in range(3_000):
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            raw[chance.randrange(28, len(raw))] = chance.choice((3, 4, 5, chance.randrange(256)))
        assert isinstance(latex_of_mtef(bytes(raw)), str)
    assert isinstance(latex_of_mtef(whole[:33] + b"\x04\0\0" * 5_000), str)
