"""Junto's codecs, wire and retries against emulators whose authors have never seen Junto."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    InvalidInputError,
    JuntoError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.messages import Message, Text, Thinking, ToolCall, ToolResult
from junto.domain.models import Capabilities
from junto.domain.questions import Answer, Question, StopReason, ToolSpec, Usage
from junto.providers.dialects.anthropic import AnthropicCodec
from junto.providers.dialects.folding import Codec
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.pipeline.retry import Retrying
from junto.providers.provider import Provider, ask
from junto.providers.wiring.adapter import Adapter
from junto.providers.wiring.wire import Endpoint, Patience, Wire
from tests.clients import Json
from tests.providers.strangers import AIMOCK, LLMOCK, Llmock, aimock

KEY = "not-a-key-but-long-enough-to-be-one"
PATIENT = Patience()
WEATHER = ToolSpec("get_weather", "Tells the weather", {"type": "object", "properties": {}})
CALLS = (
    ToolCall("call_1", "get_weather", {"city": "Zürich", "days": [1, 2]}),
    ToolCall("call_2", "get_time", {}),
)

needs_aimock = pytest.mark.skipif(not AIMOCK.exists(), reason="npm has not been there")
needs_llmock = pytest.mark.skipif(not LLMOCK.exists(), reason="llmock is not installed")


def question(text: str, model: str = "o3", **more: Any) -> Question:
    return Question(model=model, messages=(Message.user(text),), max_tokens=500, **more)


@contextlib.asynccontextmanager
async def connected(
    codec: Codec, url: str, key: str = KEY, patience: Patience = PATIENT
) -> AsyncIterator[Adapter]:
    headers = {"authorization": f"Bearer {key}"}
    if isinstance(codec, AnthropicCodec):
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    async with Wire.opened() as wire:
        endpoint = Endpoint(provider="stranger", url=url, headers=headers)
        yield Adapter(codec, endpoint, Capabilities(), wire, patience)


# aimock: what it says is written down beforehand, and it reads what we send to choose among it.

FIXTURES: list[Json] = [
    {
        "match": {"toolCallId": "call_2", "toolResultContains": "noon"},
        "response": {"content": "Sunny at noon."},
    },
    {"match": {"systemMessage": "a pirate"}, "response": {"content": "Arr!"}},
    {
        "match": {"toolName": "get_weather"},
        "response": {
            "toolCalls": [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in CALLS
            ]
        },
    },
    {
        "match": {"userMessage": "greet"},
        "response": {
            "content": "Grüße from a stranger, in more than one piece.",
            "model": "m-2026",
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        },
    },
    {
        "match": {"userMessage": "think"},
        "response": {
            "content": "Forty-two.",
            "reasoning": "Six times seven, I suppose.",
            "reasoningSignature": "signed",
        },
    },
    {
        "match": {"userMessage": "go on"},
        "response": {"content": "And so on and", "finishReason": "length"},
    },
    {
        "match": {"userMessage": "hurry"},
        "response": {
            "error": {"message": "Slow down.", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 3,
        },
    },
    {
        "match": {"userMessage": "break off"},
        "response": {"content": "This is cut somewhere in the middle, before its end."},
        "truncateAfterChunks": 4,
    },
    *(
        {"match": {"userMessage": rate}, "response": {"content": "No."}, "chaos": {rate: 1}}
        for rate in ("dropRate", "malformedRate", "disconnectRate")
    ),
]
# Ollama's own path speaks another dialect; its compatible one is that of OpenAI.
AIMOCK_PATHS: dict[str, tuple[Codec, str]] = {
    "anthropic": (AnthropicCodec(), "/v1/messages"),
    "openai": (OpenAiCodec(length_field="max_completion_tokens"), "/v1/chat/completions"),
    "azure": (
        OpenAiCodec("azure", length_field="max_completion_tokens"),
        "/openai/deployments/o3/chat/completions?api-version=2024-10-21",
    ),
    "openrouter": (OpenAiCodec("openrouter"), "/api/v1/chat/completions"),
    "gemini": (OpenAiCodec("gemini"), "/v1beta/openai/chat/completions"),
}
every_path = pytest.mark.parametrize("path", AIMOCK_PATHS)


@pytest.fixture(scope="module")
def aimock_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock"), KEY, FIXTURES) as url:
        yield url


async def aimock_answer(url: str, path: str, asked: Question, key: str = KEY) -> Answer:
    codec, where = AIMOCK_PATHS[path]
    async with connected(codec, url + where, key) as adapter:
        return await ask(adapter, asked)


@needs_aimock
@every_path
async def test_aimock_answers_in_words(aimock_url: str, path: str) -> None:
    answer = await aimock_answer(aimock_url, path, question("Please greet me"))

    assert answer == Answer(
        message=Message.assistant("Grüße from a stranger, in more than one piece."),
        stop=StopReason.END,
        usage=Usage(input_tokens=11, output_tokens=7),
        model="m-2026",
    )


@needs_aimock
@every_path
async def test_aimock_asks_for_tools_and_understands_their_results(
    aimock_url: str, path: str
) -> None:
    asked = question("How is the weather?", tools=(WEATHER,))
    answer = await aimock_answer(aimock_url, path, asked)

    results = [ToolResult(call.id, (Text("warm at noon"),)) for call in CALLS]
    turns = (*asked.messages, answer.message, Message.user(*results))
    last = await aimock_answer(aimock_url, path, replace(asked, messages=turns))

    assert answer.message == Message.assistant(*CALLS)
    assert answer.stop is StopReason.TOOL_USE
    assert last.message == Message.assistant("Sunny at noon.")
    assert last.stop is StopReason.END


@needs_aimock
@every_path
async def test_aimock_thinks_before_it_speaks(aimock_url: str, path: str) -> None:
    answer = await aimock_answer(aimock_url, path, question("Please think", "claude-opus-4-8"))

    signature = "signed" if path == "anthropic" else None
    assert answer.message == Message.assistant(
        Thinking("Six times seven, I suppose.", signature), "Forty-two."
    )


@needs_aimock
@every_path
async def test_aimock_hears_the_system_prompt(aimock_url: str, path: str) -> None:
    answer = await aimock_answer(aimock_url, path, question("Hello", system="You are a pirate."))

    assert answer.message == Message.assistant("Arr!")


@needs_aimock
@every_path
async def test_aimock_stops_at_the_length_it_was_given(aimock_url: str, path: str) -> None:
    answer = await aimock_answer(aimock_url, path, question("Please go on"))

    assert answer.message == Message.assistant("And so on and")
    assert answer.stop is StopReason.LENGTH


@needs_aimock
@every_path
async def test_aimock_refuses_who_is_too_fast_and_says_how_long(aimock_url: str, path: str) -> None:
    with pytest.raises(RateLimitedError, match=r"Slow down\.") as caught:
        await aimock_answer(aimock_url, path, question("Please hurry"))

    assert caught.value.retry_after == 3


@needs_aimock
@every_path
async def test_aimock_refuses_a_wrong_key(aimock_url: str, path: str) -> None:
    with pytest.raises(AuthenticationError):
        await aimock_answer(aimock_url, path, question("Please greet me"), key="wrong")


@needs_aimock
@every_path
async def test_aimock_refuses_what_it_does_not_know(aimock_url: str, path: str) -> None:
    with pytest.raises(NotFoundError):
        await aimock_answer(aimock_url, path, question("Something else"))


@needs_aimock
@every_path
@pytest.mark.parametrize("how", ["break off", "dropRate", "malformedRate", "disconnectRate"])
async def test_aimock_failing_is_no_answer(aimock_url: str, path: str, how: str) -> None:
    with pytest.raises(NetworkError):
        await aimock_answer(aimock_url, path, question(f"Please {how}"))


# llmock: it echoes what it was asked, breaks as it is told to, and judges how its client took it.

WORDS = "these are the words that come back one by one"
ECHO = f"Hello! You said: {WORDS}"
PIECES = len(ECHO.split())
# How many events an echo takes: what is before its words, they themselves, and what is after.
ANTHROPIC_EVENTS = 3 + PIECES + 3
OPENAI_EVENTS = 1 + PIECES + 3
BOTH: dict[str, tuple[Codec, str]] = {
    "anthropic": (AnthropicCodec(), "/anthropic/v1/messages"),
    "openai": (OpenAiCodec(), "/v1/chat/completions"),
}
COMPATIBLE = {
    name: f"/{name}/v1/chat/completions"
    for name in ("mistral", "together", "perplexity", "ai21", "xai", "groq/openai")
}
both = pytest.mark.parametrize("dialect", BOTH)


@pytest.fixture(scope="module")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llmock]:
    with Llmock.started(tmp_path_factory.mktemp("llmock"), "--context-window", "1000") as server:
        yield server


@contextlib.asynccontextmanager
async def both_dialects(server: Llmock, retries: int) -> AsyncIterator[dict[str, Provider]]:
    """Connect in both dialects, waiting exactly as long as the server asks before each retry."""
    async with contextlib.AsyncExitStack() as stack:
        adapters = {
            dialect: await stack.enter_async_context(connected(codec, server.url + path))
            for dialect, (codec, path) in BOTH.items()
        }
        yield {
            dialect: Retrying(adapter, retries, wait=lambda _: 0.0)
            for dialect, adapter in adapters.items()
        }


async def outcome(provider: Provider, asked: Question) -> Answer | JuntoError:
    try:
        return await ask(provider, asked)
    except JuntoError as error:
        return error


async def insisting(provider: Provider, asked: Question) -> Answer:
    """Ask once more when an answer broke off so late that retrying is up to the caller."""
    answer = await outcome(provider, asked)
    if isinstance(answer, JuntoError):
        assert answer.retryable, answer
        return await ask(provider, asked)
    return answer


def only_for(model: str, what: str, **how: Any) -> Json:
    return {"type": what, "match": {"model": model}, **how}


def is_whole(answer: Answer, text: str = ECHO) -> bool:
    return (
        answer.message == Message.assistant(text)
        and answer.stop is StopReason.END
        and answer.usage.input_tokens > 0
        and answer.usage.output_tokens > 0
    )


@needs_llmock
async def test_whatever_breaks_at_random_an_answer_is_whole_or_an_error(tmp_path: Path) -> None:
    flags = ["--error-rate", "529=0.3"]
    flags += ["--stream-fault", "disconnect=0.1", "--stream-fault", "malformed=0.1"]
    texts = {f"{n}": f"number {n} of many, in a sentence of some length" for n in range(30)}

    with Llmock.started(tmp_path, *flags) as server:
        async with both_dialects(server, retries=3) as providers:
            calls = [(p, question(texts[n], n)) for p in providers.values() for n in texts]
            outcomes = await asyncio.gather(*(outcome(*call) for call in calls))
        report = server.report("--json")

    answers = [
        (f"Hello! You said: {texts[asked.model]}", answer)
        for (_, asked), answer in zip(calls, outcomes, strict=True)
        if isinstance(answer, Answer)
    ]
    assert answers
    assert [answer for text, answer in answers if not is_whole(answer, text)] == []
    assert all(each.retryable for each in outcomes if isinstance(each, JuntoError))
    assert report.returncode == 0, report.stdout
    assert json.loads(report.stdout)["faults_injected"] > 0


@needs_llmock
@pytest.mark.parametrize(
    ("kind", "openai_events", "flags"),
    [
        ("disconnect", OPENAI_EVENTS, ["--strict"]),
        # The last two events come after the end was said; see the next test.
        ("truncate", OPENAI_EVENTS - 2, ["--strict"]),
        # Not strict: whether it sees us hang up depends on how fast it has written the rest.
        ("malformed", OPENAI_EVENTS, []),
    ],
    ids=["disconnect", "truncate", "malformed"],
)
async def test_wherever_a_stream_breaks_it_is_noticed_and_asked_again(
    llmock: Llmock, kind: str, openai_events: int, flags: list[str]
) -> None:
    places = {"anthropic": range(ANTHROPIC_EVENTS), "openai": range(openai_events)}
    models = {f"{dialect}-{n}": (dialect, n) for dialect in places for n in places[dialect]}
    llmock.will(
        *(only_for(m, "stream_fault", kind=kind, after_chunks=n) for m, (_, n) in models.items())
    )

    async with both_dialects(llmock, retries=1) as providers:
        answers = await asyncio.gather(
            *(insisting(providers[models[m][0]], question(WORDS, m)) for m in models)
        )

    assert [answer.model for answer in answers if not is_whole(answer)] == []
    assert llmock.attempts() == dict.fromkeys(models, 2)
    report = llmock.report(*flags)
    assert report.returncode == 0, report.stdout


@needs_llmock
async def test_an_answer_that_said_its_end_is_whole_without_a_farewell(llmock: Llmock) -> None:
    last = OPENAI_EVENTS - 1
    llmock.will(only_for("m", "stream_fault", kind="truncate", after_chunks=last))

    async with both_dialects(llmock, retries=0) as providers:
        answer = await ask(providers["openai"], question(WORDS, "m"))

    assert is_whole(answer)


@needs_llmock
@both
async def test_a_stream_that_stands_still_is_given_up(llmock: Llmock, dialect: str) -> None:
    llmock.will(only_for("m", "stream_fault", kind="stall", after_chunks=5, stall_seconds=30))
    codec, path = BOTH[dialect]

    async with connected(codec, llmock.url + path, patience=Patience(read=0.5)) as adapter:
        with pytest.raises(TimeLimitError):
            await ask(adapter, question(WORDS, "m"))


@needs_llmock
async def test_a_wait_that_was_asked_for_is_waited(llmock: Llmock) -> None:
    statuses = (408, 429, 500, 502, 503, 504, 529)
    models = {f"{dialect}-{status}": (dialect, status) for dialect in BOTH for status in statuses}
    llmock.will(
        *(only_for(m, "fail", status=s, retry_after=1) for m, (_, s) in models.items()),
    )

    async with both_dialects(llmock, retries=1) as providers:
        answers = await asyncio.gather(
            *(ask(providers[models[m][0]], question(WORDS, m)) for m in models)
        )

    assert all(is_whole(answer) for answer in answers)
    assert llmock.attempts() == dict.fromkeys(models, 2)
    report = llmock.report("--strict")
    assert report.returncode == 0, report.stdout


@needs_llmock
async def test_what_no_retry_can_mend_is_asked_once(llmock: Llmock) -> None:
    kinds: dict[int, type[JuntoError]] = {
        400: InvalidInputError,
        401: AuthenticationError,
        403: AuthenticationError,
        404: NotFoundError,
        422: InvalidInputError,
    }
    models = {f"{dialect}-{status}": (dialect, status) for dialect in BOTH for status in kinds}
    llmock.will(*(only_for(m, "fail", status=status) for m, (_, status) in models.items()))

    async with both_dialects(llmock, retries=3) as providers:
        outcomes = {
            model: await outcome(providers[dialect], question(WORDS, model))
            for model, (dialect, _) in models.items()
        }

    assert {m: type(o) for m, o in outcomes.items()} == {
        m: kinds[s] for m, (_, s) in models.items()
    }
    assert llmock.attempts() == dict.fromkeys(models, 1)
    report = llmock.report("--strict")
    assert report.returncode == 0, report.stdout


@needs_llmock
@both
async def test_more_than_the_window_holds_is_called_so(llmock: Llmock, dialect: str) -> None:
    async with both_dialects(llmock, retries=3) as providers:
        with pytest.raises(ContextOverflowError):
            await ask(providers[dialect], question("word " * 5000))


@needs_llmock
@both
async def test_a_tool_call_in_fragments_arrives_whole_or_as_one_that_no_tool_takes(
    llmock: Llmock, dialect: str
) -> None:
    arguments = {"city": "Zürich", "days": [1, 2, 3], "units": {"wind": "km/h"}}
    called = {"name": "get_weather", "arguments": arguments}
    llmock.will(
        only_for("right", "reply", text="Let me see.", tool_calls=[called]),
        only_for("broken", "reply", tool_calls=[called]),
        only_for("broken", "tool_fault", kind="malformed_arguments"),
    )

    async with both_dialects(llmock, retries=0) as providers:
        right = await ask(providers[dialect], question(WORDS, "right", tools=(WEATHER,)))
        broken = await outcome(providers[dialect], question(WORDS, "broken", tools=(WEATHER,)))

    (call,) = right.message.tool_calls
    assert (call.name, call.arguments) == ("get_weather", arguments)
    assert right.message.text == "Let me see."
    assert right.stop is StopReason.TOOL_USE
    assert isinstance(broken, Answer)
    assert set(broken.message.tool_calls[0].arguments) == {"invalid"}


@needs_llmock
@pytest.mark.parametrize("name", COMPATIBLE)
async def test_others_who_speak_like_openai_are_understood(llmock: Llmock, name: str) -> None:
    llmock.will(only_for("refused", "fail", status=400, message="No such luck."))

    async with connected(OpenAiCodec(), llmock.url + COMPATIBLE[name]) as adapter:
        answer = await ask(adapter, question(WORDS))
        refusal = await outcome(adapter, question(WORDS, "refused"))

    assert is_whole(answer)
    assert isinstance(refusal, InvalidInputError)
    assert "No such luck." in refusal.message
