"""Read access to conversations: pages of their messages, lists and searches."""

from dataclasses import dataclass

from junto.conversation.service import Conversations
from junto.domain.conversations import Conversation, ConversationPage, StoredMessage
from junto.domain.errors import InvalidInputError

# Clients reject larger results.
_MAX_PAGE_CHARS = 60_000
_MAX_CURSOR_CHARS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """A page of messages: the head, the number of messages omitted after it, and the tail."""

    conversation: Conversation
    head: tuple[StoredMessage, ...]
    omitted_count: int = 0
    tail: tuple[StoredMessage, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ConversationReader:
    """Read access to the conversations of an owner."""

    conversations: Conversations
    max_messages: int

    async def read_history(
        self, owner: str, conversation_id: str, limit: int | None, cursor: str | None
    ) -> HistoryPage:
        """Return a page; for a long conversation without a cursor, its head and tail.

        Raises:
            NotFoundError: the conversation does not exist.
            InvalidInputError: the cursor is not valid.
        """
        conversation = await self.conversations.find(owner, conversation_id)
        count = min(limit or self.max_messages, self.max_messages)
        if cursor is None and conversation.length > count:
            return await self._read_head_and_tail(conversation, count)
        first = _parse_cursor(cursor)
        messages = _truncate_messages(await self._read_messages(conversation, first, first + count))
        after = first + len(messages)
        next_cursor = str(after) if messages and after < conversation.length else None
        return HistoryPage(conversation=conversation, head=messages, cursor=next_cursor)

    async def list_conversations(
        self, owner: str, text: str | None, limit: int, cursor: str | None
    ) -> ConversationPage:
        """Return a page of conversations, most recent first."""
        return await self.conversations.require_store().list_conversations(
            owner, text, limit, cursor
        )

    async def _read_head_and_tail(self, conversation: Conversation, count: int) -> HistoryPage:
        half = count // 2
        head = _truncate_messages(await self._read_messages(conversation, 0, count - half), 2)
        first = conversation.length - half
        tail = _truncate_messages(
            (await self._read_messages(conversation, first, conversation.length))[::-1], 2
        )[::-1]
        return HistoryPage(
            conversation=conversation,
            head=head,
            omitted_count=conversation.length - len(head) - len(tail),
            tail=tail,
            cursor=str(len(head)),
        )

    async def _read_messages(
        self, conversation: Conversation, first: int, last: int
    ) -> tuple[StoredMessage, ...]:
        store = self.conversations.require_store()
        return await store.load_messages(conversation.owner, conversation.id, first, last)


def _parse_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _MAX_CURSOR_CHARS):
        raise InvalidInputError(
            "cursor: it takes the cursor of the page before, or nothing for the first."
        )
    return int(cursor)


def _truncate_messages(
    messages: tuple[StoredMessage, ...], divisor: int = 1
) -> tuple[StoredMessage, ...]:
    """Return the messages that fit into a page, but at least one."""
    remaining = _MAX_PAGE_CHARS // divisor
    for index, each in enumerate(messages):
        remaining -= len(each.message.text)
        if remaining < 0 and index:
            return messages[:index]
    return messages
