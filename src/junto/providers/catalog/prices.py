"""Prices and windows as they are publicly known, from data that comes with a package."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from junto.domain.prices import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice


@dataclass(frozen=True, slots=True)
class Public:
    """What is publicly known about a model; what is not is None, never 0."""

    price: Price | None = None
    context_window: int | None = None
    description: str | None = None


def public(model: str, provider: str | None, base_url: str | None) -> Public:
    """Return what is known about `model` at a provider, known by name or by its address."""
    if not (provider or base_url):
        return Public()
    from genai_prices import data_snapshot  # a fifth of a second, for those who ask

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(
            model, None, provider, None if provider else base_url
        )
        price = _price(found.get_prices(datetime.now(UTC)))
    except LookupError:
        return Public()
    return Public(price, found.context_window, found.description)


def _price(prices: "ModelPrice") -> Price | None:
    def at(start: int) -> Price | None:
        given, asked = _at(prices, "input_mtok", start), _at(prices, "output_mtok", start)
        if given is None or asked is None:
            return None
        return Price(
            input=given,
            output=asked,
            cache_read=_at(prices, "cache_read_mtok", start),
            cache_write=_at(prices, "cache_write_mtok", start),
        )

    lowest = at(0)
    starts = sorted(
        {tier.start for rate in vars(prices).values() for tier in getattr(rate, "tiers", ())}
    )
    tiers = tuple((start, price) for start in starts if (price := at(start)))
    if lowest is None or not tiers:
        return lowest
    return Price(
        input=lowest.input,
        output=lowest.output,
        cache_read=lowest.cache_read,
        cache_write=lowest.cache_write,
        above=tiers,
    )


def _at(prices: "ModelPrice", kind: str, start: int) -> Decimal | None:
    """Return a rate for whoever sends more than `start` tokens."""
    rate: Any = getattr(prices, kind, None)
    if rate is None or isinstance(rate, Decimal):
        return rate
    reached = [tier.price for tier in rate.tiers if tier.start <= start and start]
    return Decimal(reached[-1] if reached else rate.base)
