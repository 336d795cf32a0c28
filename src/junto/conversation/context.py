"""Which part of a long conversation is sent to the model.

Whole exchanges are kept or left out: what the user said and everything up to what they said next.
So a request always begins with a user's turn, and a tool call is never parted from its result.
"""

from collections.abc import Callable, Iterable, Sequence

from junto.domain.estimates import message_tokens
from junto.domain.messages import Message, Role, ToolResult

Exchange = tuple[Message, ...]


def exchanges(messages: Iterable[Message]) -> list[Exchange]:
    """Return messages by exchange; what stands before the first user's turn is left out."""
    found: list[list[Message]] = []
    for message in messages:
        if _opens(message):
            found.append([message])
        elif found:
            found[-1].append(message)
    return [tuple(exchange) for exchange in found]


def _opens(message: Message) -> bool:
    """Return whether a user speaks, and not only tools through them."""
    spoken = [part for part in message.parts if not isinstance(part, ToolResult)]
    return message.role is Role.USER and (bool(spoken) or not message.parts)


def last_n(history: Sequence[Exchange], most: int) -> list[Exchange]:
    """Return the latest exchanges that make no more than `most` messages together."""
    return _fitting(reversed(history), most, len)[::-1]


def head_tail(history: Sequence[Exchange], most: int) -> list[Exchange]:
    """Return the first and the latest exchanges, of no more than `most` messages each."""
    head = _fitting(history, most, len)
    return [*head, *last_n(history[len(head) :], most)]


def token_budget(history: Sequence[Exchange], tokens: int) -> list[Exchange]:
    """Return the latest exchanges that take no more than so many tokens."""
    return _fitting(reversed(history), tokens, exchange_tokens)[::-1]


def exchange_tokens(exchange: Exchange) -> int:
    """Return about how many tokens an exchange takes."""
    return sum(message_tokens(message) for message in exchange)


def _fitting(
    history: Iterable[Exchange], most: int, size: Callable[[Exchange], int]
) -> list[Exchange]:
    kept: list[Exchange] = []
    left = most
    for exchange in history:
        left -= size(exchange)
        if left < 0:
            break
        kept.append(exchange)
    return kept
