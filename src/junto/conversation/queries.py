"""Looking at conversations: pages of what was said, lists, searches."""

from dataclasses import dataclass

from junto.conversation.service import Conversations
from junto.domain.conversations import Conversation, Page, Said
from junto.domain.errors import InvalidInputError

# More than this in one page helps nobody, and clients refuse it.
_MOST_CHARACTERS = 60_000
_LONGEST_CURSOR = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Some of what was said: the beginning, how many are left out after it, and the end."""

    conversation: Conversation
    head: tuple[Said, ...]
    left_out: int = 0
    tail: tuple[Said, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Shows conversations to those who own them."""

    conversations: Conversations
    most: int

    async def history(
        self, owner: str, conversation_id: str, limit: int | None, cursor: str | None
    ) -> HistoryPage:
        """Return a page; of a long conversation without a cursor, its beginning and its end.

        Raises:
            NotFoundError: there is no such conversation.
            InvalidInputError: the cursor is none of ours.
        """
        conversation = await self.conversations.find(owner, conversation_id)
        count = min(limit or self.most, self.most)
        if cursor is None and conversation.length > count:
            return await self._ends(conversation, count)
        first = _position(cursor)
        said = _cut(await self._said(conversation, first, first + count))
        after = first + len(said)
        more = str(after) if said and after < conversation.length else None
        return HistoryPage(conversation=conversation, head=said, cursor=more)

    async def listed(self, owner: str, text: str | None, limit: int, cursor: str | None) -> Page:
        """Return a page of conversations, the latest first."""
        return await self.conversations.open_store().listed(owner, text, limit, cursor)

    async def _ends(self, conversation: Conversation, count: int) -> HistoryPage:
        half = count // 2
        head = _cut(await self._said(conversation, 0, count - half), 2)
        first = conversation.length - half
        tail = _cut((await self._said(conversation, first, conversation.length))[::-1], 2)[::-1]
        return HistoryPage(
            conversation=conversation,
            head=head,
            left_out=conversation.length - len(head) - len(tail),
            tail=tail,
            cursor=str(len(head)),
        )

    async def _said(self, conversation: Conversation, first: int, last: int) -> tuple[Said, ...]:
        store = self.conversations.open_store()
        return await store.said(conversation.owner, conversation.id, first, last)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _LONGEST_CURSOR):
        raise InvalidInputError(
            "cursor: it takes the cursor of the page before, or nothing for the first."
        )
    return int(cursor)


def _cut(said: tuple[Said, ...], share: int = 1) -> tuple[Said, ...]:
    """Return as many messages as make no page that nobody can read, but at least one."""
    left = _MOST_CHARACTERS // share
    for index, each in enumerate(said):
        left -= len(each.message.text)
        if left < 0 and index:
            return said[:index]
    return said
