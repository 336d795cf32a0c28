"""Reading as much of a conversation as a policy will send, and no more."""

from dataclasses import dataclass

from junto.conversation.context import Exchange, exchange_tokens, exchanges, head_tail, last_n
from junto.conversation.context import token_budget as within
from junto.domain.conversations import Conversation, ConversationStore, Said
from junto.domain.messages import Message, Thinking
from junto.settings.choices import ContextPolicy

_FIRST_PAGE, _LARGEST_PAGE = 4, 64


@dataclass(frozen=True, slots=True)
class History:
    """What was said before, as one provider may hear it."""

    store: ConversationStore
    policy: ContextPolicy
    most: int

    async def sent(
        self, conversation: Conversation, provider: str, tokens: int
    ) -> tuple[Message, ...]:
        """Return the messages to send before the new one, of no more than `tokens`."""
        if not conversation.length:
            return ()
        match self.policy:
            case ContextPolicy.LAST_N:
                kept = last_n(await self._tail(conversation, self.most, provider), self.most)
            case ContextPolicy.HEAD_TAIL:
                kept = head_tail(await self._ends(conversation, provider), self.most)
            case ContextPolicy.TOKEN_BUDGET:
                kept = await self._budget(conversation, provider, tokens)
        # Whatever the policy, more than the window holds would only be refused, and so would a turn
        # with nothing in it: a refusal without words, or thoughts that only another may see.
        return tuple(
            message
            for exchange in within(kept, tokens)
            if all(said.parts for said in exchange)
            for message in exchange
        )

    async def _tail(self, conversation: Conversation, count: int, provider: str) -> list[Exchange]:
        first = max(0, conversation.length - count)
        return await self._read(conversation, first, conversation.length, provider)

    async def _ends(self, conversation: Conversation, provider: str) -> list[Exchange]:
        if conversation.length <= 2 * self.most:
            return await self._read(conversation, 0, conversation.length, provider)
        # One more than needed, or the last exchange of the head would seem to end there.
        head = await self._read(conversation, 0, self.most + 1, provider)
        return [*head[:-1], *await self._tail(conversation, self.most, provider)]

    async def _budget(
        self, conversation: Conversation, provider: str, tokens: int
    ) -> list[Exchange]:
        """Read backwards, page by page, until there is more than fits."""
        pages: list[Exchange] = []
        first, size, left = conversation.length, _FIRST_PAGE, tokens
        while first > 0 and left >= 0:
            # Small pages first: a message may hold megabytes, and most conversations are short.
            last, first = first, max(0, first - size)
            size = min(2 * size, _LARGEST_PAGE)
            said = await self.store.said(conversation.owner, conversation.id, first, last)
            pages.append(tuple(_heard(each, provider) for each in said))
            left -= exchange_tokens(pages[-1])
        return within(exchanges(message for page in reversed(pages) for message in page), tokens)

    async def _read(
        self, conversation: Conversation, first: int, last: int, provider: str
    ) -> list[Exchange]:
        said = await self.store.said(conversation.owner, conversation.id, first, last)
        return exchanges(_heard(each, provider) for each in said)


def _heard(said: Said, provider: str) -> Message:
    """Return a message without the thoughts that only another provider could read."""
    if said.provider in (None, provider):
        return said.message
    spoken = tuple(part for part in said.message.parts if not isinstance(part, Thinking))
    return Message(said.message.role, spoken)
