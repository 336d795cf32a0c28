"""The tools `chat` and `query`, which ask a model within a conversation."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.conversation.schemas import check_schema
from junto.conversation.service import ChatRequest, Conversations, Reply, RequestSent
from junto.conversation.tool_loop import summarize_tool_calls
from junto.domain.completions import (
    Effort,
    Event,
    StatusEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from junto.domain.errors import ModelError
from junto.domain.token_estimates import CHARACTERS_PER_TOKEN
from junto.jobs.handle import JobHandle
from junto.tools.base import LongRunningArguments, Result
from junto.tools.citations import collect_sources
from junto.tools.content_parts import FileReader, Parts, build_message
from junto.tools.services import ToolboxFactory, ToolServices
from junto.tools.tool import CallContext, Group, Hints, Tool

_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)
_ID_PATTERN = r"^[\w\"'.:-]+$"
_MAX_ID_CHARS = 128


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    parts = (services.conversations, services.attachments, services.build_toolbox)
    yield build_chat_tool(*parts)
    yield build_query_tool(*parts)


class ChatUsage(Result):
    """Token usage and cost of an answer; the cost is omitted if unknown."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None

    @classmethod
    def from_reply(cls, reply: Reply) -> "ChatUsage":
        """Return the usage of `reply`."""
        usage = reply.answer.usage
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=None if reply.cost is None else float(reply.cost),
        )

    def format_line(self) -> str:
        """Return the usage as a short text."""
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:.6f}"
        return f"{self.input_tokens} tokens in, {self.output_tokens} out{cost}"


class ChatArguments(LongRunningArguments):
    """Arguments of `chat`."""

    message: str = Field(description="Message to the model.")
    conversation_id: str | None = Field(
        None,
        pattern=_ID_PATTERN,
        max_length=_MAX_ID_CHARS,
        description="Conversation to continue. Omit it to start a new one.",
    )
    model_id: str | None = Field(
        None,
        description="Model to use. Switching models continues on a fork of the conversation.",
    )
    reasoning: bool = Field(
        default=False, description="Let the model reason before it answers, and return that."
    )
    system: str | None = Field(None, description="System prompt for the model.")
    parts: Parts | None = None
    tools: bool = Field(default=False, description="Let the model use this server's tools.")
    max_tokens: int | None = Field(None, ge=1, description="Maximum length of the answer.")
    temperature: float | None = Field(
        None, ge=0, le=2, description="Sampling temperature. The model's own if omitted."
    )
    json_schema: dict[str, Any] | None = Field(
        None,
        alias="schema",
        description="JSON schema that the answer must match. It is returned parsed as `data`.",
    )


class ChatResult(Result):
    """Result of `chat`."""

    conversation_id: str | None = None
    response: str
    model_id: str
    reasoning: str | None = None
    data: Any = None
    usage: ChatUsage
    truncated: bool | None = None
    notice: str | None = None
    tool_calls: list[Any] | None = None

    @override
    def text(self) -> str:
        """Return the answer, then one line of ids and usage."""
        return _format_answer(
            self.response, self.notice, self.conversation_id, self.model_id, self.usage
        )


class QueryArguments(LongRunningArguments):
    """Arguments of `query`."""

    prompt: str = Field(description="The question.")
    session_id: str | None = Field(
        None,
        pattern=_ID_PATTERN,
        max_length=_MAX_ID_CHARS,
        description="Session to continue. An unknown id starts a session with that id.",
    )
    parts: Parts | None = Field(None, description="Attachments, as for `chat`.")
    model_id: str | None = Field(None, description="Model to use, from `list_models`.")


class QueryResult(Result):
    """Result of `query`."""

    response: str
    session_id: str | None = None
    model_id: str
    usage: ChatUsage
    sources: list[Any] | None = None
    tool_calls: list[Any] | None = None
    truncated: bool | None = None
    notice: str | None = None

    @override
    def text(self) -> str:
        """Return the answer, its sources, then one line of ids and usage."""
        sources = "\n".join(f"- {each['title']}: {each['url']}" for each in self.sources or ())
        response = f"{self.response}\n\nSources:\n{sources}" if sources else self.response
        return _format_answer(response, self.notice, self.session_id, self.model_id, self.usage)


def _format_answer(
    response: str, notice: str | None, conversation_id: str | None, model_id: str, usage: ChatUsage
) -> str:
    ids = [f"conversation {conversation_id}"] if conversation_id else []
    footer = " · ".join([*ids, model_id, usage.format_line()])
    return "\n\n".join(part for part in (response, notice, f"[{footer}]") if part)


def build_chat_tool(
    conversations: Conversations, files: FileReader, build_toolbox: ToolboxFactory
) -> Tool[ChatArguments]:
    """Build the `chat` tool."""

    async def run(arguments: ChatArguments, call: CallContext) -> ChatResult:
        if arguments.json_schema is not None:
            await check_schema(arguments.json_schema)
        toolbox = await build_toolbox(call) if arguments.tools else None
        request = ChatRequest(
            message=await build_message(arguments.message, arguments.parts, files),
            owner=call.caller,
            tool="chat",
            conversation_id=arguments.conversation_id,
            model_id=arguments.model_id,
            system=arguments.system,
            max_tokens=arguments.max_tokens,
            temperature=arguments.temperature,
            reasoning=Effort.MEDIUM if arguments.reasoning else None,
            schema=arguments.json_schema,
            toolbox=toolbox,
        )
        reply = await _forward_reply(conversations.reply(request), call)
        return ChatResult(
            conversation_id=reply.conversation_id,
            response=reply.answer.message.text,
            model_id=reply.answer.model,
            reasoning=reply.answer.message.thinking or None if arguments.reasoning else None,
            data=reply.data,
            usage=ChatUsage.from_reply(reply),
            truncated=_is_truncated(reply),
            notice=reply.notice,
            tool_calls=summarize_tool_calls(reply.tool_messages, toolbox) or None,
        )

    default = conversations.catalog.default or "none"
    return Tool(
        name="chat",
        title="Chat with a model",
        description=(
            "Ask another AI model and get its answer. Conversations are stored: pass the returned "
            "conversationId to continue one. Use `query` instead for questions about your "
            f"documents, files or the web. Default model: {default}."
        ),
        group=Group.MODELS,
        arguments=ChatArguments,
        result=ChatResult,
        run=run,
        hints=_HINTS,
        is_long_running=True,
        instructions="chat asks another model, in a conversation that can be continued.",
        for_models=False,
        for_agent=True,
        for_council=True,
    )


def build_query_tool(
    conversations: Conversations, files: FileReader, build_toolbox: ToolboxFactory
) -> Tool[QueryArguments]:
    """Build the `query` tool."""

    async def run(arguments: QueryArguments, call: CallContext) -> QueryResult:
        toolbox = await build_toolbox(call)
        request = ChatRequest(
            message=await build_message(arguments.prompt, arguments.parts, files),
            owner=call.caller,
            tool="query",
            conversation_id=arguments.session_id,
            create_if_missing=True,
            model_id=arguments.model_id,
            toolbox=toolbox,
        )
        reply = await _forward_reply(conversations.reply(request), call)
        return QueryResult(
            response=reply.answer.message.text,
            session_id=reply.conversation_id,
            model_id=reply.answer.model,
            usage=ChatUsage.from_reply(reply),
            truncated=_is_truncated(reply),
            notice=reply.notice,
            sources=collect_sources(reply.tool_messages) or None,
            tool_calls=summarize_tool_calls(reply.tool_messages, toolbox) or None,
        )

    return Tool(
        name="query",
        title="Ask with tools and sources",
        description=(
            "Ask a model a question that it may answer with this server's tools: search your "
            "documents, read files, fetch pages. Returns the answer with its sources. Sessions are "
            "stored: pass sessionId to continue one."
        ),
        group=Group.MODELS,
        arguments=QueryArguments,
        result=QueryResult,
        run=run,
        hints=_HINTS,
        is_long_running=True,
        for_models=False,
        for_council=True,
    )


async def _forward_reply(
    events: AsyncGenerator[Event | RequestSent | Reply], call: CallContext
) -> Reply:
    """Report the events of an answer to the job, and return the final reply."""
    reporter = ProgressReporter(call.job_handle)
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Reply):
                    call.job_handle.set_usage(ChatUsage.from_reply(event).to_dict())
                    return event
                reporter.on_event(event)
    except BaseException:
        call.job_handle.set_usage(reporter.estimate_usage())
        raise
    raise ModelError("The model said nothing.", retryable=True)


def _is_truncated(reply: Reply) -> bool | None:
    return True if reply.answer.stop_reason is StopReason.LENGTH else None


@dataclass(slots=True)
class ProgressReporter:
    """Reports the text and status of an answer to its job, and estimates the usage so far."""

    job: JobHandle
    _input_tokens: int = field(default=0, init=False)
    _output_chars: int = field(default=0, init=False)

    def on_event(self, event: Event | RequestSent) -> None:
        """Report one event."""
        match event:
            case TextDelta(text):
                self.job.add_text(text)
                self._output_chars += len(text)
            case ThinkingDelta(text):
                self.job.set_status("thinking")
                self._output_chars += len(text)
            case StatusEvent(reason, done, total):
                percent = f" ({done / total:.0%})" if done and total else ""
                self.job.set_status(f"{reason}{percent}")
            case RequestSent(tokens):
                self._input_tokens = tokens

    def estimate_usage(self) -> dict[str, int | bool]:
        """Return the estimated usage of an answer that ended before the model reported it."""
        output_tokens = -(-self._output_chars // CHARACTERS_PER_TOKEN)
        return {"inputTokens": self._input_tokens, "outputTokens": output_tokens, "estimated": True}
