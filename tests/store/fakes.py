"""A small analyser and chunk, so that the store is tested without the languages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from helpers.store.documents import Description, File, Stat


class Words:
    """Lower-cased words; grams are the words themselves."""

    def __init__(self, fingerprint: str = "words-1") -> None:
        self.fingerprint = fingerprint

    def chunk(self, text: str, context: str, ocr: bool) -> tuple[str, str, str]:
        return text.lower(), context.lower(), text.lower() if ocr else ""

    def path(self, path: str) -> tuple[str, str]:
        words = path.lower().replace("/", " ").replace(".", " ")
        return words, words


@dataclass
class FakeChunk:
    text: str
    context: str = "title"
    ocr: bool = False
    terms: str = field(init=False)
    context_terms: str = field(init=False)
    grams: str = field(init=False)
    location: dict[str, Any] = field(default_factory=lambda: {"kind": "line", "label": "line 1"})

    def __post_init__(self) -> None:
        self.terms, self.context_terms, self.grams = Words().chunk(
            self.text, self.context, self.ocr
        )


def named(path: str) -> File:
    folder, _, name = path.rpartition("/")
    return File(folder.encode(), name.encode(), path)


def described(fingerprint: str = "r1", **more: Any) -> Callable[[], Description]:
    return lambda: Description(Stat(1, 2, 3, 4), fingerprint, **more)
