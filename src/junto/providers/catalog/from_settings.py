"""From what an operator wrote down to what is on offer."""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from pydantic import SecretStr

from junto.domain.errors import ConfigurationError
from junto.domain.models import Capabilities
from junto.domain.prices import Price
from junto.providers.catalog.catalog import Access, Offer, Route
from junto.providers.catalog.known import KNOWN, Dialect, Known
from junto.providers.catalog.traits import capabilities
from junto.settings.entries import CapabilityEntry, ModelEntry, PriceEntry
from junto.settings.tree import Embedded, Knowledge, Providers

_BLANK = re.compile(r"[\s\x00-\x1f]")
EMBEDDED_ID = "smollm2-135m"
_EMBEDDED_ABOUT = "runs on this machine without a key or network; small: it answers, it is no sage"


def accesses(providers: Providers) -> tuple[Access, ...]:
    """Return the providers that can be asked: those with a key, and local ones with an address."""
    return tuple(_accesses(providers))


def _accesses(providers: Providers) -> Iterator[Access]:
    for name in ("anthropic", "openai", "gemini", "openrouter"):
        provider = getattr(providers, name)
        if provider.api_key:
            url = provider.base_url
            where = f"providers.{name}.base_url"
            yield Access(
                provider=name,
                base_url=_address(url, where) if url else None,
                api_key=_key(provider.api_key),
            )
    if providers.ollama.base_url:
        url = _address(providers.ollama.base_url, "providers.ollama.base_url")
        yield Access(provider="ollama", base_url=url)


def _key(secret: SecretStr | None) -> str | None:
    # A key from a file often ends in a newline, which no header can hold.
    return secret.get_secret_value().strip() or None if secret else None


def _address(url: str, where: str) -> str:
    """Return an address that can be asked.

    Raises:
        ConfigurationError: it cannot; the message does not show it, since it may hold a password.
    """
    plain = url.strip()
    try:
        parts = urlsplit(plain)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except (ValueError, UnicodeError):
        raise ConfigurationError(f"{where}: it takes an address such as https://host/v1.") from None
    if not host or parts.scheme not in ("http", "https") or _BLANK.search(plain):
        raise ConfigurationError(f"{where}: it takes an address such as https://host/v1.")
    if parts.username or parts.password:
        raise ConfigurationError(f"{where}: a key does not belong into the address: use apiKey.")
    return plain


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
        base_url=_address(base_url, f"models: {entry.id}: baseUrl") if base_url else None,
        api_key=_key(key),
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


def threads_of(settings: Embedded | Knowledge) -> int:
    """Return how many threads to compute with: one core is left to everybody else."""
    return settings.threads or max(1, (os.cpu_count() or 2) - 1)
