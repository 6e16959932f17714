from __future__ import annotations

import os
import unicodedata

import pytest

from helpers.source import names

NFC = "cafétéria 한글.md"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ""),
        (b"sub/a.pdf", "sub/a.pdf"),
        ("보고서/ข่าว.md".encode(), "보고서/ข่าว.md"),
        (NFD.encode(), NFC),
        (b"caf\xe9.txt", "caf\\xe9.txt"),
        (b"\xb1\xb8\xc1\xb6.txt", "\\xb1\\xb8\\xc1\\xb6.txt"),
        (b"two\nlines.md", "two\\x0alines.md"),
        (b"\x1b[31mred.md", "\\x1b[31mred.md"),
        ("exe\u202etxt.md".encode(), "exe\\u202etxt.md"),
        ("c1\x9b.md".encode(), "c1\\x9b.md"),
        (b"back\\slash.md", "back\\slash.md"),
    ],
)
def test_display_is_one_safe_nfc_line(raw: bytes, shown: str) -> None:
    assert names.display(raw) == shown


def test_display_never_depends_on_the_encoding_of_the_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names, "ENCODING", "euc-kr")
    assert names.display("한글.md".encode()) == "한글.md"


def test_absolute_path_opens_the_very_file_whatever_its_bytes(tmp_path: os.PathLike[str]) -> None:
    raw = b"odd\xff\xe9/\xe0\xb8\x81.md"
    path = names.absolute(tmp_path, raw)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write("here")
    assert os.listdir(os.path.join(os.fsencode(tmp_path), b"odd\xff\xe9")) == [b"\xe0\xb8\x81.md"]


def test_join_and_split_undo_each_other() -> None:
    assert names.join(b"", b"a") == b"a" and names.split(b"a") == (b"", b"a")
    assert names.join(b"x/y", b"a") == b"x/y/a" and names.split(b"x/y/a") == (b"x/y", b"a")


def test_is_beneath_knows_sibling_prefixes() -> None:
    assert names.is_beneath(b"a/b", b"a") and names.is_beneath(b"a", b"a")
    assert names.is_beneath(b"anything", b"")
    assert not names.is_beneath(b"ab", b"a") and not names.is_beneath(b"a-b/c", b"a")


def test_twins_are_names_that_differ_in_normalisation_alone() -> None:
    found = names.twins([NFC.encode(), b"plain.md", NFD.encode(), "다른.md".encode()])
    assert found == [tuple(sorted((NFC.encode(), NFD.encode())))]
