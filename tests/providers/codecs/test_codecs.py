"""Both codecs: requests equal those of the official SDKs, and responses are decoded correctly."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    ToolSpec,
)
from junto.domain.errors import ModelError, NetworkError
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from junto.domain.models import Capabilities, ReasoningStyle
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.codec import Codec
from junto.providers.codecs.openai import OpenAiCodec
from tests.scripted_model_server import anthropic_events, openai_events

PNG = b"\x89PNG..."
PDF = b"%PDF-1.7"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather", SCHEMA)
CALL = ToolCall("c1", "weather", {"city": "Taipei"})
FULL_QUESTION = Question(
    model="some-model",
    max_tokens=2000,
    system="Be brief.",
    messages=(
        Message.user(
            "Look", ImagePart("image/png", PNG), DocumentPart("application/pdf", PDF, "a.pdf")
        ),
        Message.assistant("Let me see.", CALL),
        Message.user(ToolResult("c1", (TextPart("sunny"),))),
        Message.assistant("It is sunny."),
        Message.user("Thanks"),
    ),
    tools=(WEATHER,),
)


def capture_anthropic_body(**arguments: Any) -> dict[str, Any]:
    """Return the body that the official SDK posts for these arguments."""
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(500)

    client = anthropic.Anthropic(
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(respond)),
    )
    with client, pytest.raises(anthropic.APIStatusError):
        client.messages.create(stream=True, **arguments)
    return bodies[0]


def capture_openai_body(**arguments: Any) -> dict[str, Any]:
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(500)

    client = openai.OpenAI(
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(respond)),
    )
    with client, pytest.raises(openai.APIStatusError):
        client.chat.completions.create(
            stream=True, stream_options={"include_usage": True}, **arguments
        )
    return bodies[0]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.feature("F085", "F086", "F087", "F093", "F094", "F095", "F096", "F097")
def test_an_anthropic_request_equals_that_of_the_official_sdk() -> None:
    ours = AnthropicCodec().encode(FULL_QUESTION, Capabilities())

    theirs = capture_anthropic_body(
        model="some-model",
        max_tokens=2000,
        system="Be brief.",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": b64(PNG)},
                    },
                    {
                        "type": "document",
                        "title": "a.pdf",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": b64(PDF),
                        },
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see."},
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": "weather",
                        "input": {"city": "Taipei"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "sunny"}],
                        "is_error": False,
                    }
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It is sunny."}]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
        ],
        tools=[{"name": "weather", "description": "The weather", "input_schema": SCHEMA}],
    )
    assert json.loads(json.dumps(ours)) == theirs


def test_an_openai_request_equals_that_of_the_official_sdk() -> None:
    ours = OpenAiCodec().encode(FULL_QUESTION, Capabilities())

    theirs = capture_openai_body(
        model="some-model",
        max_tokens=2000,
        messages=[
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{b64(PNG)}"},
                    },
                    {
                        "type": "file",
                        "file": {
                            "filename": "a.pdf",
                            "file_data": f"data:application/pdf;base64,{b64(PDF)}",
                        },
                    },
                ],
            },
            {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"city": "Taipei"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {"role": "assistant", "content": "It is sunny."},
            {"role": "user", "content": "Thanks"},
        ],
        tools=[
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "The weather",
                    "parameters": SCHEMA,
                },
            }
        ],
    )
    assert json.loads(json.dumps(ours)) == theirs


HI = (Message.user("Hi"),)
ANTHROPIC_HI = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


def test_anthropic_thinking_and_schemas_are_encoded_like_the_sdk() -> None:
    question = Question(
        model="m",
        messages=HI,
        max_tokens=4000,
        reasoning=Effort.HIGH,
        schema=SCHEMA,
        cache_prompt=True,
    )

    adaptive = AnthropicCodec().encode(question, Capabilities(reasoning=ReasoningStyle.ADAPTIVE))
    budget = AnthropicCodec().encode(question, Capabilities(reasoning=ReasoningStyle.BUDGET))

    schema: Any = {"type": "json_schema", "schema": SCHEMA}
    common: Any = {
        "model": "m",
        "max_tokens": 4000,
        "messages": ANTHROPIC_HI,
        "cache_control": {"type": "ephemeral"},
    }
    assert adaptive == capture_anthropic_body(
        thinking={"type": "adaptive"}, output_config={"effort": "high", "format": schema}, **common
    )
    assert budget == capture_anthropic_body(
        thinking={"type": "enabled", "budget_tokens": 3200},
        output_config={"format": schema},
        **common,
    )


def test_openai_reasoning_schemas_and_seeds_are_encoded_like_the_sdk() -> None:
    question = Question(
        model="m", messages=HI, reasoning=Effort.LOW, schema=SCHEMA, seed=7, temperature=0.5
    )
    codec = OpenAiCodec(max_tokens_field="max_completion_tokens")

    ours = codec.encode(question, Capabilities(reasoning=ReasoningStyle.EFFORT))
    routed = codec.encode(question, Capabilities(reasoning=ReasoningStyle.NESTED))

    schema = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert ours == capture_openai_body(
        model="m",
        messages=[{"role": "user", "content": "Hi"}],
        max_completion_tokens=4096,
        reasoning_effort="low",
        response_format={"type": "json_schema", "json_schema": schema},
        seed=7,
        temperature=0.5,
    )
    assert routed["reasoning"] == {"effort": "low"}
    assert "reasoning_effort" not in routed


@pytest.mark.parametrize("codec", [AnthropicCodec(), OpenAiCodec()], ids=["anthropic", "openai"])
def test_options_that_a_model_does_not_support_are_not_sent(codec: Codec) -> None:
    question = Question(model="m", messages=HI, temperature=1, schema=SCHEMA, reasoning=Effort.HIGH)

    body = codec.encode(question, Capabilities(temperature=False, schema=False))

    assert set(body) <= {"model", "messages", "max_tokens", "stream", "stream_options"}


def test_a_low_token_limit_leaves_no_budget_for_thinking() -> None:
    question = Question(model="m", messages=HI, max_tokens=1000, reasoning=Effort.HIGH)

    body = AnthropicCodec().encode(question, Capabilities(reasoning=ReasoningStyle.BUDGET))

    assert "thinking" not in body


def test_thinking_is_sent_back_to_claude_unchanged() -> None:
    message = Message.assistant(
        ThinkingPart("hm", "sig"), ThinkingPart(encrypted_content="xyz"), "Yes."
    )

    body = AnthropicCodec().encode(Question(model="m", messages=(message,)), Capabilities())

    assert body["messages"][0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "Yes."},
    ]


def test_images_from_tools_are_sent_to_openai_after_the_tool_messages() -> None:
    message = Message.user(
        ToolResult("c1", (TextPart("see"), ImagePart("image/png", PNG))),
        ToolResult("c2", (TextPart("no such city"),), is_error=True),
        "Well?",
    )

    body = OpenAiCodec().encode(Question(model="m", messages=(message,)), Capabilities())

    tool1, tool2, user = body["messages"]
    assert tool1 == {"role": "tool", "tool_call_id": "c1", "content": "see"}
    assert tool2["content"] == "Error: no such city"
    assert [part["type"] for part in user["content"]] == ["image_url", "text"]


def decode(codec: Codec, events: Sequence[Any]) -> tuple[list[Event], Answer]:
    decoder = codec.create_decoder(Question(model="asked", messages=HI))
    decoded = [event for data in events if isinstance(data, dict) for event in decoder.feed(data)]
    *rest, last = decoder.finish()
    assert isinstance(last, AnswerEvent)
    return [*decoded, *rest], last.answer


def build_block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": d} for d in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_anthropic_thinking_text_and_tool_calls_are_decoded() -> None:
    start, *_, delta, stop = anthropic_events(stop_reason="tool_use")
    start["message"]["usage"] = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    }
    delta["usage"] = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    events = [
        start,
        *build_block(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "s1"},
        ),
        *build_block(1, {"type": "redacted_thinking", "data": "xyz"}),
        *build_block(2, {"type": "text", "text": "Let "}, {"type": "text_delta", "text": "me."}),
        *build_block(3, {"type": "server_tool_use", "id": "x"}),
        *build_block(
            4,
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"city": '},
            {"type": "input_json_delta", "partial_json": '"Taipei"}'},
        ),
        {"type": "something_new"},
        delta,
        stop,
    ]

    decoded, answer = decode(AnthropicCodec(), events)

    assert decoded == [
        ThinkingDelta("hm"),
        TextDelta("Let "),
        TextDelta("me."),
        ToolCallEvent(CALL),
    ]
    assert answer.message == Message.assistant(
        ThinkingPart("hm", "s1"), ThinkingPart(encrypted_content="xyz"), "Let me.", CALL
    )
    assert answer.stop_reason is StopReason.TOOL_USE
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (123, 100, 20)
    assert (usage.output_tokens, usage.reasoning_tokens) == (9, 4)


def build_chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_openai_reasoning_text_and_tool_calls_are_decoded(name: str) -> None:
    details = [{"type": "reasoning.encrypted", "data": "xyz"}]
    first = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"city":'}}
    events = [
        build_chunk(**{name: "hm"}, reasoning_details=details),
        build_chunk(content="Let me."),
        build_chunk(tool_calls=[first]),
        build_chunk(tool_calls=[{"index": 0, "function": {"arguments": ' "Taipei"}'}}]),
        build_chunk(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "now"}}]),
        build_chunk("stop"),
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 50,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
        },
    ]

    decoded, answer = decode(OpenAiCodec(), events)

    now = ToolCall("c2", "now", {})
    assert decoded == [
        ThinkingDelta("hm"),
        TextDelta("Let me."),
        ToolCallEvent(CALL),
        ToolCallEvent(now),
    ]
    thinking = ThinkingPart("hm", encrypted_content=json.dumps(details))
    assert answer.message == Message.assistant(thinking, "Let me.", CALL, now)
    assert answer.stop_reason is StopReason.TOOL_USE
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.reasoning_tokens) == (50, 40, 4)
    reencoded = OpenAiCodec().encode(
        Question(model="m", messages=(answer.message,)), Capabilities()
    )
    assert reencoded["messages"][0]["reasoning_details"] == details


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.PAUSE),
        ("model_context_window_exceeded", StopReason.CONTEXT_FULL),
        ("something_new", StopReason.END),
    ],
)
def test_anthropic_stop_reasons_are_mapped(reason: str, expected: StopReason) -> None:
    _, answer = decode(AnthropicCodec(), anthropic_events("x", stop_reason=reason))

    assert answer.stop_reason is expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
        ("something_new", StopReason.END),
    ],
)
def test_openai_finish_reasons_are_mapped(reason: str, expected: StopReason) -> None:
    _, answer = decode(OpenAiCodec(), openai_events("x", finish=reason))

    assert answer.stop_reason is expected


def test_a_refusal_is_an_answer() -> None:
    _, openai_answer = decode(
        OpenAiCodec(), [build_chunk(refusal="I will not."), build_chunk("stop")]
    )
    _, anthropic_answer = decode(AnthropicCodec(), anthropic_events(stop_reason="refusal"))

    assert (openai_answer.stop_reason, openai_answer.message.text) == (
        StopReason.REFUSAL,
        "I will not.",
    )
    assert (anthropic_answer.stop_reason, anthropic_answer.message.parts) == (
        StopReason.REFUSAL,
        (),
    )


def test_an_empty_answer_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="nothing in it"):
        decode(OpenAiCodec(), openai_events())
    with pytest.raises(ModelError, match="nothing in it"):
        decode(AnthropicCodec(), anthropic_events(stop_reason="max_tokens"))


@pytest.mark.parametrize("arguments", ["{half", "[1]", "5", "[" * 100_000])
def test_invalid_tool_arguments_are_passed_on_for_the_tool_to_reject(arguments: str) -> None:
    tool_call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}
    start = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": arguments}

    message_start, *_, message_delta, message_stop = anthropic_events(stop_reason="tool_use")
    _, openai_answer = decode(
        OpenAiCodec(), [build_chunk(tool_calls=[tool_call]), build_chunk("tool_calls")]
    )
    _, anthropic_answer = decode(
        AnthropicCodec(),
        [message_start, *build_block(0, start, delta), message_delta, message_stop],
    )

    expected = ToolCall("c", "f", {"invalid": arguments[:1000]})
    assert openai_answer.message.tool_calls == anthropic_answer.message.tool_calls == (expected,)


def test_an_answer_without_its_final_event_is_a_network_error() -> None:
    for codec, events in (
        (AnthropicCodec(), anthropic_events("x")[:-1]),
        (OpenAiCodec(), openai_events("x")[:1]),
    ):
        with pytest.raises(NetworkError, match="broke off"):
            decode(codec, events)


words = st.text(min_size=1, max_size=30)


@given(st.lists(words, min_size=1, max_size=8))
def test_every_text_delta_is_decoded(texts: list[str]) -> None:
    for codec, events in (
        (AnthropicCodec(), anthropic_events(*texts)),
        (OpenAiCodec(), openai_events(*texts)),
    ):
        decoded, answer = decode(codec, events)

        assert [event.text for event in decoded if isinstance(event, TextDelta)] == texts
        assert answer.message.text == "".join(texts)


parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, words),
    st.builds(ThinkingPart, words, words),
    st.builds(
        ToolCall,
        words,
        words,
        st.dictionaries(words, st.integers() | words | st.none(), max_size=3),
    ),
)


@given(st.lists(parts, min_size=1, max_size=6))
def test_a_decoded_claude_message_can_be_encoded_again(message_parts: list[Part]) -> None:
    events: list[Any] = anthropic_events()[:1]
    for index, part in enumerate(message_parts):
        match part:
            case TextPart(text):
                events += build_block(index, {"type": "text"}, {"type": "text_delta", "text": text})
            case ThinkingPart(text, signature):
                events += build_block(
                    index,
                    {"type": "thinking"},
                    {"type": "thinking_delta", "thinking": text},
                    {"type": "signature_delta", "signature": signature},
                )
            case ToolCall(call_id, name, arguments):
                events += build_block(
                    index,
                    {"type": "tool_use", "id": call_id, "name": name},
                    {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
                )
    _, answer = decode(AnthropicCodec(), [*events, *anthropic_events()[-2:]])

    assert answer.message.parts == tuple(message_parts)
    body = AnthropicCodec().encode(Question(model="m", messages=(answer.message,)), Capabilities())
    kinds = {"text": TextPart, "thinking": ThinkingPart, "tool_use": ToolCall}
    assert [kinds[b["type"]] for b in body["messages"][0]["content"]] == [
        type(p) for p in message_parts
    ]
