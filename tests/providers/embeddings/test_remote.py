"""The remote embedder against a scripted provider that misbehaves in every way."""

import contextlib
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from junto.app.models import build_embedder
from junto.domain.documents import EmbeddingModel
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
from junto.domain.usage import UsageDimension, UsageTotals
from junto.providers.embeddings.from_settings import resolve_embedding_model
from junto.providers.embeddings.remote import RemoteEmbedder
from junto.providers.http.client import HttpClient, Timeouts
from junto.providers.middleware.circuit import Circuit
from junto.runtime.lazy import Lazy
from junto.security.redaction import Redactor
from junto.settings.render import iter_secrets
from junto.settings.schema import Settings
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.usage import SqliteUsage
from junto.telemetry.usage_recorder import UsageRecorder
from tests.scripted_model_server import Json, ScriptedModelServer, ScriptedReply

KEY = "sk-never-to-be-seen-0000000000"


def vectors_reply(*vectors: Any) -> ScriptedReply:
    items = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return ScriptedReply(body={"data": items})


def error_reply(status: int, message: str = "", **headers: str) -> ScriptedReply:
    return ScriptedReply(status=status, body={"error": {"message": message}}, headers=headers)


def decode_vector(vector: bytes) -> list[float]:
    return [round(value, 4) for (value,) in struct.iter_unpack("<f", vector)]


def build_settings(upstream: ScriptedModelServer) -> Settings:
    openai = {"api_key": KEY, "base_url": f"{upstream.url}/v1"}
    return Settings.model_validate(
        {"providers": {"openai": openai}, "knowledge": {"embeddings": "openai/vectors-1"}}
    )


@dataclass
class EmbedderSetup:
    """An embedder, its scripted provider, and the delays before its retries."""

    upstream: ScriptedModelServer
    embedder: RemoteEmbedder
    delays: list[float] = field(default_factory=list)


@contextlib.asynccontextmanager
async def open_setup(
    *replies: ScriptedReply, failure_threshold: int = 100
) -> AsyncIterator[EmbedderSetup]:
    async with ScriptedModelServer.start() as upstream, HttpClient.open() as client:
        upstream.enqueue(*replies)
        settings, delays = build_settings(upstream), list[float]()
        model_spec = resolve_embedding_model("openai/vectors-1", (), settings.providers)

        async def sleep(seconds: float) -> None:
            delays.append(seconds)

        circuit, timeouts = Circuit("openai", failure_threshold), Timeouts(read=0.2)
        embedder = RemoteEmbedder(
            model_spec, client, timeouts, 2, circuit, backoff=lambda _: 1.0, sleep=sleep
        )
        yield EmbedderSetup(upstream, embedder, delays)


async def test_vectors_are_normalized_and_in_the_order_of_their_texts() -> None:
    swapped = {"data": [{"index": 1, "embedding": [0, 5]}, {"index": 0, "embedding": [3.0, 4.0]}]}
    async with open_setup(ScriptedReply(body=swapped)) as setup:
        vectors = await setup.embedder.embed(["a", "b"])

    assert [decode_vector(vector) for vector in vectors] == [[0.6, 0.8], [0.0, 1.0]]
    [request] = setup.upstream.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "vectors-1", "input": ["a", "b"]}


async def test_usage_is_recorded_if_the_provider_reports_it() -> None:
    valid = ScriptedReply(body={"data": [{"embedding": [3, 4]}], "usage": {"prompt_tokens": 7}})
    invalid = ScriptedReply(body={"data": [{"embedding": [3, 4]}], "usage": "much"})
    async with open_setup(valid, invalid) as setup, contextlib.AsyncExitStack() as stack:
        store = SqliteUsage(Lazy(lambda: SqliteDatabase.open(None), stack))
        setup.embedder.usage_recorder = UsageRecorder(store)
        for _ in range(2):
            await setup.embedder.embed(["a"])
        await setup.embedder.usage_recorder.flush()

        dimensions = (UsageDimension.TOOL, UsageDimension.PROVIDER, UsageDimension.MODEL)
        totals = await store.load_totals(dimensions, 0, 2**40)
    expected = UsageTotals(questions=2, input_tokens=7, unpriced=2)
    assert totals == {("embeddings", "openai", "vectors-1"): expected}


async def test_the_dimension_is_that_of_the_first_vector() -> None:
    async with open_setup(vectors_reply([1, 2, 3])) as setup:
        assert await setup.embedder.model() == EmbeddingModel("openai/vectors-1", 3)
        assert await setup.embedder.model() == EmbeddingModel("openai/vectors-1", 3)

    assert len(setup.upstream.requests) == 1


async def test_texts_are_sent_in_batches_and_long_texts_in_smaller_ones() -> None:
    async with open_setup(
        vectors_reply(*([1, 0] for _ in range(32))),
        vectors_reply(*([1, 1] for _ in range(8))),
        vectors_reply(*([0, 1] for _ in range(8))),
        vectors_reply(*([1, 3] for _ in range(2))),
    ) as setup:
        vectors = await setup.embedder.embed(["a"] * 40)
        await setup.embedder.embed(["b" * 100_000] * 10)

    sent = [request.body["input"] for request in setup.upstream.requests]
    assert [len(texts) for texts in sent] == [32, 8, 8, 2]
    assert {len(text) for texts in sent[2:] for text in texts} == {8000}
    assert len(vectors) == 40
    assert decode_vector(vectors[31]) != decode_vector(vectors[32])


async def test_text_that_providers_reject_is_replaced() -> None:
    async with open_setup(vectors_reply([1], [1], [1])) as setup:
        await setup.embedder.embed(["", "\n", "half \ud83d"])

    assert setup.upstream.requests[0].body["input"] == [".", ".", "half ?"]


async def test_texts_too_long_for_the_model_are_shortened_until_they_fit() -> None:
    too_long = error_reply(400, "This model's maximum context length is 5 tokens")
    async with open_setup(too_long, too_long, vectors_reply([1, 0])) as setup:
        assert len(await setup.embedder.embed(["x" * 9000])) == 1

    lengths = [len(request.body["input"][0]) for request in setup.upstream.requests]
    assert lengths == [8000, 4000, 2000]
    async with open_setup(too_long) as setup:
        with pytest.raises(ContextOverflowError):
            await setup.embedder.embed(["x"])


@pytest.mark.parametrize(
    ("failure", "delay"),
    [
        (error_reply(429, "slow down", **{"retry-after": "7"}), 7),
        (error_reply(500), 1),
        (error_reply(529), 1),
        (ScriptedReply([b"<html>busy</html>"]), 1),
        (ScriptedReply([b""], cut_after=0), 1),
        (ScriptedReply(hang_before=True), 1),
        (vectors_reply(), 1),
        (vectors_reply([1, 0], [1, 0]), 1),
        (vectors_reply([1, None]), 1),
        (vectors_reply(["1", "0"]), 1),
        (vectors_reply("vector"), 1),
        (vectors_reply([0, 0]), 1),
        (ScriptedReply([b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}']), 1),
        (ScriptedReply([b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}']), 1),
        (ScriptedReply([b'{"data": [{"index": 7, "embedding": [1, 1]}]}']), 1),
        (ScriptedReply([b"[1]"]), 1),
        (ScriptedReply(body={"data": None}), 1),
    ],
)
async def test_a_transient_failure_is_retried(failure: ScriptedReply, delay: float) -> None:
    async with open_setup(failure, vectors_reply([0, 1])) as setup:
        [vector] = await setup.embedder.embed(["a"])

    assert decode_vector(vector) == [0.0, 1.0]
    assert setup.delays == [delay]


@pytest.mark.parametrize(
    ("failure", "kind", "message", "attempts"),
    [
        (
            error_reply(401, "no such key"),
            AuthenticationError,
            r"uses providers\.openai\.api_key",
            1,
        ),
        (error_reply(404), NotFoundError, r"vectors-1 .* Check knowledge\.embeddings", 1),
        (error_reply(429, **{"retry-after": "900"}), RateLimitedError, "429", 1),
        (error_reply(429), RateLimitedError, "429", 3),
        (error_reply(503), NetworkError, "503", 3),
        (ScriptedReply(hang_before=True), TimeLimitError, "in time", 3),
        (ScriptedReply([b"{"]), ModelError, "no JSON", 3),
        (vectors_reply([1, 0], [1, 0]), ModelError, "no vectors that can be used", 3),
    ],
)
async def test_a_persistent_failure_is_an_error_that_says_what_to_do(
    failure: ScriptedReply, kind: type[JuntoError], message: str, attempts: int
) -> None:
    async with open_setup(failure) as setup:
        with pytest.raises(kind, match=message) as caught:
            await setup.embedder.embed(["a"])

    assert len(setup.upstream.requests) == attempts
    assert KEY not in caught.value.message


@pytest.mark.parametrize("second", [vectors_reply([1, 2, 3]), vectors_reply([1, 2], [1, 2, 3])])
async def test_vectors_of_different_lengths_are_rejected(second: ScriptedReply) -> None:
    async with open_setup(vectors_reply([1, 2]), second) as setup:
        await setup.embedder.embed(["a"])

        with pytest.raises(ModelError, match="different lengths"):
            await setup.embedder.embed(["b"] * len((second.body or {})["data"]))


async def test_the_circuit_opens_when_a_provider_is_down() -> None:
    async with open_setup(error_reply(500), failure_threshold=2) as setup:
        for _ in range(5):
            with pytest.raises(NetworkError):
                await setup.embedder.embed(["a"])

    assert len(setup.upstream.requests) == 2 * 3


async def test_the_settings_select_the_remote_embedder(tmp_path: Path) -> None:
    body: Json = {"data": [{"embedding": [2.0, 0.0]}]}  # some providers omit an index of 0
    async with contextlib.AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(ScriptedModelServer.start())
        upstream.enqueue(ScriptedReply(body=body))

        embedder = build_embedder(
            build_settings(upstream), tmp_path, stack, Redactor(()), UsageRecorder()
        )

        assert embedder
        assert [decode_vector(vector) for vector in await embedder.embed(["a"])] == [[1.0, 0.0]]


async def test_a_key_that_a_provider_echoes_is_redacted(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(ScriptedModelServer.start())
        settings = build_settings(upstream)
        upstream.enqueue(ScriptedReply(status=400, body={"error": {"message": f"bad key {KEY}"}}))
        redactor = Redactor(iter_secrets(settings))
        embedder = build_embedder(settings, tmp_path, stack, redactor, UsageRecorder())
        assert embedder

        with pytest.raises(JuntoError) as caught:
            await embedder.embed(["a"])

    assert KEY not in str(caught.value)
    assert KEY not in caught.value.message
    assert "bad key" in caught.value.message
