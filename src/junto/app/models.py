"""Builds the model catalog, the council and the embedder from settings."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from junto.app.usage import UsageTracker, build_accounts
from junto.domain.documents import Embedder
from junto.domain.limits import RateLimit, RateLimiter
from junto.providers.catalog.catalog import Catalog, ProviderAccess
from junto.providers.catalog.from_settings import (
    build_embedded_spec,
    build_model_specs,
    build_provider_accesses,
    resolve_thread_count,
)
from junto.providers.catalog.remote_lists import ModelLists
from junto.providers.embeddings.from_settings import (
    MINILM_MODEL,
    EmbeddingModelSpec,
    resolve_embedding_model,
)
from junto.providers.embeddings.middleware import LazyEmbedder, RedactingEmbedder
from junto.providers.provider import Provider
from junto.security.redaction import Redactor, redact_pii
from junto.settings.render import iter_secrets
from junto.settings.schema import Settings
from junto.telemetry.usage_recorder import UsageRecorder

if TYPE_CHECKING:
    from junto.providers.factory import LocalModelOptions, ProviderOptions
    from junto.providers.http.client import Timeouts
    from junto.providers.middleware.cache import AnswerCache
    from junto.providers.middleware.guards import PromptGuard
    from junto.providers.middleware.router import PipelineOptions


def build_catalog(settings: Settings, state_dir: Path) -> Catalog:
    """Return the catalog of available models.

    Raises:
        ConfigurationError: an entry does not say enough.
    """
    open_to_us = build_provider_accesses(settings.providers)
    names = tuple(access.provider for access in open_to_us)
    return Catalog(
        configured=build_model_specs(settings.models, settings.providers),
        provider_accesses=open_to_us,
        lists=ModelLists(state_dir / "models", names, settings.providers.refresh),
        embedded=build_embedded_spec(settings.embedded),
        preferred=settings.default_model,
        fallback=settings.answers.fallback,
    )


@dataclass(frozen=True, slots=True)
class _LimitBackends:
    """The rate limiter and the answer cache: in this process, or in Redis."""

    limiter: RateLimiter
    cache: "AnswerCache | None"


@contextlib.asynccontextmanager
async def open_council(
    settings: Settings, catalog: Catalog, state_dir: Path, usage: UsageTracker
) -> AsyncIterator[Provider]:
    """Open the council, and close its connections at the end of the block."""
    from junto.providers.factory import open_provider_factory
    from junto.providers.middleware.metrics import ModelTelemetry
    from junto.providers.middleware.router import Council

    async with AsyncExitStack() as stack:
        keepers = await _open_backends(settings, stack)
        council = Council(
            catalog=catalog,
            build_provider=await stack.enter_async_context(
                open_provider_factory(build_provider_options(settings, state_dir))
            ),
            options=_build_pipeline_options(settings),
            telemetry=ModelTelemetry(usage.metrics, usage.recorder),
            limiter=keepers.limiter,
            ledger=usage.ledger,
            cache=keepers.cache,
        )
        yield _wrap_with_guards(council, settings)


def build_prompt_guard(settings: Settings) -> "PromptGuard":
    """Return the configured guards of prompts."""
    from junto.providers.middleware.guards import ModerationEndpoint, PromptGuard

    guards, moderator = settings.guards, None
    redact: Callable[[str], str] | None = None
    if guards.moderation_url:
        key = guards.moderation_key.get_secret_value() if guards.moderation_key else None
        moderator = ModerationEndpoint(guards.moderation_url, key, guards.moderation_model)
    if guards.redact_prompts:
        redactor = Redactor(iter_secrets(settings))
        redact = lambda text: redact_pii(redactor.redact_text(text))  # noqa: E731 - optional
    return PromptGuard(moderator, redact)


def _wrap_with_guards(council: Provider, settings: Settings) -> Provider:
    """Return the council behind the configured guards: redaction first, then moderation."""
    from junto.providers.middleware.guards import Moderated, Redacted

    guard = build_prompt_guard(settings)
    if guard.moderator:
        council = Moderated(council, guard.moderator)
    return Redacted(council, guard.redact) if guard.redact else council


async def _open_backends(settings: Settings, stack: AsyncExitStack) -> _LimitBackends:
    from junto.providers.middleware.cache import InMemoryAnswerCache
    from junto.providers.middleware.limits import InMemoryRateLimiter

    kept = settings.cache
    if settings.redis.url is None:
        cache = InMemoryAnswerCache(kept.seconds, kept.entries) if kept.enabled else None
        return _LimitBackends(InMemoryRateLimiter(), cache)
    from junto.storage.redis_client import open_redis

    redis = await stack.enter_async_context(open_redis(settings.redis.url.get_secret_value()))
    from junto.storage.redis_cache import RedisAnswerCache
    from junto.storage.redis_limits import RedisRateLimiter

    shared = RedisAnswerCache(redis, kept.seconds) if kept.enabled else None
    return _LimitBackends(RedisRateLimiter(redis), shared)


def _build_pipeline_options(settings: Settings) -> "PipelineOptions":
    from junto.providers.middleware.router import PipelineOptions

    limits = settings.limits
    return PipelineOptions(
        max_retries=settings.answers.max_retries,
        rate=RateLimit(limits.requests_per_minute, limits.tokens_per_minute),
        max_wait_seconds=limits.wait,
        max_concurrent_calls=limits.concurrent,
        failure_threshold=limits.failures,
        cooldown_seconds=limits.cooldown,
        accounts=build_accounts(settings),
        fallback=settings.answers.fallback,
    )


def build_provider_options(settings: Settings, state_dir: Path) -> "ProviderOptions":
    """Return the options with which providers are built."""
    from junto.providers.factory import ProviderOptions

    return ProviderOptions(
        timeouts=build_timeouts(settings),
        max_answer_chars=settings.answers.max_chars,
        bedrock=settings.providers.get("bedrock"),
        vertex=settings.providers.get("vertex"),
        local_model=build_engine_choice(settings, state_dir),
    )


def build_timeouts(settings: Settings) -> "Timeouts":
    """Return the timeouts of requests to providers."""
    from junto.providers.http.client import Timeouts

    answers = settings.answers
    return Timeouts(connect=answers.connect, read=answers.silence, total=answers.timeout)


def build_engine_choice(settings: Settings, state_dir: Path) -> "LocalModelOptions | None":
    """Return the options of the embedded model, if it is enabled and installed."""
    if build_embedded_spec(settings.embedded) is None:
        return None
    from junto.providers.factory import LocalModelOptions
    from junto.providers.local.weights import Weights

    chosen = settings.embedded
    return LocalModelOptions(
        weights=Weights(state_dir / "weights", chosen.model),
        runtime_dir=runtime_directory(),
        context_tokens=chosen.context_window,
        threads=resolve_thread_count(chosen),
        idle_seconds=chosen.idle,
    )


def runtime_directory() -> Path:
    """Return the directory for sockets: a short path, the same for all processes of this user."""
    user = os.getuid()
    session = Path(f"/run/user/{user}")
    if os.access(session, os.W_OK):
        return session / "junto"
    return Path(tempfile.gettempdir()) / f"junto-{user}"


async def refresh_model_lists(
    catalog: Catalog, providers: tuple[str, ...] | None = None
) -> dict[str, str]:
    """Fetch the model lists of providers; return the failures, by provider."""
    from junto.providers.factory import fetch_models

    known: dict[str, ProviderAccess] = {
        access.provider: access for access in catalog.provider_accesses
    }

    async def fetch(provider: str) -> Any:
        return await fetch_models(known[provider].build_route(""))

    return await catalog.lists.refresh(fetch, providers)


# The model takes 120 MB of memory, and a third of a second to load again.
_EMBEDDER_IDLE_SECONDS = 300.0


def build_embedder(
    settings: Settings,
    state_dir: Path,
    stack: AsyncExitStack,
    redactor: Redactor,
    usage_recorder: UsageRecorder,
) -> Embedder | None:
    """Return the configured embedder, if any; it is opened on first use.

    What goes wrong is told to callers, and a provider may repeat its key in its refusal; so the
    redactor has the last word.

    Raises:
        ConfigurationError: the settings name somebody who cannot be asked.
    """
    name = settings.knowledge.embeddings
    if name == "off":
        return None
    if name == "embedded":
        later = LazyEmbedder(
            lambda: _open_local_embedder(settings, state_dir),
            known_model=MINILM_MODEL,
            idle_seconds=_EMBEDDER_IDLE_SECONDS,
        )
    else:
        choice = resolve_embedding_model(name, settings.models, settings.providers)
        later = LazyEmbedder(lambda: _open_remote_embedder(settings, choice, usage_recorder))
    stack.push_async_callback(later.close)
    return RedactingEmbedder(later, redactor.redact_text)


def _open_local_embedder(
    settings: Settings, state_dir: Path
) -> AbstractAsyncContextManager[Embedder]:
    from junto.providers.embeddings.minilm import build_minilm_weights, open_minilm

    return open_minilm(
        build_minilm_weights(state_dir / "weights"), resolve_thread_count(settings.knowledge)
    )


def _open_remote_embedder(
    settings: Settings, choice: EmbeddingModelSpec, usage_recorder: UsageRecorder
) -> AbstractAsyncContextManager[Embedder]:
    from junto.providers.embeddings.remote import open_remote_embedder
    from junto.providers.middleware.circuit import Circuit

    limits = settings.limits
    circuit = Circuit(choice.route.provider, limits.failures, limits.cooldown)
    return open_remote_embedder(
        choice, build_timeouts(settings), settings.answers.max_retries, circuit, usage_recorder
    )
