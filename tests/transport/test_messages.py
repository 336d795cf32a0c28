"""Messages that would become far larger in memory than they are on the wire."""

import tracemalloc

import pytest

from junto.transport.messages import ErrorReply, parse_message

MANY = 400_000
HEAD = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":'
HOSTILE = {
    "lists": HEAD + b"[" + b"[]," * MANY + b"[]]}}",
    "objects": HEAD + b"[" + b"{}," * MANY + b"{}]}}",
    "nested lists": HEAD + b"[" * MANY + b"]" * MANY + b"}}",
    "nested objects": HEAD + b'{"a":' * MANY + b"1" + b"}" * MANY + b"}}",
    "unclosed lists": b"[" * MANY,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_message_with_very_many_values_is_refused_before_it_is_parsed(name: str) -> None:
    tracemalloc.start()
    reply = parse_message(HOSTILE[name])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert isinstance(reply, ErrorReply)
    assert "too many lists and objects" in reply.reason
    assert peak < 1024**2


@pytest.mark.parametrize("depth", [1000, 99_000])
def test_a_deeply_nested_message_is_an_error(depth: int) -> None:
    reply = parse_message(HEAD + b"[" * depth + b"]" * depth + b"}}")

    assert isinstance(reply, ErrorReply)


def test_a_large_message_with_few_values_is_accepted() -> None:
    reply = parse_message(HEAD + b'"' + b"x" * 10_000_000 + b'"}}')

    assert not isinstance(reply, ErrorReply)
