"""Whom Junto can ask: the default model, the keys of providers, and models elsewhere."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from junto.cli.doctor.findings import Case, Finding, State, broken, ok, warning
from junto.domain.errors import (
    AuthenticationError,
    InvalidInputError,
    JuntoError,
    NetworkError,
    NotFoundError,
    TimeLimitError,
)

if TYPE_CHECKING:
    from junto.providers.catalog.catalog import Catalog, Offer, Route

_EMBED = "set embedded.enabled: true"
_NOT_TRIED = "not tried; --online asks"
# Whose a key is, by how it begins, for those who have put one in another's place.
_BEGINNINGS = {"sk-ant-": "anthropic", "sk-or-": "openrouter", "AIza": "gemini"}


def default(case: Case) -> Iterator[Finding]:
    """Tell which model answers when nobody says which, and which names stand for none."""
    catalog = _catalog(case)
    try:
        chosen = catalog.find()
    except NotFoundError as error:
        fix = "Set default_model to one that `junto models` lists, or leave it unset."
        if catalog.default is None:
            embed = "`pip install 'junto[embedded]'`" if case.settings.embedded.enabled else _EMBED
            fix = f"Set a provider's key, such as ANTHROPIC_API_KEY, or {embed}."
        yield broken("default model", error.message.partition(" Set ")[0], fix)
        return
    yield _default(catalog, chosen)
    if case.settings.budget.limit is not None and catalog.model(chosen).price is None:
        yield broken(
            "budget",
            f"there is a limit, and what {chosen.id} costs is not known, so it is not asked",
            "Set its price in models, or take the limit out of budget.limit.",
        )
    for odd in catalog.warnings():
        yield warning("fallback", odd, "Take the name out, or correct it.")


def _default(catalog: "Catalog", chosen: "Offer") -> Finding:
    others = len(catalog.offers()) - 1
    if chosen == catalog.embedded and not catalog.preferred:
        return warning(
            "default model",
            f"only the embedded {chosen.id}: it answers, but it is small",
            "Set the key of a provider, such as ANTHROPIC_API_KEY, for larger ones.",
        )
    detail = f"{chosen.id}, of {chosen.route.provider}; {others} more can be asked"
    return ok("default model", detail)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to a provider: what it is called here, what it says of itself, where its key stands."""

    check: str
    route: "Route"
    told: str
    key: str


def keys(case: Case) -> Iterator[Finding]:
    """Tell which providers have a key, where it comes from, and whether they accept it."""
    from junto.providers.catalog.reading import accesses

    found = accesses(case.settings.providers)
    if not any(access.api_key for access in found):
        yield ok("keys", "no provider has one in its settings")
    for access in found:
        name = access.provider
        setting = f"providers.{name}.{'api_key' if access.api_key else 'base_url'}"
        origin = case.loaded.origins[setting]
        told = f"{'key' if access.api_key else 'address'} from {origin.name}"
        place = f"{setting} in {origin.name}" if origin.kind == "file" else origin.name
        yield _looked(case, _Way(name, access.route(""), told, place))


def addresses(case: Case) -> Iterator[Finding]:
    """Tell whether the models with an address or a key of their own can be asked."""
    from junto.providers.catalog.known import Dialect
    from junto.providers.catalog.reading import offers

    clouds = (Dialect.BEDROCK, Dialect.VERTEX)
    found = offers(case.settings.models, case.settings.providers)
    for entry, offer in zip(case.settings.models, found, strict=True):
        if offer.route.dialect in clouds:
            yield ok(offer.id, f"{offer.route.provider} with this machine's credentials; not tried")
        elif entry.base_url or entry.api_key:
            told = f"at {_shown(offer.route)}"
            way = _Way(offer.id, offer.route, told, f"apiKey of {offer.id} in models")
            yield _looked(case, way)


def _shown(route: "Route") -> str:
    """Return an address without its query, which may hold anything."""
    return urlunsplit(urlsplit(route.base_url or "")._replace(query="", fragment=""))


def _looked(case: Case, way: _Way) -> Finding:
    if odd := _oddity(way.route):
        return broken(way.check, f"{way.told}: the key {odd}", f"Set {way.key} right.")
    return _asked(case, way) if case.online else ok(way.check, f"{way.told}; {_NOT_TRIED}")


def _oddity(route: "Route") -> str:
    """Return what is wrong with a key for anybody to see."""
    from junto.providers.catalog.known import KNOWN

    key = route.api_key or ""
    if key.startswith(('"', "'")):
        return "has quotes around it"
    if not key.isascii() or any(character.isspace() for character in key):
        return "has blanks or odd letters in it"
    if route.provider not in KNOWN or route.base_url != KNOWN[route.provider].base_url:
        return ""  # whoever serves elsewhere makes keys as they like
    owner = next((name for start, name in _BEGINNINGS.items() if key.startswith(start)), None)
    return f"looks like one of {owner}" if owner not in (None, route.provider) else ""


def _asked(case: Case, way: _Way) -> Finding:
    """Ask a provider for its list: accepted, refused and unreachable are three things."""
    from junto.app.trying import models_at

    route = way.route
    try:
        served = asyncio.run(models_at(route))
    except (AuthenticationError, InvalidInputError) as error:
        word = "refused" if route.api_key else "it wants a key"
        return broken(way.check, f"{word}: {error.message}", f"Set {way.key} to a good key.")
    except (NetworkError, TimeLimitError) as error:
        state: State = "broken" if _is_default(case, route) else "warning"
        fix = f"See that {_shown(route)} is right, runs, and can be reached from here."
        return Finding(way.check, state, f"not reached: {error.message}", fix)
    except JuntoError as error:
        return warning(
            way.check, f"reached, but {error.message}", "Try again, or ask it something."
        )
    if route.model and served and route.model not in served:
        detail = f"reached, but {route.model} is not among its {len(served)} models"
        return warning(way.check, detail, "Correct modelName (or id), or have it serve that model.")
    accepted = "key accepted" if route.api_key else "reached"
    return ok(way.check, f"{accepted}, {len(served)} models; {way.told}")


def _is_default(case: Case, route: "Route") -> bool:
    catalog = _catalog(case)
    try:
        wanted = catalog.find().route
    except NotFoundError:
        return False
    return replace(wanted, model=route.model) == route


def _catalog(case: Case) -> "Catalog":
    from junto.app.models import catalog_of

    return catalog_of(case.settings, case.state)
