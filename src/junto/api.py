"""Junto as a Python library: the same models, conversations and documents as the server.

    import junto

    async with junto.open() as app:
        reply = await app.chat("Why is the sky blue?")
        print(reply.text)

Nothing is read, logged or connected before `open`.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from typing_extensions import Unpack

from junto.domain.completions import (
    Effort,
    StatusEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Usage,
)
from junto.domain.conversations import LOCAL_OWNER, Conversation, StoredMessage
from junto.domain.errors import JuntoError, ModelError
from junto.domain.messages import Message
from junto.domain.models import Model
from junto.domain.usage import UsageTotals

if TYPE_CHECKING:
    from junto.app.application import Application
    from junto.conversation.service import Reply
    from junto.knowledge.search import Hit

__all__ = [
    "ChatReply",
    "Conversation",
    "Effort",
    "Junto",
    "JuntoError",
    "MessageOptions",
    "Model",
    "StatusEvent",
    "StoredMessage",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallEvent",
    "Usage",
    "UsageTotals",
    "open",
]

_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A complete answer, saved with its message."""

    text: str
    # None if conversations are switched off.
    conversation_id: str | None
    model: str
    usage: Usage
    # None if the price of the model is unknown.
    cost: Decimal | None
    reasoning: str = ""
    # The answer as JSON, if a schema was given.
    data: Any = None
    # What the caller should know, such as a fork that was made.
    notice: str | None = None
    # Whether the answer was cut off at `max_tokens`.
    truncated: bool = False


class MessageOptions(TypedDict, total=False):
    """What can be said about a message; what is left out comes from the conversation or settings.

    Without `conversation_id` a new conversation starts. Another `model` than before continues on a
    fork, whose id the reply has. An answer with a `schema` (JSON Schema) is parsed into `data`.
    """

    conversation_id: str | None
    model: str | None
    system: str | None
    reasoning: Effort | None
    max_tokens: int | None
    temperature: float | None
    schema: Mapping[str, Any] | None


ChatEvent = StatusEvent | TextDelta | ThinkingDelta | ToolCallEvent | ChatReply


@asynccontextmanager
async def open(  # noqa: A001 - junto.open, as gzip.open and others
    *,
    config: Path | str | None = None,
    settings: Mapping[str, Any] | None = None,
    background: bool = False,
) -> AsyncIterator["Junto"]:
    """Open Junto with the user's settings, and close everything at the end of the block.

    `settings` maps names to values, such as `{"default_model": "claude-sonnet-5-5"}`, and wins over
    files and environment. `background` also runs what a server does between calls, such as
    embedding documents; it is for programs that run for long.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    from junto.app.application import build_app
    from junto.settings import load_settings

    loaded = load_settings(settings, config=Path(config) if config else None)
    with build_app(loaded, default_level="warning") as app:
        async with app.open(background=background):
            yield Junto(app)


class Junto:
    """An open Junto. All of it belongs to one local user, as `junto chat` does."""

    def __init__(self, app: "Application") -> None:
        self._app = app

    async def chat(self, message: str, **options: Unpack[MessageOptions]) -> ChatReply:
        """Return the answer to `message`, once the turn is saved.

        Raises:
            NotFoundError: the conversation or the model does not exist.
            JuntoError: the model could not answer; nothing is saved.
        """
        async with aclosing(self.stream(message, **options)) as events:
            async for event in events:
                if isinstance(event, ChatReply):
                    return event
        raise ModelError("The model said nothing.", retryable=True)

    async def stream(
        self, message: str, **options: Unpack[MessageOptions]
    ) -> AsyncGenerator[ChatEvent]:
        """Stream the answer to `message`; the last event is a `ChatReply`, and the turn is saved.

        Raises:
            NotFoundError: the conversation or the model does not exist.
            JuntoError: the model could not answer; nothing is saved.
        """
        from junto.conversation.schemas import check_schema
        from junto.conversation.service import ChatRequest, Reply, RequestSent

        if unknown := options.keys() - MessageOptions.__annotations__.keys():
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        if (schema := options.get("schema")) is not None:
            await check_schema(schema)
        request = ChatRequest(
            message=Message.user(message),
            owner=LOCAL_OWNER,
            conversation_id=options.get("conversation_id"),
            model_id=options.get("model"),
            system=options.get("system"),
            reasoning=options.get("reasoning"),
            max_tokens=options.get("max_tokens"),
            temperature=options.get("temperature"),
            schema=schema,
        )
        async with aclosing(self._app.conversations.reply(request)) as events:
            async for event in events:
                match event:
                    case Reply():
                        yield _build_reply(event)
                    case RequestSent():
                        pass
                    case StatusEvent() | TextDelta() | ThinkingDelta() | ToolCallEvent():
                        yield event

    async def search(self, query: str, limit: int = 5) -> tuple["Hit", ...]:
        """Return the best matches in documents, notes and conversations.

        Raises:
            InvalidInputError: the query is empty, or a filter in it is invalid.
        """
        return (await self._app.knowledge.search.find(LOCAL_OWNER, query, limit)).hits

    def models(self) -> tuple[Model, ...]:
        """Return the available models; the first one is the default."""
        return tuple(
            sorted(self._app.catalog.iter_models(), key=lambda model: not model.is_default)
        )

    async def usage(self, days: float = 1.0) -> UsageTotals:
        """Return what was used in the last days: calls, tokens and cost."""
        return await self._app.usage.reports.get_total(time.time() - days * _SECONDS_PER_DAY)

    async def conversations(
        self, text: str | None = None, limit: int = 20
    ) -> tuple[Conversation, ...]:
        """Return the latest conversations; with `text`, those that have it in their title."""
        store = self._app.conversations.require_store()
        return (await store.list_conversations(LOCAL_OWNER, text, limit)).conversations

    async def history(self, conversation_id: str) -> tuple[StoredMessage, ...]:
        """Return all messages of a conversation.

        Raises:
            NotFoundError: the conversation does not exist.
        """
        conversation = await self._app.conversations.find(LOCAL_OWNER, conversation_id)
        store = self._app.conversations.require_store()
        return await store.load_messages(LOCAL_OWNER, conversation.id)

    async def fork(self, conversation_id: str, length: int | None = None) -> Conversation:
        """Return a new branch that shares the first `length` messages, or all of them.

        Raises:
            NotFoundError: the conversation does not exist.
            InvalidInputError: the conversation has fewer messages.
        """
        return await self._app.conversations.fork(LOCAL_OWNER, conversation_id, length)


def _build_reply(reply: "Reply") -> ChatReply:
    answer = reply.answer
    return ChatReply(
        text=answer.message.text,
        conversation_id=reply.conversation_id,
        model=answer.model,
        usage=answer.usage,
        cost=reply.cost,
        reasoning=answer.message.thinking,
        data=reply.data,
        notice=reply.notice,
        truncated=answer.stop_reason is StopReason.LENGTH,
    )
