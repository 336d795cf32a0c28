"""From what an operator wrote down to what is on offer."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from junto.domain.errors import ConfigurationError
from junto.domain.models import Capabilities
from junto.domain.prices import Price
from junto.providers.catalog.catalog import Access, Offer, Route
from junto.providers.catalog.known import KNOWN, Dialect, Known
from junto.providers.catalog.traits import capabilities
from junto.settings.tree import CapabilityEntry, Embedded, ModelEntry, PriceEntry, Providers

EMBEDDED_ID = "smollm2-135m"
_EMBEDDED_ABOUT = "runs on this machine without a key or network; small: it answers, it is no sage"


def accesses(providers: Providers) -> tuple[Access, ...]:
    """Return the providers that can be asked: those with a key, and local ones with an address."""
    return tuple(_accesses(providers))


def _accesses(providers: Providers) -> Iterator[Access]:
    for name in ("anthropic", "openai", "gemini", "openrouter"):
        provider = getattr(providers, name)
        if provider.api_key:
            key = provider.api_key.get_secret_value()
            yield Access(provider=name, base_url=provider.base_url, api_key=key)
    if providers.ollama.base_url:
        yield Access(provider="ollama", base_url=providers.ollama.base_url)


def offers(entries: tuple[ModelEntry, ...], providers: Providers) -> tuple[Offer, ...]:
    """Return the models that an operator has listed.

    Raises:
        ConfigurationError: an entry does not say enough to ask the model, or one id stands twice.
    """
    found = tuple(_offer(entry, providers) for entry in entries)
    for offer in found:
        if sum(other.id == offer.id for other in found) > 1:
            raise ConfigurationError(f"models: the id {offer.id} stands there twice.")
    return found


def _offer(entry: ModelEntry, providers: Providers) -> Offer:
    route = _route(entry, providers)
    return Offer(
        id=entry.id,
        route=route,
        description=entry.description,
        context_window=entry.context_window,
        price=_price(entry.price),
        capabilities=_told(
            capabilities(route.provider, route.dialect, route.model), entry.capabilities
        ),
        fallback=entry.fallback,
        requests_per_minute=entry.requests_per_minute,
        tokens_per_minute=entry.tokens_per_minute,
    )


def _route(entry: ModelEntry, providers: Providers) -> Route:
    known = KNOWN.get(entry.provider, Known())
    section = getattr(providers, entry.provider, None)
    base_url = entry.base_url or getattr(section, "base_url", None) or known.base_url
    cloud = known.dialect in (Dialect.BEDROCK, Dialect.VERTEX)
    if not (base_url or cloud):
        raise ConfigurationError(
            f"models: {entry.id}: it needs a baseUrl, since {entry.provider} is not a provider "
            f"with an address of its own: {', '.join(n for n, k in KNOWN.items() if k.base_url)}."
        )
    key = entry.api_key
    if key is None and entry.base_url is None:
        # A provider's key goes to that provider's own address, and nowhere else.
        key = getattr(section, "api_key", None)
    return Route(
        provider=entry.provider,
        dialect=known.dialect,
        model=entry.model_name or entry.id,
        base_url=base_url,
        api_key=key.get_secret_value() if key else None,
    )


def _price(entry: PriceEntry | None) -> Price | None:
    if entry is None:
        return None
    return Price(
        input=entry.input,
        output=entry.output,
        cache_read=entry.cache_read,
        cache_write=entry.cache_write,
    )


def _told(guessed: Capabilities, entry: CapabilityEntry) -> Capabilities:
    said = entry.model_dump(exclude_none=True)
    if "json_schema" in said:
        said["schema"] = said.pop("json_schema")
    return replace(guessed, **said)


def engine_installed() -> bool:
    """Return whether this machine can run the embedded model at all."""
    return sys.platform != "win32" and importlib.util.find_spec("xllamacpp") is not None


def embedded_offer(settings: Embedded) -> Offer | None:
    """Return the embedded model, if it is wanted and its engine is installed."""
    if not settings.enabled or not engine_installed():
        return None
    name = settings.model.stem if settings.model else EMBEDDED_ID
    route = Route(provider="embedded", dialect=Dialect.EMBEDDED, model=name)
    return Offer(
        id=name,
        route=route,
        description=None if settings.model else _EMBEDDED_ABOUT,
        context_window=settings.context_window,
        capabilities=capabilities(route.provider, route.dialect, name),
    )


def engine_threads(settings: Embedded) -> int:
    """Return how many threads the engine computes with: one core is left to everybody else."""
    return settings.threads or max(1, (os.cpu_count() or 2) - 1)
