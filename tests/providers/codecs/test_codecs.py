"""Both dialects: what is sent equals what the official SDKs send; what comes is folded right."""

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

from junto.domain.errors import ModelError, NetworkError
from junto.domain.messages import (
    Document,
    Image,
    Message,
    Part,
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
    ToolSpec,
)
from junto.providers.dialects.anthropic import AnthropicCodec
from junto.providers.dialects.folding import Codec
from junto.providers.dialects.openai import OpenAiCodec
from tests.upstream import anthropic_events, openai_events

PNG = b"\x89PNG..."
PDF = b"%PDF-1.7"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather", SCHEMA)
CALL = ToolCall("c1", "weather", {"city": "Taipei"})
RICH = Question(
    model="some-model",
    max_tokens=2000,
    system="Be brief.",
    messages=(
        Message.user("Look", Image("image/png", PNG), Document("application/pdf", PDF, "a.pdf")),
        Message.assistant("Let me see.", CALL),
        Message.user(ToolResult("c1", (Text("sunny"),))),
        Message.assistant("It is sunny."),
        Message.user("Thanks"),
    ),
    tools=(WEATHER,),
)


def sent_by_anthropic(**arguments: Any) -> dict[str, Any]:
    """Return the body that the official SDK posts for these arguments."""
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(500)

    client = anthropic.Anthropic(
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
    )
    with client, pytest.raises(anthropic.APIStatusError):
        client.messages.create(stream=True, **arguments)
    return bodies[0]


def sent_by_openai(**arguments: Any) -> dict[str, Any]:
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(500)

    client = openai.OpenAI(
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
    )
    with client, pytest.raises(openai.APIStatusError):
        client.chat.completions.create(
            stream=True, stream_options={"include_usage": True}, **arguments
        )
    return bodies[0]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.feature("F085", "F086", "F087", "F093", "F094", "F095", "F096", "F097")
def test_a_question_to_claude_is_what_the_official_sdk_sends() -> None:
    ours = AnthropicCodec().encode(RICH, Capabilities())

    theirs = sent_by_anthropic(
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


def test_a_question_in_openais_dialect_is_what_the_official_sdk_sends() -> None:
    ours = OpenAiCodec().encode(RICH, Capabilities())

    theirs = sent_by_openai(
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
PLAIN = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


def test_thinking_and_schemas_are_asked_of_claude_as_the_sdk_does() -> None:
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
        "messages": PLAIN,
        "cache_control": {"type": "ephemeral"},
    }
    assert adaptive == sent_by_anthropic(
        thinking={"type": "adaptive"}, output_config={"effort": "high", "format": schema}, **common
    )
    assert budget == sent_by_anthropic(
        thinking={"type": "enabled", "budget_tokens": 3200},
        output_config={"format": schema},
        **common,
    )


def test_thinking_schemas_and_seeds_are_asked_of_openai_as_the_sdk_does() -> None:
    question = Question(
        model="m", messages=HI, reasoning=Effort.LOW, schema=SCHEMA, seed=7, temperature=0.5
    )
    codec = OpenAiCodec(length_field="max_completion_tokens")

    ours = codec.encode(question, Capabilities(reasoning=ReasoningStyle.EFFORT))
    routed = codec.encode(question, Capabilities(reasoning=ReasoningStyle.NESTED))

    schema = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert ours == sent_by_openai(
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
def test_what_a_model_does_not_take_is_not_sent(codec: Codec) -> None:
    question = Question(model="m", messages=HI, temperature=1, schema=SCHEMA, reasoning=Effort.HIGH)

    body = codec.encode(question, Capabilities(temperature=False, schema=False))

    assert set(body) <= {"model", "messages", "max_tokens", "stream", "stream_options"}


def test_too_short_an_answer_leaves_no_budget_for_thinking() -> None:
    question = Question(model="m", messages=HI, max_tokens=1000, reasoning=Effort.HIGH)

    body = AnthropicCodec().encode(question, Capabilities(reasoning=ReasoningStyle.BUDGET))

    assert "thinking" not in body


def test_thoughts_go_back_to_claude_as_they_came() -> None:
    thoughts = Message.assistant(Thinking("hm", "sig"), Thinking(sealed="xyz"), "Yes.")

    body = AnthropicCodec().encode(Question(model="m", messages=(thoughts,)), Capabilities())

    assert body["messages"][0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "Yes."},
    ]


def test_what_tools_show_goes_to_openai_after_what_they_say() -> None:
    shown = Message.user(
        ToolResult("c1", (Text("see"), Image("image/png", PNG))),
        ToolResult("c2", (Text("no such city"),), is_error=True),
        "Well?",
    )

    body = OpenAiCodec().encode(Question(model="m", messages=(shown,)), Capabilities())

    tool1, tool2, user = body["messages"]
    assert tool1 == {"role": "tool", "tool_call_id": "c1", "content": "see"}
    assert tool2["content"] == "Error: no such city"
    assert [piece["type"] for piece in user["content"]] == ["image_url", "text"]


def folded(codec: Codec, events: Sequence[Any]) -> tuple[list[Event], Answer]:
    fold = codec.fold(Question(model="asked", messages=HI))
    seen = [event for data in events if isinstance(data, dict) for event in fold.feed(data)]
    *rest, last = fold.ended()
    assert isinstance(last, Finished)
    return [*seen, *rest], last.answer


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": d} for d in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_claude_thinks_speaks_and_asks_for_a_tool() -> None:
    start, *_, delta, stop = anthropic_events(stop_reason="tool_use")
    start["message"]["usage"] = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    }
    delta["usage"] = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    events = [
        start,
        *block(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "s1"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "xyz"}),
        *block(2, {"type": "text", "text": "Let "}, {"type": "text_delta", "text": "me."}),
        *block(3, {"type": "server_tool_use", "id": "x"}),
        *block(
            4,
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"city": '},
            {"type": "input_json_delta", "partial_json": '"Taipei"}'},
        ),
        {"type": "something_new"},
        delta,
        stop,
    ]

    seen, answer = folded(AnthropicCodec(), events)

    assert seen == [
        ThinkingDelta("hm"),
        TextDelta("Let "),
        TextDelta("me."),
        ToolCallMade(CALL),
    ]
    assert answer.message == Message.assistant(
        Thinking("hm", "s1"), Thinking(sealed="xyz"), "Let me.", CALL
    )
    assert answer.stop is StopReason.TOOL_USE
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (123, 100, 20)
    assert (usage.output_tokens, usage.reasoning_tokens) == (9, 4)


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_openais_dialect_thinks_speaks_and_asks_for_tools(name: str) -> None:
    details = [{"type": "reasoning.encrypted", "data": "xyz"}]
    first = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"city":'}}
    events = [
        chunk(**{name: "hm"}, reasoning_details=details),
        chunk(content="Let me."),
        chunk(tool_calls=[first]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ' "Taipei"}'}}]),
        chunk(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "now"}}]),
        chunk("stop"),
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

    seen, answer = folded(OpenAiCodec(), events)

    now = ToolCall("c2", "now", {})
    assert seen == [
        ThinkingDelta("hm"),
        TextDelta("Let me."),
        ToolCallMade(CALL),
        ToolCallMade(now),
    ]
    thought = Thinking("hm", sealed=json.dumps(details))
    assert answer.message == Message.assistant(thought, "Let me.", CALL, now)
    assert answer.stop is StopReason.TOOL_USE
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.reasoning_tokens) == (50, 40, 4)
    again = OpenAiCodec().encode(Question(model="m", messages=(answer.message,)), Capabilities())
    assert again["messages"][0]["reasoning_details"] == details


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("end_turn", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.PAUSE),
        ("model_context_window_exceeded", StopReason.CONTEXT_FULL),
        ("something_new", StopReason.END),
    ],
)
def test_claude_says_why_it_stops(said: str, meant: StopReason) -> None:
    _, answer = folded(AnthropicCodec(), anthropic_events("x", stop_reason=said))

    assert answer.stop is meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", StopReason.END),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.REFUSAL),
        ("something_new", StopReason.END),
    ],
)
def test_openais_dialect_says_why_it_stops(said: str, meant: StopReason) -> None:
    _, answer = folded(OpenAiCodec(), openai_events("x", finish=said))

    assert answer.stop is meant


def test_a_refusal_is_an_answer() -> None:
    _, spoken = folded(OpenAiCodec(), [chunk(refusal="I will not."), chunk("stop")])
    _, silent = folded(AnthropicCodec(), anthropic_events(stop_reason="refusal"))

    assert (spoken.stop, spoken.message.text) == (StopReason.REFUSAL, "I will not.")
    assert (silent.stop, silent.message.parts) == (StopReason.REFUSAL, ())


def test_an_empty_answer_is_no_answer() -> None:
    with pytest.raises(ModelError, match="nothing in it"):
        folded(OpenAiCodec(), openai_events())
    with pytest.raises(ModelError, match="nothing in it"):
        folded(AnthropicCodec(), anthropic_events(stop_reason="max_tokens"))


@pytest.mark.parametrize("arguments", ["{half", "[1]", "5", "[" * 100_000])
def test_arguments_that_are_no_object_go_on_so_that_the_tool_refuses_them(arguments: str) -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}
    start = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": arguments}

    first, *_, ended, stop = anthropic_events(stop_reason="tool_use")
    _, one = folded(OpenAiCodec(), [chunk(tool_calls=[piece]), chunk("tool_calls")])
    _, two = folded(AnthropicCodec(), [first, *block(0, start, delta), ended, stop])

    expected = ToolCall("c", "f", {"invalid": arguments[:1000]})
    assert one.message.tool_calls == two.message.tool_calls == (expected,)


def test_an_answer_without_its_end_is_cut() -> None:
    for codec, events in (
        (AnthropicCodec(), anthropic_events("x")[:-1]),
        (OpenAiCodec(), openai_events("x")[:1]),
    ):
        with pytest.raises(NetworkError, match="broke off"):
            folded(codec, events)


words = st.text(min_size=1, max_size=30)


@given(st.lists(words, min_size=1, max_size=8))
def test_whatever_is_said_is_heard(texts: list[str]) -> None:
    for codec, events in (
        (AnthropicCodec(), anthropic_events(*texts)),
        (OpenAiCodec(), openai_events(*texts)),
    ):
        seen, answer = folded(codec, events)

        assert [event.text for event in seen if isinstance(event, TextDelta)] == texts
        assert answer.message.text == "".join(texts)


parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, words),
    st.builds(Thinking, words, words),
    st.builds(
        ToolCall,
        words,
        words,
        st.dictionaries(words, st.integers() | words | st.none(), max_size=3),
    ),
)


@given(st.lists(parts, min_size=1, max_size=6))
def test_what_claude_said_can_be_said_back_to_it(said: list[Part]) -> None:
    events: list[Any] = anthropic_events()[:1]
    for index, part in enumerate(said):
        match part:
            case Text(text):
                events += block(index, {"type": "text"}, {"type": "text_delta", "text": text})
            case Thinking(text, signature):
                events += block(
                    index,
                    {"type": "thinking"},
                    {"type": "thinking_delta", "thinking": text},
                    {"type": "signature_delta", "signature": signature},
                )
            case ToolCall(call_id, name, arguments):
                events += block(
                    index,
                    {"type": "tool_use", "id": call_id, "name": name},
                    {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
                )
    _, answer = folded(AnthropicCodec(), [*events, *anthropic_events()[-2:]])

    assert answer.message.parts == tuple(said)
    body = AnthropicCodec().encode(Question(model="m", messages=(answer.message,)), Capabilities())
    kinds = {"text": Text, "thinking": Thinking, "tool_use": ToolCall}
    assert [kinds[b["type"]] for b in body["messages"][0]["content"]] == [type(p) for p in said]
