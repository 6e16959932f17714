"""Lines and envelopes, without a process."""

from __future__ import annotations

import pytest

from helpers.stdio import Fault, Lines, parse


def _lines(*pieces: bytes, limit: int = 100) -> list[bytes | Fault]:
    lines = Lines(limit)
    found = [line for piece in pieces for line in lines.feed(piece)]
    return found + list(lines.end())


def test_lines_are_cut_wherever_the_pipe_cuts_them() -> None:
    data = b'{"a":1}\r\n\n{"b":"\xe0\xb8\x81"}\n{"c":3}'
    whole = [b'{"a":1}\r', b'{"b":"\xe0\xb8\x81"}', b'{"c":3}']
    for cut in range(len(data)):
        assert _lines(data[:cut], data[cut:]) == whole


def test_a_long_line_is_one_fault_and_the_next_line_is_served() -> None:
    (fault, line) = _lines(*[b"x" * 60] * 3, b"\nnext\n")
    assert isinstance(fault, Fault)
    assert "180 > 100 bytes" in fault.message
    assert line == b"next"


def test_a_line_of_exactly_the_limit_is_served() -> None:
    assert _lines(b"x" * 100 + b"\n") == [b"x" * 100]


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a"),
        (b'{"jsonrpc":"2.0","id":3,"method":[]}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"x","params":5}', 3),
        (b'{"jsonrpc":"2.0","id":false,"method":"x"}', None),
        (b"{", None),
    ],
)
def test_a_fault_carries_the_id_where_there_is_one(line: bytes, identity: int | str) -> None:
    fault = parse(line)
    assert isinstance(fault, Fault)
    assert fault.id == identity


def test_requests_notifications_and_responses_are_messages() -> None:
    for line in (
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}',
    ):
        assert isinstance(parse(line), dict)


def test_a_hundred_levels_are_a_message_and_one_more_is_a_fault() -> None:
    def nested(levels: int) -> bytes:
        inner = b'{"a":' * (levels - 1) + b"1" + b"}" * (levels - 1)
        return b'{"jsonrpc":"2.0","method":"x","params":' + inner + b"}"

    assert isinstance(parse(nested(100)), dict)
    fault = parse(nested(101))
    assert isinstance(fault, Fault)
    assert "100 levels" in fault.message


def test_many_flat_values_are_no_nesting() -> None:
    flat = b"[" + b",".join([b"{}"] * 1000) + b"]"
    line = b'{"jsonrpc":"2.0","method":"x","params":{"many":' + flat + b"}}"
    assert isinstance(parse(line), dict)


def test_an_answer_is_never_answered_however_malformed() -> None:
    for line in (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'{"jsonrpc":"1.0","id":[],"result":5}',
    ):
        assert isinstance(parse(line), dict)
