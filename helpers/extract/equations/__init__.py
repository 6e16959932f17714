"""Equations in the languages of office files, told as LaTeX: OMML, MathML, Hangul script, MTEF.

A reader writes what it gets into the sentence: `marked(latex)` gives "[math: LaTeX]".
"""

from __future__ import annotations

from helpers.extract.equations.hwp import latex_of_hwp
from helpers.extract.equations.mathml import MathmlBuilder
from helpers.extract.equations.mtef import latex_of_mtef
from helpers.extract.equations.omml import read_equation
from helpers.extract.equations.signs import marked

__all__ = ["MathmlBuilder", "latex_of_hwp", "latex_of_mtef", "marked", "read_equation"]
