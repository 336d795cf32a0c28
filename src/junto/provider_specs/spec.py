"""What a provider is: its address, settings, models and the ways in which its API differs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal

from junto.domain.models import Capabilities, ReasoningStyle

# The settings that a provider may have, below `providers.NAME`.
ProviderOption = Literal["api_key", "base_url", "region", "project"]

_BASE_URL_DESCRIPTION = "another address for the same API"
KEY_AND_URL: Mapping[ProviderOption, str] = {
    "api_key": "the key that opens it",
    "base_url": _BASE_URL_DESCRIPTION,
}
URL_ONLY: Mapping[ProviderOption, str] = {"base_url": _BASE_URL_DESCRIPTION}

# OpenAI's reasoning models reject a temperature; its older models reject a reasoning effort.
_REASONING_GPT_PATTERN = re.compile(r"(?:^|/)(?:o[134]|gpt-(?:[5-9]|\d\d))")


class Dialect(StrEnum):
    """The API that a provider is called through."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    BEDROCK = "bedrock"
    VERTEX = "vertex"
    EMBEDDED = "embedded"
    CLIENT = "client"


# Their SDKs discover the user's credentials by themselves.
CLOUD_DIALECTS = frozenset({Dialect.BEDROCK, Dialect.VERTEX})


@dataclass(frozen=True, slots=True)
class Retirement:
    """The date on which a model is retired, and the model that replaces it."""

    retired_on: date
    successor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model as its provider lists it; None means that the provider does not say."""

    id: str
    description: str | None = None
    context_window: int | None = None
    images: bool | None = None
    documents: bool | None = None
    tools: bool | None = None
    temperature: bool | None = None
    reasoning: str | None = None
    input_price: str | None = None
    output_price: str | None = None


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def parse_listed_model(entry: Mapping[str, Any]) -> ListedModel | None:
    """Read an entry of a list of models as OpenAI's API returns it."""
    return ListedModel(id=entry["id"].removeprefix("models/"))


def guess_gpt_capabilities(model: str) -> Capabilities:
    """Return what a model behind an API like OpenAI's likely supports."""
    if _REASONING_GPT_PATTERN.search(model):
        return Capabilities(temperature=False, reasoning=ReasoningStyle.EFFORT)
    return Capabilities()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """All that Junto knows about a provider. The defaults fit any server like OpenAI's."""

    name: str
    title: str
    # A sentence for the settings reference.
    description: str
    # Providers are listed, and a default model is chosen, in ascending order of this.
    priority: int = 100
    dialect: Dialect = Dialect.OPENAI
    base_url: str | None = None
    # Its settings with their descriptions; without any, it is only used by entries in `models`.
    settings: Mapping[ProviderOption, str] = field(default_factory=lambda: KEY_AND_URL)
    # The environment variables of the provider's own SDK, and what each sets.
    variables: Mapping[str, ProviderOption] = field(default_factory=dict)
    # What its keys begin with, to recognise a key that is set for another provider.
    key_prefix: str | None = None
    # The header of the key; None for `Authorization: Bearer`.
    key_header: str | None = None
    # A free path that checks the key, if the list of models does not.
    key_check_path: str | None = None
    max_tokens_field: str = "max_tokens"
    # The provider's id in genai-prices.
    pricing_id: str | None = None
    # Models offered until the provider's own list is known, with their descriptions. The first
    # one is preferred.
    models: Mapping[str, str | None] = field(default_factory=dict)
    # Beginnings of the names of models that are on no list but are clearly this provider's.
    model_prefixes: tuple[str, ...] = ()
    retirements: Mapping[str, Retirement] = field(default_factory=dict)
    guess_capabilities: Callable[[str], Capabilities] = guess_gpt_capabilities
    parse_listed_model: Callable[[Mapping[str, Any]], ListedModel | None] = parse_listed_model

    @property
    def is_cloud(self) -> bool:
        """Return whether its SDK discovers the user's credentials by itself."""
        return self.dialect in CLOUD_DIALECTS

    @property
    def has_embeddings(self) -> bool:
        """Return whether its API makes embeddings."""
        return self.dialect is Dialect.OPENAI

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Return the environment variables that hold its key."""
        return tuple(name for name, option in self.variables.items() if option == "api_key")

    def is_own_url(self, base_url: str | None) -> bool:
        """Return whether `base_url` is the provider's own API, not a compatible server."""
        return self.base_url is None or self.base_url == base_url


# For the name of a server that is not a known provider.
CUSTOM_SERVER = ProviderSpec(name="custom", title="Custom", description="", settings={})
