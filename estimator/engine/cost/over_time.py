"""Months ahead: volumes that grow, an API's bill with commitments and volume tiers, provisioned units, payback."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.self_hosted import HOURS_PER_MONTH
from estimator.engine.errors import InvalidInputError

MINUTES_PER_HOUR = 60


def grown(requests: float, growth_per_month: float, month: int) -> float:
    """Requests of a month (unit: requests), eq. (28): requests · (1 + growth)^(month − 1).

    Args:
        requests: of the first month, above 0.
        growth_per_month: share by which each month passes the one before, above −1.
        month: from 1.

    Source: compound growth, arithmetic.

    >>> round(grown(1000.0, 0.1, 3), 6)
    1210.0
    """
    return float(requests * (1.0 + growth_per_month) ** (month - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeTier:
    """A discount on the part of a month's spending above a threshold."""

    above_spend: Decimal
    discount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What was agreed with a seller: discounts by spending, and a least spending of each month."""

    tiers: tuple[VolumeTier, ...] = ()
    minimum_spend: Decimal = Decimal(0)

    def bill(self, list_price: Decimal) -> Decimal:
        """What a month at list prices is billed: each part at its tier's discount, at least the commitment.

        Example:
            12,000 with 10 % off above 5,000 and 20 % above 10,000: 5,000 + 4,500 + 1,600.

            >>> tiers = (VolumeTier(above_spend=Decimal(5000), discount=Decimal("0.1")),
            ...          VolumeTier(above_spend=Decimal(10000), discount=Decimal("0.2")))
            >>> Contract(tiers=tiers).bill(Decimal(12000))
            Decimal('1.11E+4')
        """
        bounds = sorted(self.tiers, key=lambda tier: tier.above_spend)
        with localcontext(money.EXACT):
            total, below, off = Decimal(0), Decimal(0), Decimal(0)
            for tier in bounds:
                total += max(min(list_price, tier.above_spend) - below, Decimal(0)) * (1 - off)
                below, off = max(below, min(list_price, tier.above_spend)), tier.discount
            total += max(list_price - below, Decimal(0)) * (1 - off)
            return max(total, self.minimum_spend).normalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """Throughput bought in units (Azure PTU, Bedrock model units, Vertex GSU): held hours, weighted tokens a minute.

    `tokens_per_minute` is the input tokens one unit carries; an output token counts `output_weight` of them, a cached
    one `cached_weight`. Units come in steps of `unit_step`, at least `minimum_units`; `peak_to_mean` is how much higher
    the busiest minute is than the mean one.
    """

    price_per_unit_hour: Decimal
    tokens_per_minute: float
    output_weight: float = 1.0
    cached_weight: float = 0.0
    minimum_units: int = 1
    unit_step: int = 1
    units: int | None = None
    hours_per_month: float = float(HOURS_PER_MONTH)
    peak_to_mean: float = 1.0

    def __post_init__(self) -> None:
        if not self.tokens_per_minute > 0:
            raise InvalidInputError("a unit carries some tokens", field="provisioned.input_tokens_per_minute_per_unit")

    def units_for(self, fresh: float, cached: float, output: float) -> int:
        """Units that carry a month's tokens at its peak.

        Example:
            10^9 fresh and 2·10^8 output tokens a month, output weight 4, 2,500 a minute and unit: 1.8·10^9 weighted
            tokens over 43,800 minutes are 41,096 a minute.

            >>> Provisioned(price_per_unit_hour=Decimal(1), tokens_per_minute=2500.0,
            ...             output_weight=4.0).units_for(1e9, 0, 2e8)
            17
        """
        weighted = fresh + cached * self.cached_weight + output * self.output_weight
        per_minute = weighted / (self.hours_per_month * MINUTES_PER_HOUR) * self.peak_to_mean
        wanted = max(math.ceil(per_minute / self.tokens_per_minute - 1e-9), self.minimum_units)
        return math.ceil(wanted / self.unit_step) * self.unit_step

    def cost(self, units: int) -> Decimal:
        """Units held for the month's hours."""
        with localcontext(money.EXACT):
            hours = money.from_physics(self.hours_per_month)
            return money.EXACT.normalize(self.price_per_unit_hour * units * hours)


def first_month_not_dearer(ours: Sequence[Decimal], theirs: Sequence[Decimal]) -> int | None:
    """The first month, from 1, in which our bill is at most theirs (unit: months), eq. (65); None where no month is.

    Args:
        ours: amount of each month.
        theirs: amount of each month the other way, as many.

    Source: definition of a crossing.

    >>> first_month_not_dearer([Decimal(5)] * 3, [Decimal(3), Decimal(5), Decimal(9)])
    2
    """
    return next((month for month, (one, other) in enumerate(zip(ours, theirs, strict=True), 1) if one <= other), None)


def payback_month(upfront: Decimal, ours: Sequence[Decimal], theirs: Sequence[Decimal]) -> int | None:
    """The first month (unit: months) at whose end what was paid in all is at most what the other took, eq. (66).

    Args:
        upfront: amount paid at the start, such as the price of machines.
        ours: What each month costs beside it.
        theirs: What each month costs the other way.

    Source: simple payback, undiscounted.

    Example:
        1,000 at once and 100 a month against 300 a month: 1,500 against 1,500 after five months.

        >>> payback_month(Decimal(1000), [Decimal(100)] * 12, [Decimal(300)] * 12)
        5
    """
    paid, saved = upfront, Decimal(0)
    for month, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
        paid, saved = paid + one, saved + other
        if paid <= saved:
            return month
    return None
