"""Which part of a long conversation is sent to the model, for any content."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.conversation.context import (
    ContextBuilder,
    Turn,
    estimate_turn_tokens,
    group_turns,
    select_head_tail,
    select_last,
    select_within_tokens,
)
from junto.domain.conversations import Conversation, StoredMessage
from junto.domain.messages import Message, Role, TextPart, ThinkingPart, ToolCall, ToolResult
from junto.settings.enums import ContextPolicy
from junto.storage.sqlite.conversations import SqliteConversations
from junto.storage.sqlite.database import SqliteDatabase
from tests.conversation.open_database import database_opener

words = st.text("abc ", max_size=40)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    """A user message, perhaps tool calls with their results, and perhaps an answer."""
    messages = [Message.user(draw(words))]
    for number in range(draw(st.integers(0, 3))):
        call_id = f"call-{number}"
        messages.append(Message.assistant(draw(words), ToolCall(call_id, "tool", {})))
        messages.append(Message.user(ToolResult(call_id, (TextPart(draw(words)),))))
    if draw(st.booleans()):
        messages.append(Message.assistant(draw(words)))
    return tuple(messages)


histories = st.lists(turns(), max_size=12)


def flatten(history: list[Turn]) -> list[Message]:
    return [message for turn in history for message in turn]


def assert_valid(messages: list[Message]) -> None:
    """Check what every provider requires: a user message first, and a result for each call."""
    if messages:
        assert messages[0].role is Role.USER
        assert not any(isinstance(part, ToolResult) for part in messages[0].parts)
    call_ids: list[str] = []
    for message in messages:
        result_ids = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        assert result_ids == call_ids, "a call without its result, or a result without its call"
        call_ids = [call.id for call in message.tool_calls]
    assert call_ids == []


@given(histories)
def test_grouping_a_flat_history_restores_its_turns(history: list[Turn]) -> None:
    assert group_turns(flatten(history)) == history


@given(histories, st.integers(0, 30))
def test_a_history_cut_in_the_middle_is_grouped_into_valid_turns(
    history: list[Turn], start: int
) -> None:
    assert_valid(flatten(group_turns(flatten(history)[start:])))


@given(histories, st.integers(1, 20))
def test_last_n_selects_the_latest_turns_up_to_its_limit(
    history: list[Turn], max_messages: int
) -> None:
    selected = select_last(history, max_messages)

    assert_valid(flatten(selected))
    assert len(flatten(selected)) <= max_messages
    assert selected == history[len(history) - len(selected) :]
    dropped = history[: len(history) - len(selected)]
    # One more turn would not have fit.
    assert not dropped or len(flatten(selected)) + len(dropped[-1]) > max_messages


@given(histories, st.integers(1, 20))
def test_head_tail_keeps_the_order_and_repeats_nothing(
    history: list[Turn], max_messages: int
) -> None:
    selected = select_head_tail(history, max_messages)

    assert_valid(flatten(selected))
    assert len(flatten(selected)) <= 2 * max_messages
    head_length = (
        next(
            (n for n in range(len(selected) + 1) if selected[:n] != history[:n]), len(selected) + 1
        )
        - 1
    )
    tail = selected[head_length:]
    assert not tail or tail == history[-len(tail) :]


@given(histories, st.integers(0, 200))
def test_a_token_budget_is_never_exceeded(history: list[Turn], tokens: int) -> None:
    selected = select_within_tokens(history, tokens)

    assert_valid(flatten(selected))
    assert sum(estimate_turn_tokens(turn) for turn in selected) <= tokens
    assert selected == history[len(history) - len(selected) :]


@pytest.mark.parametrize("policy", list(ContextPolicy))
@given(history=histories, max_messages=st.integers(1, 15), tokens=st.integers(0, 400))
async def test_the_context_built_from_a_store_follows_the_policy(
    policy: ContextPolicy, history: list[Turn], max_messages: int, tokens: int
) -> None:
    messages = flatten(history)
    async with SqliteDatabase.open(None) as database:
        store = SqliteConversations(database_opener(database))
        conversation = Conversation(id="c", owner="me", model="m")
        stored = tuple(
            StoredMessage(position=n, message=message, at=0.0) for n, message in enumerate(messages)
        )
        await store.save_turn(conversation, stored)

        sent = await ContextBuilder(store, policy, max_messages).build(
            replace(conversation, length=len(messages)), "p", tokens
        )

    selected = {
        ContextPolicy.LAST_N: lambda: select_last(history, max_messages),
        ContextPolicy.HEAD_TAIL: lambda: select_head_tail(history, max_messages),
        ContextPolicy.TOKEN_BUDGET: lambda: history,
    }[policy]()
    assert_valid(list(sent))
    assert list(sent) == flatten(select_within_tokens(selected, tokens))


async def test_thinking_is_sent_only_to_the_provider_that_produced_it() -> None:
    async with SqliteDatabase.open(None) as database:
        store = SqliteConversations(database_opener(database))
        conversation = Conversation(id="c", owner="me", model="m")
        answer = Message.assistant(ThinkingPart("hm", "signed"), "Hello")
        stored = (
            StoredMessage(position=0, message=Message.user("Hi"), at=0.0),
            StoredMessage(position=1, message=answer, at=0.0, model="m", provider="anthropic"),
        )
        await store.save_turn(conversation, stored)
        context = ContextBuilder(store, ContextPolicy.TOKEN_BUDGET, 10)
        saved = replace(conversation, length=2)

        own = await context.build(saved, "anthropic", 1000)
        other = await context.build(saved, "openai", 1000)

    assert own[1] == answer
    assert other[1] == Message.assistant("Hello")
