"""The models of a running Junto, built from its settings."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from junto.app.counting import Counting, accounts_of
from junto.domain.limits import Rate, RateLimiter
from junto.providers.catalog.catalog import Access, Catalog
from junto.providers.catalog.lists import ModelLists
from junto.providers.catalog.reading import accesses, embedded_offer, offers, threads_of
from junto.providers.provider import Provider
from junto.security.personal import without_personal
from junto.security.secrets import Redactor
from junto.settings.showing import secrets_in
from junto.settings.tree import Settings

if TYPE_CHECKING:
    from junto.providers.opening import EngineChoice, Ways
    from junto.providers.pipeline.cache import AnswerCache
    from junto.providers.pipeline.council import Care
    from junto.providers.wiring.wire import Patience


def catalog_of(settings: Settings, state: Path) -> Catalog:
    """Return the models on offer.

    Raises:
        ConfigurationError: an entry does not say enough.
    """
    open_to_us = accesses(settings.providers)
    names = tuple(access.provider for access in open_to_us)
    return Catalog(
        configured=offers(settings.models, settings.providers),
        accesses=open_to_us,
        lists=ModelLists(state / "models", names, settings.providers.refresh),
        embedded=embedded_offer(settings.embedded),
        preferred=settings.default_model,
        fallback=settings.answers.fallback,
    )


@dataclass(frozen=True, slots=True)
class _Keepers:
    """Who keeps count of rates, and who keeps answers."""

    limiter: RateLimiter
    cache: "AnswerCache | None"


@contextlib.asynccontextmanager
async def council_of(
    settings: Settings, catalog: Catalog, state: Path, counting: Counting
) -> AsyncIterator[Provider]:
    """Open the ways to all models, and close them at the end of the block."""
    from junto.providers.opening import adapters
    from junto.providers.pipeline.council import Council
    from junto.providers.pipeline.measure import Counters

    async with AsyncExitStack() as stack:
        keepers = await _keepers(settings, stack)
        council = Council(
            catalog=catalog,
            adapter=await stack.enter_async_context(adapters(ways_of(settings, state))),
            care=_care(settings),
            counters=Counters(counting.metrics, counting.book),
            limiter=keepers.limiter,
            ledger=counting.ledger,
            cache=keepers.cache,
        )
        yield _guarded(council, settings)


def _guarded(council: Provider, settings: Settings) -> Provider:
    """Return the council with the guards that were asked for: cleaned first, then looked at."""
    from junto.providers.pipeline.guards import Cleaned, Endpoint, Moderated

    guards = settings.guards
    if guards.moderation_url:
        key = guards.moderation_key.get_secret_value() if guards.moderation_key else None
        council = Moderated(council, Endpoint(guards.moderation_url, key, guards.moderation_model))
    if guards.redact_prompts:
        redactor = Redactor(secrets_in(settings))
        council = Cleaned(council, lambda text: without_personal(redactor.text(text)))
    return council


async def _keepers(settings: Settings, stack: AsyncExitStack) -> _Keepers:
    from junto.providers.pipeline.cache import LocalCache
    from junto.providers.pipeline.limits import LocalLimiter

    kept = settings.cache
    if settings.redis.url is None:
        cache = LocalCache(kept.seconds, kept.entries) if kept.enabled else None
        return _Keepers(LocalLimiter(), cache)
    from junto.storage.redis_server import connected

    redis = await stack.enter_async_context(connected(settings.redis.url.get_secret_value()))
    from junto.storage.redis_cache import RedisCache
    from junto.storage.redis_limits import RedisLimiter

    shared = RedisCache(redis, kept.seconds) if kept.enabled else None
    return _Keepers(RedisLimiter(redis), shared)


def _care(settings: Settings) -> "Care":
    from junto.providers.pipeline.council import Care

    limits = settings.limits
    return Care(
        retries=settings.answers.max_retries,
        rate=Rate(limits.requests_per_minute, limits.tokens_per_minute),
        wait=limits.wait,
        concurrent=limits.concurrent,
        failures=limits.failures,
        cooldown=limits.cooldown,
        accounts=accounts_of(settings),
        fallback=settings.answers.fallback,
    )


def ways_of(settings: Settings, state: Path) -> "Ways":
    """Return what is needed to reach every model."""
    from junto.providers.opening import Ways

    return Ways(
        patience=patience_of(settings),
        bedrock=settings.providers.bedrock,
        vertex=settings.providers.vertex,
        engine=engine_of(settings, state),
    )


def patience_of(settings: Settings) -> "Patience":
    """Return how long providers are waited for."""
    from junto.providers.wiring.wire import Patience

    answers = settings.answers
    return Patience(connect=answers.connect, read=answers.silence, total=answers.timeout)


def engine_of(settings: Settings, state: Path) -> "EngineChoice | None":
    """Return the engine of the embedded model, if it is wanted and installed."""
    if embedded_offer(settings.embedded) is None:
        return None
    from junto.providers.embedded.weights import Weights
    from junto.providers.opening import EngineChoice

    chosen = settings.embedded
    return EngineChoice(
        weights=Weights(state / "weights", chosen.model),
        runtime=runtime_directory(),
        context=chosen.context_window,
        threads=threads_of(chosen),
        idle=chosen.idle,
    )


def runtime_directory() -> Path:
    """Return where sockets go: short, of this user alone, and the same for all their processes."""
    user = os.getuid()
    session = Path(f"/run/user/{user}")
    if os.access(session, os.W_OK):
        return session / "junto"
    return Path(tempfile.gettempdir()) / f"junto-{user}"


async def refreshed_lists(
    catalog: Catalog, providers: tuple[str, ...] | None = None
) -> dict[str, str]:
    """Ask the providers which models they serve; return what went wrong, by provider."""
    from junto.providers.opening import fetched_list

    known: dict[str, Access] = {access.provider: access for access in catalog.accesses}

    async def fetch(provider: str) -> Any:
        return await fetched_list(known[provider].route(""))

    return await catalog.lists.refresh(fetch, providers)
