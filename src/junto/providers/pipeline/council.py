"""Every model behind one door: finds the model that a question names, and asks it with all care.

The order of the wrappers, from the outside in, and why:

    Falling    another model is another price, another limit, another cache: it stands outside all
    Cached     what is known costs nothing and needs no room
    Checked    what the model cannot take is refused before anything is set aside for it
    Budgeted   money is set aside once for a question, however often it is tried
    Guarded    a provider that is left alone is not waited for, so the next model comes at once
    Retrying   each try below takes its own place in the limits, since the provider counts it
    Limited    waiting for room holds nothing else up
    Capped     only calls that really go out take one of the places
    Measured   what is counted and timed is the provider, not our waiting
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

from typing_extensions import override

from junto.domain.limits import Account, Ledger, Rate, RateLimiter
from junto.domain.questions import Event, Question
from junto.providers.catalog.catalog import Catalog, Offer
from junto.providers.catalog.known import Dialect
from junto.providers.pipeline.budget import Budgeted
from junto.providers.pipeline.cache import AnswerCache, Cached
from junto.providers.pipeline.checks import Checked
from junto.providers.pipeline.circuit import Circuit, Guarded
from junto.providers.pipeline.limits import Capped, Limited
from junto.providers.pipeline.measure import Counters, Measured
from junto.providers.pipeline.retry import Alternative, Falling, Retrying
from junto.providers.provider import Provider

_MOST_PIPELINES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """How carefully models are asked."""

    retries: int = 3
    rate: Rate = field(default_factory=Rate)
    wait: float = 30
    concurrent: int = 100
    failures: int = 5
    cooldown: float = 30
    accounts: tuple[Account, ...] = ()
    fallback: tuple[str, ...] = ()


@dataclass(eq=False, slots=True, kw_only=True)
class Council(Provider):
    """Answers a question that names a model by its id; the answer names the one that gave it."""

    catalog: Catalog
    adapter: Callable[[Offer], Provider]
    care: Care
    counters: Counters
    limiter: RateLimiter
    ledger: Ledger
    cache: AnswerCache | None = None
    _pipelines: dict[Offer, Provider] = field(default_factory=dict, init=False)
    _circuits: dict[str, Circuit] = field(default_factory=dict, init=False)
    _places: dict[str, asyncio.Semaphore] = field(default_factory=dict, init=False)

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        offer = self.catalog.find(question.model)
        others = self.catalog.known(offer.fallback or self.care.fallback)
        choices = [self._alternative(choice) for choice in dict.fromkeys([offer, *others])]
        return Falling(choices).stream(question)

    def _alternative(self, offer: Offer) -> Alternative:
        if offer not in self._pipelines:
            if len(self._pipelines) >= _MOST_PIPELINES:  # names can be made up without end
                del self._pipelines[next(iter(self._pipelines))]
            self._pipelines[offer] = self._pipeline(offer)
        return Alternative(offer.id, self._pipelines[offer], offer.route.model)

    def _pipeline(self, offer: Offer) -> Provider:
        if offer.route.dialect is Dialect.CLIENT:
            # Each client has its own: what one's model said, or how it failed, is no other's.
            return Checked(self._measured(offer), offer.capabilities, offer.id)
        local = offer.route.dialect is Dialect.EMBEDDED
        name = offer.route.provider
        # Two servers may go by one provider's name, and only one of them be down.
        server = f"{name} {offer.route.base_url}"
        asked: Provider = Capped(self._measured(offer), self._place(server))
        if not local:
            asked = Limited(asked, self.limiter, offer.id, self._rate(offer), self.care.wait)
        asked = Retrying(asked, self.care.retries)
        asked = Guarded(asked, self._circuit(name, server))
        if self.care.accounts:
            price = self.catalog.model(offer).price
            asked = Budgeted(asked, self.ledger, self.care.accounts, price, offer.id)
        asked = Checked(asked, offer.capabilities, offer.id)
        return Cached(asked, self.cache, f"{offer.id} {server}") if self.cache else asked

    def _measured(self, offer: Offer) -> Provider:
        return Measured(
            self.adapter(offer),
            self.counters,
            offer.route.provider,
            offer.id,
            lambda: self.catalog.model(offer).price,
        )

    def _rate(self, offer: Offer) -> Rate:
        usual = self.care.rate
        return replace(
            usual,
            requests=offer.requests_per_minute or usual.requests,
            tokens=offer.tokens_per_minute or usual.tokens,
        )

    def _circuit(self, provider: str, server: str) -> Circuit:
        return self._circuits.setdefault(
            server, Circuit(provider, self.care.failures, self.care.cooldown)
        )

    def _place(self, server: str) -> asyncio.Semaphore:
        return self._places.setdefault(server, asyncio.Semaphore(self.care.concurrent))
