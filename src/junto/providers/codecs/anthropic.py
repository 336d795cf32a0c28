"""The codec for Anthropic's Messages API."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Effort,
    Event,
    Question,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Usage,
    clamp_token_count,
)
from junto.domain.errors import JuntoError, ModelError, NetworkError
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from junto.domain.models import Capabilities, ReasoningStyle
from junto.providers.codecs.codec import (
    Json,
    error_from_status,
    parse_tool_arguments,
    require_text,
)

_CACHE_CONTROL = {"type": "ephemeral"}
# Share of max_tokens for models that take a thinking budget. The API requires at least 1,024.
_THINKING_SHARES = {Effort.LOW: 0.2, Effort.MEDIUM: 0.5, Effort.HIGH: 0.8}
_MIN_THINKING_TOKENS = 1024

_STOP_REASONS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_FULL,
}
# Types of the errors that can occur inside a stream that started with status 200.
_STATUS_BY_ERROR_TYPE = {
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
    """A codec for the Messages API; `provider` is the name used in error messages."""

    provider: str = "anthropic"

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of a streaming request."""
        body: Json = {
            "model": question.model,
            "max_tokens": question.max_tokens,
            "messages": [_encode_message(message) for message in question.messages],
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
            body["cache_control"] = _CACHE_CONTROL
        return body | _encode_output_options(question, capabilities)

    def create_decoder(self, question: Question) -> "AnthropicStreamDecoder":
        """Return a new decoder for the answer to `question`."""
        return AnthropicStreamDecoder(provider=self.provider, model=question.model)

    def decode_error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the error for a response with a status other than 200."""
        try:
            message = str(json.loads(body)["error"]["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            message = ""
        return error_from_status(self.provider, status, message, retry_after)


def _encode_output_options(question: Question, capabilities: Capabilities) -> Json:
    output: Json = {}
    body: Json = {}
    if question.schema is not None and capabilities.schema:
        output["format"] = {"type": "json_schema", "schema": question.schema}
    if question.reasoning and capabilities.reasoning is ReasoningStyle.ADAPTIVE:
        body["thinking"] = {"type": "adaptive"}
        output["effort"] = question.reasoning.value
    elif question.reasoning and capabilities.reasoning is ReasoningStyle.BUDGET:
        share = int(question.max_tokens * _THINKING_SHARES[question.reasoning])
        budget = max(_MIN_THINKING_TOKENS, share)
        if budget < question.max_tokens:
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    return body | ({"output_config": output} if output else {})


def _encode_message(message: Message) -> Json:
    return {"role": message.role.value, "content": [_encode_block(part) for part in message.parts]}


def _encode_block(part: Part) -> Json:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ImagePart(mime_type, data):
            return {"type": "image", "source": _encode_base64(mime_type, data)}
        case DocumentPart(mime_type, data, title):
            title_field = {"title": title} if title else {}
            return {"type": "document", "source": _encode_base64(mime_type, data), **title_field}
        case ThinkingPart(encrypted_content=str(encrypted)):
            return {"type": "redacted_thinking", "data": encrypted}
        case ThinkingPart(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case ToolCall(call_id, name, arguments):
            return {"type": "tool_use", "id": call_id, "name": name, "input": dict(arguments)}
        case ToolResult(call_id, content, is_error):
            return {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": [_encode_block(piece) for piece in content],
                "is_error": is_error,
            }


def _encode_base64(mime_type: str, data: bytes) -> Json:
    return {"type": "base64", "media_type": mime_type, "data": base64.b64encode(data).decode()}


@dataclass(slots=True)
class _PartialBlock:
    """A content block that is still being received."""

    kind: str
    start: Mapping[str, Any]
    chunks: list[str] = field(default_factory=list)
    signature: str = ""

    def build_part(self) -> Part | None:
        content = "".join(self.chunks)
        match self.kind:
            case "text":
                return TextPart(content)
            case "thinking":
                return ThinkingPart(content, self.signature or None)
            case "redacted_thinking":
                return ThinkingPart(encrypted_content=str(self.start.get("data", "")))
            case "tool_use":
                return ToolCall(
                    str(self.start["id"]),
                    str(self.start["name"]),
                    _parse_block_arguments(content, self.start),
                )
            case _:
                return None  # a block type that is never requested


@dataclass(slots=True)
class AnthropicStreamDecoder:
    """A decoder for the events of one stream."""

    provider: str
    model: str
    _partial_blocks: dict[int, _PartialBlock] = field(default_factory=dict)
    _parts: list[Part] = field(default_factory=list)
    _usage: dict[str, int] = field(default_factory=dict)
    _stop_reason: str | None = None
    _is_complete: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Decode one provider event."""
        match event.get("type"):
            case "content_block_delta":
                return self._decode_delta(int(event["index"]), event["delta"])
            case "content_block_start":
                return self._start_block(int(event["index"]), event["content_block"])
            case "content_block_stop":
                return self._finish_block(int(event["index"]))
            case "message_start":
                message = event["message"]
                self.model = str(message.get("model") or self.model)
                self._record_usage(message.get("usage"))
            case "message_delta":
                self._stop_reason = event["delta"].get("stop_reason") or self._stop_reason
                self._record_usage(event.get("usage"))
            case "message_stop":
                self._is_complete = True
            case "error":
                raise self._build_error(event.get("error") or {})
        return ()

    def finish(self) -> Iterable[Event]:
        """Return the answer event when the stream has ended."""
        return [AnswerEvent(self._build_answer())]

    def _build_answer(self) -> Answer:
        if not self._is_complete:
            raise NetworkError(f"The answer of {self.provider} broke off before its end.")
        if not self._parts and self._stop_reason not in ("refusal", "end_turn"):
            raise ModelError(f"{self.provider} sent an answer with nothing in it.", retryable=True)
        return Answer(
            message=Message(Role.ASSISTANT, tuple(self._parts)),
            stop_reason=_STOP_REASONS.get(self._stop_reason or "", StopReason.END),
            usage=self._build_usage(),
            model=self.model,
        )

    def _start_block(self, index: int, block: Mapping[str, Any]) -> Iterable[Event]:
        kind = str(block.get("type"))
        self._partial_blocks[index] = partial = _PartialBlock(kind, block)
        initial_text = str(block.get("text") or block.get("thinking") or "")
        if not initial_text:
            return ()
        partial.chunks.append(initial_text)
        return [TextDelta(initial_text) if kind == "text" else ThinkingDelta(initial_text)]

    def _decode_delta(self, index: int, delta: Mapping[str, Any]) -> Iterable[Event]:
        block = self._partial_blocks[index]
        match delta.get("type"):
            case "text_delta":
                block.chunks.append(require_text(delta["text"]))
                return [TextDelta(delta["text"])]
            case "thinking_delta":
                block.chunks.append(require_text(delta["thinking"]))
                return [ThinkingDelta(delta["thinking"])]
            case "input_json_delta":
                block.chunks.append(delta["partial_json"])
            case "signature_delta":
                block.signature += delta["signature"]
        return ()

    def _finish_block(self, index: int) -> Iterable[Event]:
        part = self._partial_blocks.pop(index).build_part()
        if part is None or part == TextPart(""):
            return ()
        self._parts.append(part)
        return [ToolCallEvent(part)] if isinstance(part, ToolCall) else ()

    def _record_usage(self, usage: Mapping[str, Any] | None) -> None:
        for name, value in (usage or {}).items():
            if isinstance(value, int):
                self._usage[name] = clamp_token_count(value)
            elif name == "output_tokens_details" and isinstance(value, Mapping):
                self._usage["thinking_tokens"] = clamp_token_count(value.get("thinking_tokens"))

    def _build_usage(self) -> Usage:
        count = self._usage.get
        cache_read, cache_write = (
            count("cache_read_input_tokens", 0),
            count("cache_creation_input_tokens", 0),
        )
        return Usage(
            # Anthropic's input_tokens excludes cached tokens; ours includes them.
            input_tokens=count("input_tokens", 0) + cache_read + cache_write,
            output_tokens=count("output_tokens", 0),
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            reasoning_tokens=count("thinking_tokens", 0),
        )

    def _build_error(self, error: Mapping[str, Any]) -> JuntoError:
        status = _STATUS_BY_ERROR_TYPE.get(str(error.get("type")), 500)
        return error_from_status(self.provider, status, str(error.get("message", "")))


def _parse_block_arguments(text: str, start: Mapping[str, Any]) -> Mapping[str, Any]:
    if not text:
        return dict(start.get("input") or {})
    return parse_tool_arguments(text)
