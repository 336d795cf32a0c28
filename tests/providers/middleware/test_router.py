"""The council over real sockets: every model behind one provider, with all middleware in order."""

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from junto.app.models import build_catalog
from junto.domain.completions import AnswerEvent, Question, StatusEvent, TextDelta, ToolSpec
from junto.domain.errors import (
    BudgetExceededError,
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
)
from junto.domain.messages import DocumentPart, ImagePart, Message, ToolResult
from junto.providers.provider import Provider, ask
from junto.settings.schema import Settings
from junto.telemetry.metrics import Metrics
from tests.event_loop import yield_to_tasks
from tests.providers.council_factory import open_council_with_usage
from tests.scripted_model_server import (
    ScriptedModelServer,
    ScriptedReply,
    anthropic_events,
    openai_events,
)

OVERLOADED = ScriptedReply(
    status=529,
    body={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    headers={"retry-after": "0"},
)


def build_question(model: str = "a", text: str = "Hi", **fields: Any) -> Question:
    return Question(model=model, messages=(Message.user(text),), max_tokens=10, **fields)


@dataclass
class CouncilSetup:
    council: Provider
    metrics: Metrics
    first: ScriptedModelServer
    second: ScriptedModelServer

    def sum_samples(self, prefix: str) -> float:
        samples = [
            float(line.rpartition(" ")[2])
            for line in self.metrics.render_exposition().decode().splitlines()
            if line.startswith(prefix)
        ]
        return sum(samples)


@contextlib.asynccontextmanager
async def open_council_setup(state_dir: Path, **overrides: Any) -> AsyncIterator[CouncilSetup]:
    """Open a council of two models: `a` on an Anthropic server and `b` on an OpenAI one."""
    async with ScriptedModelServer.start() as first, ScriptedModelServer.start() as second:
        price = {"input": 1_000_000, "output": 1_000_000}  # a dollar a token
        a = {"id": "a", "provider": "anthropic", "baseUrl": first.url, "apiKey": "k-a"}
        b = {"id": "b", "baseUrl": f"{second.url}/v1", "apiKey": "k-b", "modelName": "bee"}
        entries = [a | {"price": price} | overrides.pop("a", {}), b | overrides.pop("b", {})]
        settings = Settings.model_validate(
            {"models": entries, "limits": {"wait": 0}, "answers": {"max_retries": 1}} | overrides
        )
        catalog = build_catalog(settings, state_dir)
        async with open_council_with_usage(settings, catalog, state_dir) as (
            council,
            usage_tracker,
        ):
            yield CouncilSetup(council, usage_tracker.metrics, first, second)


@pytest.mark.feature("F080", "F081")
async def test_each_model_is_asked_at_its_own_address_with_its_own_key(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path) as setup:
        setup.first.enqueue(ScriptedReply(anthropic_events("from a")))
        setup.second.enqueue(ScriptedReply(openai_events("from b")))

        a, b = (
            await ask(setup.council, build_question("a")),
            await ask(setup.council, build_question("b")),
        )

        assert (a.message.text, a.model) == ("from a", "a")
        assert (b.message.text, b.model) == ("from b", "b")
        [to_a], [to_b] = setup.first.requests, setup.second.requests
        assert (to_a.path, to_a.headers["x-api-key"]) == ("/v1/messages", "k-a")
        assert to_a.headers["anthropic-version"] == "2023-06-01"
        assert (to_b.path, to_b.body["model"]) == ("/v1/chat/completions", "bee")
        assert to_b.headers["Authorization"] == "Bearer k-b"
        assert to_b.body["max_tokens"] == 10


async def test_an_empty_model_name_is_the_default_and_an_unknown_one_is_an_error(
    tmp_path: Path,
) -> None:
    async with open_council_setup(tmp_path) as setup:
        setup.first.enqueue(ScriptedReply(anthropic_events("ok")))

        assert (await ask(setup.council, build_question(""))).model == "a"
        with pytest.raises(NotFoundError):
            await ask(setup.council, build_question("zzz"))


@pytest.mark.feature("F186", "F187", "F189")
async def test_each_attempt_is_counted_and_the_retry_is_reported(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path) as setup:
        setup.first.enqueue(OVERLOADED, ScriptedReply(anthropic_events("ok")))

        events = [event async for event in setup.council.stream(build_question())]

        assert isinstance(events[0], StatusEvent)
        assert "again" in events[0].reason
        assert isinstance(events[-1], AnswerEvent)
        assert setup.sum_samples('claude_requests_total{model="a",provider="anthropic"}') == 1
        assert setup.sum_samples("claude_errors_total") == 1
        assert setup.sum_samples("claude_tokens_input_total") == 10
        assert setup.sum_samples("claude_tokens_output_total") == 5
        assert setup.sum_samples("claude_request_latency_seconds_count") == 1


async def test_a_fallback_answer_names_the_model_that_gave_it(
    tmp_path: Path,
) -> None:
    async with open_council_setup(tmp_path, a={"fallback": ["b"]}) as setup:
        setup.first.enqueue(OVERLOADED)
        setup.second.enqueue(ScriptedReply(openai_events("from b")))

        answer = await ask(setup.council, build_question("a"))

        assert (answer.model, answer.message.text) == ("b", "from b")
        assert len(setup.first.requests) == 2


async def test_an_open_circuit_does_not_delay_the_fallback(tmp_path: Path) -> None:
    async with open_council_setup(
        tmp_path, answers={"max_retries": 0, "fallback": ["b"]}, limits={"failures": 2}
    ) as setup:
        setup.first.enqueue(OVERLOADED)
        setup.second.enqueue(ScriptedReply(openai_events("from b")))

        for _ in range(5):
            assert (await ask(setup.council, build_question("a"))).model == "b"

        assert len(setup.first.requests) == 2


@pytest.mark.feature("F188")
async def test_a_rate_limit_is_per_model_and_counts_every_attempt(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path, a={"requestsPerMinute": 2}) as setup:
        setup.first.enqueue(OVERLOADED, ScriptedReply(anthropic_events("ok")))
        setup.second.enqueue(ScriptedReply(openai_events("ok")))
        await ask(setup.council, build_question("a"))  # two attempts, which use up the limit

        with pytest.raises(RateLimitedError) as caught:
            await ask(setup.council, build_question("a"))

        assert caught.value.retry_after
        assert (await ask(setup.council, build_question("b"))).model == "b"


async def test_the_budget_is_checked_before_a_call_and_an_unknown_price_is_refused(
    tmp_path: Path,
) -> None:
    async with open_council_setup(tmp_path, budget={"limit": 40}) as setup:
        setup.first.enqueue(ScriptedReply(anthropic_events("ok")))

        await ask(setup.council, build_question("a"))  # 15 dollars by actual usage
        await ask(setup.council, build_question("a"))
        with pytest.raises(BudgetExceededError, match="has 10"):
            await ask(setup.council, build_question("a"))
        with pytest.raises(BudgetExceededError, match="price of b is not known"):
            await ask(setup.council, build_question("b"))

        assert (len(setup.first.requests), len(setup.second.requests)) == (2, 0)


async def test_a_cached_answer_uses_no_budget_and_no_rate_limit(tmp_path: Path) -> None:
    async with open_council_setup(
        tmp_path, cache={"enabled": True}, budget={"limit": 25}, a={"requestsPerMinute": 1}
    ) as setup:
        setup.first.enqueue(ScriptedReply(anthropic_events("ok")))

        answers = await asyncio.gather(
            *(ask(setup.council, build_question("a")) for _ in range(50))
        )
        answers.append(await ask(setup.council, build_question("a")))

        assert {answer.message.text for answer in answers} == {"ok"}
        assert len(setup.first.requests) == 1


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        (build_question("b", tools=(ToolSpec("t", "d", {}),)), "tools"),
        (Question(model="b", messages=(Message.user(ImagePart("image/png", b"")),)), "images"),
        (Question(model="b", messages=(Message.user(DocumentPart("a/b", b"")),)), "documents"),
        (
            Question(
                model="b",
                messages=(Message.user(ToolResult("1", (ImagePart("image/png", b""),))),),
            ),
            "images",
        ),
    ],
)
async def test_unsupported_input_is_refused_before_the_model_is_asked(
    tmp_path: Path, question: Question, missing: str
) -> None:
    unsupported = {"images": False, "documents": False, "tools": False}
    async with open_council_setup(tmp_path, b={"capabilities": unsupported}) as setup:
        setup.second.enqueue(ScriptedReply(openai_events("ok")))

        with pytest.raises(InvalidInputError, match=f"b takes no {missing}"):
            await ask(setup.council, question)

        assert setup.second.requests == []


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("/openai/v1?api-version=2026-01", "/openai/v1/chat/completions"),
        ("/openai/v1/", "/openai/v1/chat/completions"),
    ],
)
async def test_azure_has_its_own_header_and_keeps_its_query(
    tmp_path: Path, base: str, path: str
) -> None:
    async with ScriptedModelServer.start() as azure:
        azure.enqueue(ScriptedReply(openai_events("ok")))
        entry = {"id": "m", "provider": "azure", "baseUrl": azure.url + base, "apiKey": "k"}
        settings = Settings.model_validate({"models": [entry]})
        catalog = build_catalog(settings, tmp_path)
        async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):
            await ask(council, build_question("m"))

    [request] = azure.requests
    assert (request.path, request.headers["api-key"]) == (path, "k")
    assert request.body["max_completion_tokens"] == 10


async def test_errors_never_show_a_key_or_an_address(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path, answers={"max_retries": 0}) as setup:
        error_body = {"error": {"message": "no"}}
        for status in (400, 401, 403, 404, 429, 500, 529):
            setup.first._script.clear()
            setup.first.enqueue(ScriptedReply(status=status, body=error_body))
            with pytest.raises(JuntoError) as caught:
                await ask(setup.council, build_question("a"))
            assert caught.value.code
            assert "k-a" not in caught.value.message
            assert "127.0.0.1" not in caught.value.message


async def test_two_councils_share_a_rate_limit_through_redis(
    tmp_path: Path, redis_socket: Path
) -> None:
    shared = {"redis": {"url": f"unix://{redis_socket}"}, "a": {"requestsPerMinute": 2}}
    async with (
        open_council_setup(tmp_path, **dict(shared)) as one,
        open_council_setup(tmp_path, **dict(shared), cache={"enabled": True}) as two,
    ):
        one.first.enqueue(ScriptedReply(anthropic_events("ok")))
        two.first.enqueue(ScriptedReply(anthropic_events("ok")))

        await ask(one.council, build_question("a"))
        await ask(two.council, build_question("a"))
        await ask(two.council, build_question("a"))  # from the cache

        with pytest.raises(RateLimitedError):
            await ask(one.council, build_question("a"))


def read_resident_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError


@contextlib.asynccontextmanager
async def echo_model_server() -> AsyncIterator[str]:
    """Serve a model that echoes the question word by word, and yield its base URL."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        words = body["messages"][0]["content"][0]["text"].split(" ")
        for event in anthropic_events(*words):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
            await yield_to_tasks()
        return response

    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_five_hundred_concurrent_streams_stay_separate_and_leak_no_memory(
    tmp_path: Path,
) -> None:
    async with echo_model_server() as url:
        entry = {"id": "a", "provider": "anthropic", "baseUrl": url}
        limits = {"concurrent": 500, "requests_per_minute": 10**6, "tokens_per_minute": 10**9}
        settings = Settings.model_validate({"models": [entry], "limits": limits})
        catalog = build_catalog(settings, tmp_path)
        async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):

            async def stream_words(number: int) -> str:
                words = " ".join(f"{number}.{step}" for step in range(20))
                events = council.stream(build_question("a", words))
                received = [event.text async for event in events if isinstance(event, TextDelta)]
                assert " ".join(received) == words
                return words

            async def run_round() -> int:
                answers = await asyncio.gather(*(stream_words(number) for number in range(500)))
                assert len(set(answers)) == 500
                gc.collect()
                return read_resident_kib()

            before = await run_round()  # the first round fills the pools, which keep their memory
            after = [await run_round() for _ in range(3)][-1]
            assert after <= before * 1.1


async def test_an_unreachable_server_is_a_network_error(tmp_path: Path) -> None:
    entry = {"id": "a", "provider": "anthropic", "baseUrl": "http://127.0.0.1:9"}
    settings = Settings.model_validate({"models": [entry], "answers": {"max_retries": 0}})
    catalog = build_catalog(settings, tmp_path)
    async with open_council_with_usage(settings, catalog, tmp_path) as (council, _):
        with pytest.raises(NetworkError, match="could not be reached"):
            await ask(council, build_question("a"))


async def test_an_unreachable_server_does_not_block_another_of_the_same_provider(
    tmp_path: Path,
) -> None:
    dead = {"id": "dead", "baseUrl": "http://127.0.0.1:9/v1"}
    async with ScriptedModelServer.start() as alive:
        alive.enqueue(ScriptedReply(openai_events("ok")))
        entries = [dead, {"id": "alive", "baseUrl": f"{alive.url}/v1"}]
        answers = {"max_retries": 0}
        settings = Settings.model_validate({"models": entries, "answers": answers})
        async with open_council_with_usage(
            settings, build_catalog(settings, tmp_path), tmp_path
        ) as (
            council,
            _,
        ):
            for _ in range(6):
                with pytest.raises(NetworkError):
                    await ask(council, build_question("dead"))

            assert (await ask(council, build_question("alive"))).message.text == "ok"


async def test_an_unknown_fallback_model_is_ignored(tmp_path: Path) -> None:
    async with open_council_setup(
        tmp_path, a={"fallback": ["gone", "b"]}, answers={"fallback": ["gone"]}
    ) as setup:
        setup.first.enqueue(ScriptedReply(anthropic_events("ok")))
        setup.second.enqueue(ScriptedReply(openai_events("ok")))

        assert (await ask(setup.council, build_question("a"))).model == "a"
        assert (await ask(setup.council, build_question("b"))).model == "b"


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [1]},
        {"choices": [{"delta": {"content": ["x"]}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"tool_calls": [{"index": None}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": [1]},
    ],
)
async def test_a_malformed_answer_is_a_model_error(tmp_path: Path, event: dict[str, Any]) -> None:
    async with open_council_setup(tmp_path, answers={"max_retries": 0}) as setup:
        setup.second.enqueue(ScriptedReply([event]))

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(setup.council, build_question("b"))


async def test_a_delta_without_its_block_start_is_a_model_error(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path, answers={"max_retries": 0}) as setup:
        setup.first.enqueue(
            ScriptedReply([{"type": "content_block_delta", "index": 3, "delta": {}}])
        )

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(setup.council, build_question("a"))


@pytest.mark.parametrize(
    "question",
    [
        build_question("b", "half \ud800 a character"),
        build_question("b", seed=2**70),
    ],
)
async def test_a_question_that_json_cannot_represent_is_refused(
    tmp_path: Path, question: Question
) -> None:
    async with open_council_setup(tmp_path) as setup:
        setup.second.enqueue(ScriptedReply(openai_events("ok")))

        with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
            await ask(setup.council, question)


async def test_a_long_error_body_is_read_completely(tmp_path: Path) -> None:
    async with open_council_setup(tmp_path, answers={"max_retries": 0}) as setup:
        error_body = {"error": {"message": "the reason", "padding": "x" * 60_000}}
        setup.second.enqueue(ScriptedReply(status=400, body=error_body))

        with pytest.raises(InvalidInputError, match="the reason"):
            await ask(setup.council, build_question("b"))


async def test_the_cache_separates_models_of_the_same_name_at_different_addresses(
    tmp_path: Path, redis_socket: Path
) -> None:
    shared: dict[str, Any] = {
        "redis": {"url": f"unix://{redis_socket}"},
        "cache": {"enabled": True},
    }
    async with (
        open_council_setup(tmp_path, **dict(shared)) as one,
        open_council_setup(tmp_path, **dict(shared)) as two,
    ):
        one.first.enqueue(ScriptedReply(anthropic_events("from one")))
        two.first.enqueue(ScriptedReply(anthropic_events("from two")))

        first = await ask(one.council, build_question("a", "shared?"))
        second = await ask(two.council, build_question("a", "shared?"))

    assert (first.message.text, second.message.text) == ("from one", "from two")
