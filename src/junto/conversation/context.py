"""Selection of the messages of a long conversation that are sent to the model.

Turns are included or left out as a whole: a user message and everything up to the next one. So a
request always starts with a user message, and a tool call is never separated from its result.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from junto.domain.conversations import Conversation, ConversationStore, StoredMessage
from junto.domain.messages import Message, Role, ThinkingPart, ToolResult
from junto.domain.token_estimates import estimate_message_tokens
from junto.settings.enums import ContextPolicy

_FIRST_PAGE_MESSAGES, _MAX_PAGE_MESSAGES = 4, 64

Turn = tuple[Message, ...]


def group_turns(messages: Iterable[Message]) -> list[Turn]:
    """Group messages into turns; messages before the first user message are left out."""
    turns: list[list[Message]] = []
    for message in messages:
        if _is_turn_start(message):
            turns.append([message])
        elif turns:
            turns[-1].append(message)
    return [tuple(turn) for turn in turns]


def _is_turn_start(message: Message) -> bool:
    """Return whether a message comes from the user and not only from tools."""
    user_parts = [part for part in message.parts if not isinstance(part, ToolResult)]
    return message.role is Role.USER and (bool(user_parts) or not message.parts)


def select_last(turns: Sequence[Turn], max_messages: int) -> list[Turn]:
    """Return the latest turns with at most `max_messages` messages in total."""
    return _take_until_full(reversed(turns), max_messages, len)[::-1]


def select_head_tail(turns: Sequence[Turn], max_messages: int) -> list[Turn]:
    """Return the first and the latest turns, each with at most `max_messages` messages."""
    head = _take_until_full(turns, max_messages, len)
    return [*head, *select_last(turns[len(head) :], max_messages)]


def select_within_tokens(turns: Sequence[Turn], max_tokens: int) -> list[Turn]:
    """Return the latest turns with at most `max_tokens` tokens in total."""
    return _take_until_full(reversed(turns), max_tokens, estimate_turn_tokens)[::-1]


def estimate_turn_tokens(turn: Turn) -> int:
    """Return the estimated number of tokens in a turn."""
    return sum(estimate_message_tokens(message) for message in turn)


def _take_until_full(
    turns: Iterable[Turn], max_size: int, size: Callable[[Turn], int]
) -> list[Turn]:
    taken: list[Turn] = []
    remaining = max_size
    for turn in turns:
        remaining -= size(turn)
        if remaining < 0:
            break
        taken.append(turn)
    return taken


@dataclass(frozen=True, slots=True)
class ContextBuilder:
    """Builds the message history that one provider receives."""

    store: ConversationStore
    policy: ContextPolicy
    max_messages: int

    async def build(
        self, conversation: Conversation, provider: str, max_tokens: int
    ) -> tuple[Message, ...]:
        """Return the messages to send before the new one, with at most `max_tokens` tokens."""
        if not conversation.length:
            return ()
        match self.policy:
            case ContextPolicy.LAST_N:
                turns = select_last(
                    await self._read_tail(conversation, self.max_messages, provider),
                    self.max_messages,
                )
            case ContextPolicy.HEAD_TAIL:
                turns = select_head_tail(
                    await self._read_head_and_tail(conversation, provider), self.max_messages
                )
            case ContextPolicy.TOKEN_BUDGET:
                turns = await self._read_within_tokens(conversation, provider, max_tokens)
        # Under every policy, providers reject requests beyond the context window, and messages
        # without content, such as an empty refusal or thinking that only another provider can read.
        return tuple(
            message
            for turn in select_within_tokens(turns, max_tokens)
            if all(each.parts for each in turn)
            for message in turn
        )

    async def _read_tail(self, conversation: Conversation, count: int, provider: str) -> list[Turn]:
        first = max(0, conversation.length - count)
        return await self._read(conversation, first, conversation.length, provider)

    async def _read_head_and_tail(self, conversation: Conversation, provider: str) -> list[Turn]:
        if conversation.length <= 2 * self.max_messages:
            return await self._read(conversation, 0, conversation.length, provider)
        # One message more than needed, because the last turn read may be cut off and is dropped.
        head = await self._read(conversation, 0, self.max_messages + 1, provider)
        return [*head[:-1], *await self._read_tail(conversation, self.max_messages, provider)]

    async def _read_within_tokens(
        self, conversation: Conversation, provider: str, max_tokens: int
    ) -> list[Turn]:
        """Read pages backwards until they exceed `max_tokens`."""
        pages: list[Turn] = []
        first, size, remaining = conversation.length, _FIRST_PAGE_MESSAGES, max_tokens
        while first > 0 and remaining >= 0:
            # Small pages first: a message may have megabytes, and most conversations are short.
            last, first = first, max(0, first - size)
            size = min(2 * size, _MAX_PAGE_MESSAGES)
            messages = await self.store.load_messages(
                conversation.owner, conversation.id, first, last
            )
            pages.append(tuple(_strip_foreign_thinking(each, provider) for each in messages))
            remaining -= estimate_turn_tokens(pages[-1])
        return select_within_tokens(
            group_turns(message for page in reversed(pages) for message in page), max_tokens
        )

    async def _read(
        self, conversation: Conversation, first: int, last: int, provider: str
    ) -> list[Turn]:
        messages = await self.store.load_messages(conversation.owner, conversation.id, first, last)
        return group_turns(_strip_foreign_thinking(each, provider) for each in messages)


def _strip_foreign_thinking(stored: StoredMessage, provider: str) -> Message:
    """Return a message without thinking that only another provider can read."""
    if stored.provider in (None, provider):
        return stored.message
    parts = tuple(part for part in stored.message.parts if not isinstance(part, ThinkingPart))
    return Message(stored.message.role, parts)
