"""Build the contents of the catalog from the settings."""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from pydantic import SecretStr

from junto.domain.errors import ConfigurationError
from junto.domain.models import Capabilities, Price
from junto.provider_specs.registry import PROVIDER_SPECS, find_spec
from junto.provider_specs.spec import Dialect
from junto.providers.catalog.catalog import ModelSpec, ProviderAccess, Route
from junto.settings.list_entries import CapabilityEntry, ModelEntry, PriceEntry
from junto.settings.providers import ProvidersSettings
from junto.settings.schema import EmbeddedSettings, KnowledgeSettings

_WHITESPACE_PATTERN = re.compile(r"[\s\x00-\x1f]")
# The bundled model was not trained to call tools; a model of the user's own may be.
EMBEDDED_CAPABILITIES = Capabilities(
    images=False, documents=False, tools=False, max_schema_chars=4_000
)
EMBEDDED_MODEL_ID = "smollm2-135m"
_EMBEDDED_DESCRIPTION = (
    "runs on this machine without a key or network; small: it answers, it is no sage"
)


def build_provider_accesses(providers: ProvidersSettings) -> tuple[ProviderAccess, ...]:
    """Return the usable providers: those with a key or, if they need none, with a base URL."""
    return tuple(_iter_provider_accesses(providers))


def _iter_provider_accesses(providers: ProvidersSettings) -> Iterator[ProviderAccess]:
    for name, spec in PROVIDER_SPECS.items():
        options = providers.get(name)
        is_usable = options.api_key if "api_key" in spec.settings else options.base_url
        if is_usable and not spec.is_cloud:
            url, setting = options.base_url, f"providers.{name}.base_url"
            yield ProviderAccess(
                provider=name,
                base_url=_validate_url(url, setting) if url else None,
                api_key=_read_key(options.api_key),
            )


def _read_key(secret: SecretStr | None) -> str | None:
    # A key from a file often ends in a newline, which is not allowed in a header.
    return secret.get_secret_value().strip() or None if secret else None


def _validate_url(url: str, setting: str) -> str:
    """Return `url` without surrounding whitespace.

    Raises:
        ConfigurationError: the URL is invalid; the message omits it, since it may hold a password.
    """
    stripped = url.strip()
    try:
        parts = urlsplit(stripped)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except (ValueError, UnicodeError):
        raise ConfigurationError(
            f"{setting}: it takes an address such as https://host/v1."
        ) from None
    if not host or parts.scheme not in ("http", "https") or _WHITESPACE_PATTERN.search(stripped):
        raise ConfigurationError(f"{setting}: it takes an address such as https://host/v1.")
    if parts.username or parts.password:
        raise ConfigurationError(f"{setting}: a key does not belong into the address: use apiKey.")
    return stripped


def build_model_specs(
    entries: tuple[ModelEntry, ...], providers: ProvidersSettings
) -> tuple[ModelSpec, ...]:
    """Return the models that are listed in the settings.

    Raises:
        ConfigurationError: an entry is incomplete or invalid, or two entries have the same id.
    """
    specs = tuple(_build_model_spec(entry, providers) for entry in entries)
    for spec in specs:
        if sum(other.id == spec.id for other in specs) > 1:
            raise ConfigurationError(f"models: the id {spec.id} stands there twice.")
    return specs


def _build_model_spec(entry: ModelEntry, providers: ProvidersSettings) -> ModelSpec:
    route = _build_route(entry, providers)
    return ModelSpec(
        id=entry.id,
        route=route,
        description=entry.description,
        context_window=entry.context_window,
        price=_build_price(entry.price),
        capabilities=_override_capabilities(
            find_spec(route.provider).guess_capabilities(route.model), entry.capabilities
        ),
        fallback=entry.fallback,
        requests_per_minute=entry.requests_per_minute,
        tokens_per_minute=entry.tokens_per_minute,
    )


def _build_route(entry: ModelEntry, providers: ProvidersSettings) -> Route:
    provider_spec = find_spec(entry.provider)
    options = providers.get(entry.provider)
    base_url = entry.base_url or options.base_url or provider_spec.base_url
    if not (base_url or provider_spec.is_cloud):
        names = ", ".join(name for name, spec in PROVIDER_SPECS.items() if spec.base_url)
        raise ConfigurationError(
            f"models: {entry.id}: it needs a baseUrl, since {entry.provider} is not a provider "
            f"with an address of its own: {names}."
        )
    key = entry.api_key
    if key is None and entry.base_url is None:
        # A provider's key is sent only to that provider's own base URL.
        key = options.api_key
    return Route(
        provider=entry.provider,
        dialect=provider_spec.dialect,
        model=entry.model_name or entry.id,
        base_url=_validate_url(base_url, f"models: {entry.id}: baseUrl") if base_url else None,
        api_key=_read_key(key),
    )


def _build_price(entry: PriceEntry | None) -> Price | None:
    if entry is None:
        return None
    return Price(
        input=entry.input,
        output=entry.output,
        cache_read=entry.cache_read,
        cache_write=entry.cache_write,
    )


def _override_capabilities(guessed: Capabilities, entry: CapabilityEntry) -> Capabilities:
    overrides = entry.model_dump(exclude_none=True)
    if "json_schema" in overrides:
        overrides["schema"] = overrides.pop("json_schema")
    return replace(guessed, **overrides)


def is_engine_installed() -> bool:
    """Return whether the engine of the embedded model can run on this machine."""
    return sys.platform != "win32" and importlib.util.find_spec("xllamacpp") is not None


def build_embedded_spec(settings: EmbeddedSettings) -> ModelSpec | None:
    """Return the embedded model, if it is enabled and its engine is installed."""
    if not settings.enabled or not is_engine_installed():
        return None
    name = settings.model.stem if settings.model else EMBEDDED_MODEL_ID
    route = Route(provider="embedded", dialect=Dialect.EMBEDDED, model=name)
    return ModelSpec(
        id=name,
        route=route,
        description=None if settings.model else _EMBEDDED_DESCRIPTION,
        context_window=settings.context_window,
        capabilities=replace(EMBEDDED_CAPABILITIES, tools=settings.model is not None),
    )


def resolve_thread_count(settings: EmbeddedSettings | KnowledgeSettings) -> int:
    """Return the number of compute threads; by default, one core stays free."""
    return settings.threads or max(1, (os.cpu_count() or 2) - 1)
