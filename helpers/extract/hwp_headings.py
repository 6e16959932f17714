"""Headings that a Hangul document only writes: chapters, articles of law, Roman numerals.

Public offices number by hand ("제2장 보칙", "제12조(위임)", "Ⅰ. 추진 배경") and leave the outline
of the program alone, so that without these a place in such a document has no name.
Promises: a sentence that merely begins so, and a line of a table of contents, are no headings;
an article stays the paragraph it is and lends its name to the place.
Does not: guess from type sizes, or touch documents that use outlines or heading styles.
"""

from __future__ import annotations

import re

FIRST_LETTERS = frozenset("제ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫ")
ARTICLE_LEVEL = 5  # below every part, chapter and section

_PART = re.compile(r"제 ?\d{1,3} ?([편장절관])(?:의 ?\d{1,2})?(?:[ .:]+[^\n]{1,50})?")
_LEVELS = {"편": 1, "장": 2, "절": 3, "관": 4}
_ROMAN = re.compile(r"[Ⅰ-Ⅻ]{1,3}(?: ?[.．:·] ?| \| | {1,9})[^\s|][^\n|]{1,48}")
_ARTICLE = re.compile(r"(제 ?\d{1,4} ?조(?:의 ?\d{1,3})?) ?(\([^()\n]{1,60}\))(?=[\s①]|\Z)")
_SENTENCE = re.compile(r"(?:다|음|함|것|요)\.\s{0,9}\Z")
_CONTENTS = re.compile(r"(?:[.·…‥ㆍ]{2}|\t| {3}) {0,9}\d{1,4}\s{0,3}\Z")


def implied(text: str) -> tuple[str, int]:
    """The heading that a paragraph or table row is or begins with, and its level; ("", 0)
    where there is none. An article has ARTICLE_LEVEL and more text behind its name."""
    found = _ARTICLE.match(text)
    if found is not None:
        return found[1] + found[2], ARTICLE_LEVEL
    if _CONTENTS.search(text) or _SENTENCE.search(text):
        return "", 0
    part = _PART.fullmatch(text)
    if part is not None:
        return text, _LEVELS[part[1]]
    return (text.replace(" | ", " "), 1) if _ROMAN.fullmatch(text) else ("", 0)
