"""Equations told as LaTeX: the Hangul script, OMML and MathML."""

from __future__ import annotations

import random
import time

import pytest

from helpers.extract.equations import MathmlBuilder, latex_of_hwp, read_equation
from helpers.extract.equations.omml import MATH
from helpers.extract.markup import Attributes, Scanner
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
    ("f(x)= logx+sinx", r"f(x) = \log x + \sin x"),
    ("rm 2H_2 O = 2H_2", r"2\mathrm{H}_{2} \mathrm{O} = 2\mathrm{H}_{2}"),
    ("10a^3 over b^2", r"\frac{10a^{3}}{b^{2}}"),
    ("(2a^2 over b)^3", r"(\frac{2a^{2}}{b})^{3}"),
    ("(A UNION B)^C^ = C", r"(A\bigcup B)^{C} = C"),
    ("int from 0 to 3 ^3sqrt{x^2 +1}dx", r"\int_{0}^{3} \sqrt[3]{x^{2} + 1}dx"),
    ("lim_N->inf 1 over N", r"\lim_{N \rightarrow \infty} \frac{1}{N}"),
    ("sum_n=1^N LEFT(a RIGHT)", r"\sum_{n = 1}^{N} \left(a \right)"),
    ("x^2+y^2=e^-x^2", r"x^{2} + y^{2} = e^{- x^{2}}"),
    ("x^(a+b)c a_i,j", r"x^{(a + b)c} a_{i,j}"),
    ("A REL <-> {+2} {-5} B", r"A \underset{- 5}{\overset{+ 2}{\leftrightarrow}} B"),
    ("{COLOR {255,0,255} {3}} over {scale 70 4}", r"\frac{3}{4}"),
    ("LADDER {2&12#3&}", r"\begin{matrix} 2 & 12 \\ 3 & \end{matrix}"),
    ("LONGDIV {6}{42}{252}", "6 42 252"),
    ("not = not in", r"\neq \notin"),
    ("수열~a", r"\text{수열} ~a"),
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


# --- Office Math ----------------------------------------------------------------------------


def omml(body: str) -> str:
    """The LaTeX of an m:oMath that holds `body`; {a} in it stands for a run with that text."""
    found: list[str] = []
    scanner: Scanner

    def begin(attributes: Attributes) -> None:
        read_equation(scanner, found.append)

    scanner = Scanner("x", {f"{MATH[0]} oMath": begin})
    body = body.replace("{", "<m:r><m:t>").replace("}", "</m:t></m:r>")
    space = f'xmlns:m="{MATH[0]}" xmlns:w="urn:w"'
    scanner.run([f"<x {space}><m:oMath>{body}</m:oMath></x>".encode()])
    return found[0].removeprefix("[math: ").removesuffix("]")


def e(*bodies: str) -> str:
    return "".join(f"<m:e>{body}</m:e>" for body in bodies)


def of(name: str, inner: str, **properties: str) -> str:
    told = "".join(f'<m:{key} m:val="{value}"/>' for key, value in properties.items())
    told += "<m:ctrlPr><w:rPr/></m:ctrlPr>"
    return f"<m:{name}><m:{name}Pr>{told}</m:{name}Pr>{inner}</m:{name}>"


NUM = "<m:num>{a+b}</m:num><m:den>{c}</m:den>"
SUB, SUP = "<m:sub>{i=1}</m:sub>", "<m:sup>{n}</m:sup>"
ROWS = f"<m:mr>{e('{a}', '{b}')}</m:mr><m:mr>{e('{c}', '')}</m:mr>"
OMML = [
    (of("f", NUM), r"\frac{a + b}{c}"),
    (of("f", NUM, type="skw"), r"\frac{a + b}{c}"),
    (of("f", NUM, type="noBar"), r"\genfrac{}{}{0pt}{}{a + b}{c}"),
    (of("d", e(of("f", NUM, type="noBar"))), r"\binom{a + b}{c}"),
    (of("rad", f"<m:deg/>{e('{x}')}", degHide="1"), r"\sqrt{x}"),
    (of("rad", f"<m:deg>{{3}}</m:deg>{e('{x}')}"), r"\sqrt[3]{x}"),
    (of("sSup", e("{x}") + "<m:sup>{2}</m:sup>"), "x^{2}"),
    (of("sSup", e("{x+y}") + "<m:sup>{2}</m:sup>"), "{x + y}^{2}"),
    (of("sSup", e(of("sSub", e("{x}") + SUB)) + SUP), "{x_{i = 1}}^{n}"),
    (of("sSubSup", e("{x}") + SUB + SUP), "x_{i = 1}^{n}"),
    (of("sPre", SUB + SUP + e("{C}")), "{}_{i = 1}^{n}C"),
    (of("nary", SUB + SUP + e("{x}"), chr="∑", limLoc="undOvr"), r"\sum_{i = 1}^{n} x"),
    (of("nary", SUB + SUP + e("{x}"), supHide="1"), r"\int_{i = 1} x"),
    (of("d", e("{a}", "{b}")), r"\left(a \middle| b \right)"),
    (of("d", e("{a}"), begChr="[", endChr="⟩"), r"\left[a \right\rangle"),
    (of("d", e("{a}"), begChr="|", endChr=""), r"\left| a \right."),
    (of("m", ROWS), r"\begin{matrix} a & b \\ c & \end{matrix}"),
    (of("d", e(of("m", ROWS))), r"\begin{pmatrix} a & b \\ c & \end{pmatrix}"),
    (
        of("d", e(of("eqArr", e("{a&amp;=1}", "{b}"))), begChr="&#123;", endChr=""),
        r"\begin{cases} a = 1 \\ b \end{cases}",
    ),
    (of("eqArr", e("{a}", "{b}")), r"\begin{aligned} a \\ b \end{aligned}"),
    (of("func", "<m:fName>{sin}</m:fName>" + e("{x}")), r"\sin x"),
    (of("func", "<m:fName>{erf}</m:fName>" + e("{x}")), r"\operatorname{erf}x"),
    (of("limLow", e("{lim}") + "<m:lim>{x→0}</m:lim>"), r"\lim_{x \rightarrow 0}"),
    (of("limUpp", e("{=}") + "<m:lim>{def}</m:lim>"), r"\overset{def}{=}"),
    (of("acc", e("{x}")), r"\widehat{x}"),
    (of("acc", e("{AB}"), chr="\u20d7"), r"\overrightarrow{AB}"),
    (of("bar", e("{x}"), pos="top"), r"\overline{x}"),
    (of("bar", e("{x}")), r"\underline{x}"),
    (of("borderBox", e("{x}")), r"\boxed{x}"),
    (of("box", e("{x}")), "x"),
    (of("groupChr", e("{x}")), r"\underbrace{x}"),
    (of("limLow", e(of("groupChr", e("{x}"))) + "<m:lim>{n}</m:lim>"), r"\underbrace{x}_{n}"),
    (of("groupChr", e("{k}"), chr="→", vertJc="bot"), r"\xrightarrow{k}"),
    (of("phant", e("{x}"), show="0"), r"\phantom{x}"),
    (of("r", "<m:t>R</m:t>", scr="double-struck"), r"\mathbb{R}"),
    (of("r", "<m:t>v</m:t>", sty="b"), r"\mathbf{v}"),
    (of("r", "<m:t>if x</m:t>", nor="1"), r"\text{if x}"),
    ("{ℝ𝐱𝛼≤∞}", r"\mathbb{R}\mathbf{x}\alpha \leq \infty"),
    ("{a%}<w:ins>{b}</w:ins><w:del>{c}</w:del><unknown>{d}</unknown>", r"a\%bd"),
    ("<w:r><w:t>말 x</w:t></w:r>", r"\text{말 x}"),
]


@pytest.mark.parametrize(("body", "latex"), OMML)
def test_office_math_becomes_latex(body: str, latex: str) -> None:
    assert omml(body) == latex


def test_office_math_without_end_is_cut_and_deep_nesting_is_read() -> None:
    assert omml("{x}" * EQUATION_CHARS).endswith("…")
    assert len(omml("{x}" * EQUATION_CHARS)) <= EQUATION_CHARS
    deep = "<m:rad><m:e>" * EQUATION_DEPTH + "{x}" + "</m:e></m:rad>" * EQUATION_DEPTH
    assert omml(deep).count(r"\sqrt{") == EQUATION_DEPTH


def test_office_math_in_any_disorder_does_not_raise() -> None:
    chosen = random.Random(7)
    names = ["f", "rad", "sSup", "nary", "d", "m", "mr", "eqArr", "func", "limLow", "acc", "r"]
    names += ["t", "e", "num", "den", "sub", "fPr", "chr", "groupChr"]
    for _ in range(500):
        text = ""
        for name in chosen.choices(names, k=8):
            text = f"<m:{name}>{text}{chosen.choice(['', '{x}', text])}</m:{name}>"
        omml(text)


# --- MathML ---------------------------------------------------------------------------------


def mathml(body: str) -> str:
    built = MathmlBuilder()
    scanner: Scanner

    def begin(attributes: Attributes) -> None:
        scanner.divert(built.start, built.end, built.characters, lambda: None)

    scanner = Scanner("x", {"http://www.w3.org/1998/Math/MathML math": begin})
    scanner.run([f'<math xmlns="http://www.w3.org/1998/Math/MathML">{body}</math>'.encode()])
    return built.latex()


def row(body: str) -> str:
    return f"<mrow>{body}</mrow>"


X, Y, TWO = "<mi>x</mi>", "<mi>y</mi>", "<mn>2</mn>"
SUM = f"<mi>a</mi><mo>+</mo>{TWO}"
TABLE = f"<mtable><mtr><mtd>{X}</mtd><mtd>{Y}</mtd></mtr><mtr><mtd>{TWO}</mtd><mtd/></mtr></mtable>"
MATHML = [
    (f"<mfrac>{row(SUM)}{Y}</mfrac>", r"\frac{a + 2}{y}"),
    (f"<mo>(</mo><mfrac linethickness='0'>{X}{Y}</mfrac><mo>)</mo>", r"\binom{x}{y}"),
    (f"<msqrt>{SUM}</msqrt>", r"\sqrt{a + 2}"),
    (f"<mroot>{X}<mn>3</mn></mroot>", r"\sqrt[3]{x}"),
    (f"<msup>{X}{TWO}</msup><msub>{X}{Y}</msub>", "x^{2} x_{y}"),
    (f"<msup>{row(SUM)}{TWO}</msup>", "{a + 2}^{2}"),
    (f"<msup>{row(f'<mo>(</mo>{X}<mo>)</mo>')}{TWO}</msup>", "(x)^{2}"),
    ("<msup><mi>f</mi><mo>′</mo></msup>", "f'"),
    (f"<munderover><mo>∑</mo>{X}{Y}</munderover>", r"\sum_{x}^{y}"),
    (f"<munder><mi>lim</mi>{row(f'{X}<mo>→</mo><mn>0</mn>')}</munder>", r"\lim_{x \rightarrow 0}"),
    (f"<mover accent='true'>{X}<mo>^</mo></mover>", r"\hat{x}"),
    (f"<mover>{row(SUM)}<mo>¯</mo></mover>", r"\overline{a + 2}"),
    (f"<mover><mover>{X}<mo>⏞</mo></mover>{TWO}</mover>", r"\overbrace{x}^{2}"),
    (f"<munder>{X}{Y}</munder>", r"\underset{y}{x}"),
    (f"<mo>[</mo>{TABLE}<mo>]</mo>", r"\begin{bmatrix} x & y \\ 2 & \end{bmatrix}"),
    (f"<mo>{{</mo>{TABLE}", r"\begin{cases} x & y \\ 2 & \end{cases}"),
    (f"<mfenced>{X}{Y}</mfenced>", r"\left(x,y \right)"),
    (
        f"<mmultiscripts>{X}{TWO}<none/><mprescripts/><none/>{Y}</mmultiscripts>",
        "{}^{y}x_{2}",
    ),
    (f"<menclose notation='box'>{X}</menclose>", r"\boxed{x}"),
    ("<mi>sin</mi><mo>&#x2061;</mo><mi mathvariant='bold'>v</mi>", r"\sin \mathbf{v}"),
    ("<mtext>조건 a</mtext><mspace width='1em'/><mi>압력</mi>", r"\text{조건 a} \quad \text{압력}"),
    (
        f"<semantics>{X}<annotation encoding='StarMath 5.0'>x</annotation></semantics>",
        "x",
    ),
    (
        f"<semantics>{X}<annotation encoding='application/x-tex'>{{\\displaystyle x^2}}"
        "</annotation></semantics>",
        "x^2",
    ),
    (f"<maction selection='2'>{X}{Y}</maction>", "y"),
    (f"<mlongdiv>{TWO}<msrow><mn>12</mn></msrow></mlongdiv>", "2 12"),
    ("<what>ever</what>", "ever"),
]


@pytest.mark.parametrize(("body", "latex"), MATHML)
def test_mathml_becomes_latex(body: str, latex: str) -> None:
    assert mathml(body) == latex


def test_mathml_without_end_is_cut() -> None:
    assert mathml("<mi>x</mi>" * EQUATION_CHARS).endswith("…")
