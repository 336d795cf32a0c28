"""What is sent of a long conversation, whatever was said in it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.conversation.context import (
    Exchange,
    exchange_tokens,
    exchanges,
    head_tail,
    last_n,
    token_budget,
)
from junto.conversation.history import History
from junto.domain.conversations import Conversation, Said
from junto.domain.messages import Message, Role, Text, Thinking, ToolCall, ToolResult
from junto.settings.choices import ContextPolicy
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import Database
from tests.conversation.support import already

words = st.text("abc ", max_size=40)


@st.composite
def exchange(draw: st.DrawFn) -> Exchange:
    """A user's turn, perhaps some tools, and an answer."""
    said = [Message.user(draw(words))]
    for number in range(draw(st.integers(0, 3))):
        call = f"call-{number}"
        said.append(Message.assistant(draw(words), ToolCall(call, "tool", {})))
        said.append(Message.user(ToolResult(call, (Text(draw(words)),))))
    if draw(st.booleans()):
        said.append(Message.assistant(draw(words)))
    return tuple(said)


histories = st.lists(exchange(), max_size=12)


def flat(history: list[Exchange]) -> list[Message]:
    return [message for each in history for message in each]


def sound(messages: list[Message]) -> None:
    """Check what every provider wants: a user first, and calls together with their results."""
    if messages:
        assert messages[0].role is Role.USER
        assert not any(isinstance(part, ToolResult) for part in messages[0].parts)
    asked: list[str] = []
    for message in messages:
        given = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        assert given == asked, "a call without its result, or a result without its call"
        asked = [call.id for call in message.tool_calls]
    assert asked == []


@given(histories)
def test_exchanges_are_found_again(history: list[Exchange]) -> None:
    assert exchanges(flat(history)) == history


@given(histories, st.integers(0, 30))
def test_whatever_begins_in_the_middle_is_made_sound(history: list[Exchange], start: int) -> None:
    sound(flat(exchanges(flat(history)[start:])))


@given(histories, st.integers(1, 20))
def test_the_last_n_are_sound_the_latest_and_no_more(history: list[Exchange], most: int) -> None:
    kept = last_n(history, most)

    sound(flat(kept))
    assert len(flat(kept)) <= most
    assert kept == history[len(history) - len(kept) :]
    rest = history[: len(history) - len(kept)]
    assert not rest or len(flat(kept)) + len(rest[-1]) > most  # nothing more would have fit


@given(histories, st.integers(1, 20))
def test_head_and_tail_are_sound_in_order_and_never_twice(
    history: list[Exchange], most: int
) -> None:
    kept = head_tail(history, most)

    sound(flat(kept))
    assert len(flat(kept)) <= 2 * most
    heads = next((n for n in range(len(kept) + 1) if kept[:n] != history[:n]), len(kept) + 1) - 1
    tail = kept[heads:]
    assert not tail or tail == history[-len(tail) :]


@given(histories, st.integers(0, 200))
def test_a_budget_is_never_exceeded(history: list[Exchange], tokens: int) -> None:
    kept = token_budget(history, tokens)

    sound(flat(kept))
    assert sum(exchange_tokens(each) for each in kept) <= tokens
    assert kept == history[len(history) - len(kept) :]


@pytest.mark.parametrize("policy", list(ContextPolicy))
@given(history=histories, most=st.integers(1, 15), tokens=st.integers(0, 400))
async def test_what_is_read_from_a_store_is_what_the_policy_says(
    policy: ContextPolicy, history: list[Exchange], most: int, tokens: int
) -> None:
    messages = flat(history)
    async with Database.opened(None) as database:
        store = SqliteConversations(already(database))
        conversation = Conversation(id="c", owner="me", model="m")
        said = tuple(
            Said(position=n, message=message, at=0.0) for n, message in enumerate(messages)
        )
        await store.keep(conversation, said)

        sent = await History(store, policy, most).sent(
            replace(conversation, length=len(messages)), "p", tokens
        )

    chosen = {
        ContextPolicy.LAST_N: lambda: last_n(history, most),
        ContextPolicy.HEAD_TAIL: lambda: head_tail(history, most),
        ContextPolicy.TOKEN_BUDGET: lambda: history,
    }[policy]()
    sound(list(sent))
    assert list(sent) == flat(token_budget(chosen, tokens))


async def test_thoughts_are_shown_to_their_own_provider_alone() -> None:
    async with Database.opened(None) as database:
        store = SqliteConversations(already(database))
        conversation = Conversation(id="c", owner="me", model="m")
        thought = Message.assistant(Thinking("hm", "signed"), "Hello")
        turn = (
            Said(position=0, message=Message.user("Hi"), at=0.0),
            Said(position=1, message=thought, at=0.0, model="m", provider="anthropic"),
        )
        await store.keep(conversation, turn)
        history = History(store, ContextPolicy.TOKEN_BUDGET, 10)
        kept = replace(conversation, length=2)

        own = await history.sent(kept, "anthropic", 1000)
        other = await history.sent(kept, "openai", 1000)

    assert own[1] == thought
    assert other[1] == Message.assistant("Hello")
