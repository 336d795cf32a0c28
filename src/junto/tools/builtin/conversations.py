"""The tools of the group memory: what was said before."""

from datetime import UTC, datetime

from pydantic import Field
from typing_extensions import override

from junto.conversation.reading import HistoryPage, Reader
from junto.domain.conversations import Conversation, Said
from junto.domain.messages import Document, Image, Part, Text, Thinking, ToolCall, ToolResult
from junto.tools.tool import HARMLESS, Arguments, Call, Group, Result, Tool

_LONGEST = 20_000


def time_text(at: float) -> str:
    """Return a moment as callers see it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


class HistoryArguments(Arguments):
    """Arguments of `conversation_history`."""

    conversation_id: str
    limit: int | None = Field(None, ge=1, le=500)
    cursor: str | None = Field(None, description="Of the page before.")


class HistoryMessage(Result):
    """One message, or the mark where some are left out."""

    role: str
    content: str
    position: int | None = None
    model_id: str | None = None
    at: str | None = None

    @classmethod
    def of(cls, said: Said) -> "HistoryMessage":
        """Return what was said, in words."""
        content = "\n".join(line for part in said.message.parts if (line := _shown(part)))
        if len(content) > _LONGEST:
            content = content[:_LONGEST] + f"… ({len(content) - _LONGEST} characters left out)"
        return cls(
            role=said.message.role.value,
            content=content,
            position=said.position,
            model_id=said.model,
            at=time_text(said.at),
        )


class History(Result):
    """Result of `conversation_history`."""

    conversation_id: str
    title: str
    model_id: str
    messages: list[HistoryMessage]
    truncated: bool
    total: int
    cursor: str | None = None

    @override
    def text(self) -> str:
        """Return the conversation as it would be read out."""
        lines = [f"{message.role}: {message.content}" for message in self.messages]
        head = f"{self.title} ({self.total} messages, {self.model_id})"
        more = [f"[more: cursor {self.cursor}]"] if self.cursor else []
        return "\n\n".join([head, *lines, *more])


def _shown(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case Image(mime_type, data) | Document(mime_type, data):
            return f"[{mime_type}, {len(data):,} bytes]"
        case ToolCall(_, name):
            return f"[calls {name}]"
        case ToolResult(_, content):
            return "\n".join(_shown(piece) for piece in content)
        case Thinking():
            return ""


def conversation_history(reader: Reader) -> Tool[HistoryArguments]:
    """Return the tool that shows what was said in a conversation."""

    async def run(arguments: HistoryArguments, call: Call) -> History:
        page = await reader.history(
            call.caller, arguments.conversation_id, arguments.limit, arguments.cursor
        )
        return History(
            conversation_id=page.conversation.id,
            title=page.conversation.title,
            model_id=page.conversation.model,
            messages=_with_mark(page),
            truncated=bool(page.left_out or page.cursor),
            total=page.conversation.length,
            cursor=page.cursor,
        )

    return Tool(
        name="conversation_history",
        title="Conversation history",
        description="What was said in a conversation, oldest first.",
        group=Group.MEMORY,
        arguments=HistoryArguments,
        result=History,
        run=run,
        hints=HARMLESS,
    )


def _with_mark(page: HistoryPage) -> list[HistoryMessage]:
    head = [HistoryMessage.of(said) for said in page.head]
    tail = [HistoryMessage.of(said) for said in page.tail]
    if not page.left_out:
        return [*head, *tail]
    mark = HistoryMessage(role="marker", content=f"… {page.left_out} messages left out …")
    return [*head, mark, *tail]


class ListArguments(Arguments):
    """Arguments of `list_conversations`."""

    text: str | None = Field(None, max_length=200, description="Part of their title.")
    limit: int = Field(20, ge=1, le=100)
    cursor: str | None = None


class ListedConversation(Result):
    """One conversation in a list."""

    id: str
    title: str
    models: list[str]
    messages: int
    updated: str

    @classmethod
    def of(cls, conversation: Conversation) -> "ListedConversation":
        """Return what a list shows of `conversation`."""
        return cls(
            id=conversation.id,
            title=conversation.title,
            models=list(conversation.models),
            messages=conversation.length,
            updated=time_text(conversation.updated),
        )

    @override
    def text(self) -> str:
        """Return it as one line."""
        models = ", ".join(self.models)
        return f"- {self.id} {self.title} ({self.messages} messages, {models}, {self.updated})"


class ConversationList(Result):
    """Result of `list_conversations`."""

    conversations: list[ListedConversation]
    cursor: str | None = None

    @override
    def text(self) -> str:
        """Return one line for each."""
        if not self.conversations:
            return "There are no such conversations. `chat` begins one."
        more = [f"[more: cursor {self.cursor}]"] if self.cursor else []
        return "\n".join([*(each.text() for each in self.conversations), *more])


def list_conversations(reader: Reader) -> Tool[ListArguments]:
    """Return the tool that lists conversations."""

    async def run(arguments: ListArguments, call: Call) -> ConversationList:
        page = await reader.listed(call.caller, arguments.text, arguments.limit, arguments.cursor)
        return ConversationList(
            conversations=[ListedConversation.of(each) for each in page.conversations],
            cursor=page.cursor,
        )

    return Tool(
        name="list_conversations",
        title="List conversations",
        description="Conversations that can be gone on with, the latest first.",
        group=Group.MEMORY,
        arguments=ListArguments,
        result=ConversationList,
        run=run,
        hints=HARMLESS,
    )
