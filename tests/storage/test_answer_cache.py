"""Contract tests for every answer cache, and the encoding of cached answers."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from junto.domain.completions import Answer, StopReason, Usage
from junto.domain.errors import ConfigurationError, InputOutputError
from junto.domain.limits import RateLimit
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
from junto.providers.middleware.cache import AnswerCache, InMemoryAnswerCache
from junto.storage.message_json import decode_answer, encode_answer
from junto.storage.redis_cache import RedisAnswerCache
from junto.storage.redis_client import open_redis
from junto.storage.redis_limits import RedisRateLimiter
from tests.event_loop import poll_until

CacheFactory = Callable[[float], AnswerCache]


@pytest.fixture(params=["local", "redis"])
def cache_factory(request: pytest.FixtureRequest) -> CacheFactory:
    if request.param == "local":
        return InMemoryAnswerCache
    redis = request.getfixturevalue("redis")
    return lambda seconds: RedisAnswerCache(redis, seconds)


def answer(*parts: Part, text: str = "ok") -> Answer:
    return Answer(
        message=Message(Role.ASSISTANT, parts or (TextPart(text),)),
        stop_reason=StopReason.END,
        usage=Usage(input_tokens=3, output_tokens=4, cache_read_tokens=1, reasoning_tokens=2),
        model="m",
    )


ANSWER_WITH_ALL_PARTS = answer(
    ThinkingPart("hm", "signed"),
    ThinkingPart(encrypted_content='[{"opaque": 1}]'),
    TextPart("text \N{SNOWMAN}"),
    ImagePart("image/png", b"\x89PNG\x00\xff"),
    DocumentPart("application/pdf", b"%PDF", "title"),
    ToolCall("c1", "search", {"query": "x", "deep": {"list": [1, None, True]}}),
    ToolResult("c1", (TextPart("found"), ImagePart("image/gif", b"GIF")), is_error=True),
)


async def test_a_cached_answer_is_returned_unchanged(cache_factory: CacheFactory) -> None:
    cache = cache_factory(60)

    await cache.put("key", ANSWER_WITH_ALL_PARTS)

    assert await cache.get("key") == ANSWER_WITH_ALL_PARTS
    assert await cache.get("other") is None


async def test_a_cached_answer_expires(cache_factory: CacheFactory) -> None:
    cache = cache_factory(0.05)
    await cache.put("key", answer())

    async def has_expired() -> bool:
        return await cache.get("key") is None

    await poll_until(has_expired)


async def test_a_later_answer_replaces_an_earlier_one(cache_factory: CacheFactory) -> None:
    cache = cache_factory(60)

    await cache.put("key", answer(text="first"))
    await cache.put("key", answer(text="second"))

    assert await cache.get("key") == answer(text="second")


async def test_two_servers_share_answers(redis: Redis) -> None:
    await RedisAnswerCache(redis, 60).put("key", answer())

    assert await RedisAnswerCache(redis, 60).get("key") == answer()


async def test_an_unreadable_entry_is_a_cache_miss(redis: Redis) -> None:
    for corrupt in (b"", b"{", b"[]", b'{"role": "odd"}'):
        await redis.set("junto:answer:key", corrupt)

        assert await RedisAnswerCache(redis, 60).get("key") is None


async def test_without_redis_the_cache_is_empty_and_the_limiter_fails() -> None:
    async with open_redis("redis://:hunter2@127.0.0.1:9/0") as unreachable:
        cache = RedisAnswerCache(unreachable, 60)
        await cache.put("key", answer())
        assert await cache.get("key") is None

        with pytest.raises(InputOutputError, match="Redis cannot be used") as caught:
            await RedisRateLimiter(unreachable).acquire("m", 1, RateLimit())
    assert caught.value.retryable
    assert "hunter2" not in caught.value.message


async def test_an_invalid_redis_url_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"redis\.url takes"):
        async with open_redis("localhost:6379"):
            pass


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
tool_result_parts = st.builds(TextPart, st.text()) | st.builds(ImagePart, st.text(), st.binary())
parts: st.SearchStrategy[Part] = st.one_of(
    tool_result_parts,
    st.builds(DocumentPart, st.text(), st.binary(), st.none() | st.text()),
    st.builds(ThinkingPart, st.text(), st.none() | st.text(), st.none() | st.text()),
    st.builds(ToolCall, st.text(), st.text(), st.dictionaries(st.text(), json_values, max_size=3)),
    st.builds(
        ToolResult, st.text(), st.lists(tool_result_parts, max_size=3).map(tuple), st.booleans()
    ),
)


@given(st.lists(parts, min_size=1, max_size=4).map(tuple), st.sampled_from(StopReason))
def test_any_answer_survives_encoding_and_decoding(
    answer_parts: tuple[Part, ...], stop_reason: StopReason
) -> None:
    original = Answer(
        message=Message(Role.ASSISTANT, answer_parts),
        stop_reason=stop_reason,
        usage=Usage(),
        model="m",
    )

    assert decode_answer(encode_answer(original)) == original
