"""Secrets never reach a log line, and quiet means quiet."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from helpers import config, log

LIMIT_S = 1.0  # seconds that any pattern may take over 50 KB of adversarial text


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer abcdefghijklmnop123456",
        'api_key="sk-aaaaaaaaaaaaaaaaaaaaaaaa"',
        "token: zzzzzzzzzzzzzzzz",
        '{"api_key": "zzzzzzzzzzzzzzzz"}',
        "leaked ghp_0123456789abcdefghij here",
        "got token zzzzzzzz01234567",
        "secret='zzzzzzzz-zzzz/zzzz'",
    ],
)
def test_what_looks_like_a_key_is_blotted_out(line: str) -> None:
    shown = log.redact(line)
    assert "***" in shown
    assert not any(part in shown for part in ("abcdefgh", "aaaaaaaa", "zzzzzzzz", "01234567"))


def test_a_known_secret_is_blotted_out_whatever_its_shape() -> None:
    log.redact_value("öffentlich nicht")
    assert log.redact("say öffentlich nicht twice") == "say *** twice"


def test_plain_prose_stays() -> None:
    text = "The token of appreciation, a secret recipe and the password policy."
    assert log.redact(text) == text


@pytest.mark.parametrize(
    "path",
    [
        "secret/documents-2024/report.pdf",
        "/home/me/password/archive-of-letters.txt",
        "token/0123456789abcdef.json",
        "my-secret-documents-2024.docx",
        "Password policy-for-employees-2024.docx",
    ],
)
def test_paths_with_such_a_word_stay(path: str) -> None:
    assert log.redact(f"could not read {path}: denied") == f"could not read {path}: denied"


@pytest.mark.parametrize("piece", ["token", "a", "api_key  ", "bearer ", 'token="', "sk-", " "])
def test_redaction_is_linear_on_adversarial_text(piece: str) -> None:
    text = "token" + piece * (50_000 // len(piece))
    begun = time.process_time()
    log.redact(text)
    assert time.process_time() - begun < LIMIT_S


@pytest.fixture
def fresh() -> Iterator[None]:
    """A logger that was never set up before."""
    top = logging.getLogger("ragdoc")
    before = (top.handlers[:], top.level, top.propagate, dict(log._wanted))
    top.handlers[:] = []
    yield
    top.handlers[:], top.level, top.propagate = before[:3]
    log._wanted.clear()
    log._wanted.update(before[3])


def test_a_key_of_the_environment_is_blotted_out_of_every_line(
    fresh: None, capsys: pytest.CaptureFixture[str]
) -> None:
    config.resolve(None, {"EXAMPLE_API_KEY": "eightch8", "EXAMPLE_NAME": "harmless"})
    log.set_up()
    log.get_logger("sync").info("sent %s to %s", "eightch8", "harmless")
    assert "sent *** to harmless" in capsys.readouterr().err


def test_quiet_leaves_warnings_only(fresh: None, capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up(quiet=True)
    log.get_logger("sync").info("a note")
    log.get_logger("sync").warning("a warning")
    said = capsys.readouterr().err
    assert "a note" not in said and "WARNING a warning" in said
