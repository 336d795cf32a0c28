"""Stored conversations as tools, a resource template and completions."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.conversation.queries import ConversationReader, HistoryPage
from junto.domain.conversations import StoredMessage
from junto.domain.errors import NotFoundError
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from junto.tools.base import Arguments, Result
from junto.tools.resources import ResourceTemplate
from junto.tools.services import ToolServices
from junto.tools.summaries import ConversationSummary, format_time
from junto.tools.tool import LOCAL_CALLER, READ_ONLY_HINTS, CallContext, Group, Tool

_MAX_CONTENT_CHARS = 20_000
_MAX_SUGGESTIONS = 100
_URI_SCHEME = "conversation://"


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    if services.conversations.store:
        yield build_conversation_history_tool(services.reader)
        yield build_list_conversations_tool(services.reader)


class ConversationHistoryArguments(Arguments):
    """Arguments of `conversation_history`."""

    conversation_id: str = Field(description="Conversation to read.")
    limit: int | None = Field(None, ge=1, le=500, description="Messages per page.")
    cursor: str | None = Field(None, description="Cursor from the previous page.")


class HistoryMessage(Result):
    """One message, or a marker where messages are omitted."""

    role: str
    content: str
    position: int | None = None
    model_id: str | None = None
    at: str | None = None

    @classmethod
    def from_stored(cls, stored: StoredMessage) -> "HistoryMessage":
        """Return a stored message as text, truncated if it is long."""
        content = "\n".join(line for part in stored.message.parts if (line := _format_part(part)))
        if len(content) > _MAX_CONTENT_CHARS:
            content = (
                content[:_MAX_CONTENT_CHARS]
                + f"… ({len(content) - _MAX_CONTENT_CHARS} characters left out)"
            )
        return cls(
            role=stored.message.role.value,
            content=content,
            position=stored.position,
            model_id=stored.model,
            at=format_time(stored.at),
        )

    @override
    def text(self) -> str:
        """Return the message with who wrote it."""
        author = f"{self.role} ({self.model_id})" if self.model_id else self.role
        return self.content if self.role == "marker" else f"{author}: {self.content}"


class ConversationHistoryResult(Result):
    """Result of `conversation_history`."""

    text_fields = frozenset({"messages"})

    conversation_id: str
    title: str
    model_id: str
    messages: list[HistoryMessage]
    truncated: bool
    total: int
    cursor: str | None = None

    @override
    def text(self) -> str:
        """Return one paragraph per message, then one line about the conversation."""
        messages = [message.text() for message in self.messages]
        footer = [f"conversation {self.conversation_id}", self.title, self.model_id]
        footer.append(f"{self.total} messages")
        if self.cursor:
            footer.append(f"for more, pass cursor {self.cursor}")
        return "\n\n".join([*messages, f"[{' · '.join(footer)}]"])


def _format_part(part: Part) -> str:
    match part:
        case TextPart(text):
            return text
        case ImagePart(mime_type, data) | DocumentPart(mime_type, data):
            return f"[{mime_type}, {len(data):,} bytes]"
        case ToolCall(_, name):
            return f"[calls {name}]"
        case ToolResult(_, content):
            return "\n".join(_format_part(piece) for piece in content)
        case ThinkingPart():
            return ""


def build_conversation_history_tool(
    reader: ConversationReader,
) -> Tool[ConversationHistoryArguments]:
    """Build the `conversation_history` tool."""

    async def run(
        arguments: ConversationHistoryArguments, call: CallContext
    ) -> ConversationHistoryResult:
        page = await reader.read_history(
            call.caller, arguments.conversation_id, arguments.limit, arguments.cursor
        )
        return ConversationHistoryResult(
            conversation_id=page.conversation.id,
            title=page.conversation.title,
            model_id=page.conversation.model,
            messages=_build_messages(page),
            truncated=bool(page.omitted_count or page.cursor),
            total=page.conversation.length,
            cursor=page.cursor,
        )

    return Tool(
        name="conversation_history",
        title="Conversation history",
        description=(
            "Read the messages of a conversation or session, oldest first, in pages. "
            "`list_conversations` and `search_history` find its id."
        ),
        group=Group.MEMORY,
        arguments=ConversationHistoryArguments,
        result=ConversationHistoryResult,
        run=run,
        hints=READ_ONLY_HINTS,
        for_council=True,
    )


def _build_messages(page: HistoryPage) -> list[HistoryMessage]:
    head = [HistoryMessage.from_stored(stored) for stored in page.head]
    tail = [HistoryMessage.from_stored(stored) for stored in page.tail]
    if not page.omitted_count:
        return [*head, *tail]
    marker = HistoryMessage(role="marker", content=f"… {page.omitted_count} messages omitted …")
    return [*head, marker, *tail]


class ListConversationsArguments(Arguments):
    """Arguments of `list_conversations`."""

    text: str | None = Field(None, max_length=200, description="Only titles that contain this.")
    limit: int = Field(20, ge=1, le=100, description="Conversations per page.")
    cursor: str | None = Field(None, description="Cursor from the previous page.")


class ListConversationsResult(Result):
    """Result of `list_conversations`."""

    conversations: list[ConversationSummary]
    cursor: str | None = None

    @override
    def text(self) -> str:
        """Return one line per conversation."""
        if not self.conversations:
            return "There are no such conversations. `chat` begins one."
        more = [f"[more: cursor {self.cursor}]"] if self.cursor else []
        return "\n".join([*(each.text() for each in self.conversations), *more])


def build_list_conversations_tool(reader: ConversationReader) -> Tool[ListConversationsArguments]:
    """Build the `list_conversations` tool."""

    async def run(
        arguments: ListConversationsArguments, call: CallContext
    ) -> ListConversationsResult:
        page = await reader.list_conversations(
            call.caller, arguments.text, arguments.limit, arguments.cursor
        )
        return ListConversationsResult(
            conversations=[
                ConversationSummary.from_conversation(each) for each in page.conversations
            ],
            cursor=page.cursor,
        )

    return Tool(
        name="list_conversations",
        title="List conversations",
        description=(
            "List stored conversations, most recent first. Continue one with `chat`, or read it "
            "with `conversation_history`."
        ),
        group=Group.MEMORY,
        arguments=ListConversationsArguments,
        result=ListConversationsResult,
        run=run,
        hints=READ_ONLY_HINTS,
        for_council=True,
    )


def build_conversation_template(reader: ConversationReader) -> ResourceTemplate:
    """Build the resource template `conversation://{id}`."""

    async def read(uri: str) -> str | None:
        if not uri.startswith(_URI_SCHEME):
            return None
        try:
            # Search hits link to a message with a fragment; the resource is the conversation.
            id_ = uri.removeprefix(_URI_SCHEME).partition("#")[0]
            page = await reader.read_history(LOCAL_CALLER, id_, None, None)
        except NotFoundError:
            return None
        messages = [*page.head, *page.tail]
        content = {
            "id": page.conversation.id,
            "title": page.conversation.title,
            "modelId": page.conversation.model,
            "total": page.conversation.length,
            "leftOut": page.omitted_count,
            "messages": [
                HistoryMessage.from_stored(each).model_dump(by_alias=True, exclude_none=True)
                for each in messages
            ],
        }
        return json.dumps(content, indent=2)

    return ResourceTemplate(
        uri_template=f"{_URI_SCHEME}{{id}}",
        name="conversation",
        title="Conversation",
        description="What was said in a conversation.",
        read=read,
    )


def build_id_lookup(reader: ConversationReader) -> Callable[[str], Awaitable[Sequence[str]]]:
    """Return a lookup for completions that suggests the ids of the latest conversations."""

    async def lookup_ids(_prefix: str) -> Sequence[str]:
        page = await reader.list_conversations(LOCAL_CALLER, None, _MAX_SUGGESTIONS, None)
        return [conversation.id for conversation in page.conversations]

    return lookup_ids
