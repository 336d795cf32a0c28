"""The tool `claude_code_query`: work done by Claude Code."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from pydantic import Field, ValidationError
from typing_extensions import override

from junto.agent.course import shortened
from junto.agent.options import Policy
from junto.agent.run import Content, Order, Permission
from junto.agent.service import Agent
from junto.domain.errors import InvalidInputError, JuntoError
from junto.domain.messages import Document, Image, Message, Text
from junto.jobs.running import Running
from junto.settings.choices import AgentOption, PermissionMode
from junto.tools.asking import can_choose, chosen
from junto.tools.parts import Files, Parts, message_of
from junto.tools.tool import Arguments, Call, Group, Hints, LongArguments, Result, Tool

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_LONGEST_PROMPT = 1_000_000
_MOST_MESSAGES = 100_000
# Somebody who does not answer must not keep others from their turn.
_ANSWER_SECONDS = 120.0
# What is left of each text where a whole message has no room.
_SHORT = 500
_QUOTES = "\"'` \t\r\n"


class AgentOptions(Arguments):
    """Options of `claude_code_query`."""

    cwd: str | None = None
    max_turns: int | None = Field(None, ge=1)
    model: str | None = None
    append_system_prompt: str | None = Field(None, max_length=_LONGEST_PROMPT)
    permission_mode: PermissionMode | None = None
    allowed_tools: list[str] | None = Field(None, description="As Bash(git *).")
    disallowed_tools: list[str] | None = None
    max_messages: int | None = Field(None, ge=0, le=_MOST_MESSAGES)
    include_system_messages: bool | None = None
    timeout_ms: float | None = Field(None, gt=0, allow_inf_nan=False)
    max_budget_usd: float | None = Field(None, gt=0, allow_inf_nan=False)
    fork: bool = Field(default=False, description="Branch off from sessionId.")


class ClaudeCodeQuery(LongArguments):
    """Arguments of `claude_code_query`."""

    prompt: str = Field(max_length=_LONGEST_PROMPT)
    parts: Parts | None = Field(None, description="As for `chat`.")
    session_id: str | None = Field(None, max_length=100, description="Go on with this session.")
    options: AgentOptions | None = None


class AgentAnswer(Result):
    """Result of `claude_code_query`."""

    session_id: str
    messages: list[Any]
    message_count: int
    truncated: bool
    execution_time: int
    usage: Any = None
    result: Any = None

    @override
    def text(self) -> str:
        """Return what the agent said at the end, then what it took."""
        return "\n\n".join(filter(None, [self.result["summary"], *_remarks(self), _line(self)]))


def claude_code_query(
    agent: Agent, policy: Policy, files: Files, most_bytes: int
) -> Tool[ClaudeCodeQuery]:
    """Return the tool that hands work to Claude Code."""

    async def run(arguments: ClaudeCodeQuery, call: Call) -> AgentAnswer:
        message = await message_of(arguments.prompt, arguments.parts, files)
        wanted = arguments.options or AgentOptions()
        options = policy.options(_wishes(wanted))
        order = Order(
            owner=call.caller,
            content=_content(message),
            session=_session(arguments.session_id),
            fork=wanted.fork,
            moves=wanted.cwd is not None,
        )
        if order.fork and not order.session:
            raise InvalidInputError("fork: there must be a sessionId to branch off from.")
        try:
            bundle = await agent.run(order, options, _Voice(call, most_bytes))
        except JuntoError as error:
            if "messages" in error.facts:
                error.facts = fitted(error.facts, most_bytes)
            raise
        return _answer(bundle.facts(), most_bytes)

    return Tool(
        name="claude_code_query",
        title="Claude Code",
        description=(
            "Have Claude Code do work: it edits files, runs commands, searches. While it runs, "
            "`job` sends it messages."
        ),
        group=Group.AGENT,
        arguments=ClaudeCodeQuery,
        result=AgentAnswer,
        run=run,
        hints=Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
        long=True,
    )


@dataclass(frozen=True, slots=True)
class _Voice:
    """What a run says goes to its job; what it wants to know, to the client."""

    call: Call
    most_bytes: int

    @property
    def _job(self) -> Running:
        return self.call.work

    def notes(self, note: str) -> None:
        self._job.notes(note)

    def says(self, words: str) -> None:
        self._job.says(words)

    def tells(self, facts: Mapping[str, Any]) -> None:
        self._job.tells(facts)

    def uses(self, usage: Mapping[str, Any]) -> None:
        if usage:
            self._job.uses(usage)

    def keeps(self, facts: Mapping[str, Any]) -> None:
        self._job.keeps(_answer(facts, self.most_bytes).wire(failed=True))

    async def permits(self, question: str) -> Permission:
        if not can_choose(self.call):
            return Permission.NOBODY
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return Permission(await chosen(self.call, question))
        except (MCPError, ValidationError, ValueError, TimeoutError):
            return Permission.DENIED

    def listens(self, take: Callable[[str], None] | None) -> None:
        self._job.listens(take)


def _wishes(options: AgentOptions) -> dict[AgentOption, Any]:
    given = options.model_dump(by_alias=True, exclude_none=True, exclude={"fork"})
    return {
        AgentOption(name): tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
    }


def _session(given: str | None) -> str | None:
    """Return the id of a session, however it was copied."""
    id_ = (given or "").strip(_QUOTES).lower()
    if id_ and not _UUID.fullmatch(id_):
        raise InvalidInputError("sessionId: this is no id of a session; it looks like a UUID.")
    return id_ or None


def _content(message: Message) -> Content:
    """Return what the user says as Claude Code takes it."""
    content: Content = []
    for part in message.parts:
        match part:
            case Text(text):
                content.append({"type": "text", "text": text})
            case Image(mime_type, data) | Document(mime_type, data):
                kind = "image" if isinstance(part, Image) else "document"
                encoded = base64.b64encode(data).decode()
                source = {"type": "base64", "media_type": mime_type, "data": encoded}
                content.append({"type": kind, "source": source})
    return content


def fitted(facts: Mapping[str, Any], most_bytes: int) -> dict[str, Any]:
    """Return the facts of a run with as many of the last messages as there is room for."""
    messages, room = [], most_bytes // 2
    for message in reversed(facts.get("messages", ())):
        whole = len(json.dumps(message)) <= room
        told = message if whole else shortened(message, str, _SHORT)
        room -= len(json.dumps(told))
        if room < 0:
            break
        messages.append(told)
    cut = len(messages) < facts.get("messageCount", 0)
    return {**facts, "messages": messages[::-1], "truncated": cut}


def _answer(facts: Mapping[str, Any], most_bytes: int) -> AgentAnswer:
    return AgentAnswer.model_validate(fitted(facts, most_bytes))


def _remarks(answer: AgentAnswer) -> list[str]:
    result, remarks = answer.result, []
    if denied := result.get("denied"):
        remarks.append(f"Not allowed, because nobody agreed: {'; '.join(denied)}.")
    if error := result.get("error"):
        remarks.append(str(error))
    return remarks


def _line(answer: AgentAnswer) -> str:
    usage = answer.usage or {}
    cost = f", ${usage['costUsd']:.4f}" if "costUsd" in usage else ""
    return (
        f"[session {answer.session_id}, {usage.get('turns', 0)} turns, "
        f"{answer.execution_time / 1000:.1f} s{cost}]"
    )
