"""Opening the ways to all models: one pool of connections, one engine, a client for each cloud."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto.domain.errors import ConfigurationError
from junto.providers.catalog.catalog import Offer, Route
from junto.providers.catalog.known import KNOWN, Dialect
from junto.providers.client import ClientModel
from junto.providers.deferred import Deferred
from junto.providers.dialects.anthropic import AnthropicCodec
from junto.providers.dialects.folding import Codec
from junto.providers.dialects.openai import OpenAiCodec
from junto.providers.embedded.weights import Weights
from junto.providers.provider import Provider
from junto.providers.wiring.adapter import Adapter
from junto.providers.wiring.clouds import Cloud, bedrock, vertex
from junto.providers.wiring.endpoints import chat_endpoint, key_endpoint, list_endpoint
from junto.providers.wiring.wire import Patience, Wire
from junto.settings.tree import Bedrock, Vertex

_LIST_PATIENCE = Patience(connect=5, read=10, total=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """Which engine runs the embedded model, and where it may live."""

    weights: Weights
    runtime: Path
    context: int
    threads: int
    idle: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What is needed to reach every model."""

    patience: Patience
    bedrock: Bedrock
    vertex: Vertex
    engine: EngineChoice | None = None


@contextlib.asynccontextmanager
async def adapters(ways: Ways) -> AsyncIterator[Callable[[Offer], Provider]]:
    """Yield what makes an adapter for an offer; all that is opened on the way is closed after."""
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(Wire.opened())

        def adapter(offer: Offer) -> Provider:
            match offer.route.dialect:
                case Dialect.ANTHROPIC | Dialect.OPENAI:
                    return _wired(offer, wire, ways.patience)
                case Dialect.EMBEDDED:
                    return _embedded(offer, ways, stack)
                case Dialect.BEDROCK:
                    return Deferred(lambda: _bedrock(offer, ways), stack)
                case Dialect.CLIENT:
                    return ClientModel()
                case Dialect.VERTEX:
                    return Deferred(lambda: _vertex(offer, ways), stack)

        yield adapter


def _wired(offer: Offer, wire: Wire, patience: Patience) -> Provider:
    route = offer.route
    codec: Codec = AnthropicCodec(route.provider)
    if route.dialect is Dialect.OPENAI:
        codec = OpenAiCodec(route.provider, _length_field(route))
    return Adapter(codec, chat_endpoint(route), offer.capabilities, wire, patience)


def _length_field(route: Route) -> str:
    """Return how the longest answer is called: OpenAI has renamed it, others have not."""
    own = route.provider == "azure" or route.base_url == KNOWN["openai"].base_url
    return "max_completion_tokens" if own else "max_tokens"


def _embedded(offer: Offer, ways: Ways, stack: AsyncExitStack) -> Provider:
    if ways.engine is None:
        raise ConfigurationError("The embedded model is switched off.")
    from junto.providers.embedded.engine import Engine, EngineOptions  # not for Windows
    from junto.providers.embedded.provider import Embedded

    choice = ways.engine

    def engine(weights: Path) -> Engine:
        options = EngineOptions(weights=weights, context=choice.context, threads=choice.threads)
        return Engine.beneath(choice.runtime, options, choice.idle)

    return Embedded(choice.weights, engine, offer.capabilities, ways.patience, stack)


@contextlib.asynccontextmanager
async def _bedrock(offer: Offer, ways: Ways) -> AsyncIterator[Provider]:
    base_url = offer.route.base_url or ways.bedrock.base_url
    async with bedrock(region=ways.bedrock.region, base_url=base_url) as account:
        yield Cloud(account, offer.capabilities, ways.patience)


@contextlib.asynccontextmanager
async def _vertex(offer: Offer, ways: Ways) -> AsyncIterator[Provider]:
    section = ways.vertex
    async with vertex(
        region=section.region,
        project_id=section.project,
        base_url=offer.route.base_url or section.base_url,
        access_token=offer.route.api_key,
    ) as account:
        yield Cloud(account, offer.capabilities, ways.patience)


async def fetched_list(route: Route) -> Any:
    """Return what a provider says that it serves.

    Raises:
        JuntoError: it does not say.
    """
    async with Wire.opened() as wire:
        return await wire.document(list_endpoint(route), _LIST_PATIENCE)


async def proven_list(route: Route) -> Any:
    """Return the same, once the provider has accepted the key; both cost nothing.

    Raises:
        JuntoError: it does not accept the key, or does not say.
    """
    if proof := key_endpoint(route):
        async with Wire.opened() as wire:
            await wire.document(proof, _LIST_PATIENCE)
    return await fetched_list(route)
