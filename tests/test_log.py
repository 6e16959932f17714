from __future__ import annotations

import time

import pytest

from helpers import log

LIMIT_S = 1.0  # seconds that any pattern may take over 50 KB of adversarial text


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer abcdefghijklmnop123456",
        'api_key="sk-aaaaaaaaaaaaaaaaaaaaaaaa"',
        "token: zzzzzzzzzzzzzzzz",
        "leaked ghp_0123456789abcdefghij here",
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


@pytest.mark.parametrize("piece", ["token", "a", "api_key  ", "bearer ", 'token="', "sk-", " "])
def test_redaction_is_linear_on_adversarial_text(piece: str) -> None:
    text = "token" + piece * (50_000 // len(piece))
    begun = time.process_time()
    log.redact(text)
    assert time.process_time() - begun < LIMIT_S
