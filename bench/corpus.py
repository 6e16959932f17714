"""Corpora made from a seed: trilingual prose with a Zipf vocabulary, and trees of small files.

The words are invented (English and Korean) or drawn from the bundled Thai list; what matters to
an index is how often words recur, not what they mean.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

from helpers.language import thai

SEED = 2_026
VOCABULARY = 20_000  # distinct words per language
SENTENCES = 6_000  # distinct sentences per language; paragraphs draw from them
SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ze ran ter con pro ing est al"
PARTICLES = ("이", "가", "은", "는", "을", "를", "에서", "으로", "의", "에", "과", "까지")
ENDINGS = ("합니다.", "했습니다.", "입니다.", "됩니다.")


class Prose:
    """An endless supply of paragraphs in three languages, the same for the same seed."""

    def __init__(self, seed: int = SEED) -> None:
        self.chance = random.Random(seed)
        self.sentences = {
            "en": [self._english(words) for words in self._drawn(self._english_words(), 9, 22)],
            "ko": [self._korean(words) for words in self._drawn(self._korean_words(), 5, 14)],
            "th": ["".join(words) + " " for words in self._drawn(self._thai_words(), 8, 24)],
        }

    def paragraph(self, language: str) -> str:
        """About 600 characters."""
        count = {"en": 5, "ko": 10, "th": 8}[language]
        return "".join(self.chance.choices(self.sentences[language], k=count)).strip()

    def document(self, size: int) -> str:
        """At least `size` bytes in one language, with a heading every few paragraphs."""
        language = self.chance.choice(("en", "ko", "th"))
        parts: list[str] = []
        total = 0
        while total < size:
            if len(parts) % 9 == 0:
                parts.append(f"## {self.chance.choice(self.sentences[language])[:60].strip()}")
            parts.append(self.paragraph(language))
            total += len(parts[-1].encode())
        return "\n\n".join(parts) + "\n"

    def questions(self, count: int) -> list[str]:
        """Queries of 3 to 10 words as a person might type them: cut from sentences."""
        found = []
        for _ in range(count):
            language = self.chance.choice(("en", "ko", "th"))
            sentence = self.chance.choice(self.sentences[language])
            if language == "th":
                start = self.chance.randrange(max(1, len(sentence) // 2))
                found.append(sentence[start : start + 30].strip())
            else:
                words = sentence.rstrip(". ").split()
                length = min(len(words), self.chance.randint(3, 10))
                start = self.chance.randint(0, len(words) - length)
                found.append(" ".join(words[start : start + length]))
        return found

    def _drawn(self, words: list[str], least: int, most: int) -> list[list[str]]:
        weights = [1 / rank for rank in range(1, len(words) + 1)]
        totals = list(itertools.accumulate(weights))
        return [
            self.chance.choices(words, cum_weights=totals, k=self.chance.randint(least, most))
            for _ in range(SENTENCES)
        ]

    def _english_words(self) -> list[str]:
        return self._distinct(
            lambda: "".join(self.chance.choices(SYLLABLES.split(), k=self._length()))
        )

    def _korean_words(self) -> list[str]:
        return self._distinct(
            lambda: "".join(chr(self.chance.randrange(0xAC00, 0xD7A4, 7)) for _ in range(2))
        )

    def _thai_words(self) -> list[str]:
        listed = thai.WORD_LIST.read_text(encoding="utf-8").split()
        words = sorted(word for word in listed if 2 <= len(word) <= 12)
        self.chance.shuffle(words)
        return words[:VOCABULARY]

    def _distinct(self, make: Callable[[], str]) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < VOCABULARY:
            found[make()] = None
        return list(found)

    def _length(self) -> int:
        return self.chance.choice((1, 2, 2, 3, 3, 4))

    def _english(self, words: list[str]) -> str:
        return " ".join(words).capitalize() + ". "

    def _korean(self, words: list[str]) -> str:
        marked = [word + self.chance.choice(PARTICLES) for word in words[:-1]]
        return " ".join([*marked, words[-1] + self.chance.choice(ENDINGS)]) + " "


def text_corpus(folder: Path, total_bytes: int, file_bytes: int) -> int:
    """Markdown files of about `file_bytes` each; returns the bytes written."""
    prose, written, number = Prose(), 0, 0
    while written < total_bytes:
        path = folder / f"{number // 500:03}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        written += path.write_bytes(prose.document(file_bytes).encode())
        number += 1
    return written


def large_text(path: Path, total_bytes: int) -> int:
    """One text file; returns the bytes written."""
    prose, written = Prose(), 0
    with path.open("wb") as file:
        while written < total_bytes:
            written += file.write((prose.document(256_000) + "\n").encode())
    return written


def small_files(folder: Path, count: int, per_folder: int = 100) -> None:
    """`count` files of one line each, in folders of `per_folder`."""
    for number in range(count):
        place = folder / f"{number // (per_folder * 100):02}" / f"{number // per_folder:05}"
        if number % per_folder == 0:
            place.mkdir(parents=True)
        (place / f"note {number:06}.md").write_text(f"Note {number} about pump {number % 97}.\n")
