"""Build the provider of each model, and manage the resources that providers share.

All HTTP providers use one HTTP client. The engine of the embedded model and the cloud clients
are opened on first use.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto.domain.errors import ConfigurationError
from junto.provider_specs.registry import find_spec, find_spec_by_url
from junto.provider_specs.spec import Dialect
from junto.providers.catalog.catalog import ModelSpec, Route
from junto.providers.codecs.anthropic import AnthropicCodec
from junto.providers.codecs.codec import Codec
from junto.providers.codecs.openai import OpenAiCodec
from junto.providers.http.bedrock_vertex import CloudProvider, open_bedrock, open_vertex
from junto.providers.http.client import HttpClient, Timeouts
from junto.providers.http.endpoints import (
    build_chat_endpoint,
    build_key_endpoint,
    build_models_endpoint,
)
from junto.providers.http.provider import HttpProvider
from junto.providers.local.weights import Weights
from junto.providers.provider import LazyProvider, Provider
from junto.providers.sampling import SamplingProvider
from junto.settings.providers import ProviderSettings

_LIST_TIMEOUTS = Timeouts(connect=5, read=10, total=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModelOptions:
    """Options for the engine of the embedded model."""

    weights: Weights
    runtime_dir: Path
    context_tokens: int
    threads: int
    idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Options that are needed to build any provider."""

    timeouts: Timeouts
    # The longest answer; None derives it from the tokens that are asked for.
    max_answer_chars: int | None = None
    bedrock: ProviderSettings
    vertex: ProviderSettings
    local_model: LocalModelOptions | None = None


@contextlib.asynccontextmanager
async def open_provider_factory(
    options: ProviderOptions,
) -> AsyncIterator[Callable[[ModelSpec], Provider]]:
    """Yield a function that builds the provider of a model; close all resources on exit."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(HttpClient.open())

        def build_provider(model_spec: ModelSpec) -> Provider:
            match model_spec.route.dialect:
                case Dialect.ANTHROPIC | Dialect.OPENAI:
                    return _build_http_provider(model_spec, client, options)
                case Dialect.EMBEDDED:
                    return _build_local_provider(model_spec, options, stack)
                case Dialect.BEDROCK:
                    return LazyProvider(lambda: _open_bedrock_provider(model_spec, options), stack)
                case Dialect.CLIENT:
                    return SamplingProvider()
                case Dialect.VERTEX:
                    return LazyProvider(lambda: _open_vertex_provider(model_spec, options), stack)

        yield build_provider


def _build_http_provider(
    model_spec: ModelSpec, client: HttpClient, options: ProviderOptions
) -> Provider:
    route = model_spec.route
    codec: Codec = AnthropicCodec(route.provider)
    if route.dialect is Dialect.OPENAI:
        codec = OpenAiCodec(route.provider, _get_max_tokens_field(route))
    return HttpProvider(
        codec,
        build_chat_endpoint(route),
        model_spec.capabilities,
        client,
        options.timeouts,
        options.max_answer_chars,
    )


def _get_max_tokens_field(route: Route) -> str:
    """Return the name of the token limit at the provider that has this address."""
    spec = find_spec(route.provider)
    if not spec.is_own_url(route.base_url):
        spec = find_spec_by_url(route.base_url)
    return spec.max_tokens_field


def _build_local_provider(
    model_spec: ModelSpec, provider_options: ProviderOptions, stack: AsyncExitStack
) -> Provider:
    if provider_options.local_model is None:
        raise ConfigurationError("The embedded model is switched off.")
    # Imported here because the engine needs fcntl, which Windows lacks.
    from junto.providers.local.engine import Engine, EngineOptions
    from junto.providers.local.provider import LocalProvider

    local_model = provider_options.local_model

    def build_engine(weights: Path) -> Engine:
        options = EngineOptions(
            weights=weights, context_tokens=local_model.context_tokens, threads=local_model.threads
        )
        return Engine.create(local_model.runtime_dir, options, local_model.idle_seconds)

    return LocalProvider(
        local_model.weights, build_engine, model_spec.capabilities, provider_options.timeouts, stack
    )


@contextlib.asynccontextmanager
async def _open_bedrock_provider(
    model_spec: ModelSpec, options: ProviderOptions
) -> AsyncIterator[Provider]:
    base_url = model_spec.route.base_url or options.bedrock.base_url
    async with open_bedrock(region=options.bedrock.region, base_url=base_url) as account:
        yield CloudProvider(
            account, model_spec.capabilities, options.timeouts, options.max_answer_chars
        )


@contextlib.asynccontextmanager
async def _open_vertex_provider(
    model_spec: ModelSpec, options: ProviderOptions
) -> AsyncIterator[Provider]:
    vertex = options.vertex
    async with open_vertex(
        region=vertex.region,
        project_id=vertex.project,
        base_url=model_spec.route.base_url or vertex.base_url,
        access_token=model_spec.route.api_key,
    ) as account:
        yield CloudProvider(
            account, model_spec.capabilities, options.timeouts, options.max_answer_chars
        )


async def fetch_models(route: Route) -> Any:
    """Fetch a provider's list of models.

    Raises:
        JuntoError: the provider could not be reached, or rejected the request.
    """
    async with HttpClient.open() as client:
        return await client.get_json(build_models_endpoint(route), _LIST_TIMEOUTS)


async def verify_key_and_fetch_models(route: Route) -> Any:
    """Check that the provider accepts the key, then fetch its list of models.

    Neither request is billed.

    Raises:
        JuntoError: the provider could not be reached, or rejected the key or the request.
    """
    if key_endpoint := build_key_endpoint(route):
        async with HttpClient.open() as client:
            await client.get_json(key_endpoint, _LIST_TIMEOUTS)
    return await fetch_models(route)
