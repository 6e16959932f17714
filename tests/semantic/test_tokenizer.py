"""The instant tokenizer says what sentencepiece says."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece

from helpers.errors import ConfigError
from helpers.semantic import tokenizer, vocabulary
from helpers.semantic.e5_bundle import Bundle
from tests.semantic import tiny

TEXTS = 6_000  # texts compared
ALPHABETS = (
    "".join(chr(code) for code in range(0x0E01, 0x0E5C)),
    "가나다라마바사아자차카타파하각난달을를이가은는",
    "ᄀᄂ다ᅥᅩᆨᆫᆯ",
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789.,-/:%฿₩$()[]{}<>\"'",
    " \t\n\r\u00a0\u200b\u200c\u200d\u2028\u3000\ufeff\u2581",
    "éüñçøßœ\u0301\u0308\u0327ﬁ①½Ⅷ㌔＃Ａｱﾞ",
    "漢字日本語ひらがなカタカナ中文",
    "🙂👩\u200d👩\u200d👧🇹🇭\U00010348\U000e0001",
    "".join(chr(code) for code in range(0, 32)),
)


def made_up(count: int) -> Iterator[str]:
    """Texts over every alphabet, mixed, with a fixed seed."""
    chance = random.Random(7)
    for _ in range(count):
        parts = []
        for _ in range(chance.randrange(1, 8)):
            letters = chance.choice(ALPHABETS)
            parts.append("".join(chance.choices(letters, k=chance.randrange(1, 12))))
        yield chance.choice(("", " ", "  ")).join(parts)


def real(shared: Path, count: int) -> list[str]:
    """Pieces of the reference documents, of many lengths, with a fixed seed."""
    chance = random.Random(11)
    paths = sorted((shared / "retrieval").glob("*/docs/*"))
    texts: list[str] = []
    for path in chance.sample(paths, min(len(paths), 600)):
        whole = path.read_text(encoding="utf-8")
        for _ in range(count // 500):
            begin = chance.randrange(max(1, len(whole)))
            texts.append(whole[begin : begin + chance.choice((3, 12, 40, 200))])
    return texts[:count]


def compare(model_file: Path, table: Path, texts: list[str]) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
    ours = tokenizer.Tokenizer(table)
    for text in texts:
        assert ours.pieces(text) == theirs.encode(text), repr(text)


@pytest.fixture(scope="module")
def tiny_files(tmp_path_factory: pytest.TempPathFactory, packed: bytes) -> Path:
    """Both forms of the tiny vocabulary."""
    bundle = Bundle(packed)
    words = vocabulary.from_xlmr(bundle.pieces, bundle.scores, vocabulary.xlmr_charsmap())
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "m").write_bytes(words.sentencepiece())
    (folder / "t").write_bytes(words.table())
    return folder


def test_equal_to_sentencepiece_on_6000_texts_with_a_small_vocabulary(tiny_files: Path) -> None:
    compare(tiny_files / "m", tiny_files / "t", list(made_up(TEXTS)))


def test_equal_to_sentencepiece_on_5000_real_and_1000_made_up_texts(
    installed_model: Path, shared: Path
) -> None:
    texts = real(shared, 5_000) + list(made_up(1_000))
    assert len(texts) >= 5_500
    compare(installed_model / "sentencepiece.model", installed_model / "tokenizer.table", texts)


def test_single_letters_of_every_script_are_equal(installed_model: Path) -> None:
    signs = [chr(code) for code in range(0x20, 0x30000, 7) if not 0xD800 <= code < 0xE000]
    named = [sign + "x" for sign in signs if unicodedata.category(sign) != "Cn"]
    compare(installed_model / "sentencepiece.model", installed_model / "tokenizer.table", named)


def test_long_text_without_a_space_takes_no_longer_per_letter(tiny_files: Path) -> None:
    ours = tokenizer.Tokenizer(tiny_files / "t")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tiny_files / "m"))
    for text in ("ก" * 20_000, "abc" * 7_000, "\u0e33" * 5_000):
        assert ours.pieces(text) == theirs.encode(text)


@pytest.mark.parametrize("text", ["", " ", "\u2581", "\u200b", "\ud800", "a\udfffb"])
def test_odd_texts_are_taken(tiny_files: Path, text: str) -> None:
    ours = tokenizer.Tokenizer(tiny_files / "t")
    clean = text.encode("utf-8", "replace").decode()
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tiny_files / "m"))
    assert ours.pieces(text) == theirs.encode(clean)


def test_ids_are_counted_as_the_model_counts_them() -> None:
    assert tokenizer.model_ids([0, 1, 2, 3, 250_000]) == [3, 2, 3, 4, 250_001]


def test_a_table_that_is_cut_or_foreign_is_refused(tiny_files: Path, tmp_path: Path) -> None:
    whole = (tiny_files / "t").read_bytes()
    for data in (b"", whole[:20], whole[:-1], whole + b"\0", b"X" + whole[1:]):
        (tmp_path / "t").write_bytes(data)
        with pytest.raises(ConfigError):
            tokenizer.Tokenizer(tmp_path / "t")
    with pytest.raises(ConfigError, match="missing"):
        tokenizer.Tokenizer(tmp_path / "missing")


def test_a_changed_letter_in_a_table_shows_when_it_is_checked(
    tiny_files: Path, tmp_path: Path
) -> None:
    whole = bytearray((tiny_files / "t").read_bytes())
    assert tokenizer.Tokenizer(tiny_files / "t").intact()
    whole[-3] ^= 1
    (tmp_path / "t").write_bytes(whole)
    assert not tokenizer.Tokenizer(tmp_path / "t").intact()


def test_a_vocabulary_is_the_same_from_each_of_its_forms(
    tiny_files: Path, tmp_path: Path, packed: bytes
) -> None:
    (tmp_path / "x.model").write_bytes((tiny_files / "m").read_bytes())
    from_model = vocabulary.read(tmp_path / "x.model")
    folder = tiny.export(tmp_path / "export", packed, tokenizer="json")
    from_json = vocabulary.read(folder / "tokenizer.json")
    assert from_json.table() == from_model.table() == (tiny_files / "t").read_bytes()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.json", b"{}"),
        ("t.json", b"[1"),
        ("t.json", b'{"model": {"type": "BPE", "vocab": {}}}'),
        ("t.json", b'{"model": {"type": "Unigram", "vocab": [["a", 1.0]]}, "normalizer": null}'),
        ("t.model", b""),
        ("t.model", b"\x0a\xff\xff"),
        ("t.model", b"plain text, no model at all"),
    ],
)
def test_what_is_no_vocabulary_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError):
        vocabulary.read(tmp_path / name)


def test_of_two_cuts_with_one_score_the_same_is_chosen(tmp_path: Path) -> None:
    letters = [letter.encode() for letter in "abc"]
    pairs = [(one + two) for one in letters for two in letters]
    pieces = [b"<unk>", b"<s>", b"</s>", tokenizer.MARK.encode(), *letters, *pairs]
    scores = [0.0, 0.0, 0.0, *[-1.0] * (len(pieces) - 3)]
    words = vocabulary.Vocabulary(pieces, scores, vocabulary.xlmr_charsmap())
    (tmp_path / "m").write_bytes(words.sentencepiece())
    (tmp_path / "t").write_bytes(words.table())
    chance = random.Random(3)
    texts = ["".join(chance.choices("abc", k=size)) for size in range(1, 30)]
    compare(tmp_path / "m", tmp_path / "t", texts)


def test_what_was_looked_up_is_forgotten_in_time(
    tiny_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer, "CACHED_PIECES", 50)
    ours = tokenizer.Tokenizer(tiny_files / "t")
    first = ours.pieces("water")
    for text in made_up(200):
        ours.pieces(text)
    assert ours.pieces("water") == first and len(ours._known) < 100
