"""Junto's codecs, HTTP client and retries against third-party emulators of model APIs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from junto.domain.completions import Answer, Question, StopReason, ToolSpec, Usage
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
from junto.domain.messages import Message, TextPart, ThinkingPart, ToolCall, ToolResult
from junto.domain.models import Capabilities
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.codec import Codec
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.client import Endpoint, HttpClient, Timeouts
from junto.providers.http.provider import HttpProvider
from junto.providers.middleware.retry import Retrying
from junto.providers.provider import Provider, ask
from tests.clients import Json
from tests.providers.compat_servers import AIMOCK, LLMOCK, Llmock, aimock

KEY = "not-a-key-but-long-enough-to-be-one"
DEFAULT_TIMEOUTS = Timeouts()
WEATHER = ToolSpec("get_weather", "Tells the weather", {"type": "object", "properties": {}})
CALLS = (
    ToolCall("call_1", "get_weather", {"city": "Zürich", "days": [1, 2]}),
    ToolCall("call_2", "get_time", {}),
)

needs_aimock = pytest.mark.skipif(not AIMOCK.exists(), reason="npm has not been there")
needs_llmock = pytest.mark.skipif(not LLMOCK.exists(), reason="llmock is not installed")


def build_question(text: str, model: str = "o3", **fields: Any) -> Question:
    return Question(model=model, messages=(Message.user(text),), max_tokens=500, **fields)


@contextlib.asynccontextmanager
async def open_provider(
    codec: Codec, url: str, key: str = KEY, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> AsyncIterator[HttpProvider]:
    headers = {"authorization": f"Bearer {key}"}
    if isinstance(codec, AnthropicCodec):
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    async with HttpClient.open() as client:
        endpoint = Endpoint(provider="stranger", url=url, headers=headers)
        yield HttpProvider(codec, endpoint, Capabilities(), client, timeouts)


# aimock replies with a fixture that matches the request.

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
# Ollama is left out: its native API uses another format, and its compatible one is OpenAI's.
AIMOCK_APIS: dict[str, tuple[Codec, str]] = {
    "anthropic": (AnthropicCodec(), "/v1/messages"),
    "openai": (OpenAiCodec(max_tokens_field="max_completion_tokens"), "/v1/chat/completions"),
    "azure": (
        OpenAiCodec("azure", max_tokens_field="max_completion_tokens"),
        "/openai/deployments/o3/chat/completions?api-version=2024-10-21",
    ),
    "openrouter": (OpenAiCodec("openrouter"), "/api/v1/chat/completions"),
    "gemini": (OpenAiCodec("gemini"), "/v1beta/openai/chat/completions"),
}
every_api = pytest.mark.parametrize("api", AIMOCK_APIS)


@pytest.fixture(scope="module")
def aimock_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock"), KEY, FIXTURES) as url:
        yield url


async def ask_aimock(url: str, api: str, question: Question, key: str = KEY) -> Answer:
    codec, path = AIMOCK_APIS[api]
    async with open_provider(codec, url + path, key) as adapter:
        return await ask(adapter, question)


@needs_aimock
@every_api
async def test_a_text_answer_from_aimock_is_decoded(aimock_url: str, api: str) -> None:
    answer = await ask_aimock(aimock_url, api, build_question("Please greet me"))

    assert answer == Answer(
        message=Message.assistant("Grüße from a stranger, in more than one piece."),
        stop_reason=StopReason.END,
        usage=Usage(input_tokens=11, output_tokens=7),
        model="m-2026",
    )


@needs_aimock
@every_api
async def test_aimock_calls_tools_and_accepts_their_results(aimock_url: str, api: str) -> None:
    question = build_question("How is the weather?", tools=(WEATHER,))
    answer = await ask_aimock(aimock_url, api, question)

    results = [ToolResult(call.id, (TextPart("warm at noon"),)) for call in CALLS]
    messages = (*question.messages, answer.message, Message.user(*results))
    final_answer = await ask_aimock(aimock_url, api, replace(question, messages=messages))

    assert answer.message == Message.assistant(*CALLS)
    assert answer.stop_reason is StopReason.TOOL_USE
    assert final_answer.message == Message.assistant("Sunny at noon.")
    assert final_answer.stop_reason is StopReason.END


@needs_aimock
@every_api
async def test_reasoning_from_aimock_precedes_the_text(aimock_url: str, api: str) -> None:
    answer = await ask_aimock(aimock_url, api, build_question("Please think", "claude-opus-4-8"))

    signature = "signed" if api == "anthropic" else None
    assert answer.message == Message.assistant(
        ThinkingPart("Six times seven, I suppose.", signature), "Forty-two."
    )


@needs_aimock
@every_api
async def test_aimock_receives_the_system_prompt(aimock_url: str, api: str) -> None:
    answer = await ask_aimock(aimock_url, api, build_question("Hello", system="You are a pirate."))

    assert answer.message == Message.assistant("Arr!")


@needs_aimock
@every_api
async def test_an_answer_cut_off_by_aimock_stops_because_of_its_length(
    aimock_url: str, api: str
) -> None:
    answer = await ask_aimock(aimock_url, api, build_question("Please go on"))

    assert answer.message == Message.assistant("And so on and")
    assert answer.stop_reason is StopReason.LENGTH


@needs_aimock
@every_api
async def test_a_rate_limit_from_aimock_carries_its_retry_after(aimock_url: str, api: str) -> None:
    with pytest.raises(RateLimitedError, match=r"Slow down\.") as caught:
        await ask_aimock(aimock_url, api, build_question("Please hurry"))

    assert caught.value.retry_after == 3


@needs_aimock
@every_api
async def test_aimock_rejects_a_wrong_key(aimock_url: str, api: str) -> None:
    with pytest.raises(AuthenticationError):
        await ask_aimock(aimock_url, api, build_question("Please greet me"), key="wrong")


@needs_aimock
@every_api
async def test_a_request_that_matches_no_fixture_is_a_not_found_error(
    aimock_url: str, api: str
) -> None:
    with pytest.raises(NotFoundError):
        await ask_aimock(aimock_url, api, build_question("Something else"))


@needs_aimock
@every_api
@pytest.mark.parametrize("fault", ["break off", "dropRate", "malformedRate", "disconnectRate"])
async def test_a_broken_response_from_aimock_is_a_network_error(
    aimock_url: str, api: str, fault: str
) -> None:
    with pytest.raises(NetworkError):
        await ask_aimock(aimock_url, api, build_question(f"Please {fault}"))


# llmock echoes the question, injects faults on request, and grades how its client handles them.

PROMPT = "these are the words that come back one by one"
ECHO = f"Hello! You said: {PROMPT}"
WORD_COUNT = len(ECHO.split())
# Number of events in an echo: those before the words, one per word, and those after.
ANTHROPIC_EVENTS = 3 + WORD_COUNT + 3
OPENAI_EVENTS = 1 + WORD_COUNT + 3
LLMOCK_APIS: dict[str, tuple[Codec, str]] = {
    "anthropic": (AnthropicCodec(), "/anthropic/v1/messages"),
    "openai": (OpenAiCodec(), "/v1/chat/completions"),
}
OPENAI_COMPATIBLE_PATHS = {
    name: f"/{name}/v1/chat/completions"
    for name in ("mistral", "together", "perplexity", "ai21", "xai", "groq/openai")
}
both_dialects = pytest.mark.parametrize("dialect", LLMOCK_APIS)


@pytest.fixture(scope="module")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llmock]:
    with Llmock.start(tmp_path_factory.mktemp("llmock"), "--context-window", "1000") as server:
        yield server


@contextlib.asynccontextmanager
async def open_providers(server: Llmock, retries: int) -> AsyncIterator[dict[str, Provider]]:
    """Connect in both dialects; retries wait exactly as long as the server asks."""
    async with contextlib.AsyncExitStack() as stack:
        adapters = {
            dialect: await stack.enter_async_context(open_provider(codec, server.url + path))
            for dialect, (codec, path) in LLMOCK_APIS.items()
        }
        yield {
            dialect: Retrying(adapter, retries, backoff=lambda _: 0.0)
            for dialect, adapter in adapters.items()
        }


async def get_outcome(provider: Provider, question: Question) -> Answer | JuntoError:
    try:
        return await ask(provider, question)
    except JuntoError as error:
        return error


async def ask_with_one_retry(provider: Provider, question: Question) -> Answer:
    """Ask again if the answer broke off so late that retrying is up to the caller."""
    result = await get_outcome(provider, question)
    if isinstance(result, JuntoError):
        assert result.retryable, result
        return await ask(provider, question)
    return result


def build_behaviour(model: str, behaviour_type: str, **options: Any) -> Json:
    return {"type": behaviour_type, "match": {"model": model}, **options}


def is_complete(answer: Answer, text: str = ECHO) -> bool:
    return (
        answer.message == Message.assistant(text)
        and answer.stop_reason is StopReason.END
        and answer.usage.input_tokens > 0
        and answer.usage.output_tokens > 0
    )


@needs_llmock
async def test_under_random_faults_an_answer_is_complete_or_a_retryable_error(
    tmp_path: Path,
) -> None:
    flags = ["--error-rate", "529=0.3"]
    flags += ["--stream-fault", "disconnect=0.1", "--stream-fault", "malformed=0.1"]
    texts = {f"{n}": f"number {n} of many, in a sentence of some length" for n in range(30)}

    with Llmock.start(tmp_path, *flags) as server:
        async with open_providers(server, retries=3) as providers:
            calls = [(p, build_question(texts[n], n)) for p in providers.values() for n in texts]
            outcomes = await asyncio.gather(*(get_outcome(*call) for call in calls))
        report = server.report("--json")

    answers = [
        (f"Hello! You said: {texts[question.model]}", answer)
        for (_, question), answer in zip(calls, outcomes, strict=True)
        if isinstance(answer, Answer)
    ]
    assert answers
    assert [answer for text, answer in answers if not is_complete(answer, text)] == []
    assert all(each.retryable for each in outcomes if isinstance(each, JuntoError))
    assert report.returncode == 0, report.stdout
    assert json.loads(report.stdout)["faults_injected"] > 0


@needs_llmock
@pytest.mark.parametrize(
    ("kind", "openai_events", "flags"),
    [
        ("disconnect", OPENAI_EVENTS, ["--strict"]),
        # The last two events follow the finish reason; see the next test.
        ("truncate", OPENAI_EVENTS - 2, ["--strict"]),
        # Not strict: whether llmock sees the disconnect depends on how fast it wrote the rest.
        ("malformed", OPENAI_EVENTS, []),
    ],
    ids=["disconnect", "truncate", "malformed"],
)
async def test_a_stream_that_breaks_at_any_event_is_detected_and_retried(
    llmock: Llmock, kind: str, openai_events: int, flags: list[str]
) -> None:
    positions = {"anthropic": range(ANTHROPIC_EVENTS), "openai": range(openai_events)}
    models = {f"{dialect}-{n}": (dialect, n) for dialect in positions for n in positions[dialect]}
    llmock.enqueue(
        *(
            build_behaviour(m, "stream_fault", kind=kind, after_chunks=n)
            for m, (_, n) in models.items()
        )
    )

    async with open_providers(llmock, retries=1) as providers:
        answers = await asyncio.gather(
            *(
                ask_with_one_retry(providers[models[m][0]], build_question(PROMPT, m))
                for m in models
            )
        )

    assert [answer.model for answer in answers if not is_complete(answer)] == []
    assert llmock.attempts() == dict.fromkeys(models, 2)
    report = llmock.report(*flags)
    assert report.returncode == 0, report.stdout


@needs_llmock
async def test_an_answer_with_a_finish_reason_is_complete_without_the_done_event(
    llmock: Llmock,
) -> None:
    last = OPENAI_EVENTS - 1
    llmock.enqueue(build_behaviour("m", "stream_fault", kind="truncate", after_chunks=last))

    async with open_providers(llmock, retries=0) as providers:
        answer = await ask(providers["openai"], build_question(PROMPT, "m"))

    assert is_complete(answer)


@needs_llmock
@both_dialects
async def test_a_stalled_stream_times_out(llmock: Llmock, dialect: str) -> None:
    llmock.enqueue(
        build_behaviour("m", "stream_fault", kind="stall", after_chunks=5, stall_seconds=30)
    )
    codec, path = LLMOCK_APIS[dialect]

    async with open_provider(codec, llmock.url + path, timeouts=Timeouts(read=0.5)) as adapter:
        with pytest.raises(TimeLimitError):
            await ask(adapter, build_question(PROMPT, "m"))


@needs_llmock
async def test_a_retry_waits_as_long_as_the_server_asks(llmock: Llmock) -> None:
    statuses = (408, 429, 500, 502, 503, 504, 529)
    models = {
        f"{dialect}-{status}": (dialect, status) for dialect in LLMOCK_APIS for status in statuses
    }
    llmock.enqueue(
        *(build_behaviour(m, "fail", status=s, retry_after=1) for m, (_, s) in models.items()),
    )

    async with open_providers(llmock, retries=1) as providers:
        answers = await asyncio.gather(
            *(ask(providers[models[m][0]], build_question(PROMPT, m)) for m in models)
        )

    assert all(is_complete(answer) for answer in answers)
    assert llmock.attempts() == dict.fromkeys(models, 2)
    report = llmock.report("--strict")
    assert report.returncode == 0, report.stdout


@needs_llmock
async def test_permanent_errors_are_not_retried(llmock: Llmock) -> None:
    kinds: dict[int, type[JuntoError]] = {
        400: InvalidInputError,
        401: AuthenticationError,
        403: AuthenticationError,
        404: NotFoundError,
        422: InvalidInputError,
    }
    models = {
        f"{dialect}-{status}": (dialect, status) for dialect in LLMOCK_APIS for status in kinds
    }
    llmock.enqueue(
        *(build_behaviour(m, "fail", status=status) for m, (_, status) in models.items())
    )

    async with open_providers(llmock, retries=3) as providers:
        outcomes = {
            model: await get_outcome(providers[dialect], build_question(PROMPT, model))
            for model, (dialect, _) in models.items()
        }

    assert {m: type(o) for m, o in outcomes.items()} == {
        m: kinds[s] for m, (_, s) in models.items()
    }
    assert llmock.attempts() == dict.fromkeys(models, 1)
    report = llmock.report("--strict")
    assert report.returncode == 0, report.stdout


@needs_llmock
@both_dialects
async def test_a_prompt_larger_than_the_context_window_is_a_context_overflow(
    llmock: Llmock, dialect: str
) -> None:
    async with open_providers(llmock, retries=3) as providers:
        with pytest.raises(ContextOverflowError):
            await ask(providers[dialect], build_question("word " * 5000))


@needs_llmock
@both_dialects
async def test_a_fragmented_tool_call_arrives_complete_or_with_invalid_arguments(
    llmock: Llmock, dialect: str
) -> None:
    arguments = {"city": "Zürich", "days": [1, 2, 3], "units": {"wind": "km/h"}}
    tool_call = {"name": "get_weather", "arguments": arguments}
    llmock.enqueue(
        build_behaviour("right", "reply", text="Let me see.", tool_calls=[tool_call]),
        build_behaviour("broken", "reply", tool_calls=[tool_call]),
        build_behaviour("broken", "tool_fault", kind="malformed_arguments"),
    )

    async with open_providers(llmock, retries=0) as providers:
        valid = await ask(providers[dialect], build_question(PROMPT, "right", tools=(WEATHER,)))
        broken = await get_outcome(
            providers[dialect], build_question(PROMPT, "broken", tools=(WEATHER,))
        )

    (call,) = valid.message.tool_calls
    assert (call.name, call.arguments) == ("get_weather", arguments)
    assert valid.message.text == "Let me see."
    assert valid.stop_reason is StopReason.TOOL_USE
    assert isinstance(broken, Answer)
    assert set(broken.message.tool_calls[0].arguments) == {"invalid"}


@needs_llmock
@pytest.mark.parametrize("name", OPENAI_COMPATIBLE_PATHS)
async def test_openai_compatible_apis_are_supported(llmock: Llmock, name: str) -> None:
    llmock.enqueue(build_behaviour("refused", "fail", status=400, message="No such luck."))

    async with open_provider(OpenAiCodec(), llmock.url + OPENAI_COMPATIBLE_PATHS[name]) as adapter:
        answer = await ask(adapter, build_question(PROMPT))
        refusal = await get_outcome(adapter, build_question(PROMPT, "refused"))

    assert is_complete(answer)
    assert isinstance(refusal, InvalidInputError)
    assert "No such luck." in refusal.message
