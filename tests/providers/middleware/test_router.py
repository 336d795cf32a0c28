"""Every model behind one door, over real sockets, with all wrappers in their order."""

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

from junto.app.models import catalog_of
from junto.domain.errors import (
    BudgetExceededError,
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
)
from junto.domain.messages import Document, Image, Message, ToolResult
from junto.domain.questions import Finished, Question, TextDelta, ToolSpec, Waiting
from junto.providers.provider import Provider, ask
from junto.settings.tree import Settings
from junto.telemetry.metrics import Metrics
from tests.providers.councils import counted
from tests.upstream import Reply, Upstream, anthropic_events, openai_events

OVERLOADED = Reply(
    status=529,
    body={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    headers={"retry-after": "0"},
)


def question(model: str = "a", text: str = "Hi", **more: Any) -> Question:
    return Question(model=model, messages=(Message.user(text),), max_tokens=10, **more)


@dataclass
class House:
    council: Provider
    metrics: Metrics
    first: Upstream
    second: Upstream

    def count(self, line: str) -> float:
        found = [
            float(text.rpartition(" ")[2])
            for text in self.metrics.exposition().decode().splitlines()
            if text.startswith(line)
        ]
        return sum(found)


@contextlib.asynccontextmanager
async def house(folder: Path, **settings: Any) -> AsyncIterator[House]:
    """Open two models, `a` at one server in Anthropic's dialect and `b` at another in OpenAI's."""
    async with Upstream.started() as first, Upstream.started() as second:
        price = {"input": 1_000_000, "output": 1_000_000}  # a dollar a token
        a = {"id": "a", "provider": "anthropic", "baseUrl": first.url, "apiKey": "k-a"}
        b = {"id": "b", "baseUrl": f"{second.url}/v1", "apiKey": "k-b", "modelName": "bee"}
        entries = [a | {"price": price} | settings.pop("a", {}), b | settings.pop("b", {})]
        tree = Settings.model_validate(
            {"models": entries, "limits": {"wait": 0}, "answers": {"max_retries": 1}} | settings
        )
        catalog = catalog_of(tree, folder)
        async with counted(tree, catalog, folder) as (council, counting):
            yield House(council, counting.metrics, first, second)


@pytest.mark.feature("F080", "F081")
async def test_each_model_is_asked_at_its_own_address_with_its_own_key(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.first.will(Reply(anthropic_events("from a")))
        home.second.will(Reply(openai_events("from b")))

        a, b = await ask(home.council, question("a")), await ask(home.council, question("b"))

        assert (a.message.text, a.model) == ("from a", "a")
        assert (b.message.text, b.model) == ("from b", "b")
        [to_a], [to_b] = home.first.requests, home.second.requests
        assert (to_a.path, to_a.headers["x-api-key"]) == ("/v1/messages", "k-a")
        assert to_a.headers["anthropic-version"] == "2023-06-01"
        assert (to_b.path, to_b.body["model"]) == ("/v1/chat/completions", "bee")
        assert to_b.headers["Authorization"] == "Bearer k-b"
        assert to_b.body["max_tokens"] == 10


async def test_no_model_named_is_the_default_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.first.will(Reply(anthropic_events("ok")))

        assert (await ask(home.council, question(""))).model == "a"
        with pytest.raises(NotFoundError):
            await ask(home.council, question("zzz"))


@pytest.mark.feature("F186", "F187", "F189")
async def test_each_try_is_counted_and_the_waiting_is_told(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.first.will(OVERLOADED, Reply(anthropic_events("ok")))

        events = [event async for event in home.council.stream(question())]

        assert isinstance(events[0], Waiting)
        assert "again" in events[0].reason
        assert isinstance(events[-1], Finished)
        assert home.count('claude_requests_total{model="a",provider="anthropic"}') == 1
        assert home.count("claude_errors_total") == 1
        assert home.count("claude_tokens_input_total") == 10
        assert home.count("claude_tokens_output_total") == 5
        assert home.count("claude_request_latency_seconds_count") == 1


async def test_another_model_answers_when_one_cannot_and_signs_with_its_own_name(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, a={"fallback": ["b"]}) as home:
        home.first.will(OVERLOADED)
        home.second.will(Reply(openai_events("from b")))

        answer = await ask(home.council, question("a"))

        assert (answer.model, answer.message.text) == ("b", "from b")
        assert len(home.first.requests) == 2


async def test_a_provider_that_is_left_alone_does_not_hold_up_the_next(tmp_path: Path) -> None:
    async with house(
        tmp_path, answers={"max_retries": 0, "fallback": ["b"]}, limits={"failures": 2}
    ) as home:
        home.first.will(OVERLOADED)
        home.second.will(Reply(openai_events("from b")))

        for _ in range(5):
            assert (await ask(home.council, question("a"))).model == "b"

        assert len(home.first.requests) == 2


@pytest.mark.feature("F188")
async def test_a_limit_holds_for_one_model_and_counts_every_try(tmp_path: Path) -> None:
    async with house(tmp_path, a={"requestsPerMinute": 2}) as home:
        home.first.will(OVERLOADED, Reply(anthropic_events("ok")))
        home.second.will(Reply(openai_events("ok")))
        await ask(home.council, question("a"))  # two tries, two places

        with pytest.raises(RateLimitedError) as refused:
            await ask(home.council, question("a"))

        assert refused.value.retry_after
        assert (await ask(home.council, question("b"))).model == "b"


async def test_money_is_set_aside_before_and_an_unknown_price_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, budget={"limit": 40}) as home:
        home.first.will(Reply(anthropic_events("ok")))

        await ask(home.council, question("a"))  # 15 dollars, by what was used
        await ask(home.council, question("a"))
        with pytest.raises(BudgetExceededError, match="has 10"):
            await ask(home.council, question("a"))
        with pytest.raises(BudgetExceededError, match="price of b is not known"):
            await ask(home.council, question("b"))

        assert (len(home.first.requests), len(home.second.requests)) == (2, 0)


async def test_a_cached_answer_costs_nothing_and_needs_no_room(tmp_path: Path) -> None:
    async with house(
        tmp_path, cache={"enabled": True}, budget={"limit": 25}, a={"requestsPerMinute": 1}
    ) as home:
        home.first.will(Reply(anthropic_events("ok")))

        answers = await asyncio.gather(*(ask(home.council, question("a")) for _ in range(50)))
        answers.append(await ask(home.council, question("a")))

        assert {answer.message.text for answer in answers} == {"ok"}
        assert len(home.first.requests) == 1


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        (question("b", tools=(ToolSpec("t", "d", {}),)), "tools"),
        (Question(model="b", messages=(Message.user(Image("image/png", b"")),)), "images"),
        (Question(model="b", messages=(Message.user(Document("a/b", b"")),)), "documents"),
        (
            Question(
                model="b",
                messages=(Message.user(ToolResult("1", (Image("image/png", b""),))),),
            ),
            "images",
        ),
    ],
)
async def test_what_a_model_cannot_take_is_refused_before_it_is_asked(
    tmp_path: Path, asked: Question, missing: str
) -> None:
    cannot = {"images": False, "documents": False, "tools": False}
    async with house(tmp_path, b={"capabilities": cannot}) as home:
        home.second.will(Reply(openai_events("ok")))

        with pytest.raises(InvalidInputError, match=f"b takes no {missing}"):
            await ask(home.council, asked)

        assert home.second.requests == []


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
    async with Upstream.started() as azure:
        azure.will(Reply(openai_events("ok")))
        entry = {"id": "m", "provider": "azure", "baseUrl": azure.url + base, "apiKey": "k"}
        tree = Settings.model_validate({"models": [entry]})
        catalog = catalog_of(tree, tmp_path)
        async with counted(tree, catalog, tmp_path) as (council, _):
            await ask(council, question("m"))

    [request] = azure.requests
    assert (request.path, request.headers["api-key"]) == (path, "k")
    assert request.body["max_completion_tokens"] == 10


async def test_errors_never_show_a_key_or_an_address(tmp_path: Path) -> None:
    async with house(tmp_path, answers={"max_retries": 0}) as home:
        refusal = {"error": {"message": "no"}}
        for status in (400, 401, 403, 404, 429, 500, 529):
            home.first._script.clear()
            home.first.will(Reply(status=status, body=refusal))
            with pytest.raises(JuntoError) as failed:
                await ask(home.council, question("a"))
            assert failed.value.code
            assert "k-a" not in failed.value.message
            assert "127.0.0.1" not in failed.value.message


async def test_redis_keeps_count_for_two_councils(tmp_path: Path, redis_socket: Path) -> None:
    shared = {"redis": {"url": f"unix://{redis_socket}"}, "a": {"requestsPerMinute": 2}}
    async with (
        house(tmp_path, **dict(shared)) as one,
        house(tmp_path, **dict(shared), cache={"enabled": True}) as two,
    ):
        one.first.will(Reply(anthropic_events("ok")))
        two.first.will(Reply(anthropic_events("ok")))

        await ask(one.council, question("a"))
        await ask(two.council, question("a"))
        await ask(two.council, question("a"))  # from the cache

        with pytest.raises(RateLimitedError):
            await ask(one.council, question("a"))


def memory() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError


@contextlib.asynccontextmanager
async def echo() -> AsyncIterator[str]:
    """Serve a model that gives back what it was asked, word by word."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        words = body["messages"][0]["content"][0]["text"].split(" ")
        for event in anthropic_events(*words):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
            await asyncio.sleep(0)
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


async def test_five_hundred_streams_at_once_are_not_mixed_up_and_leave_no_memory_behind(
    tmp_path: Path,
) -> None:
    async with echo() as url:
        entry = {"id": "a", "provider": "anthropic", "baseUrl": url}
        limits = {"concurrent": 500, "requests_per_minute": 10**6, "tokens_per_minute": 10**9}
        tree = Settings.model_validate({"models": [entry], "limits": limits})
        catalog = catalog_of(tree, tmp_path)
        async with counted(tree, catalog, tmp_path) as (council, _):

            async def one(number: int) -> str:
                words = " ".join(f"{number}.{step}" for step in range(20))
                events = council.stream(question("a", words))
                heard = [event.text async for event in events if isinstance(event, TextDelta)]
                assert " ".join(heard) == words
                return words

            async def round_() -> int:
                done = await asyncio.gather(*(one(number) for number in range(500)))
                assert len(set(done)) == 500
                gc.collect()
                return memory()

            before = await round_()  # what the first five hundred need stays in the pools
            after = [await round_() for _ in range(3)][-1]
            assert after <= before * 1.1


async def test_a_network_that_fails_at_once_says_so(tmp_path: Path) -> None:
    entry = {"id": "a", "provider": "anthropic", "baseUrl": "http://127.0.0.1:9"}
    tree = Settings.model_validate({"models": [entry], "answers": {"max_retries": 0}})
    catalog = catalog_of(tree, tmp_path)
    async with counted(tree, catalog, tmp_path) as (council, _):
        with pytest.raises(NetworkError, match="could not be reached"):
            await ask(council, question("a"))


async def test_one_dead_server_does_not_shut_out_another_of_the_same_name(tmp_path: Path) -> None:
    dead = {"id": "dead", "baseUrl": "http://127.0.0.1:9/v1"}
    async with Upstream.started() as alive:
        alive.will(Reply(openai_events("ok")))
        entries = [dead, {"id": "alive", "baseUrl": f"{alive.url}/v1"}]
        answers = {"max_retries": 0}
        tree = Settings.model_validate({"models": entries, "answers": answers})
        async with counted(tree, catalog_of(tree, tmp_path), tmp_path) as (council, _):
            for _ in range(6):
                with pytest.raises(NetworkError):
                    await ask(council, question("dead"))

            assert (await ask(council, question("alive"))).message.text == "ok"


async def test_a_fallback_that_does_not_exist_harms_nobody(tmp_path: Path) -> None:
    async with house(tmp_path, a={"fallback": ["gone", "b"]}, answers={"fallback": ["gone"]}) as it:
        it.first.will(Reply(anthropic_events("ok")))
        it.second.will(Reply(openai_events("ok")))

        assert (await ask(it.council, question("a"))).model == "a"
        assert (await ask(it.council, question("b"))).model == "b"


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [1]},
        {"choices": [{"delta": {"content": ["x"]}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"tool_calls": [{"index": None}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": [1]},
    ],
)
async def test_an_answer_that_makes_no_sense_is_the_models_error(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    async with house(tmp_path, answers={"max_retries": 0}) as it:
        it.second.will(Reply([event]))

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(it.council, question("b"))


async def test_an_event_without_its_beginning_is_the_models_error(tmp_path: Path) -> None:
    async with house(tmp_path, answers={"max_retries": 0}) as it:
        it.first.will(Reply([{"type": "content_block_delta", "index": 3, "delta": {}}]))

        with pytest.raises(ModelError, match="makes no sense"):
            await ask(it.council, question("a"))


@pytest.mark.parametrize(
    "odd",
    [
        question("b", "half \ud800 a character"),
        question("b", seed=2**70),
    ],
)
async def test_what_no_json_can_hold_is_refused(tmp_path: Path, odd: Question) -> None:
    async with house(tmp_path) as it:
        it.second.will(Reply(openai_events("ok")))

        with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
            await ask(it.council, odd)


async def test_a_refusal_in_many_pieces_is_read_whole(tmp_path: Path) -> None:
    async with house(tmp_path, answers={"max_retries": 0}) as it:
        long = {"error": {"message": "the reason", "padding": "x" * 60_000}}
        it.second.will(Reply(status=400, body=long))

        with pytest.raises(InvalidInputError, match="the reason"):
            await ask(it.council, question("b"))


async def test_the_same_name_at_another_address_is_not_answered_from_the_cache(
    tmp_path: Path, redis_socket: Path
) -> None:
    shared: dict[str, Any] = {
        "redis": {"url": f"unix://{redis_socket}"},
        "cache": {"enabled": True},
    }
    async with house(tmp_path, **dict(shared)) as one, house(tmp_path, **dict(shared)) as two:
        one.first.will(Reply(anthropic_events("from one")))
        two.first.will(Reply(anthropic_events("from two")))

        first = await ask(one.council, question("a", "shared?"))
        second = await ask(two.council, question("a", "shared?"))

    assert (first.message.text, second.message.text) == ("from one", "from two")
