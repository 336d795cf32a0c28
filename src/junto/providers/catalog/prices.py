"""Public prices and context windows, from the data in the genai-prices package."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from junto.domain.models import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice


@dataclass(frozen=True, slots=True)
class PublicModelInfo:
    """Public information about a model; unknown values are None, never 0."""

    price: Price | None = None
    context_window: int | None = None
    description: str | None = None


def find_public_info(model: str, provider: str | None, base_url: str | None) -> PublicModelInfo:
    """Look up `model` by the provider's name or, without one, by its base URL."""
    if not (provider or base_url):
        return PublicModelInfo()
    from genai_prices import data_snapshot  # imported on demand: it takes 0.2 s

    try:
        _, info = data_snapshot.get_snapshot().find_provider_model(
            model, None, provider, None if provider else base_url
        )
        price = _build_price(info.get_prices(datetime.now(UTC)))
    except LookupError:
        return PublicModelInfo()
    return PublicModelInfo(price, info.context_window, info.description)


def _build_price(prices: "ModelPrice") -> Price | None:
    def build_tier(min_tokens: int) -> Price | None:
        input_rate, output_rate = (
            _find_rate(prices, "input_mtok", min_tokens),
            _find_rate(prices, "output_mtok", min_tokens),
        )
        if input_rate is None or output_rate is None:
            return None
        return Price(
            input=input_rate,
            output=output_rate,
            cache_read=_find_rate(prices, "cache_read_mtok", min_tokens),
            cache_write=_find_rate(prices, "cache_write_mtok", min_tokens),
        )

    base = build_tier(0)
    starts = sorted(
        {tier.start for rate in vars(prices).values() for tier in getattr(rate, "tiers", ())}
    )
    tiers = tuple((start, price) for start in starts if (price := build_tier(start)))
    if base is None or not tiers:
        return base
    return Price(
        input=base.input,
        output=base.output,
        cache_read=base.cache_read,
        cache_write=base.cache_write,
        tiers=tiers,
    )


def _find_rate(prices: "ModelPrice", rate_name: str, min_tokens: int) -> Decimal | None:
    """Return the rate for requests with more than `min_tokens` input tokens."""
    rate: Any = getattr(prices, rate_name, None)
    if rate is None or isinstance(rate, Decimal):
        return rate
    reached_prices = [tier.price for tier in rate.tiers if tier.start <= min_tokens and min_tokens]
    return Decimal(reached_prices[-1] if reached_prices else rate.base)
