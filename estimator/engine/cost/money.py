"""The border between physics (float) and money (Decimal); no other module converts one into the other.

Rules: what follows from list prices and counts alone is exact and never rounded. What follows from a
physical figure (a speed, a probability) is rounded once, at the end, to 9 significant digits, half even.
"""

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, localcontext

from estimator.engine.errors import InvalidInputError

# 18 + 12 digits of price times 18 digits of quantity times 12 of requests: 60 digits hold every product exactly.
EXACT_DIGITS = 60
# Quotients by 3,600 (seconds in an hour) do not end in decimal; 28 digits are far below any currency's last one.
QUOTIENT_DIGITS = 28
PHYSICS_DIGITS = 9

EXACT = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT_OR_RAISE = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_EVEN, traps=[Inexact])
_QUOTIENT = Context(prec=QUOTIENT_DIGITS, rounding=ROUND_HALF_EVEN)
_PHYSICS = Context(prec=PHYSICS_DIGITS, rounding=ROUND_HALF_EVEN)


def from_physics(value: float) -> Decimal:
    """Carry a physical figure into money arithmetic, digit by digit as Python prints it.

    Args:
        value: Any finite number.

    Raises:
        InvalidInputError: NaN and infinity have no price.

    Unit: that of the figure. Equation: docs/model.md, eq. (56). Source: definition.

    >>> from_physics(0.1)
    Decimal('0.1')
    """
    if isinstance(value, Decimal):
        return value
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInputError("a figure that goes into money must be finite")
    return Decimal(repr(number))


def to_physics(value: Decimal) -> float:
    """Carry an amount into float arithmetic (ratios, probabilities); never used for an amount that is shown.

    Unit: that of the amount. Equation: docs/model.md, eq. (56). Source: definition.

    >>> to_physics(Decimal("0.25"))
    0.25
    """
    return float(value)


def round_physics(amount: Decimal) -> Decimal:
    """Round money derived from physics to 9 significant digits, half even: the one rounding it ever gets.

    Unit: that of the amount. Equation: docs/model.md, eq. (56). Source: definition.

    >>> round_physics(Decimal("1.23456789012"))
    Decimal('1.23456789')
    """
    return EXACT.normalize(_PHYSICS.plus(amount))


def money_from_physics(value: float) -> Decimal:
    """Money computed in float (a sweep's column) as a Decimal of 9 significant digits, half even.

    Unit: that of the amount. Equation: docs/model.md, eq. (56). Source: definition.

    >>> money_from_physics(2 / 3)
    Decimal('0.666666667')
    """
    return round_physics(from_physics(value))


def priced(quantity: Decimal, unit_price: Decimal, unit_size: int | Decimal) -> Decimal:
    """Amount = quantity · unit_price / unit_size, exact wherever the quotient ends, else to 28 digits.

    Args:
        quantity: Count in base units (tokens, requests, seconds …).
        unit_price: Price of `unit_size` base units.
        unit_size: Base units the price is for: 10^6 for a price per million tokens, 3,600 for hours of audio.

    Unit: currency of the price. Equation: docs/model.md, eq. (52). Source: definition.

    >>> priced(Decimal(1500), Decimal("2.50"), 1_000_000)
    Decimal('0.00375')
    """
    product = EXACT.multiply(quantity, unit_price)
    try:
        return EXACT.normalize(_EXACT_OR_RAISE.divide(product, Decimal(unit_size)))
    except Inexact:
        return _QUOTIENT.divide(product, Decimal(unit_size))


def total(amounts: list[Decimal]) -> Decimal:
    """Exact sum of amounts of one currency.

    Equation: docs/model.md, eq. (52). Source: definition.

    >>> total([Decimal("0.1"), Decimal("0.2")])
    Decimal('0.3')
    """
    with localcontext(EXACT):
        return EXACT.normalize(sum(amounts, start=Decimal(0)))


def money_text(amount: Decimal) -> str:
    """An amount as a plain decimal string: no exponent, no trailing zeros, no negative zero."""
    if amount == 0:
        return "0"
    return format(EXACT.normalize(amount), "f")
