"""The dialect of OpenAI's chat completions, which most of the world speaks by now."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
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

_STOPS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
}


@dataclass(frozen=True, slots=True)
class OpenAiCodec:
    """Speaks chat completions, to whichever `provider`."""

    provider: str = "openai"
    # OpenAI and Azure have renamed it; the compatible servers have not.
    length_field: str = "max_tokens"

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of a streamed request."""
        body: Json = {
            "model": question.model,
            "messages": list(_messages(question)),
            self.length_field: question.max_tokens,
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
        return body | _reasoning(question, capabilities)

    def fold(self, question: Question) -> "OpenAiFold":
        """Return a new fold for the answer to `question`."""
        return OpenAiFold(provider=self.provider, model=question.model)

    def error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the failure that a status other than 200 stands for."""
        try:
            message = _said(json.loads(body))
        except (ValueError, RecursionError):
            message = ""
        return failure(self.provider, status, message, retry_after)


def _said(body: Any) -> str:
    """Return the sentence in an error, which every server puts somewhere else."""
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else ""


def _reasoning(question: Question, capabilities: Capabilities) -> Json:
    if question.reasoning and capabilities.reasoning is ReasoningStyle.EFFORT:
        return {"reasoning_effort": question.reasoning.value}
    if question.reasoning and capabilities.reasoning is ReasoningStyle.NESTED:
        return {"reasoning": {"effort": question.reasoning.value}}
    return {}


def _messages(question: Question) -> Iterator[Json]:
    if question.system:
        yield {"role": "system", "content": question.system}
    for message in question.messages:
        if message.role is Role.ASSISTANT:
            yield _assistant(message)
        else:
            yield from _user(message)


def _assistant(message: Message) -> Json:
    turn: Json = {"role": "assistant", "content": message.text or None}
    if message.tool_calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    sealed = [p.sealed for p in message.parts if isinstance(p, Thinking) and p.sealed]
    if sealed:
        turn["reasoning_details"] = [detail for seal in sealed for detail in json.loads(seal)]
    return turn


def _user(message: Message) -> Iterator[Json]:
    """Yield what tools gave as messages of their own, then what the user said."""
    pictures: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            words = "".join(piece.text for piece in part.content if isinstance(piece, Text))
            content = f"Error: {words}" if part.is_error else words
            yield {"role": "tool", "tool_call_id": part.call_id, "content": content}
            pictures += [piece for piece in part.content if isinstance(piece, Image)]
    said = [part for part in message.parts if not isinstance(part, ToolResult)]
    parts = [*pictures, *said]
    if all(isinstance(part, Text) for part in parts):
        if parts:
            yield {"role": "user", "content": message.text}
    else:
        yield {"role": "user", "content": [_piece(part) for part in parts]}


def _piece(part: Part) -> Json:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(mime_type, data):
            return {"type": "image_url", "image_url": {"url": _data_url(mime_type, data)}}
        case Document(mime_type, data, title):
            file = {"filename": title or "document", "file_data": _data_url(mime_type, data)}
            return {"type": "file", "file": file}
        case _:
            raise ValueError(f"a user does not say {type(part).__name__}")


def _data_url(mime_type: str, data: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


@dataclass(slots=True)
class _Call:
    """A tool call that is still arriving."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def made(self) -> ToolCall:
        return ToolCall(self.id, self.name, tool_arguments("".join(self.arguments) or "{}"))


@dataclass(slots=True)
class OpenAiFold:
    """Folds the chunks of one stream."""

    provider: str
    model: str
    _text: list[str] = field(default_factory=list)
    _thinking: list[str] = field(default_factory=list)
    _details: list[Any] = field(default_factory=list)
    _calls: dict[int, _Call] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)
    _stop: str | None = None
    _refused: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Return what is new for the listener."""
        if error := event.get("error"):
            code = error.get("code") if isinstance(error, Mapping) else None
            status = code if isinstance(code, int) else 500
            raise failure(self.provider, status, _said(dict(event)))
        self.model = str(event.get("model") or self.model)
        if usage := event.get("usage"):
            self._usage = _usage(usage)
        for choice in event.get("choices") or ():
            yield from self._delta(choice.get("delta") or {})
            self._stop = choice.get("finish_reason") or self._stop

    def ended(self) -> Iterable[Event]:
        """Return what is left to tell when the stream has ended."""
        answer = self._answer()
        return [*(ToolCallMade(call) for call in answer.message.tool_calls), Finished(answer)]

    def _answer(self) -> Answer:
        if self._stop is None:
            raise NetworkError(f"The answer of {self.provider} broke off before its end.")
        parts = tuple(self._parts())
        stop = _STOPS.get(self._stop, StopReason.END)
        if self._refused:
            stop = StopReason.REFUSAL
        elif self._calls and stop is StopReason.END:
            stop = StopReason.TOOL_USE  # some servers say "stop" although they ask for a tool
        if not parts and stop not in (StopReason.REFUSAL, StopReason.LENGTH):
            raise ModelError(f"{self.provider} sent an answer with nothing in it.", retryable=True)
        return Answer(
            message=Message(Role.ASSISTANT, parts), stop=stop, usage=self._usage, model=self.model
        )

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        if details := delta.get("reasoning_details"):
            self._details += details
        if thought := delta.get("reasoning") or delta.get("reasoning_content"):
            self._thinking.append(thought)
            yield ThinkingDelta(thought)
        if refusal := delta.get("refusal"):
            self._refused = True
            self._text.append(refusal)
            yield TextDelta(refusal)
        if text := delta.get("content"):
            self._text.append(text)
            yield TextDelta(text)
        for piece in delta.get("tool_calls") or ():
            call = self._calls.setdefault(int(piece.get("index", len(self._calls))), _Call())
            call.id = piece.get("id") or call.id
            function = piece.get("function") or {}
            call.name = function.get("name") or call.name
            call.arguments.append(function.get("arguments") or "")

    def _parts(self) -> Iterator[Part]:
        if self._thinking or self._details:
            sealed = json.dumps(self._details) if self._details else None
            yield Thinking("".join(self._thinking), sealed=sealed)
        if text := "".join(self._text):
            yield Text(text)
        for call in self._calls.values():
            yield call.made()


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("prompt_tokens_details") or {}
    wrote = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=counted(usage.get("prompt_tokens")),
        output_tokens=counted(usage.get("completion_tokens")),
        cache_read_tokens=counted(read.get("cached_tokens")),
        reasoning_tokens=counted(wrote.get("reasoning_tokens")),
    )
