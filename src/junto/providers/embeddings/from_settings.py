"""Resolve the setting knowledge.embeddings to a model."""

from dataclasses import dataclass, replace

from junto.domain.documents import EmbeddingModel
from junto.domain.errors import ConfigurationError
from junto.provider_specs.registry import PROVIDER_SPECS, find_spec
from junto.providers.catalog.catalog import Route
from junto.providers.catalog.from_settings import build_model_specs, build_provider_accesses
from junto.settings.list_entries import ModelEntry
from junto.settings.providers import ProvidersSettings

MINILM_MODEL = EmbeddingModel("all-MiniLM-L6-v2-int8", 384)
_SETTING_NAME = "knowledge.embeddings"
_PROVIDER_NAMES = [
    name for name, spec in PROVIDER_SPECS.items() if spec.has_embeddings and spec.settings
]
_SUPPORTED_CHOICES = f"{', '.join(_PROVIDER_NAMES)}, or an entry of `models`"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModelSpec:
    """A provider's embedding model: its name, its route, and the setting that holds its key."""

    name: str
    route: Route
    key_setting: str


def resolve_embedding_model(
    name: str, entries: tuple[ModelEntry, ...], providers: ProvidersSettings
) -> EmbeddingModelSpec:
    """Return the model with this name: PROVIDER/MODEL, or the id of an entry in `models`.

    Raises:
        ConfigurationError: the model is unknown, makes no embeddings, or has no key.
    """
    spec = (
        _find_entry(name, entries, providers)
        or _find_provider_model(name, providers)
        or _find_unlisted_model(name, entries, providers)
    )
    if spec is None:
        raise ConfigurationError(f"{_SETTING_NAME}: {_explain_missing(name)}")
    route = spec.route
    if not find_spec(route.provider).has_embeddings:
        raise ConfigurationError(
            f"{_SETTING_NAME}: {route.provider} makes no vectors. "
            f"Take another: {_SUPPORTED_CHOICES}."
        )
    if route.api_key is None and route.base_url == _get_default_base_url(route.provider):
        raise ConfigurationError(
            f"{_SETTING_NAME}: {route.provider} has no key. Set {spec.key_setting}."
        )
    return spec


def _find_entry(
    name: str, entries: tuple[ModelEntry, ...], providers: ProvidersSettings
) -> EmbeddingModelSpec | None:
    for entry, spec in zip(entries, build_model_specs(entries, providers), strict=True):
        if entry.id == name:
            return EmbeddingModelSpec(
                name=name, route=spec.route, key_setting=_get_key_setting(entry)
            )
    return None


def _find_provider_model(name: str, providers: ProvidersSettings) -> EmbeddingModelSpec | None:
    provider, _, model = name.partition("/")
    for access in build_provider_accesses(providers):
        if model and access.provider == provider:
            key = f"providers.{provider}.api_key"
            return EmbeddingModelSpec(name=name, route=access.build_route(model), key_setting=key)
    return None


def _find_unlisted_model(
    name: str, entries: tuple[ModelEntry, ...], providers: ProvidersSettings
) -> EmbeddingModelSpec | None:
    """Return a model that has no entry itself, on a server that an entry configures."""
    provider, _, model = name.partition("/")
    # The name of a built-in provider means its own API, never a compatible server from an entry:
    # texts must not be sent anywhere else.
    if not model or _get_default_base_url(provider):
        return None
    entries_by_route = {
        replace(spec.route, model=model): entry
        for entry, spec in zip(entries, build_model_specs(entries, providers), strict=True)
        if entry.provider == provider
    }
    if len(entries_by_route) > 1:
        raise ConfigurationError(
            f"{_SETTING_NAME}: several servers are called {provider} in `models`. "
            "Give the model an entry of its own, and set its id here."
        )
    for route, entry in entries_by_route.items():
        return EmbeddingModelSpec(name=name, route=route, key_setting=_get_key_setting(entry))
    return None


def _get_key_setting(entry: ModelEntry) -> str:
    if entry.api_key is None and entry.base_url is None:
        return f"providers.{entry.provider}.api_key"
    return f"apiKey of {entry.id} in models"


def _get_default_base_url(provider: str) -> str | None:
    return find_spec(provider).base_url


def _explain_missing(name: str) -> str:
    provider, _, model = name.partition("/")
    if not model:
        return "it takes embedded, off, or a provider's model: openai/text-embedding-3-small."
    if provider in _PROVIDER_NAMES or _get_default_base_url(provider):
        if "api_key" in find_spec(provider).settings:
            return f"{provider} has no key. Set providers.{provider}.api_key."
        return f"{provider} has no address. Set providers.{provider}.base_url."
    return f"there is no provider {provider[:100]}. It may be {_SUPPORTED_CHOICES}."
