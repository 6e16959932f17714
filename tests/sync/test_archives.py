"""The switch --archives through a whole sync: what is read, and read again when it is turned."""

from __future__ import annotations

import pytest

from tests.extract.mail_files import PLAIN, attached, mixed, part
from tests.extract.office_files import packed
from tests.sync.stage import Stage

ZIP = packed({"2024/notes.txt": "words inside the archive\n"})
MAIL = mixed(part("words of the mail", PLAIN), attached(ZIP, "files.zip"))


@pytest.fixture
def filled(stage: Stage) -> Stage:
    stage.write("a.zip", ZIP)
    stage.write("b.eml", MAIL)
    stage.write("c.txt", "words of a text\n")
    return stage


def test_archives_are_left_alone_until_they_are_asked_for(filled: Stage) -> None:
    job = filled.sync()
    assert [(f["path"], f["code"]) for f in job["failures"]] == [("a.zip", "unsupported")]
    assert "words of the mail" in filled.texts()["b.eml"]
    assert "inside the archive" not in filled.texts()["b.eml"]


def test_turning_the_switch_reads_archives_and_mail_again_and_nothing_else(filled: Stage) -> None:
    filled.sync()
    turned = filled.sync("--archives", "on")
    assert (turned["updated"], turned["unchanged"], turned["failed"]) == (2, 1, 0)
    assert "inside the archive" in filled.texts()["a.zip"]
    assert "inside the archive" in filled.texts()["b.eml"]
    assert filled.sync("--archives", "on")["unchanged"] == 3
    back = filled.sync()
    assert (back["unchanged"], back["failed"]) == (1, 1)
    assert "a.zip" not in filled.texts() and "inside the archive" not in filled.texts()["b.eml"]
    assert filled.problems() == []
