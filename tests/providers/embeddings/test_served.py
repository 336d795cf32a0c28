"""A provider's endpoint on loopback, which misbehaves in every way."""

import contextlib
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from junto.app.embeddings import embedder_of
from junto.domain.documents import Model
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.usage import Amount, Dimension
from junto.providers.embeddings.choosing import choice_of
from junto.providers.embeddings.served import Served
from junto.providers.pipeline.circuit import Circuit
from junto.providers.wiring.wire import Patience, Wire
from junto.security.secrets import Redactor
from junto.settings.showing import secrets_in
from junto.settings.tree import Settings
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.usage import SqliteUsage
from junto.telemetry.usage import UsageBook
from tests.upstream import Json, Reply, Upstream

KEY = "sk-never-to-be-seen-0000000000"


def answer(*vectors: Any) -> Reply:
    items = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return Reply(body={"data": items})


def refusal(status: int, message: str = "", **headers: str) -> Reply:
    return Reply(status=status, body={"error": {"message": message}}, headers=headers)


def numbers(vector: bytes) -> list[float]:
    return [round(number, 4) for (number,) in struct.iter_unpack("<f", vector)]


def settings_for(upstream: Upstream) -> Settings:
    openai = {"api_key": KEY, "base_url": f"{upstream.url}/v1"}
    return Settings.model_validate(
        {"providers": {"openai": openai}, "knowledge": {"embeddings": "openai/vectors-1"}}
    )


@dataclass
class Bench:
    """A provider that answers by a script, and how long it was waited for."""

    upstream: Upstream
    embedder: Served
    pauses: list[float] = field(default_factory=list)


@contextlib.asynccontextmanager
async def benched(*replies: Reply, failures: int = 100) -> AsyncIterator[Bench]:
    async with Upstream.started() as upstream, Wire.opened() as wire:
        upstream.will(*replies)
        settings, pauses = settings_for(upstream), list[float]()
        choice = choice_of("openai/vectors-1", (), settings.providers)

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)

        circuit, patience = Circuit("openai", failures), Patience(read=0.2)
        embedder = Served(choice, wire, patience, 2, circuit, wait=lambda _: 1.0, sleep=sleep)
        yield Bench(upstream, embedder, pauses)


async def test_vectors_come_back_in_the_order_of_their_texts_and_of_length_one() -> None:
    swapped = {"data": [{"index": 1, "embedding": [0, 5]}, {"index": 0, "embedding": [3.0, 4.0]}]}
    async with benched(Reply(body=swapped)) as bench:
        vectors = await bench.embedder.embed(["a", "b"])

    assert [numbers(vector) for vector in vectors] == [[0.6, 0.8], [0.0, 1.0]]
    [request] = bench.upstream.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "vectors-1", "input": ["a", "b"]}


async def test_what_they_take_is_noted_if_the_provider_tells() -> None:
    told = Reply(body={"data": [{"embedding": [3, 4]}], "usage": {"prompt_tokens": 7}})
    odd = Reply(body={"data": [{"embedding": [3, 4]}], "usage": "much"})
    async with benched(told, odd) as bench, contextlib.AsyncExitStack() as stack:
        store = SqliteUsage(Lazily(lambda: Database.opened(None), stack))
        bench.embedder.book = UsageBook(store)
        for _ in range(2):
            await bench.embedder.embed(["a"])
        await bench.embedder.book.flush()

        by = (Dimension.TOOL, Dimension.PROVIDER, Dimension.MODEL)
        sums = await store.sums(by, 0, 2**40)
    used = Amount(questions=2, input_tokens=7, unpriced=2)
    assert sums == {("embeddings", "openai", "vectors-1"): used}


async def test_its_dimension_is_told_by_the_first_vector() -> None:
    async with benched(answer([1, 2, 3])) as bench:
        assert await bench.embedder.model() == Model("openai/vectors-1", 3)
        assert await bench.embedder.model() == Model("openai/vectors-1", 3)

    assert len(bench.upstream.requests) == 1


async def test_many_texts_are_sent_in_batches_and_long_ones_in_fewer() -> None:
    async with benched(
        answer(*([1, 0] for _ in range(32))),
        answer(*([1, 1] for _ in range(8))),
        answer(*([0, 1] for _ in range(8))),
        answer(*([1, 3] for _ in range(2))),
    ) as bench:
        vectors = await bench.embedder.embed(["a"] * 40)
        await bench.embedder.embed(["b" * 100_000] * 10)

    sent = [request.body["input"] for request in bench.upstream.requests]
    assert [len(texts) for texts in sent] == [32, 8, 8, 2]
    assert {len(text) for texts in sent[2:] for text in texts} == {8000}
    assert len(vectors) == 40
    assert numbers(vectors[31]) != numbers(vectors[32])


async def test_what_no_provider_takes_is_not_sent() -> None:
    async with benched(answer([1], [1], [1])) as bench:
        await bench.embedder.embed(["", "\n", "half \ud83d"])

    assert bench.upstream.requests[0].body["input"] == [".", ".", "half ?"]


async def test_texts_that_are_too_long_for_the_model_are_cut_until_they_fit() -> None:
    too_long = refusal(400, "This model's maximum context length is 5 tokens")
    async with benched(too_long, too_long, answer([1, 0])) as bench:
        assert len(await bench.embedder.embed(["x" * 9000])) == 1

    lengths = [len(request.body["input"][0]) for request in bench.upstream.requests]
    assert lengths == [8000, 4000, 2000]
    async with benched(too_long) as bench:
        with pytest.raises(ContextOverflowError):
            await bench.embedder.embed(["x"])


@pytest.mark.parametrize(
    ("trouble", "pause"),
    [
        (refusal(429, "slow down", **{"retry-after": "7"}), 7),
        (refusal(500), 1),
        (refusal(529), 1),
        (Reply([b"<html>busy</html>"]), 1),
        (Reply([b""], cut_after=0), 1),
        (Reply(hang_before=True), 1),
        (answer(), 1),
        (answer([1, 0], [1, 0]), 1),
        (answer([1, None]), 1),
        (answer(["1", "0"]), 1),
        (answer("vector"), 1),
        (answer([0, 0]), 1),
        (Reply([b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}']), 1),
        (Reply([b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}']), 1),
        (Reply([b'{"data": [{"index": 7, "embedding": [1, 1]}]}']), 1),
        (Reply([b"[1]"]), 1),
        (Reply(body={"data": None}), 1),
    ],
)
async def test_what_passes_is_waited_for(trouble: Reply, pause: float) -> None:
    async with benched(trouble, answer([0, 1])) as bench:
        [vector] = await bench.embedder.embed(["a"])

    assert numbers(vector) == [0.0, 1.0]
    assert bench.pauses == [pause]


@pytest.mark.parametrize(
    ("trouble", "kind", "said", "tries"),
    [
        (refusal(401, "no such key"), AuthenticationError, r"uses providers\.openai\.api_key", 1),
        (refusal(404), NotFoundError, r"vectors-1 .* Check knowledge\.embeddings", 1),
        (refusal(429, **{"retry-after": "900"}), RateLimitedError, "429", 1),
        (refusal(429), RateLimitedError, "429", 3),
        (refusal(503), NetworkError, "503", 3),
        (Reply(hang_before=True), TimeLimitError, "in time", 3),
        (Reply([b"{"]), ModelError, "no JSON", 3),
        (answer([1, 0], [1, 0]), ModelError, "no vectors that can be used", 3),
    ],
)
async def test_what_does_not_pass_is_an_error_that_says_what_to_do(
    trouble: Reply, kind: type[JuntoError], said: str, tries: int
) -> None:
    async with benched(trouble) as bench:
        with pytest.raises(kind, match=said) as failed:
            await bench.embedder.embed(["a"])

    assert len(bench.upstream.requests) == tries
    assert KEY not in failed.value.message


@pytest.mark.parametrize("second", [answer([1, 2, 3]), answer([1, 2], [1, 2, 3])])
async def test_vectors_of_another_length_are_not_mixed_in(second: Reply) -> None:
    async with benched(answer([1, 2]), second) as bench:
        await bench.embedder.embed(["a"])

        with pytest.raises(ModelError, match="different lengths"):
            await bench.embedder.embed(["b"] * len((second.body or {})["data"]))


async def test_a_provider_that_is_down_is_left_alone() -> None:
    async with benched(refusal(500), failures=2) as bench:
        for _ in range(5):
            with pytest.raises(NetworkError):
                await bench.embedder.embed(["a"])

    assert len(bench.upstream.requests) == 2 * 3


async def test_it_is_opened_by_its_setting(tmp_path: Path) -> None:
    body: Json = {"data": [{"embedding": [2.0, 0.0]}]}  # some leave out an index of 0
    async with contextlib.AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream.started())
        upstream.will(Reply(body=body))

        embedder = embedder_of(settings_for(upstream), tmp_path, stack, Redactor(()), UsageBook())

        assert embedder
        assert [numbers(vector) for vector in await embedder.embed(["a"])] == [[1.0, 0.0]]


async def test_a_key_that_a_provider_repeats_is_not_told(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream.started())
        settings = settings_for(upstream)
        upstream.will(Reply(status=400, body={"error": {"message": f"bad key {KEY}"}}))
        redactor = Redactor(secrets_in(settings))
        embedder = embedder_of(settings, tmp_path, stack, redactor, UsageBook())
        assert embedder

        with pytest.raises(JuntoError) as refused:
            await embedder.embed(["a"])

    assert KEY not in str(refused.value)
    assert KEY not in refused.value.message
    assert "bad key" in refused.value.message
