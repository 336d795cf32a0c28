"""All known providers, found in the package `builtin`."""

import importlib
import pkgutil
from collections.abc import Mapping
from datetime import date

from junto.provider_specs import builtin
from junto.provider_specs.spec import CUSTOM_SERVER, ProviderSpec, Retirement


def _discover() -> Mapping[str, ProviderSpec]:
    names = (module.name for module in pkgutil.iter_modules(builtin.__path__))
    specs = [importlib.import_module(f"{builtin.__name__}.{name}").SPEC for name in names]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: (spec.priority, spec.name))}


PROVIDER_SPECS: Mapping[str, ProviderSpec] = _discover()


def find_spec(provider: str) -> ProviderSpec:
    """Return the spec of a provider, or the one of custom servers."""
    return PROVIDER_SPECS.get(provider, CUSTOM_SERVER)


def find_spec_by_url(base_url: str | None) -> ProviderSpec:
    """Return the provider whose own API is at `base_url`, or the spec of custom servers."""
    specs = PROVIDER_SPECS.values()
    return next((spec for spec in specs if base_url and spec.base_url == base_url), CUSTOM_SERVER)


def find_spec_by_model(model: str) -> ProviderSpec | None:
    """Return the provider whose model this clearly is, by its name."""
    specs = PROVIDER_SPECS.values()
    return next((spec for spec in specs if model.startswith(spec.model_prefixes)), None)


def find_retirement(model: str, today: date) -> Retirement | None:
    """Return the retirement of a model that is retired by `today`, if it is."""
    for spec in PROVIDER_SPECS.values():
        retirement = spec.retirements.get(model)
        if retirement and retirement.retired_on <= today:
            return retirement
    return None
