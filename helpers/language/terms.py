"""The analyser: text in, terms out, the same way for the index and for a query.

Promises: a term holds only ASCII letters and digits or letters of other scripts, so terms joined
by spaces pass FTS5's `ascii` tokenizer unchanged and need no escaping inside quotes; what comes
out depends on the text, this code and the data files alone (`fingerprint` names all three), never
on what is installed; words of one or two letters are terms like any other.

Does not: drop stop words (how common a term is, is the search's business) or keep positions.

Words are memoised: real text repeats them, so most cost one dictionary look-up. Thai has no
words before it is cut; a run longer than MEMO_CHARS is analysed each time.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from helpers.language import english, korean, thai
from helpers.language.normalize import clean_query, fold, strip_marks

VERSION = 2
WEAK_WORDS = Path(__file__).with_name("data") / "weak_words.txt"
MEMO_WORDS = 200_000  # analysed words kept; the memo is emptied when it is full
MEMO_CHARS = 24  # letters of the longest word kept
JOINED_CHARS = 40  # letters of the longest compound that is also indexed in one piece
JOINED_PARTS = 3  # parts of a hyphenated compound that is also indexed in one piece
TERM_CHARS = 64  # letters of a term; the rest of a longer word is cut off
GRAM = 3  # letters of a fuzzy gram; syllables of Hangul and ideographs go by two
QUERY_WORDS = 200  # words of a query that are looked at

_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\ud7b0-\ud7fb"
_IDEOGRAPH = (
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963"
    "\u0981-\u0df3\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u109d\u135d-\u135f\u1712-\u17d3\u17dd"
    "\u1885-\u1abd\u3099\u309a"
)
# Text that is all ASCII is cut at twice the speed by the pattern that knows nothing else. The
# larger pattern takes 5 ms to compile, so it waits for the first text that needs it.
_TOKEN_ASCII = "[0-9a-z]+(?:[-_.,/':&+@#][0-9a-z]+)*"
_TOKEN = (
    f"{_TOKEN_ASCII}|[{thai.LETTERS}]+|[{_HANGUL}]+|[{_IDEOGRAPH}]+"
    f"|[^\\W_](?:[^\\W_{thai.LETTERS}{_HANGUL}{_IDEOGRAPH}]|[{_MARKS}])*"
)
_ACCENTED = "[\u00c0-\u024f\u1e00-\u1eff]"
_SEPARATORS = re.compile("[^0-9a-z]+")
_LETTERS_OR_DIGITS = re.compile("[a-z]+|[0-9]+")
_THOUSANDS = re.compile("[0-9]{1,3}(?:,[0-9]{3})+(?:\\.[0-9]+)?")
_CAMEL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED = re.compile('"([^"]+)"|\u201c([^\u201c\u201d]+)\u201d|\u300c([^\u300c\u300d]+)\u300d')
_GRAM_RUN = f"[{_HANGUL}{_IDEOGRAPH}]+|[^\\W_{_HANGUL}{_IDEOGRAPH}]+"
# Letters that have no decomposition, as they are typed without them.
_LATIN = {"\u00f8": "o", "\u0111": "d", "\u0142": "l", "\u0131": "i"}
_CONTRACTED = frozenset({"s", "d", "m", "re", "ve", "ll"})

Unit = tuple[str, list[str]]  # the main term of a word, and what else makes it findable


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query: as typed (folded), its main term, and its further terms.

    A weak word asks or joins ("what", "of"); it counts only in a query that has no other.
    """

    surface: str
    term: str
    more: tuple[str, ...] = ()
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query understood: folded text, distinct words in order, quoted phrases (folded)."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[str, ...] = ()

    @property
    def strong(self) -> tuple[Word, ...]:
        """The words that say what is wanted: all of them where all are weak."""
        return tuple(word for word in self.words if not word.weak) or self.words

    @property
    def is_question(self) -> bool:
        """Whether words that ask or join stand in it: its words are not all wanted at once."""
        return "?" in self.text or any(word.weak for word in self.words)

    @property
    def terms(self) -> tuple[str, ...]:
        """Every term of every word, distinct, in order."""
        found: dict[str, None] = {}
        for word in self.words:
            found[word.term] = None
            found.update(dict.fromkeys(word.more))
        return tuple(found)


class Analyser:
    """This analyser in the form the index keeps it: see helpers.store.postings.Analyser."""

    def __init__(self) -> None:
        self.fingerprint = fingerprint()

    def chunk(self, text: str, context: str, ocr: bool) -> tuple[str, str, str]:
        """Body terms, context terms, grams ("" unless `ocr`), each joined by spaces."""
        return (
            index_text(text),
            index_text(context),
            " ".join(grams(text)) if ocr else "",
        )

    def path(self, path: str) -> tuple[str, str]:
        """Terms and grams of a document's path, each joined by spaces."""
        spaced = _CAMEL.sub(" ", path)
        terms = dict.fromkeys([*index_terms(path), *index_terms(spaced)])
        return " ".join(terms), " ".join(dict.fromkeys(grams(path)))


def index_text(text: str) -> str:
    """The terms of `text` in order, joined by single spaces: what goes into the index."""
    plain = _unaccented(fold(text))
    return " ".join(map(_MEMO.__getitem__, _pattern(plain).findall(plain)))


def index_terms(text: str) -> list[str]:
    """The terms of `text` in order."""
    return index_text(text).split()


def query_terms(text: str) -> Query:
    """A query as distinct words with their terms, in the order typed.

    Any string will do: NUL, lone surrogates and search operators are just text.
    """
    folded = fold(clean_query(text))
    words: dict[str, Word] = {}
    weak = _weak_words()
    plain = _unaccented(folded)
    for token in _pattern(plain).findall(plain)[:QUERY_WORDS]:
        for term, more in _units(token):
            term = term[:TERM_CHARS]
            if term not in words:
                further = tuple(dict.fromkeys(m for m in more if m != term and m not in weak))
                surface = term if "\u0e00" <= token[0] <= "\u0e7f" else token
                words[term] = Word(surface, term, further, not weak.isdisjoint((surface, term)))
    phrases = (next(filter(None, groups), "") for groups in _QUOTED.findall(folded))
    kept = tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in phrases if phrase.strip()))
    return Query(" ".join(folded.split()), tuple(words.values()), kept)


def grams(text: str) -> list[str]:
    """Overlapping pieces of the words of `text`, without marks, for fuzzy matching.

    Three letters long, two for Hangul and ideographs; a shorter word as it is.
    """
    found: list[str] = []
    for run in _compiled(_GRAM_RUN).findall(strip_marks(fold(text))):
        size = 2 if _is_syllabic(run[0]) else GRAM
        if len(run) <= size:
            found.append(run)
        else:
            found.extend([run[i : i + size] for i in range(len(run) - size + 1)])
    return found


def tokens(folded: str) -> tuple[str, list[str]]:
    """A folded text as it is cut (as long, without accents), and its tokens in order: what is
    analysed in one piece."""
    plain = _unaccented(folded)
    return plain, _pattern(plain).findall(plain)


def token_terms(token: str) -> str:
    """The terms of one token, joined by spaces."""
    return _MEMO[token]


@lru_cache(maxsize=1)
def _weak_words() -> frozenset[str]:
    """The listed words, a Korean one without its endings; the index never asks for them."""
    lines = WEAK_WORDS.read_text(encoding="utf-8").splitlines()
    return frozenset(" ".join(line for line in lines if not line.startswith("#")).split())


def _unaccented(folded: str) -> str:
    """Accented Latin letters as the plain ones, one for one, so that offsets stay."""
    if folded.isascii() or not _compiled(_ACCENTED).search(folded):
        return folded
    return _compiled(_ACCENTED).sub(lambda found: _plain_letter(found[0]), folded)


@lru_cache(maxsize=1024)
def _plain_letter(letter: str) -> str:
    return _LATIN.get(letter) or unicodedata.normalize("NFD", letter)[0]


def _pattern(folded: str) -> re.Pattern[str]:
    return _compiled(_TOKEN_ASCII if folded.isascii() else _TOKEN)


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class _Memo(dict[str, str]):
    def __missing__(self, token: str) -> str:
        if "\u0e00" <= token[0] <= "\u0e7f":
            terms = thai.index_terms(token)
        else:
            terms = []
            for term, more in _units(token):
                terms.append(term[:TERM_CHARS])
                terms += more
        joined = " ".join(terms)
        if len(token) <= MEMO_CHARS:
            if len(self) >= MEMO_WORDS:
                self.clear()
            self[token] = joined
        return joined


def _units(token: str) -> list[Unit]:
    """The words of one token, each with its further terms."""
    first = token[0]
    if first.isascii() and token.isascii():
        return _ascii_units(token)
    if "\u0e00" <= first <= "\u0e7f":
        return thai.units(token)
    if _is_hangul(first):
        return [korean.unit(token)]
    if _is_syllabic(first):
        return _ideograph_units(token)
    return [(strip_marks(token) or token, [])]


def _ascii_units(token: str) -> list[Unit]:
    if token.isalpha():
        return [(english.stem(token), [])]
    if token.isdigit():
        return [(token, [])]
    if _THOUSANDS.fullmatch(token):
        whole, _, fraction = token.partition(".")
        return [(whole.replace(",", ""), [fraction] if fraction else [])]
    parts = _SEPARATORS.split(token)
    if len(parts) == 1:
        return [(token, _mixed_parts(token))]
    if "'" in token:
        if parts[-1] == "t":
            parts = [*parts[:-2], parts[-2] + "t"]
        elif parts[-1] in _CONTRACTED:
            parts = parts[:-1]
    units = [unit for part in parts for unit in _ascii_units(part)]
    joined = _joined(token, parts)
    if joined:
        units[-1][1].append(joined)
    return units


def _mixed_parts(token: str) -> list[str]:
    """The letters and the digits of AB1234 or covid19; nothing of a long hash."""
    parts = _LETTERS_OR_DIGITS.findall(token)
    if len(parts) > 4:
        return []
    return [english.stem(part) for part in parts if len(part) > 1 or part.isdigit()]


def _joined(token: str, parts: list[str]) -> str:
    """AB-1234 as ab1234, data-base as databas; "" where one piece would mean nothing."""
    whole = "".join(parts)
    if len(parts) < 2 or not 2 < len(whole) <= JOINED_CHARS:
        return ""
    if whole.isalpha():
        hyphened = any(sign in token for sign in "-_'")
        return english.stem(whole) if hyphened and len(parts) <= JOINED_PARTS else ""
    return whole


def _ideograph_units(run: str) -> list[Unit]:
    """Each pair of signs, with the signs themselves; there is no telling where words end."""
    if len(run) == 1:
        return [(run, [])]
    return [
        (run[i : i + 2], [run[i], run[i + 1]][: 1 + (i == len(run) - 2)])
        for i in range(len(run) - 1)
    ]


def _is_hangul(sign: str) -> bool:
    return (
        "\uac00" <= sign <= "\ud7fb"
        or "\u1100" <= sign <= "\u11ff"
        or "\u3131" <= sign <= "\u318e"
        or "\ua960" <= sign <= "\ua97c"
    )


def _is_syllabic(sign: str) -> bool:
    """Hangul, kana and ideographs: one sign says as much as several letters."""
    return (
        "\u2e80" <= sign <= "\u9fff"
        or sign >= "\U00020000"
        or _is_hangul(sign)
        or "\uf900" <= sign <= "\ufad9"
    )


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Of the code's version, the data files and Unicode's: equal ones give equal terms."""
    import hashlib

    digest = hashlib.sha256(f"{VERSION} {unicodedata.unidata_version}".encode())
    for path in (thai.WORD_LIST, korean.ENDINGS):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


_MEMO = _Memo()
