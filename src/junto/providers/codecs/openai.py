"""The codec for OpenAI's chat completions API, which most other providers support as well."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from junto.domain.completions import (
    Answer,
    AnswerEvent,
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

# More than any model sends; the rest would only fill the memory.
_MAX_DETAILS, _MAX_TOOL_CALLS = 10_000, 256
_STOP_REASONS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
}


@dataclass(frozen=True, slots=True)
class OpenAiCodec:
    """A codec for chat completions; `provider` is the name used in error messages."""

    provider: str = "openai"
    # OpenAI and Azure renamed this field; compatible servers did not.
    max_tokens_field: str = "max_tokens"

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of a streaming request."""
        body: Json = {
            "model": question.model,
            "messages": list(_encode_messages(question)),
            self.max_tokens_field: question.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if question.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.input_schema,
                    },
                }
                for tool in question.tools
            ]
        if question.temperature is not None and capabilities.temperature:
            body["temperature"] = question.temperature
        if question.seed is not None:
            body["seed"] = question.seed
        if question.schema is not None and capabilities.schema:
            schema = {"name": "answer", "schema": question.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | _encode_reasoning(question, capabilities)

    def create_decoder(self, question: Question) -> "OpenAiStreamDecoder":
        """Return a new decoder for the answer to `question`."""
        return OpenAiStreamDecoder(provider=self.provider, model=question.model)

    def decode_error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the error for a response with a status other than 200."""
        try:
            message = _extract_error_message(json.loads(body))
        except (ValueError, RecursionError):
            message = ""
        return error_from_status(self.provider, status, message, retry_after)


def _extract_error_message(body: Any) -> str:
    """Return the message of an error, which servers put in different places."""
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else ""


def _encode_reasoning(question: Question, capabilities: Capabilities) -> Json:
    if question.reasoning and capabilities.reasoning is ReasoningStyle.EFFORT:
        return {"reasoning_effort": question.reasoning.value}
    if question.reasoning and capabilities.reasoning is ReasoningStyle.NESTED:
        return {"reasoning": {"effort": question.reasoning.value}}
    return {}


def _encode_messages(question: Question) -> Iterator[Json]:
    if question.system:
        yield {"role": "system", "content": question.system}
    for message in question.messages:
        if message.role is Role.ASSISTANT:
            yield _encode_assistant(message)
        else:
            yield from _encode_user(message)


def _encode_assistant(message: Message) -> Json:
    encoded: Json = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        encoded["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    encrypted = [
        part.encrypted_content
        for part in message.parts
        if isinstance(part, ThinkingPart) and part.encrypted_content
    ]
    if encrypted:
        encoded["reasoning_details"] = [
            detail for details in encrypted for detail in json.loads(details)
        ]
    return encoded


def _encode_user(message: Message) -> Iterator[Json]:
    """Yield each tool result as a message of its own, then the user's message."""
    # A tool message can hold only text, so images from tools go into the user's message.
    images: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            text = "".join(piece.text for piece in part.content if isinstance(piece, TextPart))
            content = f"Error: {text}" if part.is_error else text
            yield {"role": "tool", "tool_call_id": part.call_id, "content": content}
            images += [piece for piece in part.content if isinstance(piece, ImagePart)]
    user_parts = [part for part in message.parts if not isinstance(part, ToolResult)]
    parts = [*images, *user_parts]
    if all(isinstance(part, TextPart) for part in parts):
        if parts:
            yield {"role": "user", "content": message.text}
    else:
        yield {"role": "user", "content": [_encode_part(part) for part in parts]}


def _encode_part(part: Part) -> Json:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ImagePart(mime_type, data):
            return {"type": "image_url", "image_url": {"url": _build_data_url(mime_type, data)}}
        case DocumentPart(mime_type, data, title):
            file = {"filename": title or "document", "file_data": _build_data_url(mime_type, data)}
            return {"type": "file", "file": file}
        case _:
            raise ValueError(f"a user does not say {type(part).__name__}")


def _build_data_url(mime_type: str, data: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


@dataclass(slots=True)
class _PartialToolCall:
    """A tool call that is still being received."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def build_tool_call(self) -> ToolCall:
        return ToolCall(self.id, self.name, parse_tool_arguments("".join(self.arguments) or "{}"))


@dataclass(slots=True)
class OpenAiStreamDecoder:
    """A decoder for the chunks of one stream."""

    provider: str
    model: str
    _text: list[str] = field(default_factory=list)
    _thinking: list[str] = field(default_factory=list)
    _reasoning_details: list[Any] = field(default_factory=list)
    _tool_calls: dict[int, _PartialToolCall] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)
    _finish_reason: str | None = None
    _is_refusal: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Decode one chunk."""
        if error := event.get("error"):
            code = error.get("code") if isinstance(error, Mapping) else None
            status = code if isinstance(code, int) else 500
            raise error_from_status(self.provider, status, _extract_error_message(dict(event)))
        self.model = str(event.get("model") or self.model)
        if usage := event.get("usage"):
            self._usage = _decode_usage(usage)
        for choice in event.get("choices") or ():
            yield from self._decode_delta(choice.get("delta") or {})
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def finish(self) -> Iterable[Event]:
        """Return the tool calls and the answer when the stream has ended."""
        answer = self._build_answer()
        return [*(ToolCallEvent(call) for call in answer.message.tool_calls), AnswerEvent(answer)]

    def _build_answer(self) -> Answer:
        if self._finish_reason is None:
            raise NetworkError(f"The answer of {self.provider} broke off before its end.")
        parts = tuple(self._iter_parts())
        stop_reason = _STOP_REASONS.get(self._finish_reason, StopReason.END)
        if self._is_refusal:
            stop_reason = StopReason.REFUSAL
        elif self._tool_calls and stop_reason is StopReason.END:
            stop_reason = StopReason.TOOL_USE  # some servers report "stop" with tool calls
        if not parts and stop_reason not in (StopReason.REFUSAL, StopReason.LENGTH):
            raise ModelError(f"{self.provider} sent an answer with nothing in it.", retryable=True)
        return Answer(
            message=Message(Role.ASSISTANT, parts),
            stop_reason=stop_reason,
            usage=self._usage,
            model=self.model,
        )

    def _decode_delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        if details := delta.get("reasoning_details"):
            self._reasoning_details += details[: _MAX_DETAILS - len(self._reasoning_details)]
        if thinking := delta.get("reasoning") or delta.get("reasoning_content"):
            self._thinking.append(require_text(thinking))
            yield ThinkingDelta(thinking)
        if refusal := delta.get("refusal"):
            self._is_refusal = True
            self._text.append(require_text(refusal))
            yield TextDelta(refusal)
        if text := delta.get("content"):
            self._text.append(require_text(text))
            yield TextDelta(text)
        for call_delta in delta.get("tool_calls") or ():
            call = self._tool_calls.setdefault(
                int(call_delta.get("index", len(self._tool_calls))), _PartialToolCall()
            )
            if len(self._tool_calls) > _MAX_TOOL_CALLS:
                raise ValueError("too many tool calls")
            call.id = call_delta.get("id") or call.id
            function = call_delta.get("function") or {}
            call.name = function.get("name") or call.name
            call.arguments.append(function.get("arguments") or "")

    def _iter_parts(self) -> Iterator[Part]:
        if self._thinking or self._reasoning_details:
            encrypted = json.dumps(self._reasoning_details) if self._reasoning_details else None
            yield ThinkingPart("".join(self._thinking), encrypted_content=encrypted)
        if text := "".join(self._text):
            yield TextPart(text)
        for call in self._tool_calls.values():
            yield call.build_tool_call()


def _decode_usage(usage: Mapping[str, Any]) -> Usage:
    input_details = usage.get("prompt_tokens_details") or {}
    output_details = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=clamp_token_count(usage.get("prompt_tokens")),
        output_tokens=clamp_token_count(usage.get("completion_tokens")),
        cache_read_tokens=clamp_token_count(input_details.get("cached_tokens")),
        reasoning_tokens=clamp_token_count(output_details.get("reasoning_tokens")),
    )
