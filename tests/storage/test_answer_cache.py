"""What every keeper of answers must do, and how answers are written down."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from junto.domain.errors import ConfigurationError, InputOutputError
from junto.domain.limits import Rate
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
from junto.domain.questions import Answer, StopReason, Usage
from junto.providers.pipeline.cache import AnswerCache, LocalCache
from junto.storage.encoding import read_answer, written_answer
from junto.storage.redis_cache import RedisCache
from junto.storage.redis_limits import RedisLimiter
from junto.storage.redis_server import connected

Keeper = Callable[[float], AnswerCache]


@pytest.fixture(params=["local", "redis"])
def keeper(request: pytest.FixtureRequest) -> Keeper:
    if request.param == "local":
        return LocalCache
    redis = request.getfixturevalue("redis")
    return lambda seconds: RedisCache(redis, seconds)


def answer(*parts: Part, text: str = "ok") -> Answer:
    return Answer(
        message=Message(Role.ASSISTANT, parts or (Text(text),)),
        stop=StopReason.END,
        usage=Usage(input_tokens=3, output_tokens=4, cache_read_tokens=1, reasoning_tokens=2),
        model="m",
    )


EVERYTHING = answer(
    Thinking("hm", "signed"),
    Thinking(sealed='[{"opaque": 1}]'),
    Text("text \N{SNOWMAN}"),
    Image("image/png", b"\x89PNG\x00\xff"),
    Document("application/pdf", b"%PDF", "title"),
    ToolCall("c1", "search", {"query": "x", "deep": {"list": [1, None, True]}}),
    ToolResult("c1", (Text("found"), Image("image/gif", b"GIF")), is_error=True),
)


async def test_an_answer_comes_back_as_it_was(keeper: Keeper) -> None:
    cache = keeper(60)

    await cache.put("key", EVERYTHING)

    assert await cache.get("key") == EVERYTHING
    assert await cache.get("other") is None


async def test_an_answer_is_good_for_so_long(keeper: Keeper) -> None:
    cache = keeper(0.05)
    await cache.put("key", answer())

    async with asyncio.timeout(20):
        while await cache.get("key"):  # noqa: ASYNC110 - time is all that we wait for
            await asyncio.sleep(0.01)


async def test_the_later_answer_stays(keeper: Keeper) -> None:
    cache = keeper(60)

    await cache.put("key", answer(text="first"))
    await cache.put("key", answer(text="second"))

    assert await cache.get("key") == answer(text="second")


async def test_two_servers_share_answers(redis: Redis) -> None:
    await RedisCache(redis, 60).put("key", answer())

    assert await RedisCache(redis, 60).get("key") == answer()


async def test_what_cannot_be_read_is_simply_asked_again(redis: Redis) -> None:
    for spoiled in (b"", b"{", b"[]", b'{"role": "odd"}'):
        await redis.set("junto:answer:key", spoiled)

        assert await RedisCache(redis, 60).get("key") is None


async def test_without_its_redis_a_cache_is_empty_and_a_limit_says_so() -> None:
    async with connected("redis://:hunter2@127.0.0.1:9/0") as nobody:
        cache = RedisCache(nobody, 60)
        await cache.put("key", answer())
        assert await cache.get("key") is None

        with pytest.raises(InputOutputError, match="Redis cannot be used") as failed:
            await RedisLimiter(nobody).take("m", 1, Rate())
    assert failed.value.retryable
    assert "hunter2" not in failed.value.message


async def test_an_address_that_is_none_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"redis\.url takes"):
        async with connected("localhost:6379"):
            pass


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
shown = st.builds(Text, st.text()) | st.builds(Image, st.text(), st.binary())
parts: st.SearchStrategy[Part] = st.one_of(
    shown,
    st.builds(Document, st.text(), st.binary(), st.none() | st.text()),
    st.builds(Thinking, st.text(), st.none() | st.text(), st.none() | st.text()),
    st.builds(ToolCall, st.text(), st.text(), st.dictionaries(st.text(), values, max_size=3)),
    st.builds(ToolResult, st.text(), st.lists(shown, max_size=3).map(tuple), st.booleans()),
)


@given(st.lists(parts, min_size=1, max_size=4).map(tuple), st.sampled_from(StopReason))
def test_whatever_a_model_says_is_read_as_it_was_written(
    said: tuple[Part, ...], stop: StopReason
) -> None:
    whole = Answer(message=Message(Role.ASSISTANT, said), stop=stop, usage=Usage(), model="m")

    assert read_answer(written_answer(whole)) == whole
