"""The tools `chat` and `query`: an answer within a conversation."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.conversation.schemas import check_schema
from junto.conversation.service import Asked, Conversations, Reply, Request
from junto.conversation.tool_loop import Toolbox, made_calls
from junto.domain.errors import ModelError
from junto.domain.questions import Effort, Event, StopReason
from junto.tools.citing import sources
from junto.tools.narration import Narrator
from junto.tools.parts import Files, Parts, message_of
from junto.tools.tool import Call, Group, Hints, LongArguments, Result, Tool

# Gives the tools that a model may use on behalf of a caller.
Boxes = Callable[[Call], Awaitable[Toolbox]]

_ASKING = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)
_ID = r"^[\w\"'.:-]+$"
_MOST_ID = 128


class UsedTokens(Result):
    """What an answer took; a cost that is not known is left out."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None

    @classmethod
    def of(cls, reply: Reply) -> "UsedTokens":
        """Return what `reply` took."""
        usage = reply.answer.usage
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=None if reply.cost is None else float(reply.cost),
        )

    def line(self) -> str:
        """Return it in a few words."""
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:.6f}"
        return f"{self.input_tokens} tokens in, {self.output_tokens} out{cost}"


class Chat(LongArguments):
    """Arguments of `chat`."""

    message: str
    conversation_id: str | None = Field(
        None,
        pattern=_ID,
        max_length=_MOST_ID,
        description="Go on with this one.",
    )
    model_id: str | None = Field(None, description="Another one answers on a branch.")
    reasoning: bool = Field(default=False, description="Think first.")
    system: str | None = Field(None, description="Who the model should be.")
    parts: Parts | None = None
    tools: bool = Field(default=False, description="Let it use this server's tools.")
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2)
    json_schema: dict[str, Any] | None = Field(
        None, alias="schema", description="A JSON schema that the answer must fit."
    )


class ChatAnswer(Result):
    """Result of `chat`."""

    conversation_id: str | None = None
    response: str
    model_id: str
    reasoning: str | None = None
    data: Any = None
    usage: UsedTokens
    truncated: bool | None = None
    notice: str | None = None
    tool_calls: list[Any] | None = None

    @override
    def text(self) -> str:
        """Return the answer, then one line of ids and usage."""
        return _told(self.response, self.notice, self.conversation_id, self.model_id, self.usage)


class Query(LongArguments):
    """Arguments of `query`."""

    prompt: str
    session_id: str | None = Field(
        None,
        pattern=_ID,
        max_length=_MOST_ID,
        description="Go on with this one.",
    )
    parts: Parts | None = Field(None, description="As for `chat`.")
    model_id: str | None = None


class QueryAnswer(Result):
    """Result of `query`."""

    response: str
    session_id: str | None = None
    model_id: str
    usage: UsedTokens
    sources: list[Any] | None = None
    tool_calls: list[Any] | None = None
    truncated: bool | None = None
    notice: str | None = None

    @override
    def text(self) -> str:
        """Return the answer, its sources, then one line of ids and usage."""
        cited = "\n".join(f"- {each['title']}: {each['url']}" for each in self.sources or ())
        response = f"{self.response}\n\nSources:\n{cited}" if cited else self.response
        return _told(response, self.notice, self.session_id, self.model_id, self.usage)


def _told(response: str, notice: str | None, id_: str | None, model: str, usage: UsedTokens) -> str:
    named = [f"conversation {id_}"] if id_ else []
    last = " · ".join([*named, model, usage.line()])
    return "\n\n".join(part for part in (response, notice, f"[{last}]") if part)


def chat(conversations: Conversations, files: Files, toolbox: Boxes) -> Tool[Chat]:
    """Return the tool that talks with a model."""

    async def run(arguments: Chat, call: Call) -> ChatAnswer:
        if arguments.json_schema is not None:
            await check_schema(arguments.json_schema)
        box = await toolbox(call) if arguments.tools else None
        request = Request(
            message=await message_of(arguments.message, arguments.parts, files),
            owner=call.caller,
            tool="chat",
            conversation_id=arguments.conversation_id,
            model_id=arguments.model_id,
            system=arguments.system,
            max_tokens=arguments.max_tokens,
            temperature=arguments.temperature,
            reasoning=Effort.MEDIUM if arguments.reasoning else None,
            schema=arguments.json_schema,
            toolbox=box,
        )
        reply = await replied(conversations.reply(request), call)
        return ChatAnswer(
            conversation_id=reply.conversation_id,
            response=reply.answer.message.text,
            model_id=reply.answer.model,
            reasoning=reply.answer.message.thinking or None if arguments.reasoning else None,
            data=reply.data,
            usage=UsedTokens.of(reply),
            truncated=_cut(reply),
            notice=reply.notice,
            tool_calls=made_calls(reply.between, box) or None,
        )

    default = conversations.catalog.default or "none"
    return Tool(
        name="chat",
        title="Chat with a model",
        description=f"Ask another model, in a conversation that is remembered. Default: {default}.",
        group=Group.MODELS,
        arguments=Chat,
        result=ChatAnswer,
        run=run,
        hints=_ASKING,
        long=True,
    )


def query(conversations: Conversations, files: Files, toolbox: Boxes) -> Tool[Query]:
    """Return the tool that answers a question."""

    async def run(arguments: Query, call: Call) -> QueryAnswer:
        box = await toolbox(call)
        request = Request(
            message=await message_of(arguments.prompt, arguments.parts, files),
            owner=call.caller,
            tool="query",
            conversation_id=arguments.session_id,
            new_if_unknown=True,
            model_id=arguments.model_id,
            toolbox=box,
        )
        reply = await replied(conversations.reply(request), call)
        return QueryAnswer(
            response=reply.answer.message.text,
            session_id=reply.conversation_id,
            model_id=reply.answer.model,
            usage=UsedTokens.of(reply),
            truncated=_cut(reply),
            notice=reply.notice,
            sources=sources(reply.between) or None,
            tool_calls=made_calls(reply.between, box) or None,
        )

    return Tool(
        name="query",
        title="Query",
        description="Ask an AI assistant, which may use this server's tools.",
        group=Group.MODELS,
        arguments=Query,
        result=QueryAnswer,
        run=run,
        hints=_ASKING,
        long=True,
    )


async def replied(events: AsyncGenerator[Event | Asked | Reply], call: Call) -> Reply:
    """Pass on the words of an answer as they come, and return what is kept of it."""
    narrator = Narrator(call.work)
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Reply):
                    call.work.uses(UsedTokens.of(event).facts())
                    return event
                narrator.hears(event)
    except BaseException:
        call.work.uses(narrator.estimate())
        raise
    raise ModelError("The model said nothing.", retryable=True)


def _cut(reply: Reply) -> bool | None:
    return True if reply.answer.stop is StopReason.LENGTH else None
