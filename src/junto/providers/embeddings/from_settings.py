"""Who makes vectors, as the setting knowledge.embeddings says it."""

from dataclasses import dataclass, replace

from junto.domain.documents import Model
from junto.domain.errors import ConfigurationError
from junto.providers.catalog.catalog import Route
from junto.providers.catalog.known import KNOWN, Dialect
from junto.providers.catalog.reading import accesses, offers
from junto.settings.entries import ModelEntry
from junto.settings.tree import Providers

EMBEDDED = Model("all-MiniLM-L6-v2-int8", 384)
_SETTING = "knowledge.embeddings"
_OTHERS = "openai, gemini, openrouter, ollama, or an entry of `models`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A provider's model for embeddings: its name in the settings, its route, and its key's."""

    name: str
    route: Route
    key_setting: str


def choice_of(name: str, entries: tuple[ModelEntry, ...], providers: Providers) -> Choice:
    """Return whom a name stands for: PROVIDER/MODEL, or the id of an entry in `models`.

    Raises:
        ConfigurationError: nobody, or somebody who cannot be asked.
    """
    choice = (
        _entry(name, entries, providers)
        or _provider(name, providers)
        or _unlisted(name, entries, providers)
    )
    if choice is None:
        raise ConfigurationError(f"{_SETTING}: {_missing(name)}")
    route = choice.route
    if route.dialect is not Dialect.OPENAI:
        raise ConfigurationError(
            f"{_SETTING}: {route.provider} makes no vectors. Take another: {_OTHERS}."
        )
    if route.api_key is None and route.base_url == _own_address(route.provider):
        raise ConfigurationError(
            f"{_SETTING}: {route.provider} has no key. Set {choice.key_setting}."
        )
    return choice


def _entry(name: str, entries: tuple[ModelEntry, ...], providers: Providers) -> Choice | None:
    for entry, offer in zip(entries, offers(entries, providers), strict=True):
        if entry.id == name:
            return Choice(name=name, route=offer.route, key_setting=_key_setting(entry))
    return None


def _provider(name: str, providers: Providers) -> Choice | None:
    provider, _, model = name.partition("/")
    for access in accesses(providers):
        if model and access.provider == provider:
            key = f"providers.{provider}.api_key"
            return Choice(name=name, route=access.route(model), key_setting=key)
    return None


def _unlisted(name: str, entries: tuple[ModelEntry, ...], providers: Providers) -> Choice | None:
    """Return another model of a server that an entry tells of."""
    provider, _, model = name.partition("/")
    # Whoever names a company means it, not a server that speaks as it does: texts go nowhere else.
    if not model or _own_address(provider):
        return None
    found = {
        replace(offer.route, model=model): entry
        for entry, offer in zip(entries, offers(entries, providers), strict=True)
        if entry.provider == provider
    }
    if len(found) > 1:
        raise ConfigurationError(
            f"{_SETTING}: several servers are called {provider} in `models`. Give the model an "
            "entry of its own, and set its id here."
        )
    for route, entry in found.items():
        return Choice(name=name, route=route, key_setting=_key_setting(entry))
    return None


def _key_setting(entry: ModelEntry) -> str:
    if entry.api_key is None and entry.base_url is None:
        return f"providers.{entry.provider}.api_key"
    return f"apiKey of {entry.id} in models"


def _own_address(provider: str) -> str | None:
    return KNOWN[provider].base_url if provider in KNOWN else None


def _missing(name: str) -> str:
    provider, _, model = name.partition("/")
    if not model:
        return "it takes embedded, off, or a provider's model: openai/text-embedding-3-small."
    if provider == "ollama":
        return "ollama has no address. Set providers.ollama.base_url."
    if _own_address(provider):
        return f"{provider} has no key. Set providers.{provider}.api_key."
    return f"there is no provider {provider[:100]}. It may be {_OTHERS}."
