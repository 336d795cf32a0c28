"""Money as whole numbers, which every database adds up without rounding."""

from decimal import Decimal

_NANO = Decimal(1_000_000_000)


def nano(amount: Decimal) -> int:
    """Return dollars as billionths, the nearest."""
    return int((amount * _NANO).to_integral_value())


def dollars(amount: int) -> Decimal:
    """Return billionths as dollars."""
    return amount / _NANO
