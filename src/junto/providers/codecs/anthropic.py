"""The dialect of Anthropic's Messages API: a question to JSON, events to an answer."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.domain.errors import JuntoError, ModelError, NetworkError
from junto.domain.messages import (
    Document,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from junto.domain.models import Capabilities, ReasoningStyle
from junto.domain.questions import (
    Answer,
    Effort,
    Event,
    Finished,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallMade,
    Usage,
    counted,
)
from junto.providers.dialects.failures import failure
from junto.providers.dialects.folding import Json, tool_arguments

_CACHE = {"type": "ephemeral"}
# A model that counts its thoughts gets this share of the answer for them, at least 1,024 tokens.
_BUDGET = {Effort.LOW: 0.2, Effort.MEDIUM: 0.5, Effort.HIGH: 0.8}
_LEAST_BUDGET = 1024

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_FULL,
}
# The kinds of errors that may come inside a stream that began with status 200.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


@dataclass(frozen=True, slots=True)
class AnthropicCodec:
    """Speaks Anthropic's Messages API, to whichever `provider`."""

    provider: str = "anthropic"

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of a streamed request."""
        body: Json = {
            "model": question.model,
            "max_tokens": question.max_tokens,
            "messages": [_message(message) for message in question.messages],
            "stream": True,
        }
        if question.system:
            body["system"] = question.system
        if question.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.input_schema}
                for t in question.tools
            ]
        if question.temperature is not None and capabilities.temperature:
            body["temperature"] = question.temperature
        if question.cache_prompt:
            body["cache_control"] = _CACHE
        return body | _reasoning(question, capabilities)

    def fold(self, question: Question) -> "AnthropicFold":
        """Return a new fold for the answer to `question`."""
        return AnthropicFold(provider=self.provider, model=question.model)

    def error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the failure that a status other than 200 stands for."""
        try:
            message = str(json.loads(body)["error"]["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            message = ""
        return failure(self.provider, status, message, retry_after)


def _reasoning(question: Question, capabilities: Capabilities) -> Json:
    output: Json = {}
    body: Json = {}
    if question.schema is not None and capabilities.schema:
        output["format"] = {"type": "json_schema", "schema": question.schema}
    if question.reasoning and capabilities.reasoning is ReasoningStyle.ADAPTIVE:
        body["thinking"] = {"type": "adaptive"}
        output["effort"] = question.reasoning.value
    elif question.reasoning and capabilities.reasoning is ReasoningStyle.BUDGET:
        share = int(question.max_tokens * _BUDGET[question.reasoning])
        budget = max(_LEAST_BUDGET, share)
        if budget < question.max_tokens:
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return body | ({"output_config": output} if output else {})


def _message(message: Message) -> Json:
    return {"role": message.role.value, "content": [_block(part) for part in message.parts]}


def _block(part: Part) -> Json:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(mime_type, data):
            return {"type": "image", "source": _base64(mime_type, data)}
        case Document(mime_type, data, title):
            named = {"title": title} if title else {}
            return {"type": "document", "source": _base64(mime_type, data), **named}
        case Thinking(sealed=str(sealed)):
            return {"type": "redacted_thinking", "data": sealed}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case ToolCall(call_id, name, arguments):
            return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
        case ToolResult(call_id, content, is_error):
            return {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": [_block(piece) for piece in content],
                "is_error": is_error,
            }


def _base64(mime_type: str, data: bytes) -> Json:
    return {"type": "base64", "media_type": mime_type, "data": base64.b64encode(data).decode()}


@dataclass(slots=True)
class _Block:
    """A content block that is still arriving."""

    kind: str
    start: Mapping[str, Any]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    def part(self) -> Part | None:
        whole = "".join(self.pieces)
        match self.kind:
            case "text":
                return Text(whole)
            case "thinking":
                return Thinking(whole, self.signature or None)
            case "redacted_thinking":
                return Thinking(sealed=str(self.start.get("data", "")))
            case "tool_use":
                return ToolCall(
                    str(self.start["id"]), str(self.start["name"]), _arguments(whole, self.start)
                )
            case _:
                return None  # a kind that we never asked for


@dataclass(slots=True)
class AnthropicFold:
    """Folds the events of one stream."""

    provider: str
    model: str
    _blocks: dict[int, _Block] = field(default_factory=dict)
    _parts: list[Part] = field(default_factory=list)
    _usage: dict[str, int] = field(default_factory=dict)
    _stop: str | None = None
    _ended: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Return what is new for the listener."""
        match event.get("type"):
            case "content_block_delta":
                return self._delta(int(event["index"]), event["delta"])
            case "content_block_start":
                return self._started(int(event["index"]), event["content_block"])
            case "content_block_stop":
                return self._stopped(int(event["index"]))
            case "message_start":
                message = event["message"]
                self.model = str(message.get("model") or self.model)
                self._count(message.get("usage"))
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._count(event.get("usage"))
            case "message_stop":
                self._ended = True
            case "error":
                raise self._error(event.get("error") or {})
        return ()

    def ended(self) -> Iterable[Event]:
        """Return what is left to tell when the stream has ended."""
        return [Finished(self._answer())]

    def _answer(self) -> Answer:
        if not self._ended:
            raise NetworkError(f"The answer of {self.provider} broke off before its end.")
        if not self._parts and self._stop not in ("refusal", "end_turn"):
            raise ModelError(f"{self.provider} sent an answer with nothing in it.", retryable=True)
        return Answer(
            message=Message(Role.ASSISTANT, tuple(self._parts)),
            stop=_STOPS.get(self._stop or "", StopReason.END),
            usage=self._total(),
            model=self.model,
        )

    def _started(self, index: int, block: Mapping[str, Any]) -> Iterable[Event]:
        kind = str(block.get("type"))
        self._blocks[index] = arriving = _Block(kind, block)
        opening = str(block.get("text") or block.get("thinking") or "")
        if not opening:
            return ()
        arriving.pieces.append(opening)
        return [TextDelta(opening) if kind == "text" else ThinkingDelta(opening)]

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterable[Event]:
        block = self._blocks[index]
        match delta.get("type"):
            case "text_delta":
                block.pieces.append(delta["text"])
                return [TextDelta(delta["text"])]
            case "thinking_delta":
                block.pieces.append(delta["thinking"])
                return [ThinkingDelta(delta["thinking"])]
            case "input_json_delta":
                block.pieces.append(delta["partial_json"])
            case "signature_delta":
                block.signature += delta["signature"]
        return ()

    def _stopped(self, index: int) -> Iterable[Event]:
        part = self._blocks.pop(index).part()
        if part is None or part == Text(""):
            return ()
        self._parts.append(part)
        return [ToolCallMade(part)] if isinstance(part, ToolCall) else ()

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        for name, value in (usage or {}).items():
            if isinstance(value, int):
                self._usage[name] = counted(value)
            elif name == "output_tokens_details" and isinstance(value, Mapping):
                self._usage["thinking_tokens"] = counted(value.get("thinking_tokens"))

    def _total(self) -> Usage:
        count = self._usage.get
        read, write = count("cache_read_input_tokens", 0), count("cache_creation_input_tokens", 0)
        return Usage(
            # Anthropic counts what was not cached apart; we count all that went in.
            input_tokens=count("input_tokens", 0) + read + write,
            output_tokens=count("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=write,
            reasoning_tokens=count("thinking_tokens", 0),
        )

    def _error(self, error: Mapping[str, Any]) -> JuntoError:
        status = _STATUSES.get(str(error.get("type")), 500)
        return failure(self.provider, status, str(error.get("message", "")))


def _arguments(text: str, start: Mapping[str, Any]) -> Mapping[str, Any]:
    if not text:
        return dict(start.get("input") or {})
    return tool_arguments(text)
