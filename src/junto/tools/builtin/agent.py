"""The tool `claude_code_query`, which runs Claude Code."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from pydantic import Field, ValidationError
from typing_extensions import override

from junto.agent.run import AgentRequest, ContentBlocks, Permission
from junto.agent.run_state import redact_and_truncate
from junto.domain.errors import InvalidInputError, JuntoError
from junto.domain.messages import DocumentPart, ImagePart, Message, TextPart
from junto.jobs.handle import JobHandle
from junto.settings.enums import AgentOption, PermissionMode, ToolAccess
from junto.tools.base import Arguments, LongRunningArguments, Result
from junto.tools.client_requests import can_elicit, elicit_permission
from junto.tools.content_parts import FileReader, Parts, build_message
from junto.tools.services import ToolServices
from junto.tools.tool import CallContext, Group, Hints, Tool

if TYPE_CHECKING:
    from junto.agent.options import RunPolicy
    from junto.agent.service import AgentService

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_MAX_PROMPT_CHARS = 1_000_000
_MAX_MESSAGES = 100_000
# A user who does not answer must not block other runs.
_PERMISSION_TIMEOUT_SECONDS = 120.0
# Maximum length of each text in a message that does not fit into the reply unshortened.
_MAX_SHORTENED_CHARS = 500
_QUOTES = "\"'` \t\r\n"


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    if agent := services.build_agent():
        max_reply_bytes = services.settings.jobs.reply_bytes
        yield build_claude_code_query_tool(
            agent.service, agent.policy, services.attachments, max_reply_bytes
        )


class AgentOptions(Arguments):
    """Options of `claude_code_query`."""

    cwd: str | None = Field(None, description="Working directory, in an allowed folder.")
    max_turns: int | None = Field(None, ge=1, description="Maximum number of turns.")
    model: str | None = Field(None, description="Claude model.")
    append_system_prompt: str | None = Field(
        None, max_length=_MAX_PROMPT_CHARS, description="Addition to the system prompt."
    )
    permission_mode: PermissionMode | None = Field(None, description="What it may do unasked.")
    allowed_tools: list[str] | None = Field(
        None, description="Tools to use unasked, such as Bash(git *)."
    )
    disallowed_tools: list[str] | None = Field(None, description="Tools not to use.")
    max_messages: int | None = Field(
        None, ge=0, le=_MAX_MESSAGES, description="How many of the last messages to return."
    )
    include_system_messages: bool | None = Field(None, description="Return system messages, too.")
    timeout_ms: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Time limit in milliseconds."
    )
    max_budget_usd: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Maximum cost in US dollars."
    )
    fork: bool = Field(default=False, description="Continue on a fork of the session.")


class ClaudeCodeQueryArguments(LongRunningArguments):
    """Arguments of `claude_code_query`."""

    prompt: str = Field(max_length=_MAX_PROMPT_CHARS, description="The task.")
    parts: Parts | None = Field(None, description="Attachments, as for `chat`.")
    session_id: str | None = Field(None, max_length=100, description="Session to continue.")
    options: AgentOptions | None = Field(None, description="Options of this run.")


class ClaudeCodeQueryResult(Result):
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
        """Return the final summary, remarks, and a line with session, turns, time and cost."""
        return "\n\n".join(
            filter(None, [self.result["summary"], *_format_remarks(self), _format_summary(self)])
        )


def build_claude_code_query_tool(
    agent: "AgentService", policy: "RunPolicy", files: FileReader, max_reply_bytes: int
) -> Tool[ClaudeCodeQueryArguments]:
    """Build the `claude_code_query` tool."""

    async def run(arguments: ClaudeCodeQueryArguments, call: CallContext) -> ClaudeCodeQueryResult:
        message = await build_message(arguments.prompt, arguments.parts, files)
        requested = arguments.options or AgentOptions()
        options = policy.resolve_options(_collect_overrides(requested))
        request = AgentRequest(
            owner=call.caller,
            content=_build_content(message),
            session_id=_parse_session_id(arguments.session_id),
            fork=requested.fork,
            overrides_cwd=requested.cwd is not None,
        )
        if request.fork and not request.session_id:
            raise InvalidInputError("fork: there must be a sessionId to branch off from.")
        try:
            result = await agent.run(request, options, _JobRunListener(call, max_reply_bytes))
        except JuntoError as error:
            if "messages" in error.details:
                error.details = _truncate_messages(error.details, max_reply_bytes)
            raise
        return _build_result(result.to_dict(), max_reply_bytes)

    return Tool(
        name="claude_code_query",
        title="Claude Code",
        description=(
            "Let Claude Code work on a task in a folder: it edits files and runs commands. Use "
            "`query` for mere questions. Returns a summary and the messages of the run; while it "
            "runs, `job` can send it further messages. "
            f"{_describe_defaults(policy)}"
        ),
        group=Group.AGENT,
        arguments=ClaudeCodeQueryArguments,
        result=ClaudeCodeQueryResult,
        run=run,
        hints=Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
        access=ToolAccess.ALL,
        is_long_running=True,
        instructions="claude_code_query lets Claude Code work on a task in a folder.",
        for_models=False,
    )


def _describe_defaults(policy: "RunPolicy") -> str:
    defaults = policy.defaults
    model = defaults.model or "Claude Code's own"
    return f"Defaults: cwd {defaults.cwd}, model {model}, mode {defaults.permission_mode}."


@dataclass(frozen=True, slots=True)
class _JobRunListener:
    """Forwards the output of a run to its job, and its permission requests to the client."""

    call: CallContext
    max_reply_bytes: int

    @property
    def _job(self) -> JobHandle:
        return self.call.job_handle

    def on_status(self, status: str) -> None:
        self._job.set_status(status)

    def on_text(self, text: str) -> None:
        self._job.add_text(text)

    def on_message(self, message: Mapping[str, Any]) -> None:
        self._job.add_message(message)

    def on_usage(self, usage: Mapping[str, Any]) -> None:
        if usage:
            self._job.set_usage(usage)

    def on_partial(self, result: Mapping[str, Any]) -> None:
        self._job.set_partial_result(
            _build_result(result, self.max_reply_bytes).to_wire(is_error=True)
        )

    async def ask_permission(self, question: str) -> Permission:
        if not can_elicit(self.call):
            return Permission.UNAVAILABLE
        try:
            async with asyncio.timeout(_PERMISSION_TIMEOUT_SECONDS):
                return Permission(await elicit_permission(self.call, question))
        except (MCPError, ValidationError, ValueError, TimeoutError):
            return Permission.DENIED

    def set_inbox(self, inbox: Callable[[str], None] | None) -> None:
        self._job.set_inbox(inbox)


def _collect_overrides(options: AgentOptions) -> dict[AgentOption, Any]:
    values = options.model_dump(by_alias=True, exclude_none=True, exclude={"fork"})
    return {
        AgentOption(name): tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
    }


def _parse_session_id(session_id: str | None) -> str | None:
    """Return the normalized session id; quotes, whitespace and upper case are accepted."""
    id_ = (session_id or "").strip(_QUOTES).lower()
    if id_ and not _UUID.fullmatch(id_):
        raise InvalidInputError("sessionId: this is no id of a session; it looks like a UUID.")
    return id_ or None


def _build_content(message: Message) -> ContentBlocks:
    """Return the user's message as content blocks of the Anthropic API."""
    content: ContentBlocks = []
    for part in message.parts:
        match part:
            case TextPart(text):
                content.append({"type": "text", "text": text})
            case ImagePart(mime_type, data) | DocumentPart(mime_type, data):
                kind = "image" if isinstance(part, ImagePart) else "document"
                encoded = base64.b64encode(data).decode()
                source = {"type": "base64", "media_type": mime_type, "data": encoded}
                content.append({"type": kind, "source": source})
    return content


def _truncate_messages(facts: Mapping[str, Any], max_bytes: int) -> dict[str, Any]:
    """Return the fields of a run with as many of its last messages as fit.

    The messages may take up half of `max_bytes`.
    """
    messages, bytes_left = [], max_bytes // 2
    for message in reversed(facts.get("messages", ())):
        fits = len(json.dumps(message)) <= bytes_left
        shown = message if fits else redact_and_truncate(message, str, _MAX_SHORTENED_CHARS)
        bytes_left -= len(json.dumps(shown))
        if bytes_left < 0:
            break
        messages.append(shown)
    truncated = len(messages) < facts.get("messageCount", 0)
    return {**facts, "messages": messages[::-1], "truncated": truncated}


def _build_result(facts: Mapping[str, Any], max_bytes: int) -> ClaudeCodeQueryResult:
    return ClaudeCodeQueryResult.model_validate(_truncate_messages(facts, max_bytes))


def _format_remarks(answer: ClaudeCodeQueryResult) -> list[str]:
    result, remarks = answer.result, []
    if denied := result.get("denied"):
        remarks.append(f"Not allowed, because nobody agreed: {'; '.join(denied)}.")
    if error := result.get("error"):
        remarks.append(str(error))
    return remarks


def _format_summary(answer: ClaudeCodeQueryResult) -> str:
    usage = answer.usage or {}
    cost = f", ${usage['costUsd']:.4f}" if "costUsd" in usage else ""
    return (
        f"[session {answer.session_id}, {usage.get('turns', 0)} turns, "
        f"{answer.execution_time / 1000:.1f} s{cost}]"
    )
