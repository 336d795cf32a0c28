"""The settings of providers: a section for each, with the settings that its spec names."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr, create_model

from junto.provider_specs.registry import PROVIDER_SPECS
from junto.provider_specs.spec import ProviderOption, ProviderSpec
from junto.settings.list_entries import Section, section_field
from junto.settings.types import Duration, Region

_OPTION_TYPES: dict[ProviderOption, Any] = {
    "api_key": SecretStr | None,
    "base_url": str | None,
    "region": Region | None,
    "project": Region | None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """What is set for one provider; None also for an option that it does not have."""

    api_key: SecretStr | None = None
    base_url: str | None = None
    region: str | None = None
    project: str | None = None


class _ProvidersBase(Section):
    """The providers that Junto knows by name."""

    refresh: Duration = Field(
        86400, description="how often their lists of models are fetched anew; 0 is never"
    )

    def get(self, provider: str) -> ProviderSettings:
        """Return what is set for a provider, which need not be known."""
        section = getattr(self, provider, None) if provider in PROVIDER_SPECS else None
        names = (field.name for field in fields(ProviderSettings))
        return ProviderSettings(**{name: getattr(section, name, None) for name in names})


def _build_section(spec: ProviderSpec) -> type[Section]:
    options: dict[str, Any] = {
        option: (_OPTION_TYPES[option], Field(None, description=description))
        for option, description in spec.settings.items()
    }
    name = f"{spec.name.title()}Settings"
    return create_model(name, __base__=Section, __doc__=spec.description, **options)


if TYPE_CHECKING:
    ProvidersSettings = _ProvidersBase
else:
    ProvidersSettings = create_model(
        "ProvidersSettings",
        __base__=_ProvidersBase,
        __doc__=_ProvidersBase.__doc__,
        **{
            name: (_build_section(spec), section_field())
            for name, spec in PROVIDER_SPECS.items()
            if spec.settings
        },
    )
