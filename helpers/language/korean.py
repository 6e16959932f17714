"""Korean: noun stems without particles, and bigrams for compounds.

Promises: an ending is taken off only where two syllables remain, so 서울은, 서울에서 and 서울
meet; the bigrams of a longer stem make the nouns inside a compound findable (도로 in
도로포장공사); a noun of one syllable is found with its particle on (물을 → 물).

Does not: analyse morphemes or conjugation. The endings stand in data/korean_endings.txt.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

ENDINGS = Path(__file__).with_name("data") / "korean_endings.txt"
STEM_SYLLABLES = 2  # syllables that always remain


def stem(word: str) -> str:
    """`word` without the longest known ending that leaves two syllables."""
    endings, longest = _endings()
    size = len(word)
    for cut in range(max(STEM_SYLLABLES, size - longest), size):
        if word[cut:] in endings:
            return word[:cut]
    return word


def unit(word: str) -> tuple[str, list[str]]:
    """The stem of a folded Hangul word, and the further terms that make it findable."""
    endings, _ = _endings()
    base = stem(word)
    more: list[str] = []
    if len(base) > STEM_SYLLABLES:
        more.extend([base[i : i + 2] for i in range(len(base) - 1)])
    if word[1:] in endings:
        more.append(word[0])
    return base, more


@lru_cache(maxsize=1)
def _endings() -> tuple[frozenset[str], int]:
    lines = ENDINGS.read_text(encoding="utf-8").splitlines()
    found = frozenset(" ".join(line for line in lines if not line.startswith("#")).split())
    return found, max(map(len, found))
