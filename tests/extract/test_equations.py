"""Equations told as LaTeX: the Hangul script, OMML and MathML."""

from __future__ import annotations

import random
import time

import pytest

from helpers.extract.equations import latex_of_hwp
from helpers.limits import EQUATION_CHARS, EQUATION_DEPTH

HWP = [
    ("{a+b} over {c}", r"\frac{a + b}{c}"),
    ("1 over 2", r"\frac{1}{2}"),
    ("x^2 over y", r"\frac{x^{2}}{y}"),
    ("a ATOP b", r"\genfrac{}{}{0pt}{}{a}{b}"),
    ("n choose k + binom n k", r"\binom{n}{k} + \binom{n}{k}"),
    ("sqrt {x^2+1}", r"\sqrt{x^{2} + 1}"),
    ("root 3 of {x}", r"\sqrt[3]{x}"),
    ("x sub i sup 2", r"x_{i}^{2}"),
    ("A LSUB 2", r"{}_{2}A"),
    ("SUM _{i=1} ^{n} a_i", r"\sum_{i = 1}^{n} a_{i}"),
    ("int _0 ^{inf} e^{-x}", r"\int_{0}^{\infty} e^{- x}"),
    ("int from 0 to 3 x", r"\int_{0}^{3} x"),
    ("oint prod COPROD", r"\oint \prod \coprod"),
    ("lim _{x -> 0} {sin x} over x", r"\lim_{x \rightarrow 0} \frac{\sin x}{x}"),
    ("LEFT ( {a} over {b} RIGHT )", r"\left(\frac{a}{b} \right)"),
    ("LEFT { a RIGHT .", r"\left\{a \right."),
    ("LEFT | x RIGHT |", r"\left| x \right|"),
    ("matrix {a & b # c & d}", r"\begin{matrix} a & b \\ c & d \end{matrix}"),
    ("PMATRIX{1&0#0&1}", r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}"),
    ("bmatrix{a} dmatrix{b}", r"\begin{bmatrix} a \end{bmatrix}\begin{vmatrix} b \end{vmatrix}"),
    ("matrix{ccol{a#b}ccol{c#d}}", r"\begin{matrix} a & c \\ b & d \end{matrix}"),
    ("cases {x & if y # z}", r"\begin{cases} x & \text{if} y \\ z \end{cases}"),
    ("eqalign{a &= b # c &= d}", r"\begin{aligned} a & = b \\ c & = d \end{aligned}"),
    ("pile {a # b}", r"\begin{matrix} a \\ b \end{matrix}"),
    ("bar x vec {AB} hat theta dot x", r"\bar{x}\overrightarrow{AB}\hat{\theta}\dot{x}"),
    ("rm H_2 O it x", r"\mathrm{H}_{2} \mathrm{O} x"),
    ("bold{F}=m bold a", r"\mathbf{F} = m \mathbf{a}"),
    ("alpha Gamma GAMMA ALPHA", r"\alpha \Gamma \Gamma A"),
    ("larrow LARROW <-> ->", r"\leftarrow \Leftarrow \leftrightarrow \rightarrow"),
    ("a TIMES b != c <= d +- e", r"a \times b \neq c \leq d \pm e"),
    ('"속도" = {거리} over {시간}', r"\text{속도} = \frac{\text{거리}}{\text{시간}}"),
    ("x~y`z", r"x~y\,z"),
    ("REL rarrow {a} {b}", r"\xrightarrow[b]{a}"),
    ("overbrace {a+b} {n}", r"\overbrace{a + b}^{n}"),
    ("∠ABC ≤ 90°", r"\angle ABC \leq 90{^\circ}"),
    ("a # b", r"a \\ b"),
    ("unknown word", "unknown word"),
    ("100%", r"100\%"),
    ("", ""),
]


@pytest.mark.parametrize(("script", "latex"), HWP)
def test_a_hangul_script_becomes_latex(script: str, latex: str) -> None:
    assert latex_of_hwp(script) == latex


@pytest.mark.parametrize(
    "script", ["{{{", "}}}", "over", "^", "a over", "LEFT", "sqrt", "matrix{&"]
)
def test_an_unfinished_script_ends_without_an_error(script: str) -> None:
    assert isinstance(latex_of_hwp(script), str)


def test_a_script_nested_as_deep_as_allowed_is_read_and_a_deeper_one_keeps_its_letters() -> None:
    assert latex_of_hwp("sqrt " * EQUATION_DEPTH + "x").count(r"\sqrt{") == EQUATION_DEPTH
    assert "Tiefe" in latex_of_hwp("{sqrt " * 3_000 + "Tiefe")
    assert latex_of_hwp("{" * 1_000 + "x" + "}" * 1_000 + " y") == "x y"


@pytest.mark.parametrize(
    "piece", ["{", "bar ", "x^", "a over ", "matrix{", "LEFT ( ", "root 3 of ", '"', "α", "a b "]
)
def test_a_script_of_a_megabyte_takes_less_than_a_second(piece: str) -> None:
    began = time.process_time()
    latex_of_hwp(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 1


def test_what_is_longer_than_an_equation_may_be_is_kept_as_it_is() -> None:
    assert latex_of_hwp("a " * EQUATION_CHARS + "{1} over {2}").endswith("{1} over {2}")


def test_no_mutation_of_a_script_raises() -> None:
    chosen = random.Random(4)
    scripts = [script for script, _ in HWP]
    for _ in range(2_000):
        words = " ".join(chosen.sample(scripts, 3)).split(" ")
        chosen.shuffle(words)
        latex_of_hwp(" ".join(words))
