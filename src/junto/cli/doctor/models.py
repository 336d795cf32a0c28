"""Whom Junto can ask: the default model, the keys of providers, and models elsewhere."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from junto.cli.doctor.findings import Case, Finding, State, broken, ok, warning
from junto.domain.errors import (
    AuthenticationError,
    InvalidInputError,
    JuntoError,
    NetworkError,
    NotFoundError,
    TimeLimitError,
)
from junto.settings.loading import Origin

if TYPE_CHECKING:
    from junto.providers.catalog.catalog import Access, Catalog, Offer, Route

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


def keys(case: Case) -> Iterator[Finding]:
    """Tell which providers have a key, where it comes from, and whether they accept it."""
    from junto.providers.catalog.reading import accesses

    found = accesses(case.settings.providers)
    if not any(access.api_key for access in found):
        yield ok("keys", "none is set, so no provider is asked")
    for access in found:
        yield _key(case, access)


def _key(case: Case, access: "Access") -> Finding:
    name = access.provider
    setting = f"providers.{name}.{'api_key' if access.api_key else 'base_url'}"
    origin = case.loaded.origins[setting]
    source = _from(origin)
    if odd := _oddity(access):
        return broken(name, f"the key {source} {odd}", f"Set {_place(origin, setting)} right.")
    if not case.online:
        return ok(name, f"{'key' if access.api_key else 'address'} {source}; {_NOT_TRIED}")
    return _asked(case, name, access.route(""), source)


def _oddity(access: "Access") -> str:
    """Return what is wrong with a key for anybody to see."""
    key = access.api_key or ""
    if key[:1] in "\"'" and key:
        return "has quotes around it"
    if not key.isascii() or any(character.isspace() for character in key):
        return "has blanks or odd letters in it"
    if access.base_url:
        return ""
    owner = next((name for start, name in _BEGINNINGS.items() if key.startswith(start)), None)
    return f"looks like one of {owner}" if owner not in (None, access.provider) else ""


def _from(origin: Origin) -> str:
    return f"from {origin.name}"


def _place(origin: Origin, setting: str) -> str:
    return f"{setting} in {origin.name}" if origin.kind == "file" else origin.name


def addresses(case: Case) -> Iterator[Finding]:
    """Tell whether the models with an address of their own are served there."""
    from junto.providers.catalog.known import Dialect
    from junto.providers.catalog.reading import offers

    own = {entry.id for entry in case.settings.models if entry.base_url}
    clouds = (Dialect.BEDROCK, Dialect.VERTEX)
    for offer in offers(case.settings.models, case.settings.providers):
        if offer.route.dialect in clouds:
            yield ok(offer.id, f"{offer.route.provider} with this machine's credentials; not tried")
        elif offer.id not in own:
            continue
        elif case.online:
            yield _asked(case, offer.id, offer.route, f"at {offer.route.base_url}")
        else:
            yield ok(offer.id, f"at {offer.route.base_url}; {_NOT_TRIED}")


def _asked(case: Case, check: str, route: "Route", source: str) -> Finding:
    """Ask a provider for its list: accepted, refused and unreachable are three things."""
    from junto.app.trying import models_at

    try:
        served = asyncio.run(models_at(route))
    except (AuthenticationError, InvalidInputError) as error:
        wrong = f"refused: {error.message}" if route.api_key else f"wants a key: {error.message}"
        return broken(check, wrong, f"Set a key that is good; the one in use is {source}.")
    except (NetworkError, TimeLimitError) as error:
        state: State = "broken" if _is_default(case, route) else "warning"
        fix = f"See that it runs and can be reached {source}." if route.base_url else ""
        return Finding(check, state, f"not reached: {error.message}", fix or "See to the network.")
    except JuntoError as error:
        return warning(check, f"reached, but {error.message}", "Ask it a question to know more.")
    if route.model and served and route.model not in served:
        detail = f"reached, but {route.model} is not among its {len(served)} models"
        return warning(check, detail, "Correct modelName (or id), or have it serve that model.")
    accepted = "key accepted" if route.api_key else "reached"
    return ok(check, f"{accepted}, {len(served)} models; {source}")


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
